"""Inputs for the judges, drawn from torch's seeded numbers, so that a grader's secret seed chooses them all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import torch

from tfm_exercises.judge import Slip, _first_gap, _has_floats
from tfm_exercises.watching import Refused, copied


def whole(low: int, high: int) -> int:
    """A whole number from `low` to `high`, both included."""
    return int(torch.randint(low, high + 1, ()))


def different(count: int, low: int, high: int) -> list[int]:
    """`count` different whole numbers from `low` to `high`, in any order: sizes that cannot be taken for one another."""
    return (torch.randperm(high - low + 1)[:count] + low).tolist()


def chance() -> random.Random:
    """Python's random numbers, from torch's."""
    return random.Random(whole(0, 2**31 - 2))


def telling(
    draw: Callable[[], tuple], right: Callable[..., Any], slips: Sequence[Slip], count: int = 3, tries: int = 150
) -> list[tuple]:
    """At least `count` inputs from `draw`, and more until each of the `slips` is wrong on two, and no two slips agree on all.

    Where a result is a word, an index or a truth value, a slip is often right by chance; then these inputs tell.
    A draw on which a slip has no value is passed over. After `tries` draws it is as it is.
    """
    inputs: list[tuple] = []
    wrong = [0] * len(slips)
    alike = {(i, j) for i, j in combinations(range(len(slips)), 2) if slips[i].name != slips[j].name}
    for _ in range(tries):
        args = draw()
        want = right(*copied(args))
        values = _values(slips, args)
        if values is None:
            continue
        if _has_floats(want):  # these agree by chance in no way
            alike = set()
        off = [bool(_gap(value, want)) for value in values]
        apart = {(i, j) for i, j in alike if _gap(values[i], values[j])}
        if len(inputs) < count or apart or any(is_off and so_far < 2 for is_off, so_far in zip(off, wrong)):
            inputs.append(args)
            wrong = [so_far + is_off for so_far, is_off in zip(wrong, off)]
            alike -= apart
        if len(inputs) >= count and not alike and min(wrong, default=2) >= 2:
            break
    return inputs + [draw() for _ in range(count - len(inputs))]


def _values(slips: Sequence[Slip], args: tuple) -> list[Any] | None:
    """What each of the `slips` gives for `args`; None if one of them raises."""
    try:
        return [slip.of(*copied(args)) for slip in slips]
    except Exception:  # noqa: BLE001 (whatever a slip may raise)
        return None


def _gap(a: Any, b: Any) -> bool:
    """Whether two results differ; results of different kinds do."""
    if isinstance(a, (str, bool, int)) and type(a) is type(b):  # most results by which slips are hard to tell apart
        return a != b
    try:
        return bool(_first_gap(a, b, 1e-4))
    except Refused:
        return True
