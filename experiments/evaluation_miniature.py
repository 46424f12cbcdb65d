"""The table in miniature: four families learn English to German on Multi30k at equal parameters and equal cost.

First a sweep for each family, 300 CPU seconds a run, chosen by perplexity on the validation part: three learning rates
with one optimiser, one rate more beyond them where the best is the lowest or the highest, then the best rate with the
other optimiser. Then three seeds of 400 CPU seconds, as long as the ablations', judged on the test captions of 2016 and
2017. The corpus is looked for in TFM_DATA or the cache, else fetched;
its licence allows research only, so scores are kept and nothing else. Runs are kept one by one where TFM_RUNS says, and
a run that was cut goes on:

    TFM_RUNS=trained python -m experiments.evaluation_miniature           # all that are missing, then the record
    TFM_RUNS=trained python -m experiments.evaluation_miniature --sweep   # the sweep alone
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from experiments.evaluation_models import MAKE, SIZES
from experiments.evaluation_runs import OPTIONS, UPDATES_A_SECOND, Data, corpus_scores, trained, updates
from experiments.record import Made, piece, record
from tfm_lib.corpora import load_corpus
from tfm_lib.cost import training_flops
from tfm_lib.engine.trainer import TrainOptions
from tfm_lib.evaluation import paired_bootstrap

NAME = "evaluation_miniature"
SEEDS = [0, 1, 2]
SWEEP_SECONDS, SECONDS = 300.0, 400.0
RATES = [1e-3, 3e-3, 9e-3]
OPTIMISERS = {"muon": {"optimiser": "muon", "weight_decay": 0.5}, "adam": {"optimiser": "adam"}}  # as they are tried
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
    first, other = OPTIMISERS
    runs = [tried(family, first, rate) for rate in RATES]
    best, step = min(runs, key=perplexity)["rate"], RATES[1] / RATES[0]
    if best in (RATES[0], RATES[-1]):
        runs.append(tried(family, first, best / step if best == RATES[0] else best * step))
    runs.append(tried(family, other, min(runs, key=perplexity)["rate"]))
    return sorted(runs, key=perplexity)


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


def finals() -> Iterator[dict[str, Any]]:
    """The families in turns, so that what is there can be compared at any time."""
    for seed in SEEDS:
        for family in MAKE:
            yield final(family, seed)


def of_one_machine(runs: Sequence[dict[str, Any]]) -> None:
    """Runs that are compared must come from machines of one kind."""
    kinds = {run["machine"] for run in runs}
    if len(kinds) > 1:
        raise SystemExit(
            f"Runs of several machines cannot be compared: {'; '.join(sorted(kinds))}. Make one kind's anew."
        )


def row(run: dict[str, Any]) -> dict[str, Any]:
    """What the record keeps of a run: all but the translations, which the corpus does not let go."""
    kept = {
        key: value
        for key, value in run.items()
        if not key.startswith("written") and key not in ("family", "arm", "machine")
    }
    flops = training_flops(run["parameters"], run["tokens"])
    return {**kept, "flops": flops, "tokens_per_second": round(run["tokens"] / run["training_cpu_seconds"])}


def differences(runs: Sequence[dict[str, Any]], ours: str = "transformer") -> dict[str, dict[str, list[list[float]]]]:
    """By test and family, seed by seed, what a paired bootstrap says of `ours` against the family: points, low, high, share not ahead."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    written = {(run["family"], run["seed"]): run for run in runs}
    for test, part in TESTS.items():
        references = [target for _, target in load_corpus("multi30k").sentences(part)]
        of_test = found[test] = {}
        for family in MAKE.keys() - {ours}:
            key = f"written {test}, beam 4"
            of_test[family] = [
                [
                    round(x, 3)
                    for x in paired_bootstrap(written[ours, seed][key], written[family, seed][key], references)
                ]
                for seed in SEEDS
            ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweep", action="store_true", help="the sweep alone")
    given = parser.parse_args()
    torch.set_num_threads(1)
    sweeps = {}
    for family in MAKE:
        sweeps[family] = sweep(family)
        best = sweeps[family][0]
        print(f"{family}: {best['optimiser']} at {best['rate']:g}, perplexity {best['perplexity']}", flush=True)
    if given.sweep:
        return
    runs = []
    for run in finals():
        runs.append(run)
        print(run["family"], run["seed"], run["perplexity"], run["2016, beam 4"], flush=True)
    with record(NAME, WHAT, UNEQUAL) as numbers:
        of_one_machine([*runs, *(run for tried in sweeps.values() for run in tried)])
        families: dict[str, Any] = {}
        for family in MAKE:
            for run in sweeps[family]:
                arm = f"{family}, {run['optimiser']}, {run['rate']:g}"
                numbers.ran(
                    arm, run["seed"], run["updates"], run["epochs"], run["training_cpu_seconds"], f"sweep of {family}"
                )
            own = [run for run in runs if run["family"] == family]
            for run in own:
                numbers.ran(family, run["seed"], run["updates"], run["epochs"], run["training_cpu_seconds"], "finals")
            families[family] = {"sweep": [row(run) for run in sweeps[family]], "runs": [row(run) for run in own]}
        numbers |= {
            "seconds_of": {"sweep": SWEEP_SECONDS, "finals": SECONDS}, "rates": UPDATES_A_SECOND,
            "families": families, "differences": differences(runs),
        }  # fmt: skip
        for family in MAKE:
            numbers.rows(family, f"families/{family}/runs")


WHAT = (
    "Four families of translators on Multi30k, English to German, about 2.8 million parameters each and equal cost: updates that 400 "
    "CPU seconds of one thread buy at each family's own pace (300 in the sweep of rates and optimisers, chosen on the validation "
    "part). BLEU and chrF by sacrebleu, greedily and with a beam of 4, on test_2016_flickr and test_2017_flickr; perplexity on the validation "
    "part; flops: 6 a parameter and target token. differences: paired bootstraps of the Transformer against each family, seed by seed, with "
    "a beam of 4: points, low, high, share of 1 000 draws in which it is not ahead."
)
UNEQUAL = "Families make as many updates as the same seconds buy, so those of a slower family are fewer."


if __name__ == "__main__":
    main()
