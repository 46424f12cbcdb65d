"""Identify the student of a submission by the top-level name that the LMS or the folder's owner wrote.

Deeper path components, and the last part of a flat name, are chosen by the student. An ambiguous name identifies
nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from tfm_grader.collecting.archives import CannotCollect, Folder, SourceFile, Zip
from tfm_grader.names import digest, folder_name, plain

CANVAS = re.compile(
    r"(?P<who>[^_]+)_(?P<late>LATE_)?(?P<id>[0-9]{1,30})_(?P<number>[0-9]{1,30})_(?P<name>.+)", re.DOTALL
)
CANVAS_IDS = re.compile(r"(?<=_)[0-9]{1,30}(?=_[0-9]{1,30}_.)", re.DOTALL)  # wherever one can stand
MOODLE = re.compile(
    r"(?P<who>.+?)_(?P<id>[0-9]{1,30})_assignsubmission_(?P<part>file|onlinetext)_?(?P<name>.*)", re.DOTALL
)
NBGRADER = re.compile(
    r"(?P<who>.+)\+(?P<assignment>[^+]+)\+(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)(?P<zone> [^+]+)?(?:\+[\w=-]+)?",
    re.ASCII | re.DOTALL,
)
KINDS = {
    "folder": "a folder for each student",
    "canvas": "Canvas's archive",
    "moodle": "Moodle's archive",
    "nbgrader": "nbgrader's exchange",
}
WAYS = f"--kind {', '.join(list(KINDS)[:-1])} or {list(KINDS)[-1]}"
JUNK = {"__MACOSX", ".ipynb_checkpoints", ".DS_Store", "Thumbs.db", "desktop.ini"}


@dataclass(frozen=True)
class Claim:
    """An identity in an LMS, an exchange or a folder, with the other facts in the entry's name."""

    kind: str
    key: str  # the LMS number, the login, or the folder's name
    student: str  # the folder name to use if there is no roster
    name: str = ""  # the display name
    file: str = ""  # the part of a flat name that the student chose
    late: bool | None = None  # the LMS's late mark, if it has one
    number: int = 0  # the LMS's submission number, which increases with each submission
    assignment: str = ""
    claimed: float | None = None  # the time in the entry's name, which the student may have forged

    @property
    def identity(self) -> tuple[str, str]:
        return self.kind, self.key

    @property
    def lms_id(self) -> str:
        return self.key if self.kind in ("canvas", "moodle") else ""

    @property
    def told(self) -> str:
        """Describe the identity in words."""
        number = f"the number {self.key} ({self.name})"
        return {"folder": f"the folder {self.key}", "nbgrader": f"the log-in {self.key}"}.get(self.kind, number)


def read_claim(kind: str, entry: SourceFile, numbers: Collection[str] = ()) -> Claim | str:
    """Parse the claim of an entry in a source of `kind`. Returns the reason as text if there is none.

    `numbers` are the class's in the LMS, if everybody's is known.
    """
    top, deeper = entry.outer.parts[0], len(entry.outer.parts) > 1
    if kind == "canvas":
        return "Canvas puts no folders into its archives; this lies in one" if deeper else _canvas(top, numbers)
    if kind == "moodle":
        return _moodle(top, deeper)
    if not deeper:
        return "it lies in no student's folder, and so names no student"
    return _nbgrader(top) if kind == "nbgrader" else _folder(top)


def _canvas(top: str, numbers: Collection[str]) -> Claim | str:
    stem = PurePosixPath(top).stem
    match = CANVAS.fullmatch(stem)
    if match is None:
        return "its name is none of Canvas's, and names no student"
    ids = list(dict.fromkeys(str(int(each)) for each in CANVAS_IDS.findall(stem)))
    # A student's name may end in a number, and the file's own begin with one: only the first may be somebody's.
    if len(ids) > 1 and [each for each in ids if each in numbers] != ids[:1]:
        told = f"its name can be read as that of the number {' or '.join(ids[:3])}, and so names no student; "
        told += "take the number that is not the student's out of it"
        return told if numbers else f"{told}, or collect with a roster that has everybody's lms id"
    who, number = plain(match["who"]), str(int(match["id"]))
    student = folder_name(f"{match['who']}_{number}")
    return Claim("canvas", number, student, who, match["name"], bool(match["late"]), int(match["number"]))


