"""The widgets of chapter `layers`: layer normalisation by hand, gradient norms through depth, and rank collapse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
import traitlets
from torch import Tensor, nn

from tfm_lib.layers import EncoderLayer, standardise
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Numbers, Widget, Words, one_of, to_list, to_numpy, within

BY_HAND = Words(
    title="LayerNorm by hand",
    question="What does the norm forget about the features, and what does it keep?",
    shared={"feature": "feature", "normalised": "normalised"},
    alt="The features {features} have mean {mean} and variance {variance}; with ε = {eps:.3g} the norm makes them "
    "{normalised}.{learned}{part}",
    learned=" A gain of {gain:g} and a bias of {bias:g} then make them {output}.",
    part=" The picture shows them {how}: {shown}.",
    how=("before the norm", "minus their mean", "before gain and bias"),
    before="mean {mean}, variance {variance}",
    after=("before the norm", "mean subtracted", "after the norm", "after gain and bias"),
)
DEPTH = Words(
    title="Gradient through depth",
    question="Which residual connection matters most to the error: one at the bottom, in the middle or at the top?",
    shared={
        "norms": {"none": "no norm", "pre": "norm before the sub-layer", "post": "norm after the sum"},
        "cuts": {
            "none": "no residual connection cut",
            "some": "residual connections cut in {layers}",
            "all": "all residual connections cut",
        },
        "names": ["layer {layers}", "layers {layers}"],
        "layer": "layer",
        "length": "length",
    },
    alt="{depth} layers, {norm}, {cuts}: of an error of length 1 at the top, {middle:.2g} arrives at the bottom "
    "({least:.2g} to {most:.2g}, depending on the seed). On its way down: {way}.{part}",
    part=" The picture follows it through {passed} of {depth} layers, where its length is {now:.2g}.",
    heading="{norm}, {cuts}",
    linear="{axis} (linear)",
    log="{axis} (log)",
    cut="cut",
)
COLLAPSE = Words(
    title="Rank collapse",
    question="Which part of a layer keeps the words different?",
    shared={
        "norms": {"none": "no norm", "pre": "norm before the sub-layer", "post": "norm after the sum"},
        "residuals": ["without residuals", "with residuals"],
        "thinks": ["attention only", "attention and feed-forward"],
        "layer": "layer",
        "difference": "difference of the words",
        "stack": "{thinks}, {residuals}, {norm}",
    },
    alt="{stack}: at layer {value} of {depth}, the words differ by {difference:.2g} of their length (seeds from "
    "{least:.2g} to {most:.2g}), and two words have a mean cosine of {cosine:.2f}.",
    heading="layer {value}: cosines of {words} words",
    linear="{axis} (linear)",
    log="{axis} (log)",
)
LIMIT = 12  # features stay between −LIMIT and LIMIT
NORMS = tuple(DEPTH.shared["norms"])
SMALLEST_DIFFERENCE = 1e-17  # smaller differences vanish in 64 bits
SHOWN = 8  # words whose cosines are drawn
DECADE = 1000  # a page stores logarithms as integer thousandths of a decade
MOST_LAYERS = 10  # 2¹⁰ ways to cut their residual connections


class LayerNormByHand(Widget):
    """Draggable features of one word, and the result of the first step of layer normalisation.

    `value` holds 2 to 8 features between −12 and 12, `eps` is ε, from 1e-6 to 10, `gain` is γ, from 0 to 2, and `bias`
    is β, from −1 to 1, both the same for all features. `done` is the number of displayed steps: 1 subtracts the mean, 2
    also divides, 3 also applies gain and bias.
    """

    _module = traitlets.Unicode("layers/layer_norm").tag(sync=True)
    words = BY_HAND
    value = Numbers().tag(sync=True)
    eps = traitlets.Float(1e-5).tag(sync=True)
    gain = traitlets.Float(1.0).tag(sync=True)
    bias = traitlets.Float(0.0).tag(sync=True)
    done = traitlets.Int(3).tag(sync=True)

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

    @traitlets.validate("gain", "bias", "done")
    def _valid_step(self, proposal):
        name = proposal["trait"].name
        return within(name, proposal["value"], *{"gain": (0, 2), "bias": (-1, 1), "done": (0, 3)}[name])

    @property
    def stages(self) -> list[list[float]]:
        """The features after 0, 1, 2 and 3 steps."""
        x, out = np.array(self.value, dtype=float), np.array(self.normalised)
        return [x.tolist(), (x - x.mean()).tolist(), out.tolist(), (self.gain * out + self.bias).tolist()]

    @property
    def _at(self) -> int:
        plain = self.gain == 1 and self.bias == 0  # then the last step changes nothing
        return min(self.done, 2 if plain else 3)

    @property
    def normalised(self) -> list[float]:
        """The features after the norm, before γ and β."""
        return standardise(torch.tensor(self.value, dtype=torch.float64), self.eps).tolist()

    @property
    def alt(self) -> str:
        x, say, stages = np.array(self.value), self.words, self.stages
        features, _, normalised, output = (
            ", ".join(draw.number(each, k) for each in row) for row, k in zip(stages, (1, 2, 2, 2))
        )
        plain = self.gain == 1 and self.bias == 0
        learned = "" if plain else say.learned.format(gain=self.gain, bias=self.bias, output=output)
        shown = ", ".join(draw.number(each) for each in stages[self._at])
        part = say.part.format(how=say.how[self._at], shown=shown) if self._at < 3 - plain else ""
        told = {"features": features, "normalised": normalised, "eps": self.eps, "learned": learned, "part": part}
        return self.words.alt.format(mean=draw.number(x.mean()), variance=draw.number(x.var()), **told)

    def figure(self):
        """Draw the features with their mean and standard deviation, beside the normalised ones."""
        say, x, at = self.words, np.array(self.value), self._at
        places, feature = np.arange(1, len(x) + 1), say.shared["feature"]
        fig, (left, right) = draw.figure(cols=2, width=7.2, height=2.9)
        heading = say.before.format(mean=draw.number(x.mean()), variance=draw.number(x.var()))
        before = draw.Plane(left, feature, "x", title=heading, xticks=places)
        room = LIMIT * (1 + bool(abs(x - x.mean()).max() > LIMIT))
        level, sigma = ((x.mean(), x.std()), (0, x.std()), (0, 1), (self.bias, self.gain))[at]
        name = say.shared["normalised"] if at >= 2 else "x"
        after = draw.Plane(right, feature, name, title=say.after[at], ylim=(-room, room), xticks=places)
        for plane, out, middle, spread, stem, colour in (
            (before, x, x.mean(), x.std(), "soft", "one"),
            (after, self.stages[at], level, sigma, "two", "two"),
        ):
            plane.ax.axhspan(middle - spread, middle + spread, color=draw.colours()["line"], alpha=0.6, linewidth=0)
            plane.rule(y=middle, colour="ink")
            plane.stems(places, middle, out, stem)
            plane.line(places, out, colour, "", marker="o", markersize=8)
        return fig


class GradientThroughDepth(Widget):
    """A stack whose residual connections can be cut, and the norm of a gradient of length 1 on its way down.

    `lengths[norm]`, for "none", "pre" and "post", is an array (2**layers, seeds, layers + 1), the bottom's length
    first: row k is the stack in which layer i + 1 has no residual connections if bit i of k is 1. None measures small
    untrained stacks. `value` says for each layer, the lowest first, whether it is cut. `former` and `before`, a value
    and a norm, are the stack whose curve remains as a ghost. `passed` is the number of layers through which the
    gradient is followed, by default all.
    """

    _module = traitlets.Unicode("layers/gradient_depth").tag(sync=True)
    words = DEPTH
    measured = traitlets.Dict().tag(sync=True)
    value = traitlets.List(traitlets.Bool()).tag(sync=True)
    norm = traitlets.Unicode("none").tag(sync=True)
    former = traitlets.List(traitlets.Bool()).tag(sync=True)
    before = traitlets.Unicode().tag(sync=True)
    passed = traitlets.Int(0).tag(sync=True)

    def __init__(self, lengths=None, value=None, norm="none", passed=None, **kwargs):
        self._layers, found = _summaries(measure_cuts() if lengths is None else lengths)
        value = [False] * self._layers if value is None else list(map(bool, value))
        passed = self._layers if passed is None else passed
        super().__init__(measured=found, value=value, norm=norm, passed=passed, **kwargs)
        self.former, self.before = self.former or list(value), self.before or norm

    @traitlets.validate("value", "former")
    def _valid_value(self, proposal):
        name, cut = proposal["trait"].name, proposal["value"]
        if len(cut) != self._layers:
            raise ValueError(f"{name} must hold {self._layers} times True or False, one a layer; it holds {len(cut)}")
        return cut

    @traitlets.validate("norm", "before")
    def _valid_norm(self, proposal):
        return one_of(proposal["trait"].name, proposal["value"], NORMS)

    @traitlets.validate("passed")
    def _valid_passed(self, proposal):
        return within("passed", proposal["value"], 0, self._layers, "a number of layers ")

    def lengths(self, value: Sequence[bool] | None = None, norm: str | None = None) -> list[float]:
        """Return the geometric mean over the seeds at each layer, bottom first, of the displayed or another stack."""
        return [10 ** (x / DECADE) for x in self._row(value, norm)[:-2]]

    def seeds(self) -> tuple[float, float]:
        """Return the smallest and the largest length that arrives at the bottom of the displayed stack."""
        least, most = (10 ** (x / DECADE) for x in self._row()[-2:])
        return least, most

    def _row(self, value: Sequence[bool] | None = None, norm: str | None = None) -> list[int]:
        value = self.value if value is None else value
        return self.measured[norm or self.norm][sum(2**i for i, cut in enumerate(value) if cut)]

    def _cuts(self) -> str:
        cut = [str(i + 1) for i, cut in enumerate(self.value) if cut]
        phrases = self.words.shared["cuts"]
        kind = "none" if not cut else "all" if len(cut) == self._layers else "some"
        return phrases[kind].format(layers=self.words.shared["names"][len(cut) != 1].format(layers=", ".join(cut)))

    @property
    def alt(self) -> str:
        lengths, (least, most) = self.lengths(), self.seeds()
        norm, way = self.words.shared["norms"][self.norm], ", ".join(f"{x:.2g}" for x in lengths[::-1])
        depth, now = self._layers, lengths[self._layers - self.passed]
        part = self.words.part.format(passed=self.passed, depth=depth, now=now) if self.passed < depth else ""
        told = {"norm": norm, "cuts": self._cuts(), "least": least, "most": most, "way": way, "part": part}
        return self.words.alt.format(depth=depth, middle=lengths[0], **told)

    def figure(self):
        """Draw the stack with its residual connections, beside the lengths on a fixed scale."""
        say, layers = self.words, range(self._layers + 1)
        fig, (tower, ax) = draw.figure(cols=2, width=6.8, height=3.8, sharey=True, width_ratios=[1, 4])
        around = draw.Plane(tower, xlim=(0, 1), xticks=[], yticks=[])
        for i, cut in enumerate(self.value):
            draw.box(tower, 0.5, i + 0.22, 0.48, 0.56, edge="encoder")
            draw.write(tower, 0.74, i + 0.5, str(i + 1), fontsize=8.5)
            colour, dash = ("broken", ":") if cut else ("encoder", "-")
            around.line([0.74, 0.2, 0.2, 0.74], [i + 0.95, i + 0.95, i + 0.05, i + 0.05], colour, dash)
            if cut:
                draw.write(tower, 0.2, i + 0.5, say.cut, "broken", fontsize=8, rotation=90, backgroundcolor="none")
        draw.bare(tower)
        tower.tick_params(labelleft=False)
        names = {"x": say.log.format(axis=say.shared["length"]), "y": say.linear.format(axis=say.shared["layer"])}
        heading = say.heading.format(norm=say.shared["norms"][self.norm], cuts=self._cuts())
        plane = draw.Plane(ax, **names, log="x", title=heading, xlim=self.ends(), yticks=layers)
        ax.tick_params(labelleft=True)
        plane.rule(x=1)
        if (self.former, self.before) != (self.value, self.norm):
            plane.line(self.lengths(self.former, self.before), layers, "soft", "--")
        front = self._layers - self.passed
        if not front:
            plane.line(self.seeds(), [0, 0], "ink", "-", linewidth=5, alpha=0.35)
        plane.line(self.lengths()[front:], layers[front:], "ink", marker="o", markersize=4)
        return fig

    def ends(self) -> tuple[float, float]:
        """Return whole decades that contain every length, and 1: the axis of all figures."""
        all_ = [x for rows in self.measured.values() for row in rows for x in row]
        return 10.0 ** (min(0, *all_) // DECADE), 10.0 ** -(-max(0, *all_) // DECADE)


class RankCollapse(Widget):
    """The similarity of a sentence's words, layer by layer, in stacks with and without residuals, network and norm.

    `apart[residual, think, norm]` is an array (seeds, layers + 1) of the words' difference from their mean, relative
    to their length, `cosines` of the same key one (layers + 1, words, words) of one seed; both booleans, `norm`
    "none", "pre" or "post", and all twelve must be there. None measures small untrained stacks. `value` is the layer.
    `former` holds residual and think, `before` the norm, of the stack whose curve remains as a ghost.
    """

    _module = traitlets.Unicode("layers/rank_collapse").tag(sync=True)
    words = COLLAPSE
    measured = traitlets.Dict().tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)
    residual = traitlets.Bool(False).tag(sync=True)
    think = traitlets.Bool(False).tag(sync=True)
    norm = traitlets.Unicode("none").tag(sync=True)
    former = traitlets.List(traitlets.Bool()).tag(sync=True)
    before = traitlets.Unicode().tag(sync=True)

    def __init__(self, apart=None, cosines=None, value=0, **kwargs):
        if apart is None or cosines is None:
            apart, cosines = measure_words()
        self._depth, found = _alike(apart, cosines)
        super().__init__(measured=found, value=value, **kwargs)
        self.former, self.before = self.former or [self.residual, self.think], self.before or self.norm

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return within("value", proposal["value"], 0, self._depth, "a layer ")

    @traitlets.validate("norm", "before")
    def _valid_norm(self, proposal):
        return one_of(proposal["trait"].name, proposal["value"], NORMS)

    def differences(self) -> dict[str, list[float]]:
        """Return mean (geometric), minimum and maximum over the seeds at each displayed layer, bottom first."""
        return self._of(self.residual, self.think, self.norm)

    def _of(self, residual: bool, think: bool, norm: str) -> dict[str, list[float]]:
        rows = self.measured[_stack(residual, think, norm)]["apart"]
        return {name: [10 ** (x / DECADE) for x in row] for name, row in zip(("mean", "least", "most"), rows)}

    def cosines(self) -> np.ndarray:
        """Return the cosines of all pairs of words at the displayed layer, of one seed."""
        rows = self.measured[_stack(self.residual, self.think, self.norm)]["cosines"][self.value]
        return np.array([[rows[max(i, j)][min(i, j)] for j in range(len(rows))] for i in range(len(rows))]) / 100

    @property
    def alt(self) -> str:
        say, found, cosines = self.words, self.differences(), self.cosines()
        stack = say.shared["stack"].format(
            thinks=say.shared["thinks"][self.think],
            residuals=say.shared["residuals"][self.residual],
            norm=say.shared["norms"][self.norm],
        )
        n = len(cosines)
        at = {name: row[self.value] for name, row in found.items()}
        told = {"difference": at["mean"], "least": at["least"], "most": at["most"]}
        cosine = (cosines.sum() - np.trace(cosines)) / (n * n - n)
        return say.alt.format(stack=stack, value=self.value, depth=self._depth, cosine=cosine, **told)

    def figure(self):
        """Draw the cosines at the displayed layer, beside the words' remaining difference at each layer."""
        say, found, cosines = self.words, self.differences(), self.cosines()
        fig, (left, right) = draw.figure(cols=2, width=7.2, height=3.1, width_ratios=[1, 1.7])
        names = [str(i + 1) for i in range(len(cosines))]
        draw.heatmap(left, np.abs(cosines), names, names, kinds=("ink", "ink"), turned=False)
        left.set_title(say.heading.format(value=self.value, words=len(names)), fontsize=9)
        axis = {"x": say.linear.format(axis=say.shared["layer"]), "y": say.log.format(axis=say.shared["difference"])}
        plane = draw.Plane(right, **axis, log="y", ylim=(SMALLEST_DIFFERENCE, 1.5))
        layers = range(self._depth + 1)
        residual, think = self.former
        if (residual, think, self.before) != (self.residual, self.think, self.norm):
            plane.line(layers, self._of(residual, think, self.before)["mean"], "soft", "--")
        plane.band(layers, found["least"], found["most"], "one")
        plane.line(layers, found["mean"], "one", marker="o", markersize=4)
        plane.rule(x=self.value)
        return fig


