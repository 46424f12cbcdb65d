"""Judges of the exercises in chapter `decoding`."""

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tfm_exercises.random_inputs import different, telling, whole
from tfm_exercises.judge import Expect, Slip, exercise

NextLogP = Callable[[list[int]], list[float]]


# greedy


@exercise("decoding.greedy", answer="greedy")
def greedy(student, expect):
    def draw() -> tuple[NextLogP, int, int, int]:
        size = whole(7, 11)
        bos, eos, *words = different(size - 1, 1, size - 1)
        story = words[: whole(3, 4)]
        return _story(size, [bos, *story, eos]), bos, eos, len(story) + whole(2, 4)

    def cut() -> tuple[NextLogP, int, int, int]:
        size = whole(9, 12)
        bos, eos, *words = different(size - 1, 1, size - 1)
        story = words[: whole(5, 6)]
        return _story(size, [bos, *story, eos]), bos, eos, whole(2, 3)

    answer = _as_lists(student.greedy)
    expect.agrees(
        answer,
        _greedy,
        telling(draw, _greedy, _WALKS),
        holds="the likeliest token at each step, until <eos>",
        slips=_WALKS,
        describe="the ids written",
    )
    expect.agrees(
        answer,
        _greedy,
        telling(cut, _greedy, _LIMITS),
        holds="and no more than max_len",
        slips=_LIMITS,
        describe="a sentence that is longer than max_len",
    )
    empty = [(_story(6, [bos, eos]), bos, eos, 4) for bos, eos in ((3, 5), (4, 2))]
    one = [(_story(7, [4, 6, 5, 3]), 4, 3, 1), (_story(6, [5, 4, 3]), 5, 3, 1)]
    expect.agrees(
        answer, _greedy, empty, "a sentence may be empty", _WALKS, describe="a sentence whose first token is <eos>"
    )
    endless, asked = _without_end(7, eos_id=5)
    student.greedy(endless, 6, 5, 9)
    expect.true(
        len(asked) <= 10,
        holds="a model that never writes <eos> is stopped",
        otherwise="With `max_len` = 9 and a model that never writes <eos>, your loop went on and on. Cutting the list afterwards is too late: the limit must end the loop.",
        mistake="cut afterwards",
    )
    expect.agrees(answer, _greedy, one, "max_len may be 1", _LIMITS, describe="the shortest limit")


def _story(size: int, line: list[int]) -> NextLogP:
    """A language of `size` tokens whose next one depends on all before: along `line`, and by chance off it."""
    salt = whole(0, 10**6)

    def next_log_p(ids: list[int]) -> list[float]:
        ids = [int(i) for i in ids]
        draws = random.Random(salt + sum((i + 1) * 31**k for k, i in enumerate(ids)))
        p = [0.1 + draws.random() for _ in range(size)]
        if 0 < len(ids) < len(line) and ids == line[: len(ids)]:
            p[line[len(ids)]] = 2.5
        elif line[-1] in ids:  # after the end the next sentence would begin
            p[line[-1]] = p[line[0]] = 0.05
        return [math.log(share / sum(p)) for share in p]

    return next_log_p


def _without_end(size: int, eos_id: int) -> tuple[NextLogP, list[int]]:
    """A language that has no end, until somebody has lost patience; and the lengths at which it was asked."""
    asked: list[int] = []

    def next_log_p(ids: list[int]) -> list[float]:
        asked.append(len(ids))
        best = eos_id if len(asked) > 40 else len(asked) % (eos_id - 1) + 1
        return [math.log(0.9 if i == best else 0.1 / (size - 1)) for i in range(size)]

    return next_log_p, asked


def _as_lists(answer: Callable[..., Any]) -> Callable[..., Any]:
    """`answer`, its tensors and arrays as lists: an empty one has no ids either."""

    def call(*args: Any) -> Any:
        got = answer(*args)
        return got.tolist() if isinstance(got, (Tensor, np.ndarray)) else got

    call.__name__ = getattr(answer, "__name__", "the answer")
    return call


def _walk(
    next_log_p: NextLogP,
    bos_id: int,
    eos_id: int,
    steps: int,
    read: Callable[[list[int]], list[int]] = list,
    choose: Callable[..., int] = max,
    stop: bool = True,
) -> list[int]:
    """What is written in at most `steps`, <bos> before it and <eos> behind it; `read` says what the model gets of it."""
    ids = [bos_id]
    while len(ids) <= steps:
        log_p = next_log_p(read(ids))
        ids.append(choose(range(len(log_p)), key=log_p.__getitem__))
        if stop and ids[-1] == eos_id:
            break
    return ids


def _greedy(next_log_p: NextLogP, bos_id: int, eos_id: int, max_len: int) -> list[int]:
    return _words(_walk(next_log_p, bos_id, eos_id, max_len), eos_id)


def _words(ids: list[int], eos_id: int) -> list[int]:
    return ids[1:-1] if ids[-1] == eos_id else ids[1:]


