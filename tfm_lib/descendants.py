"""Descendants: other questions asked of the same layers, and what became of the layers since."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import (
    bad_input, require_norm, require_number, require_room, require_sizes, require_tokens, require_whole, shape_of,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.efficient import GroupedQueryAttention
from tfm_lib.layers import EncoderLayer, LayerNorm
from tfm_lib.multihead import Bias, Heads
from tfm_lib.positional import LearnedPositions, rotary, sinusoidal_encoding
from tfm_lib.transformer import DecoderOnly, Embedding, EncoderOnly, TransformerConfig

__all__ = [
    "Classifier",
    "FactorisedEmbedding",
    "LowRankAdapter",
    "MixtureOfExperts",
    "RMSNorm",
    "RotaryGroupedAttention",
    "SwiGLU",
    "VisionTransformer",
    "add_adapters",
    "balance_loss",
    "corrupt_spans",
    "decoder_of_today",
    "masked_words",
    "order_mask",
    "patches",
    "share_layers",
    "top_k_gates",
]

FIRST_WORD = len(Vocabulary.special)


@checked
def masked_words(
    ids: Int[Tensor, "batch n"],
    mask_id: int,
    share: float = 0.15,
    generator: torch.Generator | None = None,
) -> tuple[Int[Tensor, "batch n"], Int[Tensor, "batch n"]]:
    """BERT's exercise: what the model reads, and what it must say there; padding asks nothing.

    A `share` of the words is asked for. Of these 80 % become `mask_id`, 10 % any word, and 10 %
    stay as they are. Words are the ids after the special ones and below `mask_id`, the last id.

    Source: Devlin et al. (2019), section 3.1, "Masked LM".
    """
    _require_question(ids, "mask_id", mask_id, share)
    if (ids > mask_id).any():
        raise bad_input("ids", f"be at most mask_id = {mask_id}, the last id", int(ids.max()))
    draw = partial(torch.rand, ids.shape, generator=generator)
    asked = (ids >= FIRST_WORD) & (ids < mask_id) & (draw() < share)
    any_word = torch.randint(FIRST_WORD, mask_id, ids.shape, generator=generator)
    fate = draw()
    read = torch.where(asked & (fate < 0.8), mask_id, ids)
    read = torch.where(asked & (fate >= 0.9), any_word, read)
    return read, ids.masked_fill(~asked, Vocabulary.pad_id)


@checked
def corrupt_spans(
    ids: Int[Tensor, " n"],
    first_sentinel: int,
    share: float = 0.15,
    mean_length: float = 3.0,
    generator: torch.Generator | None = None,
) -> tuple[list[int], list[int]]:
    """T5's exercise: the sentence with gaps for the encoder, what fell out for the decoder.

    A `share` of the tokens falls out, in spans of about `mean_length`. Span i leaves the sentinel
    `first_sentinel` + i behind; the target is each sentinel with its span, and one sentinel more.

    Source: Raffel et al. (2020), section 3.1.4, figure 2.
    Differs: the last token may stay, which in the published code always falls out.
    """
    _require_question(ids, "first_sentinel", first_sentinel, share, least=2)
    if (ids >= first_sentinel).any():
        raise bad_input("ids", f"be below first_sentinel = {first_sentinel}", int(ids.max()))
    require_number("mean_length", mean_length, lambda length: length >= 1, "be at least 1")
    n_lost = min(max(round(len(ids) * share), 1), len(ids) - 1)
    n_spans = min(max(round(n_lost / mean_length), 1), n_lost, len(ids) - n_lost)
    lost = _pieces(n_lost, n_spans, generator)
    kept = _pieces(len(ids) - n_lost + 2, n_spans + 1, generator)  # of which the ends may be empty
    src, tgt, rest = [], [], ids.tolist()
    for i, (stay, fall) in enumerate(zip([kept[0] - 1, *kept[1:]], lost)):
        sentinel = first_sentinel + i
        src += [*rest[:stay], sentinel]
        tgt += [sentinel, *rest[stay : stay + fall]]
        rest = rest[stay + fall :]
    return src + rest, [*tgt, first_sentinel + n_spans]


@checked
def order_mask(order: Int[Tensor, " n"]) -> Bool[Tensor, "n n"]:
    """The mask of reading in another order: i may attend to j if `order` names j no later than i.

    `order` holds each position once; 0, 1, 2, … gives `causal_mask`.

    Source: Yang et al. (2019), section 2.3, the content stream.
    """
    _require_order(order)
    turn = order.argsort()  # when each position has its turn
    return turn <= turn[:, None]


@checked
class Classifier(nn.Module):
    """An encoder with a new linear head that reads a class from the first token, [CLS].

    Source: Devlin et al. (2019), section 4.1.
    """

    def __init__(self, encoder: EncoderOnly, n_classes: int):
        super().__init__()
        require_sizes(n_classes=n_classes)
        self.encoder, self.head = encoder, nn.Linear(encoder.config.d_model, n_classes)

    def forward(self, ids: Int[Tensor, "batch n"]) -> Float[Tensor, "batch classes"]:
        return self.head(self.encoder.hidden(ids)[:, 0])


@checked
class LowRankAdapter(nn.Module):
    """A linear map whose weights stay as they are, plus a trainable one of low rank, at first 0.

    The output is XWᵀ + b + α/r · XAᵀBᵀ, with A of r × d_in and B of d_out × r numbers.

    Source: Hu et al. (2022), section 4.1.
    """

    def __init__(self, linear: nn.Linear, rank: int = 4, alpha: float = 8.0):
        super().__init__()
        require_sizes(rank=rank)
        require_number("alpha", alpha, lambda alpha: alpha > 0, "be above 0")
        self.linear, self.scale = linear.requires_grad_(False), alpha / rank
        self.A = nn.Parameter(torch.randn(rank, linear.in_features) / linear.in_features**0.5)
        self.B = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, X: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        return self.linear(X) + self.scale * (X @ self.A.T @ self.B.T)


@checked
def add_adapters(model: EncoderOnly | DecoderOnly, rank: int = 4) -> EncoderOnly | DecoderOnly:
    """`model` with its weights frozen and adapters at the queries and values of each layer.

    Source: Hu et al. (2022), section 4.2.
    """
    require_sizes(rank=rank)
    model.requires_grad_(False)
    attention: Any
    for attention in (layer.self_attention for layer in model.layers):
        attention.W_Q = LowRankAdapter(attention.W_Q, rank)
        attention.W_V = LowRankAdapter(attention.W_V, rank)
    return model


@checked
def share_layers(model: EncoderOnly | DecoderOnly) -> EncoderOnly | DecoderOnly:
    """`model` with its first layer in the place of all: as deep as before, one layer to store.

    Source: Lan et al. (2020), section 3.1, "Cross-layer parameter sharing".
    """
    model.layers = nn.ModuleList([model.layers[0]] * len(model.layers))
    return model


@checked
class FactorisedEmbedding(Embedding):
    """Narrow embeddings, `d_embedding` numbers a word, and one matrix that widens them all.

    V · d_model parameters become V · d_embedding + d_embedding · d_model; the way back to words
    uses both matrices once more.

    Source: Lan et al. (2020), section 3.1, "Factorized embedding parameterization".
    """

    def __init__(self, config: TransformerConfig, d_embedding: int = 128):
        require_sizes(d_embedding=d_embedding)
        super().__init__(replace(config, d_model=d_embedding, n_heads=1))
        self.make_positions = partial(sinusoidal_encoding, config.max_len, config.d_model)
        self.register_buffer("positions", self.make_positions(), persistent=False)
        self.d_model = config.d_model
        self.widen = nn.Linear(d_embedding, config.d_model, bias=False)

    def forward(
        self,
        ids: Int[Tensor, "batch n"],
        start: int = 0,
    ) -> Float[Tensor, "batch n d_model"]:
        require_tokens("ids", ids, self.tokens.weight)
        require_whole("start", start, 0)
        end = start + ids.shape[1]
        require_room(end, len(self.positions))
        X = self.widen(self.tokens(ids) * self.scale)
        return self.dropout(X + self.positions[start:end])

    def unembed(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch v"]:
        return F.linear(X @ self.widen.weight, self.tokens.weight)


@checked
def top_k_gates(
    logits: Float[Tensor, "*batch experts"],
    k: int,
) -> Float[Tensor, "*batch experts"]:
    """The softmax over the `k` largest logits, and exactly 0 for the others.

    Source: Shazeer et al. (2017), section 2.1, equations 3 to 5, without their noise.
    """
    _require_k(logits, k)
    best, chosen = logits.topk(k)
    return torch.zeros_like(logits).scatter(-1, chosen, best.softmax(dim=-1))


@checked
class MixtureOfExperts(nn.Module):
    """Many feed-forward networks, of which a router asks `k` for each token: Σ gateᵢ · expertᵢ(x).

    It takes the place of `FeedForward`. A token costs what its `k` experts cost.

    Source: Shazeer et al. (2017), section 2, equation 1.
    """

    def __init__(self, d_model: int, d_ff: int, n_experts: int = 8, k: int = 2):
        super().__init__()
        require_sizes(d_model=d_model, d_ff=d_ff, n_experts=n_experts)
        _require_k(torch.empty(n_experts), k)
        self.d_model, self.k = d_model, k
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(SwiGLU(d_model, d_ff) for _ in range(n_experts))

    def forward(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        gates = top_k_gates(self.router(X), self.k)
        Y = torch.zeros_like(X)
        for expert, gate in zip(self.experts, gates.unbind(dim=-1)):
            sent = gate != 0  # the tokens that this expert is asked for
            Y[sent] += gate[sent].unsqueeze(-1) * expert(X[sent])
        return Y


@checked
def balance_loss(logits: Float[Tensor, "*batch experts"], k: int) -> Float[Tensor, ""]:
    """E · Σ fᵢ Pᵢ over the E experts: 1 where all are asked equally often, up to E / k where not.

    fᵢ is the share of the requests that go to expert i, Pᵢ the mean of its probability before the
    cut. Only P has a slope; f says which of them to lower.

    Source: Fedus, Zoph and Shazeer (2022), section 2.2, equations 4 to 6, there with k = 1.
    """
    logits = logits.reshape(-1, logits.shape[-1])
    if not len(logits):
        raise bad_input("logits", "hold at least one token", shape_of(logits))
    asked = (top_k_gates(logits, k) > 0).float()
    p = logits.softmax(dim=-1)
    return logits.shape[-1] * (asked.mean(dim=0) / k * p.mean(dim=0)).sum()


@checked
class RMSNorm(nn.Module):
    """Each vector divided by its root mean square, γ · x / √(mean(x²) + ε): no mean, no shift.

    Source: Zhang and Sennrich (2019), equation 4.
    """

    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        require_norm(eps, d_model)
        self.d_model, self.eps = d_model, eps
        self.gain = nn.Parameter(torch.ones(d_model))  # γ

    def forward(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return self.gain * X / torch.sqrt(X.square().mean(dim=-1, keepdim=True) + self.eps)


@checked
class SwiGLU(nn.Module):
    """The gated network (silu(xW_gate) · xW₁)W₂, silu(x) = x · σ(x), without biases.

    Source: Shazeer (2020), equation 6; Dauphin et al. (2017) for gates.
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        require_sizes(d_model=d_model, d_ff=d_ff)
        self.d_model = d_model
        self.W_1 = nn.Linear(d_model, d_ff, bias=False)
        self.W_gate = nn.Linear(d_model, d_ff, bias=False)
        self.W_2 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, X: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return self.W_2(F.silu(self.W_gate(X)) * self.W_1(X))