def measure_words(
    n_layers: int = 12, seeds: Sequence[int] = range(3), d_model: int = 16, n: int = 8
) -> tuple[dict[tuple[bool, bool, str], Tensor], dict[tuple[bool, bool, str], Tensor]]:
    """Measure for `RankCollapse`, by residual, think and norm, the words' difference, (seeds, layers + 1), and the
    cosines of a few words for the first seed, (layers + 1, words, words).
    """
    apart: dict[tuple[bool, bool, str], list[Tensor]] = {}
    cosines: dict[tuple[bool, bool, str], Tensor] = {}
    for layers, X, _ in _drawn(seeds, n_layers, d_model, n):
        for residual, think, norm in product((True, False), (True, False), NORMS):
            with torch.no_grad():
                keep = torch.full((1, n_layers), float(residual))
                states = torch.cat(_climb(X, layers, keep, norm, think))
            left = (states - states.mean(dim=1, keepdim=True)).norm(dim=(1, 2)) / states.norm(dim=(1, 2))
            apart.setdefault((residual, think, norm), []).append(left.clamp(min=SMALLEST_DIFFERENCE))
            unit = nn.functional.normalize(states[:, :SHOWN], dim=-1)
            cosines.setdefault((residual, think, norm), unit @ unit.mT)
    return {key: torch.stack(rows) for key, rows in apart.items()}, cosines


