"""Judges of the exercises in chapter `evaluation`."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import chain, cycle, groupby
from statistics import mean, median
from typing import Any

from tfm_exercises.relations import unnamed
from tfm_exercises.random_inputs import chance, different, telling, whole
from tfm_exercises.judge import Slip, exercise
from tfm_exercises.watching import Refused

Words = list[str]


# BLEU, mended

Row = tuple[list[int], list[int], int, int]


@exercise("evaluation.mend-bleu", answer="corpus_bleu")
def mend_bleu(student, expect):
    inputs = [(_corpus(shorter),) for shorter in (True, False, True, False)]
    expect.agrees(
        student.corpus_bleu,
        _corpus_bleu,
        inputs,
        holds="counts are added over all sentences before anything is divided",
        slips=_MENDED,
        describe="the score of a corpus",
    )
    expect.agrees(
        student.corpus_bleu, _corpus_bleu, [(_corpus(True)[:1],), (_corpus(False)[:1],)], "one sentence is a corpus too",
        describe="a corpus of one sentence",
    )  # fmt: skip
    nothing = [([0] * 4, [0] * 4, 0, whole(3, 9)) for _ in range(2)]
    short = [([2, 1, 0, 0], [3, 2, 1, 0], 3, whole(3, 6)), ([1, 1, 1, 0], [3, 2, 1, 0], 3, whole(2, 5))]
    zeros = [([([*m[:3], 0], g, w, r) for m, g, w, r in _corpus(True)],), (short,), (nothing,)]
    expect.agrees(
        student.corpus_bleu, _corpus_bleu, zeros, "0 where an n has no match in the whole corpus", _SMOOTHED,
        describe="a corpus in which no run of four words matches",
    )  # fmt: skip


def _corpus(shorter: bool) -> list[Row]:
    """A few sentences, one empty and one without a match of four; all hypotheses together shorter than the references, or not."""
    draws = chance()
    while True:
        rows = []
        for place in range(draws.randint(5, 7)):
            words = draws.randint(5, 14) if place != 1 else 0
            ngrams = [max(words - k, 0) for k in range(4)]
            matches, most = [], words
            for k, some in enumerate(ngrams):
                most = draws.randint(min(most, some) // 2, max(min(most, some) - 1, 0)) if words else 0
                matches.append(0 if (place == 2 and k == 3) else max(most, 1) if words else 0)
                most = matches[-1]
            rows.append((matches, ngrams, words, max(2, words + draws.choice([-3, -2, 2, 4]))))
        ours, theirs = sum(row[2] for row in rows), sum(row[3] for row in rows)
        if (ours < theirs - 3) if shorter else (ours > theirs + 1):
            return rows


def _sums(rows: Sequence[Row]) -> tuple[list[int], list[int], int, int]:
    matches = [sum(row[0][k] for row in rows) for k in range(4)]
    ngrams = [sum(row[1][k] for row in rows) for k in range(4)]
    return matches, ngrams, sum(row[2] for row in rows), sum(row[3] for row in rows)


def _penalty(words: float, reference_words: float) -> float:
    return min(1.0, math.exp(1 - reference_words / words)) if words else 0.0


def _root(precisions: Sequence[float]) -> float:
    return math.prod(precisions) ** (1 / len(precisions))


def _bleu(
    rows: Sequence[Row],
    brevity: Callable[[Sequence[Row]], float] = lambda rows: _penalty(*_sums(rows)[2:]),
    middle: Callable[[Sequence[float]], float] = _root,
    precisions: Callable[[Sequence[Row]], list[float]] | None = None,
) -> float:
    """BLEU of all rows together, with one step of it changed."""
    matches, ngrams, *_ = _sums(rows)
    if 0 in matches:
        return 0.0
    shares = precisions(rows) if precisions else [m / g for m, g in zip(matches, ngrams)]
    return 100 * brevity(rows) * middle(shares)


def _corpus_bleu(rows: Sequence[Row]) -> float:
    return _bleu(rows)


def _shares(row: Row) -> list[float]:
    return [m / g if g else 0.0 for m, g in zip(row[0], row[1])]


def _of_one(row: Row) -> float:
    """The score that the chapter's wrong program gives a sentence."""
    return 100 * _penalty(row[2], row[3]) * _root(_shares(row))


def _half_a_match(rows: Sequence[Row]) -> float:
    matches, ngrams, words, reference_words = _sums(rows)
    half, shares = 1.0, []
    for matched, some in zip(matches, ngrams):
        half = half if matched or not some else half / 2
        shares.append((matched or half) / some if some else 0.0)
    return 100 * _penalty(words, reference_words) * _root(shares) if any(matches) else 0.0


