"""Define a corpus of running text: pairs of sentences in two languages, as people wrote them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Sentences = list[tuple[str, str]]
PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class TextCorpus:
    """Pairs of sentences, read on request (and downloaded if they are not on this machine)."""

    name: str
    languages: tuple[str, str]
    licence: str
    source: str
    read: Callable[[str], Sentences] = field(repr=False)
    parts: tuple[str, ...] = PARTS

    def sentences(self, part: str) -> Sentences:
        """Return the (source, target) pairs of one part: "train", "val", "test", or another of `parts`."""
        if part not in self.parts:
            raise ValueError(f"part must be one of {', '.join(self.parts)}; got {part!r}.")
        return self.read(part)
