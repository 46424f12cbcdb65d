"""The questions of `chapters/self_attention.md`."""

import math

import torch
from torch.testing import assert_close

from tfm_lib.attention import dot_score, scaled_dot_score
from tfm_lib.self_attention import SelfAttention, softmax_jacobian

T, D_MODEL, D_K, D_V = 11, 512, 64, 32


def _shapes() -> list[tuple[int, ...]]:
    layer, X = SelfAttention(D_MODEL, D_K, D_V), torch.randn(T, D_MODEL)
    Q, K = layer.W_Q(X), layer.W_K(X)
    M = layer.W_Q.weight.T @ layer.W_K.weight
    return [scaled_dot_score(Q, K).shape, Q.shape, layer(X)[0].shape, (Q.T @ K).shape, M.shape, (Q[:, None] * K).shape]


def _spreads() -> list[float]:
    torch.manual_seed(0)
    dots = dot_score(torch.randn(40_000, 1, 400), torch.randn(40_000, 1, 400)).double()
    measured = [(dots / 400).std(), (dots / 20).std(), dots.std(), (dots / 400).var()]
    exact = [1 / 20, 1.0, 20.0, 1 / 400]
    assert_close(torch.stack(measured), torch.tensor(exact, dtype=torch.double), rtol=0.02, atol=0)
    return exact


def _attends(names: dict) -> None:
    torch.manual_seed(0)
    layer, X = SelfAttention(6, 4, 3), torch.randn(5, 6)
    matrices = (each.weight.T for each in (layer.W_Q, layer.W_K, layer.W_V))
    assert_close(names["self_attend"](X, *matrices), layer(X))


def _order_is_not_seen() -> None:
    torch.manual_seed(0)
    layer, (dog, bites, man) = SelfAttention(8, 8), torch.randn(3, 8)
    one, two = layer(torch.stack([dog, bites, man]))[0], layer(torch.stack([man, bites, dog]))[0]
    assert_close(one[0], two[2])


def _by_what_factor() -> list[float]:
    def lengths(score) -> torch.Tensor:
        torch.manual_seed(256)
        Q, K = torch.randn(400, 1, 256), torch.randn(400, 16, 256)
        return softmax_jacobian(score(Q, K)[:, 0].softmax(-1)).flatten(1).norm(dim=1)

    scaled, bare = lengths(scaled_dot_score), lengths(dot_score)
    m, n = scaled.median().item(), bare.median().item()
    return [m / n, m / bare.mean().item(), math.log10(m / n), m - n]


VALUES = {"by-what-factor": _by_what_factor, "score-shape": _shapes, "too-much-scale": _spreads}
TRIALS = {"wrong-root": _attends}
CLAIMS = {"who-bites": _order_is_not_seen}
GIVEN = {"wrong-root": lambda: {"math": math}}
