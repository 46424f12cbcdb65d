"""Judges of the exercises in `chapters/training.md`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tfm_exercises.random_inputs import different, whole
from tfm_exercises.judge import Slip, exercise

# the schedule


@exercise("training.schedule", answer="learning_rate")
def learning_rate(student, expect):
    drawn = list(zip(different(4, 3, 20), different(4, 21, 60)))
    rising = [(whole(2, 15), *sizes) for sizes in drawn[:2]]
    falling = [(warmup + whole(9, 90), d_model, warmup) for d_model, warmup in drawn[2:]]
    expect.agrees(
        student.learning_rate,
        _schedule_of_the_paper,
        [*rising, *falling],
        holds="the rate rises in a straight line during the warm-up, then falls as 1/√step",
        slips=_SCHEDULES,
        describe="the rate",
    )
    ends = [(1, 4, 30), (30, 4, 30), (31, 4, 30), (whole(18, 28), 4, 30), (7, 4, 1), (whole(2, 9), 512, 40)]
    ends += [(whole(50, 99), 512, 40)]
    expect.agrees(
        student.learning_rate,
        _schedule_of_the_paper,
        ends,
        holds="the first step, the peak, a warm-up of one step, and a wide model",
        slips=_SCHEDULES,
        describe="the rate",
    )

    def millionths(rate: Callable[..., float]) -> Callable[..., float]:
        def learning_rate(*given: int) -> float:
            return 1e6 * rate(*given)

        return learning_rate

    expect.agrees(
        millionths(student.learning_rate),
        millionths(_schedule_of_the_paper),
        [(step, 512, 4000) for step in (1, whole(2100, 3900), 4001, whole(50_000, 90_000))],
        holds="the rates of the paper's own training, in millionths",
        describe="the paper's own rate, in millionths,",
    )


def _schedule_of_the_paper(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def _falling(up: float, down: float, d_model: int, warmup: int) -> float:
    """The schedule with another step in each of its two terms."""
    return d_model**-0.5 * min(down**-0.5, up * warmup**-1.5)


def _after(step: int, d_model: int, warmup: int, share: float) -> float:
    """The right rise, and after it `share` of the peak."""
    return _schedule_of_the_paper(step, d_model, warmup) if step <= warmup else (d_model * warmup) ** -0.5 * share


_SCHEDULES = [
    Slip(
        "the larger of the two",
        lambda step, d_model, warmup: d_model**-0.5 * max(step**-0.5, step * warmup**-1.5),
        "You took the larger of the two terms, which is huge at the first step and grows for ever after the warm-up. Take "
        "the smaller one, with min.",
    ),
    Slip(
        "no warm-up",
        lambda step, d_model, warmup: (d_model * step) ** -0.5,
        "Your rate falls from the first step on. The second term, step · warmup^−1.5, holds it down during the warm-up.",
    ),
    Slip(
        "never falls",
        lambda step, d_model, warmup: d_model**-0.5 * step * warmup**-1.5,
        "Your rate rises for ever. After the warm-up the first term, step^−0.5, is the smaller one.",
    ),
    Slip(
        "flat after the warm-up",
        lambda step, d_model, warmup: d_model**-0.5 * min(warmup**-0.5, step * warmup**-1.5),
        "Your rate stays at its peak after the warm-up. From there on it falls as step^−0.5.",
    ),
    Slip(
        "always the peak",
        lambda step, d_model, warmup: (d_model * warmup) ** -0.5,
        "That is the height of the peak, whatever `step` is.",
    ),
    Slip(
        "both terms added",
        lambda step, d_model, warmup: d_model**-0.5 * (step**-0.5 + step * warmup**-1.5),
        "You added the two terms. The rate is the smaller of them.",
    ),
    Slip(
        "d_model ignored",
        lambda step, d_model, warmup: min(step**-0.5, step * warmup**-1.5),
        "`d_model` is not used. A wider model has a lower rate: there is a factor d_model^−0.5 in front.",
    ),
    Slip(
        "d_model ignored",
        lambda step, d_model, warmup: _schedule_of_the_paper(step, 512, warmup),
        "That is the rate of a model of width 512, whatever `d_model` is.",
    ),
    Slip(
        "multiplied by the root of d_model",
        lambda step, d_model, warmup: d_model * _schedule_of_the_paper(step, d_model, warmup),
        "You multiplied by √d_model. The exponent is −0.5, so divide by it: a wider model has a lower rate.",
    ),
    Slip(
        "divided by d_model",
        lambda step, d_model, warmup: d_model**-0.5 * _schedule_of_the_paper(step, d_model, warmup),
        "You divided by d_model. The rate is divided by its square root.",
    ),
    Slip(
        "only one term divided",
        lambda step, d_model, warmup: min((d_model * step) ** -0.5, step * warmup**-1.5),
        "The factor d_model^−0.5 belongs to both terms, and yours is on the first one only.",
    ),
    Slip(
        "only one term divided",
        lambda step, d_model, warmup: min(step**-0.5, d_model**-0.5 * step * warmup**-1.5),
        "The factor d_model^−0.5 belongs to both terms, and yours is on the second one only.",
    ),
    Slip(
        "warmup ignored",
        lambda step, d_model, warmup: _schedule_of_the_paper(step, d_model, 4000),
        "That is the rate for the paper's 4,000 steps of warm-up, whatever `warmup` is.",
    ),
    Slip(
        "the rise is too steep",
        lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step / warmup),
        "You wrote step / warmup for the term that rises. Its exponent is −1.5, so that both terms meet at step = warmup.",
    ),
    Slip(
        "the rise is too steep",
        lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step * warmup**-0.5),
        "You wrote step · warmup^−0.5 for the term that rises. Its exponent is −1.5, so that both terms meet at step = warmup.",
    ),
    Slip(
        "falls as 1/step",
        lambda step, d_model, warmup: d_model**-0.5 * min(1 / step, step * warmup**-1.5),
        "Your rate falls as 1/step. The exponent of the first term is −0.5.",
    ),
    Slip(
        "counted from 0",
        lambda step, d_model, warmup: _schedule_of_the_paper(step + 1, d_model, warmup),
        "You added 1 to the step. It is counted from 1 already.",
    ),
    Slip(
        "counted from 0",
        lambda step, d_model, warmup: _falling(step - 1, step, d_model, warmup),
        "Your rising term uses step − 1, which makes the first rate 0. The steps are counted from 1.",
    ),
    Slip(
        "counted from 0",
        lambda step, d_model, warmup: _falling(step, max(step - 1, 1), d_model, warmup),
        "Your falling term uses step − 1. The steps are counted from 1, so `step` can be used as it is.",
    ),
    Slip(
        "no step in the rise",
        lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, warmup**-1.5),
        "Your second term doesn't contain `step`, so the rate doesn't rise. It is step · warmup^−1.5.",
    ),
    Slip(
        "the rise is too steep",
        lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step**2 * warmup**-1.5),
        "Your second term contains the square of `step`. The rate rises in a straight line.",
    ),
    Slip(
        "the power of the product",
        lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, (step * warmup) ** -1.5),
        "You took the power of step · warmup. The exponent −1.5 belongs to `warmup` alone.",
    ),
    Slip(
        "the two terms multiplied",
        lambda step, d_model, warmup: d_model**-0.5 * step**-0.5 * step * warmup**-1.5,
        "You multiplied the two terms. The rate is the smaller of them.",
    ),
    Slip(
        "step and warmup swapped",
        lambda step, d_model, warmup: _schedule_of_the_paper(warmup, d_model, step),
        "`step` and `warmup` stand in each other's place.",
    ),
    Slip(
        "d_model and warmup swapped",
        lambda step, d_model, warmup: _schedule_of_the_paper(step, warmup, d_model),
        "`d_model` and `warmup` stand in each other's place.",
    ),
    Slip(
        "warm-up restarts the count",
        lambda step, d_model, warmup: (
            d_model**-0.5 * (step * warmup**-1.5 if step <= warmup else (step - warmup) ** -0.5)
        ),
        "After the warm-up you count the steps from its end. The first term is step^−0.5 with the step from the start.",
    ),
    Slip(
        "another factor",
        lambda step, d_model, warmup: 2 * _schedule_of_the_paper(step, d_model, warmup),
        "Your rates are twice as large as the paper's. There is no other factor than d_model^−0.5.",
    ),
    Slip(
        "negative rates",
        lambda step, d_model, warmup: -_schedule_of_the_paper(step, d_model, warmup),
        "Your rates are negative. Which brackets does the minus sign need?",
    ),
    Slip(
        "step divided without remainder",
        lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step // warmup * warmup**-0.5),
        "You divided with //, which drops the remainder, so the rate is 0 during the warm-up. Use /.",
    ),
    Slip(
        "the smaller with d_model",
        lambda step, d_model, warmup: min(d_model**-0.5, step**-0.5, step * warmup**-1.5),
        "d_model^−0.5 is one of the numbers among which you take the smallest. It is a factor in front of min.",
    ),
    Slip(
        "falls in another way",
        lambda step, d_model, warmup: _after(step, d_model, warmup, (warmup / step) ** (1 / 3)),
        "Your rate falls as the third root of step. It falls as 1/√step.",
    ),
    Slip(
        "falls in another way",
        lambda step, d_model, warmup: _after(step, d_model, warmup, max(0.0, 2 - step / warmup)),
        "Your rate falls in a straight line after the warm-up. It falls as 1/√step.",
    ),
    Slip(
        "a list of rates",
        lambda step, d_model, warmup: [_schedule_of_the_paper(each, d_model, warmup) for each in range(1, step + 1)],
        "These are the rates of all steps so far. One number is asked for, that of `step`.",
    ),
]


# the rates of an epoch


@exercise("training.rates", answer="rates")
def rates(student, expect):
    a, b, c = different(3, 3, 6)
    uneven = [(a * whole(3, 5) + 1, a, _schedule()), (b * 4 + 1, b, _schedule()), (c * 3 + c - 1, c, _schedule())]
    expect.agrees(
        student.rates,
        _rates,
        [(2 * n, n, _schedule()) for n in different(2, 2, 4)] + [(12, 3, _schedule())],
        holds="one rate for each update, by the number of the update",
        slips=_RATES,
        describe="the rates",
    )
    expect.agrees(
        student.rates,
        _rates,
        uneven,
        holds="a last group that is not full makes an update too",
        slips=_RATES,
        describe="the rates where the last group is not full",
    )
    edges = [(5, 1, _schedule()), (2, 7, _schedule()), (1, 1, _schedule())]
    expect.agrees(student.rates, _rates, edges, "without accumulation each batch is one", _RATES, describe="the rates")


def _schedule() -> Callable[[int], float]:
    """A schedule by chance; at step 0, and between steps, it says so with a rate of its own."""
    shares = (0.1 + torch.rand(64)).tolist()

    def lr(step: float) -> float:
        return shares[int(step)] + 10 * (step % 1) if step >= 1 else 0.0

    return lr


def _rates(n_batches: int, accumulate: int, lr: Callable[[int], float]) -> list[float]:
    return [lr(step) for step in range(1, math.ceil(n_batches / accumulate) + 1)]


def _at(steps: Callable[[int, int], Any]) -> Callable[..., list[float]]:
    return lambda n, k, lr: [lr(step) for step in steps(n, k)]


_MICRO = (
    "You asked the schedule for the number of the micro-batch. It counts updates: the first update is step 1, however many "
    "micro-batches it sums."
)
_EACH = "You have a rate for each micro-batch. The parameters move once for every `accumulate` of them."
_RATES = [
    Slip("schedule per micro-batch", _at(lambda n, k: [min(i, n) for i in range(k, n + k, k)]), _MICRO),
    Slip("schedule per micro-batch", _at(lambda n, k: range(1, n + 1, k)), _MICRO),
    Slip("schedule per micro-batch", _at(lambda n, k: range(0, n, k)), _MICRO),
    Slip("schedule per micro-batch", _at(lambda n, k: range(k, n + 1, k)), _MICRO),
    Slip("an update for each micro-batch", _at(lambda n, k: [i // k + 1 for i in range(n)]), _EACH),
    Slip("accumulate ignored", _at(lambda n, k: range(1, n + 1)), f"{_EACH} `accumulate` is never used."),
    Slip(
        "counted from 0",
        _at(lambda n, k: range(math.ceil(n / k))),
        "Your first update is step 0. Steps count from 1; at step 0 the rate is 0, and the first update is lost.",
    ),
    Slip(
        "counted from 2",
        _at(lambda n, k: range(2, math.ceil(n / k) + 2)),
        "Your first update is step 2. Steps count from 1.",
    ),
    Slip(
        "the last group lost",
        _at(lambda n, k: range(1, n // k + 1)),
        "The micro-batches that are left at the end make an update too, or their gradient is lost, or worse, waits for the next "
        "epoch.",
    ),
    Slip(
        "rounded",
        _at(lambda n, k: range(1, round(n / k) + 1)),
        "You round to the nearest number of updates. The micro-batches that are left make one too, however few they are.",
    ),
    Slip(
        "one update too many",
        _at(lambda n, k: range(1, n // k + 2)),
        "Where all groups are full, you have one update more than there are groups. Round up, do not add one.",
    ),
    Slip(
        "the last update lost",
        _at(lambda n, k: range(1, math.ceil(n / k))),
        "The last update is missing. `range(1, n)` ends before n.",
    ),
    Slip(
        "steps in place of rates",
        lambda n, k, lr: list(range(1, math.ceil(n / k) + 1)),
        "These are the numbers of the updates. Ask `lr` for the rate of each.",
    ),
    Slip(
        "one rate for all",
        lambda n, k, lr: [lr(1)] * math.ceil(n / k),
        "All updates have the rate of the first. Each has its own step.",
    ),
    Slip(
        "divided by accumulate",
        lambda n, k, lr: [rate / k for rate in _rates(n, k, lr)],
        "You divided the rates by `accumulate`. The losses of an update are averaged; its rate is that of the schedule.",
    ),
    Slip(
        "steps with fractions",
        _at(lambda n, k: [i / k for i in range(k, n + k, k)] if n % k == 0 else [i / k for i in range(1, n + 1)]),
        "Your steps have fractions. Updates are counted in whole numbers.",
    ),
    Slip(
        "number of updates",
        lambda n, k, lr: math.ceil(n / k),
        "That is the number of updates. Return the rate of each, as a list.",
    ),
]


# the smoothed loss


@exercise(
    "training.smoothed-loss",
    answer="smoothed_loss",
    forbids=("torch.nn.functional.cross_entropy", "torch.nn.CrossEntropyLoss"),
)
def smoothed_loss(student, expect):
    def draw(scale: float = 1.0) -> tuple[Tensor, Tensor, float, int]:
        batch, n, v = different(3, 3, 9)
        pad_id = whole(1, v - 1)
        targets = torch.randint(0, v - 1, (batch, n))
        targets[targets >= pad_id] += 1  # no real token has the padding's id, and 0 is a real token
        targets[0, 0] = 0
        for row, length in enumerate([n, 1, *(whole(1, n - 1) for _ in range(batch - 2))]):
            targets[row, length:] = pad_id
        return scale * 2 * torch.randn(batch, n, v), targets, whole(5, 35) / 100 + 0.004, pad_id

    expect.agrees(
        student.smoothed_loss,
        _smoothed,
        [draw() for _ in range(3)],
        holds="the mean over the real tokens, against the smoothed targets, whatever the padding's id is",
        slips=_LOSSES,
        describe="the loss",
    )
    logits, targets, _, pad_id = draw()
    expect.agrees(
        student.smoothed_loss,
        _smoothed,
        [(logits, targets, 0.0, pad_id), (logits, targets.clamp(min=1), 0.15, 0)],
        holds="without smoothing, and without padding, too",
        slips=_LOSSES,
        describe="the loss",
    )
    expect.agrees(
        student.smoothed_loss,
        _smoothed,
        [draw(2000.0) for _ in range(3)],
        holds="and with logits in the thousands",
        slips=_LARGE,
        describe="the loss of logits in the thousands",
    )


def _smoothed(logits: Tensor, targets: Tensor, epsilon: float, pad_id: int) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=epsilon, ignore_index=pad_id)


def _each(logits: Tensor, targets: Tensor, true: float, other: float) -> Tensor:
    """The loss of each token where the target holds `true` for the right word and `other` for each other one."""
    wanted = torch.where(F.one_hot(targets, logits.shape[-1]).bool(), true, other)
    return -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)


def _ours(logits: Tensor, targets: Tensor, epsilon: float) -> Tensor:
    return _each(logits, targets, 1 - epsilon + epsilon / logits.shape[-1], epsilon / logits.shape[-1])


def _loss(of: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """A loss made by `of` from that of each token and from which of them are real."""
    return lambda logits, targets, epsilon, pad_id: of(_ours(logits, targets, epsilon), targets != pad_id)


def _shares(of: Callable[[float, int], tuple[float, float]]) -> Callable[..., Tensor]:
    """The loss with other targets: `of` makes the shares of the right and of each other word from ε and v."""
    return lambda logits, targets, epsilon, pad_id: _each(logits, targets, *of(epsilon, logits.shape[-1]))[
        targets != pad_id
    ].mean()


def _by_logs(logits: Tensor, targets: Tensor, epsilon: float, pad_id: int, *, floor: float = 0.0) -> Tensor:
    log_p = (logits.softmax(dim=-1) + floor).log()
    wanted = F.one_hot(targets, logits.shape[-1]) * (1 - epsilon) + epsilon / logits.shape[-1]
    return -(wanted * log_p).sum(dim=-1)[targets != pad_id].mean()


def _without_padding(logits: Tensor, targets: Tensor, epsilon: float, pad_id: int) -> Tensor:
    wanted = F.one_hot(targets, logits.shape[-1]) * (1 - epsilon) + epsilon / logits.shape[-1]
    wanted[..., pad_id] = 0
    return -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)[targets != pad_id].mean()


_ROUNDED = (
    "A probability that is rounded to 0 has the logarithm −∞. `log_softmax` gives ln p without going through p, and so does "
    "x − logsumexp(x)."
)
_LARGE = [
    Slip("log of a softmax", _by_logs, _ROUNDED),
    Slip("log of a softmax", lambda *case: torch.tensor(torch.nan), _ROUNDED),
    Slip("log of a softmax", lambda *case: torch.tensor(torch.inf), _ROUNDED),
    *(
        Slip("log of a softmax", lambda *case, floor=floor: _by_logs(*case, floor=floor), _ROUNDED)
        for floor in (1e-9, 1e-10, 1e-8, 1e-12, 1e-6)
    ),
]
_LOSSES = [
    Slip(
        "padding counted",
        _loss(lambda each, real: each.mean()),
        "You took the mean over all places. Padding is not an answer that anybody asked for: leave it out of the sum and of the "
        "count.",
    ),
    Slip(
        "divided by all places",
        _loss(lambda each, real: (each * real).mean()),
        "The sum is right, but it is divided by all places. Divide by the number of real tokens.",
    ),
    Slip(
        "a mean of sentences",
        _loss(lambda each, real: ((each * real).sum(dim=1) / real.sum(dim=1)).mean()),
        "You took the mean of each sentence, and then of the sentences. The one word of a short sentence then weighs as much as "
        "all of a long one: one mean over all real tokens.",
    ),
    Slip(
        "not divided",
        _loss(lambda each, real: (each * real).sum()),
        "That is the sum over the tokens. Divide by how many there are, or the loss grows with the batch.",
    ),
    Slip(
        "divided by the batch",
        _loss(lambda each, real: (each * real).sum() / len(each)),
        "You divided by the number of sentences. Divide by the number of real tokens.",
    ),
    Slip(
        "one loss a token",
        _loss(lambda each, real: each[real]),
        "These are the losses of the real tokens. Their mean was asked for.",
    ),
    Slip(
        "pad_id ignored",
        lambda logits, targets, epsilon, pad_id: _smoothed(logits, targets, epsilon, 0),
        "You leave out the targets that are 0, whatever `pad_id` is.",
    ),
    Slip(
        "padding kept, words left out",
        _loss(lambda each, real: each[~real].mean()),
        "You took the mean over the padding. The targets that are *not* `pad_id` count.",
    ),
    Slip(
        "the other convention",
        _shares(lambda epsilon, v: (1 - epsilon, epsilon / (v - 1))),
        "You kept 1 − ε for the true token and shared ε among the others. That convention exists; here ε is spread over the "
        "whole vocabulary, the true token included.",
    ),
    Slip(
        "epsilon ignored",
        _shares(lambda epsilon, v: (1.0, 0.0)),
        "That is the plain cross-entropy. The wrong tokens have a share of the target, ε/v each.",
    ),
    Slip(
        "epsilon ignored",
        lambda logits, targets, epsilon, pad_id: _smoothed(logits, targets, 0.1, pad_id),
        "Your smoothing is 0.1, whatever `epsilon` is.",
    ),
    Slip(
        "the others forgotten",
        _shares(lambda epsilon, v: (1 - epsilon, 0.0)),
        "The true token has its 1 − ε, and the ε is nowhere. Each token of the vocabulary gets ε/v of it.",
    ),
    Slip(
        "the others forgotten",
        _shares(lambda epsilon, v: (1 - epsilon + epsilon / v, 0.0)),
        "The true token has its share, and the others have none. Each token of the vocabulary gets ε/v.",
    ),
    Slip(
        "the true token's part of ε forgotten",
        _shares(lambda epsilon, v: (1 - epsilon, epsilon / v)),
        "Your targets do not sum to 1: the true token has 1 − ε *and* its ε/v.",
    ),
    Slip(
        "nothing taken from the true token",
        _shares(lambda epsilon, v: (1.0 + epsilon / v, epsilon / v)),
        "Your targets sum to 1 + ε. What is spread over all is taken from the true token: it keeps 1 − ε, and its ε/v.",
    ),
    Slip(
        "ε not divided by v",
        _shares(lambda epsilon, v: (1.0, epsilon)),
        "Each token of the vocabulary gets a whole ε. They share it: ε/v each. A *mean* over the vocabulary says the same.",
    ),
    Slip(
        "no share for the padding's id",
        _without_padding,
        "Your targets give the padding's id no share. The ε is spread over the whole vocabulary; it is *places* that are left out.",
    ),
    Slip(
        "ε turned round",
        _shares(lambda epsilon, v: (epsilon + (1 - epsilon) / v, (1 - epsilon) / v)),
        "ε and 1 − ε are exchanged: the true token keeps 1 − ε.",
    ),
    Slip(
        "a plus sign",
        _loss(lambda each, real: -each[real].mean()),
        "The logarithm of a probability is negative; the loss is minus its mean.",
    ),
    Slip(
        "in bits",
        _loss(lambda each, real: each[real].mean() / math.log(2)),
        "That is the loss in bits. In nats the logarithm is the natural one.",
    ),
    Slip(
        "softmax over the positions",
        lambda logits, targets, epsilon, pad_id: (
            -(
                (F.one_hot(targets, logits.shape[-1]) * (1 - epsilon) + epsilon / logits.shape[-1])
                * logits.log_softmax(dim=1)
            )
            .sum(dim=-1)[targets != pad_id]
            .mean()
        ),
        "Your softmax runs over the positions. Each position shares 1 among the words: the last axis, dim=-1.",
    ),
    Slip(
        "no softmax",
        lambda logits, targets, epsilon, pad_id: (
            -((F.one_hot(targets, logits.shape[-1]) * (1 - epsilon) + epsilon / logits.shape[-1]) * logits)
            .sum(dim=-1)[targets != pad_id]
            .mean()
        ),
        "You used the logits as if they were log-probabilities. What makes them so?",
    ),
]


# the floor


@exercise("training.floor", answer="least_loss")
def least_loss(student, expect):
    inputs = [(v, share / 100 + 0.003) for v, share in zip(different(3, 3, 40), different(3, 2, 60))]
    what = "the least loss"
    expect.agrees(
        student.least_loss, _floor, inputs, "the entropy of the smoothed target", _FLOORS, tolerance=1e-4, describe=what
    )
    more = [(37_000, 0.1), (2, 0.3), (5000, 0.02)]
    expect.agrees(
        student.least_loss, _floor, more, "and the paper's 37,000 tokens", _FLOORS, tolerance=1e-3, describe=what
    )


def _entropy(parts: list[tuple[float, float]]) -> float:
    """−Σ count · share · ln share."""
    return -sum(count * share * math.log(share) for count, share in parts)


def _floor(v: int, epsilon: float) -> float:
    return _entropy([(1, 1 - epsilon + epsilon / v), (v - 1, epsilon / v)])


_FLOORS = [
    Slip(
        "only the true token",
        lambda v, epsilon: _entropy([(1, 1 - epsilon + epsilon / v)]),
        "That is the part of the true token. The other v − 1 tokens have their share of the target, and of the loss.",
    ),
    Slip(
        "only the true token",
        lambda v, epsilon: -math.log(1 - epsilon + epsilon / v),
        "That is what a plain cross-entropy says of the best model. Against smoothed targets all v tokens count, each with its "
        "share.",
    ),
    Slip(
        "only the true token",
        lambda v, epsilon: -math.log(1 - epsilon),
        "That is the plain cross-entropy of a model that gives the true token 1 − ε. Against smoothed targets all v tokens count.",
    ),
    Slip(
        "only the others",
        lambda v, epsilon: _entropy([(v - 1, epsilon / v)]),
        "That is the part of the v − 1 wrong tokens. The true one has its share too.",
    ),
    Slip(
        "one of the others",
        lambda v, epsilon: _entropy([(1, 1 - epsilon + epsilon / v), (1, epsilon / v)]),
        "You counted one wrong token. There are v − 1 of them.",
    ),
    Slip(
        "v of the others",
        lambda v, epsilon: _entropy([(1, 1 - epsilon + epsilon / v), (v, epsilon / v)]),
        "You counted v wrong tokens. One of the v is the true one: there are v − 1.",
    ),
    Slip(
        "the true token's part of ε forgotten",
        lambda v, epsilon: _entropy([(1, 1 - epsilon), (v - 1, epsilon / v)]),
        "Your shares do not sum to 1: the true token has 1 − ε and its ε/v.",
    ),
    Slip(
        "the true token's part of ε forgotten",
        lambda v, epsilon: _entropy([(1, 1 - epsilon), (v, epsilon / v)]),
        "You have one share of 1 − ε and v of ε/v. The true token's ε/v belongs to its 1 − ε: it is one share, with one logarithm.",
    ),
    Slip(
        "the other convention",
        lambda v, epsilon: _entropy([(1, 1 - epsilon), (v - 1, epsilon / (v - 1))]),
        "That is the floor where ε is shared among the other v − 1 tokens. Here the true token keeps ε/v of it.",
    ),
    Slip(
        "two shares only",
        lambda v, epsilon: _entropy([(1, 1 - epsilon), (1, epsilon)]),
        "That is the entropy of two shares, 1 − ε and ε. The ε is spread over the whole vocabulary.",
    ),
    Slip(
        "in bits",
        lambda v, epsilon: _floor(v, epsilon) / math.log(2),
        "That is the floor in bits. The loss of this book is in nats: natural logarithms.",
    ),
    Slip(
        "a plus sign",
        lambda v, epsilon: -_floor(v, epsilon),
        "A loss is not negative: the logarithm of a share is, so a minus stands before the sum.",
    ),
    Slip(
        "as a perplexity",
        lambda v, epsilon: math.exp(_floor(v, epsilon)),
        "That is the perplexity of the floor. The loss itself was asked for.",
    ),
    Slip(
        "as if it could reach 0",
        lambda v, epsilon: 0.0,
        "0 would need a probability of 1 on the true token, and then the others, at probability 0, cost ∞.",
    ),
    Slip(
        "divided by v",
        lambda v, epsilon: _floor(v, epsilon) / v,
        "You took the mean over the vocabulary. The loss of a token is a sum over it.",
    ),
    Slip(
        "vocab_size ignored",
        lambda v, epsilon: _floor(37_000, epsilon),
        "That is the floor of a vocabulary of 37,000, whatever `vocab_size` is.",
    ),
    Slip("epsilon ignored", lambda v, epsilon: _floor(v, 0.1), "That is the floor for ε = 0.1, whatever `epsilon` is."),
]


# one gradient of many


@exercise("training.accumulate", answer="one_gradient")
def one_gradient(student, expect):
    def draw(*shape: int, count: int) -> tuple[list[Tensor], list[int]]:
        return [torch.randn(shape) for _ in range(count)], different(count, 1, 40)

    expect.agrees(
        student.one_gradient,
        _gradient,
        [draw(4, count=2), draw(5, count=3), draw(3, count=7)],
        holds="each gradient weighs by its share of all tokens",
        slips=_GRADIENTS,
        describe="the gradient",
    )
    expect.agrees(
        student.one_gradient,
        _gradient,
        [draw(4, 2, count=3), draw(2, 3, 5, count=4), draw(2, count=1), draw(count=3)],
        holds="also for a matrix, and for one micro-batch",
        slips=_GRADIENTS,
        describe="the gradient",
    )


def _weighted(weights: Callable[[list[int]], Sequence[float]]) -> Callable[..., Tensor]:
    return lambda gradients, tokens: sum(w * g for w, g in zip(weights(tokens), gradients))


_gradient = _weighted(lambda tokens: [n / sum(tokens) for n in tokens])
_GRADIENTS = [
    Slip(
        "tokens ignored",
        _weighted(lambda tokens: [1 / len(tokens)] * len(tokens)),
        "You took the plain mean. One token of a small micro-batch then counts more than one of a large one: "
        "weight each gradient by its tokens.",
    ),
    Slip(
        "a plain sum",
        _weighted(lambda tokens: [1] * len(tokens)),
        "You added the gradients, as .grad does by itself. Of means over different numbers of tokens, each must be weighted by "
        "its share of all tokens.",
    ),
    Slip(
        "a plain sum, divided by all tokens",
        _weighted(lambda tokens: [1 / sum(tokens)] * len(tokens)),
        "You added the gradients as they are and divided by all tokens. Each is a mean: multiply it by its tokens first.",
    ),
    Slip(
        "not divided by all tokens",
        _weighted(lambda tokens: tokens),
        "You multiplied by the tokens: now you have the gradient of the sum. Divide by the number of all tokens.",
    ),
    Slip(
        "the shares turned round",
        _weighted(lambda tokens: [(1 / n) / sum(1 / k for k in tokens) for n in tokens]),
        "The micro-batch with fewer tokens got the larger weight. Its share is its tokens over all tokens.",
    ),
    Slip(
        "the shares turned round",
        _weighted(lambda tokens: [n / sum(tokens) for n in tokens[::-1]]),
        "The weights are in the opposite order: each gradient has its own number of tokens.",
    ),
    Slip(
        "divided by the tokens of each",
        _weighted(lambda tokens: [1 / n for n in tokens]),
        "You divided each gradient by its tokens. It is a mean already: to come back to the sum, multiply.",
    ),
    Slip(
        "divided by the tokens of each",
        _weighted(lambda tokens: [1 / (n * len(tokens)) for n in tokens]),
        "You divided each gradient by its tokens and took the mean. Each is a mean already: to come back to the sum, multiply.",
    ),
    Slip(
        "divided by all tokens over those of each",
        _weighted(lambda tokens: [sum(tokens) / n for n in tokens]),
        "Your weights are all tokens over those of each. A share is the other way round.",
    ),
    Slip(
        "divided by the number of micro-batches",
        _weighted(lambda tokens: [n / len(tokens) for n in tokens]),
        "You multiplied by the tokens and divided by the number of micro-batches. Divide by the number of tokens.",
    ),
    Slip(
        "a share, and a mean of the shares",
        _weighted(lambda tokens: [n / sum(tokens) / len(tokens) for n in tokens]),
        "You weighted by the shares and took a mean of the result. The shares sum to 1 already: add.",
    ),
    Slip(
        "weights by softmax",
        _weighted(lambda tokens: torch.tensor(tokens, dtype=torch.float).softmax(dim=0).tolist()),
        "Your weights are a softmax of the counts. A share is a count over the sum of the counts.",
    ),
    Slip(
        "the first only",
        lambda gradients, tokens: gradients[0],
        "That is the first gradient. Does the loop return too early?",
    ),
    Slip(
        "the first left out",
        _weighted(lambda tokens: [0, *(n / sum(tokens) for n in tokens[1:])]),
        "The first gradient is left out. Does the loop begin at 1?",
    ),
    Slip(
        "the largest only",
        lambda gradients, tokens: gradients[tokens.index(max(tokens))],
        "That is the gradient of the micro-batch with most tokens. The others count too.",
    ),
    Slip("the last only", lambda gradients, tokens: gradients[-1], "That is the last gradient. The others count too."),
    Slip(
        "the last only",
        lambda gradients, tokens: tokens[-1] / sum(tokens) * gradients[-1],
        "That is the last gradient's part. Add the parts up, from 0 before the loop.",
    ),
    Slip(
        "a list",
        lambda gradients, tokens: [n / sum(tokens) * g for g, n in zip(gradients, tokens)],
        "These are the parts, each with its weight. Add them up: one tensor was asked for.",
    ),
]


# a step of Adam


@exercise("training.adam-step", answer="adam_step")
def adam_step(student, expect):
    def draw(*shape: int, t: int) -> tuple[Tensor, Tensor, Tensor, Tensor, int, float]:
        p, g, m, s = torch.randn(4, *shape)
        return p, g, m, s.abs() + 0.1, t, whole(5, 40) / 100 + 0.003

    def beginning(n: int) -> tuple[Tensor, Tensor, Tensor, Tensor, int, float]:
        p, g = torch.randn(2, n)
        return p, torch.where(g < 0, g - 0.3, g + 0.3), torch.zeros(n), torch.zeros(n), 1, whole(5, 40) / 100 + 0.003

    answer = student.adam_step(*beginning(3))
    fits = isinstance(answer, (tuple, list)) and len(answer) == 3
    expect.true(fits, holds="p, m and s come back", otherwise="Expected three tensors, (p, m, s).", mistake="not three")
    what = "(p, m, s)"
    later = [draw(3, t=7), draw(2, 5, t=2), draw(4, t=29)]
    expect.agrees(
        student.adam_step,
        _adam,
        [*later, beginning(5), beginning(4)],
        holds="the new p, m and s, at the first step and at later ones",
        slips=_ADAM,
        describe=what,
    )
    p, _, m, s, _, lr = draw(6, t=1)
    tiny = [(p, 1e-5 * torch.randn(6), 0 * m, 0 * s, 1, lr), (p, torch.full((6,), 2e-9), 0 * m, 0 * s, 1, lr)]
    expect.agrees(
        student.adam_step, _adam, tiny, "gradients may be tiny", _TINY, describe="(p, m, s) for tiny gradients"
    )
    flat = [(p, 0 * m, 0 * m, 0 * s, 1, lr), (p, 0 * m, 0 * m, 0 * s, 4, lr)]
    expect.agrees(student.adam_step, _adam, flat, "or 0", _TINY, describe="(p, m, s) where no gradient ever was")


def _adam(
    p: Tensor,
    g: Tensor,
    m: Tensor,
    s: Tensor,
    t: int,
    lr: float,
    *,
    beta: tuple[float, float] = (0.9, 0.98),
    step: Callable[[Tensor, Tensor, float], Tensor] = lambda m, s, lr: lr * m / (s.sqrt() + 1e-9),
    correct: tuple[float, float] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """A step; `step` makes it from the corrected means, `correct` holds other divisors than 1 − βᵗ."""
    m, s = beta[0] * m + (1 - beta[0]) * g, beta[1] * s + (1 - beta[1]) * g**2
    of_m, of_s = correct or (1 - beta[0] ** t, 1 - beta[1] ** t)
    return p - step(m / of_m, s / of_s, lr), m, s


def _with(**changes: Any) -> Callable[..., tuple]:
    return lambda *case: _adam(*case, **changes)


def _correcting(of: Callable[[int], tuple[float, float]]) -> Callable[..., tuple]:
    return lambda *case: _adam(*case, correct=of(case[4]))


def _returning(of: Callable[..., tuple]) -> Callable[..., tuple]:
    """A slip in what comes back; `of` gets the new p, m and s, and the case."""
    return lambda *case: of(*_adam(*case), *case)


def _old_means(p: Tensor, g: Tensor, m: Tensor, s: Tensor, t: int, lr: float) -> tuple[Tensor, Tensor, Tensor]:
    step = lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)).sqrt() + 1e-9)
    return p - step, *_adam(p, g, m, s, t, lr)[1:]


def _summing(p: Tensor, g: Tensor, m: Tensor, s: Tensor, t: int, lr: float) -> tuple[Tensor, Tensor, Tensor]:
    m, s = 0.9 * m + g, 0.98 * s + g**2
    return p - lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)).sqrt() + 1e-9), m, s


def _not_squared(p: Tensor, g: Tensor, m: Tensor, s: Tensor, t: int, lr: float) -> tuple[Tensor, Tensor, Tensor]:
    m, s = 0.9 * m + 0.1 * g, 0.98 * s + 0.02 * g
    return p - lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)).sqrt() + 1e-9), m, s


def _mean_squared(p: Tensor, g: Tensor, m: Tensor, s: Tensor, t: int, lr: float) -> tuple[Tensor, Tensor, Tensor]:
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * m**2
    return p - lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)).sqrt() + 1e-9), m, s


def _handed_on(p: Tensor, m: Tensor, s: Tensor, *case: Any) -> tuple[Tensor, Tensor, Tensor]:
    return p, m / (1 - 0.9 ** case[4]), s / (1 - 0.98 ** case[4])


_ADAM = [
    Slip(
        "uphill",
        _with(step=lambda m, s, lr: -lr * m / (s.sqrt() + 1e-9)),
        "Your parameters go up the slope. The step is subtracted.",
    ),
    Slip(
        "no bias correction",
        _correcting(lambda t: (1, 1)),
        "The running means begin at 0 and are too small at first. Divide them by 1 − βᵗ before the step.",
    ),
    Slip(
        "mean not corrected",
        _correcting(lambda t: (1, 1 - 0.98**t)),
        "The mean of the squares is corrected, the mean of the gradients is not. Divide it by 1 − β₁ᵗ.",
    ),
    Slip(
        "square not corrected",
        _correcting(lambda t: (1 - 0.9**t, 1)),
        "The mean of the gradients is corrected, the mean of the squares is not. Divide it by 1 − β₂ᵗ.",
    ),
    Slip(
        "t ignored",
        _correcting(lambda t: (0.1, 0.02)),
        "You divide by 1 − β at every step. The correction is 1 − βᵗ, which comes to 1 as t grows.",
    ),
    Slip(
        "β times t",
        _correcting(lambda t: (1 - 0.9 * t, 1 - 0.98 * t)),
        "Your correction has β · t, which soon makes it negative. It is the power: 1 − βᵗ.",
    ),
    Slip(
        "t from 0",
        _correcting(lambda t: (1 - 0.9 ** (t - 1), 1 - 0.98 ** (t - 1))),
        "Your correction has t − 1 in the exponent. t counts from 1, and at t = 1 it must be 1 − β.",
    ),
    Slip(
        "t from 2",
        _correcting(lambda t: (1 - 0.9 ** (t + 1), 1 - 0.98 ** (t + 1))),
        "Your correction has t + 1 in the exponent. t counts this step already.",
    ),
    Slip(
        "one correction for both",
        _correcting(lambda t: (1 - 0.9**t, 1 - 0.9**t)),
        "Both means are corrected with β₁. The squares decay with β₂, and are corrected with it.",
    ),
    Slip(
        "one correction for both",
        _correcting(lambda t: (1 - 0.98**t, 1 - 0.98**t)),
        "Both means are corrected with β₂. The gradients decay with β₁, and are corrected with it.",
    ),
    Slip(
        "corrected behind the root",
        lambda p, g, m, s, t, lr: _adam(
            p, g, m, s, t, lr, step=lambda m, s, lr: lr * m / (s.sqrt() / (1 - 0.98**t) ** 0.5 + 1e-9)
        ),
        "You divide the root by 1 − β₂ᵗ. It is the mean of the squares that is divided, before the root.",
    ),
    Slip(
        "β and 1 − β exchanged",
        lambda *case: _adam(*case, beta=(0.1, 0.02), correct=(1 - 0.9 ** case[4], 1 - 0.98 ** case[4])),
        "The old mean gets 1 − β and what is new gets β. It is the other way round: β keeps most of the old mean.",
    ),
    Slip(
        "no root",
        _with(step=lambda m, s, lr: lr * m / (s + 1e-9)),
        "You divided by the mean of the squares. Its root has the unit of a gradient; only then does the size of the gradient "
        "cancel.",
    ),
    Slip(
        "plain descent",
        lambda p, g, m, s, t, lr: (p - lr * g, *_adam(p, g, m, s, t, lr)[1:]),
        "p moves by the plain gradient. Adam divides by the root of the mean square, so that small gradients count too.",
    ),
    Slip(
        "no division",
        _with(step=lambda m, s, lr: lr * m),
        "p moves by the mean of the gradients alone. Divide it by the root of the mean square.",
    ),
    Slip(
        "the newest gradient, not its mean",
        lambda p, g, m, s, t, lr: (
            p - lr * g / ((_adam(p, g, m, s, t, lr)[2] / (1 - 0.98**t)).sqrt() + 1e-9),
            *_adam(p, g, m, s, t, lr)[1:],
        ),
        "Above the fraction stands the newest gradient. It is the corrected mean m.",
    ),
    Slip(
        "the old means used",
        _old_means,
        "Your step uses the old means. They are updated first, and the step uses the new ones.",
    ),
    Slip(
        "lr ignored",
        lambda p, g, m, s, t, lr: _adam(p, g, m, s, t, 1.0),
        "Your step has no learning rate: `lr` is never used.",
    ),
    Slip("lr ignored", lambda p, g, m, s, t, lr: _adam(p, g, m, s, t, 0.001), "Your rate is 0.001, whatever `lr` is."),
    Slip(
        "m ignored",
        lambda p, g, m, s, t, lr: _adam(p, g, 0 * m, s, t, lr),
        "The old m is never used: at each step the mean begins anew.",
    ),
    Slip(
        "s ignored",
        lambda p, g, m, s, t, lr: _adam(p, g, m, 0 * s, t, lr),
        "The old s is never used: at each step the mean of the squares begins anew.",
    ),
    Slip(
        "corrected means handed on",
        _returning(_handed_on),
        "You return the corrected means. The correction is for this step only; the running means go on uncorrected.",
    ),
    Slip(
        "old means handed on",
        _returning(lambda p, m, s, *case: (p, case[2], case[3])),
        "The p is right, and the m and s that you return are the old ones: nothing would ever be remembered.",
    ),
    Slip(
        "p not moved",
        _returning(lambda p, m, s, *case: (case[0], m, s)),
        "m and s are right, and the p that you return is the old one.",
    ),
    Slip(
        "the step returned",
        _returning(lambda p, m, s, *case: (case[0] - p, m, s)),
        "m and s are right, and in the place of p stands the step. Subtract it from p.",
    ),
    Slip(
        "another order",
        _returning(lambda p, m, s, *case: (m, s, p)),
        "The three are right, in another order. First p, then m, then s.",
    ),
    Slip(
        "another order",
        _returning(lambda p, m, s, *case: (p, s, m)),
        "m and s come back in the wrong order: first the mean of the gradients, then that of the squares.",
    ),
    Slip(
        "β turned round",
        _with(beta=(0.1, 0.02)),
        "Your means take most of the new gradient. β₁ = 0.9 and β₂ = 0.98 are the shares of the old means that stay.",
    ),
    Slip(
        "β₁ and β₂ swapped",
        _with(beta=(0.98, 0.9)),
        "Your m decays with 0.98 and your s with 0.9. β₁ = 0.9 belongs to m, β₂ = 0.98 to s.",
    ),
    Slip(
        "PyTorch's β₂", _with(beta=(0.9, 0.999)), "Your s decays with 0.999, PyTorch's default. The paper's β₂ is 0.98."
    ),
    Slip(
        "the square forgotten",
        _not_squared,
        "s is the running mean of the squares, g². Its root could not be taken otherwise.",
    ),
    Slip("the mean squared", _mean_squared, "s takes m² in the place of g². It is the mean of the squared gradients."),
    Slip(
        "no 1 − β",
        _summing,
        "Your m and s add the whole new gradient. It comes in with the share 1 − β, so that the mean stays a mean.",
    ),
]
_TINY = [
    Slip(
        "ε inside the root",
        _with(step=lambda m, s, lr: lr * m / (s + 1e-9).sqrt()),
        "Your ε stands inside the root, where 1e-9 is no longer small: √1e-9 is about 3e-5. It is added to the root.",
    ),
    Slip(
        "ε forgotten",
        _with(step=lambda m, s, lr: lr * m / s.sqrt()),
        "Where no gradient ever was, you divide 0 by 0. Add ε to the root.",
    ),
    Slip(
        "another ε",
        _with(step=lambda m, s, lr: lr * m / (s.sqrt() + 1e-8)),
        "Your ε is 1e-8, PyTorch's default. The paper's is 1e-9, and for tiny gradients that is seen.",
    ),
]


# one update


def _require_history(given: Tensor, own: Tensor, what: str) -> None:
    if own.requires_grad and not given.requires_grad and given.data_ptr() == own.data_ptr():
        raise RuntimeError(f"The {what} lost the history through which backward goes, as after detach() or .data.")


class _Loop:
    """Parameters, a table W with a row for each token, and what a training loop does with them; `calls` in order.

    Tensors that come back from another process have lost their graphs, which are then found by the tensors' values.
    """

    def __init__(self, W: Tensor, left: Tensor):
        self.W = W.clone().requires_grad_()
        self.W.grad = left.clone()
        self.outputs: list[Tensor] = []
        self.losses: list[Tensor] = []
        self.calls: list[tuple[str, float]] = []

    def model(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        self.outputs.append(self.W[tgt_in] + self.W[src].mean(dim=1, keepdim=True))
        return self.outputs[-1]

    def loss_of(self, logits: Tensor, targets: Tensor) -> Tensor:
        def is_it(output: Tensor) -> bool:
            same = isinstance(logits, Tensor) and logits.numel() == output.numel()
            return same and torch.allclose(logits.to(output).flatten(), output.flatten(), atol=1e-6)

        own = next((output for output in reversed(self.outputs) if is_it(output)), None)
        if own is None:
            raise ValueError(
                "loss_of(logits, targets) needs the logits as model returned them. The loss takes their softmax itself."
            )
        _require_history(logits, own, "logits")
        if targets.numel() != own.shape[:-1].numel():
            raise ValueError(
                f"There are logits for {own.shape[:-1].numel()} tokens and {targets.numel()} targets. The model reads src, "
                "then tgt_in, and what it should predict is tgt_out."
            )
        self.losses.append(F.cross_entropy(own.flatten(0, 1), targets.flatten()))
        return self.losses[-1]

    def backward(self, loss: Any) -> None:
        if not isinstance(loss, Tensor):
            raise TypeError("backward(loss) needs the loss as loss_of returned it, a tensor with its history.")
        self.calls.append(("backward", loss.item()))
        if not self.losses:
            return
        known = min(self.losses, key=lambda each: abs(each.item() - loss.item()))
        if not known.requires_grad:
            raise RuntimeError("There is nothing to go back through: the logits were computed under torch.no_grad().")
        _require_history(loss, known, "loss")
        if not loss.requires_grad:
            close = abs(known.item() - loss.item()) < 1e-9
            loss = known if close else self.losses[-1] * (loss.item() / self.losses[-1].item())
        assert self.W.grad is not None
        (grad,) = torch.autograd.grad(loss, self.W, retain_graph=True, allow_unused=True)
        self.W.grad += 0 if grad is None else grad

    def clear(self) -> None:
        self.calls.append(("clear", 0.0))
        self.W.grad = torch.zeros_like(self.W)

    @torch.no_grad()
    def update(self, lr: float) -> None:
        self.calls.append(("update", float(lr)))
        assert self.W.grad is not None
        self.W -= lr * self.W.grad

    def given(self) -> tuple[Callable, ...]:
        return self.model, self.loss_of, self.backward, self.clear, self.update

    def fault(self, returned: Any, lr: float) -> tuple[str, str] | None:
        """What is wrong with the calls of one update, if anything: a mistake's name, and a message."""
        names, losses = [name for name, _ in self.calls], [each.item() for each in self.losses]
        if "backward" not in names:
            return "nothing moves", "backward is never called, so there is no gradient along which update could move."
        if "update" not in names:
            return (
                "nothing moves",
                "update is never called before the step returns, so the parameters stay where they are.",
            )
        first, last = names.index("update"), len(names) - 1 - names[::-1].index("backward")
        if first < names.index("backward"):
            return (
                "stepped before backward",
                "Your update comes before backward, so it uses the gradient of the batch before.",
            )
        if names.count("update") > 1:
            return (
                "moved twice",
                f"update is called {names.count('update')} times for one batch. One update is asked for.",
            )
        if "clear" in names[last:first]:
            return "nothing moves", "The gradients are cleared between backward and update, so update finds only zeros."
        if names.count("backward") > len(losses):
            return "moved twice", "backward is called more than once for the same loss, and the gradients add up."
        if (rate := self.calls[first][1]) != lr:
            return "rate ignored", f"update is called with {rate:g}, and lr is {lr:g}. Pass lr itself."
        if len(losses) == 1 and abs(self.calls[last][1] - losses[0]) > 1e-6:
            given = self.calls[last][1]
            return (
                "another loss",
                f"backward is called with {given:.4f}, and the loss is {losses[0]:.4f}. Pass the loss itself.",
            )
        number = float(returned) if isinstance(returned, (int, float)) else None
        if number is not None and len(losses) == 1 and abs(number - losses[0]) > 1e-6:
            return "another number", f"Your step returns {number:.4f}, and the loss of the batch is {losses[0]:.4f}."
        return None


