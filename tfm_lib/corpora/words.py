"""Draw the words of the playground, letter by letter as its page does (frontend/src/playground/engine/tasks.js)."""

from collections.abc import Callable

LETTERS = "adeilmnoprst"
SHORTEST, LONGEST = 2, 8  # letters of a word
COUNT = 200  # unseen words
HELD_OUT = 20260  # their seed

ANSWERS: dict[str, Callable[[str], str]] = {
    "reverse": lambda word: word[::-1],
    "sort": lambda word: "".join(sorted(word)),
    "copy": lambda word: word,
}


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


def unseen(shortest: int = SHORTEST, longest: int = LONGEST) -> list[str]:
    """Return the different words that no run trains on, the same for every run."""
    draw, found = uniform(HELD_OUT), dict[str, None]()
    while len(found) < COUNT:
        found[word(draw, shortest, longest)] = None
    return list(found)
