"""Draw the words, numbers and dates of the playground as its page does (frontend/src/playground/engine/tasks.js)."""

import datetime
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LETTERS = "adeilmnoprst"
SHORTEST, LONGEST = 2, 8  # letters of a word
COUNT = 200  # unseen words
HELD_OUT = 20260  # their seed

ANSWERS: dict[str, Callable[[str], str]] = {
    "reverse": lambda word: word[::-1],
    "sort": lambda word: "".join(sorted(word)),
    "copy": lambda word: word,
    "before": lambda word: word[-1:] + word[:-1],  # the letter before each letter; before the first stands the last
}
LOCALES = ("en_US", "en_GB", "de")  # of the dates
FIRST_DAY, DAYS = datetime.date(1950, 1, 1), 36_525  # a hundred years of them


def uniform(seed: int) -> Callable[[], float]:
    """Return a generator of uniform numbers in [0, 1), mulberry32, whose 32 bits of state a page can hold."""
    state = seed % 2**32

    def draw() -> float:
        nonlocal state
        state = (state + 0x6D2B79F5) % 2**32
        t = (state ^ state >> 15) * (state | 1) % 2**32
        t ^= (t + (t ^ t >> 7) * (t | 61)) % 2**32
        return (t ^ t >> 14) / 2**32

    return draw


def word(draw: Callable[[], float], shortest: int = SHORTEST, longest: int = LONGEST) -> str:
    """Draw a word: its length, then its letters."""
    length = shortest + int(draw() * (longest - shortest + 1))
    return "".join(LETTERS[int(draw() * len(LETTERS))] for _ in range(length))


def number(draw: Callable[[], float]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Draw a number of two to four digits: its English words and its digits."""
    from tfm_lib.corpora.numbers import words_of

    least = 10 ** (1 + int(draw() * 3))
    drawn = least + int(draw() * 9 * least)
    return words_of(drawn, "en"), tuple(str(drawn))


def date(draw: Callable[[], float]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Draw a day of the hundred years from 1950: as one of LOCALES writes it, and as YYYY - MM - DD."""
    from tfm_lib.corpora.dates import iso, written

    locale = LOCALES[int(draw() * len(LOCALES))]
    day = FIRST_DAY + datetime.timedelta(int(draw() * DAYS))
    return tuple(token for token, _ in written(day, locale)), tuple(token for token, _ in iso(day))


def unseen(shortest: int = SHORTEST, longest: int = LONGEST) -> list[str]:
    """Return the different words that no run trains on, the same for every run."""
    return _different(lambda draw: word(draw, shortest, longest))


PHRASES: dict[str, Callable[[Callable[[], float]], tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "numbers": number,
    "dates": date,
}


def unseen_phrases(task: str) -> list[tuple[str, ...]]:
    """Return the different numbers or dates that no run trains on, in words."""
    return _different(lambda draw: PHRASES[task](draw)[0])


def _different(drawn: Callable[[Callable[[], float]], T]) -> list[T]:
    draw, found = uniform(HELD_OUT), dict[T, None]()
    while len(found) < COUNT:
        found[drawn(draw)] = None
    return list(found)
