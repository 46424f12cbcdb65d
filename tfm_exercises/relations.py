"""How a wrong result relates to the right one, if in the same simple way on every input: that is what a slip leaves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, permutations, product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tfm_exercises.errors import RAISED

RELATED = "related: "  # begins the name of such a mistake
NEAR = 1e-4  # relative and absolute
FEWEST = 3  # entries that must agree, over all inputs: two numbers are related in many ways


class Pair(NamedTuple):
    """What came of an input and what is right, and the input's sizes, each with words for it."""

    got: Tensor
    want: Tensor
    sizes: tuple[tuple[float, str], ...] = ()


def unnamed(mistake: str | None) -> bool:
    """Whether a mistake has no name of its own: none, or only that of a relation or of an error."""
    return (mistake or RELATED).startswith((RELATED, RAISED))


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
    if not differ:
        return None
    if any(bool(pair.want.isfinite().all()) > bool(pair.got.isfinite().all()) for pair in pairs):
        return "no finite number", ""  # where it may come from is said anyway
    if sum(pair.want.numel() for pair in pairs) < FEWEST:
        return None
    if all(pair.got.dtype == pair.want.dtype == torch.bool for pair in pairs):
        kinds: Iterator[tuple[str, str]] = _of_truths(pairs)
    elif any((pair.got.dtype == torch.bool) != (pair.want.dtype == torch.bool) for pair in pairs):
        kinds = chain(_of_other_shapes(pairs), [("truth values for numbers, or the reverse", "")])
    else:
        pairs = [pair._replace(got=pair.got.double(), want=pair.want.double()) for pair in pairs]
        kinds = _of_numbers(pairs)
    return next(kinds, None)