def _alike(
    apart: Mapping[tuple[bool, bool, str], Any], cosines: Mapping[tuple[bool, bool, str], Any]
) -> tuple[int, dict]:
    """Return the number of layers; per stack three rows in thousandths of a decade, and the cosines in hundredths, of
    each word with itself and the words before it.
    """
    stacks = list(product((True, False), (True, False), NORMS))
    for name, given in (("apart", apart), ("cosines", cosines)):
        if missing := [key for key in stacks if key not in given]:
            raise ValueError(f"{name} must hold all twelve stacks; it lacks {_join(missing)}")
    depth = to_numpy("apart", apart[stacks[0]], ("seeds", "layers + 1")).shape[1] - 1
    found = {}
    for key in stacks:
        rows = to_numpy(f"apart[{key}]", apart[key], ("seeds", depth + 1))
        if not (rows > 0).all():
            raise ValueError(f"apart[{key}] must be greater than 0; the least is {rows.min()}")
        alike = to_numpy(f"cosines[{key}]", cosines[key], (depth + 1, "words", "words"))
        decades = np.log10(rows)
        told = np.stack([decades.mean(axis=0), decades.min(axis=0), decades.max(axis=0)])
        found[_stack(*key)] = {
            "apart": np.rint(DECADE * told).astype(int).tolist(),
            "cosines": [
                [row[: i + 1] for i, row in enumerate(rows)] for rows in np.rint(100 * alike).astype(int).tolist()
            ],
        }
    return depth, found


