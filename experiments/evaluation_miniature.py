"""Compare four model families on English to German (Multi30k), with equal parameter counts and equal budgets.

Three seeds of 300 CPU seconds each, as in the sweep, with the rate and optimiser that `evaluation_sweep` chose on the
validation part; scored on the test captions of 2016 and 2017. The corpus is taken from TFM_DATA or the cache, or
fetched; its licence allows research only, so only scores are saved. Runs are saved one by one in the folder TFM_RUNS,
and an interrupted run resumes:

    TFM_RUNS=trained python -m experiments.evaluation_miniature
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch

from experiments.evaluation_models import MAKE
from experiments.evaluation_runs import UPDATES_A_SECOND, corpus_scores, trained
from experiments.evaluation_sweep import made, of_one_machine, options_chosen, row
from experiments.record import Made, piece, record
from tfm_lib.corpora import load_corpus
from tfm_lib.evaluation import paired_bootstrap

NAME = "evaluation_miniature"
SEEDS = [0, 1, 2]
SECONDS = 300.0  # as in the sweep, so that its best run is the first seed of the finals
TESTS = {"2016": "test", "2017": "test_2017"}


def final(family: str, seed: int) -> dict[str, Any]:
    """Train one seed of a family with the options of its sweep; score both tests, greedily and with a beam of 4."""
    key = f"{family}, seed {seed}"

    def make() -> Made:
        model, took = trained(NAME, key, partial(made, family), options_chosen(family, SECONDS, seed))
        for test, part in TESTS.items():
            pairs = load_corpus("multi30k").sentences(part)
            for beam in (1, 4):
                took[f"{test}, beam {beam}"], took[f"written {test}, beam {beam}"] = corpus_scores(model, pairs, beam)
        return took, model

    return {"family": family, **piece(NAME, key, make)}


def finals() -> Iterator[dict[str, Any]]:
    """Yield the runs with families interleaved, so that the finished runs can be compared at any time."""
    for seed in SEEDS:
        for family in MAKE:
            yield final(family, seed)


def differences(runs: Sequence[dict[str, Any]], ours: str = "transformer") -> dict[str, dict[str, list[list[float]]]]:
    """Return paired bootstraps of `ours` against each family, by test and seed: points, low, high, share not ahead."""
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
    torch.set_num_threads(1)
    with record(NAME, WHAT, UNEQUAL) as numbers:
        runs = []
        for run in finals():
            runs.append(run)
            print(run["family"], run["seed"], run["perplexity"], run["2016, beam 4"], flush=True)
        of_one_machine(runs)
        for run in runs:
            numbers.ran(run["family"], run["seed"], run["updates"], run["epochs"], run["training_cpu_seconds"])
        families = {family: [row(run) for run in runs if run["family"] == family] for family in MAKE}
        numbers |= {
            "seconds_of": SECONDS, "rates": UPDATES_A_SECOND, "families": families, "differences": differences(runs),
        }  # fmt: skip
        for family in MAKE:
            numbers.rows(family, f"families/{family}")


WHAT = (
    "Four families of translators on Multi30k, English to German, about 2.8 million parameters each and equal budgets: updates that 300 "
    "CPU seconds of one thread buy at each family's own pace, with the rate and optimiser that evaluation_sweep chose. BLEU and chrF by "
    "sacrebleu, greedily and with a beam of 4, on test_2016_flickr and test_2017_flickr; perplexity on the validation part; flops: 6 a "
    "parameter and target token. differences: paired bootstraps of the Transformer against each family, seed by seed, with a beam of 4: "
    "points, low, high, share of 1 000 draws in which it is not ahead."
)
UNEQUAL = "Families make as many updates as the same seconds buy, so those of a slower family are fewer."


if __name__ == "__main__":
    main()
