"""nbgrader's grade book, fed through its own interface."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tfm_grader.exports import nbgrader
from tfm_grader.exports.grades import CannotExport
from tfm_grader.scoring.scores import Score


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
        nbgrader.nbgrader([Score("anna", "Anna", "", [])], database, "masks")
