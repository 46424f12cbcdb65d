"""The widgets of chapter `positional`: the sinusoidal encoding, and pairs that turn with their positions."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import torch
import traitlets

from tfm_lib.positional import angles, rotary, sinusoidal_encoding
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Numbers, Widget, Words, to_list, to_numpy, within

WAVES = Words(
    title="Encoding",
    question="Which numbers of the vector tell neighbouring positions apart, and which tell distant ones apart?",
    shared={"position": "position", "likeness": "likeness to a"},
    alt="The sinusoidal encoding of positions 0 to {last} in {numbers} numbers, {hands}, at base {base:g}. The fastest "
    "hand turns once in {fastest:.3g} places, the slowest in {slowest:.5g}. Positions {a} and {b} have likeness "
    "{likeness:.2f}, where 1 is equal.",
    hands=("1 hand", "{hands} hands"),
    number="number of the vector",
    shades="−1 faint, 1 strong",
    clock="hands of a and b",
)
TURNED = Words(
    title="Rotary encoding",
    question="What changes the score: moving both words along the text, or moving them apart?",
    shared={"query": "query", "key": "key", "distance": "distance", "product": "dot product"},
    alt="A query at position {a} and a key at {b}, {distance} places before it, in {pairs} pairs. The angles from key to "
    "query are {angles}; the score is {score:.2f}, as at every other position.",
    hands="The encodings of positions {a} and {b}, {distance} places before it, in {pairs} pairs. The first is turned from "
    "the second by {angles}; their product is {score:.2f}, as at every other position.",
    pair="pair {pair}: {degrees:.0f}°",
)
WIDTHS, BASES, LENGTHS = (4, 8, 16, 32, 64, 128), (10.0, 100.0, 1000.0, 10_000.0, 100_000.0), (16, 32, 64, 128, 256)
PATCHES, SHADES = 1024, 12  # most cells drawn in the static figure, and their shades
FIRST, LAST, FARTHEST = 20, 120, 20  # range of positions, and largest distance, of the rotary pairs
SEED = 1000  # of the rotated query and key: with this seed each of their pairs is long enough to see


class Encoding(Widget):
    """The sinusoidal encoding of positions; `value` is position a, `other` position b.

    `d_model` is even, from 2 to 128, `base` at least 2, `length` from 2 to 256. The figure, the hands of both
    positions and the similarity PE(a)·PE(b) / (d_model/2) are computed from them.
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
        """The displayed positions a and b, clipped to the length."""
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
        """Draw the encoding, the hands of two positions, and the similarity of all positions to the first."""
        say, (a, b) = self.words, self.positions
        fig, (left, middle, right) = draw.figure(1, 3, width=7.6, height=3.3, width_ratios=(3, 2.2, 3))
        _picture(left, sinusoidal_encoding(self.length, self.d_model, self.base), a, b)
        left.set(xlabel=say.number, ylabel=say.shared["position"], title=say.shades)
        _dial(middle, angles(self.length, self.d_model, self.base), a, b)
        middle.set(title=say.clock)
        heading = {"x": say.shared["position"], "title": say.shared["likeness"]}
        plane = draw.Plane(right, **heading, ylim=(-1.05, 1.05))
        plane.rule(x=a, colour="one", dash="--", linewidth=1.2)
        plane.line(range(self.length), self.likeness, linewidth=1.5)
        plane.dot(b, self.likeness[b], "two", "b", at=(5, 5))
        return fig


