"""List the chapters in the order of the table of contents, each with its front-matter `teaser` and reading time."""

from __future__ import annotations

import re
from pathlib import Path

from tfm_book.notebooks.contents import pages
from tfm_book.notebooks.myst import front_matter


def teaser(path: Path) -> str:
    """Return the teaser of the chapter at `path`; empty if the list of chapters leaves it out."""
    return front_matter(path.read_text(encoding="utf-8")).get("teaser", "")


def minutes(path: Path) -> str:
    """Return the reading time that the chapter at `path` states; empty if it states none."""
    found = re.search(r"^:::\{kicker\} .*?(\d+ minutes)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return found[1] if found else ""


def listed(root: Path) -> str:
    """Return a numbered list, in MyST, of the chapters that have a teaser."""
    lines = [f"{{doc}}`/{name}`: {told}{f' *{time}.*' if time else ''}" for name, told, time in _told(root)]
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def listed_briefly(root: Path) -> str:
    """Return the same list with the first sentence of each teaser on a line of its own."""
    lines = [
        f"{{doc}}`/{name}`{f' *{time}*' if time else ''}\\\n   {told[0].upper()}{re.split('(?<=[.?!]) ', told)[0][1:]}"
        for name, told, time in _told(root)
    ]
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))


def _told(root: Path) -> list[tuple[str, str, str]]:
    """Name, teaser and minutes of each chapter that has a teaser."""
    paths = [(name, root / f"{name}.md") for name in pages(root) if (root / f"{name}.md").is_file()]
    return [(name, teaser(path), minutes(path)) for name, path in paths if teaser(path)]
