"""Positions: how attention, which sees a set, is told the order of its words."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tfm_lib._errors import bad_input
from tfm_lib.attention import scaled_dot_score
from tfm_lib.multihead import MultiHeadAttention

__all__ = [
    "AlibiAttention",
    "LearnedPositions",
    "RelativeAttention",
    "RotaryAttention",
    "ShawAttention",
    "alibi_bias",
    "rotary",
    "sinusoidal_encoding",
]


def sinusoidal_encoding(n: int, d_model: int, base: float = 10_000.0) -> Float[Tensor, "{n} {d_model}"]:
    """PE(pos, 2i) = sin(pos / base^(2i/d_model)) and PE(pos, 2i+1) = cos(the same), for positions 0 … n−1.

    Source: Vaswani et al. (2017), section 3.5.
    """
    if d_model % 2:
        raise bad_input("d_model", "be even, one sine and one cosine a frequency", d_model)
    angles = _angles(torch.arange(n), d_model, base)  # (n, d_model / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


class LearnedPositions(nn.Module):
    """One learned vector for each of `max_len` positions; a longer sequence raises ValueError.

    Source: Gehring et al. (2017), section 3.1.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model) * d_model**-0.5)

    def forward(self, n: int) -> Float[Tensor, "n d_model"]:
        if n > len(self.table):
            raise bad_input("n", f"be at most max_len = {len(self.table)}, the positions that were learned", n)
        return self.table[:n]


def rotary(
    X: Float[Tensor, "*batch n d_k"], start: int = 0, base: float = 10_000.0
) -> Float[Tensor, "*batch n d_k"]:
    """Turn each pair (x_2i, x_2i+1) of the vector at position pos by the angle pos / base^(2i/d_k).

    The dot product of a turned query and a turned key depends on their distance only.
    `start` is the position of the first vector.

    Source: Su et al. (2021), section 3.4.2.
    """
    n, d_k = X.shape[-2:]
    angles = _angles(torch.arange(start, start + n, device=X.device), d_k, base)
    cos, sin = angles.cos(), angles.sin()
    even, odd = X[..., 0::2], X[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def alibi_bias(n_heads: int, n: int, m: int | None = None) -> Float[Tensor, "{n_heads} {n} m"]:
    """What ALiBi adds to the scores: −slope · |distance|, with slope 2^(−8h/n_heads) in head h = 1 … n_heads.

    The `n` queries are the last of the `m` positions (all of them unless given).

    Source: Press, Smith and Lewis (2022), section 3.
    Differs: the distance is |i − j|, so that it serves an encoder as well; under a causal mask nothing changes.
    """
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    return -slopes[:, None, None] * _distances(n, m or n).abs()


class RotaryAttention(MultiHeadAttention):
    """Multi-head attention whose queries and keys are turned by their positions (`rotary`)."""

    def attend(self, Q, K, V, mask, need_weights):
        start = K.shape[-2] - Q.shape[-2]  # with a cache, the queries are the last positions
        return super().attend(rotary(Q, start), rotary(K), V, mask, need_weights)


class AlibiAttention(MultiHeadAttention):
    """Multi-head attention whose scores fall linearly with distance (`alibi_bias`)."""

    def attend(self, Q, K, V, mask, need_weights):
        bias = alibi_bias(self.n_heads, Q.shape[-2], K.shape[-2]).to(Q)
        return _attend_to_scores(scaled_dot_score(Q, K) + bias, V, mask)


class RelativeAttention(MultiHeadAttention):
    """Multi-head attention with a learned bias for each head and each distance, clipped to ±`max_distance`.

    Source: Raffel et al. (2020), section 2.1.
    Differs: one bias a distance, where T5 lets far distances share logarithmic buckets.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, max_distance: int = 32):
        super().__init__(d_model, n_heads, dropout)
        self.max_distance = max_distance
        self.bias = nn.Parameter(torch.zeros(n_heads, 2 * max_distance + 1))

    def attend(self, Q, K, V, mask, need_weights):
        distances = _distances(Q.shape[-2], K.shape[-2]).clamp(-self.max_distance, self.max_distance)
        bias = self.bias[:, distances + self.max_distance]  # (n_heads, n, m)
        return _attend_to_scores(scaled_dot_score(Q, K) + bias, V, mask)


class ShawAttention(MultiHeadAttention):
    """Multi-head attention whose keys carry a learned vector for their distance: scores q · (k + a_distance) / √d_k.

    Source: Shaw, Uszkoreit and Vaswani (2018), equation 4.
    Differs: distances are added to the keys only, not to the values (the paper's own ablation finds these enough).
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, max_distance: int = 32):
        super().__init__(d_model, n_heads, dropout)
        self.max_distance = max_distance
        self.a = nn.Parameter(torch.randn(2 * max_distance + 1, d_model // n_heads) * 0.1)

    def attend(self, Q, K, V, mask, need_weights):
        distances = _distances(Q.shape[-2], K.shape[-2]).clamp(-self.max_distance, self.max_distance)
        to_distance = torch.einsum("bhnd,nmd->bhnm", Q, self.a[distances + self.max_distance])
        return _attend_to_scores(scaled_dot_score(Q, K) + to_distance / math.sqrt(Q.shape[-1]), V, mask)


def _attend_to_scores(scores: Tensor, V: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ V, weights


def _distances(n: int, m: int) -> Tensor:
    """j − i for the last `n` of `m` positions i and all positions j, (n, m)."""
    return torch.arange(m) - torch.arange(m - n, m)[:, None]


def _angles(positions: Tensor, d: int, base: float) -> Tensor:
    """The angle pos / base^(2i/d) of every position and every pair i, (n, d/2)."""
    frequencies = base ** (-torch.arange(0, d, 2, device=positions.device) / d)
    return positions[:, None] * frequencies
