"""The widgets of chapter `layers`: one word's norm by hand, and a gradient on its way down a stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import traitlets
from torch import Tensor, nn

from tfm_lib.layers import EncoderLayer, standardise
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Numbers, Widget, Words, one_of, to_list, to_numpy

BY_HAND = Words(
    title="LayerNorm by hand",
    question="What does the norm forget, and what does it keep?",
    shared={"feature": "feature", "normalised": "normalised"},
    alt="The features {features} have mean {mean} and variance {variance}; with ε = {eps:.3g} the norm makes them "
    "{normalised}.",
    before="mean {mean}, variance {variance}",
    after="after the norm",
)
DEPTH = Words(
    title="Gradient through depth",
    question="What does a stack need, so that the bottom hears an error of the top?",
    shared={
        "norms": {"none": "no norm", "pre": "norm before the sub-layer", "post": "norm after the sum"},
        "residuals": {"with": "with residuals", "without": "without residuals"},
        "layer": "layer, 0 is the bottom",
        "length": "length of the gradient",
    },
    alt="{depth} layers, {residuals}, {norm}: of an error of length 1 at the top, {middle:.2g} arrives at the bottom "
    "(seeds from {low:.2g} to {high:.2g}). {others} it is {rival:.2g}.",
    heading="{depth} layers, {norm}",
    linear="{axis} (linear)",
    log="{axis} (log)",
)
LIMIT = 12  # features stay between −LIMIT and LIMIT
NORMS = tuple(DEPTH.shared["norms"])


class LayerNormByHand(Widget):
    """The features of one word, to drag, and what the first step of layer normalisation makes of them.

    `value` holds 2 to 8 features between −12 and 12, `eps` is ε, from 1e-6 to 10.
    """

    _module = traitlets.Unicode("layers/layer_norm").tag(sync=True)
    words = BY_HAND
    value = Numbers().tag(sync=True)
    eps = traitlets.Float(1e-5).tag(sync=True)

    def __init__(self, value=(1, 3, 3, 9, 5, 3), eps=1e-5, **kwargs):
        super().__init__(value=to_list("value", value, ("features",)), eps=eps, **kwargs)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        features = to_list("value", proposal["value"], ("features",))
        if not 2 <= len(features) <= 8:
            raise ValueError(f"value must hold 2 to 8 features; it holds {len(features)}")
        if max(map(abs, features)) > LIMIT:
            raise ValueError(f"value must lie between −{LIMIT} and {LIMIT}; it holds {max(features, key=abs)}")
        return features

    @traitlets.validate("eps")
    def _valid_eps(self, proposal):
        if not 1e-6 <= proposal["value"] <= 10:
            raise ValueError(f"eps must lie between 1e-6 and 10; it is {proposal['value']}")
        return proposal["value"]

    @property
    def normalised(self) -> list[float]:
        """The features after the norm, before γ and β."""
        return standardise(torch.tensor(self.value, dtype=torch.float64), self.eps).tolist()

    @property
    def alt(self) -> str:
        x = np.array(self.value)
        features, normalised = (
            ", ".join(draw.number(each, k) for each in row) for row, k in ((x, 1), (self.normalised, 2))
        )
        told = {"features": features, "normalised": normalised, "eps": self.eps}
        return self.words.alt.format(mean=draw.number(x.mean()), variance=draw.number(x.var()), **told)

    def figure(self):
        """The features with their mean and spread, beside the normalised ones."""
        say, x = self.words, np.array(self.value)
        places, feature = np.arange(1, len(x) + 1), say.shared["feature"]
        fig, (left, right) = draw.figure(cols=2, width=7.2, height=2.9)
        heading = say.before.format(mean=draw.number(x.mean()), variance=draw.number(x.var()))
        before = draw.Plane(left, feature, "x", title=heading, xticks=places)
        after = draw.Plane(right, feature, say.shared["normalised"], title=say.after, ylim=(-2.7, 2.7), xticks=places)
        for plane, out, middle, spread, stem, colour in (
            (before, x, x.mean(), x.std(), "soft", "query"),
            (after, self.normalised, 0, 1, "value", "value"),
        ):
            plane.ax.axhspan(middle - spread, middle + spread, color=draw.colours()["line"], alpha=0.6, linewidth=0)
            plane.rule(y=middle, colour="ink")
            plane.stems(places, middle, out, stem)
            plane.line(places, out, colour, "", marker="o", markersize=8)
        return fig


class GradientThroughDepth(Widget):
    """How long an error of length 1, sent down from the top of a stack, is at every layer.

    `norms[residual, norm]` maps each depth to an array (seeds, depth + 1) of lengths, the bottom's first; `residual` is
    True or False, `norm` "none", "pre" or "post", and all six must be there. None measures small untrained stacks.
    """

    _module = traitlets.Unicode("layers/gradient_depth").tag(sync=True)
    words = DEPTH
    depths = traitlets.List(traitlets.Int()).tag(sync=True)
    measured = traitlets.Dict().tag(sync=True)
    value = traitlets.Int().tag(sync=True)
    residual = traitlets.Bool(True).tag(sync=True)
    norm = traitlets.Unicode("post").tag(sync=True)

    def __init__(self, norms=None, value=None, **kwargs):
        norms = measure() if norms is None else norms
        depths, found = _summaries(norms)
        super().__init__(depths=depths, measured=found, value=depths[-1] if value is None else value, **kwargs)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        if proposal["value"] not in self.depths:
            raise ValueError(f"value must be a depth, one of {_join(self.depths)}; it is {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("norm")
    def _valid_norm(self, proposal):
        return one_of("norm", proposal["value"], NORMS)

    def lengths(self, residual: bool | None = None) -> list[list[float]]:
        """Least, geometric mean and greatest length at each layer of the chosen stack, or of that with other residuals."""
        residual = self.residual if residual is None else residual
        return self.measured[_key(residual, self.norm)][self.depths.index(self.value)]

    @property
    def alt(self) -> str:
        low, middle, high = self.lengths()[0]
        say, rival = self.words, self.lengths(not self.residual)[0][1]
        residuals = say.shared["residuals"]
        return say.alt.format(
            depth=self.value,
            residuals=residuals[_with(self.residual)],
            norm=say.shared["norms"][self.norm],
            low=low,
            middle=middle,
            high=high,
            others=residuals[_with(not self.residual)].capitalize(),
            rival=rival,
        )

    def figure(self):
        """The chosen stack with its seeds, beside the same with residuals switched the other way."""
        say, rows = self.words, np.array(self.lengths())
        fig, ax = draw.figure(width=6.4, height=3)
        names = {"x": say.linear.format(axis=say.shared["layer"]), "y": say.log.format(axis=say.shared["length"])}
        heading = say.heading.format(depth=self.value, norm=say.shared["norms"][self.norm])
        plane = draw.Plane(ax, **names, log="y", title=heading)
        layers, other = np.arange(self.value + 1), np.array(self.lengths(not self.residual))
        colour, dash = ("query", "-") if self.residual else ("broken", "--")
        plane.band(layers, rows[:, 0], rows[:, 2], colour)
        plane.line(layers, rows[:, 1], colour, dash, say.shared["residuals"][_with(self.residual)])
        plane.line(layers, other[:, 1], "soft", ":", say.shared["residuals"][_with(not self.residual)])
        plane.key()
        return fig


def measure(
    depths: Sequence[int] = (2, 4, 8, 12), seeds: Sequence[int] = range(3), d_model: int = 16, n: int = 8
) -> dict[tuple[bool, str], dict[int, Tensor]]:
    """The lengths that `GradientThroughDepth` shows, for untrained encoder layers with Xavier matrices."""
    found = {(residual, norm): {depth: [] for depth in depths} for residual in (True, False) for norm in NORMS}
    with torch.random.fork_rng(devices=[]):
        for seed in seeds:
            torch.manual_seed(seed)
            layers = nn.ModuleList(EncoderLayer(d_model, 4, 4 * d_model) for _ in range(max(depths))).double()
            for part in layers.modules():
                if isinstance(part, nn.Linear):
                    nn.init.xavier_uniform_(part.weight)
                    nn.init.zeros_(part.bias)
            X = torch.randn(1, n, d_model, dtype=torch.double, requires_grad=True)
            error = nn.functional.normalize(torch.randn(n * d_model, dtype=torch.double), dim=0).view_as(X)
            for (residual, norm), rows in found.items():
                states = _climb(X, layers, residual, norm)
                for depth in depths:
                    top = (states[depth] * error).sum()
                    slopes = torch.autograd.grad(top, states[: depth + 1], retain_graph=True)
                    rows[depth].append([slope.norm().item() for slope in slopes])
    return {key: {depth: torch.tensor(lists) for depth, lists in rows.items()} for key, rows in found.items()}


def _climb(X: Tensor, layers: nn.ModuleList, residual: bool, norm: str) -> list[Tensor]:
    states = [X]
    for layer in layers:
        for sublayer in (lambda Z, attend=layer.self_attention: attend(Z, Z, Z)[0], layer.feed_forward):
            change = sublayer(standardise(X) if norm == "pre" else X)
            X = X + change if residual else change
            X = standardise(X) if norm == "post" else X
        states.append(X)
    return states


def _summaries(norms: Mapping[tuple[bool, str], Mapping[int, Any]]) -> tuple[list[int], dict[str, list]]:
    """The depths, and least, geometric mean and greatest length at each layer, for every stack and depth."""
    wanted = [(residual, norm) for residual in (True, False) for norm in NORMS]
    missing = [key for key in wanted if key not in norms]
    if missing:
        raise ValueError(f"norms must hold all six stacks; it lacks {_join(missing)}")
    depths = sorted(norms[wanted[0]])
    if not depths:
        raise ValueError("norms must hold at least one depth; it holds none")
    found = {}
    for residual, norm in wanted:
        if sorted(norms[residual, norm]) != depths:
            raise ValueError(f"norms must hold the same depths for all six stacks; {residual, norm} differs")
        found[_key(residual, norm)] = [_summary(norms[residual, norm][depth], depth) for depth in depths]
    return depths, found


def _summary(rows: Any, depth: int) -> list[list[float]]:
    rows = to_numpy(f"the lengths at depth {depth}", rows, ("seeds", depth + 1))
    if not (rows > 0).all():
        raise ValueError(f"the lengths at depth {depth} must be greater than 0; the least is {rows.min()}")
    middle = np.exp(np.log(rows).mean(axis=0))
    return [[float(f"{x:.3g}") for x in at] for at in zip(rows.min(axis=0), middle, rows.max(axis=0))]


def _key(residual: bool, norm: str) -> str:
    return f"{_with(residual)} {norm}"


def _with(residual: bool) -> str:
    return "with" if residual else "without"


def _join(items: Any) -> str:
    return ", ".join(map(str, items))
