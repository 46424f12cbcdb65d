"""Marian: the paper's encoder–decoder, with all sines before all cosines, and a bias on the logits."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import require_tokens
from tfm_lib._shapes import checked
from tfm_lib.decoding import NextToken
from tfm_lib.families.parts import ACTIVATIONS, BentFeedForward, places, require_places
from tfm_lib.families.settings import MOST_LAYERS, NotSupported, Settings
from tfm_lib.families.weights import Place, at, linear, norm
from tfm_lib.masking import padding_mask
from tfm_lib.positional import sinusoidal_encoding
from tfm_lib.transformer import Embedding, Memory, Transformer, TransformerConfig

PREFIX = "model."
PASSED_OVER = (r"(?:encoder|decoder)\.embed_positions\.weight",)  # sines and cosines, which old files store as tensors
UNREAD = r"shared\.weight"  # if nothing is tied, their state keeps this, and nothing reads it

LARGEST_TABLE = 100_000_000  # numbers; the table is computed, not read


@dataclass(frozen=True)
class MarianConfig:
    """The sizes of a Marian, and the ids of its first and last token.

    `shared`: source and target share one matrix; `tied`: the output uses the target's.
    """

    sizes: TransformerConfig
    src_vocab_size: int
    start_id: int
    eos_id: int
    activation: str = "swish"
    scaled: bool = True
    shared: bool = True
    tied: bool = True


@checked
class MarianEmbedding(Embedding):
    """The core's embedding; `real` makes it count positions over real tokens, and the logits have a bias."""

    positions: Tensor

    def __init__(self, sizes: TransformerConfig, config: MarianConfig, output: bool):
        super().__init__(sizes, sines_then_cosines)
        if not config.scaled:
            self.scale = 1.0
        self.output = nn.Linear(sizes.d_model, sizes.vocab_size, bias=False) if output and not config.tied else None
        self.bias = nn.Parameter(torch.zeros(sizes.vocab_size)) if output else None

    def forward(
        self, ids: Int[Tensor, "batch n"], start: int = 0, real: Bool[Tensor, "batch n"] | None = None
    ) -> Float[Tensor, "batch n d_model"]:
        if real is None:
            return super().forward(ids, start)
        require_tokens("ids", ids, self.tokens.weight)
        require_places(ids.shape[1], len(self.positions))
        place = places(ids.shape[1], ids.shape[1], real, ids.device)
        return self.tokens(ids) * self.scale + self.positions[place].to(self.tokens.weight.dtype)

    def unembed(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch v"]:
        return F.linear(X, self.tokens.weight if self.output is None else self.output.weight, self.bias)


@checked
class Marian(Transformer):
    """The core's Transformer with another activation and order of sines, and sources that may be padded on the left.

    Source: Junczys-Dowmunt et al. (2018), section 3.
    """

    def __init__(self, config: MarianConfig):
        super().__init__(config.sizes, feed_forward=partial(BentFeedForward, activation=config.activation))
        self.marian = config
        self.embedding = MarianEmbedding(config.sizes, config, output=True)
        of_source = TransformerConfig(**{**vars(config.sizes), "vocab_size": config.src_vocab_size})
        self.source = None if config.shared else MarianEmbedding(of_source, config, output=False)

    def encode(self, src_ids: Int[Tensor, "batch m"]) -> Memory:
        mask = padding_mask(src_ids, self.config.pad_id)
        X = (self.embedding if self.source is None else self.source)(src_ids, real=mask[:, 0])
        for layer in self.encoder:
            X, _ = layer(X, mask)
        return Memory(self.encoder_norm(X), mask)

    @torch.no_grad()
    def translated(self, src_ids: Int[Tensor, "one m"], max_len: int) -> list[int]:
        """Decode greedily, never choosing padding; return the ids up to, but without, the end of the sentence."""
        ask, written = NextToken(self, src_ids), [self.marian.start_id]
        while len(written) <= max_len:
            logits = ask(src_ids.new_tensor([written[-1:]]))
            logits[:, self.config.pad_id] = -torch.inf
            if (newest := int(logits.argmax())) == self.marian.eos_id:
                break
            written.append(newest)
        return written[1:]


def sines_then_cosines(n: int, d_model: int) -> Float[Tensor, "{n} {d_model}"]:
    """Return the paper's encoding with even columns first, on the CPU even inside `torch.device("meta")`."""
    with torch.device("cpu"):
        waves = sinusoidal_encoding(n, d_model)
    return torch.cat([waves[:, 0::2], waves[:, 1::2]], dim=-1)


def config_of(settings: dict[str, Any]) -> MarianConfig:
    """Read the sizes from a config.json of `model_type` marian."""
    read = Settings(settings, "marian")
    read.architecture("MarianMTModel")
    for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm", "add_bias_logits"):
        read.only(name, False)
    read.only("static_position_embeddings", True)
    d_model = read.whole("d_model", 1024)
    if d_model % 2:
        raise NotSupported(f"config.json: d_model must be even, for positions are pairs of numbers; it is {d_model}.")
    for name in ("layers", "attention_heads", "ffn_dim"):
        mine, theirs = read.whole(f"encoder_{name}"), read.whole(f"decoder_{name}")
        if mine != theirs:
            raise NotSupported(
                f"config.json: encoder_{name} is {mine} and decoder_{name} {theirs}; only equal ones are supported."
            )
    max_len = read.whole("max_position_embeddings", 1024)
    if max_len * d_model > LARGEST_TABLE:
        raise NotSupported(
            f"config.json: max_position_embeddings is {max_len} and d_model {d_model}: "
            "a table of positions of that size is not supported."
        )
    vocab_size = read.whole("vocab_size")
    one_vocabulary, tied = read.flag("share_encoder_decoder_embeddings", True), read.flag("tie_word_embeddings", True)
    of_target = vocab_size if one_vocabulary else read.whole("decoder_vocab_size", vocab_size)
    pad_id = read.token("pad_token_id", min(vocab_size, of_target))
    sizes = TransformerConfig(
        vocab_size=of_target,
        d_model=d_model,
        n_heads=read.divisor("encoder_attention_heads", d_model),
        d_ff=read.whole("encoder_ffn_dim"),
        n_layers=read.whole("encoder_layers", most=MOST_LAYERS),
        dropout=0.0,
        pad_id=pad_id,
        max_len=max_len,
    )
    return MarianConfig(
        sizes,
        src_vocab_size=vocab_size,
        start_id=read.token("decoder_start_token_id", of_target),
        eos_id=read.token("eos_token_id", of_target, 0),
        activation=read.one_of("activation_function", ACTIVATIONS, "gelu"),
        scaled=read.flag("scale_embedding", False),
        shared=one_vocabulary and tied,
        tied=tied,
    )


def table(config: MarianConfig) -> dict[str, Place]:
    """Map each parameter to its place in the state of `transformers`."""
    found = {**_embeddings(config), "embedding.bias": at("final_logits_bias", read=_row)}
    for i in range(config.sizes.n_layers):
        found |= _layer(f"encoder.{i}", f"{PREFIX}encoder.layers.{i}", {"self_attention": "self_attn"})
        attentions = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
        found |= _layer(f"decoder.{i}", f"{PREFIX}decoder.layers.{i}", attentions)
    return found


def _embeddings(config: MarianConfig) -> dict[str, Place]:
    source, target = f"{PREFIX}encoder.embed_tokens.weight", f"{PREFIX}decoder.embed_tokens.weight"
    if config.shared:
        return {"embedding.tokens.weight": at(f"{PREFIX}shared.weight", source, target, "lm_head.weight")}
    found = {"source.tokens.weight": at(source)}
    if config.tied:
        return {**found, "embedding.tokens.weight": at(target, "lm_head.weight")}
    return {**found, "embedding.tokens.weight": at(target), "embedding.output.weight": at("lm_head.weight")}


def _layer(ours: str, theirs: str, attentions: dict[str, str]) -> dict[str, Place]:
    found = {}
    for place, (attention, there) in enumerate(attentions.items()):
        for name, projection in {"W_Q": "q_proj", "W_K": "k_proj", "W_V": "v_proj", "W_O": "out_proj"}.items():
            found |= linear(f"{ours}.{attention}.{name}", f"{theirs}.{there}.{projection}")
        found |= norm(f"{ours}.residuals.{place}.norm", f"{theirs}.{there}_layer_norm")
    found |= linear(f"{ours}.feed_forward.W_1", f"{theirs}.fc1") | linear(f"{ours}.feed_forward.W_2", f"{theirs}.fc2")
    return found | norm(f"{ours}.residuals.{len(attentions)}.norm", f"{theirs}.final_layer_norm")


def _row(bias: Tensor) -> Tensor:
    """Flatten a bias that is stored as one row."""
    return bias.squeeze(0)