_MENDED = [
    Slip(
        "the program as it was",
        lambda rows: mean(map(_of_one, rows)),
        "This is still the mean of the sentences' scores, in which one sentence without a match of four words counts 0. Add the "
        "counts of all sentences first, and divide once.",
    ),
    Slip(
        "weighted mean of the scores",
        lambda rows: sum(row[2] * _of_one(row) for row in rows) / max(sum(row[2] for row in rows), 1),
        "This is a mean of sentence scores still, with long sentences weighing more. A mean of products is not the "
        "product of the means: add the counts first.",
    ),
    Slip(
        "zeros left out of the mean",
        lambda rows: mean([score for score in map(_of_one, rows) if score] or [0.0]),
        "You left out the sentences that score 0. The mean of the others is not the score of the corpus.",
    ),
    Slip(
        "brevity of each sentence",
        lambda rows: _bleu(rows, brevity=lambda rows: mean(_penalty(row[2], row[3]) for row in rows)),
        "The precisions are those of the corpus, the brevity penalty is still taken of each sentence. One that is too short may be "
        "made up for by another: compare the sums of words.",
    ),
    Slip(
        "brevity from a mean of ratios",
        lambda rows: _bleu(
            rows, brevity=lambda rows: min(1.0, math.exp(1 - mean(row[3] / row[2] for row in rows if row[2])))
        ),
        "Your brevity penalty comes from the mean of the ratios. Add the words of both sides, then divide.",
    ),
    Slip(
        "precisions averaged over sentences",
        lambda rows: _bleu(rows, precisions=lambda rows: [mean(column) for column in zip(*map(_shares, rows))]),
        "Each precision is a mean over sentences. A short sentence then weighs as much as a long one: add matches and n-grams of all, "
        "then divide.",
    ),
    Slip(
        "sentence scores, brevity of the corpus",
        lambda rows: 100 * _penalty(*_sums(rows)[2:]) * mean(_root(_shares(row)) for row in rows),
        "The brevity penalty is that of the corpus, the precisions are still those of each sentence. Add the counts of all sentences.",
    ),
    Slip(
        "no brevity",
        lambda rows: _bleu(rows, brevity=lambda rows: 1.0),
        "The brevity penalty is missing. Without it, it pays to leave out whatever is unsure.",
    ),
    Slip(
        "length is rewarded",
        lambda rows: _bleu(rows, brevity=lambda rows: math.exp(1 - _sums(rows)[3] / _sums(rows)[2])),
        "Your brevity factor is above 1 where the hypotheses are longer than the references. It is a penalty: at most 1.",
    ),
    Slip(
        "words exchanged",
        lambda rows: _bleu(rows, brevity=lambda rows: _penalty(_sums(rows)[3], _sums(rows)[2])),
        "The two sides have changed places in the brevity penalty: yours punishes what is long.",
    ),
    Slip(
        "brevity is the ratio",
        lambda rows: _bleu(rows, brevity=lambda rows: min(1.0, _sums(rows)[2] / _sums(rows)[3])),
        "Your brevity penalty is the ratio of the words, c/r. BLEU's is exp(1 − r/c).",
    ),
    Slip(
        "mean of the precisions",
        lambda rows: _bleu(rows, middle=mean),
        "You took the arithmetic mean of the precisions. The program's geometric mean, the fourth root of their product, was right.",
    ),
    Slip(
        "no root",
        lambda rows: _bleu(rows, middle=math.prod),
        "This is the product of the four precisions. The fourth root is missing.",
    ),
    Slip(
        "one added to each count",
        lambda rows: _bleu(rows, precisions=lambda rows: [(m + 1) / (g + 1) for m, g in zip(*_sums(rows)[:2])]),
        "You added 1 to matches and n-grams. That is a remedy for scores of single sentences; a corpus needs none.",
    ),
    Slip(
        "product of the penalties",
        lambda rows: _bleu(rows, brevity=lambda rows: math.prod(_penalty(row[2], row[3]) for row in rows if row[2])),
        "You multiplied the brevity penalties of all sentences. There is one penalty, from the sums of words.",
    ),
    Slip(
        "what one is short of, without what others are over",
        lambda rows: _bleu(
            rows, brevity=lambda rows: _penalty(_sums(rows)[2], sum(max(row[2], row[3]) for row in rows))
        ),
        "A sentence that is too long does not make up for one that is too short in your penalty. Add the words of each side as they are.",
    ),
    Slip(
        "lengths thrown together",
        lambda rows: _bleu(rows, precisions=lambda rows: [sum(_sums(rows)[0]) / sum(_sums(rows)[1])]),
        "You added matches of one, two, three and four words. Each n has a precision of its own; the fourth root joins them.",
    ),
    Slip(
        "words below every match",
        lambda rows: _bleu(rows, precisions=lambda rows: [m / _sums(rows)[2] for m in _sums(rows)[0]]),
        "All four precisions are divided by the words. A sentence of m words has m − n + 1 n-grams: `ngrams` holds them.",
    ),
    Slip(
        "middle sentence",
        lambda rows: median(map(_of_one, rows)),
        "This is the median of the sentences' scores. Add the counts of all sentences first.",
    ),
    Slip(
        "share for percent",
        lambda rows: _bleu(rows) / 100,
        "This is a share. The program gave percent: multiply by 100.",
    ),
    Slip(
        "rounded",
        lambda rows: round(_bleu(rows), 1),
        "The score is rounded. Round where you print: a difference of two scores needs the digits.",
    ),
    Slip(
        "empty translations left out",
        lambda rows: _bleu([row for row in rows if row[2]]),
        "You left out the sentences for which nothing was written. Their references' words count, or silence costs nothing.",
    ),
    Slip(
        "sentences without a match of four left out",
        lambda rows: _bleu([row for row in rows if row[0][3]]),
        "You left out the sentences without a match of four words. Their words and their other matches count.",
    ),
    Slip(
        "the first sentence only",
        lambda rows: _of_one(rows[0]),
        "This is the score of the first sentence. Does `return` stand inside the loop?",
    ),
]
_SMOOTHED = [
    Slip(
        "half a match",
        _half_a_match,
        "You count half a match where there is none, as the library does. The text asks for 0 here.",
    ),
]


# edits

Pairs = tuple[list[Words], list[Words]]


@exercise("evaluation.edits", answer="error_rate")
def edits(student, expect):
    expect.agrees(
        student.error_rate,
        _error_rate,
        telling(_spoken, _error_rate, _EDITS, 4),
        holds="the fewest edits of all sentences, over all words of the references",
        slips=_EDITS,
        describe="the word error rate",
    )
    words = ["one", "two", "three", "four", "five"]
    a, b, c, d = (words[i] for i in different(4, 0, 4))
    edges = [
        ([[], [a, b]], [[a, c, d], [a, b, c, d]]),
        ([[a, b], [c]], [[], [c, d, a, b]]),
        ([[a], [b, b], [c, a, d]], [[a], [b, b], [c, a, d]]),
        ([[a, b, c, d, a], [c, c, b]], [[d], [c, a]]),
        ([[a]], [[b]]),
    ]
    expect.agrees(
        student.error_rate, _error_rate, edges, "empty, equal and overlong sentences as well", _SPECIAL,
        describe="a short, empty or overlong sentence",
    )  # fmt: skip


def _spoken() -> Pairs:
    """References, and what a careless listener writes: words lost, added, exchanged, or in another order."""
    draws = chance()
    words = draws.sample("see seen boat boats near nearly a at old again".split(), 6)
    hypotheses, references = [], []
    for _ in range(draws.randint(3, 4)):
        reference = draws.choices(words, k=draws.randint(3, 6))
        heard = list(reference)
        for _ in range(draws.randint(1, 3)):
            place = draws.randrange(len(heard))
            change = draws.choice("lost added exchanged turned".split())
            if change == "lost" and len(heard) > 2:
                del heard[place]
            elif change == "added" and len(heard) < 7:
                heard.insert(place, draws.choice(words))
            elif change == "turned":
                heard[place - 1 : place + 1] = heard[place - 1 : place + 1][::-1]
            else:
                heard[place] = draws.choice(words)
        hypotheses.append(heard)
        references.append(reference)
    return hypotheses, references


def _distance(
    ours: Sequence, theirs: Sequence, exchange: float = 1, added: float = 1, lost: float = 1, turned: bool = False,
    free_start: bool = False,
) -> float:  # fmt: skip
    """The cheapest way from `theirs` to `ours`; `added` words stand in `ours` only, `lost` ones in `theirs` only."""
    table = {(0, 0): 0.0}
    for i in range(len(ours) + 1):
        for j in range(len(theirs) + 1):
            ways = []
            if i:
                ways.append(table[i - 1, j] + added * (not (free_start and j == 0)))
            if j:
                ways.append(table[i, j - 1] + lost * (not (free_start and i == 0)))
            if i and j:
                ways.append(table[i - 1, j - 1] + exchange * (ours[i - 1] != theirs[j - 1]))
            if turned and i > 1 and j > 1 and ours[i - 2 : i] == theirs[j - 2 : j][::-1]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways, default=0.0)
    return table[len(ours), len(theirs)]


