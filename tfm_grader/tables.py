"""Reads CSV as spreadsheets write it, and writes CSV that is safe to open in one."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfm_lib._refusal import Refusal

NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?")
FORMULA = frozenset("=+-@|%−")  # what a spreadsheet may take for the beginning of one; wide and small forms count too
SEPARATORS = frozenset(";,|")  # some locale's spreadsheet splits a line at each of them, quoted or not
DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # they make a text look like another


class BadTable(Refusal):
    """A CSV file that a person made cannot be used; the message says which line, and why."""


def read_text(path: Path) -> str:
    """The text of a CSV file that a person made, its line ends as they are; raises Refusal where there is none."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Refusal(f"{path} is not UTF-8 text. Save it again from your spreadsheet as “CSV UTF-8”.") from None


def read_rows(path: Path, columns: Iterable[str], more: Iterable[str] = ()) -> list[tuple[int, dict[str, str]]]:
    """The lines of the CSV file at `path` with their numbers, by column; raises BadTable.

    `columns` must be there, `more` may be; cells are stripped, and empty lines left out. The separator is the one
    that the first line uses, as spreadsheets of some countries write a semicolon.
    """
    text = io.StringIO(read_text(path), newline=None)  # any line end is one
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
    """What separates the cells of a table whose `first` line this is."""
    return max(",;\t", key=first.count)


def cell(value: Any) -> Any:
    """`value` for a CSV: in one line, with an apostrophe wherever a spreadsheet would take what follows for a formula.

    That is at the beginning, and after each character at which some country's spreadsheet splits a line. Plain
    numbers, negative ones too, stay as they are.
    """
    if not isinstance(value, str) or NUMBER.fullmatch(value):
        return value
    made, begins = [], True
    for char in value:
        if _breaks(char):
            char = " "  # no tab and no second line: both begin a new cell somewhere
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
    """Whether a spreadsheet may pass over `char` before a formula."""
    return char.isspace() or char == '"' or unicodedata.category(char) in ("Cf", "Zs", "Mn")


def table(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV, readable by spreadsheets in any language."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([cell(value) for value in row] for row in rows)
    return "\ufeff" + buffer.getvalue()


@dataclass
class ForeignTable:
    """A table that came from another program and goes back there, each cell as it is, between separators as they came."""

    rows: list[list[str]]
    separator: str

    @classmethod
    def of(cls, text: str, columns: Iterable[str]) -> ForeignTable | None:
        """The table in `text`, by the separator that shows `columns` in its first line; None where none does."""
        for separator in ",;\t":
            rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=separator))
            if rows and set(columns) <= set(rows[0]):
                return cls(rows, separator)
        return None

    def written(self) -> str:
        """The table as CSV."""
        buffer = io.StringIO(newline="")
        write = csv.writer(
            buffer, delimiter=self.separator, lineterminator="\r\n"
        )  # so that it quotes either of the two
        write.writerows(self.rows)
        return buffer.getvalue()
