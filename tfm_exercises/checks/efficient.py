"""Judges of the exercises in chapter `efficient`."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo  # torch's counter of multiplications loads it, a second that is not the answer's
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from tfm_lib.attention import attention
from tfm_exercises.random_inputs import chance, different, whole
from tfm_exercises.judge import Slip, exercise, told
from tfm_lib.efficient import linear_attention, window_attention

Half = tuple[Tensor, Tensor, Tensor]

# two halves make a whole


def _half(scores: Tensor, V: Tensor) -> Half:
    top = scores.amax(dim=-1, keepdim=True)
    E = (scores - top).exp()
    return top, E.sum(dim=-1, keepdim=True), E @ V


def _merged(
    first: Half, second: Half, total: Callable[..., Tensor] | None = None, mixed: Callable[..., Tensor] | None = None
) -> Half:
    """What is right, or with another rule for the sums: a function of both factors and of what they multiply."""
    top = first[0].maximum(second[0])
    a, b = (first[0] - top).exp(), (second[0] - top).exp()

    return top, (total or _sum)(a, b, first[1], second[1]), (mixed or _sum)(a, b, first[2], second[2])


def _sum(a: Tensor, b: Tensor, one: Tensor, other: Tensor) -> Tensor:
    return a * one + b * other


def _plain(a: Tensor, b: Tensor, one: Tensor, other: Tensor) -> Tensor:
    return one + other


def _alike(rule: Callable[..., Tensor]) -> Callable[[Half, Half], Half]:
    return lambda first, second: _merged(first, second, rule, rule)


def _measured(first: Half, second: Half, top: Tensor) -> Half:
    """Both halves against the score `top`."""
    a, b = (first[0] - top).exp(), (second[0] - top).exp()
    return top, _sum(a, b, first[1], second[1]), _sum(a, b, first[2], second[2])


def _shrunk_by(first: Half, second: Half, factor: Callable[[Tensor], Tensor]) -> Half:
    """Both halves, each times a `factor` made of how far its largest score lies below the larger one."""
    top = first[0].maximum(second[0])
    a, b = factor(first[0] - top), factor(second[0] - top)
    return top, _sum(a, b, first[1], second[1]), _sum(a, b, first[2], second[2])


def _divided(first: Half, second: Half, mixed: Callable[..., Tensor] = _sum) -> Half:
    top, total, mixture = _merged(first, second, mixed=mixed)
    return top, total, mixture / total


def _weighed(first: Half, second: Half) -> Callable[..., Tensor]:
    return lambda a, b, one, other: _sum(a, b, first[1] * one, second[1] * other)


MERGE_SLIPS = [
    Slip(
        "nothing shrinks",
        _alike(_plain),
        "You added the sums as they are. Each was measured against the largest score of its own half. Measure both "
        "against the larger of the two: a half shrinks by e to (its own largest − the larger).",
    ),
    Slip(
        "only the first shrinks",
        _alike(lambda a, b, one, other: a * one + other),
        "You shrink the first half only. That is right where the second holds the larger score; in other rows it is the "
        "second that must shrink.",
    ),
    Slip(
        "only the second shrinks",
        _alike(lambda a, b, one, other: one + b * other),
        "You shrink the second half only. That is right where the first holds the larger score; in other rows it is the "
        "first that must shrink.",
    ),
    Slip(
        "the mixture does not shrink",
        lambda first, second: _merged(first, second, mixed=_plain),
        "The totals are right. The mixtures were summed against the same scores, and shrink by the same factors.",
    ),
    Slip(
        "the total does not shrink",
        lambda first, second: _merged(first, second, total=_plain),
        "The mixture is right. The total was summed against the same scores, and shrinks by the same factors.",
    ),
    Slip(
        "grows instead of shrinking",
        _alike(lambda a, b, one, other: one / a + other / b),
        "Your factors are turned round: what was measured against a smaller score must shrink, by e to (its own "
        "largest − the larger).",
    ),
    Slip(
        "already divided",
        _divided,
        "You divided by the total. Nobody can go on from there without multiplying again: the third part is the mixture, "
        "not yet divided.",
    ),
    Slip(
        "weighed by the totals",
        lambda first, second: _merged(first, second, mixed=_weighed(first, second)),
        "You weigh each mixture by its total, as if it were a mean. It is a sum already: it shrinks, and no more.",
    ),
    Slip(
        "weighed by the totals, and divided",
        lambda first, second: _divided(first, second, _weighed(first, second)),
        "You weigh each mixture by its total and divide by both totals, as if the mixtures were means. They are sums already: "
        "they shrink, and are added.",
    ),
    Slip(
        "one half is forgotten",
        lambda first, second: first,
        "What came is the first half alone. Is the result of the merging returned?",
    ),
    Slip(
        "one half is forgotten",
        lambda first, second: second,
        "What came is the second half alone. Is the result of the merging returned?",
    ),
    Slip(
        "measured against 0",
        lambda first, second: _measured(first, second, torch.zeros_like(first[0])),
        "You measure against a score of 0. It is right on paper, and e to the power of 1000 is infinity: measure against "
        "the larger of the two.",
    ),
    Slip(
        "the smaller of the two",
        lambda first, second: _measured(first, second, first[0].minimum(second[0])),
        "You measure against the smaller of the two largest scores, so the other half grows, and may overflow. Take the "
        "larger.",
    ),
    Slip(
        "one largest score for all rows",
        lambda first, second: _measured(first, second, torch.cat([first[0], second[0]]).max().expand_as(first[0])),
        "All rows are measured against one score. A row far below it becomes 0: each row has its own largest score.",
    ),
    Slip(
        "always against the same half",
        lambda first, second: _measured(first, second, second[0]),
        "You measure against the second half's largest score, whichever is larger. Where the first holds the larger one, "
        "the factor is above 1 and may overflow. Take the larger of the two, in each row.",
    ),
    Slip(
        "always against the same half",
        lambda first, second: _measured(first, second, first[0]),
        "You measure against the first half's largest score, whichever is larger. Where the second holds the larger one, "
        "the factor is above 1 and may overflow. Take the larger of the two, in each row.",
    ),
    Slip(
        "the factors are exchanged",
        _alike(lambda a, b, one, other: b * one + a * other),
        "Each half has the other's factor. The first shrinks by e to (its own largest − the larger of the two).",
    ),
    Slip(
        "without the exponential",
        lambda first, second: _shrunk_by(first, second, lambda gap: gap),
        "You multiply by the difference of the largest scores. The factor is e to that power.",
    ),
    Slip(
        "powers of 2",
        lambda first, second: _shrunk_by(first, second, torch.exp2),
        "Your factors are powers of 2. What was summed are powers of e.",
    ),
    Slip(
        "the mean of both",
        _alike(lambda a, b, one, other: (a * one + b * other) / 2),
        "You halve the sums. They are added, not averaged: the whole row has the keys of both.",
    ),
    Slip(
        "the total as a logarithm",
        lambda first, second: _merged(first, second, lambda *sums: (first[0].maximum(second[0])) + _sum(*sums).log()),
        "The second part is the logarithm of the sum. Keep the sum itself, measured against the largest score.",
    ),
    Slip(
        "another order",
        lambda first, second: tuple(_merged(first, second)[k] for k in (1, 0, 2)),
        "All three parts are right, and stand in another order: the largest score comes first, then the total.",
    ),
]


@exercise("efficient.merge", answer="merge")
def merge(student, expect):
    def halves(spread: float = 2.0, level: float = 0.0) -> tuple[Half, Half]:
        n, left, right, d_v = different(4, 2, 7)
        first, second = (
            _half(spread * torch.randn(n, m) + level * torch.randn(n, 1).sign(), torch.randn(m, d_v))
            for m in (left, right)
        )
        return first, second

    says = dict(describe="what is kept of both halves")
    inputs = [halves() for _ in range(4)]
    expect.agrees(
        student.merge, _merged, inputs, "a half with a larger score shrinks the other, in each row", MERGE_SLIPS, **says
    )
    far = [halves(level=1000.0) for _ in range(3)]
    expect.agrees(student.merge, _merged, far, "scores of 1000 and −1000 are no problem", MERGE_SLIPS, 1e-3, **says)


# with which power does it grow?


def _full(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    return attention(Q, K, V)[0]


def _windowed(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    return window_attention(Q, K, V, back=3)


def _twice(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    weights = attention(Q, K, V)[1]
    return weights @ weights @ V  # (n, n) times (n, n)


def _count(attend: Callable[..., Tensor], n: int) -> int:
    with FlopCounterMode(display=False) as counter:
        attend(*torch.zeros(3, n, 16))
    return counter.get_total_flops()


def _power_with(attend: Callable[..., Tensor], short: int, long: int, make: Callable[[int], Tensor]) -> float:
    """The power, counted on other words."""
    counts = []
    for n in (short, long):
        with FlopCounterMode(display=False) as counter:
            attend(*make(n))
        counts.append(counter.get_total_flops())
    return math.log(counts[1] / counts[0]) / math.log(long / short)


def _power_if(rule: Callable[[int, int, int, int], float]) -> Callable[..., float]:
    """A function of both counts and both lengths, as an answer."""
    return lambda attend, short, long: rule(_count(attend, short), _count(attend, long), short, long)


_power = _power_if(lambda a, b, short, long: math.log(b / a) / math.log(long / short))
POWER_SLIPS = [
    Slip(
        "the ratio of the counts",
        _power_if(lambda a, b, short, long: b / a),
        "This is the ratio of the counts. The power is a quotient of logarithms: that of this ratio over that of "
        "the ratio of the lengths.",
    ),
    Slip(
        "not divided by the lengths",
        _power_if(lambda a, b, short, long: math.log(b / a)),
        "The logarithm of the ratio of the counts is p · log(long / short). Divide by the second factor.",
    ),
    Slip(
        "as if the length doubled",
        _power_if(lambda a, b, short, long: math.log2(b / a)),
        "The base-2 logarithm is right where the length doubles. Here long / short is another number: divide by its "
        "logarithm.",
    ),
    Slip(
        "turned round",
        _power_if(lambda a, b, short, long: math.log(long / short) / math.log(b / a)),
        "This is 1 / p: with which power of the count the length grows. Exchange numerator and denominator.",
    ),
    Slip(
        "a straight line",
        _power_if(lambda a, b, short, long: (b - a) / (long - short)),
        "This is the slope of a straight line through both counts. A power is the slope on logarithmic axes.",
    ),
    Slip(
        "ratio by ratio",
        _power_if(lambda a, b, short, long: (b / a) / (long / short)),
        "You divided one ratio by the other. The power comes from their logarithms.",
    ),
    Slip(
        "the wrong sign",
        _power_if(lambda a, b, short, long: math.log(a / b) / math.log(long / short)),
        "The sign is wrong: one of the two ratios has the short one on top.",
    ),
    Slip(
        "rounded",
        _power_if(lambda a, b, short, long: float(round(math.log(b / a) / math.log(long / short)))),
        "Nearly, but you rounded to a whole number. At small n a power need not be whole, and how far it is from whole "
        "is worth knowing.",
    ),
    Slip(
        "logarithms of both counts",
        _power_if(lambda a, b, short, long: math.log(b) / math.log(a)),
        "The quotient of the logarithms of the two counts says nothing about n. Take the logarithm of their ratio, and "
        "divide by that of the lengths.",
    ),
    Slip(
        "rounded",
        _power_if(lambda a, b, short, long: float(int(math.log(b / a) / math.log(long / short)))),
        "Nearly, but you cut it to a whole number. At small n a power need not be whole, and how far it is from whole "
        "is worth knowing.",
    ),
    Slip(
        "always 2",
        lambda attend, short, long: 2.0,
        "You answer 2 whatever the function is. Count its multiplications at both lengths.",
    ),
    Slip(
        "counted on",
        _power_if(lambda a, b, short, long: math.log((a + b) / a) / math.log(long / short)),
        "Your second count holds the first one too. Give each length a counter of its own.",
    ),
    Slip(
        "no logarithm below",
        _power_if(lambda a, b, short, long: math.log(b / a) / (long / short)),
        "You divide by the ratio of the lengths. Divide by its logarithm.",
    ),
    Slip(
        "the lengths' difference",
        _power_if(lambda a, b, short, long: math.log(b / a) / (long - short)),
        "You divide by the difference of the lengths, as for an exponential. For a power, divide by the logarithm of "
        "their ratio.",
    ),
    Slip(
        "axes exchanged",
        lambda attend, short, long: _power_with(attend, short, long, lambda n: torch.zeros(3, 16, n)),
        "You gave 16 words with n numbers each. It is n words with 16 numbers a vector: (n, 16).",
    ),
    Slip(
        "as if there were no constant",
        _power_if(lambda a, b, short, long: math.log(b) / math.log(long)),
        "You took the count for n to the power p, without a constant. The ratio of two counts is free of it.",
    ),
]


@exercise("efficient.power", answer="power")
def power(student, expect):
    lengths = [(whole(40, 60), whole(130, 180)) for _ in range(4)]
    inputs = [(attend, *pair) for attend, pair in zip((_full, _twice, linear_attention, _windowed), lengths)]
    expect.agrees(
        student.power, _power, inputs, "2 for full attention, about 1 where nothing is n × n", POWER_SLIPS, 1e-3,
        describe="the power",
    )  # fmt: skip


# a sum for everyone


def _phi(X: Tensor) -> Tensor:
    return F.elu(X) + 1


def _everyone(Q: Tensor, K: Tensor, V: Tensor, of_q: Callable = _phi, of_k: Callable = _phi) -> Tensor:
    weights = of_q(Q) @ of_k(K).mT
    return weights / weights.sum(dim=-1, keepdim=True) @ V


def _same(X: Tensor) -> Tensor:
    return X


EVERYONE_SLIPS = [
    Slip(
        "nobody divides",
        lambda Q, K, V: _phi(Q) @ (_phi(K).mT @ V),
        "The weights of a query do not sum to 1. Divide by φ(q) · z, where z is the sum of all φ(k).",
    ),
    Slip(
        "divided by the number of keys",
        lambda Q, K, V: _phi(Q) @ (_phi(K).mT @ V) / K.shape[-2],
        "You divide by the number of keys. The weights sum to φ(q) · z, which is another number for each query.",
    ),
    Slip(
        "queries as they are",
        lambda Q, K, V: _everyone(Q, K, V, of_q=_same),
        "φ is missing on the queries: a weight may then be negative.",
    ),
    Slip(
        "keys as they are",
        lambda Q, K, V: _everyone(Q, K, V, of_k=_same),
        "φ is missing on the keys: a weight may then be negative.",
    ),
    Slip(
        "without + 1",
        lambda Q, K, V: _everyone(Q, K, V, F.elu, F.elu),
        "elu alone goes down to −1. With + 1 it is positive everywhere.",
    ),
    Slip(
        "relu for elu",
        lambda Q, K, V: _everyone(Q, K, V, lambda X: F.relu(X) + 1, lambda X: F.relu(X) + 1),
        "This is relu(x) + 1, which forgets how far below 0 a number lies. Take elu.",
    ),
    Slip(
        "softmax attention",
        lambda Q, K, V: attention(Q, K, V)[0],
        "This is attention with the softmax. Here the weight of a pair is φ(q) · φ(k).",
    ),
    Slip(
        "exp for elu",
        lambda Q, K, V: _everyone(Q, K, V, torch.exp, torch.exp),
        "This is e^q · e^k, number by number. It is positive too, and is not elu(x) + 1.",
    ),
    Slip(
        "only what came before",
        lambda Q, K, V: linear_attention(Q, K, V),
        "Each query sees what came before it. In an encoder it sees all keys: no running sums.",
    ),
    Slip(
        "the values go through φ",
        lambda Q, K, V: _everyone(Q, K, _phi(V)),
        "φ belongs to queries and keys. The values are handed over as they are.",
    ),
    Slip(
        "divided by the keys alone",
        lambda Q, K, V: _phi(Q) @ (_phi(K).mT @ V) / _phi(K).sum(dim=(-2, -1), keepdim=True),
        "You divide every query by the same number, the sum of all φ(k). Each query divides by φ(q) · z, its own.",
    ),
    Slip(
        "divided by √d_k",
        lambda Q, K, V: _everyone(Q / math.sqrt(Q.shape[-1]), K, V),
        "You divide by √d_k before φ. Linear attention does not: there is no softmax to keep from saturating.",
    ),
    Slip(
        "no φ at all",
        lambda Q, K, V: _everyone(Q, K, V, _same, _same),
        "φ is missing on queries and keys. Weights may then be negative, and their sum near 0.",
    ),
    Slip(
        "the sum without φ",
        lambda Q, K, V: _phi(Q) @ (_phi(K).mT @ V) / (_phi(Q) @ K.sum(dim=-2, keepdim=True).mT),
        "Above the line φ stands on the keys, below it does not: z is the sum of all φ(k).",
    ),
    Slip(
        "a mean below the line",
        lambda Q, K, V: _everyone(Q, K, V) * K.shape[-2],
        "The answer is too large by the number of keys: z is the sum of all φ(k), not their mean.",
    ),
    Slip(
        "+ 1 inside",
        lambda Q, K, V: _everyone(Q, K, V, lambda X: F.elu(X + 1), lambda X: F.elu(X + 1)),
        "You add 1 before elu. φ(x) = elu(x) + 1: it is added afterwards, and makes φ positive.",
    ),
    Slip(
        "every value alike",
        lambda Q, K, V: V.mean(dim=-2, keepdim=True).expand(*Q.shape[:-1], V.shape[-1]),
        "All queries get the plain mean of the values. Each weighs them by φ(q) · φ(k).",
    ),
]


class _Largest(TorchFunctionMode):
    """How many numbers the largest tensor holds that a call gives meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for each in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(each, Tensor):
                self.numbers = max(self.numbers, each.numel())
        return made


