"""The widgets of chapter `multihead`: attention weights of a model's heads, and ablation of the translator's heads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import traitlets

from tfm_lib.self_attention import entropy
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets._live import Live
from tfm_lib.widgets._attention_weights import TOLD, darkest, distributions, told
from tfm_lib.widgets.base import Words, one_of, to_numpy, to_words, within

KINDS = {
    "self": "self-attention",
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}
HEADS = Words(
    title="Heads",
    question="Which head looks at the previous word, and which at the word itself?",
    shared={
        "kinds": KINDS,
        "habits": {
            "itself": "on itself",
            "before": "on the previous word",
            "after": "on the next word",
            "entropy": "entropy",
        },
        "head": "head {head}",
    },
    alt="Head {head} of {heads}{layer}, {kind}. The query “{query}” over {keys} keys{most}: {shares}. On average over "
    "{queries} queries: {habits}.",
    layer=" in layer {layer} of {layers}",
    most=", the largest",
    heading="{kind}, layer {layer}, weights 0 to {top:.1f}",
)
ABLATION = Words(
    title="Head ablation",
    question="How many heads cost more than 1 BLEU when switched off one at a time?",
    shared={
        "kinds": KINDS,
        "modes": {"head": "one head", "layer": "a whole layer", "order": "least important first"},
        "places": {"encoder": "encoder", "decoder": "decoder", "cross": "cross"},
        "off": "heads off",
        "added": "if costs added up",
        "layer": "layer {layer}, {kind}",
    },
    whole="All {heads} heads on: loss {loss:.3f} nats, BLEU {bleu:.1f}.{guessed}",
    alt="Without {what}: loss {whole:.3f} → {loss:.3f} nats ({grown:+.3f}), BLEU {best:.1f} → {bleu:.1f} ({change:+.1f})."
    "{said}{guessed}",
    guessed=" Guess: {guess} of them cost more than 1 BLEU, one at a time.",
    becomes="“{source}” becomes “{new}”",
    head="head {head} of {layer}",
    heads="all heads of {layer}",
    first="the {removed} least important of {heads} heads",
    costs="BLEU lost without the head",
    random="random orders",
    once="ranked once",
    loss="loss, nats per token",
)
DIGITS = 3  # decimals of a weight in the page


class Heads(Live):
    """The attention weights of all heads of a model; `value` is the selected head, counted from 0.

    `weights` is a dictionary with any of "encoder" (source words attend to source words), "decoder" (target, target)
    and "cross" (target words attend to source words), or one array, which is self-attention over `src_tokens`, or
    cross-attention if `tgt_tokens` are given. Each is a tensor, array or list of shape (layers, heads, n, m),
    (heads, n, m) or (n, m), or a list with one array per layer, as many libraries return them.
    `kind`, `layer`, `head` and `focus`, the row of a query, set the initial view. `translator` is the engine's,
    for sentences of the reader's own.
    """

    _module = traitlets.Unicode("multihead/heads").tag(sync=True)
    words = HEADS
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
        one_of("kind", kind, weights)
        places = {"layer": layer, "value": kwargs.pop("value", head), "focus": focus}
        for (name, place), count in zip(places.items(), np.shape(weights[kind])):
            _require_place(name, place, count)
        super().__init__(src_tokens=src, tgt_tokens=tgt, weights=weights, kind=kind, **places, **kwargs)

    @property
    def tokens(self) -> tuple[list[str], list[str]]:
        """The queries and the keys of the selected attention."""
        return _words(self.kind, self.src_tokens, self.tgt_tokens)

    @property
    def matrix(self) -> list[list[float]]:
        """The weights of the selected head, (n, m)."""
        return self.weights[self.kind][self.layer][self.value]

    @property
    def habits(self) -> dict[str, float]:
        """Averages over the queries of the selected head: see `habits`."""
        return habits(self.matrix, asks_itself=self.kind != "cross")

    @traitlets.validate("weights")
    def _valid_weights(self, proposal):
        return _checked(proposal["value"], self.src_tokens, self.tgt_tokens)

    @traitlets.validate("kind")
    def _valid_kind(self, proposal):
        return one_of("kind", proposal["value"], self.weights)

    @traitlets.validate("layer", "value", "focus")
    def _valid_place(self, proposal):
        name = proposal["trait"].name
        count = np.shape(self.weights[self.kind])[("layer", "value", "focus").index(name)]
        return _require_place(name, proposal["value"], count)

    @traitlets.observe("kind", "weights")
    def _stay_inside(self, _):
        """Clip the selection: another attention may have fewer layers, heads or queries."""
        for name, count in zip(("layer", "value", "focus"), np.shape(self.weights[self.kind])):
            if getattr(self, name) >= count:
                setattr(self, name, count - 1)

    @property
    def alt(self) -> str:
        say = self.words
        layers, heads, n, m = np.shape(self.weights[self.kind])
        queries, keys = self.tokens
        return say.alt.format(
            head=self.value + 1,
            heads=heads,
            layer=say.layer.format(layer=self.layer + 1, layers=layers) if layers > 1 else "",
            kind=say.shared["kinds"][self.kind],
            query=queries[self.focus],
            keys=m,
            most=say.most if m > TOLD else "",
            shares=told(keys, self.matrix[self.focus]),
            queries=n,
            habits=", ".join(f"{say.shared['habits'][name]} {mean:.2f}" for name, mean in self.habits.items()),
        )

    def figure(self):
        """Draw the weights of every head of the selected layer; the selected one is named in bold."""
        say, layer, top = self.words, np.array(self.weights[self.kind][self.layer]), darkest(self.weights[self.kind])
        heads, n, m = layer.shape
        across = min(4, heads)
        down = math.ceil(heads / across)
        height = down * max(1.5, min(3.4, 0.6 + 6 / across * n / m))
        fig, axes = draw.figure(down, across, width=7.4, height=height, squeeze=False)
        queries, keys = self.tokens
        for i, ax in enumerate(axes.flat):
            if i >= heads:
                ax.axis("off")
                continue
            rows = queries if i % across == 0 else [""] * n
            draw.heatmap(ax, layer[i], rows, keys, top, size=min(9, 70 / max(n, m)), below=True)
            chosen = {"color": draw.colours()["ink"], "fontweight": "bold"} if i == self.value else {}
            ax.set_title(say.shared["head"].format(head=i + 1), **chosen)
        heading = {"kind": say.shared["kinds"][self.kind], "layer": self.layer + 1, "top": top}
        fig.suptitle(say.heading.format(**heading), fontsize=10.5)
        return fig


def habits(weights, asks_itself: bool = True) -> dict[str, float]:
    """Return averages of a head (n, m): `itself`, `before` and `after` are the mean weights on the query's own
    word and on its neighbours, for self-attention; `entropy` in nats says how widely it is spread."""
    weights = torch.as_tensor(weights, dtype=torch.float64)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    lines = {"itself": 0, "before": -1, "after": 1} if asks_itself else {}
    means = {
        name: weights.diagonal(offset).mean().item() for name, offset in lines.items() if len(weights) > abs(offset)
    }
    return {**means, "entropy": entropy(weights).mean().item()}


MODES = tuple(ABLATION.shared["modes"])
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
WORTH = 1.0  # BLEU; the guess counts the heads that cost more


class HeadAblation(Live):
    """Measured cost of switching off heads of a trained translator; `value` is the head, −1 for none.

    Heads are numbered from 0: by place (encoder, decoder, cross), layer and head. `mode` says what is off: that "head"
    alone, its whole "layer", or the first `removed` heads of the "order", least important first, ranked again after
    every few. `tried` holds the heads that were switched off alone so far, `reveal` shows the others too, and `guess`
    is the reader's guess of how many cost more than 1 BLEU, −1 before it is made. `own` is a sentence of the reader's
    own as translated by the whole model and without these heads. `measured` is the result of the command
    `python -m experiments.multihead_ablation`.
    """

    _module = traitlets.Unicode("multihead/head_ablation").tag(sync=True)
    words = ABLATION
    measured = traitlets.Dict().tag(sync=True)
    mode = traitlets.Unicode("head").tag(sync=True)
    value = traitlets.Int(-1).tag(sync=True)
    removed = traitlets.Int(0).tag(sync=True)
    guess = traitlets.Int(-1).tag(sync=True)
    reveal = traitlets.Bool(False).tag(sync=True)
    tried = traitlets.List(traitlets.Int()).tag(sync=True)
    own = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, measured: Mapping[str, Any] | None = None, **kwargs):
        if measured is None:
            from tfm_lib.drawing import recorded

            measured = recorded("multihead_ablation")
        super().__init__(measured={key: measured[key] for key in MEASURED if key in measured}, **kwargs)

    @property
    def n(self) -> int:
        """The number of heads."""
        return len(self.measured["heads"])

    @property
    def off(self) -> list[int]:
        """The heads that are currently switched off."""
        if self.mode == "order":
            return self.measured["order"][: self.removed]
        if self.value < 0:
            return []
        h = self.measured["n_heads"]
        first = self.value // h * h
        return [self.value] if self.mode == "head" else list(range(first, first + h))

    @property
    def cost(self) -> dict[str, float]:
        """Increase of loss and change of BLEU against the whole model, and the sum of the single heads' increases."""
        return cost(self.measured, self._entry, self.off)

    @property
    def sentences(self) -> list[tuple[str, str, str]]:
        """Each of our sentences, its translation by the whole model, and the current one."""
        whole = self.measured["whole"][2]
        return [(ours, old, new or old) for ours, old, new in zip(self.measured["ours"], whole, self._entry[2])]

    @property
    def worth(self) -> int:
        """The number of heads that cost more than 1 BLEU alone."""
        bleu = self.measured["whole"][1]
        return sum(bleu - entry[1] > WORTH for entry in self.measured["heads"])

    def name(self, i: int) -> str:
        """Return place, layer and head of head `i`, counted from 1."""
        return self.words.head.format(head=i % self.measured["n_heads"] + 1, layer=self._layer(i))

    def _layer(self, i: int) -> str:
        place, layer = divmod(i // self.measured["n_heads"], self.measured["n_layers"])
        kind = self.words.shared["kinds"][self.measured["places"][place]]
        return self.words.shared["layer"].format(layer=layer + 1, kind=kind)

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
        return one_of("mode", proposal["value"], MODES)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        if not -1 <= proposal["value"] < self.n:
            raise ValueError(f"value must be a head from 0 to {self.n - 1}, or -1 for none; it is {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("removed")
    def _valid_removed(self, proposal):
        return one_of("removed", proposal["value"], self.measured["stops"])

    @traitlets.observe("mode", "value")
    def _remember(self, _):
        if self.mode == "head" and self.value >= 0 and self.value not in self.tried:
            self.tried = [*self.tried, self.value]

    @property
    def alt(self) -> str:
        say, (loss, bleu, _) = self.words, self._entry
        whole, change = self.measured["whole"], self.cost
        guessed = say.guessed.format(guess=self.guess) if self.guess >= 0 else ""
        if not self.off:
            return say.whole.format(heads=self.n, loss=whole[0], bleu=whole[1], guessed=guessed)
        what = {
            "head": lambda: self.name(self.value),
            "layer": lambda: say.heads.format(layer=self._layer(self.value)),
            "order": lambda: say.first.format(removed=self.removed, heads=self.n),
        }[self.mode]()
        said = "; ".join(
            say.becomes.format(source=source, new=new) for source, old, new in self.sentences if new != old
        )
        numbers = {"loss": loss, "bleu": bleu, "grown": change["loss"], "change": change["bleu"], "guessed": guessed}
        return say.alt.format(what=what, whole=whole[0], best=whole[1], said=f" {said}." if said else "", **numbers)

    def figure(self):
        """Draw each head's cost alone, marking those that are off; and the loss as heads are removed in order."""
        say, data, across = self.words, self.measured, self.measured["n_heads"]
        lost = np.array([data["whole"][1] - entry[1] for entry in data["heads"]]).reshape(-1, across)
        fig, (grid, curve) = draw.figure(cols=2, width=7.4, height=3.6)
        top = max(lost.max(), 1e-9)
        rows = [f"{say.shared['places'][place]} {i + 1}" for place in data["places"] for i in range(data["n_layers"])]
        cols = [str(i + 1) for i in range(across)]
        look: dict[str, Any] = {
            "text_size": 7,
            "square": False,
            "below": True,
            "turned": False,
            "kinds": ("soft", "soft"),
        }
        draw.heatmap(grid, lost, rows, cols, top, say.costs, lambda i, j: draw.number(lost[i, j], 1), **look)
        for row, head in (divmod(i, across) for i in self.off):
            draw.box(grid, head, row, 1, 1, edge="broken", linestyle="--", linewidth=1.5)
        plane, stops = draw.Plane(curve, say.shared["off"], say.loss), data["stops"]
        for k, losses in enumerate(data["random"]):
            plane.line(stops, losses, "soft", name=None if k else say.random, linewidth=0.8)
        entries = zip(stops, data["pruned"])
        summed = [data["whole"][0] + cost(data, entry, data["order"][:stop])["summed"] for stop, entry in entries]
        plane.line(stops, data["once"], dash=":", name=say.once, linewidth=1.2)
        plane.line(stops, summed, dash="--", name=say.shared["added"], linewidth=1)
        plane.line(stops, [entry[0] for entry in data["pruned"]], "one", name=say.shared["modes"]["order"])
        if self.mode == "order":
            plane.dot(self.removed, self._entry[0], "one")
        plane.key()
        return fig


def cost(measured: Mapping[str, Any], entry: list, off: list[int]) -> dict[str, float]:
    """Compare `entry` with the whole model: change of `loss` and `bleu`; `summed` adds the single heads' costs."""
    loss, bleu, _ = measured["whole"]
    summed = sum(measured["heads"][i][0] - loss for i in off)
    return {"loss": entry[0] - loss, "bleu": entry[1] - bleu, "summed": summed}


def _checked_ablation(measured: dict[str, Any]) -> dict[str, Any]:
    """Return `measured`, or raise an error that names an entry which is missing or has the wrong length."""
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
    what = {"layer": "a layer ", "value": "a head ", "focus": "a row "}[name]
    return within("head" if name == "value" else name, place, 0, count - 1, what)


def _checked(weights: dict, src: list[str], tgt: list[str]) -> dict[str, list]:
    """Return the weights of each kind as lists (layers, heads, n, m), or raise an error that says what is wrong."""
    known = ("encoder", "decoder", "cross", "self")
    if not weights or not set(weights) <= set(known):
        came = ", ".join(map(repr, weights)) or "nothing"
        raise ValueError(f"weights must be an array, or a dictionary with encoder, decoder or cross; it holds {came}")
    if not tgt and (missing := {"decoder", "cross"} & set(weights)):
        raise ValueError(f"{min(missing)} attention needs tgt_tokens, the words that ask; none were given")
    checked = {}
    for kind in (kind for kind in known if kind in weights):
        queries, keys = _words(kind, src, tgt)
        array = distributions(kind, _four_axes(kind, weights[kind], len(queries), len(keys)), _AXES, _AXES[:2])
        checked[kind] = np.round(array, DIGITS).tolist()
    return checked


_AXES = ("layer", "head", "n", "m")


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
