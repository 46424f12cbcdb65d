"""The bundle's manifest as typed structs: exercises, points, limits, and the late policy.

Instructors edit it by hand, so every value is validated on reading, and an error message says what is wrong where.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tfm_grader.sandbox.limits import Limits
from tfm_lib._refusal import Refusal

FORMAT = 1
Kind = Literal["practice", "assigned", "text"]
MOST_POINTS = 1000
Points = Annotated[float, Meta(ge=0, le=MOST_POINTS)]


class BadBundle(Refusal):
    """The bundle cannot be used; the message says what is wrong in it."""


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of the manifest's parts. Unknown fields are rejected: a misspelt one would be ignored silently."""


class Late(Part, frozen=True):
    """The late policy: deduct `per_day` of the points for each started day after `free_days`."""

    per_day: Annotated[float, Meta(ge=0, le=1)] = 0.0
    free_days: Annotated[float, Meta(ge=0, le=1000)] = 0.0
    due: str = ""  # for example 2026-11-20T23:59+01:00; UTC if no zone is given

    def __post_init__(self) -> None:
        _ = self.due_at

    @property
    def due_at(self) -> datetime | None:
        """The deadline, or None. Raises ValueError if `due` is not a date with a time: a day begins at its first minute."""
        if self.due and ":" not in self.due:
            raise ValueError("no time of day")
        when = datetime.fromisoformat(self.due) if self.due else None
        return when.replace(tzinfo=UTC) if when is not None and when.tzinfo is None else when


class Criterion(Part, frozen=True):
    """One rubric criterion of a written answer."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    points: Points


class Entry(Part, frozen=True):
    """The manifest entry of one exercise."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    title: str
    kind: Kind
    points: Points
    answers: list[str] = []
    modules: list[str] = []  # modules of the book's library that may be imported
    forbidden: list[str] = []  # torch functions that may not be called
    may_change_input: bool = False  # if the exercise asks for it
    carried: str = ""  # the name of the weights that it asks for, in place of functions
    rubric: list[Criterion] = []  # for a written answer
    question: str = ""  # as students see it
    answer: str = ""  # the model answer, if written
    own_questions: dict[str, str] = {}  # the question by student, for those with personal values


class Chapter(Part, frozen=True):
    """One chapter of an assignment."""

    exercises: list[Entry]
    given: str = ""  # digests of the lines handed out, to tell them from the student's own
    handouts: dict[str, str] = {}  # the hand-out mark in each student's notebook; under "" if all have the same


class Manifest(Part, frozen=True):
    """The whole bundle except the hidden tests."""

    name: str
    seed: str | int
    chapters: dict[str, Chapter]
    format: int = FORMAT
    limits: Limits = Limits()
    late: Late = Late()
    missing: Literal["blank", "zero"] = "blank"  # the points for exercises not submitted


MEANT = {  # the expected value, as worded in the error message, for each field
    "name": "the title of the assignment, a text",
    "seed": "the name of the class, a text",
    "limits.seconds": "a number of seconds from 0.1 to 3600",
    "limits.load_seconds": "a number of seconds from 0.1 to 3600",
    "limits.cpu": "a whole number of seconds from 1 to 3600",
    "limits.memory": "a whole number of megabytes from 64 to 1048576",
    "limits.processes": "a whole number from 3 to 1000",
    "limits.disk": "a whole number of megabytes from 1 to 65536",
    "limits.open_files": "a whole number from 16 to 65536",
    "late.per_day": "the share of the points that a late day costs, a number from 0 to 1: 0.1 takes a tenth",
    "late.free_days": "a number of days from 0 to 1000",
    "late.due": "a date with a time, as 2026-11-20T23:59+01:00",
    "missing": "blank or zero: the points for what was not handed in",
    "points": f"a number from 0 to {MOST_POINTS}",
    "id": "the exercise's label, a text",
    "title": "a text",
    "kind": "practice, assigned or text",
    "answers": "a list of names",
    "modules": "a list of names",
    "forbidden": "a list of names",
    "may_change_input": "true or false",
    "carried": "the name of the weights, a text",
    "rubric": "a list of criteria, each with a name and points",
    "question": "a text",
    "answer": "a text",
    "own_questions": "a text for each student",
}


def manifest(made: Any) -> Manifest:
    """Validate parsed JSON and return the manifest. Raises BadBundle with an explanation."""
    if not isinstance(made, dict) or not isinstance(made.get("chapters"), dict) or not made["chapters"]:
        raise BadBundle("manifest.json describes no chapters. Make it again with `tfm assign`.")
    chapters = {}
    for stem, chapter in made["chapters"].items():
        entries = chapter.get("exercises") if isinstance(chapter, dict) else None
        if not isinstance(entries, list) or not re.fullmatch(r"\w[\w.-]{0,99}", stem):
            raise BadBundle(f"manifest.json: the chapter {stem!r} has no list of exercises, or no name for a file.")
        exercises = [_entry(entry, stem, place) for place, entry in enumerate(entries, start=1)]
        chapters[stem] = _convert({**chapter, "exercises": exercises}, Chapter, stem)
    for entry in (entry for chapter in chapters.values() for entry in chapter.exercises):
        if entry.rubric and not math.isclose(sum(each.points for each in entry.rubric), entry.points):
            given = sum(each.points for each in entry.rubric)
            raise BadBundle(
                f"manifest.json: the rubric of {entry.id} gives {given:g} points, and its points are {entry.points:g}. "
                "Make them agree."
            )
    ids = [entry.id for chapter in chapters.values() for entry in chapter.exercises]
    if twice := sorted({id for id in ids if ids.count(id) > 1}):
        raise BadBundle(f"manifest.json: {', '.join(twice)} stands in it twice. Keep one.")
    parts = {
        "limits": _convert(made.get("limits", {}), Limits, "limits"),
        "late": _convert(made.get("late", {}), Late, "late"),
    }
    return _convert({**made, **parts, "chapters": chapters}, Manifest, "")


def _entry(made: Any, stem: str, place: int) -> Entry:
    id = made.get("id") if isinstance(made, dict) else None
    return _convert(made, Entry, id if isinstance(id, str) else f"exercise {place} of {stem}", fields_of="exercise")


def _convert(made: Any, kind: type, where: str, fields_of: str = "") -> Any:
    try:
        return msgspec.convert(made, kind)
    except msgspec.ValidationError as error:
        raise BadBundle(f"manifest.json: {_sentence(str(error), made, where, bool(fields_of))}") from None


def _sentence(error: str, made: Any, where: str, is_entry: bool) -> str:
    said, _, path = error.partition(" - at `$")
    names = re.findall(r"\w+", path)
    if found := re.search(r"(?:unknown|missing required) field `(\w+)`", said):
        place = ".".join(filter(None, [where, *names]))
        if "missing" in said:
            return f"{place or 'it'} has no {found[1]!r}."
        return f"{place or 'it'} has an entry {found[1]!r}, which means nothing there. Is it misspelt?"
    if not names and not isinstance(made, dict):
        return f"{where} must be a group of names and values in braces, not {made!r}."
    name = names[0] if names else "due"  # an error without a path comes from `__post_init__`, which checks the date
    meant = MEANT.get(name if is_entry else ".".join(filter(None, [where, name])), "something else")
    subject = f"the {name} of {where}" if is_entry else ".".join(filter(None, [where, name]))
    return f"{subject} must be {meant}, not {made.get(name)!r}."
