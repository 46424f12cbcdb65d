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
    shipped = files("tfm_lib.book") / "recorded_results" / f"{name}.json"  # where the wheel puts them
    for path in (checkout, shipped):
        if path.is_file():
            return json.loads(path.read_text(encoding="utf-8"))
    raise FileNotFoundError(f"Nothing is recorded under {name!r}; `python -m experiments.{name}` makes it.")
