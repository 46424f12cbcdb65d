"""Grades for other programs: CSV, Canvas, Moodle, Gradescope, and nbgrader's grade book."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tfm_lib._refusal import Refusal
from tfm_lib.classroom.records import TestRow
from tfm_lib.classroom.scores import Score
from tfm_lib.classroom.tables import table


class CannotExport(Refusal):
    """A grade book does not fit; the message says what to do."""


def grades(scores: list[Score]) -> str:
    """One line for each student."""
    ids = list(dict.fromkeys(row.id for score in scores for row in score.rows))
    lines: list[list[Any]] = [["student", "name", *ids, "late days", "points", "of", "waits"]]
    for score in scores:
        points = {row.id: number(row.points) for row in score.rows}
        known = [days for days in score.late_days.values() if days is not None]
        late = number(max(known, default=0.0)) if len(known) == len(score.late_days) else "unknown"
        line = [score.student, score.name, *(points.get(id, "") for id in ids), late]
        lines.append([*line, number(score.points), number(score.of), "yes" if score.waits else ""])
    return table(lines)


def items(scores: list[Score]) -> str:
    """One line for each test of each exercise: how many passed it, and the most frequent mistakes."""
    lines: list[list[Any]] = [["exercise", "test", "students", "passed", "share", "frequent mistakes"]]
    for (id, test), rows in _by_test(scores).items():
        passed = sum(row.outcome == "passed" for row in rows)
        mistakes = frequent(row.mistake for row in rows if row.mistake)
        told = "; ".join(f"{name} ({count})" for name, count in mistakes[:5])
        lines.append([id, test, len(rows), passed, round(passed / len(rows), 3), told])
    return table(lines)


def _by_test(scores: list[Score]) -> dict[tuple[str, str], list[TestRow]]:
    found: dict[tuple[str, str], list[TestRow]] = {}
    for score in scores:
        for row in score.rows:
            for test in row.tests:
                found.setdefault((row.id, test.name), []).append(test)
    return found


def frequent(names: Iterable[str]) -> list[tuple[str, int]]:
    """Names with their counts, the most frequent first, ties by name."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def canvas(scores: list[Score], exported: str, assignment: str) -> str:
    """Canvas's own exported grade book, with the column of `assignment` filled in; raises CannotExport.

    Students are matched by Canvas's number, which their file names carried.
    """
    rows = list(csv.reader(io.StringIO(exported.removeprefix("\ufeff"))))
    if not rows or "ID" not in rows[0]:
        raise CannotExport(
            "This is no grade book of Canvas: it has no column ID. In Canvas: Grades, Export, Export Entire Gradebook."
        )
    columns = [index for index, name in enumerate(rows[0]) if name == assignment or name.startswith(f"{assignment} (")]
    if len(columns) != 1:
        shown = ", ".join(name for name in rows[0] if "(" in name) or "none"
        raise CannotExport(f"The grade book has no single column for {assignment!r}; its assignments: {shown}.")
    points = {score.lms_id: number(score.points) for score in scores if score.lms_id}
    at = rows[0].index("ID")
    for row in rows[1:]:
        if len(row) > max(at, columns[0]) and row[at] in points:
            row[columns[0]] = str(points[row[at]])
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)  # Canvas's own cells go back as they came
    return buffer.getvalue()


def moodle(scores: list[Score], assignment: str) -> str:
    """A CSV that Moodle's grade import reads, by the participant number that the downloaded folders carry."""
    lines = [["Identifier", "Full name", f"Grade ({assignment})", "Feedback comments"]]
    for score in scores:
        if score.lms_id:
            told = "; ".join(f"{row.title}: {number(row.points)} of {number(row.of)}" for row in score.rows)
            lines.append([f"Participant {score.lms_id}", score.name, str(number(score.points)), told])
    return table(lines)


def gradescope(score: Score) -> str:
    """results.json for one student."""
    tests = []
    for row in score.rows:
        said = [f"✓ {held}" for test in row.tests for held in test.held]
        said += [test.message for test in row.tests if test.message] or ([row.reason] if row.reason else [])
        tests.append(
            {
                "name": row.title,
                "score": number(row.points),
                "max_score": number(row.of),
                "visibility": "after_published",
                "output": "\n".join([*said, *([f"By hand: {row.by_hand}"] if row.by_hand else [])]),
            }
        )
    return json.dumps({"score": number(score.points), "tests": tests}, ensure_ascii=False, indent=1) + "\n"


def nbgrader(scores: list[Score], database: Path, assignment: str) -> int:
    """Put the scores into nbgrader's grade book through its own interface; how many. Raises CannotExport."""
    try:
        from nbgrader.api import Gradebook
    except ImportError:
        raise CannotExport("nbgrader is not installed: pip install 'tfm-lib[hub]'") from None
    beside = str(Path(sys.executable).parent)  # nbgrader starts `alembic`, which lies there, by its bare name
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([beside, os.environ.get("PATH", "")])
    with Gradebook(f"sqlite:///{database.resolve()}") as book:
        book.update_or_create_assignment(assignment)
        for stem, rows in _by_stem(scores).items():
            book.update_or_create_notebook(stem, assignment)
            for id, most in rows.items():
                book.update_or_create_grade_cell(id, stem, assignment, max_score=most, cell_type="code")
        for score in scores:
            book.update_or_create_student(score.student)
            when = {"timestamp": datetime.fromtimestamp(score.handed_in, UTC)} if score.handed_in else {}
            book.update_or_create_submission(assignment, score.student, **when)
            for row in score.rows:
                stem = row.id.partition(".")[0]
                grade = book.find_grade(row.id, stem, assignment, score.student)
                grade.auto_score = row.points * score.factors.get(stem, 1.0)
                grade.needs_manual_grade = row.waits
        book.db.commit()
    return len(scores)


def _by_stem(scores: list[Score]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for score in scores:
        for row in score.rows:
            found.setdefault(row.id.partition(".")[0], {})[row.id] = row.of
    return found


def number(value: float) -> float | int:
    """A number without a needless point."""
    rounded = round(value, 4)
    return int(rounded) if rounded == int(rounded) else rounded