class RotaryGroupedAttention(GroupedQueryAttention):
    """Grouped keys and values, rotary positions, no biases."""

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, n_key_heads: int = 1):
        super().__init__(d_model, n_heads, dropout, n_key_heads)
        for W in (self.W_Q, self.W_K, self.W_V, self.W_O):
            W.register_parameter("bias", None)

    def compared(self, Q: Heads, K: Heads) -> tuple[Heads, Heads, Bias | None]:
        return rotary(Q, K.shape[-2] - Q.shape[-2]), rotary(K), None


@checked
def decoder_of_today(config: TransformerConfig, n_key_heads: int = 1) -> DecoderOnly:
    """A decoder as they are built since 2023, by the factories of the layers of 2017.

    Source: Touvron et al. (2023), section 2.2; shared keys from Ainslie et al. (2023).
    Differs: as in 2017, the output shares the embedding's matrix, and embeddings are
    scaled by √d_model.
    """
    return DecoderOnly(
        replace(config, norm="pre"),
        attention=partial(RotaryGroupedAttention, n_key_heads=n_key_heads),
        positions=torch.zeros,  # the attention knows them
        feed_forward=SwiGLU,
        norm_layer=RMSNorm,
    )


@checked
def patches(images: Float[Tensor, "batch height width"], size: int) -> Float[Tensor, "batch n d"]:
    """Each image cut into squares of `size` · `size` pixels, row by row: a sentence of vectors.

    Source: Dosovitskiy et al. (2021), section 3.1.
    """
    _require_images(images, size)
    squares = images.unfold(1, size, size).unfold(2, size, size)  # (batch, down, across, ·, ·)
    return squares.flatten(-2).flatten(1, 2)


