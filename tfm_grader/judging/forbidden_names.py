"""Find, in a notebook's text, which forbidden functions the student's own lines use.

What is forbidden is blocked in the sandbox while it runs; this is what a person is told. Only the syntax tree counts, not
comments and strings, and only lines that were not handed out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from tfm_grader.written_answers import Handed, own


def used(forbidden: Iterable[str], cells: Sequence[str], handed: Handed) -> list[str]:
    """Return the last parts of the `forbidden` dotted names that the student's lines in `cells` import or use.

    A function of the student's with the same name may be called.
    """
    words = {call.rpartition(".")[2] for call in forbidden}
    if not words:
        return []
    trees = [(cell.splitlines(), tree) for cell in cells if (tree := _tree(cell)) is not None]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    defined = {node.name for _, tree in trees for node in ast.walk(tree) if isinstance(node, kinds)}
    methods = {
        node.name
        for _, tree in trees
        for kind in ast.walk(tree)
        if isinstance(kind, ast.ClassDef)
        for node in kind.body
        if isinstance(node, kinds)
    }
    found = set()
    for lines, tree in trees:
        written = {number for number, line in enumerate(lines, start=1) if own(line, handed).strip()}
        for node in ast.walk(tree):
            if getattr(node, "lineno", 0) in written:
                found |= {
                    word for name in _names(node, defined, methods) for word in words if name in (word, f"{word}_")
                }
    return sorted(found)


def _names(node: ast.AST, defined: set[str], methods: set[str]) -> Iterator[str]:
    """Yield the names that a node takes from a module or an object, but for functions and methods of the notebook's own."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        if node.attr not in methods and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
            yield node.attr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in defined:
        yield node.func.id
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.name for alias in node.names)


def _tree(cell: str) -> ast.Module | None:
    """Parse a cell, without the lines that only IPython understands; None if it is not Python. Nothing is run."""
    lines = ["" if line.lstrip()[:1] in ("%", "!", "?") else line for line in cell.splitlines()]
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
