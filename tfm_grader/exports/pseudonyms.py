"""Replace students' names by codes, and remove other identifying data."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import secrets
from dataclasses import replace
from pathlib import Path

from tfm_grader.lock import FILE as HELD
from tfm_grader.records import NOTHING, Bound, TestRow
from tfm_grader.scoring.scores import Row, Score
from tfm_grader.scoring.waivers import Waiver
from tfm_lib._refusal import Refusal


class CannotHide(Refusal):
    """The output would reveal names beside the codes; the message says what to do."""


def require_empty(folder: Path, key_file: Path) -> None:
    """Require that `folder` is empty and does not contain the key file. Raises CannotHide."""
    if folder.resolve() in key_file.resolve().parents:
        raise CannotHide(f"The key {key_file} tells who is who. Keep it outside {folder}, which you may give away.")
    if folder.is_dir() and any(path.name != HELD for path in folder.iterdir()):
        raise CannotHide(
            f"{folder} is not empty, and what lies there may name students. Name a new folder with --to for the codes."
        )


def pseudonymised(made: list[Score], key_file: Path) -> list[Score]:
    """Replace each student by a code; the code is stable while `key_file` (created if missing) is kept.

    Drops all text by students or instructors, LMS numbers, teams, due dates of a student's own and hashes of submitted
    files; late days are rounded up to whole days.
    """
    key = _key(key_file)
    coded = [_anonymous(score, _code(score.student, key)) for score in made]
    return sorted(coded, key=lambda score: score.student)


def _key(path: Path) -> bytes:
    if not path.exists():
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(json.dumps({"key": secrets.token_hex(32)}) + "\n")
    try:
        key = bytes.fromhex(json.loads(path.read_text(encoding="utf-8"))["key"])
    except (OSError, ValueError, KeyError, TypeError):
        raise CannotHide(
            f"{path} is no key of pseudonyms. Name the file that an earlier report made, or a new one."
        ) from None
    if len(key) < 16:
        raise CannotHide(f"{path} holds a key that is too short to hide a name. Name a new file, to be made.")
    return key


def _code(student: str, key: bytes) -> str:
    return "P-" + hmac.new(key, student.encode(), hashlib.sha256).hexdigest()[:16]


def _anonymous(score: Score, code: str) -> Score:
    days = {stem: None if late is None else float(math.ceil(late)) for stem, late in score.late_days.items()}
    waived = {stem: Waiver(waiver.days, "") for stem, waiver in score.waived.items()}
    rows = [_without_words(row) for row in score.rows]
    return Score(code, code, "", rows, days, score.factors, None, waived)


def _without_words(row: Row) -> Row:
    tests = [
        TestRow(name=t.name, outcome=t.outcome, of=t.of, points=t.points, held=t.held, mistake=t.mistake)
        for t in row.tests
    ]
    reason = row.reason if row.reason == NOTHING else ""
    by_hand = None if row.by_hand is None else ""
    return replace(
        row,
        text="",
        reason=reason,
        notes=[],
        tests=tests,
        by_hand=by_hand,
        why="",
        mark=None,
        bound=Bound(),
        subject="",
    )
