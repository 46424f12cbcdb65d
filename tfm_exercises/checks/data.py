"""Judges of the exercises in `chapters/data.md`."""

import builtins
import datetime
import gc
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from tfm_exercises.random_inputs import chance, different, telling, whole
from tfm_exercises.judge import Refused, Slip, exercise
from tfm_lib.data import apply_merges, learn_merges

Words = list[tuple[list[str], int]]
Rows = list[list[int]]


# the best pair


@exercise("data.best-pair", answer="best_pair")
def best_pair(student, expect):
    def draw() -> tuple[Words]:
        draws = chance()
        while True:
            letters = draws.sample("abcdeghiknorstuw", 4)
            words = []
            for _ in range(draws.randint(7, 9)):
                pieces = [draws.choice(letters) for _ in range(draws.randint(2, 5))]
                words.append(([*pieces[:-1], f"{pieces[-1]}·"], draws.randint(2, 9)))
            if not _tied(_counts(words)) and not _tied(_symbol_counts(words)):
                return (words,)

    def tied() -> tuple[Words]:
        c, d, a, b = different(4, ord("c"), ord("y"))
        if whole(0, 1):  # two pairs that begin alike
            a = c
        count = whole(3, 9)
        words = [([chr(c), chr(d)], count), ([chr(a), chr(b)], count), (["z", "z"], count - 2)]
        return (words,)

    def tied_when_joined(step: int) -> tuple[Words]:
        """Of the two pairs, another comes first where each is joined to one text."""
        x, y, z = (chr(ord("a") + place) for place in sorted(different(3, 0, 24)))
        return ([([x + y, y], 5), ([x, y + z], 5)][::step],)

    def repeated() -> tuple[Words]:
        a, b, x, y = map(chr, different(4, ord("a"), ord("y")))
        return ([([x, y], 4), ([a, b] * 3, 2), ([y, a], 3)],)

    expect.agrees(
        student.best_pair,
        _best,
        telling(draw, _best, _PAIRS, 3),
        holds="the most frequent neighbours, words counted as often as they stand there",
        slips=_PAIRS,
        describe="the best pair",
    )
    expect.agrees(
        student.best_pair,
        _best,
        [*telling(tied, _best, _TIES), tied_when_joined(1), tied_when_joined(-1)],
        holds="a tie goes to the pair that comes first in the alphabet",
        slips=_TIES,
        describe="two pairs that are equally frequent",
    )
    expect.agrees(
        student.best_pair,
        _best,
        [repeated() for _ in range(3)],
        holds="a pair that stands in a word more than once counts as often",
        slips=_PAIRS,
        describe="a word that repeats a pair",
    )


def _counts(words: Words, weigh: Callable[[int], int] = int, once: bool = False) -> Counter:
    pairs = Counter()
    for pieces, count in words:
        for pair in set(pairwise(pieces)) if once else pairwise(pieces):
            pairs[pair] += weigh(count)
    return pairs


def _first_of(pairs: Counter) -> tuple[str, str]:
    return min(pairs, key=lambda pair: (-pairs[pair], pair))


def _best(words: Words) -> tuple[str, str]:
    return _first_of(_counts(words))


def _across_words(words: Words) -> tuple[str, str]:
    pairs = Counter()
    line = [(piece, count) for pieces, count in words for piece in pieces]
    for (left, _), (right, count) in pairwise(line):
        pairs[left, right] += count
    return _first_of(pairs)


def _symbol_counts(words: Words) -> Counter:
    symbols = Counter()
    for pieces, count in words:
        for piece in pieces:
            symbols[piece] += count
    return symbols


def _tied(counts: Counter) -> bool:
    (_, first), (_, second) = counts.most_common(2)
    return first == second


def _every_second(words: Words) -> tuple[str, str]:
    pairs = Counter()
    for pieces, count in words:
        for pair in list(pairwise(pieces))[::2]:
            pairs[pair] += count
    return _first_of(pairs)


def _without_mark(words: Words) -> tuple[str, str]:
    return _best([([piece.rstrip("·") for piece in pieces], count) for pieces, count in words])


def _any_order(words: Words) -> tuple[str, str]:
    pairs = Counter()
    for pair, count in _counts(words).items():
        pairs[tuple(sorted(pair))] += count
    return _first_of(pairs)


