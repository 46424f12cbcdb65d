"""Alignment: a decoder that looks back at every word of the source while it writes."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import bad_input
from tfm_lib.attention import AdditiveScore, BilinearScore, dot_score, scaled_dot_score
from tfm_lib.masking import padding_mask
from tfm_lib.recurrence import Seq2Seq

__all__ = ["AttentiveSeq2Seq", "MemoryHop", "alignment_error_rate"]


class Memory(NamedTuple):
    """What the decoder may look at, and where it stands."""

    H: Tensor  # encoder states, (batch, m, d_model)
    mask: Tensor  # True where a source word stands, (batch, 1, m)
    state: Tensor | tuple[Tensor, Tensor]


class AttentiveSeq2Seq(Seq2Seq):
    """A sequence-to-sequence model whose decoder attends to every state of the encoder.

    Four stages at each step: scores of the decoder state h_t against the encoder states H; their
    softmax; the context c_t, a weighted mean of H; and the combination tanh([h_t; c_t]W_c).

    `score` is "dot", "scaled dot", "additive" or "bilinear".

    Source: Luong, Pham and Manning (2015), section 3.1, equations 5 to 7; Bahdanau et al. (2015) for the additive score.
    """

    def __init__(self, src_vocab: int, tgt_vocab: int, d_model: int, cell="gru", score: str = "dot", pad_id: int = 0):
        super().__init__(src_vocab, tgt_vocab, d_model, cell, pad_id)
        scores = {
            "dot": lambda: dot_score,
            "scaled dot": lambda: scaled_dot_score,
            "additive": lambda: AdditiveScore(d_model, d_model, d_model),
            "bilinear": lambda: BilinearScore(d_model, d_model),
        }
        if score not in scores:
            raise bad_input("score", f"be one of {', '.join(scores)}", repr(score))
        self.score = scores[score]()
        self.W_c = nn.Linear(2 * d_model, d_model)

    def forward(self, src_ids: Int[Tensor, "batch m"], tgt_ids: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n v"]:
        logits, _, _ = self.attend(tgt_ids, self.start(src_ids))
        return logits

    def start(self, src_ids: Int[Tensor, "batch m"]) -> Memory:
        """Read the source: its states, its mask, and the state from which the decoder begins."""
        H, state = self.encode(src_ids)
        return Memory(H, padding_mask(src_ids, self.pad_id), state)

    def attend(
        self, tgt_ids: Int[Tensor, "batch n"], memory: Memory
    ) -> tuple[Float[Tensor, "batch n v"], Memory, Float[Tensor, "batch n m"]]:
        """Logits, the memory from which to go on, and the weights of each target position over the source."""
        h, state = self.decoder(self.tgt_embedding(tgt_ids), memory.state)
        scores = self.score(h, memory.H).masked_fill(~memory.mask, -torch.inf)  # (batch, n, m)
        weights = scores.softmax(dim=-1)
        context = weights @ memory.H  # (batch, n, d_model)
        combined = self.combine(h, context)
        return self.output(combined), memory._replace(state=state), weights

    def combine(self, h: Float[Tensor, "batch n d_model"], context: Float[Tensor, "batch n d_model"]) -> Tensor:
        """The decoder state and its context as one vector, tanh([h_t; c_t]W_c)."""
        return torch.tanh(self.W_c(torch.cat([h, context], dim=-1)))


class MemoryHop(nn.Module):
    """One look-up in a memory of sentences: o = softmax(u · M_in) M_out, and the next question u + o.

    Source: Sukhbaatar et al. (2015), section 2.1.
    """

    def forward(
        self,
        u: Float[Tensor, "batch d"],
        M_in: Float[Tensor, "batch m d"],
        M_out: Float[Tensor, "batch m d"],
        mask: Bool[Tensor, "batch m"] | None = None,
    ) -> tuple[Float[Tensor, "batch d"], Float[Tensor, "batch m"]]:
        scores = dot_score(u.unsqueeze(1), M_in).squeeze(1)  # (batch, m)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        return u + (weights.unsqueeze(1) @ M_out).squeeze(1), weights


def alignment_error_rate(predicted: Bool[Tensor, "n m"], true: Bool[Tensor, "n m"]) -> float:
    """1 − 2|A ∩ S| / (|A| + |S|): 0 when the predicted links A are exactly the true links S, 1 when none is.

    Source: Och and Ney (2003), section 2.5.
    Differs: every true link is a sure one, so the paper's sets S and P are equal.
    """
    links = predicted.sum() + true.sum()
    if links == 0:
        return 0.0
    return 1 - 2 * (predicted & true).sum().item() / links.item()
