"""Submissions as they come from an LMS, sorted into one folder for each student.

Names and archives from outside are data: nothing is unpacked by its own name, nothing is followed, nothing is
read beyond a size, and what is refused is said in a line. The last of several submissions counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from tfm_lib._refusal import Refusal
from tfm_lib.classroom.notebook import MAX_BYTES

MAX_ENTRIES = 20_000
MAX_TOTAL = 4 << 30
CANVAS = re.compile(r"^(?P<who>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_(?P<submission>\d+)_(?P<name>.+)$")
AGAIN = re.compile(r"(?:[-_ ]\d{1,3}| ?\(\d{1,3}\))$")  # what a browser or an LMS adds to a second copy
MOODLE = re.compile(r"^(?P<who>.+)_(?P<id>\d+)_assignsubmission_file_?$")
BESIDE = {"collected.json", "timestamp.txt", "submission_secret.txt", ".DS_Store"}  # no submissions, and no mistake
DRIVE = re.compile(r"[A-Za-z]:")
RESERVED = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))}


class CannotCollect(Refusal):
    """The source cannot be read as any kind of collection; the message says why."""


@dataclass(frozen=True)
class Found:
    """One notebook: whose it is, for which chapter, and where it lay."""

    student: str
    stem: str
    data: bytes
    where: str
    name: str = ""  # as people write it
    lms_id: str = ""
    late: bool = False
    when: float = 0.0  # by the file's own date, which tells the last of several
    handed_in: float | None = None  # where the source says so; an archive's dates are those of its making


@dataclass
class Report:
    """What was collected, what was refused and why, and what a later submission replaced."""

    kept: list[Found] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Entry:
    """A file in a source: its path there, and how to read it. `trouble` says why it may not be read."""

    path: str
    size: int
    when: float
    trouble: str = ""


class Source:
    """Files, in a folder or in a zip archive."""

    dated = False  # whether a file's date is when it was handed in

    def entries(self) -> Iterator[Entry]:
        raise NotImplementedError

    def read(self, entry: Entry) -> bytes:
        raise NotImplementedError


class Folder(Source):
    """A folder. Links are not followed."""

    dated = True

    def __init__(self, path: Path):
        self.path = path

    def entries(self) -> Iterator[Entry]:
        for folder, folders, files in os.walk(self.path, followlinks=False):
            folders.sort()
            for name in sorted([*files, *(each for each in folders if os.path.islink(os.path.join(folder, each)))]):
                path = Path(folder, name)
                about = path.lstat()
                trouble = "" if stat.S_ISREG(about.st_mode) else "it is a link, or no file"
                yield Entry(path.relative_to(self.path).as_posix(), about.st_size, about.st_mtime, trouble)

    def read(self, entry: Entry) -> bytes:
        number = os.open(self.path / entry.path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(number, "rb") as file:
            return file.read(MAX_BYTES + 1)


class Zip(Source):
    """A zip archive, read in place; nothing is unpacked."""

    def __init__(self, path: Path):
        try:
            self.archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise CannotCollect(f"{path} is not a zip archive that can be read ({error}). Download it again.") from None

    def entries(self) -> Iterator[Entry]:
        for info in self.archive.infolist():
            if info.is_dir():
                continue
            trouble = "it is a link" if stat.S_ISLNK(info.external_attr >> 16) else ""
            trouble = trouble or ("it is encrypted" if info.flag_bits & 1 else "")
            try:
                when = datetime(*info.date_time, tzinfo=UTC).timestamp()
            except ValueError:
                when = 0.0
            yield Entry(info.filename, info.file_size, when, trouble)

    def read(self, entry: Entry) -> bytes:
        with self.archive.open(entry.path) as file:
            return file.read(MAX_BYTES + 1)  # whatever size the archive claims


def collect(path: Path, stems: list[str], kind: str = "auto") -> Report:
    """The submissions in `path` for the chapters `stems`; raises CannotCollect. `kind`: folder, canvas, moodle or nbgrader."""
    if path.is_dir():
        source: Source = Folder(path)
        if kind == "auto" and (any(path.glob("inbound")) or any(path.glob("*/inbound"))):
            kind = "nbgrader"
    elif path.is_file():
        source = Zip(path)
    else:
        raise CannotCollect(f"There is no {path}. Name a folder, or the zip archive that your LMS gave you.")
    report, total = Report(), 0
    found: dict[tuple[str, str], Found] = {}
    for count, entry in enumerate(source.entries()):
        total += entry.size
        if count >= MAX_ENTRIES or total > MAX_TOTAL:
            raise CannotCollect(
                f"{path} holds more than {MAX_ENTRIES} files or {MAX_TOTAL >> 30} GB. Collect it in parts."
            )
        one = _read(source, entry, stems, kind, report)
        if one is None:
            continue
        key = (one.student, one.stem)
        if key in found:
            older, one = sorted((found[key], one), key=_order)
            report.replaced.append(older.where)
        found[key] = one
    report.kept = [found[key] for key in sorted(found)]
    return report


def _order(one: Found) -> tuple[float, int, str]:
    """Later submissions come later: by date, then by the number that a browser or an LMS gave a second copy."""
    copy = AGAIN.search(PurePosixPath(one.where).stem)
    return one.when, int(re.sub(r"\D", "", copy[0])) if copy else 0, one.where


def write(report: Report, to: Path) -> None:
    """Put what was collected into `to`/<student>/<chapter>.ipynb, and what was seen into `to`/collected.json."""
    to.mkdir(parents=True, exist_ok=True)
    beside = to / "collected.json"
    before = json.loads(beside.read_text(encoding="utf-8")) if beside.is_file() else {"students": {}}
    students = before["students"]
    for one in report.kept:
        folder = to / one.student
        folder.mkdir(exist_ok=True)
        (folder / f"{one.stem}.ipynb").write_bytes(one.data)
        seen = students.setdefault(one.student, {})
        seen.update({"name": one.name or seen.get("name", ""), "lms_id": one.lms_id or seen.get("lms_id", "")})
        seen.setdefault("files", {})[one.stem] = {"from": one.where, "late": one.late, "handed in": one.handed_in}
    refused = [{"file": where, "why": why} for where, why in report.refused]
    text = json.dumps(
        {"students": students, "refused": refused, "replaced": report.replaced}, ensure_ascii=False, indent=1
    )
    beside.write_text(text + "\n", encoding="utf-8")


def folder_name(name: str) -> str:
    """A folder's name for a student: their own if it is harmless, else what is left of it, with a mark that keeps it unique."""
    plain = unicodedata.normalize("NFC", name).strip()
    safe = "".join(
        char if char.isalnum() or unicodedata.category(char).startswith("M") or char in "._-@+" else "-"
        for char in plain
    )
    safe = safe.strip(".-") or "nobody"
    while len(safe.encode()) > 80:
        safe = safe[:-1]
    if safe == plain and safe.lower() not in RESERVED:
        return safe
    return f"{safe}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"