def _length(sentences: list[Words]) -> int:
    return sum(map(len, sentences))


def _edits_by(distance: Callable[..., float]) -> Callable[[list[Words], list[Words]], float]:
    """The error rate of a corpus where `distance` counts the edits of a sentence."""
    return lambda ours, theirs: sum(map(distance, ours, theirs)) / _length(theirs)


def _error_rate(ours: list[Words], theirs: list[Words]) -> float:
    return sum(map(_distance, ours, theirs)) / _length(theirs)


def _place_by_place(ours: Words, theirs: Words) -> int:
    return sum(a != b for a, b in zip(ours, theirs)) + abs(len(ours) - len(theirs))


def _as_bags(ours: Words, theirs: Words) -> int:
    a, b = Counter(ours), Counter(theirs)
    return max((a - b).total(), (b - a).total())


def _by_difflib(ours: Words, theirs: Words) -> int:
    steps = SequenceMatcher(None, theirs, ours).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in steps if tag != "equal")


def _one_row(ours: Words, theirs: Words) -> float:
    """The table made of one row many times: what is written in one row stands in all."""
    row: list[float] = [0] * (len(theirs) + 1)
    for i in range(len(ours) + 1):
        row[0] = i
    for j in range(len(theirs) + 1):
        row[j] = j
    for i in range(1, len(ours) + 1):
        for j in range(1, len(theirs) + 1):
            row[j] = min(row[j] + 1, row[j - 1] + 1, row[j - 1] + (ours[i - 1] != theirs[j - 1]))
    return row[-1]


_EDITS = [
    Slip(
        "mean of the sentences' rates",
        lambda ours, theirs: mean(_distance(a, b) / len(b) for a, b in zip(ours, theirs)),
        "This is the mean of the sentences' rates, so that one word in a short sentence weighs more. Add the edits and the words first.",
    ),
    Slip(
        "words of the hypotheses",
        lambda ours, theirs: sum(map(_distance, ours, theirs)) / _length(ours),
        "You divided by the words of the hypotheses. The text asks for a share of the reference's words.",
    ),
    Slip(
        "words of the longer side",
        lambda ours, theirs: sum(map(_distance, ours, theirs)) / sum(max(len(a), len(b)) for a, b in zip(ours, theirs)),
        "You divided by the words of the longer sentence of each pair. The text asks for a share of the "
        "reference's words.",
    ),
    Slip(
        "words of both sides",
        lambda ours, theirs: sum(map(_distance, ours, theirs)) / (_length(ours) + _length(theirs)),
        "You divided by the words of both sides. The text asks for a share of the reference's words.",
    ),
    Slip(
        "the first sentence only",
        lambda ours, theirs: _distance(ours[0], theirs[0]) / len(theirs[0]),
        "This is the rate of the first sentence. Does `return` stand inside the loop?",
    ),
    Slip(
        "an exchange costs two",
        _edits_by(lambda a, b: _distance(a, b, exchange=2)),
        "An exchanged word counts as one lost and one added. It is one edit.",
    ),
    Slip(
        "place by place",
        _edits_by(_place_by_place),
        "You compared the words place by place. After one lost word nothing agrees any more; look for the fewest edits.",
    ),
    Slip(
        "order is ignored",
        _edits_by(_as_bags),
        "You counted which words differ, whatever their order. *dog bites man* and *man bites dog* differ by two edits.",
    ),
    Slip(
        "neighbours that change places are one edit",
        _edits_by(lambda a, b: _distance(a, b, turned=True)),
        "Two neighbours that change places count as one edit. Here there are three kinds only: such a pair takes two.",
    ),
    Slip(
        "letters for words",
        lambda ours, theirs: (
            sum(_distance(" ".join(a), " ".join(b)) for a, b in zip(ours, theirs))
            / sum(len(" ".join(b)) for b in theirs)
        ),
        "You counted letters. Compare whole words: a list of them can be gone through like a text.",
    ),
    Slip(
        "letters over words",
        lambda ours, theirs: sum(_distance(" ".join(a), " ".join(b)) for a, b in zip(ours, theirs)) / _length(theirs),
        "The edits are counted in letters and divided by words. Compare whole words.",
    ),
    Slip(
        "difflib's blocks",
        _edits_by(_by_difflib),
        "These are the blocks of difflib, which look for long runs that agree, as people like to read them. They are not always the "
        "fewest edits.",
    ),
    Slip(
        "the start is free",
        _edits_by(lambda a, b: _distance(a, b, free_start=True)),
        "Words lost or added at the start cost nothing in your table. Its first row and column hold 0, 1, 2, …",
    ),
    Slip(
        "added words are free",
        _edits_by(lambda a, b: _distance(a, b, added=0)),
        "Words that only the hypothesis has cost nothing in your count. Each is an edit.",
    ),
    Slip(
        "lost words are free",
        _edits_by(lambda a, b: _distance(a, b, lost=0)),
        "Words that only the reference has cost nothing in your count. Each is an edit.",
    ),
    Slip(
        "no exchanges",
        _edits_by(lambda a, b: _distance(a, b, exchange=0)),
        "An exchanged word costs nothing in your count. Add 1 where the two words differ.",
    ),
    Slip(
        "one row for all",
        _edits_by(_one_row),
        "The rows of your table are one and the same list, so that each overwrites the others. Make a new list for each row; "
        "`[[0] * m] * n` does not.",
    ),
    Slip(
        "sentences that differ",
        lambda ours, theirs: sum(a != b for a, b in zip(ours, theirs)) / len(theirs),
        "This is the share of sentences that are not the same. Count edits of words.",
    ),
    Slip(
        "share of right words",
        lambda ours, theirs: 1 - _error_rate(ours, theirs),
        "This is 1 minus the rate. The text asks for the errors.",
    ),
    Slip(
        "percent",
        lambda ours, theirs: 100 * _error_rate(ours, theirs),
        "This is in percent. The text asks for a share.",
    ),
    Slip(
        "edits not divided",
        lambda ours, theirs: sum(map(_distance, ours, theirs)),
        "These are the edits. Divide by the words of the references.",
    ),
    Slip(
        "edits for each sentence",
        lambda ours, theirs: sum(map(_distance, ours, theirs)) / len(theirs),
        "You divided by the number of sentences. Divide by the words of the references.",
    ),
    Slip(
        "one long sentence",
        lambda ours, theirs: _distance(list(chain(*ours)), list(chain(*theirs))) / _length(theirs),
        "You joined all sentences into one. Words of one sentence may then agree with those of the next: count each pair by itself.",
    ),
]
_SPECIAL = [
    *(
        Slip(
            "empty sentences left out",
            _edits_by(lambda a, b, counts=counts: _distance(a, b) if counts(a, b) else 0),
            "A sentence with no words on one side costs nothing in your count. Each word of the other side is an edit.",
        )
        for counts in (lambda a, b: a, lambda a, b: b, lambda a, b: a and b)
    ),
    Slip(
        "at most 1",
        lambda ours, theirs: min(1.0, _error_rate(ours, theirs)),
        "You do not let the rate rise above 1. It does when more is added than the reference has words.",
    ),
    Slip(
        "at most 1 in each sentence",
        lambda ours, theirs: sum(min(_distance(a, b), len(b)) for a, b in zip(ours, theirs)) / _length(theirs),
        "You count at most as many edits as the reference has words. A sentence may need more.",
    ),
]


