"""The questions of `chapters/data.md`."""

from collections import Counter
from itertools import pairwise

from tfm_lib.data import Example, apply_merges, learn_merges, padding_waste

PAD, BOS, EOS = 0, 1, 2


def _pieces_of_a_new_word() -> None:
    merges = learn_merges({"lower": 5, "newest": 6, "wider": 3}, 8)
    pieces = apply_merges("newer", merges)
    assert 1 < len(pieces) <= len("newer")
    letters = set("lowernewestwider")
    assert all(set(piece) <= letters | {"·"} for piece in pieces)


def _wastes() -> list[float]:
    def batch(*lengths: int) -> list[Example]:
        # the target rectangle holds an end sign, so a list of one less
        return [Example(src=[3] * n, tgt=[3] * (n - 1)) for n in lengths]

    two, one = [batch(2, 3), batch(4, 11)], [batch(2, 3, 4, 11)]
    shares = [padding_waste([group]) for group in two]
    words, places = 2 + 3 + 4 + 11, 2 * 3 + 2 * 11
    return [padding_waste(two), padding_waste(one), sum(shares) / 2, 1 - padding_waste(two), (places - words) / words]


def _given_pad() -> dict:
    def pad(rows: list[list[int]]) -> list[list[int]]:
        width = max(map(len, rows))
        return [row + [PAD] * (width - len(row)) for row in rows]

    return {"pad": pad, "PAD": PAD, "BOS": BOS, "EOS": EOS}


def _asks_for_the_end(names: dict) -> None:
    src, tgt_in, tgt_out = names["collate"]([([5, 6], [7]), ([5], [8, 9])])
    assert src == [[5, 6, EOS], [5, EOS, PAD]]
    assert tgt_in == [[BOS, 7, PAD], [BOS, 8, 9]]
    assert tgt_out == [[7, EOS, PAD], [8, 9, EOS]]


def _given_words() -> dict:
    def count_pairs(words: list[tuple[str, ...]]) -> Counter:
        return Counter(pair for word in words for pair in pairwise(word))

    def join(words: list[tuple[str, ...]], pair: tuple[str, str]) -> list[tuple[str, ...]]:
        return [tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split()) for word in words]

    return {"words": [tuple("low"), tuple("slow"), tuple("lot")], "count_pairs": count_pairs, "join": join}


def _one_merge(names: dict) -> None:
    assert names["words"] == [("lo", "w"), ("s", "lo", "w"), ("lo", "t")]
    assert names["pieces"] == {"lo", "w", "s", "t"}


VALUES = {"two-batches": _wastes}
TRIALS = {"never-stops": _asks_for_the_end, "one-merge": _one_merge}
GIVEN = {"never-stops": _given_pad, "one-merge": _given_words}
CLAIMS = {"unseen-word": _pieces_of_a_new_word}
