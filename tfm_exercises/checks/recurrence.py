"""Judges of the exercises in chapter `recurrence`."""

import math
import operator
import random
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tfm_exercises.judge import Slip, exercise


@exercise("recurrence.clip", answer="clip", forbids=("torch.nn.utils.clip_grad_norm_",))
def clip(student, expect):
    shapes: list[list[tuple[int, ...]]] = [[(3, 5), (2,)], [(3,), (1, 2, 2), (6, 4)], [(4, 5), (2,), (3, 1)], [(7, 2)]]
    long = [
        (_of_norm(norm, *sizes), limit)
        for sizes, norm, limit in zip(shapes, (70.0, 45.0, 80.0, 60.0), (2.5, 0.7, 3, 4))
    ]
    first = student.clip(*long[0])
    expect.true(
        isinstance(first, (list, tuple)) and len(first) == 2 and all(isinstance(part, Tensor) for part in first),
        holds="a list of as many tensors comes back",
        otherwise=f"Expected a list of 2 tensors, one for each parameter, got a {type(first).__name__}.",
        mistake="one long vector" if isinstance(first, Tensor) and first.shape == (17,) else None,
    )
    expect.agrees(
        student.clip,
        _clipped,
        long,
        holds="what is too long is shortened to the limit, in its own direction",
        slips=[
            Slip(
                "each by itself",
                lambda gradients, limit: [_clipped([gradient], limit)[0] for gradient in gradients],
                "Each tensor was shortened by its own norm, so a long gradient and a short one come to count the "
                "same: the direction has turned. One norm over all tensors, one factor for all.",
            ),
            Slip(
                "each by itself",
                lambda gradients, limit: [gradient / gradient.norm() * limit for gradient in gradients],
                "Each tensor was brought to the limit by its own norm. That turns the direction, and together they are "
                "longer than the limit. One norm over all tensors, one factor for all.",
            ),
            Slip(
                "each number by itself",
                lambda gradients, limit: [gradient.clamp(-limit, limit) for gradient in gradients],
                "Every number was cut off at ± the limit by itself. That turns the direction, and the norm is still "
                "too large. Divide all by one factor.",
            ),
            _wrong_factor(
                "squared norm",
                lambda flat, limit: limit / flat.square().sum(),
                "This divides by the sum of squares. The norm is its root.",
            ),
            _wrong_factor(
                "squared norm",
                lambda flat, limit: limit**2 / flat.square().sum(),
                "Both the limit and the norm are squared here. The factor is the limit over the norm itself.",
            ),
            _wrong_factor(
                "root of the factor",
                lambda flat, limit: (limit / flat.norm()).sqrt(),
                "The factor is the root of what it should be. A vector times c has a norm times c: limit over norm.",
            ),
            Slip(
                "norm of the norms' sum",
                lambda gradients, limit: _times(gradients, limit / sum(gradient.norm() for gradient in gradients)),
                "You added the norms of the tensors. The norm of all together is the root of the sum of their squares.",
            ),
            Slip(
                "largest norm only",
                lambda gradients, limit: _times(gradients, limit / max(gradient.norm() for gradient in gradients)),
                "You took the largest of the tensors' norms. All tensors together are one long vector, and longer.",
            ),
            Slip(
                "first tensor's norm",
                lambda gradients, limit: _times(gradients, limit / gradients[0].norm()),
                "The factor comes from the first tensor alone. Add the squares of all of them.",
            ),
            Slip(
                "last tensor's norm",
                lambda gradients, limit: _times(gradients, limit / gradients[-1].norm()),
                "The factor comes from the last tensor alone. Is the sum of squares set back inside your loop?",
            ),
            _wrong_factor(
                "largest number",
                lambda flat, limit: limit / flat.abs().max(),
                "You divided by the largest number. The norm is the root of the sum of all squares.",
            ),
            _wrong_factor(
                "sum of sizes",
                lambda flat, limit: limit / flat.abs().sum(),
                "You divided by the sum of the absolute values. This norm is the root of the sum of squares.",
            ),
            _wrong_factor(
                "mean for sum",
                lambda flat, limit: limit / flat.square().mean().sqrt(),
                "You took the mean of the squares. The norm has their sum under the root.",
            ),
            _wrong_factor(
                "factor upside down",
                lambda flat, limit: flat.norm() / limit,
                "The gradient grew: the factor stands upside down. It is the limit over the norm.",
            ),
            _wrong_factor(
                "not divided by the norm",
                lambda flat, limit: limit,
                "You multiplied by the limit alone. The factor is the limit over the norm.",
            ),
            _wrong_factor(
                "mean for sum",
                lambda flat, limit: limit / flat.abs().mean(),
                "You took the mean of the absolute values. The norm is the root of the sum of all squares.",
            ),
            Slip(
                "flattened",
                lambda gradients, limit: [gradient.flatten() for gradient in _clipped(gradients, limit)],
                "The numbers are right, but the tensors have lost their shapes.",
            ),
            Slip(
                "mean of the tensors",
                lambda gradients, limit: _times(gradients, limit * len(gradients) ** 0.5 / _joined(gradients).norm()),
                "You took the mean of the tensors' squared norms. Add them.",
            ),
            _wrong_factor(
                "max_norm is ignored",
                lambda flat, limit: 1 / flat.norm(),
                "What comes out has norm 1 whatever the limit is. Where does max_norm enter?",
            ),
            _wrong_factor(
                "never shortened",
                lambda flat, limit: 1.0,
                "The gradients came back as long as they were. Their norm lies above the limit here: which way round "
                "does your comparison stand?",
            ),
        ],
        describe="the gradients",
    )
    expect.agrees(
        student.clip,
        _clipped,
        [(_of_norm(3.0, (8, 4), (1,)), 2.5), (_of_norm(4.0, (2,), (5, 4)), 3.2)],
        holds="one factor for all, where one of the tensors would be short enough",
        slips=[
            Slip(
                "the short ones spared",
                lambda gradients, limit: [
                    g * limit / _joined(gradients).norm() if g.norm() > limit else g for g in gradients
                ],
                "A tensor that is short by itself was left as it is. The norm of all together decides, and all are multiplied.",
            )
        ],
        describe="the gradients",
    )
    norms = [
        (0.5, 2.0),
        (1.7, 2.2),
        (3.1, 3.2),
        (1.3, 2.4),
    ]  # each with its limit, which the last one's square keeps too
    short = [(_of_norm(norm, *sizes), limit) for sizes, (norm, limit) in zip(shapes, norms)]
    expect.agrees(
        student.clip,
        _clipped,
        short,
        holds="what is short enough stays as it is",
        slips=[
            _wrong_factor(
                "short ones stretched",
                lambda flat, limit: limit / flat.norm(),
                "A short gradient was stretched to the limit. The limit is a limit: what is shorter stays as it is.",
            ),
            _wrong_factor(
                "compared with 1",
                lambda flat, limit: min(1.0, 1 / flat.norm()),
                "A gradient within the limit was shortened to 1. What is it compared with?",
            ),
            _wrong_factor(
                "compared with 1",
                lambda flat, limit: limit / flat.norm() if flat.norm() > 1 else 1.0,
                "A gradient longer than 1, but within the limit, was changed. What is it compared with?",
            ),
            _wrong_factor(
                "squared norm compared",
                lambda flat, limit: limit / flat.norm() if flat.square().sum() > limit else 1.0,
                "A gradient within the limit was changed, though a shorter one was not: the sum of squares is compared "
                "with the limit. Compare its root.",
            ),
            _wrong_factor(
                "short ones lost",
                lambda flat, limit: 0.0,
                "A short gradient became 0. It should stay as it is.",
            ),
        ],
        describe="gradients within the limit",
    )
    expect.agrees(
        student.clip,
        _clipped,
        [([torch.zeros(2), torch.zeros(1, 3)], limit) for limit in (0.5, 2.0, 3.0)],
        holds="a gradient of 0 stays 0",
        slips=[
            _wrong_factor(
                "0 divided by 0",
                lambda flat, limit: math.nan,
                "A gradient of 0 became NaN: its norm is 0, and 0/0 is NaN. Divide only what is too long.",
            )
        ],
        describe="gradients of 0",
    )