_PAIRS = [
    Slip(
        "words not weighed",
        lambda words: _first_of(_counts(words, lambda _: 1)),
        "You counted each word once. A word that stands five times in the text counts five times.",
    ),
    Slip(
        "once a word",
        lambda words: _first_of(_counts(words, once=True)),
        "A pair that stands in one word twice was counted once for it. Do you collect a word's pairs in a set?",
    ),
    Slip(
        "rarest pair",
        lambda words: min(_counts(words), key=lambda pair: (_counts(words)[pair], pair)),
        "That is the rarest pair. With `min`, the count needs a minus sign.",
    ),
    Slip(
        "most frequent symbol",
        lambda words: (_symbol_counts(words).most_common(1)[0][0],) * 2,
        "Is that the most frequent symbol, twice? Count neighbours: which two stand side by side most often?",
    ),
    Slip(
        "joined",
        lambda words: "".join(_best(words)),
        "The right pair, glued to one string. The merge has to know where the first symbol ends: return the tuple.",
    ),
    Slip(
        "pair and count",
        lambda words: (_best(words), _counts(words)[_best(words)]),
        "The right pair, with its count beside it. Return the pair alone.",
    ),
    Slip(
        "across word ends",
        _across_words,
        "You counted the last symbol of a word and the first of the next as neighbours. Merges stay inside words.",
    ),
    Slip(
        "end mark dropped",
        _without_mark,
        "Your symbols have lost their ·. An e at a word's end and an e inside are two symbols: leave the pieces as they are.",
    ),
    Slip(
        "order of the two ignored",
        _any_order,
        "You count “a b” and “b a” as one pair. A merge joins left and right, so their order belongs to the pair.",
    ),
    Slip(
        "equal neighbours skipped",
        lambda words: _first_of(Counter({pair: n for pair, n in _counts(words).items() if pair[0] != pair[1]})),
        "You skip neighbours that are equal. “e e” is a pair like any other.",
    ),
    Slip(
        "every second pair skipped",
        _every_second,
        "You walk in steps of two. Each symbol but the first is the right half of a pair, and each but the last the left half.",
    ),
    Slip(
        "last pair of a word skipped",
        lambda words: _best([(pieces[:-1], count) for pieces, count in words]),
        "The last pair of each word is never counted. Where does your walk through a word end?",
    ),
    Slip(
        "first pair of a word skipped",
        lambda words: _best([(pieces[1:], count) for pieces, count in words]),
        "The first pair of each word is never counted. Where does your walk through a word begin?",
    ),
]
_TIES = [
    Slip(
        "tie the other way",
        lambda words: max(_counts(words), key=lambda pair: (_counts(words)[pair], pair)),
        "Two pairs are equally frequent. The one that comes first in the alphabet wins; yours takes the last.",
    ),
    Slip(
        "tie to the one met first",
        lambda words: _counts(words).most_common(1)[0][0],
        "Two pairs are equally frequent, and yours is the one that you met first. The alphabet decides, or the merges would "
        "depend on the order of the words.",
    ),
    Slip(
        "tie to the one met last",
        lambda words: max(reversed(_counts(words)), key=_counts(words).__getitem__),
        "Two pairs are equally frequent, and yours is the one that you met last. The alphabet decides.",
    ),
    Slip(
        "tie by the joined text",
        lambda words: min(_counts(words), key=lambda pair: (-_counts(words)[pair], "".join(pair))),
        "Two pairs are equally frequent, and you compare each as one joined text. Compare the left symbols first, and the "
        "right ones only where the left ones are equal: that is how Python compares tuples.",
    ),
    Slip(
        "tie by the left symbol only",
        lambda words: min(_counts(words), key=lambda pair: (-_counts(words)[pair], pair[0])),
        "Two pairs are equally frequent and begin with the same symbol, and yours is the one that you met first. Where the left "
        "symbols are equal, the right ones decide: compare the whole pairs.",
    ),
    Slip(
        "tie by the right symbol first",
        lambda words: min(_counts(words), key=lambda pair: (-_counts(words)[pair], pair[::-1])),
        "Two pairs are equally frequent, and you compare their right symbols first. The left symbols decide, as in a dictionary, "
        "and the right ones only where the left ones are equal.",
    ),
]


# cutting a word


@exercise("data.segment", answer="segment")
def segment(student, expect):
    def draw() -> tuple[str, list]:
        while True:
            letters = [chr(code) for code in different(3, ord("a"), ord("z"))]
            merges = learn_merges({_spelt(letters, 3, 6): whole(1, 5) for _ in range(6)}, whole(4, 7))
            word = _spelt(letters, 5, 9)
            if apply_merges(word, merges) == _by_rank(
                word, merges
            ):  # both are byte-pair encoding; most often they agree
                return word, merges

    expect.agrees(
        student.segment,
        _replayed,
        telling(draw, _replayed, _CUTS, 6),
        holds="words cut by merges in the order of their learning",
        slips=_CUTS,
        describe="the pieces",
    )
    known = [("t", "h"), ("th", "e"), ("h", "e"), ("e", "n·"), ("the", "m")]
    cases = {
        "a word's last letter is not the same symbol inside a word": [("them", known), ("then", known)],
        "every place in the word is merged, not the first only": [("thethe", [("t", "h"), ("th", "e")])],
        "an early merge goes before a late one": [("hash", [("s", "h·"), ("a", "s"), ("h", "a")])],
        "symbols are merged whole": [("mast", [("s", "t·"), ("t", "a")]), ("essay", [("s", "s"), ("s", "a")])],
        "of three equal letters the first two are merged": [("aaab", [("a", "a")]), ("aaaaac", [("a", "a")])],
        "a pair is two symbols, not the text that they make": [
            ("abcd", [("a", "b"), ("a", "bc")]),
            ("myths", [("t", "h"), ("yt", "h")]),
        ],
        "without merges, or with one letter, nothing is joined": [("cat", []), ("a", known), ("no", [("o", "n")])],
    }
    for holds, inputs in cases.items():
        expect.agrees(student.segment, _replayed, inputs, holds, [*_RARE, *_CUTS], describe="the pieces")


def _spelt(letters: list[str], shortest: int, longest: int) -> str:
    """A word of these letters, by chance."""
    return "".join(letters[i] for i in torch.randint(len(letters), (whole(shortest, longest),)).tolist())


def _replayed(word: str, merges: list) -> list[str]:
    return apply_merges(word, [tuple(pair) for pair in merges])


def _letters(word: str) -> list[str]:
    return [*word[:-1], f"{word[-1]}·"]


def _by_rank(word: str, merges: list) -> list[str]:
    """The earliest merge that is there, again and again."""
    rank = {tuple(pair): i for i, pair in enumerate(merges)}
    pieces = _letters(word)
    while here := [pair for pair in pairwise(pieces) if pair in rank]:
        pieces = _joined(pieces, min(here, key=rank.__getitem__))
    return pieces


