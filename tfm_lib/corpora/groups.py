"""Words in groups, with one sign per group that only the prompt reveals: "otter D, plum A, crow D, fig …".

Each prompt draws the groups' signs anew, so no prompt can be completed from memory. A share of all possible mappings
from groups to signs is held out: `mappings(…, "train")` never draws one of them.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from tfm_lib._errors import require_choice
from tfm_lib._vocabulary import Vocabulary

GROUPS: dict[str, tuple[str, ...]] = {
    "animal": tuple("otter cat horse goat sheep mouse".split()),
    "colour": tuple("red blue green yellow brown black".split()),
    "fruit": tuple("apple pear plum cherry peach lemon".split()),
    "tool": tuple("hammer saw drill file axe spade".split()),
}
SIGNS = tuple("ABCDEFGH")
WORDS = tuple(word for words in GROUPS.values() for word in words)
A_GROUP = len(WORDS) // len(GROUPS)  # words in one group
FIRST_WORD = len(Vocabulary.special)
FIRST_SIGN = FIRST_WORD + len(WORDS)
TOKENS = (*Vocabulary.special, *WORDS, *SIGNS)
HELD_OUT = 1 / 16


def mappings(count: int, part: Literal["train", "test"], generator: torch.Generator) -> Tensor:
    """Draw `count` mappings of groups to signs, (count, groups), all of one part; two groups may share a sign."""
    require_choice("part", part, ("train", "test"))
    kept, found = [], 0
    while found < count:
        drawn = torch.randint(
            len(SIGNS), (count * 20 if part == "test" else count + 10, len(GROUPS)), generator=generator
        )
        kept.append(drawn[_held_out(drawn) == (part == "test")])
        found += len(kept[-1])
    return torch.cat(kept)[:count]


def prompts(
    mapping: Tensor, examples: int, generator: torch.Generator, asked_before: bool = False
) -> tuple[Tensor, Tensor]:
    """Return ids (count, 2·examples + 1), words and signs in turn, the last word asked for; and the right signs.

    The word asked for is never among the examples unless `asked_before` is set.
    """
    words = torch.randint(len(WORDS), (len(mapping), examples + 1), generator=generator)
    if not asked_before:  # the examples are drawn from all words except the last one
        others = torch.randint(len(WORDS) - 1, (len(mapping), examples), generator=generator)
        words[:, :-1] = others + (others >= words[:, -1:])
    signs = mapping.gather(1, words // A_GROUP)
    ids = torch.stack([FIRST_WORD + words, FIRST_SIGN + signs], dim=-1).flatten(1)
    return ids[:, :-1], ids[:, -1]


def shuffled(ids: Tensor, generator: torch.Generator) -> Tensor:
    """Return the same prompts with their signs permuted: the same words, the same signs, no rule."""
    signs = ids[:, 1::2]
    order = torch.rand(signs.shape, generator=generator).argsort(dim=1)
    mixed = ids.clone()
    mixed[:, 1::2] = signs.gather(1, order)
    return mixed


def group_of(ids: Tensor) -> Tensor:
    """Return the group of each word, −1 for other tokens."""
    inside = (ids >= FIRST_WORD) & (ids < FIRST_SIGN)
    return torch.where(inside, (ids - FIRST_WORD) // A_GROUP, -1)


def best_possible(ids: Tensor) -> Tensor:
    """Return the best possible accuracy for each prompt: 1 if the group was shown, else one in eight."""
    shown = (group_of(ids[:, :-1:2]) == group_of(ids[:, -1:])).any(dim=1)
    return torch.where(shown, 1.0, 1.0 / len(SIGNS))


def _held_out(mapping: Tensor) -> Tensor:
    """Return whether a mapping is held out, by a hash of its signs, so that the choice is always the same."""
    number = (mapping * len(SIGNS) ** torch.arange(len(GROUPS))).sum(dim=1)
    return (number * 2654435761) % 2**32 < 2**32 * HELD_OUT
