"""What was collected: one folder for each student, and collected.json, which says from where, and what was there before.

Nothing that was handed in is lost: what no longer counts lies in the student's folder `earlier`, by its hash. The
history in collected.json only grows.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tfm_lib._refusal import Refusal
from tfm_lib.classroom import proposal
from tfm_lib.classroom import roster as rosters
from tfm_lib.classroom.claims import Claim, marked_apart
from tfm_lib.classroom.names import fold
from tfm_lib.classroom.notebook import MAX_BYTES
from tfm_lib.classroom.roster import Person, Roster
from tfm_lib.classroom.sources import Entry, Folder

FILE = "collected.json"
LMS = ("canvas", "moodle", "nbgrader")


class BadRecord(Refusal):
    """collected.json, or the folder that it stands in, cannot be used; the message says why."""


@dataclass(frozen=True)
class Found:
    """One notebook of a source: whose it is, for which chapter, and where it lay."""

    student: str
    stem: str
    data: bytes
    where: str
    claim: Claim
    when: float = 0.0  # the date that it bears, which tells the last of several and nothing else
    handed_in: float | None = None  # where somebody says so who is not the student
    dated_by: str = ""  # who
    archive: bool = False

    @property
    def name(self) -> str:
        return self.claim.name

    @property
    def lms_id(self) -> str:
        return self.claim.lms_id

    @property
    def late(self) -> bool | None:
        return self.claim.late

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass
class Report:
    """What a source held: what counts, what came before it, what was refused and why, and what else to say."""

    kept: list[Found] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    earlier: list[Found] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    missing: list[Person] = field(default_factory=list)  # of the roster, without any notebook
    kind: str = ""
    source: str = ""
    roster: Roster | None = None
    unknown: list[Claim] = field(default_factory=list)  # to the roster


@dataclass(frozen=True)
class HandIn:
    """What is known of the notebook that counts for one student and chapter."""

    where: str
    sha256: str = ""
    late: bool | None = None  # the LMS's own mark; None where it says nothing
    handed_in: float | None = None  # seconds since 1970; None where nobody says it but the student
    dated_by: str = ""
    kind: str = ""
    number: int = 0
    when: float = 0.0


@dataclass
class Known:
    """What is known of a student: as people and the LMS call them, and what they handed in, by chapter."""

    name: str = ""
    lms_id: str = ""
    login: str = ""
    email: str = ""
    section: str = ""
    identities: dict[str, str] = field(default_factory=dict)
    files: dict[str, HandIn] = field(default_factory=dict)


def roster(to: Path) -> dict[str, Known]:
    """The students of `to`: who handed in, and who stands on the roster; raises BadRecord, BadRoster."""
    students = dict(_Book.of(to).students)
    for person in (rosters.kept(to) or Roster()).people:
        known = students.setdefault(person.student, Known())
        known.name = person.name or known.name
        known.lms_id = person.lms_id or known.lms_id
        known.login, known.email, known.section = person.login, person.email, person.section
    return students


def late_days(to: Path, due: datetime | None) -> dict[str, float | None]:
    """Days after `due`, by student and chapter as `ben/masking`; None where nobody knows but the student.

    Where the LMS says only that it is late, that is one day. Without a date, nothing is late but what it says so of.
    """
    days: dict[str, float | None] = {}
    for student, known in roster(to).items():
        for stem, file in known.files.items():
            if due is not None and file.handed_in is not None:
                days[f"{student}/{stem}"] = max(0.0, (file.handed_in - due.timestamp()) / 86_400)
            elif file.late is not None:
                days[f"{student}/{stem}"] = 1.0 if file.late else 0.0
            else:
                days[f"{student}/{stem}"] = 0.0 if due is None else None
    return days


def write(report: Report, to: Path) -> None:
    """Put what was collected into `to`/<student>/<chapter>.ipynb, and what is known of it into `to`/collected.json.

    What could not be put there joins the refused of `report`, what else is to be said its notes. Raises BadRecord.
    """
    try:
        to.mkdir(parents=True, exist_ok=True)
        with alone(to):
            book = _Book.of(to)
            counts = {(one.student, one.stem): one for one in report.kept}
            for one in [*report.kept, *report.earlier]:
                try:
                    _put(book, report, one, counts.get((one.student, one.stem), one))
                except OSError as fault:
                    report.refused.append((one.where, f"it cannot be written: {fault.strerror}"))
            if report.roster is not None:
                _complete(book, report)
            book.write(report)
    except OSError as fault:
        raise BadRecord(f"{to} cannot be written: {fault.strerror}.") from None


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else collects into `folder` meanwhile; raises BadRecord where somebody does. It ends with the process."""
    number = os.open(folder / ".collecting", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise BadRecord(
            f"Another `tfm collect` is writing into {folder}. Wait until it is done, and try again."
        ) from None
    finally:
        os.close(number)


def replace(path: Path, data: bytes) -> None:
    """Put `data` at `path` in one step, whatever stands there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def _put(book: _Book, report: Report, one: Found, counting: Found) -> None:
    """Put one notebook into its student's folder: as what counts, or among the earlier ones."""
    student = book.whose(one) if report.roster is None else one.student
    if not student:
        told = (
            f"{one.claim.told} claims the folder {one.student}, which is another's. A roster tells them apart: --roster"
        )
        report.refused.append((one.where, told))
        return
    book.meet(student, one.claim)
    folder, name, files = book.to / student, f"{one.stem}.ipynb", book.students[student].files
    _make_folder(folder)
    if one is not counting:
        became = "earlier" if one.sha256 != counting.sha256 else "again"
        if became == "earlier":
            _keep_earlier(folder, one.stem, one.data)
        book.remember(student, one, report, became)
        return
    lies, known = _content(folder, name), files.get(one.stem)
    same = lies is not None and hashlib.sha256(lies).hexdigest() == one.sha256
    if lies is not None and known is not None and _is_older(one, known):
        if not same:
            _keep_earlier(folder, one.stem, one.data)
            report.notes.append(
                f"{one.where} is older than {known.where}, which was collected before and counts; this one is kept in "
                f"{student}/earlier."
            )
        book.remember(student, one, report, "again" if same else "earlier")
        return
    if lies is not None and not same:
        _keep_earlier(folder, one.stem, lies)
        before = f" from {known.where}" if known else ""
        report.notes.append(
            f"{one.where} takes the place of what was collected before{before}; that is kept in {student}/earlier."
        )
    if not same:
        replace(folder / name, one.data)
    files[one.stem] = HandIn(
        one.where, one.sha256, one.late, one.handed_in, one.dated_by, one.claim.kind, one.claim.number, one.when
    )
    book.remember(student, one, report, "again" if same else "counts")


def _is_older(one: Found, known: HandIn) -> bool:
    """Whether `one` was handed in before what is known to count: by true dates, else as the LMS or the archive has it."""
    if one.handed_in is not None and known.handed_in is not None:
        return one.handed_in < known.handed_in
    if one.claim.kind != known.kind or not one.archive or not known.when:
        return False
    return (one.claim.number, one.when) < (known.number, known.when)


def _make_folder(folder: Path) -> None:
    if folder.is_symlink():
        raise OSError(0, f"{folder.name} is a link")
    folder.mkdir(exist_ok=True)


def _content(folder: Path, name: str) -> bytes | None:
    """What lies there, None for nothing, or for what is no file of ours."""
    try:
        return Folder(folder).read(Entry(name), 2 * MAX_BYTES)
    except OSError:
        return None


def _keep_earlier(folder: Path, stem: str, data: bytes) -> None:
    _make_folder(folder / "earlier")
    path = folder / "earlier" / f"{stem}-{hashlib.sha256(data).hexdigest()[:16]}.ipynb"
    if not path.exists():
        replace(path, data)


def _complete(book: _Book, report: Report) -> None:
    """Give everyone on the roster a folder, and say who is missing, and who is not on it."""
    people = report.roster.people if report.roster else ()
    rosters.put(Roster(people), book.to)
    filled, count = proposal.proposed(Roster(people), report.unknown)
    if count:
        replace(book.to / proposal.FILE, proposal.as_csv(filled).encode())
        report.notes.append(
            f"The roster lacks the LMS's numbers. {book.to / proposal.FILE} has {count} of them filled in by the names; "
            "look through it, then collect with it: --roster."
        )
    listed = {person.student for person in people}
    for person in people:
        _make_folder(book.to / person.student)
        if not book.students.get(person.student, Known()).files:
            report.missing.append(person)
    for item in sorted(book.to.iterdir()):
        if item.is_dir() and not item.is_symlink() and item.name not in listed:
            report.notes.append(f"{item.name} has a folder from before and is not on the roster.")


@dataclass
class _Book:
    """collected.json in memory."""

    to: Path
    students: dict[str, Known] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, to: Path) -> _Book:
        """The record in `to`, an empty one if there is none; raises BadRecord."""
        try:
            made = json.loads((to / FILE).read_text(encoding="utf-8"))
            students = {student: _known(each) for student, each in made["students"].items()}
            return cls(to, students, list(made.get("history", [])))
        except FileNotFoundError:
            return cls(to)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadRecord(
                f"{to / FILE} cannot be read ({type(error).__name__}: {error}). It says who handed in what, and when. "
                "Put back a copy, or collect into a new folder."
            ) from None

    def whose(self, one: Found) -> str:
        """The folder of a claim, as it was before, or new and apart from all others; "" where it is somebody else's."""
        kind, key = one.claim.identity
        for student, known in self.students.items():
            if known.identities.get(kind) == key:
                return student
        if one.student in self.students:
            others = {name for name in self.students[one.student].identities if name in LMS}
            return one.student if kind not in LMS or not others else ""
        if fold(one.student) in {fold(student) for student in self.students}:
            return marked_apart(one.claim)
        return one.student

    def meet(self, student: str, claim: Claim) -> None:
        """Remember by what a student was known."""
        known = self.students.setdefault(student, Known())
        known.name = claim.name if claim.kind != "folder" else known.name or claim.name
        known.lms_id = claim.lms_id or known.lms_id
        known.login = claim.key if claim.kind == "nbgrader" else known.login
        known.identities.setdefault(claim.kind, claim.key)

    def remember(self, student: str, one: Found, report: Report, became: str) -> None:
        """Add to the history, but for what stands in it."""
        line = {
            "student": student,
            "chapter": one.stem,
            "sha256": one.sha256,
            "source": report.source,
            "from": one.where,
            "handed in": one.handed_in,
            "became": became,
        }
        same = [
            each.get("became")
            for each in self.history
            if (each.get("student"), each.get("chapter"), each.get("sha256")) == (student, one.stem, one.sha256)
        ]
        if became == "counts" or not same or (became == "earlier" and became not in same):
            self.history.append({"collected": datetime.now(UTC).isoformat(timespec="seconds"), **line})

    def write(self, report: Report) -> None:
        made = {
            "format": 2,
            "students": {student: _as_json(known) for student, known in sorted(self.students.items())},
            "refused": [{"file": where, "why": why} for where, why in report.refused],
            "replaced": report.replaced,
            "history": self.history,
        }
        text = json.dumps(made, ensure_ascii=False, indent=1) + "\n"
        replace(self.to / FILE, text.encode("utf-8", "backslashreplace"))


