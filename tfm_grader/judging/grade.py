"""Grade a folder of submissions: those without a result, and those that have changed since."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.manifest import Entry
from tfm_grader.judging import results
from tfm_grader.judging.audit_log import AuditLog, Judgement
from tfm_grader.names import digest
from tfm_grader.notebook import MAX_BYTES, cells_of
from tfm_grader.records import (
    NOTHING,
    UNREADABLE,
    Bound,
    ChapterResult,
    ExerciseResult,
    Job,
    Judged,
    NotJudged,
    Result,
    StudentResult,
    Submission,
    Unreadable,
    worst,
)
from tfm_lib._refusal import Refusal

LONGEST = 200  # maximum bytes of a student's name; file names add more to it


class Engine(Protocol):
    """The interface of a judging engine: local or on a cluster."""

    def results(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]: ...


@dataclass
class Plan:
    """The jobs to run, the number of exercises with a current result, and how many of those another grader made."""

    jobs: list[Job] = field(default_factory=list)
    submissions: dict[tuple[str, str], Submission] = field(default_factory=dict)
    cached: int = 0
    foreign: int = 0


def submissions_in(folder: Path, bundle: Bundle) -> list[Submission]:
    """List every student in `folder` with every chapter of `bundle`, ignoring Jupyter's and macOS's own folders."""
    folders = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    students = sorted(path.name for path in folders if not path.name.startswith((".", "__MACOSX")))
    if odd := [name for name in students if not _can_be_written(name)]:
        told = ", ".join(repr(name)[:60] for name in odd)
        raise Refusal(
            f"{folder} holds folders whose names cannot be kept: {told}. A name is UTF-8, of {LONGEST} bytes at most. "
            "Rename them, or let `tfm collect` make the folders; then run the command again."
        )
    return [
        submission_at(folder / student / f"{stem}.ipynb", student, stem)
        for student in students
        for stem in bundle.stems
    ]


def passed_over(folder: Path, bundle: Bundle) -> list[str]:
    """List what lies in `folder` with a notebook, but is no student's folder: a file, a link, or a hidden folder."""
    return sorted(
        path.name
        for path in folder.iterdir()
        if (path.suffix.lower() == ".ipynb" and not path.is_dir())
        or (path.is_symlink() and path.is_dir())
        or (path.name.startswith(".") and any((path / f"{stem}.ipynb").exists() for stem in bundle.stems))
    )


def _can_be_written(name: str) -> bool:
    """Whether result files can be named after this student."""
    try:
        return len(name.encode()) <= LONGEST
    except UnicodeEncodeError:
        return False


def submission_at(path: Path, student: str, stem: str) -> Submission:
    """Read the notebook at `path`, which may be anything; what is amiss is in its `trouble`."""

    def unread(trouble: str) -> Submission:
        return Submission(student=student, stem=stem, data=b"", trouble=trouble)

    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return Submission(student=student, stem=stem)
    except OSError:
        return unread("it is a link, or may not be read")
    about = os.fstat(number)
    if not stat.S_ISREG(about.st_mode):
        os.close(number)
        return unread("it is not a file")
    with os.fdopen(number, "rb") as file:
        if about.st_size > MAX_BYTES:
            return unread(f"it has {about.st_size >> 20} MB, and the limit is {MAX_BYTES >> 20} MB; clear its outputs")
        return Submission(student=student, stem=stem, data=file.read(MAX_BYTES + 1))


def plan(bundle: Bundle, submissions: list[Submission], to: Path, only: set[str], force: bool) -> Plan:
    """Plan the jobs: exercises without a result for the current submission, tests and limits.

    Results from another grader version are kept: updating the program changes no scores.
    """
    made = Plan()
    for submission in submissions:
        made.submissions[submission.student, submission.stem] = submission
        if submission.data is None or submission.trouble:
            continue
        result = results.read_result(to / f"{submission.student}.json")
        known = result.exercises(submission.stem) if result is not None else {}
        ids = []
        for entry in bundle.exercises(submission.stem):
            if only and entry.id not in only:
                continue
            row = known.get(entry.id)
            if row is not None and not force and row.status != "infrastructure" and is_of(row, bundle, submission):
                made.cached += 1
                made.foreign += row.bound.grader != bundle.grader(submission.stem, entry.id)
            else:
                ids.append(entry.id)
        if ids:
            job = Job(student=submission.student, stem=submission.stem, ids=ids, data=submission.data)
            made.jobs.append(job)
    return made


def carry_out(
    bundle: Bundle, made: Plan, engine: Engine, to: Path, log: AuditLog | None = None
) -> Iterator[StudentResult]:
    """Run the plan. Yields each student's result after it has been written and logged."""
    for submission in made.submissions.values():  # submissions with nothing to judge also get a result
        if submission.data is None:
            _store(bundle, submission, None, to, log, _elsewhere(bundle, made, submission))
        elif submission.trouble:
            _store(bundle, submission, Unreadable(unreadable=submission.trouble), to, log)
    for job, result in engine.results(made.jobs):
        submission = made.submissions[job.student, job.stem]
        if isinstance(result, NotJudged):  # a row for each exercise of the job in any case
            entries = [entry for entry in bundle.exercises(job.stem) if entry.id in job.ids]
            rows = {entry.id: _row(entry, status="infrastructure", reason=result.infrastructure) for entry in entries}
            result = Judged(exercises=rows)
        yield _store(bundle, submission, result, to, log)


