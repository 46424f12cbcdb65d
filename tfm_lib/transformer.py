"""The Transformer: embeddings, encoder, decoder, and the way back to words."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import (
    require_caches, require_model_sizes, require_no_padding_first, require_room, require_sizes,
    require_table, require_tokens, require_whole,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib._trace import trace
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.layers import DecoderLayer, EncoderLayer, LayerNorm
from tfm_lib.masking import causal_mask, padding_mask
from tfm_lib.multihead import KeyValueCache, MemoryCache
from tfm_lib.positional import sinusoidal_encoding

__all__ = [
    "DecoderOnly",
    "Embedding",
    "EncoderOnly",
    "Memory",
    "Transformer",
    "TransformerConfig",
    "base_config",
    "big_config",
    "count_parameters",
    "decoder_caches",
]


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of a Transformer; the defaults are the paper's base model (table 3).

    `vocab_size` counts the words of source and target together; `pad_id` is the padding's id.
    """

    vocab_size: int
    d_model: int = 512
    n_heads: int = 8
    d_ff: int = 2048
    n_layers: int = 6
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    pad_id: int = Vocabulary.pad_id
    max_len: int = 512

    def __post_init__(self) -> None:
        require_model_sizes(self)


def base_config(vocab_size: int) -> TransformerConfig:
    """The paper's base model."""
    return TransformerConfig(vocab_size)


def big_config(vocab_size: int) -> TransformerConfig:
    """The paper's big model; its dropout is 0.3 for English–German, 0.1 for English–French."""
    return TransformerConfig(vocab_size, d_model=1024, n_heads=16, d_ff=4096, dropout=0.3)


