"""What a check in a notebook adds to its verdict: the answer that passed is kept, a bug is heard in the translator."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tfm_exercises import IN_PAGES
from tfm_exercises.judge import AFTER, Exercise, Verdict
from tfm_exercises.mine import active, store
from tfm_exercises.mine.answers import written
from tfm_exercises.mine.catalogue import PARTS, access
from tfm_exercises.mine.keeping import collected, judge_again
from tfm_exercises.mine.store import NotKept
from tfm_exercises.mine.translating import with_bug
from tfm_exercises.watching import CHANGES_INPUT

#: What is refused although it computes the right thing, or cannot be run again.
NO_BUG = ("forbidden", "not used", "no end", "another exercise's answer", CHANGES_INPUT)


def tell(exercise: Exercise, answers: Sequence[Any], verdict: Verdict) -> str:
    """Keep `answers` that passed, and say under which name, or why not; of those that failed, say what the translator
    writes with them. "" where nothing is kept, or to tell.

    Answers are kept in a notebook only: not while the book is built, and in tests only where TFM_MINE_FOLDER is set.
    """
    if not _is_on():
        return ""
    if not verdict.passed:
        return "" if verdict.mistake in NO_BUG else with_bug(exercise, answers)
    try:
        return _keep(exercise, answers)
    except NotKept as reason:
        return f"This answer is not kept: {reason}"


def _is_on() -> bool:
    asked = "TFM_MINE_FOLDER" in os.environ
    if os.environ.get("TFM_BOOK") or ("PYTEST_CURRENT_TEST" in os.environ and not asked):
        return False
    return store.is_on()


def _keep(exercise: Exercise, answers: Sequence[Any]) -> str:
    if active.is_active():
        raise NotKept(
            "inside mine.plugged_in() the library itself runs with your parts. Check it again outside the block."
        )
    source, names = collected(answers)
    with store.without(exercise.id):
        judge_again(exercise, source, names)
    aside = store.change(lambda stored: stored["answers"].update({exercise.id: store.entry(source, names)}))
    return " ".join(filter(None, (f"Kept as {access(exercise.id)}.", _progress(exercise.id), aside)))


def _progress(id: str) -> str:
    """How many parts the reader has, if the exercise writes one."""
    if all(part.exercise != id for part in PARTS):
        return ""
    where = "the page “Your own machine”" if IN_PAGES in os.environ else "mine.machine()"
    return f"{len(written())} of {len(PARTS)} parts of your machine are yours; {where} draws it."


AFTER.append(tell)
