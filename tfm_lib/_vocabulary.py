"""Define the special tokens and their ids, used wherever ids are made, padded or read."""

from collections.abc import Iterable, Sequence


class Vocabulary:
    """Tokens by id and ids by token, the special ones first.

    The class itself holds the special ids, so that it can be used where only those are needed.
    """

    special = ("<pad>", "<bos>", "<eos>", "<unk>")
    pad_id, bos_id, eos_id, unk_id = range(4)

    def __init__(self, tokens: Iterable[str]):
        self.tokens = (*self.special, *sorted(set(tokens)))
        self.ids = {token: i for i, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return the ids of `tokens`; an unknown token becomes <unk>."""
        return [self.ids.get(token, self.unk_id) for token in tokens]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of `ids` up to the first <eos>, without <pad> and <bos>."""
        tokens = []
        for i in ids:
            if i == self.eos_id:
                break
            if i not in (self.pad_id, self.bos_id):
                tokens.append(self.tokens[i])
        return tokens
