"""Read CSV as spreadsheets write it, and write CSV that is safe to open in one."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfm_lib._refusal import Refusal

MOST = 20  # faulty lines that are told
NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?")
FORMULA = frozenset("=+-@|%−")  # characters that may begin a formula; full-width and small forms count too
SEPARATORS = frozenset(";,|")  # in some locales a spreadsheet splits a line at these, quoted or not
DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # they disguise text


class BadTable(Refusal):
    """A CSV file written by a person cannot be used; the message says which line, and why."""


class Faults:
    """What is wrong with the lines of a table, told all at once: each block under `line` adds one sentence."""

    def __init__(self, kind: type[BadTable] = BadTable):
        self.kind = kind
        self.told: list[str] = []

    @contextmanager
    def line(self) -> Iterator[None]:
        try:
            yield
        except BadTable as fault:
            self.told.append(str(fault))

    def refuse(self) -> None:
        """Raise what was found, if anything."""
        if self.told:
            more = [f"and {len(self.told) - MOST} more"] if len(self.told) > MOST else []
            raise self.kind("\n".join([*self.told[:MOST], *more]))


def read_text(path: Path) -> str:
    """Read a CSV file written by a person, keeping its line endings. Raises Refusal if it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Refusal(f"{path} is not UTF-8 text. Save it again from your spreadsheet as “CSV UTF-8”.") from None


def read_rows(path: Path, columns: Iterable[str], more: Iterable[str] = ()) -> list[tuple[int, dict[str, str]]]:
    """Read the lines of the CSV file at `path` with their numbers, as dicts by column. Raises BadTable.

    `columns` are required, `more` are optional; cells are stripped and empty lines skipped. The separator is detected
    from the first line, because spreadsheets in some countries write a semicolon.
    """
    text = io.StringIO(read_text(path), newline=None)  # universal newlines
    reader = csv.reader(text, delimiter=separator(text.readline()))
    text.seek(0)
    try:
        head = [name.strip().lower() for name in next(reader, [])]
        if missing := [name for name in columns if name not in head]:
            told = ",".join([*columns, *(name for name in more if name in head)])
            raise BadTable(f"{path} has no column {', '.join(missing)}. Its first line must be: {told}")
        if twice := sorted({name for name in head if name and head.count(name) > 1}):
            raise BadTable(f"{path} has the column {twice[0]} twice. Remove one.")
        wanted = {name: head.index(name) for name in [*columns, *more] if name in head}
        rows = []
        for line in reader:
            found = {name: line[at].strip() if at < len(line) else "" for name, at in wanted.items()}
            if any(found.values()):
                rows.append((reader.line_num, {**dict.fromkeys(more, ""), **found}))
    except csv.Error as error:
        raise BadTable(f"{path}, line {reader.line_num}: {error}. Save it again from your spreadsheet.") from None
    return rows


def separator(first: str) -> str:
    """Detect the cell separator from the `first` line of a table."""
    return max(",;\t", key=first.count)


def cell(value: Any) -> Any:
    """Return `value` for a CSV, on one line, with an apostrophe before anything a spreadsheet could take as a formula.

    That is at the start, and after each character at which some locale's spreadsheet splits a line. Plain numbers,
    including negative ones, are unchanged.
    """
    if not isinstance(value, str) or NUMBER.fullmatch(value):
        return value
    made, begins = [], True
    for char in value:
        if _breaks(char):
            char = " "  # tabs and newlines begin a new cell in some spreadsheets
        if unicodedata.category(char) == "Cc" or char in DIRECTION:
            continue
        if begins and _may_begin(char):
            made.append("'")
        begins = char in SEPARATORS or (begins and _says_nothing(char))
        made.append(char)
    return "".join(made)


def _breaks(char: str) -> bool:
    return char in "\t\n\r\v\f\x85\u2028\u2029"


def _may_begin(char: str) -> bool:
    return bool(FORMULA & set(unicodedata.normalize("NFKC", char)))


def _says_nothing(char: str) -> bool:
    """Whether a spreadsheet may skip `char` before a formula."""
    return char.isspace() or char == '"' or unicodedata.category(char) in ("Cf", "Zs", "Mn")


def table(rows: Iterable[Iterable[Any]]) -> str:
    """Format rows as CSV, readable by spreadsheets in any language."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([cell(value) for value in row] for row in rows)
    return "\ufeff" + buffer.getvalue()


@dataclass
class ForeignTable:
    """A table from another program that goes back there: cells and separator are preserved."""

    rows: list[list[str]]
    separator: str

    @classmethod
    def of(cls, text: str, columns: Iterable[str]) -> ForeignTable | None:
        """Parse `text` with the separator that yields `columns` in the first line; None if none does."""
        for separator in ",;\t":
            rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=separator))
            if rows and set(columns) <= set(rows[0]):
                return cls(rows, separator)
        return None

    def written(self) -> str:
        """Format the table as CSV."""
        buffer = io.StringIO(newline="")
        write = csv.writer(
            buffer, delimiter=self.separator, lineterminator="\r\n"
        )  # with this line terminator, it quotes fields containing \r or \n
        write.writerows(self.rows)
        return buffer.getvalue()
