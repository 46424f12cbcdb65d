"""Format the book's references as plain text, for a sentence and for a list."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_NAMES = {1: "{0}", 2: "{0} and {1}"}


@cache
def _entries(path: Path, changed: int) -> dict:
    from pybtex.database import parse_file

    return {key.lower(): entry for key, entry in parse_file(str(path)).entries.items()}


def _entry(root: Path, key: str):
    path = root / "references.bib"
    entries = _entries(path, path.stat().st_mtime_ns)
    if key.lower() not in entries:
        raise KeyError(f"references.bib has no entry {key!r}.")
    return entries[key.lower()]


def names(root: Path, key: str) -> str:
    """Return the authors as a sentence names them: Vaswani et al.; Bahdanau and Cho; Graves."""
    last = [
        _plain(" ".join([*person.prelast_names, *person.last_names])) for person in _entry(root, key).persons["author"]
    ]
    return _NAMES.get(len(last), "{0} et al.").format(*last)


def year(root: Path, key: str) -> str:
    return _entry(root, key).fields["year"]


def listed(root: Path, key: str) -> str:
    """Return the reference as a line of Markdown: authors, year, title, venue, address."""
    entry = _entry(root, key)
    people = [
        _plain(str(" ".join([*p.first_names, *p.middle_names, *p.prelast_names, *p.last_names])))
        for p in entry.persons["author"]
    ]
    people = people if len(people) <= 4 else [*people[:3], "others"]
    authors = people[0] if len(people) == 1 else f"{', '.join(people[:-1])} and {people[-1]}"
    fields = {name: _plain(value) for name, value in entry.fields.items()}
    place = fields.get("booktitle") or fields.get("journal") or fields.get("publisher") or fields.get("school")
    parts = [f"{authors} ({fields['year']}). *{fields['title']}*."]
    parts += [f"{place}."] if place else []
    if "doi" in fields:
        parts.append(f"[doi:{fields['doi']}](https://doi.org/{fields['doi']})")
    elif "eprint" in fields:
        parts.append(f"[arXiv:{fields['eprint']}](https://arxiv.org/abs/{fields['eprint']})")
    elif "url" in fields:
        parts.append(f"<{fields['url']}>")
    return " ".join(parts)


def _plain(latex: str) -> str:
    from pybtex.richtext import Text

    text = str(Text.from_latex(latex)) if re.search(r"[\\{]", latex) else latex
    return text.replace("--", "–").replace("\n", " ")
