"""Sub-word dropout: split words slightly differently in every epoch, so that no model memorises one segmentation."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import pairwise

from tfm_lib.data import Example, Tokenizer

VARIANTS = 16  # segmentations drawn for each word


class SubwordDropout:
    """The examples of `pairs` by epoch; each merge of the byte-pair encoding is left out with probability `p`.

    For every word, `VARIANTS` segmentations are drawn once; each occurrence of the word uses one of them. All random
    choices follow from `seed` and the epoch's number. An example with `longest` tokens or more on a side is left out.

    Source: Provilkov, Emelianenko and Voita (2020), section 3.
    Differs: they draw anew at every occurrence.
    """

    def __init__(
        self, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], p: float, seed: int = 0, longest: int = 200
    ):
        words = [[tokenizer.words(side) for side in pair] for pair in pairs]
        cutter, draw = Cutter(tokenizer), random.Random(seed)
        names = dict.fromkeys(word for pair in words for side in pair for word in side)
        self._cuts = {word: [cutter.cut(word, p, draw) for _ in range(VARIANTS)] for word in names}
        self._words, self._seed, self._longest = words, seed, longest

    def __call__(self, epoch: int) -> list[Example]:
        """Return all examples, segmented for this epoch."""
        draw = random.Random(f"{self._seed}, {epoch}").random
        cut = self._cuts
        examples = (
            Example(*([piece for word in side for piece in cut[word][int(VARIANTS * draw())]] for side in pair))
            for pair in self._words
        )
        return [example for example in examples if max(map(len, example)) < self._longest]


class Cutter:
    """Byte-pair encoding of one word with randomly omitted merges; at p = 0 it equals the tokenizer's."""

    def __init__(self, tokenizer: Tokenizer):
        model = json.loads(tokenizer.to_json())["model"]
        self._ranks = {tuple(merge): rank for rank, merge in enumerate(model["merges"])}
        self._ids, self._unk = model["vocab"], tokenizer.unk_id

    def cut(self, word: str, p: float, draw: random.Random) -> list[int]:
        """Return the ids of `word`, applying the earliest learned of the possible merges until none is left."""
        symbols = list(word)
        while True:
            merges = [
                (self._ranks[pair], place)
                for place, pair in enumerate(pairwise(symbols))
                if pair in self._ranks and draw.random() >= p
            ]
            if not merges:
                return [self._ids.get(symbol, self._unk) for symbol in symbols]
            _, place = min(merges)
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