def _stack(residual: bool, think: bool, norm: str) -> str:
    return f"{int(residual)} {int(think)} {norm}"


def measure(
    depths: Sequence[int] = (2, 4, 8, 12), seeds: Sequence[int] = range(3), d_model: int = 16, n: int = 8
) -> dict[tuple[bool, str], dict[int, Tensor]]:
    """Measure the norm of a gradient of length 1 on its way down untrained stacks, (seeds, depth + 1), by depth.

    The bottom comes first. Keys are whether there are residual connections, and the norm. The matrices are Xavier's.
    """
    found = {(residual, norm): {depth: [] for depth in depths} for residual in (True, False) for norm in NORMS}
    for layers, X, error in _drawn(seeds, max(depths), d_model, n):
        for (residual, norm), rows in found.items():
            states = _climb(X, layers, torch.full((1, max(depths)), float(residual)), norm)
            for depth in depths:
                top = (states[depth] * error).sum()
                slopes = torch.autograd.grad(top, states[: depth + 1], retain_graph=True)
                rows[depth].append([slope.norm().item() for slope in slopes])
    return {key: {depth: torch.tensor(lists) for depth, lists in rows.items()} for key, rows in found.items()}


def measure_cuts(
    n_layers: int = 6, seeds: Sequence[int] = range(2), d_model: int = 16, n: int = 8
) -> dict[str, Tensor]:
    """Measure the same lengths for `GradientThroughDepth`, for every set of layers without residual connections."""
    cut = torch.tensor([[k >> i & 1 for i in range(n_layers)] for k in range(2**n_layers)])
    found: dict[str, list[Tensor]] = {norm: [] for norm in NORMS}
    for layers, X, error in _drawn(seeds, n_layers, d_model, n):
        for norm, rows in found.items():
            states = _climb(X.expand(len(cut), -1, -1), layers, 1.0 - cut, norm)
            slopes = torch.autograd.grad((states[-1] * error).sum(), states)
            rows.append(torch.stack([slope.flatten(1).norm(dim=1) for slope in slopes], dim=1))
    return {norm: torch.stack(rows, dim=1) for norm, rows in found.items()}


