"""GPT-2: learned positions, pre-norm layers with GELU, a causal mask."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import require_tokens
from tfm_lib._shapes import checked
from tfm_lib.families.parts import (
    ACTIVATIONS,
    BentFeedForward,
    begun,
    empty_caches,
    places,
    require_places,
    require_real,
    seen,
    self_weights,
)
from tfm_lib.families.settings import MOST_LAYERS, Settings
from tfm_lib.families.weights import Place, at, linear, norm, transposed
from tfm_lib.layers import EncoderLayer, LayerNorm
from tfm_lib.multihead import KeyValueCache
from tfm_lib.positional import LearnedPositions

PREFIX = "transformer."
PASSED_OVER = (r"h\.\d+\.attn\.(?:bias|masked_bias)",)  # the causal mask, which old files store as tensors


@dataclass(frozen=True)
class GPT2Config:
    """The sizes of a GPT-2; the defaults are those of the smallest published model."""

    vocab_size: int = 50257
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    n_layers: int = 12
    max_len: int = 1024
    eps: float = 1e-5
    activation: str = "gelu_new"
    tied: bool = True


@checked
class GPT2(nn.Module):
    """Maps ids to the logits of the next token.

    Source: Radford et al. (2019), section 2.3.
    """

    def __init__(self, config: GPT2Config):
        super().__init__()
        self.config = config
        sizes = config.d_model, config.n_heads, config.d_ff
        normed = partial(LayerNorm, eps=config.eps)
        bent = partial(BentFeedForward, activation=config.activation)
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = LearnedPositions(config.max_len, config.d_model)
        self.layers = nn.ModuleList(
            EncoderLayer(*sizes, norm="pre", feed_forward=bent, norm_layer=normed) for _ in range(config.n_layers)
        )
        self.norm = normed(config.d_model)
        self.output = None if config.tied else nn.Linear(config.d_model, config.vocab_size, bias=False)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        real: Bool[Tensor, "batch total"] | None = None,
        caches: list[KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch n v"]:
        """With `caches`, `ids` are only the new tokens; `real`, False at padding, covers all positions read so far."""
        require_tokens("ids", ids, self.tokens.weight)
        start, caches_or_none = begun(caches, len(self.layers))
        n, total = ids.shape[1], start + ids.shape[1]
        require_places(total, self.config.max_len)
        require_real(ids, real, total)
        X = self.tokens(ids) + self.positions(total)[places(n, total, real, ids.device)]
        mask = seen(n, total, real, ids.device)
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


def config_of(settings: dict[str, Any]) -> GPT2Config:
    """Read the sizes from a config.json of `model_type` gpt2."""
    read = Settings(settings, "gpt2")
    read.architecture("GPT2LMHeadModel", "GPT2Model")
    read.only("scale_attn_weights", True)
    read.only("scale_attn_by_inverse_layer_idx", False)
    read.only("add_cross_attention", False)
    d_model = read.whole("n_embd", 768)
    return GPT2Config(
        vocab_size=read.whole("vocab_size", 50257),
        d_model=d_model,
        n_heads=read.divisor("n_head", d_model, 12),
        d_ff=read.whole("n_inner", 4 * d_model),
        n_layers=read.whole("n_layer", 12, MOST_LAYERS),
        max_len=read.whole("n_positions", 1024),
        eps=read.number("layer_norm_epsilon", 1e-5),
        activation=read.one_of("activation_function", ACTIVATIONS, "gelu_new"),
        tied=read.flag("tie_word_embeddings", True),
    )


def table(config: GPT2Config) -> dict[str, Place]:
    """Map each parameter to its place in their state, where one matrix holds queries, keys and values."""
    words = f"{PREFIX}wte.weight"
    found = {
        "tokens.weight": at(words, "lm_head.weight") if config.tied else at(words),
        "positions.table": at(f"{PREFIX}wpe.weight"),
        **norm("norm", f"{PREFIX}ln_f"),
        **({} if config.tied else {"output.weight": at("lm_head.weight")}),
    }
    for i in range(config.n_layers):
        ours, theirs = f"layers.{i}", f"{PREFIX}h.{i}"
        for third, name in enumerate(("W_Q", "W_K", "W_V")):
            for kind in ("weight", "bias"):
                part = at(f"{theirs}.attn.c_attn.{kind}", read=partial(_third, which=third))
                found[f"{ours}.self_attention.{name}.{kind}"] = part
        for name, there in {
            "self_attention.W_O": "attn.c_proj",
            "feed_forward.W_1": "mlp.c_fc",
            "feed_forward.W_2": "mlp.c_proj",
        }.items():
            found |= linear(f"{ours}.{name}", f"{theirs}.{there}")
            found[f"{ours}.{name}.weight"] = at(f"{theirs}.{there}.weight", read=transposed)
        found |= norm(f"{ours}.residuals.0.norm", f"{theirs}.ln_1")
        found |= norm(f"{ours}.residuals.1.norm", f"{theirs}.ln_2")
    return found


def _third(of_three: Tensor, which: int) -> Tensor:
    """Return one third of the joint matrix or bias for queries, keys and values."""
    columns, rest = divmod(of_three.shape[-1], 3)
    if rest:
        raise ValueError("not three of one width")
    part = of_three[..., which * columns : (which + 1) * columns]
    return transposed(part) if part.dim() == 2 else part
