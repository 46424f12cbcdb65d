"""How a wrong result relates to the right one, if in the same simple way on every input: that is what a slip leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

RELATED = "related: "  # begins the name of such a mistake
NEAR = 1e-4  # relative and absolute
FEWEST = 3  # entries that must agree, over all inputs: two numbers are related in many ways


class Pair(NamedTuple):
    """What came of an input and what is right, and the input's sizes, each with words for it."""

    got: Tensor
    want: Tensor
    sizes: tuple[tuple[float, str], ...] = ()


def unnamed(mistake: str | None) -> bool:
    """Whether a mistake has no name of its own: none, or only that of a relation."""
    return (mistake or RELATED).startswith(RELATED)


def sizes(args: Sequence[object]) -> tuple[tuple[float, str], ...]:
    """Return the sizes in the arguments of a call: those of tensors' axes, and whole numbers."""
    found: list[tuple[float, str]] = []
    for place, arg in enumerate(args):
        which = ("first", "second", "third", "fourth", "fifth", "sixth")[min(place, 5)]
        if isinstance(arg, Tensor):
            found += [(n, f"the length of axis {axis} of the {which} argument") for axis, n in enumerate(arg.shape)]
        elif type(arg) is int:
            found.append((arg, f"the {which} argument"))
    return tuple(found)


def relation(pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """Return the name of the relation that holds between all `pairs`, and a sentence; None if there is none."""
    if any(part.is_complex() for pair in pairs for part in pair[:2]):
        return None
    differ = [pair for pair in pairs if pair.got.shape != pair.want.shape or not _near(pair.got, pair.want)]
    if not differ or sum(pair.want.numel() for pair in pairs) < FEWEST:
        return None
    if all(pair.got.dtype == pair.want.dtype == torch.bool for pair in pairs):
        kinds: Iterator[tuple[str, str]] = _of_truths(pairs)
    elif any(part.dtype == torch.bool for pair in pairs for part in pair[:2]):
        return None
    else:
        pairs = [pair._replace(got=pair.got.double(), want=pair.want.double()) for pair in pairs]
        kinds = _of_numbers(pairs)
    return next(kinds, None)


def _of_truths(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    if _all(pairs, lambda want: ~want):
        yield "True and False exchanged", "True stands everywhere where False should, and the reverse."
    yield from _of_places(pairs)


def _of_numbers(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    yield from _of_places(pairs)
    for name, function, sentence in FUNCTIONS:
        if _all(pairs, function):
            yield name, sentence
    if (shift := _shift(pairs)) is not None:
        much = f"{abs(shift):.4g} too {'large' if shift > 0 else 'small'}"
        yield f"{much} everywhere", f"Every number is {much}."
    if (factor := _factor(pairs)) is not None:
        base = next((f" That is the factor from natural logarithms to those of base {b}." for b in (2, 10) if math.isclose(factor * math.log(b), 1, rel_tol=NEAR)), "")  # fmt: skip
        yield "a constant factor", f"Every number is {factor:.4g} times what it should be.{base}"
    yield from _of_sizes(pairs)


FUNCTIONS: tuple[tuple[str, Callable[[Tensor], Tensor], str], ...] = (
    ("the wrong sign", torch.neg, "Every number has the wrong sign."),
    ("1 minus it", lambda want: 1 - want, "Every number is 1 minus what it should be."),
    ("its reciprocal", torch.reciprocal, "Every number is 1 divided by what it should be."),
    ("its square", torch.square, "Every number is the square of what it should be."),
    ("its root", torch.sqrt, "Every number is the square root of what it should be."),
    ("its logarithm", torch.log, "Every number is the logarithm of what it should be."),
    ("its exponential", torch.exp, "Every number is e to the power of what it should be."),
    ("rounded down", torch.floor, "Every number is rounded down."),
    ("rounded", torch.round, "Every number is rounded."),
)  # fmt: skip


def _of_places(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """Relations in which every number is right, but in another place."""
    if all(pair.want.dim() == 2 for pair in pairs) and _all(pairs, lambda want: want.T):
        yield "rows and columns exchanged", "The numbers are right, but rows and columns are exchanged."
    for axis in range(min(pair.want.dim() for pair in pairs)):
        where = f" along axis {axis}" if pairs[0].want.dim() > 1 else ""
        if _all(pairs, partial(torch.flip, dims=(axis,))):
            yield "in reverse", f"The numbers are right, but in reverse order{where}."
        for by, words in ((1, "late"), (-1, "early")):
            if _all([_shifted(pair, axis, by) for pair in pairs], lambda want: want):
                yield f"one place too {words}", f"The numbers are right, but stand one place too {words}{where}."


def _shifted(pair: Pair, axis: int, by: int) -> Pair:
    """Both parts without the end that a shift by one place moves out."""
    n = pair.want.shape[axis] - 1
    if pair.got.shape != pair.want.shape or n < 2:
        return pair._replace(got=pair.got.new_empty(0), want=pair.want)  # compares with nothing
    ends = ((1, 0), (0, 1))[by < 0]
    return pair._replace(got=pair.got.narrow(axis, ends[0], n), want=pair.want.narrow(axis, ends[1], n))


def _of_sizes(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """A factor that differs between the inputs, and is one of their sizes, or its root."""
    factors = [factor for pair in pairs if (factor := _factor([pair])) is not None]
    if len(factors) < max(2, len(pairs)):
        return
    for form, of in (("{}", float), ("1/{}", lambda n: 1 / n), ("√{}", math.sqrt), ("1/√{}", lambda n: n**-0.5)):
        for place, (_, words) in enumerate(pairs[0].sizes):
            known = [pair.sizes[place][0] for pair in pairs if len(pair.sizes) > place]
            if len(known) < len(pairs) or min(known) <= 0:
                continue
            if all(math.isclose(factor, of(n), rel_tol=NEAR) for factor, n in zip(factors, known)):
                sentence = f"Every number is {form.format('s')} times what it should be, where s is {words}."
                yield "a size as a factor", sentence


def _shift(pairs: Sequence[Pair]) -> float | None:
    """Return the number by which every entry of all pairs is too large, or None."""
    if any(pair.got.shape != pair.want.shape for pair in pairs):
        return None
    got, want = _together(pairs)
    shift = (got - want).mean()
    return shift.item() if shift.isfinite() and _near(got, want + shift) else None


def _factor(pairs: Sequence[Pair]) -> float | None:
    """Return the number by which every entry of all pairs is multiplied, or None."""
    if any(pair.got.shape != pair.want.shape for pair in pairs):
        return None
    got, want = _together(pairs)
    factor = (got * want).sum() / want.square().sum()  # the best one, by least squares
    return factor.item() if factor.isfinite() and factor != 0 and _near(got, factor * want) else None


def _together(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    return torch.cat([pair.got.flatten() for pair in pairs]), torch.cat([pair.want.flatten() for pair in pairs])


def _all(pairs: Sequence[Pair], function: Callable[[Tensor], Tensor]) -> bool:
    """Whether each result is `function` of the right one, and on some input something else than that."""
    made = [function(pair.want) for pair in pairs]
    return all(map(_near, (pair.got for pair in pairs), made))


def _near(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and a.numel() > 0 and torch.allclose(a.double(), b.double(), rtol=NEAR, atol=NEAR * 0.1)