def _drawn(seeds: Sequence[int], count: int, d_model: int, n: int) -> Iterator[tuple[nn.ModuleList, Tensor, Tensor]]:
    """Yield untrained layers, words, and a gradient of length 1 per seed; lower stacks are prefixes of higher ones."""
    for seed in seeds:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            X, error = torch.randn(2, 1, n, d_model, dtype=torch.double)
            layers = nn.ModuleList(EncoderLayer(d_model, 4, 4 * d_model) for _ in range(count)).double()
            for i, layer in enumerate(layers):
                torch.manual_seed(1000 * seed + i)
                for part in layer.modules():
                    if isinstance(part, nn.Linear):
                        nn.init.xavier_uniform_(part.weight)
                        nn.init.zeros_(part.bias)
        layers.requires_grad_(False)
        yield layers, X.requires_grad_(), nn.functional.normalize(error.flatten(), dim=0).view_as(X)


def _climb(X: Tensor, layers: nn.ModuleList, keep: Tensor, norm: str, think: bool = True) -> list[Tensor]:
    """Return X and the output of each layer; `keep` (1 or batch, layers) is 1 if a layer has its residual connections.

    Without `think` the layers have no feed-forward network.
    """
    states = [X]
    for layer, kept in zip(layers, keep.to(X).T):

        def attend(Z: Tensor, attention: nn.Module = layer.self_attention) -> Tensor:
            return attention(Z, Z, Z, need_weights=False)[0]

        for sublayer in (attend, layer.feed_forward)[: 1 + think]:
            change = sublayer(standardise(X) if norm == "pre" else X)
            X = kept[:, None, None] * X + change
            X = standardise(X) if norm == "post" else X
        states.append(X)
    return states


