"""The capstone's task: numbers in English words, which the machine writes in digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import torch

from tfm_lib import decoding
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.corpora.corpus import Pair
from tfm_lib.corpora.numbers import numbers
from tfm_lib.data import Example, batches
from tfm_lib.training import Batch
from tfm_lib.transformer import Transformer

TEST = 1000  # numbers for the end
TOKENS = 512  # of the targets of a batch
LONGEST = 8  # tokens that are written at most: six digits are the most that are right


class Numbers:
    """Numbers from 1 to 999,999, always the same ones; words and digits share one `vocabulary`.

    Of 5,000, `train` are pairs to train on, `val` pairs to look at. `test` are 1,000 others for the end.
    """

    def __init__(self) -> None:
        corpus = numbers()
        self.vocabulary = Vocabulary(token for pair in corpus.pairs for token in (*pair.src, *pair.tgt))
        self.train, self.val = corpus.split("train"), [*corpus.split("val"), *corpus.split("test")]
        seen = set(corpus.pairs)
        self.test = [pair for pair in numbers(2 * TEST, seed=1).pairs if pair not in seen][:TEST]

    def examples(self, pairs: Sequence[Pair]) -> list[Example]:
        """The ids of `pairs`."""
        return [Example(self.vocabulary.encode(pair.src), self.vocabulary.encode(pair.tgt)) for pair in pairs]

    def batches(self, seed: int = 0) -> Iterator[Batch]:
        """Batches of `train` without end, in an order that `seed` decides; at most 512 target tokens in each."""
        examples = self.examples(self.train)
        for epoch in count():
            for some in batches(examples, TOKENS, seed=1000 * seed + epoch):
                yield Batch.of(some)

    def written(self, model: Transformer, pairs: Sequence[Pair]) -> list[str]:
        """The digits that `model` writes for each of `pairs`, the most probable next one at each step."""
        batch = Batch.of(self.examples(pairs))
        training = model.training
        model.eval()
        with torch.no_grad():
            ids = decoding.greedy_decode(
                model, batch.src, Vocabulary.bos_id, Vocabulary.eos_id, max_len=LONGEST, use_cache=False
            )
        model.train(training)
        return ["".join(self.vocabulary.decode(row)) for row in ids.tolist()]

    def exact(self, model: Transformer, pairs: Sequence[Pair]) -> float:
        """The share of `pairs` that `model` writes without a mistake."""
        right = ["".join(pair.tgt) for pair in pairs]
        return sum(map(str.__eq__, self.written(model, pairs), right)) / len(right)
