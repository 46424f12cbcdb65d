"""Record experiment runs: the results, the runs behind each of them, and what is needed to judge or repeat them.

A record claims no more than its data support. Its `basis` has an entry for each arm, with the seeds that ran, the
updates and epochs of each, and its CPU seconds; `rows` names the places in the record that hold an arm's numbers, one
per seed. `complaints` finds inconsistencies; a test calls it on every record.
"""

import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

Made = tuple[dict[str, Any], nn.Module | None]  # numbers, and the model if its weights are worth saving
RESULTS = Path(__file__).parent / "results"
WIDTH, DEEP = 120, 2  # line width of a record; depth from which entries share a line
UNTIMED = "Kept from a run that took the CPU time of all its trainings together, not of each."
_taken: list[float | None] = []  # CPU seconds of the pieces that were loaded from saved files
PER_SEED = ("seeds", "updates", "epochs", "cpu_seconds")


class Record(dict[str, Any]):
    """The numbers of a result, and the runs that they rest on."""

    def __init__(self, name: str) -> None:
        super().__init__(basis={})
        self.name = name

    def ran(
        self, arm: str, seed: int, updates: int | None, epochs: float | None = None,
        cpu_seconds: float | None = None, group: str | None = None,
    ) -> None:  # fmt: skip
        """Record that one seed of `arm` has run.

        `updates` is 0 if nothing is trained; `epochs` is None if examples are drawn endlessly. None in `updates` or
        `cpu_seconds` means unknown, and then `unknown` must say why. Arms are compared with those of the same `group`;
        arms without a group, with each other.
        """
        entry = self["basis"].setdefault(arm, {**({"group": group} if group else {}), **{key: [] for key in PER_SEED}})
        for key, value in zip(PER_SEED, (seed, updates, epochs, cpu_seconds)):
            entry[key].append(round(value, 2) if isinstance(value, float) else value)

    @contextmanager
    def run(
        self, arm: str, seed: int, updates: int, epochs: float | None = None, group: str | None = None
    ) -> Iterator[None]:
        """Time the block, which trains and scores one seed of `arm`; the CPU time includes ended child processes."""
        began = cpu_seconds()
        yield
        self.ran(arm, seed, updates, epochs, cpu_seconds() - began, group)

    def pieces(
        self, arm: str, seeds: list[int], make: Callable[[int], Made], updates: int,
        epochs: float | None = None, group: str | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Return the result of `make(seed)` for each seed of `arm`, each a `piece` that may be saved."""
        found = [piece(self.name, f"{arm}, seed {seed}", partial(make, seed)) for seed in seeds]
        for seed, one in zip(seeds, found):
            self.ran(arm, seed, updates, epochs, one["cpu_seconds"], group)
        if any(one["cpu_seconds"] is None for one in found):
            self.unknown(arm, UNTIMED)
        return found

    def rows(self, arm: str, *places: str) -> None:
        """Set the places of `arm`'s numbers, one per seed: "runs/gru 64/exact"; "runs/norm=pre,lr=0.001" in a list."""
        self["basis"][arm]["rows"] = list(places)

    def unknown(self, arm: str, why: str) -> None:
        """Say why `arm` has a None among its updates or CPU seconds."""
        self["basis"][arm]["unknown"] = why


@contextmanager
def record(name: str, what: str, unequal: str | None = None) -> Iterator[Record]:
    """Write what the block adds to the record to `results/<name>.json`, once the block ends without an exception.

    `unequal` says why compared arms differ in their number of seeds or updates, if they do. An inconsistent record is
    still written, so that its hours of computing are not lost, and then ValueError is raised.
    """
    numbers = Record(name)
    wall, cpu, before = time.time(), cpu_seconds(), len(_taken)
    yield numbers
    taken = _taken[before:]
    story = "`cpu_seconds` holds theirs where it was taken; `seconds` does not, and the machine may have been another."
    about = {
        "what": what,
        "command": f"python -m experiments.{name}",
        "seeds": all_seeds(numbers["basis"]),
        **({"unequal": unequal} if unequal else {}),
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": machine(),
        "threads": torch.get_num_threads(),
        "seconds": round(time.time() - wall, 1),
        "cpu_seconds": round(cpu_seconds() - cpu + sum(spent or 0.0 for spent in taken), 1),
        **({"kept": f"{len(taken)} pieces were kept from earlier runs. {story}"} if taken else {}),
    }
    result = {**about, **numbers}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(printed(result) + "\n", encoding="utf-8")
    if wrong := complaints(result):
        raise ValueError(f"{name}.json is written, and says more than it holds:\n" + "\n".join(wrong))


def printed(value: Any, indent: int = 0) -> str:
    """Format `value` as JSON, with short lists and runs of short entries on one line."""
    on_one_line = json.dumps(value, ensure_ascii=False)
    if indent + len(on_one_line) <= WIDTH or not isinstance(value, list | dict):
        return on_one_line
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {printed(each, indent + 1)}" for key, each in value.items()]
        first, last = "{}"
    else:
        parts, (first, last) = [printed(each, indent + 1) for each in value], "[]"
    lines = [parts[0]]
    for part in parts[1:]:
        if (
            (indent >= DEEP or first == "[")
            and "\n" not in lines[-1] + part
            and indent + len(lines[-1]) + len(part) + 3 <= WIDTH
        ):
            lines[-1] += f", {part}"
        else:
            lines[-1] += ","
            lines.append(part)
    margin = "\n" + " " * indent
    return first + "".join(f"{margin} {line}" for line in lines) + margin + last


def piece(experiment: str, key: str, make: Callable[[], Made]) -> dict[str, Any]:
    """Return the numbers that `make` returns with a model, and their `cpu_seconds`.

    If the variable TFM_RUNS names a folder, numbers and weights are saved there and loaded instead of being computed
    again: the work can be spread over days, and later work finds the weights. Empty the folder when the code changes.
    """
    folder = os.environ.get("TFM_RUNS")
    kept = Path(folder, experiment, f"{key}.json") if folder else None
    if kept and kept.is_file():
        numbers = json.loads(kept.read_text(encoding="utf-8"))
        _taken.append(numbers["cpu_seconds"])
        return numbers
    began = cpu_seconds()
    numbers, model = make()
    numbers["cpu_seconds"] = round(cpu_seconds() - began, 1)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        if model is not None:
            torch.save(model.state_dict(), kept.with_name(f"{key}.pt"))
        kept.write_text(json.dumps(numbers, ensure_ascii=False) + "\n", encoding="utf-8")
    return numbers


def short(x: float, digits: int = 3) -> float | None:
    """Round `x` to `digits` significant digits; None if it is not finite."""
    return float(f"{x:.{digits}g}") if math.isfinite(x) else None


def curve(losses: Sequence[float], every: int) -> list[float | None]:
    """Return the means of successive groups of `every` losses, rounded: a curve that a figure can draw."""
    groups = (losses[start : start + every] for start in range(0, len(losses), every))
    return [short(sum(group) / len(group)) for group in groups]


def cpu_seconds() -> float:
    """Return the CPU time of this process, and of its ended children that were waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def complaints(result: dict[str, Any]) -> list[str]:
    """Return the inconsistencies of a record, one sentence each."""
    basis, found = result.get("basis"), []
    if not basis:
        return ["no basis: call `ran` or `run` for every seed of every arm"]
    for arm, entry in basis.items():
        found += [f"{arm}: {wrong}" for wrong in _complaints_of_arm(entry, result)]
    if result.get("seeds") != all_seeds(basis):
        found.append(f"seeds {result.get('seeds')} at the top, {all_seeds(basis)} in the basis")
    unequal = any(len({_size(entry) for entry in arms}) > 1 for arms in _groups(basis).values())
    if unequal and not result.get("unequal"):
        found.append("arms that are compared differ in seeds or updates, and `unequal` does not say why")
    if result.get("unequal") and not unequal:
        found.append("`unequal` explains a difference that is not there")
    return found


def all_seeds(basis: dict[str, Any]) -> list[int]:
    return sorted({seed for entry in basis.values() for seed in entry["seeds"]})


def numbers_at(result: dict[str, Any], place: str) -> Any:
    """Return the value at `place`: successive dict keys; in a list of dicts, those that match all of `key=value,…`."""
    found: Any = result
    for step in place.split("/"):
        if isinstance(found, list):
            wanted = dict(pair.split("=") for pair in step.split(","))
            found = [one for one in found if all(str(one[key]) == value for key, value in wanted.items())]
        else:
            found = found[step]
    return found


def _complaints_of_arm(entry: dict[str, Any], result: dict[str, Any]) -> Iterator[str]:
    seeds = entry["seeds"]
    if not seeds or len(set(seeds)) < len(seeds):
        yield f"seeds {seeds}: none, or one twice"
    if {len(entry[key]) for key in PER_SEED} != {len(seeds)}:
        yield "its lists are not one entry a seed"
    if None in entry["updates"] + entry["cpu_seconds"] and not entry.get("unknown"):
        yield "something about it is not known, and `unknown` does not say why"
    if len(seeds) > 1 and not entry.get("rows"):
        yield "no rows: say where its numbers stand, one a seed"
    for place in entry.get("rows", []):
        try:
            rows = numbers_at(result, place)
        except (KeyError, TypeError, ValueError):
            yield f"there is nothing at {place}"
            continue
        if not isinstance(rows, list) or len(rows) != len(seeds):
            yield f"{place} holds {len(rows) if isinstance(rows, list) else 'no list of'} rows for {len(seeds)} seeds"
        elif all(isinstance(row, dict) and "seed" in row for row in rows) and [row["seed"] for row in rows] != seeds:
            yield f"{place} is of other seeds than {seeds}"


def _groups(basis: dict[str, Any]) -> dict[str | None, list[dict[str, Any]]]:
    groups: dict[str | None, list[dict[str, Any]]] = {}
    for entry in basis.values():
        groups.setdefault(entry.get("group"), []).append(entry)
    return groups


def _size(entry: dict[str, Any]) -> tuple[int, str]:
    """Return what must be equal between compared arms: the number of seeds, and the updates of each."""
    return len(entry["seeds"]), str(sorted(set(entry["updates"]), key=str))


def machine() -> str:
    """Return the processor's name and its number of cores."""
    return f"{_processor()}, {os.cpu_count()} cores"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
