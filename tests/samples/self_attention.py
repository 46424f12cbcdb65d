"""Samples of the widgets of chapter `self_attention`."""

import math

import torch

from samples import Sample, changed
from tfm_lib.widgets.self_attention import QUERIES, AttentionWeights, SoftmaxSaturation


def of(heads: int, n: int, m: int) -> torch.Tensor:
    return torch.randn(heads, n, m).softmax(dim=-1)


def weights(weights=((1.0, 0.0), (0.5, 0.5)), tokens="a b", **arguments) -> AttentionWeights:
    return AttentionWeights(tokens, weights, **arguments)


SAMPLES = {
    "attention_weights": Sample(
        code="AttentionWeights('it was tired', torch.eye(3).roll(1, 1))",
        change="weights = torch.eye(3)[None]",
        says="it → it 1.00",
        refused={
            "weights must have shape (2, 2); it has shape (1, 2)": lambda: weights([[1.0, 0.0]]),
            "weights must have shape (3, 2, 2); it has shape (3, 2, 3)": lambda: weights(of(3, 2, 3)),
            "…Of a batch of shape (1, 2, 2, 2), pass weights[0]": lambda: weights(of(2, 2, 2)[None]),
            "weights must be finite; it holds 1 values that are NaN…": lambda: weights([[math.nan, 1.0], [0.5, 0.5]]),
            "…the smallest is -0.2. Are they scores before the softmax?": lambda: weights([[1.2, -0.2], [0.5, 0.5]]),
            "…row 1 sums to 0.6. Was the text cut, or dropout still on…": lambda: weights([[0.5, 0.5], [0.3, 0.3]]),
            "…The columns do: rows must be queries…": lambda: weights([[0.9, 0.4], [0.1, 0.6]]),
            "…row 1 of head 1 sums to 0.4…": lambda: weights([[[0.5, 0.5]] * 2, [[0.5, 0.5], [0.2, 0.2]]]),
            "weights must have shape (2, 2, 2)…": lambda: changed(weights(of(2, 2, 2)), weights=of(3, 2, 2)),
            "value must be a row from 0 to 1; it is 2": lambda: weights(value=2),
            "head must be a head from 0 to 0; it is 1": lambda: weights(head=1),
            "weights must have shape (2, 3); it has shape (2, 2)": lambda: weights(key_tokens="x y z"),
            "tokens must hold at least one word…": lambda: weights(tokens=""),
            "tokens must hold 2 words…": lambda: changed(weights(), tokens=["a"]),
        },
        mistyped={"weights must be numbers of shape…": lambda: weights([[1.0], [0.5, 0.5]])},
    ),
    "softmax_saturation": Sample(
        code="SoftmaxSaturation(d_k=64)",
        change="scaled = True",
        says="√64 / √64",
        refused={
            "d_k must be a whole number from 1 to 1024; it is 0": lambda: SoftmaxSaturation(d_k=0),
            "d_k must be a whole number from 1 to 1024; it is 2048": lambda: SoftmaxSaturation(d_k=2048),
            "d_k must be a whole number from 1 to 1024; it is 8.5": lambda: SoftmaxSaturation(d_k=8.5),
            "temperature must be greater than 0; it is 0.0": lambda: SoftmaxSaturation(temperature=0),
            "temperature must be greater than 0; it is inf": lambda: SoftmaxSaturation(temperature=math.inf),
            f"query must be from 0 to {QUERIES - 1}; it is {QUERIES}": lambda: SoftmaxSaturation(query=QUERIES),
            "…it is 100. SoftmaxSaturation(d_k=100) makes a widget that holds it": lambda: changed(
                SoftmaxSaturation(), value=100
            ),
        },
    ),
}
