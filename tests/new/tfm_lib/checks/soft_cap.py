"""Judges of the exercises in chapter `soft_cap`."""

import torch

from tfm_lib.checks.judge import Slip, exercise

# Soft cap


def _right_soft_cap(X, cap):
    return cap * (2 * torch.sigmoid(2 * X / cap) - 1)


SOFT_CAP_SLIPS = [
    Slip(
        "no cap in front",
        lambda X, cap: torch.tanh(X / cap),
        "Your results stay within ±1. What you divided by must come back in front: cap · tanh(X / cap).",
    ),
    Slip(
        "not divided",
        lambda X, cap: cap * torch.tanh(X),
        "You cap the tanh of X itself. Small numbers grow by the factor cap; divide X by cap inside.",
    ),
    Slip(
        "cut off",
        lambda X, cap: X.clamp(-cap, cap),
        "This cuts X off at ±cap. A soft cap bends it; the corner is what it avoids.",
    ),
    Slip(
        "neither",
        lambda X, cap: torch.tanh(X),
        "This is tanh alone: cap stands nowhere. It divides X, and multiplies the result.",
    ),
    Slip(
        "divided twice",
        lambda X, cap: torch.tanh(X / cap) / cap,
        "You divide by cap again at the end. There it must multiply.",
    ),
    Slip(
        "multiplied inside",
        lambda X, cap: cap * torch.tanh(X * cap),
        "Inside the tanh X is divided by cap, not multiplied: a larger cap must bend less.",
    ),
    Slip(
        "the sigmoid",
        lambda X, cap: cap * torch.sigmoid(X / cap),
        "The sigmoid goes from 0 to 1, so 0 does not stay 0. tanh goes from −1 to 1.",
    ),
    Slip(
        "unchanged",
        lambda X, cap: X * 1,
        "X comes back as it was. Is the result of tanh used?",
    ),
    Slip(
        "from above only",
        lambda X, cap: torch.minimum(X, torch.full_like(X, cap)),
        "This cuts X off above and leaves it alone below. Bend it at both ends.",
    ),
]


@exercise("soft_cap.soft-cap", answer="soft_cap")
def soft_cap(student, expect):
    inputs = [
        (3 * torch.randn(2, 5), 0.5 + torch.rand(()).item()),
        (3 * torch.randn(4, 3), 0.5 + torch.rand(()).item()),
        (3 * torch.randn(3, 2, 6), 0.5 + torch.rand(()).item()),
    ]
    expect.agrees(
        student.soft_cap,
        _right_soft_cap,
        inputs,
        "every number is bent towards the cap, and small ones stay",
        SOFT_CAP_SLIPS,
    )


# Hard cap


def _right_hard_cap(X, cap):
    return torch.where(X.abs() <= cap, X, cap * X.sign())


HARD_CAP_SLIPS = [
    Slip(
        "from above only",
        lambda X, cap: X.clamp(max=cap),
        "Large numbers are cut off, and very negative ones are not. Give clamp a smallest number too.",
    ),
    Slip(
        "from below only",
        lambda X, cap: X.clamp(min=-cap),
        "Very negative numbers are cut off, and large ones are not. Give clamp a largest number too.",
    ),
    Slip(
        "nothing below zero",
        lambda X, cap: X.clamp(0, cap),
        "Negative numbers became 0. The lower bound is -cap.",
    ),
    Slip(
        "a cap of 1",
        lambda X, cap: X.clamp(-1, 1),
        "You cut off at ±1 whatever cap is.",
    ),
    Slip(
        "the soft one",
        lambda X, cap: cap * torch.tanh(X / cap),
        "This is the soft cap: it bends numbers that are within the bounds too.",
    ),
    Slip(
        "unchanged",
        lambda X, cap: X * 1,
        "X comes back as it was. `clamp` returns a new tensor: is it used?",
    ),
    Slip(
        "without signs",
        lambda X, cap: X.abs().clamp(max=cap),
        "The signs are gone. Cut off at -cap on the negative side.",
    ),
    Slip(
        "large ones to zero",
        lambda X, cap: torch.where(X.abs() <= cap, X, 0.0),
        "What is too large became 0. It becomes ±cap.",
    ),
    Slip(
        "made smaller",
        lambda X, cap: cap * X / X.abs().amax(),
        "You shrank all numbers until the largest fits. Only those beyond the bounds change.",
    ),
]


@exercise("soft_cap.hard-cap", answer="hard_cap")
def hard_cap(student, expect):
    inputs = [
        (3 * torch.randn(2, 5), 0.5 + torch.rand(()).item()),
        (3 * torch.randn(4, 3), 0.5 + torch.rand(()).item()),
        (3 * torch.randn(3, 2, 6), 0.5 + torch.rand(()).item()),
    ]
    expect.agrees(
        student.hard_cap, _right_hard_cap, inputs, "nothing is beyond ±cap, and the rest stays", HARD_CAP_SLIPS
    )


