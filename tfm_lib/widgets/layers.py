"""The widget of chapter `layers`: gradient norms through depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import traitlets
from torch import Tensor, nn

from tfm_lib.layers import EncoderLayer, standardise
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Widget, Words, one_of, to_numpy, within

DEPTH = Words(
    title="Gradient through depth",
    question="Which residual connection matters most to the gradient: one at the bottom, in the middle or at the top?",
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
    alt="{depth} layers, {norm}, {cuts}: of a gradient of length 1 at the top, {middle:.2g} arrives at the bottom "
    "({least:.2g} to {most:.2g}, depending on the seed). On its way down: {way}.{part}",
    part=" The picture follows it through {passed} of {depth} layers, where its length is {now:.2g}.",
    heading="{norm}, {cuts}",
    log="{axis} (log)",
    cut="cut",
)
NORMS = tuple(DEPTH.shared["norms"])
DECADE = 1000  # a page stores logarithms as integer thousandths of a decade
MOST_LAYERS = 10  # 2¹⁰ ways to cut their residual connections


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
        names = {"x": say.log.format(axis=say.shared["length"]), "y": say.shared["layer"]}
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


def _climb(X: Tensor, layers: nn.ModuleList, keep: Tensor, norm: str) -> list[Tensor]:
    """Return X and the output of each layer; `keep` (1 or batch, layers) is 1 if a layer has its residual connections."""
    states = [X]
    for layer, kept in zip(layers, keep.to(X).T):

        def attend(Z: Tensor, attention: Any = layer.self_attention) -> Tensor:
            return attention(Z, Z, Z, need_weights=False)[0]

        sublayers: tuple[Any, ...] = attend, layer.feed_forward
        for sublayer in sublayers:
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
