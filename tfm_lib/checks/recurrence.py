"""Judges of the exercises in chapter `recurrence`."""

import math

import torch
from torch import Tensor

from tfm_lib.checks.judge import Mistake, exercise


@exercise("recurrence.clip", answer="clip")
def clip(student, expect):
    long = [torch.tensor([[1.0, 2.0], [2.0, 0.0]]), torch.tensor([0.0, -4.0])]  # norms 3, 4, together 5
    got = student.clip(long, 1.0)
    expect.true(
        isinstance(got, (list, tuple)) and len(got) == 2 and all(isinstance(part, Tensor) for part in got),
        holds="a list of as many tensors comes back",
        otherwise=f"Expected a list of 2 tensors, one for each parameter, got a {type(got).__name__}.",
    )
    expect.close(
        _joined(got),
        _joined(long) / 5,
        holds="a gradient of norm 5 is shortened to 1, in its own direction",
        mistakes=[
            Mistake(
                "each by itself",
                _joined([gradient / gradient.norm() for gradient in long]),
                "Each tensor was shortened by its own norm, so the gradient of norm 3 and that of norm 4 now count "
                "the same: the direction has turned. One norm over all tensors, one factor for all.",
            ),
            Mistake(
                "each number by itself",
                _joined([gradient.clamp(-1, 1) for gradient in long]),
                "Every number was cut off at ±1 by itself. That turns the direction, and the norm is still above 1. "
                "Divide all by one factor.",
            ),
            Mistake(
                "squared norm",
                _joined(long) / 25,
                "The result is 5 times too short: this divides by the sum of squares. The norm is its root.",
            ),
            Mistake(
                "norm of the norms' sum",
                _joined(long) / 7,
                "You divided by 3 + 4 = 7. The norm of both together is the root of 3² + 4², which is 5.",
            ),
        ],
        describe="two gradients of norm 3 and 4, shortened to norm 1",
    )
    short = [torch.tensor([0.3]), torch.tensor([[0.4]])]
    expect.close(
        _joined(student.clip(short, 2.0)),
        _joined(short),
        holds="a short gradient stays as it is",
        mistakes=[
            Mistake(
                "short ones stretched",
                4 * _joined(short),
                "A gradient of norm 0.5 was stretched to 2. The limit is a limit: what is shorter stays as it is.",
            )
        ],
        describe="a gradient of norm 0.5 under a limit of 2",
    )
    expect.close(
        _joined(student.clip([torch.zeros(2)], 1.0)),
        torch.zeros(2),
        holds="a gradient of 0 stays 0",
        describe="a gradient of 0",
    )


def _joined(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in tensors])


@exercise("recurrence.layers-needed", answer="layers_needed")
def layers_needed(student, expect):
    distances = [*range(1, 13), 26, 27]

    def judged(k: int, holds: str) -> None:
        expect.equal(
            [student.layers_needed(distance, k) for distance in distances],
            [_layers(distance, k) for distance in distances],
            holds=holds,
            mistakes=[
                Mistake(
                    "the position forgotten",
                    [_smallest(lambda layers, D=D: k**layers >= D) for D in distances],
                    f"At distance {k} this gives one layer, which spans {k} words. But the position itself is one of "
                    f"them: the farthest of the others stands {k - 1} places back.",
                ),
                Mistake(
                    "without dilation",
                    [math.ceil(D / (k - 1)) for D in distances],
                    "This lets each layer reach equally far. Here layer ℓ takes its words k^ℓ apart, so the span "
                    "is multiplied by k, where you add k − 1.",
                ),
                Mistake(
                    "only the last layer",
                    [_smallest(lambda layers, D=D: layers and (k - 1) * k ** (layers - 1) >= D) for D in distances],
                    "This asks the last layer alone to bridge the distance. The layers below it help: their reaches "
                    "add up, (k − 1)(1 + k + k² + …).",
                ),
                Mistake(
                    "looks both ways",
                    [_smallest(lambda layers, D=D: k**layers >= 2 * D + 1) for D in distances],
                    "This puts the position in the middle of the span. These convolutions look back only, so the "
                    "whole span lies on one side.",
                ),
            ],
            describe=f"the layers for distances {', '.join(map(str, distances))} with k = {k}",
        )

    judged(3, "k = 3: 1 layer reaches 2 words back, 2 reach 8, 3 reach 26")
    judged(4, "and k = 4")
    expect.equal(student.layers_needed(0, 3), 0, holds="distance 0 needs none", describe="distance 0")
    edges = [(k**m - 1, k, m) for k in (2, 3, 5, 6, 7) for m in (3, 5, 6)]
    expect.equal(
        [student.layers_needed(edge, k) for edge, k, _ in edges],
        [m for _, _, m in edges],
        holds="exact at the edges, where a logarithm may be a hair off",
        mistakes=[
            Mistake(
                "rounded logarithm",
                [math.ceil(math.log(edge + 1, k)) for edge, k, _ in edges],
                "A logarithm in floating-point numbers misses: math.log(125, 5) is 3.0000000000000004, and rounded "
                "up that is 4. Count with whole numbers.",
            )
        ],
        describe="distances k^L − 1 with k = 2, 3, 5, 6, 7 and L = 3, 5, 6",
    )


