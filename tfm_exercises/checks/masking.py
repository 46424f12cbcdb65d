"""Judges of the exercises in chapter `masking`."""

from collections.abc import Callable
from itertools import islice

import torch
from torch import Tensor
from torch.autograd.functional import jacobian

from tfm_exercises.judge import Slip, exercise
from tfm_exercises.watching import Refused


def _sizes(count: int, low: int, high: int) -> list[int]:
    """`count` different whole numbers from `low` to `high`."""
    return (torch.randperm(high - low + 1)[:count] + low).tolist()


def _some_hidden(*shape: int) -> Tensor:
    """A mask whose every row shows a key and hides one."""
    mask = torch.rand(shape) < 0.5
    first, second = torch.rand(shape).topk(2, dim=-1).indices.split(1, dim=-1)
    return mask.scatter(-1, first, True).scatter(-1, second, False)


# the masked softmax


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).softmax(-1)


def _late(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


def _shares(exps: Tensor) -> Tensor:
    return exps / exps.sum(-1, keepdim=True)


FINITE = (
    "You hide with a finite number. Where the visible scores are as low as that number, a hidden key gets weight "
    "again. Only −∞ is below every score."
)
OVERFLOW = (
    "Right for small scores. Near 1000 `exp` overflows to inf and inf / inf is NaN; near −1000 it is 0, and so is its "
    "sum. The weights stay the same if each row first loses its largest visible score."
)
HIDDEN_SLIPS = [
    Slip(
        "0 instead of −∞",
        lambda scores, mask: (scores * mask).softmax(-1),
        "This looks like a score of 0 where the mask is False. A score of 0 is not a weight of 0: e⁰ = 1. "
        "The score that gives weight 0 is −∞.",
    ),
    Slip(
        "not renormalised",
        lambda scores, mask: scores.softmax(-1) * mask,
        "The hidden weights are 0, but the rows no longer sum to 1. Zeroing after the softmax "
        "needs a division by what is left of each row.",
    ),
    Slip(
        "mask turned round",
        lambda scores, mask: _masked(scores, ~mask),
        "You hid what was visible and showed what was hidden. Here True means may attend, "
        "so −∞ goes where the mask is False: ~mask.",
    ),
    Slip(
        "softmax over the queries",
        lambda scores, mask: scores.masked_fill(~mask, -torch.inf).softmax(-2),
        "The columns sum to 1, not the rows. Each query shares its weight among the keys, "
        "and the keys are the last axis: dim=-1.",
    ),
    Slip(
        "one softmax for all rows",
        lambda scores, mask: scores.masked_fill(~mask, -torch.inf).flatten().softmax(0).view(scores.shape),
        "All rows together sum to 1. Each query has a weight of 1 to share: sum over the last axis only, and keep "
        "that axis, so that the division finds its row.",
    ),
    Slip(
        "mask is ignored",
        lambda scores, mask: scores.softmax(-1),
        "Hidden keys get as much weight as without a mask. `masked_fill` returns a new tensor: is its result used?",
    ),
    Slip(
        "mask added to the scores",
        lambda scores, mask: (scores + mask).softmax(-1),
        "You added the mask itself, so a visible score grows by 1 and a hidden one stays. To be hidden a score must "
        "fall to −∞: add log(mask), or fill.",
    ),
    Slip(
        "scores, not weights",
        lambda scores, mask: scores.masked_fill(~mask, -torch.inf),
        "The hiding is right, and you stopped there: these are scores. The softmax turns them into weights.",
    ),
    Slip(
        "mask transposed",
        lambda scores, mask: _masked(scores, mask.mT),
        "The mask lies on its side: you hid queries' rows by keys' columns. It fits the scores as it is, without .T.",
    ),
    Slip(
        "logarithms",
        lambda scores, mask: scores.masked_fill(~mask, -torch.inf).log_softmax(-1),
        "These are the logarithms of the weights. Take softmax in place of log_softmax.",
    ),
    Slip(
        "without exp",
        lambda scores, mask: _shares(scores * mask),
        "The scores themselves were divided by their sum. The softmax takes their exponentials, which are never "
        "negative.",
    ),
]


@exercise("masking.masked-softmax", answer="masked_softmax")
def masked_softmax(student, expect):
    batch, heads, n, m = _sizes(4, 3, 7)
    inputs = [
        (torch.randn(heads, heads) * 2, _some_hidden(heads, heads)),  # square: a mask on its side runs, and is named
        (torch.randn(n, m) * 2, _some_hidden(n, m)),
        (torch.randn(batch, m, n) * 2, _some_hidden(batch, 1, n)),
        (torch.randn(batch, heads, m, n + 1), _some_hidden(m, n + 1)),
    ]
    expect.agrees(
        student.masked_softmax,
        _masked,
        inputs,
        "hidden keys get weight 0, the visible ones share 1, in every row",
        HIDDEN_SLIPS,
        describe="the weights",
    )
    late = (
        "A hidden score of 60 beside visible ones near −50 gives 0/0. The hidden score still took part in the softmax, "
        "or in the maximum that you subtracted, and rounded the visible weights to 0. Hide first."
    )
    tower, seen = torch.randn(n, m) - 50, _some_hidden(n, m)
    expect.agrees(
        student.masked_softmax,
        _masked,
        [(tower.masked_fill(~seen, 60.0), seen), (tower, seen), (tower.masked_fill(~seen, 3000.0), seen)],
        "a hidden score far above the visible ones changes nothing",
        [Slip("hidden too late", _late, late)],
        describe="the weights beside a hidden score far above",
    )
    levels = torch.tensor([1000.0, -1000.0, 990.0, -990.0]).repeat(n)[:n, None]
    far = [(torch.randn(n, m) + level, _some_hidden(n, m)) for level in (1000, -1000)]
    far += [(torch.randn(n, m) + levels, _some_hidden(n, m))]
    expect.agrees(
        student.masked_softmax,
        _masked,
        far,
        "scores of 1000 and −1000 are no problem",
        [
            *(
                Slip("a finite number for −∞", lambda s, mask, low=low: s.masked_fill(~mask, low).softmax(-1), FINITE)
                for low in (-10.0, -20.0, -50.0, -99.0, -100.0, -999.0, -1000.0)
            ),
            Slip("exp overflows", lambda s, mask: _shares(s.masked_fill(~mask, -torch.inf).exp()), OVERFLOW),
            Slip("exp overflows", lambda s, mask: _shares(s.exp() * mask), OVERFLOW),
            Slip(
                "one maximum for all rows",
                lambda s, mask: _shares((s - s.max()).exp() * mask),
                "You subtracted the largest score of all rows. A row far below it becomes 0/0. Each row loses its own "
                "largest score: amax(dim=-1, keepdim=True).",
            ),
        ],
        tolerance=1e-3,
        describe="the weights of large scores",
    )


# the triangle


def _triangle(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()


NUMBERS = "The entries are right, but they are numbers. A mask is boolean: leave the comparison as it is."
TRIANGLE_SLIPS = [
    Slip(
        "strict",
        lambda n: _triangle(n).tril(-1),
        "This is j < i: the first position sees nothing. A position may see itself, j ≤ i, "
        "because its target is the next word.",
    ),
    Slip(
        "transposed",
        lambda n: _triangle(n).T,
        "This is j ≥ i: each position sees the future. Rows are queries: in [:, None] the positions vary "
        "along the rows.",
    ),
    Slip(
        "True where hidden",
        lambda n: ~_triangle(n),
        "This is True where a key must be hidden. In this book True means may attend.",
    ),
    Slip("numbers", lambda n: _triangle(n).long(), NUMBERS),
    Slip(
        "added to the scores",
        lambda n: torch.zeros(n, n).masked_fill(~_triangle(n), -torch.inf),
        "These are numbers to add to the scores, 0 and −∞. They do the same work, but a mask of this book "
        "is boolean: True where the query may attend.",
    ),
    Slip(
        "sees the next word",
        lambda n: torch.ones(n, n, dtype=torch.bool).tril(1),
        "This is j ≤ i + 1: each position sees the word after it, which is what it has to predict.",
    ),
    Slip(
        "only itself",
        lambda n: torch.eye(n, dtype=torch.bool),
        "Each position sees itself and nothing else: this is j = i. The past is allowed too, j ≤ i.",
    ),
    Slip(
        "everything visible",
        lambda n: torch.ones(n, n, dtype=torch.bool),
        "Nothing is hidden. One of the two sides of the comparison must vary along the rows, the other along the "
        "columns.",
    ),
    Slip(
        "no column",
        lambda n: torch.ones(n, dtype=torch.bool),
        "One row came back. The positions were compared with themselves one by one. As a column, [:, None], the same "
        "numbers meet all the others.",
    ),
    *(
        Slip(
            "n is ignored",
            lambda n, k=k: _triangle(k),
            f"This mask is {k} × {k} for every n. Take the number of positions from the argument n.",
        )
        for k in (3, 4, 5, 6, 7, 8, 10)
    ),
]


@exercise(
    "masking.triangle",
    answer="triangle",
    forbids=("torch.tril", "torch.triu", "torch.Tensor.tril", "torch.Tensor.triu", "torch.tril_indices", "loop"),
)
def triangle(student, expect):
    sizes = [*_sizes(2, 2, 11), *_sizes(1, 12, 61)]  # more than anybody writes down
    expect.agrees(
        student.triangle, _triangle, [(n,) for n in sizes], "a triangle with its diagonal, for any n", TRIANGLE_SLIPS
    )
    expect.agrees(student.triangle, _triangle, [(1,)], "one position sees itself")


# the shifted targets


def _skip(ids: Tensor, pad_id: int) -> Tensor:
    return ids.masked_fill(ids == pad_id, -100)


def _shifted(ids: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
    return ids[:, :-1], _skip(ids[:, 1:], pad_id)


NO_SHIFT = (
    "The target at each position is the word that stands there. A model learns to copy it, with loss 0. Shift by one."
)
BACKWARDS = (
    "This is shifted the wrong way: the target is the word before. Inputs lack the last column, targets the first."
)
ROLLED = (
    "This looks like torch.roll: the last target of each sentence is the first word again. "
    "The last word has no successor, so both parts are one shorter."
)
SHIFT_SLIPS = [
    *(
        Slip("no shift", part, NO_SHIFT)
        for part in (
            lambda ids, pad_id: (ids[:, :-1], _skip(ids[:, :-1], pad_id)),
            lambda ids, pad_id: (ids[:, :-1], ids[:, :-1]),
            lambda ids, pad_id: (ids, _skip(ids, pad_id)),
            lambda ids, pad_id: (ids, ids),
            lambda ids, pad_id: (ids[:, 1:], _skip(ids[:, 1:], pad_id)),
        )
    ),
    Slip("shifted backwards", lambda ids, pad_id: (ids[:, 1:], _skip(ids[:, :-1], pad_id)), BACKWARDS),
    Slip("shifted backwards", lambda ids, pad_id: (ids[:, 1:], ids[:, :-1]), BACKWARDS),
    Slip(
        "padding as target",
        lambda ids, pad_id: (ids[:, :-1], ids[:, 1:]),
        "The shift is right, but padding is still a target: the model would learn to write it. Put −100 there.",
    ),
    Slip("rolled", lambda ids, pad_id: (ids, _skip(ids.roll(-1, 1), pad_id)), ROLLED),
    Slip("rolled", lambda ids, pad_id: (ids, ids.roll(-1, 1)), ROLLED),
    Slip("rolled", lambda ids, pad_id: (ids[:, :-1], _skip(ids.roll(-1, 1), pad_id)), ROLLED),
    Slip(
        "inputs too long",
        lambda ids, pad_id: (ids, _skip(ids[:, 1:], pad_id)),
        "The inputs have one word more than the targets. The last one has no successor: leave its column out.",
    ),
    Slip(
        "−100 in the inputs",
        lambda ids, pad_id: (_skip(ids[:, :-1], pad_id), _skip(ids[:, 1:], pad_id)),
        "There is −100 in the inputs, and no embedding has that row. A slice is a view: writing −100 "
        "into ids[:, 1:] writes it into ids. Use masked_fill, which makes a new tensor.",
    ),
    Slip(
        "pad_id is ignored",
        lambda ids, pad_id: (ids[:, :-1], _skip(ids[:, 1:], 0)),
        "You took 0 for the padding. Here pad_id is another number, and 0 is a word: compare with pad_id.",
    ),
    Slip(
        "padding looked for in the inputs",
        lambda ids, pad_id: (ids[:, :-1], ids[:, 1:].masked_fill(ids[:, :-1] == pad_id, -100)),
        "You put −100 where the input is padding. The first padding of a sentence is the target of its <eos>, and "
        "stays: ask the targets, not the inputs.",
    ),
    Slip(
        "the pair swapped",
        lambda ids, pad_id: (_skip(ids[:, 1:], pad_id), ids[:, :-1]),
        "Both parts are right and stand in the wrong order: inputs first, then targets.",
    ),
    *(
        Slip(
            "another number for −100",
            lambda ids, pad_id, k=k: (ids[:, :-1], ids[:, 1:].masked_fill(ids[:, 1:] == pad_id, k)),
            f"Padding among the targets became {k}. F.cross_entropy skips −100, and nothing else unless told.",
        )
        for k in (0, -1, 100)
    ),
    Slip(
        "words skipped, padding kept",
        lambda ids, pad_id: (ids[:, :-1], ids[:, 1:].masked_fill(ids[:, 1:] != pad_id, -100)),
        "−100 stands at the words, and the padding is left. Turn the comparison round: == in place of !=.",
    ),
    Slip(
        "sentences in place of words",
        lambda ids, pad_id: (ids[:-1], ids[1:]),
        "You cut off sentences, not words. Axis 0 is the batch, axis 1 the words: ids[:, :-1] and ids[:, 1:].",
    ),
    Slip(
        "sentences in place of words",
        lambda ids, pad_id: (ids[:-1], _skip(ids[1:], pad_id)),
        "You cut off sentences, not words. Axis 0 is the batch, axis 1 the words: ids[:, :-1] and ids[:, 1:].",
    ),
    Slip(
        "<eos> is no target",
        lambda ids, pad_id: (ids[:, :-1], _before_padding(ids, pad_id)),
        "The last real word of each sentence is no target here. It is <eos>, and a model that never learns it never "
        "stops: put −100 where the target is padding, and nowhere else.",
    ),
]


def _before_padding(ids: Tensor, pad_id: int) -> Tensor:
    targets = _skip(ids[:, 1:], pad_id)
    after = torch.cat([ids[:, 2:] == pad_id, torch.ones(len(ids), 1, dtype=torch.bool)], dim=1)
    return targets.masked_fill(after, -100)


def _sentences(batch: int, n: int, pad_id: int) -> Tensor:
    """Ids of `batch` sentences in rows of `n`, the longest without padding; 0 is a word here."""
    words = torch.randint(1, 20, (batch, n))
    words = words.masked_fill(torch.rand(batch, n) < 0.25, 0)
    words = torch.where(words == pad_id, 20, words)
    lengths = torch.randint(2, n, (batch, 1))
    lengths[torch.randint(batch, ())] = n
    return words.masked_fill(torch.arange(n) >= lengths, pad_id)


@exercise("masking.shifted-targets", answer="shift")
def shifted_targets(student, expect):
    batches, pads = _sizes(4, 2, 6), _sizes(4, 1, 9)
    inputs = [(_sentences(batch, batch + 4, pad_id), pad_id) for batch, pad_id in zip(batches, pads)]
    got = student.shift(*inputs[0])
    expect.true(
        isinstance(got, (tuple, list)) and len(got) == 2,
        holds="two tensors come back",
        otherwise=f"Expected the pair (inputs, targets), got a {type(got).__name__}.",
        mistake="no pair",
    )
    expect.agrees(
        student.shift,
        _shifted,
        inputs,
        "the inputs are all words but the last; each target is the next word, padding is skipped",
        SHIFT_SLIPS,
        describe="(inputs, targets)",
    )
    expect.true(
        not any(isinstance(part, Tensor) and part.is_floating_point() for part in got),
        holds="whole numbers",
        otherwise="The numbers are right, and they are floating-point. Ids are whole numbers: an embedding and F.cross_entropy "
        "take no others.",
        mistake="floating-point numbers",
    )
    short = torch.tensor([[3, 5]])
    expect.agrees(student.shift, _shifted, [(short, 7), (short, 5)], "one sentence of two words too")


# the decoder's mask


def _decoder(ids: Tensor, pad_id: int) -> Tensor:
    return _triangle(ids.shape[-1]) & (ids != pad_id)[:, None, :]


QUERIES_HIDDEN = (
    "This hides padded queries, and their rows are empty: the softmax would give NaN. Hide padded keys only; "
    "what padded queries find, nobody reads."
)
FORGOTTEN = (
    "The future is hidden, padding is not: the mask is the same for every sentence. Hide the keys that are padding."
)
LOST_BATCH = (
    "The result lost its batch axis. (batch, n) met (n, n), and here batch equals n, so it ran without an error: "
    "each sentence's padding was used for one query of all. Give the padding mask a middle axis, (batch, 1, n)."
)
DECODER_SLIPS = [
    Slip(
        "or instead of and",
        lambda ids, pad_id: _triangle(ids.shape[1]) | (ids != pad_id)[:, None, :],
        "Each of your masks allows what the other forbids. A key must be allowed by both: & instead of |.",
    ),
    Slip("hides queries", lambda ids, pad_id: _triangle(ids.shape[1]) & (ids != pad_id)[:, :, None], QUERIES_HIDDEN),
    Slip("hides queries", lambda ids, pad_id: _decoder(ids, pad_id) & (ids != pad_id)[:, :, None], QUERIES_HIDDEN),
    Slip(
        "True where padding",
        lambda ids, pad_id: _triangle(ids.shape[1]) & (ids == pad_id)[:, None, :],
        "You kept the padding and hid the words. True means may attend: compare with !=, not ==.",
    ),
    Slip("no axis for the queries", lambda ids, pad_id: _triangle(ids.shape[1]) & (ids != pad_id), LOST_BATCH),
    Slip("no axis for the queries", lambda ids, pad_id: (_triangle(ids.shape[1]) & (ids != pad_id))[None], LOST_BATCH),
    Slip(
        "padding only",
        lambda ids, pad_id: (ids != pad_id)[:, None, :].expand(-1, ids.shape[1], -1),
        "Padding is hidden, the future is not. Combine with j ≤ i.",
    ),
    Slip("padding forgotten", lambda ids, pad_id: _triangle(ids.shape[1]).expand(len(ids), -1, -1), FORGOTTEN),
    Slip("padding forgotten", lambda ids, pad_id: _triangle(ids.shape[1]), FORGOTTEN),
    Slip("padding forgotten", lambda ids, pad_id: _triangle(ids.shape[1])[None], FORGOTTEN),
    Slip(
        "pad_id is ignored",
        lambda ids, pad_id: _decoder(ids, 0),
        "You took 0 for the padding. Here pad_id is another number, and 0 is a word: compare with pad_id.",
    ),
    Slip(
        "strict causal",
        lambda ids, pad_id: _decoder(ids, pad_id).tril(-1),
        "This is j < i: no position sees itself, and the first row is empty. The present word is known: j ≤ i.",
    ),
    Slip(
        "mask transposed",
        lambda ids, pad_id: _triangle(ids.shape[1]).T & (ids != pad_id)[:, None, :],
        "The causal part is transposed: positions see the future and not the past. Rows are queries, columns keys: "
        "j ≤ i, with i down the rows.",
    ),
    Slip(
        "mask transposed",
        lambda ids, pad_id: _decoder(ids, pad_id).mT,
        "The whole mask lies on its side: queries and keys are swapped. Rows are queries, columns keys.",
    ),
    Slip(
        "True where hidden",
        lambda ids, pad_id: ~_decoder(ids, pad_id),
        "This is True where a key must be hidden. In this book True means may attend.",
    ),
    Slip("numbers", lambda ids, pad_id: _decoder(ids, pad_id).long(), NUMBERS),
    Slip(
        "an axis too many",
        lambda ids, pad_id: _decoder(ids, pad_id)[:, None],
        "The mask is right and has an axis for the heads, (batch, 1, n, n). Here (batch, n, n) is asked for.",
    ),
]


@exercise(
    "masking.decoder-mask",
    answer="decoder_mask",
    forbids=("tfm_lib.masking.causal_mask", "tfm_lib.masking.padding_mask", "tfm_lib.masking.combine"),
)
def decoder_mask(student, expect):
    (a, b, c), pads = _sizes(3, 3, 7), _sizes(4, 1, 9)
    shapes = [(a, a), (b, b), (c, c + 3), (b + 4, b)]  # as many sentences as words: what broadcasts by accident runs
    inputs = [(_sentences(*shape, pad_id), pad_id) for shape, pad_id in zip(shapes, pads)]
    expect.agrees(
        student.decoder_mask,
        _decoder,
        inputs,
        "no query sees the future, none sees padding",
        DECODER_SLIPS,
        describe="the mask",
    )
    one = torch.tensor([[0], [4]])
    expect.agrees(
        student.decoder_mask, _decoder, [(one, 2), (_sentences(1, a, 5), 5)], "one word, or one sentence, too"
    )


# the leak test

Model = Callable[[Tensor], Tensor]


def _model(n: int, d: int, add: Callable[[Tensor], dict[int, Tensor]] = lambda x: {}, centre: bool = False) -> Model:
    """A causal model, a running mean of mixed features, whose outputs get what `add` says on top, by their positions."""
    places, mix = torch.randn(n, d), torch.randn(d, d) / d**0.5
    counts = torch.arange(1, n + 1)[:, None]

    def model_fn(x: Tensor) -> Tensor:
        honest = (x @ mix.to(x) + places.to(x)).cumsum(-2) / counts
        extra = add(x)
        rows = [row + extra[i] if i in extra else row for i, row in enumerate(honest.unbind(-2))]
        out = torch.stack(rows, dim=-2)
        return out - out.mean(-1, keepdim=True) if centre else out

    return model_fn


LEAK_SLIPS = {
    "pairs swapped": (
        lambda see: {(j, i) for i, j in _future(see)},
        (
            "You found it and wrote it down as (input, output). The pair is (i, j): the output that sees, "
            "then the input that is seen."
        ),
    ),
    "only the next word": (
        lambda see: {(i, j) for i, j in _future(see) if j == i + 1},
        "You found what leaks from the very next word, and missed what comes from farther ahead. Try every j > i.",
    ),
    "counts the past": (
        lambda see: _true(see),
        (
            "Your list holds pairs with j ≤ i. To depend on the past and on itself is what a causal model is for; only "
            "j > i is a leak."
        ),
    ),
    "counts only the past": (
        lambda see: {(i, j) for i, j in _true(see) if j < i},
        "Your list holds pairs with j < i. To depend on the past is what a causal model is for; only j > i is a leak.",
    ),
    "counts itself": (
        lambda see: {(i, j) for i, j in _true(see) if j >= i},
        "Your list holds the diagonal. A position may see itself, j ≤ i: only j > i is a leak.",
    ),
    "misses the last": (
        lambda see: {(i, j) for i, j in _future(see) if j < len(see) - 1},
        "Leaks from the last input are missing. range(a, b) ends before b: does your j reach n − 1?",
    ),
    "counted from 1": (
        lambda see: {(i + 1, j + 1) for i, j in _future(see)},
        "Your positions are one too high: they count from 0.",
    ),
    "stops at the first": (
        lambda see: set(sorted(_future(see))[:1]),
        "You stop at the first leak. All pairs are asked for.",
    ),
}
SLOPE_SLIPS = {
    "sums over the features": (
        lambda slopes: slopes.sum(1).abs().amax(-1) > 1e-5,
        (
            "The outputs of one of these models sum to 0 at each position, as after a layer norm, so the gradient of "
            "output[i].sum() is 0 whatever leaks. Look at each feature by itself, and take the largest absolute derivative."
        ),
    ),
    "only the first feature": (
        lambda slopes: slopes[:, 0].abs().amax(-1) > 0,
        "You look at feature 0 of the outputs only. A model may leak through any of its features: look at all d.",
    ),
    "moves only the first feature": (
        lambda slopes: slopes[:, :, :, 0].abs().amax(1) > 0,
        "You move feature 0 of the inputs only. A model may read any feature of the future: look at all d.",
    ),
    "without absolute values": (
        lambda slopes: slopes.amax(dim=(1, 3)) > 0,
        "You look at the largest derivative and miss the negative ones. Take absolute values first.",
    ),
    "a threshold too high": (
        lambda slopes: slopes.abs().amax(dim=(1, 3)) > 0.1,
        (
            "You miss a weak leak. However small a slope is, it is a leak: a causal model's slope is exactly 0. Compare with 0, "
            "or, after a change of the input, with what rounding makes, 1e-6."
        ),
    ),
    "a threshold so high": (
        lambda slopes: slopes.abs().amax(dim=(1, 3)) > 0.5,
        ("You miss all but the strongest leaks. A causal model's slope is exactly 0: let the threshold be far lower."),
    ),
}


def _true(see: Tensor) -> set[tuple[int, int]]:
    return {(i, j) for i, j in see.nonzero().tolist()}


def _future(see: Tensor) -> set[tuple[int, int]]:
    return {(i, j) for i, j in _true(see) if j > i}


@exercise("masking.leak-test", answer="find_leaks", forbids=("tfm_lib.masking.leak",))
def leak_test(student, expect):
    known: dict[tuple[int, float | None], Tensor] = {}

    def slopes(model_fn: Model, n: int, d: int, *, at: float | None = None) -> Tensor:
        """The derivatives where every number of the input is `at`, or random."""
        key = (id(model_fn), at)
        if key not in known:
            known[key] = jacobian(model_fn, torch.randn(n, d) if at is None else torch.full((n, d), at))
        return known[key]

    def sees(*args) -> Tensor:
        return slopes(*args).abs().amax(dim=(1, 3)) > 0

    def find_leaks(*args) -> set[tuple[int, int]]:
        return _pairs(student.find_leaks(*args), args[1])

    models = [model for n, d in zip(_sizes(2, 5, 7), _sizes(2, 3, 5)) for model in _suspects(n, d)]
    slips = [Slip(name, lambda *args, of=of: of(sees(*args)), text) for name, (of, text) in LEAK_SLIPS.items()]
    slips += [
        Slip(name, lambda *args, of=of: _future(of(slopes(*args))), text) for name, (of, text) in SLOPE_SLIPS.items()
    ]
    slips += [
        Slip(
            "tested at 0",
            lambda *args: _future(slopes(*args, at=0.0).abs().amax(dim=(1, 3)) > 0),
            "Some of these models multiply what they leak by their own input, so at x = 0 every derivative vanishes. "
            "Test at random numbers.",
        ),
        Slip(
            "tested where all is alike",
            lambda *args: _future(slopes(*args, at=1.0).abs().amax(dim=(1, 3)) > 0),
            "Some of these models leak only where the features of a position differ, and at ones, or at numbers that hardly "
            "differ, they do not. Test at random numbers of ordinary size, `torch.randn`.",
        ),
        Slip("never finds one", lambda *args: set(), "You clear every model, and some of these leak."),
    ]
    expect.agrees(
        find_leaks,
        lambda *args: _future(sees(*args)),
        models,
        "every leak is found: near and far, weak, in one feature, cancelling in a sum, silent at 0 or at ones",
        slips,
        describe="the pairs",
    )
    honest = [(_model(n, d), n, d) for n, d in (_sizes(2, 2, 6) for _ in range(2))]
    expect.agrees(
        find_leaks, lambda *args: set(), honest, "honest models are cleared", describe="an honest model's pairs"
    )


def _suspects(n: int, d: int) -> list[tuple[Model, int, int]]:
    """Models of one size that leak, one of each kind; each as it is handed to the answer."""
    i = int(torch.randint(n - 3, ()))
    reader, read = (torch.randperm(d - 1)[:2] + 1).tolist()  # never feature 0
    one = torch.nn.functional.one_hot(torch.tensor(reader), d).float()
    turn = torch.randn(d, d)  # so that features that move together do not cancel with the rest
    weak = 0.0005 * (1 + torch.rand(()).item())  # a secret, so that no threshold can be fitted to it

    def far(x: Tensor) -> dict[int, Tensor]:
        return {i: 0.3 * x[..., i + 2, :] + 0.5 * x[..., -1, :], i + 1: -0.8 * x[..., -1, :]}  # two in one row

    def weak_and_in_one_feature(x: Tensor) -> dict[int, Tensor]:
        return {i: -weak * x[..., i + 2, :], i + 1: 0.6 * x[..., i + 2, :] * one.to(x)}

    def near(x: Tensor) -> dict[int, Tensor]:
        return {i: x[..., i + 1, :] @ turn.to(x)}

    def silent_at_0(x: Tensor) -> dict[int, Tensor]:
        gate, one_feature = x[..., i, :] ** 2, x[..., -1, read, None].expand_as(x[..., -1, :])
        return {i: gate * x[..., i + 1, :], i + 2: 0.4 * one_feature}

    def silent_where_alike(x: Tensor) -> dict[int, Tensor]:
        differ = (x[..., i, :] - x[..., i, :].roll(1, -1)).abs() - 0.02
        return {i: differ.relu() * x[..., i + 1, :]}

    hidden = (far, weak_and_in_one_feature, near, silent_at_0, silent_where_alike)
    kinds = [(add, add is near) for add in hidden]
    return [(_model(n, d, add, centre), n, d) for add, centre in kinds]


def _pairs(got, n: int) -> set[tuple[int, int]]:
    """The answer as a set of pairs of plain numbers; of more than the n² that there are, some pair comes twice."""
    try:
        listed = islice(got.tolist() if isinstance(got, Tensor) else got, n * n + 1)
        pairs = [(int(i), int(j)) for i, j in listed]
    except (TypeError, ValueError):
        text = f"Expected a list of pairs (i, j), as [(0, 2), (1, 3)], got something else, a {type(got).__name__}."
        raise Refused(text, "no list of pairs") from None
    if len(set(pairs)) < len(pairs) or len(pairs) > n * n:
        text = "Some pair stands in the list twice. Once per pair: did each feature, or each trial, add its own?"
        raise Refused(text, "a pair twice")
    return set(pairs)
