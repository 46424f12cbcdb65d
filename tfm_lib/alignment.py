"""Alignment: a decoder that looks back at every word of the source while it writes."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import (
    bad_input, require_below, require_no_empty_row, require_sizes, require_state, require_tokens,
    require_values,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.attention import AdditiveScore, BilinearScore, dot_score, scaled_dot_score
from tfm_lib.recurrence import Seq2Seq

__all__ = ["AttentiveSeq2Seq", "MemoryHop", "MemoryNetwork", "Reading", "alignment_error_rate"]


class Reading(NamedTuple):
    """What the decoder may look at, and the state from which it goes on."""

    H: Float[Tensor, "batch m d_model"]  # a state of the encoder for each source word
    mask: Bool[Tensor, " batch #n m"]  # True where a source word stands
    state: Tensor | tuple[Tensor, Tensor]


@checked
class AttentiveSeq2Seq(Seq2Seq):
    """A sequence-to-sequence model whose decoder attends to every state of the encoder.

    Four stages at each step: the scores of the decoder's state h_t against the encoder's
    states H; their softmax; the context c_t, a weighted mean of H; and tanh([h_t; c_t]W_c), their
    combination, from which the next word is read. `score` is "dot", "scaled dot", "additive" or
    "bilinear".

    Source: Luong, Pham and Manning (2015), section 3, equations 5 to 7; Bahdanau et al. (2015)
    for the additive score.
    Differs: one layer, W_c has a bias, and the state stands before the context.
    """

    def __init__(
        self,
        src_vocab: int,
        tgt_vocab: int,
        d_model: int,
        cell: Literal["rnn", "lstm", "gru"] = "gru",
        score: Literal["dot", "scaled dot", "additive", "bilinear"] = "dot",
        pad_id: int = Vocabulary.pad_id,
    ):
        super().__init__(src_vocab, tgt_vocab, d_model, cell, pad_id)
        scores: dict[str, Callable[[], Callable[..., Tensor]]] = {
            "dot": lambda: dot_score,
            "scaled dot": lambda: scaled_dot_score,
            "additive": lambda: AdditiveScore(d_model, d_model, d_model),
            "bilinear": lambda: BilinearScore(d_model, d_model),
        }
        self.score = scores[score]()
        self.W_c = nn.Linear(2 * d_model, d_model)

    def forward(
        self,
        src_ids: Int[Tensor, "batch m"],
        tgt_ids: Int[Tensor, "batch n"],
    ) -> Float[Tensor, "batch n v"]:
        logits, _, _ = self.attend(tgt_ids, self.read(src_ids))
        return logits

    def read(self, src_ids: Int[Tensor, "batch m"]) -> Reading:
        """Every state of the encoder, which of them belong to words, and the last one."""
        H, state = self.encode(src_ids)
        return Reading(H, (src_ids != self.pad_id).unsqueeze(1), state)

    def attend(
        self, tgt_ids: Int[Tensor, "batch n"], reading: Reading
    ) -> tuple[Float[Tensor, "batch n v"], Reading, Float[Tensor, "batch n m"]]:
        """Logits of the words after `tgt_ids`, the reading to go on from, and the weights."""
        require_tokens("tgt_ids", tgt_ids, self.tgt_embedding.weight)
        require_state(reading.state, self.decoder, len(tgt_ids))
        require_no_empty_row("reading", reading.mask, "show every query a word")
        h, state = self.decoder(self.tgt_embedding(tgt_ids), reading.state)
        scores = self.score(h, reading.H)  # (batch, n, m)
        weights = scores.masked_fill(~reading.mask, -torch.inf).softmax(dim=-1)
        c = weights @ reading.H  # (batch, n, d_model)
        return self.output(self.combine(h, c)), reading._replace(state=state), weights

    def combine(
        self, h: Float[Tensor, "batch n d_model"], c: Float[Tensor, "batch n d_model"]
    ) -> Float[Tensor, "batch n d_model"]:
        """The decoder's state and its context in one vector, tanh([h_t; c_t]W_c)."""
        return torch.tanh(self.W_c(torch.cat([h, c], dim=-1)))


