"""The questions of `chapters/evaluation.md`."""

import math
import random

from tfm_lib.drawing import recorded
from tfm_lib.evaluation import bleu

REFERENCE = "the old man did not give the dog a bone in the garden"


def _a_lead_that_turns() -> None:
    """One system leads by a little on 500 sentences of very different scores; on half of the draws it may not."""
    chance = random.Random(0)
    ours = [chance.gauss(27.3, 20) for _ in range(500)]
    theirs = [score - 0.4 + chance.gauss(0, 15) for score in ours]
    draws = [chance.choices(range(500), k=500) for _ in range(500)]
    led = sum(sum(ours[i] for i in draw) > sum(theirs[i] for i in draw) for draw in draws)
    assert 25 < led < 475


def _too_short() -> list[float]:
    words = REFERENCE.split()[:10]
    found = bleu([" ".join(words[:8])], [" ".join(words)])
    assert found.precisions == [100.0] * 4
    return [found.score, found.precisions[0], 100 * 8 / 10, 100 * 10 / 8]


def _opposite_wins() -> None:
    from project import CHAPTERS

    from tfm_book.notebooks.asks import asks

    ask = next(ask for ask in asks(CHAPTERS / "evaluation.md") if ask.name == "not-seen")
    scores = [bleu([answer.said.strip("*")], [REFERENCE]).score for answer in ask.answers]
    assert f"*{REFERENCE}*" in " ".join(ask.question)
    assert scores[0] > 1.3 * max(scores[1:]) and ask.answers[0].right


def _given() -> dict:
    return {"random": random.Random(0), "math": math}


def _sees_a_small_sure_lead(names: dict) -> None:
    chance = random.Random(1)
    theirs = [chance.gauss(30, 20) for _ in range(50)]
    ours = [score + 0.1 for score in theirs]
    assert names["share_won"](ours, theirs, 200) == 1.0


def _wide_enough() -> None:
    tests = recorded("evaluation_translator")["tests"]

    def half(name: str, n: str) -> float:
        return sum((one[2] - one[1]) / 2 for one in tests[name][n]) / len(tests[name][n])

    difference = tests["layer"]["479"][0][0]
    assert half("layer", "240") > difference > half("layer", "479")
    assert min((one[2] - one[1]) / 2 for one in tests["layer"]["60"]) > difference
    assert half("search", "479") > 3 * tests["search"]["479"][0][0]


VALUES = {"all-match-too-short": _too_short}
TRIALS = {"not-paired": _sees_a_small_sure_lead}
GIVEN = {"not-paired": _given}
CLAIMS = {"wide-enough": _wide_enough, "four-tenths": _a_lead_that_turns, "not-seen": _opposite_wins}
