"""The heads of any model, where they look; and the heads of the trained translator, switched off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import traitlets

from tfm_lib.self_attention import entropy
from tfm_lib.widgets.base import Widget, to_numpy, to_words

NAMES = {
    "self": "self-attention",
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}
TOLD = 5  # keys that a sentence names
ROW_SUM = 0.02  # how far a row may be from 1: weights in half precision or rounded to two digits still pass
DIGITS = 3  # of a weight in the page


class Heads(Widget):
    """All heads of a model, to look through; `value` is the head that is looked at, counted from 0.

    `weights` is a dictionary with any of "encoder" (source words ask source words), "decoder" (target, target)
    and "cross" (target words ask source words), or one array, which is self-attention over `src_tokens`, or
    cross-attention if `tgt_tokens` are given. Each is a tensor, array or list of shape (layers, heads, n, m),
    (heads, n, m) or (n, m), or a list with one array a layer, as many libraries return them.
    `kind`, `layer`, `head` and `focus`, the row of a query, choose what is shown first.
    """

    _module = traitlets.Unicode("multihead/heads").tag(sync=True)
    title = traitlets.Unicode("Heads").tag(sync=True)
    question = traitlets.Unicode("Which head looks at the word before, which at the word itself?").tag(sync=True)
    src_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    tgt_tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    weights = traitlets.Dict().tag(sync=True)
    kind = traitlets.Unicode().tag(sync=True)
    layer = traitlets.Int(0).tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)
    focus = traitlets.Int(0).tag(sync=True)

    def __init__(self, weights, src_tokens, tgt_tokens=None, kind=None, layer=0, head=0, focus=0, **kwargs):
        src = to_words("src_tokens", src_tokens)
        tgt = [] if tgt_tokens is None else to_words("tgt_tokens", tgt_tokens)
        if not isinstance(weights, dict):
            weights = {"cross" if tgt else "self": weights}
        weights = _checked(weights, src, tgt)
        kind = kind or next(iter(weights))
        if kind not in weights:
            raise ValueError(f"kind must be one of {', '.join(weights)}; it is {kind!r}")
        places = {"layer": layer, "value": kwargs.pop("value", head), "focus": focus}
        for (name, place), count in zip(places.items(), np.shape(weights[kind])):
            _require_place(name, place, count)
        super().__init__(src_tokens=src, tgt_tokens=tgt, weights=weights, kind=kind, **places, **kwargs)

    @property
    def tokens(self) -> tuple[list[str], list[str]]:
        """The queries and the keys of the present attention."""
        return _words(self.kind, self.src_tokens, self.tgt_tokens)

    @property
    def matrix(self) -> list[list[float]]:
        """The weights of the head that is looked at, (n, m)."""
        return self.weights[self.kind][self.layer][self.value]

    @property
    def habits(self) -> dict[str, float]:
        """What the present head does on average over its queries: see `habits`."""
        return habits(self.matrix, asks_itself=self.kind != "cross")

    @traitlets.validate("weights")
    def _valid_weights(self, proposal):
        return _checked(proposal["value"], self.src_tokens, self.tgt_tokens)

    @traitlets.validate("kind")
    def _valid_kind(self, proposal):
        if proposal["value"] not in self.weights:
            raise ValueError(f"kind must be one of {', '.join(self.weights)}; it is {proposal['value']!r}")
        return proposal["value"]

    @traitlets.validate("layer", "value", "focus")
    def _valid_place(self, proposal):
        name = proposal["trait"].name
        count = np.shape(self.weights[self.kind])[("layer", "value", "focus").index(name)]
        return _require_place(name, proposal["value"], count)

    @traitlets.observe("kind", "weights")
    def _stay_inside(self, _):
        """Another attention may have fewer layers, heads or queries."""
        for name, count in zip(("layer", "value", "focus"), np.shape(self.weights[self.kind])):
            if getattr(self, name) >= count:
                setattr(self, name, count - 1)

    @property
    def alt(self) -> str:
        layers, heads, n, m = np.shape(self.weights[self.kind])
        queries, keys = self.tokens
        row = torch.tensor(self.matrix[self.focus], dtype=torch.float64)
        told = row.argsort(descending=True, stable=True)[:TOLD].tolist()
        shares = ", ".join(f"{keys[j]} {row[j]:.2f}" for j in told)
        place = f"Head {self.value + 1} of {heads}" + (f" in layer {self.layer + 1} of {layers}" if layers > 1 else "")
        means = ", ".join(f"{_HABITS[name]} {mean:.2f}" for name, mean in self.habits.items())
        return (
            f"{place}, {NAMES[self.kind]}. The query “{queries[self.focus]}” over {m} keys"
            f"{', the largest' if m > TOLD else ''}: {shares}. On average over {n} queries: {means}."
        )

    def figure(self):
        """The weights of every head of the present layer; the one that is looked at is named in blue."""
        from tfm_lib.book.display import colours, figure

        layer = np.array(self.weights[self.kind][self.layer])
        heads, n, m = layer.shape
        across = min(4, heads)
        down = math.ceil(heads / across)
        fig, axes = figure(
            down, across, width=7.4, height=down * max(1.5, min(3.4, 0.6 + 6 / across * n / m)), squeeze=False
        )
        top = _darkest(self.weights[self.kind])
        for i, ax in enumerate(axes.flat):
            if i >= heads:
                ax.axis("off")
                continue
            _matrix(ax, layer[i], self.tokens, top, first=i % across == 0)
            ax.set_title(f"head {i + 1}", color=colours()["query" if i == self.value else "ink"])
        fig.suptitle(f"{NAMES[self.kind]}, layer {self.layer + 1}, weights 0 to {top:.1f}", fontsize=10.5)
        return fig


_HABITS = {"itself": "on itself", "before": "on the word before", "after": "on the word after", "entropy": "entropy"}


def habits(weights, asks_itself: bool = True) -> dict[str, float]:
    """What a head (n, m) does on average: `itself`, `before` and `after` are the mean weights on the query's own
    word and on its neighbours, where a text asks itself; `entropy` in nats says how widely it looks."""
    weights = torch.as_tensor(weights, dtype=torch.float64)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    lines = {"itself": 0, "before": -1, "after": 1} if asks_itself else {}
    means = {
        name: weights.diagonal(offset).mean().item() for name, offset in lines.items() if len(weights) > abs(offset)
    }
    return {**means, "entropy": entropy(weights).mean().item()}


MODES = {"head": "one head", "layer": "a whole layer", "order": "least important first"}
MEASURED = (
    "places",
    "n_layers",
    "n_heads",
    "sentences",
    "ours",
    "whole",
    "heads",
    "layers",
    "order",
    "stops",
    "pruned",
    "once",
    "random",
)
WORTH = 1.0  # BLEU; the guess is about the heads that cost more


class HeadAblation(Widget):
    """Heads of a trained translator switched off, and what it cost, as it was measured; `value` is the head, −1 for none.

    Heads are numbered through from 0: by place (encoder, decoder, cross), layer and head. `mode` says what is off: that
    "head" alone, the whole "layer" in which it is, or the first `removed` heads of the "order" in which they are missed
    least, asked anew after every few. `tried` holds the heads that were switched off alone so far, `reveal` shows the others too, and `guess` is how
    many of them cost more than 1 BLEU. `measured` is the result of `python -m experiments.multihead_ablation`.
    """

    _module = traitlets.Unicode("multihead/head_ablation").tag(sync=True)
    title = traitlets.Unicode("Head ablation").tag(sync=True)
    question = traitlets.Unicode("How many heads cost more than 1 BLEU when they alone are off?").tag(sync=True)
    measured = traitlets.Dict().tag(sync=True)
    mode = traitlets.Unicode("head").tag(sync=True)
    value = traitlets.Int(-1).tag(sync=True)
    removed = traitlets.Int(0).tag(sync=True)
    guess = traitlets.Int(0).tag(sync=True)
    reveal = traitlets.Bool(False).tag(sync=True)
    tried = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, measured: Mapping[str, Any] | None = None, **kwargs):
        if measured is None:
            from tfm_lib.book import recorded

            measured = recorded("multihead_ablation")
        super().__init__(measured={key: measured[key] for key in MEASURED if key in measured}, **kwargs)

    @property
    def n(self) -> int:
        """How many heads there are."""
        return len(self.measured["heads"])

    @property
    def off(self) -> list[int]:
        """The heads that are switched off now."""
        if self.mode == "order":
            return self.measured["order"][: self.removed]
        if self.value < 0:
            return []
        h = self.measured["n_heads"]
        first = self.value // h * h
        return [self.value] if self.mode == "head" else list(range(first, first + h))

    @property
    def cost(self) -> dict[str, float]:
        """Growth of the loss and change of BLEU against the whole model, and the growths of the single heads summed."""
        return cost(self.measured, self._entry, self.off)

    @property
    def sentences(self) -> list[tuple[str, str, str]]:
        """Each of our sentences, its translation by the whole model, and the one of now."""
        whole = self.measured["whole"][2]
        return [(ours, old, new or old) for ours, old, new in zip(self.measured["ours"], whole, self._entry[2])]

    @property
    def worth(self) -> int:
        """How many heads cost more than 1 BLEU alone."""
        bleu = self.measured["whole"][1]
        return sum(bleu - entry[1] > WORTH for entry in self.measured["heads"])

    def name(self, i: int) -> str:
        """Place, layer and head of head `i`, counted from 1 as people do."""
        row, head = divmod(i, self.measured["n_heads"])
        place, layer = divmod(row, self.measured["n_layers"])
        return f"head {head + 1} of layer {layer + 1}, {NAMES[self.measured['places'][place]]}"

    @property
    def _entry(self) -> list:
        data = self.measured
        if self.mode == "order":
            return data["pruned"][data["stops"].index(self.removed)]
        if self.value < 0:
            loss, bleu, ours = data["whole"]
            return [loss, bleu, [None] * len(ours)]
        return data["heads"][self.value] if self.mode == "head" else data["layers"][self.value // data["n_heads"]]

    @traitlets.validate("measured")
    def _valid_measured(self, proposal):
        return _checked_ablation(proposal["value"])

    @traitlets.validate("mode")
    def _valid_mode(self, proposal):
        if proposal["value"] not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}; it is {proposal['value']!r}")
        return proposal["value"]

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        if not -1 <= proposal["value"] < self.n:
            raise ValueError(f"value must be a head from 0 to {self.n - 1}, or -1 for none; it is {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("removed")
    def _valid_removed(self, proposal):
        stops = self.measured["stops"]
        if proposal["value"] not in stops:
            raise ValueError(f"removed must be one of {', '.join(map(str, stops))}; it is {proposal['value']}")
        return proposal["value"]

    @traitlets.observe("mode", "value")
    def _remember(self, _):
        if self.mode == "head" and self.value >= 0 and self.value not in self.tried:
            self.tried = [*self.tried, self.value]

    @property
    def alt(self) -> str:
        loss, bleu, _ = self._entry
        whole = self.measured["whole"]
        what = {
            "head": self.name(self.value) if self.value >= 0 else "",
            "layer": f"all heads of {self.name(self.value).partition(' of ')[2]}" if self.value >= 0 else "",
            "order": f"the {self.removed} least important of {self.n} heads" if self.removed else "",
        }[self.mode]
        guessed = f" Guessed: {self.guess} of them cost more than 1 BLEU alone." if self.guess else ""
        if not what:
            return f"All {self.n} heads on: loss {whole[0]:.3f} nats, BLEU {whole[1]:.1f}.{guessed}"
        change = self.cost
        said = "; ".join(f"“{source}” becomes “{new}”" for source, old, new in self.sentences if new != old)
        return (
            f"Without {what}: loss {whole[0]:.3f} → {loss:.3f} nats ({change['loss']:+.3f}), "
            f"BLEU {whole[1]:.1f} → {bleu:.1f} ({change['bleu']:+.1f})." + (f" {said}." if said else "") + guessed
        )

    def figure(self):
        """What each head costs alone, those that are off marked; and the loss as heads go one after the other."""
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Rectangle

        from tfm_lib.book.display import colours, figure

        c, data = colours(), self.measured
        growth = np.array([entry[0] - data["whole"][0] for entry in data["heads"]]).reshape(-1, data["n_heads"])
        fig, (grid, curve) = figure(cols=2, width=7.4, height=3.6)
        top = max(growth.max(), 1e-9)
        for (row, head), grown in np.ndenumerate(growth):
            box = (head, row), 0.94, 0.94
            grid.add_patch(Rectangle(*box, facecolor=to_rgba(c["w1"], min(max(grown, 0) / top, 1)), linewidth=0))
            ink = c["card" if grown > 0.5 * top else "ink"]
            grid.text(head + 0.47, row + 0.5, f"{1e3 * grown:.0f}", ha="center", va="center", fontsize=7, color=ink)
            if row * data["n_heads"] + head in self.off:
                grid.add_patch(Rectangle(*box, fill=False, edgecolor=c["broken"], linestyle="--", linewidth=1.5))
        rows = [f"{place} {layer + 1}" for place in data["places"] for layer in range(data["n_layers"])]
        grid.set(xlim=(0, data["n_heads"]), ylim=(len(rows), 0), title="loss grown without the head, nats/1000")
        grid.set_xticks(np.arange(data["n_heads"]) + 0.47, range(1, data["n_heads"] + 1))
        grid.set_yticks(np.arange(len(rows)) + 0.5, rows)
        grid.tick_params(length=0)
        grid.spines[:].set_visible(False)
        for k, losses in enumerate(data["random"]):
            curve.plot(data["stops"], losses, color=c["soft"], linewidth=0.8, label=None if k else "random orders")
        summed = [
            data["whole"][0] + cost(data, entry, data["order"][:stop])["summed"]
            for stop, entry in zip(data["stops"], data["pruned"])
        ]
        curve.plot(data["stops"], data["once"], ":", color=c["ink"], linewidth=1.2, label="asked once")
        curve.plot(data["stops"], summed, "--", color=c["ink"], linewidth=1, label="if costs added up")
        curve.plot(
            data["stops"], [entry[0] for entry in data["pruned"]], color=c["query"], label="least important first"
        )
        if self.mode == "order":
            curve.plot([self.removed], [self._entry[0]], "o", color=c["query"])
        curve.set(xlabel="heads off", ylabel="loss, nats a token")
        curve.legend(frameon=False)
        return fig


def cost(measured: Mapping[str, Any], entry: list, off: list[int]) -> dict[str, float]:
    """What `entry` lost against the whole model: `loss` grown, `bleu` changed; `summed` is what the heads `off` cost one by one."""
    loss, bleu, _ = measured["whole"]
    summed = sum(measured["heads"][i][0] - loss for i in off)
    return {"loss": entry[0] - loss, "bleu": entry[1] - bleu, "summed": summed}


def _checked_ablation(measured: dict[str, Any]) -> dict[str, Any]:
    """`measured` with every entry that the widget reads, or an error that says which is missing or of another length."""
    if missing := [key for key in MEASURED if key not in measured]:
        raise ValueError(f"measured must be a result of experiments.multihead_ablation; it has no {missing[0]!r}")
    rows = len(measured["places"]) * measured["n_layers"]
    heads, stops = rows * measured["n_heads"], len(measured["stops"])
    for key, count in {"heads": heads, "layers": rows, "order": heads, "pruned": stops, "once": stops}.items():
        if len(measured[key]) != count:
            raise ValueError(f"measured[{key!r}] must hold {count} entries; it holds {len(measured[key])}")
    return measured


def _words(kind: str, src: list[str], tgt: list[str]) -> tuple[list[str], list[str]]:
    return (tgt if kind in ("decoder", "cross") else src), (tgt if kind == "decoder" else src)


def _require_place(name: str, place: int, count: int) -> int:
    if not 0 <= place < count:
        what = {"layer": "a layer", "value": "a head", "focus": "a row"}[name]
        raise ValueError(f"{'head' if name == 'value' else name} must be {what} from 0 to {count - 1}; it is {place}")
    return place


def _checked(weights: dict, src: list[str], tgt: list[str]) -> dict[str, list]:
    """The weights of each kind as lists (layers, heads, n, m), or an error that says what is wrong with them."""
    known = ("encoder", "decoder", "cross", "self")
    if not weights or not set(weights) <= set(known):
        came = ", ".join(map(repr, weights)) or "nothing"
        raise ValueError(f"weights must be an array, or a dictionary with encoder, decoder or cross; it holds {came}")
    if not tgt and (missing := {"decoder", "cross"} & set(weights)):
        raise ValueError(f"{min(missing)} attention needs tgt_tokens, the words that ask; none were given")
    checked = {}
    for kind in (kind for kind in known if kind in weights):
        queries, keys = _words(kind, src, tgt)
        array = _four_axes(kind, weights[kind], len(queries), len(keys))
        _require_distributions(kind, array)
        checked[kind] = np.round(array, DIGITS).tolist()
    return checked


def _four_axes(kind: str, weights, n: int, m: int) -> np.ndarray:
    if isinstance(weights, (list, tuple)) and all(hasattr(layer, "shape") for layer in weights):
        layers = [to_numpy(f"{kind}[{i}]", layer, _axes(layer)) for i, layer in enumerate(weights)]
        weights = np.stack([layer[0] if layer.ndim == 4 and len(layer) == 1 else layer for layer in layers])
    axes = np.ndim(weights)
    if axes > 4:
        shape = tuple(np.shape(weights))
        raise ValueError(
            f"{kind} must be the weights of one text, (layers, heads, {n}, {m}); of a batch {shape}, pass one text"
        )
    shape = (*("layers", "heads")[max(0, 4 - axes) :], n, m)
    array = to_numpy(kind, weights, shape if axes >= 2 else ("layers", "heads", n, m))
    return array.reshape((1,) * (4 - axes) + array.shape)


def _axes(layer) -> tuple:
    return ("batch", "heads", "n", "m")[-len(layer.shape) :]


def _require_distributions(kind: str, array: np.ndarray) -> None:
    if array.min() < 0:
        raise ValueError(
            f"{kind} must be at least 0; the smallest is {array.min():.3g}. Are they scores before the softmax?"
        )
    sums = array.sum(axis=-1)
    far = np.abs(sums - 1)
    if far.max() > ROW_SUM:
        layer, head, row = np.unravel_index(far.argmax(), far.shape)
        guess = "Was the text cut, or dropout still on (model.eval() turns it off)?"
        if np.abs(array.sum(axis=-2) - 1).max() <= ROW_SUM:
            guess = "The columns do: rows must be queries, so pass the transpose of the last two axes."
        raise ValueError(
            f"each row of {kind} must sum to about 1; row {row} of head {head} in layer {layer} sums to "
            f"{sums[layer, head, row]:.3g}. {guess}"
        )


def _darkest(heads: list) -> float:
    """The weight of the darkest colour: the largest of all, up to the next tenth, so that heads compare."""
    return math.ceil(10 * np.max(heads) - 1e-9) / 10


def _matrix(ax, weights, words, top, first):
    """Cells of the darkest colour, more or less transparent, so that they follow the scheme of the page."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    from tfm_lib.book.display import colours

    n, m = weights.shape
    ax.add_patch(Rectangle((0, 0), m, n, facecolor=colours()["w0"], linewidth=0, zorder=0))
    for (i, j), weight in np.ndenumerate(weights):
        if weight >= 0.005:
            ax.add_patch(Rectangle((j, i), 0.96, 0.96, facecolor=to_rgba(colours()["w1"], weight / top), linewidth=0))
    queries, keys = ([word.replace("$", r"\$") for word in line] for line in words)
    size = min(9, 70 / max(n, m))
    ax.set(xlim=(0, m), ylim=(n, 0), aspect="equal", xticks=np.arange(m) + 0.5, yticks=np.arange(n) + 0.5)
    named = size >= 4.5  # smaller words are a grey smear
    ax.set_xticklabels(keys if named else [], rotation=90, va="top", color=colours()["key"], fontsize=size)
    ax.set_yticklabels(queries if named and first else [], color=colours()["query"], fontsize=size)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