def _summaries(lengths: Mapping[str, Any]) -> tuple[int, dict[str, list]]:
    """Return the number of layers, and per stack the geometric means of its lengths, the bottom's first, then the
    minimum and maximum at the bottom, all in thousandths of a decade.
    """
    if missing := [norm for norm in NORMS if norm not in lengths]:
        raise ValueError(f"lengths must hold {_join(NORMS)}; it lacks {_join(missing)}")
    arrays = {norm: to_numpy(f"lengths[{norm!r}]", lengths[norm], ("stacks", "seeds", "layers + 1")) for norm in NORMS}
    n_layers = arrays[NORMS[0]].shape[2] - 1
    if not 1 <= n_layers <= MOST_LAYERS:
        raise ValueError(f"lengths must be of 1 to {MOST_LAYERS} layers; they are of {n_layers}")
    found = {}
    for norm, rows in arrays.items():
        if rows.shape[::2] != (2**n_layers, n_layers + 1):
            raise ValueError(
                f"lengths[{norm!r}] must hold every way to cut {n_layers} layers, {2**n_layers} stacks of "
                f"{n_layers + 1} lengths; it has shape {rows.shape}"
            )
        if not (rows > 0).all():
            raise ValueError(f"lengths[{norm!r}] must be greater than 0; the least is {rows.min()}")
        decades = np.log10(rows)
        bottom = decades[:, :, :1]
        told = np.concatenate([decades.mean(axis=1), bottom.min(axis=1), bottom.max(axis=1)], axis=1)
        found[norm] = np.rint(DECADE * told).astype(int).tolist()
    return n_layers, found


def _join(items: Any) -> str:
    return ", ".join(map(str, items))