# exchange

Stats = list[tuple[int, int]]
Score = Callable[[Stats], float]
Coins = list[list[bool]]


@exercise("evaluation.swap", answer="p_value")
def swap(student, expect):
    scores = cycle([_error_share, _geometric, _overlap])

    def draw() -> tuple[Stats, Stats, Score, Coins]:
        score = next(scores)
        while True:
            ours, theirs, coins = _two_systems()
            observed = abs(score(ours) - score(theirs))
            gaps = [abs(abs(trial) - observed) for trial in _trials(ours, theirs, score, coins)]
            if observed > 1e-6 and all(gap == 0 or gap > 1e-6 for gap in gaps):
                return ours, theirs, score, coins  # no tie is left to the last digit of a float

    inputs = telling(draw, _as_word(_p_value), [Slip(s.name, _as_word(s.of), s.message) for s in _SWAPS], 5)
    try:
        expect.agrees(
            student.p_value, _p_value, inputs, "the share of exchanges that lead to a difference as large", _SWAPS,
            tolerance=1e-7, describe="the p-value",
        )  # fmt: skip
    except Refused as refused:
        if unnamed(refused.mistake) and _answers_differ(student.p_value, inputs[0]):
            raise Refused(
                "Asked the same twice, your answer gives two numbers: it tosses coins of its own. Use those in `coins`.",
                "own coins",
            ) from None
        raise
    ours, theirs, score, coins = draw()
    edges = [
        (ours, list(ours), score, coins),
        (ours, theirs, score, []),
        ([(3, 7)], [(2, 8)], score, [[True], [False]]),
    ]
    expect.agrees(
        student.p_value, _p_value, edges, "1 where the systems are equal, where nothing is tried, and for a single sentence",
        tolerance=1e-7, describe="equal systems, no trial, or one sentence",
    )  # fmt: skip


def _as_word(of: Callable[..., float]) -> Callable[..., str]:
    """`of`, its result as a word: two of these numbers do agree by chance, since they count trials."""
    return lambda *args: f"{of(*args):.7f}"


def _answers_differ(answer: Callable[..., Any], args: tuple) -> bool:
    try:
        return len({repr(answer(*args)) for _ in range(4)}) > 1
    except Refused:
        return False


def _error_share(rows: Stats) -> float:
    rows = list(rows)
    return sum(float(row[0]) for row in rows) / sum(float(row[1]) for row in rows)


def _geometric(rows: Stats) -> float:
    rows = list(rows)
    return math.sqrt(sum(float(row[0]) for row in rows) * sum(float(row[1]) for row in rows))


def _overlap(rows: Stats) -> float:
    rows = list(rows)
    first, second = (sum(float(row[k]) for row in rows) for k in (0, 1))
    return 200 * first / (first + second)


def _two_systems() -> tuple[Stats, Stats, Coins]:
    """Two systems on a few sentences, some of them equal, now one ahead and now the other; and coins, some all alike."""
    draws = chance()
    n, better = draws.randint(7, 9), draws.choice([-1, 1])
    ours, theirs = [], []
    for _ in range(n):
        words = draws.randint(5, 15)
        errors = draws.randint(2, words - 1)
        ours.append((errors, words))
        change = draws.choice([0, better, better, 2 * better, -better])
        theirs.append((max(errors + change, 1), words + draws.choice([-1, 0, 1]) * (change != 0)))
    coins = [[draws.random() < 0.5 for _ in range(n)] for _ in range(draws.randint(13, 19))]
    coins[draws.randrange(len(coins))] = [True] * n
    coins[draws.randrange(len(coins))] = [False] * n
    return ours, theirs, coins


def _exchanged(ours: Stats, theirs: Stats, coin: list[bool]) -> tuple[Stats, Stats]:
    first = [b if turned else a for a, b, turned in zip(ours, theirs, coin)]
    second = [a if turned else b for a, b, turned in zip(ours, theirs, coin)]
    return first, second


def _trials(ours: Stats, theirs: Stats, score: Score, coins: Coins) -> list[float]:
    """The difference in each trial."""
    pairs = [_exchanged(ours, theirs, coin) for coin in coins]
    return [score(first) - score(second) for first, second in pairs]


def _p_value(ours: Stats, theirs: Stats, score: Score, coins: Coins) -> float:
    return _p(ours, theirs, score, coins)


def _p(
    ours: Stats, theirs: Stats, score: Score, coins: Coins, *,
    counts: Callable[[float, float], bool] = lambda trial, observed: abs(trial) >= abs(observed),
    share: Callable[[int, int], float] = lambda count, trials: (count + 1) / (trials + 1),
    trials: Callable[..., list[float]] = _trials,
) -> float:  # fmt: skip
    """The p-value, with one step of it changed."""
    observed = score(ours) - score(theirs)
    found = trials(ours, theirs, score, coins)
    return share(sum(counts(trial, observed) for trial in found), len(found))


def _pile_up(ours: Stats, theirs: Stats, score: Score, coins: Coins) -> list[float]:
    found = []
    for coin in coins:
        ours, theirs = _exchanged(ours, theirs, coin)
        found.append(score(ours) - score(theirs))
    return found


def _after_the_loop(ours: Stats, theirs: Stats, score: Score, coins: Coins) -> float:
    """Exchanges that pile up, and the observed difference taken when all is exchanged."""
    found = _pile_up(ours, theirs, score, coins)
    last = found[-1] if found else score(ours) - score(theirs)
    return (sum(abs(trial) >= abs(last) for trial in found) + 1) / (len(found) + 1)


def _sentence_by_sentence(ours: Stats, theirs: Stats, score: Score, coins: Coins) -> float:
    apart = [score([a]) - score([b]) for a, b in zip(ours, theirs)]
    found = [mean(-gap if turned else gap for gap, turned in zip(apart, coin)) for coin in coins]
    return (sum(abs(trial) >= abs(mean(apart)) - 1e-12 for trial in found) + 1) / (len(found) + 1)


def _whole_systems(ours: Stats, theirs: Stats, score: Score, coins: Coins) -> list[float]:
    gap = score(ours) - score(theirs)
    return [-gap if coin[0] else gap for coin in coins]


