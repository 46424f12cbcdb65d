"""The questions of `chapters/efficient.md`."""

import math

import torch
from torch.testing import assert_close

from tfm_lib.attention import attention
from tfm_lib.drawing import recorded
from tfm_lib.efficient import (
    GroupedQueryAttention,
    linear_attention,
    lsh_attention,
    lsh_buckets,
    tiled_attention,
    window_attention,
)
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import KeyValueCache, MultiHeadAttention


def _only_tiles_are_exact() -> None:
    torch.manual_seed(0)
    Q, K, V = torch.randn(3, 32, 8)
    full = attention(Q, K, V)[0]
    assert_close(tiled_attention(Q, K, V, size=8), full)
    assert (window_attention(Q, K, V, back=4, ahead=4) - full).abs().max() > 1e-2
    assert (linear_attention(Q, K, V) - attention(Q, K, V, causal_mask(32))[0]).abs().max() > 1e-2
    X = torch.randn(32, 8)
    hashed = lsh_attention(X, V, lsh_buckets(X, 8, 2), size=8)
    assert (hashed - attention(X, X / X.norm(dim=-1, keepdim=True), V)[0]).abs().max() > 1e-2


def _kept(layer: MultiHeadAttention, n: int) -> torch.Size:
    cache, X = KeyValueCache(), torch.randn(1, n, 512)
    layer(X, X, X, cache=cache)
    return cache.K.shape


def _shapes() -> list:
    shared, whole = GroupedQueryAttention(512, 8, n_key_heads=2), MultiHeadAttention(512, 8)
    return [_kept(shared, 100), _kept(whole, 100), _kept(MultiHeadAttention(512, 2), 100), _kept(shared, 25)]


def _given() -> dict:
    return {"math": math}


def _one_row(names: dict) -> None:
    torch.manual_seed(0)
    q, K, V = torch.randn(4), torch.randn(9, 4), torch.randn(9, 3)
    K = K[(K @ q).argsort()]  # scores grow along the sentence
    assert_close(names["one_row"](q, K, V, 2), (K @ q).softmax(dim=0) @ V)


def _smaller_not_faster() -> None:
    methods = recorded("efficient_scaling")["methods"]

    def memory(n: int, name: str) -> float:
        return max(methods[str(n)][name]["memory"].values())

    def seconds(n: int, name: str) -> float:
        return sorted(methods[str(n)][name]["times"])[2]

    hashing = "hashing, 4 rounds"
    assert memory(2048, hashing) > memory(2048, "full") and seconds(2048, hashing) > 1.5 * seconds(2048, "full")
    assert memory(4096, hashing) < memory(4096, "full") and seconds(4096, hashing) < seconds(4096, "full")


VALUES = {"shared-keys": _shapes}
TRIALS = {"forgotten-total": _one_row}
GIVEN = {"forgotten-total": _given}
CLAIMS = {"smaller-not-faster": _smaller_not_faster, "which-is-exact": _only_tiles_are_exact}
