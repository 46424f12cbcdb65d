"""Judges of the exercises in chapter `masking`."""

import torch
from torch import Tensor

from tfm_lib.checks.judge import Mistake, exercise


@exercise("masking.masked-softmax", answer="masked_softmax")
def masked_softmax(student, expect):
    scores = torch.tensor([[2.0, 6, 1, 1], [1, 3, 4, 8], [2, 1, 5, 2]]).log()
    mask = torch.tensor([[True, False, True, False], [False, True, False, True], [True, True, False, False]])
    hidden = scores.masked_fill(~mask, -torch.inf)
    expect.close(
        student.masked_softmax(scores, mask),
        hidden.softmax(-1),
        holds="hidden keys get weight 0, the visible ones share 1",
        mistakes=[
            Mistake(
                "0 instead of −∞",
                scores.masked_fill(~mask, 0.0).softmax(-1),
                "This looks like a score of 0 where the mask is False. A score of 0 is not a weight of 0: e⁰ = 1. "
                "The score that gives weight 0 is −∞.",
            ),
            Mistake(
                "not renormalised",
                scores.softmax(-1) * mask,
                "The hidden weights are 0, but the rows no longer sum to 1. Zeroing after the softmax "
                "needs a division by what is left of each row.",
            ),
            Mistake(
                "mask turned round",
                scores.masked_fill(mask, -torch.inf).softmax(-1),
                "You hid what was visible and showed what was hidden. Here True means may attend, "
                "so −∞ goes where the mask is False: ~mask.",
            ),
            Mistake(
                "softmax over the queries",
                hidden.softmax(-2),
                "The columns sum to 1, not the rows. Each query shares its weight among the keys, "
                "and the keys are the last axis: dim=-1.",
            ),
        ],
        describe="the weights",
    )
    _masked_softmax_far_from_zero(student, expect)


def _masked_softmax_far_from_zero(student, expect):
    large = torch.tensor([[1000.0, 1001.0, 999.0]])
    seen = torch.tensor([[True, True, False]])
    expect.close(
        student.masked_softmax(large, seen),
        large.masked_fill(~seen, -torch.inf).softmax(-1),
        holds="scores of 1000 are no problem",
        describe="the weights of scores near 1000",
    )
    tower = torch.tensor([[1.0, 2.0, 200.0]])
    late = tower.softmax(-1) * seen
    expect.close(
        student.masked_softmax(tower, seen),
        tower.masked_fill(~seen, -torch.inf).softmax(-1),
        holds="a hidden score of 200 changes nothing",
        mistakes=[
            Mistake(
                "hidden too late",
                late / late.sum(-1, keepdim=True),
                "A hidden score of 200 beside visible ones of 1 and 2 gives 0/0. The hidden score still took part "
                "in the softmax, or in the maximum that you subtracted, and rounded the visible weights to 0. "
                "Hide first.",
            ),
        ],
        describe="the weights beside a hidden score of 200",
    )
    batch = torch.randn(2, 3, 4)
    keys = torch.tensor([[[True, True, True, True]], [[True, True, False, False]]])
    expect.close(
        student.masked_softmax(batch, keys),
        batch.masked_fill(~keys, -torch.inf).softmax(-1),
        holds="a (batch, 1, m) mask broadcasts",
        describe="the weights for scores (2, 3, 4) and a mask (2, 1, 4)",
    )


