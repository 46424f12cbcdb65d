"""Late days that an instructor waives, for one student and one chapter or all: one line of a CSV each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tfm_lib.classroom.marks import NUMBER
from tfm_lib.classroom.tables import BadTable, cell, read_rows

COLUMNS = ("student", "chapter", "days", "reason")
ALL = "all"


class BadWaivers(BadTable):
    """The file of waivers cannot be used; the message says which line, and why."""


@dataclass(frozen=True)
class Waiver:
    """Days that do not count as late, infinity for all of them."""

    days: float
    reason: str
    author: str = ""


def read(path: Path, students: Iterable[str], chapters: Iterable[str]) -> dict[tuple[str, str], Waiver]:
    """The waivers in the file at `path` by student and chapter; raises BadWaivers."""
    known, stems = {cell(student): student for student in students}, list(chapters)
    found: dict[tuple[str, str], Waiver] = {}
    for number, cells in read_rows(path, COLUMNS, ("author",)):
        where = f"{path}, line {number}"
        student = known.get(cell(cells["student"])) or known.get(cells["student"])
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
    return found


def _days(text: str, where: str) -> float:
    if text.lower() == ALL:
        return math.inf
    if not NUMBER.fullmatch(text) or text.startswith("-"):
        raise BadWaivers(f"{where}: the days must be a number, as 2, or {ALL}, and not {text[:40]!r}.")
    return float(text.replace(",", "."))
