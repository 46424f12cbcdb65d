"""The Transformer: embeddings, encoder, decoder, and the way back to words."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import (
    bad_input, require_below, require_choice, require_ids, require_input, require_kind,
    require_share, require_sizes, require_tokens, require_whole, shape_of,
)  # fmt: skip
from tfm_lib._trace import trace
from tfm_lib.layers import DecoderLayer, EncoderLayer, LayerNorm
from tfm_lib.masking import causal_mask, combine, padding_mask
from tfm_lib.multihead import KeyValueCache, MemoryCache
from tfm_lib.positional import sinusoidal_encoding

__all__ = [
    "DecoderOnly",
    "Embedding",
    "EncoderOnly",
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
    pad_id: int = 0
    max_len: int = 512

    def __post_init__(self) -> None:
        _require_sizes(self)


def base_config(vocab_size: int) -> TransformerConfig:
    """The paper's base model."""
    return TransformerConfig(vocab_size)


def big_config(vocab_size: int) -> TransformerConfig:
    """The paper's big model; its dropout is 0.3 for English–German, 0.1 for English–French."""
    return TransformerConfig(vocab_size, d_model=1024, n_heads=16, d_ff=4096, dropout=0.3)


class Embedding(nn.Module):
    """Token ids to vectors times √d_model, plus positions, then dropout.

    `unembed` goes back with the same matrix.

    Source: Vaswani et al. (2017), sections 3.4, 3.5 and 5.4.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        require_kind("config", config, TransformerConfig)
        self.scale = math.sqrt(config.d_model)
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)  # 1 / scale
        positions = sinusoidal_encoding(config.max_len, config.d_model)
        self.register_buffer("positions", positions, persistent=False)
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
        _require_room(end, len(self.positions))
        return self.dropout(self.tokens(ids) * self.scale + self.positions[start:end])

    def unembed(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch v"]:
        """Logits: the dot product of each vector with the embedding of every token."""
        require_input("X", X, self.tokens.weight, self.tokens.embedding_dim)
        return F.linear(X, self.tokens.weight)


class Transformer(nn.Module):
    """The encoder–decoder of *Attention Is All You Need*: source and target ids to logits.

    `src_ids` (batch, m) and `tgt_ids` (batch, n) are padded with `config.pad_id`, the target
    on the right, where the causal mask hides it. The logits at position i are for the token
    after position i.

    Source: Vaswani et al. (2017), section 3, figure 1.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        require_kind("config", config, TransformerConfig)
        self.config = config
        sizes = config.d_model, config.n_heads, config.d_ff, config.dropout, config.norm
        self.embedding = Embedding(config)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(config.n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(config.n_layers))
        self.encoder_norm = _final_norm(config)
        self.decoder_norm = _final_norm(config)
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
        memory = self.encode(src_ids)
        return self.decode(tgt_ids, memory, padding_mask(src_ids, self.config.pad_id))

    def encode(self, src_ids: Int[Tensor, "batch m"]) -> Float[Tensor, "batch m d_model"]:
        """The memory: one vector for each source token, in its context."""
        mask = padding_mask(src_ids, self.config.pad_id)
        X = self.embedding(src_ids)
        for layer in self.encoder:
            X, _ = layer(X, mask)
        return self.encoder_norm(X)

    def decode(
        self,
        tgt_ids: Int[Tensor, "batch n"],
        memory: Float[Tensor, "batch m d_model"],
        memory_mask: Bool[Tensor, "batch 1 m"] | None = None,
        caches: list[tuple[KeyValueCache, MemoryCache]] | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        """The decoder's last vectors.

        With `caches` (from `decoder_caches`), `tgt_ids` are the new tokens only.
        """
        caches = caches or [(None, None)] * len(self.decoder)
        _require_partners(tgt_ids, memory, caches, len(self.decoder))
        start = caches[0][0].length if caches[0][0] else 0
        Y = self.embedding(tgt_ids, start)
        mask = causal_mask(start + tgt_ids.shape[1])[start:].to(Y.device)
        for layer, layer_caches in zip(self.decoder, caches):
            Y, _ = layer(Y, memory, mask, memory_mask, caches=layer_caches)
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


class EncoderOnly(nn.Module):
    """The encoder by itself, as in BERT: logits for each position's own token."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        require_kind("config", config, TransformerConfig)
        self.config = config
        sizes = config.d_model, config.n_heads, config.d_ff, config.dropout, config.norm
        self.embedding = Embedding(config)
        self.layers = nn.ModuleList(EncoderLayer(*sizes) for _ in range(config.n_layers))
        self.norm = _final_norm(config)
        _initialise(self)

    def forward(self, ids: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n v"]:
        X, mask = self.embedding(ids), self.mask(ids)
        for layer in self.layers:
            X, _ = layer(X, mask)
        return self.embedding.unembed(self.norm(X))

    def mask(self, ids: Int[Tensor, "batch n"]) -> Bool[Tensor, " batch #n n"]:
        """What each token may see: every token that is no padding."""
        return padding_mask(ids, self.config.pad_id)


class DecoderOnly(EncoderOnly):
    """The same layers under a causal mask, as in GPT: logits for the next token."""

    def mask(self, ids: Int[Tensor, "batch n"]) -> Bool[Tensor, " batch #n n"]:
        return combine(causal_mask(ids.shape[1]).to(ids.device), super().mask(ids))


def count_parameters(model: nn.Module) -> dict[str, int]:
    """How many parameters each part of a Transformer holds, all its layers together.

    A shared matrix counts once. A model made under `torch.device("meta")` has shapes without
    numbers, and can be counted at any size.
    """
    require_kind("model", model, nn.Module)
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        path = [word for word in name.split(".") if not word.isdigit()]
        part = "norms" if any("norm" in word for word in path) else ".".join(path[:2])
        counts[part] += parameter.numel()
    return dict(counts)


def _final_norm(config: TransformerConfig) -> nn.Module:
    """Post-norm ends each layer with a norm; pre-norm needs one more after the stack."""
    return nn.Identity() if config.norm == "post" else LayerNorm(config.d_model)


def _initialise(model: nn.Module) -> None:
    """Xavier-uniform matrices, as in tensor2tensor; biases start at 0."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)


def _require_sizes(config: TransformerConfig) -> None:
    for name in ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers", "max_len"):
        require_sizes(**{name: getattr(config, name)})
    if config.d_model % 2:
        raise bad_input("d_model", "be even, for positions are pairs of sine and cosine", config.d_model)
    if config.d_model % config.n_heads:
        raise bad_input("n_heads", f"divide d_model = {config.d_model}", config.n_heads)
    require_share("dropout", config.dropout)
    require_choice("norm", config.norm, ("post", "pre"), 'be "post" or "pre"')
    require_below("pad_id", config.pad_id, config.vocab_size)


def _require_room(end: int, max_len: int) -> None:
    if end > max_len:
        raise bad_input("ids", f"end before position max_len = {max_len}", f"{end} positions")


def _require_partners(tgt_ids: Tensor, memory: Tensor, caches: list, n_layers: int) -> None:
    require_ids("tgt_ids", tgt_ids)
    require_kind("memory", memory, Tensor, "be a torch tensor")
    require_kind("caches", caches, list, "be a list of pairs, as decoder_caches makes it")
    if tgt_ids.shape[0] != memory.shape[0]:
        raise bad_input("tgt_ids", f"hold as many sentences as the memory, {len(memory)}", shape_of(tgt_ids))
    if len(caches) != n_layers:
        raise bad_input("caches", f"hold a pair for each of the {n_layers} decoder layers", len(caches))
