"""Grades a folder of submissions: only what has no result yet, and what changed since."""

from __future__ import annotations

import base64
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tfm_lib.classroom import results
from tfm_lib.classroom.bundle import Bundle
from tfm_lib.classroom.notebook import MAX_BYTES
from tfm_lib.classroom.pool import Job, Result

UNREADABLE = "The submission cannot be read as a notebook"


class Engine(Protocol):
    """Where judging happens: on this machine, or on a cluster."""

    def results(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]: ...


@dataclass
class Submission:
    """The file of one student for one chapter; `data` is None where there is none, `trouble` says why it cannot be read."""

    student: str
    stem: str
    data: bytes | None = None
    trouble: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest() if self.data is not None else ""


@dataclass
class Plan:
    """The jobs to do, and how many exercises have a result already."""

    jobs: list[Job] = field(default_factory=list)
    submissions: dict[tuple[str, str], Submission] = field(default_factory=dict)
    cached: int = 0


def submissions_in(folder: Path, bundle: Bundle) -> list[Submission]:
    """Every student in `folder` with every chapter of `bundle`."""
    students = sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    return [
        _submission(folder / student / f"{stem}.ipynb", student, stem) for student in students for stem in bundle.stems
    ]


def _submission(path: Path, student: str, stem: str) -> Submission:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return Submission(student, stem)
    except OSError:
        return Submission(student, stem, b"", "it is a link, or may not be read")
    with os.fdopen(number, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            return Submission(student, stem, b"", "it is not a file")
        if about.st_size > MAX_BYTES:
            return Submission(
                student, stem, b"", f"it has {about.st_size >> 20} MB, and the limit is {MAX_BYTES >> 20} MB"
            )
        return Submission(student, stem, file.read(MAX_BYTES + 1))


def plan(bundle: Bundle, submissions: list[Submission], to: Path, only: set[str], force: bool) -> Plan:
    """What is to be judged: exercises without a result for this very submission, these tests and these limits."""
    made = Plan()
    for submission in submissions:
        made.submissions[submission.student, submission.stem] = submission
        if submission.data is None or submission.trouble:
            continue
        known = _known(results.read(to / f"{submission.student}.json"), submission.stem)
        ids = []
        for entry in bundle.exercises(submission.stem):
            if only and entry["id"] not in only:
                continue
            key = _key(bundle, submission, entry["id"])
            if (
                not force
                and known.get(entry["id"], {}).get("key") == key
                and known[entry["id"]]["status"] != "infrastructure"
            ):
                made.cached += 1
            else:
                ids.append(entry["id"])
        if ids:
            data = base64.b64encode(submission.data).decode()
            made.jobs.append({"student": submission.student, "stem": submission.stem, "ids": ids, "data": data})
    return made


def carry_out(bundle: Bundle, made: Plan, engine: Engine, to: Path) -> Iterator[dict[str, Any]]:
    """Judge what `made` plans; yields each student's result, already written, as it grows."""
    for submission in made.submissions.values():  # those with nothing to judge are results too
        if submission.data is None or submission.trouble:
            _store(bundle, submission, _nothing(bundle, submission), to)
    for job, result in engine.results(made.jobs):
        submission = made.submissions[job["student"], job["stem"]]
        yield _store(bundle, submission, _told(bundle, submission, job, result), to)


def _nothing(bundle: Bundle, submission: Submission) -> Result:
    if submission.trouble:
        return {"unreadable": submission.trouble, "exercises": {}}
    return {"not submitted": True, "exercises": {}}


def _told(bundle: Bundle, submission: Submission, job: Job, result: Result) -> Result:
    """`result`, with a row for each exercise of the job whatever happened."""
    if "infrastructure" in result:
        rows = {id: _row(bundle, submission, id, "infrastructure", result["infrastructure"]) for id in job["ids"]}
        return {"exercises": rows}
    if "unreadable" in result:
        return {"unreadable": result["unreadable"], "exercises": {}}
    return result


def _row(bundle: Bundle, submission: Submission, id: str, status: str, reason: str) -> dict[str, Any]:
    entry = next(each for each in bundle.exercises(submission.stem) if each["id"] == id)
    row = {"id": id, "status": status, "reason": reason, "points": 0, "of": entry["points"], "tests": [], "notes": []}
    return row


def _store(bundle: Bundle, submission: Submission, result: Result, to: Path) -> dict[str, Any]:
    """Put `result` of one chapter among what is known of its student; what is known then."""
    path = to / f"{submission.student}.json"
    whole = results.read(path) or {"student": submission.student, "chapters": {}}
    whole["chapters"][submission.stem] = {
        "submitted": submission.data is not None,
        "sha256": submission.digest,
        "notes": result.get("notes", whole["chapters"].get(submission.stem, {}).get("notes", [])),
        "exercises": _rows(bundle, submission, result, _known(whole, submission.stem)),
    }
    whole["chapters"] = {stem: whole["chapters"][stem] for stem in bundle.stems if stem in whole["chapters"]}
    every = [row for chapter in whole["chapters"].values() for row in chapter["exercises"]]
    whole["status"] = results.status(every)
    whole["points"], whole["of"] = sum(row["points"] for row in every), sum(row["of"] for row in every)
    results.write(path, whole)
    return whole


def _rows(
    bundle: Bundle, submission: Submission, result: Result, before: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """A row for each exercise of the chapter: from `result`, or from `before` if it was not asked for in this run."""
    rows = []
    for entry in bundle.exercises(submission.stem):
        id = entry["id"]
        row = result["exercises"].get(id) or before.get(id)
        judged = id in result["exercises"] or "unreadable" in result
        if entry["kind"] == "text" and "texts" in result:  # for the instructor to mark
            row, judged = _row(bundle, submission, id, "ok", ""), True
            row["text"] = result["texts"].get(id, "")[:20_000]
        elif "not submitted" in result:
            row = _row(bundle, submission, id, "ok", "Nothing was handed in.")
        elif "unreadable" in result:
            row = _row(bundle, submission, id, "stopped", f"{UNREADABLE}: {result['unreadable']}.")
        if row is None:
            continue
        took = {name: row.pop(name) for name in ("seconds", "cpu") if name in row}
        if took:
            row["took"] = took
        if judged:
            row["key"] = _key(bundle, submission, id)
        rows.append({**row, "title": entry["title"], "kind": entry["kind"]})
    return rows


def _known(result: dict[str, Any], stem: str) -> dict[str, dict[str, Any]]:
    chapter = result.get("chapters", {}).get(stem, {})
    return {row["id"]: row for row in chapter.get("exercises", [])}


def _key(bundle: Bundle, submission: Submission, id: str) -> str:
    judged = bundle.fingerprint(submission.stem, submission.student, id)
    return hashlib.sha256(f"{submission.digest} {judged}".encode()).hexdigest()
