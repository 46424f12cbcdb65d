"""Runs as much of a notebook as its answers need, and lets the judge call them.

A statement is needed when it binds, or may change, a name that an answer uses, directly or through others. So
a broken or endless cell elsewhere costs nothing, nor does a cell's place or its copy: the last definition counts.
"""

from __future__ import annotations

import ast
import builtins
import dis
import random
import re
import sys
import traceback
import types
from dataclasses import dataclass, field
from typing import Any

from . import modules
from .channel import Channel, ChannelError
from .peer import Peer, Raised

MAX_TEXT = 2000
_COMMAND = re.compile(r"^(\s*)(?:[%!].*|.*\?{1,2}\s*)$", re.MULTILINE)


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
        code = compile(ast.Module([self.node], []), f"<cell {self.cell}>", "exec")
        self.binds, self.uses = _global_names(code)
        for node in ast.walk(self.node):
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                self.changes.add(_root(node))
            elif isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call):
                if isinstance(call.func, ast.Attribute):
                    self.changes.add(_root(call.func))
                self.passes |= {_root(arg) for arg in [*call.args, *(word.value for word in call.keywords)]}
        self.imports = isinstance(self.node, (ast.Import, ast.ImportFrom))
        if self.imports and any(alias.name == "*" for alias in self.node.names):
            self.binds.add("*")

    def touches(self, modules: set[str]) -> set[str]:
        """The names whose values it may change; a module that is only passed on stays as it is."""
        return self.changes | self.passes - modules


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
        node = getattr(node, "value", None) or getattr(node, "func", None)
        if node is None:
            return ""


class Notebook:
    """The code cells of a notebook, run in one namespace."""

    def __init__(self, cells: list[str]):
        self.statements: list[Statement] = []
        self.notes: list[str] = []
        self.module = types.ModuleType("__main__")
        self.names = self.module.__dict__
        for number, text in enumerate(cells, start=1):
            try:
                tree = ast.parse(without_commands(text))
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
                self.notes.append(f"Code cell {number}{line} is not Python: {getattr(error, 'msg', None) or error}.")
                continue
            for node in tree.body:
                try:
                    self.statements.append(Statement(node, number))
                except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                    self.notes.append(f"Code cell {number}, line {node.lineno} cannot be compiled: {error}.")

    def needed(self, answers: set[str], effects: bool = True) -> list[Statement]:
        """The statements that `answers` need, in order; without `effects`, only those that bind a name."""
        wanted = set(answers)
        chosen: set[int] = set()
        modules = set().union(*(statement.binds for statement in self.statements if statement.imports))
        while True:
            more = {
                index
                for index, statement in enumerate(self.statements)
                if index not in chosen
                and (
                    "*" in statement.binds
                    or (statement.binds | (statement.touches(modules) if effects else set())) & wanted
                )
            }
            if not more:
                return [self.statements[index] for index in sorted(chosen)]
            chosen |= more
            wanted |= set().union(*(self.statements[index].uses for index in more))

    def run(self, statements: list[Statement]) -> None:
        """Run `statements`; what raises is noted, and the rest runs on."""
        sys.modules["__main__"] = self.module
        for statement in statements:
            module = ast.Module([statement.node], type_ignores=[])
            try:
                exec(compile(module, f"<cell {statement.cell}>", "exec"), self.names)  # noqa: S102 (what a sandbox is for)
            except ChannelError:
                raise
            except BaseException as error:  # noqa: BLE001 (SystemExit and KeyboardInterrupt of a cell as well)
                told = describe(error)
                self.notes.append(f"Code cell {statement.cell}, line {told['line']}: {told['name']}: {told['text']}")

    def is_stub(self, answer: str) -> bool:
        """Whether the last definition of `answer` is the stub: a docstring and `...`, or nothing."""
        for statement in reversed(self.statements):
            if isinstance(statement.node, (ast.FunctionDef, ast.ClassDef)) and statement.node.name == answer:
                return all(_is_idle(node) for node in statement.node.body)
        return False


def _is_idle(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def without_commands(cell: str) -> str:
    """`cell` without IPython's lines that begin with % or !, or ask with ?; nothing is left of a %%cell."""
    if cell.lstrip().startswith("%%"):
        return ""
    try:
        ast.parse(cell)
    except (SyntaxError, ValueError):
        return _COMMAND.sub(r"\1pass", cell)
    return cell


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as the judge hears of it."""
    try:
        text = str(error) or "no message"
    except Exception:  # noqa: BLE001 (a message that itself raises)
        text = "no message"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith("<cell ")]
    bare = not getattr(error, "args", ())
    return {
        "name": type(error).__name__[:80],
        "text": text[:MAX_TEXT],
        "line": lines[0] if lines else None,
        "bare": bare,
    }


class Answers:
    """What the judge can ask for: to load the notebook, and what its names hold."""

    def __init__(self, channel: Channel):
        self.peer = Peer(channel, describe, as_builtin)
        self.peer.named["load"] = self.load

    def load(
        self,
        cells: list[str],
        answers: list[str],
        sources: dict[str, str],
        forbidden: list[str],
        whole: bool,
        seed: int,
    ) -> dict[str, Any]:
        """Run what the answers need, or the whole notebook; tell which names there are, and which are still stubs."""
        import numpy
        import torch

        modules.offer(sources)
        modules.forbid(forbidden)
        random.seed(seed)
        numpy.random.seed(seed)
        torch.manual_seed(seed)
        notebook = Notebook(cells)
        notebook.run(notebook.statements if whole else notebook.needed(set(answers)))
        found = {name: notebook.names[name] for name in answers if name in notebook.names}
        for name, value in found.items():
            if callable(value):
                self.peer.named[f"answer {name}"] = value
        return {
            "callable": [name for name, value in found.items() if callable(value)],
            "plain": {name: value for name, value in found.items() if not callable(value)},
            "stubs": [name for name in found if notebook.is_stub(name)],
            "notes": notebook.notes[:20],
        }


def as_builtin(raised: Raised) -> Exception:
    """A failure inside one of the test's own functions, under its own name where Python has that name."""
    kind = getattr(builtins, raised.name, None)
    known = isinstance(kind, type) and issubclass(kind, Exception)
    return kind(raised.text) if known and not issubclass(kind, UnicodeError) else RuntimeError(str(raised))


def serve(channel: Channel) -> None:
    """Answer the judge until it hangs up."""
    answers = Answers(channel)
    while True:
        try:
            answers.peer.answer(channel.receive())
        except ChannelError:
            return
