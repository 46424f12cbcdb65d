"""Read CSV as spreadsheets write it, and write CSV that is safe to open in one."""

from __future__ import annotations

import csv
import difflib
import io
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfm_lib._refusal import Refusal

MOST = 20  # faulty lines that are told
MAX_BYTES = 64 << 20  # of a file
BESIDE = ("name", "note", "notes", "comment", "comments")  # columns that any table may have; they are ignored
SIGNS = {",": "comma", ";": "semicolon", "\t": "tab"}  # what separates cells
NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?")
FORMULA = frozenset("=+-@|%−")  # characters that may begin a formula; full-width and small forms count too
SEPARATORS = frozenset(";,|")  # in some locales a spreadsheet splits a line at these, quoted or not
DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # they disguise text


class BadTable(Refusal):
    """A CSV file written by a person cannot be used; the message says which line, and why."""


class Faults:
    """What is wrong with the lines of a table, told all at once: each block under `line` adds one sentence.

    Begin with the faults that an earlier step has `told`, as pairs of a line number and a sentence.
    """

    def __init__(self, kind: type[BadTable] = BadTable, told: Iterable[tuple[int, str]] = ()):
        self.kind = kind
        self.told = list(told)

    @contextmanager
    def line(self, number: int) -> Iterator[None]:
        """Note the BadTable that the block raises, as the fault of line `number`."""
        try:
            yield
        except BadTable as fault:
            self.told.append((number, str(fault)))

    def refuse(self) -> None:
        """Raise what was found, if anything, in the order of the lines."""
        if self.told:
            told = [sentence for _, sentence in sorted(self.told, key=lambda fault: fault[0])]
            more = [f"and {len(told) - MOST} more"] if len(told) > MOST else []
            raise self.kind("\n".join([*told[:MOST], *more]))


def read_text(path: Path, kind: type[Refusal] = Refusal) -> str:
    """Read a CSV file written by a person, keeping its line endings. Raises `kind` if it cannot be read.

    It is UTF-8, UTF-16 with a byte order mark, or Windows-1252.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise kind(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > MAX_BYTES:
        raise kind(f"{path.name} has more than {MAX_BYTES >> 20} MB. Is it the right file?")
    for encoding in ["utf-16"] if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ["utf-8-sig", "cp1252"]:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        # Two non-ASCII bytes in a row are rare in Windows-1252 text but normal in multi-byte encodings.
        if encoding != "cp1252" or not re.search(rb"[\x80-\xff]{2}", data):
            return text
    raise kind(f"{path.name} is not UTF-8 text. Save it again from your spreadsheet as “CSV UTF-8”.")


def read_rows(
    path: Path,
    columns: Sequence[str],
    more: Sequence[str] = (),
    ignored: Sequence[str] = (),
    faults: Faults | None = None,
) -> list[tuple[int, dict[str, str]]]:
    """Read the lines of the CSV file at `path` with their numbers, as dicts by column. Raises BadTable.

    `columns` are required, `more` are optional; columns that are `ignored`, or in BESIDE, may be there and are not
    read. Cells are stripped and empty lines skipped. The separator is detected from the first line, because
    spreadsheets in some countries write a semicolon. Lines with too many cells are skipped and added to `faults`, or
    raised if there are none to add to.
    """
    ragged = Faults() if faults is None else faults
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
        known, strange = [*columns, *more, *ignored, *BESIDE], Faults()
        absent = [name for name in known if name not in head]
        for name in head:
            if name and name not in known:
                strange.told.append((1, f"{path}, line 1: {no_such_column(name, absent, known)}"))
        strange.refuse()
        wanted = {name: head.index(name) for name in [*columns, *more] if name in head}
        rows = []
        for line in reader:
            if _has_too_many_cells(line, head, columns):
                told = too_many_cells(len(line), len(_without_empty_end(head)), SIGNS[reader.dialect.delimiter])
                ragged.told.append((reader.line_num, f"{path}, line {reader.line_num}: {told}"))
                continue
            found = {name: line[at].strip() if at < len(line) else "" for name, at in wanted.items()}
            if any(found.values()):
                rows.append((reader.line_num, {**dict.fromkeys(more, ""), **found}))
    except csv.Error as error:
        raise BadTable(f"{path}, line {reader.line_num}: {error}. Save it again from your spreadsheet.") from None
    if faults is None:
        ragged.refuse()
    return rows


def no_such_column(name: str, candidates: Collection[str], known: Iterable[str]) -> str:
    """Say that no column has this name, and which of the `candidates` is the most similar, or all `known` columns."""
    similar = difflib.get_close_matches(name.lower(), candidates, n=1)
    told = f"there is no column {name[:40]!r}"
    return f"{told}; did you mean {similar[0]}?" if similar else f"{told}. There are {', '.join(known)}."


def too_many_cells(there: int, named: int, sign: str = "comma or semicolon") -> str:
    """Say that a line has more cells than the first line of its table, since the `sign` separates cells."""
    return f"it has {there} cells, and line 1 has {named}. Text with a {sign} needs quotation marks."


def _has_too_many_cells(line: list[str], head: list[str], required: Collection[str]) -> bool:
    """Whether a line has cells that belong to no column, as when text with a comma has no quotation marks.

    Empty cells at the end do no harm, with one exception: if the last column may be left empty and is filled, then the
    end of a text may have moved into it, and the empty cell that follows is the one that was meant for the column.
    """
    names = _without_empty_end(head)
    if any(cell.strip() for cell in line[len(names) :]):
        return True
    return len(line) > len(head) and names[-1] not in required and bool(line[len(names) - 1].strip())


def _without_empty_end(head: list[str]) -> list[str]:
    """Return the names of the columns without the empty ones at the end, which some spreadsheets add."""
    return head[: max((at for at, name in enumerate(head, start=1) if name), default=0)]


def separator(first: str) -> str:
    """Detect the cell separator from the `first` line of a table."""
    return max(SIGNS, key=first.count)


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


def number(value: float | None) -> float | int | str:
    """Round a score for output, as an integer if it is whole; "" if it is None."""
    if value is None:
        return ""
    rounded = round(value, 4)
    return int(rounded) if rounded == int(rounded) else rounded
