"""Reduce syntax highlighting to the coloured token classes, so that plain text needs no elements.

Pygments marks every name, bracket and space. A chapter has seven thousand such elements, more than all its others
together, and each costs rendering time in the browser and memory on a phone.
"""

from __future__ import annotations

import re
from functools import cache

from docutils import nodes
from sphinx.application import Sphinx

from tfm_book.site.assets import THEME

LISTING = re.compile(r'(?<=<div class="highlight"><pre>).*?(?=</pre>)', re.DOTALL)
WORD = re.compile(r'<span class="([^"]+)">([^<]*)</span>')


@cache
def coloured() -> frozenset[str]:
    """Return the token classes that the style sheet colours, as `k` in `.highlight .k { … }`."""
    return frozenset(re.findall(r"\.highlight \.(\w+)", (THEME / "book.css").read_text(encoding="utf-8")))


def few_words(html: str) -> str:
    """Return `html` whose listings have elements only for coloured tokens."""

    def plain(word: re.Match[str]) -> str:
        return word[0] if coloured().intersection(word[1].split()) else word[2]

    return LISTING.sub(lambda listing: WORD.sub(plain, listing[0]), html)


def _few_words(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    if "body" in context:
        context["body"] = few_words(context["body"])


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", _few_words, priority=930)
