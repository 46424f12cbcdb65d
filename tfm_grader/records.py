"""The typed records that pass between collecting, judging and reporting, validated when they are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

import msgspec

from tfm_grader.assignment.manifest import FORMAT, Kind, Manifest
from tfm_grader.names import digest

Status = Literal["ok", "stopped", "unreadable", "infrastructure"]
Outcome = Literal["passed", "refused", "unsolved", "missing", "stopped", "not judged"]
MAX_TEXT = 20_000  # characters of an answer in words
MAX_NOTES = 20
UNREADABLE = "The submission cannot be read as a notebook"
OTHER_HANDOUT = "This notebook was made for another hand-out than the one that it is graded as."
NOTHING = "Nothing was handed in."


class Record(msgspec.Struct, frozen=True):
    """Plain data that does not change."""

    def but(self, **changes: Any) -> Any:
        """The same with `changes`."""
        return msgspec.structs.replace(self, **changes)


# ── handed in ─────────────────────────────────────────────────────────────


class Submission(Record, frozen=True):
    """The file of one student for one chapter; `data` is None where there is none, `trouble` says why it cannot be read."""

    student: str
    stem: str
    data: bytes | None = None
    trouble: str = ""

    @property
    def digest(self) -> str:
        return digest(self.data) if self.data is not None else ""


class Job(Record, frozen=True):
    """A notebook to be judged: the exercises `ids` of the chapter `stem` in it."""

    student: str
    stem: str
    ids: list[str]
    data: bytes


# ── judged ────────────────────────────────────────────────────────────────


class TestRow(Record, frozen=True):
    """One test of one exercise."""

    __test__ = False  # nothing for pytest
    name: str
    outcome: Outcome
    of: float
    points: float = 0
    held: list[str] = []
    message: str = ""
    mistake: str | None = None
    cause: str = ""  # why a hidden test did not hold: for the instructor, on no student's page


class Took(Record, frozen=True):
    """What judging took, in seconds: on the clock, and of the processor in the sandbox."""

    seconds: float
    cpu: float


class Graded(Record, frozen=True):
    """What of a notebook was run for an exercise: all of it, perhaps only up to a cell, or slices; and why not all."""

    what: Literal["notebook", "slices"]
    because: Literal["", "stopped", "deadline", "lacks"] = ""
    before: int | None = None

    @property
    def sentence(self) -> str:
        """For the student."""
        if self.what == "notebook":
            if self.before is None:
                return "Your whole notebook was run, as Jupyter runs it."
            return f"Your notebook was run up to code cell {self.before}, where its time was over."
        why = {
            "stopped": "ends the program that runs it",
            "deadline": "takes longer than it may",
            "lacks": "stops in a cell before it comes to all that the answer needs",
        }[self.because or "stopped"]
        return f"Run as a whole, your notebook {why}. So only those lines were run that the answer needs."


class Bound(Record, frozen=True):
    """What a result was made from: the SHA-256 of the notebook, of the bundle's part in it, and the grader in words."""

    handed_in: str = ""
    bundle: str = ""
    grader: str = ""


class ExerciseResult(Record, frozen=True):
    """One exercise of one student."""

    id: str
    status: Status
    of: float
    points: float = 0
    reason: str = ""
    cause: str = ""  # of a stop: for the instructor, on no student's page
    tests: list[TestRow] = []
    notes: list[str] = []
    took: Took | None = None
    graded: Graded | None = None
    title: str = ""
    kind: Kind = "assigned"
    text: str = ""  # of an answer in words
    unsure: bool = False  # whether that text answers the question at all
    bound: Bound = Bound()


class Judged(Record, tag_field="is", tag="judged", frozen=True):
    """What the judge made of a notebook: results by exercise, and every answer in words by exercise."""

    exercises: dict[str, ExerciseResult] = {}
    texts: dict[str, str] = {}
    unsure: list[str] = []  # the answers of which a person must say whether they are any
    notes: list[str] | None = None  # None leaves those that there were
    cpu: float = 0.0


class Unreadable(Record, tag_field="is", tag="unreadable", frozen=True):
    """A file that cannot be read as a notebook, and why."""

    unreadable: str


class NotJudged(Record, tag_field="is", tag="not judged", frozen=True):
    """A failure of ours, which costs nobody points, and why."""

    infrastructure: str


Result = Judged | Unreadable | NotJudged


# ── known of a student ────────────────────────────────────────────────────


class ChapterResult(Record, frozen=True):
    """One chapter of one student."""

    submitted: bool
    sha256: str = ""
    notes: list[str] = []
    exercises: list[ExerciseResult] = []


class StudentResult(Record, frozen=True):
    """All of one student in one assignment: the file that grading leaves."""

    student: str
    chapters: dict[str, ChapterResult] = {}
    status: Status = "ok"
    points: float = 0
    of: float = 0
    format: int = FORMAT

    def exercises(self, stem: str) -> dict[str, ExerciseResult]:
        """What is known of the exercises of chapter `stem`."""
        chapter = self.chapters.get(stem)
        return {row.id: row for row in chapter.exercises} if chapter else {}


def worst(exercises: Iterable[ExerciseResult]) -> Status:
    """The worst that happened: infrastructure, unreadable, stopped, or ok."""
    statuses: tuple[Status, ...] = get_args(Status)
    return max((exercise.status for exercise in exercises), key=statuses.index, default="ok")


# ── between the command and its judging processes ─────────────────────────


class Begin(Record, frozen=True):
    """What a judging process must know first."""

    manifest: Manifest
    tests: dict[str, dict[str, str]] = {}
    private: list[str] = []  # what must be invisible in the sandbox
    grace: float = 60  # seconds for a busy machine to compute what a test makes of an answer


class Ready(Record, tag_field="is", tag="ready", frozen=True):
    """The sandbox holds; what was tried."""

    tried: list[str]


class Step(Record, tag_field="is", tag="step", frozen=True):
    """What a judging process does next, so that who waits for it knows how long to wait, and whose fault it is if it ends."""

    id: str  # of the exercise; empty while the notebook is read
    of_student: bool  # whether the student's data may be the cause of what happens
    seconds: float
    standing: ExerciseResult | None = None  # of the exercise, if this step is the last; none while a sandbox starts
    judged: int = 0  # how many of the tests in that are


class Done(Record, tag_field="is", tag="done", frozen=True):
    """The result of an exercise, before that of the others."""

    result: ExerciseResult


class Refused(Record, tag_field="is", tag="refused", frozen=True):
    """The judging process does not judge, and why."""

    why: str