@exercise("masking.triangle", answer="triangle", forbids=("torch.tril", "torch.triu", "torch.Tensor.tril", "torch.Tensor.triu"))
def triangle(student, expect):
    want = torch.ones(4, 4, dtype=torch.bool).tril()
    numbers = "The triangle is right, but it holds numbers. A mask is boolean: leave the comparison as it is."
    mistakes = [
        Mistake(
            "strict",
            want.tril(-1),
            "This is j < i: the first position sees nothing. A position may see itself, j ≤ i, "
            "because its target is the next word.",
        ),
        Mistake(
            "transposed",
            want.T,
            "This is j ≥ i: each position sees the future. Rows are queries: in [:, None] the positions vary "
            "along the rows.",
        ),
        Mistake(
            "True where hidden",
            ~want,
            "This is True where a key must be hidden. In this book True means may attend.",
        ),
        Mistake("numbers", want.float(), numbers),
        Mistake("numbers", want.long(), numbers),
        Mistake(
            "added to the scores",
            torch.zeros(4, 4).masked_fill(~want, -torch.inf),
            "These are numbers to add to the scores, 0 and −∞. They do the same work, but a mask of this book "
            "is boolean: True where the query may attend.",
        ),
    ]
    expect.close(
        student.triangle(4),
        want,
        holds="4 positions: a triangle with its diagonal",
        mistakes=mistakes,
        describe="triangle(4)",
    )
    expect.close(
        student.triangle(1),
        torch.ones(1, 1, dtype=torch.bool),
        holds="one position sees itself",
        describe="triangle(1)",
    )
    expect.close(
        student.triangle(9), torch.ones(9, 9, dtype=torch.bool).tril(), holds="and any other n", describe="triangle(9)"
    )


@exercise("masking.shifted-targets", answer="shift")
def shifted_targets(student, expect):
    ids = torch.tensor([[1, 5, 6, 7, 2], [1, 8, 2, 0, 0]])
    answer = student.shift(ids, 0)
    expect.true(
        isinstance(answer, (tuple, list)) and len(answer) == 2,
        holds="two tensors come back",
        otherwise=f"Expected the pair (inputs, targets), got a {type(answer).__name__}.",
    )
    inputs, targets = answer
    want_inputs, want_targets = ids[:, :-1], _skip_padding(ids[:, 1:])
    no_shift = (
        "The target at each position is the word that stands there. A model learns to "
        "copy it, with loss 0. Shift by one."
    )
    unpadded = "The shift is right, but padding is still a target: the model would learn to write it. Put −100 there."
    rolled = (
        "This looks like torch.roll: the last target of each sentence is the first word again. "
        "The last word has no successor, so both parts are one shorter."
    )
    backwards = (
        "This is shifted the wrong way: the target is the word before. Inputs lack the last column, targets the first."
    )
    unmoved = ("shifted backwards", backwards) if _equal(inputs, ids[:, 1:]) else ("no shift", no_shift)
    expect.close(
        targets,
        want_targets,
        holds="each target is the next word, padding is skipped",
        mistakes=[
            Mistake("no shift", ids, no_shift),
            Mistake("no shift", _skip_padding(ids), no_shift),
            Mistake(unmoved[0], ids[:, :-1], unmoved[1]),
            Mistake(unmoved[0], _skip_padding(ids[:, :-1]), unmoved[1]),
            Mistake("padding as target", ids[:, 1:], unpadded),
            Mistake("rolled", ids.roll(-1, 1), rolled),
            Mistake("rolled", _skip_padding(ids.roll(-1, 1)), rolled),
        ],
        describe="the targets",
    )
    expect.close(
        inputs,
        want_inputs,
        holds="the inputs are all words but the last",
        mistakes=[
            Mistake(
                "−100 in the inputs",
                _skip_padding(want_inputs),
                "There is −100 in the inputs, and no embedding has that row. A slice is a view: writing −100 "
                "into ids[:, 1:] "
                "writes it into ids. Use masked_fill, which makes a new tensor.",
            ),
            Mistake(
                "inputs too long",
                ids,
                "The inputs have one word more than the targets. The last one has no successor: leave its column out.",
            ),
        ],
        describe="the inputs",
    )


def _skip_padding(ids: Tensor) -> Tensor:
    return ids.masked_fill(ids == 0, -100)


def _equal(got, want: Tensor) -> bool:
    return isinstance(got, Tensor) and got.shape == want.shape and bool((got == want).all())


