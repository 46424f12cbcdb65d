"""Recurrence: reading and writing one word at a time, with one vector between the two."""

from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tfm_lib._errors import bad_input, shape_of

__all__ = ["DilatedConvolutions", "Seq2Seq", "WordWindow", "gradient_reach", "greedy"]

State = Tensor | tuple[Tensor, Tensor]  # an LSTM's state is two tensors
_CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class Seq2Seq(nn.Module):
    """An encoder RNN reads the source; its last state, one vector of fixed length, starts a decoder RNN that writes.

    `src_ids` (batch, m) and `tgt_ids` (batch, n) are padded with `pad_id`; `tgt_ids` begin with <bos>,
    and the logits at position i are for the word after position i (teacher forcing).

    Source: Sutskever, Vinyals and Le (2014), section 2; Cho et al. (2014), section 2.2.
    Differs: one layer each, and the source is not reversed unless the caller reverses it.
    """

    def __init__(
        self, src_vocab: int, tgt_vocab: int, d_model: int, cell: Literal["rnn", "lstm", "gru"] = "gru", pad_id: int = 0
    ):
        super().__init__()
        if cell not in _CELLS:
            raise bad_input("cell", f"be one of {', '.join(_CELLS)}", repr(cell))
        self.pad_id = pad_id
        self.src_embedding = nn.Embedding(src_vocab, d_model)
        self.tgt_embedding = nn.Embedding(tgt_vocab, d_model)
        self.encoder = _CELLS[cell](d_model, d_model, batch_first=True)
        self.decoder = _CELLS[cell](d_model, d_model, batch_first=True)
        self.output = nn.Linear(d_model, tgt_vocab)

    def forward(self, src_ids: Int[Tensor, "batch m"], tgt_ids: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n v"]:
        _, state = self.encode(src_ids)
        logits, _ = self.decode(tgt_ids, state)
        return logits

    def encode(self, src_ids: Int[Tensor, "batch m"]) -> tuple[Float[Tensor, "batch m d_model"], State]:
        """Every state of the encoder, and the last one of each sentence, where its padding begins."""
        if src_ids.dim() != 2:
            raise bad_input("src_ids", "have shape (batch, m)", shape_of(src_ids))
        lengths = (src_ids != self.pad_id).sum(dim=1).cpu()
        if (lengths == 0).any():
            raise bad_input("src_ids", "hold a token that is not padding in every row", "a row of padding")
        packed = pack_padded_sequence(self.src_embedding(src_ids), lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        H, _ = pad_packed_sequence(states, batch_first=True, total_length=src_ids.shape[1])
        return H, last

    def decode(
        self, tgt_ids: Int[Tensor, "batch n"], state: State
    ) -> tuple[Float[Tensor, "batch n v"], State]:
        """Logits for the words after `tgt_ids`, and the state from which to go on."""
        states, state = self.decoder(self.tgt_embedding(tgt_ids), state)
        return self.output(states), state


@torch.no_grad()
def greedy(
    start: Callable[[Int[Tensor, "batch m"]], object],
    step: Callable[[Int[Tensor, "batch 1"], object], tuple[Tensor, object]],
    src_ids: Int[Tensor, "batch m"],
    bos_id: int,
    eos_id: int,
    max_len: int,
) -> Int[Tensor, "batch n"]:
    """Write the most probable word at each step, starting after <bos>, until every sentence has its <eos>.

    `start(src_ids)` gives the first state, `step(ids, state)` the logits of the next word and the next state.
    """
    state = start(src_ids)
    ids = src_ids.new_full((len(src_ids), 1), bos_id)
    written = []
    for _ in range(max_len):
        logits, state = step(ids, state)
        ids = logits[:, -1:].argmax(dim=-1)
        written.append(ids)
        if (torch.cat(written, dim=1) == eos_id).any(dim=1).all():
            break
    return torch.cat(written, dim=1)


class WordWindow(nn.Module):
    """Each position sees the `window` words on either side of it: max(0, [x_{i−w}; …; x_{i+w}]W + b).

    Source: Bengio et al. (2003), section 2, with words on both sides.
    """

    def __init__(self, d_model: int, window: int):
        super().__init__()
        self.window = window
        self.W = nn.Linear((2 * window + 1) * d_model, d_model)

    def forward(self, X: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch n d_model"]:
        padded = F.pad(X, (0, 0, self.window, self.window))
        neighbours = padded.unfold(1, 2 * self.window + 1, 1)  # (batch, n, d_model, 2·window + 1)
        return F.relu(self.W(neighbours.flatten(2)))


class DilatedConvolutions(nn.Module):
    """`n_layers` convolutions of width `k` whose steps grow as 1, k, k², …: log_k n layers join any two of n words.

    Source: Kalchbrenner et al. (2016), section 3.
    Differs: centred on the position rather than looking back only, and k is odd.
    """

    def __init__(self, d_model: int, k: int = 3, n_layers: int = 3):
        super().__init__()
        if k % 2 == 0:
            raise bad_input("k", "be odd, so that a position stands in the middle", k)
        self.layers = nn.ModuleList(
            nn.Conv1d(d_model, d_model, k, dilation=k**layer, padding="same") for layer in range(n_layers)
        )

    def forward(self, X: Float[Tensor, "batch n d_model"]) -> Float[Tensor, "batch n d_model"]:
        features = X.transpose(1, 2)  # (batch, d_model, n)
        for layer in self.layers:
            features = torch.tanh(layer(features))
        return features.transpose(1, 2)


def gradient_reach(
    last_output: Callable[[Tensor], Float[Tensor, "d"]], X: Float[Tensor, "n d"]
) -> Float[Tensor, "n"]:
    """The norm of ∂h_T/∂x_t for every position t of `X`: how strongly the last output hears each input.

    `last_output` maps `X` to the output at the last position; the norm is Frobenius's.

    Source: Bengio, Simard and Frasconi (1994), section 4.
    """
    jacobian = torch.autograd.functional.jacobian(last_output, X)  # (d, n, d)
    return jacobian.square().sum(dim=(0, 2)).sqrt()
