"""The mask editor: decide which query may see which key, and watch the weights renormalise."""

from __future__ import annotations

import numpy as np
import torch
import traitlets

from tfm_lib.masking import causal_mask, padding_mask
from tfm_lib.widgets.base import Numbers, Widget, to_list, to_numpy, to_words

PAD = "<pad>"
PRESETS = ("causal", "strict", "padding", "window", "block", "full")
SENTENCE = ("The", "cat", "sat", "on", "the", "mat", PAD, PAD)


class MaskEditor(Widget):
    """A mask over a sentence, to edit cell by cell; `value[i][j]` is True where query i may see key j.

    `tokens` is a sentence or a list of words, `scores` (n, n) what the softmax gets (seeded noise
    if None), `mask` (n, n) of booleans a mask of yours, else `preset` makes one: causal, strict,
    padding (hides keys named "<pad>"), window (|i − j| ≤ size), block (blocks of `size`) or full.
    """

    _module = traitlets.Unicode("masking/mask_editor").tag(sync=True)
    title = traitlets.Unicode("Mask editor").tag(sync=True)
    question = traitlets.Unicode("What happens to a row's other weights when you hide one key?").tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    scores = Numbers().tag(sync=True)
    value = Numbers().tag(sync=True)
    preset = traitlets.Unicode("causal").tag(sync=True)
    size = traitlets.Int(2).tag(sync=True)
    hide_padding = traitlets.Bool(False).tag(sync=True)
    focus = traitlets.Int(0).tag(sync=True)

    def __init__(self, tokens=None, scores=None, mask=None, preset="causal", size=2, hide_padding=False, **kwargs):
        words = to_words("tokens", SENTENCE if tokens is None else tokens)
        n = len(words)
        if scores is None:
            scores = torch.randn(n, n, generator=torch.Generator().manual_seed(5)).mul(1.2).round(decimals=1)
        if mask is None:
            value = preset_mask(preset, words, size, hide_padding).tolist()
        else:
            value, preset = _booleans("mask", mask, n), "own"
        super().__init__(
            tokens=words,
            scores=to_list("scores", scores, (n, n)),
            value=value,
            preset=preset,
            size=size,
            hide_padding=hide_padding,
            **{"focus": min(4, n - 1), **kwargs},
        )

    @property
    def mask(self) -> list[list[bool]]:
        """The mask, the same as `value`."""
        return self.value

    @property
    def weights(self) -> list[list[float]]:
        """The weights under the mask; a row that may see nothing is NaN."""
        scores = torch.tensor(self.scores, dtype=torch.float64).masked_fill(~torch.tensor(self.value), -torch.inf)
        return scores.softmax(dim=-1).tolist()

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return _booleans("value", proposal["value"], len(self.tokens))

    @traitlets.validate("scores")
    def _valid_scores(self, proposal):
        return to_list("scores", proposal["value"], (len(self.tokens), len(self.tokens)))

    @traitlets.validate("preset")
    def _valid_preset(self, proposal):
        if proposal["value"] not in (*PRESETS, "own"):
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}; it is {proposal['value']!r}")
        return proposal["value"]

    @traitlets.validate("focus")
    def _valid_focus(self, proposal):
        if not 0 <= proposal["value"] < len(self.tokens):
            raise ValueError(f"focus must be a row from 0 to {len(self.tokens) - 1}; it is {proposal['value']}")
        return proposal["value"]

    @traitlets.observe("preset", "size", "hide_padding")
    def _apply_preset(self, _):
        if self.preset != "own":
            self.value = self._preset_value()

    @traitlets.observe("value")
    def _notice_own_mask(self, _):
        if self.preset != "own" and self.value != self._preset_value():
            self.preset = "own"

    def _preset_value(self):
        return preset_mask(self.preset, self.tokens, self.size, self.hide_padding).tolist()

    @property
    def alt(self) -> str:
        i = self.focus
        seen = [(word, weight) for word, weight, open_ in zip(self.tokens, self.weights[i], self.value[i]) if open_]
        visible = sum(map(sum, self.value))
        name = "your own" if self.preset == "own" else self.preset
        cells = len(self.tokens) ** 2
        start = f"The mask ({name}) over “{' '.join(self.tokens)}” leaves {visible} of {cells} cells visible. "
        shares = ", ".join(f"{word} {weight:.2f}" for word, weight in seen)
        row = f"Query “{self.tokens[i]}” sees {len(seen)} of {len(self.tokens)} keys" + (
            f": {shares}." if seen else "."
        )
        empty = [word for word, line in zip(self.tokens, self.value) if not any(line)]
        return start + row + (f" Rows that may see nothing, and have no weights: {', '.join(empty)}." if empty else "")

    def figure(self):
        """Scores under the mask beside the weights: what may be seen, and what comes of it."""
        from tfm_lib.book.display import colours, figure

        n = len(self.tokens)
        fig, (left, right) = figure(1, 2, width=7.2, height=3.7)
        weights, hidden = np.array(self.weights), ~np.array(self.value)
        _matrix(left, np.zeros((n, n)), hidden, self.tokens, "Scores, −∞ where hidden")
        _matrix(right, np.nan_to_num(weights), hidden, self.tokens, "Weights = softmax of each row")
        size = 9 if n <= 8 else 6.5
        for i, j in np.ndindex(n, n):
            middle = {"x": j + 0.5, "y": i + 0.5, "ha": "center", "va": "center", "fontsize": size}
            left.text(
                s="−∞" if hidden[i, j] else f"{self.scores[i][j]:.1f}".replace("-", "−"),
                color=colours()["ink"],
                **middle,
            )
            if hidden[i].all():
                right.text(s="?", color=colours()["broken"], **middle)
            elif not hidden[i, j]:
                right.text(
                    s=f"{weights[i, j]:.2f}", color=colours()["card" if weights[i, j] > 0.5 else "ink"], **middle
                )
        return fig