def _half_exchanged(against: int) -> Callable[..., list[float]]:
    """Only the first system takes part in the exchange; the other side of the difference stays as it is."""
    return lambda ours, theirs, score, coins: [
        score(_exchanged(ours, theirs, coin)[0]) - score((ours, theirs)[against]) for coin in coins
    ]


def _drawn_only(ours: Stats, theirs: Stats, score: Score, coins: Coins) -> list[float]:
    """The two systems on the chosen sentences, nothing exchanged."""
    found = []
    for coin in coins:
        first, second = ([row for row, chosen in zip(rows, coin) if chosen] for rows in (ours, theirs))
        found.append(score(first) - score(second) if first else 0.0)
    return found


_SWAPS = [
    Slip(
        "no ones added",
        lambda *a: _p(*a, share=lambda count, trials: count / max(trials, 1)),
        "The ones are missing. What was observed is itself one way to deal the sentences out: (count + 1) / (trials + 1), never 0.",
    ),
    Slip(
        "one added above only",
        lambda *a: _p(*a, share=lambda count, trials: (count + 1) / max(trials, 1)),
        "You added 1 to the count only. What was observed is one more trial as well: divide by trials + 1.",
    ),
    Slip(
        "one added below only",
        lambda *a: _p(*a, share=lambda count, trials: count / (trials + 1)),
        "You added 1 to the trials only. What was observed counts above the line too: count + 1.",
    ),
    Slip(
        "as large does not count",
        lambda *a: _p(*a, counts=lambda trial, observed: abs(trial) > abs(observed)),
        "You counted the trials with a larger difference. One that is just as large counts too: ≥.",
    ),
    Slip(
        "as small counts",
        lambda *a: _p(*a, counts=lambda trial, observed: abs(trial) <= abs(observed)),
        "You counted the trials whose difference is as small as the observed one or smaller. Count those as large or larger: ≥.",
    ),
    Slip(
        "one direction",
        lambda *a: _p(*a, counts=lambda trial, observed: trial >= observed),
        "You counted differences in one direction. It might as well have been the other system that is ahead: compare sizes, with `abs`.",
    ),
    Slip(
        "the other direction",
        lambda *a: _p(*a, counts=lambda trial, observed: trial <= observed),
        "You counted the trials below the observed difference. Compare sizes, with `abs`: as large or larger.",
    ),
    Slip(
        "direction of the observed one",
        lambda *a: _p(*a, counts=lambda trial, observed: trial >= observed if observed >= 0 else trial <= observed),
        "You counted the trials in which the system that is ahead stays as far ahead. The test has two sides: the other one may lead too.",
    ),
    Slip(
        "one side doubled",
        lambda *a: _p(
            *a,
            counts=lambda trial, observed: trial >= observed if observed >= 0 else trial <= observed,
            share=lambda count, trials: min(1.0, 2 * (count + 1) / (trials + 1)),
        ),
        "You counted one side and doubled it. The two sides need not be equal, and the 1 is not doubled: compare sizes, with `abs`.",
    ),
    Slip(
        "size of one of the two only",
        lambda *a: _p(*a, counts=lambda trial, observed: abs(trial) >= observed),
        "`abs` is taken of the trial's difference and not of the observed one. If that is negative, every trial counts.",
    ),
    Slip(
        "size of one of the two only",
        lambda *a: _p(*a, counts=lambda trial, observed: trial >= abs(observed)),
        "`abs` is taken of the observed difference and not of the trial's. One that is as large the other way counts too.",
    ),
    Slip(
        "columns for rows",
        lambda ours, theirs, score, coins: _p(ours, theirs, score, [list(column) for column in zip(*coins)]),
        "You went through the columns of `coins`. Each of its rows is a trial, with a coin for each sentence.",
    ),
    Slip(
        "equal trials once",
        lambda ours, theirs, score, coins: _p(ours, theirs, score, [list(coin) for coin in set(map(tuple, coins))]),
        "You left out trials that came twice. Each counts, as often as it comes.",
    ),
    Slip(
        "smaller differences counted",
        lambda *a: _p(*a, counts=lambda trial, observed: abs(trial) < abs(observed)),
        "You counted the trials with a smaller difference. A p-value counts those as large or larger.",
    ),
    Slip(
        "sign counted",
        lambda *a: _p(*a, counts=lambda trial, observed: trial <= 0),
        "You counted the trials in which the first system is not ahead, as in a bootstrap. Compare with the observed difference.",
    ),
    Slip(
        "only one system exchanged",
        lambda *a: _p(*a, trials=_half_exchanged(1)),
        "Only the first system was given other sentences. Where it gets one of the second's, the second gets its own.",
    ),
    Slip(
        "compared with itself",
        lambda *a: _p(*a, trials=_half_exchanged(0)),
        "You compared the exchanged system with the first one as it was. Compare the two that come out of the exchange.",
    ),
    Slip(
        "exchanges pile up",
        lambda *a: _p(*a, trials=_pile_up),
        "Each trial goes on from the one before it. Begin each with the systems as they were given: copy the lists.",
    ),
    Slip(
        "exchanges pile up",
        _after_the_loop,
        "Each trial goes on from the one before it, and the difference that you compare with is that of the last one. Take it first, "
        "and begin each trial with the systems as they were given.",
    ),
    Slip(
        "mean of the sentences' scores",
        _sentence_by_sentence,
        "You scored single sentences and took their mean. `score` is of a whole test: give it all rows of a system at once.",
    ),
    Slip(
        "one coin a trial",
        lambda *a: _p(*a, trials=_whole_systems),
        "One coin decided for all sentences of a trial. Each sentence has its own.",
    ),
    Slip(
        "sentences chosen, not exchanged",
        lambda *a: _p(*a, trials=_drawn_only),
        "You kept the sentences whose coin is True, and left out the others. Keep all: at those the two systems change places.",
    ),
    Slip(
        "count, not a share",
        lambda *a: _p(*a, share=lambda count, trials: count + 1),
        "This is a number of trials. Divide by all trials, plus 1.",
    ),
    Slip(
        "sentences for trials",
        lambda ours, theirs, score, coins: _p(
            ours, theirs, score, coins, share=lambda count, trials: (count + 1) / (len(ours) + 1)
        ),
        "You divided by the number of sentences. Each row of `coins` is a trial: divide by those.",
    ),
    Slip(
        "1 minus p",
        lambda *a: 1 - _p(*a),
        "This is 1 minus the p-value. A p-value is small where chance seldom does as much.",
    ),
]


# the budget

Systems = list[tuple[str, float, float]]


