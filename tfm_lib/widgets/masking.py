"""The mask editor: set which query may see which key, and watch the weights renormalise."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import traitlets

from tfm_lib._vocabulary import Vocabulary
from tfm_lib.masking import causal_mask, padding_mask
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets._typed import typed
from tfm_lib.widgets.base import Numbers, Widget, Words, one_of, to_list, to_numpy, to_words, within

WORDS = Words(
    title="Mask editor",
    question="What happens to a row's other weights when you hide one key?",
    shared={
        "presets": {
            "causal": "causal",
            "strict": "strict",
            "padding": "padding",
            "window": "window",
            "block": "block",
            "full": "full",
            "own": "your own",
        },
        "scores": "Scores, −∞ where hidden",
        "weights": "Weights = softmax of each row",
    },
    alt="The mask ({preset}) over “{sentence}” leaves {visible} of {cells} cells visible. Query “{query}” sees {seen} of "
    "{keys} keys{shares}.{part}{own}{empty}",
    shares=": {shares}",
    part=" So far the mask covers {laid} of {keys} rows.",
    own=" The words are the reader's own, the scores those of the example.",
    empty=" These rows may see nothing, and have no weights: {rows}.",
)
PAD = Vocabulary.special[Vocabulary.pad_id]
PRESETS = tuple(WORDS.shared["presets"])[:-1]
MOST = 8  # words of a reader's own sentence: the cells of more would be too small for a finger
SENTENCE = ("The", "cat", "sat", "on", "the", "mat", PAD, PAD)


class MaskEditor(Widget):
    """A mask over a sentence, editable cell by cell; `value[i][j]` is True where query i may see key j.

    `tokens` is a sentence or a list of words, `scores` (n, n) the input of the softmax (seeded noise
    if None), `mask` (n, n) of booleans your own mask, else `preset` makes one: causal, strict,
    padding (hides keys named "<pad>"), window (|i − j| ≤ size), block (blocks of `size`) or full.
    The last `bare` rows are not covered yet. `sentence` holds the reader's own words, `shown` the displayed words. A reader's sentence uses
    the example's scores, repeated if it has more words.
    """

    _module = traitlets.Unicode("masking/mask_editor").tag(sync=True)
    words = WORDS
    sentence = traitlets.Unicode("").tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    scores = Numbers().tag(sync=True)
    value = Numbers().tag(sync=True)
    preset = traitlets.Unicode("causal").tag(sync=True)
    size = traitlets.Int(2).tag(sync=True)
    hide_padding = traitlets.Bool(False).tag(sync=True)
    focus = traitlets.Int(0).tag(sync=True)
    bare = traitlets.Int(0).tag(sync=True)

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
    def shown(self) -> list[str]:
        """The displayed words: those of `sentence`, or the example's."""
        return typed(self.sentence, self.tokens, MOST)

    @property
    def shown_scores(self) -> list[list[float]]:
        """The displayed scores, a row and a column for each word."""
        n, given = len(self.shown), len(self.tokens)
        return [[self.scores[i % given][j % given] for j in range(n)] for i in range(n)]

    @property
    def mask(self) -> list[list[bool]]:
        """The displayed mask: `value`, where the last `bare` rows see everything."""
        covered = len(self.value) - self.bare
        return [line if i < covered else [True] * len(line) for i, line in enumerate(self.value)]

    @property
    def weights(self) -> list[list[float]]:
        """The weights under the mask; a row that may see nothing is NaN."""
        scores = torch.tensor(self.shown_scores, dtype=torch.float64).masked_fill(~torch.tensor(self.mask), -torch.inf)
        return scores.softmax(dim=-1).tolist()

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return _booleans("value", proposal["value"], len(self.shown))

    @traitlets.validate("scores")
    def _valid_scores(self, proposal):
        return to_list("scores", proposal["value"], (len(self.tokens), len(self.tokens)))

    @traitlets.validate("preset")
    def _valid_preset(self, proposal):
        return proposal["value"] if proposal["value"] == "own" else one_of("preset", proposal["value"], PRESETS)

    @traitlets.validate("size")
    def _valid_size(self, proposal):
        if proposal["value"] < 1:
            raise ValueError(f"size must be at least 1; it is {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("focus")
    def _valid_focus(self, proposal):
        return within("focus", proposal["value"], 0, len(self.shown) - 1, "a row ")

    @traitlets.validate("bare")
    def _valid_bare(self, proposal):
        return within("bare", proposal["value"], 0, max(MOST, len(self.tokens)), "a number of rows ")

    @traitlets.observe("preset", "size", "hide_padding")
    def _apply_preset(self, _):
        if self.preset != "own":
            self.value = self._preset_value()

    @traitlets.observe("sentence")
    def _fit(self, _):
        n = len(self.shown)
        if self.preset == "own":
            self.value = [[_at(self.value, i, j) for j in range(n)] for i in range(n)]
        else:
            self.value = self._preset_value()
        self.focus = min(self.focus, n - 1)

    @traitlets.observe("value")
    def _notice_own_mask(self, _):
        if self.preset != "own" and self.value != self._preset_value():
            self.preset = "own"

    def _preset_value(self):
        return preset_mask(self.preset, self.shown, self.size, self.hide_padding).tolist()

    @property
    def alt(self) -> str:
        say, i, tokens, mask = self.words, self.focus, self.shown, self.mask
        seen = [f"{word} {weight:.2f}" for word, weight, open_ in zip(tokens, self.weights[i], mask[i]) if open_]
        empty = [word for word, line in zip(tokens, mask) if not any(line)]
        return say.alt.format(
            preset=say.shared["presets"][self.preset],
            sentence=" ".join(tokens),
            visible=sum(map(sum, mask)),
            cells=len(tokens) ** 2,
            query=tokens[i],
            seen=len(seen),
            keys=len(tokens),
            shares=say.shares.format(shares=", ".join(seen)) if seen else "",
            part=say.part.format(laid=max(0, len(tokens) - self.bare), keys=len(tokens)) if self.bare else "",
            own=say.own if self.sentence.split() else "",
            empty=say.empty.format(rows=", ".join(empty)) if empty else "",
        )

    def figure(self):
        """Draw the scores under the mask beside the resulting weights."""
        say, tokens, weights, hidden = self.words.shared, self.shown, np.array(self.weights), ~np.array(self.mask)
        n, scores = len(tokens), self.shown_scores
        fig, (left, right) = draw.figure(1, 2, width=7.2, height=3.7)
        look: dict[str, Any] = {"rows": tokens, "cols": tokens, "hidden": hidden, "text_size": 9 if n <= 8 else 6.5}

        def score(i, j):
            return "−∞" if hidden[i, j] else draw.number(scores[i][j], 1)

        def weight(i, j):
            return "?" if hidden[i].all() else "" if hidden[i, j] else f"{weights[i, j]:.2f}"

        draw.heatmap(left, np.zeros((n, n)), text=score, title=say["scores"], **look)
        draw.heatmap(right, np.nan_to_num(weights), text=weight, title=say["weights"], **look)
        return fig


def _at(mask, i, j):
    """Keep the value of an existing cell; a cell of a new word is visible."""
    return mask[i][j] if max(i, j) < len(mask) else True


def preset_mask(preset: str, tokens: list[str], size: int = 2, hide_padding: bool = False) -> torch.Tensor:
    """Return the (n, n) mask of a preset; keys named "<pad>" are padding."""
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
    one_of("preset", preset, PRESETS)
    if size < 1:
        raise ValueError(f"size must be at least 1; it is {size}")
    mask = makers[preset]()
    return mask & _padding(tokens) if hide_padding else mask  # & instead of combine: here an empty row must be visible


def _padding(tokens):
    ids = torch.tensor([Vocabulary(()).encode(tokens)])  # special tokens have ids; other words are unknown
    return padding_mask(ids, Vocabulary.pad_id).expand(1, len(tokens), len(tokens))[0]


def _booleans(name, mask, n):
    values = to_numpy(name, mask, (n, n))
    if not np.isin(values, (0, 1)).all():
        raise ValueError(f"{name} must hold booleans, True where a query may see a key; it holds other numbers")
    return values.astype(bool).tolist()
