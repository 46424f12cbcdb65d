"""Tune the learning rate of the post-norm and unscaled arms: do they lose less with a rate of their own?

`evaluation_ablations` trains every arm at the rate that is best for the whole model. Here the rate is tuned for the
whole model and for the two arms most likely to need another one: four rates, a factor of √3 apart, with seed 0, and
one rate more wherever the best is at an end; then the best, by perplexity, with two more seeds. Updates, data and
scores are those of `evaluation_ablations`. Each rate is chosen on the same validation part that scores it, which
favours each arm equally.

    TFM_RUNS=trained python -m experiments.evaluation_retuned
"""

from dataclasses import replace
from functools import partial
from typing import Any

import torch

from experiments.evaluation_ablations import judged, options_for
from experiments.evaluation_sweep import of_one_machine, perplexity, row
from experiments.record import Record, piece, record

NAME = "evaluation_retuned"
ARMS = ["whole", "post-norm", "no √d_k"]
SEEDS, RATES = [0, 1, 2], [3e-3, 5.2e-3, 9e-3, 1.56e-2]
STEP = 3**0.5


def run(arm: str, rate: float, seed: int) -> dict[str, Any]:
    """Train an arm at one rate."""
    key = f"{arm.replace('√', 'root ')}, {rate:g}, seed {seed}"
    options = replace(options_for(arm, seed), peak=rate)
    return {"rate": rate, **piece(NAME, key, partial(judged, NAME, key, arm, options))}


def tuned(arm: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the runs of seed 0, one per rate, and those of the best rate, one per seed."""
    tried = [run(arm, rate, SEEDS[0]) for rate in RATES]
    best = min(tried, key=perplexity)["rate"]
    if best in (RATES[0], RATES[-1]):
        tried.append(run(arm, float(f"{best / STEP if best == RATES[0] else best * STEP:.3g}"), SEEDS[0]))
    best = min(tried, key=perplexity)
    return sorted(tried, key=lambda one: one["rate"]), [best, *(run(arm, best["rate"], seed) for seed in SEEDS[1:])]


def entered(numbers: Record, arm: str) -> list[dict[str, Any]]:
    """Add an arm's runs to the record, and return them."""
    tried, runs = tuned(arm)
    for one in tried:
        basis = (one["seed"], one["updates"], one["epochs"], one["training_cpu_seconds"])
        numbers.ran(f"{arm}, {one['rate']:g}", *basis, "rates")
    for one in runs:
        numbers.ran(arm, one["seed"], one["updates"], one["epochs"], one["training_cpu_seconds"])
    numbers.rows(arm, f"arms/{arm}/runs")
    numbers["arms"][arm] = {"rates": [row(one) for one in tried], "runs": [row(one) for one in runs]}
    print(arm, [(one["rate"], one["perplexity"], one["val"]["bleu"]) for one in tried + runs], flush=True)
    return tried + runs


def main() -> None:
    torch.set_num_threads(1)
    with record(NAME, WHAT) as numbers:
        numbers["arms"] = {}
        of_one_machine([one for arm in ARMS for one in entered(numbers, arm)])


WHAT = (
    "The whole model of evaluation_ablations, post-norm and undivided scores, each at its own learning rate: the best, by perplexity, of "
    "four or five with seed 0 (rates), then three seeds (runs). BLEU (sacrebleu, greedily) and perplexity on the validation part of "
    "Multi30k, on which the rates were chosen as well."
)


if __name__ == "__main__":
    main()
