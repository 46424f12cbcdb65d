"""Locate the book's folder and list its pages in the order of the table of contents."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tfm_lib._refusal import Refusal


class NoBook(Refusal):
    """There is no book in the folder where one was expected."""


class UnknownChapter(Refusal):
    """The table of contents does not have the requested chapter; the message names the closest matches."""


def find_root(start: Path | None = None) -> Path:
    """Return the book's folder: the nearest from `start` upwards with a `_toc.yml`, else this library's checkout."""
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents, Path(__file__).resolve().parents[2]):
        if (folder / "_toc.yml").is_file() and (folder / "_config.yml").is_file():
            return folder
    raise NoBook(f"There is no book in {start} or above it (no _toc.yml with _config.yml). Go into the book's folder.")


def pages(root: Path) -> list[str]:
    """Return the pages of the table of contents in reading order, as `chapters/masking`."""
    import yaml

    def files(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (node[key] for key in ("root", "file") if key in node)
            for value in node.values():
                yield from files(value)
        elif isinstance(node, list):
            for value in node:
                yield from files(value)

    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    return [name.removesuffix(".md") for name in files(toc)]


def book_title(root: Path) -> str:
    """Return the book's title from `_config.yml`."""
    import yaml

    return yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["title"]


def parts(root: Path) -> list[tuple[str, list[str]]]:
    """Return the parts of the table of contents: the caption (empty if there is none) and the pages below it."""
    import yaml

    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    listed = [("", [{"file": toc["root"]}]), ("", toc.get("chapters", []))]
    listed += [(part.get("caption", ""), part["chapters"]) for part in toc.get("parts", [])]
    return [
        (caption, [entry["file"].removesuffix(".md") for entry in entries]) for caption, entries in listed if entries
    ]


def pages_named(names: Iterable[str], root: Path) -> list[str]:
    """Return the pages that `names` refer to: `masking`, `chapters/masking` or `chapters/masking.md`."""
    known = {page.rpartition("/")[2]: page for page in pages(root)}
    found = []
    for name in names:
        stem = name.replace("\\", "/").rstrip("/").rpartition("/")[2].removesuffix(".md")
        if stem not in known:
            near = difflib.get_close_matches(stem, known, n=3, cutoff=0.62)
            hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(known)}."
            raise UnknownChapter(f"There is no chapter {name}. {hint}")
        found.append(known[stem])
    return found
