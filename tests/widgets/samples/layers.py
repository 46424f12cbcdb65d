"""Samples of the widgets of chapter `layers`."""

from functools import cache

import numpy as np

from tfm_lib.drawing.display import colours
from tfm_lib.widgets.layers import GradientThroughDepth, LayerNormByHand, RankCollapse, measure_cuts, measure_words
from widgets.reading import cells, column, heading, points
from widgets.samples import Sample


@cache
def small_stacks():
    """Lengths of three layers, two seeds, cut in every way."""
    return measure_cuts(3, seeds=range(2), d_model=8, n=4)


def through(other=None, lengths=None, **arguments) -> GradientThroughDepth:
    """The widget over the small stacks; `lengths` replace those of an `other` norm, or None removes it."""
    found = {key: rows for key, rows in small_stacks().items() if key != other}
    return GradientThroughDepth(found if lengths is None else {**found, other: lengths}, **arguments)


def layer_norm_still(axes, widget):
    for ax, name in zip(axes, ("x", "normalised")):
        yield points(ax)[-1], column(widget.rows(), "feature", name)


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


@cache
def small_words():
    """Differences and cosines of two layers, two seeds, four words."""
    return measure_words(2, seeds=range(2), d_model=8, n=4)


def alike(apart=None, cosines=None, **arguments) -> RankCollapse:
    """The widget over the small stacks, with some of their numbers replaced."""
    both = small_words()
    return RankCollapse({**both[0], **(apart or {})}, {**both[1], **(cosines or {})}, **arguments)


WHOLE = (True, True, "post")


def rank_collapse_still(axes, widget):
    rows, state = widget.rows(), widget.model()
    squares, plane = axes
    shown = widget.box.locator(".tfm-cell").evaluate_all(
        "(all) => all.map((each) => Number(each.style.getPropertyValue('--w')))"
    )
    yield cells(squares).flatten(), np.array(shown)
    yield int(heading(squares).split(":")[0].split()[1]), state["value"]
    *ghost, mean = [line for line in points(plane) if len(line) == len(rows)]
    yield mean[:, 0], column(rows, "layer")
    yield np.log(mean[:, 1]), np.log(column(rows, "geometric mean"))
    for line in ghost:
        yield np.log(line[:, 1]), np.log(column(rows, "before"))


SAMPLES = {
    "layer_norm": Sample(
        code="LayerNormByHand()",
        change="value = [2.0] * 6",
        says="mean 2.00 · variance 0.00",
        states=[{"value": [2.0] * 6}, {"value": [-2.5, 0.0, 4.0, 1.0, 1.0, 7.0], "eps": 0.5}],
        still=layer_norm_still,
        refused={
            "value must hold 2 to 8 features; it holds 1": lambda: LayerNormByHand([1]),
            "value must lie between −12 and 12; it holds -13.0": lambda: LayerNormByHand([1, -13]),
            "value must have shape (features); it has shape (1, 2)": lambda: LayerNormByHand([[1, 2]]),
            "eps must lie between 1e-6 and 10; it is 0.0": lambda: LayerNormByHand(eps=0),
        },
    ),
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
    "rank_collapse": Sample(
        code="RankCollapse()",
        change="residual = True",
        says="attention only, with residuals",
        states=[{"value": 4}, {"value": 12, "residual": True, "think": True, "norm": "post"}],
        still=rank_collapse_still,
        refused={
            "apart must hold all twelve stacks; it lacks (True, True, 'post')": lambda: RankCollapse(
                {key: rows for key, rows in small_words()[0].items() if key != WHOLE}, small_words()[1]
            ),
            "cosines must hold all twelve stacks…": lambda: RankCollapse(small_words()[0], {}),
            "apart[(True, True, 'post')] must have shape (seeds, 3); it has shape (1, 2)": lambda: alike(
                {WHOLE: [[1.0, 1.0]]}
            ),
            "apart[(True, True, 'post')] must be greater than 0; the least is 0.0": lambda: alike(
                {WHOLE: [[1.0, 0.0, 1.0]]}
            ),
            "cosines[(True, True, 'post')] must have shape (3, words, words)…": lambda: alike(None, {WHOLE: [[[1.0]]]}),
            "value must be a layer from 0 to 2; it is 3": lambda: alike(value=3),
            "norm must be one of none, pre, post; it is 'before'": lambda: alike(norm="before"),
        },
    ),
}
