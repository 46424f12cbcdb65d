"""The sinusoidal encoding to look at from three sides, and a shift that is a rotation."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import traitlets

from tfm_lib.positional import angles, sinusoidal_encoding
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Widget, Words, within

WAVES = Words(
    title="Encoding",
    question="Which numbers of the vector tell neighbours apart, and which far places?",
    shared={"position": "position", "likeness": "likeness to a"},
    alt="The sinusoidal encoding of positions 0 to {last} in {numbers} numbers, {hands}, at base {base:g}. The fastest "
    "hand is round in {fastest:.3g} places, the slowest in {slowest:.5g}. Positions {a} and {b} have likeness "
    "{likeness:.2f}, where 1 is equal.",
    hands=("1 hand", "{hands} hands"),
    number="number of the vector",
    shades="−1 faint, 1 strong",
    clock="hands of a and b",
)
TURN = Words(
    title="Shift as rotation",
    question="What changes with the position, and what with the shift?",
    alt="Position {position} and position {shifted}, {shift} places on: the four pairs turn by {turns}, as they do from "
    "every other position. PE({position})·PE({shifted}) = {product:.2f} of {most}.",
    pair="pair {pair}: {degrees:.0f}°",
)
WIDTHS, BASES, LENGTHS = (4, 8, 16, 32, 64, 128), (10.0, 100.0, 1000.0, 10_000.0, 100_000.0), (16, 32, 64, 128, 256)
PATCHES, SHADES = 1024, 12  # cells that the still picture draws at most, and their shades
FIRST, LAST, FARTHEST = 20, 120, 20  # positions and shifts of the rotation


class Encoding(Widget):
    """The sinusoidal encoding of positions; `value` is position a, `other` position b.

    `d_model` is even, from 2 to 128, `base` at least 2, `length` from 2 to 256. The picture, the hands of both
    positions and the likeness PE(a)·PE(b) / (d_model/2) follow.
    """

    _module = traitlets.Unicode("positional/encoding").tag(sync=True)
    words = WAVES
    d_model = traitlets.Int(32).tag(sync=True)
    base = traitlets.Float(10_000.0).tag(sync=True)
    length = traitlets.Int(64).tag(sync=True)
    value = traitlets.Int(20).tag(sync=True)
    other = traitlets.Int(24).tag(sync=True)
    widths = traitlets.List(traitlets.Int()).tag(sync=True)
    bases = traitlets.List(traitlets.Float()).tag(sync=True)
    lengths = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, d_model=32, base=10_000.0, length=64, value=None, other=None, **kwargs):
        value = min(20, length - 1) if value is None else value
        super().__init__(
            widths=sorted({*WIDTHS, d_model}),
            bases=sorted({*BASES, float(base)}),
            lengths=sorted({*LENGTHS, length}),
            d_model=d_model,
            base=float(base),
            length=length,
            value=value,
            other=min(value + 4, length - 1) if other is None else other,
            **kwargs,
        )

    @traitlets.validate("d_model")
    def _valid_width(self, proposal):
        if proposal["value"] % 2 or not 2 <= proposal["value"] <= 128:
            raise ValueError(f"d_model must be even, from 2 to 128; it is {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("base")
    def _valid_base(self, proposal):
        return _valid_base(proposal["value"])

    @traitlets.validate("length")
    def _valid_length(self, proposal):
        return within("length", proposal["value"], 2, 256)

    @traitlets.validate("value", "other")
    def _valid_position(self, proposal):
        return within(proposal["trait"].name, proposal["value"], 0, 255, "a position ")

    @property
    def positions(self) -> tuple[int, int]:
        """The positions a and b as shown: none lies beyond the length."""
        return min(self.value, self.length - 1), min(self.other, self.length - 1)

    @property
    def likeness(self) -> list[float]:
        """PE(a) · PE(pos) / (d_model / 2) for every position."""
        P = sinusoidal_encoding(self.length, self.d_model, self.base).double()
        return (P @ P[self.positions[0]] / (self.d_model / 2)).tolist()

    @property
    def alt(self) -> str:
        say, (a, b), pairs = self.words, self.positions, self.d_model // 2
        return say.alt.format(
            last=self.length - 1,
            numbers=self.d_model,
            hands=say.hands[pairs > 1].format(hands=pairs),
            base=self.base,
            fastest=2 * math.pi,
            slowest=2 * math.pi * self.base ** (1 - 2 / self.d_model),
            a=a,
            b=b,
            likeness=self.likeness[b],
        )

    def figure(self):
        """The encoding as a picture, the hands of two positions, and the likeness of all positions to the first."""
        say, (a, b) = self.words, self.positions
        fig, (left, middle, right) = draw.figure(1, 3, width=7.6, height=3.3, width_ratios=(3, 2.2, 3))
        _picture(left, sinusoidal_encoding(self.length, self.d_model, self.base), a, b)
        left.set(xlabel=say.number, ylabel=say.shared["position"], title=say.shades)
        _dial(middle, angles(self.length, self.d_model, self.base), a, b)
        middle.set(title=say.clock)
        heading = {"x": say.shared["position"], "title": say.shared["likeness"]}
        plane = draw.Plane(right, **heading, ylim=(-1.05, 1.05))
        plane.rule(x=a, colour="query", dash="--", linewidth=1.2)
        plane.line(range(self.length), self.likeness, linewidth=1.5)
        plane.dot(b, self.likeness[b], "key", "b", at=(5, 5))
        return fig


class ShiftRotation(Widget):
    """Four pairs of an encoding at a position and `shift` places on; `value` is the position, from 20 to 120.

    `pair` is the one whose block of the rotation is written out.
    """

    _module = traitlets.Unicode("positional/shift_rotation").tag(sync=True)
    words = TURN
    value = traitlets.Int(25).tag(sync=True)
    shift = traitlets.Int(3).tag(sync=True)
    base = traitlets.Float(100.0).tag(sync=True)
    pair = traitlets.Int(1).tag(sync=True)
    d_model = traitlets.Int(8, read_only=True).tag(sync=True)
    bases = traitlets.List(traitlets.Float()).tag(sync=True)

    def __init__(self, position=25, shift=3, base=100.0, pair=1, **kwargs):
        value = kwargs.pop("value", position)
        bases = sorted({*BASES, float(base)})
        super().__init__(bases=bases, value=value, shift=shift, base=float(base), pair=pair, **kwargs)

    @traitlets.validate("base")
    def _valid_base(self, proposal):
        return _valid_base(proposal["value"])

    @traitlets.validate("value", "shift", "pair")
    def _valid_number(self, proposal):
        name, number = proposal["trait"].name, proposal["value"]
        low, high = {"value": (FIRST, LAST), "shift": (-FARTHEST, FARTHEST), "pair": (0, self.d_model // 2 - 1)}[name]
        return within(name, number, low, high)

    @property
    def matrix(self) -> list[list[float]]:
        """The block of the rotation for the chosen pair."""
        beta = self._turns()[self.pair]
        return [[math.cos(beta), math.sin(beta)], [-math.sin(beta), math.cos(beta)]]

    def _turns(self) -> list[float]:
        return [self.shift * omega for omega in angles(2, self.d_model, self.base)[1].tolist()]

    @property
    def alt(self) -> str:
        turns = ", ".join(f"{math.degrees(turn):.0f}°" for turn in self._turns())
        P = sinusoidal_encoding(LAST + FARTHEST + 1, self.d_model, self.base)
        shifted = self.value + self.shift
        places = {"position": self.value, "shifted": shifted, "shift": self.shift, "most": self.d_model // 2}
        return self.words.alt.format(turns=turns, product=(P[self.value] @ P[shifted]).item(), **places)

    def figure(self):
        """The hands of the four pairs at both positions."""
        fig, axes = draw.figure(1, self.d_model // 2, width=7.4, height=2.4)
        steps = angles(2, self.d_model, self.base)[1].tolist()
        for i, (ax, omega, turn) in enumerate(zip(axes, steps, self._turns())):
            start, t = self.value * omega, np.linspace(0, 2 * math.pi, 90)
            heading = self.words.pair.format(pair=i, degrees=math.degrees(turn))
            plane = draw.Plane(ax, xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), aspect="equal", title=heading)
            plane.line(np.sin(t), np.cos(t), "line", linewidth=1.2)
            for angle, colour, dash in ((start, "query", "-"), (start + turn, "key", "--")):
                plane.line([0, math.sin(angle)], [0, math.cos(angle)], colour, dash, marker="o", markevery=[1])
            arc = start + np.linspace(0, turn % (2 * math.pi) if turn >= 0 else -(-turn % (2 * math.pi)), 40)
            plane.line(0.6 * np.sin(arc), 0.6 * np.cos(arc), linewidth=1.2)
            ax.axis("off")
        return fig


def _valid_base(base: float) -> float:
    if not 2 <= base < math.inf:
        raise ValueError(f"base must be at least 2; it is {base}")
    return base


def _picture(ax, P, a, b):
    """Cells of the darkest colour, more or less transparent, so that they follow the scheme of the page."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    n, d = P.shape
    down, across = math.ceil(n * min(d, 32) / PATCHES), math.ceil(d / 32)
    draw.box(ax, 0, 0, d, n, "w0")
    levels: dict[int, list] = {level: [] for level in range(1, SHADES + 1)}
    shades = (SHADES * (P[::down, ::across] + 1) / 2).round().int().T.tolist()
    for x, column in enumerate(shades):
        top = 0
        for level, run in groupby(column):  # cells of one shade below each other are drawn as one
            low = top + len(list(run))
            left, right, up, end = across * x, min(across * (x + 1), d), down * top, min(down * low, n)
            if level:
                levels[level].append(
                    Path([(left, up), (right, up), (right, end), (left, end), (left, up)], closed=True)
                )
            top = low
    for level, cells in levels.items():
        if cells:
            shade = {"facecolor": draw.colours()["w1"], "alpha": level / SHADES, "linewidth": 0}
            ax.add_patch(PathPatch(Path.make_compound_path(*cells), **shade))
    for pos, colour, dash in ((a, "query", "-"), (b, "key", "--")):
        draw.box(ax, 0, pos, d, 1, edge=colour, linestyle=dash, linewidth=1.3)
    ax.set(xlim=(0, d), ylim=(n, 0))
    ax.spines[:].set_visible(False)


def _dial(ax, wave, a, b):
    from matplotlib.patches import Circle

    plane, pairs = draw.Plane(ax, xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal"), wave.shape[1]
    radii = 1 - 0.82 * np.arange(pairs) / pairs
    for r in radii[:: math.ceil(pairs / 16)]:
        ax.add_patch(Circle((0, 0), r, fill=False, edgecolor=draw.colours()["line"], linewidth=0.6))
    for pos, colour in ((b, "key"), (a, "query")):
        x, y = radii * np.sin(wave[pos].numpy()), radii * np.cos(wave[pos].numpy())
        if pairs <= 8:
            for tip in zip(x, y):
                plane.line([0, tip[0]], [0, tip[1]], colour, linewidth=1.5)
        plane.line(x, y, colour, "" if pairs <= 8 else "-", marker="o", markersize=3.5, linewidth=0.8)
    ax.axis("off")
