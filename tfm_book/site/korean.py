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
INITIALS = "ㄱㄱㄴㄷㄷㄹㅁㅂㅂㅅㅅㅇㅈㅈㅊㅋㅌㅍㅎ"  # of a syllable's nineteen first consonants, the doubled ones with the single


def names(korean: str) -> Iterator[str]:
    """Yield the names in "가산 점수, 가산 어텐션" or "어텐션(주의)": what is in brackets is another name."""
    for part in re.split(r",\s*(?![^()]*\))", korean):
        outer, _, inner = part.partition("(")
        yield from (name.strip() for name in (outer, inner.rstrip(")")) if re.search(r"[가-힣]", name))


def pairs(glossary: str) -> list[tuple[str, str]]:
    """Return each Korean name and its English term, in the order of the Korean alphabet."""
    found = {
        (normalize("NFC", name), entry[1].split("\n")[0].strip())
        for entry in ENTRY.finditer(glossary)
        for name in names(entry[2])
    }
    return sorted(found)


def initial(name: str) -> str:
    """Return the consonant with which the first Korean syllable of `name` begins; a Latin name stands under A."""
    code = ord(name[0]) - 0xAC00
    return INITIALS[code // 588] if 0 <= code < 11172 else "A"


class KoreanTerms(SphinxDirective):
    """The terms that have Korean names, by the first consonant."""

    def run(self) -> list[nodes.Node]:
        text = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        groups: dict[str, list[str]] = {}
        for name, term in pairs(text):
            groups.setdefault(initial(name), []).append(f"[{name}]{{.ko}} {{term}}`{term}`")
        lines = [line for letter, terms in groups.items() for line in (f"**{letter}** " + " · ".join(terms), "")]
        box = nodes.container(classes=["tfm-korean"])  # the search finds these names in the glossary itself
        self.state.nested_parse(StringList(lines, source=self.env.docname), self.content_offset, box)
        return [box]


def setup(app: Sphinx) -> None:
    app.add_directive("korean-terms", KoreanTerms)
