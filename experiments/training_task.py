"""The task of chapter `training`'s small runs: dates of eight countries as ids, and how to score a model on them."""

import itertools
from collections.abc import Iterator

import torch

from experiments.pair_samples import first_of
from tfm_lib.corpora import load_corpus
from tfm_lib.corpora.dates import date_tokenizer
from tfm_lib.data import Example, Tokenizer, batches
from tfm_lib.decoding import greedy_decode
from tfm_lib.training import Batch
from tfm_lib.transformer import Transformer, TransformerConfig

SIZE, VOCABULARY, MAX_TOKENS, HELD_OUT = 5000, 400, 500, 200


class Dates:
    """Training and held-out dates, and the tokenizer made for them."""

    def __init__(self) -> None:
        corpus = load_corpus("dates", size=SIZE)
        train, self.val = corpus.sentences("train"), first_of(corpus.sentences("val"), HELD_OUT)
        self.tokenizer = date_tokenizer((sentence for pair in train for sentence in pair), VOCABULARY)
        self.examples, self.held_out = self.encode(train), Batch.of(self.encode(self.val))

    def encode(self, pairs: list[tuple[str, str]]) -> list[Example]:
        return [Example(self.tokenizer.encode(src), self.tokenizer.encode(tgt)) for src, tgt in pairs]

    def batches(self, seed: int, max_tokens: int = MAX_TOKENS) -> Iterator[Batch]:
        """Yield batches of the training part endlessly, in an order determined by `seed`."""
        for epoch in itertools.count():
            yield from map(Batch.of, batches(self.examples, max_tokens, seed=1000 * seed + epoch))

    def model(self, **sizes) -> Transformer:
        return Transformer(TransformerConfig(len(self.tokenizer), **sizes))

    @torch.no_grad()
    def judge(self, model: Transformer) -> tuple[float, float]:
        """Return held-out cross-entropy per token without smoothing, and the share of dates without a mistake."""
        was_training = model.training
        model.eval()
        loss = torch.nn.functional.cross_entropy(
            model(self.held_out.src, self.held_out.tgt_in).flatten(0, 1),
            self.held_out.tgt_out.flatten(),
            ignore_index=0,
        )
        written = greedy_decode(model, self.held_out.src, Tokenizer.bos_id, Tokenizer.eos_id, max_len=16)
        right = [self.tokenizer.decode(ids) == tgt for ids, (_, tgt) in zip(written.tolist(), self.val)]
        model.train(was_training)
        return loss.item(), sum(right) / len(right)
