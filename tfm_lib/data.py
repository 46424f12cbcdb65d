"""Data: from sentences to sub-words, from sub-words to batches."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from tfm_lib._errors import (
    bad_input, require_counts, require_examples, require_ids_in_rows, require_kind, require_merges,
    require_path, require_rows, require_whole,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib._vocabulary import Vocabulary

__all__ = [
    "Example",
    "Tokenizer",
    "apply_merges",
    "batches",
    "learn_merges",
    "pad",
    "padding_waste",
]

Merge = tuple[str, str]
ONE_FORM = {  # what people type in several ways, and what the tokenizer reads
    "[\u00ad\u200b\ufeff]": "",  # signs that nobody sees
    "[\u2018\u2019]": "'",
    "[\u201c\u201d]": '"',
    r"\s+": " ",
}


def learn_merges(words: dict[str, int], n_merges: int) -> list[Merge]:
    """The byte-pair merges of `words` (word → count).

    At each step the most frequent neighbours become one symbol. Words begin as letters, the last
    one marked `·`; ties go to the pair that comes first in the alphabet.

    Source: Sennrich, Haddow and Birch (2016), section 3.2, algorithm 1.
    """
    require_counts("words", words)
    require_whole("n_merges", n_merges, 0, "be at least 0")
    symbols = {word: _letters(word) for word in words}
    merges: list[Merge] = []
    for _ in range(n_merges):
        pairs: Counter[Merge] = Counter()
        for word, count in words.items():
            for pair in zip(symbols[word], symbols[word][1:]):
                pairs[pair] += count
        if not pairs:
            break  # every word is one symbol
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        symbols = {word: _merge(pieces, best) for word, pieces in symbols.items()}
    return merges


def apply_merges(word: str, merges: Sequence[Merge]) -> list[str]:
    """`word` cut into sub-words: its letters, joined by `merges` in the order of their learning.

    Source: Sennrich, Haddow and Birch (2016), section 3.2.
    """
    require_merges(merges)
    pieces = _letters(word)
    for merge in merges:
        pieces = _merge(pieces, merge)
    return pieces


def _letters(word: str) -> list[str]:
    require_kind("word", word, str, "be a string")
    if not word:
        raise bad_input("word", "have at least one letter", "an empty one")
    return [*word[:-1], f"{word[-1]}·"]


def _merge(pieces: list[str], pair: Merge) -> list[str]:
    merged: list[str] = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


class Tokenizer:
    """Byte-pair encoding for both languages at once, by the library `tokenizers`.

    Ids 0 to 3 are <pad> <bos> <eos> <unk>. All white space between words is one space, and none
    stands at the ends.
    A special token that somebody types is text like any other: no sentence can end itself early.

    Source: Sennrich, Haddow and Birch (2016); Vaswani et al. (2017), section 5.1, share one
    vocabulary likewise.
    """

    pad_id, bos_id = Vocabulary.pad_id, Vocabulary.bos_id
    eos_id, unk_id = Vocabulary.eos_id, Vocabulary.unk_id

    def __init__(self, backend):
        backend.encode_special_tokens = True
        self._backend = backend

    @classmethod
    @checked
    def train(
        cls,
        sentences: Iterable[str],
        vocab_size: int,
        lowercase: bool = False,
        single_digits: bool = False,
        min_count: int = 1,
    ) -> "Tokenizer":
        """A tokenizer with at most `vocab_size` pieces, learned from `sentences`.

        With `single_digits` every digit is a piece of its own, so that no number is rare.
        Letters that occur fewer than `min_count` times become <unk> and, where the letters alone
        are more than `vocab_size`, the rarest of them.
        """
        from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
        from tokenizers import Tokenizer as Backend

        if not _is_int(vocab_size) or vocab_size < 5:
            must = "be at least 5, four special tokens and a letter"
            raise bad_input("vocab_size", must, vocab_size)
        require_whole("min_count", min_count, 0)
        sentences = _texts("sentences", sentences)
        if not any(map(str.strip, sentences)):
            raise bad_input("sentences", "hold at least one letter", "none")
        # room is made for all pieces at once, and no text has more of them than letters
        vocab_size = min(vocab_size, 1000 + 20 * sum(len(sentence) + 1 for sentence in sentences))
        backend = Backend(models.BPE(unk_token=Vocabulary.special[cls.unk_id]))
        backend.normalizer = normalizers.Sequence(
            [
                normalizers.NFKC(),  # one form of each letter
                *(normalizers.Replace(Regex(signs), one) for signs, one in ONE_FORM.items()),
                normalizers.Strip(),
                *([normalizers.Lowercase()] if lowercase else []),
            ]
        )
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Metaspace(),
                pre_tokenizers.Punctuation(),
                *([pre_tokenizers.Digits(individual_digits=True)] if single_digits else []),
            ]
        )
        backend.decoder = decoders.Metaspace()
        alphabet = vocab_size - 4
        if min_count > 1:
            read = backend.normalizer.normalize_str
            counts = Counter(letter for sentence in sentences for letter in read(sentence))
            alphabet = min(alphabet, sum(count >= min_count for count in counts.values()))
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            limit_alphabet=alphabet,
            special_tokens=[*Vocabulary.special],
            show_progress=False,
        )
        backend.train_from_iterator(sentences, trainer)
        return cls(backend)

    @classmethod
    def load(cls, path: Path | str) -> "Tokenizer":
        """The tokenizer that `save` wrote to `path`."""
        from tokenizers import Tokenizer as Backend

        require_path("path", path)
        if not Path(path).is_file():
            raise FileNotFoundError(f"There is no tokenizer at {path}.")
        try:
            tokenizer = cls(Backend.from_file(str(path)))
        except Exception as error:  # the library knows no finer one
            raise ValueError(f"{path} holds no tokenizer: {error}.") from None
        wanted = " ".join(Vocabulary.special)
        special = " ".join(tokenizer.piece(i) for i in range(min(4, len(tokenizer))))
        if special != wanted:
            told = f"ids 0 to 3 should be {wanted}; they are {special}."
            raise ValueError(f"{path} holds another tokenizer: {told}")
        return tokenizer

    def save(self, path: Path | str) -> None:
        """Write the tokenizer to `path`, one JSON file."""
        require_path("path", path)
        self._backend.save(str(path))

    def to_json(self) -> str:
        """What `save` writes."""
        return self._backend.to_str()

    def __len__(self) -> int:
        return self._backend.get_vocab_size()

    def encode(self, sentence: str) -> list[int]:
        """The ids of `sentence`, without <bos> and <eos>."""
        return self._backend.encode(_text("sentence", sentence)).ids

    def encode_all(self, sentences: Sequence[str]) -> list[list[int]]:
        """`encode` for many sentences, in parallel."""
        encodings = self._backend.encode_batch(_texts("sentences", sentences))
        return [encoding.ids for encoding in encodings]

    def words(self, sentence: str) -> list[str]:
        """The words and marks within which letters are joined; `▁` marks a word's beginning."""
        text = self._backend.normalizer.normalize_str(_text("sentence", sentence))
        return [word for word, _ in self._backend.pre_tokenizer.pre_tokenize_str(text)]

    def pieces(self, sentence: str) -> list[str]:
        """The sub-words of `sentence`; `▁` marks the beginning of a word."""
        return self._backend.encode(_text("sentence", sentence)).tokens

    def piece(self, token_id: int) -> str:
        """The sub-word behind one id."""
        return self._backend.id_to_token(self._id("token_id", token_id))

    def unknown(self, sentence: str) -> list[str]:
        """The signs of `sentence` that become <unk>, in their order."""
        encoding = self._backend.encode(_text("sentence", sentence))
        places = zip(encoding.ids, encoding.offsets)
        return [sentence[begin:end] for i, (begin, end) in places if i == self.unk_id]

    def decode(self, ids: Sequence[int], unknown: Iterable[str] = ()) -> str:
        """The sentence of `ids`, up to the first <eos>, without special tokens.

        The signs in `unknown` take the places of <unk>, one after the other.
        """
        if isinstance(ids, str) or not isinstance(ids, (Iterable, Tensor)):
            raise bad_input("ids", "be a list of integers", f"{ids!r}")
        ids = [self._id("ids", i) for i in (ids.tolist() if isinstance(ids, Tensor) else ids)]
        if self.eos_id in ids:
            ids = ids[: ids.index(self.eos_id)]
        signs, pieces = iter(unknown), []
        for i in ids:
            if i == self.unk_id:
                pieces.append(next(signs, ""))
            elif i not in (self.pad_id, self.bos_id):
                pieces.append(self.piece(i))
        return "".join(pieces).replace("▁", " ").removeprefix(" ")

    def _id(self, name: str, i: int) -> int:
        if not _is_int(i) or not 0 <= i < len(self):
            raise bad_input(name, f"be an id from 0 to {len(self) - 1}", f"{i!r}")
        return int(i)