@exercise("evaluation.budget", answer="frontier")
def budget(student, expect):
    def draw() -> tuple[Systems]:
        draws = chance()
        names = draws.sample(
            "ByteNet ConvS2S Deep-Att GNMT MoE base big small ours theirs".split(), draws.randint(6, 9)
        )
        scores, costs = draws.sample(range(230, 420, 7), len(names)), draws.sample(range(2, 80), len(names))
        return ([(name, score / 10, cost * 1e18) for name, score, cost in zip(names, scores, costs)],)

    answer = _equal_ones_in_order(student.frontier)
    expect.agrees(
        answer,
        _frontier,
        [*telling(draw, _frontier, _IN_ORDER, 4), ([("base", 27.1, 2e18), ("big", 27.4, 3e18)],)],
        holds="what no other system beats, cheapest first",
        slips=_IN_ORDER,
        describe="the frontier",
    )

    def tied() -> tuple[Systems]:
        """Systems of which several cost the same, score the same, or both."""
        draws = chance()
        names = draws.sample("ByteNet ConvS2S Deep-Att GNMT MoE base big small".split(), draws.randint(5, 7))
        return ([(name, draws.choice([24.5, 26.0, 27.5]), draws.choice([2, 3, 9]) * 1e18) for name in names],)

    expect.agrees(
        answer,
        _frontier,
        telling(tied, _frontier, _TIED_IN_ORDER, 5),
        holds="as good for less, or better for as much, beats; equal in both does not",
        slips=_TIED_IN_ORDER,
        describe="systems that are equal in one or in both",
    )
    name = ("base", "big", "ours")[whole(0, 2)]
    edges = [([],), ([(name, 27.3, 3.3e18)],), ([(name, 27.3, 3e18), ("twin", 27.3, 3e18)],)]
    expect.agrees(answer, _frontier, edges, "one system, or none, as well", describe="few systems")


def _equal_ones_in_order(answer: Callable[..., Any]) -> Callable[..., Any]:
    """`answer`, with systems of one cost in the order of the table: which comes first is nobody's mistake."""

    def call(systems: Systems) -> Any:
        found = answer(systems)
        costs = {row[0]: row[2] for row in systems}
        if not isinstance(found, (list, tuple)) or not all(isinstance(name, str) and name in costs for name in found):
            return found
        ordered: list[str] = []
        for _, equal in groupby(found, key=costs.__getitem__):
            ordered += sorted(equal, key=list(costs).index)
        return ordered

    call.__name__ = "frontier"
    return call


def _beats(a: tuple, b: tuple) -> bool:
    return a[1] >= b[1] and a[2] <= b[2] and (a[1] > b[1] or a[2] < b[2])


def _cost(row: tuple) -> float:
    return row[2]


def _names(systems: Sequence[tuple]) -> list[str]:
    return [row[0] for row in systems]


def _unbeaten(
    systems: Systems, beats: Callable[[tuple, tuple], bool] = _beats, key: Callable = _cost, reverse: bool = False
) -> Systems:
    left = [row for row in systems if not any(beats(other, row) for other in systems if other is not row)]
    return sorted(left, key=key, reverse=reverse)


def _frontier(systems: Systems) -> list[str]:
    return _names(_unbeaten(systems))


def _record_holders(
    systems: Systems, key: Callable, better: Callable[[float, float], bool] = lambda a, b: a > b
) -> list[str]:
    """From cheap to dear, each that is better than all before it."""
    found, best = [], -math.inf
    for name, score, _ in sorted(systems, key=key):
        if better(score, best):
            found.append(name)
            best = max(best, score)
    return found


def _bargains(systems: Systems) -> list[str]:
    """From good to bad, each that is cheaper than all before it; cheapest first."""
    found, least = [], math.inf
    for name, _, cost in sorted(systems, key=lambda row: -row[1]):
        if cost < least:
            found.append(name)
            least = cost
    return found[::-1]


def _than_the_last(systems: Systems) -> list[str]:
    rows = sorted(systems, key=_cost)
    return _names([row for before, row in zip([None, *rows], rows) if before is None or row[1] > before[1]])


_ALWAYS = [
    Slip(
        "dearest first",
        lambda systems: _names(_unbeaten(systems, reverse=True)),
        "The systems are right, their order is turned round: cheapest first.",
    ),
    Slip(
        "as given",
        lambda systems: _names(_unbeaten(systems, key=lambda row: 0)),
        "The systems are right, but stand in the order of the table. Sort them by cost.",
    ),
    Slip(
        "in the order of the alphabet",
        lambda systems: _names(_unbeaten(systems, key=lambda row: row[0])),
        "The systems are right, but stand in the order of their names. Sort them by cost.",
    ),
    Slip(
        "beaten in one of the two",
        lambda systems: _names(_unbeaten(systems, lambda a, b: a[1] > b[1] or a[2] < b[2])),
        "A system went as soon as another was better in one of the two. It is beaten only by one that is at least as good in both.",
    ),
    Slip(
        "the best only",
        lambda systems: _names([max(systems, key=lambda row: row[1])] if systems else []),
        "This is the system with the highest BLEU. A cheaper one that is less good is not beaten by it.",
    ),
    Slip(
        "the cheapest only",
        lambda systems: _names([min(systems, key=_cost)] if systems else []),
        "This is the cheapest system. A better one that costs more is not beaten by it.",
    ),
    Slip(
        "most BLEU for the money",
        lambda systems: _names([max(systems, key=lambda row: row[1] / row[2])] if systems else []),
        "This is the system with the most BLEU for each FLOP. No exchange rate of the two is given: list all that nothing beats.",
    ),
    Slip(
        "all, cheapest first",
        lambda systems: _names(sorted(systems, key=_cost)),
        "These are all systems, sorted. Leave out those that another one beats.",
    ),
    *(
        Slip(
            "all, by BLEU",
            lambda systems, sign=sign: _names(sorted(systems, key=lambda row: sign * row[1])),
            "These are all systems, sorted by BLEU. Leave out those that another one beats, and sort by cost.",
        )
        for sign in (1, -1)
    ),
    Slip(
        "cost counts as a merit",
        lambda systems: _names(_unbeaten(systems, lambda a, b: a[1] >= b[1] and a[2] >= b[2] and a[1:] != b[1:])),
        "You let the dearer one win. A system beats another if it is at least as good for at most the cost.",
    ),
    Slip(
        "low BLEU counts as a merit",
        lambda systems: _names(_unbeaten(systems, lambda a, b: a[1] <= b[1] and a[2] <= b[2] and a[1:] != b[1:])),
        "You let the lower BLEU win. A system beats another if it is at least as good for at most the cost.",
    ),
    Slip(
        "the beaten ones",
        lambda systems: _names(
            sorted((row for row in systems if any(_beats(other, row) for other in systems)), key=_cost)
        ),
        "These are the systems that another one beats. The text asks for the others.",
    ),
    Slip(
        "compared with the last one only",
        _than_the_last,
        "You compared each system with the next cheaper one only. Any cheaper one may beat it: keep the best BLEU so far.",
    ),
    Slip(
        "rows for names",
        lambda systems: _unbeaten(systems),
        "These are the whole rows. The text asks for the names.",
    ),
]
_TIED = [
    *_ALWAYS,
    Slip(
        "beaten only by what is better in both",
        lambda systems: _names(_unbeaten(systems, lambda a, b: a[1] > b[1] and a[2] < b[2])),
        "A system goes in your answer only if another is better and cheaper too. As good for less is enough, and so is better for as much.",
    ),
    Slip(
        "better is asked, cheaper not",
        lambda systems: _names(_unbeaten(systems, lambda a, b: a[1] > b[1] and a[2] <= b[2])),
        "In your answer a system that is exactly as good for less does not beat. It does: one of the two "
        "comparisons must be strict, whichever.",
    ),
    Slip(
        "cheaper is asked, better not",
        lambda systems: _names(_unbeaten(systems, lambda a, b: a[1] >= b[1] and a[2] < b[2])),
        "In your answer a system that is better for exactly the same cost does not beat. It does: one of the two "
        "comparisons must be strict, whichever.",
    ),
    Slip(
        "equal ones beat each other",
        lambda systems: _names(_unbeaten(systems, lambda a, b: a[1] >= b[1] and a[2] <= b[2])),
        "Two systems that are equal in both threw each other out. One of the two comparisons must be strict: both stay.",
    ),
    Slip(
        "one of two equal ones",
        lambda systems: _record_holders(systems, lambda row: (row[2], -row[1])),
        "Of two systems that are equal in both only the first stays in your answer. Neither beats the other: keep both.",
    ),
    Slip(
        "the first at its cost",
        lambda systems: _record_holders(systems, _cost),
        "Of systems with the same cost you keep the first, even if a better one follows. Look at the better one first.",
    ),
    Slip(
        "the first at its BLEU",
        _bargains,
        "Of systems with the same BLEU you keep the first, even if a cheaper one follows. Look at the cheaper one first.",
    ),
    Slip(
        "compared with equals too",
        lambda systems: _record_holders(systems, _cost, lambda a, b: a >= b),
        "You keep whatever is at least as good as all before it, in your order. A system that is as good for more "
        "is beaten, and so is one that is less good for as much.",
    ),
]
_IN_ORDER, _TIED_IN_ORDER = (
    [Slip(slip.name, _equal_ones_in_order(slip.of), slip.message) for slip in slips] for slips in (_ALWAYS, _TIED)
)


