"""Generate copy, reverse and sort tasks: lists of letters with an obvious right answer."""

import random
import string
from collections.abc import Callable

from tfm_lib.corpora.corpus import Corpus, Pair


def toy(
    name: str,
    transform: Callable[[list[str]], list[int]],
    size: int = 5000,
    min_len: int = 2,
    max_len: int = 10,
    alphabet: int = 12,
    seed: int = 0,
) -> Corpus:
    """Generate `size` distinct random lists of `min_len` to `max_len` letters out of the first `alphabet` letters.

    `transform` returns, for each target position, the source position that it repeats.
    """
    if not 1 <= min_len <= max_len or not 2 <= alphabet <= 26:
        raise ValueError(f"Need 1 ≤ min_len ≤ max_len and 2 ≤ alphabet ≤ 26; got {min_len}, {max_len}, {alphabet}.")
    draw, pairs = random.Random(f"{name} {seed}"), {}
    for _ in range(20 * size):
        letters = tuple(draw.choices(string.ascii_lowercase[:alphabet], k=draw.randint(min_len, max_len)))
        order = transform(list(letters))
        pairs[letters] = Pair(letters, tuple(letters[j] for j in order), frozenset(enumerate(order)))
        if len(pairs) == size:
            break
    return Corpus(name, tuple(pairs.values()))


def copy_order(letters: list[str]) -> list[int]:
    return list(range(len(letters)))


def reverse_order(letters: list[str]) -> list[int]:
    return list(range(len(letters)))[::-1]


def sort_order(letters: list[str]) -> list[int]:
    return sorted(range(len(letters)), key=letters.__getitem__)
