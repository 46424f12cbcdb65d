"""Multi-head attention: several small attentions side by side, mixed by one matrix."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import bad_input, require_cache, require_heads, require_rows_of, require_share, require_values
from tfm_lib._shapes import checked
from tfm_lib.attention import attention, scaled_dot_score

__all__ = ["KeyValueCache", "MemoryCache", "MultiHeadAttention", "merge_heads", "split_heads", "without_heads"]

Heads = Float[Tensor, "batch n_heads _ d_k"]  # of queries, of keys or of values
Bias = Float[Tensor, "*#batch #n #m"]


@checked
def split_heads(
    X: Float[Tensor, "*batch n d_model"],
    n_heads: int,
) -> Float[Tensor, "*batch {n_heads} n d_k"]:
    """Cut each vector of `X` into `n_heads` equal pieces; heads before positions."""
    require_heads(n_heads, X.shape[-1])
    return X.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


@checked
def merge_heads(heads: Float[Tensor, "*batch n_heads n d_v"]) -> Float[Tensor, "*batch n d_model"]:
    """Concatenate the heads of each position: the inverse of `split_heads`."""
    return heads.transpose(-3, -2).flatten(-2)


@checked
class KeyValueCache:
    """Keys and values of the positions read so far, so that each is projected once."""

    def __init__(self) -> None:
        self.K: Tensor | None = None  # (batch, n_heads, length, d_k)
        self.V: Tensor | None = None

    @property
    def length(self) -> int:
        """How many positions the cache holds."""
        return 0 if self.K is None else self.K.shape[-2]

    def seen_with(self, n_new: int) -> int:
        """How many positions attention finds here once `n_new` more are read."""
        return self.length + n_new

    def update(self, project: Callable[[], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """All keys and values: the kept ones, then those that `project` makes of the new."""
        K, V = project()
        self.K = K if self.K is None else torch.cat([self.K, K], dim=-2)
        self.V = V if self.V is None else torch.cat([self.V, V], dim=-2)
        return self.K, self.V

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these `rows` of the batch, in this order: the survivors of a beam search."""
        if self.K is not None and self.V is not None:
            require_rows_of("rows", rows, len(self.K))
            self.K, self.V = self.K[rows], self.V[rows]


class MemoryCache(KeyValueCache):
    """Keys and values of an encoder's memory, which does not change while the decoder writes."""

    memory: Tensor | None = None  # what they were made of

    def update(self, project: Callable[[], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        if self.K is None:
            self.K, self.V = project()
        return self.K, self.V  # type: ignore[return-value]  # where K is, V is

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        super().select(rows)
        self.memory = None if self.memory is None else self.memory[rows]


@checked
class MultiHeadAttention(nn.Module):
    """Multi-head attention, Concat(head₁, …, head_h) W^O, headᵢ = Attention(QWᵢ^Q, KWᵢ^K, VWᵢ^V).

    Each of the `n_heads` heads is d_k = d_v = d_model / n_heads wide. `W_Q` holds the
    matrices Wᵢ^Q of all heads side by side, and so do `W_K` and `W_V`. `dropout` falls on
    the weights while training.

    Source: Vaswani et al. (2017), section 3.2.2.
    Differs: the projections have biases, as in `nn.MultiheadAttention`, and the
    weights dropout, as in the authors' tensor2tensor.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0):
        super().__init__()
        require_heads(n_heads, d_model)
        require_share("dropout", dropout)
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.W_Q = nn.Linear(d_model, d_model)
        self.W_K = nn.Linear(d_model, d_model)
        self.W_V = nn.Linear(d_model, d_model)
        self.W_O = nn.Linear(d_model, d_model)

    def forward(
        self,
        query: Float[Tensor, "batch n d_model"],
        key: Float[Tensor, "batch m d_model"],
        value: Float[Tensor, "batch m d_model"],
        mask: Bool[Tensor, "*#batch #n total"] | None = None,
        need_weights: bool = True,
        cache: KeyValueCache | None = None,
    ) -> tuple[Float[Tensor, "batch n d_model"], Float[Tensor, "batch n_heads n total"] | None]:
        """Output and weights (before dropout).

        Without `need_weights` a fused kernel runs, and None stands for the weights.
        With a `cache`, `key` and `value` are the new positions; `mask` covers all.
        """
        require_values(query=query, key=key, value=value, mask=mask)
        require_cache(cache, query, key)

        project = partial(self.keys_and_values, key, value)
        Q = split_heads(self.W_Q(query), self.n_heads)  # (batch, n_heads, n, d_k)
        K, V = project() if cache is None else cache.update(project)
        heads, weights = self.attend(Q, K, V, mask, need_weights)
        return self.W_O(merge_heads(heads)), weights

    def keys_and_values(self, key: Tensor, value: Tensor) -> tuple[Heads, Heads]:
        """What a cache keeps of new positions."""
        K, V = self.W_K(key), self.W_V(value)
        return split_heads(K, self.n_heads), split_heads(V, self.n_heads)

    def attend(
        self,
        Q: Float[Tensor, "batch n_heads n d_k"],
        K: Float[Tensor, "batch n_heads total d_k"],
        V: Float[Tensor, "batch n_heads total d_v"],
        mask: Bool[Tensor, "*#batch #n total"] | None,
        need_weights: bool,
    ) -> tuple[Float[Tensor, "batch n_heads n d_v"], Tensor | None]:
        """Attention in every head at once, all of them under the same `mask`."""
        Q, K, B = self.compared(Q, K)
        if mask is not None:
            mask = mask.unsqueeze(-3)
            B = B if B is None else B.masked_fill(~mask, -torch.inf)
        dropout = self.dropout if self.training else 0.0
        if not need_weights:
            fused, seen = F.scaled_dot_product_attention, mask if B is None else B
            return fused(Q, K, V, attn_mask=seen, dropout_p=dropout), None
        if B is None:
            heads, weights = attention(Q, K, V, mask)
        else:
            weights = (scaled_dot_score(Q, K) + B).softmax(dim=-1)
            heads = weights @ V
        return (F.dropout(weights, dropout) @ V if dropout else heads), weights

    def compared(self, Q: Heads, K: Heads) -> tuple[Heads, Heads, Bias | None]:
        """Q, K and B of the scores QKᵀ / √d_k + B: here the words alone; a subclass adds more."""
        return Q, K, None


@contextmanager
@checked
def without_heads(layer: MultiHeadAttention, *off: int) -> Iterator[MultiHeadAttention]:
    """`layer` with the heads `off` (counted from 0) silent, for as long as the `with` block lasts.

    Their rows of W^O are 0 in the meantime, so what they find is multiplied by 0; the bias of
    W_O stays.

    Source: Michel, Levy and Neubig (2019), section 2.3, mask heads to the same effect.
    """
    if strange := [i for i in off if i not in range(layer.n_heads)]:
        raise bad_input("off", f"be heads from 0 to {layer.n_heads - 1}", strange[0])
    W = layer.W_O.weight.data  # (d_model, n_heads · d_v), the transpose: rows are columns
    kept = W.clone()
    W.unflatten(1, (layer.n_heads, -1))[:, list(off)] = 0
    try:
        yield layer
    finally:
        W.copy_(kept)
