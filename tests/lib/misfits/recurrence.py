"""Misfits of `tfm_lib.recurrence`, each with its sentence."""

import torch

from tfm_lib.recurrence import DilatedConvolutions, Seq2Seq, WordWindow, gradient_reach

PAD, BOS = 0, 1
X = torch.ones(3, 2)
SENTENCES = {
    "a cell that nobody knows": (
        lambda: Seq2Seq(9, 9, 4, cell="elman"),
        ValueError,
        """cell must be "rnn", "lstm" or "gru"; got 'elman'.""",
    ),
    "ids of floats": (
        lambda: Seq2Seq(9, 9, 4).encode(X),
        TypeError,
        "src_ids must hold whole numbers; got torch.float32.",
    ),
    "ids of one sentence": (
        lambda: Seq2Seq(9, 9, 4).encode(torch.tensor([3, 4])),
        ValueError,
        "src_ids must have two axes, (batch, m); got shape (2,).",
    ),
    "a sentence of padding": (
        lambda: Seq2Seq(9, 9, 4).encode(torch.tensor([[3, 4], [PAD, PAD]])),
        ValueError,
        "src_ids must begin with a token that is not padding in every row; got padding first in row 1.",
    ),
    "padding on the left": (
        lambda: Seq2Seq(9, 9, 4).encode(torch.tensor([[PAD, 4]])),
        ValueError,
        "src_ids must begin with a token that is not padding in every row; got padding first in row 0.",
    ),
    "padding in the middle": (
        lambda: Seq2Seq(9, 9, 4).encode(torch.tensor([[3, 4, 5], [3, PAD, 5]])),
        ValueError,
        "src_ids must hold padding only at the end; got a token after padding in row 1.",
    ),
    "a target of one sentence": (
        lambda: Seq2Seq(9, 9, 4).decode(torch.tensor([BOS, 3]), None),
        ValueError,
        "tgt_ids must have two axes, (batch, n); got shape (2,).",
    ),
    "a window of less than nothing": (
        lambda: WordWindow(4, -1),
        ValueError,
        "window must be a whole number of at least 0; got -1.",
    ),
    "a convolution of one word": (
        lambda: DilatedConvolutions(4, k=1),
        ValueError,
        "k must be a whole number of at least 2; got 1.",
    ),
    "the reach of several outputs": (
        lambda: gradient_reach(lambda X: X, X),
        ValueError,
        "output must map X to one vector; got slopes of shape (3, 2, 3, 2).",
    ),
    "the reach into a batch": (
        lambda: gradient_reach(lambda X: X[0].sum(dim=0), torch.ones(1, 3, 2)),
        ValueError,
        "X must have two axes, (n, d); got shape (1, 3, 2).",
    ),
    "the reach into ids": (
        lambda: gradient_reach(lambda X: X[-1], X.long()),
        TypeError,
        "X must hold floating-point numbers; got torch.int64.",
    ),
}
