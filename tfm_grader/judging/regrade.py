"""Regrade submissions and show what would change, for whom, before any result is overwritten."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tfm_grader.assignment.bundle import Bundle
from tfm_grader.judging import results
from tfm_grader.judging.audit_log import AuditLog
from tfm_grader.judging.grade import is_of, put_result
from tfm_grader.records import NOTHING, ChapterResult, ExerciseResult, StudentResult, Submission
from tfm_grader.tables import number, table
from tfm_lib._refusal import Refusal

FOLDER = "again"  # a subfolder of the results; its content has no effect until it is written
SHOWN = "changes.csv"  # written there once the whole regrade has been shown


class NothingToWrite(Refusal):
    """There is no completed regrade to write; the message says what to do."""


@dataclass(frozen=True)
class Change:
    """One score that would change."""

    student: str
    exercise: str
    before: ExerciseResult | None
    after: ExerciseResult

    @property
    def told(self) -> str:
        return f"{self.student}, {self.exercise}: {_said(self.before)} → {_said(self.after)} of {number(self.after.of)}"


@dataclass
class Changes:
    """The scores that would change, the number that would not, and the failures."""

    made: list[Change] = field(default_factory=list)
    same: int = 0
    failed: list[str] = field(default_factory=list)

    def as_csv(self) -> str:
        head = ["student", "exercise", "points before", "points after", "of", "status before", "status after"]
        lines = [
            [
                c.student,
                c.exercise,
                number(c.before.points) if c.before else "",
                number(c.after.points),
                number(c.after.of),
                c.before.status if c.before else "",
                c.after.status,
            ]
            for c in self.made
        ]
        return table([head, *lines])


def beside(to: Path) -> Path:
    """Create an empty folder for a regrade."""
    shutil.rmtree(to / FOLDER, ignore_errors=True)
    (to / FOLDER).mkdir(parents=True)
    return to / FOLDER


def changes(to: Path) -> Changes:
    """Compare the regraded results in `to` with the current ones."""
    made = Changes()
    for anew in results.all_in(to / FOLDER):
        known = _rows(results.read_result(to / f"{anew.student}.json"))
        for id, row in _rows(anew).items():
            before = known.get(id)
            if row.status == "infrastructure":
                made.failed.append(f"{anew.student} ({id})")
            elif before is not None and _verdict(before) == _verdict(row):
                made.same += 1
            else:
                made.made.append(Change(anew.student, id, before, row))
    return made


def write_regraded(to: Path, bundle: Bundle, submissions: list[Submission], log: AuditLog) -> int:
    """Make the regraded results count. Returns the number of students affected.

    Raises NothingToWrite if there are none, or if the bundle or a notebook has changed since.
    """
    if not (to / FOLDER / SHOWN).is_file():
        begun = "It was ended before it had judged all anew" if (to / FOLDER).is_dir() else "Nothing was judged anew"
        raise NothingToWrite(f"{begun}. `tfm grade --again` does it, and shows what would change.")
    files = {(each.student, each.stem): each for each in submissions}
    found = results.all_in(to / FOLDER)
    for anew in found:
        for stem, chapter in anew.chapters.items():
            file = files.get((anew.student, stem), Submission(anew.student, stem))
            if not all(_is_of(row, bundle, file) for row in chapter.exercises):
                raise NothingToWrite(
                    f"The bundle, or the notebook of {anew.student}, has changed since it was judged anew. "
                    f"Nothing was written. `tfm grade --again` looks once more."
                )
    for anew in found:
        path = to / f"{anew.student}.json"
        before = results.read_result(path) or StudentResult(student=anew.student)
        merged = {stem: _merged(before.chapters.get(stem), chapter) for stem, chapter in anew.chapters.items()}
        put_result(before, merged, bundle, path, log)
    shutil.rmtree(to / FOLDER)
    return len(found)


def _is_of(row: ExerciseResult, bundle: Bundle, file: Submission) -> bool:
    return file.data is None if row.reason == NOTHING else is_of(row, bundle, file)


def _merged(before: ChapterResult | None, anew: ChapterResult) -> ChapterResult:
    """Replace a chapter's rows by the regraded ones; a row that could not be judged keeps its old score."""
    rows = {row.id: row for row in before.exercises} if before else {}
    rows |= {row.id: row for row in anew.exercises if row.status != "infrastructure" or row.id not in rows}
    return anew.but(exercises=list(rows.values()))


def _rows(result: StudentResult | None) -> dict[str, ExerciseResult]:
    chapters = result.chapters.values() if result else ()
    return {row.id: row for chapter in chapters for row in chapter.exercises}


def _verdict(row: ExerciseResult) -> tuple:
    return row.status, row.points, row.of, row.text


def _said(row: ExerciseResult | None) -> str:
    if row is None:
        return "nothing"
    if row.kind == "text":
        return "words" if row.text.strip() else "no words"
    if row.reason == NOTHING:
        return NOTHING.lower().rstrip(".")
    if row.status == "infrastructure":
        return "not judged"
    if row.status == "unreadable":
        return "unreadable"
    return f"{number(row.points)}" + (" (stopped)" if row.status == "stopped" else "")
