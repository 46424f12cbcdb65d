"""Judges of the exercises in `chapters/positional.md`."""

import math
from typing import Any

import torch
from torch import Tensor

from tfm_lib.attention import attention
from tfm_lib.checks.judge import Expect, Mistake, exercise
from tfm_lib.masking import causal_mask
from tfm_lib.positional import rotary, sinusoidal_encoding


@exercise("positional.encoding", answer="encode")
def encoding(student: Any, expect: Expect) -> None:
    n, d_model = 7, 6
    pos, two_i = torch.arange(n, dtype=torch.double)[:, None], torch.arange(0, d_model, 2)
    angle = pos / 10_000 ** (two_i / d_model)
    want = sinusoidal_encoding(n, d_model)
    cosine_over_sine = torch.zeros(n, d_model, dtype=torch.double)
    cosine_over_sine[:, 0::2] = angle.cos()
    own = torch.stack([angle.sin(), (pos / 10_000 ** ((two_i + 1) / d_model)).cos()], dim=-1).flatten(-2)
    slow = pos / 10_000 ** (two_i / 2 / d_model)
    got = student.encode(n, d_model)
    expect.shape(
        got,
        (n, d_model),
        "one vector of d_model numbers a position",
        [
            Mistake(
                "half the columns",
                (n, d_model // 2),
                "d_model / 2 columns came back. Each frequency needs two columns, a sine and a cosine.",
            )
        ],
    )
    expect.close(
        got,
        want,
        "sine and cosine of pos · ω_i stand side by side",
        [
            Mistake(
                "both lines written for 2i",
                cosine_over_sine,
                "The cosines stand where the sines should, and the odd columns hold nothing. The second line of the "
                "formula is for column 2i + 1.",
            ),
            Mistake(
                "a frequency of its own for the cosine",
                own,
                "The cosine in column 2i + 1 has the frequency of 2i, not of 2i + 1: the two are one hand of a clock, "
                "and a hand whose sine and cosine run at different speeds is no turn.",
            ),
            Mistake(
                "sines first, then cosines",
                torch.cat([angle.sin(), angle.cos()], dim=-1),
                "All sines came first, then all cosines. The formula deals them out in turn: sines to the even "
                "columns, cosines to the odd ones.",
            ),
            Mistake(
                "i in place of 2i",
                torch.stack([slow.sin(), slow.cos()], dim=-1).flatten(-2),
                "The exponent rises half as fast as it should: in 10000^(2i/d_model), i counts pairs, so 2i runs over "
                "0, 2, 4, …",
            ),
            Mistake(
                "positions from 1",
                sinusoidal_encoding(n + 1, d_model)[1:],
                "The first row is that of position 1. Positions count from 0 here, so row 0 is 0, 1, 0, 1, …",
            ),
        ],
    )
    expect.close(student.encode(300, 2), sinusoidal_encoding(300, 2), "far positions and one pair too", tolerance=1e-3)


@exercise("positional.half-distance", answer="half_distance")
def half_distance(student: Any, expect: Expect) -> None:
    cases = [(8, 1), (8, 8), (12, 5)]
    slopes = torch.tensor([2.0 ** (-8 * h / n_heads) for n_heads, h in cases], dtype=torch.double)
    expect.close(
        torch.tensor([float(student.half_distance(*case)) for case in cases], dtype=torch.double),
        math.log(2) / slopes,
        "slope times distance is ln 2",
        [
            Mistake(
                "half a score in place of half a weight",
                0.5 / slopes,
                "That is where the score has fallen by 1/2. A weight goes with e to the score: it is halved when the "
                "score has fallen by ln 2 ≈ 0.69.",
            ),
            Mistake(
                "powers of 2",
                1 / slopes,
                "That is where the score has fallen by 1, and a weight to 1/e. The slopes are powers of 2, the "
                "softmax takes powers of e.",
            ),
            Mistake(
                "slope in place of distance",
                math.log(2) * slopes,
                "Steep heads see less far: divide ln 2 by the slope. Multiplied, the last head would be the most "
                "short-sighted.",
            ),
            Mistake(
                "heads counted from 0",
                math.log(2) / torch.tensor([2.0 ** (-8 * (h - 1) / n_heads) for n_heads, h in cases]).double(),
                "That is the slope of the head before: h runs from 1 to n_heads here, so take it as it is.",
            ),
        ],
    )


@exercise("positional.shift-matrix", answer="shift_matrix")
def shift_matrix(student: Any, expect: Expect) -> None:
    d_model, k = 6, 5
    P = sinusoidal_encoding(60, d_model).double()
    got = student.shift_matrix(k, d_model)
    expect.shape(got, (d_model, d_model), "one matrix of d_model × d_model")
    betas = [k / 10_000 ** (two_i / d_model) for two_i in range(0, d_model, 2)]
    turns = [[[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]] for b in betas]
    want = torch.block_diag(*torch.tensor(turns, dtype=torch.double))
    reflections = [[[math.cos(b), math.sin(b)], [math.sin(b), math.cos(b)]] for b in betas]
    halves = torch.zeros(d_model, d_model, dtype=torch.double)
    for c, b in enumerate(betas):
        rows = torch.tensor([c, c + d_model // 2])
        halves[rows[:, None], rows] = torch.tensor([[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]]).double()
    same = k * torch.ones(d_model // 2)
    expect.close(
        got,
        want,
        "each pair turns by k · ω_i",
        [
            Mistake(
                "turned back",
                want.T,
                f"This matrix leads from place {k} to place 0: it turns back. The new sine is "
                "sin α cos β + cos α sin β, so + sin β stands in the upper right corner of a block.",
            ),
            Mistake(
                "two plus signs",
                torch.block_diag(*torch.tensor(reflections, dtype=torch.double)),
                "A sign is missing: cos(α + β) = cos α cos β − sin α sin β. With two pluses lengths change, and a turn "
                "keeps them.",
            ),
            Mistake(
                "one angle for all pairs",
                torch.block_diag(
                    *[torch.tensor([[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]]) for b in same.tolist()]
                ),
                "Every pair turns by k here. Pair i turns by k · ω_i: each hand of the clock has its own speed.",
            ),
            Mistake(
                "sines first, then cosines",
                halves,
                "This is the matrix for an encoding with all sines first. Here sine and cosine of a pair are "
                "neighbours, so the blocks are 2 × 2 along the diagonal.",
            ),
        ],
    )
    for shift in (-7, 0, 30):
        moved = _tensor(student.shift_matrix(shift, d_model)).double() @ P[20:30].T
        expect.close(moved.T, P[20 + shift : 30 + shift], "it leads from every place, forth and back", tolerance=1e-4)


@exercise("positional.count-by-mask", answer="count")
def count(student: Any, expect: Expect) -> None:
    n = 6
    is_bos = torch.zeros(n, 1)
    is_bos[0] = 1
    hidden = torch.tensor([True, True, False, True, True, True])  # False: the third word
    causal, holed = causal_mask(n), causal_mask(n) & hidden
    got = student.count(is_bos, causal)
    places = torch.arange(n).float()[:, None]
    nothing = torch.zeros(n, 1)
    expect.shape(got, (n, 1), "one number a row")
    expect.close(
        got,
        places,
        "behind a causal mask each row knows its place",
        [
            Mistake(
                "the share in place of the count",
                1 / (places + 1),
                "That is the weight of <bos>, 1/c for c visible keys. Turn it round, and leave <bos> itself out.",
            ),
            Mistake(
                "<bos> counted too",
                places + 1,
                "One too many everywhere: c visible keys are c − 1 words and <bos>.",
            ),
            Mistake(
                "unequal scores",
                1 / attention(torch.ones(n, 1), is_bos, is_bos, causal)[0] - 1,
                "<bos> is scored higher than the others here, so its weight is no longer 1/c. Make all scores equal: "
                "queries or keys of 0 do.",
            ),
            Mistake(
                "mask forgotten",
                1 / attention(nothing, nothing, is_bos)[0] - 1,
                "Every row counted all words: without the mask all rows see the same, and the place is gone.",
            ),
        ],
    )
    visible = holed.sum(dim=-1, keepdim=True).float() - 1
    expect.close(
        student.count(is_bos, holed),
        visible,
        "hidden words do not count",
        [
            Mistake(
                "places in place of visible words",
                places,
                "The mask of this call hides word 2 from everybody, and it was counted all the same. Count what the "
                "mask shows: the weight of <bos> knows.",
            )
        ],
    )


@exercise("positional.other-pairs", answer="order")
def other_pairs(student: Any, expect: Expect) -> None:
    d_k = 6
    half = d_k // 2
    got = [int(column) for column in _tensor(student.order(d_k)).flatten().tolist()]
    expect.true(
        sorted(got) == list(range(d_k)),
        "every column has its place",
        f"For d_k = 6 the order must hold each of 0 … 5 once; got {got}.",
    )
    X = torch.randn(4, d_k, dtype=torch.double)

    def products(columns: list[int]) -> Tensor:
        turned = rotary(X[:, columns])
        return turned @ turned.T

    right = [column for c in range(half) for column in (c, c + half)]
    expect.close(
        products(got),
        products(right),
        "dot products are those of the other library",
        [
            Mistake(
                "the way back",
                products([*range(0, d_k, 2), *range(1, d_k, 2)]),
                "This order leads from our pairs to theirs. order[0] and order[1] must be *their* numbers 0 and d_k/2.",
            ),
            Mistake(
                "left as it was",
                products(list(range(d_k))),
                "Nothing was reordered: our pairs are the columns (0, 1), (2, 3), …, theirs are (0, 3), (1, 4), … for "
                "d_k = 6.",
            ),
            Mistake(
                "pairs the wrong way round",
                products([column for c in range(half) for column in (c + half, c)]),
                "The pairs are right, and each is the wrong way round: with the second number first, the turn runs "
                "backwards, and before becomes after.",
            ),
            Mistake(
                "halves swapped",
                products([*range(half, d_k), *range(half)]),
                "The two halves changed places as wholes; columns 0 and 1 are still numbers of two different pairs.",
            ),
        ],
        describe="the dot products of the turned vectors",
    )
    expect.equal(
        [int(column) for column in _tensor(student.order(2)).flatten().tolist()], [0, 1], "one pair stays as it is"
    )


@exercise("positional.buckets", answer="bucket")
def buckets(student: Any, expect: Expect) -> None:
    near = torch.arange(16)
    expect.close(student.bucket(near), near, "distances 0 … 15 have a bucket each")
    far = torch.tensor([16, 17, 20, 25, 40, 64, 90, 127])
    exact = 16 + 16 * (far / 16).double().log() / math.log(8)
    expect.close(
        student.bucket(far),
        exact.floor(),
        "from 16 on buckets grow with the distance",
        [
            Mistake(
                "rounded",
                exact.round().clamp(max=31),
                "The logarithm is rounded to the nearest whole number; the brackets ⌊ ⌋ round down.",
            ),
            Mistake(
                "buckets of equal width",
                (16 + 16 * (far - 16) / (128 - 16)).floor(),
                "From 16 on the buckets are equally wide here. With the logarithm they grow with the distance.",
            ),
            Mistake(
                "logarithm in another unit",
                (16 + 16 * (far / 16).double().log()).floor().clamp(max=31),
                "The logarithm is not divided by ln(128/16), the logarithm of the whole stretch, so the buckets are "
                "used up long before 128.",
            ),
            Mistake(
                "clipped",
                far.clamp(max=31),
                "Distances 16 … 31 still have a bucket each. From 16 on several share one, the more the farther.",
            ),
        ],
    )
    beyond = torch.tensor([128, 129, 500, 10_000])
    uncapped = (16 + 16 * (beyond / 16).double().log() / math.log(8)).floor()
    expect.close(
        student.bucket(beyond),
        torch.full((4,), 31),
        "from 128 on all share the last bucket",
        [
            Mistake(
                "no last bucket",
                uncapped,
                "Far distances run out of the table: there is no bucket 32 and beyond. What would exceed 31 goes into 31.",
            )
        ],
    )
    square = torch.tensor([[0, 3], [4, 60]])
    expect.close(
        student.bucket(square, n_buckets=8, max_distance=64), [[0, 3], [4, 7]], "any number of buckets, any shape"
    )


def _tensor(value: Any) -> Tensor:
    return torch.as_tensor(value)
