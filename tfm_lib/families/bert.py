"""BERT: learned positions and segments, post-norm layers with GELU, no causal mask."""

import re
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import require_tokens
from tfm_lib._shapes import checked
from tfm_lib.families.parts import ACTIVATIONS, BentFeedForward, places, require_places, require_real, self_weights
from tfm_lib.families.settings import MOST_LAYERS, Settings
from tfm_lib.families.weights import Place, at, linear, norm
from tfm_lib.layers import EncoderLayer, LayerNorm
from tfm_lib.positional import LearnedPositions

PREFIX = "bert."
#: position indices, stored in some files, and parts used only for next-sentence prediction
PASSED_OVER = (
    r"embeddings\.position_ids",
    r"pooler\.dense\.(?:weight|bias)",
    r"cls\.seq_relationship\.(?:weight|bias)",
)
UNTIED_BIAS = r"cls\.predictions\.bias"  # if the output is not tied, their model keeps this bias and adds another one


@dataclass(frozen=True)
class BertConfig:
    """The sizes of a BERT; the defaults are those of BERT-base. `headless`: only vectors."""

    vocab_size: int = 30522
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    n_layers: int = 12
    max_len: int = 512
    n_segments: int = 2
    eps: float = 1e-12
    activation: str = "gelu"
    tied: bool = True
    headless: bool = False


@checked
class Bert(nn.Module):
    """Maps ids to logits for the token at each position, or to vectors.

    Source: Devlin et al. (2019), section 3.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        sizes = config.d_model, config.n_heads, config.d_ff
        normed = partial(LayerNorm, eps=config.eps)
        bent = partial(BentFeedForward, activation=config.activation)
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = LearnedPositions(config.max_len, config.d_model)
        self.segments = nn.Embedding(config.n_segments, config.d_model)
        self.norm = normed(config.d_model)
        self.layers = nn.ModuleList(
            EncoderLayer(*sizes, feed_forward=bent, norm_layer=normed) for _ in range(config.n_layers)
        )
        self.head = None if config.headless else WordHead(config)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        real: Bool[Tensor, "batch n"] | None = None,
        segments: Int[Tensor, "batch n"] | None = None,
    ) -> Float[Tensor, "batch n v"]:
        """`real` is False at padding; `segments` are 0 in the first sentence (the default), 1 in the second."""
        require_tokens("ids", ids, self.tokens.weight)
        n = ids.shape[1]
        require_places(n, self.config.max_len)
        require_real(ids, real, n)
        segments = torch.zeros_like(ids) if segments is None else segments
        require_tokens("segments", segments, self.segments.weight)
        place = self.positions(n)[places(n, n, real, ids.device)]
        X = self.norm(self.tokens(ids) + place + self.segments(segments))
        mask = None if real is None else real[:, None]
        for layer in self.layers:
            X, _ = layer(X, mask)
        return X if self.head is None else self.head(X, self.tokens.weight)

    def all_weights(
        self, ids: Int[Tensor, "batch n"], real: Bool[Tensor, "batch n"] | None = None
    ) -> Float[Tensor, "batch n_layers n_heads n n"]:
        """Return all attention weights."""
        return self_weights(self, ids, real)


@checked
class WordHead(nn.Module):
    """Maps vectors to word logits: a dense layer, a norm, and the embedding's matrix or the head's own."""

    def __init__(self, config: BertConfig):
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.d_model)
        self.activation = ACTIVATIONS[config.activation]
        self.norm = LayerNorm(config.d_model, config.eps)
        self.output = None if config.tied else nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(
        self, X: Float[Tensor, "*batch d_model"], words: Float[Tensor, "v d_model"]
    ) -> Float[Tensor, "*batch v"]:
        X = self.norm(self.activation(self.dense(X)))
        return F.linear(X, words if self.output is None else self.output.weight, self.bias)


def config_of(settings: dict[str, Any]) -> BertConfig:
    """Read the sizes from a config.json of `model_type` bert."""
    read = Settings(settings, "bert")
    architecture = read.architecture("BertForMaskedLM", "BertForPreTraining", "BertModel")
    read.only("is_decoder", False)
    read.only("add_cross_attention", False)
    read.only("position_embedding_type", "absolute")
    d_model = read.whole("hidden_size", 768)
    return BertConfig(
        vocab_size=read.whole("vocab_size", 30522),
        d_model=d_model,
        n_heads=read.divisor("num_attention_heads", d_model, 12),
        d_ff=read.whole("intermediate_size", 3072),
        n_layers=read.whole("num_hidden_layers", 12, MOST_LAYERS),
        max_len=read.whole("max_position_embeddings", 512),
        n_segments=read.whole("type_vocab_size", 2),
        eps=read.number("layer_norm_eps", 1e-12),
        activation=read.one_of("hidden_act", ACTIVATIONS, "gelu"),
        tied=read.flag("tie_word_embeddings", True),
        headless=architecture == "BertModel",
    )


def named(key: str) -> str:
    """Return the current name of a key from early files, which call a norm's gain and bias gamma and beta."""
    return re.sub(r"LayerNorm\.(gamma|beta)$", lambda old: f"LayerNorm.{NORM[old[1]]}", key)


NORM = {"gamma": "weight", "beta": "bias"}


def table(config: BertConfig) -> dict[str, Place]:
    """Map each parameter to its place in the state of `transformers`."""
    words, decoder = f"{PREFIX}embeddings.word_embeddings.weight", "cls.predictions.decoder"
    tied_words = at(words, f"{decoder}.weight") if config.tied and not config.headless else at(words)
    found = {
        "tokens.weight": tied_words,
        "positions.table": at(f"{PREFIX}embeddings.position_embeddings.weight"),
        "segments.weight": at(f"{PREFIX}embeddings.token_type_embeddings.weight"),
        **norm("norm", f"{PREFIX}embeddings.LayerNorm"),
    }
    for i in range(config.n_layers):
        ours, theirs = f"layers.{i}", f"{PREFIX}encoder.layer.{i}"
        for name, there in {
            "self_attention.W_Q": "attention.self.query",
            "self_attention.W_K": "attention.self.key",
            "self_attention.W_V": "attention.self.value",
            "self_attention.W_O": "attention.output.dense",
            "feed_forward.W_1": "intermediate.dense",
            "feed_forward.W_2": "output.dense",
        }.items():
            found |= linear(f"{ours}.{name}", f"{theirs}.{there}")
        found |= norm(f"{ours}.residuals.0.norm", f"{theirs}.attention.output.LayerNorm")
        found |= norm(f"{ours}.residuals.1.norm", f"{theirs}.output.LayerNorm")
    if not config.headless:
        found |= linear("head.dense", "cls.predictions.transform.dense")
        found |= norm("head.norm", "cls.predictions.transform.LayerNorm")
        if config.tied:
            found["head.bias"] = at("cls.predictions.bias", f"{decoder}.bias")
        else:
            found |= {"head.output.weight": at(f"{decoder}.weight"), "head.bias": at(f"{decoder}.bias")}
    return found