# how many sentences

Interval = tuple[float, float]
Difference = Callable[[int], Interval]


class _Tests:
    """For each size the intervals of ten tests, which come again from the first after the tenth; and how often one asked."""

    def __init__(self, intervals: dict[int, list[Interval]]):
        self.intervals = intervals
        self.calls = dict.fromkeys(intervals, 0)

    def difference(self, n: int) -> Interval:
        if n not in self.calls:
            raise ValueError(f"difference({n!r}): sizes holds {', '.join(map(str, self.calls))}")
        self.calls[n] += 1
        return self.intervals[n][(self.calls[n] - 1) % 10]


@exercise("evaluation.how-many", answer="least_size")
def how_many(student, expect):
    def draw() -> tuple[Difference, list[int]]:
        draws = chance()
        sizes = sorted(draws.sample(range(20, 3000), draws.randint(5, 7)))
        sign = draws.choice([-1, 1])
        enough = draws.randint(2, len(sizes) - 1)
        counts = [draws.choice([2, 5, 7, 8, 9]) for _ in sizes[:enough]]
        counts += [draws.choice([8, 8, 9, 10]) for _ in sizes[enough:]]
        counts[enough - 1] = draws.choice([4, 6, 7, 7])
        return _scripted(sizes, counts, sign).difference, sizes

    def none() -> tuple[Difference, list[int]]:
        draws = chance()
        sizes = sorted(draws.sample(range(20, 3000), draws.randint(3, 6)))
        counts = [draws.choice([3, 7, 8, 9, 10]) for _ in sizes[:-1]] + [draws.choice([0, 5, 7])]
        return _scripted(sizes, counts, draws.choice([-1, 1])).difference, sizes

    def asked(difference: Any, sizes: list[int]) -> Any:
        tests = difference.__self__
        before = sum(tests.calls.values())
        try:
            found = student.least_size(difference, sizes)
        except Refused as refused:
            if refused.mistake == "no return" and _least_size(difference, sizes) == 0:
                raise Refused(
                    "Where even the largest size is too small your answer returns nothing. Return 0 there.",
                    "nothing for none",
                ) from None
            raise
        if sum(tests.calls.values()) == before:
            raise Refused(
                "Your answer never calls difference(n). Call it ten times for a size, and count the intervals that leave out 0.",
                "no call",
            )
        return found

    asked.__name__ = "least_size"
    expect.agrees(
        asked,
        _least_size,
        telling(draw, _least_size, _SIZES, 4),
        holds="the least size from which on at least 8 of 10 intervals leave out 0",
        slips=_SIZES,
        describe="the least size",
    )
    expect.agrees(
        asked,
        _least_size,
        telling(none, _least_size, _NONE, 3),
        holds="0 where the largest size is still too small",
        slips=_NONE,
        describe="sizes of which even the largest is too small",
    )
    sizes = different(3, 20, 400)
    edges = [(_scripted([n], [count], 1).difference, [n]) for n, count in zip(sizes, (8, 7, 10))]
    ascending = sorted(sizes)
    edges.append((_scripted(ascending, [10, 9, 8], -1).difference, ascending))
    expect.agrees(asked, _least_size, edges, "a single size, and sizes that all suffice", describe="few sizes")
    both = _scripted(ascending, [5, 9, 8], 1)
    for rows in both.intervals.values():
        rows[:] = [(-high, -low) if place % 2 else (low, high) for place, (low, high) in enumerate(rows)]
    expect.agrees(
        asked,
        _least_size,
        [(both.difference, ascending)],
        "an interval leaves out 0 on either side",
        describe="intervals on both sides of 0",
    )


def _scripted(sizes: list[int], counts: list[int], sign: int) -> _Tests:
    """Tests in which `counts` of ten intervals leave out 0, on the side of `sign`; some others end exactly at 0."""
    draws = chance()
    intervals = {}
    for size, count in zip(sizes, counts):
        rows, at_zero = [], draws.randint(0, 2)
        for place in range(10):
            width = 0.5 + draws.random() * 40 / math.sqrt(size)
            if place < count:
                low = 0.01 + draws.random() * draws.choice([0.02, 1.5])
            elif place < count + at_zero:
                low = 0.0
            else:
                low = -width * (0.2 + 0.6 * draws.random())
            low, high = round(low, 3), round(low + width, 3)
            rows.append((low, high) if sign > 0 else (-high, -low))
        draws.shuffle(rows)
        intervals[size] = rows
    return _Tests(intervals)