class RotaryPairs(Widget):
    """A query and a key whose pairs rotate with their positions; `value` is the query's position, from 20 to 120.

    The key is `distance` positions before it, from 0 to 20. `query` and `key` are vectors of one even width, at most
    16, your own or seeded; `base` is that of `rotary`. `encoding` shows the sinusoidal encodings of the two positions,
    as clock hands, in place of query and key.
    """

    _module = traitlets.Unicode("positional/rotary_pairs").tag(sync=True)
    words = TURNED
    value = traitlets.Int(30).tag(sync=True)
    distance = traitlets.Int(3).tag(sync=True)
    query = Numbers().tag(sync=True)
    key = Numbers().tag(sync=True)
    base = traitlets.Float(100.0).tag(sync=True)
    encoding = traitlets.Bool(False).tag(sync=True)
    positions = traitlets.List([FIRST, LAST], read_only=True).tag(sync=True)
    farthest = traitlets.Int(FARTHEST, read_only=True).tag(sync=True)

    def __init__(self, query=None, key=None, base=100.0, **kwargs):
        if query is None and key is None:
            query, key = torch.randn(2, 8, generator=torch.Generator().manual_seed(SEED))
        d = to_numpy("query", query, ("d",)).size
        if d % 2 or d > 16:
            raise ValueError(f"query must hold pairs, of at most 16 numbers; it holds {d}")
        vectors = {name: to_list(name, x, (d,), digits=2) for name, x in (("query", query), ("key", key))}
        super().__init__(base=_valid_base(float(base)), **vectors, **kwargs)

    @traitlets.validate("base")
    def _in_range(self, proposal):
        return _valid_base(proposal["value"])

    @traitlets.validate("value", "distance")
    def _valid_place(self, proposal):
        name = proposal["trait"].name
        low, high = (FIRST, LAST) if name == "value" else (0, FARTHEST)
        return within(name, proposal["value"], low, high)

    @property
    def turned(self) -> list[list[list[float]]]:
        """The pairs of the query and of the key, rotated at their positions, or of two encodings, (2, pairs, 2)."""
        places = (self.query, self.value), (self.key, self.value - self.distance)
        if self.encoding:
            P = sinusoidal_encoding(self.value + 1, len(self.query), self.base).double()
            return [P[place].reshape(-1, 2).tolist() for _, place in places]
        return [rotary(torch.tensor([x]).double(), place, self.base).reshape(-1, 2).tolist() for x, place in places]

    @property
    def score(self) -> float:
        """The dot product of the rotated query and the rotated key, or of the encodings."""
        query, key = np.array(self.turned)
        return float((query * key).sum())

    @property
    def angles(self) -> list[float]:
        """The angle from key to query in each pair, from −π to π; of clock hands, clockwise."""
        query, key = (np.array(x) @ [1, 1j] for x in self.turned)
        return np.angle(key * query.conj() if self.encoding else query * key.conj()).tolist()

    @property
    def alt(self) -> str:
        turns = ", ".join(f"{math.degrees(angle):.0f}°" for angle in self.angles)
        places = {"a": self.value, "b": self.value - self.distance, "distance": self.distance}
        said = self.words.hands if self.encoding else self.words.alt
        return said.format(angles=turns, score=self.score, pairs=len(self.query) // 2, **places)

    def figure(self):
        """Draw the pairs of query and key in their planes, each with the angle between them."""
        query, key = np.array(self.turned)
        reach = 1.15 * np.hypot(*np.concatenate([query, key]).T).max()
        colours, sense = (("one", "two"), -1) if self.encoding else (("query", "key"), 1)
        fig, axes = draw.figure(1, len(query), width=7.4, height=2.4, squeeze=False)
        for i, (ax, angle) in enumerate(zip(axes[0], self.angles)):
            heading = self.words.pair.format(pair=i, degrees=math.degrees(angle))
            plane = draw.Plane(ax, xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title=heading)
            for (x, y), colour, dash in zip((query[i], key[i]), colours, ("-", "--")):
                plane.line([0, x], [0, y], colour, dash, marker="o", markevery=[1])
            arc = np.arctan2(key[i][1], key[i][0]) + np.linspace(0, sense * angle, 40)
            plane.line(0.3 * reach * np.cos(arc), 0.3 * reach * np.sin(arc), linewidth=1.2)
            ax.axis("off")
        return fig


def _valid_base(base: float) -> float:
    if not 2 <= base < math.inf:
        raise ValueError(f"base must be at least 2; it is {base}")
    return base


def _picture(ax, P, a, b):
    """Draw cells of the darkest colour at some opacity, so that they follow the colour scheme of the page."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    n, d = P.shape
    down, across = math.ceil(n * min(d, 32) / PATCHES), math.ceil(d / 32)
    draw.box(ax, 0, 0, d, n, "w0")
    levels: dict[int, list] = {level: [] for level in range(1, SHADES + 1)}
    shades = (SHADES * (P[::down, ::across] + 1) / 2).round().int().T.tolist()
    for x, column in enumerate(shades):
        top = 0
        for level, run in groupby(column):  # adjacent cells of one shade in a column are drawn as one
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
    for pos, colour, dash in ((a, "one", "-"), (b, "two", "--")):
        draw.box(ax, 0, pos, d, 1, edge=colour, linestyle=dash, linewidth=1.3)
    ax.set(xlim=(0, d), ylim=(n, 0))
    ax.spines[:].set_visible(False)


def _dial(ax, wave, a, b):
    from matplotlib.patches import Circle

    plane, pairs = draw.Plane(ax, xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal"), wave.shape[1]
    radii = 1 - 0.82 * np.arange(pairs) / pairs
    for r in radii[:: math.ceil(pairs / 16)]:
        ax.add_patch(Circle((0, 0), r, fill=False, edgecolor=draw.colours()["line"], linewidth=0.6))
    for pos, colour in ((b, "two"), (a, "one")):
        x, y = radii * np.sin(wave[pos].numpy()), radii * np.cos(wave[pos].numpy())
        if pairs <= 8:
            for tip in zip(x, y):
                plane.line([0, tip[0]], [0, tip[1]], colour, linewidth=1.5)
        plane.line(x, y, colour, "" if pairs <= 8 else "-", marker="o", markersize=3.5, linewidth=0.8)
    ax.axis("off")
