"""What does the warm-up do? A small Transformer, post-norm and pre-norm, with it, without it, and with it miscounted."""

import argparse
import itertools
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import time
from typing import Any

import torch

from experiments.record import record
from experiments.training_task import Dates
from tfm_lib.training import train

N_LAYERS, D_MODEL, N_HEADS, D_FF, DROPOUT = 2, 64, 4, 256, 0.1
STEPS, WARMUP, EVERY, MICRO, TOKENS = 2500, 80, 25, 8, 250
LOOKS = (*range(125, 1001, 125), *range(1250, STEPS + 1, 250))  # after so many steps it writes the held-out dates
LEARNT = 0.95  # of them without a fault, at two looks in a row, end a training
RATES = [2e-3, 5e-3, 1e-2]
SEEDS = [0, 1, 2, 3, 4]
SCHEDULES = ["warm-up", "none", "per micro-batch"]


def rate(schedule: str, step: int, peak: float) -> float:
    """The paper's schedule with its peak at `peak`; without its warm-up; stepped for each of MICRO micro-batches."""
    if schedule == "per micro-batch":
        step *= MICRO
    if schedule == "none":
        return peak * min(1.0, (WARMUP / step) ** 0.5)
    return peak * min(step / WARMUP, (WARMUP / step) ** 0.5)


def run(dates: Dates, norm: str, schedule: str, peak: float, seed: int) -> dict[str, Any]:
    """One training: its losses, and what the model can do at each look."""
    torch.manual_seed(seed)
    began = time.process_time()
    model = dates.model(d_model=D_MODEL, n_heads=N_HEADS, d_ff=D_FF, n_layers=N_LAYERS, dropout=DROPOUT, norm=norm)
    steps = train(model, dates.batches(seed, TOKENS), lambda step: rate(schedule, step, peak))
    losses, looks = [], []
    for step in itertools.islice(steps, STEPS):
        losses.append(step.loss)
        if step.step in LOOKS:
            loss, exact = dates.judge(model)
            looks.append({"step": step.step, "loss": float(f"{loss:.3g}"), "exact": round(exact, 3)})
            if min([0, 0, *(look["exact"] for look in looks)][-2:]) >= LEARNT:
                break
    return {
        "norm": norm, "schedule": schedule, "lr": peak, "seed": seed, "looks": looks,
        "cpu_seconds": round(time.process_time() - began, 1),
        "curve": [float(f"{sum(losses[i : i + EVERY]) / EVERY:.3g}") for i in range(0, len(losses), EVERY)],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--name", default="training_warmup", help="of the result; another one for a trial")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    what = (
        f"A Transformer (N = {N_LAYERS}, d_model {D_MODEL}, {N_HEADS} heads, d_ff {D_FF}, dropout {DROPOUT}) writes dates of "
        f"eight countries as year, month, day; {STEPS} steps of {TOKENS} target tokens, Adam and smoothing of the paper. "
        f"lr: the peak. schedule: the paper's with {WARMUP} steps of warm-up; none: at the peak from step 1, falling as "
        f"1/√step from step {WARMUP}; per micro-batch: the paper's, stepped {MICRO} times for each update. curve: training "
        f"loss with smoothing, means of {EVERY} steps; loss (without smoothing) and exact: on 200 held-out dates at the end."
    )
    with record(chosen.name, what, chosen.seeds) as numbers:
        numbers["settings"] = {
            "n_layers": N_LAYERS, "d_model": D_MODEL, "steps": STEPS, "warmup": WARMUP, "every": EVERY, "micro": MICRO,
            "rates": RATES, "schedules": SCHEDULES, "corpus": "dates",
        }  # fmt: skip
        dates, numbers["runs"] = Dates(), []
        plan = list(itertools.product(chosen.seeds, RATES, ("post", "pre"), SCHEDULES))
        for seed, peak, norm, schedule in plan:
            result = run(dates, norm, schedule, peak, seed)
            numbers["runs"].append(result)
            words = ["norm", "schedule", "lr", "seed", "loss", "exact", "seconds"]
            print(
                f"{len(numbers['runs'])}/{len(plan)}",
                *(f"{word} {result[word]}" for word in words),
                result["curve"][::6],
                flush=True,
            )


if __name__ == "__main__":
    main()
