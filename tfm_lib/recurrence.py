"""Recurrence: reading and writing one word at a time, with one vector between the two."""

from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tfm_lib._errors import (
    bad_input, first_index, require_logits_of, require_sizes, require_slopes, require_state,
    require_tokens, require_values, require_whole, shape_of,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib._vocabulary import Vocabulary

__all__ = ["DilatedConvolutions", "Seq2Seq", "WordWindow", "gradient_reach", "greedy"]

State = Tensor | tuple[Tensor, Tensor]  # an LSTM's state is two tensors
_CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


@checked
class Seq2Seq(nn.Module):
    """An encoder RNN reads the source; its last state starts a decoder RNN that writes.

    `src_ids` (batch, m) and `tgt_ids` (batch, n) end in padding, `pad_id`; `tgt_ids` begin
    with <bos>, and the logits at position i are for the word after it (teacher forcing).

    Source: Sutskever, Vinyals and Le (2014), section 2; Cho et al. (2014), section 2.2.
    Differs: one layer each; the source is reversed only if the caller reverses it. Cho et al.
    give the last state to every step of the decoder, and their gate acts before the product.
    """

    def __init__(
        self,
        src_vocab: int,
        tgt_vocab: int,
        d_model: int,
        cell: Literal["rnn", "lstm", "gru"] = "gru",
        pad_id: int = Vocabulary.pad_id,
    ):
        super().__init__()
        require_sizes(src_vocab=src_vocab, tgt_vocab=tgt_vocab, d_model=d_model)
        require_whole("pad_id", pad_id)
        self.pad_id = pad_id
        self.src_embedding = nn.Embedding(src_vocab, d_model)
        self.tgt_embedding = nn.Embedding(tgt_vocab, d_model)
        self.encoder = _CELLS[cell](d_model, d_model, batch_first=True)
        self.decoder = _CELLS[cell](d_model, d_model, batch_first=True)
        self.output = nn.Linear(d_model, tgt_vocab)

    def forward(
        self,
        src_ids: Int[Tensor, "batch m"],
        tgt_ids: Int[Tensor, "batch n"],
    ) -> Float[Tensor, "batch n v"]:
        _, state = self.encode(src_ids)
        logits, _ = self.decode(tgt_ids, state)
        return logits

    def encode(
        self,
        src_ids: Int[Tensor, "batch m"],
    ) -> tuple[Float[Tensor, "batch m d_model"], State]:
        """Every state of the encoder, and each sentence's last one before its padding."""
        require_tokens("src_ids", src_ids, self.src_embedding.weight)
        lengths, X = _lengths(src_ids, self.pad_id), self.src_embedding(src_ids)
        packed = pack_padded_sequence(X, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        H, _ = pad_packed_sequence(states, batch_first=True, total_length=X.shape[1])
        return H, last

    def decode(
        self,
        tgt_ids: Int[Tensor, "batch n"],
        state: State,
    ) -> tuple[Float[Tensor, "batch n v"], State]:
        """Logits for the words after `tgt_ids`, and the state from which to go on."""
        require_tokens("tgt_ids", tgt_ids, self.tgt_embedding.weight)
        require_state(state, self.decoder, len(tgt_ids))
        states, state = self.decoder(self.tgt_embedding(tgt_ids), state)
        return self.output(states), state


@torch.no_grad()
@checked
def greedy(
    start: Callable[[Int[Tensor, "batch m"]], object],
    step: Callable[[Int[Tensor, "batch 1"], object], tuple[Tensor, object]],
    src_ids: Int[Tensor, "batch m"],
    bos_id: int,
    eos_id: int,
    max_len: int,
) -> Int[Tensor, "batch n"]:
    """Write the most probable word at each step, until every sentence has its <eos>.

    `start(src_ids)` gives the first state, `step(ids, state)` the next word's logits and the
    next state. It stops after `max_len` words in any case; what stands after a sentence's
    first <eos> means nothing.

    Source: Sutskever, Vinyals and Le (2014), section 3.2, with a beam of 1.
    """
    require_sizes(max_len=max_len)
    require_sizes(0, bos_id=bos_id, eos_id=eos_id)
    state = start(src_ids)
    ids = src_ids.new_full((len(src_ids), 1), bos_id)
    finished, written = torch.zeros_like(ids, dtype=torch.bool), []
    while len(written) < max_len and not finished.all():
        logits, state = step(ids, state)
        require_logits_of(logits, len(src_ids))
        ids = logits[:, -1:].argmax(dim=-1)
        finished = finished | (ids == eos_id)
        written.append(ids)
    return torch.cat(written, dim=1)


@checked
class WordWindow(nn.Module):
    """Each position sees `window` words on either side: max(0, [x_{i−w}; …; x_{i+w}]W + b).

    Beyond the ends of the sentence stand zeros.

    Source: Collobert et al. (2011), section 3.3.1.
    Differs: max(0, ·) where they have a clipped tanh.
    """

    def __init__(self, d_model: int, window: int):
        super().__init__()
        require_sizes(d_model=d_model)
        require_whole("window", window, 0)
        self.d_model, self.window = d_model, window
        self.W = nn.Linear((2 * window + 1) * d_model, d_model)

    def forward(self, X: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch n d_model"]:
        padded = F.pad(X, (0, 0, self.window, self.window))
        neighbours = padded.unfold(1, 2 * self.window + 1, 1).mT  # (batch, n, 2w + 1, d_model)
        return F.relu(self.W(neighbours.flatten(2)))


@checked
class DilatedConvolutions(nn.Module):
    """Convolutions that look back at `k` words each, taken 1, then k, then k² apart.

    `n_layers` of them span k^n_layers words. Before the sentence stand zeros.

    Source: Kalchbrenner et al. (2016), section 3; the path of log_k(n) layers is counted
    in Vaswani et al. (2017), section 4.
    Differs: the distances grow by k, as in that count; the former doubles them.
    """

    def __init__(self, d_model: int, k: int = 3, n_layers: int = 3):
        super().__init__()
        require_sizes(d_model=d_model, n_layers=n_layers)
        require_whole("k", k, 2)
        self.d_model, self.k = d_model, k
        dilations = [k**layer for layer in range(n_layers)]
        layers = (nn.Conv1d(d_model, d_model, k, dilation=step) for step in dilations)
        self.layers = nn.ModuleList(layers)

    def forward(self, X: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch n d_model"]:
        features = X.mT  # (batch, d_model, n)
        for layer, convolution in enumerate(self.layers):
            before = (self.k - 1) * self.k**layer
            features = torch.tanh(convolution(F.pad(features, (before, 0))))
        return features.mT


@checked
def gradient_reach(
    output: Callable[[Float[Tensor, "n d"]], Tensor],
    X: Float[Tensor, "n d"],
) -> Float[Tensor, " n"]:
    """The Frobenius norm of ∂output/∂x_t at every position t: how well it hears each word.

    `output` maps `X` to one vector, such as the last state h_T. Exactly 0 means that no
    path leads there, or that what came along it was too small for the type of the numbers.

    Source: Bengio, Simard and Frasconi (1994), section 4; Pascanu et al. (2013), section 2.
    """
    require_values(X=X)
    require_slopes("output", output, X)
    jacobian = torch.autograd.functional.jacobian(output, X)
    if jacobian.dim() != 3:
        raise bad_input("output", "map X to one vector", f"slopes of {shape_of(jacobian)}")
    return jacobian.square().sum(dim=(0, 2)).sqrt()  # (n,)


def _lengths(ids: Int[Tensor, "batch m"], pad_id: int) -> Int[Tensor, " batch"]:
    """How many tokens stand before the padding of each sentence."""
    real = ids != pad_id
    if not real[:, :1].all():
        must = "begin with a token that is not padding in every row"
        raise bad_input("src_ids", must, f"padding first in row {first_index(~real[:, 0])[0]}")
    if (real[:, 1:] & ~real[:, :-1]).any():
        row = first_index((real[:, 1:] & ~real[:, :-1]).any(dim=1))[0]
        raise bad_input("src_ids", "hold padding only at the end", f"a token after padding in row {row}")
    return real.sum(dim=1)
