"""Sub-word dropout: the tokenizer's own cuts without dropout, other cuts of the same words with it."""

import random

import pytest

from tfm_lib.corpora import load_corpus
from tfm_lib.data import Tokenizer
from tfm_lib.engine.subwords import VARIANTS, Cutter, SubwordDropout


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    return load_corpus("questions", size=400).sentences("train")


@pytest.fixture(scope="module")
def tokenizer(pairs) -> Tokenizer:
    return Tokenizer.train((side for pair in pairs for side in pair), 120)


def cut(cutter: Cutter, tokenizer: Tokenizer, sentence: str, p: float) -> list[int]:
    return [piece for word in tokenizer.words(sentence) for piece in cutter.cut(word, p, random.Random(0))]


@pytest.mark.parametrize("strange", ["", "  two  spaces ", "Ω is unknown", "don't!", "ﬁne", "<eos>"])
def test_without_dropout_the_cuts_are_the_tokenizers(pairs, tokenizer, strange):
    cutter = Cutter(tokenizer)
    for sentence in [strange, *(side for pair in pairs[:100] for side in pair)]:
        assert cut(cutter, tokenizer, sentence, 0.0) == tokenizer.encode(sentence), sentence


def test_dropout_changes_the_cuts_and_never_the_text(pairs, tokenizer):
    cutter = Cutter(tokenizer)
    changed = 0
    for sentence in (side for pair in pairs[:100] for side in pair):
        ids = cut(cutter, tokenizer, sentence, 0.3)
        assert tokenizer.decode(ids) == sentence
        changed += ids != tokenizer.encode(sentence)
    assert changed > 50


def test_with_every_merge_left_out_letters_remain(tokenizer):
    ids = Cutter(tokenizer).cut("▁two", 1.0, random.Random(0))
    assert [tokenizer.piece(i) for i in ids] == ["▁", "t", "w", "o"]


def test_an_epoch_follows_from_the_seed_and_its_number(pairs, tokenizer):
    one, same, other = (SubwordDropout(tokenizer, pairs, 0.3, seed) for seed in (1, 1, 2))
    assert one(3) == same(3)
    assert one(3) != one(4) and one(3) != other(3)
    assert len({tuple(one(epoch)[0].src) for epoch in range(60)}) > 3, "a sentence keeps being cut in few ways"


def test_each_word_has_as_many_cuts_as_are_said(pairs, tokenizer):
    cuts = SubwordDropout(tokenizer, pairs, 0.3)._cuts
    assert {len(some) for some in cuts.values()} == {VARIANTS}


def test_what_is_too_long_is_left_out(pairs, tokenizer):
    assert not SubwordDropout(tokenizer, pairs, 0.0, longest=1)(0)
    assert len(SubwordDropout(tokenizer, pairs, 0.0, longest=200)(0)) == len(pairs)
