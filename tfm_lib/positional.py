"""Positions: how attention, which sees a set, is told the order of its words."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfm_lib._errors import (
    bad_input, require_buckets, require_number, require_sizes, require_whole,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib.multihead import Bias, Heads, MultiHeadAttention

__all__ = [
    "AlibiAttention",
    "LearnedPositions",
    "RelativeAttention",
    "RotaryAttention",
    "ShawAttention",
    "alibi_bias",
    "angles",
    "distance_buckets",
    "distances",
    "rotary",
    "sinusoidal_encoding",
]


def angles(
    n: int,
    d: int,
    base: float = 10_000.0,
    start: int = 0,
) -> Float[Tensor, "{n} pairs"]:
    """The angle pos / base^(2i/d) of every position pos and every pair i of the d numbers.

    Positions are counted from `start`. The angles are in double precision: in single
    precision the sine of a large one loses digits.

    Source: Vaswani et al. (2017), section 3.5.
    """
    _require_pairs(n, d, base, start)
    positions = torch.arange(start, start + n, dtype=torch.double)
    frequencies = base ** (-torch.arange(0, d, 2, dtype=torch.double) / d)
    return positions[:, None] * frequencies


def sinusoidal_encoding(
    n: int,
    d_model: int,
    base: float = 10_000.0,
) -> Float[Tensor, "{n} {d_model}"]:
    """PE(pos, 2i) = sin(pos / base^(2i/d_model)) and PE(pos, 2i+1) = cos(the same).

    For positions 0 … n−1, in the default precision.

    Source: Vaswani et al. (2017), section 3.5.
    Differs: from the authors' tensor2tensor, not from the paper: there, and in others'
    code, all sines stand before all cosines.
    """
    turned = angles(n, d_model, base)
    waves = torch.stack([turned.sin(), turned.cos()], dim=-1)  # (n, pairs, 2)
    return waves.flatten(-2).to(torch.get_default_dtype())


class LearnedPositions(nn.Module):
    """One learned vector for each of `max_len` positions; a longer sequence raises ValueError.

    Source: Gehring et al. (2017), section 3.1.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        require_sizes(max_len=max_len, d_model=d_model)
        self.table = nn.Parameter(torch.randn(max_len, d_model) * d_model**-0.5)

    def forward(self, n: int) -> Float[Tensor, "{n} d_model"]:
        must = f"be from 1 to max_len = {len(self.table)}, the positions that were learned"
        require_whole("n", n, 1, must, len(self.table))
        return self.table[:n]


@checked
def rotary(
    X: Float[Tensor, "*batch n d_k"],
    start: int = 0,
    base: float = 10_000.0,
) -> Float[Tensor, "*batch n d_k"]:
    """Turn each pair (x_2i, x_2i+1) of the vector at pos by the angle pos / base^(2i/d_k).

    The dot product of a turned query and a turned key depends on their distance only.
    `start` is the position of the first vector.

    Source: Su et al. (2021), section 3.4.2.
    Differs: from many libraries, not from the paper: they pair x_i with x_(i + d_k/2), and
    weights that were trained so fit only after their numbers are put in our order.
    """
    turned = angles(X.shape[-2], X.shape[-1], base, start)
    cos, sin = turned.cos().to(X), turned.sin().to(X)  # (n, pairs)
    even, odd = X[..., 0::2], X[..., 1::2]
    pairs = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return pairs.flatten(-2)


class RotaryAttention(MultiHeadAttention):
    """Multi-head self-attention; queries and keys are turned by their positions (`rotary`)."""

    def compared(self, Q: Heads, K: Heads) -> tuple[Heads, Heads, Bias | None]:
        start = _first_query(Q.shape[-2], K.shape[-2])
        return rotary(Q, start), rotary(K), None


def distances(n: int, m: int) -> Int[Tensor, "{n} {m}"]:
    """j − i for keys j and queries i: negative where the key comes before the query.

    The `n` queries are the last of the `m` positions.
    """
    first = _first_query(n, m)
    return torch.arange(m) - torch.arange(first, m)[:, None]