def _walking(**changes: Any) -> Callable[..., list[int]]:
    return lambda f, bos, eos, n: _words(_walk(f, bos, eos, n, **changes), eos)


_GOES_ON = "The sentence is over at the first <eos>, and yours goes on. Leave the loop there."
_WALKS = [
    Slip(
        "<bos> returned",
        lambda f, bos, eos, n: [bos, *_greedy(f, bos, eos, n)],
        "The result begins with <bos>. The model must read it, but it was given, not written: return what follows.",
    ),
    Slip(
        "<bos> and <eos> returned",
        lambda f, bos, eos, n: _walk(f, bos, eos, n),
        "The result holds <bos> and <eos>. Neither is a word of the sentence: return what stands between them.",
    ),
    Slip(
        "<eos> returned",
        lambda f, bos, eos, n: _walk(f, bos, eos, n)[1:],
        "The words are right, and <eos> stands at the end. It says that the sentence is over; it is not a word of it.",
    ),
    Slip("never stops", lambda f, bos, eos, n: _walk(f, bos, eos, n, stop=False)[1:], _GOES_ON),
    Slip("never stops", lambda f, bos, eos, n: _walk(f, bos, eos, n + 1, stop=False)[1:], _GOES_ON),
    Slip(
        "goes on after <eos>",
        lambda f, bos, eos, n: [i for i in _walk(f, bos, eos, n, stop=False)[1:] if i != eos],
        "You leave <eos> out and go on writing behind it. At the first <eos> the sentence is over.",
    ),
    Slip(
        "reads only the newest",
        _walking(read=lambda ids: ids[-1:]),
        "After the first word something else is written. The next word depends on all words so far: does next_log_p get the "
        "whole list?",
    ),
    Slip(
        "reads only <bos>",
        _walking(read=lambda ids: ids[:1]),
        "Your list does not grow for the model: it reads <bos> at every step. Give it all ids so far.",
    ),
    Slip(
        "<bos> read only once",
        _walking(read=lambda ids: ids[1:] or ids),
        "From the second step on, your model reads what was written, without <bos>. `ids` begins with `bos_id` every time.",
    ),
    Slip(
        "<bos> not read",
        _walking(read=lambda ids: ids[1:]),
        "Your model begins with an empty list. What it reads begins with `bos_id`.",
    ),
    Slip(
        "least probable",
        _walking(choose=min),
        "This takes the least probable token. A log-probability is negative, and the largest one is the one closest to 0: max, "
        "not min.",
    ),
    Slip(
        "bos_id ignored",
        lambda f, bos, eos, n: _words(_walk(f, 1, eos, n), eos),
        "Your list begins with 1, whatever `bos_id` is.",
    ),
    Slip(
        "bos_id ignored",
        lambda f, bos, eos, n: _words(_walk(f, 0, eos, n), eos),
        "Your list begins with 0, whatever `bos_id` is.",
    ),
    Slip(
        "eos_id ignored",
        lambda f, bos, eos, n: _words(_walk(f, bos, 2, n), 2),
        "You stop at 2, whatever `eos_id` is.",
    ),
    Slip(
        "log-probabilities returned",
        lambda f, bos, eos, n: _their_log_p(f, _walk(f, bos, eos, n), eos),
        "These are the log-probabilities of the words. Return their ids: where the largest stands, not how large it is.",
    ),
    Slip(
        "only the newest returned",
        lambda f, bos, eos, n: _greedy(f, bos, eos, n)[-1:],
        "Only the last word came back. Return the whole list.",
    ),
    Slip(
        "backwards",
        lambda f, bos, eos, n: _greedy(f, bos, eos, n)[::-1],
        "The words came back last first. Append at the end.",
    ),
]
_LIMITS = [
    Slip(
        "one too many",
        lambda f, bos, eos, n: _greedy(f, bos, eos, n + 1),
        "There is one token more than `max_len`. <bos> does not count as written: where does your loop end?",
    ),
    Slip(
        "one too few",
        lambda f, bos, eos, n: _greedy(f, bos, eos, n - 1),
        "There is one token less than `max_len`. Does <bos> count as written, or is the last id cut off though no <eos> came?",
    ),
    Slip(
        "max_len ignored",
        lambda f, bos, eos, n: _greedy(f, bos, eos, 12),
        "The whole sentence came, though it is longer than `max_len`. A model may never write <eos>, so the limit must end the "
        "loop too.",
    ),
    Slip(
        "nothing at the limit",
        lambda f, bos, eos, n: [],
        "Where no <eos> came in time, nothing came back. Return what was written so far.",
    ),
]


def _their_log_p(f: NextLogP, ids: list[int], eos: int) -> list[float]:
    return [max(f(ids[:k])) for k in range(1, len(ids)) if ids[k] != eos]


# which one wins


