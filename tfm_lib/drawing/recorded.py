"""Recorded runs: what took too long for a page was run once, by a script in `experiments/`, and is quoted from its result."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any


def recorded(name: str) -> dict[str, Any]:
    """The result of `python -m experiments.<name>`, as the script wrote it: numbers, seeds, versions, machine, time.

    Raises FileNotFoundError, with the command that makes it, where nothing was recorded.
    """
    checkout = Path(__file__).parents[2] / "experiments" / "results" / f"{name}.json"
    shipped = files("tfm_lib") / "recorded_results" / f"{name}.json"  # where the wheel puts them
    for path in (checkout, shipped):
        if path.is_file():
            return json.loads(path.read_text(encoding="utf-8"))
    raise FileNotFoundError(f"Nothing is recorded under {name!r}; `python -m experiments.{name}` makes it.")


def basis(result: dict[str, Any], *arms: str) -> str:
    """What numbers of a record rest on, for a sentence: "3 seeds, 2,000 updates each".

    Arms of another size are told apart, each with its name, so that a sentence that compares them cannot hide it.
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