class ShawAttention(MultiHeadAttention):
    """Scores q · (k + a) / √d_k with a learned vector a for each distance.

    Distances are clipped to ±`max_distance`; all heads share the vectors.

    Source: Shaw, Uszkoreit and Vaswani (2018), equation 4.
    Differs: the values get no vector for their distance, which is enough in the
    paper's table 3.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        dropout: float = 0.0,
        max_distance: int = 16,
    ):
        super().__init__(d_model, n_heads, dropout)
        require_sizes(max_distance=max_distance)
        self.max_distance = max_distance
        d_k = d_model // n_heads
        self.a = nn.Parameter(torch.randn(2 * max_distance + 1, d_k) * 0.1)

    def compared(self, Q: Heads, K: Heads) -> tuple[Heads, Heads, Bias | None]:
        every = Q @ self.a.T / math.sqrt(Q.shape[-1])  # a column for each distance
        place = _clipped(Q.shape[-2], K.shape[-2], self.max_distance).to(Q.device)
        return Q, K, every.gather(-1, place.expand(*every.shape[:-1], -1))


class RelativeAttention(MultiHeadAttention):
    """Scores plus one learned number for each head and each distance.

    Distances are clipped to ±`max_distance`.

    Source: Raffel et al. (2020), section 2.1.
    Differs: in T5 far distances share logarithmic buckets (`distance_buckets`), all layers
    share one table, and the scores are not divided by √d_k.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        dropout: float = 0.0,
        max_distance: int = 16,
    ):
        super().__init__(d_model, n_heads, dropout)
        require_sizes(max_distance=max_distance)
        self.max_distance = max_distance
        self.b = nn.Parameter(torch.zeros(n_heads, 2 * max_distance + 1))

    def compared(self, Q: Heads, K: Heads) -> tuple[Heads, Heads, Bias | None]:
        place = _clipped(Q.shape[-2], K.shape[-2], self.max_distance).to(Q.device)
        return Q, K, self.b[:, place]  # (n_heads, n, m)


@checked
def distance_buckets(
    r: Int[Tensor, "*batch"],
    n_buckets: int = 32,
    max_distance: int = 128,
) -> Int[Tensor, "*batch"]:
    """T5's bucket of each distance r ≥ 0: half of the buckets hold one distance, half ever more.

    From `max_distance` on all share the last. An encoder looks to both sides and gives each
    half of the 32: of d = j − i, `distance_buckets(d.abs(), 16) + 16 * (d > 0)`.

    Source: Raffel et al. (2020), section 2.1, and their published code.
    """
    require_buckets(r, n_buckets, max_distance)
    exact = n_buckets // 2
    times = r.clamp(min=exact).double() / exact
    growing = exact * times.log() / math.log(max_distance / exact)
    far = (exact + growing.floor().long()).clamp(max=n_buckets - 1)
    return torch.where(r < exact, r, far)


def alibi_bias(
    n_heads: int,
    n: int,
    m: int | None = None,
) -> Float[Tensor, "{n_heads} {n} m"]:
    """What ALiBi adds to the scores, −slope · |distance|.

    The slope is 2^(−8h/n_heads) in head h = 1 … n_heads, a power of 2; of other numbers of
    heads, the rest have every other slope of twice that power. The `n` queries are the
    last of the `m` positions (all of them unless given).

    Source: Press, Smith and Lewis (2022), section 3, and their published code.
    Differs: |distance| serves an encoder as well, and changes nothing under a causal mask.
    """
    require_sizes(n_heads=n_heads, n=n)
    power = 2 ** (n_heads.bit_length() - 1)  # the largest one up to n_heads
    h = torch.cat([torch.arange(1, power + 1), torch.arange(n_heads - power) + 0.5])
    slopes = 2.0 ** (-8 * h / power)
    return -slopes[:, None, None] * distances(n, n if m is None else m).abs()


class AlibiAttention(MultiHeadAttention):
    """Scores that fall with distance, in each head at its own rate (`alibi_bias`)."""

    def compared(self, Q: Heads, K: Heads) -> tuple[Heads, Heads, Bias | None]:
        return Q, K, alibi_bias(self.n_heads, Q.shape[-2], K.shape[-2]).to(Q)


def _require_pairs(n: int, d: int, base: float, start: int) -> None:
    require_whole("n", n, 1, "be at least 1")
    require_whole("the width of a vector", d, 2, must := "be even, a sine and a cosine for each frequency")
    if d % 2:
        raise bad_input("the width of a vector", must, d)
    require_number("base", base, lambda base: base > 0, "be a number above 0")
    require_whole("start", start)


def _first_query(n: int, m: int) -> int:
    """The position of the first of `n` queries that stand at the end of `m` positions."""
    require_sizes(n=n, m=m)
    if n > m:
        raise bad_input("the queries", f"be the last of the {m} positions of their own keys", f"{n} queries")
    return m - n


def _clipped(n: int, m: int, most: int) -> Tensor:
    """`distances` clipped to ±`most` and counted from 0, as rows of a table of 2·`most` + 1."""
    return distances(n, m).clamp(-most, most) + most
