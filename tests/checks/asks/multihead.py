"""The questions of `chapters/multihead.md`."""

import math

import pytest
import torch
from torch.testing import assert_close

from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention, split_heads


def _two_are_kept_apart() -> None:
    """One head's mean is the same for (a, b) and (b, a); two heads, each half as wide, tell them apart."""
    a, b = torch.randn(2, 8)
    mean = torch.tensor([[0.5, 0.5]])
    assert_close(mean @ torch.stack([a, b]), mean @ torch.stack([b, a]))
    one, other = torch.cat([a[:4], b[4:]]), torch.cat([b[:4], a[4:]])
    assert (one - other).abs().max() > 1e-3


def _megabytes() -> list[float]:
    layer = MultiHeadAttention(32, 16)
    X = torch.randn(1, 100, 32)
    with torch.no_grad():
        weights = layer(X, X, X)[1]
    scaled = weights.numel() * (1000 / 100) ** 2  # as many weights for each pair of 1000 words
    return [4 * scaled / 1e6, 4 * scaled / 16 / 1e6, scaled / 1e6, 4 * 16 * 1000 / 1e6]


def _shapes() -> list:
    layer, X = MultiHeadAttention(512, 8), torch.randn(2, 10, 512)
    weights = layer(X, X, X)[1]
    Q = split_heads(layer.W_Q(X), 8)
    heads_with_heads = Q.transpose(1, 2) @ Q.transpose(1, 2).mT
    return [weights.shape, weights.mean(dim=1).shape, Q.shape, heads_with_heads.shape, (Q.mT @ Q).shape]


def _given() -> dict:
    return {"math": math}


def _each_sentence_its_mask(names: dict) -> None:
    torch.manual_seed(0)
    masks = causal_mask(5) | (torch.rand(3, 5, 5) < 0.5)
    for n_heads in (3, 4):
        Q, K, V = torch.randn(3, 3, n_heads, 5, 2)
        assert_close(names["look"](Q, K, V, masks), attention(Q, K, V, masks[:, None])[0])


def _as_it_is_told() -> None:
    """As shown it stops where batch and heads differ, and runs where they are equal."""
    from project import CHAPTERS

    from tfm_book.notebooks.asks import asks

    ask = next(ask for ask in asks(CHAPTERS / "multihead.md") if ask.name == "head-axis")
    names = _given()
    exec("\n".join(ask.code), names)  # noqa: S102 (the chapter's own lines)
    Q = torch.randn(4, 8, 5, 2)
    with pytest.raises(RuntimeError):
        names["look"](Q, Q, Q, causal_mask(5).expand(4, 5, 5))
    Q = torch.randn(8, 8, 5, 2)
    names["look"](Q, Q, Q, causal_mask(5).expand(8, 5, 5))


VALUES = {"megabytes": _megabytes, "heads-shape": _shapes}
TRIALS = {"head-axis": _each_sentence_its_mask}
GIVEN = {"head-axis": _given}
CLAIMS = {"two-at-once": _two_are_kept_apart, "head-axis": _as_it_is_told}
