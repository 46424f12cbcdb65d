"""Some pairs of a split. Real corpora stand in their files by length, so the first pairs are the short ones."""

import random
from collections.abc import Sequence
from typing import TypeVar

from tfm_lib.corpora import Pair

T = TypeVar("T")
AnyPair = TypeVar("AnyPair", bound=Pair | tuple[str, str])


def sample_of(pairs: Sequence[T], count: int, seed: int) -> list[T]:
    """`count` of the pairs, drawn by `seed`; all of them, in their order, where there are no more."""
    return list(pairs) if count >= len(pairs) else random.Random(seed).sample(list(pairs), count)


def first_of(pairs: Sequence[AnyPair], count: int) -> list[AnyPair]:
    """The first `count` pairs of a split that stands in no order; ValueError where these are shorter or longer than the rest."""
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
