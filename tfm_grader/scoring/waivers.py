"""Read the late days that an instructor waives, and due dates of a student's own: one CSV line each.

A line is for a student or a team, and for one chapter or all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from tfm_grader.scoring.manual_grades import NUMBER
from tfm_grader.tables import BadTable, Faults, cell, read_rows

COLUMNS = ("student", "chapter", "reason")
MORE = ("days", "due")  # each line has either days or due
ALL = "all"


class BadWaivers(BadTable):
    """The file of waivers cannot be used; the message says which line, and why."""


@dataclass(frozen=True)
class Waiver:
    """The number of late days that do not count, infinity for all of them, or a due date of the student's own."""

    days: float
    reason: str
    due: datetime | None = None


@dataclass(frozen=True)
class Waivers:
    """All waivers in a file, by student and chapter, and the named students who have left the class."""

    given: dict[tuple[str, str], Waiver] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def read_waivers(
    path: Path,
    students: Iterable[str],
    chapters: Iterable[str],
    left: Iterable[str] = (),
    teams: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Waivers:
    """Read the waivers at `path`, skipping students who `left` the class. Raises BadWaivers.

    A line for one of the `teams` counts for each of its members who has no line.
    """
    stems = list(chapters)
    known = {cell(name): name for name in [*students, *teams]}
    gone, passed = {cell(student): student for student in left}, []
    found: dict[tuple[str, str], Waiver] = {}
    faults = Faults(BadWaivers)
    for number, cells in read_rows(path, COLUMNS, MORE, faults=faults):
        where = f"{path}, line {number}"
        student = known.get(cell(cells["student"])) or known.get(cells["student"])
        if student is None and (former := gone.get(cell(cells["student"])) or gone.get(cells["student"])):
            passed.append(former)
            continue
        with faults.line(number):
            if student is None:
                who = "student or team" if teams else "student"
                raise BadWaivers(f"{where}: there is no {who} {cells['student']!r}. Mind the spelling.")
            if cells["chapter"] not in (*stems, ALL):
                there = ", ".join(stems)
                raise BadWaivers(f"{where}: there is no chapter {cells['chapter']!r}, only {there}, or {ALL}.")
            if not cells["reason"]:
                raise BadWaivers(f"{where}: a waiver needs a reason, which goes into audit.csv.")
            waiver = _waiver(cells, where)
            for stem in stems if cells["chapter"] == ALL else [cells["chapter"]]:
                if (student, stem) in found:
                    twice = f"{student} has a waiver for {stem} in an earlier line"
                    raise BadWaivers(f"{where}: {twice}. Keep one of the two.")
                found[student, stem] = waiver
    faults.refuse()
    given = {key: waiver for key, waiver in found.items() if key[0] not in teams}
    for (name, stem), waiver in found.items():
        for member in teams.get(name, ()):
            given.setdefault((member, stem), waiver)
    return Waivers(given, list(dict.fromkeys(passed)))


def _waiver(cells: Mapping[str, str], where: str) -> Waiver:
    if bool(cells["days"]) == bool(cells["due"]):
        raise BadWaivers(
            f"{where}: a line has either days, as 2 or {ALL}, or a due date, as 2027-03-05T23:59+01:00. "
            f"This one has {'both' if cells['days'] else 'neither'}."
        )
    due = _due(cells["due"], where) if cells["due"] else None
    return Waiver(0.0 if due else _days(cells["days"], where), cells["reason"], due)


def _due(text: str, where: str) -> datetime:
    """Read a due date. A bare date is refused, because it would mean the first minute of that day."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        when = None
    if when is None or ":" not in text:
        raise BadWaivers(
            f"{where}: the due date must be a date with a time, as 2027-03-05T23:59+01:00, and not {text[:40]!r}."
        )
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _days(text: str, where: str) -> float:
    if text.lower() == ALL:
        return math.inf
    if not NUMBER.fullmatch(text) or text.startswith("-"):
        raise BadWaivers(f"{where}: the days must be a number, as 2, or {ALL}, and not {text[:40]!r}.")
    return float(text.replace(",", "."))
