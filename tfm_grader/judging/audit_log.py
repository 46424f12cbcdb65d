"""The audit log: an append-only file of what was judged, marked and exported, by whom and when.

Each line contains the hash of the previous line, so that altered or deleted lines are detected.
"""

from __future__ import annotations

import getpass
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tfm_grader.names import digest
from tfm_grader.records import Bound, Record, Status, TestRow

FILE = "audit_log.jsonl"


class Judgement(Record, tag_field="what", tag="judged", frozen=True):
    """A score given by the judge, with everything it depends on."""

    student: str
    exercise: str
    status: Status
    points: float
    of: float
    bound: Bound
    reason: str = ""
    text: str = ""  # the SHA-256 of a written answer
    tests: tuple[TestRow, ...] = ()


class Marked(Record, tag_field="what", tag="marked", frozen=True):
    """A manual mark, logged when first seen; `subject` is the SHA-256 of the answer or notebook it is for."""

    student: str
    exercise: str
    points: float
    reason: str
    subject: str
    of: float  # the maximum at the time
    author: str = ""
    time: str = ""
    text: str = ""
    criteria: tuple[tuple[str, float], ...] = ()

    @property
    def said(self) -> tuple:
        """The same key as `Mark.said`."""
        return self.student, self.exercise, self.points, self.reason, self.author, self.time, self.text, self.criteria


class Withdrawn(Record, tag_field="what", tag="withdrawn", frozen=True):
    """A manual mark that was given earlier and has been removed."""

    student: str
    exercise: str


class Exported(Record, tag_field="what", tag="exported", frozen=True):
    """Exported files, each with its SHA-256."""

    folder: str
    files: dict[str, str]
    stale: bool = False  # exported although the inputs of some scores had changed


class Requested(Record, tag_field="what", tag="requested", frozen=True):
    """A student's request for a regrade, logged when first seen, with the points of that time."""

    student: str
    exercise: str
    request: str  # the SHA-256 of its text
    points: float | None = None


class Answered(Record, tag_field="what", tag="answered", frozen=True):
    """The answer to a request for a regrade, and the points that it left."""

    student: str
    exercise: str
    request: str  # the SHA-256 of its text
    answer: str
    points: float | None = None


class Regarded(Record, tag_field="what", tag="regarded", frozen=True):
    """The exceptions and requests that a report was given, noted when they differ from the report before."""

    waivers: tuple[str, ...] = ()  # as student/chapter
    requests: tuple[str, ...] = ()  # as student/exercise


Event = Judgement | Marked | Withdrawn | Exported | Requested | Answered | Regarded


class LogLine(Record, frozen=True):
    """One line of the log: the event, its time, the local user, and the hash of the previous line."""

    at: str
    by: str
    after: str
    event: Event


class AuditLog:
    """The audit log in a folder of results."""

    def __init__(self, folder: Path):
        self.path = folder / FILE
        self.lines: list[LogLine] = []
        self.faults: list[str] = []
        self.judged: dict[tuple[str, str], LogLine] = {}  # the latest judgement for each student and exercise
        self._last, written = "", self._raw()
        self._torn = bool(written) and not written.endswith(b"\n")
        for number, raw in enumerate(written.splitlines(), start=1):
            try:
                line = msgspec.json.decode(raw, type=LogLine)
            except (msgspec.MsgspecError, RecursionError, ValueError):
                self.faults.append(f"{self.path}, line {number}, cannot be read: a run was ended while it wrote.")
            else:
                self._keep(line)
                if line.after != self._last:
                    self.faults.append(f"{self.path}, line {number}: what stood before it was changed or taken out.")
            self._last = digest(raw)

    def _raw(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""

    def add(self, *events: Event, at: str = "") -> None:
        """Append events, with the time `at` or the current time."""
        if not events:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(b"\n" if self._torn else b"")
            self._torn = False
            for event in events:
                line = LogLine(at or now(), user(), self._last, event)
                raw = msgspec.json.encode(line)
                file.write(raw + b"\n")
                self._keep(line)
                self._last = digest(raw)

    def _keep(self, line: LogLine) -> None:
        self.lines.append(line)
        if isinstance(line.event, Judgement):
            self.judged[line.event.student, line.event.exercise] = line

    def first_seen(self) -> dict[tuple, tuple[LogLine, Marked]]:
        """Return the first log line for each mark, keyed by the mark's content."""
        return {line.event.said: (line, line.event) for line in reversed(self.lines) if isinstance(line.event, Marked)}

    def marked(self) -> dict[tuple[str, str], Marked]:
        """Return the marks that counted at the last report."""
        made: dict[tuple[str, str], Marked] = {}
        for line in self.lines:
            if isinstance(line.event, Marked):
                made[line.event.student, line.event.exercise] = line.event
            elif isinstance(line.event, Withdrawn):
                made.pop((line.event.student, line.event.exercise), None)
        return made


def forgotten(log: AuditLog, given: Regarded) -> tuple[list[Event], list[str]]:
    """Compare what a report is `given` with the report before. Returns what to log, and a line for what is missing."""
    before = next((line.event for line in reversed(log.lines) if isinstance(line.event, Regarded)), Regarded())
    notes = []
    for what, option, old, new in (
        ("late days or due dates", "--waivers", before.waivers, given.waivers),
        ("requests for a regrade", "--requests", before.requests, given.requests),
    ):
        if gone := [each for each in old if each not in new]:
            notes.append(f"{what} that the last report knew are not given this time ({option}): {', '.join(gone[:12])}")
    return ([given] if given != before else []), notes


def now() -> str:
    """Return the current time in ISO format."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def user() -> str:
    """Return the login name of the current user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return f"user {os.getuid()}"
