"""Judges of the exercises in `chapters/training.md`."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from tfm_lib.checks.judge import Mistake, exercise


@exercise("training.peak", answer="warmup_for")
def warmup_for(student, expect):
    d_model, peak = 256, 1 / 512
    expect.close(
        student.warmup_for(peak, d_model),
        1024,
        holds="d_model = 256 and a peak of 1/512 need 1024 steps",
        describe="the warm-up for d_model = 256 and a peak of 1/512",
        mistakes=[
            Mistake(
                "the square forgotten",
                1 / (d_model * peak),
                "You solved peak = 1 / (d_model · warmup). There is a root over the product: square before you solve.",
            ),
            Mistake(
                "d_model forgotten",
                1 / peak**2,
                "That is the warm-up for d_model = 1. A wider model has a lower peak, by 1/√d_model.",
            ),
            Mistake(
                "d_model on the wrong side",
                d_model / peak**2,
                "d_model stands beside the warm-up under the root, so the warm-up is divided by it, not multiplied.",
            ),
            Mistake(
                "the root of d_model",
                1 / (math.sqrt(d_model) * peak**2),
                "You squared the peak and left √d_model as it was. Square both sides: peak² = 1 / (d_model · warmup).",
            ),
            Mistake(
                "the peak, not the warm-up",
                (d_model * peak) ** -0.5,
                "That is what the formula of the peak gives for a warm-up of `peak` steps. Solve it for the warm-up.",
            ),
        ],
    )
    peak = (512 * 4000) ** -0.5
    expect.close(student.warmup_for(peak, 512), 4000, holds="and the paper's base model 4000", tolerance=1e-4)


@exercise("training.rates", answer="rates")
def rates(student, expect):
    def lr(step: int) -> float:
        if step < 1:
            return 0.0
        return min(step / 4, 4 / step)

    want = [lr(step) for step in (1, 2, 3)]
    expect.close(
        student.rates(6, 2, lr),
        want,
        holds="six micro-batches, two an update: the rates of updates 1, 2, 3",
        describe="the rates for six micro-batches, two an update",
        mistakes=[
            Mistake(
                "schedule per micro-batch",
                [lr(step) for step in (2, 4, 6)],
                "You asked the schedule for the number of the micro-batch. It counts updates: the first update is step 1, "
                "however many micro-batches it sums.",
            ),
            Mistake(
                "schedule per micro-batch",
                [lr(step) for step in (1, 3, 5)],
                "You asked the schedule for the number of the micro-batch. It counts updates: the second update is step "
                "2, not step 3.",
            ),
            Mistake(
                "an update for each micro-batch",
                [lr(step) for step in range(1, 7)],
                "You have a rate for each micro-batch. The parameters move once for every `accumulate` of them.",
            ),
            Mistake(
                "an update for each micro-batch",
                [lr(step) for step in (1, 1, 2, 2, 3, 3)],
                "The rates are right, and each stands there twice. The parameters move once for every `accumulate` "
                "micro-batches.",
            ),
            Mistake(
                "counted from 0",
                [lr(step) for step in (0, 1, 2)],
                "Your first update is step 0. Steps count from 1; at step 0 the rate is 0, and the first update is lost.",
            ),
        ],
    )
    expect.close(
        student.rates(7, 3, lr),
        want,
        holds="a last group that is not full makes an update too",
        describe="the rates for seven micro-batches, three an update",
        mistakes=[
            Mistake(
                "the last group lost",
                want[:2],
                "Seven micro-batches, three an update: 3 + 3 + 1. The last one makes an update too, or its gradient is "
                "lost, or worse, waits for the next epoch.",
            )
        ],
    )
    expect.close(
        student.rates(5, 1, lr), [lr(step) for step in range(1, 6)], holds="without accumulation each batch is one"
    )


@exercise("training.smoothed-loss", answer="smoothed_loss")
def smoothed_loss(student, expect):
    logits = torch.tensor([[[2.0, 0, 1, -1], [0, 3, 1, 1], [1, 1, 0, 2]], [[0.0, 1, 2, 3], [1, 0, 0, 5], [4, 0, 1, 0]]])
    targets, epsilon = torch.tensor([[2, 1, 3], [3, 0, 0]]), 0.2
    v, real = 4, targets != 0

    def each(true: float, other: float) -> Tensor:
        wanted = torch.where(F.one_hot(targets, v).bool(), true, other)
        return -(wanted * logits.log_softmax(dim=-1)).sum(dim=-1)

    ours = each(1 - epsilon + epsilon / v, epsilon / v)
    others = each(1 - epsilon, epsilon / (v - 1))
    plain = each(1.0, 0.0)
    got = student.smoothed_loss(logits, targets, epsilon, 0)
    expect.close(
        got,
        ours[real].mean(),
        holds="the mean over the four real tokens, against the smoothed targets",
        describe="the loss of two sentences, two of whose six places are padding, with ε = 0.2",
        mistakes=[
            Mistake(
                "padding counted",
                ours.mean(),
                "You took the mean over all places. Padding is not an answer that anybody asked for: leave it out of the "
                "sum and of the count.",
            ),
            Mistake(
                "divided by all places",
                (ours * real).sum() / real.numel(),
                "The sum is right, but it is divided by all places. Divide by the number of real tokens.",
            ),
            Mistake(
                "a mean of sentences",
                ((ours * real).sum(dim=1) / real.sum(dim=1)).mean(),
                "You took the mean of each sentence, and then of the sentences. The one word of the short sentence then "
                "weighs as much as three of the other: one mean over all real tokens.",
            ),
            Mistake(
                "not divided",
                (ours * real).sum(),
                "That is the sum over the tokens. Divide by how many there are, or the loss grows with the batch.",
            ),
            Mistake(
                "the other convention",
                others[real].mean(),
                "You kept 1 − ε for the true token and shared ε among the others. That convention exists; here ε is "
                "spread over the whole vocabulary, the true token included.",
            ),
            Mistake(
                "not smoothed",
                plain[real].mean(),
                "That is the plain cross-entropy. The wrong tokens have a share of the target, ε/v each.",
            ),
            Mistake(
                "the others forgotten",
                each(1 - epsilon, 0.0)[real].mean(),
                "The true token has its 1 − ε, and the ε is nowhere. Each token of the vocabulary gets ε/v of it.",
            ),
            Mistake(
                "a plus sign",
                -ours[real].mean(),
                "The logarithm of a probability is negative; the loss is minus its mean.",
            ),
        ],
    )
    logits, targets = torch.randn(3, 5, 9), torch.randint(0, 9, (3, 5))
    targets[targets == 6] = 7
    targets[0, 0], targets[1, 2:], targets[2, 4:] = 5, 6, 6
    want = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1, ignore_index=6)
    expect.close(student.smoothed_loss(logits, targets, 0.1, 6), want, holds="also where padding has another id")
    want = F.cross_entropy(1000 * logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1, ignore_index=6)
    expect.close(
        student.smoothed_loss(1000 * logits, targets, 0.1, 6),
        want,
        holds="and with logits in the thousands",
        describe="the loss of logits in the thousands (log of a softmax is log 0 there; log_softmax is not)",
    )


@exercise("training.floor", answer="least_loss")
def least_loss(student, expect):
    v, epsilon = 5, 0.1
    true, other = 1 - epsilon + epsilon / v, epsilon / v
    want = -true * math.log(true) - (v - 1) * other * math.log(other)
    shared = epsilon / (v - 1)
    expect.close(
        student.least_loss(v, epsilon),
        want,
        holds="v = 5 and ε = 0.1",
        describe="the least loss for v = 5 and ε = 0.1",
        mistakes=[
            Mistake(
                "only the true token",
                -true * math.log(true),
                "That is the part of the true token. The other v − 1 tokens have their share of the target, and of the "
                "loss.",
            ),
            Mistake(
                "only the true token",
                -math.log(true),
                "That is what a plain cross-entropy says of the best model. Against smoothed targets all v tokens count, "
                "each with its share.",
            ),
            Mistake(
                "one of the others",
                -true * math.log(true) - other * math.log(other),
                "You counted one wrong token. There are v − 1 of them.",
            ),
            Mistake(
                "the other convention",
                -(1 - epsilon) * math.log(1 - epsilon) - epsilon * math.log(shared),
                "That is the floor where ε is shared among the other v − 1 tokens. Here the true token keeps ε/v of it.",
            ),
            Mistake(
                "in bits",
                want / math.log(2),
                "That is the floor in bits. The loss of this book is in nats: natural logarithms.",
            ),
            Mistake(
                "as if it could reach 0",
                0.0,
                "0 would need a probability of 1 on the true token, and then the others, at probability 0, cost ∞.",
            ),
        ],
    )
    v, epsilon = 37_000, 0.1
    true, other = 1 - epsilon + epsilon / v, epsilon / v
    want = -true * math.log(true) - (v - 1) * other * math.log(other)
    expect.close(student.least_loss(v, epsilon), want, holds="and the paper's 37 000 tokens")


@exercise("training.accumulate", answer="one_gradient")
def one_gradient(student, expect):
    gradients, tokens = [torch.tensor([4.0, 0.0]), torch.tensor([0.0, 8.0])], [3, 1]
    expect.close(
        student.one_gradient(gradients, tokens),
        torch.tensor([3.0, 2.0]),
        holds="micro-batches of 3 and 1 tokens weigh 3/4 and 1/4",
        describe="the gradient of micro-batches of 3 and 1 tokens",
        mistakes=[
            Mistake(
                "every micro-batch counts the same",
                torch.tensor([2.0, 4.0]),
                "You took the plain mean. The one token of the second micro-batch then counts as much as three of the "
                "first: weight each gradient by its tokens.",
            ),
            Mistake(
                "a plain sum",
                torch.tensor([4.0, 8.0]),
                "You added the gradients, as .grad does by itself. Of means over different numbers of tokens, each must "
                "be weighted by its share of all tokens.",
            ),
            Mistake(
                "not divided by all tokens",
                torch.tensor([12.0, 8.0]),
                "You multiplied by the tokens: now you have the gradient of the sum. Divide by the number of all tokens.",
            ),
            Mistake(
                "the shares turned round",
                torch.tensor([1.0, 6.0]),
                "The micro-batch with fewer tokens got the larger weight. Its share is its tokens over all tokens.",
            ),
            Mistake(
                "divided by the number of micro-batches",
                torch.tensor([6.0, 4.0]),
                "You multiplied by the tokens and divided by the number of micro-batches. Divide by the number of tokens.",
            ),
        ],
    )
    matrix = torch.randn(3, 4, 2)
    want = (matrix * torch.tensor([5.0, 7, 1]).reshape(3, 1, 1)).sum(dim=0) / 13
    expect.close(student.one_gradient(list(matrix), [5, 7, 1]), want, holds="also for three micro-batches and a matrix")


@exercise("training.adam-step", answer="adam_step")
def adam_step(student, expect):
    p, g = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([2.0, -0.5, 0.001])
    zero, lr = torch.zeros(3), 0.1
    first = _adam(p, g, zero, zero, 1, lr)
    got = _three(student.adam_step(p, g, zero, zero, 1, lr), expect)
    expect.close(
        got[0],
        first[0],
        holds="the first step moves every parameter by the learning rate, against its gradient",
        describe="the parameters after the first step",
        mistakes=[
            Mistake(
                "uphill",
                2 * p - first[0],
                "Your parameters go up the slope. The step is subtracted.",
            ),
            Mistake(
                "no bias correction",
                p - lr * 0.1 * g / ((0.02 * g**2).sqrt() + 1e-9),
                "The running means begin at 0 and are too small at first. Divide them by 1 − βᵗ before the step.",
            ),
            Mistake(
                "one of the two means not corrected",
                p - lr * 0.1 * g / (g.abs() + 1e-9),
                "The mean of the squares is corrected, the mean of the gradients is not. Divide it by 1 − β₁ᵗ.",
            ),
            Mistake(
                "one of the two means not corrected",
                p - lr * g / ((0.02 * g**2).sqrt() + 1e-9),
                "The mean of the gradients is corrected, the mean of the squares is not. Divide it by 1 − β₂ᵗ.",
            ),
            Mistake(
                "no root",
                p - lr * g / (g**2 + 1e-9),
                "You divided by the mean of the squares. Its root has the unit of a gradient; only then does the size of "
                "the gradient cancel.",
            ),
            Mistake(
                "plain descent",
                p - lr * g,
                "That is gradient descent. Adam divides by the root of the mean square, so that small gradients count too.",
            ),
        ],
    )
    expect.close(
        got[1],
        first[1],
        holds="the running mean of the gradients is kept as it is",
        describe="the new m",
        mistakes=[
            Mistake(
                "corrected means handed on",
                g,
                "You return the corrected mean. The correction is for this step only; the running mean goes on uncorrected.",
            ),
            Mistake(
                "β turned round",
                0.9 * g,
                "Your mean takes 0.9 of the new gradient. β₁ = 0.9 is the share of the old mean that stays.",
            ),
            Mistake(
                "β₁ and β₂ swapped", 0.02 * g, "Your m decays with 0.98. That is β₂, for the squares; m has β₁ = 0.9."
            ),
        ],
    )
    expect.close(
        got[2],
        first[2],
        holds="and so is the mean of their squares",
        describe="the new s",
        mistakes=[
            Mistake(
                "corrected means handed on",
                g**2,
                "You return the corrected mean. The correction is for this step only; the running mean goes on uncorrected.",
            ),
            Mistake(
                "β₁ and β₂ swapped", 0.1 * g**2, "Your s decays with 0.9. That is β₁, for the mean; s has β₂ = 0.98."
            ),
            Mistake(
                "the square forgotten",
                0.02 * g,
                "s is the running mean of the squares, g². Its root could not be taken otherwise.",
            ),
        ],
    )
    p, g, m, s = torch.randn(4, 2, 3)
    s = s.abs()
    want = _adam(p, g, m, s, 5, lr)
    expect.close(
        _three(student.adam_step(p, g, m, s, 5, lr), expect),
        torch.stack(want),
        holds="a fifth step, from means that are not 0",
        describe="p, m and s after a fifth step",
        mistakes=[
            Mistake(
                "β not raised to t",
                torch.stack([p - lr * (want[1] / 0.1) / ((want[2] / 0.02).sqrt() + 1e-9), *want[1:]]),
                "You divide by 1 − β at every step. The correction is 1 − βᵗ, which comes to 1 as t grows.",
            ),
            Mistake(
                "t from 0",
                torch.stack(_adam(p, g, m, s, 4, lr)[:1] + want[1:]),
                "Your correction has t − 1 in the exponent. t counts from 1, and at t = 1 it must be 1 − β.",
            ),
        ],
    )


def _adam(p: Tensor, g: Tensor, m: Tensor, s: Tensor, t: int, lr: float) -> tuple[Tensor, Tensor, Tensor]:
    m, s = 0.9 * m + 0.1 * g, 0.98 * s + 0.02 * g**2
    return p - lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)).sqrt() + 1e-9), m, s


def _three(answer, expect) -> tuple[Tensor, Tensor, Tensor]:
    fits = isinstance(answer, (tuple, list)) and len(answer) == 3
    expect.true(fits, holds="p, m and s come back", otherwise="Expected three tensors, (p, m, s).")
    return answer