@exercise("decoding.winner", answer="winner")
def winner(student, expect):
    def draw() -> tuple[list[float], list[int], float]:
        count = whole(4, 7)
        lengths = different(count, 1, 24)
        rates = (0.25 + 0.6 * torch.rand(count)).tolist()
        return [round(-2 - rate * length, 3) for rate, length in zip(rates, lengths)], lengths, whole(2, 9) / 10 + 0.05

    def answer(*args):
        return _number(student.winner(*args))

    inputs = telling(draw, _winner, _SCORES, 4)
    expect.agrees(
        answer,
        _winner,
        inputs,
        holds="the index of the best score, whatever α is",
        slips=_SCORES,
        describe="the winner",
    )
    expect.agrees(
        answer,
        _winner,
        [(log_p, lengths, 0.0) for log_p, lengths, _ in inputs[:3]],
        holds="α = 0: the most probable wins",
        slips=_SCORES,
        describe="the winner at α = 0",
    )
    expect.agrees(
        answer,
        _winner,
        [([-1.0, -1.7], [1, 7], 0.8), ([-1.8, -1.0], [7, 1], 0.8), ([-3.0], [4], 0.6)],
        holds="((5 + length) / 6)^α in the figures; one hypothesis wins against nobody",
        slips=_SCORES,
        describe="the winner of two, and of one",
    )


def _number(value: Any) -> Any:
    """An index, in whatever type it came: 2, tensor(2) and tensor([2]) are one answer."""
    if isinstance(value, Tensor) and value.numel() == 1:
        return value.item()
    return value


def _winning(score: Callable[[float, int, float], float], choose: Callable[..., int] = max) -> Callable[..., int]:
    def index(log_p: list[float], lengths: list[int], alpha: float) -> int:
        scores = [score(total, length, alpha) for total, length in zip(log_p, lengths)]
        return choose(range(len(scores)), key=scores.__getitem__)

    return index


_winner = _winning(lambda total, length, alpha: total / ((5 + length) / 6) ** alpha)
_NO_FIVE = (
    "The penalty is ((5 + length) / 6)^α. Without the 5 a short hypothesis is divided by far less than a long one."
)
_SCORES = [
    Slip(
        "no penalty",
        _winning(lambda total, length, alpha: total),
        "The most probable won: the penalty is missing, or α is 0 in it.",
    ),
    Slip(
        "multiplied",
        _winning(lambda total, length, alpha: total * ((5 + length) / 6) ** alpha),
        "You multiply by the penalty. A negative number comes closer to 0 when it is divided.",
    ),
    Slip(
        "the worst",
        _winning(lambda total, length, alpha: total / ((5 + length) / 6) ** alpha, choose=min),
        "The hypothesis with the lowest score won. All scores are negative; the best is the one closest to 0.",
    ),
    Slip(
        "mean per token",
        _winning(lambda total, length, alpha: total / length),
        "You divide by the length itself, and long ones win. α must temper it, and 5 is added above and below.",
    ),
    Slip(
        "α ignored",
        _winning(lambda total, length, alpha: total / ((5 + length) / 6) ** 0.6),
        "Your power is 0.6, whatever α is.",
    ),
    Slip(
        "α ignored",
        _winning(lambda total, length, alpha: total / ((5 + length) / 6)),
        "The power α is missing: you divide by (5 + length) / 6 itself.",
    ),
    Slip("no 5", _winning(lambda total, length, alpha: total / length**alpha), _NO_FIVE),
    Slip("no 5", _winning(lambda total, length, alpha: total / (1 + length) ** alpha), _NO_FIVE),
    Slip(
        "penalty subtracted",
        _winning(lambda total, length, alpha: total - ((5 + length) / 6) ** alpha),
        "You subtract the penalty. The log-probability is divided by it.",
    ),
    Slip(
        "penalty added",
        _winning(lambda total, length, alpha: total + ((5 + length) / 6) ** alpha),
        "You add the penalty. The log-probability is divided by it.",
    ),
    Slip(
        "the longest",
        _winning(lambda total, length, alpha: length),
        "The longest won, whatever its probability. The length only says by what the log-probability is divided.",
    ),
    Slip(
        "the power around all",
        _winning(lambda total, length, alpha: -((-total / ((5 + length) / 6)) ** alpha)),
        "Your power α is around the whole score. Only the penalty is raised to it.",
    ),
    Slip(
        "the score returned",
        lambda log_p, lengths, alpha: max(t / ((5 + n) / 6) ** alpha for t, n in zip(log_p, lengths)),
        "That is the winner's score. Return its index.",
    ),
]


# one step of a beam


