"""Samples of the widgets of chapter `layers`."""

from functools import cache

from reading import column, heading, points

from samples import Sample
from tfm_lib.widgets.layers import GradientThroughDepth, LayerNormByHand, measure


@cache
def small_stacks():
    """Lengths of two depths and two seeds."""
    return measure(depths=(1, 3), seeds=range(2), d_model=8, n=4)


def through(stack=None, lengths=None, **arguments) -> GradientThroughDepth:
    """The widget over the small stacks; `lengths` replace those of a `stack`, or None removes it."""
    norms = {key: found for key, found in small_stacks().items() if key != stack}
    return GradientThroughDepth(norms if lengths is None else {**norms, stack: lengths}, **arguments)


PRE = (True, "pre")


def layer_norm_still(axes, widget):
    for ax, name in zip(axes, ("x", "normalised")):
        yield points(ax)[-1], column(widget.rows(), "feature", name)


def gradient_depth_still(axes, widget):
    rows, state = widget.rows(), widget.model()
    drawn, _ = points(axes[0])
    yield drawn, column(rows, "layer", "geometric mean")
    edge = axes[0].collections[0].get_paths()[0].vertices
    for layer, row in enumerate(rows):
        ends = edge[edge[:, 0] == layer, 1]
        yield [ends.min(), ends.max()], column([row], "least", "greatest")[0]
    assert heading(axes[0]).startswith(f"{state['value']} layers")


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
        change="residual = False",
        says="without residuals",
        states=[{"residual": False, "norm": "none"}, {"value": 4, "norm": "pre"}],
        still=gradient_depth_still,
        refused={
            "norms must hold all six stacks; it lacks (True, 'pre')": lambda: through(PRE),
            "the lengths at depth 3 must have shape (seeds, 4)…": lambda: through(
                PRE, {1: small_stacks()[PRE][1], 3: [[1.0, 1.0]]}
            ),
            "…must be greater than 0; the least is 0.0": lambda: through(
                PRE, {1: [[0.0, 1.0]], 3: small_stacks()[PRE][3]}
            ),
            "value must be a depth, one of 1, 3; it is 2": lambda: through(value=2),
            "norm must be one of none, pre, post; it is 'before'": lambda: through(norm="before"),
        },
    ),
}
