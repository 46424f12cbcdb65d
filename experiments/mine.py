"""Train the capstone's machine on numbers, with every part from the chapters' own solutions, and with one part exchanged.

The machine runs on the functions that the chapters print as solutions, plugged into the library as a reader's own are.
The same machine is trained without them, on the library's code, to compare the time and the result, and then once more
for each part that the chapter *Your own machine* takes away.

    TFM_RUNS=trained python -m experiments.mine
"""

import os
import re

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import torch

from experiments.record import Made, piece, record, short
from tfm_exercises.judge import find
from tfm_exercises.mine.catalogue import PARTS
from tfm_exercises.mine.keeping import compiled
from tfm_exercises.mine.numbers import Numbers
from tfm_exercises.mine.plugging import plugged_in
from tfm_lib import training
from tfm_lib.transformer import Transformer, TransformerConfig

NAME = "mine"
CHAPTERS = Path(__file__).parents[1] / "chapters"
SEEDS, STEPS, EVERY, WARMUP = [0, 1, 2], 1500, 100, 200
SIZES: dict[str, Any] = {"d_model": 32, "n_heads": 4, "d_ff": 128, "n_layers": 2, "norm": "pre", "dropout": 0.0}
LOOKED_AT = 100  # numbers of the validation part, at every look

Functions = dict[str, Callable[..., Any]]
IMPORTS = """import math
import torch
import torch.nn.functional as F
from torch import nn
from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask, padding_mask"""  # what the chapters' first cells import for the solutions
#: What the chapter takes away, one at a time; each keeps its part's shapes.
WITHOUT: dict[str, Functions] = {
    "no positions": {"sinusoidal_encoding": lambda n, d_model: torch.zeros(n, d_model)},
    "no causal mask": {
        "causal_mask": lambda n: torch.ones(n, n, dtype=torch.bool),
        "decoder_mask": lambda ids, pad_id=0: (ids != pad_id)[:, None, None, :].expand(-1, 1, ids.shape[1], -1),
    },
    "no feed-forward network": {"feed_forward": lambda X, W_1, b_1, W_2, b_2: torch.zeros_like(X)},
    "no norms": {"layer_norm": lambda X, gain, bias, eps=1e-5: X},
}


@cache
def solutions() -> Functions:
    """The part of each name, from the solution that its chapter prints."""
    found: Functions = {}
    for chapter in dict.fromkeys(part.chapter for part in PARTS):
        path = CHAPTERS / f"{chapter}.md"
        text = path.read_text(encoding="utf-8")
        for part in PARTS:
            if part.chapter == chapter:
                printed = text.partition(f":::{{solution}} {part.exercise}\n")[2].partition("\n:::\n")[0]
                code = "\n\n".join([IMPORTS, *re.findall(r"^```python\n(.*?)^```$", printed, re.MULTILINE | re.DOTALL)])
                answers = find(part.exercise).answers
                found[part.name] = compiled(part.exercise, code, answers)[part.index]
    return found


def practice_minutes() -> int:
    """How long the exercises that write a part take, together."""
    total = 0
    for id in dict.fromkeys(part.exercise for part in PARTS):
        text = (CHAPTERS / f"{id.partition('.')[0]}.md").read_text(encoding="utf-8")
        total += int(text.partition(f":label: {id}\n*")[2].partition(" minutes")[0])
    return total


def run(arm: str, seed: int, parts: Functions) -> dict[str, Any]:
    """Train once; returns the curve, the share of exact test numbers, and the seconds of training alone."""

    def make() -> Made:
        numbers = Numbers()
        torch.manual_seed(seed)
        model = Transformer(TransformerConfig(len(numbers.vocabulary), **SIZES))
        looks, spent, began = [], 0.0, time.process_time()
        with plugged_in(instead=parts) if parts else nullcontext():

            def rate(step: int) -> float:
                return training.warmup_lr(step, SIZES["d_model"], WARMUP) * (1 - step / (STEPS + 1))

            for step in training.train(model, numbers.batches(seed), rate):
                if step.step % EVERY == 0 or step.step == STEPS:
                    spent += time.process_time() - began
                    exact = numbers.exact(model, numbers.val[:LOOKED_AT])
                    looks.append({"step": step.step, "loss": short(step.loss), "exact": round(exact, 4)})
                    print(arm, seed, looks[-1], flush=True)
                    began = time.process_time()
                if step.step == STEPS:
                    break
            test = numbers.exact(model, numbers.test)
            shown = numbers.written(model, numbers.test[:5])
        return {
            "seed": seed,
            "looks": looks,
            "exact": round(test, 4),
            "training": round(spent, 1),
            "written": shown,
        }, model

    return piece(NAME, f"{arm}, seed {seed}", make)


WHAT = (
    "The capstone's machine on numbers in English words, written in digits: two layers on each side, 32 numbers a word, pre-norm; "
    "every part from the chapters' solutions, plugged into the library, against the library alone and against one part exchanged. "
    "looks: on a part of the validation numbers; exact: share of the test numbers that greedy decoding writes without a mistake."
)


def main() -> None:
    torch.set_num_threads(1)
    mine = solutions()
    arms: dict[str, Functions] = {"yours": mine, "library": {}} | {
        name: mine | parts for name, parts in WITHOUT.items()
    }
    with record(NAME, WHAT) as numbers:
        data = Numbers()
        model = Transformer(TransformerConfig(len(data.vocabulary), **SIZES))
        numbers["settings"] = {
            **SIZES,
            "steps": STEPS,
            "warmup": WARMUP,
            "parameters": sum(p.numel() for p in model.parameters()),
            "train": len(data.train),
            "test": len(data.test),
            "parts": list(mine),
            "minutes": practice_minutes(),
        }
        numbers["asked"] = [" ".join(pair.src) for pair in data.test[:5]]
        numbers["arms"] = {}
        for arm, parts in arms.items():
            runs = [run(arm, seed, parts) for seed in SEEDS]
            for one in runs:
                numbers.ran(arm, one["seed"], STEPS, None, one["training"])
            numbers["arms"][arm] = runs
            numbers.rows(arm, f"arms/{arm}")


if __name__ == "__main__":
    main()
