"""CSV as spreadsheets write it, and as they can read it safely."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tfm_lib._refusal import Refusal


def read_text(path: Path) -> str:
    """The text of a CSV file that a person made; raises Refusal where there is none."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise Refusal(f"{path} is not UTF-8 text. Save it again from your spreadsheet as “CSV UTF-8”.") from None


def cell(value: Any) -> Any:
    """`value` for a CSV: a text that a spreadsheet would take for a formula gets an apostrophe in front."""
    if isinstance(value, str) and value.lstrip()[:1] in tuple("=+-@|%"):
        return f"'{value}"
    return value.replace("\r", " ") if isinstance(value, str) else value


def table(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV, readable by spreadsheets in any language."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([cell(value) for value in row] for row in rows)
    return "\ufeff" + buffer.getvalue()
