"""Runs a notebook before its answers are called: as a whole, as Jupyter does, or only the statements that they need.

The whole comes first. Slices are for a notebook that stops when it is run as a whole, that takes too long before the
answer is complete, or that does not come to the answer. Which of the two it is, is settled before a hidden test runs.
"""

from __future__ import annotations

import builtins
import math
import re
import time
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from tfm_grader.assignment.manifest import Limits
from tfm_grader.assignment.tasks import Task
from tfm_grader.records import MAX_NOTES, Graded, Record
from tfm_grader.sandbox.inside.remote_calls import Peer, Raised
from tfm_grader.sandbox.inside.values import BadValue
from tfm_grader.sandbox.process import RunningSandbox

GRACE = 3.0  # seconds for a notebook that was told to stop, until it is ended


class Note(Record, forbid_unknown_fields=True, frozen=True):
    """What happened in a code cell: a kind, a place, a name. It has no text that a cell could fill."""

    kind: Literal["raised", "syntax", "shell", "magic"]
    cell: int
    line: int
    name: str


class Loaded(Record, forbid_unknown_fields=True, frozen=True):
    """What a cell says of a notebook that it has loaded."""

    callable: list[str]
    plain: dict[str, Any]  # what is no function, by name
    stubs: list[str]
    lacks: list[str]  # the exercises of which slices may have an answer that this run has not
    forbidden: bool  # whether something was called while it was run that an exercise forbids
    interrupted: int | None  # the code cell in which the time was up
    notes: list[Note]


class BadLoad(Exception):
    """What came is not what a cell says of a notebook."""


class Program:
    """The code cells of a submission, and what its exercises so far have shown of how it runs."""

    def __init__(self, cells: Sequence[str]):
        self.cells = list(cells)
        self._as_a_whole = Graded(what="notebook")

    def way(self) -> Graded:
        """How to run it first."""
        return self._as_a_whole

    def fails(self, because: Literal["stopped", "deadline"]) -> None:
        """It cannot be run as a whole; the next exercise need not try."""
        self._as_a_whole = Graded(what="slices", because=because)

    def is_endless_in(self, cell: int) -> None:
        """It can be run up to this cell."""
        self._as_a_whole = Graded(what="notebook", because="deadline", before=cell)


def with_time_to_load(limits: Limits, exercises: int) -> Limits:
    """The limits of a sandbox that loads a notebook before it answers; it gives back what loading did not need."""
    return msgspec.structs.replace(limits, cpu=exercises * limits.cpu + math.ceil(limits.load_seconds))


def load_notebook(
    peer: Peer, cell: RunningSandbox, tasks: Sequence[Task], program: Program, way: Graded, limits: Limits, until: float
) -> Loaded:
    """Run the notebook in its sandbox, in this way, and no longer than `until`; raises BadLoad."""
    whole = way.what == "notebook"
    how = {"whole": whole, "before": way.before, "seconds": limits.load_seconds, "cpu": limits.cpu}
    exercises = {task.id: list(task.answers) for task in tasks}
    forbidden = list(dict.fromkeys(call for task in tasks for call in task.forbidden))
    cell.channel.deadline = min(time.monotonic() + limits.load_seconds + GRACE, until)
    try:
        came = peer.call("load", [program.cells, exercises, tasks[0].sources, forbidden, how])
        loaded = msgspec.convert(came, Loaded)
    except (Raised, BadValue, msgspec.ValidationError) as error:
        raise BadLoad(type(error).__name__) from None
    if whole and loaded.interrupted is not None:
        program.is_endless_in(loaded.interrupted)
    return loaded


def sentences(notes: Sequence[Note], cells: Sequence[str]) -> list[str]:
    """What students read of `notes`; one whose name is neither Python's nor in the notebook is left out."""
    found = []
    for note in notes[:MAX_NOTES]:
        place = f"Code cell {note.cell}" + (f", line {note.line}" if note.line > 0 else "")
        kind = getattr(builtins, note.name, None)
        if note.kind == "raised" and isinstance(kind, type) and issubclass(kind, BaseException):
            found.append(f"{place}: {note.name}.")
        elif note.kind == "syntax":
            found.append(f"{place} is not Python.")
        elif note.kind == "shell":
            found.append(f"{place}: a line that begins with ! starts no program here. It gives an empty list.")
        elif re.fullmatch(r"%{1,2}\w{1,40}", note.name) and any(note.name in cell for cell in cells):
            found.append(f"{place}: {note.name} does nothing here.")
    return found