def _read(source: Source, entry: Entry, stems: list[str], kind: str, report: Report) -> Found | None:
    path = PurePosixPath(entry.path.replace("\\", "/"))
    if path.name in BESIDE or "__MACOSX" in path.parts or ".ipynb_checkpoints" in path.parts:
        return None
    trouble = entry.trouble
    if not trouble and (path.is_absolute() or ".." in path.parts or DRIVE.match(path.parts[0]) or "\0" in entry.path):
        trouble = "its name leads out of the archive"
    if not trouble and entry.size > MAX_BYTES:
        trouble = f"it has {entry.size >> 20} MB, and the limit is {MAX_BYTES >> 20} MB"
    if not trouble and path.suffix.lower() != ".ipynb":
        trouble = "it is not a notebook (.ipynb)"
    whose = None if trouble else _whose(path, stems, kind)
    if not trouble and whose is None:
        trouble = f"its name fits no chapter of the assignment ({', '.join(stems)}), or names no student"
    if trouble or whose is None:
        report.refused.append((entry.path, trouble))
        return None
    try:
        data = source.read(entry)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
        report.refused.append((entry.path, f"it cannot be read ({error})"))
        return None
    if len(data) > MAX_BYTES:
        report.refused.append((entry.path, f"it has more than {MAX_BYTES >> 20} MB once unpacked"))
        return None
    student, stem, name, lms_id, late = whose
    said = _timestamp(source, path)
    handed_in = said or (entry.when if source.dated else None)
    return Found(student, stem, data, entry.path, name, lms_id, late, said or entry.when, handed_in)


def _whose(path: PurePosixPath, stems: list[str], kind: str) -> tuple[str, str, str, str, bool] | None:
    """Student, chapter, name, number in the LMS, and whether it is late."""
    canvas = CANVAS.match(path.stem)
    if kind in ("auto", "canvas") and canvas and (stem := _stem(canvas["name"], stems)):
        return folder_name(f"{canvas['who']}_{canvas['id']}"), stem, canvas["who"], canvas["id"], bool(canvas["late"])
    stem = _stem(path.stem, stems)
    if stem is None:
        return None
    for part in reversed(path.parts[:-1]):
        if kind in ("auto", "moodle") and (moodle := MOODLE.match(part)):
            return folder_name(f"{moodle['who']}_{moodle['id']}"), stem, moodle["who"], moodle["id"], False
    who = path.parts[0] if len(path.parts) > 1 else ""
    if kind in ("auto", "nbgrader"):
        submitted = [part for part in path.parts[:-1] if part.count("+") >= 2]  # user+assignment+timestamp+random
        who = submitted[-1].split("+")[0] if submitted else "" if kind == "nbgrader" else who
    return (folder_name(who), stem, who, "", False) if who else None


def _stem(name: str, stems: list[str]) -> str | None:
    """The chapter that a file's name means, whatever a browser or an LMS added to it."""
    plain = name
    for _ in range(3):
        if plain in stems:
            return plain
        plain = AGAIN.sub("", plain)
    return plain if plain in stems else None


def _timestamp(source: Source, path: PurePosixPath) -> float | None:
    """The time in the timestamp.txt that nbgrader puts beside a submission."""
    if not isinstance(source, Folder):
        return None
    beside = source.path / path.parent / "timestamp.txt"
    try:
        text = beside.read_text(encoding="utf-8").strip().removesuffix(" UTC")
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except (OSError, ValueError):
        return None


def roster(to: Path) -> dict[str, dict]:
    """What is known of the students in `to`: name, number in the LMS, lateness."""
    try:
        return json.loads((to / "collected.json").read_text(encoding="utf-8"))["students"]
    except (OSError, ValueError, KeyError):
        return {}


def late_days(to: Path, due: datetime | None) -> dict[str, float]:
    """Days after `due`, by student and chapter; one day where no time is known and the LMS says that it is late."""
    days = {}
    for student, known in roster(to).items():
        for stem, file in known.get("files", {}).items():
            if due is not None and file.get("handed in"):
                days[f"{student}/{stem}"] = max(0.0, (file["handed in"] - due.timestamp()) / 86_400)
            else:
                days[f"{student}/{stem}"] = 1.0 if file.get("late") else 0.0
    return days
