"""The code cells of a notebook as Python, with IPython's syntax translated by IPython.

If IPython is missing, command lines become `pass`. A `%%time` or `%%capture` is removed from its cell, and `%time`
from its line, so that the code they measure is treated as plain Python.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

RUN_THEIR_CELL = {"time", "capture", "prun", "memit", "mprun", "snakeviz", "debug"}  # magics that run their cell
_CELL_MAGIC = re.compile(r"\s*%%(\w+)[ \t]*(.*)(?:\n|$)")
_COMMAND = re.compile(r"^(\s*)(?:[%!].*|.*\?{1,2}\s*)$", re.MULTILINE)
_WITHOUT_PERCENT = re.compile(  # a command alone in its cell may omit its %
    r"(?:pip|conda|cd|ls|pwd|who|whos|cat|mkdir|rm|cp|mv|clear|history|matplotlib|load_ext|time|timeit)(?![\w.]|\s*[=(\[.,:])"
)
TROUBLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # raised by text that is not a program


@dataclass
class Cell:
    """A code cell: its text, its statements, and its state of execution."""

    number: int
    text: str
    magics: list[tuple[str, str]] = field(default_factory=list)  # the removed %%magics: name and rest of the line
    nodes: list[ast.stmt] = field(default_factory=list)
    broken: int | None = None  # the line of its syntax error; 0 if unknown
    done: int = 0  # number of statements completed
    error: BaseException | None = None

    def __post_init__(self) -> None:
        body, lines = self.text, 0
        while (found := _CELL_MAGIC.match(body)) and found[1] in RUN_THEIR_CELL:
            self.magics.append((found[1], found[2].strip()))
            body, lines = body[found.end() :], lines + body.count("\n", 0, found.end())
        try:
            self.nodes = parsed("\n" * lines + body)
        except TROUBLE as error:
            self.broken = (error.lineno or 0) if isinstance(error, SyntaxError) else 0

    @property
    def name(self) -> str:
        """The file name used when compiling its code."""
        return f"<cell {self.number}>"

    @property
    def quiet(self) -> bool:
        """Whether it ends with a semicolon, and so displays nothing."""
        return self.text.rstrip().endswith(";")


def parsed(text: str) -> list[ast.stmt]:
    """Parse the statements of `text`. Raises one of TROUBLE."""
    try:
        return ast.parse(text).body
    except SyntaxError:
        nodes = ast.parse(translated(text)).body
    return [node for each in nodes for node in _timed(each)]


def translates() -> bool:
    """Whether IPython's translator is available."""
    try:
        import IPython.core.inputtransformer2  # noqa: F401 (its absence is told before anything is graded)
    except ImportError:
        return False
    return True


def translated(text: str) -> str:
    """Translate IPython's commands in `text` to calls of get_ipython(). Raises SyntaxError."""
    if not translates():  # the self-test reports this before anything is graded
        return without_commands(text)
    from IPython.core.inputtransformer2 import TransformerManager

    stripped = text.strip()
    if "\n" not in stripped and _WITHOUT_PERCENT.match(stripped):
        text = f"%{stripped}"
    return TransformerManager().transform_cell(text)


def _timed(node: ast.stmt) -> list[ast.stmt]:
    """Return the statements that a `%time` line measures, or `node` itself if it is not one."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(attr="run_line_magic"), [ast.Constant("time"), ast.Constant(str(code))])):
            try:
                inner = ast.parse(code).body
            except SyntaxError:
                return [node]
            for part in inner:
                for each in ast.walk(part):
                    if isinstance(each, ast.stmt | ast.expr):
                        each.lineno = each.end_lineno = node.lineno
            return inner
    return [node]


def without_commands(text: str) -> str:
    """Remove IPython's lines that begin with % or !, or end with ?; a %%cell becomes empty."""
    if text.lstrip().startswith("%%"):
        return ""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return _COMMAND.sub(r"\1pass", text)
    return text
