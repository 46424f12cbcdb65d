"""The numbers of a still picture, read back from what matplotlib would draw."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from tfm_lib.drawing.display import colours

# 0.44, −12, 4,000, 3·10⁻⁵, 10⁻⁴
NUMBER = re.compile(r"(?:(−?\d+(?:\.\d+)?)·)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)|(−?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)")
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def numbers(text: str) -> list[tuple[float, float]]:
    """The numbers in a text, each with half a unit of its last digit."""
    found = []
    for factor, power, plain in NUMBER.findall(text):
        digits = (plain or factor or "1").replace("−", "-").replace(",", "")
        tail = f"e{power.translate(RAISED) or 0}"
        found.append((float(digits + tail), float("0.5" + tail) * 10.0 ** -len(digits.partition(".")[2])))
    return found


def rectangles(ax: Axes) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def cells(ax: Axes, top: float = 1.0) -> np.ndarray:
    """The values of a heat-map: each cell's share of the darkest colour, times `top`."""
    found = np.zeros((round(ax.get_ylim()[0]), round(ax.get_xlim()[1])))
    for patch in rectangles(ax):
        *colour, share = patch.get_facecolor()
        if patch.get_width() == patch.get_height() == 1 and np.allclose(colour, to_rgba(colours()["w1"])[:3]):
            found[round(patch.get_y()), round(patch.get_x())] = top * share
    return found


def marked(ax: Axes, colour: str) -> list[tuple[int, int]]:
    """The cells (row, column) with a frame or a hatch of that colour, in order."""
    edge = to_rgba(colours()[colour])
    places = [patch for patch in rectangles(ax) if patch.get_edgecolor() == edge]
    return sorted((int(patch.get_y()), int(patch.get_x())) for patch in places)


def words(ax: Axes) -> list[str]:
    """What stands in a picture, but for its axes and its title."""
    return [text.get_text() for text in ax.texts]


def points(ax: Axes) -> list[np.ndarray]:
    """The points of each line and dot, (points, 2)."""
    return [np.column_stack(line.get_data(orig=False)).astype(float) for line in ax.lines]


def named(ax: Axes) -> dict[str, np.ndarray]:
    """The points of each line that has a name."""
    return {
        line.get_label(): found for line, found in zip(ax.lines, points(ax)) if not line.get_label().startswith("_")
    }


def bars(ax: Axes) -> list[list[float]]:
    """The lengths of each group of bars."""
    return [
        [patch.get_width() if group.orientation == "horizontal" else patch.get_height() for patch in group]
        for group in ax.containers
    ]


def column(rows: Iterable[dict[str, str]], *names: str) -> np.ndarray:
    """Columns of saved rows as numbers."""
    return (
        np.array([[float(row[name]) for name in names] for row in rows]).squeeze(-1)
        if len(names) == 1
        else np.array([[float(row[name]) for name in names] for row in rows])
    )


def heading(ax: Axes) -> str:
    return ax.get_title(loc="left")


def chosen(rows: Iterable[dict[str, str]], **wanted: Any) -> list[dict[str, str]]:
    """The rows that hold these values."""
    return [row for row in rows if all(row[name] == str(value) for name, value in wanted.items())]


def fixed(number: str, digits: int) -> str:
    """A saved number as the browser writes it."""
    text = f"{float(number):.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")
