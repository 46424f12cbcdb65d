"""The widgets of chapter `data`: byte-pair merges applied step by step, and sentences packed into batches."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import traitlets

from tfm_lib.corpora.story import story_words
from tfm_lib.data import apply_merges, learn_merges
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets._live import Live
from tfm_lib.widgets.base import Numbers, Widget, Words, one_of, to_numpy, within

MERGING = Words(
    title="Tokeniser",
    question="Which words become one piece, and which stay in pieces to the end?",
    alt="After {used} merges the sentence “{sentence}” has {count} pieces for {words} words: {pieces}.",
    merges="merges (linear)",
    pieces="pieces (linear)",
    words="words",
)
PACKING = Words(
    title="Batch packer",
    question="How small can you make the pool and still keep the padding below a tenth?",
    shared={"rules": {"any order": "any order", "by length": "by length", "by tokens": "by tokens"}},
    alt="{sentences} sentences, packed {rule}, fill {batches} batches: {waste:.1f}% padding, {least} to {most} real tokens in a "
    "batch. With these settings: {others}.{part}",
    part=" The picture shows the first {packed} sentences, in {begun} batches with {share:.1f}% padding.",
    heading="{rule}: {waste:.1f}% padding",
)
LONGEST_TEXT = 120
RULES = tuple(PACKING.shared["rules"])


class MergeSteps(Live):
    """A sentence split into pieces by the first `used` of the `merges`, and the number of pieces after each merge.

    `merges` is what `learn_merges` returns, `letters` its initial symbols: others are unknown. Without
    them, 300 merges of a story written for this book are used. With a `machine`, and once `beside` is set, that
    translator's sub-words of `value` are shown beside these: `read`, of `known` in its vocabulary.
    """

    _module = traitlets.Unicode("data/merge_steps").tag(sync=True)
    words = MERGING
    value = traitlets.Unicode().tag(sync=True)
    merges = traitlets.List(traitlets.Unicode()).tag(sync=True)
    letters = traitlets.List(traitlets.Unicode()).tag(sync=True)
    used = traitlets.Int().tag(sync=True)
    beside = traitlets.Bool(False).tag(sync=True)
    read = traitlets.List(traitlets.Unicode()).tag(sync=True)
    known = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        value: str = "the unhappiest sailor was translating jazz",
        merges: Sequence[tuple[str, str]] | None = None,
        letters: Iterable[str] = (),
        used: int = 60,
        **kwargs,
    ):
        if merges is None:
            story = Counter(story_words())
            merges, letters = learn_merges(story, 300), {letter for word in story for letter in _letters(word)}
        pairs = [" ".join(pair) for pair in merges]
        super().__init__(merges=pairs, letters=sorted(letters), value=value, used=min(used, len(pairs)), **kwargs)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        if len(proposal["value"]) > LONGEST_TEXT:
            raise ValueError(f"value must have at most {LONGEST_TEXT} letters; it has {len(proposal['value'])}")
        return proposal["value"]

    @traitlets.validate("merges")
    def _valid_merges(self, proposal):
        bad = [pair for pair in proposal["value"] if len(pair.split(" ")) != 2]
        if bad:
            raise ValueError(f"merges must be pairs of pieces without spaces; one is {bad[0]!r}")
        return proposal["value"]

    @traitlets.validate("used")
    def _valid_used(self, proposal):
        if not 0 <= proposal["value"] <= len(self.merges):
            raise ValueError(f"used must be between 0 and {len(self.merges)}; it is {proposal['value']}")
        return proposal["value"]

    @property
    def pieces(self) -> list[list[str]]:
        """The pieces of each word; a letter that is not in `letters` is <unk>."""
        return [[self._known(piece) for piece in word] for word in self._cut(self.used)]

    @property
    def counts(self) -> list[int]:
        """The number of pieces of the sentence after 0, 1, 2, … merges."""
        pieces = self._cut(0)
        found = [sum(map(len, pieces))]
        for used, pair in enumerate(self.merges, start=1):
            if any(tuple(pair.split(" ")) in pairwise(word) for word in pieces):
                pieces = self._cut(used)
            found.append(sum(map(len, pieces)))
        return found

    def _cut(self, used: int) -> list[list[str]]:
        merges = [tuple(pair.split(" ")) for pair in self.merges[:used]]
        return [apply_merges(word, merges) for word in words_of(self.value)]

    def _known(self, piece: str) -> str:
        single = len(piece.removesuffix("·")) <= 1
        return "<unk>" if self.letters and single and piece not in self.letters else piece

    @property
    def alt(self) -> str:
        words = self.pieces
        pieces = ", ".join(" ".join(word) for word in words)
        counts = {"count": sum(map(len, words)), "words": len(words)}
        return self.words.alt.format(used=self.used, sentence=self.value, pieces=pieces, **counts)

    def figure(self):
        """Draw the pieces as boxes, above the number of pieces after each merge."""
        say, counts = self.words, self.counts
        fig, (top, below) = draw.figure(rows=2, width=6.8, height=3.8, height_ratios=[1, 2.2])
        top.set(xlim=(0, 80), ylim=(-2.6, 0.8))
        top.axis("off")
        x, y = 0.0, 0.0
        for word in self.pieces:
            wide = sum(max(2, 1.15 * len(piece)) + 1.6 for piece in word)
            if x and x + wide > 80:
                x, y = 0.0, y - 1.2
            for piece in word:
                colour = "broken" if piece == "<unk>" else "ink"
                room = max(2, 1.15 * len(piece))
                frame = {"boxstyle": "round,pad=0.25", "facecolor": "none", "edgecolor": draw.colours()[colour]}
                draw.write(top, x + room / 2, y, piece, colour, bbox=frame)
                x += room + 1.6
            x += 1.6
        plane = draw.Plane(below, say.merges, say.pieces)
        plane.line(range(len(counts)), counts, drawstyle="steps-post")
        plane.dot(self.used, counts[self.used], "one", markersize=8)
        plane.rule(y=len(words_of(self.value)), dash="--", name=say.words, linewidth=2)
        below.set(ylim=(0, None))
        plane.key()
        return fig


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case; each punctuation mark is a word."""
    return re.findall(r"\w+|[^\w\s]", sentence.lower())


