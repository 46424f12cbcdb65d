"""The readings of the unseen bank: each of an answer that is there, and void where a check says something else since."""

import runpy
from pathlib import Path

from tests.unseen import readings

BANK = Path(readings.__file__).parent


def test_every_reading_is_of_a_wrong_answer_of_the_bank() -> None:
    banks: dict[str, dict] = {}
    for exercise, answers in readings.load().items():
        stem = exercise.split(".")[0]
        banks.setdefault(stem, runpy.run_path(str(BANK / f"{stem}.py"))["WRONG"])
        assert answers.keys() <= banks[stem][exercise].keys()


def test_a_misnamed_mistake_is_told_with_its_reason() -> None:
    found = [reading for answers in readings.load().values() for reading in answers.values()]
    assert found and {word for _, word, *_ in found} <= readings.WORDS.keys()
    for known, word, *rest in found:
        assert len(rest) == (2 if word == "misnamed" else 0)
        assert not rest or (all(rest) and len(known) == 8)


def test_what_a_check_says_otherwise_counts_as_not_read() -> None:
    read = {"a.b": {"one": (readings.digest("axis", "Row 3 sums to 2.5."), "misnamed", "Row 3 sums to 2.5.", "no row")}}
    same, other = ("axis", "Row 4 sums to 1.75."), ("axis", "A column sums to 1.")
    assert readings.tally({("a.b", "one"): same}, read) == {"misnamed": 1}
    assert readings.tally({("a.b", "one"): other}, read) == {"not read": 1}
    assert readings.tally({("a.b", "two"): same}, read) == {"not read": 1}
    assert "Misnamed: 0.5% of 200 wrong" in readings.told(readings.tally({("a.b", "one"): same}, read), 200)
