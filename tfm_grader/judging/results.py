"""Store results: one file for each student, written atomically."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tfm_grader.assignment.manifest import FORMAT
from tfm_grader.records import StudentResult


def read_result(path: Path) -> StudentResult | None:
    """Load the result at `path`; None if it is missing or cannot be read."""
    try:
        made = msgspec.json.decode(path.read_bytes(), type=StudentResult)
    except (OSError, msgspec.MsgspecError, RecursionError, ValueError):
        return None
    return made if made.format == FORMAT else None


def write_result(path: Path, result: StudentResult) -> None:
    """Write `result` to `path` atomically, so that a killed run leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    os.replace(beside, path)


def all_in(folder: Path) -> list[StudentResult]:
    """Load the results of all students, sorted by name."""
    found = [read_result(path) for path in sorted(folder.glob("*.json"))]
    return [result for result in found if result is not None]
