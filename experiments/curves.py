"""Record the curves that the project *Read the curve* hands out: machines that each lack one part, and whole ones.

    python -m experiments.curves      # six minutes on one core

The task is the playground's: words of 2 to 8 letters, written backwards. Two layers on each side and one head of 64
numbers make each of the five parts count. The runs and what each of them lacks are written into the project's file,
`tests/grader/assignments/curves/training.md`, and nowhere else: the library and the book hold no answer.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import json
import random
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from experiments.playground_library import batch_of, batches, exactness, machine, rate
from experiments.record import short
from tfm_lib.corpora.words import unseen
from tfm_lib.drawing import recorded
from tfm_lib.training import train
from tfm_lib.transformer import Transformer

PROJECT = Path(__file__).parents[1] / "tests" / "grader" / "assignments" / "curves" / "training.md"
UPDATES, EVERY = 1000, 20
SETTINGS = {
    "d_model": 64,
    "n_heads": 1,
    "d_ff": 128,
    "n_layers": 2,
    "norm": "post",
    "rate": 0.008,
    "warmup": 100,
    "smoothing": 0.1,
}
#: What a run lacks, and how the settings then change.
LACKS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "warm-up": {"warmup": 1},
    "scale": {"scale": False},
    "residual": {"residuals": False},
    "smoothing": {"smoothing": 0.0},
    "positions": {"positions": "none"},
}
SEEDS = [0, 1, 2, 3]
LETTERS = "ABCDEFGHIJKL"  # the runs of a class
MOST = 3  # runs of a class that lack the same
CLASSES = 24  # draws


def length(module: nn.Module) -> float:
    """Return the length of the gradient of all parameters of a layer."""
    return sum(p.grad.square().sum() for p in module.parameters() if p.grad is not None).sqrt().item()


def looked_at(model: Transformer, settings: dict[str, Any]) -> dict[str, float]:
    """Return what is recorded of a model at one look, on the 200 unseen words."""
    batch = batch_of(unseen(settings["shortest"], settings["longest"]), settings["task"])
    real, words = batch.tgt_out != 0, batch.src != 0
    model.zero_grad()
    loss = F.cross_entropy(model(batch.src, batch.tgt_in)[real], batch.tgt_out[real])
    loss.backward()
    lengths = {"first layer": length(model.encoder[0]), "last layer": length(model.decoder[-1])}
    model.zero_grad()
    with torch.no_grad():
        largest = model.all_weights(batch.src, batch.tgt_in)["cross"].amax(-1).mean((1, 2))
        H = F.normalize(model.encode(batch.src).H, dim=-1)
    others = words[:, :, None] & words[:, None, :] & ~torch.eye(words.shape[1]).bool()
    return {
        "validation loss": loss.item(),
        "exact": exactness(model, settings),
        **lengths,
        "largest weight": largest[real].mean().item(),
        "likeness": (H @ H.transpose(1, 2))[others].mean().item(),
    }


def curves(lacks: str, seed: int, updates: int = UPDATES) -> dict[str, list[float]]:
    """Train once, for the first `updates`, and return the curves: a value for each look, in three digits."""
    settings = {**recorded("playground")["settings"], **SETTINGS, **LACKS[lacks], "seed": seed, "updates": UPDATES}
    torch.manual_seed(seed)
    model = machine(settings)
    assert isinstance(model, Transformer)
    found: dict[str, list[float]] = {}
    losses = []
    for step in islice(train(model, batches(settings), partial(rate, settings), settings["smoothing"]), updates):
        losses.append(step.loss)
        if step.step % EVERY == 0:
            for name, value in {"training loss": sum(losses) / len(losses), **looked_at(model, settings)}.items():
                found.setdefault(name, []).append(short(value))
            losses = []
    print(lacks, seed, {name: values[-1] for name, values in found.items()}, flush=True)
    return found


def classes(seed: int = 0) -> list[dict[str, tuple[str, int]]]:
    """Draw the runs of each class: each part is missing in one to three of the twelve, in an order of its own."""
    source, found = random.Random(seed), []
    while len(found) < CLASSES:
        counts = {lacks: source.randint(1, MOST) for lacks in LACKS}
        if sum(counts.values()) == len(LETTERS):
            runs = [(lacks, seed) for lacks, count in counts.items() for seed in source.sample(SEEDS, count)]
            found.append(dict(zip(LETTERS, source.sample(runs, len(runs)))))
    return found


def parameters(pool: dict[tuple[str, int], dict[str, list[float]]]) -> str:
    """Return the parameters of the project: the pool of runs, each once, and the classes that refer to it."""
    names = {run: "-".join(map(str, run)) for run in pool}
    lines = ["parameters:", "  pool:"]
    lines += [f"  - &{names[run]} '{json.dumps(pool[run])}'" for run in pool]
    lines.append("  runs:")
    for drawn in classes():
        right = json.dumps({letter: lacks for letter, (lacks, _) in drawn.items()})
        lines += [
            f"  - {{{', '.join(f'{letter}: *{names[run]}' for letter, run in drawn.items())},",
            f"     right: '{right}'}}",
        ]
    return "\n".join(lines) + "\n"


def write() -> None:
    torch.set_num_threads(1)
    pool = {(lacks, seed): curves(lacks, seed) for lacks in LACKS for seed in SEEDS}
    text = PROJECT.read_text(encoding="utf-8")
    _, rest = text.split("\n---\n", 1)
    PROJECT.write_text(f"---\n{parameters(pool)}---\n{rest}", encoding="utf-8")


if __name__ == "__main__":
    write()
