"""Write grades into nbgrader's gradebook through its API."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tfm_grader.exports.grades import CannotExport
from tfm_grader.scoring.scores import Row, Score
from tfm_lib import _extras


def nbgrader(scores: list[Score], database: Path, assignment: str) -> list[str]:
    """Write the scores into nbgrader's gradebook. Returns notes for the instructor. Raises CannotExport.

    Unknown scores stay empty and are marked as needing a manual grade. Manual scores given in nbgrader are kept.
    """
    try:
        from nbgrader.api import Gradebook
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        raise CannotExport(f"nbgrader is not installed: {_extras.command('hub')}") from None
    if not database.resolve().parent.is_dir():
        raise CannotExport(f"There is no folder {database.parent} for nbgrader's grade book.")
    beside = str(Path(sys.executable).parent)  # nbgrader runs `alembic` by its bare name, and it is installed there
    if beside not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([beside, os.environ.get("PATH", "")])
    try:
        return _fed(scores, Gradebook, database, assignment)
    except SQLAlchemyError as error:
        said = str(error).splitlines()[0].rpartition(") ")[2]
        raise CannotExport(
            f"{database} cannot be used as nbgrader's grade book ({said}). Nothing else was written."
        ) from None


def _fed(scores: list[Score], Gradebook: Any, database: Path, assignment: str) -> list[str]:
    kept = []
    with Gradebook(f"sqlite:///{database.resolve()}") as book:
        book.update_or_create_assignment(assignment)
        for stem, rows in _by_stem(scores).items():
            book.update_or_create_notebook(stem, assignment)
            for row in rows.values():
                kind = "markdown" if row.kind == "text" else "code"
                book.update_or_create_grade_cell(row.id, stem, assignment, max_score=row.of, cell_type=kind)
        known = {submission.student.id for submission in book.assignment_submissions(assignment)}
        for score in scores:
            book.update_or_create_student(score.student)
            if score.nothing and score.points is None and score.student not in known:
                continue  # nbgrader represents this as a student without a submission
            when = {"timestamp": datetime.fromtimestamp(score.handed_in, UTC)} if score.handed_in else {}
            book.update_or_create_submission(assignment, score.student, **when)
            for row in score.rows:
                grade = book.find_grade(row.id, row.id.partition(".")[0], assignment, score.student)
                grade.auto_score = score.counted(row)
                grade.needs_manual_grade = row.points is None and grade.manual_score is None
                if grade.manual_score is not None:
                    kept.append(f"{score.student} ({row.id}: {grade.manual_score:g})")
        book.db.commit()
    notes = [f"In nbgrader, scores given there by hand count before these: {', '.join(kept)}."] if kept else []
    if left := sorted(known - {score.student for score in scores}):
        notes.append(f"In nbgrader, and without a result here: {', '.join(left)}.")
    return notes


def _by_stem(scores: list[Score]) -> dict[str, dict[str, Row]]:
    found: dict[str, dict[str, Any]] = {}
    for score in scores:
        for row in score.rows:
            found.setdefault(row.id.partition(".")[0], {})[row.id] = row
    return found