def _of_norm(norm: float, *shapes: tuple[int, ...]) -> list[Tensor]:
    """Random tensors of these shapes whose common norm is `norm`."""
    tensors = [torch.randn(shape) for shape in shapes]
    return _times(tensors, norm / _joined(tensors).norm())


def _joined(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in tensors])


def _times(tensors: list[Tensor], factor: Tensor | float) -> list[Tensor]:
    return [factor * tensor for tensor in tensors]


def _clipped(gradients: list[Tensor], max_norm: float) -> list[Tensor]:
    norm = _joined(gradients).norm()
    return _times(gradients, max_norm / norm if norm > max_norm else 1.0)


def _wrong_factor(name: str, factor: Callable[[Tensor, float], Tensor | float], message: str) -> Slip:
    """A slip that multiplies all tensors by a factor made from the one long vector and the limit."""
    return Slip(name, lambda gradients, limit: _times(gradients, factor(_joined(gradients), limit)), message)


@exercise("recurrence.layers-needed", answer="layers_needed")
def layers_needed(student, expect):
    anywhere = [(int(torch.randint(k, 9 * k, ())), k) for k in (5, 2, 7, 4)]
    edges = [(k**m + more, k) for k, m in ((4, 2), (2, 4), (6, 1), (7, 2)) for more in (-2, -1, 0, 1)]
    slips = _slips_of_layers()
    expect.agrees(
        student.layers_needed,
        _layers,
        [*edges, *anywhere],
        holds="right for k = 2, 4, 5, 6 and 7, below, at and above the edge of a layer's reach",
        slips=slips,
        describe="the number of layers",
    )
    hairs = [(k**m + more, k) for k, m in ((5, 3), (3, 5), (6, 3), (10, 3), (2, 9), (3, 6)) for more in (-1, 0)]
    expect.agrees(
        student.layers_needed,
        _layers,
        hairs,
        holds="exact at the far edges, where a logarithm may be a hair off",
        slips=[slip for slip in slips if slip.name in ("rounded logarithm", "k is ignored")],
        describe="the number of layers at an edge",
    )
    expect.agrees(
        student.layers_needed,
        _layers,
        [(0, 4), (0, 2), (0, 7)],
        holds="distance 0 needs none",
        slips=[
            Slip(
                "distance 0 needs one",
                lambda distance, k: 1,
                "For distance 0 this asks for a layer. A word reaches its own place with no layer at all.",
            )
        ],
        describe="distance 0",
    )


