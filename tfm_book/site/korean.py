"""List the glossary from Korean to English: `{korean-terms}` in the glossary's own file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ENTRY = re.compile(r"^((?:[^\s:].*\n)+)  (?:.*\n  )*?.*\*Korean:\*\s*\[(.+?)\]\{\.ko\}", re.MULTILINE)
HEADS = (
    "가가나다다라마바바사사아자자차카타파하"  # for a syllable's nineteen first consonants, the doubled with the single
)


def names(korean: str) -> Iterator[str]:
    """Yield the names in "가산 점수, 가산 어텐션" or "어텐션(주의)": what is in brackets is another name."""
    for part in re.split(r",\s*(?![^()]*\))", korean):
        outer, _, inner = part.rstrip(")").partition("(") if part.endswith(")") else (part, "", "")
        yield from (name.strip() for name in (outer, inner) if re.search(r"[가-힣]", name))


def pairs(glossary: str) -> list[tuple[str, str]]:
    """Return each Korean name and its English term, in the order of the Korean alphabet."""
    found = {
        (normalize("NFC", name), entry[1].split("\n")[0].strip())
        for entry in ENTRY.finditer(glossary)
        for name in names(entry[2])
    }
    return sorted(found)


def initial(name: str) -> str:
    """Return the syllable under which `name` stands in a dictionary, by its first consonant; A for a Latin name."""
    code = ord(name[0]) - 0xAC00
    return HEADS[code // 588] if 0 <= code < 11172 else "A"


def _ko(text: str) -> str:
    return f"[{text}]{{.ko}}"


class KoreanTerms(SphinxDirective):
    """The terms that have Korean names, by the first consonant."""

    def run(self) -> list[nodes.Node]:
        text = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        groups: dict[str, list[str]] = {}
        for name, term in pairs(text):
            groups.setdefault(initial(name), []).append(f"{_ko(name)} {{term}}`{term}`")
        lines = [line for letter, terms in groups.items() for line in (f"**{_ko(letter)}** " + " · ".join(terms), "")]
        box = nodes.container(classes=["tfm-korean"])  # the search finds these names in the glossary itself
        self.state.nested_parse(StringList(lines, source=self.env.docname), self.content_offset, box)
        return [box]


def setup(app: Sphinx) -> None:
    app.add_directive("korean-terms", KoreanTerms)
