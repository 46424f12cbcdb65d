"""nbgrader's grade book, fed through its own interface."""

from pathlib import Path

from nbgrader.api import Gradebook

from tfm_lib.classroom import gradebook
from tfm_lib.classroom.scores import Row, Score


def score(student: str, points: float, late: float = 1.0) -> Score:
    row = Row("masking.band", "A band", "assigned", "ok", points, 4, "", [], [])
    return Score(student, student, "", [row], factors={"masking": late}, handed_in=1e9)


def test_grade_book_is_filled_and_filled_again(tmp_path: Path):
    database = tmp_path / "gradebook.db"
    assert gradebook.nbgrader([score("anna", 4), score("김민지", 3, late=0.5)], database, "masks") == []
    gradebook.nbgrader([score("anna", 2), score("김민지", 3, late=0.5)], database, "masks")  # after another look
    with Gradebook(f"sqlite:///{database}") as book:
        found = {submission.student.id: submission.score for submission in book.assignment_submissions("masks")}
        assert {submission.timestamp.year for submission in book.assignment_submissions("masks")} == {2001}
        assert found == {"anna": 2, "김민지": 1.5}
        assert book.find_assignment("masks").max_score == 4
