"""The widget of chapter `data`: byte-pair merges applied step by step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import traitlets

from tfm_lib.corpora.story import story_words
from tfm_lib.data import apply_merges, learn_merges
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets._live import Live
from tfm_lib.widgets.base import Words

MERGING = Words(
    title="Tokeniser",
    question="Which words become one piece, and which stay in pieces to the end?",
    alt="After {used} merges the sentence “{sentence}” has {count} pieces for {words} words: {pieces}.",
    merges="merges",
    pieces="pieces",
    words="words",
)
LONGEST_TEXT = 120


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
            if any(_merge(pair) in pairwise(word) for word in pieces):
                pieces = self._cut(used)
            found.append(sum(map(len, pieces)))
        return found

    def _cut(self, used: int) -> list[list[str]]:
        merges = [*map(_merge, self.merges[:used])]
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


def _merge(pair: str) -> tuple[str, str]:
    left, right = pair.split(" ")
    return left, right


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence in lower case; each punctuation mark is a word."""
    return re.findall(r"\w+|[^\w\s]", sentence.lower())


def _letters(word: str) -> list[str]:
    return [*word[:-1], f"{word[-1]}·"]
