"""Define the four model families of the miniature table behind one interface, for one trainer and one search.

Each has what the trainer and the search need from a `Transformer`: `embedding`, shared by source, target and output as
in the paper's section 3.4; `encode`, which returns a tuple of tensors with a row for each source; `decode`, the last
vectors for target tokens; `hidden`, both. All end in a layer norm, as a pre-norm Transformer does.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tfm_lib.attention import BilinearScore, attention
from tfm_lib.data import Tokenizer, pad
from tfm_lib.decoding import Beam
from tfm_lib.layers import LayerNorm
from tfm_lib.positional import sinusoidal_encoding
from tfm_lib.transformer import Embedding, Transformer, TransformerConfig


class States(NamedTuple):
    """Output of a recurrent encoder: a state per source token, the mask, and the decoder's initial state."""

    H: Tensor  # (batch, m, d_model)
    mask: Tensor  # (batch, 1, m)
    start: Tensor  # (batch, n_layers, d_model)


class Recurrent(nn.Module):
    """GRU encoder and decoder; with `attends` the decoder attends to every state of the encoder.

    Source: Sutskever et al. (2014) and Cho et al. (2014); with `attends` Luong et al. (2015), the score "general".
    Differs: the encoder is bidirectional, as in Bahdanau et al. (2015), with half of d_model per direction.
    """

    def __init__(self, config: TransformerConfig, attends: bool):
        super().__init__()
        self.config, d = config, config.d_model
        self.embedding = Embedding(config, torch.zeros)
        made = {"num_layers": config.n_layers, "dropout": config.dropout, "batch_first": True}
        self.encoder = nn.GRU(d, d // 2, bidirectional=True, **made)
        self.decoder = nn.GRU(d, d, **made)
        self.score: nn.Module | None = BilinearScore(d, d) if attends else None
        self.W_c = nn.Linear(2 * d, d) if attends else None
        self.dropout = nn.Dropout(config.dropout)
        self.norm = LayerNorm(d)

    def hidden(self, src_ids: Tensor, tgt_ids: Tensor) -> Tensor:
        return self.decode(tgt_ids, self.encode(src_ids))

    def encode(self, src_ids: Tensor) -> States:
        real = src_ids != self.config.pad_id
        packed = pack_padded_sequence(self.embedding(src_ids), real.sum(1).cpu(), True, enforce_sorted=False)
        states, last = self.encoder(packed)
        H, _ = pad_packed_sequence(states, batch_first=True, total_length=src_ids.shape[1])
        start = last.unflatten(0, (self.config.n_layers, 2)).permute(2, 0, 1, 3).flatten(2)  # both directions
        return States(H, real.unsqueeze(1), start)

    def decode(self, tgt_ids: Tensor, memory: States) -> Tensor:
        h, _ = self.decoder(self.embedding(tgt_ids), memory.start.transpose(0, 1).contiguous())
        if self.score and self.W_c:
            scores = self.score(h, memory.H).masked_fill(~memory.mask, -torch.inf)
            h = torch.tanh(self.W_c(torch.cat([h, scores.softmax(dim=-1) @ memory.H], dim=-1)))
        return self.norm(self.dropout(h))


class Window(nn.Module):
    """A gated convolution over `k` neighbours, X + GLU([x_{i−before}; …]W + b), after a layer norm.

    Source: Gehring et al. (2017), section 3.2. Differs: a layer norm in place of weight normalisation.
    """

    def __init__(self, d_model: int, before: int, after: int):
        super().__init__()
        self.around = (before, after)
        self.norm = LayerNorm(d_model)
        self.W = nn.Linear((before + 1 + after) * d_model, 2 * d_model)

    def forward(self, X: Tensor, real: Tensor | None = None) -> Tensor:
        inner = self.norm(X) if real is None else self.norm(X) * real
        before, after = self.around
        neighbours = F.pad(inner, (0, 0, before, after)).unfold(1, before + 1 + after, 1).mT
        return F.glu(self.W(neighbours.flatten(2)), dim=-1)


class Sources(NamedTuple):
    """Output of a convolutional encoder: keys, values (which include the word embeddings), and the mask."""

    Z: Tensor  # (batch, m, d_model)
    V: Tensor
    mask: Tensor  # (batch, 1, m)


class Convolutional(nn.Module):
    """Convolutional encoder and decoder of width 3; each decoder layer attends to the source.

    Source: Gehring et al. (2017), section 3. Differs: sinusoids for positions, layer norms, embeddings as wide as
    layers.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config, d, layers = config, config.d_model, range(config.n_layers)
        self.embedding = Embedding(config, sinusoidal_encoding)
        self.encoder = nn.ModuleList(Window(d, 1, 1) for _ in layers)
        self.decoder = nn.ModuleList(Window(d, 2, 0) for _ in layers)
        self.asks = nn.ModuleList(nn.Linear(d, d) for _ in layers)
        self.brings = nn.ModuleList(nn.Linear(d, d) for _ in layers)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder_norm, self.norm = LayerNorm(d), LayerNorm(d)

    def hidden(self, src_ids: Tensor, tgt_ids: Tensor) -> Tensor:
        return self.decode(tgt_ids, self.encode(src_ids))

    def encode(self, src_ids: Tensor) -> Sources:
        real = (src_ids != self.config.pad_id).unsqueeze(-1)
        words = X = self.embedding(src_ids)
        for layer in self.encoder:
            X = (X + self.dropout(layer(X, real))) * math.sqrt(0.5)
        Z = self.encoder_norm(X)
        return Sources(Z, (Z + words) * math.sqrt(0.5), real.mT)

    def decode(self, tgt_ids: Tensor, memory: Sources) -> Tensor:
        words = Y = self.embedding(tgt_ids)
        for layer, asks, brings in zip(self.decoder, self.asks, self.brings):
            h = layer(Y)
            found, _ = attention((asks(h) + words) * math.sqrt(0.5), memory.Z, memory.V, memory.mask)
            Y = (Y + self.dropout((h + brings(found)) * math.sqrt(0.5))) * math.sqrt(0.5)
        return self.norm(Y)


Model = Recurrent | Convolutional | Transformer

#: Sizes with as many parameters as the Transformer's, within 3 %.
SIZES = {
    "gru": TransformerConfig(4000, d_model=280, n_heads=1, d_ff=1, n_layers=2),
    "gru with attention": TransformerConfig(4000, d_model=264, n_heads=1, d_ff=1, n_layers=2),
    "convolutional": TransformerConfig(4000, d_model=192, n_heads=1, d_ff=1, n_layers=4),
    "transformer": TransformerConfig(4000, d_model=160, n_heads=5, d_ff=640, n_layers=3, norm="pre"),
}
MAKE: dict[str, Callable[[TransformerConfig], Model]] = {
    "gru": partial(Recurrent, attends=False),
    "gru with attention": partial(Recurrent, attends=True),
    "convolutional": Convolutional,
    "transformer": Transformer,
}


@torch.no_grad()
def translated(model: Model, tokenizer: Tokenizer, sentences: Sequence[str], beam: int) -> list[str]:
    """Translate each sentence by beam search with the paper's length penalty, or greedily with `beam=1`."""
    sources, found = tokenizer.encode_all(list(sentences)), [""] * len(sentences)
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for first in range(0, len(order), 32):
        rows = order[first : first + 32]
        src = pad([[*sources[i], tokenizer.eos_id] for i in rows], tokenizer.pad_id)
        for i, ids in zip(rows, _searched(model, src, tokenizer, beam)):
            found[i] = tokenizer.decode(ids, tokenizer.unknown(sentences[i]))
    return found


def _searched(model: Model, src_ids: Tensor, tokenizer: Tokenizer, beam: int) -> list[list[int]]:
    """Return the best hypothesis per source. The prefix is decoded again at each step, so no model needs a cache."""
    longest = 2 * src_ids.shape[1] + 20
    searches = [Beam(tokenizer.bos_id, tokenizer.eos_id, beam, max_len=longest) for _ in src_ids]
    memory, going = model.encode(src_ids), list(enumerate(searches))
    while going:
        places = torch.tensor([i for i, search in going for _ in search.open])
        written = [[tokenizer.bos_id, *hypothesis.ids] for _, search in going for hypothesis in search.open]
        seen = type(memory)(*(of_sources[places] for of_sources in memory))
        logits = model.embedding.unembed(model.decode(torch.tensor(written), seen)[:, -1])
        log_p, tokens = logits.log_softmax(dim=-1).topk(beam)
        start = 0
        for _, search in going:
            own = slice(start, start := start + len(search.open))
            search.advance(tokens[own].tolist(), log_p[own].tolist())
        going = [(i, search) for i, search in going if not search.is_over]
    return [search.found[0].ids for search in searches]
