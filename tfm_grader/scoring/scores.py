"""Computes scores from results: the tests' points, marks by hand, and deductions for lateness.

Points are None as long as nobody can say them; whatever is made of them stays blank then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.manifest import Entry, Late
from tfm_grader.names import digest
from tfm_grader.records import NOTHING, Bound, ChapterResult, ExerciseResult, StudentResult, TestRow
from tfm_grader.scoring.late_waivers import Waiver
from tfm_grader.scoring.manual_grades import Mark, Marks

HAND_IN, JUDGING, RUN = "a hand-in", "its first judging", "another run"
READABLE, ACCEPTED = "a notebook that can be read", "a hand-in that is accepted"
MARK, NEW_MARK, RUBRIC = "a mark", "a new mark, since other work was handed in", "the rest of its rubric"
RESCALED = "a new mark, since the old one is of other points than there are now"


@dataclass(frozen=True)
class Row:
    """One exercise of one student."""

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
    unsure: bool = False  # whether that text answers the question at all
    by_hand: str | None = None  # the instructor's reason
    waits: bool = False  # for a mark by hand, or for another run
    lacks: str = ""  # what its points wait for, where they are None
    why: str = ""  # it could not be judged: for the instructor, and no student
    judged: float | None = None  # what the tests gave, also where a mark stands in its place
    mark: Mark | None = None
    bound: Bound = field(default_factory=Bound)
    subject: str = ""  # the SHA-256 of what a mark for it is for: the words, or else the notebook
    graded: str = ""  # a sentence: the whole notebook, or slices of it

    @property
    def outcome(self) -> str:
        """In one word: passed, partly, refused, unsolved, missing, stopped, unreadable, not judged, by hand, waiting."""
        if self.by_hand is not None:
            return "by hand"
        if self.waits:
            words = {RUN: "not judged", JUDGING: "not judged", READABLE: "unreadable", ACCEPTED: "not accepted"}
            return words.get(self.lacks, "waiting")
        outcomes = {test.outcome for test in self.tests}
        if self.status == "stopped" and outcomes <= {"stopped"}:  # else a test was stopped that tells nobody so
            return "stopped"
        if len(outcomes) == 1:
            return outcomes.pop()
        return "partly" if self.points else "refused" if outcomes else "missing"


@dataclass(frozen=True)
class Score:
    """All of one student."""

    student: str
    name: str
    lms_id: str
    rows: list[Row]
    late_days: dict[str, float | None] = field(default_factory=dict)  # by chapter; None where nobody knows
    factors: dict[str, float] = field(default_factory=dict)
    handed_in: float | None = None  # the last of it, where that is known
    waived: dict[str, Waiver] = field(default_factory=dict)

    @property
    def points(self) -> float | None:
        """With what lateness takes; None if a part of it is."""
        return _sum([self.counted(row) for row in self.rows])

    @property
    def before(self) -> float | None:
        """Without what lateness takes."""
        return _sum([row.points for row in self.rows])

    def counted(self, row: Row) -> float | None:
        """The points of one of its rows with what lateness takes."""
        return None if row.points is None else row.points * self.factors.get(row.id.partition(".")[0], 1.0)

    @property
    def of(self) -> float:
        return sum(row.of for row in self.rows)

    @property
    def waits(self) -> bool:
        return any(row.waits for row in self.rows)

    @property
    def nothing(self) -> bool:
        """Whether nothing at all was handed in."""
        return bool(self.rows) and all(row.reason == NOTHING for row in self.rows)

    @property
    def late(self) -> float | None:
        """The days of the chapter that is latest; None where those of one are unknown."""
        days = [known for known in self.late_days.values() if known is not None]
        return max(days, default=0.0) if len(days) == len(self.late_days) else None


def _sum(points: list[float | None]) -> float | None:
    known = [each for each in points if each is not None]
    return round(math.fsum(known), 4) if len(known) == len(points) else None


@dataclass(frozen=True)
class ClassMember:
    """A student as the class knows them; `handed_in` says for which chapters a notebook lies there.

    `refused` says what was handed in and not accepted, and why.
    """

    name: str = ""
    lms_id: str = ""
    handed_in: frozenset[str] = frozenset()
    refused: str = ""
    last: float | None = None


@dataclass(frozen=True)
class Rules:
    """What the instructor decides about lateness and about those who handed in nothing."""

    late: Late
    days: Mapping[str, float | None] = field(default_factory=dict)  # by student/chapter
    waivers: Mapping[tuple[str, str], Waiver] = field(default_factory=dict)
    nothing: float | None = None  # the points for what was not handed in


def score(bundle: Bundle, student: str, person: ClassMember, result: StudentResult | None, rules: Rules) -> Score:
    """The score of one student, with or without a result, before any mark by hand."""
    rows, late_days, factors, waived = [], {}, {}, {}
    for stem in bundle.stems:
        undated = rules.late.due_at is not None and stem in person.handed_in  # laid there, and not collected
        late_days[stem] = rules.days.get(f"{student}/{stem}", None if undated else 0.0)
        waiver = rules.waivers.get((student, stem))
        if waiver is not None:
            waived[stem] = waiver
        factors[stem] = lateness(late_days[stem], rules.late, waiver.days if waiver else 0.0)
        chapter = result.chapters.get(stem) if result else None
        known = result.exercises(stem) if result else {}
        handed_in = stem in person.handed_in
        nothing = None if person.refused else rules.nothing
        made = [_row(entry, known.get(entry.id), chapter, handed_in, nothing) for entry in bundle.exercises(stem)]
        rows += [_refused(row, person.refused) if person.refused and row.lacks == HAND_IN else row for row in made]
    return Score(student, person.name or student, person.lms_id, rows, late_days, factors, person.last, waived)


def _refused(row: Row, why: str) -> Row:
    """A row of somebody who handed in something that was not accepted: blank, and no row of somebody who handed in nothing."""
    return replace(row, waits=True, lacks=ACCEPTED, why=why, reason="")


def lateness(days: float | None, rule: Late, waived: float = 0.0) -> float:
    """The share of the points that is left after `days`: `per_day` less for each day begun after those that are free.

    What nobody knows takes nothing.
    """
    begun = math.ceil(max(0.0, (days or 0.0) - waived - rule.free_days) - 1e-9)
    return max(0.0, 1 - rule.per_day * begun)


def _row(
    entry: Entry, row: ExerciseResult | None, chapter: ChapterResult | None, there: bool, nothing: float | None
) -> Row:
    """One exercise, without a mark by hand. `there` says whether a notebook lies there."""
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
    """The scores with marks by hand; one that is `stale` makes its row wait again, for what `stale` says."""

    def row_of(student: str, row: Row) -> Row:
        key = student, row.id
        if key in marks.unfinished:
            return replace(row, points=None, waits=True, lacks=RUBRIC)
        if key in stale:
            return replace(row, points=None, waits=True, lacks=stale[key])
        if mark := marks.given.get(key):
            return replace(row, points=mark.points, by_hand=mark.reason, mark=mark, waits=False, lacks="")
        return row

    return [replace(each, rows=[row_of(each.student, row) for row in each.rows]) for each in made]
