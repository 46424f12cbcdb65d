"""Load recorded runs: what takes too long for a page is run once, by a script in `experiments/`, and then quoted."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any


def recorded(name: str) -> dict[str, Any]:
    """Load the result of `python -m experiments.<name>` as it was written: numbers, seeds, versions, machine, time.

    Raises FileNotFoundError, naming the command that creates it, if nothing was recorded.
    """
    checkout = Path(__file__).parents[2] / "experiments" / "results" / f"{name}.json"
    shipped = files("tfm_lib") / "recorded_results" / f"{name}.json"  # where the wheel puts them
    for path in (checkout, shipped):
        if path.is_file():
            return json.loads(path.read_text(encoding="utf-8"))
    raise FileNotFoundError(f"Nothing is recorded under {name!r}; `python -m experiments.{name}` makes it.")


def basis(result: dict[str, Any], *arms: str) -> str:
    """Describe what the numbers of a record are based on, for a sentence: "3 seeds, 2,000 updates each".

    Arms of different sizes are listed by name, so that a sentence that compares them cannot hide the difference.
    """
    told: dict[str, list[str]] = {}
    for arm in arms or result["basis"]:
        told.setdefault(_size(result["basis"][arm]), []).append(arm)
    if len(told) == 1:
        return next(iter(told))
    return "; ".join(f"{', '.join(names)}: {size}" for size, names in told.items())


def _size(entry: dict[str, Any]) -> str:
    count, updates = len(entry["seeds"]), entry["updates"]
    seeds = f"{count} seed{'s' * (count > 1)}"
    if None in updates:
        return f"{seeds}, nobody kept the number of updates"
    low, high = min(updates), max(updates)
    if high == 0:
        return seeds
    number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{seeds}, {number} updates{' each' * (count > 1)}"