@checked
class VisionTransformer(nn.Module):
    """Patches as words, one learned word in front that gathers, and the classes read from it.

    Images are `side` · `side` pixels, patches `size` · `size`.

    Source: Dosovitskiy et al. (2021), section 3.1, equations 1 to 4.
    """

    def __init__(self, config: TransformerConfig, side: int, size: int, n_classes: int):
        super().__init__()
        _require_images(torch.empty(1, side, side), size)
        require_sizes(n_classes=n_classes)
        self.size = size
        self.embed = nn.Linear(size * size, config.d_model)
        self.gather = nn.Parameter(torch.randn(config.d_model) * config.d_model**-0.5)
        self.positions = LearnedPositions(1 + (side // size) ** 2, config.d_model)
        sizes = config.d_model, config.n_heads, config.d_ff, config.dropout
        layers = (EncoderLayer(*sizes, norm="pre") for _ in range(config.n_layers))
        self.layers = nn.ModuleList(layers)
        self.norm = LayerNorm(config.d_model)
        self.read = nn.Linear(config.d_model, n_classes)

    def forward(
        self,
        images: Float[Tensor, "batch height width"],
    ) -> Float[Tensor, "batch classes"]:
        X = self.embed(patches(images, self.size))
        X = torch.cat([self.gather.expand(len(X), 1, -1), X], dim=1)
        X = X + self.positions(X.shape[1])
        for layer in self.layers:
            X, _ = layer(X)
        return self.read(self.norm(X[:, 0]))


def _pieces(total: int, count: int, generator: torch.Generator | None) -> list[int]:
    """`total` cut into `count` lengths of at least 1, every way to cut it equally likely."""
    cuts = torch.randperm(total - 1, generator=generator)[: count - 1].sort().values + 1
    edges = [0, *cuts.tolist(), total]
    return [after - before for before, after in pairwise(edges)]


def _require_question(ids: Tensor, name: str, beyond: int, share: float, least: int = 0) -> None:
    """Enough ids, the first id that is no word, and a share of them to ask for."""
    if ids.shape[-1] < least:
        raise bad_input("ids", f"hold at least {least} tokens", shape_of(ids))
    require_whole(name, beyond, FIRST_WORD + 1)
    require_number("share", share, lambda share: 0 < share < 1, "be a share above 0 and below 1")


def _require_order(order: Tensor) -> None:
    if not order.sort().values.equal(torch.arange(len(order), device=order.device)):
        raise bad_input(
            "order", "hold each position once, (n,)", order.tolist() if order.numel() < 20 else shape_of(order)
        )


def _require_k(logits: Tensor, k: int) -> None:
    must = f"be a whole number from 1 to the {logits.shape[-1]} experts"
    require_whole("k", k, 1, must)
    if k > logits.shape[-1]:
        raise bad_input("k", must, k)


def _require_images(images: Tensor, size: int) -> None:
    require_sizes(size=size)
    height, width = images.shape[1:]
    if height % size or width % size:
        raise bad_input("size", f"divide both sides of an image, {height} and {width}", size)
