"""Write grades as CSV. A cell holds a number, or stays blank while the number is not known."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any

from tfm_exercises.relations import RELATED
from tfm_grader.records import TestRow
from tfm_grader.scoring.scores import HAND_IN, Row, Score
from tfm_grader.tables import number, table
from tfm_lib._refusal import Refusal

AUDIT = [
    *("student", "exercise", "points", "of", "by", "by the tests", "author", "marked at", "reason"),
    *("late days", "waived days", "due", "waiver", "share left", "counts", "status"),
    *("judged at", "hand-in", "marked text", "bundle", "grader"),
]
Times = dict[tuple[str, str], str]  # when each score was determined, by student and exercise


class CannotExport(Refusal):
    """A gradebook file cannot be filled in; the message says what to do."""


def grades(scores: list[Score], audit: list[list[Any]] | None = None) -> str:
    """Write one line for each student. With `audit`, a column holds the hash of their lines in audit.csv.

    If the class has teams, two columns name the team and whose notebook counts.
    """
    ids = list(dict.fromkeys(row.id for score in scores for row in score.rows))
    teams = any(score.team for score in scores)
    head = ["student", "name", *(["team", "handed in by"] if teams else []), *ids]
    head += ["late days", "waived days", "before lateness", "points", "of", "waits"]
    lines: list[list[Any]] = [[*head, "audit"] if audit else head]
    for score in scores:
        points = {row.id: number(row.points) for row in score.rows}
        line: list[Any] = [score.student, score.name, *([score.team, handed_in_by(score)] if teams else [])]
        line += [*(points.get(id, "") for id in ids), days(score.late), days(_waived(score))]
        line += [number(score.before), number(score.points), number(score.of), waits_for(score)]
        lines.append([*line, lines_digest(score.student, audit)] if audit else line)
    return table(lines)


def handed_in_by(score: Score) -> str:
    """Name the member whose notebook counts for a student's team, by chapter if there are several."""
    by_chapter = {stem: holder.student for stem, holder in score.holders.items()}
    if len(set(by_chapter.values())) > 1:
        return "; ".join(f"{stem}: {student}" for stem, student in by_chapter.items())
    return next(iter(by_chapter.values()), "")


def waits_for(score: Score) -> str:
    """Describe what a student's total is waiting for."""
    if score.nothing:
        return "nothing handed in"
    return "; ".join(f"{row.id}: {row.lacks}" for row in score.rows if row.lacks)


def _waived(score: Score) -> float:
    return max((waiver.days for waiver in score.waived.values()), default=0.0)


def audit(scores: list[Score], times: Times) -> list[list[Any]]:
    """Write one line for each score: who or what determined it, its inputs, tests and grader version.

    If the class has teams, a column names whose notebook it was.
    """
    teams = any(score.team for score in scores)
    lines: list[list[Any]] = [[*AUDIT, "handed in by"] if teams else AUDIT]
    for score in scores:
        for row in score.rows:
            stem = row.id.partition(".")[0]
            mark, bound, waiver = row.mark, row.bound, score.waived.get(stem)
            due = score.due.get(stem)
            holder = score.holders.get(stem)
            whose = holder.student if holder else "" if score.team else score.student
            by = "hand" if mark else "tests" if row.judged is not None else row.lacks or "your rule"
            lines.append(
                [
                    *(score.student, row.id, number(row.points), number(row.of), by, number(row.judged)),
                    *((mark.author, mark.time, mark.reason) if mark else ("", "", row.why)),
                    *(days(score.late_days.get(stem, 0.0)), days(waiver.days if waiver else 0.0)),
                    *(due.isoformat(timespec="minutes") if due else "", waiver.reason if waiver else ""),
                    *(number(score.factors.get(stem, 1.0)), number(score.counted(row)), row.status),
                    *(times.get((whose, row.id), ""), bound.handed_in, row.subject if mark else ""),
                    *(bound.bundle, bound.grader, *([whose] if teams else [])),
                ]
            )
    return lines


def lines_digest(student: str, lines: list[list[Any]]) -> str:
    """Hash a student's lines in audit.csv, as written there."""
    own = table(line for line in lines if line[0] == student).removeprefix("\ufeff")
    return hashlib.sha256(own.encode()).hexdigest()[:16]


def items(scores: list[Score]) -> str:
    """Write one line for each test: how many students passed it, and the most frequent mistakes."""
    lines: list[list[Any]] = [["exercise", "test", "students", "passed", "share", "frequent mistakes"]]
    for (id, test), rows in _by_test(scores).items():
        passed = sum(row.outcome == "passed" for row in rows)
        mistakes = frequent(row.mistake for row in rows if row.mistake)
        told = "; ".join(f"{name} ({count})" for name, count in mistakes[:5])
        lines.append([id, test, len(rows), passed, round(passed / len(rows), 3), told])
    return table(lines)


def _by_test(scores: list[Score]) -> dict[tuple[str, str], list[TestRow]]:
    found: dict[tuple[str, str], list[TestRow]] = {}
    for score in scores:
        for row in score.rows:
            for test in row.tests:
                if test.outcome != "not judged":
                    found.setdefault((row.id, test.name), []).append(test)
    return found


def frequent(names: Iterable[str]) -> list[tuple[str, int]]:
    """Count names of mistakes; most frequent first, ties in alphabetical order."""
    counts: dict[str, int] = {}
    for name in names:
        plain = name.replace(RELATED, "")
        counts[plain] = counts.get(plain, 0) + 1
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def gradescope(score: Score) -> str:
    """Write results.json for one student.

    If any score is blank, no scores are written, because Gradescope would sum the others.
    """
    whole = score.points is not None
    tests = [{"name": row.title, **(_scored(score, row) if whole else {}), **_told(row)} for row in score.rows]
    made: dict[str, Any] = {"score": number(score.points)} if whole else {"output": f"Not finished. {waits_for(score)}"}
    return json.dumps({**made, "visibility": "after_published", "tests": tests}, ensure_ascii=False, indent=1) + "\n"


def _scored(score: Score, row: Row) -> dict[str, Any]:
    return {"score": number(row.points), "max_score": number(row.of)}


def _told(row: Row) -> dict[str, Any]:
    said = [f"✓ {held}" for test in row.tests for held in test.held]
    said += [test.message for test in row.tests if test.message] or ([row.reason] if row.reason else [])
    said += [f"By hand: {row.by_hand}"] if row.by_hand else []
    said = [said_of(row)] if row.lacks else said
    return {"visibility": "after_published", "output": "\n".join(said)}


def said_of(row: Row) -> str:
    """State a row's points in words, for a student."""
    if row.points is not None:
        return f"{number(row.points)} of {number(row.of)}"
    return "nothing handed in" if row.lacks == HAND_IN else f"still to come, of {number(row.of)}"


def days(value: float | None) -> float | int | str:
    """Format late days, which may be unknown or all (infinite)."""
    return "unknown" if value is None else "all" if math.isinf(value) else number(value)
