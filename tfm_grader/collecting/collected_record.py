"""Read and write collected.json: who submitted what, from where and when, and who submitted nothing.

Its history is append-only.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from tfm_grader.collecting import roster as rosters
from tfm_grader.collecting.identity import Claim, marked_apart
from tfm_grader.collecting.roster import Roster
from tfm_grader.names import fold
from tfm_lib._refusal import Refusal

FILE = "collected.json"
LMS = ("canvas", "moodle", "nbgrader")
IN_WORDS = {"where": "from", "handed_in": "handed in", "dated_by": "dated by"}


class BadRecord(Refusal):
    """collected.json, or its folder, cannot be used; the message says why."""


class HandIn(msgspec.Struct, frozen=True, rename=IN_WORDS):
    """The notebook that counts for one student and chapter."""

    where: str
    sha256: str = ""
    late: bool | None = None  # the LMS's late mark; None if it has none
    handed_in: float | None = None  # Unix time; None if only the student states it
    dated_by: str = ""
    kind: str = ""
    number: int = 0
    when: float = 0.0  # its own timestamp, used only to order archives


class NotTaken(msgspec.Struct, frozen=True):
    """A file that the last collection refused, and why."""

    file: str
    why: str


class Known(msgspec.Struct):
    """A student's record: names, identities, and submitted files by chapter."""

    name: str = ""
    lms_id: str = ""
    login: str = ""
    email: str = ""
    section: str = ""
    identities: dict[str, str] = {}
    files: dict[str, HandIn] = {}
    refused: list[NotTaken] = []  # files refused at the last collection


class CollectedLine(msgspec.Struct, frozen=True, rename=IN_WORDS):
    """A history line for one collected notebook: it counts, was earlier, or was already there."""

    collected: str
    student: str
    chapter: str
    sha256: str
    source: str
    where: str
    handed_in: float | None = None
    became: str = "counts"


class Book(msgspec.Struct):
    """The contents of collected.json."""

    students: dict[str, Known]
    refused: list[NotTaken] = []
    replaced: list[str] = []
    history: list[CollectedLine] = []

    @classmethod
    def of(cls, to: Path) -> Book:
        """Load the record in `to`, or an empty one if there is none. Raises BadRecord."""
        try:
            made = msgspec.json.decode((to / FILE).read_bytes(), type=cls)
        except FileNotFoundError:
            return cls({})
        except (OSError, ValueError, RecursionError) as error:
            raise BadRecord(
                f"{to / FILE} cannot be read ({error}). It says who handed in what, and when. "
                "Put back a copy, or collect into a new folder."
            ) from None
        return made

    def encoded(self) -> bytes:
        """Serialise the record."""
        self.students = dict(sorted(self.students.items()))
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"

    def whose(self, claim: Claim, wanted: str) -> str:
        """Return the folder for a claim: its earlier one, else `wanted`, made unique; "" if it is another's."""
        kind, key = claim.identity
        for student, known in self.students.items():
            if known.identities.get(kind) == key:
                return student
        if wanted in self.students:
            others = {name for name in self.students[wanted].identities if name in LMS}
            return wanted if kind not in LMS or not others else ""
        if fold(wanted) in {fold(student) for student in self.students}:
            return marked_apart(claim)
        return wanted

    def meet(self, student: str, claim: Claim) -> None:
        """Record the identity by which a student was found."""
        known = self.students.setdefault(student, Known())
        known.name = claim.name if claim.kind != "folder" else known.name or claim.name
        known.lms_id = claim.lms_id or known.lms_id
        known.login = claim.key if claim.kind == "nbgrader" else known.login
        known.identities.setdefault(claim.kind, claim.key)

    def remember(self, line: CollectedLine) -> None:
        """Append a line to the history unless it repeats what is there."""
        same = [
            each.became
            for each in self.history
            if (each.student, each.chapter, each.sha256) == (line.student, line.chapter, line.sha256)
        ]
        if line.became == "counts" or not same or (line.became == "earlier" and "earlier" not in same):
            self.history.append(line)


def roster(to: Path) -> dict[str, Known]:
    """Return the students of `to`: those who submitted and those on the roster. Raises BadRecord, BadRoster."""
    students = dict(Book.of(to).students)
    for person in (rosters.kept(to) or Roster(())).people:
        known = students.setdefault(person.student, Known())
        known.name = person.name or known.name
        known.lms_id = person.lms_id or known.lms_id
        known.login, known.email, known.section = person.login, person.email, person.section
    return students


def days_late(file: HandIn, due: datetime | None, own: bool = False) -> float | None:
    """Return the days of one file after `due`, None if only the student states the time.

    If the LMS only marks it late, it counts as one day, unless the due date is the student's `own`, of which the LMS
    knows nothing. Without a due date, only what the LMS marks is late.
    """
    if due is not None and file.handed_in is not None:
        return max(0.0, (file.handed_in - due.timestamp()) / 86_400)
    if file.late is not None and not own:
        return 1.0 if file.late else 0.0
    return 0.0 if due is None else None
