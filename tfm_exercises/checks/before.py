"""Judges of the exercises in `chapters/before.md`."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tfm_exercises.random_inputs import chance, different, whole
from tfm_exercises.judge import Expect, Refused, Slip, exercise, told

Text = tuple[list[str], list[str], Tensor]  # sentences, vocabulary, table
Rows = Callable[[Tensor, Tensor], Any]

# from words to vectors

_WORDS = "the cat sat slept ran blue dog saw tree house old red walked bird sang moon".split()


@exercise("before.look-up", answer="look_up")
def look_up(student: Any, expect: Expect) -> None:
    small = (["the cat sat", "the cat slept"], _WORDS[:6], torch.randn(6, 6))  # square first, so that more runs
    asked = told(student.look_up, _STOPPED)
    _judge_rows(asked(*small), asked(*small))
    alike = (["The old tree", "older trees the"], ["trees", "older", "old", "the", "tree", "The"], torch.randn(6, 3))
    inputs = [small, alike, *(_text(*size) for size in [(3, 4, 6, 7), (2, 5, 8, 3), (4, 1, 7, 5), (1, 3, 5, 4)])]
    expect.agrees(
        asked,
        _rows_of,
        inputs,
        holds="a row for each word of each sentence, whatever the vocabulary, the table and their sizes",
        slips=_LOOK_UPS,
        describe="the vectors",
    )


def _text(batch: int, n: int, v: int, d: int) -> Text:
    """Sentences by chance, in the last of which the last word of the vocabulary stands, and what they are looked up in."""
    draws = chance()
    vocabulary = draws.sample(_WORDS, v)
    words = [[draws.choice(vocabulary) for _ in range(n)] for _ in range(batch)]
    words[-1][-1] = vocabulary[-1]
    return [" ".join(sentence) for sentence in words], vocabulary, torch.randn(v, d)


def _ids(sentences: list[str], vocabulary: list[str]) -> Tensor:
    return torch.tensor([[vocabulary.index(word) for word in sentence.split()] for sentence in sentences])


def _rows_of(sentences: list[str], vocabulary: list[str], table: Tensor) -> Tensor:
    return table[_ids(sentences, vocabulary)]


def _of_ids(of: Rows) -> Callable[..., Any]:
    """What `of` makes of the ids, of shape (batch, n), and the table."""
    return lambda sentences, vocabulary, table: of(_ids(sentences, vocabulary), table)


def _by_appearance(sentences: list[str], vocabulary: list[str], table: Tensor) -> Tensor:
    return _rows_of(sentences, list(dict.fromkeys(" ".join(sentences).split())), table)


_IN_LISTS = (
    "The rows lie in lists within a list. Return one tensor: look all ids up at once, table[torch.tensor(ids)], or join the rows "
    "by torch.stack."
)
_STOPPED = {  # what an error says, and what it comes from
    r"only one element tensors|only integer tensors|a Tensor with \d+ elements": (
        "rows in lists",
        f"torch.tensor makes a tensor of numbers, not of rows. {_IN_LISTS}",
    ),
    r"'\w' is not in list|KeyError.*: '\w'(\.|$)": (
        "letters for words",
        "You looked a letter up: a string is walked through letter by letter. `sentence.split()` is the list of its words.",
    ),
    r"'list' object has no attribute 'split'": (
        "all sentences at once",
        "You split the list of sentences. Split each sentence: for sentence in sentences.",
    ),
}


def _judge_rows(came: Any, again: Any) -> None:
    """Refuse rows that lie in lists, which hold no numbers that could be compared, and rows that no two calls make alike."""
    first = came[0] if isinstance(came, list) and came else None
    if isinstance(first, list) and any(isinstance(row, Tensor) for row in first):
        raise Refused(_IN_LISTS, "rows in lists")
    if isinstance(came, Tensor) and isinstance(again, Tensor) and not torch.equal(came, again):
        raise Refused(
            "Asked twice for the same words, you gave different rows. nn.Embedding(v, d) makes a new table, of random "
            "numbers; take the rows of `table`.",
            "rows of another table",
        )


_LOOK_UPS = [
    Slip(
        "ids in lists",
        _of_ids(lambda ids, table: table[tuple(ids.tolist())]),
        "Between brackets a list of lists is taken for rows and columns. Make it a tensor first: table[torch.tensor(ids)].",
    ),
    Slip(
        "ids instead of rows",
        _of_ids(lambda ids, table: ids),
        "These are the ids, and they are right. One step is missing: in the place of each id, its row of the table.",
    ),
    Slip(
        "one-hot instead of rows",
        _of_ids(lambda ids, table: F.one_hot(ids, len(table))),
        "These are one-hot rows, as long as the vocabulary. Their product with the table is what you want.",
    ),
    Slip(
        "the first sentence only",
        _of_ids(lambda ids, table: table[ids[0]]),
        "Only the first sentence came back. Each sentence of the list has its own matrix.",
    ),
    Slip(
        "the last sentence only",
        _of_ids(lambda ids, table: table[ids[-1]]),
        "Only the last sentence came back. Is there a `return` in the right place, and a list that keeps the others?",
    ),
    Slip(
        "sentences run together",
        _of_ids(lambda ids, table: table[ids].flatten(0, 1)),
        "All words stand in one long list. Keep the sentences apart: shape (batch, n, d).",
    ),
    Slip(
        "rows run together",
        _of_ids(lambda ids, table: table[ids].flatten(1)),
        "The rows of a sentence have become one long row. Each word keeps its own: shape (batch, n, d).",
    ),
    Slip(
        "one vector a sentence",
        _of_ids(lambda ids, table: table[ids].mean(1)),
        "You took the mean of a sentence's rows. Each word keeps its own.",
    ),
    Slip(
        "one vector a sentence",
        _of_ids(lambda ids, table: table[ids].sum(1)),
        "You added up a sentence's rows. Each word keeps its own.",
    ),
    Slip(
        "one word a sentence",
        _of_ids(lambda ids, table: table[ids[:, 0]]),
        "Only the first word of each sentence was looked up.",
    ),
    Slip(
        "one word a sentence",
        _of_ids(lambda ids, table: table[ids[:, -1]]),
        "Only the last word of each sentence is left. Does a loop write each row over the one before?",
    ),
    Slip(
        "words before sentences",
        _of_ids(lambda ids, table: table[ids.T]),
        "The first axis counts words, the second sentences. Turn them round: (batch, n, d).",
    ),
    Slip(
        "vectors in columns",
        _of_ids(lambda ids, table: table[ids].transpose(1, 2)),
        "Each word's vector stands in a column. Let it be a row: (batch, n, d).",
    ),
    Slip(
        "the table as it is",
        _of_ids(lambda ids, table: table),
        "That is the whole table, whatever the sentences say. Take a row of it for each word.",
    ),
    Slip(
        "counted from 1",
        _of_ids(lambda ids, table: table[ids + 1]),
        "Each word got the row after its own. Places in a list count from 0, and so do the rows.",
    ),
    Slip(
        "one row too early",
        _of_ids(lambda ids, table: table[ids - 1]),
        "Each word got the row before its own. `index` counts from 0, and so do the rows: take nothing off.",
    ),
    Slip(
        "alphabetical ids",
        lambda sentences, vocabulary, table: _rows_of(sentences, sorted(vocabulary), table),
        "You sorted the vocabulary first. A word's id is its place in the list as it was given.",
    ),
    Slip(
        "alphabetical ids",
        lambda sentences, vocabulary, table: _rows_of(sentences, sorted(set(" ".join(sentences).split())), table),
        "Your ids are places among the sorted words of these sentences. A word's id is its place in `vocabulary`.",
    ),
    Slip(
        "a vocabulary of its own",
        _by_appearance,
        "Your ids count the words as they turn up in the sentences. A word's id is its place in `vocabulary`.",
    ),
    Slip(
        "place in the sentence",
        _of_ids(lambda ids, table: table[torch.arange(ids.shape[1])].expand(len(ids), -1, -1)),
        "The first word of every sentence got row 0, the second row 1. Not where a word stands in the sentence counts, but "
        "where it stands in the vocabulary.",
    ),
    Slip(
        "place in the sentence",
        _of_ids(lambda ids, table: table[torch.arange(ids.numel())].view(*ids.shape, -1)),
        "The words got the rows 0, 1, 2 and so on, as they come. Where a word stands in the vocabulary counts.",
    ),
    Slip(
        "columns instead of rows",
        _of_ids(lambda ids, table: table[:, ids]),
        "You took columns, table[:, ids]. A token's vector is a row: table[ids].",
    ),
    Slip(
        "columns instead of rows",
        _of_ids(lambda ids, table: table.T[ids]),
        "You took columns of the table; that fits only where there are as many as words. A token's vector is a row.",
    ),
]


# the softmax

_NO_SOFTMAX = ("torch.softmax", "torch.log_softmax", "torch.nn.Softmax")


@exercise("before.softmax", answer="probabilities", forbids=_NO_SOFTMAX)
def softmax(student: Any, expect: Expect) -> None:
    a, b, c = different(3, 2, 6)
    shapes = [(4, 4), (a + 1,), (2, 5), (c, 3), (a, b, c)]  # square first: there a wrong axis fits too
    expect.agrees(
        told(student.probabilities, {"Dimension out of range": ("axis counted from the front", _FROM_THE_FRONT)}),
        _softmax,
        [(2 * torch.randn(shape),) for shape in shapes],
        holds="powers over their sum, along the last axis: for one row, for many, and for a batch",
        slips=_SHARES,
        describe="the probabilities",
    )
    heights = torch.tensor([[1000.0], [-1000.0], [0.0]])
    rising = 1000 * torch.randn(4).sort().values
    large = [
        torch.randn(3, 5) + heights,
        torch.stack([rising, rising.flip(0)]),  # the largest is the last, and the first
        torch.randn(2, 3, 4) - 1000,
        1000 + torch.randn(3),
    ]
    expect.agrees(
        told(student.probabilities, {"OverflowError|ZeroDivisionError": ("too large for e", _TOO_LARGE)}),
        _softmax,
        [(scores,) for scores in large],
        holds="and with scores near 1000 and near −1000",
        slips=_LARGE_SHARES,
        tolerance=1e-3,
        describe="the probabilities of scores near ±1000",
    )


def _softmax(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def _divided(raised: Callable[[Tensor], Tensor], by: Callable[[Tensor], Tensor] | None = None) -> Callable[..., Tensor]:
    """Scores made positive by `raised`, and divided by what `by` makes of that, the sum of each row."""

    def shares(scores: Tensor) -> Tensor:
        powers = raised(scores)
        return powers / (by(powers) if by else powers.sum(-1, keepdim=True))

    return shares


_FROM_THE_FRONT = (
    "Axis 1 is the last only where there are two. A row alone has one, a batch has three. From the end it is dim=-1."
)
_KEEPDIM = (
    "A sum or a maximum of each row, taken without keepdim=True, is laid along the columns; it fits here because there are as "
    "many rows as columns. Keep the axis: sum(dim=-1, keepdim=True)."
)
_TOO_LARGE = (
    "e to 1000 is more than a number can hold, and e to −1000 rounds to 0. Only differences of scores count: take the largest "
    "score of its row away from each before you raise e to it."
)
_ADDED = (
    "A small number keeps 0/0 away, and not ∞/∞: e to 1000 is infinite. And where all powers of a row round to 0, their shares "
    "are lost. Take each row's largest score away first: then the sum is at least 1, and needs nothing added."
)
_SHARES = [
    Slip(
        "the first axis",
        lambda scores: scores.softmax(0),
        "Your columns sum to 1. The scores that share a 1 stand along the last axis: dim=-1.",
    ),
    Slip(
        "axis counted from the front",
        lambda scores: scores.softmax(min(1, scores.dim() - 1)),
        _FROM_THE_FRONT,
    ),
    *(
        Slip(
            "one loop over the first axis",
            shares,
            "Your loop takes the first axis apart, which fits a matrix only. A row alone has nothing to take apart, and in a "
            "batch there are rows within rows. Without a loop, sums along dim=-1 fit all three.",
        )
        for shares in (
            lambda scores: torch.stack([part.flatten().softmax(0).view_as(part) for part in scores]),
            lambda scores: scores.softmax(-1) if scores.dim() > 1 else torch.ones_like(scores),
        )
    ),
    Slip(
        "one sum for all",
        _divided(torch.exp, torch.sum),
        "All numbers together sum to 1. Each row has a sum of its own: sum(dim=-1, keepdim=True).",
    ),
    Slip(
        "the largest of a column taken away",
        lambda scores: (scores - scores.amax(0)).softmax(-1),
        "You take the largest of each column away, which changes the differences within a row. Take the largest of the row: "
        "amax(dim=-1, keepdim=True).",
    ),
    Slip("keepdim forgotten", _divided(torch.exp, lambda powers: powers.sum(-1)), _KEEPDIM),
    Slip("keepdim forgotten", lambda scores: (scores - scores.amax(-1)).softmax(-1), _KEEPDIM),
    Slip(
        "keepdim forgotten",
        _divided(lambda scores: (scores - scores.amax(-1)).exp(), lambda powers: powers.sum(-1)),
        _KEEPDIM,
    ),
    Slip(
        "no exponential",
        _divided(lambda scores: scores),
        "You divide the scores by their sum. A score can be negative; raise e to it first, which makes it positive.",
    ),
    Slip(
        "no exponential",
        _divided(torch.abs),
        "You drop the signs and divide. A score of −3 then gets as much as one of 3: raise e to each score first.",
    ),
    Slip(
        "no exponential",
        _divided(torch.square),
        "You square the scores and divide. A score of −3 then gets as much as one of 3: raise e to each score first.",
    ),
    Slip(
        "no exponential",
        _divided(torch.relu),
        "You cut negative scores off at 0. Nobody gets nothing: raise e to each score first.",
    ),
    Slip(
        "no exponential",
        _divided(lambda scores: scores - scores.amin(-1, keepdim=True)),
        "You shift the smallest score to 0 and divide. Nobody gets nothing: raise e to each score first.",
    ),
    Slip(
        "not divided by the sum",
        torch.exp,
        "These are the powers, all positive, as they should be. Divide them by the sum of their row.",
    ),
    Slip(
        "divided by the mean",
        _divided(torch.exp, lambda powers: powers.mean(-1, keepdim=True)),
        "You divide by the mean of the powers, so each row sums to its length. Divide by the sum.",
    ),
    Slip(
        "divided by the number",
        _divided(torch.exp, lambda powers: torch.tensor(powers.shape[-1])),
        "You divide by how many there are. Divide by the sum of the powers.",
    ),
    Slip(
        "divided by the largest",
        _divided(torch.exp, lambda powers: powers.amax(-1, keepdim=True)),
        "The largest of each row is 1, as after a division by the largest power. Divide the powers by their sum: then all of a "
        "row together are 1.",
    ),
    Slip(
        "divided by the sum of scores",
        lambda scores: scores.exp() / scores.sum(-1, keepdim=True),
        "You divide the powers by the sum of the scores. Divide by the sum of the powers.",
    ),
    Slip(
        "divided by the length",
        _divided(torch.exp, lambda powers: powers.norm(dim=-1, keepdim=True)),
        "You divide by the norm, so the squares sum to 1. Divide by the plain sum.",
    ),
    Slip("another base", _divided(lambda scores: 2**scores), "You raise 2 to the scores. The base is e: scores.exp()."),
    Slip(
        "another base",
        _divided(lambda scores: 10**scores),
        "You raise 10 to the scores. The base is e: scores.exp().",
    ),
    Slip(
        "the power turned round",
        _divided(lambda scores: scores**torch.e),
        "You raise the scores to the power e. Raise e to the scores: scores.exp().",
    ),
    Slip(
        "each score by itself",
        torch.sigmoid,
        "A sigmoid squashes each score by itself. Here the scores of a row share a sum of 1.",
    ),
    Slip(
        "smallest score first",
        lambda scores: (-scores).softmax(-1),
        "The smallest score gets the largest share. Is there a minus too many?",
    ),
    Slip(
        "smallest score first",
        lambda scores: 1 - scores.softmax(-1),
        "You take what is left of 1, so that the smallest score gets the most. The shares themselves are wanted.",
    ),
    Slip(
        "the largest takes all",
        lambda scores: F.one_hot(scores.argmax(-1), scores.shape[-1]),
        "You give the largest score everything. The softmax shares out, and nobody gets nothing.",
    ),
    Slip(
        "the largest alone",
        lambda scores: scores.softmax(-1).amax(-1),
        "Only the largest probability of each row came back. Return all of them.",
    ),
    Slip(
        "no powers",
        lambda scores: (less := scores - scores.amax(-1, keepdim=True)) / less.sum(-1, keepdim=True),
        "The largest is subtracted, and e is raised to nothing: exp comes before the sum.",
    ),
    Slip(
        "twice",
        lambda scores: scores.softmax(-1).softmax(-1),
        "The softmax is taken twice, which flattens the shares. Once is right.",
    ),
    Slip(
        "logarithms",
        lambda scores: scores.log_softmax(-1),
        "These are the logarithms of the probabilities. Raise e to them.",
    ),
    *(
        Slip(
            "scores divided by the largest",
            lambda scores, share=share: share(scores / scores.amax(-1, keepdim=True)),  # type: ignore[misc]
            "You divide the scores by the largest, which changes their differences. Subtract it: that changes none.",
        )
        for share in (_softmax, _divided(torch.exp))
    ),
    Slip(
        "scores divided by the largest",
        lambda scores: (scores / scores.abs().amax(-1, keepdim=True)).softmax(-1),
        "You divide the scores by their largest size, which changes their differences. Subtract the largest score instead.",
    ),
    Slip(
        "scores divided by the largest",
        lambda scores: (scores / scores.abs().max()).softmax(-1),
        "You divide all scores by the largest size of all, which changes their differences. Subtract each row's largest.",
    ),
    Slip(
        "scores divided by the largest",
        lambda scores: (scores / scores.max()).softmax(-1),
        "You divide all scores by the largest of all, which changes their differences. Subtract each row's largest.",
    ),
    Slip(
        "scores standardised",
        lambda scores: ((scores - scores.mean(-1, keepdim=True)) / scores.std(-1, keepdim=True)).softmax(-1),
        "You divide the scores by their spread, which changes their differences. Subtract the largest, and divide by nothing.",
    ),
    *(
        Slip(
            "scores made small",
            lambda scores, by=by: (scores / by).softmax(-1),  # type: ignore[misc]
            f"You divide the scores by {by}, which changes their differences. Subtract each row's largest.",
        )
        for by in (10, 100, 1000)
    ),
    Slip(
        "evenly",
        lambda scores: torch.full_like(scores, 1 / scores.shape[-1]),
        "Every score gets the same share, whatever it is.",
    ),
]
_LARGE_SHARES = [
    Slip("too large for e", _divided(torch.exp), _TOO_LARGE),
    Slip("too large for e", _divided(lambda scores: scores.double().exp()), _TOO_LARGE),
    Slip(
        "too large for e",
        _divided(lambda scores: (scores + scores.amax(-1, keepdim=True)).exp()),
        f"You add the largest score instead of taking it away. {_TOO_LARGE}",
    ),
    Slip("a small number added", _divided(torch.exp, lambda powers: powers.sum(-1, keepdim=True) + 1e-9), _ADDED),
    Slip("a small number added", _divided(lambda scores: scores.exp() + 1e-9), _ADDED),
    *(
        Slip(
            "NaN hidden",
            lambda scores, share=share: _divided(torch.exp)(scores).nan_to_num(share),  # type: ignore[misc]
            "∞/∞ is NaN, and whatever you put in its place is not the share: such rows do not sum to 1. Let no power become "
            "infinite: take each row's largest score away first.",
        )
        for share in (0.0, 1.0)
    ),
    Slip(
        "one maximum for all rows",
        _divided(lambda scores: (scores - scores.max()).exp()),
        "You take the largest score of all away from every row. In a row that lies far below it all powers round to 0, and 0/0 "
        "is NaN. Each row has its own: amax(dim=-1, keepdim=True).",
    ),
    Slip(
        "the mean taken away",
        _divided(lambda scores: (scores - scores.mean(-1, keepdim=True)).exp()),
        "You take the mean of the row away. A score can lie 1000 above it, and its power is still too large. Take the largest "
        "away: then no power is above 1.",
    ),
    Slip(
        "the smallest taken away",
        _divided(lambda scores: (scores - scores.amin(-1, keepdim=True)).exp()),
        "You take the smallest score of the row away, so the largest can still be 1000. Take the largest away: then no power "
        "is above 1.",
    ),
    Slip(
        "the first taken away",
        _divided(lambda scores: (scores - scores[..., :1]).exp()),
        "You take the first score of the row away, and another can lie 1000 above it. Take the largest away.",
    ),
    Slip(
        "the largest size taken away",
        _divided(lambda scores: (scores - scores.abs().amax(-1, keepdim=True)).exp()),
        "You take the largest size away, signs dropped. In a row of scores near −1000 all powers then round to 0, and 0/0 is "
        "NaN. Take the largest score away, with its sign.",
    ),
    *(
        Slip(
            "cut off",
            lambda scores, share=share, low=low, high=high: share(scores.clamp(low, high)),  # type: ignore[misc]
            "You cut large scores off, so that scores of 1000 and of 1001 count the same. Subtract each row's largest: that "
            "changes no difference.",
        )
        for high in (10.0, 20.0, 30.0, 50.0, 60.0, 70.0, 80.0, 85.0, 87.0, 88.0, 100.0, 500.0, 700.0, 709.0)
        for low in (-high, None)
        for share in (_softmax, _divided(torch.exp))
    ),
]


# the loss


@exercise(
    "before.surprise",
    answer="surprise",
    forbids=("torch.nn.functional.cross_entropy", "torch.nn.CrossEntropyLoss"),
)
def surprise(student: Any, expect: Expect) -> None:
    sizes = [(4, 4), (5, 7), (8, 3), (1, 6), (3, 9)]  # n, v: square first, so that more runs
    expect.agrees(
        student.surprise,
        F.cross_entropy,
        [_guesses(n, v) for n, v in sizes],
        holds="the mean surprise in nats, for any number of guesses and any number of tokens",
        slips=_LOSSES,
        describe="the loss",
    )
    expect.agrees(
        told(
            student.surprise,
            {
                "OverflowError|ZeroDivisionError": (_NAN, _NO_NUMBER),
                "math domain error|expected a positive input": (_LOG_OF_0, _ROUNDED),
            },
        ),
        F.cross_entropy,
        [_far_off(n, v) for n, v in ((3, 5), (6, 4), (2, 7))],
        holds="and with scores in the thousands",
        slips=_LARGE_LOSSES,
        describe="the loss of scores in the thousands",
    )


def _guesses(n: int, v: int) -> tuple[Tensor, Tensor]:
    """Scores and targets by chance."""
    return 1.5 * torch.randn(n, v), torch.randint(0, v, (n,))


def _far_off(n: int, v: int) -> tuple[Tensor, Tensor]:
    """Scores in the thousands. What came has the largest of the first row, too large to raise e to it, and the smallest
    of each other row, whose probability is rounded to 0.
    """
    scores = 1000 * torch.randn(n, v)
    scores[0] -= scores[0].min()
    return scores, torch.cat([scores[:1].argmax(-1), scores[1:].argmin(-1)])


def _each(scores: Tensor, targets: Tensor) -> Tensor:
    """The surprise of each guess."""
    return F.cross_entropy(scores, targets, reduction="none")


def _of_p(of: Callable[[Tensor], Tensor]) -> Rows:
    """What `of` makes of the probabilities that the tokens that came were given."""
    return lambda scores, targets: of((-_each(scores, targets)).exp())


def _of_all_tokens(p: Tensor, targets: Tensor) -> Tensor:
    """−ln p for what came and −ln(1 − p) for what did not, (n, v)."""
    return -torch.where(F.one_hot(targets, p.shape[1]).bool(), p, 1 - p).log()


def _by_logs(scores: Tensor, targets: Tensor, floor: float = 0.0, least: float = 0.0) -> Tensor:
    p = (scores.softmax(-1) + floor).clamp(min=least)
    return -p[torch.arange(len(targets)), targets].log().mean()


_ROUNDED = (
    "A probability that is rounded to 0 has the logarithm −∞. ln p itself can be had: it is the score less the logarithm of the "
    "sum, which scores.log_softmax(dim=-1) or scores.logsumexp(dim=-1) gives for scores of any size."
)
_NO_NUMBER = (
    "e to 1000 is more than a number can hold, and ∞/∞ is no number, nor is 0 · ln 0. Go round them: ln p is the score less the "
    "logarithm of the sum, and scores.log_softmax(dim=-1) or scores.logsumexp(dim=-1) computes that for scores of any size."
)
_LOG_OF_0, _NAN = "log of a rounded probability", "too large for e"
_LOSSES = [
    Slip(
        "the sum",
        lambda scores, targets: _each(scores, targets).sum(),
        "You added the surprises up. Their mean is wanted, so that a long text and a short one can be compared.",
    ),
    Slip(
        "not averaged",
        _each,
        "These are the surprises of the single guesses, and they are right. Return their mean, one number.",
    ),
    Slip(
        "not averaged",
        lambda scores, targets: _each(scores, targets)[:, None],
        "These are the surprises of the single guesses, in a column. Return their mean, one number.",
    ),
    Slip(
        "no minus",
        lambda scores, targets: -F.cross_entropy(scores, targets),
        "The sign is turned round. The logarithm of a probability is negative, and a surprise is not: −ln p.",
    ),
    Slip(
        "halvings",
        _of_p(lambda p: -p.log2().mean()),
        "This counts halvings: the logarithm is to the base 2. In nats it is the natural logarithm, `log`.",
    ),
    Slip("base 10", _of_p(lambda p: -p.log10().mean()), "The logarithm is to the base 10. In nats it is `log`."),
    Slip(
        "no logarithm",
        _of_p(torch.mean),
        "That is the mean probability of what came. The surprise is minus its logarithm.",
    ),
    Slip(
        "no logarithm",
        _of_p(lambda p: -p.mean()),
        "That is minus the mean probability. Take the logarithm of each first.",
    ),
    Slip(
        "no logarithm",
        _of_p(lambda p: 1 - p.mean()),
        "That is what is missing to 1. The surprise grows without end as p goes to 0: −ln p.",
    ),
    Slip(
        "mean before logarithm",
        _of_p(lambda p: -p.mean().log()),
        "You take the mean of the probabilities, then the logarithm. First the logarithm of each, then the mean.",
    ),
    Slip(
        "one over p",
        _of_p(lambda p: p.reciprocal().mean()),
        "That is the mean of 1/p. The surprise is its logarithm, −ln p.",
    ),
    Slip(
        "raised again",
        lambda scores, targets: F.cross_entropy(scores, targets).exp(),
        "That is e to the loss. Return the loss itself, in nats.",
    ),
    Slip(
        "softmax over the guesses",
        lambda scores, targets: F.nll_loss(scores.log_softmax(0), targets),
        "Your columns sum to 1. Each guess shares its 1 among the tokens, along the last axis: dim=-1.",
    ),
    Slip(
        "one softmax for all",
        lambda scores, targets: F.nll_loss(scores.flatten().log_softmax(0).view(scores.shape), targets),
        "All probabilities together sum to 1. Each guess, a row, has a sum of its own: dim=-1.",
    ),
    Slip(
        "no softmax",
        lambda scores, targets: F.nll_loss(scores, targets),
        "That is minus the mean score of what came. A score is no logarithm of a probability yet: the softmax is missing.",
    ),
    Slip(
        "no softmax",
        lambda scores, targets: F.nll_loss(scores.log(), targets),
        "You take the logarithm of the scores, and of a negative one there is none. First the softmax.",
    ),
    Slip(
        "no softmax",
        lambda scores, targets: F.nll_loss(scores.abs().log(), targets),
        "You take the logarithm of the scores without their signs. First the softmax.",
    ),
    Slip(
        "not divided by the sum",
        lambda scores, targets: scores.logsumexp(-1).mean(),
        "That is the logarithm of the sum alone. The score of what came is still to be taken off.",
    ),
    Slip(
        "no logarithm of the sum",
        lambda scores, targets: (scores.exp().sum(-1) - scores[torch.arange(len(targets)), targets]).mean(),
        "You take the score off the sum of the powers. Take it off the logarithm of that sum.",
    ),
    Slip(
        "sum of scores for sum of powers",
        lambda scores, targets: (scores.sum(-1) - scores[torch.arange(len(targets)), targets]).mean(),
        "You take the score off the sum of the scores. It is the logarithm of the sum of their powers, of e to each.",
    ),
    Slip(
        "softmax twice",
        lambda scores, targets: F.cross_entropy(scores.softmax(-1), targets),
        "The softmax is taken twice: log_softmax takes one by itself. Give it the scores.",
    ),
    Slip(
        "all tokens",
        lambda scores, targets: -scores.log_softmax(-1).mean(),
        "You average over all tokens, as if each of them had come. Pick the one that came from each row: "
        "log_p[torch.arange(n), targets].",
    ),
    Slip(
        "all tokens",
        lambda scores, targets: -scores.log_softmax(-1).sum(-1).mean(),
        "You add up over all tokens, as if each of them had come. Pick the one that came from each row: "
        "log_p[torch.arange(n), targets].",
    ),
    Slip(
        "all tokens",
        lambda scores, targets: -scores.log_softmax(-1).sum(),
        "You add up all logarithms, as if every token had come. Pick the one that came from each row: "
        "log_p[torch.arange(n), targets].",
    ),
    Slip(
        "divided by n twice",
        lambda scores, targets: F.cross_entropy(scores, targets) / len(targets),
        "You divide by n, and take the mean as well, which has divided by n already.",
    ),
    Slip(
        "divided by n and v",
        lambda scores, targets: F.cross_entropy(scores, targets) / scores.shape[1],
        "You divide by n · v, the number of all entries. There are n guesses: divide by n.",
    ),
    Slip(
        "divided by v",
        lambda scores, targets: _each(scores, targets).sum() / scores.shape[1],
        "You divide by the number of tokens. There are n guesses: divide by n.",
    ),
    Slip(
        "every guess with every target",
        lambda scores, targets: -scores.log_softmax(-1)[:, targets].mean(),
        "log_p[:, targets] takes all the targets from every row. Row k has its own: log_p[torch.arange(n), targets].",
    ),
    Slip(
        "rows for tokens",
        lambda scores, targets: -scores.log_softmax(-1)[targets].mean(),
        "log_p[targets] takes whole rows, those of other guesses. From each row one entry: log_p[torch.arange(n), targets].",
    ),
    Slip(
        "indices swapped",
        lambda scores, targets: -scores.log_softmax(-1)[targets, torch.arange(len(targets))].mean(),
        "The row comes first: log_p[torch.arange(n), targets]. Yours takes the targets for rows.",
    ),
    Slip(
        "the first target for all",
        lambda scores, targets: -scores.log_softmax(-1)[:, targets[0]].mean(),
        "Every row is asked for the first target. Row k has its own, targets[k].",
    ),
    Slip(
        "the most probable token",
        lambda scores, targets: -scores.log_softmax(-1).amax(-1).mean(),
        "You take the probability of the best guess, whatever came. What counts is the token that came, targets[k].",
    ),
    Slip(
        "its own doubt",
        lambda scores, targets: -(scores.softmax(-1) * scores.log_softmax(-1)).sum(-1).mean(),
        "Each −ln p is weighed by p itself, which says how unsure the model is, whatever came. Weigh by y: 1 for the token that "
        "came, 0 for the others.",
    ),
    Slip(
        "the others counted too",
        lambda scores, targets: _of_all_tokens(scores.softmax(-1), targets).sum(-1).mean(),
        "You add −ln(1 − p) for every token that did not come. Only the token that came counts: −ln p of it.",
    ),
    Slip(
        "each token by itself",
        lambda scores, targets: _of_all_tokens(scores.sigmoid(), targets).mean(),
        "You ask of each token by itself whether it comes, by a sigmoid. One token comes, and all share a sum of 1: the softmax.",
    ),
    Slip(
        "squared gap",
        lambda scores, targets: (scores.softmax(-1) - F.one_hot(targets, scores.shape[1])).square().sum(-1).mean(),
        "These are squares of p − y. The loss is −ln p of the token that came.",
    ),
    Slip(
        "squared gap",
        lambda scores, targets: (scores.softmax(-1) - F.one_hot(targets, scores.shape[1])).square().mean(),
        "This is the mean square of p − y. The loss is −ln p of the token that came.",
    ),
    Slip(
        "the first guess only",
        lambda scores, targets: _each(scores, targets)[0],
        "That is the surprise of the first guess. Return the mean over all.",
    ),
    Slip(
        "the first guess only",
        lambda scores, targets: _each(scores, targets)[0] / len(targets),
        "Only the first guess is counted, and divided by n. Is there a `return` within the loop?",
    ),
    Slip(
        "the last guess only",
        lambda scores, targets: _each(scores, targets)[-1],
        "That is the surprise of the last guess alone. Is there a `=` where `+=` belongs?",
    ),
    Slip(
        "the last guess over n",
        lambda scores, targets: _each(scores, targets)[-1] / len(targets),
        "Only the last guess is counted, and divided by n. Is there a `=` where `+=` belongs?",
    ),
    Slip(
        "an axis too many",
        lambda scores, targets: F.cross_entropy(scores, targets)[None],
        "The number is right, in a list or tensor of length 1. Return the number itself.",
    ),
]
_LARGE_LOSSES = [
    Slip(_LOG_OF_0, lambda scores, targets: torch.tensor(torch.inf), _ROUNDED),
    Slip(_NAN, lambda scores, targets: torch.tensor(torch.nan), _NO_NUMBER),
    *(
        Slip(
            "scores cut off",
            lambda scores, targets, most=most: F.cross_entropy(scores.clamp(-most, most), targets),
            "You cut large scores off, so that large surprises come out too small. Subtract the largest score of each row instead.",
        )
        for most in (20, 50, 80, 88, 100)
    ),
    *(
        Slip(
            "a floor under p",
            lambda *case, key=key, value=value: _by_logs(*case, **{key: value}),  # type: ignore[misc]
            f"You keep p away from 0 by a small number, so that no surprise goes beyond its logarithm. {_ROUNDED}",
        )
        for value in (*(10.0**-power for power in (*range(4, 17), 20, 30)), torch.finfo().eps, torch.finfo().tiny)
        for key in ("floor", "least")
    ),
]


# one step of the loop


@exercise("before.one-step", answer="one_step", forbids=("autograd",))
def one_step(student: Any, expect: Expect) -> None:
    sizes = list(zip(different(4, 4, 8), (7, 3, 11, 1)))  # v, n
    expect.agrees(
        student.one_step,
        _stepped,
        [_pairs(v, n) for v, n in sizes],
        holds="each row moved by η times its slope: added up where a token was looked up often, nothing where it never was",
        slips=_STEPS,
        describe="the table after the step",
    )


def _pairs(v: int, n: int) -> tuple[Tensor, Tensor, Tensor, float]:
    """A table and pairs by chance. The last token is never looked up. The first of the text is looked up again with another
    behind it, where there are three pairs or more; where there are more than four, its first pair stands there twice.
    """
    now, following = torch.randint(0, v - 1, (n,)), torch.randint(0, v, (n,))
    if n > 2:
        now[-1], following[-1] = now[0], (following[0] + 1) % v
        now[1] = (now[0] + 1) % (v - 1)
    if n > 4:
        now[2], following[2] = now[0], following[0]
    return 1.5 * torch.randn(v, v), now, following, whole(3, 9) / 4 + 0.1


def _slopes(table: Tensor, now: Tensor, following: Tensor) -> Tensor:
    """p − y of each pair, (n, v)."""
    return table[now].softmax(-1) - F.one_hot(following, table.shape[1])


def _added(table: Tensor, now: Tensor, slopes: Tensor) -> Tensor:
    """The slope of a sum of losses in the table, from that of each in its row."""
    return torch.zeros_like(table).index_add(0, now, slopes.to(table.dtype))


def _stepped(table: Tensor, now: Tensor, following: Tensor, eta: float) -> Tensor:
    return table - eta * _added(table, now, _slopes(table, now, following)) / len(now)


def _by(of: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """A step along the slopes that `of` makes from p, y, `now` and the table."""

    def step(table: Tensor, now: Tensor, following: Tensor, eta: float) -> Tensor:
        y = F.one_hot(following, table.shape[1]).to(table.dtype)
        return table - eta * of(table[now].softmax(-1), y, now, table)

    return step


def _sums(of: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """A step along the mean of what `of` makes of p and y, for each pair."""
    return _by(lambda p, y, now, table: _added(table, now, of(p, y)) / len(now))


def _as_it_goes(by: Callable[[int, int], float] = lambda n, v: n) -> Callable[..., Tensor]:
    def step(table: Tensor, now: Tensor, following: Tensor, eta: float) -> Tensor:
        new = table.clone()
        for i, j in zip(now.tolist(), following.tolist()):
            slope = new[i].softmax(-1)
            slope[j] -= 1
            new[i] -= eta / by(len(now), len(table)) * slope
        return new

    return step


def _once(by: Callable[[Tensor], float], last: bool = True) -> Callable[..., Tensor]:
    """A step in which of several pairs with the same token one alone counts, the last or the first."""

    def step(table: Tensor, now: Tensor, following: Tensor, eta: float) -> Tensor:
        new, slopes = table.clone(), _slopes(table, now, following)
        for k in range(len(now)) if last else reversed(range(len(now))):
            new[now[k]] = table[now[k]] - eta * slopes[k] / by(now)
        return new

    return step


def _rows_by_their_own(table: Tensor, now: Tensor, following: Tensor, eta: float) -> Tensor:
    often = torch.bincount(now, minlength=len(table)).clamp(min=1)[:, None]
    return table - eta * _added(table, now, _slopes(table, now, following)) / often


def _all_rows(came: Callable[[Tensor, int], Tensor], by: Callable[[int], float] = lambda n: 1) -> Callable[..., Tensor]:
    """A step of every row, against p less what `came` makes of the counts of the pairs and of n."""

    def step(table: Tensor, now: Tensor, following: Tensor, eta: float) -> Tensor:
        counts = torch.zeros_like(table).index_put((now, following), torch.ones(()), accumulate=True)
        return table - eta * (table.softmax(-1) - came(counts, len(now))) / by(len(now))

    return step


def _pairs_once(table: Tensor, now: Tensor, following: Tensor, eta: float) -> Tensor:
    a, b = torch.stack([now, following]).unique(dim=1)
    return _stepped(table, a, b, eta * len(a) / len(now))


_ONCE = (
    "A token that stands in the text several times was moved by one of its slopes only: `new[now] -= ...` writes one over the "
    "other. They are added up; a loop over the pairs does it, and so does `index_add`."
)
_PER_ROW = (
    "Each row was divided by how often its own token came. The loss is the mean over all n pairs, so every slope is divided by "
    "n."
)
_STEPS = [
    Slip(
        "uphill",
        lambda table, now, following, eta: 2 * table - _stepped(table, now, following, eta),
        "The step goes uphill, and the loss rises. Move against the slope: minus η times p − y.",
    ),
    Slip(
        "not divided by n",
        _by(lambda p, y, now, table: _added(table, now, p - y)),
        "You added the slopes up and did not divide by n. The loss is a mean over the pairs, and so is its slope.",
    ),
    Slip(
        "uphill",
        _by(lambda p, y, now, table: _added(table, now, y - p)),
        "The step goes uphill, and the slopes are not divided by n. Move against the mean slope, p − y over n.",
    ),
    Slip(
        "divided by v",
        _by(lambda p, y, now, table: _added(table, now, p - y) / len(table)),
        "You divide by the number of tokens in the table. The loss is the mean over the n pairs: divide by n.",
    ),
    Slip(
        "divided by n and v",
        _by(lambda p, y, now, table: _added(table, now, p - y) / (len(now) * len(table))),
        "You divide by n · v. There are n losses in the mean: divide by n.",
    ),
    Slip("divided row by row", _rows_by_their_own, _PER_ROW),
    Slip("a token counts once", _once(lambda now: len(now)), _ONCE),
    Slip("a token counts once", _once(lambda now: 1), f"{_ONCE} And divide by n: the loss is a mean."),
    Slip("a token counts once", _once(lambda now: len(now), last=False), _ONCE),
    Slip(
        "moves as it goes",
        _as_it_goes(),
        "A token that comes again has moved by then, and you take the slope where it now stands. All slopes of a step are those "
        "of `table` as it was: write into a copy, table.clone(), and read from `table` (`new = table` is no copy).",
    ),
    Slip(
        "moves as it goes",
        _as_it_goes(lambda n, v: 1),
        "Each pair makes a step of its own, one after the other. One step moves by the mean of all their slopes, taken from "
        "`table` as it was.",
    ),
    Slip(
        "y forgotten",
        _sums(lambda p, y: p),
        "You move by p alone, which lowers what came as well. What was true is still to be taken off: p − y.",
    ),
    Slip(
        "p forgotten",
        _sums(lambda p, y: -y),
        "You lift what came, and leave the others where they are. They are lowered by what was believed of them: p − y.",
    ),
    Slip(
        "only what came",
        _sums(lambda p, y: (p - y) * y),
        "Only the score of what came is moved. Each of the others has a slope too, its p.",
    ),
    Slip(
        "only the others",
        _sums(lambda p, y: p * (1 - y)),
        "The others are lowered, and what came stays where it is. Its slope is p − 1, so it rises.",
    ),
    Slip(
        "plus y",
        _sums(lambda p, y: p + y),
        "You add y to p, so that what came is lowered most. The slope is p − y.",
    ),
    Slip(
        "no softmax",
        lambda table, now, following, eta: (
            table - eta * _added(table, now, table[now] - F.one_hot(following, table.shape[1])) / len(now)
        ),
        "You take y off the scores. The slope is made of probabilities: the softmax of the row, less y.",
    ),
    Slip(
        "not divided by the sum",
        lambda table, now, following, eta: (
            table - eta * _added(table, now, table[now].exp() - F.one_hot(following, table.shape[1])) / len(now)
        ),
        "You take y off the powers. The slope is made of probabilities: divide the powers by their sum first.",
    ),
    Slip(
        "1 taken off at now",
        lambda table, now, following, eta: _stepped(table, now, now, eta),
        "You take the 1 off at the token that was looked up. What came is `following`: y is 1 there.",
    ),
    Slip(
        "1 − p for what came",
        _sums(lambda p, y: p * (1 - y) + (1 - p) * y),
        "For what came you have 1 − p, so that its score falls. The slope is p − 1.",
    ),
    Slip(
        "the row of what came",
        lambda table, now, following, eta: (
            table - eta * _added(table, following, _slopes(table, now, following)) / len(now)
        ),
        "The slopes are right, but you add them to row `following`. It was row `now` that was looked up.",
    ),
    Slip(
        "the last pair left out",
        lambda table, now, following, eta: (
            table - eta * _added(table, now[:-1], _slopes(table, now[:-1], following[:-1])) / len(now)
        ),
        "The last pair has moved nothing. `range(n - 1)` ends before n − 1.",
    ),
    Slip(
        "softmax of the columns",
        lambda table, now, following, eta: (
            table - eta * _added(table, now, table.softmax(0)[now] - F.one_hot(following, table.shape[1])) / len(now)
        ),
        "Your softmax runs down the columns of the table. A row holds the scores that share a 1: dim=-1.",
    ),
    Slip(
        "softmax over the pairs",
        lambda table, now, following, eta: (
            table - eta * _added(table, now, table[now].softmax(0) - F.one_hot(following, table.shape[1])) / len(now)
        ),
        "Your softmax runs over the pairs. Each pair shares a 1 among the tokens that may follow: dim=-1.",
    ),
    Slip(
        "one softmax for the table",
        lambda table, now, following, eta: (
            table
            - eta
            * _added(table, now, table.flatten().softmax(0).view_as(table)[now] - F.one_hot(following, table.shape[1]))
            / len(now)
        ),
        "All probabilities of the table together sum to 1. Each row has a sum of its own: dim=-1.",
    ),
    Slip(
        "now and following swapped",
        lambda table, now, following, eta: _stepped(table, following, now, eta),
        "You look up what follows, and move towards what was there before. Row `now` is looked up; `following` came.",
    ),
    Slip(
        "columns moved",
        lambda table, now, following, eta: _stepped(table.T, now, following, eta).T,
        "You took columns of the table. Row i holds the scores of what may follow token i.",
    ),
    *(
        Slip(
            "all rows move",
            step,
            "Rows that nobody looked up have moved too, and the others as if they stood at every place. Each pair has a slope in "
            "its own row alone: p − y of that pair, over n.",
        )
        for step in (
            _all_rows(lambda counts, n: counts / n),
            _all_rows(lambda counts, n: counts),
            _all_rows(lambda counts, n: counts, lambda n: n),
            _all_rows(lambda counts, n: counts.clamp(max=1)),
            _all_rows(lambda counts, n: counts.clamp(max=1), lambda n: n),
        )
    ),
    Slip(
        "columns moved",
        lambda table, now, following, eta: (
            table - eta * _added(table, now, _slopes(table, now, following)).T / len(now)
        ),
        "The slopes are right, but you add them to columns, new[:, i]. Row i was looked up: new[i].",
    ),
    Slip(
        "all rows move",
        _by(lambda p, y, now, table: (p - y).mean(0)),
        "You took the mean of all slopes and moved every row by it. Each pair moves the row that it looked up, and no other.",
    ),
    Slip(
        "a pair counts once",
        _pairs_once,
        "A pair that stands in the text twice was counted once. It has two slopes, and they are added up.",
    ),
    Slip(
        "η ignored",
        lambda table, now, following, eta: _stepped(table, now, following, 1.0),
        "`eta` is never used. The step is η times the slope.",
    ),
    Slip(
        "η ignored",
        lambda table, now, following, eta: _stepped(table, now, following, 0.1),
        "Your step is 0.1 times the slope, whatever `eta` is.",
    ),
    Slip(
        "divided by η",
        lambda table, now, following, eta: _stepped(table, now, following, 1 / eta),
        "You divide by η. The step is η times the slope.",
    ),
    Slip(
        "the slopes alone",
        lambda table, now, following, eta: _added(table, now, _slopes(table, now, following)) / len(now),
        "These are the slopes, and they are right. Return the table after the step: table − η · slope.",
    ),
    Slip(
        "the slopes alone",
        lambda table, now, following, eta: eta * _added(table, now, _slopes(table, now, following)) / len(now),
        "That is how far the step goes. Return the table after it: take this off `table`.",
    ),
    Slip(
        "the slopes alone",
        lambda table, now, following, eta: -eta * _added(table, now, _slopes(table, now, following)) / len(now),
        "That is the step. Return the table after it: add this to `table`.",
    ),
    Slip(
        "the rows that were looked up",
        lambda table, now, following, eta: table[now] - eta * _slopes(table, now, following) / len(now),
        "A row for each pair came back. Return the whole table, of shape (v, v), with those rows moved.",
    ),
    Slip(
        "the rows that were looked up",
        lambda table, now, following, eta: table[now] - eta * _slopes(table, now, following),
        "A row for each pair came back, moved by its whole slope. Return the whole table, each slope divided by n.",
    ),
    Slip(
        "the loss",
        lambda table, now, following, eta: F.cross_entropy(table[now], following),
        "That is the loss before the step. Return the table after it.",
    ),
    Slip(
        "probabilities",
        lambda table, now, following, eta: _stepped(table, now, following, eta).softmax(-1),
        "These are the probabilities after the step. Return the scores, the table itself.",
    ),
    Slip(
        "probabilities moved",
        lambda table, now, following, eta: (
            table.softmax(-1) - eta * _added(table, now, _slopes(table, now, following)) / len(now)
        ),
        "You move the probabilities. What training moves are the scores, the table; the softmax is taken of them anew.",
    ),
    Slip(
        "one row of y for all",
        lambda table, now, following, eta: (
            table
            - eta
            * _added(table, now, table[now].softmax(-1) - F.one_hot(following, table.shape[1]).sum(0).clamp(max=1))
            / len(now)
        ),
        "p[:, following] -= 1 takes 1 off in every row for every pair. Pair k has one y of its own: "
        "p[torch.arange(n), following] -= 1.",
    ),
    Slip(
        "the first pair only",
        lambda table, now, following, eta: _stepped(table, now[:1], following[:1], eta),
        "Only the first pair has moved its row. Is there a `return` within the loop?",
    ),
    Slip(
        "the first pair only",
        lambda table, now, following, eta: _stepped(table, now[:1], following[:1], eta / len(now)),
        "Only the first pair has moved its row. Is there a `return` within the loop?",
    ),
    Slip(
        "the last pair only",
        lambda table, now, following, eta: _stepped(table, now[-1:], following[-1:], eta / len(now)),
        "Only the last pair has moved its row. Does each turn of the loop begin with a new copy of `table`?",
    ),
    Slip(
        "nothing moved",
        lambda table, now, following, eta: table,
        "The table came back as it was. What does a step take off each entry?",
    ),
]
