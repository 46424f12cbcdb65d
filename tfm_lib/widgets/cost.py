"""The widget of chapter `cost`: counted and measured costs of layers against the number of words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import Any

import traitlets

from tfm_lib.cost import (
    Cost, attention_cost, convolutional_cost, dilated_layers, recurrent_cost, restricted_attention_cost, stacked_layers,
)  # fmt: skip
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Widget, Words, one_of, within

EXPLORER = Words(
    title="Cost explorer",
    question="From how many words on does attention need more than a GRU?",
    shared={
        "rows": {
            "attention": "attention",
            "gru": "GRU",
            "stacked": "convolutions",
            "dilated": "dilated convolutions",
            "window": "window attention",
        },
        "quantities": {
            "multiplications": "multiplications",
            "memory": "memory: numbers kept",
            "sequential": "sequential steps",
            "path": "longest path",
            "time": "measured: milliseconds",
        },
        "n": "words n",
    },
    alt="{quantity} at d = {d}, k = {k}, r = {r}, {projections} matrices in attention{joined}. At n = {n}: {told}.{crossing}{guess}",
    joined=", with enough layers to join any two words",
    hidden="{quantity} at d = {d}. The guess: attention and the GRU cross at n = {n}. The curves are not shown yet.",
    crossing=" Attention and the GRU cross at n = {n:,.0f}.",
    apart=" Attention and the GRU do not cross here.",
    guess=" Guess: {guess}.",
    log="{axis} (log)",
)
QUANTITIES = tuple(EXPLORER.shared["quantities"])
WIDTHS = (16, 32, 64, 128, 256, 512, 1024)
KERNELS = (2, 3, 5, 7, 9, 15)
WINDOWS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
PROJECTIONS = (0, 3)
MOST = 2**16  # words
GRID = [round(2 ** (i / 2)) for i in range(2, 33)]
BEGINNING = 16  # how far the curves are drawn before the reader has guessed
LOOKS = {
    "attention": ("one", "-"), "gru": ("decoder", "--"), "stacked": ("two", (0, (5, 3))),
    "dilated": ("encoder", (2.5, (2, 6))), "window": ("ink", (0, (1, 3))),
}  # where curves coincide, the dashes of each leave the others visible  # fmt: skip


class CostExplorer(Widget):
    """The cost of one layer against the number of words: multiplications, memory, steps, paths, and measured time.

    `value` is n, the number of words at which the curves are read, and the guess before `reveal` shows them; `d`, `k`,
    `r` and `projections` are as in `tfm_lib.cost`. `quantity` is "multiplications", "memory", "sequential", "path" or
    "time"; `joined` uses as many layers as connect any two words. `measured` holds milliseconds by width and layer;
    without it they come from the recorded run of chapter `cost`.
    """

    _module = traitlets.Unicode("cost/cost_explorer").tag(sync=True)
    words = EXPLORER
    quantity = traitlets.Unicode("multiplications").tag(sync=True)
    value = traitlets.Int(64).tag(sync=True)
    d = traitlets.Int(64).tag(sync=True)
    k = traitlets.Int(3).tag(sync=True)
    r = traitlets.Int(64).tag(sync=True)
    projections = traitlets.Int(0).tag(sync=True)
    joined = traitlets.Bool(False).tag(sync=True)
    reveal = traitlets.Bool(False).tag(sync=True)
    guess = traitlets.Int(0).tag(sync=True)
    measured = traitlets.Dict().tag(sync=True)

    def __init__(self, measured: Mapping[str, Any] | None = None, **kwargs):
        super().__init__(measured=recorded_times() if measured is None else dict(measured), **kwargs)

    @traitlets.validate("quantity", "d", "k", "r", "projections")
    def _valid_choice(self, proposal):
        known = {"quantity": QUANTITIES, "d": WIDTHS, "k": KERNELS, "r": WINDOWS, "projections": PROJECTIONS}
        name = proposal["trait"].name
        return one_of(name, proposal["value"], known[name])

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return within("value", proposal["value"], 2, MOST)

    @traitlets.validate("guess")
    def _valid_guess(self, proposal):
        return within("guess", proposal["value"], 0, MOST)

    @property
    def curves(self) -> dict[str, list[tuple[int, float]]]:
        """The drawn points (n, cost) of each row."""
        upto = MOST if self.reveal else BEGINNING
        if self.quantity == "time":
            lines = times(self.measured, self.d, self.k, self.projections)
            return {name: [point for point in line if self.reveal] for name, line in lines.items()}
        grid = [n for n in GRID if n <= upto]
        rows = [asked(n, self.d, self.k, self.r, self.projections, self.quantity, self.joined) for n in grid]
        return {name: [(n, row[name]) for n, row in zip(grid, rows)] for name in LOOKS}

    @property
    def crossing(self) -> float | None:
        """The number of words from which attention costs more than the GRU; None if the curves do not cross."""
        if self.quantity == "time":
            lines = times(self.measured, self.d, self.k, self.projections)
            return crossing_of(lines["attention"], lines["gru"])
        return crossing(self.d, self.projections, self.quantity)

    @property
    def here(self) -> tuple[int, dict[str, float]]:
        """The number of words at which the curves are read, and the cost of each row there."""
        if self.quantity != "time":
            return self.value, asked(self.value, self.d, self.k, self.r, self.projections, self.quantity, self.joined)
        lines = times(self.measured, self.d, self.k, self.projections)
        at = min((n for n, _ in lines["gru"]), key=lambda n: abs(math.log(n / self.value)))
        return at, {name: dict(line)[at] for name, line in lines.items()}

    @property
    def alt(self) -> str:
        say, n = self.words, self.value
        quantity = say.shared["quantities"][self.quantity]
        if not self.reveal:
            return say.hidden.format(quantity=quantity, d=self.d, n=n)
        n, found = self.here
        cross = self.crossing
        return say.alt.format(
            quantity=quantity, d=self.d, k=self.k, r=self.r, projections=self.projections, n=n,
            joined=say.joined if self.joined else "",
            told=", ".join(f"{say.shared['rows'][name]} {short(x)}" for name, x in found.items()),
            crossing=say.apart if cross is None else say.crossing.format(n=cross),
            guess=say.guess.format(guess=self.guess) if self.guess else "",
        )  # fmt: skip

    def figure(self):
        """Draw the curves on logarithmic axes, with the point where two of them cross."""
        say = self.words
        fig, ax = draw.figure(width=6.4, height=3.6)
        axes = [say.log.format(axis=axis) for axis in (say.shared["n"], say.shared["quantities"][self.quantity])]
        plane = draw.Plane(ax, axes[0], axes[1], log="xy")
        for name, points in self.curves.items():
            if points:
                x, y = zip(*points)
                plane.line(x, y, *LOOKS[name], say.shared["rows"][name])
        if not self.reveal:
            plane.rule(x=self.value)
            ax.set(xlim=(GRID[0], MOST))
        elif (cross := self.crossing) is not None:
            plane.rule(x=cross, dash=":")
        if any(self.curves.values()):
            plane.key(fontsize=8.5)
        return fig


def costs(n: int, d: int, k: int, r: int, projections: int) -> dict[str, Cost]:
    """Return the cost of every row of the table."""
    return {
        "attention": attention_cost(n, d, projections=projections),
        "gru": recurrent_cost(n, d),
        "stacked": convolutional_cost(n, d, k, stacked_layers),
        "dilated": convolutional_cost(n, d, k, dilated_layers),
        "window": restricted_attention_cost(n, d, r, projections=projections),
    }


def asked(n: int, d: int, k: int, r: int, projections: int, quantity: str, joined: bool) -> dict[str, float]:
    """Return one quantity of every row: of a layer, or of as many layers as connect any two words."""
    rows = costs(n, d, k, r, projections)
    times = {name: row.layers if joined and quantity != "path" else 1 for name, row in rows.items()}
    return {name: times[name] * getattr(row, quantity) for name, row in rows.items()}


def crossing(d: int, projections: int, quantity: str) -> float | None:
    """Return where 2n²d + p·nd² equals 6nd², or n² + p·nd equals 7nd; None for quantities that do not cross."""
    gru = recurrent_cost(1, d)._asdict()
    if quantity not in ("multiplications", "memory"):
        return None
    unit, factor = (d * d, 2) if quantity == "multiplications" else (d, 1)
    return (gru[quantity] / unit - projections) * d / factor


def times(measured: Mapping[str, Any], d: int, k: int, projections: int) -> dict[str, list[tuple[int, float]]]:
    """Return the milliseconds of the measured layers, at the width nearest to `d` and the filter nearest to `k`."""
    widths = list(measured["layers"])
    found = measured["layers"][min(widths, key=lambda width: abs(math.log(int(width) / d)))]
    names = {
        "attention": "projected" if projections else "attention", "gru": "gru",
        "stacked": "convolution 3" if k < 5 else "convolution 7", "window": "window",
    }  # fmt: skip
    return {row: list(zip(measured["n"], found[name])) for row, name in names.items()}


def crossing_of(above: list[tuple[int, float]], below: list[tuple[int, float]]) -> float | None:
    """Return where the first curve overtakes the second, interpolating linearly on logarithmic axes."""
    gaps = [math.log(a / b) for (_, a), (_, b) in zip(above, below)]
    for i in range(1, len(gaps)):
        if gaps[i - 1] < 0 <= gaps[i]:
            share = gaps[i - 1] / (gaps[i - 1] - gaps[i])
            return above[i - 1][0] ** (1 - share) * above[i][0] ** share
    return None


def short(x: float) -> str:
    """Format a number with three digits and a unit: 12.6 M."""
    for size, name in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if x >= size:
            return f"{float(f'{x / size:.3g}'):g}{name}"
    return f"{float(f'{x:.3g}'):g}"


def recorded_times() -> dict[str, Any]:
    """Return the recorded milliseconds of forward and backward together, the median over the passes."""
    from tfm_lib.drawing import recorded

    run = recorded("cost_table")

    def milliseconds(n: int, d: int, name: str) -> float:
        return float(f"{median(one[name]['both'] for one in run['times'][f'{n} {d}']):.3g}")

    layers = {str(d): {name: [milliseconds(n, d, name) for n in run["n"]] for name in run["slopes"]} for d in run["d"]}
    return {"n": run["n"], "layers": layers}