@checked
def alignment_error_rate(
    predicted: Bool[Tensor, "n m"],
    sure: Bool[Tensor, "n m"],
    possible: Bool[Tensor, "n m"] | None = None,
) -> float:
    """1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|): 0 when A holds all sure links S and no wrong one.

    Links in `possible` may be found but need not be; sure links are possible ones too, so P is
    `sure | possible`.

    Source: Och and Ney (2003), the section on evaluation.
    """
    possible = sure if possible is None else possible
    links = (predicted.sum() + sure.sum()).item()
    hits = (predicted & sure).sum() + (predicted & (sure | possible)).sum()
    return 1 - hits.item() / links if links else 0.0


@checked
class MemoryHop(nn.Module):
    """One look-up in a memory of m facts: u + softmax(u M_inᵀ) M_out, the next question.

    `u` asks, the rows of `M_in` are what facts are found by, the rows of `M_out` what they hand
    over; `mask[b, j]` is True where the memory holds a fact.

    Source: Sukhbaatar et al. (2015), sections 2.1 and 2.2.
    """

    def forward(
        self,
        u: Float[Tensor, "batch d"],
        M_in: Float[Tensor, "batch m d"],
        M_out: Float[Tensor, "batch m d"],
        mask: Bool[Tensor, "batch m"] | None = None,
    ) -> tuple[Float[Tensor, "batch d"], Float[Tensor, "batch m"]]:
        require_values(u=u, M_in=M_in, M_out=M_out)
        scores = dot_score(u.unsqueeze(1), M_in)  # (batch, 1, m)
        if mask is not None:
            require_no_empty_row("mask", mask, "leave every question a fact")
            scores = scores.masked_fill(~mask.unsqueeze(1), -torch.inf)
        weights = scores.softmax(dim=-1)
        return u + (weights @ M_out).squeeze(1), weights.squeeze(1)


@checked
class MemoryNetwork(nn.Module):
    """Answers a question about a list of facts with `n_hops` look-ups, one upon another.

    A fact is found by one sum of word vectors and hands over another; both know its age, 1 for
    the newest. `facts` (batch, m, words) and `question` (batch, words) are padded with `pad_id`;
    a row of padding is no fact.

    Source: Sukhbaatar et al. (2015), sections 2.2 and 4.1, with layer-wise weight tying.
    Differs: words are summed without position weights; u passes from hop to hop without a matrix.
    """

    def __init__(
        self,
        vocab: int,
        answers: int,
        d_model: int,
        n_hops: int,
        oldest: int = 16,
        pad_id: int = Vocabulary.pad_id,
    ):
        super().__init__()
        require_sizes(vocab=vocab, answers=answers, d_model=d_model, n_hops=n_hops, oldest=oldest)
        require_below("pad_id", pad_id, vocab)
        self.n_hops, self.oldest, self.pad_id = n_hops, oldest, pad_id
        words = [nn.Embedding(vocab, d_model, padding_idx=pad_id) for _ in range(3)]
        self.ask, self.find, self.tell = words
        self.find_age, self.tell_age = (nn.Embedding(oldest + 1, d_model) for _ in range(2))
        self.hop = MemoryHop()
        self.output = nn.Linear(d_model, answers)
        for embedding in (self.ask, self.find, self.tell, self.find_age, self.tell_age):
            embedding.weight.data.mul_(0.05)  # hops begin as plain means; sharper ones get stuck

    def forward(
        self, facts: Int[Tensor, "batch m words"], question: Int[Tensor, "batch words"]
    ) -> tuple[Float[Tensor, "batch v"], Float[Tensor, "batch hops m"]]:
        require_tokens("facts", facts, self.find.weight)
        require_tokens("question", question, self.ask.weight)
        mask = (facts != self.pad_id).any(dim=-1)
        age = mask.flip(-1).cumsum(dim=-1).flip(-1)
        if age.max() > self.oldest:
            wanted = f"hold at most {self.oldest} facts, the oldest age"
            raise bad_input("facts", wanted, int(age.max()))
        M_in = self.find(facts).sum(dim=2) + self.find_age(age)
        M_out = self.tell(facts).sum(dim=2) + self.tell_age(age)
        u, weights = self.ask(question).sum(dim=1), []
        for _ in range(self.n_hops):
            u, shares = self.hop(u, M_in, M_out, mask)
            weights.append(shares)
        return self.output(u), torch.stack(weights, dim=1)