def _of_truths(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    if _all(pairs, lambda want: ~want):
        yield "True and False exchanged", "True stands everywhere where False should, and the reverse."
    yield from _of_places(pairs)
    yield from _of_wrong_places(pairs)
    if any(pair.got.shape != pair.want.shape for pair in pairs):
        yield from _of_other_shapes(pairs)
        return
    if all((pair.got <= pair.want).all() for pair in pairs):
        yield "too few are True", "Whatever is True here should be; some are missing."
    if all((pair.got >= pair.want).all() for pair in pairs):
        yield "too many are True", "Whatever should be True is; some others are too."


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
    yield from _of_terms(pairs)
    yield from _of_sums(pairs)
    yield from _of_wrong_places(pairs)
    yield from _of_rows(pairs)
    yield from _of_other_shapes(pairs)


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
    yield from _of_shapes(pairs)


def _of_shapes(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """Right numbers in another shape, a piece of them, or all of them in no order that is known."""
    dims = {pair.want.dim() for pair in pairs}
    if len(dims) == 1 and 3 <= (dim := dims.pop()) <= 4:
        for order in permutations(range(dim)):
            if list(order) != sorted(order) and _all(pairs, partial(torch.permute, dims=order)):
                yield (
                    "axes exchanged",
                    f"The numbers are right, but the axes are in another order: {order} of what they should be.",
                )
    if all(pair.got.numel() == pair.want.numel() for pair in pairs):
        if all(_near(pair.got.flatten(), pair.want.flatten()) for pair in pairs):
            yield "another shape", "The numbers are right and in the right order; the shape is another."
        if all(_near(*(part.flatten().sort().values for part in pair[:2])) for pair in pairs):
            yield "in other places", "These are the right numbers, but they stand in other places."
    elif all(pair.got.dim() == pair.want.dim() and _near(pair.got, _piece(pair)) for pair in pairs):
        yield "only a piece", "What is there is right, but it is only the beginning of the whole."


def _piece(pair: Pair) -> Tensor:
    """The beginning of what is right, as long along each axis as what came."""
    return pair.want[tuple(slice(n) for n in pair.got.shape)]


def _shifted(pair: Pair, axis: int, by: int) -> Pair:
    """Both parts without the end that a shift by one place moves out."""
    n = pair.want.shape[axis] - 1
    if pair.got.shape != pair.want.shape or n < 2:
        return pair._replace(got=pair.got.new_empty(0), want=pair.want)  # compares with nothing
    ends = ((1, 0), (0, 1))[by < 0]
    return pair._replace(got=pair.got.narrow(axis, ends[0], n), want=pair.want.narrow(axis, ends[1], n))


def _of_sizes(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """A factor that differs between the inputs, and is made of their sizes."""
    factors = [factor for pair in pairs if (factor := _factor([pair])) is not None]
    if len(factors) < max(2, len(pairs)):
        return
    for power, form in ((1, "{}"), (0.5, "√({})")):
        for exponents, words in _monomials(pairs, (-2, -1, 0, 1, 2), 2 if power == 1 else 1):
            made = [_product(pair, exponents) ** power for pair in pairs]
            if all(math.isclose(factor, value, rel_tol=NEAR) for factor, value in zip(factors, made)):
                yield "sizes as a factor", f"Every number is multiplied by {form.format(words)}, and should not be."


def _of_terms(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """One number from each input that is too large or too small by a product of the input's sizes."""
    if len(pairs) < FEWEST or any(pair.got.numel() != 1 or pair.want.numel() != 1 for pair in pairs):
        return
    gaps = [pair.got.item() - pair.want.item() for pair in pairs]
    if 0 in gaps:
        return
    for exponents, words in _monomials(pairs, (0, 1, 2), 4):
        counts = [gap / _product(pair, exponents) for gap, pair in zip(gaps, pairs)]
        if all(math.isclose(count, counts[0], rel_tol=NEAR) for count in counts):
            much = "too large" if counts[0] > 0 else "too small"
            times = "" if abs(counts[0]) == 1 else f"{abs(counts[0]):.4g} · "
            yield "a term of sizes", f"Every number is {much} by {times}{words}."


def _monomials(pairs: Sequence[Pair], powers: Sequence[int], degree: int) -> Iterator[tuple[tuple[int, ...], str]]:
    """The products of powers of the sizes that all inputs have, of at most `degree`, each with its words; simple ones first."""
    sizes = [pair.sizes[:5] for pair in pairs]
    if not all(sizes) or any(min(n for n, _ in each) <= 0 for each in sizes):
        return
    many = min(map(len, sizes))
    named = [words for _, words in sizes[0][:many]]
    for exponents in sorted(product(powers, repeat=many), key=lambda each: (sum(map(abs, each)), [-e for e in each])):
        if 0 < sum(map(abs, exponents)) <= degree:
            over = [f"{name}{'²' * (e == 2)}" for name, e in zip(named, exponents) if e > 0]
            under = [f"{name}{'²' * (e == -2)}" for name, e in zip(named, exponents) if e < 0]
            yield exponents, " / ".join([" · ".join(over) or "1", *under])


def _product(pair: Pair, exponents: tuple[int, ...]) -> float:
    return math.prod(n**e for (n, _), e in zip(pair.sizes, exponents))


def _of_rows(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """Rows or columns that are right but for a factor, or a number added, of their own."""
    pairs = [pair for pair in pairs if pair.got.shape != pair.want.shape or not _near(pair.got, pair.want)]
    if any(pair.got.shape != pair.want.shape or pair.want.dim() < 2 or min(pair.want.shape[-2:]) < 2 for pair in pairs):
        return
    ratios = [torch.where(pair.want == pair.got, 1.0, pair.got / pair.want) for pair in pairs]
    if not all(ratio.isfinite().all() and (ratio != 0).any() for ratio in ratios):
        return
    if all(_factor([pair]) is not None for pair in pairs):
        yield "a factor for each input", "Each result is right but for one factor, which differs from input to input."
    for axis, line in ((-1, "row"), (-2, "column")):
        if all(_level(ratio, axis) for ratio in ratios):
            yield f"a factor for each {line}", f"Each {line} is right but for a factor of its own."
        if all(_level(pair.got - pair.want, axis) for pair in pairs):
            yield f"a number added to each {line}", f"Each {line} is right but for a number of its own that is added."
    if all(_level(ratio / ratio[..., :1, :], -1) for ratio in ratios):
        spread = "one number a row, such as a sum without keepdim=True, was spread along the wrong axis"
        yield (
            "rows divided by other rows' numbers",
            f"Each number has a factor of its row and one of its column: {spread}.",
        )


def _level(numbers: Tensor, axis: int) -> bool:
    """Whether the numbers are alike along an axis."""
    return torch.allclose(numbers, numbers.narrow(axis, 0, 1).expand_as(numbers), rtol=NEAR, atol=NEAR * 0.1)


def _of_other_shapes(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """Results of another shape than the right ones, in whatever is the same of all."""
    if all(part.dim() == 1 and _whole(part) for pair in pairs for part in pair[:2]):
        found = relation_of_parts([(pair.got.int().tolist(), pair.want.int().tolist()) for pair in pairs])
        yield from [found] if found else []
    axes = {pair.got.dim() - pair.want.dim() for pair in pairs}
    if len(axes) == 1 and (more := axes.pop()):
        much = f"{'An axis' if abs(more) == 1 else f'{abs(more)} axes'} {'too many' if more > 0 else 'too few'}"
        yield f"{much.lower()}", f"That is {much.lower()}."
    elif all(pair.got.dim() == pair.want.dim() for pair in pairs):
        wrong = [[a for a, (n, m) in enumerate(zip(pair.got.shape, pair.want.shape)) if n != m] for pair in pairs]
        if wrong[0] and all(each == wrong[0] for each in wrong):
            which = " and ".join(map(str, wrong[0]))
            yield "another length", f"The length of {'axis' if len(wrong[0]) == 1 else 'axes'} {which} is another."


def _whole(numbers: Tensor) -> bool:
    return bool((numbers == numbers.round()).all())


def _of_sums(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """Weights that should add up to 1 along an axis, and do not, or along another one."""
    if any(pair.got.shape != pair.want.shape or (pair.want < 0).any() for pair in pairs):
        return
    axes = range(min(pair.want.dim() for pair in pairs))
    if not (right := [axis for axis in axes if all(_adds_up(pair.want, axis) for pair in pairs)]):
        return
    if any(_adds_up(pair.got, right[0]) for pair in pairs):
        return
    others = [axis for axis in axes if all(_adds_up(pair.got, axis) for pair in pairs)]
    instead = f", but along axis {others[0]}" if others else ""
    yield "do not add up to 1", f"Along axis {right[0]} these should add up to 1; they do not{instead}."


def _of_wrong_places(pairs: Sequence[Pair]) -> Iterator[tuple[str, str]]:
    """Results that are wrong in a few places only: where 0 should stand, on the diagonal or one side of it, at an end."""
    if any(pair.got.shape != pair.want.shape or pair.want.dim() == 0 for pair in pairs):
        return
    places = [(pair, wrong) for pair in pairs if (wrong := _wrong(pair)).any()]
    if not any(wrong.sum() < wrong.numel() for _, wrong in places):
        return
    if pairs[0].want.dtype != torch.bool:
        if all((pair.want[wrong] == 0).all() for pair, wrong in places):
            yield "not 0", "What is wrong is what should be 0; the rest is right."
        if all((pair.got[wrong] == 0).all() for pair, wrong in places):
            yield "0 in its place", "What is wrong is 0 and should not be; the rest is right."
    if all(wrong.dim() >= 2 and wrong.shape[-1] == wrong.shape[-2] > 1 for _, wrong in places):
        for name, kept in (("on", (0, 0)), ("above", (1, None)), ("below", (None, -1))):
            if all((wrong == _between(wrong, *kept)).all() for _, wrong in places):
                yield f"wrong {name} the diagonal", f"It is wrong {name} the diagonal only."
    for axis in range(min(wrong.dim() for _, wrong in places)):
        lines = [_line(wrong, axis) for _, wrong in places]
        where = f" along axis {axis}" if places[0][1].dim() > 1 else ""
        for name, ends in (("beginning", lines), ("end", [line.flip(0) for line in lines])):
            if all(0 < line.sum() < len(line) and line[: int(line.sum())].all() for line in ends):
                much = f"Of {len(ends[0])}{where} the {'first' if name == 'beginning' else 'last'} {int(ends[0].sum())} are wrong"
                yield f"wrong at the {name}", f"{much}; the others are right."


def _wrong(pair: Pair) -> Tensor:
    got, want = pair.got.double(), pair.want.double()
    return ~torch.isclose(got, want, rtol=NEAR, atol=NEAR * 0.1, equal_nan=True)


def _between(wrong: Tensor, first: int | None, last: int | None) -> Tensor:
    """What of `wrong` lies between two diagonals."""
    kept = wrong if first is None else wrong.triu(first)
    return kept if last is None else kept.tril(last)


def _line(wrong: Tensor, axis: int) -> Tensor:
    """Along one axis, where anything is wrong."""
    return wrong.movedim(axis, 0).flatten(1).any(1) if wrong.dim() > 1 else wrong


def _adds_up(numbers: Tensor, axis: int) -> bool:
    return _near(sums := numbers.sum(axis), torch.ones_like(sums))


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


def relation_of_counts(pairs: Sequence[tuple[int, int]]) -> tuple[str, str] | None:
    """The same of whole numbers, one from each input: what came and what is right."""
    gaps = [got - want for got, want in pairs if got != want]
    if len(pairs) < FEWEST or not gaps:
        return None
    if all(got == 0 for got, want in pairs if got != want):
        return "0 for a number", "Wherever it is wrong, it is 0."
    if {*gaps} not in ({1}, {-1}):
        return None
    word = "large" if gaps[0] == 1 else "small"
    if len(gaps) == len(pairs):
        return f"1 too {word}", f"It is 1 too {word} every time."
    return (
        f"1 too {word} at times",
        f"It is right for {len(pairs) - len(gaps)} of {len(pairs)} inputs, and 1 too {word} for the others: a bound, or a rounding.",
    )


def relation_of_parts(pairs: Sequence[tuple[Any, Any]]) -> tuple[str, str] | None:
    """The same of lists, tuples and sets of plain values: of what came and what is right, wherever they differ."""
    kinds = {type(part) for pair in pairs for part in pair}
    if not kinds <= {list, tuple, set} or sum(len(want) for _, want in pairs) < FEWEST:
        return None
    try:
        return next(_of_parts([(Counter(got), Counter(want)) for got, want in pairs], pairs, set in kinds), None)
    except TypeError:  # parts that are lists themselves
        flat = [(_flat(got), list(want)) for got, want in pairs]
        right = all(got == want for got, want in flat)
        return ("nested", "The parts are right, but they stand in lists within the list.") if right else None


def _of_parts(
    counts: Sequence[tuple[Counter, Counter]], pairs: Sequence[tuple[Any, Any]], unordered: bool
) -> Iterator[tuple[str, str]]:
    if not unordered:
        if all([*got][::-1] == [*want] for got, want in pairs):
            yield "in reverse", "The parts are right, but in reverse order."
        if all(got == want for got, want in counts):
            yield "in another order", "The parts are right, but in another order."
    kinds = {type(part) for pair in pairs for side in pair for part in side}
    if kinds == {str} and all(_text(got) == _text(want) for got, want in pairs):
        yield "cut elsewhere", "Put together, the letters are right; they are cut into parts at other places."
    if kinds == {tuple} and all({part[::-1] for part in got} == {*want} for got, want in pairs):
        yield "each the wrong way round", "The parts are right, but each is the wrong way round."
    got, want = counts[0]
    if all(got.keys() == want.keys() for got, want in counts):
        yield (
            "another number of times",
            f"The right parts are there, but not each as often as it should be: {_some(got - want or want - got)}.",
        )
    if all(got <= want for got, want in counts):
        yield "something is missing", f"All that is there should be; this is missing: {_some(want - got)}."
    if all(got >= want for got, want in counts):
        yield "something too many", f"All that should be there is; this is too many: {_some(got - want)}."


def _text(parts: Sequence[str]) -> str:
    return "".join(parts).replace(" ", "")


def _some(parts: Counter) -> str:
    return f"{', '.join(map(repr, [*parts][:3]))}{', …' if len(parts) > 3 else ''}"


def _flat(parts: Sequence[Any]) -> list[Any]:
    """The parts of lists within lists, in their order."""
    return [each for part in parts for each in (_flat(part) if isinstance(part, (list, tuple)) else [part])]
