"""Define a corpus of token lists: pairs, a vocabulary for each side, and a fixed split."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from torch import Tensor

from tfm_lib._errors import require_choice
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.data import Example
from tfm_lib.training import Batch

PAD_ID, BOS_ID, EOS_ID, UNK_ID = Vocabulary.pad_id, Vocabulary.bos_id, Vocabulary.eos_id, Vocabulary.unk_id


@dataclass(frozen=True)
class Pair:
    """One example: source and target tokens; `links` holds known alignments as (target position, source position).

    `possible` holds links that a good aligner may or may not find, such as *hundred* with the digit before it.
    """

    src: tuple[str, ...]
    tgt: tuple[str, ...]
    links: frozenset[tuple[int, int]] = frozenset()
    possible: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Corpus:
    """Pairs of sentences with their vocabularies. `split` uses the source's hash, so it never changes."""

    name: str
    pairs: tuple[Pair, ...] = field(repr=False)

    @cached_property
    def src_vocab(self) -> Vocabulary:
        return Vocabulary(token for pair in self.pairs for token in pair.src)

    @cached_property
    def tgt_vocab(self) -> Vocabulary:
        return Vocabulary(token for pair in self.pairs for token in pair.tgt)

    def split(self, part: Literal["train", "val", "test"]) -> list[Pair]:
        """Return the pairs of one part: about 80 % train, 10 % val, 10 % test; equal sources share a part."""
        require_choice("part", part, ("train", "val", "test"))
        return [pair for pair in self.pairs if _part(pair) == part]

    def sentences(self, part: Literal["train", "val", "test"]) -> list[tuple[str, str]]:
        """Return the pairs of one part as text, with tokens joined by single spaces."""
        return [(" ".join(pair.src), " ".join(pair.tgt)) for pair in self.split(part)]

    def tensors(self, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        """Return padded ids: sources with <eos> (batch, m), decoder inputs <bos> … and outputs … <eos> (batch, n)."""
        examples = [Example(self.src_vocab.encode(pair.src), self.tgt_vocab.encode(pair.tgt)) for pair in pairs]
        return Batch.of(examples, self.tgt_vocab)[:3]


def _part(pair: Pair) -> str:
    bucket = hashlib.sha256(" ".join(pair.src).encode()).digest()[0]
    return "test" if bucket < 26 else "val" if bucket < 51 else "train"
