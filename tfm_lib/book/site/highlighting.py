"""Code is coloured by a few kinds of words; what looks like plain text carries no element of its own.

Pygments marks every name, bracket and space. A chapter has seven thousand of them, more than all its other elements
together, and each costs a reader's browser time and a phone's memory.
"""

from __future__ import annotations

import re

from pygments.formatters import HtmlFormatter
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

from tfm_lib.book.site.assets import THEME


def coloured() -> set[str]:
    """The classes of words that the style sheet knows, as `k` in `.highlight .k { … }`."""
    return set(re.findall(r"\.highlight \.(\w+)", (THEME / "book.css").read_text(encoding="utf-8")))


class FewWords(HtmlFormatter):
    """Pygments' HTML, with elements for coloured words only."""

    kept = coloured()

    def _get_css_classes(self, ttype) -> str:
        classes = super()._get_css_classes(ttype)
        return classes if self.kept.intersection(classes.split()) else ""


def setup(app: Sphinx) -> None:
    PygmentsBridge.html_formatter = FewWords
