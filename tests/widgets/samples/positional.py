"""Samples of the widgets of chapter `positional`."""

import numpy as np
import torch
from matplotlib.patches import PathPatch

from tfm_lib.positional import rotary, sinusoidal_encoding
from tfm_lib.widgets.positional import Encoding, RotaryPairs
from widgets.picture_numbers import column, heading, numbers, points
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


def rotary_pairs_still(axes, widget):
    for ax, row in zip(np.ravel(axes), widget.rows(), strict=True):
        query, key, _ = points(ax)
        yield [query[1], key[1]], column([row], "query x", "query y", "key x", "key y").reshape(2, 2)
        assert heading(ax).startswith(f"pair {row['pair']}: {np.degrees(float(row['angle'])):.0f}°")


def rotary_pairs(widget):
    """The score in the browser is that of the turned vectors, and no position changes it."""
    state = widget.model()
    query, key = (torch.tensor([state[name]]).double() for name in ("query", "key"))
    for distance in (0, 7):
        shown = set()
        for place in (20, 61, 120):
            widget.show({"value": place, "distance": distance, "encoding": False})
            turned = rotary(query, place, state["base"]), rotary(key, place - distance, state["base"])
            pairs = (turned[0] * turned[1]).reshape(-1, 2).sum(dim=-1)
            assert np.allclose(column(widget.rows(), "product"), pairs)
            (said, half) = numbers(widget.readout().split("score ")[1])[0]
            assert abs(said - pairs.sum().item()) <= half * (1 + 1e-6)
            shown.add(said)
        assert len(shown) == 1
    widget.show({"encoding": True, "value": 61, "distance": 7})
    P = sinusoidal_encoding(62, len(state["query"]), state["base"])
    assert np.allclose(column(widget.rows(), "product").sum(), P[61] @ P[54], atol=1e-4)
    assert "PE(61)" in widget.readout() and "PE(54)" in widget.readout() and "score" not in widget.readout()


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
    "rotary_pairs": Sample(
        code="RotaryPairs()",
        change="distance = 7",
        says="7 apart",
        states=[{"distance": 0}, {"value": 111, "distance": 9}, {"encoding": True, "distance": 3}],
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