@exercise("training.train-step", answer="train_step")
def train_step(student, expect):
    def run(step: Callable) -> Callable:
        """The losses of some updates, and the parameters after each."""

        def ran(W: Tensor, left: Tensor, batches: list[tuple], rates: list[float]) -> list:
            loop = _Loop(W, left)
            return [(step(batch, lr, *loop.given()), loop.W.detach().clone()) for batch, lr in zip(batches, rates)]

        ran.__name__ = "train_step"
        return ran

    def draw(v: int, m: int, n: int, left: float) -> tuple:
        W = torch.randn(v, v, dtype=torch.float64)
        batches = [tuple(torch.randint(v, (2, length)) for length in (m, n, n)) for _ in range(3)]
        return W, left * torch.randn_like(W), batches, [0.5, 0.3, 0.7]

    W, left, batches, rates = draw(5, 3, 4, 0.0)
    loop = _Loop(W, left)
    returned = student.train_step(batches[0], rates[0], *loop.given())
    name, message = loop.fault(returned, rates[0]) or (None, "")
    expect.true(name is None, "one backward, then one update with lr", message, name)
    slips = [Slip(name, run(step), message) for name, step, message in _STEPS]
    for left, holds in (
        (0.0, "three updates, each by the gradient of its own batch"),
        (1.0, "also after a run that left gradients"),
    ):
        cases = [draw(5, 3, 4, left), draw(6, 2, 3, left), draw(7, 4, 2, left)]
        expect.agrees(
            run(student.train_step),
            run(_train_step),
            cases,
            holds,
            slips,
            describe="losses and parameters after each update",
        )


