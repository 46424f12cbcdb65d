"""Train in node what the page trains: a run for the page to rest on, and every switch with five seeds.

    python -m experiments.playground      # an hour on one core; it needs node, and `npm ci` in frontend/

`ran(jobs, folder)` runs `frontend/tests/playground_run.mjs`; `tests/widgets/test_playground.py` holds the same code against the library.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from experiments.record import record, short
from tfm_lib.corpora.words import COUNT

FRONTEND = Path(__file__).parents[1] / "frontend"
WORD = "stressed"
SEEDS = [0, 1, 2, 3, 4]
UPDATES = 1500
EVERY = 50  # updates between two looks of the runs that are compared
#: The default, reverse, and what is changed of it, by the name of the row.
SWITCHES: dict[str, dict[str, Any]] = {
    "reverse": {},
    "sort": {"task": "sort"},
    "reverse, no positions": {"positions": "none"},
    "sort, no positions": {"task": "sort", "positions": "none"},
    "GRU with attention": {"machine": "gru attention"},
    "GRU": {"machine": "gru"},
    "no causal mask": {"causal": False},
    "no residuals": {"residuals": False},
    "sort, no residuals": {"task": "sort", "residuals": False},
    "one head": {"n_heads": 1},
    "sort, one head": {"task": "sort", "n_heads": 1},
    "four heads": {"n_heads": 4},
    "learned positions": {"positions": "learned"},
    "rotary positions": {"positions": "rotary"},
    "pre-norm": {"norm": "pre"},
    "no norm": {"norm": "none"},
    "no √d_k": {"scale": False},
    "no feed-forward": {"feed_forward": False},
    "no padding mask": {"padding": False},
    "no warm-up": {"warmup": 1},
    "smoothing": {"smoothing": 0.1},
    "two layers": {"n_layers": 2},
    "two layers, no residuals": {"n_layers": 2, "residuals": False},
    "one head, no √d_k": {"n_heads": 1, "scale": False},
    "rate 0.016": {"rate": 0.016},
    "rate 0.016, no warm-up": {"rate": 0.016, "warmup": 1},
    "rate 0.032": {"rate": 0.032},
    "rate 0.032, pre-norm": {"rate": 0.032, "norm": "pre"},
    "up to 16 letters": {"longest": 16},
    "up to 16 letters, GRU": {"longest": 16, "machine": "gru"},
    "up to 16 letters, GRU with attention": {"longest": 16, "machine": "gru attention"},
    "d_model 8": {"d_model": 8, "d_ff": 16},
    "sort, d_model 8": {"task": "sort", "d_model": 8, "d_ff": 16},
    "d_model 64, one head": {"d_model": 64, "d_ff": 128, "n_heads": 1},
    "d_model 64, one head, no √d_k": {"d_model": 64, "d_ff": 128, "n_heads": 1, "scale": False},
    "the letter before": {"task": "before"},
    "the letter before, no positions": {"task": "before", "positions": "none"},
    "numbers": {"task": "numbers"},
    "numbers, no positions": {"task": "numbers", "positions": "none"},
    "dates": {"task": "dates"},
    "dates, no positions": {"task": "dates", "positions": "none"},
}
LOOKS = [0, 25, 50, 75, 100, 150, 200, 250, 300, 350, 400, 500, 600, 700, 800, 900, 1000, 1200, 1500]


def ran(jobs: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return what `frontend/tests/playground_run.mjs` makes of the jobs, which are described there."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    command = ["node", "tests/playground_run.mjs", str(folder / "jobs.json"), str(folder / "told.json")]
    subprocess.run(command, cwd=FRONTEND, env={**os.environ, "PATH": path}, check=True)
    return json.loads((folder / "told.json").read_text(encoding="utf-8"))


def shown(moment: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a moment: the cross-attention, in percent."""
    heads = moment["weights"]["decoder.0.cross_attention"]
    weights = [[" ".join(f"{100 * w:.0f}" for w in row) for row in head] for head in heads]
    loss = moment["loss"] and float(short(moment["loss"]))
    return {
        "step": moment["step"],
        "loss": loss,
        "exact": moment["exact"],
        "written": moment["written"],
        "weights": weights,
        "norms": {layer: float(short(norm)) for layer, norm in moment.get("norms", {}).items()},
    }


def switched(change: dict[str, Any], seed: int) -> tuple[dict[str, Any], None]:
    """Return how exact a run with a changed setting is in the end, and when it was first 99 % exact."""
    with tempfile.TemporaryDirectory() as folder:
        [run] = ran(
            [{"train": {**change, "seed": seed, "updates": UPDATES}, "every": EVERY, "look": WORD}], Path(folder)
        )
    exact = {moment["step"]: moment["exact"] for moment in run["moments"]}
    first = next((step for step, share in exact.items() if share >= 0.99), None)
    return {"exact": exact[UPDATES], "first": first, "loss": short(run["moments"][-1]["loss"])}, None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="playground", help="of the result; another one for a trial")
    chosen = parser.parse_args()
    what = (
        f"The playground's engine, run in node as in the page: words of 2 to 8 letters out of 12 where the name says no other, batches of 32, {UPDATES:,} updates. shown: "
        f'one run, with its cross-attention for "{WORD}". switches: for each change of the default the share of {COUNT} unseen '
        f"words that are exact at the end, the first update (looked at every {EVERY}) from which 99 % are, and the mean training loss of the last {EVERY}, for each seed."
    )
    with record(chosen.name, what) as numbers, tempfile.TemporaryDirectory() as folder:
        with numbers.run("shown", 0, updates=UPDATES, group="shown"):
            [run] = ran([{"train": {"updates": UPDATES}, "every": 25, "look": WORD}], Path(folder))
        numbers["settings"] = run["settings"]
        numbers["word"] = WORD
        numbers["moments"] = [shown(moment) for moment in run["moments"] if moment["step"] in LOOKS]
        numbers["switches"] = {}
        for name, change in SWITCHES.items():
            numbers["switches"][name] = numbers.pieces(name, SEEDS, partial(switched, change), updates=UPDATES)
            numbers.rows(name, f"switches/{name}")
            print(name, numbers["switches"][name], flush=True)


if __name__ == "__main__":
    main()
