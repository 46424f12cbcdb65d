"""Draw the static figures of all widgets: heat-maps, planes with lines, labels.

The interface follows the front end's kit: colours by name, a plane with `line`, `rule` and `dot`. This keeps each
widget's `figure()` short, and lets a test read every number back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfm_lib.drawing.display import colours, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

__all__ = ["Plane", "bare", "box", "colours", "figure", "heatmap", "labels", "number", "plain", "write"]

FAINT = 0.005  # the share of the darkest colour below which a cell looks like the background
SMALLEST = 4.5  # points; smaller text is unreadable


def number(x: float, digits: int = 2) -> str:
    """Format `x` with a true minus sign, and never as −0.00."""
    text = f"{x:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def plain(word: str) -> str:
    """Escape dollar signs, so that matplotlib does not read a formula."""
    return word.replace("$", r"\$")


def box(
    ax: Axes, x: float, y: float, wide: float, high: float, fill: Any = "none", edge: Any = "none", **look: Any
) -> Rectangle:
    """Add a rectangle; `fill` and `edge` are names of colours, or a name and an opacity."""
    from matplotlib.patches import Rectangle

    look = {"linewidth": 0 if edge == "none" else 1.2, **look}
    drawn = Rectangle((x, y), wide, high, facecolor=_colour(fill), edgecolor=_colour(edge), **look)
    ax.add_patch(drawn)
    return drawn


def write(ax: Axes, x: float, y: float, words: str, colour: str = "ink", ha: str = "center", **look: Any) -> None:
    """Write text, vertically centred at y."""
    ax.text(x, y, words, **{"ha": ha, "va": "center", "color": colours()[colour], **look})


def bare(ax: Axes) -> None:
    """Remove tick marks and frame."""
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def labels(
    ax: Axes, rows: Sequence[str], cols: Sequence[str], kinds: Sequence[str] = ("query", "key"),
    size: float | None = None, below: bool = False, turned: bool = True,
) -> None:  # fmt: skip
    """Label the rows, and the columns above or `below` the matrix, in the colours of `kinds`."""
    slanted = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    look: dict[str, Any] = ({"rotation": 90, "va": "top"} if below else slanted) if turned else {}
    n, m = len(rows), len(cols)
    ax.set(xticks=np.arange(m) + 0.5, yticks=np.arange(n) + 0.5, xlim=(0, m), ylim=(n, 0))
    named = size is None or size >= SMALLEST
    ax.set_xticklabels(map(plain, cols if named else [""] * m), color=colours()[kinds[1]], fontsize=size, **look)
    ax.set_yticklabels(map(plain, rows if named else [""] * n), color=colours()[kinds[0]], fontsize=size)
    if not below:
        ax.xaxis.tick_top()
    bare(ax)


def heatmap(  # noqa: PLR0913, what may be drawn in a matrix, each by its name
    ax: Axes, values: Any, rows: Sequence[str], cols: Sequence[str], top: float = 1.0, title: str = "",
    text: Callable[[int, int], str] | None = None, text_size: float = 8.5, hidden: Any = None, focus: int | None = None,
    square: bool = True, **names: Any,
) -> None:  # fmt: skip
    """Draw a matrix of values from 0 to `top`, queries in rows and keys in columns; `names` as in `labels`.

    Each cell is the darkest colour at some opacity, so that it follows the colour scheme of the page. `text(i, j)` is
    written in a cell. Cells that are `hidden` are hatched, rows of only hidden cells crossed. The row `focus` is
    framed.
    """
    values = np.asarray(values)
    n, m = values.shape
    box(ax, 0, 0, m, n, "w0", zorder=0)
    for (i, j), value in np.ndenumerate(values):
        if value / top >= FAINT and not (hidden is not None and hidden[i][j]):
            box(ax, j, i, 1, 1, ("w1", min(1, value / top)))
    for i, j in np.argwhere(hidden) if hidden is not None else ():
        empty = all(hidden[i])
        look = {"hatch": "xxx" if empty else "////", "linewidth": 0, "hatch_linewidth": 0.6}
        box(ax, j, i, 1, 1, "card", "broken" if empty else "soft", **look)
    gap = {"color": colours()["card"], "linewidth": min(1.5, 24 / max(n, m))}
    ax.hlines(range(1, n), 0, m, **gap)
    ax.vlines(range(1, m), 0, n, **gap)
    if text:
        for i, j in np.ndindex(n, m):
            ink = "card" if values[i, j] > top / 2 else "broken" if hidden is not None and all(hidden[i]) else "ink"
            write(ax, j + 0.5, i + 0.5, text(i, j), ink, fontsize=text_size)
    if focus is not None:
        box(ax, 0, focus, m, 1, edge="query", clip_on=False, zorder=3)
    labels(ax, rows, cols, **names)
    ax.set_aspect("equal" if square else "auto")
    ax.set_title(title)


class Plane:
    """Axes on which lines, dots and rules are drawn; `log` names the logarithmic ones, "y" or "xy"."""

    def __init__(self, ax: Axes, x: str = "", y: str = "", log: str = "", **settings: Any):
        self.ax = ax
        scales = {f"{axis}scale": "log" for axis in log}
        ax.set(xlabel=x, ylabel=y, **scales, **settings)

    def line(self, x: Any, y: Any, colour: str = "ink", dash: Any = "-", name: str | None = None, **look: Any) -> None:
        self.ax.plot(x, y, color=colours()[colour], linestyle=dash, label=name, **look)

    def rule(
        self,
        x: float | None = None,
        y: float | None = None,
        colour: str = "soft",
        dash: str = "-",
        name: str | None = None,
        **look: Any,
    ) -> None:
        look = {"color": colours()[colour], "linestyle": dash, "linewidth": 1, "label": name, **look}
        if x is not None:
            self.ax.axvline(x, **look)
        if y is not None:
            self.ax.axhline(y, **look)

    def stems(self, x: Any, low: Any, high: Any, colour: str, **look: Any) -> None:
        self.ax.vlines(x, low, high, color=colours()[colour], **look)

    def dot(
        self, x: float, y: float, colour: str = "ink", words: str = "", mark: str = "o", at: tuple = (6, 4), **look: Any
    ) -> None:
        self.ax.plot([x], [y], mark, color=colours()[colour], **look)
        if words:
            self.ax.annotate(words, (x, y), at, textcoords="offset points", color=colours()[colour])

    def band(self, x: Any, low: Any, high: Any, colour: str, alpha: float = 0.18) -> None:
        self.ax.fill_between(x, low, high, color=colours()[colour], alpha=alpha, linewidth=0)

    def key(self, **look: Any) -> None:
        """Add the legend of the lines."""
        self.ax.legend(**look)


def _colour(colour: Any) -> Any:
    from matplotlib.colors import to_rgba

    if isinstance(colour, tuple):
        return to_rgba(colours()[colour[0]], colour[1])
    return colours().get(colour, colour)
