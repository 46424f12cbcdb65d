"""Find, in a notebook's text, which forbidden functions the student's own lines use.

What is forbidden is blocked in the sandbox while it runs; this is what a person is told. Only the syntax tree counts, not
comments and strings, and only lines that were not handed out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tfm_grader.notebook import lines_of, tree_of
from tfm_grader.written_answers import Handed, own


def used(forbidden: Iterable[str], cells: Sequence[str], handed: Handed) -> list[str]:
    """Return the last parts of the `forbidden` dotted names that the student's lines in `cells` import or use.

    A function of the student's with the same name may be called, and what a cell only asserts or shows is no answer: whoever
    compares an answer with the function that it replaces has done well.
    """
    words = {call.rpartition(".")[2] for call in forbidden}
    if not words:
        return []
    trees = [(lines_of(cell), tree) for cell in cells if (tree := tree_of(cell)) is not None]
    own_names = OwnNames.of(node for _, tree in trees for node in ast.walk(tree))
    found = set()
    for lines, tree in trees:
        written = {number for number, line in enumerate(lines, start=1) if own(line, handed).strip()}
        kept = [part for part in tree.body if not isinstance(part, ast.Assert | ast.Expr)]
        for node in (node for part in kept for node in ast.walk(part)):
            if getattr(node, "lineno", 0) in written:
                found |= {word for name in _names(node, own_names) for word in words if name in (word, f"{word}_")}
    return sorted(found)


@dataclass
class OwnNames:
    """What a notebook names itself: functions and classes, methods, variables, and fields of objects that it makes."""

    defined: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, nodes: Iterable[ast.AST]) -> OwnNames:
        names = cls()
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.defined.add(node.name)
            if isinstance(node, ast.ClassDef):
                names.methods |= {part.name for part in node.body if isinstance(part, ast.FunctionDef | ast.ClassDef)}
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.variables.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.fields.add(node.attr)
            elif isinstance(node, ast.Call):
                names.fields |= {keyword.arg for keyword in node.keywords if keyword.arg}
        return names

    def own(self, attribute: ast.Attribute) -> bool:
        """Whether it is a method, or a field, of something that the notebook makes."""
        of = attribute.value.id if isinstance(attribute.value, ast.Name) else ""
        return (
            attribute.attr in self.methods
            or of in ("self", "cls")
            or (of in self.variables and attribute.attr in self.fields)
        )


def _names(node: ast.AST, names: OwnNames) -> Iterator[str]:
    """Yield the names that a node takes from a module or an object, but for the notebook's own."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        if not names.own(node):
            yield node.attr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in names.defined:
        yield node.func.id
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.name for alias in node.names)
