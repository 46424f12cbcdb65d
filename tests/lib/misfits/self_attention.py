"""Misfits of `tfm_lib.self_attention`, each with its sentence."""

import torch

from tfm_lib.self_attention import SelfAttention, entropy, softmax_jacobian

BROADCAST = "broadcast to the scores' shape (2, 2), as a causal (n, n) or a padding (batch, 1, m) mask does"
DISTRIBUTE = "be non-negative and sum to 1 along the last axis"

SENTENCES = {
    "another d_model": (
        lambda: SelfAttention(4, 3)(torch.ones(2, 3)),
        ValueError,
        "X must have shape (..., n, d_model) with d_model = 4, as in the weights; got shape (2, 3).",
    ),
    "token ids": (
        lambda: SelfAttention(4, 3)(torch.ones(2, 4).long()),
        TypeError,
        "X must hold floating-point numbers; got torch.int64.",
    ),
    "NaN": (
        lambda: SelfAttention(2, 3)(torch.tensor([[0.0, torch.nan]])),
        ValueError,
        "X must hold finite numbers only; got nan at index (0, 1).",
    ),
    "a query with no key": (
        lambda: SelfAttention(4, 3)(torch.ones(2, 4), torch.zeros(2, 2, dtype=torch.bool)),
        ValueError,
        "mask must allow every query at least one key; got none in row 0.",
    ),
    "a mask of another length": (
        lambda: SelfAttention(4, 3)(torch.ones(2, 4), torch.ones(3, 3, dtype=torch.bool)),
        ValueError,
        f"mask must {BROADCAST}; got shape (3, 3).",
    ),
    "scores for weights": (
        lambda: entropy(torch.tensor([1.0, 2.0])),
        ValueError,
        f"weights must {DISTRIBUTE}; got a row that sums to 3 with smallest entry 1.",
    ),
    "negative weights": (
        lambda: softmax_jacobian(torch.tensor([[0.5, 0.5], [2.0, -1.0]])),
        ValueError,
        f"p must {DISTRIBUTE}; got a row that sums to 1 with smallest entry -1.",
    ),
    "a single number": (
        lambda: entropy(torch.tensor(1.0)),
        ValueError,
        "weights must have at least one axis, (..., m); got shape ().",
    ),
}
