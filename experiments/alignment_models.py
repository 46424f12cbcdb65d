"""Train translators for the alignment experiments, decode with them, and read their attention weights."""

import random
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tfm_lib.alignment import AttentiveSeq2Seq, alignment_error_rate
from tfm_lib.corpora import BOS_ID, EOS_ID, PAD_ID, Corpus, Pair
from tfm_lib.recurrence import Seq2Seq, greedy

BATCH, LR = 64, 0.01


def trained(corpus: Corpus, score: str | None, steps: int, seed: int, d_model: int = 64, rate: float = LR) -> Seq2Seq:
    """Return a GRU translator trained on `corpus`; without a `score` it is the bottleneck model.

    Uses Adam; the learning rate is constant for the first half of the steps and then falls linearly to 0.
    """
    torch.manual_seed(seed)
    draw, pairs = random.Random(seed), corpus.split("train")
    sizes = len(corpus.src_vocab), len(corpus.tgt_vocab), d_model
    model = AttentiveSeq2Seq(*sizes, score=score) if score else Seq2Seq(*sizes)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1, 2 - 2 * step / steps))
    for _ in range(steps):
        src, inputs, outputs = corpus.tensors(draw.sample(pairs, BATCH))
        loss = F.cross_entropy(model(src, inputs).flatten(0, 1), outputs.flatten(), ignore_index=PAD_ID)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model.eval()


def epochs(corpus: Corpus, steps: int, batch: int = BATCH) -> float:
    """Return how often each training pair is seen, on average."""
    return steps * batch / len(corpus.split("train"))


def written(model: Seq2Seq, corpus: Corpus, pairs: list[Pair]) -> list[list[str]]:
    """Return the model's greedy translation of each pair's source."""
    src, _, outputs = corpus.tensors(pairs)
    start: Callable[[Tensor], Any]
    step: Callable[[Tensor, Any], tuple[Tensor, Any]]
    if isinstance(model, AttentiveSeq2Seq):
        start, step = model.read, lambda ids, reading: model.attend(ids, reading)[:2]
    else:
        start, step = lambda ids: model.encode(ids)[1], model.decode
    ids = greedy(start, step, src, BOS_ID, EOS_ID, max_len=outputs.shape[1])
    return [corpus.tgt_vocab.decode(row) for row in ids.tolist()]


def exact_match(model: Seq2Seq, corpus: Corpus, pairs: list[Pair]) -> float:
    """Return the share of pairs that the model translates without a mistake."""
    return sum(ours == list(pair.tgt) for ours, pair in zip(written(model, corpus, pairs), pairs)) / len(pairs)


@torch.no_grad()
def weights_of(model: AttentiveSeq2Seq, corpus: Corpus, pairs: list[Pair]) -> list[Tensor]:
    """Return each pair's weights under teacher forcing: (target words, source words and <eos>)."""
    src, inputs, _ = corpus.tensors(pairs)
    _, _, weights = model.attend(inputs, model.read(src))
    return [rows[: len(pair.tgt), : len(pair.src) + 1] for rows, pair in zip(weights, pairs)]


def error_rate(weights: list[Tensor], pairs: list[Pair], shift: int = 0) -> float:
    """Return the alignment error rate over all pairs: each target word that has a sure link is linked to its
    heaviest source word. `shift` shifts the true links along the source."""
    counted = []
    for rows, pair in zip(weights, pairs):
        sure, possible = torch.zeros(2, *rows.shape, dtype=torch.bool)
        for links, matrix in ((pair.links, sure), (pair.possible, possible)):
            for i, j in links:
                matrix[i, min(max(j + shift, 0), rows.shape[1] - 1)] = True
        heaviest = F.one_hot(rows.argmax(dim=-1), rows.shape[1]).bool()
        counted.append(torch.stack([heaviest & sure.any(dim=-1, keepdim=True), sure, possible]).flatten(1))
    return alignment_error_rate(*torch.cat(counted, dim=1).unsqueeze(1))