# Cap slope


def _right_cap_slope(X, cap):
    return 1 / torch.cosh(X / cap) ** 2


CAP_SLOPE_SLIPS = [
    Slip(
        "not squared",
        lambda X, cap: 1 - torch.tanh(X / cap),
        "The derivative of tanh is one minus its square; the square is missing.",
    ),
    Slip(
        "not the slope",
        lambda X, cap: cap * torch.tanh(X / cap),
        "This is the soft cap itself. Its slope is asked for.",
    ),
    Slip(
        "no chain rule",
        lambda X, cap: cap * (1 - torch.tanh(X / cap) ** 2),
        "The factor cap stayed in front. The chain rule divides by cap, and the two cancel.",
    ),
    Slip(
        "divided",
        lambda X, cap: (1 - torch.tanh(X / cap) ** 2) / cap,
        "You divided by cap, and forgot the cap in front of tanh. The two cancel.",
    ),
    Slip(
        "no cap inside",
        lambda X, cap: 1 - torch.tanh(X) ** 2,
        "Inside, X is divided by cap, in the slope as in the function.",
    ),
    Slip(
        "the hard one",
        lambda X, cap: (X.abs() < cap).float(),
        "This is the slope of the hard cap: 1 within, 0 beyond.",
    ),
    Slip(
        "the other part",
        lambda X, cap: torch.tanh(X / cap) ** 2,
        "This is what is missing to 1: subtract it from 1.",
    ),
    Slip(
        "the sigmoid",
        lambda X, cap: torch.sigmoid(X / cap) * (1 - torch.sigmoid(X / cap)),
        "This is the slope of the sigmoid, a quarter at 0. The slope of tanh is 1 there.",
    ),
    Slip(
        "added",
        lambda X, cap: 1 + torch.tanh(X / cap) ** 2,
        "The sign is turned round: the slope falls to both sides.",
    ),
]


@exercise("soft_cap.cap-slope", answer="cap_slope")
def cap_slope(student, expect):
    inputs = [
        (3 * torch.randn(2, 5), 0.5 + torch.rand(()).item()),
        (3 * torch.randn(4, 3), 0.5 + torch.rand(()).item()),
        (3 * torch.randn(3, 2, 6), 0.5 + torch.rand(()).item()),
    ]
    expect.agrees(
        student.cap_slope, _right_cap_slope, inputs, "the slope is 1 at 0 and falls to both sides", CAP_SLOPE_SLIPS
    )


# Capped weights


def _right_capped_weights(S, cap):
    return (cap * (2 * torch.sigmoid(2 * S / cap) - 1)).softmax(-1)


CAPPED_WEIGHTS_SLIPS = [
    Slip(
        "no cap",
        lambda S, cap: S.softmax(-1),
        "These are the weights of the scores as they are: the cap is missing.",
    ),
    Slip(
        "capped too late",
        lambda S, cap: cap * torch.tanh(S.softmax(-1) / cap),
        "You cap the weights. The scores are capped, before the softmax.",
    ),
    Slip(
        "over the queries",
        lambda S, cap: (cap * torch.tanh(S / cap)).softmax(-2),
        "The columns sum to 1. Each query shares its weight among keys: dim=-1.",
    ),
    Slip(
        "cut off",
        lambda S, cap: S.clamp(-cap, cap).softmax(-1),
        "You cut the scores off. A soft cap bends them.",
    ),
    Slip(
        "a temperature",
        lambda S, cap: (S / cap).softmax(-1),
        "You divide by cap and stop: that is a temperature, and bounds nothing.",
    ),
    Slip(
        "not divided",
        lambda S, cap: (cap * torch.tanh(S)).softmax(-1),
        "Inside the tanh the scores are divided by cap.",
    ),
    Slip(
        "no cap in front",
        lambda S, cap: torch.tanh(S / cap).softmax(-1),
        "The scores now stay within ±1. Multiply by cap before the softmax.",
    ),
    Slip(
        "scores, not weights",
        lambda S, cap: cap * torch.tanh(S / cap),
        "The cap is right, and you stopped there: the softmax turns scores into weights.",
    ),
    Slip(
        "logarithms",
        lambda S, cap: (cap * torch.tanh(S / cap)).log_softmax(-1),
        "These are logarithms of the weights: softmax in place of log_softmax.",
    ),
]


@exercise("soft_cap.capped-weights", answer="capped_weights")
def capped_weights(student, expect):
    inputs = [
        (3 * torch.randn(2, 5), 0.5 + torch.rand(()).item()),
        (3 * torch.randn(4, 3), 0.5 + torch.rand(()).item()),
        (3 * torch.randn(3, 2, 6), 0.5 + torch.rand(()).item()),
    ]
    expect.agrees(
        student.capped_weights,
        _right_capped_weights,
        inputs,
        "each row sums to 1, and no score counts beyond the cap",
        CAPPED_WEIGHTS_SLIPS,
    )
