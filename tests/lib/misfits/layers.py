"""Misfits of `tfm_lib.layers`, each with its sentence."""

import torch

from tfm_lib.layers import DecoderLayer, EncoderLayer, FeedForward, LayerNorm, Residual, standardise

SENTENCES = {
    "a norm of another name": (
        lambda: Residual(4, norm="before"),
        ValueError,
        'norm must be "post" or "pre"; got \'before\'.',
    ),
    "a layer of another norm": (
        lambda: EncoderLayer(4, 2, 8, norm=True),
        ValueError,
        'norm must be "post" or "pre"; got True.',
    ),
    "whole numbers": (
        lambda: standardise(torch.arange(4)),
        TypeError,
        "X must hold floating-point numbers; got torch.int64.",
    ),
    "NaN": (
        lambda: standardise(torch.tensor([1.0, torch.nan])),
        ValueError,
        "X must hold finite numbers only; got nan at index (1,).",
    ),
    "another width for the norm": (
        lambda: LayerNorm(4)(torch.ones(2, 3)),
        ValueError,
        "X must have shape (..., d_model) with d_model = 4, as in the weights; got shape (2, 3).",
    ),
    "another width for the feed-forward network": (
        lambda: FeedForward(4, 8)(torch.ones(2, 3)),
        ValueError,
        "X must have shape (..., d_model) with d_model = 4, as in the weights; got shape (2, 3).",
    ),
    "heads that do not divide the width": (
        lambda: DecoderLayer(6, 4, 8),
        ValueError,
        "n_heads must be a whole number of at least 1 that divides the width 6; got 4.",
    ),
}