@exercise("masking.decoder-mask", answer="decoder_mask")
def decoder_mask(student, expect):
    square = torch.tensor([[1, 5, 7, 2], [1, 2, 0, 0], [1, 6, 2, 0], [1, 2, 0, 0]])
    wide = torch.tensor([[1, 5, 7, 8, 2], [1, 6, 2, 0, 0]])
    for ids, holds in ((square, "4 sentences of 4: no future, no padding"), (wide, "2 sentences of 5")):
        real = ids != 0
        n = ids.shape[-1]
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        queries_hidden = (
            "This hides padded queries, and their rows are empty: the softmax would give NaN. Hide padded keys only; "
            "what padded queries find, nobody reads."
        )
        expect.close(
            student.decoder_mask(ids, 0),
            causal & real[:, None, :],
            holds=holds,
            mistakes=[
                Mistake(
                    "or instead of and",
                    causal | real[:, None, :],
                    "Each of your masks allows what the other forbids. A key must be allowed by both: & instead of |.",
                ),
                Mistake("hides queries", causal & real[:, :, None], queries_hidden),
                Mistake("hides queries", causal & real[:, None, :] & real[:, :, None], queries_hidden),
                Mistake(
                    "True where padding",
                    causal & ~real[:, None, :],
                    "You kept the padding and hid the words. True means may attend: compare with !=, not ==.",
                ),
                *_without_key_axis(causal, real),
                Mistake(
                    "padding only",
                    real[:, None, :].expand(-1, n, -1),
                    "Padding is hidden, the future is not. Combine with j ≤ i.",
                ),
            ],
            describe=f"the mask for ids of shape {tuple(ids.shape)}",
        )


def _without_key_axis(causal: Tensor, real: Tensor) -> list[Mistake]:
    if causal.shape != real.shape:
        return []
    message = (
        "The result lost its batch axis. (batch, n) met (n, n), and here batch equals n, so it ran without an error: "
        "each sentence's padding was used for one query of all. Give the padding mask a middle axis, (batch, 1, n)."
    )
    return [Mistake("no axis for the queries", causal & real, message)]


@exercise("masking.sliding-window", answer="window_mask")
def sliding_window(student, expect):
    distance = torch.arange(6)[:, None] - torch.arange(6)  # i − j
    w = 3
    want = (distance >= 0) & (distance < w)
    expect.close(
        student.window_mask(6, w),
        want,
        holds="6 positions, a window of 3",
        mistakes=[
            Mistake(
                "one key too many",
                (distance >= 0) & (distance <= w),
                "Each row shows w + 1 keys. The position itself is one of the w, so the distance i − j ends at w − 1.",
            ),
            Mistake(
                "sees both sides",
                distance.abs() < w,
                "The window reaches as far forward as back. Only the past and the position itself: i − j must "
                "not be negative.",
            ),
            Mistake(
                "without itself",
                (distance > 0) & (distance <= w),
                "No position sees itself, and the first row is empty. The window of w positions ends with position i.",
            ),
            Mistake(
                "without itself",
                (distance > 0) & (distance < w),
                "No position sees itself, and the first row is empty. The window of w positions ends with position i.",
            ),
            Mistake(
                "True where hidden",
                ~want,
                "This is True where a key must be hidden. In this book True means may attend.",
            ),
            Mistake(
                "transposed",
                want.T,
                "The window looks forward: rows and columns are swapped. Row i is the query, so the distance is i − j.",
            ),
        ],
        describe="window_mask(6, 3)",
    )
    eye = torch.eye(4, dtype=torch.bool)
    expect.close(
        student.window_mask(4, 1), eye, holds="a window of 1 is the position itself", describe="window_mask(4, 1)"
    )
    triangle = torch.ones(4, 4, dtype=torch.bool).tril()
    expect.close(
        student.window_mask(4, 9), triangle, holds="a window beyond n is the causal mask", describe="window_mask(4, 9)"
    )