def _layers(distance: int, k: int) -> int:
    return _smallest(lambda layers: k**layers > distance)


def _smallest(enough) -> int:
    layers = 0
    while not enough(layers):
        layers += 1
    return layers


@exercise("recurrence.minimal-gate", answer="one_gate")
def minimal_gate(student, expect):
    d = 3
    x, h = torch.randn(2, d)
    W, U, b = torch.randn(2 * d, d), torch.randn(2 * d, d), torch.randn(2 * d)
    (W_f, W_n), (U_f, U_n), (b_f, b_n) = W.chunk(2), U.chunk(2), b.chunk(2)
    f = (W_f @ x + U_f @ h + b_f).sigmoid()
    n = (W_n @ x + U_n @ (f * h) + b_n).tanh()
    late = (W_n @ x + f * (U_n @ h) + b_n).tanh()
    open_n = (W_n @ x + U_n @ h + b_n).tanh()
    swapped_f = (W_n @ x + U_n @ h + b_n).sigmoid()
    swapped_n = (W_f @ x + U_f @ (swapped_f * h) + b_f).tanh()
    expect.close(
        student.one_gate(x, h, W, U, b),
        (1 - f) * h + f * n,
        holds="one step, on random numbers",
        mistakes=[
            Mistake(
                "gate turned round",
                f * h + (1 - f) * n,
                "The gate works the wrong way round: at 1 it keeps the old state. That is the GRU's z. Here f at 1 "
                "replaces the state, and 1 − f keeps it.",
            ),
            Mistake(
                "gate after the product",
                (1 - f) * h + f * late,
                "The candidate uses f ⊙ (U_n h), as the GRU of this chapter does. This unit lets the gate act first: "
                "U_n (f ⊙ h).",
            ),
            Mistake(
                "candidate without the gate",
                (1 - f) * h + f * open_n,
                "The candidate sees the whole old state. Its state must be f ⊙ h: the gate also decides how much of "
                "the past the candidate knows.",
            ),
            Mistake(
                "halves swapped",
                (1 - swapped_f) * h + swapped_f * swapped_n,
                "The two halves are swapped: the gate's rows come first in W, U and b, then the candidate's.",
            ),
            Mistake(
                "nothing kept",
                f * n,
                "The old state is gone: only f ⊙ n is left. Add (1 − f) ⊙ h, the part of the state that passes.",
            ),
        ],
        describe="the next state",
    )
    shut = torch.cat([torch.full((d,), -50.0), torch.zeros(d)])
    zero = torch.zeros(2 * d, d)
    expect.close(
        student.one_gate(x, h, zero, zero, shut),
        h,
        holds="a shut gate keeps the state",
        describe="the state behind a shut gate",
    )


@exercise("recurrence.linear-reach", answer="linear_reach")
def linear_reach(student, expect):
    W, U, n = torch.tensor([[2.0, 0.0], [1.0, 1.0]]), torch.tensor([[0.5, 1.0], [0.0, 0.5]]), 5
    powers = [torch.linalg.matrix_power(U, k) for k in range(n + 1)]
    slopes = [power @ W for power in powers]
    norm = torch.linalg.norm
    want = torch.stack([norm(slope) for slope in slopes[:n]])
    expect.close(
        student.linear_reach(W, U, n),
        want,
        holds="two by two, five distances",
        mistakes=[
            Mistake(
                "one step too many",
                torch.stack([norm(slope) for slope in slopes[1:]]),
                "Every value belongs to the next distance. At distance 0 the word has not passed through U at all: "
                "the slope is W itself.",
            ),
            Mistake(
                "entries raised to a power",
                torch.stack([norm(U**k @ W) for k in range(n)]),
                "U**k raises each entry by itself. The chain rule multiplies matrices: torch.linalg.matrix_power, or "
                "a loop.",
            ),
            Mistake(
                "order turned round",
                torch.stack([norm(W @ power) for power in powers[:n]]),
                "This is W U^k. The word goes through W first and through U afterwards, and what happens later stands "
                "further left: U^k W.",
            ),
            Mistake(
                "without W",
                torch.stack([norm(power) for power in powers[:n]]),
                "This is the norm of ∂h_T/∂h_t. The word itself enters through W, one more factor.",
            ),
            Mistake(
                "product of norms",
                torch.stack([norm(U) ** k * norm(W) for k in range(n)]),
                "You multiplied the norms of the factors. The norm of a product may be smaller: multiply the "
                "matrices first, then take the norm.",
            ),
            Mistake(
                "by position, not by distance",
                want.flip(0),
                "The right numbers, from the first word to the last. They were to begin at distance 0.",
            ),
            Mistake(
                "largest stretch",
                torch.stack([torch.linalg.matrix_norm(slope, 2) for slope in slopes[:n]]),
                "This is the spectral norm, the largest stretch in any direction. The Frobenius norm is the root of "
                "the sum of all squared entries.",
            ),
        ],
        describe="the norms at distances 0 to 4",
    )
    _against_autograd(student, expect)