def preset_mask(preset: str, tokens: list[str], size: int = 2, hide_padding: bool = False) -> torch.Tensor:
    """The (n, n) mask of a preset; keys named "<pad>" are padding."""
    n = len(tokens)
    i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
    makers = {
        "causal": lambda: causal_mask(n),
        "strict": lambda: causal_mask(n) & (i != j),
        "padding": lambda: _padding(tokens),
        "window": lambda: (i - j).abs() <= size,
        "block": lambda: i // size == j // size,
        "full": lambda: torch.ones(n, n, dtype=torch.bool),
    }
    if preset not in makers:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}; it is {preset!r}")
    if size < 1:
        raise ValueError(f"size must be at least 1; it is {size}")
    mask = makers[preset]()
    return mask & _padding(tokens) if hide_padding else mask  # & and not combine: an empty row is to be seen here


def _padding(tokens):
    ids = torch.tensor([[int(word != PAD) for word in tokens]])
    return padding_mask(ids, pad_id=0).expand(1, len(tokens), len(tokens))[0]


def _booleans(name, mask, n):
    values = to_numpy(name, mask, (n, n))
    if not np.isin(values, (0, 1)).all():
        raise ValueError(f"{name} must hold booleans, True where a query may see a key; it holds other numbers")
    return values.astype(bool).tolist()


def _matrix(ax, values, hidden, tokens, title):
    from tfm_lib.book.display import colours, weights_colormap

    n = len(tokens)
    ax.pcolormesh(values, cmap=weights_colormap(), vmin=0, vmax=1, edgecolors=colours()["card"], linewidth=1.5)
    for i, j in np.argwhere(hidden):
        empty = hidden[i].all()
        colour = colours()["broken" if empty else "soft"]
        hatch = "xxx" if empty else "////"
        ax.add_patch(_rectangle(j, i, facecolor=colours()["card"], edgecolor=colour, hatch=hatch))
    ax.set(xticks=np.arange(n) + 0.5, yticks=np.arange(n) + 0.5, xlim=(0, n), ylim=(n, 0), aspect="equal")
    ax.set_xticklabels(tokens, rotation=45, ha="left", rotation_mode="anchor", color=colours()["key"])
    ax.set_yticklabels(tokens, color=colours()["query"])
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(title)


def _rectangle(x, y, **look):
    from matplotlib.patches import Rectangle

    return Rectangle((x + 0.03, y + 0.03), 0.94, 0.94, linewidth=0, hatch_linewidth=0.6, **look)
