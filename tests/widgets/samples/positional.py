"""Samples of the widgets of chapter `positional`."""

import math
import re

import numpy as np
import torch
from matplotlib.patches import PathPatch

from tfm_lib.drawing import recorded
from tfm_lib.positional import rotary
from tfm_lib.widgets.positional import Encoding, Extrapolation, RotaryPairs, ShiftRotation
from widgets.reading import bars, chosen, column, heading, numbers, points
from widgets.samples import Sample, changed


def encoding_still(axes, widget):
    rows, state = widget.rows(), widget.model()
    P = column(rows, *list(rows[0])[1:])
    (n, d), a, b = P.shape, state["value"], state["other"]
    if n * d <= 1024:  # each number is a cell of its own
        shades = np.zeros((n, d))
        for patch in axes[0].patches:
            if isinstance(patch, PathPatch):
                for corner in patch.get_path().vertices[::5]:
                    left, up = corner.round().astype(int)
                    high = next(
                        box[2][1] for box in patch.get_path().vertices.reshape(-1, 5, 2) if (box[0] == corner).all()
                    )
                    shades[up : round(high), left] = patch.get_alpha()
        yield np.abs(2 * shades - 1 - P) < 1.1 / 12, np.ones((n, d), dtype=bool)
    hands = [line.get_xydata() for line in axes[1].lines if line.get_marker() == "o"]
    radii = 1 - 0.82 * np.arange(d // 2) / (d // 2)
    for hand, position in zip(hands, (b, a)):
        yield hand / radii[:, None], P[position].reshape(-1, 2)
    curve = next(line for line in points(axes[2]) if len(line) == n)
    yield curve[:, 1], P @ P[a] / (d / 2)


def shift_rotation_still(axes, widget):
    for ax, row in zip(axes, widget.rows(), strict=True):
        _, start, end, _ = points(ax)
        yield [start[1], end[1]], [column([row], f"sin {at}", f"cos {at}")[0] for at in ("pos", "pos+k")]
        assert heading(ax).startswith(f"pair {row['pair']}: {math.degrees(float(row['turn'])):.0f}°")


def rotary_pairs_still(axes, widget):
    for ax, row in zip(np.ravel(axes), widget.rows(), strict=True):
        query, key, _ = points(ax)
        yield [query[1], key[1]], column([row], "query x", "query y", "key x", "key y").reshape(2, 2)
        assert heading(ax).startswith(f"pair {row['pair']}: {math.degrees(float(row['angle'])):.0f}°")


def rotary_pairs(widget):
    """The score in the browser is that of the turned vectors, and no position changes it."""
    state = widget.model()
    query, key = (torch.tensor([state[name]]).double() for name in ("query", "key"))
    for distance in (0, 7):
        shown = set()
        for place in (20, 61, 120):
            widget.show({"value": place, "distance": distance})
            turned = rotary(query, place, state["base"]), rotary(key, place - distance, state["base"])
            pairs = (turned[0] * turned[1]).reshape(-1, 2).sum(dim=-1)
            assert np.allclose(column(widget.rows(), "product"), pairs)
            (said, half) = numbers(widget.readout().split("score ")[1])[0]
            assert abs(said - pairs.sum().item()) <= half * (1 + 1e-6)
            shown.add(said)
        assert len(shown) == 1


def extrapolation_still(axes, widget):
    state = widget.model()
    rows = chosen(widget.rows(), place=state["value"])
    yield bars(axes[0])[0], column(rows, "mean")
    lines = [line for line in points(axes[0]) if line[0][1] == line[1][1]]
    yield [line[:, 0] for line in lines], column(rows, "least", "greatest")


def extrapolation(widget):
    """What the bars say are the recorded shares: means over the seeds, at each place."""
    run = recorded("positional_extrapolation")
    state = widget.model()
    for place in (16, 32, 64, 256):
        widget.show({"value": place})
        part = "short" if place <= run["short"] else "long"
        rows = run[f"longer_on_{part}" if state["longer"] else f"on_{part}"][state["job"]]
        shares = [[row[place // run["group"] - 1] for row in each] for each in rows.values()]
        means = sorted(sum(each) / len(each) for each in shares if None not in each)
        texts = widget.box.locator("svg text").all_text_contents()
        shown = sorted(float(text) for text in texts if re.fullmatch(r"[01]\.\d\d", text))
        assert np.allclose(shown, means, atol=0.0051)
        assert len(shown) == len(means)
        assert ("beyond the 32" in widget.readout()) == (place > run["short"])
        assert widget.readout().count("no such position") == texts.count("no such position"), (
            "who has none is named too"
        )


SAMPLES = {
    "encoding": Sample(
        code="Encoding()",
        change="value = 30",
        says="a = 30",
        states=[{"d_model": 4, "base": 10.0, "length": 16, "value": 3, "other": 9}],
        still=encoding_still,
        refused={
            "d_model must be even, from 2 to 128; it is 7": lambda: Encoding(d_model=7),
            "d_model must be even, from 2 to 128; it is 256": lambda: Encoding(d_model=256),
            "base must be at least 2; it is 1.0": lambda: Encoding(base=1),
            "length must be from 2 to 256; it is 1000": lambda: Encoding(length=1000),
            "value must be a position from 0 to 255; it is -1": lambda: Encoding(value=-1),
        },
    ),
    "shift_rotation": Sample(
        code="ShiftRotation()",
        change="shift = -7",
        says="PE(18)",
        states=[{"shift": -7, "pair": 0}, {"value": 100, "base": 10.0}],
        still=shift_rotation_still,
        refused={
            "value must be from 20 to 120; it is 5": lambda: ShiftRotation(position=5),
            "shift must be from -20 to 20; it is 21": lambda: ShiftRotation(shift=21),
            "pair must be from 0 to 3; it is 4": lambda: ShiftRotation(pair=4),
            "base must be at least 2; it is inf": lambda: ShiftRotation(base=math.inf),
        },
    ),
    "extrapolation": Sample(
        code="Extrapolation()",
        change="value = 256",
        says="beyond the 32 of training",
        states=[{"value": 256}, {"value": 64, "job": "after last time", "longer": True}],
        still=extrapolation_still,
        refused={
            "value must be a place from 16 to 256; it is 8": lambda: Extrapolation(value=8),
            "value must be a multiple of 16; it is 40": lambda: Extrapolation(value=40),
            "job must be one of three back, after last time; it is 'sort'": lambda: Extrapolation(job="sort"),
        },
    ),
    "rotary_pairs": Sample(
        code="RotaryPairs()",
        change="distance = 7",
        says="7 apart",
        states=[{"distance": 0}, {"value": 111, "distance": 9}],
        still=rotary_pairs_still,
        refused={
            "value must be from 20 to 120; it is 5": lambda: RotaryPairs(value=5),
            "distance must be from 0 to 20; it is -1": lambda: RotaryPairs(distance=-1),
            "query must hold pairs, of at most 16 numbers; it holds 3": lambda: RotaryPairs([1, 2, 3], [1, 2, 3]),
            "key must have shape (2); it has shape (4,)": lambda: RotaryPairs([1, 2], [1, 2, 3, 4]),
            "base must be at least 2; it is 1.0": lambda: RotaryPairs(base=1),
            "base must be at least 2; it is -7.0": lambda: changed(RotaryPairs(), base=-7),
        },
    ),
}
