"""Run the trials of the project *An honest ablation* for each of its parts, and write the sample reports.

    python -m experiments.ablation      # three minutes on one core

Each class gets one of the parts. The sample of full marks needs a report of it, which is written into the project's file,
`tests/grader/assignments/ablation/evaluation.md`.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import json
import statistics
from pathlib import Path
from typing import Any

import torch

from tfm_exercises.mine.trial import PARTS, trial

PROJECT = Path(__file__).parents[1] / "tests" / "grader" / "assignments" / "ablation" / "evaluation.md"
SEEDS, UPDATES = range(5), 300
MATTERS = 5  # percentage points
#: What the samples predict, in percentage points.
PREDICTED = {
    "the second layer": (-40, 0),
    "the second head": (-15, 5),
    "warm-up": (-30, 0),
    "label smoothing": (-5, 5),
    "positions": (-90, -50),
}
T = 2.776  # Student's quantile of 95 % for five pairs


def interval(changes: list[float]) -> tuple[float, float]:
    """Return the 95 % interval for the mean of five changes."""
    half = T * statistics.stdev(changes) / len(changes) ** 0.5
    return statistics.mean(changes) - half, statistics.mean(changes) + half


def verdict(low: float, high: float, matters: float) -> str:
    """Return the verdict of the project's rule."""
    if high < -matters or low > matters:
        return "worse without" if high < 0 else "better without"
    return "no difference that matters" if -matters <= low and high <= matters else "not decided"


def report(whole: list[dict[str, Any]], without: list[dict[str, Any]], name: str) -> str:
    """Return the code of a report, as the notebook's `ablation` prints it."""
    changes = [100 * (b["exact"] - a["exact"]) for a, b in zip(whole, without)]
    low, high = interval(changes)
    print(f"{name}: {statistics.mean(changes):.1f} points ({low:.1f} to {high:.1f}), {changes}", flush=True)
    least, most = PREDICTED[name]
    said = {
        "predicted": PREDICTED[name],
        "verdict": verdict(low, high, MATTERS),
        "held": least <= statistics.mean(changes) <= most,
        "updates": UPDATES,
        "whole": whole,
        "without": without,
    }
    return repr(said)


def write() -> None:
    torch.set_num_threads(1)
    whole = [trial("", seed, UPDATES) for seed in SEEDS]
    parts = [
        {"name": name, "report": report(whole, [trial(name, seed, UPDATES) for seed in SEEDS], name)} for name in PARTS
    ]
    _, rest = PROJECT.read_text(encoding="utf-8").split("\n---\n", 1)
    lines = ["parameters:", "  part:", *(f"  - {json.dumps(part, ensure_ascii=False)}" for part in parts)]
    PROJECT.write_text("\n".join(["---", *lines, "---", rest]), encoding="utf-8")


if __name__ == "__main__":
    write()
