"""Judges of the exercises in chapter `cost`."""

import math
from collections.abc import Callable, Sequence
from statistics import mean, median
from typing import Any

import torch

from tfm_lib._errors import shown
from tfm_exercises.judge import Slip, exercise
from tfm_exercises.watching import Refused


def _sizes(count: int, low: int, high: int) -> list[int]:
    """`count` different whole numbers from `low` to `high`."""
    return (torch.randperm(high - low + 1)[:count] + low).tolist()


# one layer of the encoder


def _layer(n: int, d: int, d_ff: int) -> int:
    return 4 * n * d**2 + 2 * n**2 * d + 2 * n * d * d_ff


LAYER_SLIPS = [
    Slip(
        "W^O forgotten",
        lambda n, d, f: _layer(n, d, f) - n * d**2,
        "One d × d product a word is missing. Queries, keys and values make three; W^O, which mixes the heads, is the fourth.",
    ),
    Slip(
        "projections forgotten",
        lambda n, d, f: 2 * n**2 * d + 2 * n * d * f,
        "The four d × d matrices of the attention are missing: 4nd². For a sentence they cost more than the scores.",
    ),
    Slip(
        "means forgotten",
        lambda n, d, f: _layer(n, d, f) - n**2 * d,
        "You counted n²d once. QKᵀ costs it, and the weighted means, AV, cost it again.",
    ),
    Slip(
        "scores and means forgotten",
        lambda n, d, f: 4 * n * d**2 + 2 * n * d * f,
        "What grows with n² is missing: n²d for the scores and n²d for the means.",
    ),
    Slip(
        "one matrix in the feed-forward network",
        lambda n, d, f: _layer(n, d, f) - n * d * f,
        "The feed-forward network has two matrices: W₁ from d to d_ff, W₂ back from d_ff to d.",
    ),
    Slip(
        "feed-forward network forgotten",
        lambda n, d, f: _layer(n, d, f) - 2 * n * d * f,
        "This is the attention alone. The feed-forward network adds 2nd·d_ff, in the usual sizes twice the projections.",
    ),
    Slip(
        "d_ff is ignored",
        lambda n, d, f: 12 * n * d**2 + 2 * n**2 * d,
        "You took d_ff = 4d. That is usual, and not always so: use d_ff.",
    ),
    Slip(
        "additions counted too",
        lambda n, d, f: 2 * _layer(n, d, f),
        "This is twice as many: multiplications and additions. The text asks for the multiplications.",
    ),
    Slip(
        "feed-forward network of one word",
        lambda n, d, f: 4 * n * d**2 + 2 * n**2 * d + 2 * d * f,
        "The feed-forward network is counted for one word. It is applied at each of the n positions.",
    ),
    Slip(
        "feed-forward network for each pair",
        lambda n, d, f: 4 * n * d**2 + 2 * n**2 * d + 2 * n**2 * d * f,
        "The feed-forward network reads each word by itself, so it grows with n and not with n².",
    ),
    Slip(
        "projections of one word",
        lambda n, d, f: 4 * d**2 + 2 * n**2 * d + 2 * n * d * f,
        "The four projections are counted for one word. All n words are projected.",
    ),
    Slip(
        "feed-forward matrices square",
        lambda n, d, f: 4 * n * d**2 + 2 * n**2 * d + 2 * n * f**2,
        "W₁ and W₂ are counted as d_ff × d_ff. They are d × d_ff and d_ff × d.",
    ),
    Slip(
        "one word",
        lambda n, d, f: _layer(n, d, f) / n,
        "This is what one of the n words takes, with its n scores. The text asks for the whole sentence.",
    ),
    Slip(
        "softmax counted",
        lambda n, d, f: _layer(n, d, f) + n**2,
        "n² too many: one for each score, as for the scale or the softmax. Count matrix products only.",
    ),
    Slip(
        "biases counted",
        lambda n, d, f: _layer(n, d, f) + 5 * n * d + n * f,
        "The biases are counted. They are added, and nothing is multiplied with them.",
    ),
    Slip(
        "forward and backward",
        lambda n, d, f: 3 * _layer(n, d, f),
        "This is three times as many: forward and backward. The text asks for the forward pass.",
    ),
    Slip(
        "weights counted, not products",
        lambda n, d, f: 4 * d**2 + 2 * d * f,
        "These are the layer's weights. Each is multiplied once for each of the n words, and scores and means have none.",
    ),
    Slip(
        "n and d exchanged",
        lambda n, d, f: 4 * n**2 * d + 2 * n * d**2 + 2 * n * d * f,
        "n and d have changed places in the attention: its projections grow with d², its scores with n².",
    ),
]


