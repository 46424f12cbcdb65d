"""Parse a submitted notebook, which is untrusted input, and find what in it is the student's own."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from tfm_exercises.carried import carried_in
from tfm_grader.assignment.manifest import Chapter
from tfm_grader.written_answers import Answer, Handed, found, is_python, known_lines, own

MAX_BYTES = 20 << 20
MAX_CODE = 1 << 20
MAX_CELLS = 5000
MAX_LISTS = 2 << 20  # in its JSON, because each list costs memory and time


class NotANotebook(Exception):
    """The file cannot be read as a notebook; the message says why."""


@dataclass
class Submitted:
    """The code cells of a notebook, and the written answers by exercise."""

    code: list[str]
    texts: dict[str, Answer] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    handout: str = ""  # the mark of the hand-out it came from
    carried: dict[str, dict[str, Any]] = field(default_factory=dict)  # the weights in its outputs by name, unread


def read_notebook(data: bytes, answers: AbstractSet[str] = frozenset(), handed: Handed | None = None) -> Submitted:
    """Parse the notebook in `data`; `handed` is the chapter's hand-out. Raises NotANotebook.

    A cell of another type that defines one of `answers` counts as code: its author chose the wrong cell type.
    """
    if len(data) > MAX_BYTES:
        raise NotANotebook(f"it has {len(data) >> 20} MB, and the limit is {MAX_BYTES >> 20} MB; clear its outputs")
    if not data.strip():
        raise NotANotebook("it is empty")
    cells, about = _parsed(data)
    submitted, words = Submitted([], handout=_text(_part(about, "tfm"), "handout")), []
    for cell in cells:
        if not isinstance(cell, dict):
            raise NotANotebook("one of its cells is none")
        kind, text = cell.get("cell_type"), _source(cell)
        if kind == "code":
            submitted.code.append(text)
            words.append((kind, text, _asked(cell)))
        elif any(
            re.search(rf"^(?:def|class) +{re.escape(name)}\b", text, re.MULTILINE) for name in answers
        ) and is_python(text):
            submitted.code.append(text)
            submitted.notes.append("A cell with an answer is not a code cell; it was taken as one.")
        else:
            words.append((kind, text, _asked(cell)))
    if not any(isinstance(cell, dict) and _source(cell).strip() for cell in cells):
        raise NotANotebook("its cells are empty" if cells else "it has no cells")
    if answers and not submitted.code and not (handed and handed.questions):
        raise NotANotebook("it has no code cell")
    submitted.texts, submitted.carried = found(words, handed or Handed()), carried_in(cells)
    if sum(map(len, submitted.code)) > MAX_CODE:
        raise NotANotebook(f"it holds more than {MAX_CODE >> 20} MB of code")
    return submitted


def sources(data: bytes) -> list[str]:
    """Return the source of every cell. Raises NotANotebook."""
    return [_source(cell) for cell in _parsed(data)[0] if isinstance(cell, dict)]


def _parsed(data: bytes) -> tuple[list, dict]:
    """Parse the cells and the metadata."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotANotebook("it is not text") from None
    if text.count("[") + text.count("{") > MAX_LISTS:
        raise NotANotebook(f"it holds more than {MAX_LISTS >> 20} million lists")
    try:
        made = json.loads(text)  # json.loads refuses nesting beyond Python's recursion limit
    except RecursionError:
        raise NotANotebook("it is nested too deep") from None
    except (ValueError, MemoryError):
        raise NotANotebook("it is not JSON, as a notebook is") from None
    cells = made.get("cells") if isinstance(made, dict) else None
    if not isinstance(cells, list) or len(cells) > MAX_CELLS:
        raise NotANotebook("it has no list of cells, or too long a one")
    return cells, _part(made, "metadata")


def _source(cell: dict) -> str:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        return ""
    try:
        source.encode()
    except UnicodeEncodeError:
        raise NotANotebook(
            "one of its cells holds half a character; delete it there, and save the notebook again"
        ) from None
    return source


def _asked(cell: dict) -> str:
    """Return the question that the cell was created for."""
    return _text(_part(_part(cell, "metadata"), "tfm"), "text")


def _part(made: dict, name: str) -> dict:
    found = made.get(name)
    return found if isinstance(found, dict) else {}


def _text(made: dict, name: str) -> str:
    found = made.get(name)
    return found if isinstance(found, str) else ""


# what a student wrote in it


def cells_of(data: bytes, chapter: Chapter) -> dict[str, list[str]]:
    """Return the cells that define each exercise's answers, by id; none if the notebook cannot be read."""
    names = {name for entry in chapter.exercises for name in entry.answers}
    code = _code(data, names)
    return {entry.id: _defining(code, entry.answers) for entry in chapter.exercises if entry.answers}


def written(data: bytes, chapter: Chapter) -> list[str]:
    """Return the code cells without the handed-out lines."""
    handed = Handed.of(chapter)
    return [own(cell, handed) for cell in _code(data, set())]


def is_untouched(data: bytes, given: frozenset[str]) -> bool:
    """Whether a notebook contains nothing but lines that were handed out, whose digests are `given`."""
    try:
        return bool(given) and not known_lines(sources(data), given)[1] and not carried(data)
    except NotANotebook:
        return False


def carried(data: bytes) -> list[dict[str, Any]]:
    """Return the files of weights in the outputs, unread."""
    try:
        return [*read_notebook(data, set()).carried.values()]
    except NotANotebook:
        return []


def _code(data: bytes, names: set[str]) -> list[str]:
    try:
        return read_notebook(data, names).code
    except NotANotebook:
        return []


def lines_of(cell: str) -> list[str]:
    """Return the lines as Python counts them; other characters that end a line elsewhere can stand in a comment."""
    return cell.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def tree_of(cell: str) -> ast.Module | None:
    """Parse a cell, without the lines that only IPython understands; None if it is not Python. Nothing is run."""
    lines = ["" if line.lstrip()[:1] in ("%", "!", "?") else line for line in lines_of(cell)]
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _defining(code: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the cells that bind one of `names` (the last two if there are more), as Python reads them."""
    wanted = {*names}
    return [cell for cell in code if (tree := tree_of(cell)) is not None and wanted & {*bound(*tree.body)}][-2:]


def bound(*nodes: ast.AST, parts: bool = False) -> Iterator[str]:
    """Yield the names that statements bind outside functions and classes; with `parts` also those of which they set a part."""
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif parts and isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield from (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
        waiting += ast.iter_child_nodes(node)