@exercise("efficient.everyone", answer="everyone")
def everyone(student, expect):
    batch, n, m, d_k, d_v = different(5, 3, 9)
    inputs = [
        (torch.randn(n, d_k), torch.randn(n, d_k), torch.randn(n, d_v)),  # as many keys: what came before is defined
        (torch.randn(m, d_k), torch.randn(m, d_k), torch.randn(m, d_v)),
    ]
    expect.agrees(
        student.everyone, _everyone, inputs, "each query weighs all values by φ(q) · φ(k)", EVERYONE_SLIPS, 1e-4
    )
    inputs = [
        (torch.randn(batch, n, d_k), torch.randn(batch, m, d_k), torch.randn(batch, m, d_v)),
        (torch.randn(2, batch, m, d_k), torch.randn(2, batch, n, d_k), torch.randn(2, batch, n, d_v)),
        (torch.randn(n, d_k), torch.randn(m, d_k), torch.randn(m, d_v)),
    ]
    expect.agrees(student.everyone, _everyone, inputs, "batches, and more keys than queries", EVERYONE_SLIPS, 1e-4)
    with FlopCounterMode(display=False) as counter, _Largest() as made:  # the counter sees into a product of three
        student.everyone(torch.randn(400, 4), torch.randn(500, 4), torch.randn(500, 3))
    expect.true(
        max(made.numbers, counter.get_total_flops()) < 400 * 500,
        "nothing is n × m",
        "The answer is right, and it goes through all pairs, 200,000 numbers for 400 queries and 500 keys. Multiply "
        "keys and values first: they give d_k × d_v.",
        "a matrix of all pairs",
    )


