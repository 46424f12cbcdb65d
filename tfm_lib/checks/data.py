"""Judges of the exercises in `chapters/data.md`."""

import random
from collections import Counter
from itertools import pairwise

from tfm_lib.checks.judge import Expect, Mistake, Refused, exercise
from tfm_lib.data import apply_merges

Words = list[tuple[list[str], int]]


@exercise("data.best-pair", answer="best_pair")
def best_pair(student, expect):
    words: Words = [(["s", "e", "e·"], 3), (["s", "e", "e", "n·"], 2), (["b", "e", "e·"], 6), (["t", "h", "e·"], 5)]
    words += [(["s", "e", "a·"], 1), (["s", "e", "w·"], 1)]
    pairs = _pairs(words)
    per_word = Counter(pair for pieces, _ in words for pair in pairwise(pieces))
    expect.equal(
        tuple(student.best_pair(words)),
        ("e", "e·"),
        holds="the most frequent neighbours, words counted as often as they stand there",
        describe="3 × s e e·, 2 × s e e n·, 6 × b e e·, 5 × t h e·, s e a·, s e w·",
        mistakes=[
            Mistake(
                "words not weighed",
                max(per_word, key=per_word.get),
                "You counted each word once. A word that stands five times in the text counts five times.",
            ),
            Mistake("rarest pair", min(pairs, key=lambda pair: (pairs[pair], pair)), "That is the rarest pair."),
            Mistake(
                "most frequent symbol",
                ("e", "e"),
                "Is that the most frequent symbol, twice? Count neighbours: which two stand side by side most often?",
            ),
        ],
    )
    words = [(["c", "d"], 4), (["b", "a"], 4), (["e", "f"], 3)]
    expect.equal(
        tuple(student.best_pair(words)),
        ("b", "a"),
        holds="a tie goes to the pair that comes first in the alphabet",
        describe="4 × c d, 4 × b a, 3 × e f",
        mistakes=[
            Mistake(
                "tie the other way",
                ("c", "d"),
                "b a and c d are equally frequent. Of equals the one that comes first in the alphabet wins; yours takes "
                "the other.",
            )
        ],
    )
    words = [(["x", "y"], 3), (["n", "a", "n", "a", "n", "a"], 2), (["a", "b"], 3)]
    expect.equal(
        tuple(student.best_pair(words)),
        ("n", "a"),
        holds="a pair that stands in a word more than once counts as often",
        describe="3 × x y, 2 × n a n a n a, 3 × a b",
        mistakes=[
            Mistake(
                "once a word",
                ("a", "b"),
                "n a stands three times in each of two words, six times in all. Do you count a word's pairs as a set?",
            )
        ],
    )


def _pairs(words: Words) -> Counter:
    pairs = Counter()
    for pieces, count in words:
        for pair in pairwise(pieces):
            pairs[pair] += count
    return pairs


@exercise("data.segment", answer="segment")
def segment(student, expect):
    merges = [("t", "h"), ("th", "e"), ("h", "e"), ("e", "n·"), ("the", "m")]
    _cut(student, expect, "then", merges, holds="then, with five merges")
    _cut(student, expect, "them", merges, holds="a word's last letter is not the same symbol inside a word")
    _cut(
        student,
        expect,
        "thethe",
        [("t", "h"), ("th", "e")],
        holds="every place in the word is merged, not the first only",
    )
    _cut(student, expect, "hash", [("s", "h·"), ("a", "s"), ("h", "a")], holds="an early merge goes before a late one")
    _cut(student, expect, "mast", [("s", "t·"), ("t", "a")], holds="symbols are merged whole")
    _cut(student, expect, "cat", [], holds="without merges the letters remain")
    _cut(student, expect, "aaab", [("a", "a")], holds="of three equal letters the first two are merged")
    _cut(student, expect, "essay", [("s", "s"), ("s", "a")], holds="a symbol that has grown is another symbol")


