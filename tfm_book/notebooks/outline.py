"""List what a chapter's references can target: titles, figures, equations and exercises, numbered as in the book."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path

from tfm_book.notebooks.myst import Block, blocks, within


@dataclass
class Outline:
    """The numbers and titles of one chapter."""

    path: Path
    title: str = ""
    equations: dict[str, int] = field(default_factory=dict)
    exercises: dict[str, int] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)  # titles of sections and exercises, by label
    figures: dict[str, int] = field(default_factory=dict)  # by label, else by file
    assigned: set[str] = field(default_factory=set)

    def figure_number(self, block: Block) -> int | str:
        return self.figures.get(block.options.get("name") or block.argument, "")

    def refer(self, role: str, target: str) -> str:
        """Return the text for a reference to `target`, in this chapter or in another."""
        if role == "doc":
            stem = target.rsplit("/", 1)[-1].removesuffix(".md")
            other = self.path.with_name(f"{stem}.md")
            return f"*{title(other)}*" if other.exists() else stem
        for path in self._here_first():
            if target not in path.read_text(encoding="utf-8"):  # an outline takes ten times as long as this
                continue
            chapter = outline(path)
            found = chapter._found(target)
            if found:
                return found if chapter.path == self.path else f"{found} in *{chapter.title}*"
        raise ValueError(f"{self.path.name}: nothing in the book is called {target!r}.")

    def _found(self, target: str) -> str:
        if target in self.equations:
            return f"({self.equations[target]})"
        if target in self.figures:
            return f"Figure {self.figures[target]}"
        if target in self.exercises:
            return f"Exercise {self.exercises[target]}"
        return self.titles.get(target, "")

    def _here_first(self) -> Iterator[Path]:
        yield self.path
        yield from (path for path in sorted(self.path.parent.glob("*.md")) if path != self.path)


def title(path: Path) -> str:
    """Return the title of the chapter at `path`, without reading the whole chapter as an outline does."""
    found = re.search(r"^# (.*)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return _plain(found[1]) if found else ""


def outline(path: Path) -> Outline:
    """Return the outline of the chapter at `path`."""
    return _outline(path, path.stat().st_mtime_ns)


def plotted(block: Block) -> dict[str, str]:
    """Return the name and caption of the numbered figure that a code cell plots; empty if it plots none."""
    if block.name != "code-cell" or "mystnb" not in block.options:
        return {}
    import yaml

    return yaml.safe_load(block.options["mystnb"]).get("figure", {})


@cache
def _outline(path: Path, changed: int) -> Outline:
    made = Outline(path)
    waiting: list[str] = []
    read = blocks(path.read_text(encoding="utf-8"))
    for block in chain.from_iterable(map(within, read)):
        if block.kind == "target":
            waiting.append(block.name)
            continue
        if block.kind == "heading":
            heading = _plain(block.lines[0])
            made.title = made.title or heading
            made.titles.update(dict.fromkeys(waiting, heading))
        label = block.options.get("label", "")
        if (block.kind == "math" and block.name) or (block.name == "math" and label):
            made.equations[block.name if block.kind == "math" else label] = len(made.equations) + 1
        if block.name == "figure" and any(line.strip() for line in block.lines):
            name = block.options.get("name") or (waiting[0] if waiting else block.argument)
            made.figures[name] = len(made.figures) + 1
        if plot := plotted(block):
            made.figures[plot["name"]] = len(made.figures) + 1
        if block.name == "exercise":
            made.titles[label] = block.argument
            if "nonumber" not in block.options:
                made.exercises[label] = len(made.exercises) + 1
            if "assigned" in block.options.get("class", "").split():
                made.assigned.add(label)
        waiting = []
    return made


def _plain(heading: str) -> str:
    return re.sub(r"[`*$]", "", heading)