# mend the window


def _mended(
    Q: Tensor, K: Tensor, V: Tensor, w: int, band: Callable[[Tensor, Tensor, int], Tensor] | None = None
) -> Tensor:
    i, j = torch.arange(len(Q))[:, None], torch.arange(len(Q))
    seen = (i - w < j) & (j <= i) if band is None else band(i, j, w)
    return attention(Q, K, V, seen)[0]


def _colleague(Q: Tensor, K: Tensor, V: Tensor, w: int, wide: bool, zeros: bool) -> Tensor:
    """The given program, with either of its two faults or with both."""
    blocks = Q.unflatten(0, (-1, w))
    K, V = (F.pad(X, (0, 0, w, 0)).unfold(0, 2 * w, w).mT for X in (K, V))
    scores = blocks @ K.mT / math.sqrt(Q.shape[-1])
    i, j = torch.arange(w)[:, None] + w, torch.arange(2 * w)
    seen = ((i - w < j + wide) & (j <= i)).repeat(len(blocks), 1, 1)
    if not zeros:
        seen[0, :, :w] = False
    return (scores.masked_fill(~seen, -torch.inf).softmax(dim=-1) @ V).flatten(0, 1)


def _band(n: int, w: int) -> Tensor:
    i, j = torch.arange(n)[:, None], torch.arange(n)
    return (i - w < j) & (j <= i)