def _cut(student, expect: Expect, word: str, merges: list, holds: str) -> None:
    def by_text(word: str) -> list[str]:  # the well-known slip: symbols joined by spaces, replaced as text
        text = " ".join([*word[:-1], word[-1] + "·"])
        for a, b in merges:
            text = text.replace(f"{a} {b}", a + b)
        return text.split()

    def first_only(word: str) -> list[str]:
        pieces = [*word[:-1], word[-1] + "·"]
        for pair in merges:
            for i in range(len(pieces) - 1):
                if (pieces[i], pieces[i + 1]) == pair:
                    pieces[i : i + 2] = ["".join(pair)]
                    break
        return pieces

    def longest(word: str) -> list[str]:
        known, rest, pieces = {"".join(pair) for pair in merges}, word + "·", []
        while rest:
            sizes = range(len(rest), 0, -1)
            size = next((n for n in sizes if rest[:n] in known), 2 if len(rest) == 2 else 1)
            pieces.append(rest[:size])
            rest = rest[size:]
        return pieces

    expect.equal(
        list(student.segment(word, merges)),
        apply_merges(word, merges),
        holds=holds,
        describe=f"{word} with the merges {', '.join(f'{a} {b}' for a, b in merges) or '(none)'}",
        mistakes=[
            Mistake(
                "no end mark",
                _plain(word, merges),
                "The last letter carries the mark ·, so that the e of “the” and the e of “then” are two symbols.",
            ),
            Mistake(
                "first place only",
                first_only(word),
                "You merge a pair once in a word. It may stand there again: merge every place before the next merge.",
            ),
            Mistake(
                "longest match",
                longest(word),
                "You look for the longest known piece from the left. Byte-pair encoding replays its merges in the order in "
                "which they were learned.",
            ),
            Mistake(
                "last merge first",
                apply_merges(word, merges[::-1]),
                "You go through the merges backwards. The first that was learned comes first.",
            ),
            Mistake(
                "replaced as text",
                by_text(word),
                "Did you join the symbols to a text and replace in it? There “a b” is also found where a symbol only ends "
                "with a, as in “sa b”. Compare whole symbols.",
            ),
        ],
    )


def _plain(word: str, merges: list) -> list[str]:
    """The word cut without a mark at its end."""
    pieces = list(word)
    for a, b in merges:
        at = 0
        while at < len(pieces) - 1:
            if (pieces[at], pieces[at + 1]) == (a, b):
                pieces[at : at + 2] = [a + b]
            at += 1
    return pieces


@exercise("data.waste", answer="waste")
def waste(student, expect):
    lengths = [[2, 6], [3, 3, 3], [1, 5]]
    means = sum(1 - sum(group) / (len(group) * max(group)) for group in lengths) / len(lengths)
    real, places = 23, 12 + 9 + 10
    expect.close(
        student.waste(lengths),
        1 - real / places,
        holds="8 of 31 places are padding",
        describe="batches of lengths 2 6, 3 3 3 and 1 5",
        mistakes=[
            Mistake(
                "mean of the shares",
                means,
                "You averaged the shares of the batches. A large batch has more places than a small one: count places of "
                "all batches together.",
            ),
            Mistake(
                "padding over real tokens",
                (places - real) / real,
                "You divided the padding by the real tokens. The share is of all places, real and padded.",
            ),
            Mistake(
                "one longest for all",
                1 - real / (7 * 6),
                "You padded every batch to the longest sentence of all. Each batch is padded to its own longest.",
            ),
            Mistake("share of real tokens", real / places, "That is the share of real tokens; the waste is the rest."),
            Mistake(
                "padding counted", places - real, "That is the number of padded places. Their share was asked for."
            ),
        ],
    )
    expect.close(student.waste([[4, 4], [7]]), 0.0, holds="equal lengths waste nothing")


PAD, BOS, EOS = 0, 1, 2


