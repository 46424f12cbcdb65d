"""Lay out a figure a second time for phones: as narrow as the screen, with letters of the same size."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NARROW = 3.6  # inches; the width of a phone's text, at which 10-point letters are still 12 pixels high
LEAST = 0.8  # smallest factor for a panel's height when its width shrinks more
LINE, LETTERS = 0.24, {"title": 40, "label": 36, "tick": 22}  # height of a legend line in inches; letters per line


def narrow(fig: Figure) -> None:
    """Lay `fig` out for the width of a phone.

    Panels are stacked in one column, or in half as many columns if there are more than three; legends are placed below
    all panels; long lines are broken.
    """
    from matplotlib.gridspec import GridSpec

    for ax in [*fig.axes]:
        if not (ax.axison or ax.has_data() or ax.texts or ax.patches):
            ax.remove()  # an empty place of the grid
    spots = {ax: ax.get_subplotspec() for ax in fig.axes if ax.get_subplotspec()}
    places = sorted({(spot.rowspan.start, spot.colspan.start) for spot in spots.values()})  # in reading order
    grid = next(iter(spots.values())).get_gridspec()
    columns = 1 if grid.ncols <= 3 else grid.ncols // 2
    rows = -(-len(places) // columns)
    width, height = fig.get_size_inches()
    shrunk = min(1.0, max(LEAST, NARROW / columns / (width / grid.ncols)))
    lines = _legend_below(fig) if columns == 1 else 0
    fig.set_size_inches(NARROW, height / grid.nrows * shrunk * rows + LINE * lines)
    new = GridSpec(rows, columns, figure=fig)
    for ax, spot in spots.items():
        row, column = divmod(places.index((spot.rowspan.start, spot.colspan.start)), columns)
        ax.set_subplotspec(new[row, column])
        _with_its_own_labels(ax, fig.axes[0], row == rows - 1, column == 0)
    told = [ax for ax in spots if ax.get_xlabel()]
    if columns == 1 and len(told) == 1:  # one panel's label served all panels
        label = told[0].get_xlabel()
        told[0].set_xlabel("")
        list(spots)[-1].set_xlabel(label)
    for ax in spots:
        _in_short_lines(ax)


def _legend_below(fig: Figure) -> int:
    """Draw one legend for all panels below them; return its number of lines."""
    found: dict[str, Any] = {}
    for ax in fig.axes:
        if legend := ax.get_legend():
            own = dict(zip(*reversed(ax.get_legend_handles_labels())))
            for handle, text in zip(legend.legend_handles, legend.get_texts()):
                found.setdefault(text.get_text(), own.get(text.get_text(), handle))
            legend.remove()
    if found:
        columns = 2 if len(found) > 3 and max(map(len, found)) < LETTERS["tick"] else 1
        fig.legend(list(found.values()), list(found), loc="outside lower left", ncols=columns)
        return -(-len(found) // columns)
    return 0


def _with_its_own_labels(ax: Any, first: Any, last_row: bool, first_column: bool) -> None:
    """Give panels their own labels if they shared an axis but no longer stand side by side."""
    if ax is not first and ax.get_shared_y_axes().joined(ax, first) and first_column:
        ax.tick_params(labelleft=True)
        ax.set_ylabel(ax.get_ylabel() or first.get_ylabel())
    if ax.get_shared_x_axes().joined(ax, first):
        ax.tick_params(labelbottom=last_row)


def _in_short_lines(ax: Any) -> None:
    ax.set_title(textwrap.fill(ax.get_title("left"), LETTERS["title"]), loc="left")
    ax.set_xlabel(textwrap.fill(ax.get_xlabel(), LETTERS["label"]), loc="right")  # where there is room for more
    ax.set_ylabel(textwrap.fill(ax.get_ylabel(), LETTERS["tick"] + 6))
    names = [label.get_text() for label in ax.get_yticklabels()]
    if any(len(name) > LETTERS["tick"] and "$" not in name for name in names):  # a formula is no sentence
        ax.set_yticks(ax.get_yticks(), [textwrap.fill(name, LETTERS["tick"]) for name in names])
