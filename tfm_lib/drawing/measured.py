"""Show a learner's results beside the book's, under each cell that measures a number quoted in the text."""

from __future__ import annotations

import ast
import random
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

QUOTE = re.compile(r"\{glue:text\}`([^`:]+)(?::([^`]*))?`")
LATER = "Measured here: it answers a question of the text"


def quoted(value: str, form: str) -> str:
    """Format a value, given as its `repr`, in the format that the prose asks for, as myst-nb shows it."""
    try:
        return format(ast.literal_eval(value), form)
    except (ValueError, SyntaxError):  # not a literal, or a format that does not suit it
        return value.strip("\"'")


class Measured:
    """The numbers of one notebook: the book's value for each name, and the value measured here.

    `numbers` maps each name to the book's value as its `repr` (None if the book has not been built) and its format;
    `later` are the names that answer a question, and stay folded; `tables` are Markdown tables that quote names; names
    begin with `chapter`, which is not shown.
    """

    of_this_notebook: ClassVar[Measured | None] = None

    def __init__(
        self,
        numbers: Mapping[str, tuple[str | None, str]],
        later: Sequence[str] = (),
        tables: Sequence[str] = (),
        chapter: str = "",
    ) -> None:
        self.numbers, self.later = dict(numbers), {*later}
        self.tables = [(table, {name for name, _ in QUOTE.findall(table)}) for table in tables]
        for _, names in self.tables:
            if names & self.later:  # the table would reveal the answer
                self.later |= names
        self.chapter = f"{chapter}-"
        self.here: dict[str, str] = {}
        self.fresh: list[str] = []

    def note(self, name: str, value: Any) -> None:
        """Store a measured value until the cell ends."""
        self.here[name] = repr(value)
        if name in self.numbers and name not in self.fresh:
            self.fresh.append(name)

    def told(self) -> str:
        """Return the cell's results as Markdown: complete tables with the new numbers, and other numbers as a list."""
        fresh, self.fresh = self.fresh, []
        parts = [self._told([name for name in fresh if name not in self.later])]
        if later := self._told([name for name in fresh if name in self.later]):
            parts.append(f"<details><summary>{LATER}</summary>\n\n{later}\n\n</details>")
        return "\n\n".join(filter(None, parts))

    def _told(self, fresh: list[str]) -> str:
        drawn, left = [], dict.fromkeys(fresh)
        for table, names in self.tables:
            if names & {*fresh} and names <= {*self.here}:
                drawn.append(QUOTE.sub(lambda found: self._cell(found[1], found[2] or ""), table))
                left = {name: None for name in left if name not in names}
        lines = [f"- {_plain(name.removeprefix(self.chapter))}: {self._line(name)}" for name in left]
        return "\n\n".join([*(f"*With your numbers:*\n\n{table}" for table in drawn), "\n".join(lines)]).strip()

    def _cell(self, name: str, form: str) -> str:
        here = quoted(self.here[name], form)
        book = self.numbers.get(name, (None, ""))[0]
        return _plain(here) if book is None or here == quoted(book, form) else f"**{_plain(here)}**"

    def _line(self, name: str) -> str:
        book, form = self.numbers[name]
        here = quoted(self.here[name], form)
        if book is None:
            return _plain(here)
        said = quoted(book, form)
        return f"{_plain(here) if here == said else f'**{_plain(here)}**'} (the book: {_plain(said)})"


def _plain(text: str) -> str:
    """Escape characters that have a meaning in Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~])", r"\\\1", text)


def the_book_says(
    numbers: Mapping[str, tuple[str | None, str]],
    later: Sequence[str] = (),
    tables: Sequence[str] = (),
    chapter: str = "",
) -> None:
    """From now on, show under each cell of this notebook what it measures, beside the book's value (`Measured`).

    Sets the random seeds with which the book was built.
    """
    from IPython import get_ipython

    random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    shell = get_ipython()
    if shell is None:
        return
    if Measured.of_this_notebook is None:
        shell.events.register("post_execute", _show)
    Measured.of_this_notebook = Measured(numbers, later, tables, chapter)


def noted(name: str, value: Any) -> bool:
    """Record a value; return whether the notebook shows it at the end of its cell."""
    if Measured.of_this_notebook is None:
        return False
    Measured.of_this_notebook.note(name, value)
    return True


def _show() -> None:
    from IPython.display import Markdown, display

    if Measured.of_this_notebook and (text := Measured.of_this_notebook.told()):
        display(Markdown(text))
