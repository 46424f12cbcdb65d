"""One short training of a small machine, whole or without a part: what an ablation repeats."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import torch

from tfm_lib.corpora.words import LETTERS, uniform, unseen, word
from tfm_lib.data import Example
from tfm_lib.decoding import greedy_decode
from tfm_lib.positional import sinusoidal_encoding
from tfm_lib.training import Batch, train
from tfm_lib.transformer import Transformer, TransformerConfig

#: What may be missing, and how the settings then change.
PARTS: dict[str, dict[str, Any]] = {
    "the second layer": {"n_layers": 1},
    "the second head": {"n_heads": 1},
    "warm-up": {"warmup": 1},
    "label smoothing": {"smoothing": 0.0},
    "positions": {"positions": torch.zeros},
}
WHOLE: dict[str, Any] = {
    "n_layers": 2,
    "n_heads": 2,
    "warmup": 50,
    "smoothing": 0.1,
    "positions": sinusoidal_encoding,
}
RATE, LEAST, WORDS = 0.004, 0.02, 32  # the highest rate, its last share, and the words of an update
EACH = 50  # updates whose mean loss is recorded
BOS, EOS, FIRST = 1, 2, 3  # the ids of the letters begin with FIRST


def trial(without: str = "", seed: int = 0, updates: int = 300, until: int | None = None) -> dict[str, Any]:
    """Train a Transformer to write words backwards, with one thread of the processor, and return what came of it.

    Args:
        without: The part that is missing, a key of PARTS; "" for the whole machine.
        seed: Decides the first weights and the words.
        updates: The updates of the training. The rate rises in the warm-up and then falls in a line to their end.
        until: The training is stopped after so many updates; None trains to the end.

    Returns:
        `seed`; `exact`, the share of 200 unseen words that are written without a mistake; `losses`, the mean training
        loss of updates 1 to 50, 51 to 100, and so on; `seconds`, the CPU time.

    Raises:
        ValueError: `without` is no part, or `updates` is less than 100.
    """
    if without and without not in PARTS:
        raise ValueError(f"There is no part {without!r}; the parts are {', '.join(PARTS)}.")
    if updates < 2 * EACH:
        raise ValueError(f"updates must be at least {2 * EACH}, and is {updates}.")
    settings = WHOLE | PARTS.get(without, {})
    began = time.process_time()
    with torch.random.fork_rng(devices=[]), _one_thread():
        torch.manual_seed(seed)
        sizes = {"d_model": 32, "d_ff": 64, **{name: settings[name] for name in ("n_layers", "n_heads")}}
        config = TransformerConfig(FIRST + len(LETTERS), **sizes, dropout=0.0)
        model = Transformer(config, positions=settings["positions"])
        rate = partial(_rate, settings["warmup"], updates)
        steps = islice(train(model, _batches(seed), rate, settings["smoothing"]), until or updates)
        losses = [step.loss for step in steps]
        exact = _exact(model)
    means = [sum(losses[at : at + EACH]) / len(losses[at : at + EACH]) for at in range(0, len(losses), EACH)]
    return {
        "seed": seed,
        "exact": exact,
        "losses": [round(mean, 4) for mean in means],
        "seconds": round(time.process_time() - began, 1),
    }


@contextmanager
def _one_thread() -> Iterator[None]:
    """More threads would cost such a small machine CPU time, and would round differently."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _rate(warmup: int, updates: int, step: int) -> float:
    return RATE * min(1, step / warmup) * max(LEAST, 1 - step / updates)


def _batch(words: Sequence[str]) -> Batch:
    ids = [[FIRST + LETTERS.index(letter) for letter in word] for word in words]
    return Batch.of([Example(each, each[::-1]) for each in ids])


def _batches(seed: int) -> Iterator[Batch]:
    draw, held_out = uniform(seed + 1), {*unseen()}
    fresh = (found for found in iter(partial(word, draw), None) if found not in held_out)
    while True:
        yield _batch([*islice(fresh, WORDS)])


def _exact(model: Transformer) -> float:
    words = unseen()
    model.eval()
    with torch.no_grad():
        written = greedy_decode(model, _batch(words).src, BOS, EOS, max_len=10)
    texts = ["".join(LETTERS[i - FIRST] for i in row if i >= FIRST) for row in written.tolist()]
    return sum(text == word[::-1] for text, word in zip(texts, words)) / len(words)