MEND_SLIPS = [
    Slip(
        "as it was",
        lambda Q, K, V, w: _colleague(Q, K, V, w, True, True),
        "This is still what the colleague's program gives. Count the keys that a query in the middle sees, then look at "
        "the first block.",
    ),
    Slip(
        "still one too wide",
        lambda Q, K, V, w: _colleague(Q, K, V, w, True, False),
        "The first block is right now. A query still sees w + 1 keys: itself and w before. It should be w − 1 before.",
    ),
    Slip(
        "zeros still take weight",
        lambda Q, K, V, w: _colleague(Q, K, V, w, False, True),
        "The width is right now. In the first block the zeros before the first word still have a score, 0, and with it "
        "weight. Hide them.",
    ),
    Slip(
        "one too narrow",
        lambda Q, K, V, w: _mended(Q, K, V, w, lambda i, j, w: (i - w + 1 < j) & (j <= i)),
        "Each query sees itself and w − 2 before. One more: w keys in all.",
    ),
    Slip(
        "blocks of their own",
        lambda Q, K, V, w: _mended(Q, K, V, w, lambda i, j, w: (i // w == j // w) & (j <= i)),
        "The blocks have become walls: the first query of a block sees itself only. The block before belongs to its window.",
    ),
    Slip(
        "no window",
        lambda Q, K, V, w: _mended(Q, K, V, w, lambda i, j, w: j <= i),
        "Every query sees all that came before. The window is gone: i − w < j is missing.",
    ),
    Slip(
        "both blocks whole",
        lambda Q, K, V, w: _mended(Q, K, V, w, lambda i, j, w: (j <= i) & (i // w - j // w < 2)),
        "A query sees all of the block before its own. It should see w − 1 words before itself: i − w < j is missing.",
    ),
    Slip(
        "sees the future",
        lambda Q, K, V, w: _mended(Q, K, V, w, lambda i, j, w: (i - w < j) & (j < i + w)),
        "The window looks both ways. j ≤ i hides what comes after.",
    ),
    Slip(
        "not itself",
        lambda Q, K, V, w: _mended(Q, K, V, w, lambda i, j, w: ((i - w <= j) & (j < i)) | (j == 0) & (i == 0)),
        "Here a query does not see itself, j < i. It counts among the w: j ≤ i.",
    ),
    Slip(
        "without the scale",
        lambda Q, K, V, w: _mended(Q * math.sqrt(Q.shape[-1]), K, V, w),
        "The scores are no longer divided by √d_k.",
    ),
    Slip(
        "full attention",
        lambda Q, K, V, w: attention(Q, K, V)[0],
        "Nothing is hidden at all: this is attention without a mask.",
    ),
    Slip(
        "hidden after the softmax",
        lambda Q, K, V, w: (attention(Q, K, V)[1] * _band(len(Q), w)) @ V,
        "You hide after the softmax, so what is hidden has taken its share and the weights sum to less than 1. Put −∞ "
        "into the scores.",
    ),
    Slip(
        "a score of 0 for what is hidden",
        lambda Q, K, V, w: (Q @ K.mT / math.sqrt(Q.shape[-1])).masked_fill(~_band(len(Q), w), 0.0).softmax(dim=-1) @ V,
        "What is hidden gets the score 0, and e⁰ = 1 is weight. It needs −∞.",
    ),
    Slip(
        "only the first query",
        lambda Q, K, V, w: torch.cat([V[:1], _colleague(Q, K, V, w, False, True)[1:]]),
        "The first query is right now. The others of the first block see zeros as well: hide them in all of its rows.",
    ),
    Slip(
        "divided by d_k",
        lambda Q, K, V, w: _mended(Q / math.sqrt(Q.shape[-1]), K, V, w),
        "You divide the scores by d_k. It is √d_k.",
    ),
    Slip(
        "looks ahead",
        lambda Q, K, V, w: _mended(Q, K, V, w, lambda i, j, w: (i <= j) & (j < i + w)),
        "Your window looks ahead: each query sees itself and what comes after it. Exchange i and j.",
    ),
    Slip(
        "divided by √w",
        lambda Q, K, V, w: _mended(Q * math.sqrt(Q.shape[-1] / w), K, V, w),
        "You divide the scores by √w, the root of the window. It is √d_k, whatever the window.",
    ),
    Slip(
        "keys for values",
        lambda Q, K, V, w: _mended(Q, K, K, w),
        "The weights are right, but the output is a mean of keys. It is the values that are gathered.",
    ),
    Slip(
        "over the queries",
        lambda Q, K, V, w: (
            (Q @ K.mT / math.sqrt(Q.shape[-1])).masked_fill(~_band(len(Q), w), -torch.inf).softmax(dim=0) @ V
        ),
        "The softmax runs over the queries. The weights of each query sum to 1: dim=-1.",
    ),
]


@exercise("efficient.mend", answer="windowed")
def mend(student, expect):
    inputs: list[Any] = []
    for w, blocks, d in (different(3, 3, 7) for _ in range(3)):
        inputs.append((*(torch.randn(w * blocks, d) for _ in range(3)), w))
    inputs[-1][1][whole(0, len(inputs[-1][1]) - 1)] = 0  # a key that scores 0 is still seen
    holds = "every query sees w keys, or as many as there are"
    expect.agrees(student.windowed, _mended, inputs, holds, MEND_SLIPS, 1e-4)

    Q = torch.randn(whole(3, 6), 4)
    expect.agrees(
        student.windowed, _mended, [(Q, Q + 1, Q - 1, 1)], "a window of one is the word itself", tolerance=1e-4
    )


# how far does a draft get?


def _kept(p: Tensor, q: Tensor) -> float:
    return torch.minimum(p, q).sum().item()


def _expected_if(beta: Callable[[Tensor, Tensor], float]) -> Callable[[Tensor, Tensor, int], float]:
    return lambda p, q, k: sum(beta(p, q) ** t for t in range(k + 1))


_expected = _expected_if(_kept)
EXPECTED_SLIPS = [
    Slip(
        "its own token is not counted",
        lambda p, q, k: sum(_kept(p, q) ** t for t in range(1, k + 1)),
        "You count the drafted tokens only. A call gives one of the large model's own as well, also where all were kept.",
    ),
    Slip(
        "the last one is not counted",
        lambda p, q, k: sum(_kept(p, q) ** t for t in range(k)),
        "You stop at k tokens. Where all k are kept, the call gives one more: the sum has k + 1 terms.",
    ),
    Slip(
        "as if each stood alone",
        lambda p, q, k: 1 + k * _kept(p, q),
        "You count every drafted token with the same probability. After the first one that is thrown away, those behind "
        "it are lost too: β², β³, …",
    ),
    Slip(
        "a draft without end",
        lambda p, q, k: 1 / (1 - _kept(p, q)),
        "This is the sum without an end. The draft writes k tokens and no more.",
    ),
    Slip(
        "both draw the same",
        _expected_if(lambda p, q: (p * q).sum().item()),
        "Σ p·q is the chance that two independent draws agree. The rule keeps more: q(x) · min(1, p(x)/q(x)).",
    ),
    Slip(
        "the distance, not what is kept",
        _expected_if(lambda p, q: (p - q).abs().sum().item() / 2),
        "This is the probability that a token is thrown away. β is what is left of 1.",
    ),
    Slip(
        "kept tokens weighed by p",
        _expected_if(lambda p, q: (p * (p / q).clamp(max=1)).sum().item()),
        "You weigh the chance to keep a token by p. It is the draft that draws it: weigh by q.",
    ),
    Slip(
        "q over p",
        _expected_if(lambda p, q: (q * (q / p).clamp(max=1)).sum().item()),
        "You keep a token with min(1, q/p). A token that the large model finds likelier than the draft is always kept: min(1, p/q).",
    ),
    Slip(
        "every word alike",
        _expected_if(lambda p, q: (p / q).clamp(max=1).mean().item()),
        "You took the plain mean of min(1, p/q) over the words. The draft draws some words more often: weigh by q.",
    ),
    Slip(
        "as if both were greedy",
        _expected_if(lambda p, q: float(p.argmax() == q.argmax())),
        "You ask whether the favourite tokens are the same. That is the rule for greedy choice; here tokens are drawn.",
    ),
    Slip(
        "only what is kept",
        lambda p, q, k: _kept(p, q),
        "This is β, the chance that one drafted token is kept. How many tokens does a call give, then?",
    ),
    Slip(
        "the chance that all are kept",
        lambda p, q, k: _kept(p, q) ** k,
        "This is βᵏ, the chance that all drafted tokens are kept. The mean counts calls that keep fewer, too.",
    ),
    Slip(
        "nothing is thrown away",
        lambda p, q, k: k + 1,
        "This is what a perfect draft gives. Where p and q differ, some tokens are thrown away.",
    ),
    Slip(
        "a share of all",
        lambda p, q, k: (k + 1) * _kept(p, q),
        "You take the share β of k + 1 tokens. The first is given always, and those behind one that was thrown "
        "away are lost: 1 + β + β² + …",
    ),
    Slip(
        "only where all are kept",
        lambda p, q, k: (k + 1) * _kept(p, q) ** k,
        "You count only the case that all k are kept. Where fewer are kept, a call gives these and one token more.",
    ),
    Slip(
        "the last case thrown away",
        lambda p, q, k: sum((t + 1) * _kept(p, q) ** t * (1 - _kept(p, q)) for t in range(k + 1)),
        "Where all k are kept nothing is thrown away behind them: that case has the chance βᵏ, not βᵏ(1 − β).",
    ),
    Slip(
        "where all are kept",
        lambda p, q, k: 1 + sum(t * _kept(p, q) ** t * (1 - _kept(p, q)) for t in range(k + 1)),
        "Where all k are kept nothing is thrown away behind them: that case has the chance βᵏ, not βᵏ(1 − β).",
    ),
    Slip(
        "one too many",
        lambda p, q, k: sum(_kept(p, q) ** t for t in range(k + 2)),
        "You count up to k + 2 tokens. A call gives k drafted ones and one of its own at most.",
    ),
    Slip(
        "twice the distance",
        _expected_if(lambda p, q: 1 - (p - q).abs().sum().item()),
        "Σ |p − q| counts what is too much and what is too little. What is thrown away is half of it.",
    ),
]


DIVIDED = "Where p and q are equal, β is 1, and (1 − βᵏ⁺¹) / (1 − β) divides by 0. Add 1, β, β², … up to βᵏ, or answer k + 1 there."


@exercise("efficient.expected", answer="expected")
def expected(student, expect):
    draw = chance()

    def pair() -> tuple:
        v, k = draw.randint(3, 8), draw.randint(2, 6)
        p, q = torch.randn(2, v).softmax(dim=-1)
        return p, q, k

    expect.agrees(
        student.expected, _expected, [pair() for _ in range(4)], "the mean over what one call gives", EXPECTED_SLIPS
    )
    p, _, k = pair()
    halves = 0.5 ** torch.tensor([1.0, 2.0, 3.0, 3.0])  # their sum is 1 without rounding
    perfect = [(p, p, k), (halves, halves, k)]
    asked = told(student.expected, {"ZeroDivisionError": ("a perfect draft divides by 0", DIVIDED)})
    expect.agrees(asked, _expected, perfect, "a perfect draft gives k + 1", tolerance=1e-4)
