"""From results to scores: what the judge gave, what the instructor changed by hand, what lateness costs."""

from __future__ import annotations

import csv
import hashlib
import hmac
import io
import json
import math
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tfm_lib._refusal import Refusal
from tfm_lib.classroom.collected import Known
from tfm_lib.classroom.manifest import Late
from tfm_lib.classroom.records import ExerciseResult, StudentResult, TestRow
from tfm_lib.classroom.tables import read_text

MARKS = ("student", "exercise", "points", "reason")


class BadMarks(Refusal):
    """The file of marks cannot be used; the message says which line, and why."""


@dataclass(frozen=True)
class Row:
    """One exercise of one student."""

    id: str
    title: str
    kind: str
    status: str
    points: float
    of: float
    reason: str
    tests: list[TestRow]
    notes: list[str]
    text: str = ""
    by_hand: str | None = None  # the instructor's reason
    waits: bool = False  # for a mark by hand, or for another run

    @property
    def outcome(self) -> str:
        """In one word: passed, partly, refused, unsolved, missing, stopped, not judged, by hand, waiting."""
        if self.by_hand is not None:
            return "by hand"
        if self.waits:
            return "waiting"
        if self.status == "stopped":
            return "stopped"
        outcomes = {test.outcome for test in self.tests}
        if len(outcomes) == 1:
            return outcomes.pop()
        return "partly" if self.points else "refused" if outcomes else "missing"


@dataclass(frozen=True)
class Score:
    """All of one student."""

    student: str
    name: str
    lms_id: str
    rows: list[Row]
    late_days: dict[str, float | None] = field(default_factory=dict)  # by chapter; None where nobody knows
    factors: dict[str, float] = field(default_factory=dict)
    handed_in: float | None = None  # the last of it, where that is known

    @property
    def points(self) -> float:
        return round(sum(row.points * self.factors.get(row.id.partition(".")[0], 1.0) for row in self.rows), 4)

    @property
    def of(self) -> float:
        return sum(row.of for row in self.rows)

    @property
    def waits(self) -> bool:
        return any(row.waits for row in self.rows)


def read_marks(path: Path) -> dict[tuple[str, str], tuple[float, str]]:
    """Points and reason by student and exercise, from a CSV with the columns of MARKS; raises BadMarks."""
    found: dict[tuple[str, str], tuple[float, str]] = {}
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    if missing := [name for name in MARKS if name not in (reader.fieldnames or [])]:
        raise BadMarks(f"{path} has no column {', '.join(missing)}. Its first line must be: {','.join(MARKS)}")
    for number, line in enumerate(reader, start=2):
        try:
            points = float(line["points"])
        except (TypeError, ValueError):
            points = math.nan
        if not math.isfinite(points) or not (line["reason"] or "").strip():
            raise BadMarks(f"{path}, line {number}: a mark needs points, a number, and a reason.")
        found[line["student"].strip(), line["exercise"].strip()] = (points, line["reason"].strip())
    return found


def scores(
    results: Iterable[StudentResult],
    roster: dict[str, Known],
    marks: dict[tuple[str, str], tuple[float, str]],
    late: Late,
    days: dict[str, float | None],
) -> list[Score]:
    """The score of each result; raises BadMarks for a mark of nobody or of no exercise."""
    made, used = [], set()
    for result in results:
        student = result.student
        rows, late_days, factors = [], {}, {}
        for stem, chapter in result.chapters.items():
            late_days[stem] = days.get(f"{student}/{stem}", 0.0)
            factors[stem] = lateness(late_days[stem], late)
            for entry in chapter.exercises:
                row = _row(entry, chapter.notes)
                if mark := marks.get((student, row.id)):
                    used.add((student, row.id))
                    row = replace(row, points=mark[0], by_hand=mark[1], waits=False)
                rows.append(row)
        known = roster.get(student, Known())
        times = [file.handed_in for file in known.files.values() if file.handed_in is not None]
        made.append(
            Score(student, known.name or student, known.lms_id, rows, late_days, factors, max(times, default=None))
        )
    if unknown := sorted(set(marks) - used):
        student, id = unknown[0]
        raise BadMarks(
            f"The marks name {student!r} and {id!r}, for whom and which there is no result. Mind the spelling."
        )
    return made


def lateness(days: float | None, rule: Late) -> float:
    """The share of the points that is left after `days`: `per_day` less for each day begun after `free_days`.

    What nobody knows takes nothing.
    """
    if days is None:
        return 1.0
    begun = math.ceil(max(0.0, days - rule.free_days) - 1e-9)
    return max(0.0, 1 - rule.per_day * begun)


def _row(entry: ExerciseResult, notes: list[str]) -> Row:
    unmarked = entry.kind == "text" and bool(entry.text.strip()) and not entry.reason
    return Row(
        entry.id,
        entry.title,
        entry.kind,
        entry.status,
        entry.points,
        entry.of,
        entry.reason,
        entry.tests,
        [*notes, *entry.notes],
        entry.text,
        waits=entry.status == "infrastructure" or unmarked,
    )


def pseudonymised(made: list[Score], key_file: Path) -> list[Score]:
    """The scores with a code in place of each person; the same code as long as `key_file`, made if missing, is kept."""
    if not key_file.exists():
        key_file.write_text(json.dumps({"key": secrets.token_hex(32)}) + "\n", encoding="utf-8")
        key_file.chmod(0o600)
    key = bytes.fromhex(json.loads(key_file.read_text(encoding="utf-8"))["key"])

    def code(student: str) -> str:
        return "P-" + hmac.new(key, student.encode(), hashlib.sha256).hexdigest()[:10]

    blank = [replace(score, student=code(score.student), name=code(score.student), lms_id="") for score in made]
    return sorted(
        (replace(score, rows=[replace(row, text="") for row in score.rows]) for score in blank),
        key=lambda score: score.student,
    )
