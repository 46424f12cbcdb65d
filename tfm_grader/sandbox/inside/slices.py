"""Which statements of a notebook its answers need.

A statement is needed when it binds, or may change, a name that an answer uses, directly or through others. So a
broken or endless cell elsewhere costs nothing. State that changes in other ways (inside a function that is called for
it, behind a second name) is not seen: only a run of the whole notebook has it.
"""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Sequence
from dataclasses import dataclass, field

from .notebook_code import TROUBLE, Cell


@dataclass
class Statement:
    """A statement at the top level of a cell: the names it binds, uses, and may change without binding them."""

    node: ast.stmt
    cell: int
    binds: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)  # by assignment to a part, or by a method: x[0] = 1, x.eval()
    passes: set[str] = field(default_factory=set)  # to a call whose value nobody wants, so that it may change them

    def __post_init__(self) -> None:
        code = compile(
            ast.Module([self.node], []),
            f"<cell {self.cell}>",
            "exec",
            ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
            dont_inherit=True,
        )
        self.binds, self.uses = _global_names(code)
        for node in ast.walk(self.node):
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                self.changes.add(_root(node))
            elif isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call):
                if isinstance(call.func, ast.Attribute):
                    self.changes.add(_root(call.func))
                self.passes |= {_root(arg) for arg in [*call.args, *(word.value for word in call.keywords)]}
        self.imports = isinstance(self.node, ast.Import | ast.ImportFrom)
        if isinstance(self.node, ast.ImportFrom) and any(alias.name == "*" for alias in self.node.names):
            self.binds.add("*")

    def touches(self, modules: set[str]) -> set[str]:
        """The names whose values it may change; a module that is only passed on stays as it is."""
        return self.changes | self.passes - modules


def statements(cells: Sequence[Cell]) -> list[Statement]:
    """The statements of `cells`, in order; one that cannot be compiled is left out."""
    found = []
    for cell in cells:
        for node in cell.nodes:
            try:
                found.append(Statement(node, cell.number))
            except TROUBLE:
                continue
    return found


def needed(among: Sequence[Statement], answers: set[str], effects: bool = True) -> list[Statement]:
    """The statements that `answers` need, in order; without `effects`, only those that bind a name."""
    wanted = set(answers)
    chosen: set[int] = set()
    modules = set().union(*(statement.binds for statement in among if statement.imports))
    while True:
        more = {
            index
            for index, statement in enumerate(among)
            if index not in chosen
            and (
                "*" in statement.binds
                or (statement.binds | (statement.touches(modules) if effects else set())) & wanted
            )
        }
        if not more:
            return [among[index] for index in sorted(chosen)]
        chosen |= more
        wanted |= set().union(*(among[index].uses for index in more))


def _global_names(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The names that `code` binds and loads outside functions' own."""
    binds, uses = set(), set()
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL"):
            binds.add(step.argval)
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
            uses.add(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            more_binds, more_uses = _global_names(inner)
            if inner.co_flags & 0x2:  # a function: what it stores by name is global; a class's body stores its own
                binds |= more_binds
            uses |= more_uses
    return binds, uses


def _root(node: ast.AST) -> str:
    """The name at the bottom of `name.part[0].part()`, or nothing."""
    while True:
        if isinstance(node, ast.Name):
            return node.id
        below = getattr(node, "value", None) or getattr(node, "func", None)
        if below is None:
            return ""
        node = below
