"""Sample of the widget of chapter `layers`."""

from functools import cache

import numpy as np

from tfm_lib.drawing.display import colours
from tfm_lib.widgets.layers import GradientThroughDepth, measure_cuts
from widgets.picture_numbers import column, points
from widgets.samples import Sample


@cache
def small_stacks():
    """Lengths of three layers, two seeds, cut in every way."""
    return measure_cuts(3, seeds=range(2), d_model=8, n=4)


def through(other=None, lengths=None, **arguments) -> GradientThroughDepth:
    """The widget over the small stacks; `lengths` replace those of an `other` norm, or None removes it."""
    found = {key: rows for key, rows in small_stacks().items() if key != other}
    return GradientThroughDepth(found if lengths is None else {**found, other: lengths}, **arguments)


def gradient_depth_still(axes, widget):
    rows, state = widget.rows(), widget.model()
    tower, plane = axes
    shown = points(plane)[-1]
    yield shown[:, 1], column(rows, "layer")
    yield np.log(shown[:, 0]), np.log(column(rows, "geometric mean"))
    ghosts = [line for line in points(plane) if len(line) == len(rows)][:-1]
    if [row["geometric mean"] for row in rows] != [row["before"] for row in rows]:
        (ghost,) = ghosts
        yield np.log(ghost[:, 0]), np.log(column(rows, "before"))
    cut = [line.get_color() == colours()["broken"] for line in tower.lines]
    yield cut, state["value"]
    pressed = widget.box.locator(".tfm-cut").evaluate_all("(all) => all.map((each) => each.ariaPressed === 'true')")
    yield cut, pressed[::-1]


SAMPLES = {
    "gradient_depth": Sample(
        code="GradientThroughDepth()",
        change="value = [True] * 6",
        says="all residual connections cut",
        states=[
            {"value": [False, True, False, False, False, True]},
            {"value": [True] * 6, "norm": "pre", "former": [False] * 6, "before": "post"},
        ],
        still=gradient_depth_still,
        refused={
            "lengths must hold none, pre, post; it lacks pre": lambda: through("pre"),
            "lengths['pre'] must have shape (stacks, seeds, layers + 1)…": lambda: through("pre", [[1.0, 1.0]]),
            "lengths['pre'] must hold every way to cut 3 layers, 8 stacks of 4 lengths; it has shape (7, 2, 4)": lambda: (
                through("pre", small_stacks()["pre"][:7])
            ),
            "lengths['pre'] must be greater than 0; the least is 0.0": lambda: through(
                "pre", 0 * small_stacks()["pre"].detach()
            ),
            "lengths must be of 1 to 10 layers; they are of 0": lambda: GradientThroughDepth(
                {norm: [[[1.0]]] for norm in small_stacks()}
            ),
            "value must hold 3 times True or False, one a layer; it holds 2": lambda: through(value=[True, False]),
            "norm must be one of none, pre, post; it is 'before'": lambda: through(norm="before"),
        },
    ),
}
