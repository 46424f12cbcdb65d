"""Samples of the widgets of chapter `layers`."""

from functools import cache

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

SAMPLES = {
    "layer_norm": Sample(
        code="LayerNormByHand()",
        change="value = [2.0] * 6",
        says="mean 2.00 · variance 0.00",
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