@exercise("decoding.beam-step", answer="beam_step")
def beam_step(student, expect):
    def draw() -> tuple[Tensor, Tensor, int]:
        k, width = different(2, 2, 5)
        v = k if k > 2 and whole(0, 2) == 0 else whole(6, 9)  # k: what is added along the wrong axis runs
        return -3 * torch.rand(k) - 0.5, (1.5 * torch.randn(k, v)).log_softmax(dim=-1), width

    answer = student.beam_step(*draw())
    expect.true(
        isinstance(answer, (tuple, list)) and len(answer) == 3,
        holds="three tensors come back",
        otherwise=f"Expected the triple (log-probabilities, rows, tokens), got a {type(answer).__name__}.",
        mistake="not three",
    )
    side = whole(3, 5)
    square = (-3 * torch.rand(side) - 0.5, (1.5 * torch.randn(side, side)).log_softmax(dim=-1), 3)
    inputs = [*telling(draw, _beam_step, _BEAMS), square]
    what = "(log-probabilities, rows, tokens)"
    expect.agrees(
        student.beam_step,
        _beam_step,
        inputs,
        holds="the best of all continuations, best first, with the path and the token of each",
        slips=_BEAMS,
        describe=what,
    )
    one = [(-torch.rand(1), torch.randn(1, 7).log_softmax(dim=-1), width) for width in (1, 2, 4)]
    expect.agrees(student.beam_step, _beam_step, one, "the first step has one path", _BEAMS, describe=what)
    _, rows, tokens = student.beam_step(*inputs[0])
    expect.true(
        not any(torch.as_tensor(part).is_floating_point() for part in (rows, tokens)),
        holds="rows and tokens are whole numbers",
        otherwise="Your rows or tokens are floating-point numbers, which pick nothing out of a table: // divides whole numbers.",
        mistake="float indices",
    )