def _train_step(batch, lr, model, loss_of, backward, clear, update):
    loss = loss_of(model(batch[0], batch[1]), batch[2])
    clear()
    backward(loss)
    update(lr)
    return loss.item()


def _other_step(
    reads: tuple[int, int, int] = (0, 1, 2),
    order: str = "clear backward update",
    lr: float | None = None,
    share: float = 1.0,
    returns: Callable[[Tensor], Any] = Tensor.item,
) -> Callable:
    """A step that uses other parts of the batch, or calls the functions in another order."""

    def step(batch, given, model, loss_of, backward, clear, update):
        loss = loss_of(model(batch[reads[0]], batch[reads[1]]), batch[reads[2]])
        rate = given if lr is None else lr
        actions = {"clear": clear, "backward": lambda: backward(share * loss), "update": lambda: update(rate)}
        for name in order.split():
            actions[name]()
        return returns(loss)

    return step


def _looks_again(batch, lr, model, loss_of, backward, clear, update):
    _train_step(batch, lr, model, loss_of, backward, clear, update)
    return loss_of(model(batch[0], batch[1]), batch[2]).item()


_ADDED = (
    "The parameters also moved along the gradients of earlier batches: backward adds to what is there, and some may be "
    "left over from before your first update, too. Clear the gradients before each backward."
)
_STILL = (
    "The parameters never moved. Either their gradients are cleared before update can use them, or update isn't called "
    "with lr at the end."
)
_STEPS = [
    ("gradients add up", _other_step(order="backward update"), _ADDED),
    ("gradients add up", _other_step(order="backward update clear"), _ADDED),
    ("nothing moves", _other_step(order="backward clear update"), _STILL),
    (
        "stepped before backward",
        _other_step(order="update clear backward"),
        "Your update used the gradient of the batch before. Call backward first, then update.",
    ),
    (
        "moved twice",
        _other_step(order="clear backward update update"),
        "The parameters moved twice as far as they should. Call backward and update once each.",
    ),
    (
        "inputs and targets swapped",
        _other_step((0, 2, 1)),
        "Your decoder reads tgt_out and should predict tgt_in: that is the wrong way round.",
    ),
    (
        "inputs as targets",
        _other_step((0, 1, 1)),
        "Your loss compares the logits with tgt_in, the tokens that the decoder has just read. What should it predict?",
    ),
    (
        "targets as inputs",
        _other_step((0, 2, 2)),
        "Your decoder reads tgt_out, the very tokens that it should predict. What does it read in training?",
    ),
    ("rate ignored", _other_step(lr=1.0), "Your step doesn't depend on lr: its rate is 1. Pass lr to update."),
    ("another loss", _other_step(share=-1.0), "Your step goes up the loss: backward got the loss with another sign."),
    (
        "another number",
        _other_step(returns=lambda loss: loss.exp().item()),
        "You returned the perplexity. The loss itself is asked for.",
    ),
    (
        "the loss afterwards",
        _looks_again,
        "You returned the loss after the update. The loss of the batch is what the model made of it before.",
    ),
]
