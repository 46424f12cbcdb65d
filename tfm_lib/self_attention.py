"""Self-attention: queries, keys and values all come from one sequence."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfm_lib._errors import require_distribution, require_sizes, require_values
from tfm_lib._shapes import checked
from tfm_lib.attention import attention

__all__ = ["SelfAttention", "entropy", "softmax_jacobian"]


@checked
class SelfAttention(nn.Module):
    """Self-attention with one head, softmax(XW^Q (XW^K)ᵀ / √d_k) XW^V, and its weights.

    `d_v` is `d_k` unless given. `mask` is as in `attention`.

    Source: Vaswani et al. (2017), sections 3.2.2 and 3.2.3.
    Differs: `nn.Linear` keeps the transpose, so W^Q is `W_Q.weight.T`.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int | None = None):
        super().__init__()
        require_sizes(d_model=d_model, d_k=d_k, d_v=d_k if d_v is None else d_v)
        self.d_model = d_model
        self.W_Q = nn.Linear(d_model, d_k, bias=False)
        self.W_K = nn.Linear(d_model, d_k, bias=False)
        self.W_V = nn.Linear(d_model, d_k if d_v is None else d_v, bias=False)

    def forward(
        self,
        X: Float[Tensor, "*batch n d_model"],
        mask: Bool[Tensor, "*#batch #n n"] | None = None,
    ) -> tuple[Float[Tensor, "*batch n d_v"], Float[Tensor, "*batch n n"]]:
        require_values(X=X)
        return attention(self.W_Q(X), self.W_K(X), self.W_V(X), mask)


@checked
def softmax_jacobian(p: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch m m"]:
    """The derivative of p = softmax(s) with respect to s, diag(p) − ppᵀ.

    `p` is non-negative and sums to 1 along its last axis; entry [i, j] of the
    result is ∂pᵢ/∂sⱼ. Where p is nearly one-hot, every entry is nearly 0.
    """
    require_distribution("p", p)
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


@checked
def entropy(weights: Float[Tensor, "*batch m"]) -> Float[Tensor, "*batch"]:
    """The entropy −Σ wⱼ ln wⱼ of each row of weights, in nats, from 0 (one key has all) to ln m.

    `weights` are non-negative and sum to 1 along their last axis; 0 ln 0 counts as 0.
    """
    require_distribution("weights", weights)
    return torch.special.entr(weights).sum(dim=-1)
