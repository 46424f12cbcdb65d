"""The typed records that pass between collecting, judging and reporting, validated on reading."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

import msgspec

from tfm_grader.assignment.manifest import FORMAT, Kind, Manifest
from tfm_grader.names import digest

Status = Literal["ok", "stopped", "unreadable", "infrastructure"]
Outcome = Literal["passed", "refused", "unsolved", "missing", "stopped", "not judged"]
MAX_TEXT = 20_000  # maximum characters of a written answer
MAX_NOTES = 20
UNREADABLE = "The submission cannot be read as a notebook"
OTHER_HANDOUT = "This notebook was made for another hand-out than the one that it is graded as."
NOTHING = "Nothing was handed in."


class Record(msgspec.Struct, frozen=True):
    """Immutable plain data."""

    def but(self, **changes: Any) -> Any:
        """Return a copy with `changes`."""
        return msgspec.structs.replace(self, **changes)


# ── submitted ─────────────────────────────────────────────────────────────


class Submission(Record, frozen=True):
    """One student's file for one chapter; `data` is None if missing, `trouble` says why it cannot be read."""

    student: str
    stem: str
    data: bytes | None = None
    trouble: str = ""

    @property
    def digest(self) -> str:
        return digest(self.data) if self.data is not None else ""


class Job(Record, frozen=True):
    """A notebook to judge: the exercises `ids` of chapter `stem`."""

    student: str
    stem: str
    ids: list[str]
    data: bytes


# ── judged ────────────────────────────────────────────────────────────────


class TestRow(Record, frozen=True):
    """The result of one test."""

    __test__ = False  # not a test class for pytest
    name: str
    outcome: Outcome
    of: float
    points: float = 0
    held: list[str] = []
    message: str = ""
    mistake: str | None = None
    cause: str = ""  # why a hidden test failed: for the instructor, never shown to students


class Took(Record, frozen=True):
    """The time that judging took, in seconds: wall-clock time, and CPU time in the sandbox."""

    seconds: float
    cpu: float


class Graded(Record, frozen=True):
    """Which part of a notebook was tried: all, up to a cell, or slices, and why not all; or the weights it carries."""

    what: Literal["notebook", "slices", "weights"]
    because: Literal["", "stopped", "deadline", "lacks"] = ""
    before: int | None = None

    @property
    def sentence(self) -> str:
        """The explanation for the student."""
        if self.what == "weights":
            return "Only the weights that your notebook carries count here; none of its code was run."
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
    """What a result was computed from: hashes of the notebook and its part of the bundle, and the grader version."""

    handed_in: str = ""
    bundle: str = ""
    grader: str = ""


class ExerciseResult(Record, frozen=True):
    """The result of one exercise for one student."""

    id: str
    status: Status
    of: float
    points: float = 0
    reason: str = ""
    cause: str = ""  # the cause of a stop: for the instructor, never shown to students
    tests: list[TestRow] = []
    notes: list[str] = []
    remarks: list[str] = []  # for the instructor, never shown to students
    took: Took | None = None
    graded: Graded | None = None
    title: str = ""
    kind: Kind = "assigned"
    text: str = ""  # a written answer
    unsure: bool = False  # whether it is unclear that `text` is the answer to the question
    bound: Bound = Bound()


class Judged(Record, tag_field="is", tag="judged", frozen=True):
    """The judge's result for a notebook: results and written answers, by exercise."""

    exercises: dict[str, ExerciseResult] = {}
    texts: dict[str, str] = {}
    unsure: list[str] = []  # written answers that a person must confirm
    notes: list[str] | None = None  # None keeps the existing notes
    cpu: float = 0.0


class Unreadable(Record, tag_field="is", tag="unreadable", frozen=True):
    """A file that cannot be read as a notebook, and why."""

    unreadable: str


class NotJudged(Record, tag_field="is", tag="not judged", frozen=True):
    """A failure of the grader, which costs no points, and why."""

    infrastructure: str


Result = Judged | Unreadable | NotJudged


# ── stored for a student ──────────────────────────────────────────────────


class ChapterResult(Record, frozen=True):
    """The result of one chapter for one student."""

    submitted: bool
    sha256: str = ""
    notes: list[str] = []
    exercises: list[ExerciseResult] = []


class StudentResult(Record, frozen=True):
    """All results of one student in one assignment, as stored by grading."""

    student: str
    chapters: dict[str, ChapterResult] = {}
    status: Status = "ok"
    points: float = 0
    of: float = 0
    format: int = FORMAT

    def exercises(self, stem: str) -> dict[str, ExerciseResult]:
        """Return the results of the exercises of chapter `stem`, by id."""
        chapter = self.chapters.get(stem)
        return {row.id: row for row in chapter.exercises} if chapter else {}


def worst(exercises: Iterable[ExerciseResult]) -> Status:
    """Return the worst status: infrastructure, unreadable, stopped, or ok."""
    statuses: tuple[Status, ...] = get_args(Status)
    return max((exercise.status for exercise in exercises), key=statuses.index, default="ok")


# ── between the command and its judging processes ─────────────────────────


class Begin(Record, frozen=True):
    """The first message to a judging process."""

    manifest: Manifest
    tests: dict[str, dict[str, str]] = {}
    private: list[str] = []  # paths that must be invisible in the sandbox
    grace: float = 120  # seconds of processor time that a test may compute with an answer
    visible: bool = False  # whether the tests are the checks that students see
    in_container: bool = False  # whether a container takes the place of bubblewrap's sandbox


class Ready(Record, tag_field="is", tag="ready", frozen=True):
    """The sandbox passed its checks, which are listed."""

    tried: list[str]


class Step(Record, tag_field="is", tag="step", frozen=True):
    """The judging process's next step: who is at fault if the process ends, and how long it may work without a word."""

    id: str  # the exercise; empty while the notebook is read
    of_student: bool  # whether the student's data may cause what happens
    seconds: float  # of processor time
    standing: ExerciseResult | None = None  # the result if this is the last step; None while a sandbox starts
    judged: int = 0  # how many of its tests have been judged


class Done(Record, tag_field="is", tag="done", frozen=True):
    """The result of one exercise, sent before the others are finished."""

    result: ExerciseResult


class Refused(Record, tag_field="is", tag="refused", frozen=True):
    """The judging process refuses to judge, and why."""

    why: str