def _moodle(top: str, deeper: bool) -> Claim | str:
    match = MOODLE.fullmatch(top)
    if match is None:
        return "its name is none of Moodle's, and names no student"
    if "_assignsubmission_" in match["name"] or (deeper and match["name"]):
        return "its name can be read in two ways, and so names no student"
    number = str(int(match["id"]))
    student = folder_name(f"{match['who']}_{number}")
    return Claim("moodle", number, student, plain(match["who"]), "" if deeper else PurePosixPath(match["name"]).stem)


def _nbgrader(top: str) -> Claim | str:
    match = NBGRADER.fullmatch(top)
    if match is None:
        return "its folder's name is none of nbgrader's, and names no student"
    claimed = None
    if (match["zone"] or " UTC").strip() in ("UTC", "+0000", "+00:00"):
        try:
            claimed = datetime.fromisoformat(match["time"]).replace(tzinfo=UTC).timestamp()
        except ValueError:
            return "the time in its folder's name is none"
    who = match["who"]
    return Claim("nbgrader", plain(who), folder_name(who), plain(who), "", None, 0, match["assignment"], claimed)


def _folder(top: str) -> Claim:
    return Claim("folder", plain(top), folder_name(top), plain(top))


def kind_of(source: Folder | Zip, shown: str, known: Callable[[Claim], bool] = lambda claim: False) -> str:
    """Detect the kind of `source` from its top level. Raises CannotCollect if that is ambiguous.

    If every name fits two kinds, choose the one whose claims match somebody `known`, if the other matches nobody.
    """
    seen: dict[str, list[str]] = {"canvas": [], "moodle": [], "nbgrader": [], "folder": []}
    tops = [(name, is_folder) for name, is_folder in source.tops() if name not in JUNK]
    for name, is_folder in tops:
        for kind in _kinds(name, is_folder, source.archive):
            seen[kind].append(name)
    named = {name for names in seen.values() for name in names}
    fits = [kind for kind, names in seen.items() if names and set(names) == named]
    if len(fits) > 1:
        paths = [f"{name}/x" if is_folder else name for name, is_folder in tops if name in named]
        claimed = {kind: [read_claim(kind, SourceFile(path)) for path in paths] for kind in fits}
        fits = [kind for kind in fits if any(isinstance(one, Claim) and known(one) for one in claimed[kind])] or fits
    if len(fits) == 1:
        return fits[0]
    if not named:
        return "folder"
    first = next(iter(fits), max(seen, key=lambda kind: len(seen[kind])))
    other = next(kind for kind in [*fits[1:], *seen] if kind != first and seen[kind])
    example = next(iter(set(seen[other]) - set(seen[first])), seen[other][0])
    raise CannotCollect(
        f"{shown} can be taken for {KINDS[first]}, by {plain(seen[first][0])!r}, and for {KINDS[other]}, "
        f"by {plain(example)!r}. Nothing was collected. Say which it is: {WAYS}."
    )


def _kinds(name: str, is_folder: bool, archive: bool) -> list[str]:
    """List the kinds of source that a top-level entry can belong to."""
    if is_folder and not (archive and CANVAS.fullmatch(name)):  # a slash in a student's name makes a folder
        return ["moodle"] if MOODLE.fullmatch(name) else ["nbgrader"] if NBGRADER.fullmatch(name) else ["folder"]
    flat = [("canvas", CANVAS.fullmatch(name)), ("moodle", MOODLE.fullmatch(name))]
    return [kind for kind, match in flat if match]


def marked_apart(claim: Claim) -> str:
    """Make a distinct folder name for a claim whose own name collides with another on some file systems."""
    return f"{claim.student}-{digest(claim.key)[:16]}"