def _leaves_out(interval: Interval) -> bool:
    return interval[0] > 0 or interval[1] < 0


def _found(
    difference: Any,
    sizes: list[int],
    enough: Callable[[list[Interval]], bool] = lambda rows: sum(map(_leaves_out, rows)) >= 8,
) -> list[bool]:
    """For each size whether its ten tests are `enough`."""
    return [enough(difference.__self__.intervals[n]) for n in sizes]


def _from_on(fits: list[bool], sizes: list[int]) -> int:
    """The least size from which all fit; 0 if there is none."""
    found = 0
    for fit, size in zip(fits[::-1], sizes[::-1]):
        if not fit:
            break
        found = size
    return found


def _least_size(difference: Difference, sizes: list[int]) -> int:
    return _from_on(_found(difference, sizes), sizes)


def _first(fits: list[bool], sizes: list[int]) -> int:
    return next((size for fit, size in zip(fits, sizes) if fit), 0)


def _judged_by(enough: Callable[[list[Interval]], bool]) -> Callable[..., int]:
    return lambda difference, sizes: _from_on(_found(difference, sizes, enough), sizes)


def _counting(holds: Callable[[Interval], bool], least: int = 8) -> Callable[..., int]:
    return _judged_by(lambda rows: sum(map(holds, rows)) >= least)


def _halved(difference: Difference, sizes: list[int]) -> int:
    fits = _found(difference, sizes)
    low, high = 0, len(sizes)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits[middle] else (middle + 1, high)
    return sizes[low] if low < len(sizes) else 0


def _in_a_row(fits: list[bool], sizes: list[int]) -> int:
    return next((size for place, size in enumerate(sizes) if all(fits[place : place + 2])), 0)


def _on_average(difference: Any, sizes: list[int]) -> int:
    counts = [sum(map(_leaves_out, difference.__self__.intervals[n])) for n in sizes]
    return next((size for place, size in enumerate(sizes) if mean(counts[place:]) >= 8), 0)


def _of_the_average(rows: list[Interval]) -> bool:
    return _leaves_out((mean(low for low, _ in rows), mean(high for _, high in rows)))


_SIZES = [
    Slip(
        "the first that fits",
        lambda difference, sizes: _first(_found(difference, sizes), sizes),
        "This is the first size with 8 of 10. A larger one has fewer again, so that was luck: every size from yours on must have 8.",
    ),
    Slip(
        "a search by halves",
        _halved,
        "You searched by halves, or skipped sizes. That trusts that every size after one that fits fits too, and luck does not promise it: "
        "ask at every size.",
    ),
    Slip(
        "two in a row",
        lambda difference, sizes: _in_a_row(_found(difference, sizes), sizes),
        "Two sizes in a row are enough in your answer. A third may have fewer again: ask at all that are larger.",
    ),
    Slip(
        "8 of 10 over all larger sizes",
        lambda difference, sizes: _on_average(difference, sizes),
        "You added the counts of all larger sizes. A large size with 10 then makes up for one with 6: each must have 8.",
    ),
    Slip(
        "one test a size",
        _judged_by(lambda rows: _leaves_out(rows[0])),
        "One interval decides about a size in your answer. It is one random test: take ten, and count.",
    ),
    Slip(
        "one test a size",
        lambda difference, sizes: _first(_found(difference, sizes, lambda rows: _leaves_out(rows[0])), sizes),
        "One interval decides about a size, and the first that leaves out 0 wins. It is one random test: take ten, and look at the larger "
        "sizes too.",
    ),
    Slip("more than 8", _counting(_leaves_out, 9), "8 of 10 are enough: ≥ 8, not > 8."),
    Slip("all ten", _counting(_leaves_out, 10), "You ask that all ten leave out 0. 8 of 10 are enough."),
    Slip("7 are enough", _counting(_leaves_out, 7), "7 of 10 are enough in your answer. It takes 8."),
    Slip("more than half", _counting(_leaves_out, 6), "More than half are enough in your answer. It takes 8 of 10."),
    Slip(
        "one of ten",
        _counting(_leaves_out, 1),
        "Your answer comes out as if one interval of ten were enough. It takes 8: look at what is counted, and at which side.",
    ),
    Slip(
        "above 0 only",
        _counting(lambda interval: interval[0] > 0),
        "You count only intervals above 0. One that lies wholly below leaves out 0 too: then the second system is the better one.",
    ),
    Slip(
        "below 0 only",
        _counting(lambda interval: interval[1] < 0),
        "You count only intervals below 0. One that lies wholly above leaves out 0 too.",
    ),
    Slip(
        "an end at 0",
        _counting(lambda interval: interval[0] >= 0 or interval[1] <= 0),
        "An interval that ends exactly at 0 holds 0. Ask for low > 0 or high < 0.",
    ),
    Slip(
        "intervals that hold 0",
        _counting(lambda interval: not _leaves_out(interval)),
        "You count the intervals that hold 0. Those say that nothing is certain: count the others.",
    ),
    Slip(
        "the mean interval",
        _judged_by(_of_the_average),
        "You took the mean of ten intervals. A reader has one test, and one interval: count how many leave out 0.",
    ),
    Slip(
        "the last that is too small",
        lambda difference, sizes: (
            ([0, *sizes])[[0, *sizes].index(_least_size(difference, sizes)) - 1]
            if _least_size(difference, sizes)
            else sizes[-1]
        ),
        "This is the last size that is too small. The text asks for the next one.",
    ),
    Slip(
        "a place in the list",
        lambda difference, sizes: [*sizes, 0].index(_least_size(difference, sizes)),
        "This is the place of the size in the list. Return the size itself.",
    ),
    Slip(
        "the largest",
        lambda difference, sizes: sizes[-1],
        "This is always the largest size, or the last that fits. The text asks for the least.",
    ),
    Slip(
        "how many sizes",
        lambda difference, sizes: sum(1 for fit in _found(difference, sizes) if fit),
        "This is how many sizes have 8 of 10. The text asks for the least from which on all have.",
    ),
]
_NONE = [
    Slip(
        "the largest for none",
        lambda difference, sizes: _least_size(difference, sizes) or sizes[-1],
        "Even at the largest size fewer than 8 of 10 leave out 0, and you return it. Return 0: none of these sizes is enough.",
    ),
    Slip(
        "the least for none",
        lambda difference, sizes: _least_size(difference, sizes) or sizes[0],
        "Even at the largest size fewer than 8 of 10 leave out 0. Return 0: none of these sizes is enough.",
    ),
    Slip(
        "beyond the largest for none",
        lambda difference, sizes: _least_size(difference, sizes) or sizes[-1] + 1,
        "That size was not measured. Where even the largest is too small, return 0.",
    ),
]
