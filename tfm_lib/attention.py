"""Attention: queries look things up among keys and receive a weighted mean of the values."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfm_lib._errors import require_sizes, require_values
from tfm_lib._shapes import checked

__all__ = ["AdditiveScore", "BilinearScore", "attention", "dot_score", "scaled_dot_score"]


@checked
def attention(
    Q: Float[Tensor, "*batch n d_k"],
    K: Float[Tensor, "*batch m d_k"],
    V: Float[Tensor, "*batch m d_v"],
    mask: Bool[Tensor, "*#batch #n m"] | None = None,
) -> tuple[Float[Tensor, "*batch n d_v"], Float[Tensor, "*batch n m"]]:
    """Scaled dot-product attention, softmax(QKᵀ / √d_k) V, and its weights.

    `mask[..., i, j]` is True where query i may attend to key j; every query
    must be allowed at least one key.

    Source: Vaswani et al. (2017), section 3.2.1, equation 1.
    """
    require_values(Q=Q, K=K, V=V, mask=mask)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])  # (*batch, n, m)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ V, weights


@checked
def dot_score(
    Q: Float[Tensor, "*batch n d_k"],
    K: Float[Tensor, "*batch m d_k"],
) -> Float[Tensor, "*batch n m"]:
    """Dot-product scores QKᵀ: how far each query and each key point the same way.

    Source: Luong et al. (2015), section 3.1, the score called "dot".
    """
    require_values(Q=Q, K=K)
    return Q @ K.transpose(-2, -1)


def scaled_dot_score(
    Q: Float[Tensor, "*batch n d_k"],
    K: Float[Tensor, "*batch m d_k"],
) -> Float[Tensor, "*batch n m"]:
    """Scaled dot-product scores QKᵀ / √d_k, whose spread does not grow with d_k.

    Source: Vaswani et al. (2017), section 3.2.1.
    """
    return dot_score(Q, K) / math.sqrt(Q.shape[-1])


@checked
class AdditiveScore(nn.Module):
    """Additive scores vᵀ tanh(W₁q + W₂k): a small network that compares a query with a key.

    Queries have `d_q` numbers, keys `d_k`; both are projected to `d_hidden`.

    Source: Bahdanau et al. (2015), section A.1.2.
    Differs: W₁ and W₂ are called W_a and U_a there.
    """

    def __init__(self, d_q: int, d_k: int, d_hidden: int):
        super().__init__()
        require_sizes(d_q=d_q, d_k=d_k, d_hidden=d_hidden)
        self.d_q, self.d_k = d_q, d_k
        self.W_1 = nn.Linear(d_q, d_hidden, bias=False)
        self.W_2 = nn.Linear(d_k, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(
        self, Q: Float[Tensor, "*batch n d_q"], K: Float[Tensor, "*batch m d_k"]
    ) -> Float[Tensor, "*batch n m"]:
        require_values(Q=Q, K=K)
        hidden = self.W_1(Q).unsqueeze(-2) + self.W_2(K).unsqueeze(-3)  # (*batch, n, m, ·)
        return self.v(hidden.tanh()).squeeze(-1)


@checked
class BilinearScore(nn.Module):
    """Bilinear scores qᵀWk: a dot product after the key is moved into the query's space.

    Queries have `d_q` numbers, keys `d_k`.

    Source: Luong et al. (2015), section 3.1, the score called "general".
    """

    def __init__(self, d_q: int, d_k: int):
        super().__init__()
        require_sizes(d_q=d_q, d_k=d_k)
        self.d_q, self.d_k = d_q, d_k
        self.W = nn.Linear(d_k, d_q, bias=False)

    def forward(
        self, Q: Float[Tensor, "*batch n d_q"], K: Float[Tensor, "*batch m d_k"]
    ) -> Float[Tensor, "*batch n m"]:
        require_values(Q=Q, K=K)
        return Q @ self.W(K).transpose(-2, -1)
