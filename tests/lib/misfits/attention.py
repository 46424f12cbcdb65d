"""Misfits of `tfm_lib.attention`, each with its sentence."""

from functools import partial

import torch

from tfm_lib.attention import AdditiveScore, BilinearScore, attention, dot_score, scaled_dot_score

Q, K, V = torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, 5)
BROADCAST = "broadcast to the scores' shape (2, 4), as a causal (n, n) or a padding (batch, 1, m) mask does"
NAN = torch.tensor([[0.0, 0.0, 0.0], [0.0, torch.nan, 0.0]])

ATTENTION = {
    "a list": ((Q.tolist(), K, V), TypeError, "Q must be a torch tensor; got a list."),
    "whole numbers": ((Q.long(), K, V), TypeError, "Q must hold floating-point numbers; got torch.int64."),
    "NaN": ((NAN, K, V), ValueError, "Q must hold finite numbers only; got nan at index (1, 1)."),
    "infinite key": ((Q, K / 0, V), ValueError, "K must hold finite numbers only; got inf at index (0, 0)."),
    "NaN value": ((Q, K, V * torch.nan), ValueError, "V must hold finite numbers only; got nan at index (0, 0)."),
    "one vector": (
        (Q[0], K, V),
        ValueError,
        "Q must have at least two axes, (..., n, d_k); got shape (3,).",
    ),
    "empty vectors": (
        (Q[:, :0], K[:, :0], V),
        ValueError,
        "Q must have shape (..., n, d_k) with d_k at least 1; got shape (2, 0).",
    ),
    "another d_k": (
        (Q, K[:, :2], V),
        ValueError,
        "K must have shape (..., m, d_k) with d_k = 3, as in Q; got shape (4, 2).",
    ),
    "another batch": (
        (Q.expand(2, 2, 3), K.expand(5, 4, 3), V.expand(5, 4, 5)),
        ValueError,
        "K must have the leading axes of Q, (2,); got shape (5, 4, 3).",
    ),
    "no keys": ((Q, K[:0], V[:0]), ValueError, "K must have shape (..., m, d_k) with m at least 1; got shape (0, 3)."),
    "too few values": (
        (Q, K, V[:3]),
        ValueError,
        "V must have shape (..., m, d_v) with m = 4, as in K; got shape (3, 5).",
    ),
    "mixed precision": (
        (Q, K.double(), V),
        TypeError,
        "K must have the dtype of Q, torch.float32; got torch.float64.",
    ),
    "mixed precision of V": (
        (Q, K, V.double()),
        TypeError,
        "V must have the dtype of Q, torch.float32; got torch.float64.",
    ),
    "mask of floats": (
        (Q, K, V, torch.ones(2, 4)),
        TypeError,
        "mask must be boolean, True where the query may attend to the key; got torch.float32.",
    ),
    "mask as a list": ((Q, K, V, [[True] * 4] * 2), TypeError, "mask must be a torch tensor; got a list."),
    "mask transposed": (
        (Q, K, V, torch.ones(4, 2, dtype=torch.bool)),
        ValueError,
        f"mask must {BROADCAST}; got shape (4, 2).",
    ),
    "mask without a query axis": (
        (Q, K, V, torch.ones(4, dtype=torch.bool)),
        ValueError,
        f"mask must {BROADCAST}; got shape (4,).",
    ),
    "mask with a batch that Q has not": (
        (Q, K, V, torch.ones(2, 2, 4, dtype=torch.bool)),
        ValueError,
        f"mask must {BROADCAST}; got shape (2, 2, 4).",
    ),
    "a query with no key": (
        (Q, K, V, torch.tensor([[True] * 4, [False] * 4])),
        ValueError,
        "mask must allow every query at least one key; got none in row 1.",
    ),
    "a query with no key in a batch": (
        (Q[None], K[None], V[None], torch.tensor([[[True] * 4, [False] * 4]])),
        ValueError,
        "mask must allow every query at least one key; got none in row 0, 1.",
    ),
}

SCORES = [
    (dot_score, (Q, K[:, :2]), "K must have shape (..., m, d_k) with d_k = 3, as in Q; got shape (4, 2)."),
    (scaled_dot_score, (NAN, K), "Q must hold finite numbers only; got nan at index (1, 1)."),
    (
        AdditiveScore(4, 3, 2),
        (Q, K),
        "Q must have shape (..., n, d_q) with d_q = 4, as in the weights; got shape (2, 3).",
    ),
    (
        AdditiveScore(3, 2, 2),
        (Q, K),
        "K must have shape (..., m, d_k) with d_k = 2, as in the weights; got shape (4, 3).",
    ),
    (
        BilinearScore(4, 3),
        (Q, K),
        "Q must have shape (..., n, d_q) with d_q = 4, as in the weights; got shape (2, 3).",
    ),
    (
        BilinearScore(3, 2),
        (Q, K),
        "K must have shape (..., m, d_k) with d_k = 2, as in the weights; got shape (4, 3).",
    ),
]

SENTENCES = {
    what: (partial(attention, *given), kind, sentence) for what, (given, kind, sentence) in ATTENTION.items()
} | {
    f"a score, {number}": (partial(score, *given), ValueError, sentence)
    for number, (score, given, sentence) in enumerate(SCORES)
}
