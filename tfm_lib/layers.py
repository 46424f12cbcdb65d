"""Layers: residual connection, layer normalisation and feed-forward network around attention."""

from collections.abc import Callable
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfm_lib._errors import (
    require_layers, require_norm, require_share, require_sizes, require_values,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib.multihead import KeyValueCache, MultiHeadAttention

__all__ = ["DecoderLayer", "EncoderLayer", "FeedForward", "LayerNorm", "Residual", "standardise"]


@checked
def standardise(X: Float[Tensor, "*batch d"], eps: float = 1e-5) -> Float[Tensor, "*batch d"]:
    """Each vector shifted to mean 0 and scaled to variance 1, (x − μ) / √(σ² + ε).

    σ² is the biased variance, the mean of the squared distances from μ. ε stands inside the root,
    where it keeps a constant vector from 0 / 0, and its gradient finite.

    Source: Ba, Kiros and Hinton (2016), equations 3 and 4; ε as in Ioffe and Szegedy (2015),
    algorithm 1.
    """
    require_values(X=X)
    require_norm(eps)
    centred = X - X.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + eps)


@checked
class LayerNorm(nn.Module):
    """Layer normalisation, γ · (x − μ) / √(σ² + ε) + β, for each token by itself.

    `forward` runs PyTorch's kernel for `gain * standardise(X) + bias`; a test holds them equal.

    Source: Ba, Kiros and Hinton (2016), section 3.1.
    """

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        require_norm(eps, d_model)
        self.d_model, self.eps = d_model, eps
        self.gain = nn.Parameter(torch.ones(d_model))  # γ
        self.bias = nn.Parameter(torch.zeros(d_model))  # β

    def forward(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return F.layer_norm(X, self.gain.shape, self.gain, self.bias, self.eps)


@checked
class FeedForward(nn.Module):
    """The position-wise network max(0, xW₁ + b₁)W₂ + b₂, the same at every position.

    Source: Vaswani et al. (2017), section 3.3, equation 2.
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        require_sizes(d_model=d_model, d_ff=d_ff)
        self.d_model = d_model
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)

    def forward(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return self.W_2(self.W_1(X).relu_())  # in place: nobody else sees it


@checked
class Residual(nn.Module):
    """The way around a sub-layer: LayerNorm(x + Sublayer(x)), or "pre": x + Sublayer(LayerNorm(x)).

    `dropout` falls on the sub-layer's output before it is added.

    Source: Vaswani et al. (2017), sections 3.1 and 5.4; Xiong et al. (2020) for `norm="pre"`.
    """

    def __init__(
        self,
        d_model: int,
        dropout: float = 0.0,
        norm: Literal["post", "pre"] = "post",
        norm_layer: Callable[[int], nn.Module] = LayerNorm,
    ):
        super().__init__()
        require_share("dropout", dropout)
        self.norm = norm_layer(d_model)
        require_layers(norm_layer=self.norm)
        self.dropout = nn.Dropout(dropout)
        self.is_post = norm == "post"

    def forward(
        self,
        X: Float[Tensor, "*batch d_model"],
        sublayer: Callable[[Tensor], Tensor],
    ) -> Tensor:
        return self.leave(X, sublayer(self.enter(X)))

    def enter(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """What the sub-layer reads."""
        return X if self.is_post else self.norm(X)

    def leave(
        self, X: Float[Tensor, "*batch d_model"], change: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """`X` with the sub-layer's `change` added."""
        X = X + self.dropout(change)
        return self.norm(X) if self.is_post else X


@checked
class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each within its residual connection.

    Source: Vaswani et al. (2017), section 3.1, figure 1 left.
    """

    residuals: Any  # a list of two Residuals

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm: Literal["post", "pre"] = "post",
        attention: Callable[[int, int, float], nn.Module] = MultiHeadAttention,
        feed_forward: Callable[[int, int], nn.Module] = FeedForward,
        norm_layer: Callable[[int], nn.Module] = LayerNorm,
    ):
        super().__init__()
        self.d_model = d_model
        self.self_attention = attention(d_model, n_heads, dropout)
        self.feed_forward = feed_forward(d_model, d_ff)
        require_layers(attention=self.self_attention, feed_forward=self.feed_forward)
        around = (Residual(d_model, dropout, norm, norm_layer) for _ in range(2))
        self.residuals = nn.ModuleList(around)

    def forward(
        self,
        X: Float[Tensor, "batch n d_model"],
        mask: Bool[Tensor, "*#batch #n total"] | None = None,
        need_weights: bool = False,
        cache: KeyValueCache | None = None,
    ) -> tuple[Float[Tensor, "batch n d_model"], Float[Tensor, "batch n_heads n total"] | None]:
        around_attention, around_feed_forward = self.residuals
        inner = around_attention.enter(X)
        change, weights = self.self_attention(inner, inner, inner, mask, need_weights, cache)
        X = around_attention.leave(X, change)
        return around_feed_forward(X, self.feed_forward), weights


@checked
class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the memory, feed-forward network, each in its residual.

    Source: Vaswani et al. (2017), section 3.1, figure 1 right.
    """

    residuals: Any  # a list of three Residuals

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm: Literal["post", "pre"] = "post",
        attention: Callable[[int, int, float], nn.Module] = MultiHeadAttention,
        feed_forward: Callable[[int, int], nn.Module] = FeedForward,
        norm_layer: Callable[[int], nn.Module] = LayerNorm,
    ):
        super().__init__()
        self.d_model = d_model
        self.self_attention = attention(d_model, n_heads, dropout)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, dropout)  # no distance here
        self.feed_forward = feed_forward(d_model, d_ff)
        require_layers(attention=self.self_attention, feed_forward=self.feed_forward)
        around = (Residual(d_model, dropout, norm, norm_layer) for _ in range(3))
        self.residuals = nn.ModuleList(around)

    def forward(
        self,
        Y: Float[Tensor, "batch n d_model"],
        memory: Float[Tensor, "batch m d_model"],
        tgt_mask: Bool[Tensor, "*#batch #n total"] | None = None,
        memory_mask: Bool[Tensor, "*#batch #n m"] | None = None,
        need_weights: bool = False,
        caches: tuple[KeyValueCache | None, KeyValueCache | None] = (None, None),
    ) -> tuple[Float[Tensor, "batch n d_model"], tuple[Tensor | None, Tensor | None]]:
        """Output, the weights of self-attention and of cross-attention; `caches` for both."""
        around_self, around_cross, around_feed_forward = self.residuals
        inner = around_self.enter(Y)
        own, of_memory = caches
        change, self_weights = self.self_attention(inner, inner, inner, tgt_mask, need_weights, own)
        Y = around_self.leave(Y, change)
        change, cross_weights = self.cross_attention(
            around_cross.enter(Y), memory, memory, memory_mask, need_weights, of_memory
        )
        Y = around_cross.leave(Y, change)
        return around_feed_forward(Y, self.feed_forward), (self_weights, cross_weights)
