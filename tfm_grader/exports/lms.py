"""Fill in gradebook files of Canvas and Moodle. Existing scores are kept, and unknown totals stay blank.

All other cells are preserved.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tfm_grader.exports.grades import CannotExport, said_of
from tfm_grader.scoring.scores import Score
from tfm_grader.tables import ForeignTable, cell, number, table

CANVAS_COLUMN = re.compile(r"(?P<title>.*) \((?P<id>\d+)\)", re.DOTALL)
PARTICIPANT = re.compile(r"\D*(?P<id>\d+)")  # for example `Participant 11`, in the site's language
MOODLE = ["Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)", "Feedback comments"]
WITH_COMMA = re.compile(r"\d+,\d+")  # a number with a decimal comma
EXCUSED = "EX"


@dataclass
class Filled:
    """A gradebook with grades filled in, and notes for the instructor."""

    text: str = ""
    notes: list[str] = field(default_factory=list)


def canvas(scores: list[Score], exported: str, assignment: str, overwrite: bool = False) -> Filled:
    """Fill in the column of `assignment` in a gradebook exported from Canvas. Raises CannotExport.

    Students are matched by Canvas's number, from their file names or the roster.
    """
    book = ForeignTable.of(exported, ["ID"])
    if book is None:
        raise CannotExport(
            "This is no grade book of Canvas: it has no column ID. In Canvas: Grades, Export, Export Entire Gradebook."
        )
    rows = book.rows
    titles = [CANVAS_COLUMN.fullmatch(name) for name in rows[0]]
    columns = [
        at for at, title in enumerate(titles) if rows[0][at] == assignment or (title and title["title"] == assignment)
    ]
    if len(columns) != 1:
        shown = ", ".join(title["title"] for title in titles if title) or "none"
        raise CannotExport(f"The grade book has no single column for {assignment!r}; its assignments: {shown}.")
    made = Filled()
    possible = next((row[columns[0]] for row in rows[1:4] if row and "Points Possible" in row[0]), "")
    if scores and possible and not _same(possible, str(number(scores[0].of))):
        made.notes.append(f"Canvas gives {possible} points for {assignment}, and the bundle {number(scores[0].of)}.")
    _fill(made, rows, columns[0], rows[0].index("ID"), str.strip, scores, overwrite, "Canvas's grade book")
    made.text = book.written()
    return made


def moodle_worksheet(scores: list[Score], exported: str, overwrite: bool = False) -> Filled:
    """Fill in a grading worksheet exported from Moodle. Raises CannotExport."""
    book = ForeignTable.of(exported, ["Identifier", "Grade"])
    if book is None:
        raise CannotExport(
            "This is no grading worksheet of Moodle: it has no column Identifier, or none called Grade. "
            "In the assignment: Grading action, Download grading worksheet; in English, or rename these two columns."
        )
    made, rows = Filled(), book.rows
    grade, identity = rows[0].index("Grade"), rows[0].index("Identifier")
    _fill(made, rows, grade, identity, _participant, scores, overwrite, "the worksheet")
    if "Feedback comments" in rows[0]:
        at, by_id = rows[0].index("Feedback comments"), {score.lms_id: score for score in scores if score.lms_id}
        for row in rows[1:]:
            score = by_id.get(_participant(row[identity])) if len(row) > max(at, grade, identity) else None
            taken = score is not None and _same(row[grade].strip(), str(number(score.points)))
            if score is not None and taken and (overwrite or not row[at].strip()):
                row[at] = cell(_comments(score))
    made.text = "\ufeff" + book.written()
    return made


def moodle(scores: list[Score]) -> str:
    """Create a new Moodle grading worksheet, using the participant numbers from the downloaded folders.

    Its modification dates are blank, so Moodle keeps any grade entered since.
    """
    lines: list[list] = [MOODLE]
    for score in scores:
        if score.lms_id:
            grades = [number(score.points), number(score.of), ""]
            lines.append([f"Participant {score.lms_id}", score.name, *grades, _comments(score)])
    return table(lines)


def _comments(score: Score) -> str:
    return ", ".join(f"{row.title}: {said_of(row)}" for row in score.rows)


def _participant(text: str) -> str:
    found = PARTICIPANT.fullmatch(text.strip())
    return found["id"] if found else ""


def _fill(  # noqa: PLR0913 (what differs between two grade books)
    made: Filled,
    rows: list[list[str]],
    grade: int,
    identity: int,
    id_of: Callable[[str], str],
    scores: list[Score],
    overwrite: bool,
    book: str,
) -> None:
    """Write totals into the column `grade` of `rows`, and note what was not written and why."""
    by_id: dict[str, Score] = {}
    for score in scores:
        if score.lms_id in by_id:
            both = f"{by_id[score.lms_id].student} and {score.student}"
            raise CannotExport(f"{both} have the same number, {score.lms_id}, in the LMS. Mend the roster.")
        if score.lms_id:
            by_id[score.lms_id] = score
    seen, without = set(), []
    comma = any(WITH_COMMA.fullmatch(row[grade].strip()) for row in rows[1:] if len(row) > grade)
    for row in rows[1:]:
        id = id_of(row[identity]) if len(row) > max(identity, grade) else ""
        if not id:
            continue
        if id not in by_id:
            without.append(row[0] if row[0] != row[identity] else (row[1] if len(row) > 1 else row[0]))
            continue
        seen.add(id)
        score = by_id[id]
        told, there = str(number(score.points)), row[grade].strip()
        if there and _same(there, told):
            continue
        if there and (not overwrite or not told or there == EXCUSED):
            made.notes.append(f"{score.student} keeps {there} there; here it is {told or 'not known yet'}.")
        elif told:
            row[grade] = told.replace(".", ",") if comma else told
    if without:
        made.notes.append(f"In {book}, without a result here: {', '.join(without)}.")
    if missing := [score.student for score in scores if score.lms_id not in seen]:
        made.notes.append(f"Not in {book}: {', '.join(missing)}.")


def _same(one: str, other: str) -> bool:
    try:
        return float(one.replace(",", ".")) == float(other)
    except ValueError:
        return one == other
