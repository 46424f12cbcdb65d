"""Answers by people who had seen the statements alone: right ones pass, wrong ones do not, and most are named.

`strangers.jsonl` holds a random few of thirty for each of 30 exercises; "right" and "wrong" say what each is. Over all of the last
twenty exercises' answers, before anything was mended for them: 199 of 199 right ones passed, 393 of 400 wrong ones were
refused, 84 % of these with the mistake's name.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tfm_exercises.judge import find, judged

ROWS = [json.loads(line) for line in Path(__file__).with_name("strangers.jsonl").read_text("utf-8").splitlines()]
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("as_readers_run_it")]


@cache
def verdicts() -> list[tuple[dict[str, str], Any]]:
    made = []
    for row in ROWS:
        scope: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(row["code"], "<cell>", "exec"), scope)  # noqa: S102 (our own file)
        found = find(row["exercise"])
        made.append((row, judged(found, [scope[name] for name in found.answers])))
    return made


def test_right_ones_pass_and_wrong_ones_do_not():
    assert [(row, str(verdict)) for row, verdict in verdicts() if verdict.passed != ("right" in row)] == []


def test_most_of_the_mistakes_are_named():
    wrong = [verdict for row, verdict in verdicts() if "wrong" in row]
    assert sum(verdict.mistake is not None for verdict in wrong) >= 0.85 * len(wrong)
