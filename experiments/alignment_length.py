"""Accuracy against length, with and without attention: `python -m experiments.alignment_length`, about 6 minutes."""

import random

import torch

from experiments.alignment_models import exact_match, trained
from experiments.record import record
from tfm_lib.corpora import Pair, load_corpus

SEEDS = [0, 1, 2]
STEPS, LONGEST_SEEN = 800, 24
LENGTHS = list(range(4, 33, 4))
MODELS = {"bottleneck": (None, 64), "wide bottleneck": (None, 128), "attention": ("dot", 64)}  # score, d_model


def main() -> None:
    what = "Copying lists of letters: share of lists without a mistake, by length, without and with attention"
    with record("alignment_length", what, SEEDS) as result:
        corpus = load_corpus("copy", size=20_000, max_len=LONGEST_SEEN)
        result |= {"steps": STEPS, "longest_seen": LONGEST_SEEN, "lengths": LENGTHS, "lists": 200, "models": {}}
        for name, (score, d_model) in MODELS.items():
            exact, size = [], 0
            for seed in SEEDS:
                model = trained(corpus, score, STEPS, seed, d_model)
                size = sum(p.numel() for p in model.parameters())
                with torch.no_grad():
                    exact.append([exact_match(model, corpus, fresh(length)) for length in LENGTHS])
                print(name, seed, exact[-1], flush=True)
            result["models"][name] = {"d_model": d_model, "parameters": size, "exact": exact}
        result["numbers"] = number_words()


def fresh(length: int, count: int = 200) -> list[Pair]:
    """Random lists of one length, drawn apart from the corpus."""
    draw = random.Random(f"fresh {length}")
    lists = [tuple(draw.choices("abcdefghijkl", k=length)) for _ in range(count)]
    return [Pair(letters, letters) for letters in lists]


def number_words(steps: int = 400) -> dict:
    """The same two models on number words, by the number of digits."""
    corpus = load_corpus("numbers")
    test, digits = corpus.split("test"), list(range(2, 7))
    by_length = {n: [pair for pair in test if len(pair.tgt) == n] for n in digits}
    exact = {}
    for name in ("bottleneck", "attention"):
        models = [trained(corpus, MODELS[name][0], steps, seed) for seed in SEEDS]
        exact[name] = [[round(exact_match(m, corpus, by_length[n]), 4) for n in digits] for m in models]
        print(name, exact[name], flush=True)
    return {"steps": steps, "digits": digits, "pairs": [len(by_length[n]) for n in digits], "exact": exact}


if __name__ == "__main__":
    main()
