"""nbgrader's grade book, fed through its own interface."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from tfm_grader.exports import nbgrader
from tfm_grader.exports.grades import CannotExport
from tfm_grader.scoring.scores import Row, Score


def score(student: str, points: float, late: float = 1.0) -> Score:
    row = Row("masking.band", "A band", "assigned", "ok", points, 4, "", [], [])
    return Score(student, student, "", [row], factors={"masking": late}, handed_in=1e9)


@pytest.mark.parametrize("what", ["text", "a folder", "another program's"])
def test_what_is_no_grade_book_is_a_sentence(tmp_path: Path, what: str):
    database = tmp_path / "gradebook.db"
    if what == "a folder":
        database.mkdir()
    elif what == "text":
        database.write_text("student,points\nanna,3\n", encoding="utf-8")
    else:
        with closing(sqlite3.connect(database)) as other:
            other.execute("create table student (name text)")
    with pytest.raises(CannotExport, match="cannot be used as nbgrader's grade book"):
        nbgrader.nbgrader([score("anna", 4)], database, "masks")


@pytest.mark.long
def test_grade_book_is_filled_and_filled_again(tmp_path: Path):
    database = tmp_path / "gradebook.db"
    assert nbgrader.nbgrader([score("anna", 4), score("김민지", 3, late=0.5)], database, "masks") == []
    nbgrader.nbgrader([score("anna", 2), score("김민지", 3, late=0.5)], database, "masks")  # after another look
    with Gradebook(f"sqlite:///{database}") as book:
        found = {submission.student.id: submission.score for submission in book.assignment_submissions("masks")}
        assert {submission.timestamp.year for submission in book.assignment_submissions("masks")} == {2001}
        assert found == {"anna": 2, "김민지": 1.5}
        assert book.find_assignment("masks").max_score == 4