def _row(entry: Entry, **more: Any) -> ExerciseResult:
    return ExerciseResult(**{"id": entry.id, "of": entry.points, "status": "ok", **more})


def _store(
    bundle: Bundle,
    submission: Submission,
    result: Judged | Unreadable | None,
    to: Path,
    log: AuditLog | None,
    notes: Sequence[str] = (),
) -> StudentResult:
    """Merge `result` for one chapter (None if nothing was submitted) into the student's result and return it.

    `notes` are about a chapter for which nothing was submitted.
    """
    path = to / f"{submission.student}.json"
    before = results.read_result(path) or StudentResult(student=submission.student)
    known = before.chapters.get(submission.stem)
    chapter = ChapterResult(
        submitted=submission.data is not None,
        sha256=submission.digest,
        notes=[*notes] if result is None else known.notes if known else [],
        exercises=_rows(bundle, submission, result, before.exercises(submission.stem)),
    )
    if isinstance(result, Judged) and result.notes is not None:
        chapter = chapter.but(notes=result.notes)
    if notes:
        chapter = chapter.but(
            exercises=[row.but(remarks=[*notes]) for row in chapter.exercises[:1]] + chapter.exercises[1:]
        )
    return put_result(before, {submission.stem: chapter}, bundle, path, log)


def _elsewhere(bundle: Bundle, made: Plan, submission: Submission) -> list[str]:
    """Say which of the student's other notebooks defines answers of a chapter for which nothing was submitted."""
    chapter, found = bundle.manifest.chapters[submission.stem], []
    for (student, stem), other in made.submissions.items():
        if student == submission.student and other.data and not other.trouble:
            held = cells_of(other.data, chapter)
            names = [name for entry in chapter.exercises if held.get(entry.id) for name in entry.answers]
            if names:
                found.append(
                    f"{stem}.ipynb defines {' and '.join(names)}: are two chapters in one notebook? Each needs its own file."
                )
    return found


def put_result(
    before: StudentResult, changed: dict[str, ChapterResult], bundle: Bundle, path: Path, log: AuditLog | None
) -> StudentResult:
    """Log each score that changes in the chapters `changed`, then write the student's result."""
    chapters = {**before.chapters, **changed}
    chapters = {stem: chapters[stem] for stem in bundle.stems if stem in chapters}
    every = [row for each in chapters.values() for row in each.exercises]
    points, of = sum(row.points for row in every), sum(row.of for row in every)
    whole = before.but(chapters=chapters, status=worst(every), points=points, of=of)
    if log is not None:
        known = {row.id: row for chapter in before.chapters.values() for row in chapter.exercises}
        log.add(*(line for row in every for line in _noted(before.student, known.get(row.id), row, log)))
    results.write_result(path, whole)
    return whole


def _noted(student: str, before: ExerciseResult | None, row: ExerciseResult, log: AuditLog) -> list[Judgement]:
    """Return the log lines for a changed `row`; `before` comes first if it was never logged."""
    if before is not None and before.but(took=None) == row.but(took=None):
        return []
    untold = before is not None and (student, row.id) not in log.judged
    return [_judgement(student, each) for each in ([before, row] if untold and before else [row])]


def _judgement(student: str, row: ExerciseResult) -> Judgement:
    text = digest(row.text) if row.text else ""
    return Judgement(student, row.id, row.status, row.points, row.of, row.bound, row.reason, text, tuple(row.tests))


def _rows(
    bundle: Bundle, submission: Submission, result: Judged | Unreadable | None, before: dict[str, ExerciseResult]
) -> list[ExerciseResult]:
    """Build a row for each exercise: from `result`, or from `before` if it was not in this run."""
    rows = []
    for entry in bundle.exercises(submission.stem):
        row, judged = before.get(entry.id), False
        if result is None:
            row = _row(entry, reason=NOTHING)
        elif isinstance(result, Unreadable):
            row, judged = _row(entry, status="unreadable", reason=f"{UNREADABLE}: {result.unreadable}."), True
        elif entry.id in result.exercises:
            row, judged = result.exercises[entry.id], True
        elif entry.id in result.texts:  # a written answer, for the instructor to mark
            row, judged = _row(entry, text=result.texts[entry.id], unsure=entry.id in result.unsure), True
        if row is None:
            continue
        if judged:
            here = Bound(submission.digest, bundle.fingerprint(submission.stem, submission.student, entry.id))
            here = here.but(grader=row.bound.grader or bundle.grader(submission.stem, entry.id))
            row = row.but(bound=here)
        rows.append(row.but(title=entry.title, kind=entry.kind))
    return rows


def is_of(row: ExerciseResult, bundle: Bundle, submission: Submission) -> bool:
    """Whether `row` was computed from the current submission, tests and limits."""
    here = submission.digest, bundle.fingerprint(submission.stem, submission.student, row.id)
    return (row.bound.handed_in, row.bound.bundle) == here
