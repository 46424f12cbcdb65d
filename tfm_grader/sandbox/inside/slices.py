"""Find the statements of a notebook that its answers need.

A statement is needed if it binds, or may modify, a name that an answer uses, directly or indirectly. A broken or
endless cell elsewhere therefore has no effect. State changed in other ways (inside a function called for its side
effect, through an alias) is not detected: only a run of the whole notebook includes it.
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
    """A top-level statement of a cell: the names it binds, uses, and may modify without binding them."""

    node: ast.stmt
    cell: int
    binds: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)  # by assignment to a part or by a method call: x[0] = 1, x.eval()
    passes: set[str] = field(default_factory=set)  # to a call whose value is unused, which may therefore modify them

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
        """Return the names whose values it may modify; a module that is only passed on is not modified."""
        return self.changes | self.passes - modules


def statements(cells: Sequence[Cell]) -> list[Statement]:
    """List the statements of `cells`, in order, skipping any that cannot be compiled."""
    found = []
    for cell in cells:
        for node in cell.nodes:
            try:
                found.append(Statement(node, cell.number))
            except TROUBLE:
                continue
    return found


def needed(among: Sequence[Statement], answers: set[str], effects: bool = True) -> list[Statement]:
    """Return the statements that `answers` need, in order; without `effects`, only those that bind a name."""
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
    """Return the global names that `code` binds and loads."""
    binds, uses = set(), set()
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL"):
            binds.add(step.argval)
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"):
            uses.add(step.argval)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            more_binds, more_uses = _global_names(inner)
            if inner.co_flags & 0x2:  # a function stores global names only; a class body stores its own
                binds |= more_binds
            uses |= more_uses
    return binds, uses


def _root(node: ast.AST) -> str:
    """Return the base name of `name.part[0].part()`, or ""."""
    while True:
        if isinstance(node, ast.Name):
            return node.id
        below = getattr(node, "value", None) or getattr(node, "func", None)
        if below is None:
            return ""
        node = below