def _as_json(known: Known) -> dict[str, Any]:
    made = {name: getattr(known, name) for name in ("name", "lms_id", "login", "identities")}
    return made | {
        "files": {
            stem: {
                "from": file.where,
                "sha256": file.sha256,
                "late": file.late,
                "handed in": file.handed_in,
                "dated by": file.dated_by,
                "kind": file.kind,
                "number": file.number,
                "when": file.when,
            }
            for stem, file in known.files.items()
        }
    }


def _known(made: dict[str, Any]) -> Known:
    known = Known(_text(made, "name"), _text(made, "lms_id"), _text(made, "login"))
    known.identities = {str(kind): str(key) for kind, key in made.get("identities", {}).items()}
    for stem, file in made.get("files", {}).items():
        late, handed_in = file.get("late"), file.get("handed in")
        if late not in (None, True, False) or not isinstance(handed_in, int | float | None):
            raise ValueError(f"{stem}: `late` is true, false or null, `handed in` a number or null")
        known.files[stem] = HandIn(
            _text(file, "from"),
            _text(file, "sha256"),
            late,
            handed_in,
            _text(file, "dated by"),
            _text(file, "kind"),
            int(file.get("number", 0)),
            float(file.get("when", 0.0)),
        )
    return known


def _text(made: dict[str, Any], name: str) -> str:
    value = made.get(name, "")
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value
