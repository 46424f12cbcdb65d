"""Read the class roster: one line for each student, with the names that folders, the LMS and a hub use.

The whole file is validated before it is used, and every error is reported with its line.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import msgspec

from tfm_grader.collecting.identity import Claim
from tfm_grader.names import fold, names_a_folder, plain
from tfm_grader.tables import no_such_column, read_text, separator, too_many_cells
from tfm_lib._refusal import Refusal

FILE = "roster.json"
MAX_TOLD = 20
HEADERS = {
    "student": ("student", "student id"),
    "name": ("name", "full name", "student name"),
    "folder": ("folder", "directory"),
    "lms_id": ("lms id", "lms number", "lms", "canvas id", "moodle id", "user id", "identifier", "participant"),
    "login": ("login", "log in", "login id", "sis login id", "username", "user name", "user", "account"),
    "email": ("email", "e mail", "mail", "email address", "e mail address"),
    "section": ("section", "class"),
    "team": ("team", "team name", "project team"),
    "": ("note", "notes", "comment", "comments"),  # for the instructor; ignored
}
SHOWN = ("student", "name", "folder", "lms id", "login", "email", "section", "team", "note")
GROUP = (
    "'group' can mean two things: call the column section (a part of the class) or team (students who hand in together)"
)
NUMBER = re.compile(r"(?:participant )?0*([0-9]{1,30})")
NAMES = ("student", "folder", "login", "email")  # fields that a folder's name or a login may match
Fault = tuple[int, str]  # a line number and a sentence


class BadRoster(Refusal):
    """The roster cannot be used; the message says which lines, and why."""


@dataclass(frozen=True)
class Person:
    """One student: the name of their folder here, and their identifiers elsewhere."""

    student: str
    name: str = ""
    folder: str = ""
    lms_id: str = ""
    login: str = ""
    email: str = ""
    section: str = ""
    team: str = ""  # the students with the same team hand in together


@dataclass(frozen=True)
class Roster:
    """All students of a class, in file order."""

    people: tuple[Person, ...]

    @property
    def students(self) -> tuple[str, ...]:
        return tuple(person.student for person in self.people)

    @property
    def teams(self) -> dict[str, tuple[str, ...]]:
        """The members of each team, by its name."""
        names = dict.fromkeys(person.team for person in self.people if person.team)
        return {name: tuple(each.student for each in self.people if each.team == name) for name in names}

    def whose(self, claim: Claim) -> list[Person]:
        """List the students that a claim may identify: none, one, or several if it is ambiguous."""
        if claim.lms_id:
            return [person for person in self.people if person.lms_id == claim.lms_id]
        if claim.kind == "nbgrader":  # logins on one machine are case-sensitive
            return [person for person in self.people if (person.login or person.student) == claim.key]
        called = fold(claim.key)
        return [
            person
            for person in self.people
            if called in {fold(getattr(person, name)) for name in NAMES if getattr(person, name)}
            or (person.lms_id and claim.key == person.lms_id)
        ]


def read_roster(path: Path) -> Roster:
    """Read the roster from the CSV file at `path`. Raises BadRoster."""
    rows = [(number, row) for number, row in _rows(path) if any(row)]
    if not rows:
        raise BadRoster(f"{path.name} is empty. Its first line names columns, such as student,name,lms id.")
    faults: list[Fault] = []
    columns = _columns(rows[0][1], faults)
    if columns is None:  # a list of names without a header
        columns, rows = ["student"], [(0, []), *rows]
    people = list(_people(columns, rows[1:], faults)) if columns.count("student") == 1 else []
    faults += _twice(people) + _teams_that_clash(people)
    if not people and not faults:
        faults.append((2, "there is no student in it."))
    _refuse(path.name, faults)
    return Roster(tuple(person for _, person in people))


def keep_roster(roster: Roster, folder: Path) -> None:
    """Store `roster` in `folder`, to be read by `kept`."""
    (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(roster), indent=1) + b"\n")


def kept(folder: Path) -> Roster | None:
    """Load the roster that `keep_roster` stored in `folder`, None if there is none. Raises BadRoster if damaged."""
    try:
        found = msgspec.json.decode((folder / FILE).read_bytes(), type=Roster)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise BadRoster(f"{folder / FILE} cannot be read ({error}). Give the roster again with --roster.") from None
    people = list(enumerate(found.people, start=1))
    faults = [(at, fault) for at, each in people for fault in _faults(each)]
    _refuse(FILE, faults + _twice(people, "student") + _teams_that_clash(people, "student"), "student")
    return found


def _refuse(file: str, faults: list[Fault], unit: str = "line") -> None:
    """Raise BadRoster with the faults in the order of their lines, if there are any."""
    if faults:
        ordered = sorted(faults, key=lambda fault: fault[0])
        told = "\n".join(f"  {unit} {number}: {fault}" for number, fault in ordered[:MAX_TOLD])
        more = f"\n  and {len(faults) - MAX_TOLD} more" if len(faults) > MAX_TOLD else ""
        raise BadRoster(f"{file} cannot be used as a roster. Nothing was done. Mend, and try again:\n{told}{more}")


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of the file with their line numbers; cells are stripped."""
    text = read_text(path, BadRoster)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator(text.partition("\n")[0]), strict=True)
    try:
        for row in reader:
            yield reader.line_num, [unicodedata.normalize("NFC", cell).strip() for cell in row]
    except csv.Error as error:
        raise BadRoster(
            f"{path.name}, line {reader.line_num}: this is not CSV ({error}). Is a quotation mark open?"
        ) from None


