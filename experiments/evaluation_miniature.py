"""The table in miniature: four families learn English to German on Multi30k at equal parameters and equal cost.

First a sweep for each family, of three learning rates and two optimisers, 300 CPU seconds each, chosen by perplexity on
the validation part; where the best rate is the lowest or the highest, one more beyond it. Then three seeds of 1 200 CPU
seconds, judged on the test captions of 2016 and 2017. The corpus is looked for in TFM_DATA or the cache, else fetched;
its licence allows research only, so scores are kept and nothing else. Runs are kept one by one where TFM_RUNS says, and
a run that was cut goes on:

    TFM_RUNS=trained python -m experiments.evaluation_miniature           # all that are missing, then the record
    TFM_RUNS=trained python -m experiments.evaluation_miniature --sweep   # the sweep alone
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from experiments.evaluation_models import MAKE, SIZES
from experiments.evaluation_runs import OPTIONS, Data, corpus_scores, trained, updates
from experiments.record import Made, piece
from tfm_lib.corpora import load_corpus
from tfm_lib.engine.trainer import TrainOptions

NAME = "evaluation_miniature"
SEEDS = [0, 1, 2]
SWEEP_SECONDS, SECONDS = 300.0, 1200.0
RATES = [1e-3, 3e-3, 9e-3]
OPTIMISERS = {"adam": {"optimiser": "adam"}, "muon": {"optimiser": "muon", "weight_decay": 0.5}}
TESTS = {"2016": "test", "2017": "test_2017"}


def options_of(family: str, optimiser: str, rate: float, seconds: float, seed: int) -> TrainOptions:
    return replace(OPTIONS, **OPTIMISERS[optimiser], peak=rate, steps=updates(family, seconds), seed=seed)


def tried(family: str, optimiser: str, rate: float) -> dict[str, Any]:
    """One run of the sweep."""
    key = f"{family}, {optimiser}, {rate:g}"

    def make() -> Made:
        options = options_of(family, optimiser, rate, SWEEP_SECONDS, 0)
        _, took = trained(NAME, key, partial(made, family), options)
        return took, None

    return {"family": family, "optimiser": optimiser, "rate": rate, **piece(NAME, key, make)}


def made(family: str) -> torch.nn.Module:
    return MAKE[family](replace(SIZES[family], vocab_size=len(Data.load().tokenizer)))


def sweep(family: str) -> list[dict[str, Any]]:
    """All runs of a family's sweep, the best first."""
    runs = [tried(family, optimiser, rate) for rate in RATES for optimiser in OPTIMISERS]
    runs.sort(key=perplexity)
    rate, step = runs[0]["rate"], RATES[1] / RATES[0]
    if rate in (RATES[0], RATES[-1]):
        beyond = rate / step if rate == RATES[0] else rate * step
        runs = sorted([*runs, tried(family, runs[0]["optimiser"], beyond)], key=perplexity)
    return runs


def perplexity(run: dict[str, Any]) -> float:
    found = run["perplexity"]
    return found if math.isfinite(found) else float("inf")  # a run that broke down has none


def final(family: str, seed: int) -> dict[str, Any]:
    """One seed of a family with what its sweep chose, and its scores on both tests, greedily and with a beam of 4."""
    key = f"{family}, seed {seed}"

    def make() -> Made:
        best = sweep(family)[0]
        options = options_of(family, best["optimiser"], best["rate"], SECONDS, seed)
        model, took = trained(NAME, key, partial(made, family), options)
        for test, part in TESTS.items():
            pairs = load_corpus("multi30k").sentences(part)
            for beam in (1, 4):
                took[f"{test}, beam {beam}"], took[f"written {test}, beam {beam}"] = corpus_scores(model, pairs, beam)
        return took, model

    return {"family": family, **piece(NAME, key, make)}


def runs() -> Iterator[dict[str, Any]]:
    """The finals, the families in turns, so that what is there can be compared at any time."""
    for seed in SEEDS:
        for family in MAKE:
            yield final(family, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweep", action="store_true", help="the sweep alone")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for family in MAKE:
        best = sweep(family)[0]
        print(f"{family}: {best['optimiser']} at {best['rate']:g}, perplexity {best['perplexity']}", flush=True)
    if not given.sweep:
        for run in runs():
            print(run["family"], run["seed"], run["perplexity"], run["2016, beam 4"], flush=True)


if __name__ == "__main__":
    main()