@exercise("data.collate", answer="collate")
def collate(student, expect):
    src, tgt = [[7, 8, 9], [5]], [[6], [4, 5, 6, 7]]
    answer = student.collate(src, tgt)
    fits = isinstance(answer, (tuple, list)) and len(answer) == 3
    expect.true(
        fits,
        holds="three rectangles come back",
        otherwise="Expected three tensors: src_ids, decoder input, decoder output.",
    )
    src_ids, tgt_in, tgt_out = answer
    expect.close(
        src_ids,
        [[7, 8, 9, EOS], [5, EOS, PAD, PAD]],
        holds="sources end with <eos>, then padding",
        describe="the sources",
        mistakes=[
            Mistake("source without <eos>", [[7, 8, 9], [5, PAD, PAD]], "The sources lack their <eos>, id 2."),
            Mistake(
                "<eos> after the padding",
                [[7, 8, 9, EOS], [5, PAD, PAD, EOS]],
                "Your <eos> stands behind the padding. It ends the sentence: append it before you pad.",
            ),
            Mistake(
                "padded on the left",
                [[7, 8, 9, EOS], [PAD, PAD, 5, EOS]],
                "You padded on the left. This book pads on the right.",
            ),
        ],
    )
    want_in, want_out = [[BOS, 6, PAD, PAD, PAD], [BOS, 4, 5, 6, 7]], [[6, EOS, PAD, PAD, PAD], [4, 5, 6, 7, EOS]]
    both = [[BOS, 6, EOS, PAD, PAD, PAD], [BOS, 4, 5, 6, 7, EOS]]
    cut = [row[:-1] for row in both]  # the last column cut off leaves the <eos> of shorter sentences
    expect.close(
        tgt_in,
        want_in,
        holds="the decoder reads <bos> and the words",
        describe="the decoder's input",
        mistakes=[
            Mistake("in and out exchanged", want_out, "Input and output are exchanged: the decoder reads <bos> first."),
            Mistake(
                "<eos> in the input",
                both,
                "Your decoder input has an <eos>. Nothing comes after <eos>, so the decoder never reads it.",
            ),
            Mistake(
                "<eos> in the input",
                cut,
                "You made <bos> … <eos>, padded, and cut off the last column. That removes the <eos> of the longest sentence "
                "only. Append <bos> to the words, then pad.",
            ),
        ],
    )
    expect.close(
        tgt_out,
        want_out,
        holds="and has to say the words and <eos>",
        describe="the decoder's output",
        mistakes=[
            Mistake(
                "the output not shifted",
                want_in,
                "Output equals input: the decoder would learn to repeat what it reads.",
            ),
            Mistake(
                "the output not shifted",
                both,
                "Your output begins with <bos>. It is one step ahead of the input: at <bos> the answer is the first word.",
            ),
            Mistake(
                "output without <eos>",
                [[6, PAD, PAD, PAD], [4, 5, 6, 7]],
                "Your output has no <eos>. The model would never learn to stop.",
            ),
        ],
    )


@exercise("data.pack", answer="pack")
def pack(student, expect):
    lengths, limit = [3, 9, 2, 3, 8, 2, 3, 9, 1], 18
    groups = [list(group) for group in student.pack(lengths, limit)]
    _packed(expect, groups, lengths, limit, most=3, example="lengths 3 9 2 3 8 2 3 9 1 with 18 places")
    lengths = [4, 30, 5]
    groups = [list(group) for group in student.pack(lengths, 20)]
    expect.true(
        any(1 in group for group in groups),
        holds="a sentence longer than the limit is not lost",
        otherwise="The sentence of 30 tokens does not fit into 20 places, and your batches have dropped it. Let it stand alone.",
        mistake="too long, dropped",
    )
    _packed(expect, groups, lengths, 20, most=2, example="lengths 4 30 5 with 20 places")
    draw = random.Random(0)
    lengths = [draw.randint(1, 30) for _ in range(300)]
    groups = [list(group) for group in student.pack(lengths, 120)]
    _packed(expect, groups, lengths, 120, most=len(_greedy(lengths, 120)) + 1, example="300 sentences with 120 places")


