"""Llama, a modern decoder: RMSNorm, SwiGLU, rotary positions, grouped keys, no biases."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import require_tokens
from tfm_lib._shapes import checked
from tfm_lib.descendants import RMSNorm, SwiGLU
from tfm_lib.families.parts import (
    LlamaAttention,
    begun,
    empty_caches,
    require_places,
    require_real,
    seen,
    self_weights,
)
from tfm_lib.families.settings import MOST_LAYERS, NotSupported, Settings
from tfm_lib.families.weights import Place, at, linear, norm
from tfm_lib.layers import EncoderLayer
from tfm_lib.multihead import KeyValueCache

PREFIX = "model."
PASSED_OVER = (r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq",)  # frequencies, which old files store as tensors


@dataclass(frozen=True)
class LlamaConfig:
    """The sizes of a Llama; the defaults are those of the smallest Llama 2. `base` is that of the rotary angles."""

    vocab_size: int = 32000
    d_model: int = 4096
    n_heads: int = 32
    n_key_heads: int = 32
    d_ff: int = 11008
    n_layers: int = 32
    max_len: int = 4096
    eps: float = 1e-6
    base: float = 10_000.0
    tied: bool = False


@checked
class Llama(nn.Module):
    """Maps ids to the logits of the next token.

    Source: Touvron et al. (2023a), section 2.2; (2023b), section 2.2, for grouped keys.
    """

    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.config = config
        sizes = config.d_model, config.n_heads, config.d_ff
        parts = {
            "attention": partial(LlamaAttention, n_key_heads=config.n_key_heads, base=config.base),
            "feed_forward": SwiGLU,
            "norm_layer": partial(RMSNorm, eps=config.eps),
        }
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.layers = nn.ModuleList(EncoderLayer(*sizes, norm="pre", **parts) for _ in range(config.n_layers))
        self.norm = RMSNorm(config.d_model, config.eps)
        self.output = None if config.tied else nn.Linear(config.d_model, config.vocab_size, bias=False)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        real: Bool[Tensor, "batch total"] | None = None,
        caches: list[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch n v"]:
        """With `caches`, `ids` are only the new tokens; `real`, False at padding, covers all positions read so far.

        Rotary positions encode only distances, so padding before a sentence changes nothing.
        """
        require_tokens("ids", ids, self.tokens.weight)
        start, caches_or_none = begun(caches, len(self.layers))
        n, total = ids.shape[1], start + ids.shape[1]
        require_places(total, self.config.max_len)
        require_real(ids, real, total)
        X, mask = self.tokens(ids), seen(n, total, real, ids.device)
        for layer, cache in zip(self.layers, caches_or_none):
            X, _ = layer(X, mask, cache=cache)
        return F.linear(self.norm(X), self.tokens.weight if self.output is None else self.output.weight)

    def caches(self) -> list[KeyValueCache]:
        """Return empty caches, one per layer."""
        return empty_caches(len(self.layers))

    def all_weights(
        self, ids: Int[Tensor, "batch n"], real: Bool[Tensor, "batch n"] | None = None
    ) -> Float[Tensor, "batch n_layers n_heads n n"]:
        """Return all attention weights."""
        return self_weights(self, ids, real)


def config_of(settings: dict[str, Any]) -> LlamaConfig:
    """Read the sizes from a config.json of `model_type` llama."""
    read = Settings(settings, "llama")
    read.architecture("LlamaForCausalLM", "LlamaModel")
    read.only("attention_bias", False)
    read.only("mlp_bias", False)
    read.only("rope_interleaved", False)
    read.one_of("hidden_act", ("silu", "swish"), "silu")
    d_model = read.whole("hidden_size", 4096)
    n_heads = read.divisor("num_attention_heads", d_model, 32)
    read.only("head_dim", d_model // n_heads)
    if d_model // n_heads % 2:
        raise NotSupported(f"config.json: a head is {d_model // n_heads} wide; rotary positions turn pairs of numbers.")
    return LlamaConfig(
        vocab_size=read.whole("vocab_size", 32000),
        d_model=d_model,
        n_heads=n_heads,
        n_key_heads=read.divisor("num_key_value_heads", n_heads, n_heads),
        d_ff=read.whole("intermediate_size", 11008),
        n_layers=read.whole("num_hidden_layers", 32, MOST_LAYERS),
        max_len=read.whole("max_position_embeddings", 2048),
        eps=read.number("rms_norm_eps", 1e-6),
        base=_base(settings),
        tied=read.flag("tie_word_embeddings", False),
    )


def _base(settings: dict[str, Any]) -> float:
    """Return the base of the rotary angles from a file of any version; raises `NotSupported` for scaled angles."""
    scaling = settings.get("rope_parameters") or settings.get("rope_scaling") or {}
    if not isinstance(scaling, dict):
        raise NotSupported(f"config.json: rope_scaling must be an object; it is {scaling!r}.")
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind != "default":
        raise NotSupported(
            f"config.json: rotary positions are scaled ({kind!r}), which is not supported; only the plain angles are."
        )
    return Settings({**settings, **scaling}, "llama").number("rope_theta", 10_000.0)


def table(config: LlamaConfig) -> dict[str, Place]:
    """Map each parameter to its place in their state, where queries and keys have another row order."""
    words = f"{PREFIX}embed_tokens.weight"
    found = {
        "tokens.weight": at(words, "lm_head.weight") if config.tied else at(words),
        **norm("norm", f"{PREFIX}norm", bias=False),
        **({} if config.tied else {"output.weight": at("lm_head.weight")}),
    }
    for i in range(config.n_layers):
        ours, theirs = f"layers.{i}", f"{PREFIX}layers.{i}"
        for name, there in {
            "self_attention.W_V": "self_attn.v_proj",
            "self_attention.W_O": "self_attn.o_proj",
            "feed_forward.W_gate": "mlp.gate_proj",
            "feed_forward.W_1": "mlp.up_proj",
            "feed_forward.W_2": "mlp.down_proj",
        }.items():
            found |= linear(f"{ours}.{name}", f"{theirs}.{there}", bias=False)
        for name, there, heads in (("W_Q", "q_proj", config.n_heads), ("W_K", "k_proj", config.n_key_heads)):
            found[f"{ours}.self_attention.{name}.weight"] = at(
                f"{theirs}.self_attn.{there}.weight", read=partial(paired, n_heads=heads)
            )
        found |= norm(f"{ours}.residuals.0.norm", f"{theirs}.input_layernorm", bias=False)
        found |= norm(f"{ours}.residuals.1.norm", f"{theirs}.post_attention_layernorm", bias=False)
    return found


def paired(W: Tensor, n_heads: int) -> Tensor:
    """Reorder each head's rows from a file so that rotated pairs are adjacent; a file pairs i with i + d_k/2."""
    return W.unflatten(0, (n_heads, 2, -1)).transpose(1, 2).flatten(0, 2)
