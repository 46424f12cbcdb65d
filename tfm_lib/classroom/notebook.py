"""A submitted notebook, read as what it is: bytes from a stranger."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field

MAX_BYTES = 20 << 20
MAX_CODE = 1 << 20
MAX_CELLS = 5000
MAX_NESTING = 64
ANSWER_HERE = "*Double-click here, and write your answer in words.*"  # what stands where an answer in words belongs


class NotANotebook(Exception):
    """The file cannot be read as a notebook; the message says why."""


@dataclass
class Submitted:
    """The code cells of a notebook, and the text cells that answer a question in words, by exercise."""

    code: list[str]
    texts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read(data: bytes, answers: set[str] = frozenset()) -> Submitted:
    """The notebook that `data` holds; raises NotANotebook.

    A cell of another type that defines one of `answers` counts as code: its author clicked the wrong menu.
    """
    if len(data) > MAX_BYTES:
        raise NotANotebook(f"it has {len(data) >> 20} MB, and the limit is {MAX_BYTES >> 20} MB")
    if not data.strip():
        raise NotANotebook("it is empty")
    cells = _parsed(data)
    read = Submitted([])
    for cell in cells:
        if not isinstance(cell, dict):
            raise NotANotebook("one of its cells is none")
        kind, text = cell.get("cell_type"), _source(cell)
        if kind == "code":
            read.code.append(text)
        elif any(
            re.search(rf"^(?:def|class) +{re.escape(name)}\b", text, re.MULTILINE) for name in answers
        ) and _is_python(text):
            read.code.append(text)
            read.notes.append("A cell with an answer is not a code cell; it was taken as one.")
        else:
            asked = cell.get("metadata", {}).get("tfm", {}) if isinstance(cell.get("metadata"), dict) else {}
            if isinstance(asked, dict) and isinstance(asked.get("text"), str):
                read.texts[asked["text"][:200]] = text if text.strip() != ANSWER_HERE else ""
    if sum(map(len, read.code)) > MAX_CODE:
        raise NotANotebook(f"it holds more than {MAX_CODE >> 20} MB of code")
    return read


def _parsed(data: bytes) -> list:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotANotebook("it is not text") from None
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_NESTING:
            raise NotANotebook("it is nested too deep")
    try:
        made = json.loads(text)
    except (ValueError, RecursionError):
        raise NotANotebook("it is not JSON, as a notebook is") from None
    cells = made.get("cells") if isinstance(made, dict) else None
    if not isinstance(cells, list) or len(cells) > MAX_CELLS:
        raise NotANotebook("it has no list of cells, or too long a one")
    return cells


def _source(cell: dict) -> str:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source.encode("utf-8", "replace").decode() if isinstance(source, str) else ""


def _is_python(text: str) -> bool:
    """Whether `text`, which says that it defines an answer, can be code. Parsing it runs nothing."""
    if len(text) > 1 << 14:
        return False
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