@exercise("masking.leak-test", answer="find_leaks")
def leak_test(student, expect):
    def leaks_of(model_fn):
        return _pairs(student.find_leaks(model_fn, 5, 4), expect)

    expect.equal(
        leaks_of(_two_ahead),
        [(1, 3)],
        holds="the leak two words ahead is found, and nothing else",
        mistakes=[
            Mistake(
                "pairs swapped",
                [(3, 1)],
                "You found it and wrote it down as (input, output). The pair is (i, j): the output that sees, "
                "then the input that is seen.",
            ),
            Mistake(
                "only the next word",
                [],
                "Output 1 of this model depends on input 3, two words ahead, and you found nothing. Try every j "
                "> i, not only i + 1.",
            ),
            Mistake(
                "counts the past",
                sorted({(i, j) for i in range(5) for j in range(i + 1)} | {(1, 3)}),
                "Your list holds pairs with j ≤ i. To depend on the past and on itself is what a causal model "
                "is for; only j > i is a leak.",
            ),
            Mistake(
                "counts the past",
                sorted({(i, j) for i in range(5) for j in range(i)} | {(1, 3)}),
                "Your list holds pairs with j < i. To depend on the past is what a causal model is for; only j "
                "> i is a leak.",
            ),
            Mistake(
                "counts itself",
                [(0, 0), (1, 1), (1, 3), (2, 2), (3, 3), (4, 4)],
                "Your list holds the diagonal. A position may see itself, j ≤ i: only j > i is a leak.",
            ),
        ],
        describe="the leaks of a model whose output 1 reads input 3",
    )
    expect.equal(
        leaks_of(_cancels),
        [(0, 1)],
        holds="so is one that cancels in the sum over the features",
        mistakes=[
            Mistake(
                "sums over the features",
                [],
                "The outputs of this model sum to 0 at each position, as after a layer norm, so the gradient of "
                "output[i].sum() is 0 "
                "whatever leaks. Look at each feature by itself, and take the largest absolute derivative.",
            )
        ],
        describe="the leaks of a model whose features cancel",
    )
    expect.equal(
        leaks_of(_silent_at_zero),
        [(2, 4)],
        holds="and one that is silent at 0",
        mistakes=[
            Mistake(
                "tested at 0",
                [],
                "This model multiplies what it leaks by its own input, so at x = 0 every derivative vanishes. "
                "Test at random numbers.",
            )
        ],
        describe="the leaks of a model that is silent at 0",
    )
    expect.equal(
        leaks_of(_running_mean), [], holds="an honest model is cleared", describe="the leaks of an honest model"
    )


def _pairs(got, expect) -> list[tuple[int, int]]:
    """The answer as a sorted list of pairs of plain numbers."""
    got = got.tolist() if isinstance(got, Tensor) else got
    try:
        pairs = sorted((int(i), int(j)) for i, j in got)
    except (TypeError, ValueError):
        pairs = None
    expect.true(
        pairs is not None,
        holds="a list of pairs comes back",
        otherwise=f"Expected a list of pairs (i, j), got a {type(got).__name__}.",
    )
    return pairs


def _running_mean(x: Tensor) -> Tensor:
    return x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1, dtype=x.dtype)[:, None]


def _row(i: int, n: int) -> Tensor:
    """A column that is 1 at position i, and 0 elsewhere."""
    return torch.nn.functional.one_hot(torch.tensor(i), n)[:, None]


def _two_ahead(x: Tensor) -> Tensor:
    return _running_mean(x) + 0.3 * _row(1, x.shape[-2]) * x[..., 3:4, :]


def _cancels(x: Tensor) -> Tensor:
    mixed = _running_mean(x) + 0.3 * _row(0, x.shape[-2]) * x[..., 1:2, :]
    return mixed - mixed.mean(-1, keepdim=True)


def _silent_at_zero(x: Tensor) -> Tensor:
    return _running_mean(x) + _row(2, x.shape[-2]) * x * x[..., 4:5, :]
