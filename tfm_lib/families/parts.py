"""Parts in which these families differ from the paper, passed to the core's layers through their factories."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import bad_input, require_sizes, shape_of
from tfm_lib._shapes import checked
from tfm_lib._trace import trace
from tfm_lib.efficient import GroupedQueryAttention
from tfm_lib.layers import FeedForward
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import Bias, Heads, KeyValueCache
from tfm_lib.positional import rotary

#: name in config.json → the activation function of a feed-forward network
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "swish": F.silu,
}


@checked
class BentFeedForward(FeedForward):
    """The position-wise network W₂ φ(W₁x + b₁) + b₂ with an activation φ other than ReLU.

    Source: Hendrycks and Gimpel (2016) for GELU.
    """

    def __init__(self, d_model: int, d_ff: int, activation: str):
        super().__init__(d_model, d_ff)
        self.activation = ACTIVATIONS[activation]

    def forward(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return self.W_2(self.activation(self.W_1(X)))


class LlamaAttention(GroupedQueryAttention):
    """Grouped attention without biases, with rotary positions for queries and keys."""

    def __init__(self, d_model: int, n_heads: int, dropout: float, n_key_heads: int, base: float):
        super().__init__(d_model, n_heads, dropout, n_key_heads)
        self.base = base
        for projection in (self.W_Q, self.W_K, self.W_V, self.W_O):
            projection.register_parameter("bias", None)

    def compared(self, Q: Heads, K: Heads) -> tuple[Heads, Heads, Bias | None]:
        return rotary(Q, K.shape[-2] - Q.shape[-2], self.base), rotary(K, base=self.base), None


# padding


def require_real(ids: Tensor, real: Tensor | None, total: int) -> None:
    """Require that `real` covers all `total` positions and marks at least one token in every row."""
    if real is None:
        return
    if tuple(real.shape) != (len(ids), total):
        must = f"have shape {(len(ids), total)}, a sign for each position that has been read"
        raise bad_input("real", must, shape_of(real))
    if not real.any(dim=-1).all():
        raise bad_input("real", "hold a token in every row", "a row of padding alone")


def places(
    n: int, total: int, real: Bool[Tensor, "batch total"] | None, device: torch.device
) -> Int[Tensor, "#batch n"]:
    """Return the positions of the `n` newest of `total` tokens, counting real tokens only."""
    if real is None:
        return torch.arange(total - n, total, device=device)[None]
    return (real.cumsum(dim=-1) - 1).clamp(min=0)[:, total - n :]


def seen(
    n: int, total: int, real: Bool[Tensor, "batch total"] | None, device: torch.device
) -> Bool[Tensor, "#batch n total"]:
    """Return what the `n` newest of `total` tokens may attend to: real tokens up to themselves.

    Padding before the first token attends only to itself; nothing reads the result.
    """
    mask = causal_mask(total)[None, total - n :].to(device)
    if real is None:
        return mask
    itself = torch.eye(total, dtype=torch.bool, device=device)[total - n :]
    return mask & real[:, None] | itself


def begun(caches: list[KeyValueCache] | None, n_layers: int) -> tuple[int, list]:
    """Return how many positions `caches` hold, and a cache or None for each layer."""
    if caches is None:
        return 0, [None] * n_layers
    if not isinstance(caches, list) or len(caches) != n_layers:
        came = len(caches) if isinstance(caches, list) else f"a {type(caches).__name__}"
        raise bad_input("caches", f"be a list of {n_layers}, a KeyValueCache for each layer", came)
    return caches[0].length, caches


def require_places(total: int, max_len: int) -> None:
    """Require that `total` tokens fit into the positions that the model can represent."""
    if total > max_len:
        raise bad_input("ids", f"end at position {max_len}, the last that the model knows", f"{total} positions")


def self_weights(model: nn.Module, *inputs: Any) -> Float[Tensor, "batch n_layers n_heads n n"]:
    """Return the weights of every self-attention in `model.layers` for these inputs."""
    with trace(model, "layers.*.self_attention.weights") as kept:
        model(*inputs)
    return torch.stack([kept[f"layers.{i}.self_attention.weights"] for i in range(len(model.layers))], dim=1)


def empty_caches(n_layers: int) -> list[KeyValueCache]:
    """Return a cache for each layer of a decoder."""
    require_sizes(n_layers=n_layers)
    return [KeyValueCache() for _ in range(n_layers)]
