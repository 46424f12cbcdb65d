"""Misfits of `tfm_lib.masking`, each with its sentence."""

import torch

from tfm_lib.masking import causal_mask, combine, leak, padding_mask

X = torch.ones(3, 2)
EYE = torch.eye(3, dtype=torch.bool)

SENTENCES = {
    "causal of nothing": (
        lambda: causal_mask(0),
        ValueError,
        "n must be a whole number of at least 1; got 0.",
    ),
    "causal of a half": (
        lambda: causal_mask(2.5),
        ValueError,
        "n must be a whole number of at least 1; got 2.5.",
    ),
    "ids as a list": (
        lambda: padding_mask([[1, 0]], 0),
        TypeError,
        "ids must be a torch tensor; got a list.",
    ),
    "ids of floats": (
        lambda: padding_mask(X, 0),
        TypeError,
        "ids must hold whole numbers; got torch.float32.",
    ),
    "ids already a mask": (
        lambda: padding_mask(EYE, 0),
        TypeError,
        "ids must hold whole numbers; got torch.bool.",
    ),
    "ids of one sentence": (
        lambda: padding_mask(torch.tensor([1, 0]), 0),
        ValueError,
        "ids must have two axes, (batch, m); got shape (2,).",
    ),
    "a sentence of padding": (
        lambda: padding_mask(torch.tensor([[1, 0], [0, 0]]), 0),
        ValueError,
        "ids must hold a token that is not padding in every row; got none in row 1.",
    ),
    "combine of floats": (
        lambda: combine(EYE, EYE.float()),
        TypeError,
        "masks must be boolean, True where the query may attend to the key; got torch.float32.",
    ),
    "combine of sizes that do not fit": (
        lambda: combine(causal_mask(3), causal_mask(4)),
        ValueError,
        "masks must broadcast to one shape; got shape (3, 3) and shape (4, 4).",
    ),
    "combine that leaves a query nothing": (
        lambda: combine(EYE, ~EYE),
        ValueError,
        "masks must allow every query at least one key; got none in row 0.",
    ),
    "leak of a batch": (
        lambda: leak(lambda x: x, torch.ones(2, 3, 4)),
        ValueError,
        "x must be one sequence, (n, d) or (1, n, d); got shape (2, 3, 4).",
    ),
    "leak of ids": (
        lambda: leak(lambda x: x, torch.ones(2, 3).long()),
        TypeError,
        "x must hold floating-point numbers; got torch.int64.",
    ),
    "leak of a NaN": (
        lambda: leak(lambda x: x, X * torch.nan),
        ValueError,
        "x must hold finite numbers only; got nan at index (0, 0).",
    ),
    "leak of a pair": (
        lambda: leak(lambda x: (x, x), X),
        TypeError,
        "model_fn must return one tensor, such as output of (output, weights); got a tuple.",
    ),
    "leak of a summary": (
        lambda: leak(lambda x: x.sum(dim=0), X),
        ValueError,
        "model_fn must return one vector for each of the 3 positions; got shape (2,).",
    ),
}