def _joined(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    at, pieces = 0, list(pieces)
    while at < len(pieces) - 1:
        if (pieces[at], pieces[at + 1]) == tuple(pair):
            pieces[at : at + 2] = ["".join(pair)]
        at += 1
    return pieces


def _replay(pieces: list[str], merges: list, join: Callable = _joined) -> list[str]:
    for pair in merges:
        pieces = join(pieces, pair)
    return pieces


def _join_first(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    pairs: list[tuple[str, ...]] = list(pairwise(pieces))
    at = pairs.index(tuple(pair)) if tuple(pair) in pairs else None
    return pieces if at is None else [*pieces[:at], "".join(pair), *pieces[at + 2 :]]


def _join_from_right(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    (left, right), pieces = pair, list(pieces)
    at = len(pieces) - 2
    while at >= 0:
        if at + 1 < len(pieces) and (pieces[at], pieces[at + 1]) == (left, right):
            pieces[at : at + 2] = [left + right]
        at -= 1
    return pieces


def _join_text(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    at, pieces = 0, list(pieces)
    while at < len(pieces) - 1:
        if pieces[at] + pieces[at + 1] == "".join(pair):
            pieces[at : at + 2] = ["".join(pair)]
        at += 1
    return pieces


def _as_text(word: str, merges: list) -> list[str]:
    """The well-known slip: symbols joined by spaces, replaced as text."""
    text = " ".join(_letters(word))
    for a, b in merges:
        text = text.replace(f"{a} {b}", a + b)
    return text.split()


def _longest(word: str, merges: list) -> list[str]:
    known, rest, pieces = {"".join(pair) for pair in merges}, word + "·", []
    while rest:
        sizes = range(len(rest), 0, -1)
        size = next((n for n in sizes if rest[:n] in known), 2 if len(rest) == 2 else 1)
        pieces.append(rest[:size])
        rest = rest[size:]
    return pieces


def _leftmost(word: str, merges: list) -> list[str]:
    """Whatever can be joined is joined, from the left, until nothing can be."""
    known, pieces = {tuple(pair) for pair in merges}, _letters(word)
    while here := [pair for pair in pairwise(pieces) if pair in known]:
        pieces = _join_first(pieces, here[0])
    return pieces


def _swept(word: str, merges: list) -> list[str]:
    """One walk from the left; each symbol joins the one before it if any merge allows."""
    known, pieces = {tuple(pair) for pair in merges}, []
    for letter in _letters(word):
        if pieces and (pieces[-1], letter) in known:
            pieces[-1] += letter
        else:
            pieces.append(letter)
    return pieces


_CUTS = [
    Slip(
        "merges ignored",
        lambda word, merges: _letters(word),
        "These are the letters: no merge was applied.",
    ),
    Slip(
        "no end mark",
        lambda word, merges: _replay(list(word), merges),
        "The last letter carries the mark ·, so that the e of “the” and the e of “then” are two symbols.",
    ),
    Slip(
        "mark a symbol of its own",
        lambda word, merges: _replay([*word, "·"], merges),
        "Your mark · is a symbol of its own. It belongs to the last letter: “e·” is one symbol.",
    ),
    Slip(
        "mark taken off",
        lambda word, merges: [piece.rstrip("·") for piece in _replay(_letters(word), merges)],
        "The pieces are right, but the mark · is gone from the last one. It belongs to the piece.",
    ),
    Slip(
        "first place only",
        lambda word, merges: _replay(_letters(word), merges, _join_first),
        "You merge a pair once in a word. It may stand there again: merge every place before the next merge.",
    ),
    Slip(
        "longest match",
        _longest,
        "You look for the longest known piece from the left. Byte-pair encoding replays its merges in the order in which they "
        "were learned.",
    ),
    Slip(
        "longest piece first",
        lambda word, merges: _replay(_letters(word), sorted(merges, key=lambda pair: -len("".join(pair)))),
        "You apply the merges that make long pieces first. They were learned in another order, and that order decides.",
    ),
    Slip(
        "any merge from the left",
        _leftmost,
        "You join whatever any merge allows, from the left. The merge that was learned first goes first, wherever in the "
        "word it stands.",
    ),
    Slip(
        "any merge from the left",
        _swept,
        "You walk through the word once and join whatever any merge allows. The merge that was learned first goes first, "
        "wherever in the word it stands.",
    ),
    Slip(
        "last merge first",
        lambda word, merges: _replay(_letters(word), merges[::-1]),
        "You go through the merges backwards. The first that was learned comes first.",
    ),
    Slip(
        "from right to left",
        lambda word, merges: _replay(_letters(word), merges, _join_from_right),
        "Within a merge you go from right to left. Of a a a the first two are joined, not the last two.",
    ),
    Slip(
        "replaced as text",
        _as_text,
        "Did you join the symbols to a text and replace in it? There “a b” is also found where a symbol only ends with a, as "
        "in “sa b”. Compare whole symbols.",
    ),
    Slip(
        "one string",
        lambda word, merges: " ".join(_replay(_letters(word), merges)),
        "The pieces are right, but they are one string. Return a list.",
    ),
]
_RARE = [
    Slip(
        "joined text compared",
        lambda word, merges: _replay(_letters(word), merges, _join_text),
        "You compare the joined text. “ab c” and “a bc” read the same and are different pairs: compare both symbols.",
    ),
]


# what encoder and decoder read

PAD, BOS, EOS = 0, 1, 2


@exercise("data.collate", answer="collate")
def collate(student, expect):
    def draw() -> tuple[Rows, Rows]:
        batch = whole(2, 4)
        sides = different(batch, 1, 5), different(batch, 2, 6)
        src, tgt = ([torch.randint(3, 40, (length,)).tolist() for length in side] for side in sides)
        return src, tgt

    answer = student.collate(*draw())
    fits = isinstance(answer, (tuple, list)) and len(answer) == 3
    expect.true(
        fits,
        holds="three rectangles come back",
        otherwise="Expected three tensors: src_ids, decoder input, decoder output.",
        mistake="not three",
    )
    inputs = telling(draw, _collated, _RECTANGLES)
    expect.agrees(
        student.collate,
        _collated,
        inputs,
        holds="sources and outputs end with <eos>, inputs begin with <bos>, and padding stands on the right",
        slips=_RECTANGLES,
        describe="(src_ids, tgt_in, tgt_out)",
    )
    answer = student.collate(*inputs[0])
    expect.true(
        all(isinstance(part, Tensor) for part in answer),
        holds="they are tensors",
        otherwise="The numbers are right, and they are no tensors yet, as an embedding wants them: `torch.tensor(rows)`.",
        mistake="no tensors",
    )
    whole_numbers = [not part.is_floating_point() for part in answer]
    expect.true(
        all(whole_numbers),
        holds="ids are whole numbers",
        otherwise="Your ids are floating-point numbers, and no embedding takes 7.0 as a row. `torch.zeros` and `torch.ones` make "
        "floats, unless dtype=torch.long.",
        mistake="float ids",
    )
    expect.agrees(
        student.collate,
        _collated,
        [([[5, 9, 4]], [[8]]), ([[3], [7]], [[6, 9], [8, 5]])],
        holds="a batch of one, and one without padding",
        slips=_RECTANGLES,
        describe="(src_ids, tgt_in, tgt_out)",
    )


def _rectangle(rows: Rows, fill: int = PAD, left: bool = False, width: int = 0) -> Tensor:
    width = max([width, *map(len, rows)])
    fills = [[fill] * (width - len(row)) for row in rows]
    return torch.tensor([[*some, *row] if left else [*row, *some] for row, some in zip(rows, fills)])


def _collated(src: Rows, tgt: Rows, pad: Callable[[Rows], Tensor] = _rectangle) -> tuple[Tensor, Tensor, Tensor]:
    return pad(_ended(src)), pad([[BOS, *row] for row in tgt]), pad(_ended(tgt))


def _ended(rows: Rows) -> Rows:
    return [[*row, EOS] for row in rows]


def _behind(rows: Rows) -> Tensor:
    """Padded first, then one column of <eos>."""
    return torch.cat([_rectangle(rows), torch.full((len(rows), 1), EOS)], dim=1)


def _both(tgt: Rows) -> Tensor:
    return _rectangle([[BOS, *row, EOS] for row in tgt])


def _altered(change: Callable[[Tensor, Tensor, Tensor], tuple]) -> Callable[[Rows, Rows], tuple]:
    return lambda src, tgt: change(*_collated(src, tgt))


_CUT = (
    "You made <bos> … <eos>, padded, and cut off the last column. That removes the <eos> of the longest sentence only. Append "
    "<bos> to the words, then pad."
)
_LATE = "Your <eos> stands behind the padding. It ends the sentence: append it before you pad."
_UNSHIFTED = "Output equals input: the decoder would learn to repeat what it reads."
_AHEAD = "Your output begins with <bos>. It is one step ahead of the input: at <bos> the answer is the first word."
_RECTANGLES = [
    Slip(
        "source without <eos>",
        lambda src, tgt: (_rectangle(src), *_collated(src, tgt)[1:]),
        "The sources lack their <eos>, id 2.",
    ),
    Slip(
        "source with <bos>",
        lambda src, tgt: (_rectangle([[BOS, *row, EOS] for row in src]), *_collated(src, tgt)[1:]),
        "Your sources begin with <bos>. Nobody writes the source, so it needs no start; only its end is marked.",
    ),
    Slip(
        "<eos> after the padding",
        lambda src, tgt: (_behind(src), *_collated(src, tgt)[1:]),
        _LATE,
    ),
    Slip("<eos> after the padding", lambda src, tgt: (_behind(src), _collated(src, tgt)[1], _behind(tgt)), _LATE),
    Slip("<eos> after the padding", lambda src, tgt: (*_collated(src, tgt)[:2], _behind(tgt)), _LATE),
    Slip(
        "padded on the left",
        lambda src, tgt: _collated(src, tgt, lambda rows: _rectangle(rows, left=True)),
        "You padded on the left. This book pads on the right.",
    ),
    Slip(
        "in and out exchanged",
        _altered(lambda a, b, c: (a, c, b)),
        "Input and output are exchanged: the decoder reads <bos>.",
    ),
    Slip(
        "<eos> in the input",
        lambda src, tgt: (_collated(src, tgt)[0], _both(tgt), _collated(src, tgt)[2]),
        "Your decoder input has an <eos>. Nothing comes after <eos>, so the decoder never reads it.",
    ),
    Slip("<eos> in the input", lambda src, tgt: (_collated(src, tgt)[0], _both(tgt)[:, :-1], _both(tgt)[:, 1:]), _CUT),
    Slip("the output not shifted", _altered(lambda a, b, c: (a, b, b)), _UNSHIFTED),
    Slip("the output not shifted", lambda src, tgt: (_collated(src, tgt)[0], _both(tgt), _both(tgt)), _AHEAD),
    Slip("the output not shifted", lambda src, tgt: (*_collated(src, tgt)[:2], _both(tgt)), _AHEAD),
    Slip(
        "the input not shifted",
        _altered(lambda a, b, c: (a, c, c)),
        "Your decoder reads what it has to say: input and output are the same. The input begins with <bos>, and is one step "
        "behind.",
    ),
    Slip(
        "output without <eos>",
        lambda src, tgt: (*_collated(src, tgt)[:2], _rectangle(tgt)),
        "Your output has no <eos>. The model would never learn to stop.",
    ),
    Slip(
        "input without <bos>",
        lambda src, tgt: (_collated(src, tgt)[0], _rectangle(tgt), _collated(src, tgt)[2]),
        "Your decoder input has no <bos>: nothing is there to read before the first word.",
    ),
    Slip(
        "<bos> and <eos> exchanged",
        lambda src, tgt: (
            _rectangle([[*row, BOS] for row in src]),
            _rectangle([[EOS, *row] for row in tgt]),
            _rectangle([[*row, BOS] for row in tgt]),
        ),
        "<bos> is 1 and opens, <eos> is 2 and ends. Yours are exchanged.",
    ),
    Slip(
        "padded with another id",
        lambda src, tgt: _collated(src, tgt, lambda rows: _rectangle(rows, EOS)),
        "You fill up with <eos>. Padding has its own id, 0, which masks and loss know.",
    ),
    Slip(
        "padded with another id",
        lambda src, tgt: _collated(src, tgt, lambda rows: _rectangle(rows, -1)),
        "You fill up with −1. Padding has the id 0, which masks and loss know.",
    ),
    Slip(
        "one width for both languages",
        lambda src, tgt: _collated(src, tgt, lambda rows: _rectangle(rows, width=1 + max(map(len, [*src, *tgt])))),
        "All rectangles have the width of the longest sentence of either language. Each is as wide as its own longest row.",
    ),
    Slip(
        "cut to the shortest",
        lambda src, tgt: _collated(src, tgt, lambda rows: torch.tensor([row[: min(map(len, rows))] for row in rows])),
        "Your rectangles are as wide as their shortest row, and words are lost. `zip` stops with the first that ends.",
    ),
    Slip(
        "source and target exchanged",
        lambda src, tgt: _collated(tgt, src),
        "Source and target are exchanged: the first rectangle holds `src`, the other two `tgt`.",
    ),
]


# packing


@exercise("data.pack", answer="pack")
def pack(student, expect):
    def some(count: int, longest: int) -> list[int]:
        return [whole(1, longest) for _ in range(count)]

    exact = [4, 4, 4, 6, 6, 9]  # three rectangles of 12, 12 and 9 places
    cases = [
        ([exact[i] for i in torch.randperm(6).tolist()], 12),
        (some(whole(9, 12), 9), whole(17, 23)),
        (some(whole(30, 40), 15), whole(41, 60)),
        (some(whole(150, 200), 30), whole(100, 150)),
    ]
    answers = [[[int(i) for i in group] for group in student.pack(*case)] for case in cases]
    faults = [_fault(groups, *case) for groups, case in zip(answers, cases)]
    if any(faults):
        _name_the_slip(answers, cases)
        message, mistake = next(filter(None, faults))
        raise Refused(message, mistake)
    expect.true(True, holds="every sentence is in exactly one batch, and no batch is too large", otherwise="")
    expect.true(True, holds="as few batches as sorting gives", otherwise="")
    limit = whole(18, 22)
    long = [([whole(3, 5), limit + whole(3, 9), whole(6, 8)], limit), ([limit + 1, 2, limit + 3], limit), ([7], 5)]
    for case in long:
        groups = [[int(i) for i in group] for group in student.pack(*case)]
        lost = {i for i, length in enumerate(case[0]) if length > case[1]} - {i for group in groups for i in group}
        expect.true(
            not lost,
            holds="a sentence longer than the limit is not lost",
            otherwise=f"A sentence of {case[0][min(lost)] if lost else 0} tokens does not fit into {case[1]} places, and your "
            "batches have dropped it. Let it stand alone.",
            mistake="too long, dropped",
        )
        if fault := _fault(groups, *case):
            raise Refused(*fault)


def _name_the_slip(answers: list, cases: list) -> None:
    came = [_by_lengths(groups, case[0]) for groups, case in zip(answers, cases)]
    for slip in _PACKINGS:
        if came == [_by_lengths(slip.of(*case), case[0]) for case in cases]:
            raise Refused(slip.message, slip.name)


def _by_lengths(groups: Rows, lengths: list[int]) -> Rows | None:
    """The batches by the lengths in them, in no order: what is left of a packing when equal lengths change places."""
    if any(not 0 <= i < len(lengths) for group in groups for i in group):
        return None
    return sorted(sorted(lengths[i] for i in group) for group in groups)


def _fault(groups: Rows, lengths: list[int], limit: int) -> tuple[str, str | None] | None:
    """What is wrong with a packing, with the mistake's name where it can be told."""
    example = (
        f"{len(lengths)} sentences and {limit} places" if len(lengths) > 12 else f"lengths {lengths} and {limit} places"
    )
    flat = sorted(i for group in groups for i in group)
    if any(not group for group in groups):
        return f"For {example} one of your batches is empty.", "an empty batch"
    missing = sorted(set(range(len(lengths))) - set(flat))
    at_the_end = [sorted(lengths)[-len(missing) :], lengths[-len(missing) :], sorted(lengths)[: len(missing)]]
    no_index_twice = len(set(flat)) == len(flat) and set(flat) <= set(range(len(lengths)))
    if missing and no_index_twice and sorted(lengths[i] for i in missing) in map(sorted, at_the_end):
        lost = f"For {example} the last sentences are missing, {missing}."
        return f"{lost} When the loop ends, is the batch that is not yet full handed over?", "the last batch lost"
    if flat != list(range(len(lengths))):
        as_lengths = flat == sorted(lengths)
        hold = f"For {example} the batches hold the {'lengths' if as_lengths else 'indices'} {str(flat)[:80]};"
        must = f"each index from 0 to {len(lengths) - 1} must stand in exactly one batch."
        sort = " Sort the indices, by length." if as_lengths else ""
        return f"{hold} {must}{sort}", "lengths in place of indices" if as_lengths else "an index lost or twice"
    large = [group for group in groups if len(group) > 1 and len(group) * max(lengths[i] for i in group) > limit]
    if large:
        most = max(len(group) * max(lengths[i] for i in group) for group in large)
        fits = all(sum(lengths[i] for i in group) <= limit for group in large)
        return (
            f"For {example} one of your batches takes {most} places. "
            + ("Its real tokens fit, but the rectangle is as wide as its longest sentence: c" if fits else "C")
            + "ount sentences × longest.",
            "real tokens counted" if fits else "too many places",
        )
    enough = len(_greedy(lengths, limit))
    if len(groups) > enough:
        need = f"For {example} you need {len(groups)} batches; {enough} are enough"
        return (
            f"{need} when sentences of similar length stand together and each batch takes as many as fit.",
            "more batches than needed",
        )
    return None


def _greedy(lengths: list[int], limit: int) -> Rows:
    return _chunked(_sorted(lengths), lengths, limit)


def _sorted(lengths: list[int]) -> list[int]:
    return sorted(range(len(lengths)), key=lengths.__getitem__)


def _chunked(
    order: list[int],
    lengths: list[int],
    limit: int,
    fits: Callable[[list[int], int, int], bool] = lambda group, new, limit: (
        (len(group) + 1) * max(*group, new) <= limit
    ),
) -> Rows:
    """`order` in groups; `fits(lengths of the group, the new length, limit)` says whether one more may join."""
    groups: Rows = []
    for i in order:
        if groups and fits([lengths[k] for k in groups[-1]], lengths[i], limit):
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


def _of_one_size(lengths: list[int], limit: int) -> Rows:
    size = max(1, limit // max(lengths))
    return [_sorted(lengths)[start : start + size] for start in range(0, len(lengths), size)]


def _packing(fits: Callable[[list[int], int, int], bool], falling: bool = False) -> Callable[[list[int], int], Rows]:
    return lambda lengths, limit: _chunked(_sorted(lengths)[:: -1 if falling else 1], lengths, limit, fits)


_NOT_SORTED = (
    "These are the batches of sentences in the order in which they come. Similar lengths must stand together, or short "
    "sentences are padded to long ones: sort the indices by length first."
)
_TOO_LATE = (
    "Your batches are one sentence too large. You ask whether a batch is full before the new sentence counts: ask whether the "
    "*larger* batch would still fit."
)
_NEWEST = (
    "You multiply by the length of the newest sentence. The rectangle is as wide as the longest of the batch, and where you "
    "sort from long to short that is the first."
)
_PACKINGS = [
    Slip("not sorted", lambda lengths, limit: _chunked(list(range(len(lengths))), lengths, limit), _NOT_SORTED),
    Slip(
        "indices of the sorted list",
        lambda lengths, limit: _chunked(list(range(len(lengths))), sorted(lengths), limit),
        "Your indices count the sentences of the sorted list. Each must point into `lengths` as it was given: sort the indices, "
        "with the length as key.",
    ),
    Slip("one too many", _packing(lambda group, new, limit: len(group) * max(*group, new) <= limit), _TOO_LATE),
    Slip("one too many", _packing(lambda group, new, limit: len(group) * max(group) <= limit), _TOO_LATE),
    Slip("one too many", _packing(lambda group, new, limit: len(group) * max(group) < limit), _TOO_LATE),
    Slip(
        "the limit not reached",
        _packing(lambda group, new, limit: (len(group) + 1) * max(*group, new) < limit),
        "A batch may take exactly `max_tokens` places, and yours stop before that. No *more* than `max_tokens`: which "
        "comparison is that?",
    ),
    Slip(
        "width of the newest",
        _packing(lambda group, new, limit: (len(group) + 1) * new <= limit, falling=True),
        _NEWEST,
    ),
    Slip(
        "real tokens counted",
        _packing(lambda group, new, limit: sum(group) + new <= limit),
        "You add up real tokens. A batch is a rectangle, as wide as its longest sentence: count sentences × longest.",
    ),
    Slip(
        "real tokens counted",
        _packing(lambda group, new, limit: sum(group) + new <= limit, falling=True),
        "You add up real tokens, from long to short. A batch is a rectangle, as wide as its longest sentence: count sentences × "
        "longest.",
    ),
    Slip(
        "sentences counted",
        _packing(lambda group, new, limit: len(group) < limit),
        "`max_tokens` sentences stand in a batch. The limit counts places: sentences × longest.",
    ),
    Slip(
        "one sentence a batch",
        lambda lengths, limit: [[i] for i in range(len(lengths))],
        "Each of your batches holds one sentence. As many as fit may stand together.",
    ),
    Slip(
        "one size for all batches",
        _of_one_size,
        "All your batches have as many sentences as fit at the greatest length. Short sentences need fewer places: more of them fit.",
    ),
    Slip(
        "max_tokens ignored",
        lambda lengths, limit: [list(range(len(lengths)))],
        "All sentences are in one batch, whatever `max_tokens` allows.",
    ),
]


# the split


@exercise("data.split", answer="in_test")
def in_test(student, expect):
    sources, targets = _sentences(2400), _sentences(2400)

    def ask(source, target):
        return bool(student.in_test(source, target))

    answers = [ask(source, target) for source, target in zip(sources, targets)]
    expect.true(
        any(answers),
        holds="some sentences are for testing",
        otherwise=f"No sentence of {len(sources)} is in the test part; about one in ten should be.",
        mistake="nothing in the test part",
    )
    expect.true(
        not _periodic(answers),
        holds="a sentence's place among the others does not matter",
        otherwise="Your answer depends on how many sentences came before. A line that is added at the top of the corpus would "
        "move all others: decide by the sentence itself.",
        mistake="by position",
    )
    all_sources, few = sources, 200
    sources, targets, first = sources[:few], targets[:few], answers[:few]
    again = [ask(_afresh(source), _afresh(target)) for source, target in zip(sources, targets)]
    backwards = [ask(source, target) for source, target in zip(sources[::-1], targets[::-1])][::-1]
    with _same_chance_each_time() as reset:
        reseeded = []
        for source, target in zip(_sentences(300, 11), targets):
            reset()
            reseeded.append(ask(source, target))
    expect.true(
        again == first == backwards and (any(reseeded) or sum(answers) < 0.03 * len(answers)) and not all(reseeded),
        holds="asked again, it says the same",
        otherwise="Chance decides: asked on another day about the same pair, your function may give another answer, and "
        "tomorrow's test sentence is in today's training. Decide by the sentence itself.",
        mistake="by chance",
    )
    other = [ask(source, target) for source, target in zip(sources, [*targets[1:], targets[0]])]
    of_one_target = [ask(source, targets[0]) for source in sources]
    of_target = [ask(sources[0], target) for target in targets]
    expect.true(
        not (of_target == first and len(set(of_one_target)) == 1),
        holds="the source decides",
        otherwise="Your answer goes by the target. A source with two translations then stands in both parts: decide by the "
        "source.",
        mistake="split by target",
    )
    expect.true(
        other == first,
        holds="all translations of a source stand in one part",
        otherwise="A source with two translations falls into both parts: the model is tested on a sentence that it has learned "
        "by heart. Decide by the source alone.",
        mistake="split by line",
    )
    with _another_start():
        elsewhere = [ask(source, target) for source, target in zip(sources, targets)]
    expect.true(
        elsewhere == first and not _salted(all_sources, answers),
        holds="and it says so in every process",
        otherwise="Python's hash of a string changes with every start of Python, unless PYTHONHASHSEED is set. Tomorrow's split "
        "would be another. Use hashlib or zlib.crc32.",
        mistake="Python's hash",
    )
    days = whole(40, 300)
    later = []
    for shift in (days, days + 1):  # a rhythm of several days is not met twice
        with _another_day(shift):
            later.append([ask(source, target) for source, target in zip(sources, targets)])
    expect.true(
        later == [first, first],
        holds="on every day and every machine",
        otherwise="On another day, or on another computer, your function says something else: it asks the clock, or the "
        "machine's name. Decide by the sentence itself.",
        mistake="by the clock",
    )
    share = sum(answers) / len(answers)
    if 0.105 < share < 0.15:  # more sentences tell a tenth from an eighth
        share = sum(ask(source, targets[0]) for source in _sentences(6_000)) / 6_000
    for feature, what in _FEATURES:
        parts: dict[Any, set[bool]] = {}
        for source, was in zip(all_sources, answers):
            parts.setdefault(feature(source), set()).add(was)
        expect.true(
            any(len(both) > 1 for both in parts.values()) or not 0.03 < share < 0.97,
            holds="sentences of every kind in both parts",
            otherwise=f"Your split goes by {what}: the test part holds sentences of one kind only, and is no sample of the language.",
            mistake="by a feature",
        )
    expect.true(
        share < 0.6,
        holds="the test part is the small one",
        otherwise=f"Your test part holds {share:.0%} of the sentences. Did you say True for training?",
        mistake="turned round" if 0.85 < share < 0.95 else "another share",
    )
    expect.true(
        not 0.1135 < share < 0.1365,
        holds="about one in ten",
        otherwise=f"Your test part holds {share:.1%} of the sentences, one in eight. One in ten is asked for: "
        "26 of the 256 values of a byte, or one of the ten remainders by 10.",
        mistake="one in eight",
    )
    expect.true(
        0.0665 < share < 0.15,
        holds="about one in ten",
        otherwise=f"Your test part holds {share:.0%} of the sentences; about one in ten was asked for.",
        mistake="another share",
    )
    foreign: dict[int, set[bool]] = {}
    for source in _in_another_script(500):
        foreign.setdefault(source.count(" "), set()).add(ask(source, targets[0]))
    expect.true(
        any(len(both) > 1 for both in foreign.values()),
        holds="in every script",
        otherwise="Of a Korean sentence your function sees the blanks and the full stop only, so that all of one length stand in "
        "one part. ASCII has no other letters: `source.encode()` keeps every one.",
        mistake="letters lost",
    )


_FEATURES = [
    (len, "the length of the sentence"),
    (lambda source: len(source.split()), "the number of words"),
    (lambda source: source.lower()[0], "the first letter"),
    (lambda source: source.split()[0], "the first word"),
    (lambda source: source.split()[-1], "the last word"),
]
_WORDS = """
    cat dog keeper sailor teacher king cook singer reader fish lamp ship rock soup story light ladder door star wave sees hears
    paints likes carries follows counts knows leaves finds old small green quiet under over beside before tomorrow never
""".split()


def _sentences(count: int, letters: int = 0) -> list[str]:
    """`count` different sentences of three to nine words."""
    draws, found = chance(), {}
    while len(found) < count:
        words = [draws.choice(_WORDS) for _ in range(draws.randint(3, 9))]
        found[f"{' '.join(words).capitalize()}{letters or ''}."] = None
    return list(found)


def _in_another_script(count: int) -> list[str]:
    """Sentences of three to nine words, all of two Korean syllables."""
    syllables = (0xAC00 + torch.randint(11_172, (count, 18))).tolist()
    words = [["".join(map(chr, row[k : k + 2])) for k in range(0, 18, 2)] for row in syllables]
    return [f"{' '.join(row[: 3 + k % 7])}." for k, row in enumerate(words)]


def _afresh(text: str) -> str:
    """An equal string that is another object."""
    return "".join(list(text))


def _periodic(answers: list[bool]) -> bool:
    """Whether the answers repeat in a fixed rhythm, as those of a counter do."""
    return any(answers[period:] == answers[:-period] for period in range(1, 41)) and len(set(answers)) == 2


def _salted(sources: list[str], answers: list[bool]) -> bool:
    """Whether the answers are those of this process' own hash."""
    for size in (5, 8, 10, 16, 20, 100, 1000):
        rests = [hash(source) % size for source in sources]
        inside = {rest for rest, was in zip(rests, answers) if was}
        if len(inside) < size and inside.isdisjoint(rest for rest, was in zip(rests, answers) if not was):
            return size <= 100 or len(inside) <= 150
    return False


@contextmanager
def _same_chance_each_time() -> Iterator[Callable[[], None]]:
    """Gives a function that sets all generators of chance back to one state; in the end they are as they were."""
    numpy: Any = sys.modules.get("numpy")
    python, torchs, numpys = random.getstate(), torch.get_rng_state(), numpy.random.get_state()
    seed = whole(1, 10_000)

    def reset() -> None:
        random.seed(seed)
        numpy.random.seed(seed)
        torch.manual_seed(seed)

    try:
        yield reset
    finally:
        random.setstate(python)
        numpy.random.set_state(numpys)
        torch.set_rng_state(torchs)


@contextmanager
def _patched(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """`changes` are owners (modules, or the names of a notebook), names and what they mean meanwhile."""
    before = [(owner, name, _held(owner)[name]) for owner, name, _ in changes]
    try:
        for owner, name, value in changes:
            _put(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            _put(owner, name, value)


def _held(owner: Any) -> dict[str, Any]:
    return owner if isinstance(owner, dict) else vars(owner)


def _put(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, dict):
        owner[name] = value
    else:
        setattr(owner, name, value)


def _in_notebooks(changes: list[tuple[Any, str, Any]]) -> list[tuple[Any, str, Any]]:
    """The same changes for whoever wrote `from time import time`: in the names of notebooks, which have no file."""
    values = {id(_held(owner)[name]): value for owner, name, value in changes}
    around = gc.get_referrers(*(_held(owner)[name] for owner, name, _ in changes))
    notebooks = [
        names for names in around if type(names) is dict and "__builtins__" in names and "__file__" not in names
    ]
    return [(names, name, values[id(it)]) for names in notebooks for name, it in names.items() if id(it) in values]


@contextmanager
def _another_start() -> Iterator[None]:
    """As after another start of Python, in this process: strings have other hashes."""
    plain, salt = hash, whole(1, 10**9)
    with _patched([(builtins, "hash", lambda value: plain((salt, value)))]):
        yield


@contextmanager
def _another_day(days: int) -> Iterator[None]:
    """As on another machine `days` from now, in this process: another clock, other names and numbers."""
    real, real_ns = time.time, time.time_ns
    shift = 86_400 * days

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return super().now(tz) + datetime.timedelta(seconds=shift)

    def at(call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda moment=None: call(real() + shift if moment is None else moment)

    strftime, localtime = time.strftime, time.localtime
    changes = [
        (time, "time", lambda: real() + shift),
        (time, "time_ns", lambda: real_ns() + 10**9 * shift),
        (time, "strftime", lambda form, moment=None: strftime(form, moment or localtime(real() + shift))),
        *((time, name, at(getattr(time, name))) for name in ("localtime", "gmtime", "ctime")),
        (datetime, "datetime", Later),
        (os, "getpid", lambda: 77_777),
        *((owner, name, "elsewhere") for owner, name in ((sys, "platform"), (sys, "version"), (os, "name"))),
        *((os, name, lambda: 77_777) for name in ("cpu_count", "getuid") if hasattr(os, name)),
    ]
    names = [("socket", "gethostname"), ("uuid", "getnode"), ("getpass", "getuser")]
    names += [("platform", name) for name in ("node", "system", "machine", "platform", "processor", "python_version")]
    for module, name in names:
        if module in sys.modules:
            other = 77_777 if module == "uuid" else "elsewhere"
            changes.append((sys.modules[module], name, lambda other=other: other))
    with _patched([*changes, *_in_notebooks(changes)]):
        yield
