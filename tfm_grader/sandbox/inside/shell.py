"""Run the cells of a notebook in one namespace, as Jupyter does, continuing after a cell that raises."""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextvars
import io
import linecache
import os
import signal
import sys
import types
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from inspect import CO_COROUTINE
from typing import Any

from .channel import ChannelError
from .ipython_events import around
from .ipython_shell import Magics
from .notebook_code import Cell, parsed
from .slices import Statement

FUTURE = 0x1FE0000  # the flags of `from __future__ import …`, which apply to all later cells


class TimeIsUp(KeyboardInterrupt):
    """The notebook exceeded its time; acts like the stop button."""


class Shell:
    """A notebook's namespace, and the code that runs in it."""

    def __init__(self, cells: list[Cell]):
        self.cells = cells
        self.module = types.ModuleType("__main__")
        self.names: dict[str, Any] = self.module.__dict__
        self.interrupted: Cell | None = None
        self.running: Cell | None = None
        self.magics = Magics(self)
        self._flags = 0
        self._shown: list[Any] = ["", "", ""]  # the values of `_`, `__` and `___`

    def furnish(self) -> None:
        """Set the names that IPython provides, and make the namespace `__main__`."""
        sys.modules["__main__"] = self.module
        sys.path.insert(0, "")  # so that modules written by a cell can be imported
        ask = self.magics.asked_for
        self.names |= {"In": [""], "Out": {}, "_": "", "__": "", "___": "", "_dh": [os.getcwd()], "get_ipython": ask}
        self.names |= {"_ih": self.names["In"], "_oh": self.names["Out"], "__builtin__": builtins}
        builtins.display = lambda *objects, **more: None  # type: ignore[attr-defined]
        for name in ("IPython", "IPython.core.getipython"):
            if name in sys.modules:
                sys.modules[name].get_ipython = ask  # type: ignore[attr-defined]
        for cell in self.cells:
            linecache.cache[cell.name] = (
                len(cell.text),
                None,
                [f"{line}\n" for line in cell.text.split("\n")],
                cell.name,
            )

    def run(self, before: int | None, needed: list[Statement]) -> None:
        """Run the cells, up to number `before` if given (exclusive), until the judge interrupts them.

        A cell with something `needed` that failed because a later cell defines the missing name is resumed at the end,
        at the statement where it stopped: its author ran the later cell first.
        """
        cells = [cell for cell in self.cells if before is None or cell.number < before]
        wanted = {id(statement.node) for statement in needed}

        async def all_of_them() -> None:
            for cell in cells:
                await self._run_cell(cell)
                await asyncio.sleep(0)
            for cell in cells:
                if isinstance(cell.error, NameError) and any(id(node) in wanted for node in cell.nodes[cell.done :]):
                    await self._run_cell(cell)

        try:
            with interruptible():
                _run(all_of_them())
        except TimeIsUp:
            self.interrupted = self.running

    def run_statements(self, statements: list[Statement]) -> None:
        """Run only these statements; if one raises, the next still runs."""
        by_number = {cell.number: cell for cell in self.cells}

        async def each() -> None:
            for statement in statements:
                cell = by_number[statement.cell]
                try:
                    await self._run_node(statement.node, cell.name)
                except ChannelError:
                    raise
                except BaseException as error:  # noqa: BLE001 (SystemExit and KeyboardInterrupt of a cell as well)
                    cell.error = cell.error or error

        _run(each())

    async def _run_cell(self, cell: Cell) -> None:
        again, cell.error = cell.error is not None, None
        self.running = cell
        if not again:
            self.names["In"].append(cell.text)
            self.names["_i"] = self.names[f"_i{cell.number}"] = cell.text
        with around(cell, self.magics.events) as result, self._captured(cell):
            try:
                result.result = await self._run_nodes(cell)
            except (ChannelError, TimeIsUp):
                raise
            except BaseException as error:  # noqa: BLE001 (SystemExit and KeyboardInterrupt of a cell as well)
                cell.error = error

    async def _run_nodes(self, cell: Cell) -> Any:
        """Run the remaining statements of a cell, and return its last value."""
        value = None
        for node in cell.nodes[cell.done :]:
            value = await self._run_node(node, cell.name)
            if node is cell.nodes[-1] and isinstance(node, ast.Expr) and not cell.quiet:
                self._show(value, cell.number)
            cell.done += 1
        return value

    async def _run_node(self, node: ast.stmt, file: str) -> Any:
        """Run a statement; return the value if it is an expression."""
        value = isinstance(node, ast.Expr)
        tree = ast.Expression(node.value) if isinstance(node, ast.Expr) else ast.Module([node], [])
        flags = self._flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(tree, file, "eval" if value else "exec", flags, dont_inherit=True)
        self._flags |= code.co_flags & FUTURE
        result = eval(code, self.names)  # noqa: S307 (what a sandbox is for)
        return await result if code.co_flags & CO_COROUTINE else result

    def run_text(self, text: str) -> Any:
        """Run code passed to a magic immediately; return the value of a final expression."""
        nodes = parsed(text)
        for node in nodes[:-1]:
            exec(compile(ast.Module([node], []), "<magic>", "exec", self._flags, dont_inherit=True), self.names)  # noqa: S102 (the student's own)
        if nodes and isinstance(nodes[-1], ast.Expr):
            return eval(compile(ast.Expression(nodes[-1].value), "<magic>", "eval", dont_inherit=True), self.names)  # noqa: S307
        exec(compile(ast.Module(nodes[-1:], []), "<magic>", "exec", self._flags, dont_inherit=True), self.names)  # noqa: S102 (the student's own)
        return None

    def _show(self, value: Any, number: int) -> None:
        """Store a displayed value as IPython's display hook does; nothing is rendered."""
        if value is None:
            return
        unders = [self.names.get("_" * count) for count in (1, 2, 3)]
        own = any(mine is not theirs for mine, theirs in zip(self._shown, unders, strict=True))
        self._shown = [value, *self._shown[:2]]
        if not own:  # keep them if the notebook uses these names itself
            self.names.update(zip(("_", "__", "___"), self._shown, strict=True))
        self.names[f"_{number}"] = self.names["Out"][number] = value

    @contextmanager
    def _captured(self, cell: Cell) -> Iterator[None]:
        """Apply the `%%magics` of a cell; only `%%capture` has a visible effect."""
        asked = [line for name, line in cell.magics if name == "capture"]
        if not asked:
            yield
            return
        output, errors = io.StringIO(), io.StringIO()
        try:
            with redirect_stdout(output), redirect_stderr(errors):
                yield
        finally:
            name = next((word for word in asked[0].split() if word.isidentifier()), "")
            if name:
                self.names[name] = Captured(output.getvalue(), errors.getvalue())


def _run(cells: Coroutine[Any, Any, None]) -> None:
    """Run `cells` in an event loop; what they set in their context, as numpy.seterr does, holds for later calls."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    context = contextvars.copy_context()
    try:
        loop.run_until_complete(loop.create_task(cells, context=context))
    finally:
        for variable, value in context.items():
            variable.set(value)


class Captured:
    """The object that `%%capture name` creates."""

    def __init__(self, stdout: str, stderr: str):
        self.stdout, self.stderr, self.outputs = stdout, stderr, []

    def __str__(self) -> str:
        return self.stdout

    def show(self) -> None:
        """Do nothing, because nothing is displayed here."""

    __call__ = show


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise TimeIsUp at each of the judge's interrupts; code that ignores them is killed from outside."""

    def up(*_: Any) -> None:
        raise TimeIsUp

    signal.signal(signal.SIGALRM, up)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
