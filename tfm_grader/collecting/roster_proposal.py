"""Propose a roster with LMS numbers filled in by matching names, for a person to confirm.

Names do not identify students, because many LMSs let students edit them. So nothing is collected by name.
"""

from __future__ import annotations

from dataclasses import replace

from tfm_grader.collecting.identity import Claim
from tfm_grader.collecting.roster import Roster
from tfm_grader.names import fold
from tfm_grader.tables import table

FILE = "roster-to-check.csv"


def proposed(roster: Roster, unknown: list[Claim]) -> tuple[Roster, int]:
    """Fill in numbers of `unknown` claims whose name matches one student without a number. Returns the count too."""
    numbers: dict[str, list[str]] = {}
    for claim in {claim.identity: claim for claim in unknown if claim.lms_id}.values():
        called = [person for person in roster.people if _letters(claim.name) in _orders(person.name or person.student)]
        if len(called) == 1 and not called[0].lms_id:
            numbers.setdefault(called[0].student, []).append(claim.lms_id)
    sure = {student: found[0] for student, found in numbers.items() if len(found) == 1}
    people = tuple(replace(person, lms_id=sure.get(person.student, person.lms_id)) for person in roster.people)
    return Roster(people), len(sure)


def as_csv(roster: Roster) -> str:
    """Write the roster as CSV that spreadsheets and `--roster` can read."""
    lines = [("student", "name", "folder", "lms id", "login", "email", "section", "team")]
    lines += [(p.student, p.name, p.folder, p.lms_id, p.login, p.email, p.section, p.team) for p in roster.people]
    return table(lines)


def _letters(name: str) -> str:
    return "".join(char for char in fold(name) if char.isalnum())


def _orders(name: str) -> set[str]:
    """Return the spellings of a name an LMS may use: any rotation of its words, without separators."""
    words = name.replace(",", " ").split()
    return {_letters("".join(words[at:] + words[:at])) for at in range(len(words))}