def _letters(word: str) -> list[str]:
    return [*word[:-1], f"{word[-1]}·"]


class BatchPacker(Widget):
    """Sentences of given `lengths` packed into batches by a rule, drawn as rectangles with their padding.

    `value` is the rule: "any order" (`size` sentences per batch), "by length" (the same, after sorting within pools of
    `pool` sentences), "by tokens" (sorted in the same way, at most `places` tokens per batch, padding included). The last `waiting` sentences are not
    packed yet.
    """

    _module = traitlets.Unicode("data/batch_packer").tag(sync=True)
    words = PACKING
    lengths = Numbers().tag(sync=True)
    value = traitlets.Unicode("any order").tag(sync=True)
    pool = traitlets.Int().tag(sync=True)
    size = traitlets.Int(12).tag(sync=True)
    places = traitlets.Int().tag(sync=True)
    waiting = traitlets.Int(0).tag(sync=True)

    def __init__(
        self, lengths=None, value: str = "any order", pool: int | None = None, places: int | None = None, **kwargs
    ):
        lengths = (
            drawn_lengths() if lengths is None else to_numpy("lengths", lengths, ("sentences",)).astype(int).tolist()
        )
        if min(lengths) < 1:
            raise ValueError(f"lengths must be at least 1; the least is {min(lengths)}")
        pool = len(lengths) if pool is None else pool
        places = -(-max(lengths) // 8) * 32 if places is None else places
        super().__init__(lengths=lengths, value=value, pool=pool, places=places, **kwargs)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return one_of("value", proposal["value"], RULES)

    @traitlets.validate("pool", "size", "places")
    def _valid_number(self, proposal):
        name, number = proposal["trait"].name, proposal["value"]
        if number < 1:
            raise ValueError(f"{name} must be at least 1; it is {number}")
        return number

    @traitlets.validate("waiting")
    def _valid_waiting(self, proposal):
        return within("waiting", proposal["value"], 0, len(self.lengths), "a number of sentences ")

    def groups(self, rule: str | None = None) -> list[list[int]]:
        """Return the batches as lists of indices, by the selected rule or by another."""
        return packed(self.lengths, rule or self.value, self.size, self.places, self.pool)

    @property
    def alt(self) -> str:
        say, groups = self.words, self.groups()
        rules = say.shared["rules"]
        real = [sum(self.lengths[i] for i in group) for group in groups]
        others = ", ".join(f"{rules[rule]} {100 * waste(self.lengths, self.groups(rule)):.1f}%" for rule in RULES)
        counts = {"sentences": len(self.lengths), "batches": len(groups), "least": min(real), "most": max(real)}
        count, seen = len(self.lengths) - self.waiting, begun(groups, len(self.lengths) - self.waiting)
        part = say.part.format(packed=count, begun=len(seen), share=100 * waste(self.lengths, seen))
        told = {
            "rule": rules[self.value],
            "waste": 100 * waste(self.lengths, groups),
            "others": others,
            "part": part * bool(self.waiting),
        }
        return say.alt.format(**told, **counts)

    def figure(self):
        """Draw each batch as a rectangle of its sentences, padding hatched."""
        say, lengths, line = self.words, self.lengths, 160
        fig, ax = draw.figure(width=6.8, height=3.4)
        x, y, tallest = 0, 0, 0
        shown = begun(self.groups(), len(lengths) - self.waiting)
        for group in shown:
            wide, high = max(lengths[i] for i in group), len(group)
            if x and x + wide > line:
                x, y, tallest = 0, y - tallest - 5, 0
            draw.box(ax, x, y - high, wide, high, edge="soft", hatch="////", linewidth=0.8)
            for row, i in enumerate(group):
                draw.box(ax, x, y - row - 1, lengths[i], 1, "decoder", "card", linewidth=0.5)
            draw.write(ax, x, y - high - 0.6, f"{high} × {wide}", "soft", "left", va="top", fontsize=8)
            x, tallest = x + max(wide, 12) + 4, max(tallest, high)
        ax.set(xlim=(-1, line + 1), ylim=(y - tallest - 5, 1))
        rule = say.shared["rules"][self.value]
        ax.set_title(say.heading.format(rule=rule, waste=100 * waste(lengths, shown)))
        ax.axis("off")
        return fig


def drawn_lengths(count: int = 96, seed: int = 0) -> list[int]:
    """Draw realistic sentence lengths: many short ones, few long ones."""
    draw = random.Random(seed)
    return [max(2, min(40, round(draw.lognormvariate(2.1, 0.55)))) for _ in range(count)]


def packed(lengths: Sequence[int], rule: str, size: int, places: int, pool: int) -> list[list[int]]:
    """Return batches as lists of indices into `lengths`, by a rule of `BatchPacker`."""
    order = list(range(len(lengths)))
    if rule == "any order":
        return _chunks(order, size)
    pools = [sorted(some, key=lengths.__getitem__) for some in _chunks(order, pool)]
    if rule == "by length":
        return [group for some in pools for group in _chunks(some, size)]
    return [group for some in pools for group in _filled(some, lengths, places)]


def waste(lengths: Sequence[int], groups: Sequence[Sequence[int]]) -> float:
    """Return the share of padding in the rectangles of `groups`."""
    real = sum(lengths[i] for group in groups for i in group)
    return 1 - real / sum(len(group) * max(lengths[i] for i in group) for group in groups) if groups else 0.0


def begun(groups: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Return the batches when only the first `count` sentences are packed, without the empty ones."""
    found = []
    for group in groups:
        found.append(list(group[: max(0, count)]))
        count -= len(group)
    return [group for group in found if group]


def _chunks(order: list[int], size: int) -> list[list[int]]:
    return [order[i : i + size] for i in range(0, len(order), size)]


def _filled(order: Sequence[int], lengths: Sequence[int], places: int) -> list[list[int]]:
    groups: list[list[int]] = []
    for i in order:
        longest = max([lengths[i], *(lengths[k] for k in groups[-1])]) if groups else lengths[i]
        if groups and longest * (len(groups[-1]) + 1) <= places:
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups
