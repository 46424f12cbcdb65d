"""Detect stale scores: the notebook, bundle, grader or mark that a score was computed from has changed since."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tfm_grader.assignment.bundle import Bundle
from tfm_grader.judging.audit_log import AuditLog, Event, Judgement, LogLine, Marked, Withdrawn, now, user
from tfm_grader.records import OTHER_HANDOUT, ExerciseResult, StudentResult, Submission
from tfm_grader.scoring.manual_grades import Mark, Marks
from tfm_grader.scoring.scores import GONE, NEW_MARK, RESCALED, UNDECIDED, Score

MANY = 12  # maximum names in a line
Files = dict[tuple[str, str], Submission]


@dataclass
class Seen:
    """Notes for the instructor, and messages about stale scores, each with its remedy."""

    notes: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)


def compared(
    bundle: Bundle,
    found: dict[str, StudentResult],
    files: Files | None,
    people: Container[str],
    judged: Mapping[tuple[str, str], LogLine] = MappingProxyType({}),
) -> Seen:
    """Compare the results with the current bundle, submissions (None if unavailable), class and audit log.

    `judged` holds the latest log line for each exercise.
    """
    seen, said = Seen(), _Lines()
    here = {entry.id for stem in bundle.stems for entry in bundle.exercises(stem)}
    for student, result in found.items():
        if student not in people:
            said.note("left the class, and in no list", student)
            continue
        for stem, chapter in result.chapters.items():
            if OTHER_HANDOUT in chapter.notes:
                said.note(f"handed in a notebook for {stem} that was made for another hand-out; look at it", student)
            for row in chapter.exercises:
                if line := judged.get((student, row.id)):
                    _require_as_noted(line, row, said)
                if row.id not in here:
                    said.note(f"the bundle has no {row.id} any more; its points are not counted", student)
                elif chapter.submitted:
                    _one(bundle, files, Submission(student, stem), row, said)
    for (student, stem), file in (files or {}).items():
        if student not in people:
            continue
        graded = found[student].chapters.get(stem) if student in found else None
        if file.data is not None and (graded is None or not graded.submitted):
            said.note(f"joined, or handed in {stem} after the last grading; `tfm grade` judges it", student)
    seen.notes = [f"{what}: {_names(names)}" for what, names in said.notes.items()]
    seen.stale = [f"{what}: {_names(names)}" for what, names in said.stale.items()]
    return seen


def _one(bundle: Bundle, files: Files | None, submission: Submission, row: ExerciseResult, said: _Lines) -> None:
    """Compare one score with its current inputs."""
    student, stem = submission.student, submission.stem
    if files is not None:
        file = files.get((student, stem), submission)
        if file.data is None:
            said.old(
                f"the notebook for {stem} that was judged is gone; lay it back, or `tfm grade` takes the points",
                student,
            )
            return
        if file.digest != row.bound.handed_in:
            said.old(f"another notebook for {stem} lies there than was judged; `tfm grade` judges it", student)
            return
    if row.bound.bundle != bundle.fingerprint(stem, student, row.id):
        said.old(f"the bundle has changed since {row.id} was judged; `tfm grade` judges by the new one", student)
    elif row.bound.grader != (own := bundle.grader(stem, row.id)):
        other = row.bound.grader or "one that left no name"
        said.old(
            f"another grader judged {row.id} ({other}; this is {own}); `tfm grade --again` shows what would change",
            student,
        )


def _require_as_noted(line: LogLine, row: ExerciseResult, said: _Lines) -> None:
    """Report a result that differs from the audit log, and so was changed outside the grader."""
    noted = line.event
    if isinstance(noted, Judgement) and (noted.status, noted.points, noted.of) != (row.status, row.points, row.of):
        what = f"{row.id}: results/ says {row.points:g} of {row.of:g} ({row.status})"
        told = f"and the audit log {noted.points:g} of {noted.of:g} ({noted.status})"
        said.old(f"{what}, {told}; `tfm grade --force` judges it again", noted.student)
    elif isinstance(noted, Judgement) and (noted.reason, list(noted.tests)) != (row.reason, row.tests):
        what = f"{row.id}: results/ tells of its tests what the audit log does not"
        said.old(f"{what}; `tfm grade --force` judges it again", noted.student)


@dataclass
class _Lines:
    notes: dict[str, list[str]] = field(default_factory=dict)
    stale: dict[str, list[str]] = field(default_factory=dict)

    def note(self, what: str, student: str) -> None:
        self.notes.setdefault(what, []).append(student)

    def old(self, what: str, student: str) -> None:
        names = self.stale.setdefault(what, [])
        if student not in names:
            names.append(student)


def _names(names: list[str]) -> str:
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return f"{', '.join(names[:MANY])}{more}"


@dataclass
class Binding:
    """The manual marks that count, with author and time, and those that are stale.

    A mark is stale if its subject or the maximum points have changed.
    """

    given: dict[tuple[str, str], Mark] = field(default_factory=dict)
    stale: dict[tuple[str, str], str] = field(default_factory=dict)  # what each waits for
    events: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    at: str = field(default_factory=now)


def binding(made: list[Score], marks: Marks, log: AuditLog) -> Binding:
    """Bind each mark to the answer or notebook that it was first seen with, or that its `text` column names.

    It is also bound to the maximum points at that time. A mark for a team is bound to the team's hand-in; while it is
    undecided which notebook that is, marks are left as they are.
    """
    bound, first = Binding(), log.first_seen()
    subjects: dict[tuple[str, str], str] = {}
    most: dict[tuple[str, str], float] = {}
    undecided: set[tuple[str, str]] = set()
    for each in made:
        for row in each.rows:
            for name in filter(None, (each.student, each.team)):  # all members have the rows of one hand-in
                subjects[name, row.id], most[name, row.id] = row.subject, row.of
                if row.lacks == UNDECIDED:
                    undecided.add((name, row.id))
    before = log.marked()
    for key, mark in marks.given.items():
        if key in undecided:
            continue
        line, seen = first.get(mark.said, (None, None))
        subject = seen.subject if seen is not None else subjects[key]
        stale = not subjects[key].startswith(mark.text) if mark.text else subject != subjects[key]
        of = seen.of if seen is not None else most[key]
        if stale:
            bound.stale[key] = NEW_MARK if subjects[key] else GONE
        elif of != most[key]:
            bound.stale[key] = RESCALED
        else:
            at, by = (line.at, line.by) if line is not None else (bound.at, user())
            bound.given[key] = replace(mark, author=mark.author or by, time=mark.time or at)
        if key not in before or before[key].said != mark.said:
            bound.events.append(
                Marked(*key, mark.points, mark.reason, subject, of, mark.author, mark.time, mark.text, mark.criteria)
            )
            if key in before:
                bound.notes.append(_changed(before[key], mark))
    gone = [key for key in before if key not in marks.given and key in subjects]
    bound.events += [Withdrawn(*key) for key in gone]
    if gone:
        told = _names([f"{student} ({id})" for student, id in gone])
        bound.notes.append(f"marks by hand that counted at the last report are not given this time: {told}")
    return bound


def _changed(before: Marked, mark: Mark) -> str:
    whose = f"the mark of {mark.student} for {mark.exercise}"
    if before.points != mark.points:
        return f"{whose} was {before.points:g} and is {mark.points:g}"
    return f"{whose} has other words than at the last report"