def _columns(heads: list[str], faults: list[Fault]) -> list[str | None] | None:
    """Return the field of each column (None if unknown or empty), or None if the line is not a header."""
    plain_heads = [re.sub(r"[\s_-]+", " ", fold(head)) for head in heads]
    found: list[str | None] = [
        next((field for field, words in HEADERS.items() if head in words), None) for head in plain_heads
    ]
    if "id" in plain_heads:  # the student, or the LMS id if there is also a student column
        found[plain_heads.index("id")] = "lms_id" if "student" in found else "student"
    if len(heads) == 1:
        return ["student"] if found[0] in ("student", "login", "name") else None
    absent = [word for field, words in HEADERS.items() if field not in found for word in words]
    for head, plain_head, meaning in zip(heads, plain_heads, found, strict=True):
        if plain_head == "group":
            faults.append((1, GROUP))
        elif meaning is None and head:
            faults.append((1, no_such_column(plain(head), absent, SHOWN)))
        elif meaning and found.count(meaning) > 1:
            faults.append((1, f"two columns say the same: {plain(head)!r} is {meaning.replace('_', ' ')}."))
    if "student" not in found:
        faults.append((1, "a column `student` is missing, which names each student's folder."))
    return found


def _people(columns: list, rows: list[tuple[int, list[str]]], faults: list[Fault]) -> Iterator[tuple[int, Person]]:
    known = {each.name for each in fields(Person)}
    for line, row in rows:
        if any(row[len(columns) :]):
            faults.append((line, too_many_cells(len(row), len(columns))))
            continue
        cells = {name: cell for name, cell in zip(columns, row, strict=False) if name in known}
        number = NUMBER.fullmatch(unicodedata.normalize("NFKC", cells.get("lms_id", "")).lower())
        cells["lms_id"] = number[1] if number else cells.get("lms_id", "")
        person = Person(**{"student": "", **cells})
        faults += [(line, fault) for fault in _faults(person)]
        yield line, person


def _faults(person: Person) -> list[str]:
    """List what is wrong with one student's line, in sentences."""
    found = []
    if not person.student:
        found.append("the student is missing.")
    elif not names_a_folder(person.student):
        found.append(f"{plain(person.student)!r} cannot name a folder. Use letters, digits, and . _ - @ + inside.")
    if person.team and not names_a_folder(person.team):
        found.append(f"{plain(person.team)!r} cannot name a team. Use letters, digits, and . _ - @ + inside.")
    if person.lms_id and not NUMBER.fullmatch(person.lms_id):
        found.append(
            f"{plain(person.lms_id)!r} is no number of an LMS. Format the column as text, and give digits alone."
        )
    for name, value in asdict(person).items():
        if any(unicodedata.category(char) in ("Cc", "Cs") for char in value):
            found.append(f"the {name.replace('_', ' ')} {plain(value)!r} holds signs that are no text.")
    return found


def _twice(people: list[tuple[int, Person]], unit: str = "line") -> list[Fault]:
    """List identifiers that two students share."""
    seen: dict[tuple[str, str], tuple[int, str]] = {}
    found = []
    for line, person in people:
        own = {("name", fold(getattr(person, name))): name for name in reversed(NAMES) if getattr(person, name)}
        own |= {("number", person.lms_id.lstrip("0") or "0"): "lms_id" for _ in [0] if person.lms_id}
        for key, field in own.items():
            if key in seen:
                before, other = seen[key]
                told = f"the {field.replace('_', ' ')} {plain(getattr(person, field))!r} is that of {unit} {before}"
                found.append((line, told + (f", there the {other.replace('_', ' ')}." if other != field else ".")))
            seen.setdefault(key, (line, field))
    return list(dict.fromkeys(found))


def _teams_that_clash(people: list[tuple[int, Person]], unit: str = "line") -> list[Fault]:
    """List teams that could be mistaken for a student or for another team, since marks and waivers name either."""
    students: dict[str, tuple[int, str]] = {}
    for line, person in people:
        for field in NAMES:
            if name := getattr(person, field):
                students.setdefault(fold(name), (line, field))
    spelt: dict[str, tuple[int, str]] = {}
    found = []
    for line, person in people:
        if not person.team:
            continue
        team = fold(person.team)
        first, name = spelt.setdefault(team, (line, person.team))
        if name != person.team:
            told = f"the team {plain(person.team)!r} is written {plain(name)!r} in {unit} {first}."
            found.append((line, f"{told} Write it the same way in both."))
        elif first == line and team in students:
            other, field = students[team]
            told = f"the team {plain(person.team)!r} has the same name as the {field} of {unit} {other}."
            found.append((line, f"{told} Give the team another name."))
    return found
