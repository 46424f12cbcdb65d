"""Read manual marks, for written answers or in place of the tests' points: one CSV line each."""

from __future__ import annotations

import math
import re
from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path

from tfm_grader.tables import BadTable, Faults, cell, read_rows

COLUMNS = ("student", "exercise", "points", "reason")
MORE = (
    "author",
    "time",
    "text",
    "criterion",
)  # optional columns; `text` is the SHA-256 of what was marked, or a prefix of it
IGNORED = ("of", "answer")  # further columns of marking.csv
NUMBER = re.compile(r"-?[0-9]{1,6}(?:[.,][0-9]{1,6})?")
WHOLE = "as a whole"  # the criterion used for an answer without a rubric
TEXT = re.compile(r"[0-9a-f]{8,64}")


class BadMarks(BadTable):
    """The file of marks cannot be used; the message says which line, and why."""


@dataclass(frozen=True)
class Mark:
    """A manual mark for one student and exercise, from one line, or one line for each rubric criterion."""

    student: str
    exercise: str
    points: float
    reason: str
    author: str = ""
    time: str = ""
    text: str = ""
    criteria: tuple[tuple[str, float], ...] = ()
    line: int = 0

    @property
    def key(self) -> tuple[str, str]:
        return self.student, self.exercise

    @property
    def said(self) -> tuple:
        """The content that identifies a mark as one seen before."""
        return self.student, self.exercise, self.points, self.reason, self.author, self.time, self.text, self.criteria


@dataclass(frozen=True)
class Marks:
    """All marks in a file, by (student, exercise), and those whose rubric is only partly filled in.

    `faults` are the lines that could not be read, as pairs of a line number and a sentence.
    """

    given: dict[tuple[str, str], Mark]
    unfinished: frozenset[tuple[str, str]] = frozenset()
    faults: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class _Line:
    number: int
    cells: dict[str, str]
    points: float | None

    @property
    def key(self) -> tuple[str, str]:
        return self.cells["student"], self.cells["exercise"]


def read_marks(path: Path) -> Marks:
    """Read the marks at `path`, ignoring lines without points.

    Raises BadTable if the columns are wrong. Faults in single lines are raised by `require_known`, with its own.
    """
    found: dict[tuple[str, str], list[_Line]] = {}
    faults, given = Faults(BadMarks), {}
    for number, cells in read_rows(path, COLUMNS, MORE, IGNORED, faults):
        with faults.line(number):
            line = _Line(number, cells, _points(cells["points"], f"{path}, line {number}"))
            for earlier in found.setdefault(line.key, []):
                criteria = earlier.cells["criterion"], cells["criterion"]
                if criteria[0] == criteria[1] or "" in criteria:
                    raise BadMarks(
                        f"{path}, line {number}: {line.key[0]} has a mark for {line.key[1]} in line {earlier.number} "
                        "already. Keep one of the two; a rubric names a criterion of its own in each line."
                    )
            found[line.key].append(line)
    for key, lines in found.items():
        if all(line.points is not None for line in lines):
            with faults.line(lines[0].number):
                given[key] = _mark(lines, path)
    begun = {key for key, lines in found.items() if key not in given and any(line.points is not None for line in lines)}
    return Marks(given, frozenset(begun), tuple(faults.told))


def lines(path: Path) -> list[dict[str, str]]:
    """Read the lines of the file at `path` unchanged. Raises BadTable."""
    return [cells for _, cells in read_rows(path, COLUMNS, MORE, IGNORED)]


def _points(text: str, where: str) -> float | None:
    if not text:
        return None
    if not NUMBER.fullmatch(text):
        raise BadMarks(f"{where}: the points must be a number, as 1.5, and not {text[:40]!r}.")
    return float(text.replace(",", "."))


def _mark(lines: list[_Line], path: Path) -> Mark:
    student, exercise = lines[0].key
    cells = [line.cells for line in lines]
    criteria = tuple((line.cells["criterion"], line.points or 0.0) for line in lines if line.cells["criterion"])
    if [name for name, _ in criteria] == [WHOLE]:
        criteria = ()
    reason = "; ".join(filter(None, (_said(line) for line in lines)))
    if not reason and not cells[0]["criterion"]:
        raise BadMarks(f"{path}, line {lines[0].number}: a mark needs a reason. The student reads it.")
    text = next((each["text"].lower() for each in cells if each["text"]), "")
    if text and not TEXT.fullmatch(text):
        raise BadMarks(
            f"{path}, line {lines[0].number}: the column text holds the SHA-256 of the answer that was marked, "
            f"or eight or more of its signs, and not {text[:40]!r}. Leave it empty if you have none."
        )
    author = ", ".join(dict.fromkeys(each["author"] for each in cells if each["author"]))
    times = max((each["time"] for each in cells), default="")
    points = math.fsum(line.points or 0.0 for line in lines)
    return Mark(student, exercise, points, reason, author, times, text, criteria, lines[0].number)


def _said(line: _Line) -> str:
    """Format the reason of one line, with its criterion and the criterion's points."""
    reason, criterion = line.cells["reason"], line.cells["criterion"]
    if criterion in ("", WHOLE):
        return reason
    return f"{criterion}: {line.points:g}{f' ({reason})' if reason else ''}"


def require_known(
    marks: Marks, most: dict[tuple[str, str], float], path: Path, left: Container[str] = frozenset()
) -> Marks:
    """Check `marks` against `most`, the maximum points of each result, and use the students' exact names.

    Marks of students who `left` the class are dropped. Raises BadMarks, with the faults that reading found as well.
    """
    guarded = {(cell(student), exercise): (student, exercise) for student, exercise in most}  # as in a sheet
    faults, given = Faults(BadMarks, marks.faults), {}
    for key, mark in marks.given.items():
        known = key if key in most else guarded.get(key)
        if known is None and mark.student in left:
            continue
        with faults.line(mark.line):
            if known is None:
                raise BadMarks(
                    f"{path}, line {mark.line}: the marks name {mark.student!r} and {mark.exercise!r}, for whom and "
                    "which there is no result. Mind the spelling."
                )
            if not 0 <= mark.points <= most[known]:
                raise BadMarks(
                    f"{path}, line {mark.line}: {mark.student} cannot have {mark.points:g} points for {mark.exercise}; "
                    f"there are 0 to {most[known]:g}."
                )
            given[known] = replace(mark, student=known[0], exercise=known[1])
    faults.refuse()
    begun = frozenset(guarded.get(key, key) for key in marks.unfinished)
    return Marks(given, begun)