def _packed(expect: Expect, groups: list[list[int]], lengths: list[int], limit: int, most: int, example: str) -> None:
    flat = sorted(i for group in groups for i in group)
    missing = sorted(set(range(len(lengths))) - set(flat))
    expect.true(
        not any(not group for group in groups),
        holds="no batch is empty",
        otherwise=f"For {example} one of your batches is empty.",
        mistake="an empty batch",
    )
    at_the_end = [sorted(lengths)[-len(missing) :], lengths[-len(missing) :]]
    if missing and len(set(flat)) == len(flat) and sorted(lengths[i] for i in missing) in map(sorted, at_the_end):
        raise Refused(
            f"For {example} the last sentences are missing, {missing}. When the loop ends, is the batch that is not yet full "
            f"handed over?",
            "the last batch lost",
        )
    expect.true(
        flat == list(range(len(lengths))),
        holds="every sentence is in exactly one batch",
        otherwise=f"For {example} the batches hold the indices {str(flat)[:80]}; each from 0 to {len(lengths) - 1} must stand in "
        f"exactly one batch. (Indices, not lengths.)",
        mistake="lengths in place of indices" if sorted(flat) == sorted(lengths) else None,
    )
    too_large = [group for group in groups if len(group) > 1 and len(group) * max(lengths[i] for i in group) > limit]
    real_fits = all(sum(lengths[i] for i in group) <= limit for group in too_large)
    expect.true(
        not too_large,
        holds="no batch has more places than allowed, padding counted",
        otherwise=f"For {example} one of your batches takes "
        f"{max((len(group) * max(lengths[i] for i in group) for group in too_large), default=0)} places. "
        + (
            "Its real tokens fit, but the rectangle is as wide as its longest sentence: count sentences × longest."
            if real_fits
            else "A batch takes sentences × longest."
        ),
        mistake="real tokens counted" if too_large and real_fits else None,
    )
    unsorted = len(_chunked(list(range(len(lengths))), lengths, limit))
    expect.true(
        len(groups) <= most,
        holds="as few batches as sorting gives",
        otherwise=f"For {example} you need {len(groups)} batches; {most} are enough when sentences of similar length stand "
        f"together. Sort the indices by length first.",
        mistake="not sorted" if len(groups) == unsorted else None,
    )


def _greedy(lengths: list[int], limit: int) -> list[list[int]]:
    return _chunked(sorted(range(len(lengths)), key=lengths.__getitem__), lengths, limit)


def _chunked(order: list[int], lengths: list[int], limit: int) -> list[list[int]]:
    groups: list[list[int]] = []
    for i in order:
        group = groups[-1] if groups else []
        if group and (len(group) + 1) * max(lengths[k] for k in [*group, i]) <= limit:
            group.append(i)
        else:
            groups.append([i])
    return groups


@exercise("data.split", answer="in_test")
def in_test(student, expect):
    sources = [f"{who} {does} {what}." for who in _WHO for does in _DOES for what in _WHAT]
    first = [bool(student.in_test(source, "a")) for source in sources]
    expect.true(
        any(first),
        holds="some sentences are for testing",
        otherwise="No sentence of 1 000 is in the test part; about one in ten should be.",
        mistake="nothing in the test part",
    )
    other = [bool(student.in_test(source, "b")) for source in sources]
    again = [bool(student.in_test(source, "a")) for source in sources]
    expect.true(
        again == first,
        holds="asked again, it says the same",
        otherwise="Asked twice about the same pair, your function gives two answers. Tomorrow's test sentence would be in "
        "today's training. Decide by the sentence itself, without chance.",
        mistake="by chance",
    )
    expect.true(
        other == first,
        holds="all translations of a source stand in one part",
        otherwise="A source with two translations falls into both parts: the model is tested on a sentence that it has learned "
        "by heart. Decide by the source alone.",
        mistake="split by line",
    )
    salted = [
        all((hash(s) % k == r) == was for s, was in zip(sources, first)) for k in (8, 10, 16, 20) for r in (0, 1, k - 1)
    ]
    expect.true(
        not any(salted),
        holds="and it says so in every process",
        otherwise="Python's hash of a string changes with every start of Python, unless PYTHONHASHSEED is set. Tomorrow's split "
        "would be another. Use hashlib or zlib.crc32.",
        mistake="Python's hash",
    )
    share = sum(first) / len(first)
    expect.true(
        0.06 < share < 0.14,
        holds="about one in ten",
        otherwise=f"Your test part holds {share:.0%} of the sentences; about one in ten was asked for.",
        mistake="another share",
    )
    lengths = {len(source) for source in sources}
    fixed = [n for n in lengths if len({was for source, was in zip(sources, first) if len(source) == n}) > 1]
    expect.true(
        bool(fixed),
        holds="short and long sentences in both parts",
        otherwise="Your split goes by the length of the sentence: the test part holds certain lengths only, and is no sample of "
        "the language.",
        mistake="by length",
    )


_WHO = [
    f"The {who}" for who in ("cat", "dog", "keeper", "sailor", "teacher", "king", "cook", "singer", "reader", "fish")
]
_DOES = ("sees", "hears", "paints", "likes", "carries", "follows", "counts", "knows", "leaves", "finds")
_WHAT = [f"the {what}" for what in ("lamp", "ship", "rock", "soup", "story", "light", "ladder", "door", "star", "wave")]