@checked
class Embedding(nn.Module):
    """Token ids to vectors times √d_model, plus positions, then dropout.

    `positions(max_len, d_model)` makes them; `torch.zeros` adds none. `unembed` goes back with
    the same matrix.

    Source: Vaswani et al. (2017), sections 3.4, 3.5 and 5.4.
    """

    positions: Tensor  # (max_len, d_model)

    def __init__(self, config: TransformerConfig, positions: Callable = sinusoidal_encoding):
        super().__init__()
        self.d_model, self.scale = config.d_model, math.sqrt(config.d_model)
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)  # 1 / scale
        self.make_positions = partial(positions, config.max_len, config.d_model)
        table = self.make_positions()
        require_table("positions", table, config.max_len, config.d_model)
        self.register_buffer("positions", table, persistent=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        start: int = 0,
    ) -> Float[Tensor, "batch n d_model"]:
        """The vectors of `ids`, whose first position is `start`."""
        require_tokens("ids", ids, self.tokens.weight)
        require_whole("start", start, 0)
        end = start + ids.shape[1]
        require_room(end, len(self.positions))
        return self.dropout(self.tokens(ids) * self.scale + self.positions[start:end])

    def _apply(self, fn: Callable, recurse: bool = True) -> nn.Module:
        """The positions are in no state dict, so `to_empty` must not leave them without values."""
        before = self.positions
        super()._apply(fn, recurse)
        if not self.positions.is_meta:
            self.positions.copy_(self.make_positions() if before.is_meta else before)
        return self

    def unembed(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch v"]:
        """Logits: the dot product of each vector with the embedding of every token."""
        return F.linear(X, self.tokens.weight)


class Memory(NamedTuple):
    """What the encoder made of each source token, and which of the tokens are no padding."""

    H: Float[Tensor, "batch m d_model"]
    mask: Bool[Tensor, " batch #n m"]


@checked
class Transformer(nn.Module):
    """The encoder–decoder of *Attention Is All You Need*: source and target ids to logits.

    `src_ids` (batch, m) and `tgt_ids` (batch, n) are padded with `config.pad_id`, the target
    on the right, where the causal mask hides it. The logits at position i are for the token
    after position i. `parts` are `attention`, `feed_forward` and `norm_layer` of its layers, and
    `positions` of its embedding.

    Source: Vaswani et al. (2017), section 3, figure 1.
    """

    def __init__(self, config: TransformerConfig, **parts: Callable):
        super().__init__()
        self.config, self.d_model = config, config.d_model
        self.embedding = Embedding(config, parts.pop("positions", sinusoidal_encoding))
        self.encoder = _stack(EncoderLayer, config, parts)
        self.decoder = _stack(DecoderLayer, config, parts)
        self.encoder_norm = _final_norm(config, parts)
        self.decoder_norm = _final_norm(config, parts)
        _initialise(self)

    def forward(
        self,
        src_ids: Int[Tensor, "batch m"],
        tgt_ids: Int[Tensor, "batch n"],
    ) -> Float[Tensor, "batch n v"]:
        return self.embedding.unembed(self.hidden(src_ids, tgt_ids))

    def hidden(
        self, src_ids: Int[Tensor, "batch m"], tgt_ids: Int[Tensor, "batch n"]
    ) -> Float[Tensor, "batch n d_model"]:
        """The decoder's last vectors, which `embedding.unembed` turns into logits."""
        return self.decode(tgt_ids, self.encode(src_ids))

    def encode(self, src_ids: Int[Tensor, "batch m"]) -> Memory:
        """One vector for each source token, in its context."""
        mask = padding_mask(src_ids, self.config.pad_id)
        X = self.embedding(src_ids)
        for layer in self.encoder:
            X, _ = layer(X, mask)
        return Memory(self.encoder_norm(X), mask)

    def decode(
        self,
        tgt_ids: Int[Tensor, "batch n"],
        memory: Memory,
        caches: Sequence[tuple[KeyValueCache | None, MemoryCache | None]] | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """The decoder's last vectors.

        With `caches` (from `decoder_caches`), `tgt_ids` are the new tokens only.
        """
        caches = caches or [(None, None)] * len(self.decoder)
        require_caches(caches, len(self.decoder), "a pair, as decoder_caches makes it,")
        start = caches[0][0].length if caches[0][0] else 0
        Y = self.embedding(tgt_ids, start)
        mask = causal_mask(start + tgt_ids.shape[1])[start:].to(Y.device)
        for layer, layer_caches in zip(self.decoder, caches):
            kept = _still_seen(mask, layer_caches[0])
            Y, _ = layer(Y, memory.H, kept, memory.mask, caches=layer_caches)
        return self.decoder_norm(Y)

    def all_weights(
        self,
        src_ids: Int[Tensor, "batch m"],
        tgt_ids: Int[Tensor, "batch n"],
    ) -> dict[str, Tensor]:
        """Every attention weight, under "encoder", "decoder" and "cross".

        Each is (batch, n_layers, n_heads, queries, keys).
        """
        with trace(self, "*attention.weights") as seen:
            self.hidden(src_ids, tgt_ids)
        names = {
            "encoder": "encoder.{}.self_attention.weights",
            "decoder": "decoder.{}.self_attention.weights",
            "cross": "decoder.{}.cross_attention.weights",
        }
        layers = range(self.config.n_layers)
        kept = {place: [seen[name.format(i)] for i in layers] for place, name in names.items()}
        return {place: torch.stack(weights, dim=1) for place, weights in kept.items()}


def decoder_caches(n_layers: int) -> list[tuple[KeyValueCache, MemoryCache]]:
    """Empty caches for the self-attention and the cross-attention of each decoder layer."""
    require_sizes(n_layers=n_layers)
    return [(KeyValueCache(), MemoryCache()) for _ in range(n_layers)]


@checked
class EncoderOnly(nn.Module):
    """The encoder by itself, as in BERT: logits for each position's own token, or its vectors."""

    def __init__(self, config: TransformerConfig, **parts: Callable):
        super().__init__()
        self.config = config
        self.embedding = Embedding(config, parts.pop("positions", sinusoidal_encoding))
        self.layers = _stack(EncoderLayer, config, parts)
        self.norm = _final_norm(config, parts)
        _initialise(self)

    def hidden(self, ids: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n d_model"]:
        """The last layer's vectors, which `embedding.unembed` turns into logits."""
        X, mask = self.embedding(ids), padding_mask(ids, self.config.pad_id)
        for layer in self.layers:
            X, _ = layer(X, mask)
        return self.norm(X)

    def forward(self, ids: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n v"]:
        return self.embedding.unembed(self.hidden(ids))


@checked
class DecoderOnly(nn.Module):
    """The same layers under a causal mask, as in GPT: logits for the next token.

    `ids` are padded on the right, where the causal mask hides it.
    """

    def __init__(self, config: TransformerConfig, **parts: Callable):
        super().__init__()
        self.config = config
        self.embedding = Embedding(config, parts.pop("positions", sinusoidal_encoding))
        self.layers = _stack(EncoderLayer, config, parts)
        self.norm = _final_norm(config, parts)
        _initialise(self)

    def forward(
        self, ids: Int[Tensor, "batch n"], caches: Sequence[KeyValueCache | None] | None = None
    ) -> Float[Tensor, "batch n v"]:
        """With `caches`, one for each layer, `ids` are the new tokens only."""
        caches = caches or [None] * len(self.layers)
        require_caches(caches, len(self.layers), "one")
        start = caches[0].length if caches[0] else 0
        require_no_padding_first(ids[:, :1], start, self.config.pad_id)
        X, mask = self.embedding(ids, start), causal_mask(start + ids.shape[1])[start:]
        for layer, cache in zip(self.layers, caches):
            X, _ = layer(X, _still_seen(mask, cache).to(X.device), cache=cache)
        return self.embedding.unembed(self.norm(X))


@checked
def count_parameters(model: nn.Module) -> dict[str, int]:
    """How many parameters each part of a Transformer holds, all its layers together.

    A shared matrix counts once. A model made under `torch.device("meta")` has shapes without
    numbers, and can be counted at any size.
    """
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        path = [word for word in name.split(".") if not word.isdigit()]
        part = "norms" if any("norm" in word for word in path) else ".".join(path[:2])
        counts[part] += parameter.numel()
    return dict(counts)


def _stack(kind: type[nn.Module], config: TransformerConfig, parts: dict) -> nn.ModuleList:
    sizes = config.d_model, config.n_heads, config.d_ff, config.dropout, config.norm
    return nn.ModuleList(kind(*sizes, **parts) for _ in range(config.n_layers))


def _still_seen(mask: Tensor, cache: KeyValueCache | None) -> Tensor:
    """The columns of the positions that a cache still holds: a cache that forgets holds the last."""
    return mask if cache is None else mask[:, -cache.seen_with(len(mask)) :]


def _final_norm(config: TransformerConfig, parts: dict) -> nn.Module:
    """Post-norm ends each layer with a norm; pre-norm needs one more after the stack."""
    norm_layer = parts.get("norm_layer", LayerNorm)
    return nn.Identity() if config.norm == "post" else norm_layer(config.d_model)


def _initialise(model: nn.Module) -> None:
    """Xavier-uniform matrices, as in tensor2tensor; biases start at 0."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
