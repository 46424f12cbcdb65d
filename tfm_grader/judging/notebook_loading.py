"""Load a notebook before its answers are called: run it whole, as Jupyter does, or only the needed statements.

The whole notebook is tried first. Slices are used if the whole run stops, exceeds its time before the answer is
complete, or does not reach the answer. The choice is made before any hidden test runs.
"""

from __future__ import annotations

import builtins
import math
import re
import sys
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from tfm_grader.assignment.tasks import Task
from tfm_grader.records import MAX_NOTES, Graded, Record
from tfm_grader.sandbox.inside.remote_calls import Peer, Raised
from tfm_grader.sandbox.inside.values import BadValue
from tfm_grader.sandbox.limits import Limits
from tfm_grader.sandbox.process import RunningSandbox

PYTHON = "Python {}.{}".format(*sys.version_info)
GRACE = 3.0  # seconds of its own that a notebook gets to stop before it is killed


class Note(Record, forbid_unknown_fields=True, frozen=True):
    """An event in a code cell: its kind, place and name. It carries no text that a cell could control."""

    kind: Literal["raised", "syntax", "shell", "magic"]
    cell: int
    line: int
    name: str


class Loaded(Record, forbid_unknown_fields=True, frozen=True):
    """The sandbox's report on a loaded notebook."""

    callable: list[str]
    plain: dict[str, Any]  # answers that are not functions, by name
    stubs: list[str]
    lacks: list[str]  # exercises for which slices may find an answer that this run lacks
    forbidden: bool  # whether loading called something that an exercise forbids
    interrupted: int | None  # the code cell in which time ran out
    notes: list[Note]


class BadLoad(Exception):
    """The message is not a valid report on a loaded notebook."""


class Program:
    """The code cells of a submission, and how they can be run, as learned from earlier exercises."""

    def __init__(self, cells: Sequence[str]):
        self.cells = list(cells)
        self._as_a_whole = Graded(what="notebook")

    def way(self) -> Graded:
        """Return how to run it first."""
        return self._as_a_whole

    def fails(self, because: Literal["stopped", "deadline"]) -> None:
        """Record that it cannot be run as a whole, so later exercises do not try."""
        self._as_a_whole = Graded(what="slices", because=because)

    def is_endless_in(self, cell: int) -> None:
        """Record that it can be run only up to this cell."""
        self._as_a_whole = Graded(what="notebook", because="deadline", before=cell)


def for_all(limits: Limits, tasks: Sequence[Task]) -> Limits:
    """Return limits for a sandbox in which a notebook is loaded and all tests of `tasks` run. Each has a limit of its own too."""
    tests = sum(len(task.tests) for task in tasks)
    return msgspec.structs.replace(limits, cpu=math.ceil(limits.load_seconds + GRACE) + (tests + 1) * (limits.cpu + 1))


def load_notebook(
    peer: Peer, cell: RunningSandbox, tasks: Sequence[Task], program: Program, way: Graded, limits: Limits
) -> Loaded:
    """Run the notebook in its sandbox in this way. Raises BadLoad."""
    whole = way.what == "notebook"
    how = {"whole": whole, "before": way.before}
    exercises = {task.id: list(task.answers) for task in tasks}
    forbidden = list(dict.fromkeys(call for task in tasks for call in task.forbidden))
    most = limits.load_seconds + GRACE
    cell.channel.allow(most, most, interrupt_after=limits.load_seconds)
    try:
        came = peer.call("load", [program.cells, exercises, tasks[0].sources, forbidden, how])
        loaded = msgspec.convert(came, Loaded)
    except (Raised, BadValue, msgspec.ValidationError) as error:
        raise BadLoad(type(error).__name__) from None
    if whole and loaded.interrupted is not None:
        program.is_endless_in(loaded.interrupted)
    return loaded


def sentences(notes: Sequence[Note], cells: Sequence[str]) -> list[str]:
    """Format `notes` for students, dropping names that are neither Python's nor in the notebook."""
    found = []
    for note in notes[:MAX_NOTES]:
        place = f"Code cell {note.cell}" + (f", line {note.line}" if note.line > 0 else "")
        kind = getattr(builtins, note.name, None)
        if note.kind == "raised" and isinstance(kind, type) and issubclass(kind, BaseException):
            found.append(f"{place}: {note.name}.")
        elif note.kind == "syntax":
            found.append(f"{place} is not {PYTHON}, which grades here.")
        elif note.kind == "shell":
            found.append(f"{place}: a line that begins with ! starts no program here. It gives an empty list.")
        elif re.fullmatch(r"%{1,2}\w{1,40}", note.name) and any(note.name in cell for cell in cells):
            found.append(f"{place}: {note.name} does nothing here.")
    return found