@exercise("cost.encoder-layer", answer="encoder_layer")
def encoder_layer(student, expect):
    inputs = list(zip(_sizes(4, 3, 40), _sizes(4, 50, 90), _sizes(4, 100, 400)))
    expect.agrees(
        student.encoder_layer, _layer, inputs, "attention and feed-forward network, all n words",
        LAYER_SLIPS, tolerance=1e-9, describe="the multiplications",
    )  # fmt: skip


# where they cross


def _crossover(d: int, matrices: int, projections: int) -> int:
    """The least n with 2n²d + projections·nd² > matrices·nd²."""
    return max(1, (matrices - projections) * d // 2 + 1)


CROSSOVER_SLIPS = [
    Slip(
        "the program as it was",
        lambda d, c, p: d + 1,
        "These are still the entries of the table, n²d against nd². Each stands for a count with a factor: put the counts "
        "of both layers in.",
    ),
    Slip(
        "means forgotten",
        lambda d, c, p: max(1, (c - p) * d + 1),
        "Attention is counted with n²d. It has two such products, QKᵀ and AV.",
    ),
    Slip(
        "projections forgotten",
        lambda d, c, p: max(1, c * d // 2 + 1),
        "Attention's own projections are missing. Each costs nd², as a matrix of the recurrent layer does.",
    ),
    Slip(
        "projections on the wrong side",
        lambda d, c, p: (c + p) * d // 2 + 1,
        "The projections were added to the recurrent layer's matrices. They belong to attention's side.",
    ),
    Slip(
        "only the matrices were put in",
        lambda d, c, p: c * d + 1,
        "The recurrent layer has its matrices. Attention is still the table's n²d: it has two such products, and its own projections.",
    ),
    Slip(
        "the two exchanged",
        lambda d, c, p: max(1, (p - c) * d // 2 + 1),
        "The two layers are compared the wrong way round: matrices and projections have changed places, or the two sides have. "
        "The projections are attention's, the matrices the recurrent layer's.",
    ),
    Slip(
        "the two on the wrong side",
        lambda d, c, p: max(1, (2 * c - p) * d + 1),
        "The factor 2 stands beside the recurrent layer's matrices. It is attention that has two products, QKᵀ and AV.",
    ),
    Slip(
        "matrices are ignored",
        lambda d, c, p: max(1, (1 - p) * d // 2 + 1),
        "The recurrent layer is counted with one matrix. A word meets as many as `matrices` says.",
    ),
    Slip(
        "matrices are ignored",
        lambda d, c, p: max(1, (6 - p) * d // 2 + 1),
        "You took the six matrices of a GRU. The layer has as many as `matrices` says.",
    ),
    Slip(
        "projections are three",
        lambda d, c, p: max(1, (c - 3) * d // 2 + 1),
        "You took three projections. There are as many as `projections` says.",
    ),
    Slip(
        "as often is not more often",
        lambda d, c, p: max(1, math.ceil((c - p) * d / 2)),
        "There they multiply equally often, or attention still less. The text asks for the first n at which "
        "attention multiplies more often.",
    ),
    Slip(
        "half a word",
        lambda d, c, p: (c - p) * d / 2,
        "This is the place where the two counts are equal. The text asks for the first whole number of words "
        "beyond it.",
    ),
    Slip(
        "less than one word",
        lambda d, c, p: (c - p) * d // 2 + 1,
        "Where attention has as many matrices as the recurrent layer, or more, it multiplies more often from the first word on: 1.",
    ),
    Slip(
        "no word at all",
        lambda d, c, p: max(0, (c - p) * d // 2 + 1),
        "This says 0 words. With no word nobody multiplies: begin at 1.",
    ),
    Slip(
        "d is ignored",
        lambda d, c, p: max(1, (c - p) // 2 + 1),
        "This does not grow with d. The matrices have d² entries, a score d products: the crossing moves with d.",
    ),
    Slip(
        "projections of one word",
        lambda d, c, p: next(n for n in range(1, 10**6) if 2 * n * n * d + p * d * d > c * n * d * d),
        "The projections are counted for one word. All n words are projected, so they cost nd² each.",
    ),
]


# whatever counts an answer puts in for the three terms: told which they are
CROSSOVER_SLIPS += [
    Slip(
        "other counts",
        lambda d, c, p, a=a, b=b, r=r, more=more: max(1, int((r * c - b * p) * d // a) + 1 + more),
        f"This is the length at which {a}n²d + {b} · projections · nd² {'reaches' if more else 'exceeds'} {r} · matrices · nd². One of "
        "these counts is not right, or the comparison. Attention has the products QKᵀ and AV.",
    )
    for a in (1, 2, 4)
    for b in (0, 1, 2)
    for r in (0.5, 1, 2)
    for more in (0, -1)
    if (a, b, r, more) != (2, 1, 1, 0)
]
FEWER = ("less than one word", "no word at all")  # seen only where attention never multiplies less often


@exercise("cost.crossover", answer="crossover")
def crossover(student, expect):
    inputs = [*zip(_sizes(4, 5, 60), [8, 6, 2, 7], [0, 3, 1, 4]), (13, 6, 4)]
    expect.agrees(
        student.crossover, _crossover, inputs, "the first n at which attention multiplies more often",
        [slip for slip in CROSSOVER_SLIPS if slip.name not in FEWER], tolerance=1e-9, describe="the number of words",
    )  # fmt: skip
    more = [(d, matrices, projections) for d, matrices, projections in zip(_sizes(3, 5, 60), (2, 3, 1), (2, 5, 4))]
    expect.agrees(
        student.crossover, _crossover, more, "and 1 where attention never multiplies less often",
        [slip for slip in CROSSOVER_SLIPS if slip.name in FEWER], tolerance=1e-9, describe="the number of words",
    )  # fmt: skip


# distances that double


def _doubling(n: int, k: int, most: int, next_step: Callable[[int], int] | None = None, hop: int | None = None) -> int:
    """Layers until the last word hears the first; `next_step` makes the next distance, `hop` distances are hopped a layer."""
    heard, step, layers = 1, 1, 0
    while heard < n or layers == 0:
        heard += (k - 1 if hop is None else hop) * step
        layers += 1
        step = next_step(step) if next_step else (step * 2 if step < most else 1)
    return layers


DOUBLING_SLIPS = [
    Slip(
        "it never starts over",
        lambda n, k, most: _doubling(n, k, most, lambda step: 2 * step),
        "The distances double for ever. After the layer with `most` they start at 1 again.",
    ),
    Slip(
        "it stays at most",
        lambda n, k, most: _doubling(n, k, most, lambda step: min(2 * step, most)),
        "Once at `most`, the distance stays there. The next layer starts at 1 again.",
    ),
    Slip(
        "it starts over too early",
        lambda n, k, most: _doubling(n, k, most, lambda step: 2 * step if 2 * step < most else 1),
        "The layer with distance `most` itself is left out. Start over after it, not in its place.",
    ),
    Slip(
        "it starts over too late",
        lambda n, k, most: _doubling(n, k, most, lambda step: 2 * step if step <= most else 1),
        "A layer of distance 2 · most is put in. `most` is the largest: after its layer they start at 1 again.",
    ),
    Slip(
        "distances grow by k",
        lambda n, k, most: _doubling(n, k, most, lambda step: k * step if step < most else 1),
        "Here the distances double from layer to layer, whatever k is. The library's grow by k.",
    ),
    Slip(
        "k words for k − 1",
        lambda n, k, most: _doubling(n, k, most, hop=k),
        "A layer that looks at k words hears k − 1 new ones: the last of the k is the word itself.",
    ),
    Slip(
        "one word for k − 1",
        lambda n, k, most: _doubling(n, k, most, hop=1),
        "Each layer is counted as one hop. It looks at k words, so it reaches k − 1 distances further.",
    ),
    Slip(
        "one layer reaches only itself",
        lambda n, k, most: _doubling(n + 1, k, most),
        "One layer too many, now and then: the word itself is heard before any layer. The layers need to add n − 1 words.",
    ),
    Slip(
        "the last word is missing",
        lambda n, k, most: _doubling(max(2, n - 1), k, most),
        "A layer is missing, now and then. Of n words the first stands n − 1 places before the last.",
    ),
    Slip(
        "no distance at all",
        lambda n, k, most: _doubling(n, k, most, lambda step: 1),
        "These are layers of neighbours. From layer to layer the distance between the k words doubles.",
    ),
    Slip(
        "a logarithm to base k",
        lambda n, k, most: _doubling(n, k, most, lambda step: k * step),
        "This is log_k n, for distances that grow by k and never start over. Add up what each of these layers reaches.",
    ),
    Slip(
        "a logarithm to base 2",
        lambda n, k, most: max(1, math.ceil(math.log2(n))),
        "This is log₂ n. How far a layer reaches depends on k too, and the distances start over.",
    ),
    Slip(
        "it starts at 2",
        lambda n, k, most: _doubling_from_two(n, k, most),
        "The first layer's words stand 1 apart. Yours begins at 2.",
    ),
    Slip(
        "it starts at 2",
        lambda n, k, most: _doubling_from_two(n, k, most, again=1),
        "The first layer's words stand 1 apart. Yours doubles the distance before that layer has looked.",
    ),
    Slip(
        "whole cycles only",
        lambda n, k, most: -(-(n - 1) // ((k - 1) * (2 * most - 1))) * most.bit_length(),
        "You count whole cycles 1, 2, 4, …, most. The last one can be cut short: stop as soon as the last word hears the first.",
    ),
    Slip(
        "a layer too many",
        lambda n, k, most: _doubling(n, k, most) + 1,
        "One layer too many: stop as soon as the last word hears the first.",
    ),
    Slip(
        "most is ignored",
        lambda n, k, most: _doubling(n, k, 16),
        "The distances start over after 16, as in ByteNet. Here they do after `most`.",
    ),
]


def _doubling_from_two(n: int, k: int, most: int, again: int = 2) -> int:
    heard, step, layers = 1, 2, 0
    while heard < n or layers == 0:
        heard += (k - 1) * step
        layers += 1
        step = step * 2 if step < most else again
    return layers


@exercise("cost.doubling", answer="layers_needed")
def doubling(student, expect):
    cycles = [
        (k, most, (k - 1) * (2 * most - 1)) for k, most in ((3, 8), (2, 4), (5, 2), (4, 32))
    ]  # words a cycle reaches
    turns = _sizes(4, 2, 9)
    inputs = [
        (turn * cycle + 1 + extra, k, most)
        for turn, (k, most, cycle) in zip(turns, cycles)
        for extra in (-1, 0, 1, 2 * k - 2)  # just reached, just not, and in the middle of a cycle
    ]
    expect.agrees(
        student.layers_needed, _doubling, inputs, "the least number of layers that join all n words", DOUBLING_SLIPS,
        tolerance=1e-9, describe="the layers",
    )  # fmt: skip
    few = [(3, 3, 8), (4, 4, 2), (2, 2, 4)]
    expect.agrees(
        student.layers_needed,
        _doubling,
        few,
        "few words as well",
        DOUBLING_SLIPS,
        tolerance=1e-9,
        describe="the layers",
    )


# measured growth


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    a, b = mean(x), mean(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)


class _Machine:
    """Work that takes a known time, two of every seven calls disturbed, and a clock that tells it."""

    def __init__(self, power: float, fixed: float, seed: int):
        self.power, self.fixed, self.seed = power, fixed, seed
        self.now, self.looks, self.calls = 1000.0, 0, dict[int, int]()

    def seconds(self, n: int) -> list[float]:
        """Of seven calls in a row: the first is slow, and so is one of the others."""
        chance = torch.Generator().manual_seed(self.seed + n)
        factors = 1 + 0.2 * torch.rand(7, generator=chance)
        late = int(torch.randint(1, 7, (), generator=chance))
        factors[[0, late]] *= 4 + 30 * torch.rand(2, generator=chance)
        return [(self.fixed + n**self.power) * factor for factor in factors.tolist()]

    def work(self, n: int) -> None:
        call = self.calls[n] = self.calls.get(n, -1) + 1
        self.now += self.seconds(n)[call % 7]

    def clock(self) -> float:
        self.looks += 1
        return self.now


def _machines() -> list[_Machine]:
    powers, seeds = (torch.rand(3) * 1.5 + 0.6).tolist(), torch.randint(10**6, (3,)).tolist()
    return [_Machine(power, fixed, seed) for power, fixed, seed in zip(powers, (3.0, 40.0, 900.0), seeds)]


def _growth(
    machine: _Machine, sizes: Sequence[int], middle: Callable = median, half: slice | None = None,
    axis: Callable[[float], float] = math.log, fit: Callable = _slope,
) -> float:  # fmt: skip
    part = slice(len(sizes) // 2, None) if half is None else half
    upper = list(sizes)[part]
    return fit([axis(n) for n in upper], [axis(middle(machine.seconds(n))) for n in upper])


def _of(**change: Any) -> Callable[..., float]:
    """What an answer with this change gives; `work` and `clock` belong to a machine."""
    return lambda work, sizes, clock: _growth(work.__self__, sizes, **change)


GROWTH_SLIPS = [
    Slip("mean for median", _of(middle=mean), "This is what the mean of the rounds gives. One round that was interrupted spoils it; the median does not mind."),
    Slip("the fastest round", _of(middle=min), "You took the fastest round. The text asks for the median of the seven."),
    Slip("the slowest round", _of(middle=max), "You took the slowest round, the one that was disturbed most. The text asks for the median."),
    Slip("one round", _of(middle=lambda rounds: rounds[0]), "One round was taken for each size, and the first call is often the slowest. Take seven, and their median."),
    *(
        Slip(
            "fewer rounds",
            _of(middle=lambda rounds, count=count: median(rounds[:count])),
            f"You took {count} rounds. Of so few, too many are disturbed; take seven.",
        )
        for count in (3, 5)
    ),
    Slip("not sorted", _of(middle=lambda rounds: rounds[3]), "You took the fourth round as it came. The median is the fourth of the rounds in order of size: sort them first."),
    Slip("all sizes", _of(half=slice(None)), "All sizes went into the fit. Short calls are overhead for the most part: take the upper half of the sizes."),
    Slip("the lower half", _of(half=slice(None, 3)), "This is the slope of the small sizes. Take the upper half: sizes[len(sizes) // 2:]."),
    Slip("plain axes", _of(axis=float), "This is a slope in seconds for each word. On logarithmic axes it is the power: take the logarithm of both."),
    Slip(
        "axes exchanged",
        _of(fit=lambda x, y: _slope(y, x)),
        "The axes have changed places. The power is the slope of log time over log n.",
    ),
    Slip(
        "first and last point only",
        _of(fit=lambda x, y: (y[-1] - y[0]) / (x[-1] - x[0])),
        "Only the two outer points of the upper half count in your slope. Let all of them: the line of least squares.",
    ),
    Slip(
        "through the origin",
        _of(fit=lambda x, y: sum(p * q for p, q in zip(x, y)) / sum(p * p for p in x)),
        "Your line is forced through the origin. Subtract the means of both logarithms first.",
    ),
    Slip(
        "time over n",
        _of(fit=lambda x, y: mean(q / p for p, q in zip(x, y))),
        "You divided one logarithm by the other. The slope says by how much log time grows when log n does.",
    ),
    Slip(
        "only log of the times",
        lambda work, sizes, clock: _slope(
            list(sizes)[len(sizes) // 2 :], [math.log(median(work.__self__.seconds(n))) for n in list(sizes)[len(sizes) // 2 :]]
        ),
        "You took the logarithm of the times only. A power is a straight line when both axes are logarithmic.",
    ),
    *(
        Slip(
            "sizes are ignored",
            lambda work, sizes, clock, fixed=fixed: _growth(work.__self__, fixed),
            "You measured at sizes of your own. Measure at those that are given.",
        )
        for fixed in ([64, 128, 256, 512, 1024, 2048], [8, 16, 32, 64, 128, 256])
    ),
]  # fmt: skip


@exercise("cost.growth", answer="growth")
def growth(student, expect):
    steps = (1, 2.4, 7, 17, 60, 120)  # uneven, so that the middle point counts too
    sizes = [[int((8 + low) * step) for step in steps] for low in _sizes(3, 0, 9)]

    def power(work: Any, sizes: list[int], clock: Any) -> Any:
        machine = work.__self__
        before, looks = dict(machine.calls), machine.looks
        found = student.growth(work, sizes, clock)
        if machine.calls == before:
            raise Refused("Your answer never calls work(n). Call it between two looks at the clock.", "no work")
        if machine.looks == looks:
            raise Refused(
                "Your answer never looks at the clock that it is given. One look is clock().", "another clock"
            )
        return found

    power.__name__ = "growth"

    inputs = [(machine.work, list(some), machine.clock) for machine, some in zip(_machines(), sizes)]
    expect.agrees(
        power, _of(), inputs, "the power with which the time grows, whatever disturbs a round", GROWTH_SLIPS,
        tolerance=1e-4, describe="the power",
    )  # fmt: skip


# a model of today


def _today(v: int, d: int, L: int, h: int, kv: int, f: int) -> tuple[int, int, int]:
    d_k = d // h
    matrices = v * d + L * (2 * d * d + 2 * d * kv * d_k + 3 * d * f)
    return matrices + v * d + (2 * L + 1) * d, 2 * L * kv * d_k * 2, 2 * matrices


def _parameters(change: Callable[..., int]) -> Callable[..., int]:
    return lambda *a: _today(*a)[0] + change(*a)


PARAMETER_SLIPS = [
    Slip("embeddings once", _parameters(lambda v, d, L, h, kv, f: -v * d), "One table of words is counted. Way in and way out have one each here: they are not tied."),
    Slip("as many key heads as heads", _parameters(lambda v, d, L, h, kv, f: L * 2 * d * (d - kv * (d // h))), "W^K and W^V are counted as d × d. They make vectors for n_kv heads only: d × (n_kv · d/n_heads)."),
    Slip("two matrices in the feed-forward network", _parameters(lambda v, d, L, h, kv, f: -L * d * f), "The feed-forward network is counted with two matrices. SwiGLU has three: two up, of which one is the gate, and one down."),
    Slip("norms forgotten", _parameters(lambda v, d, L, h, kv, f: -(2 * L + 1) * d), "The norms are missing: d gains for each of two in a layer, and one more at the end."),
    Slip("last norm forgotten", _parameters(lambda v, d, L, h, kv, f: -d), "Nearly: d parameters are missing. After the last layer stands one more norm."),
    Slip("one norm a layer", _parameters(lambda v, d, L, h, kv, f: -L * d), "A layer has two norms, one before the attention and one before the feed-forward network."),
    Slip("W^O forgotten", _parameters(lambda v, d, L, h, kv, f: -L * d * d), "A d × d matrix is missing in each layer: queries have one, and W^O is another."),
    Slip("biases counted", _parameters(lambda v, d, L, h, kv, f: L * (2 * d + 2 * kv * (d // h) + 2 * f + d)), "You counted biases. These matrices have none."),
    Slip("norms with biases", _parameters(lambda v, d, L, h, kv, f: (2 * L + 1) * d), "The norms are counted with gain and bias. RMSNorm has a gain only."),
    Slip("one key head", _parameters(lambda v, d, L, h, kv, f: L * 2 * d * (1 - kv) * (d // h)), "W^K and W^V are counted for one head. There are n_kv of them."),
    Slip("one layer", lambda v, d, L, h, kv, f: _today(v, d, 1, h, kv, f)[0], "This is a model of one layer. There are n_layers of them."),
    Slip("the three in another order", lambda *a: _today(*a)[1], "These are the bytes of the cache. First come the parameters, then the bytes, then the FLOPs."),
    Slip("the three in another order", lambda *a: _today(*a)[2], "These are FLOPs. First come the parameters, then the bytes of the cache, then the FLOPs."),
]  # fmt: skip
CACHE_SLIPS = [
    Slip("half the cache", lambda *a: _today(*a)[1] // 2, "This is half. Keys and values are both kept, and a number in 16 bits takes two bytes."),
    Slip("a quarter of the cache", lambda *a: _today(*a)[1] // 4, "This is a quarter: these are numbers, of the keys only. A token keeps keys and values, two bytes a number."),
    Slip("as wide as the model", lambda v, d, L, h, kv, f: 4 * L * d, "The cache was counted with n_heads heads of keys and values. Only n_kv heads have any."),
    Slip("one layer's cache", lambda v, d, L, h, kv, f: 4 * kv * (d // h), "This is the cache of one layer. Each layer keeps its own."),
    Slip("32 bits", lambda *a: 2 * _today(*a)[1], "This is twice as much: 16 bits are two bytes."),
    Slip("the three in another order", lambda *a: _today(*a)[2], "These are FLOPs. First come the parameters, then the bytes of the cache, then the FLOPs."),
    Slip("bits for bytes", lambda *a: 8 * _today(*a)[1], "These are bits. A byte has eight."),
    Slip("one number a head", lambda v, d, L, h, kv, f: 4 * L * kv, "A key is a vector of d/n_heads numbers, not one number."),
    Slip("heads for key heads", lambda v, d, L, h, kv, f: 4 * L * kv * d, "Each key is counted as wide as the model. A head is d/n_heads wide."),
]  # fmt: skip
FLOP_SLIPS = [
    Slip("the look-up multiplied", lambda v, d, L, h, kv, f: _today(v, d, L, h, kv, f)[2] + 2 * v * d, "The table of the way in is counted. A look-up multiplies nothing: only the way out does."),
    Slip("two for every parameter", lambda *a: 2 * _today(*a)[0], "This is two for each parameter. It is the usual estimate; here leave out the look-up and the norms."),
    Slip("multiplications only", lambda *a: _today(*a)[2] // 2, "This is half: each weight costs one multiplication and one addition."),
    Slip("a training step", lambda *a: 3 * _today(*a)[2], "This is three times as much: six a weight are forward and backward together. Writing a token is a forward pass."),
    Slip("norms multiplied", lambda v, d, L, h, kv, f: _today(v, d, L, h, kv, f)[2] + 2 * (2 * L + 1) * d, "The norms are counted. Their gains are vectors; asked for are the matrices."),
    Slip("as many key heads as heads", lambda v, d, L, h, kv, f: _today(v, d, L, h, kv, f)[2] + 4 * L * d * (d - kv * (d // h)), "W^K and W^V are counted as d × d. They are d × (n_kv · d/n_heads)."),
    Slip("two matrices in the feed-forward network", lambda v, d, L, h, kv, f: _today(v, d, L, h, kv, f)[2] - 2 * L * d * f, "The feed-forward network is counted with two matrices. It has three, and each token meets all."),
    Slip("no logits", lambda v, d, L, h, kv, f: _today(v, d, L, h, kv, f)[2] - 2 * v * d, "The way out is missing: each token is multiplied with the d × v matrix that makes the logits."),
]  # fmt: skip


@exercise("cost.today", answer="today")
def today(student, expect):
    def part(place: int) -> Callable[..., Any]:
        def one(*args: int) -> Any:
            answer = student.today(*args)
            if not isinstance(answer, (tuple, list)) or len(answer) != 3:
                text = (
                    f"Expected three numbers, (parameters, bytes of cache a token, FLOPs a token), got {shown(answer)}."
                )
                raise Refused(text, "no three numbers")
            return answer[place]

        one.__name__ = "today"
        return one

    heads = [(h, kv, width) for (h, kv), width in zip(((6, 3), (8, 2), (12, 4), (10, 5)), _sizes(4, 5, 17))]
    others = zip(_sizes(4, 300, 900), _sizes(4, 2, 9), _sizes(4, 100, 260))
    inputs = [(v, h * width, L, h, kv, f) for (h, kv, width), (v, L, f) in zip(heads, others)]
    for place, slips, holds in (
        (0, PARAMETER_SLIPS, "the parameters"), (1, CACHE_SLIPS, "the bytes of cache for a token"), (2, FLOP_SLIPS, "the FLOPs for a token"),
    ):  # fmt: skip
        expect.agrees(part(place), lambda *a, place=place: _today(*a)[place], inputs, holds, slips, 1e-12, holds)
