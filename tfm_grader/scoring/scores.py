"""Compute scores from results: the tests' points, manual marks, and deductions for lateness.

Points are None while they are not known, and everything computed from them then stays blank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.manifest import Entry, Late
from tfm_grader.names import digest
from tfm_grader.records import NOTHING, Bound, ChapterResult, ExerciseResult, StudentResult, TestRow
from tfm_grader.scoring.manual_grades import Mark, Marks
from tfm_grader.scoring.teams import Holder
from tfm_grader.scoring.waivers import Waiver

HAND_IN, JUDGING, RUN = "a hand-in", "its first judging", "another run"
READABLE, ACCEPTED = "a notebook that can be read", "a hand-in that is accepted"
GONE = "a hand-in again, since the one that was marked is gone"
MARK, NEW_MARK, RUBRIC = "a mark", "a new mark, since other work was handed in", "the rest of its rubric"
RESCALED = "a new mark, since the old one is of other points than there are now"
UNDECIDED = "a decision on which of the team's notebooks counts"


@dataclass(frozen=True)
class Row:
    """The score of one exercise for one student."""

    id: str
    title: str
    kind: str
    status: str
    points: float | None
    of: float
    reason: str
    tests: list[TestRow]
    notes: list[str]
    text: str = ""
    unsure: bool = False  # whether it is unclear that `text` is the answer to the question
    by_hand: str | None = None  # the instructor's reason
    waits: bool = False  # waiting for a manual mark or another run
    lacks: str = ""  # what is needed while `points` is None
    why: str = ""  # why it could not be judged: for the instructor, not the student
    judged: float | None = None  # the tests' points, even if a manual mark replaces them
    mark: Mark | None = None
    bound: Bound = field(default_factory=Bound)
    subject: str = ""  # the SHA-256 of what a mark applies to: the written answer, or else the notebook
    graded: str = ""  # a sentence saying whether the whole notebook or slices were run
    remarks: list[str] = field(default_factory=list)  # for the instructor, not the student

    @property
    def outcome(self) -> str:
        """The outcome in one word.

        One of: passed, partly, refused, unsolved, missing, stopped, unreadable, not judged, not accepted, undecided,
        by hand, waiting.
        """
        if self.by_hand is not None:
            return "by hand"
        if self.waits:
            words = {RUN: "not judged", JUDGING: "not judged", READABLE: "unreadable", ACCEPTED: "not accepted"}
            words[UNDECIDED] = "undecided"
            return words.get(self.lacks, "waiting")
        outcomes = {test.outcome for test in self.tests}
        if self.status == "stopped" and outcomes <= {"stopped"}:  # else a hidden test was stopped
            return "stopped"
        if len(outcomes) == 1:
            return outcomes.pop()
        return "partly" if self.points else "refused" if outcomes else "missing"


@dataclass(frozen=True)
class Score:
    """All scores of one student."""

    student: str
    name: str
    lms_id: str
    rows: list[Row]
    late_days: dict[str, float | None] = field(default_factory=dict)  # by chapter; None if unknown
    factors: dict[str, float] = field(default_factory=dict)
    handed_in: float | None = None  # the latest submission time, if known
    waived: dict[str, Waiver] = field(default_factory=dict)
    due: dict[str, datetime] = field(default_factory=dict)  # by chapter, the due date that counted
    team: str = ""
    holders: dict[str, Holder] = field(default_factory=dict)  # by chapter, whose notebook counts for the team

    @property
    def points(self) -> float | None:
        """The total after deductions for lateness; None if any part is unknown."""
        return _sum([self.counted(row) for row in self.rows])

    @property
    def before(self) -> float | None:
        """The total before deductions for lateness."""
        return _sum([row.points for row in self.rows])

    def counted(self, row: Row) -> float | None:
        """Return the points of a row after deductions for lateness."""
        return None if row.points is None else row.points * self.factors.get(row.id.partition(".")[0], 1.0)

    @property
    def of(self) -> float:
        return sum(row.of for row in self.rows)

    @property
    def nothing(self) -> bool:
        """Whether nothing at all was submitted."""
        return bool(self.rows) and all(row.reason == NOTHING for row in self.rows)

    @property
    def not_accepted(self) -> bool:
        """Whether only files were submitted that were refused."""
        return bool(self.rows) and all(row.lacks == ACCEPTED for row in self.rows)

    @property
    def late(self) -> float | None:
        """The late days of the latest chapter; None if any chapter's are unknown."""
        days = [known for known in self.late_days.values() if known is not None]
        return max(days, default=0.0) if len(days) == len(self.late_days) else None


def _sum(points: list[float | None]) -> float | None:
    known = [each for each in points if each is not None]
    return round(math.fsum(known), 4) if len(known) == len(points) else None


@dataclass(frozen=True)
class ClassMember:
    """A student's identity and submissions; `handed_in` lists the chapters with a notebook.

    `refused` says which files were not accepted, and why. In a team, all of this is about the team's hand-in.
    """

    name: str = ""
    lms_id: str = ""
    handed_in: frozenset[str] = frozenset()
    refused: str = ""
    last: float | None = None
    team: str = ""
    holders: Mapping[str, Holder] = field(default_factory=dict)  # by chapter, whose notebook counts for the team
    undecided: frozenset[str] = frozenset()  # the chapters in which it is unknown whose notebook counts


