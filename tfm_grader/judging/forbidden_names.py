"""Find, in a notebook's text, which forbidden functions an answer of the student's uses.

What is forbidden is blocked in the sandbox while it runs; this is what a person is told. Only the syntax tree counts, not
comments and strings; only lines that were not handed out; and only what the answer is made of: whoever trains with the
library's model in another cell, or compares with it, has used nothing that is forbidden.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tfm_grader.notebook import bound, lines_of, tree_of
from tfm_grader.written_answers import Handed, own


def used(forbidden: Iterable[str], cells: Sequence[str], handed: Handed, answers: Iterable[str]) -> list[str]:
    """Return the last parts of the `forbidden` dotted names that the student's lines behind `answers` import or use.

    Something of the student's own with such a name may be used, however it came to be.
    """
    words = {call.rpartition(".")[2] for call in forbidden}
    if not words:
        return []
    places = []  # each statement of a cell's own, with the numbers of the student's lines
    for cell in cells:
        if (tree := tree_of(cell)) is not None:
            written = {number for number, line in enumerate(lines_of(cell), start=1) if own(line, handed).strip()}
            places += [(statement, written) for statement in tree.body]
    packages = {call.partition(".")[0] for call in forbidden} | {"numpy", "torch"}
    own_names = OwnNames.of((node for statement, _ in places for node in ast.walk(statement)), packages)
    found = set()
    for statement, written in _behind(answers, places):
        for node in ast.walk(statement):
            if getattr(node, "lineno", 0) in written:
                found |= {word for name in _names(node, own_names) for word in words if name in (word, f"{word}_")}
    return sorted(found)


Place = tuple[ast.stmt, set[int]]


def _behind(answers: Iterable[str], places: list[Place]) -> list[Place]:
    """Return the statements that bind the names in `answers`, or a name that one of these statements reads."""
    binding = [{*bound(statement, parts=True)} for statement, _ in places]
    wanted, reached = {*answers}, set[int]()
    while new := {i for i, names in enumerate(binding) if i not in reached and names & wanted}:
        reached |= new
        wanted |= {name for i in new for name in _read(places[i][0])}
    return [place for i, place in enumerate(places) if i in reached]


SCOPES = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
)


def _read(statement: ast.stmt) -> set[str]:
    """Return the names that a statement reads and that no function or comprehension within it has for itself."""
    inner: set[int] = set()
    for scope in (node for node in ast.walk(statement) if isinstance(node, SCOPES)):
        nodes = [*ast.walk(scope)]
        names = {node.arg for node in nodes if isinstance(node, ast.arg)}
        names |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        inner |= {id(node) for node in nodes if isinstance(node, ast.Name) and node.id in names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and id(node) not in inner}


@dataclass
class OwnNames:
    """What a notebook names itself, and the names that it gives to the packages of what is forbidden."""

    defined: set[str] = field(default_factory=set)  # by whatever binds a name, an argument too
    methods: set[str] = field(default_factory=set)  # and fields of its classes
    fields: set[str] = field(default_factory=set)  # of objects that it makes
    packages: set[str] = field(default_factory=set)
    any_field: bool = False  # a class of its own answers to any name

    @classmethod
    def of(cls, nodes: Iterable[ast.AST], packages: set[str]) -> OwnNames:
        names = cls(packages=set(packages))
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.defined.add(node.name)
            if isinstance(node, ast.ClassDef):
                names.methods |= {*bound(*node.body)}
                names.any_field |= "__getattr__" in names.methods
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.defined.add(node.id)
            elif isinstance(node, ast.arg):
                names.defined.add(node.arg)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.fields.add(node.attr)
            elif isinstance(node, ast.Call):
                names.fields |= {keyword.arg for keyword in node.keywords if keyword.arg}
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names._imported(node, packages)
        return names

    def _imported(self, node: ast.Import | ast.ImportFrom, packages: set[str]) -> None:
        for alias in node.names:
            origin = node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
            names = self.packages if origin.partition(".")[0] in packages else self.defined
            names.add(alias.asname or alias.name.partition(".")[0])

    def own(self, attribute: ast.Attribute) -> bool:
        """Whether it is a method, or a field, of something that the notebook makes."""
        base = attribute.value
        of = base.id if isinstance(base, ast.Name) else ""
        if of in self.packages:
            return False
        return (
            attribute.attr in self.methods
            or of in ("self", "cls")
            or (of in self.defined and (attribute.attr in self.fields or self.any_field))
        )


def _names(node: ast.AST, names: OwnNames) -> Iterator[str]:
    """Yield the names that a node takes from a module or an object, but for the notebook's own."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        if not names.own(node):
            yield node.attr
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in names.defined:
        yield node.func.id
    elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in names.packages:
        yield from (alias.name for alias in node.names)
