"""Samples of the widgets of chapter `positional`."""

import math

import numpy as np
from matplotlib.patches import PathPatch
from reading import column, heading, points

from samples import Sample
from tfm_lib.widgets.positional import Encoding, ShiftRotation


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
}