def _against_autograd(student, expect):
    W, U, X = torch.randn(3, 2), torch.randn(3, 3) / 2, torch.randn(6, 2)

    def last(X):
        h = torch.zeros(3)
        for x in X:
            h = W @ x + U @ h
        return h

    jacobian = torch.autograd.functional.jacobian(last, X)
    expect.close(
        student.linear_reach(W, U, 6),
        jacobian.square().sum(dim=(0, 2)).sqrt().flip(0),
        holds="the same as autograd's, for words narrower than the state",
        tolerance=1e-4,
        describe="the norms for W of shape (3, 2) and U of shape (3, 3)",
    )


BOS, EOS = 1, 2


@exercise("recurrence.speak", answer="speak")
def speak(student, expect):
    got = student.speak(*_storyteller([5, 3, 4, EOS, 6]), BOS, EOS, 9)
    stuck = [5] * 9
    expect.equal(
        got,
        [5, 3, 4],
        holds="what the decoder writes, up to its end sign",
        mistakes=[
            Mistake(
                "always fed the start sign",
                stuck,
                "The same word came out each time, because <bos> went in each time. The word that comes out is the "
                "next one that goes in.",
            ),
            Mistake(
                "state not handed on",
                [5, 7, 7, 7, 7, 7, 7, 7, 7],
                "The decoder lost its place after the first word: each step began from the first state. step gives "
                "back a new state; hand that one on.",
            ),
            Mistake(
                "end sign written",
                [5, 3, 4, EOS],
                "The end sign is part of your answer. It says that the sentence is over; it is not a word of it.",
            ),
            Mistake(
                "start sign written",
                [BOS, 5, 3, 4],
                "The answer begins with <bos>. That sign only sets the decoder going.",
            ),
            Mistake(
                "does not stop",
                [5, 3, 4, 6, 6, 6, 6, 6],
                "Writing went on after <eos>, and only the sign itself was left out. The sentence ends there.",
            ),
            Mistake(
                "does not stop",
                [5, 3, 4, EOS, 6, 6, 6, 6, 6],
                "Writing went on after <eos>. The sentence ends there.",
            ),
        ],
        describe="the words of a decoder that writes 5, 3, 4 and <eos>",
    )
    expect.equal(
        student.speak(*_storyteller([6, 5, 4, 3, 6, 5]), BOS, EOS, 3),
        [6, 5, 4],
        holds="it stops after max_len words where no end sign comes",
        mistakes=[
            Mistake(
                "one word too many",
                [6, 5, 4, 3],
                "max_len is 3, and 4 words came.",
            ),
            Mistake(
                "start sign counted",
                [6, 5],
                "max_len is 3, and 2 words came. <bos> was never written, so it does not count.",
            ),
        ],
        describe="3 words of a decoder that never ends",
    )
    expect.equal(
        student.speak(*_storyteller([EOS, 5]), BOS, EOS, 4),
        [],
        holds="a decoder with nothing to say says nothing",
        describe="the words of a decoder that ends at once",
    )


def _storyteller(story: list[int]):
    """A decoder that writes `story` if it is fed its own last word and state, and something else if it is not."""

    def step(word, place):
        expected = BOS if place == 0 else story[min(place, len(story)) - 1]
        if word == BOS:
            said = story[0]
        elif word == expected:
            said = story[place] if place < len(story) else story[-1]
        else:
            said = 7
        probabilities = [0.02] * 8
        probabilities[said] = 0.86
        return probabilities, place + 1

    return step, 0
