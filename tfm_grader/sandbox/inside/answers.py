"""Load a notebook, and let the judge call the functions defined in it.

The whole notebook is run, as Jupyter runs it. If that cannot provide the answers, the judge requests slices in a
new sandbox: only the statements that the answers need.
"""

from __future__ import annotations

import ast
import builtins
import random
import signal
import traceback
from typing import Any

from . import forbidden_calls, modules
from .channel import Channel, ChannelError
from .notebook_code import Cell, translates
from .remote_calls import Peer, Raised
from .shell import Shell
from .slices import needed, statements

MAX_TEXT = 2000
SEED = 0  # for random numbers in the notebook; the tests use a seed that no cell knows


class Notebook:
    """The code cells of a notebook, and the state of the answers after running them."""

    def __init__(self, cells: list[str], answers: list[str]):
        self.cells = [Cell(number, text) for number, text in enumerate(cells, start=1)]
        self.statements = statements(self.cells)
        self.needed = needed(self.statements, set(answers))
        self.shell = Shell(self.cells)
        self.names = self.shell.names

    def run(self, whole: bool, before: int | None) -> None:
        """Run all cells, or those before cell number `before`; if not `whole`, only what the answers need."""
        self.shell.furnish()
        if whole:
            self.shell.run(before, self.needed)
        else:
            self.shell.run_statements(self.needed)

    def lacks(self, answers: list[str], before: int | None) -> bool:
        """Whether slices may find one of `answers` that this run lacks, because it did not reach what they need."""
        left = self.shell.interrupted.number if self.shell.interrupted else before
        if left is not None and any(each.cell >= left for each in needed(self.statements, set(answers))):
            return True
        unrun = {id(node) for cell in self.cells for node in cell.nodes[cell.done :]}
        makes = needed(self.statements, set(answers), effects=False)  # statements that bind missing names
        names = [name for each in makes if id(each.node) in unrun for name in each.binds - {"*"}]
        if any(name not in self.names for name in names):
            return True
        written = {name: self._definitions(name) for name in answers}
        return any(self.is_stub(name) and not _is_idle_body(written[name][-1]) for name in answers if written[name])

    def is_stub(self, answer: str) -> bool:
        """Whether `answer` is still the stub (a docstring and `...`) or empty."""
        value = self.names.get(answer)
        code = getattr(value, "__code__", None)
        for node in self._definitions(answer):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if code is not None and (code.co_filename, code.co_firstlineno) == (self._place(node), first):
                return _is_idle_body(node)
            if isinstance(value, type) and isinstance(node, ast.ClassDef) and _is_idle_body(node):
                return not any(callable(part) for part in vars(value).values())
        return False

    def _definitions(self, answer: str) -> list[Any]:
        kinds = (ast.FunctionDef, ast.ClassDef)
        return [each.node for each in self.statements if isinstance(each.node, kinds) and each.node.name == answer]

    def _place(self, node: ast.stmt) -> str:
        return next(f"<cell {each.cell}>" for each in self.statements if each.node is node)

    def notes(self) -> list[dict[str, Any]]:
        """List events in the cells: kind, number, line and a name; never text produced by a cell."""
        found = []
        for cell in self.cells:
            if cell.broken is not None:
                found.append({"kind": "syntax", "cell": cell.number, "line": cell.broken, "name": ""})
            elif cell.error is not None:
                line = describe(cell.error)["line"] or 0
                found.append({"kind": "raised", "cell": cell.number, "line": line, "name": _builtin_name(cell.error)})
        noted = self.shell.magics.noted
        found += [{"kind": kind, "cell": cell, "line": 0, "name": name} for kind, cell, name in noted]
        return sorted(found, key=lambda note: note["cell"])


def _is_idle_body(node: Any) -> bool:
    return all(map(_is_idle, node.body))


def _is_idle(node: ast.stmt) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _builtin_name(error: BaseException) -> str:
    """Return the name of the built-in exception class that `error` is an instance of."""
    return next(kind.__name__ for kind in type(error).__mro__ if getattr(builtins, kind.__name__, None) is kind)


def describe(error: BaseException) -> dict[str, Any]:
    """Describe an exception for the judge."""
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
    """The requests the judge can make: load the notebook, begin an exercise, and call its answers."""

    def __init__(self, channel: Channel):
        self.peer = Peer(channel, describe, as_builtin)
        self.peer.named |= {"load": self.load, "begin": self.begin, "translates": translates}

    def load(
        self,
        cells: list[str],
        exercises: dict[str, list[str]],
        sources: dict[str, str],
        forbidden: list[str],
        how: dict[str, Any],
    ) -> dict[str, Any]:
        """Run the notebook; report which answers exist, which are still stubs, and what happened.

        `exercises` maps each exercise to its answers' names; `forbidden` lists the calls that any of them forbids.
        `how` says whether to run the `whole` notebook, and the cell to stop before (`before`).
        """
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # outside of cells, the judge's interrupts have no effect
        modules.offer(sources, forbidden)
        forbidden_calls.forbid(forbidden)
        forbidden_calls.activate(forbidden)
        modules.withdraw_own()
        seed_all()
        answers = [name for names in exercises.values() for name in names]
        notebook = Notebook(cells, answers)
        notebook.run(how["whole"], how["before"])
        found = {name: notebook.names[name] for name in answers if name in notebook.names}
        for name, value in found.items():
            if callable(value):
                self.peer.named[f"answer {name}"] = value
        interrupted = notebook.shell.interrupted
        whole, before = how["whole"], how["before"]
        return {
            "callable": [name for name, value in found.items() if callable(value)],
            "plain": {name: value for name, value in found.items() if not callable(value)},
            "stubs": [name for name in found if notebook.is_stub(name)],
            "lacks": [id for id, names in exercises.items() if whole and notebook.lacks(names, before)],
            "forbidden": bool(forbidden_calls.met),
            "interrupted": interrupted.number if interrupted else None,
            "notes": notebook.notes()[:20],
        }

    def begin(self, forbidden: list[str]) -> None:
        """Prepare for an exercise with its `forbidden` calls."""
        forbidden_calls.activate(forbidden)
        seed_all()


def seed_all() -> None:
    """Seed all generators, before the notebook and each exercise, so that answers do not depend on earlier draws."""
    import numpy
    import torch

    random.seed(SEED)
    numpy.random.seed(SEED)  # noqa: NPY002 (a notebook that draws from it gets the same numbers)
    torch.manual_seed(SEED)


def as_builtin(raised: Raised) -> Exception:
    """Convert a failure in one of the test's own functions to the built-in exception of that name, if any."""
    kind = getattr(builtins, raised.name, None)
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, UnicodeError):
        return kind(raised.text)
    return RuntimeError(str(raised))


def serve(channel: Channel) -> None:
    """Answer the judge until it hangs up."""
    answers = Answers(channel)
    while True:
        try:
            answers.peer.answer(channel.receive())
        except ChannelError:
            return
