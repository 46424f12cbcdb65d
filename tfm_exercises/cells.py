"""What IPython knows of the cells that were run: whether an answer is of the newest one, and where else it may stand."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
from functools import cache
from types import FunctionType
from typing import Any


def stopped_since(name: str, answer: Any) -> str:
    """In IPython: a sentence if a cell that defines `name` is newer than the one that `answer` is of, and stopped before
    it did so; else, and wherever that is not certain, empty.
    """
    shell = _shell()
    if shell is None or shell.user_ns.get(name) is not answer or not (own := _cell_of(answer)):
        return ""
    *cells, running = shell.user_ns.get("In", []) or [""]
    if own in (running, _transformed(running)):
        return ""
    newest = None
    for cell in reversed(cells):
        if own in (cell, _transformed(cell)):
            return newest or ""
        newest = _stopped(name, cell) if newest is None else newest
    return ""


def _stopped(name: str, cell: str) -> str | None:
    """What to say of a cell that would have defined the function `name`: nothing where it bound the name in another way;
    None of a cell that does not bind it.
    """
    if not re.search(rf"\b(def|class)\s+{name}\b|\b{name}\s*(:[^=\n]+)?=[^=]", cell):
        return None
    try:
        tree = ast.parse(_transformed(cell))
    except SyntaxError as error:
        return (
            f"The newest cell that defines {name} stopped: {type(error).__name__} in line {error.lineno}, {error.msg}. "
            "So nothing of it counts yet. Mend that line, run the cell, then check again."
        )
    if not any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body):
        return "" if any(name in _bound(node) for node in ast.walk(tree)) else None
    return (
        f"The newest cell that defines {name} stopped before it did so, and {name} is still what an older cell made it. "
        "Look at the error under that cell, mend it, run it, then check again."
    )


def _bound(node: ast.AST) -> set[str]:
    """The name that a node of a cell gives to something."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return {node.id}
    return {node.name} if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else set()


def renamed(name: str, stub: Any) -> str:
    """In IPython: the newest function that takes what `stub` does and was written after it; empty if there is none."""
    shell = _shell()
    if shell is None or not (takes := _parameters(stub)):
        return ""
    cells = [_transformed(cell) for cell in shell.user_ns.get("In", [])]
    place = {text: number for number, text in enumerate(cells)}
    after = place.get(_cell_of(stub), -1)
    written = {
        other: place[cell]
        for other, it in shell.user_ns.items()
        if isinstance(it, FunctionType) and it.__module__ == "__main__" and other != name and other == it.__name__
        if _parameters(it) == takes and (cell := _cell_of(it)) in place and place[cell] > after
    }
    return max(written, key=lambda other: (written[other], other), default="")


def _parameters(function: Any) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _cell_of(answer: Any) -> str:
    """The cell that a function, method or partial is written in, as it was executed; empty if it is of no cell."""
    answer = inspect.unwrap(getattr(answer, "func", answer))
    code = getattr(getattr(answer, "__func__", answer), "__code__", None)
    file = getattr(code, "co_filename", "")
    lines = [] if file.endswith(".py") and "ipykernel" not in file else linecache.getlines(file)
    return "".join(lines)


def _shell() -> Any:
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


@cache
def _transformed(cell: str) -> str:
    """The cell as Python executes it: its magics are calls. As it stands where even that cannot be told."""
    try:
        return _shell().transform_cell(cell)
    except SyntaxError:
        return cell
