"""Judges of the exercises in `chapters/positional.md`."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tfm_lib.attention import attention
from tfm_exercises.judge import Expect, Slip, exercise
from tfm_exercises.watching import Refused
from tfm_lib.positional import sinusoidal_encoding


def _sizes(count: int, low: int, high: int) -> list[int]:
    """`count` different whole numbers from `low` to `high`."""
    return (torch.randperm(high - low + 1)[:count] + low).tolist()


# the encoding


def _angle(n: int, d: int, exponent: Callable[[Tensor], Tensor] | None = None, first: int = 0) -> Tensor:
    """pos / 10000^(2i/d); `exponent` says what stands in place of 2i/d."""
    two_i = torch.arange(0, d, 2, dtype=torch.double)
    power = two_i / d if exponent is None else exponent(two_i)
    return torch.arange(first, first + n, dtype=torch.double)[:, None] / 10_000**power


def _multiplied(n: int, d: int, dtype: torch.dtype) -> Tensor:
    return torch.arange(n)[:, None] * 10_000 ** (torch.arange(0, d, 2).to(dtype) / d)


def _waves(angle: Tensor) -> Tensor:
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def _one_line(n: int, d: int) -> Tensor:
    PE = torch.zeros(n, d, dtype=torch.double)
    PE[:, 0::2] = _angle(n, d).cos()
    return PE


def _own_frequencies(n: int, d: int) -> Tensor:
    sines = _angle(n, d).sin()
    return torch.stack([sines, _angle(n, d, lambda two_i: (two_i + 1) / d).cos()], dim=-1).flatten(-2)


ENCODING_SLIPS = [
    Slip(
        "both lines written for 2i",
        _one_line,
        "The cosines stand where the sines should, and the odd columns hold nothing. The second line of the "
        "formula is for column 2i + 1.",
    ),
    Slip(
        "half the columns",
        lambda n, d: _angle(n, d).sin(),
        "d_model / 2 columns came back. Each frequency needs two columns, a sine and a cosine.",
    ),
    Slip(
        "angles, not waves",
        _angle,
        "These are the angles. Each becomes two columns, its sine and its cosine.",
    ),
    Slip(
        "a frequency of its own for the cosine",
        _own_frequencies,
        "The cosine in column 2i + 1 has the frequency of 2i, not of 2i + 1: the two are one hand of a clock, "
        "and a hand whose sine and cosine run at different speeds is no turn.",
    ),
    Slip(
        "sines first, then cosines",
        lambda n, d: torch.cat([_angle(n, d).sin(), _angle(n, d).cos()], dim=-1),
        "All sines came first, then all cosines. The formula deals them out in turn: sines to the even "
        "columns, cosines to the odd ones.",
    ),
    Slip(
        "cosine before sine",
        lambda n, d: torch.stack([_angle(n, d).cos(), _angle(n, d).sin()], dim=-1).flatten(-2),
        "Sine and cosine changed places. Sines stand in the even columns, 0, 2, …, so row 0 is 0, 1, 0, 1, …",
    ),
    Slip(
        "sines only",
        lambda n, d: _angle(n, d).sin().repeat_interleave(2, dim=-1),
        "Both columns of a pair are sines. The second is the cosine of the same angle.",
    ),
    Slip(
        "i in place of 2i",
        lambda n, d: _waves(_angle(n, d, lambda two_i: two_i / 2 / d)),
        "The exponent rises half as fast as it should: in 10000^(2i/d_model), i counts pairs, so 2i runs over "
        "0, 2, 4, …",
    ),
    Slip(
        "2i doubled",
        lambda n, d: _waves(_angle(n, d, lambda two_i: 2 * two_i / d)),
        "The exponent rises twice as fast as it should. If your i runs over 0, 2, 4, …, it is 2i already.",
    ),
    Slip(
        "positions from 1",
        lambda n, d: _waves(_angle(n, d, first=1)),
        "The first row is that of position 1. Positions count from 0 here, so row 0 is 0, 1, 0, 1, …",
    ),
    *(
        Slip(
            "frequencies that grow",
            lambda n, d, dtype=dtype: _waves(_multiplied(n, d, dtype)),
            "You multiplied by 10000^(2i/d_model). The formula divides: the later the pair, the slower it turns.",
        )
        for dtype in (torch.double, torch.float)  # in single precision such large angles lose digits
    ),
    *(
        Slip(
            "no parentheses around the exponent",
            lambda n, d, dtype=dtype: _waves(
                torch.arange(n)[:, None] / 10_000 ** torch.arange(0, d, 2, dtype=dtype) / d
            ),
            "In Python, ** comes before /, so 10000 ** 2i / d is (10000 ** 2i) / d. Put the exponent into parentheses.",
        )
        for dtype in (torch.double, torch.long)  # large whole numbers overflow
    ),
    Slip(
        "one frequency for all",
        lambda n, d: _waves(_angle(n, d, lambda two_i: 0 * two_i)),
        "Every pair turns by the position itself. Pair i turns more slowly, by pos / 10000^(2i/d_model).",
    ),
    Slip(
        "n in place of d_model",
        lambda n, d: _waves(_angle(n, d, lambda two_i: two_i / n)),
        "The exponent is divided by the number of positions. It is 2i/d_model: the frequencies do not know how long "
        "the text is.",
    ),
    Slip(
        "axes exchanged",
        lambda n, d: _waves(_angle(n, d)).T,
        "Rows and columns are swapped. Each position has a row: (n, d_model).",
    ),
    *(
        Slip(
            "d_model is ignored",
            lambda n, d, k=k: _waves(_angle(n, d, lambda two_i: two_i / k)),
            f"The exponent is divided by {k}, whatever d_model is. Take the width from the argument.",
        )
        for k in (4, 8, 16, 64, 512)
    ),
]


@exercise(
    "positional.encoding",
    answer="encode",
    forbids=("tfm_lib.positional.sinusoidal_encoding", "tfm_lib.positional.angles"),
)
def encoding(student: Any, expect: Expect) -> None:
    inputs = [(n, 2 * pairs) for n, pairs in zip(_sizes(3, 7, 13), (3, *_sizes(2, 5, 9)))]
    expect.agrees(
        student.encode,
        sinusoidal_encoding,
        inputs,
        "a row for each position, sine and cosine of pos · ω_i side by side",
        ENCODING_SLIPS,
        tolerance=1e-4,
        describe="the encoding",
    )
    far = int(torch.randint(280, 330, ()))
    expect.agrees(
        student.encode,
        sinusoidal_encoding,
        [(far, 2), (1, 6)],
        "far positions and one pair too, and a single position",
        tolerance=1e-3,
    )


# how far a head sees

LN2 = math.log(2)


def _reach(n_heads: int, h: int) -> float:
    return LN2 / 2 ** (-8 * h / n_heads)


ROUNDED = "The right distance, rounded to a whole number. It need not be whole: leave it as it is."
REACH_SLIPS = [
    Slip(
        "half a score in place of half a weight",
        lambda n, h: 0.5 * 2 ** (8 * h / n),
        "That is where the score has fallen by 1/2. A weight goes with e to the score: it is halved when the "
        "score has fallen by ln 2 ≈ 0.69.",
    ),
    Slip(
        "powers of 2",
        lambda n, h: 2 ** (8 * h / n),
        "That is where the score has fallen by 1, and a weight to 1/e. The slopes are powers of 2, the "
        "softmax takes powers of e.",
    ),
    Slip(
        "slope in place of distance",
        lambda n, h: LN2 * 2 ** (-8 * h / n),
        "Steep heads see less far: divide ln 2 by the slope. Multiplied, the last head would be the most short-sighted.",
    ),
    Slip(
        "only the slope",
        lambda n, h: 2 ** (-8 * h / n),
        "That is the slope of the head. The text asks for the distance at which slope times distance makes a "
        "weight half.",
    ),
    Slip(
        "heads counted from 0",
        lambda n, h: _reach(n, h - 1),
        "That is the slope of the head before: h runs from 1 to n_heads here, so take it as it is.",
    ),
    Slip(
        "one head too far",
        lambda n, h: _reach(n, h + 1),
        "That is the slope of the head after: h runs from 1 to n_heads here, so take it as it is.",
    ),
    Slip(
        "negative distance",
        lambda n, h: -_reach(n, h),
        "The size is right, the sign is not: ln(1/2) is negative, and so is what ALiBi adds. A distance is positive.",
    ),
    Slip(
        "the 8 forgotten",
        lambda n, h: LN2 * 2 ** (h / n),
        "The slope is 2^(−h/n_heads) here. The exponent runs to −8: 2^(−8h/n_heads).",
    ),
    Slip(
        "a slope without its power",
        lambda n, h: LN2 * n / (8 * h),
        "The slope is 8h/n_heads here. That is the exponent: the slope is 2^(−8h/n_heads).",
    ),
    Slip(
        "n_heads is ignored",
        lambda n, h: _reach(1, h),
        "The exponent is −8h, whatever n_heads is. Divide it by n_heads.",
    ),
    Slip("n_heads is ignored", lambda n, h: _reach(8, h), "The slope is that of 8 heads, 2^(−h), whatever n_heads is."),
    Slip(
        "h is ignored",
        lambda n, h: _reach(n, 1),
        "The distance is that of head 1, whatever h is. Each head has a slope of its own.",
    ),
    Slip(
        "h and n_heads exchanged",
        lambda n, h: _reach(h, n),
        "h and n_heads changed places. The first argument is the number of heads, the second the head.",
    ),
    Slip(
        "another logarithm",
        lambda n, h: math.log10(2) * 2 ** (8 * h / n),
        "That is log₁₀ 2 divided by the slope. The softmax takes powers of e, so the logarithm is the natural one.",
    ),
    Slip(
        "a slope by powers of e",
        lambda n, h: LN2 * math.exp(8 * h / n),
        "The slope is e^(−8h/n_heads) here. ALiBi's slopes are powers of 2; only the softmax takes powers of e.",
    ),
    *(
        Slip(
            "the exponent rounded",
            lambda n, h, cut=cut: LN2 * 2.0 ** cut(8 * h / n),
            "The exponent 8h/n_heads is rounded to a whole number: was that `//`? With 16 heads every other slope lies between "
            "two powers of 2. Divide with `/`.",
        )
        for cut in (math.ceil, math.floor, round)
    ),
    Slip("rounded", lambda n, h: round(_reach(n, h)), ROUNDED),
    Slip("rounded", lambda n, h: math.floor(_reach(n, h)), ROUNDED),
    Slip("rounded", lambda n, h: math.ceil(_reach(n, h)), ROUNDED),
    Slip(
        "all heads",
        lambda n, h: [_reach(n, k) for k in range(1, n + 1)],
        "The distances of all heads came back. The text asks for one number, that of head h.",
    ),
]


@exercise("positional.half-distance", answer="half_distance")
def half_distance(student: Any, expect: Expect) -> None:
    heads = [2**power for power in _sizes(3, 3, 6)]
    inputs = [(n_heads, h) for n_heads, h in zip(heads, _sizes(3, 2, 8))]
    inputs += [(16, 2 * int(torch.randint(8, ())) + 1), (4, 4), (2, 1), (1, 1)]  # one exponent is no whole number
    expect.agrees(
        student.half_distance, _reach, inputs, "slope times distance is ln 2", REACH_SLIPS, describe="the distance"
    )


# the matrix of a shift


def _blocks(k: int, d: int, signs: tuple[int, int] = (1, -1), beta: Callable[[int], float] | None = None) -> Tensor:
    """Blocks [[cos β, s sin β], [t sin β, cos β]] along the diagonal, with `signs` (s, t) and β a function of 2i."""
    betas = [k / 10_000 ** (two_i / d) if beta is None else beta(two_i) for two_i in range(0, d, 2)]
    s, t = signs
    rows = [[[math.cos(b), s * math.sin(b)], [t * math.sin(b), math.cos(b)]] for b in betas]
    return torch.block_diag(*torch.tensor(rows, dtype=torch.double))


def _in_halves(k: int, d: int) -> Tensor:
    order = [column for c in range(d // 2) for column in (c, c + d // 2)]
    R = torch.zeros(d, d, dtype=torch.double)
    R[torch.tensor(order)[:, None], torch.tensor(order)] = _blocks(k, d)
    return R


SHIFT_SLIPS = [
    Slip(
        "turned back",
        lambda k, d: _blocks(k, d, (-1, 1)),
        "This matrix leads from place k to place 0: it turns back. The new sine is "
        "sin α cos β + cos α sin β, so + sin β stands in the upper right corner of a block.",
    ),
    Slip(
        "two plus signs",
        lambda k, d: _blocks(k, d, (1, 1)),
        "A sign is missing: cos(α + β) = cos α cos β − sin α sin β. With two pluses lengths change, and a turn keeps them.",
    ),
    Slip(
        "two minus signs",
        lambda k, d: _blocks(k, d, (-1, -1)),
        "Both sines are negative. One is: sin(α + β) has a plus, cos(α + β) a minus.",
    ),
    Slip(
        "one angle for all pairs",
        lambda k, d: _blocks(k, d, beta=lambda two_i: k),
        "Every pair turns by k here. Pair i turns by k · ω_i: each hand of the clock has its own speed.",
    ),
    Slip(
        "sines first, then cosines",
        _in_halves,
        "This is the matrix for an encoding with all sines first. Here sine and cosine of a pair are "
        "neighbours, so the blocks are 2 × 2 along the diagonal.",
    ),
    Slip(
        "k is ignored",
        lambda k, d: _blocks(1, d),
        "This shifts by 1, whatever k is. Pair i turns by k · ω_i.",
    ),
    Slip(
        "no sines",
        lambda k, d: _blocks(k, d, (0, 0)),
        "Only the cosines are there. sin(α + β) also needs cos α · sin β: two numbers of the pair are mixed.",
    ),
    Slip(
        "i in place of 2i",
        lambda k, d: _blocks(k, d, beta=lambda two_i: k / 10_000 ** (two_i / 2 / d)),
        "The exponent rises half as fast as it should: ω_i = 10000^(−2i/d_model), where i counts pairs.",
    ),
    Slip(
        "2i doubled",
        lambda k, d: _blocks(k, d, beta=lambda two_i: k / 10_000 ** (2 * two_i / d)),
        "The exponent rises twice as fast as it should. If your i runs over 0, 2, 4, …, it is 2i already.",
    ),
    Slip(
        "frequencies that grow",
        lambda k, d: _blocks(k, d, beta=lambda two_i: k * 10_000 ** (two_i / d)),
        "You multiplied by 10000^(2i/d_model). The later the pair, the slower it turns: divide.",
    ),
    Slip(
        "a permutation",
        lambda k, d: torch.eye(d).roll(k, 0),
        "This moves the columns of one encoding by k. The shift is between positions: each pair is turned by k · ω_i.",
    ),
    Slip(
        "one block",
        lambda k, d: _blocks(k, 2),
        "One block of 2 × 2 came back. Every pair has its own, d_model / 2 of them along the diagonal.",
    ),
    *(
        Slip(
            "d_model is ignored",
            lambda k, d, fixed=fixed: _blocks(k, d, beta=lambda two_i: k / 10_000 ** (two_i / fixed)),
            f"The exponent is divided by {fixed}, whatever d_model is. Take the width from the argument.",
        )
        for fixed in (4, 6, 8, 16, 64, 512)
    ),
]


@exercise("positional.shift-matrix", answer="shift_matrix", forbids=("rotation",))
def shift_matrix(student: Any, expect: Expect) -> None:
    shifts, pairs = _sizes(3, 2, 9), _sizes(3, 5, 9)
    inputs = [(shifts[0], 2 * pairs[0]), (-shifts[1], 2 * pairs[1]), (10 + shifts[2], 2 * pairs[2])]
    expect.agrees(
        student.shift_matrix,
        _blocks,
        inputs,
        "each pair turns by k · ω_i, forth and back",
        SHIFT_SLIPS,
        tolerance=1e-4,
        describe="the matrix",
    )
    expect.agrees(
        student.shift_matrix, _blocks, [(0, 4), (shifts[0], 2)], "no shift, and one pair, too", tolerance=1e-4
    )


# counting by the mask


def _share(is_bos: Tensor, mask: Tensor | None) -> Tensor:
    nothing = torch.zeros_like(is_bos)
    return attention(nothing, nothing, is_bos, mask)[0]


def _unequal(is_bos: Tensor, queries: Tensor, mask: Tensor) -> Tensor:
    return 1 / attention(queries, is_bos, is_bos, mask)[0] - 1


UNEQUAL = (
    "<bos> is scored higher than the others here, so its weight is no longer 1/c. Make all scores equal: "
    "queries or keys of 0 do."
)
PLACES = (
    "The mask hides some words, and they were counted all the same: these are the places. Count what the mask shows; "
    "the weight of <bos> knows."
)
COUNT_SLIPS = [
    Slip(
        "the share in place of the count",
        _share,
        "That is the weight of <bos>, 1/c for c visible keys. Turn it round, and leave <bos> itself out.",
    ),
    Slip(
        "<bos> counted too",
        lambda is_bos, mask: 1 / _share(is_bos, mask),
        "One too many everywhere: c visible keys are c − 1 words and <bos>.",
    ),
    Slip(
        "the row itself not counted",
        lambda is_bos, mask: 1 / _share(is_bos, mask) - 2,
        "One too few everywhere, and −1 for <bos>. The row itself counts: only <bos> is left out.",
    ),
    Slip("unequal scores", lambda is_bos, mask: _unequal(is_bos, torch.ones_like(is_bos), mask), UNEQUAL),
    Slip("unequal scores", lambda is_bos, mask: _unequal(is_bos, is_bos, mask), UNEQUAL),
    Slip(
        "mask forgotten",
        lambda is_bos, mask: 1 / _share(is_bos, None) - 1,
        "Every row counted all words: without the mask all rows see the same, and the place is gone.",
    ),
    Slip(
        "places in place of visible words",
        lambda is_bos, mask: torch.arange(len(is_bos))[:, None],
        PLACES,
    ),
    Slip(
        "the hidden ones",
        lambda is_bos, mask: len(is_bos) - 1 / _share(is_bos, mask),
        "You counted what is hidden. The text asks for the words that the row can see.",
    ),
    Slip(
        "what is left of the share",
        lambda is_bos, mask: 1 - _share(is_bos, mask),
        "That is 1 − 1/c, the weight of all the others together. The count is c − 1, and c is one over the share.",
    ),
    Slip(
        "one axis only",
        lambda is_bos, mask: (1 / _share(is_bos, mask) - 1)[:, 0],
        "The numbers are right, in a single row of them. The text asks for a column, (n, 1).",
    ),
    Slip(
        "who sees me",
        lambda is_bos, mask: mask.sum(0)[:, None] - 1,
        "You summed the columns of the mask: by how many each word is seen. Rows are queries, so count along a row.",
    ),
    Slip(
        "keys and values exchanged",
        lambda is_bos, mask: 1 / attention(torch.zeros_like(is_bos), is_bos, torch.zeros_like(is_bos), mask)[0] - 1,
        "The values are 0, so nothing arrives. `is_bos` has to be the values: its row of 1 is what the weight brings.",
    ),
]


@exercise(
    "positional.count-by-mask",
    answer="count",
    uses=("attention", "scaled_dot_product_attention", "softmax", "exp"),
)
def count(student: Any, expect: Expect) -> None:
    def drawn(n: int, hidden: float) -> tuple[Tensor, Tensor]:
        is_bos = torch.zeros(n, 1)
        is_bos[0] = 1
        mask = (torch.rand(n, n) >= hidden).tril()
        mask[:, 0] = True
        return is_bos, mask

    expect.agrees(
        student.count,
        lambda is_bos, mask: mask.sum(-1, keepdim=True).float() - 1,
        [*(drawn(n, 0.4) for n in _sizes(3, 6, 11)), drawn(5, 0.0), drawn(1, 0.0)],
        "each row counts the words that its mask shows",
        COUNT_SLIPS,
        tolerance=1e-4,
        describe="the count",
    )


# the other pairs


def _order(d: int) -> list[int]:
    return [column for c in range(d // 2) for column in (c, c + d // 2)]


ORDER_SLIPS = [
    Slip(
        "the way back",
        lambda d: [*range(0, d, 2), *range(1, d, 2)],
        "This order leads from our pairs to theirs. order[0] and order[1] must be *their* numbers 0 and d_k/2.",
    ),
    Slip(
        "odd columns first",
        lambda d: [*range(1, d, 2), *range(0, d, 2)],
        "All odd columns came first, then all even ones. order[0] and order[1] must be the two numbers of their first "
        "pair, 0 and d_k/2.",
    ),
    Slip(
        "left as it was",
        lambda d: list(range(d)),
        "Nothing was reordered: our pairs are the columns (0, 1), (2, 3), …, theirs are (0, d_k/2), (1, d_k/2 + 1), …",
    ),
    Slip(
        "pairs the wrong way round",
        lambda d: [column for c in range(d // 2) for column in (c + d // 2, c)],
        "The pairs are right, and each is the wrong way round: with the second number first, the turn runs "
        "backwards, and before becomes after.",
    ),
    Slip(
        "halves swapped",
        lambda d: [*range(d // 2, d), *range(d // 2)],
        "The two halves changed places as wholes; columns 0 and 1 are still numbers of two different pairs.",
    ),
    Slip(
        "first and last paired",
        lambda d: [column for c in range(d // 2) for column in (c, d - 1 - c)],
        "You paired the first with the last. Their pair c is c and c + d_k/2: the second halves run forwards too.",
    ),
    Slip(
        "pairs in a list",
        lambda d: [(c, c + d // 2) for c in range(d // 2)],
        "The pairs are right, and stand as pairs. `X[:, order]` needs one flat list of d_k columns.",
    ),
    Slip(
        "counted from 1",
        lambda d: [column + 1 for column in _order(d)],
        "Columns are counted from 1 here. The first is 0.",
    ),
    Slip(
        "half the columns",
        lambda d: _order(d)[: d // 2],
        "Only d_k / 2 columns are in the list. Every column has its place: two for each of the d_k / 2 pairs.",
    ),
    Slip(
        "slow pairs first",
        lambda d: [column for c in reversed(range(d // 2)) for column in (c, c + d // 2)],
        "The pairs are right and come in reverse: pair 0, which turns fastest, comes first in both libraries.",
    ),
    *(
        Slip("d_k is ignored", lambda d, k=k: _order(k), f"The order is that of d_k = {k}, whatever d_k is.")
        for k in (4, 6, 8)
    ),
]


@exercise("positional.other-pairs", answer="order")
def other_pairs(student: Any, expect: Expect) -> None:
    def order(d_k: int) -> Any:
        columns = student.order(d_k)
        parts = list(columns) if isinstance(columns, (list, tuple, Tensor)) else []
        if any(_is_float(part) for part in parts):
            text = "The columns are floating-point numbers, and `X[:, order]` takes whole ones: // in place of /."
            raise Refused(text, "not whole numbers")
        return columns

    expect.agrees(
        order,
        _order,
        [(2 * pairs,) for pairs in _sizes(3, 4, 9)],
        "our pair c is their columns c and c + d_k/2",
        ORDER_SLIPS,
        describe="the order",
    )
    expect.agrees(order, _order, [(2,), (4,)], "one pair stays as it is", describe="the order")


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, Tensor) and value.is_floating_point())
