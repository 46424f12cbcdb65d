"""Accuracy against length, with and without attention: `python -m experiments.alignment_length`, about 15 minutes.

With the variable TFM_RUNS set, each training is kept as it ends.
"""

import random
from functools import partial
from typing import Any

import torch

from experiments.alignment_models import epochs, exact_match, trained
from experiments.record import UNTIMED, Record, piece, record
from tfm_lib.corpora import Pair, load_corpus
from tfm_lib.recurrence import Seq2Seq

SEEDS = [0, 1, 2]
STEPS, LONGEST_SEEN = 800, 24
LENGTHS = list(range(4, 33, 4))
MODELS = {"bottleneck": (None, 64), "wide bottleneck": (None, 128), "attention": ("dot", 64)}  # score, d_model
LONGER = {"bottleneck": 1, "attention": 1}  # trained ten times as long: how many seeds


def main() -> None:
    torch.set_num_threads(1)
    what = "Copying lists of letters: share of lists without a mistake, by length, without and with attention"
    unequal = (
        "Ten times the steps ask whether more practice removes the difference; for want of time not on every seed."
    )
    with record("alignment_length", what, unequal) as result:
        result |= {"steps": STEPS, "longest_seen": LONGEST_SEEN, "lengths": LENGTHS, "lists": 200, "models": {}}
        for name in MODELS:
            arm(result, name, name, STEPS, SEEDS)
        for name, seeds in LONGER.items():
            arm(result, f"{name}, {10 * STEPS} steps", name, 10 * STEPS, SEEDS[:seeds])
        result["numbers"] = number_words(result)


def arm(result: Record, name: str, model: str, steps: int, seeds: list[int]) -> None:
    runs = [piece("alignment_length", f"{name}, seed {seed}", partial(copier, model, steps, seed)) for seed in seeds]
    for one in runs:
        result.ran(name, one["seed"], steps, one["epochs"], one["cpu_seconds"], group="lists")
    found = {"d_model": MODELS[model][1], "parameters": runs[0]["parameters"], "exact": [one["exact"] for one in runs]}
    result["models"][name] = found
    result.rows(name, f"models/{name}/exact")
    if any(one["cpu_seconds"] is None for one in runs):
        result.unknown(name, UNTIMED)


def copier(name: str, steps: int, seed: int) -> tuple[dict[str, Any], Seq2Seq]:
    """One training on lists, and how it copies."""
    score, d_model = MODELS[name]
    corpus = load_corpus("copy", size=20_000, max_len=LONGEST_SEEN)
    model = trained(corpus, score, steps, seed, d_model)
    with torch.no_grad():
        exact = [exact_match(model, corpus, fresh(length)) for length in LENGTHS]
    print(name, steps, seed, exact, flush=True)
    size = sum(p.numel() for p in model.parameters())
    return {"seed": seed, "epochs": epochs(corpus, steps), "parameters": size, "exact": exact}, model


def fresh(length: int, count: int = 200) -> list[Pair]:
    """Random lists of one length, drawn apart from the corpus."""
    draw = random.Random(f"fresh {length}")
    lists = [tuple(draw.choices("abcdefghijkl", k=length)) for _ in range(count)]
    return [Pair(letters, letters) for letters in lists]


def number_words(result: Record, steps: int = 400) -> dict[str, Any]:
    """The same two models on number words, by the number of digits."""
    corpus = load_corpus("numbers")
    test, digits = corpus.split("test"), list(range(2, 7))
    by_length = {n: [pair for pair in test if len(pair.tgt) == n] for n in digits}

    def run(name: str, seed: int) -> tuple[dict[str, Any], Seq2Seq]:
        model = trained(corpus, MODELS[name][0], steps, seed)
        return {"exact": [round(exact_match(model, corpus, by_length[n]), 4) for n in digits]}, model

    exact = {}
    for name in ("bottleneck", "attention"):
        words = f"{name}, number words"
        runs = [piece("alignment_length", f"{words}, seed {seed}", partial(run, name, seed)) for seed in SEEDS]
        for seed, one in zip(SEEDS, runs):
            result.ran(words, seed, steps, epochs(corpus, steps), one["cpu_seconds"], group="number words")
        exact[name] = [one["exact"] for one in runs]
        result.rows(words, f"numbers/exact/{name}")
        if any(one["cpu_seconds"] is None for one in runs):
            result.unknown(words, UNTIMED)
        print(name, exact[name], flush=True)
    return {"steps": steps, "digits": digits, "pairs": [len(by_length[n]) for n in digits], "exact": exact}


if __name__ == "__main__":
    main()
