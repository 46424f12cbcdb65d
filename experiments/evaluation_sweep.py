"""Sweep learning rate and optimiser for each of the four families of the miniature table.

300 CPU seconds per run, scored by perplexity on the validation part of Multi30k: three learning rates with one
optimiser, one rate more if the best is the lowest or the highest, then the best rate with the other optimiser.
`evaluation_miniature` and `evaluation_ablations` train with the options chosen here. Runs are saved one by one in the
folder TFM_RUNS, and an interrupted run resumes:

    TFM_RUNS=trained python -m experiments.evaluation_sweep
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from experiments.evaluation_models import MAKE, SIZES, Model
from experiments.evaluation_runs import OPTIONS, UPDATES_A_SECOND, Data, trained, updates
from experiments.record import Made, piece, record
from tfm_lib.cost import training_flops
from tfm_lib.drawing.recorded import recorded
from tfm_lib.engine.trainer import TrainOptions

NAME = "evaluation_sweep"
SECONDS = 300.0
RATES = [1e-3, 3e-3, 9e-3]
OPTIMISERS = {"muon": {"optimiser": "muon", "weight_decay": 0.5}, "adam": {"optimiser": "adam"}}  # in trial order


def options_of(family: str, optimiser: str, rate: float, seconds: float, seed: int) -> TrainOptions:
    return replace(OPTIONS, **OPTIMISERS[optimiser], peak=rate, steps=updates(family, seconds), seed=seed)


def made(family: str) -> Model:
    return MAKE[family](replace(SIZES[family], vocab_size=len(Data.load().tokenizer)))


def tried(family: str, optimiser: str, rate: float) -> dict[str, Any]:
    """Train one run of the sweep."""
    key = f"{family}, {optimiser}, {rate:g}"

    def make() -> Made:
        options = options_of(family, optimiser, rate, SECONDS, 0)
        _, took = trained(NAME, key, partial(made, family), options)
        return took, None

    return {"family": family, "optimiser": optimiser, "rate": rate, **piece(NAME, key, make)}


def sweep(family: str) -> list[dict[str, Any]]:
    """Return all runs of a family's sweep, the best first."""
    first, other = OPTIMISERS
    runs = [tried(family, first, rate) for rate in RATES]
    best, step = min(runs, key=perplexity)["rate"], RATES[1] / RATES[0]
    if best in (RATES[0], RATES[-1]):
        runs.append(tried(family, first, best / step if best == RATES[0] else best * step))
    runs.append(tried(family, other, min(runs, key=perplexity)["rate"]))
    return sorted(runs, key=perplexity)


def perplexity(run: dict[str, Any]) -> float:
    found = run["perplexity"]
    return found if math.isfinite(found) else float("inf")  # a diverged run has no perplexity


def of_one_machine(runs: Sequence[dict[str, Any]]) -> None:
    """Raise SystemExit unless all compared runs come from one kind of machine."""
    kinds = {run["machine"] for run in runs}
    if len(kinds) > 1:
        raise SystemExit(
            f"Runs of several machines cannot be compared: {'; '.join(sorted(kinds))}. Make one kind's anew."
        )


def row(run: dict[str, Any]) -> dict[str, Any]:
    """Return what the record keeps of a run: all but the translations, which the corpus's licence does not allow."""
    kept = {
        key: value
        for key, value in run.items()
        if not key.startswith("written") and key not in ("family", "arm", "machine")
    }
    flops = training_flops(run["parameters"], run["tokens"])
    seconds = max(run["training_cpu_seconds"], 0.1)  # rounded to tenths, so one update may have taken 0.0
    return {**kept, "flops": flops, "tokens_per_second": round(run["tokens"] / seconds)}


def options_chosen(family: str, seconds: float, seed: int) -> TrainOptions:
    """Return the training options of a family for the given CPU seconds, with what its sweep chose."""
    best = recorded(NAME)["families"][family][0]
    return options_of(family, best["optimiser"], best["rate"], seconds, seed)


def main() -> None:
    torch.set_num_threads(1)
    with record(NAME, WHAT) as numbers:
        families = {family: sweep(family) for family in MAKE}
        of_one_machine([run for runs in families.values() for run in runs])
        for family, runs in families.items():
            for run in runs:
                arm = f"{family}, {run['optimiser']}, {run['rate']:g}"
                numbers.ran(arm, run["seed"], run["updates"], run["epochs"], run["training_cpu_seconds"], family)
            print(family, [(run["optimiser"], run["rate"], run["perplexity"]) for run in runs], flush=True)
        numbers |= {"seconds_of": SECONDS, "rates": UPDATES_A_SECOND}
        numbers["families"] = {family: [row(run) for run in runs] for family, runs in families.items()}


WHAT = (
    "Rates and optimisers for four families of translators on Multi30k, English to German, about 2.8 million parameters each: updates "
    "that 300 CPU seconds of one thread buy at each family's own pace. Perplexity on the validation part; each family's runs are in "
    "order, the best first."
)


if __name__ == "__main__":
    main()