def _beam_step(totals: Tensor, log_p: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    return _of_table(totals[:, None] + log_p, width)


def _of_table(every: Tensor, width: int, largest: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    best, where = every.flatten().topk(width, largest=largest)
    return best, where // every.shape[1], where % every.shape[1]


def _flat(totals: Tensor, log_p: Tensor, width: int) -> tuple[Tensor, Tensor]:
    return (totals[:, None] + log_p).flatten().topk(width)


def _one_each(totals: Tensor, log_p: Tensor, width: int, *, ranked: bool) -> tuple[Tensor, Tensor, Tensor]:
    best, tokens = (totals[:, None] + log_p).max(dim=1)
    rows = best.argsort(descending=True)[:width] if ranked else torch.arange(len(best))
    return best[rows], rows, tokens[rows]


def _from(row: Callable[[Tensor], int]) -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    def step(totals: Tensor, log_p: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
        i = row(totals)
        best, tokens = (totals[i] + log_p[i]).topk(width)
        return best, torch.full((width,), i), tokens

    return step


def _unsorted(totals: Tensor, log_p: Tensor, width: int) -> tuple[Tensor, Tensor, Tensor]:
    best, where = _flat(totals, log_p, width)
    where, order = where.sort()
    return best[order], where // log_p.shape[1], where % log_p.shape[1]


def _parts(change: Callable[[Tensor, Tensor, Tensor], tuple]) -> Callable[..., tuple]:
    return lambda totals, log_p, width: change(*_beam_step(totals, log_p, width))


_ONE_EACH = (
    "This takes the best continuation of each path. A path may be continued twice, and another not at all: let all k·v compete "
    "at once."
)
_BEAMS = [
    Slip(
        "totals forgotten",
        lambda totals, log_p, width: _of_table(log_p, width),
        "These are the likeliest next tokens, whatever came before them. A continuation has the log-probability of its path "
        "plus that of its token.",
    ),
    Slip(
        "totals added to the columns",
        lambda totals, log_p, width: _of_table(
            totals + log_p if len(totals) == log_p.shape[1] else totals[:, None] + log_p, width
        ),
        "Where there are as many paths as tokens, you add each total to a column. Rows are paths: totals[:, None] + log_p.",
    ),
    Slip(
        "totals forgotten in the sum",
        lambda totals, log_p, width: (
            log_p[_beam_step(totals, log_p, width)[1:]],
            *_beam_step(totals, log_p, width)[1:],
        ),
        "The right continuations, but the log-probability that you return is that of the newest token alone. The path's "
        "belongs to it.",
    ),
    Slip(
        "log_p forgotten",
        lambda totals, log_p, width: (
            totals[_beam_step(totals, log_p, width)[1]],
            *_beam_step(totals, log_p, width)[1:],
        ),
        "The right continuations, but the log-probability that you return is that of the old path. The new token's belongs to it.",
    ),
    Slip(
        "multiplied",
        lambda totals, log_p, width: _of_table(totals[:, None] * log_p, width),
        "Probabilities are multiplied, so their logarithms are added.",
    ),
    Slip("one from each path", lambda *case: _one_each(*case, ranked=False), _ONE_EACH),
    Slip("one from each path", lambda *case: _one_each(*case, ranked=True), _ONE_EACH),
    Slip(
        "first path only",
        _from(lambda totals: 0),
        "These all continue the first path. The other paths compete too: flatten the whole table, not one row.",
    ),
    Slip(
        "best path only",
        _from(lambda totals: int(totals.argmax())),
        "These all continue the best path. The other paths compete too: flatten the whole table, not one row.",
    ),
    Slip(
        "the worst",
        lambda totals, log_p, width: _of_table(totals[:, None] + log_p, width, largest=False),
        "These are the least probable continuations. Log-probabilities are negative: the best are the largest.",
    ),
    Slip(
        "width ignored",
        lambda totals, log_p, width: _beam_step(totals, log_p, len(totals)),
        "As many continuations came back as there were paths. `width` says how many to keep.",
    ),
    Slip(
        "width ignored",
        lambda totals, log_p, width: _beam_step(totals, log_p, log_p.numel()),
        "All continuations came back, sorted. `width` says how many to keep.",
    ),
    Slip(
        "rows and tokens swapped",
        _parts(lambda best, rows, tokens: (best, tokens, rows)),
        "Rows and tokens are swapped: of the flat index, the quotient by v is the row, the remainder is the token.",
    ),
    Slip(
        "divided by k",
        lambda totals, log_p, width: (
            _flat(totals, log_p, width)[0],
            _flat(totals, log_p, width)[1] // len(totals),
            _flat(totals, log_p, width)[1] % len(totals),
        ),
        "Rows and tokens are off. A row of the table is v long, so divide the flat index by v, the size of the vocabulary, not "
        "by k.",
    ),
    Slip(
        "divided by width",
        lambda totals, log_p, width: (
            _flat(totals, log_p, width)[0],
            _flat(totals, log_p, width)[1] // width,
            _flat(totals, log_p, width)[1] % width,
        ),
        "Rows and tokens are off. A row of the table is v long, so divide the flat index by v, the size of the vocabulary, not "
        "by width.",
    ),
    Slip(
        "flat index",
        lambda totals, log_p, width: (*_beam_step(totals, log_p, width)[:2], _flat(totals, log_p, width)[1]),
        "Your tokens are indices in the flattened table. Which column was that?",
    ),
    Slip(
        "true division",
        lambda totals, log_p, width: (
            _flat(totals, log_p, width)[0],
            _flat(totals, log_p, width)[1] / log_p.shape[1],
            _beam_step(totals, log_p, width)[2],
        ),
        "Your rows have fractions: `/` divides to the last digit, `//` keeps the whole number.",
    ),
    Slip(
        "rows before log-probabilities",
        _parts(lambda best, rows, tokens: (rows, tokens, best)),
        "The three are right, in another order. First the log-probabilities, then the rows, then the tokens.",
    ),
    Slip(
        "tokens before rows, log-probabilities last",
        _parts(lambda best, rows, tokens: (tokens, rows, best)),
        "The three are right, in the opposite order. First the log-probabilities, then the rows, then the tokens.",
    ),
    Slip(
        "not best first",
        _unsorted,
        "The right continuations, in the order of the table. Best first.",
    ),
    Slip(
        "worst first",
        _parts(lambda best, rows, tokens: (best.flip(0), rows.flip(0), tokens.flip(0))),
        "The right continuations, the worst of them first. Best first.",
    ),
    Slip(
        "probabilities",
        _parts(lambda best, rows, tokens: (best.exp(), rows, tokens)),
        "Those are probabilities. Keep the logarithms: the product of many probabilities would be rounded to 0.",
    ),
]


# the nucleus


@exercise("decoding.nucleus", answer="nucleus")
def nucleus(student, expect):
    def draw(fewest: int = 6, gap: float = 2e-3) -> tuple[Tensor, float]:
        while True:
            p = (1.3 * torch.randn(whole(fewest, 2 * fewest))).softmax(dim=0)
            top_p = whole(55, 86) / 100 + 0.004
            held = p.sort(descending=True).values.cumsum(dim=0)
            if (held - top_p).abs().min() > gap and 2 <= (held < top_p).sum() <= len(p) - 3:
                return p, top_p

    def peaked() -> tuple[Tensor, float]:
        p = torch.cat([torch.tensor([4.0]), 3 * torch.rand(whole(4, 7))])
        p = (p / p.sum())[torch.randperm(len(p))]
        return p, 0.7 * p.max().item()

    describe = "the cut distribution"
    expect.agrees(
        student.nucleus,
        _nucleus,
        telling(draw, _nucleus, _NUCLEI, 4),
        holds="the fewest that hold top_p share 1, each at its place",
        slips=_NUCLEI,
        describe=describe,
    )
    expect.agrees(
        student.nucleus,
        _nucleus,
        [peaked() for _ in range(3)],
        holds="one word may be enough",
        slips=_LONE,
        describe="a distribution whose best word holds more than top_p",
    )
    halves = torch.tensor([16.0, 8, 4, 2, 1, 1]) / 32  # sums that binary numbers hold exactly
    exact = [(halves[torch.randperm(6)], top_p) for top_p in (0.5, 0.75, 0.875)]
    expect.agrees(
        student.nucleus,
        _nucleus,
        exact,
        holds="words that hold exactly top_p are enough",
        slips=_LINES,
        describe="words whose sum is exactly top_p",
    )
    everything = [(halves[torch.randperm(6)], 1.0), (halves[torch.randperm(6)], 1.0)]
    expect.agrees(
        student.nucleus,
        _nucleus,
        everything,
        holds="top_p = 1 cuts nothing",
        slips=_NUCLEI,
        describe="top_p = 1",
    )

    def short_of_1() -> tuple[Tensor, float]:
        while True:
            p = torch.randn(whole(6, 12)).softmax(dim=0)
            if p.sort(descending=True).values.cumsum(dim=0)[-1] < 1:
                return p, 1.0

    rounded = [short_of_1(), short_of_1()]
    holds = "top_p = 1 cuts nothing, also where rounding leaves the sum of all a little below 1"
    expect.agrees(student.nucleus, _nucleus, rounded, holds, _NUCLEI, describe="top_p = 1")
    for p in (torch.tensor([8.0, 3, 3, 3, 3])[torch.randperm(5)] / 20, torch.full((6,), 1 / 6)):
        found = torch.as_tensor(student.nucleus(p.clone(), 0.45))
        kept, needed = int((found > 0).sum()), int(_kept(p, 0.45).sum())
        expect.true(
            kept >= needed,
            "of words that are equally probable, enough stay",
            "Several words are equally probable, and you kept too few of them to hold top_p. Count how many are needed.",
            "ties dropped",
        )
        expect.true(
            kept <= needed,
            "of words that are equally probable, as few stay as are needed",
            "Several words are equally probable, and you kept all of them, although fewer hold top_p. Do you keep every "
            "word that is as probable as the last one needed? Count how many are needed, and keep so many.",
            "ties kept",
        )
    wide = (2 * torch.randn(whole(200, 300))).softmax(dim=0)
    expect.agrees(
        student.nucleus, _nucleus, [(wide, 0.7)], "hundreds of words", _NUCLEI, tolerance=1e-4, describe=describe
    )


def _kept(p: Tensor, top_p: float) -> Tensor:
    """Which words stay."""
    ordered, order = p.sort(descending=True, stable=True)
    return torch.zeros_like(p, dtype=torch.bool).scatter(0, order, ordered.cumsum(dim=0) - ordered < top_p)


def _shared(p: Tensor, kept: Tensor) -> Tensor:
    return p * kept / (p * kept).sum()


def _nucleus(p: Tensor, top_p: float) -> Tensor:
    return _shared(p, _kept(p, top_p))


def _best_of(p: Tensor, count: int) -> Tensor:
    return torch.zeros_like(p, dtype=torch.bool).scatter(0, p.topk(max(1, min(count, len(p)))).indices, True)


def _count(p: Tensor, top_p: float) -> int:
    return int(_kept(p, top_p).sum())


def _too_early(p: Tensor, top_p: float) -> Tensor:
    return _shared(p, _best_of(p, _count(p, top_p) - 1))


def _tail(p: Tensor, top_p: float) -> Tensor:
    ordered, order = p.sort()
    return _shared(p, torch.zeros_like(p, dtype=torch.bool).scatter(0, order, ordered.cumsum(dim=0) - ordered < top_p))


def _as_they_come(p: Tensor, top_p: float) -> Tensor:
    return _shared(p, p.cumsum(dim=0) - p < top_p)


_LINES = [
    Slip(
        "one more at equality",
        lambda p, top_p: _shared(p, _best_of(p, _count(p, top_p) + 1)),
        "The words before the last one that you kept hold exactly top_p, and that is enough: *at least* top_p. Which comparison "
        "says that, < or ≤?",
    ),
]
_LONE = [
    Slip(
        "one too many",
        lambda p, top_p: _shared(p, _best_of(p, 2)),
        "The best word alone holds more than top_p, and you kept a second one. Compare what the words before it hold with top_p.",
    ),
    Slip(
        "stops too early",
        lambda p, top_p: torch.full_like(p, torch.nan),
        "No word is left, and the division is 0/0. The best word always stays: the one that crosses the line is still needed.",
    ),
    Slip(
        "stops too early",
        lambda p, top_p: torch.zeros_like(p),
        "No word is left. The best word always stays: the one that crosses the line is still needed.",
    ),
]
ALL_WORDS = "You return the kept words alone. The result has the shape of p: whoever is cut stays at its place, with 0."
_NUCLEI = [
    Slip(
        "not renormalised",
        lambda p, top_p: p * _kept(p, top_p),
        "The right words are kept, but they no longer sum to 1. Divide by what is left.",
    ),
    Slip(
        "divided by top_p",
        lambda p, top_p: p * _kept(p, top_p) / top_p,
        "You divided by top_p. The kept words hold a little more than that: divide by their own sum, or they do not sum to 1.",
    ),
    Slip(
        "stops too early",
        _too_early,
        "The words that you keep hold less than top_p. The word that crosses the line is still needed.",
    ),
    Slip(
        "order lost",
        lambda p, top_p: _nucleus(p, top_p).sort(descending=True).values,
        "The right numbers, sorted. Each must stand at its word's place again: the second result of sort says where.",
    ),
    Slip(
        "back to the wrong places",
        lambda p, top_p: _nucleus(p, top_p).sort(descending=True).values[p.argsort(descending=True)],
        "The right numbers at the wrong places. `order[i]` says where the i-th best word stood: write `kept[order] = …`, do not "
        "read with it.",
    ),
    Slip("only what is kept", lambda p, top_p: _nucleus(p, top_p)[_kept(p, top_p)], ALL_WORDS),
    Slip(
        "only what is kept",
        lambda p, top_p: p[_kept(p, top_p)].sort(descending=True).values / p[_kept(p, top_p)].sum(),
        ALL_WORDS,
    ),
    Slip(
        "the first places",
        lambda p, top_p: _shared(p, torch.arange(len(p)) < _count(p, top_p)),
        "You kept as many words as are needed, but the first ones of p: what is known of the sorted numbers must go back to the "
        "words' own places, by the second result of sort.",
    ),
    Slip(
        "keeps the tail",
        _tail,
        "You kept the least probable words. Begin to add up with the most probable one: descending=True.",
    ),
    Slip(
        "keeps what was to go",
        lambda p, top_p: _shared(p, ~_kept(p, top_p)),
        "You kept the words that were to go, and cut the nucleus.",
    ),
    Slip("nothing cut", lambda p, top_p: p, "Nothing was cut. The words behind those that hold top_p go to 0."),
    Slip(
        "one too many",
        lambda p, top_p: _shared(p, _best_of(p, _count(p, top_p) + 1)),
        "You kept one word more than needed. Compare what the words *before* a word hold with top_p.",
    ),
    Slip(
        "not sorted",
        _as_they_come,
        "You added up in the order of the vocabulary. The most probable come first: sort.",
    ),
    Slip(
        "top_p ignored",
        lambda p, top_p: _nucleus(p, 0.9),
        "You keep the words that hold 0.9, whatever `top_p` is.",
    ),
    Slip(
        "top-k",
        lambda p, top_p: _shared(p, _best_of(p, round(top_p * len(p)))),
        "You kept a share of the *words*. top_p is a share of probability, and how many words hold it differs from step to step.",
    ),
    Slip(
        "top-k",
        lambda p, top_p: _shared(p, _best_of(p, int(top_p * len(p)))),
        "You kept a share of the words. top_p is a share of probability, and how many words hold it differs from step to step.",
    ),
    Slip(
        "a threshold",
        lambda p, top_p: _shared(p, p >= 1 - top_p),
        "You kept every word above a threshold. top_p is a share that the kept words hold *together*.",
    ),
    Slip(
        "a threshold",
        lambda p, top_p: _shared(p, p >= top_p),
        "You compare each word with top_p. It is a share that the kept words hold *together*.",
    ),
    Slip(
        "softmax of probabilities",
        lambda p, top_p: p.masked_fill(~_kept(p, top_p), -torch.inf).softmax(dim=0),
        "You took a softmax of probabilities, which flattens them. They are no logits: divide by their sum.",
    ),
    Slip(
        "equal shares",
        lambda p, top_p: _kept(p, top_p) / _kept(p, top_p).sum(),
        "All kept words got the same share. They keep their proportions: divide by the sum.",
    ),
]


# may it stop


@exercise("decoding.may-stop", answer="may_stop")
def may_stop(student, expect):
    def draw() -> tuple[list[float], float, float, int]:
        open_log_p = [-round(1 + 6 * share, 2) for share in torch.rand(whole(2, 4)).tolist()]
        alpha, max_len = whole(2, 9) / 10 + 0.05, whole(8, 30)
        bound = max(open_log_p) / ((5 + max_len) / 6) ** alpha
        return open_log_p, round(bound * (0.35 + 3.7 * torch.rand(()).item() ** 2), 3), alpha, max_len

    def answer(*case):
        return _truth(student.may_stop(*case))

    def between(later: int) -> tuple[list[float], float, float, int]:
        """A case whose score lies between what `max_len` tokens and what `max_len + later` tokens can reach."""
        open_log_p, _, alpha, max_len = draw()
        bounds = [max(open_log_p) / ((5 + length) / 6) ** alpha for length in (max_len, max_len + later)]
        return open_log_p, sum(bounds) / 2, alpha, max_len

    expect.agrees(
        answer,
        _may_stop,
        [*telling(draw, _may_stop, _STOPS, 8), *(between(later) for later in (1, -1, 1, -1, 1, -1))],
        holds="the best open path, divided by the gentlest penalty, decides",
        slips=[*_STOPS, *_NEXT_LENGTHS],
        describe="whether it may stop",
    )
    ties = [([-3.0 * k, -5.0 * k], -3.0 * k / ratio**alpha, alpha, 6 * ratio - 5) for k, ratio, alpha in _EXACT]
    _stops(
        expect, answer, ties, "a tie is no higher score", "the best open path can reach exactly the score", _AT_A_TIE
    )
    flat = [([-3.0, -4.5], score, 0.0, whole(7, 40)) for score in (-2.9, -3.1, -2.5, -4.0)]
    _stops(
        expect,
        answer,
        flat,
        "without a penalty, log-probabilities are compared",
        "whether it may stop, with α = 0",
        _STOPS,
    )
    none = [([], -4.0, 0.6, 20), ([], -0.5, 0.9, 30)]
    _stops(expect, answer, none, "with no open path it is over", "no path is open", _WITHOUT_PATHS)


def _stops(expect: Expect, answer: Any, inputs: list, holds: str, describe: str, slips: list[Slip]) -> None:
    expect.agrees(answer, _may_stop, inputs, holds, slips, describe=describe)


def _truth(value: Any) -> Any:
    """A truth value, in whatever type it came."""
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    return bool(value) if value in (0, 1) else value


_EXACT = ((1, 2, 1), (2, 4, 1), (1, 2, 2), (2, 4, 0.5))  # factor, (5 + max_len) / 6, α: quotients without rounding


def _stopping(of: Callable[[list[float]], float], **fixed: Any) -> Callable[..., bool]:
    def decide(open_log_p: list[float], score: float, alpha: float, max_len: int) -> bool:
        alpha, max_len = fixed.get("alpha", alpha), fixed.get("max_len", max_len)
        return of(open_log_p or [-math.inf]) / ((5 + max_len) / 6) ** alpha <= score

    return decide


_may_stop = _stopping(max)
_NEXT_LENGTHS = [
    Slip(
        "one token too many",
        lambda open_log_p, score, alpha, max_len: _may_stop(open_log_p, score, alpha, max_len + 1),
        "You divide by ((6 + max_len) / 6)^α, the penalty of max_len + 1 tokens. The longest sentence has max_len: the 5 is "
        "all that is added.",
    ),
    Slip(
        "one token too few",
        lambda open_log_p, score, alpha, max_len: _may_stop(open_log_p, score, alpha, max_len - 1),
        "You divide by ((4 + max_len) / 6)^α, the penalty of max_len − 1 tokens. A path may still grow to max_len.",
    ),
]
_AT_A_TIE = [
    Slip(
        "a tie",
        lambda open_log_p, score, alpha, max_len: False,
        "The best open path can reach exactly the score, and you go on. That is no *higher* score: it may stop.",
    ),
]
_WITHOUT_PATHS = [
    Slip(
        "no paths",
        lambda open_log_p, score, alpha, max_len: False,
        "No path is open, so nothing can win any more. It may stop.",
    ),
]
_STOPS = [
    Slip(
        "turned round",
        lambda *case: not _may_stop(*case),
        "You say when it must go on. True means that no open path can win any more.",
    ),
    Slip(
        "no penalty",
        _stopping(max, alpha=0),
        "You compare log-probabilities with a score, which was divided by its penalty. What can the divisor of an open path "
        "become?",
    ),
    Slip(
        "α ignored",
        _stopping(max, alpha=1),
        "The power α is missing: you divide by (5 + max_len) / 6 itself.",
    ),
    Slip("α ignored", _stopping(max, alpha=0.6), "Your power is 0.6, whatever α is."),
    Slip(
        "max_len ignored", _stopping(max, max_len=60), "You divide by the penalty of 60 tokens, whatever `max_len` is."
    ),
    Slip(
        "max_len ignored",
        lambda open_log_p, score, alpha, max_len: (
            max(open_log_p, default=-math.inf) / ((5 + len(open_log_p)) / 6) ** alpha <= score
        ),
        "The length in your penalty is the number of open paths. A path may grow to `max_len`.",
    ),
    Slip(
        "not the best path",
        _stopping(min),
        "You look at the worst open path. One path that can still win is enough: look at the best.",
    ),
    Slip(
        "first path",
        _stopping(lambda totals: totals[0]),
        "You look at the first open path. They come in any order, and one that can still win is enough: look at the best.",
    ),
    Slip(
        "last path",
        _stopping(lambda totals: totals[-1]),
        "You look at the last open path. They come in any order, and one that can still win is enough: look at the best.",
    ),
    Slip(
        "the mean of the paths",
        _stopping(lambda totals: sum(totals) / len(totals)),
        "You look at the mean of the open paths. One that can still win is enough: look at the best.",
    ),
    Slip(
        "the paths added",
        _stopping(sum),
        "You add the open paths' log-probabilities. Each path is on its own: look at the best.",
    ),
    Slip(
        "multiplied",
        lambda open_log_p, score, alpha, max_len: (
            max(open_log_p, default=-math.inf) * ((5 + max_len) / 6) ** alpha <= score
        ),
        "You multiply by the penalty, or divide the finished score by it, which comes to the same. That score has had its "
        "penalty; an open path's is still to come, and as a log-probability is negative, the division brings it closer to 0.",
    ),
    Slip(
        "the 5 forgotten",
        lambda open_log_p, score, alpha, max_len: max(open_log_p, default=-math.inf) / max_len**alpha <= score,
        "The penalty is ((5 + max_len) / 6)^α; yours is max_len^α.",
    ),
    Slip(
        "always stops", lambda *case: True, "You always stop. Where an open path can still win, the search must go on."
    ),
    Slip("never stops", lambda *case: False, "You never stop. Where no open path can win, the search may end."),
]
