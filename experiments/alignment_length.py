"""Measure accuracy against length, with and without attention: `python -m experiments.alignment_length`, 6 minutes.

With the variable TFM_RUNS set, each training is saved as it finishes.
"""

import random
from functools import partial
from typing import Any

import torch

from experiments.alignment_models import epochs, exact_match, trained
from experiments.record import Record, record
from tfm_lib.corpora import Corpus, Pair, load_corpus
from tfm_lib.recurrence import Seq2Seq

SEEDS = [0, 1, 2]
STEPS, LONGEST_SEEN = 800, 24
LENGTHS = list(range(4, 33, 4))
MODELS = {"bottleneck": (None, 64), "wide bottleneck": (None, 128), "attention": ("dot", 64)}  # score, d_model


def main() -> None:
    torch.set_num_threads(1)
    what = "Copying lists of letters: share of lists without a mistake, by length, without and with attention"
    with record("alignment_length", what) as result:
        result |= {"steps": STEPS, "longest_seen": LONGEST_SEEN, "lengths": LENGTHS, "lists": 200, "models": {}}
        for name in MODELS:
            arm(result, name)
        result["numbers"] = number_words(result)


def arm(result: Record, name: str) -> None:
    """Train one model to copy lists, with each seed."""
    corpus = load_corpus("copy", size=20_000, max_len=LONGEST_SEEN)
    runs = result.pieces(name, SEEDS, partial(copier, corpus, name), STEPS, epochs(corpus, STEPS), "lists")
    found = {"d_model": MODELS[name][1], "parameters": runs[0]["parameters"], "exact": [one["exact"] for one in runs]}
    result["models"][name] = found
    result.rows(name, f"models/{name}/exact")


def copier(corpus: Corpus, name: str, seed: int) -> tuple[dict[str, Any], Seq2Seq]:
    """Train once on lists and return the copying accuracy."""
    score, d_model = MODELS[name]
    model = trained(corpus, score, STEPS, seed, d_model)
    with torch.no_grad():
        exact = [exact_match(model, corpus, fresh(length)) for length in LENGTHS]
    print(name, seed, exact, flush=True)
    size = sum(p.numel() for p in model.parameters())
    return {"parameters": size, "exact": exact}, model


def fresh(length: int, count: int = 200) -> list[Pair]:
    """Draw random lists of one length, independently of the corpus."""
    draw = random.Random(f"fresh {length}")
    lists = [tuple(draw.choices("abcdefghijkl", k=length)) for _ in range(count)]
    return [Pair(letters, letters) for letters in lists]


def number_words(result: Record, steps: int = 400) -> dict[str, Any]:
    """Measure the same two models on number words, per number of digits."""
    corpus = load_corpus("numbers")
    test, digits = corpus.split("test"), list(range(2, 7))
    by_length = {n: [pair for pair in test if len(pair.tgt) == n] for n in digits}

    def run(name: str, seed: int) -> tuple[dict[str, Any], Seq2Seq]:
        model = trained(corpus, MODELS[name][0], steps, seed)
        return {"exact": [round(exact_match(model, corpus, by_length[n]), 4) for n in digits]}, model

    exact = {}
    for name in ("bottleneck", "attention"):
        words = f"{name}, number words"
        runs = result.pieces(words, SEEDS, partial(run, name), steps, epochs(corpus, steps), "number words")
        exact[name] = [one["exact"] for one in runs]
        result.rows(words, f"numbers/exact/{name}")
        print(name, exact[name], flush=True)
    return {"steps": steps, "digits": digits, "pairs": [len(by_length[n]) for n in digits], "exact": exact}


if __name__ == "__main__":
    main()