def _is_int(number: object) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool)


def _text(name: str, text: str) -> str:
    if not isinstance(text, str):
        raise bad_input(name, "be a string", f"{text!r}")
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        raise bad_input(name, "be text that can be written as UTF-8", f"half of a sign in {text[:40]!r}")
    return text


def _texts(name: str, texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise bad_input(name, "be a list of strings", f"{texts!r}")
    return [_text(f"{name}[{i}]", text) for i, text in enumerate(texts)]


class Example(NamedTuple):
    """One pair of sentences as ids, without special tokens."""

    src: list[int]
    tgt: list[int]


def pad(rows: Sequence[Sequence[int]], pad_id: int = Vocabulary.pad_id) -> Int[Tensor, "batch n"]:
    """`rows` as one rectangle, filled up with `pad_id` on the right."""
    require_ids_in_rows("rows", rows)
    require_whole("pad_id", pad_id)
    if not len(rows):
        raise bad_input("rows", "hold at least one row", "none")
    longest = max(map(len, rows))
    filled = [[*row, *[pad_id] * (longest - len(row))] for row in rows]
    return torch.tensor(filled, dtype=torch.long)


def batches(
    examples: Sequence[Example], max_tokens: int, seed: int | None = None, pool: int = 50
) -> Iterator[list[Example]]:
    """`examples` in batches of similar length, each of at most `max_tokens` target tokens.

    Padding counts. With a `seed` the examples are shuffled, sorted by length within pools of
    `pool` · `max_tokens` tokens, and the batches of a pool shuffled; without one they come sorted
    by length.

    Source: Vaswani et al. (2017), section 5.1: about 25,000 tokens a side.
    """
    require_examples("examples", examples)
    require_whole("max_tokens", max_tokens, 1, "be at least 1")
    require_whole("pool", pool, 1)
    if seed is not None:
        require_whole("seed", seed)
    if seed is None:
        yield from _packed(sorted(examples, key=_length), max_tokens)
        return
    draw = random.Random(seed)
    shuffled = draw.sample(examples, len(examples))
    for some in _packed(shuffled, pool * max_tokens):
        packed = list(_packed(sorted(some, key=_length), max_tokens))
        draw.shuffle(packed)
        yield from packed


def _packed(examples: Sequence[Example], max_tokens: int) -> Iterator[list[Example]]:
    """Consecutive `examples` in groups of as many as fit; one that is too long stands alone."""
    group: list[Example] = []
    longest = 0
    for example in examples:
        longest = max(longest, _length(example)[0])
        if group and longest * (len(group) + 1) > max_tokens:
            yield group
            group, longest = [], _length(example)[0]
        group.append(example)
    if group:
        yield group


def _length(example: Example) -> tuple[int, int]:
    """Target and source length, <bos> or <eos> included."""
    return len(example.tgt) + 1, len(example.src) + 1


def padding_waste(groups: Sequence[Sequence[Example]]) -> float:
    """The share of places in the target rectangles of `groups` that hold padding."""
    require_rows("groups", groups, "be lists of examples, as batches gives them")
    if not groups:
        raise bad_input("groups", "hold at least one batch", "none")
    for group in groups:
        require_examples("groups", group, least=1)
    real = sum(_length(example)[0] for group in groups for example in group)
    places = sum(len(group) * max(_length(example)[0] for example in group) for group in groups)
    return 1 - real / places
