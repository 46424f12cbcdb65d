"""Select pairs of a split. Files of real corpora are sorted by length, so their first pairs are the short ones."""

import random
from collections.abc import Sequence
from typing import TypeVar

from tfm_lib.corpora import Pair

T = TypeVar("T")
AnyPair = TypeVar("AnyPair", bound=Pair | tuple[str, str])


def sample_of(pairs: Sequence[T], count: int, seed: int) -> list[T]:
    """Draw `count` of the pairs with `seed`; return all of them, in order, if there are no more than `count`."""
    return list(pairs) if count >= len(pairs) else random.Random(seed).sample(list(pairs), count)


def first_of(pairs: Sequence[AnyPair], count: int) -> list[AnyPair]:
    """Return the first `count` pairs of an unsorted split; ValueError if these are shorter or longer than the rest."""
    lengths = [len(pair.src if isinstance(pair, Pair) else pair[0]) for pair in pairs]
    mean = sum(lengths) / len(lengths)
    spread = (sum((length - mean) ** 2 for length in lengths) / len(lengths)) ** 0.5
    of_first = sum(lengths[:count]) / len(lengths[:count])
    if abs(of_first - mean) > 4 * spread / count**0.5:
        raise ValueError(
            f"The first {count} sources are {of_first:.1f} long on average and all of them {mean:.1f}: the split is sorted. "
            "Take sample_of(pairs, count, seed)."
        )
    return list(pairs[:count])