def _slips_of_layers() -> list[Slip]:
    smallest = _smallest
    hair = (
        "A logarithm in floating-point numbers misses: math.log(125, 5) is 3.0000000000000004, and rounded up that is "
        "4. Count with whole numbers."
    )
    return [
        Slip(
            "the position forgotten",
            lambda distance, k: smallest(lambda layers: k**layers >= distance),
            "At distance k this gives one layer, which spans k words. But the position itself is one of them: the "
            "farthest of the others stands k − 1 places back.",
        ),
        Slip(
            "one word too careful",
            lambda distance, k: smallest(lambda layers: k**layers - 1 > distance),
            "Where the farthest word that L layers reach stands just at the distance, this asks for one more. Reaching "
            "it is enough: ≥, not >.",
        ),
        Slip(
            "without dilation",
            lambda distance, k: math.ceil(distance / (k - 1)),
            "This lets each layer reach equally far. Here layer ℓ takes its words k^ℓ apart, so the span is multiplied "
            "by k, where you add k − 1.",
        ),
        Slip(
            "without dilation",
            lambda distance, k: math.ceil(distance / k),
            "This lets each layer reach k words further, all alike. Here the words that a layer takes stand k times "
            "further apart than in the layer below.",
        ),
        Slip(
            "without dilation",
            lambda distance, k: distance // (k - 1),
            "This lets each layer reach equally far, and rounds down. Here the words that a layer takes stand k times "
            "further apart than in the layer below.",
        ),
        Slip(
            "one layer a word",
            lambda distance, k: distance,
            "This asks for a layer for each word between. One layer bridges k − 1 words, and the next ones far more.",
        ),
        Slip(
            "only the last layer",
            lambda distance, k: smallest(lambda layers: layers and (k - 1) * k ** (layers - 1) >= distance),
            "This asks the last layer alone to bridge the distance. The layers below it help: their reaches add up, "
            "(k − 1)(1 + k + k² + …).",
        ),
        Slip(
            "looks both ways",
            lambda distance, k: smallest(lambda layers: k**layers >= 2 * distance + 1),
            "This puts the position in the middle of the span. These convolutions look back only, so the whole span "
            "lies on one side.",
        ),
        Slip(
            "one word a layer",
            lambda distance, k: smallest(lambda layers: (k**layers - 1) // (k - 1) >= distance),
            "You added the dilations 1, k, k², …, one for each layer. A layer sees k − 1 words besides the position, so "
            "it reaches k − 1 times its dilation.",
        ),
        Slip(
            "k words besides itself",
            lambda distance, k: smallest(lambda layers: k * (k**layers - 1) // (k - 1) >= distance),
            "You let a layer reach k times its dilation. Of the k words that it sees, one is the position itself.",
        ),
        Slip(
            "dilations that double",
            lambda distance, k: smallest(lambda layers: (k - 1) * (2**layers - 1) >= distance),
            "Your dilations double: 1, 2, 4. Here they are 1, k, k².",
        ),
        Slip(
            "k − 1 as the base",
            lambda distance, k: smallest(
                lambda layers: (k == 2 and layers >= distance) or (k - 1) ** layers > distance
            ),
            "This multiplies the span by k − 1 in each layer. It is multiplied by k: from each of k words, k more.",
        ),
        Slip(
            "one layer too many",
            lambda distance, k: _layers(distance, k) + 1,
            "Always one layer too many. What does your count hold before the first layer?",
        ),
        Slip(
            "one layer too few",
            lambda distance, k: _layers(distance, k) - 1,
            "Always one layer too few. Does your count include the last layer, the one that closes the gap?",
        ),
        Slip("rounded logarithm", lambda distance, k: math.ceil(math.log(distance + 1, k)), hair),
        Slip("rounded logarithm", lambda distance, k: math.floor(math.log(distance, k)) + 1, hair),
        Slip("rounded logarithm", lambda distance, k: int(math.log(distance, k)) + 1, hair),
        Slip("rounded logarithm", lambda distance, k: math.ceil(math.log2(distance + 1) / math.log2(k)), hair),
        Slip(
            "rounded down",
            lambda distance, k: int(math.log(distance + 1, k) + 1e-9),
            "A logarithm between two whole numbers was rounded down. So many layers do not reach far enough: round up.",
        ),
        Slip(
            "rounded to the nearest",
            lambda distance, k: round(math.log(distance + 1, k)),
            "A logarithm between two whole numbers was rounded to the nearest. Where that is the lower one, so many layers "
            "do not reach far enough: round up.",
        ),
        Slip(
            "not a whole number",
            lambda distance, k: math.log(distance + 1, k),
            "The logarithm itself came back. Half a layer cannot be built: give the next whole number.",
        ),
        *[
            Slip(
                "k is ignored",
                lambda distance, k, fixed=fixed: _layers(distance, fixed),
                f"The answer is that of k = {fixed} for every k. Where does k enter?",
            )
            for fixed in (2, 3)
        ],
    ]


def _layers(distance: int, k: int) -> int:
    return _smallest(lambda layers: k**layers > distance)


def _smallest(enough: Callable[[int], Any]) -> int:
    layers = 0
    while not enough(layers):
        layers += 1
    return layers


@exercise("recurrence.minimal-gate", answer="one_gate")
def minimal_gate(student, expect):
    inputs = [
        (*torch.randn(2, d), torch.randn(2 * d, d), torch.randn(2 * d, d), torch.randn(2 * d)) for d in (3, 5, 2, 1)
    ]
    expect.agrees(
        student.one_gate,
        _gated,
        inputs,
        holds="one step on random numbers, for states of 3, 5, 2 and 1 numbers",
        slips=_slips_of_the_gate(),
        describe="the next state",
    )
    shut = []
    for d in (4, 2, 6):
        bias = torch.cat([torch.full((d,), -50.0), torch.randn(d)])
        shut.append((*torch.randn(2, d), torch.zeros(2 * d, d), torch.randn(2 * d, d) / 9, bias))
    expect.agrees(
        student.one_gate,
        _gated,
        shut,
        holds="a shut gate keeps the state",
        describe="the state behind a shut gate",
    )


def _gated(
    x,
    h,
    W,
    U,
    b,
    mix=lambda f, h, n: (1 - f) * h + f * n,
    past=lambda f, h: f * h,
    gate=torch.sigmoid,
    squash=torch.tanh,
):
    (W_f, W_n), (U_f, U_n), (b_f, b_n) = W.chunk(2), U.chunk(2), b.chunk(2)
    f = gate(W_f @ x + U_f @ h + b_f)
    n = squash(W_n @ x + U_n @ past(f, h) + b_n)
    return mix(f, h, n)


def _gated_late(x, h, W, U, b):
    """The gate acts after the product with U_n, as a GRU's."""
    (x_f, x_n), (h_f, h_n) = (W @ x + b).chunk(2), (U @ h).chunk(2)
    f = (x_f + h_f).sigmoid()
    return (1 - f) * h + f * (x_n + f * h_n).tanh()


def _gated_blind(x, h, W, U, b):
    """The gate does not see the old state."""
    (W_f, W_n), (_, U_n), (b_f, b_n) = W.chunk(2), U.chunk(2), b.chunk(2)
    f = (W_f @ x + b_f).sigmoid()
    return (1 - f) * h + f * (W_n @ x + U_n @ (f * h) + b_n).tanh()


def _gated_word(x, h, W, U, b):
    """The gate acts on the word, not on the state."""
    (W_f, W_n), (U_f, U_n), (b_f, b_n) = W.chunk(2), U.chunk(2), b.chunk(2)
    f = (W_f @ x + U_f @ h + b_f).sigmoid()
    return (1 - f) * h + f * (W_n @ (f * x) + U_n @ h + b_n).tanh()


def _turned(halves: Tensor) -> Tensor:
    return torch.cat(halves.chunk(2)[::-1])


def _each_half(halves: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    return torch.cat([change(half) for half in halves.chunk(2)])


def _slips_of_the_gate() -> list[Slip]:
    def slip(name: str, message: str, **changes: Callable) -> Slip:
        return Slip(name, lambda *args: _gated(*args, **changes), message)

    def same(x: Tensor) -> Tensor:
        return x

    def half_zero(b: Tensor, which: int) -> Tensor:
        return torch.cat([part * (place != which) for place, part in enumerate(b.chunk(2))])

    return [
        slip(
            "gate turned round",
            "The gate works the wrong way round: at 1 it keeps the old state. That is the GRU's z. Here f at 1 replaces "
            "the state, and 1 − f keeps it.",
            mix=lambda f, h, n: f * h + (1 - f) * n,
        ),
        Slip(
            "gate after the product",
            _gated_late,
            "The candidate uses f ⊙ (U_n h), as the GRU of this chapter does. This unit lets the gate act first: "
            "U_n (f ⊙ h).",
        ),
        slip(
            "candidate without the gate",
            "The candidate sees the whole old state. Its state must be f ⊙ h: the gate also decides how much of the "
            "past the candidate knows.",
            past=lambda f, h: h,
        ),
        slip(
            "candidate sees what is kept",
            "The candidate sees (1 − f) ⊙ h. It must see f ⊙ h.",
            past=lambda f, h: (1 - f) * h,
        ),
        slip(
            "candidate without the past",
            "The candidate sees the word only: U_n (f ⊙ h) is missing.",
            past=lambda f, h: 0 * h,
        ),
        Slip(
            "gate on the word",
            _gated_word,
            "The gate lies on the word x. In the candidate it belongs to the state: f ⊙ h.",
        ),
        Slip(
            "halves swapped",
            lambda x, h, W, U, b: _gated(x, h, _turned(W), _turned(U), _turned(b)),
            "The two halves are swapped: the gate's rows come first in W, U and b, then the candidate's.",
        ),
        Slip(
            "every other row",
            lambda x, h, W, U, b: _gated(x, h, *(torch.cat([part[::2], part[1::2]]) for part in (W, U, b))),
            "You took every other row for the gate. Its part is the first half, whole: chunk(2), or [:d].",
        ),
        slip(
            "nothing kept",
            "The old state is gone: only f ⊙ n is left. Add (1 − f) ⊙ h, the part of the state that passes.",
            mix=lambda f, h, n: f * n,
        ),
        slip("candidate only", "This is the candidate n. The gate mixes it with the old state.", mix=lambda f, h, n: n),
        slip(
            "gate returned",
            "This is the gate f itself. It mixes the old state with the candidate.",
            mix=lambda f, h, n: f,
        ),
        slip(
            "old state kept whole",
            "The old state is kept whole and f ⊙ n added. What comes must make room: (1 − f) ⊙ h.",
            mix=lambda f, h, n: h + f * n,
        ),
        slip(
            "candidate unweighted", "The candidate is added whole. Weigh it by f.", mix=lambda f, h, n: (1 - f) * h + n
        ),
        slip("no tanh", "The candidate has no tanh.", squash=same),
        slip(
            "sigmoid for tanh",
            "The candidate is bent by a sigmoid, so it is never negative. It needs tanh.",
            squash=torch.sigmoid,
        ),
        slip("no sigmoid", "The gate has no sigmoid, so it leaves the range from 0 to 1.", gate=same),
        slip(
            "softmax for sigmoid",
            "The gate is a softmax, so its numbers share one 1. Each is a gate of its own: σ.",
            gate=lambda scores: scores.softmax(-1),
        ),
        slip("no sigmoid", "The gate is a ReLU, so it may be larger than 1. A gate needs σ.", gate=torch.relu),
        slip(
            "one gate for all",
            "All numbers share one gate, the mean. Each has its own.",
            gate=lambda scores: scores.sigmoid().mean().expand(len(scores)),
        ),
        slip(
            "tanh of the mixture",
            "A tanh bends the mixture as well. Only the candidate is bent.",
            mix=lambda f, h, n: ((1 - f) * h + f * n).tanh(),
        ),
        slip(
            "sign of the difference",
            "You wrote h + f ⊙ (h − n), which moves away from the candidate. It is h + f ⊙ (n − h).",
            mix=lambda f, h, n: h + f * (h - n),
        ),
        slip(
            "two things returned",
            "Return the next state alone; the gate came with it.",
            mix=lambda f, h, n: ((1 - f) * h + f * n, f),
        ),
        slip(
            "two things returned",
            "Return the next state alone; the candidate came with it.",
            mix=lambda f, h, n: ((1 - f) * h + f * n, n),
        ),
        Slip(
            "gate without the past",
            _gated_blind,
            "The gate sees the word only: U_f h is missing.",
        ),
        slip("tanh for sigmoid", "The gate is bent by tanh, so it may be negative. A gate needs σ.", gate=torch.tanh),
        slip(
            "σ and tanh exchanged",
            "σ and tanh are exchanged: σ makes the gate, tanh the candidate.",
            gate=torch.tanh,
            squash=torch.sigmoid,
        ),
        Slip(
            "b is ignored",
            lambda x, h, W, U, b: _gated(x, h, W, U, 0 * b),
            "The bias b changes nothing. Both parts need their half of it.",
        ),
        Slip(
            "candidate without its bias",
            lambda x, h, W, U, b: _gated(x, h, W, U, half_zero(b, 1)),
            "The candidate lacks its bias, the second half of b.",
        ),
        Slip(
            "gate without its bias",
            lambda x, h, W, U, b: _gated(x, h, W, U, half_zero(b, 0)),
            "The gate lacks its bias, the first half of b.",
        ),
        Slip(
            "one bias for both",
            lambda x, h, W, U, b: _gated(x, h, W, U, torch.cat([b.chunk(2)[0]] * 2)),
            "Gate and candidate share the first half of b. The second half belongs to the candidate.",
        ),
        Slip(
            "x is ignored",
            lambda x, h, W, U, b: _gated(0 * x, h, W, U, b),
            "The word x changes nothing. It enters both the gate and the candidate, through W.",
        ),
        Slip(
            "U is ignored",
            lambda x, h, W, U, b: _gated(x, h, W, 0 * U, b),
            "U changes nothing. Through it the old state enters both the gate and the candidate.",
        ),
        Slip(
            "W and U exchanged",
            lambda x, h, W, U, b: _gated_exchanged(x, h, W, U, b),
            "W and U are exchanged: W belongs to the word, U to the state.",
        ),
        Slip(
            "matrices transposed",
            lambda x, h, W, U, b: _gated(x, h, _each_half(W, torch.t), _each_half(U, torch.t), b),
            "Your matrices are transposed, as x @ W makes them. The text writes W x: W @ x.",
        ),
    ]


def _gated_exchanged(x, h, W, U, b):
    (W_f, W_n), (U_f, U_n), (b_f, b_n) = W.chunk(2), U.chunk(2), b.chunk(2)
    f = (U_f @ x + W_f @ h + b_f).sigmoid()
    return (1 - f) * h + f * (U_n @ x + W_n @ (f * h) + b_n).tanh()


@exercise("recurrence.linear-reach", answer="linear_reach", forbids=("autograd",))
def linear_reach(student, expect):
    sizes = [(2, 2, 4), (3, 2, 5), (4, 5, 3), (5, 3, 6), (3, 4, 1)]  # the state, the word, n: square first
    inputs = [(torch.randn(d, d_x), torch.randn(d, d) * 0.8, n) for d, d_x, n in sizes]
    norm = torch.linalg.norm

    def of_slopes(measure: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor, int], Tensor]:
        return lambda W, U, n: torch.stack([measure(slope) for slope in _slopes(W, U, n)])

    expect.agrees(
        student.linear_reach,
        of_slopes(norm),
        inputs,
        holds="right for square W and for words wider and narrower than the state, at up to six distances",
        slips=[
            Slip(
                "one step too many",
                lambda W, U, n: of_slopes(norm)(W, U, n + 1)[1:],
                "Every value belongs to the next distance. At distance 0 the word has not passed through U at all: the "
                "slope is W itself.",
            ),
            Slip(
                "entries raised to a power",
                lambda W, U, n: torch.stack([norm(U**k @ W) for k in range(n)]),
                "U**k raises each entry by itself. The chain rule multiplies matrices: torch.linalg.matrix_power, or a "
                "loop.",
            ),
            Slip(
                "order turned round",
                lambda W, U, n: torch.stack([norm(W @ torch.linalg.matrix_power(U, k)) for k in range(n)]),
                "This is W U^k. The word goes through W first and through U afterwards, and what happens later stands "
                "further left: U^k W.",
            ),
            Slip(
                "W is ignored",
                lambda W, U, n: of_slopes(norm)(torch.eye(len(U)), U, n),
                "This is the norm of ∂h_T/∂h_t. The word itself enters through W, one more factor.",
            ),
            Slip(
                "U is ignored",
                lambda W, U, n: norm(W).repeat(n),
                "The same value at every distance: that of W. Each step between multiplies by U.",
            ),
            Slip(
                "U transposed",
                lambda W, U, n: of_slopes(norm)(W, U.T, n),
                "U is transposed. ∂h_t/∂h_{t−1} is U as it stands.",
            ),
            Slip(
                "product of norms",
                lambda W, U, n: torch.stack([norm(U) ** k * norm(W) for k in range(n)]),
                "You multiplied the norms of the factors. The norm of a product may be smaller: multiply the matrices "
                "first, then take the norm.",
            ),
            Slip(
                "product of norms",
                lambda W, U, n: torch.stack([norm(torch.linalg.matrix_power(U, k)) * norm(W) for k in range(n)]),
                "You multiplied the norm of U^k by that of W. The norm of a product may be smaller: multiply the "
                "matrices first, then take the norm.",
            ),
            Slip(
                "by position, not by distance",
                lambda W, U, n: of_slopes(norm)(W, U, n).flip(0),
                "The right numbers, from the first word to the last. They were to begin at distance 0.",
            ),
            Slip(
                "largest stretch",
                of_slopes(lambda slope: torch.linalg.matrix_norm(slope, 2)),
                "This is the spectral norm, the largest stretch in any direction. The Frobenius norm is the root of the "
                "sum of all squared entries.",
            ),
            Slip(
                "no root",
                of_slopes(lambda slope: slope.square().sum()),
                "This is the sum of squares. The Frobenius norm is its root.",
            ),
            Slip(
                "sum of sizes",
                of_slopes(lambda slope: slope.abs().sum()),
                "You summed the absolute values. The Frobenius norm is the root of the sum of all squared entries.",
            ),
            Slip(
                "sum of sizes",
                of_slopes(lambda slope: torch.linalg.matrix_norm(slope, 1)),
                "This is the largest sum of a column. The Frobenius norm is the root of the sum of all squared entries.",
            ),
            Slip(
                "mean for sum",
                of_slopes(lambda slope: slope.square().mean().sqrt()),
                "You took the mean of the squared entries. The Frobenius norm has their sum under the root.",
            ),
            Slip(
                "largest number",
                of_slopes(lambda slope: slope.abs().max()),
                "This is the largest entry. The Frobenius norm is the root of the sum of all squared entries.",
            ),
            Slip(
                "norm of each row",
                lambda W, U, n: torch.stack([norm(slope, dim=-1) for slope in _slopes(W, U, n)]),
                "Each row of the slope has a norm here. One norm takes all entries together.",
            ),
            Slip(
                "compared with distance 0",
                lambda W, U, n: of_slopes(norm)(W, U, n) / norm(W),
                "You divide by the norm at distance 0. The norms themselves are asked for.",
            ),
            Slip(
                "power of one number",
                lambda W, U, n: norm(W) * torch.linalg.eigvals(U).abs().max() ** torch.arange(n),
                "You multiply by the largest absolute eigenvalue at each step. That tells how it goes in the long run; the "
                "norm at a distance needs the matrices.",
            ),
            Slip(
                "power of one number",
                lambda W, U, n: norm(W) * torch.linalg.matrix_norm(U, 2) ** torch.arange(n),
                "You multiply by the largest stretch of U at each step. That is a bound; the norm itself needs the "
                "matrices.",
            ),
            Slip(
                "entry by entry",
                lambda W, U, n: torch.stack([norm(torch.linalg.matrix_power(U, k) * W) for k in range(n)]),
                "You multiply entry by entry; it fits only where W is as large as U. The product of matrices is @.",
            ),
            Slip(
                "slopes added up",
                lambda W, U, n: torch.stack([norm(total) for total in torch.stack(_slopes(W, U, n)).cumsum(0)]),
                "You added up the slopes of all distances so far. Each distance has a slope of its own, U^k W.",
            ),
            Slip(
                "times k in place of a power",
                lambda W, U, n: torch.stack([norm(k * U @ W if k else W) for k in range(n)]),
                "You multiplied U by the distance. Each step between is one more product with U.",
            ),
            Slip(
                "last distance only",
                lambda W, U, n: of_slopes(norm)(W, U, n)[-1],
                "One number came, that of the largest distance. Collect the value of each distance.",
            ),
            Slip(
                "one distance too many",
                lambda W, U, n: of_slopes(norm)(W, U, n + 1),
                "One value too many came: the distances are 0 to n − 1.",
            ),
            Slip(
                "distance 0 forgotten",
                lambda W, U, n: of_slopes(norm)(W, U, n)[1:],
                "The value at distance 0 is missing: the norm of W.",
            ),
            Slip(
                "slopes, not norms",
                lambda W, U, n: torch.stack(_slopes(W, U, n)),
                "These are the matrices themselves. The text asks for the norm of each.",
            ),
            *[
                Slip(
                    "n is ignored",
                    lambda W, U, n, fixed=fixed: of_slopes(norm)(W, U, fixed),
                    f"{fixed} values came, whatever n is.",
                )
                for fixed in (5, 4, 10, 3)
            ],
        ],
        describe="the norms",
    )


def _slopes(W: Tensor, U: Tensor, n: int) -> list[Tensor]:
    """∂h_T/∂x_t at distance 0 to n − 1."""
    return [torch.linalg.matrix_power(U, k) @ W for k in range(n)]


@exercise("recurrence.speak", answer="speak")
def speak(student, expect):
    expect.agrees(
        student.speak,
        _spoken,
        [
            _storyteller(*case)
            for case in (
                (11, 4, 7, 5, 9),
                (9, 5, 3, 3, 7),
                (13, 6, 10, 4, 8),
                (10, 3, 6, 6, 10),
                (12, 8, 5, 2, 6),
                (8, 7, 4, 4, 5),
            )
        ],
        holds="what the decoder writes, up to its end sign",
        slips=_slips_of_speaking(),
        describe="the words of a decoder that comes to its end",
    )
    expect.agrees(
        student.speak,
        _spoken,
        [_storyteller(*case) for case in ((12, 5, 8, 9, 4), (10, 6, 3, 7, 6), (9, 3, 5, 6, 1), (11, 7, 4, 5, 5))],
        holds="it stops after max_len words where no end sign has come",
        slips=[
            Slip(
                "one word too many",
                lambda step, state, bos, eos, max_len: _spoken(step, state, bos, eos, max_len + 1),
                "max_len + 1 words came. When is the length looked at, before a word is added or after?",
            ),
            Slip(
                "start sign counted",
                lambda step, state, bos, eos, max_len: _spoken(step, state, bos, eos, max_len - 1),
                "max_len − 1 words came. <bos> was never written, so it does not count.",
            ),
            Slip(
                "max_len is ignored",
                lambda step, state, bos, eos, max_len: _spoken(step, state, bos, eos, 50),
                "Writing went on past max_len words, to the end sign. Where does max_len enter?",
            ),
            *[
                Slip(
                    "max_len is ignored",
                    lambda step, state, bos, eos, max_len, fixed=fixed: _spoken(step, state, bos, eos, fixed),
                    f"At most {fixed} words came, whatever max_len is. Where does max_len enter?",
                )
                for fixed in (3, 8, 9, 10, 20)
            ],
            Slip(
                "nothing where it does not end",
                lambda step, state, bos, eos, max_len: [],
                "Nothing came where the end sign did not. What was written until then still counts.",
            ),
        ],
        describe="the words of a decoder that would write more than max_len",
    )
    expect.agrees(
        student.speak,
        _spoken,
        [_storyteller(*case) for case in ((11, 4, 8, 0, 6), (8, 6, 3, 0, 4), (9, 3, 6, 0, 3))],
        holds="a decoder with nothing to say says nothing",
        slips=_slips_of_speaking(),
        describe="the words of a decoder that ends at once",
    )


def _storyteller(v: int, bos: int, eos: int, n_words: int, max_len: int) -> tuple:
    """Arguments for `speak`: of `v` words, `n_words` are written before `eos` if each step is fed the last one's word
    and state. What is written otherwise, and after `eos`, is random.
    """
    chance = random.Random(int(torch.randint(2**31, ())))
    begin, places = chance.randint(3, 8), n_words + 22
    rows = [[[chance.random() for _ in range(v)] for _ in range(v)] for _ in range(places)]  # state, word, next word
    word = bos
    for place in range(places - begin):
        if place == n_words or place > n_words + 10:
            said = eos
        elif place == n_words + 2:
            said = 2  # only after the end, where an answer stops that takes 2 for the end sign
        else:
            said = chance.choice([other for other in range(v) if other not in (bos, eos, word, 2)])
        row = rows[begin + place][word]
        row[said] = 1.0 + row[said]
        word = said

    def step(word: int, state: int) -> tuple[list[float], int]:
        row = rows[min(operator.index(state), places - 1)][operator.index(word)]
        return [number / sum(row) for number in row], operator.index(state) + 1

    return step, begin, bos, eos, max_len


def _best(probabilities: list[float]) -> int:
    return max(range(len(probabilities)), key=probabilities.__getitem__)


def _all_words(step, state, bos: int, eos: int, max_len: int) -> list[int]:
    """`max_len` words, each fed back, whatever they are."""
    words, fed = [], bos
    for _ in range(max_len):
        probabilities, state = step(fed, state)
        fed = _best(probabilities)
        words.append(fed)
    return words


def _spoken(step, state, bos: int, eos: int, max_len: int) -> list[int]:
    return _until(_all_words(step, state, bos, eos, max_len), eos)


def _until(words: list[int], eos: int) -> list[int]:
    return words[: words.index(eos)] if eos in words else words


def _slips_of_speaking() -> list[Slip]:
    def stuck(step, state, bos, eos, max_len):
        words = []
        for _ in range(max_len):
            probabilities, state = step(bos, state)
            words.append(_best(probabilities))
        return _until(words, eos)

    def lost(step, state, bos, eos, max_len):
        words, fed = [], bos
        for _ in range(max_len):
            fed = _best(step(fed, state)[0])
            words.append(fed)
        return _until(words, eos)

    def least(step, state, bos, eos, max_len):
        words, fed = [], bos
        for _ in range(max_len):
            probabilities, state = step(fed, state)
            fed = min(range(len(probabilities)), key=probabilities.__getitem__)
            words.append(fed)
        return _until(words, eos)

    def with_end(step, state, bos, eos, max_len):
        words = _all_words(step, state, bos, eos, max_len)
        return words[: words.index(eos) + 1] if eos in words else words

    def chances(step, state, bos, eos, max_len):
        found = []
        for word in _spoken(step, state, bos, eos, max_len):
            probabilities, state = step(bos, state)
            found.append(max(probabilities))
            bos = word
        return found

    return [
        Slip(
            "always fed the start sign",
            stuck,
            "<bos> went in at every step. The word that comes out is the next one that goes in.",
        ),
        Slip(
            "state not handed on",
            lost,
            "The decoder lost its place after the first word: each step began from the first state. step gives back a "
            "new state; hand that one on.",
        ),
        Slip(
            "both signs written",
            lambda step, state, bos, eos, max_len: [bos, *with_end(step, state, bos, eos, max_len)],
            "The answer holds <bos> and <eos>. Both are signs for the decoder, not words of the sentence.",
        ),
        Slip(
            "end sign written",
            with_end,
            "The end sign is part of your answer. It says that the sentence is over; it is not a word of it.",
        ),
        Slip(
            "start sign written",
            lambda step, state, bos, eos, max_len: [bos, *_spoken(step, state, bos, eos, max_len)],
            "The answer begins with <bos>. That sign only sets the decoder going.",
        ),
        Slip(
            "does not stop",
            lambda *args: [word for word in _all_words(*args) if word != args[3]],
            "Writing went on after <eos>, and only the sign itself was left out. The sentence ends there.",
        ),
        Slip("does not stop", _all_words, "Writing went on after <eos>. The sentence ends there."),
        Slip(
            "first word lost",
            lambda *args: _spoken(*args)[1:],
            "The first word is missing. <bos> is not among what comes out, so nothing has to be cut off.",
        ),
        Slip(
            "last word lost",
            lambda *args: _spoken(*args)[:-1],
            "The last word is missing. Was it cut off together with <eos>?",
        ),
        Slip("reversed", lambda *args: _spoken(*args)[::-1], "The words came in reversed order."),
        Slip("least probable word", least, "You take the least probable word. Greedy takes the most probable one."),
        Slip(
            "probabilities written",
            chances,
            "These are the largest probabilities. The ids are their places in the list.",
        ),
        *[
            Slip(
                "eos_id is ignored",
                lambda step, state, bos, eos, max_len, fixed=fixed: _spoken(step, state, bos, fixed, max_len),
                f"Writing stops at the id {fixed}, whatever eos_id is.",
            )
            for fixed in (2, 1, 0)
        ],
        *[
            Slip(
                "bos_id is ignored",
                lambda step, state, bos, eos, max_len, fixed=fixed: _spoken(step, state, fixed, eos, max_len),
                f"The first word that went in has the id {fixed}, whatever bos_id is.",
            )
            for fixed in (1, 0, 2)
        ],
        Slip(
            "end sign fed first",
            lambda step, state, bos, eos, max_len: _spoken(step, state, eos, eos, max_len),
            "The first word that went in is <eos>. Begin with <bos>.",
        ),
        *[
            Slip(
                "state is ignored",
                lambda step, state, bos, eos, max_len, fixed=fixed: _spoken(step, fixed, bos, eos, max_len),
                "The decoder does not begin from the state that you were given.",
            )
            for fixed in (0, 1)
        ],
    ]
