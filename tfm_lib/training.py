"""Training: the loss, the schedule and the loop of the paper."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfm_lib._errors import (
    require_a_loss, require_examples, require_ids, require_kind, require_number, require_padding,
    require_range, require_rate, require_share, require_sizes, require_targets, require_trainable,
    require_vocabulary, require_whole,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.data import Example, pad

__all__ = [
    "Batch",
    "Step",
    "label_smoothed_loss",
    "paper_optimiser",
    "smoothed_targets",
    "train",
    "warmup_lr",
]


def warmup_lr(step: int, d_model: int, warmup: int = 4000) -> float:
    """The learning rate d_model^{−0.5} · min(step^{−0.5}, step · warmup^{−1.5}).

    Steps count from 1. The rate rises linearly to its peak (d_model · warmup)^{−0.5} at
    `step = warmup`, then falls as 1/√step.
    One step is one update of the parameters, however many micro-batches it sums.

    Source: Vaswani et al. (2017), section 5.3, equation 3.
    """
    require_number("step", step, lambda step: 1 <= step < math.inf, "count from 1")
    require_sizes(d_model=d_model)
    require_number("warmup", warmup, lambda warmup: 1 <= warmup < math.inf, "be at least 1 step")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@checked
def smoothed_targets(
    targets: Int[Tensor, "*batch"], vocab_size: int, epsilon: float = 0.1
) -> Float[Tensor, "*batch v"]:
    """The distribution of label smoothing: 1 − ε + ε/v on the true token, ε/v on every other.

    Source: Szegedy et al. (2016), section 7; Vaswani et al. (2017), section 5.4.
    Differs: the authors' tensor2tensor keeps 1 − ε for the true token and shares ε among the
    other v − 1.
    """
    require_share("epsilon", epsilon, "be at least 0 and below 1")
    require_sizes(vocab_size=vocab_size)
    require_range("targets", targets, vocab_size)
    return F.one_hot(targets.long(), vocab_size) * (1 - epsilon) + epsilon / vocab_size


@checked
def label_smoothed_loss(
    logits: Float[Tensor, "*batch v"],
    targets: Int[Tensor, "*batch"],
    epsilon: float = 0.1,
    pad_id: int = Vocabulary.pad_id,
) -> Float[Tensor, ""]:
    """Cross-entropy against `smoothed_targets`, in nats: the mean over all tokens but padding.

    PyTorch's kernel runs, which never makes those targets; a test holds the two equal.

    Source: Vaswani et al. (2017), section 5.4.
    """
    require_share("epsilon", epsilon, "be at least 0 and below 1")
    require_targets(logits, targets, pad_id)
    rows, true = logits.flatten(0, -2), targets.flatten().long()
    loss = F.cross_entropy(rows, true, label_smoothing=epsilon, ignore_index=pad_id)
    require_a_loss(loss)
    return loss


class Batch(NamedTuple):
    """Ids padded with `pad_id`: source, what the decoder reads (<bos> …) and predicts (… <eos>)."""

    src: Int[Tensor, "batch m"]
    tgt_in: Int[Tensor, "batch n"]
    tgt_out: Int[Tensor, "batch n"]
    pad_id: int = Vocabulary.pad_id

    @classmethod
    def of(cls, examples: Sequence[Example], vocabulary=Vocabulary) -> "Batch":
        """The batch of `examples`: sources end with <eos>, a <bos> shifts the target right.

        What the ids of these and of the padding are, `vocabulary` says, as a `Tokenizer` does.
        """
        require_examples("examples", examples, least=1)
        require_vocabulary(vocabulary)
        bos, eos, pad_id = vocabulary.bos_id, vocabulary.eos_id, vocabulary.pad_id
        return cls(
            src=pad([[*example.src, eos] for example in examples], pad_id),
            tgt_in=pad([[bos, *example.tgt] for example in examples], pad_id),
            tgt_out=pad([[*example.tgt, eos] for example in examples], pad_id),
            pad_id=pad_id,
        )


class Step(NamedTuple):
    """What one update of the parameters was like; `loss` is per target token, in nats."""

    step: int
    loss: float
    lr: float
    tokens: int


@checked
def paper_optimiser(model: nn.Module) -> torch.optim.Adam:
    """Adam with the paper's β₁ = 0.9, β₂ = 0.98 and ε = 1e-9; the loop sets the learning rate.

    Source: Kingma and Ba (2015), algorithm 1; Vaswani et al. (2017), section 5.3.
    """
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)


@checked
def train(
    model: nn.Module,
    batches: Iterable[Batch],
    lr: Callable[[int], float],
    epsilon: float = 0.1,
    accumulate: int = 1,
    clip: float = math.inf,
) -> Iterator[Step]:
    """Train `model` on `batches`, one update for every `accumulate`; yields their `Step`s.

    `lr(step)` is the learning rate of update number `step`, counted from 1. The loss of an update
    is the mean over all its target tokens, so that accumulating equals one large batch. A
    gradient longer than `clip` is shortened to that length.
    """
    require_trainable(model)
    require_share("epsilon", epsilon, "be at least 0 and below 1")
    require_whole("accumulate", accumulate, 1, "be at least 1")
    require_kind("batches", batches, Iterable, "be batches, one after the other")
    require_number("clip", clip, lambda clip: clip > 0, "be a length above 0")
    config: Any = model.config
    optimiser, pad_id = paper_optimiser(model), config.pad_id
    model.train()
    for step, group in enumerate(_groups(batches, accumulate), start=1):
        tokens = sum((batch.tgt_out != pad_id).sum().item() for batch in group)
        total = 0.0
        for batch in group:
            require_padding(batch.pad_id, pad_id)
            logits = model(batch.src, batch.tgt_in)
            share = (batch.tgt_out != pad_id).sum() / tokens
            loss = label_smoothed_loss(logits, batch.tgt_out, epsilon, pad_id) * share
            loss.backward()  # gradients add up from one micro-batch to the next
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        require_rate(lr(step), step)
        for parameters in optimiser.param_groups:
            parameters["lr"] = lr(step)
        optimiser.step()
        optimiser.zero_grad()
        yield Step(step, total, lr(step), tokens)


def _groups(batches: Iterable[Batch], size: int) -> Iterator[list[Batch]]:
    """`size` batches at a time; the last group may be smaller."""
    rest = iter(batches)
    while group := list(islice(rest, size)):
        for batch in group:
            require_kind("each of batches", batch, Batch, "be a Batch, as Batch.of makes it")
            require_ids("tgt_out of batches", batch.tgt_out)
        yield group
