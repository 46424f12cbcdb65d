"""Take a solution apart into lines that a reader without Python puts in order, among wrong ones from known mistakes."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

WRONG = "lines.json"  # exercise → its wrong lines, each with what its check says to a solution that has it


@cache
def wrong_lines() -> dict[str, list[list[str]]]:
    """Return for each exercise that has them the wrong lines and what they are told."""
    return json.loads(files("tfm_book.site").joinpath(WRONG).read_text(encoding="utf-8"))


def puzzle(exercise: str, solution: str) -> str:
    """Return as JSON the lines of `solution`, with the wrong ones of `exercise`; "" if it has none.

    A line is its text, its depth, the number of the line whose block it is in, and the numbers of those that have to
    stand before it: all other orders are right as well.
    """
    if exercise not in wrong_lines():
        return ""
    return json.dumps({"lines": taken_apart(solution), "wrong": wrong_lines()[exercise]}, ensure_ascii=False)


def taken_apart(solution: str) -> list[tuple[str, int, int, list[int]]]:
    """Return text, depth, block and predecessors of each line of `solution`, its first function; see `puzzle`."""
    (function,) = (node for node in ast.parse(solution).body if isinstance(node, ast.FunctionDef))
    source, lines = solution.splitlines(), []

    def add(body: Sequence[ast.stmt], depth: int, block: int) -> None:
        numbers: list[int] = []
        for i, node in enumerate(body):
            inner = getattr(node, "body", [])
            if getattr(node, "orelse", []) or getattr(node, "handlers", []):
                raise ValueError(f"{source[node.lineno - 1].strip()} has a second block, which no line begins.")
            end = inner[0].lineno - 1 if inner else node.end_lineno
            text = "\n".join(line.removeprefix(" " * node.col_offset) for line in source[node.lineno - 1 : end])
            needs = [numbers[j] for j in range(i) if _depends(node, body[j])]
            numbers.append(len(lines))
            lines.append((text.split("  #")[0].rstrip(), depth, block, needs))
            add([each for each in inner if not _is_text(each)], depth + 1, numbers[-1])

    add([function], 0, -1)
    return lines


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _depends(later: ast.stmt, earlier: ast.stmt) -> bool:
    """Whether `later` may not stand before `earlier`."""
    if _leaves(later) or _leaves(earlier) or (_is_call(later) and _is_call(earlier)):
        return True
    read, written = {*_names(later, False)}, {*_names(later, True)}
    return bool({*_names(earlier, True)} & (read | written) or {*_names(earlier, False)} & written)


def _leaves(node: ast.stmt) -> bool:
    return any(isinstance(each, ast.Return | ast.Yield | ast.Break | ast.Continue) for each in ast.walk(node))


def _is_call(node: ast.stmt) -> bool:
    """Whether a statement is a call alone, made for what it does elsewhere."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _names(statement: ast.stmt, written: bool) -> Iterator[str]:
    """Yield the names that a statement reads, or those that it writes, or whose value it may change."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) == written:
            yield node.id
        changed: list[ast.expr] = []
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            changed = [node.value]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # a method changes its object
            call = node.value
            changed = [call.func.value] if isinstance(call.func, ast.Attribute) else call.args
        if written:
            yield from (each.id for part in changed for each in ast.walk(part) if isinstance(each, ast.Name))
