"""Extract library code for the pages: a whole object from its file, or an excerpt of it."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

GAP, UP_TO = "...", " … "


def included_code(path: Path, name: str | None) -> str:
    """Return the source of the object `name` (dotted) in the file at `path`, with decorators; else the whole file."""
    text = path.read_text(encoding="utf-8")
    if not name:
        return text.rstrip()
    body: list[ast.stmt] = ast.parse(text).body
    for part in name.split("."):
        node = next((each for each in body if getattr(each, "name", None) == part), None)
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            raise ValueError(f"{path.name} has no {name}.")
        body = node.body
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    lines = text.splitlines()[first - 1 : node.end_lineno]
    return "\n".join(line[node.col_offset :] for line in lines)


def excerpt(code: str, wanted: Sequence[str]) -> str:
    """Return the signature of the object in `code` and the lines that `wanted` names, in order; `...` marks gaps.

    Each of `wanted` is how a line begins, and selects its whole statement, or the head of a block; "A … B" selects
    everything from the line that begins with A to the statement that begins with B. A function inside that has a
    selected line keeps its signature, on one line and without types unless it was selected too; an omitted docstring
    leaves no mark. Raises ValueError if no later line begins so.
    """
    tree, lines = ast.parse(code), code.splitlines()
    (whole,) = tree.body
    assert isinstance(whole, ast.ClassDef | ast.FunctionDef)
    ends = dict(_statements(tree))
    kept = {*range(1, _head(whole) + 1)}
    after = max(kept)
    for text in filter(None, map(str.strip, wanted)):
        begin, _, end = text.partition(UP_TO)
        first = _line(lines, begin.strip(), after)
        last = _line(lines, end.strip(), first) if end else first
        after = ends.get(last, last)
        kept |= {*range(first, after + 1)}
    silent = {*_docstrings(whole, lines)}
    for function in ast.walk(whole):
        head, last = getattr(function, "lineno", 0), getattr(function, "end_lineno", 0)
        if not isinstance(function, ast.FunctionDef) or head in kept or not kept & {*range(head, last + 1)}:
            continue
        kept.add(head)
        if _head(function) > head:
            lines[head - 1] = lines[head - 1][: function.col_offset] + _names_only(function)
            silent |= {*range(head + 1, _head(function) + 1)}
    return "\n".join(_with_gaps(lines, kept, silent))


def _names_only(function: ast.FunctionDef) -> str:
    """Return the signature on one line, without annotations."""
    plain = copy.deepcopy(function.args)
    for argument in ast.walk(plain):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return f"def {function.name}({ast.unparse(plain)}):"


def _docstrings(tree: ast.AST, lines: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines of all docstrings, and of the blank lines below them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            end = node.body[0].end_lineno or 0
            yield from range(node.body[0].lineno, end + 1)
            yield from itertools.takewhile(lambda number: not lines[number - 1].strip(), range(end + 1, len(lines) + 1))


def _statements(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of every statement; for a compound statement, of its head only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            yield node.lineno, _head(node) if hasattr(node, "body") else node.end_lineno or node.lineno


def _head(node: Any) -> int:
    """Return the last line of a block's head, such as `def f(…):` with all its arguments."""
    return max(node.lineno, node.body[0].lineno - 1)


def _line(lines: Sequence[str], begin: str, after: int) -> int:
    """Return the number, from 1, of the next line that begins with `begin`."""
    for number, line in enumerate(lines[after:], after + 1):
        if line.strip().startswith(begin):
            return number
    raise ValueError(f"no line below line {after} of {lines[0].strip()!r} begins with {begin!r}")


def _with_gaps(lines: Sequence[str], kept: set[int], silent: set[int]) -> Iterator[str]:
    """Yield the kept lines, with a gap marker where lines that are not `silent` were left out; blank lines stay."""
    left_out: list[str] = []
    for number, line in enumerate(lines, 1):
        if number in kept:
            yield from _gap(left_out)
            yield line
            left_out = []
        elif number not in silent:
            left_out.append(line)
    yield from _gap(left_out)


def _gap(left_out: Sequence[str]) -> Sequence[str]:
    """Return the marker for omitted lines: dots indented like the first of them."""
    first = next(filter(str.strip, left_out), None)
    return left_out if first is None else [first[: len(first) - len(first.lstrip())] + GAP]
