"""Check attention weights of any model for a widget (one shape, rows that sum to 1), and describe them in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfm_lib.widgets.base import to_numpy

TOLD = 5  # keys named in a sentence
ROW_SUM = 0.02  # how far a row may be from 1: weights in half precision or rounded to two digits still pass


def distributions(
    name: str, weights: Any, shape: Sequence[int | str | None], places: Sequence[str] = (), row_sum: float = ROW_SUM
) -> np.ndarray:
    """Return `weights` as an array of `shape` whose rows sum to about 1, or raise an error that says what is allowed.

    `places` names the axes before the rows, so that the error can locate the worst row.
    """
    array = to_numpy(name, weights, shape)
    if array.min() < 0:
        raise ValueError(
            f"{name} must be at least 0; the smallest is {array.min():.3g}. Are they scores before the softmax?"
        )
    sums = array.sum(axis=-1)
    far = np.abs(sums - 1)
    if far.max() > row_sum:
        at = np.unravel_index(far.argmax(), far.shape)
        where = "".join(f" {word} {place} {i}" for word, place, i in zip(("of", "in"), places[::-1], at[-2::-1]))
        guess = "Was the text cut, or dropout still on (model.eval() turns it off)?"
        if np.abs(array.sum(axis=-2) - 1).max() <= row_sum:
            guess = "The columns do: rows must be queries, so pass the transpose of the last two axes."
        raise ValueError(f"each row of {name} must sum to about 1; row {at[-1]}{where} sums to {sums[at]:.3g}. {guess}")
    return array


def darkest(weights: Any) -> float:
    """Return the weight drawn darkest: the largest of all, rounded up to a tenth, so that heads can be compared."""
    return math.ceil(10 * np.max(weights) - 1e-9) / 10


def told(words: Sequence[str], row: Any, most: int = TOLD) -> str:
    """List the largest weights of a row with their words, largest first, ties in reading order."""
    order = np.argsort(-np.asarray(row), kind="stable")[:most]
    return ", ".join(f"{words[j]} {row[j]:.2f}" for j in order)
