"""Train a small Transformer, post- and pre-norm, with warm-up, without it, and with it stepped per micro-batch.

All runs take an hour on one core. With TFM_RUNS each training is saved in that folder, so the work can be split:

    TFM_RUNS=… python -m experiments.training_warmup --rates 0.005 --seeds 1 2    # these trainings, if missing
    TFM_RUNS=… python -m experiments.training_warmup --record                     # the record of the saved trainings
"""

import argparse
import itertools
import json
import os
from collections import Counter
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

from typing import Any

import torch

from experiments.record import curve, piece, record, short
from experiments.training_task import HELD_OUT, Dates
from tfm_lib.training import train
from tfm_lib.transformer import Transformer

NAME = "training_warmup"
N_LAYERS, D_MODEL, N_HEADS, D_FF, DROPOUT = 2, 64, 4, 256, 0.1
STEPS, WARMUP, EVERY, MICRO, TOKENS = 2500, 80, 25, 8, 250
LOOKS = (*range(125, 1001, 125), *range(1250, STEPS + 1, 250))  # steps after which the dates are scored
LEARNT = 0.95  # share without a mistake that, in two evaluations in a row, ends a training
RATES = [2e-3, 5e-3, 1e-2]
SEEDS = [0, 1, 2, 3, 4]
SCHEDULES = ["warm-up", "none", "per micro-batch"]


def rate(schedule: str, step: int, peak: float) -> float:
    """Return the paper's schedule with its peak at `peak`; without warm-up; or stepped MICRO times per update."""
    if schedule == "per micro-batch":
        step *= MICRO
    if schedule == "none":
        return peak * min(1.0, (WARMUP / step) ** 0.5)
    return peak * min(step / WARMUP, (WARMUP / step) ** 0.5)


def run(dates: Dates, norm: str, schedule: str, peak: float, seed: int) -> tuple[dict[str, Any], Transformer]:
    """Train once; return its losses, and the scores of each evaluation."""
    torch.manual_seed(seed)
    model = dates.model(d_model=D_MODEL, n_heads=N_HEADS, d_ff=D_FF, n_layers=N_LAYERS, dropout=DROPOUT, norm=norm)
    losses, looks = [], list[dict[str, Any]]()
    for step in train(model, dates.batches(seed, TOKENS), lambda step: rate(schedule, step, peak)):
        losses.append(step.loss)
        if step.step in LOOKS:
            loss, exact = dates.judge(model)
            looks.append({"step": step.step, "loss": short(loss), "exact": round(exact, 3)})
            if step.step == STEPS or (len(looks) > 1 and min(look["exact"] for look in looks[-2:]) >= LEARNT):
                break
    return {
        "norm": norm, "schedule": schedule, "lr": peak, "seed": seed, "updates": len(losses), "looks": looks,
        "curve": curve(losses, EVERY),
    }, model  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", type=float, nargs="+", choices=RATES, default=RATES)
    parser.add_argument("--seeds", type=int, nargs="+", choices=SEEDS, default=SEEDS)
    parser.add_argument("--record", action="store_true", help="train nothing")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    plan = itertools.product(chosen.seeds, chosen.rates, ("post", "pre"), SCHEDULES)
    if chosen.record:
        write([json.loads(path.read_text()) for path in Path(os.environ["TFM_RUNS"], NAME).glob("*.json")])
        return
    dates, runs = Dates(), []
    for seed, peak, norm, schedule in plan:
        key = f"{norm} {schedule} {peak:g} {seed}"
        runs.append(piece(NAME, key, partial(run, dates, norm, schedule, peak, seed)))
        print(key, runs[-1]["updates"], runs[-1]["looks"][-1], flush=True)
    if (chosen.rates, chosen.seeds) == (RATES, SEEDS):
        write(runs)


def write(runs: list[dict[str, Any]]) -> None:
    what = (
        f"A Transformer (N = {N_LAYERS}, d_model {D_MODEL}, {N_HEADS} heads, d_ff {D_FF}, dropout {DROPOUT}) writes dates of "
        f"eight countries as year, month, day; {TOKENS} target tokens a step, Adam and smoothing of the paper. lr: the "
        f"peak. schedule: the paper's with {WARMUP} steps of warm-up; none: at the peak from step 1, falling as 1/√step from "
        f"step {WARMUP}; per micro-batch: the paper's, stepped {MICRO} times for each update. looks: loss (without smoothing) "
        f"and share without a fault, on {HELD_OUT} held-out dates; a run ends when that share has been {LEARNT:.0%} at two looks "
        f"in a row, or after {STEPS} steps. curve: training loss with smoothing, means of {EVERY} steps."
    )
    runs.sort(key=lambda one: (RATES.index(one["lr"]), one["norm"], SCHEDULES.index(one["schedule"]), one["seed"]))
    counts = Counter(arm(one) for one in runs)
    unequal = (
        f"A run ends when it writes {LEARNT:.0%} of the dates, so one that learns soon makes fewer updates. Seeds that were run: "
        + ", ".join(f"{name} {count}" for name, count in counts.items())
    )
    differ = len({one["updates"] for one in runs}) > 1 or len(set(counts.values())) > 1
    with record(NAME, what, unequal if differ else None) as numbers:
        numbers["settings"] = {
            "n_layers": N_LAYERS, "d_model": D_MODEL, "steps": STEPS, "warmup": WARMUP, "every": EVERY, "micro": MICRO,
            "rates": RATES, "schedules": SCHEDULES, "learnt": LEARNT, "held_out": HELD_OUT, "corpus": "dates",
        }  # fmt: skip
        numbers["runs"] = runs
        for one in runs:
            numbers.ran(arm(one), one["seed"], one["updates"], cpu_seconds=one["cpu_seconds"])
            numbers.rows(arm(one), "runs/norm={norm},schedule={schedule},lr={lr}".format(**one))


def arm(one: dict[str, Any]) -> str:
    return f"{one['norm']} {one['schedule']} {one['lr']:g}"


if __name__ == "__main__":
    main()
