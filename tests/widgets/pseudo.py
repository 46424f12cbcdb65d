"""A language made up of fullwidth letters: what still stands in plain ones was not among the words to replace."""

from __future__ import annotations

import re
from typing import Any

from tfm_lib.widgets.base import Words

#: Not of any language: names of the mathematics and in the code, units.
SIGNS = re.compile(r"\bPE\b|\b[kMGT]?B\b|\brad\b|[A-Za-z]+(?:[._][A-Za-z_]+)+")
TEMPLATE = re.compile(r"\{[^}]*\}|[A-Za-z]")


def pseudo(words: Any) -> Any:
    """Words, or lists and dictionaries of words, in that language; the keys and what is in braces stay."""
    if isinstance(words, str):
        return TEMPLATE.sub(lambda found: found[0] if len(found[0]) > 1 else chr(ord(found[0]) + 0xFEE0), words)
    if isinstance(words, Words):
        return Words(**{name: pseudo(each) for name, each in vars(words).items()})
    if isinstance(words, dict):
        return {name: pseudo(each) for name, each in words.items()}
    if isinstance(words, int | float):  # when a caption begins
        return words
    return type(words)(pseudo(each) for each in words)


def strings(data: Any, keys: bool = True) -> list[str]:
    """Every string in plain data, those that are keys too."""
    if isinstance(data, dict):
        return [*(strings(list(data)) if keys else []), *strings(list(data.values()), keys)]
    if isinstance(data, (list, tuple)):
        return [text for each in data for text in strings(each, keys)]
    return [data] if isinstance(data, str) else []


def untranslated(text: str, data: Any) -> list[str]:
    """The words of two and more plain letters in a text that are not words of the data that is shown."""
    known = {word for each in strings(data) for word in re.findall(r"[A-Za-z]+", each)}
    return [word for word in re.findall(r"[A-Za-z]{2,}", SIGNS.sub(" ", text)) if word not in known]


def data_of(state: dict[str, Any]) -> dict[str, Any]:
    """The part of a widget's state that is no words of its own."""
    return {name: each for name, each in state.items() if name not in ("title", "question", "shared")}
