"""Define the book's formula macros for every program that shows formulas."""

from __future__ import annotations

import re

from tfm_lib.drawing.display import colours

#: Macros of the book's formulas: name → (CSS class of its colour or None, body).
MACROS: dict[str, tuple[str | None, str]] = {
    r"\Q": ("q", "Q"),
    r"\K": ("k", "K"),
    r"\V": ("v", "V"),
    r"\q": ("q", "q"),
    r"\k": ("k", "k"),
    r"\v": ("v", "v"),
    r"\softmax": (None, r"\operatorname{softmax}"),
    r"\R": (None, r"\mathbb{R}"),
}


def expand_macros(tex: str) -> str:
    """Return `tex` with the book's macros expanded, for readers whose MathJax does not know them."""
    names = {"q": "query", "k": "key", "v": "value"}

    def plain(match: re.Match[str]) -> str:
        if match[0] not in MACROS:
            return match[0]
        css, body = MACROS[match[0]]
        return rf"{{\color{{{colours()[names[css]]}}}{{{body}}}}}" if css else body

    return re.sub(r"\\(?:[A-Za-z]+|.)", plain, tex, flags=re.DOTALL)
