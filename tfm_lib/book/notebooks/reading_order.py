"""The chapters in the order of the table of contents, each with the `teaser` of its front matter."""

from __future__ import annotations

from pathlib import Path

from tfm_lib.book.notebooks.contents import pages
from tfm_lib.book.notebooks.myst import front_matter


def teaser(path: Path) -> str:
    """What the chapter at `path` promises in the list of chapters; empty where it is not to be listed."""
    return front_matter(path.read_text(encoding="utf-8")).get("teaser", "")


def listed(root: Path) -> str:
    """The numbered list, in MyST, of the chapters that have a teaser."""
    told = [(name, teaser(root / f"{name}.md")) for name in pages(root) if (root / f"{name}.md").is_file()]
    lines = [f"{{doc}}`/{name}`: {words}" for name, words in told if words]
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
