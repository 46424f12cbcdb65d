"""The audit log: an append-only file of what was judged, marked and exported, by whom and when.

Each line holds the hash of the line before it, so that a line that was changed or taken out later shows.
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
    """A number that a judge gave, with all that it depends on."""

    student: str
    exercise: str
    status: Status
    points: float
    of: float
    bound: Bound
    reason: str = ""
    text: str = ""  # the SHA-256 of an answer in words
    tests: tuple[TestRow, ...] = ()


class Marked(Record, tag_field="what", tag="marked", frozen=True):
    """A mark by hand, as it was first seen; `subject` is the SHA-256 of the words, or of the notebook, that it is for."""

    student: str
    exercise: str
    points: float
    reason: str
    subject: str
    author: str = ""
    time: str = ""
    text: str = ""
    criteria: tuple[tuple[str, float], ...] = ()
    of: float | None = None  # the most that there was; None in a line that does not tell

    @property
    def said(self) -> tuple:
        """As `Mark.said`."""
        return self.student, self.exercise, self.points, self.reason, self.author, self.time, self.text, self.criteria


class Withdrawn(Record, tag_field="what", tag="withdrawn", frozen=True):
    """A mark by hand that was given before, and is not any more."""

    student: str
    exercise: str


class Exported(Record, tag_field="what", tag="exported", frozen=True):
    """Files that were written, each with its SHA-256."""

    folder: str
    files: dict[str, str]
    stale: bool = False  # numbers were exported although what they depend on had changed


Event = Judgement | Marked | Withdrawn | Exported


class LogLine(Record, frozen=True):
    """One line of the file: an event, when it was noted, by which user of this machine, and the line before it."""

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
        self.judged: dict[tuple[str, str], LogLine] = {}  # the last judgement of each student and exercise
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
        """Note what happened, at that time or this moment."""
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
        """The lines that noted a mark for the first time, each with the mark, by what the mark says."""
        return {line.event.said: (line, line.event) for line in reversed(self.lines) if isinstance(line.event, Marked)}

    def marked(self) -> dict[tuple[str, str], Marked]:
        """The marks that counted at the last report."""
        made: dict[tuple[str, str], Marked] = {}
        for line in self.lines:
            if isinstance(line.event, Marked):
                made[line.event.student, line.event.exercise] = line.event
            elif isinstance(line.event, Withdrawn):
                made.pop((line.event.student, line.event.exercise), None)
        return made


def now() -> str:
    """This moment, as people and programs read it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def user() -> str:
    """Who works here, as the machine knows them."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return f"user {os.getuid()}"
