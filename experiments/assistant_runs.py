"""Tune the decoder that writes stories, let it answer, and judge its answers: shared by the stages of the assistant.

TFM_RUNS=trained python -m experiments.assistant_runs follow        # puts a stage's seed 0 into models/stories
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import copy
import math
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from tfm_lib.assistant import Answers
from tfm_lib.corpora.talks import Task
from tfm_lib.data import Example
from tfm_lib.decoding import greedy_decode, sample
from tfm_lib.engine.assistant import save_writer
from tfm_lib.engine.shipped import STORIES, shipped_folder
from tfm_lib.engine.writer import BASE, LONGEST, VOCABULARY, WriterTrainer, held_out, writer
from tfm_lib.transformer import DecoderOnly

BATCH, WARMUP = 12, 20
E = TypeVar("E")


# Of each stage: the run that comes with the book, and from which all runs of the next stages start.
SHIPPED = {
    "base": ("assistant_base", "stories, seed 0"),
    "follow": ("assistant_follow", "10000, seed 0"),
    "prefer": ("assistant_prefer", "0.1, seed 0"),
    "think": ("assistant_think", "think, seed 0"),
}


def ship(stage: str) -> None:
    """Store the weights of a stage, kept under TFM_RUNS, where the book finds them, with 8 bits a number."""
    model, (experiment, key) = writer(), SHIPPED[stage]
    model.load_state_dict(torch.load(Path(os.environ["TFM_RUNS"], experiment, f"{key}.pt")))
    save_writer(shipped_folder(STORIES), stage, model, bits=8)


def example(task: Task) -> Example:
    return Example(VOCABULARY.encode(task.given), VOCABULARY.encode(task.answer))


def likelihood(model: DecoderOnly, examples: Sequence[Example]) -> Tensor:
    """Return the mean loss per token of the answers."""
    read, predicted = Answers.of(examples)
    return F.cross_entropy(model(read).flatten(0, 1), predicted.flatten(), ignore_index=VOCABULARY.pad_id)


def batches(examples: Sequence[E], size: int, seed: int) -> Iterator[list[E]]:
    """Yield batches without end, each example once in each pass."""
    if not examples:
        raise ValueError("There are no examples to learn from.")
    draw, left = random.Random(f"batches {seed}"), list[E]()
    while True:
        while len(left) < size:
            left += draw.sample(examples, len(examples))
        yield left[:size]
        del left[:size]


def chunks(of: Sequence[E], size: int) -> list[Sequence[E]]:
    return [of[start : start + size] for start in range(0, len(of), size)]


def tuned(
    model: DecoderOnly, examples: Sequence[Any], steps: int, seed: int, peak: float,
    loss: Callable[[DecoderOnly, list[Any]], Tensor] = likelihood, size: int = BATCH,
) -> DecoderOnly:  # fmt: skip
    """Return a tuned copy of `model`: `steps` updates of Adam, the rate falling to 0 along a cosine."""
    model = copy.deepcopy(model).requires_grad_().train()
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    for step, some in zip(range(steps), batches(examples, size, seed)):
        adam.param_groups[0]["lr"] = peak * min(1, (step + 1) / WARMUP) * 0.5 * (1 + math.cos(math.pi * step / steps))
        loss(model, some).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad()
    return model.eval()


def said(
    model: DecoderOnly,
    given: Sequence[Sequence[str]],
    most: int,
    temperature: float = 0.0,
    seed: int = 0,
    top_p: float | None = None,
    rows: int = 256,
) -> list[list[str]]:
    """Return what the model says after each of `given`, at most `most` words, greedily or at a temperature, from a nucleus."""
    by_length, generator = defaultdict(list), torch.Generator().manual_seed(seed)
    for i, words in enumerate(given):
        by_length[len(words)].append(i)
    found: list[list[str]] = [[] for _ in given]
    for length, places in sorted(by_length.items()):
        for start in range(0, len(places), rows):
            some = places[start : start + rows]
            ids = torch.tensor([VOCABULARY.encode(given[i]) for i in some])
            how = (model, ids, VOCABULARY.bos_id, VOCABULARY.eos_id, min(most, LONGEST - 2 - length))
            written = (
                sample(*how, temperature, top_p=top_p, generator=generator) if temperature else greedy_decode(*how)
            )
            for i, row in zip(some, written.tolist(), strict=True):
                found[i] = VOCABULARY.decode(row)
    return found


def are_right(tasks: Sequence[Task], texts: Sequence[Sequence[str]]) -> list[bool]:
    return [task.is_right(words) for task, words in zip(tasks, texts, strict=True)]


def share(right: Sequence[bool]) -> float:
    return round(sum(right) / len(right), 4)


def forgotten(model: DecoderOnly) -> float:
    """Return the nats per word on 300 held-out stories, which `assistant_base` measures too."""
    return round(WriterTrainer(model, [], BASE).validate(held_out(300))[0], 4)


if __name__ == "__main__":
    ship(sys.argv[1])
