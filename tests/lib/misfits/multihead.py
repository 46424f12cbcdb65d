"""Misfits of `tfm_lib.multihead`, each with its sentence."""

import torch

from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention, split_heads, without_heads

LAYER, X = MultiHeadAttention(4, 2), torch.ones(2, 3, 4)

SENTENCES = {
    "heads that do not divide the width": (
        lambda: MultiHeadAttention(6, 4),
        ValueError,
        "n_heads must be a whole number of at least 1 that divides the width 6; got 4.",
    ),
    "no head": (
        lambda: MultiHeadAttention(6, 0),
        ValueError,
        "n_heads must be a whole number of at least 1 that divides the width 6; got 0.",
    ),
    "split into too many": (
        lambda: split_heads(X, 3),
        ValueError,
        "n_heads must be a whole number of at least 1 that divides the width 4; got 3.",
    ),
    "one sentence": (
        lambda: LAYER(X[0], X, X),
        ValueError,
        "query must have three axes, (batch, n, d_model) with d_model = 4, as in the weights; got shape (3, 4).",
    ),
    "another width": (
        lambda: LAYER(X, X[..., :2], X),
        ValueError,
        "key must have shape (batch, m, d_model) with d_model = 4, as in the weights; got shape (2, 3, 2).",
    ),
    "another batch": (
        lambda: LAYER(X, X[:1], X[:1]),
        ValueError,
        "key must have shape (batch, m, d_model) with batch = 2, as in query; got shape (1, 3, 4).",
    ),
    "fewer values than keys": (
        lambda: LAYER(X, X, X[:, :2]),
        ValueError,
        "value must have shape (batch, m, d_model) with m = 3, as in key; got shape (2, 2, 4).",
    ),
    "a mask with a head axis": (
        lambda: LAYER(X, X, X, torch.ones(2, 2, 3, 3, dtype=torch.bool), need_weights=False),
        ValueError,
        (
            "mask must broadcast to the scores' shape (2, 3, 3), as a causal (n, n) or a padding (batch, 1, m) mask "
            "does; got shape (2, 2, 3, 3)."
        ),
    ),
    "a mask of floats": (
        lambda: LAYER(X, X, X, torch.ones(3, 3), need_weights=False),
        TypeError,
        "mask must be boolean, True where the query may attend to the key; got torch.float32.",
    ),
    "a head that is not there": (
        lambda: without_heads(LAYER, 0, 2).__enter__(),
        ValueError,
        "off must be heads from 0 to 1; got 2.",
    ),
    "a query with no key": (
        lambda: LAYER(X, X, X, causal_mask(3) & ~torch.eye(3, dtype=torch.bool)),
        ValueError,
        "mask must allow every query at least one key; got none in row 0.",
    ),
}
