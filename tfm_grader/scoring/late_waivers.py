"""Read the late days that an instructor waives, for one student and one or all chapters: one CSV line each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tfm_grader.scoring.manual_grades import NUMBER
from tfm_grader.tables import BadTable, cell, read_rows

COLUMNS = ("student", "chapter", "days", "reason")
ALL = "all"


class BadWaivers(BadTable):
    """The file of waivers cannot be used; the message says which line, and why."""


@dataclass(frozen=True)
class Waiver:
    """The number of late days that do not count; infinity for all of them."""

    days: float
    reason: str
    author: str = ""


@dataclass(frozen=True)
class Waivers:
    """All waivers in a file, by student and chapter, and the named students who have left the class."""

    given: dict[tuple[str, str], Waiver] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def read_waivers(path: Path, students: Iterable[str], chapters: Iterable[str], left: Iterable[str] = ()) -> Waivers:
    """Read the waivers at `path`, skipping students who `left` the class. Raises BadWaivers."""
    known, stems = {cell(student): student for student in students}, list(chapters)
    gone, passed = {cell(student): student for student in left}, []
    found: dict[tuple[str, str], Waiver] = {}
    for number, cells in read_rows(path, COLUMNS, ("author",)):
        where = f"{path}, line {number}"
        student = known.get(cell(cells["student"])) or known.get(cells["student"])
        if student is None and (former := gone.get(cell(cells["student"])) or gone.get(cells["student"])):
            passed.append(former)
            continue
        if student is None:
            raise BadWaivers(f"{where}: there is no student {cells['student']!r}. Mind the spelling.")
        if cells["chapter"] not in (*stems, ALL):
            raise BadWaivers(f"{where}: there is no chapter {cells['chapter']!r}, only {', '.join(stems)}, or {ALL}.")
        if not cells["reason"]:
            raise BadWaivers(f"{where}: a waiver needs a reason. It stands in audit.csv.")
        waiver = Waiver(_days(cells["days"], where), cells["reason"], cells["author"])
        for stem in stems if cells["chapter"] == ALL else [cells["chapter"]]:
            if (student, stem) in found:
                raise BadWaivers(f"{where}: {student} has a waiver for {stem} in an earlier line. Keep one of the two.")
            found[student, stem] = waiver
    return Waivers(found, list(dict.fromkeys(passed)))


def _days(text: str, where: str) -> float:
    if text.lower() == ALL:
        return math.inf
    if not NUMBER.fullmatch(text) or text.startswith("-"):
        raise BadWaivers(f"{where}: the days must be a number, as 2, or {ALL}, and not {text[:40]!r}.")
    return float(text.replace(",", "."))