@dataclass(frozen=True)
class Rules:
    """The instructor's rules for lateness and missing submissions."""

    late: Late
    days: Mapping[str, float | None] = field(default_factory=dict)  # keyed as student/chapter
    waivers: Mapping[tuple[str, str], Waiver] = field(default_factory=dict)
    nothing: float | None = None  # the points for exercises not submitted


def score(bundle: Bundle, student: str, person: ClassMember, result: StudentResult | None, rules: Rules) -> Score:
    """Compute one student's score, with or without a result, before manual marks."""
    rows, late_days, factors, waived, dues = [], {}, {}, {}, {}
    for stem in bundle.stems:
        waiver = rules.waivers.get((student, stem))
        due = (waiver.due if waiver else None) or rules.late.due_at
        undated = due is not None and stem in person.handed_in  # placed there without `tfm collect`
        late_days[stem] = rules.days.get(f"{student}/{stem}", None if undated else 0.0)
        if waiver is not None:
            waived[stem] = waiver
        if due is not None:
            dues[stem] = due
        factors[stem] = lateness(late_days[stem], rules.late, waiver.days if waiver else 0.0)
        if stem in person.undecided:
            rows += [_undecided(entry) for entry in bundle.exercises(stem)]
            continue
        chapter = result.chapters.get(stem) if result else None
        known = result.exercises(stem) if result else {}
        handed_in = stem in person.handed_in
        nothing = None if person.refused else rules.nothing
        made = [_row(entry, known.get(entry.id), chapter, handed_in, nothing) for entry in bundle.exercises(stem)]
        rows += [_refused(row, person.refused) if person.refused and row.lacks == HAND_IN else row for row in made]
    return Score(
        student,
        person.name or student,
        person.lms_id,
        rows,
        late_days,
        factors,
        person.last,
        waived,
        dues,
        person.team,
        dict(person.holders),
    )


def _undecided(entry: Entry) -> Row:
    """Make the row of an exercise of which a team handed in different answers, with no known order."""
    return Row(entry.id, entry.title, entry.kind, "ok", None, entry.points, "", [], [], waits=True, lacks=UNDECIDED)


def _refused(row: Row, why: str) -> Row:
    """Make a row blank because a submitted file was not accepted; this differs from submitting nothing."""
    return replace(row, waits=True, lacks=ACCEPTED, why=why, reason="")


def lateness(days: float | None, rule: Late, waived: float = 0.0) -> float:
    """Return the share of points left after `days`: `per_day` less for each day begun beyond the free days.

    Unknown lateness deducts nothing.
    """
    begun = math.ceil(max(0.0, (days or 0.0) - waived - rule.free_days) - 1e-9)
    return max(0.0, 1 - rule.per_day * begun)


def _row(
    entry: Entry, row: ExerciseResult | None, chapter: ChapterResult | None, there: bool, nothing: float | None
) -> Row:
    """Make the row of one exercise, before manual marks. `there` says whether a notebook is present."""
    if row is None or (chapter is not None and there and not chapter.submitted):
        blank = Row(entry.id, entry.title, entry.kind, "ok", None, entry.points, NOTHING, [], [])
        if there:
            return replace(blank, reason="", waits=True, lacks=JUDGING)
        return replace(blank, points=nothing, lacks=HAND_IN if nothing is None else "")
    made = Row(
        entry.id,
        entry.title,
        entry.kind,
        row.status,
        row.points,
        row.of,
        row.reason,
        row.tests,
        [*(chapter.notes if chapter else []), *row.notes],
        row.text,
        row.unsure,
        judged=row.points,
        bound=row.bound,
        subject=_subject(row, chapter),
        graded=row.graded.sentence if row.graded else "",
        remarks=row.remarks,
    )
    if row.status == "infrastructure":
        return replace(made, points=None, judged=None, waits=True, lacks=RUN, why=row.reason, reason="")
    if row.status == "unreadable":
        return replace(made, points=None, judged=None, waits=True, lacks=READABLE, why=row.reason)
    if row.reason == NOTHING:
        return replace(made, points=nothing, judged=None, lacks=HAND_IN if nothing is None else "")
    if entry.kind == "text" and (row.text.strip() or row.unsure) and not row.reason:
        return replace(made, points=None, judged=None, waits=True, lacks=MARK)
    return made


def _subject(row: ExerciseResult, chapter: ChapterResult | None) -> str:
    if row.kind == "text" and row.text.strip():
        return digest(row.text)
    return row.bound.handed_in or (chapter.sha256 if chapter else "")


def with_marks(made: list[Score], marks: Marks, stale: Mapping[tuple[str, str], str]) -> list[Score]:
    """Apply manual marks; a mark in `stale` is dropped, and its row waits for what `stale` says.

    A mark for a team counts for each member who has no mark of their own.
    """

    def row_of(score: Score, row: Row) -> Row:
        if row.lacks == UNDECIDED:
            return row
        key = score.student, row.id
        if score.team and not (key in marks.unfinished or key in stale or key in marks.given):
            key = score.team, row.id
        if key in marks.unfinished:
            return replace(row, points=None, waits=True, lacks=RUBRIC)
        if key in stale:
            return replace(row, points=None, waits=True, lacks=stale[key])
        if mark := marks.given.get(key):
            return replace(row, points=mark.points, by_hand=mark.reason, mark=mark, waits=False, lacks="")
        return row

    return [replace(each, rows=[row_of(each, row) for row in each.rows]) for each in made]
