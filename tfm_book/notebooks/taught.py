"""Split a chapter's code for its notebook: teaching code stays open, page-only code is folded or left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tfm_book.notebooks.myst import Block

#: Functions of `tfm_lib.drawing` that draw.
DRAWS = {"colours", "figure", "show", "weights_colormap"}
WIDGETS = "tfm_lib.widgets"
NOTEBOOK_ONLY = "notebook-only"  # tag of code that the page leaves out and the notebook shows
#: At most this many statements that only store a number may end a teaching cell without being split off.
FEW = 2


class Part(NamedTuple):
    """Lines of a cell that become a cell of their own, and their role: "teach", "draw", "widget" or "serve"."""

    code: str
    does: str


class Taught:
    """Splits the cells of one chapter in order; earlier cells determine which names draw and which are widgets."""

    def __init__(self) -> None:
        self.imports: list[str] = []  # of all folded or hidden cells; they go into the notebook's first cell
        self.drawing = set(DRAWS)
        self.widgets: set[str] = set()

    def parts(self, block: Block) -> list[Part]:
        """Return the notebook cells for this block, in order; none if it holds only imports and claims."""
        code = "\n".join(block.lines).strip("\n")
        tags = block.options.get("tags", "")
        folded = "hide-input" in tags or NOTEBOOK_ONLY in tags
        hidden = not folded and ("remove-input" in tags or "remove-cell" in tags)
        if not folded and not hidden:
            for node, _ in statements(code):
                self.does(node)
            kept = _without(code, _says_numbers)
            return [Part(kept if kept.strip() else code, "teach")]
        code = _without(code, _is_claim)
        found = [(self.does(node), lines) for node, lines in statements(code)]
        self.imports += [lines.strip() for does, lines in found if does == "import"]
        left = [each for each in found if each[0] != "import"]
        teaching = sum(lines.count("\n") + 1 for does, lines in left if does == "teach")
        if hidden or 2 * teaching < sum(lines.count("\n") + 1 for _, lines in left):
            tail = _tail(left, {"widget"})
            return _parts([(left[: len(left) - tail], "serve"), (left[len(left) - tail :], "widget")])
        tail = _tail(left, {"draw", "glue"})
        if all(does == "glue" for does, _ in left[len(left) - tail :]) and tail <= FEW:
            tail = 0  # so that a learner sees the effect of a change at once
        return _parts([(left[: len(left) - tail], "teach"), (left[len(left) - tail :], "draw")])

    def does(self, node: ast.stmt) -> str:
        """Classify a statement: "import", "claim", "widget", "glue", "draw" or "teach"."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(WIDGETS):
                self.widgets |= {name.asname or name.name for name in node.names}
            return "import"
        if _is_claim(node):
            return "claim"
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _read(node.value.func) & self.widgets:
            return "widget"
        if _is_glue(node):
            return "glue"
        for names, value in _bound(node):
            self.drawing = self.drawing | names if _read(value) & self.drawing else self.drawing - names
        return "draw" if _read(node) & self.drawing else "teach"


def statements(code: str) -> Iterator[tuple[ast.stmt, str]]:
    """Yield each statement with its lines and with the comments and blank lines before it."""
    lines, at = code.split("\n"), 0
    for node in ast.parse(code).body:
        if node.lineno > at:  # skip the second statement on a line
            yield node, "\n".join(lines[at : node.end_lineno])
            at = node.end_lineno or node.lineno


def _is_claim(node: ast.stmt) -> bool:
    """Return whether the node only asserts claims of the book, which need not hold for what a learner tries."""
    if isinstance(node, ast.For | ast.If):
        return all(map(_is_claim, node.body))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return any(name.startswith("assert_") for name in _read(node.value.func))
    return isinstance(node, ast.Assert)


def _says_numbers(node: ast.stmt) -> bool:
    """Return whether the node asserts a specific number, which a learner's change would break."""
    within_calls = {
        id(inner) for call in ast.walk(node) if isinstance(call, ast.Call | ast.Subscript) for inner in ast.walk(call)
    }
    plain = (each for each in ast.walk(node) if isinstance(each, ast.Constant) and id(each) not in within_calls)
    return isinstance(node, ast.Assert) and any(isinstance(each.value, int | float) for each in plain)


def _without(code: str, unwanted: Callable[[ast.stmt], bool]) -> str:
    """Return the code without the `unwanted` statements, also in loops and branches that hold other statements.

    A comment directly above a removed statement is removed too.
    """
    tree, lines = ast.parse(code), code.split("\n")
    gone: set[int] = set()

    def look(body: Sequence[ast.stmt]) -> None:
        left = [node for node in body if not unwanted(node)]
        if not left and body is not tree.body:
            return
        for node in body:
            if node in left:
                if isinstance(node, ast.For | ast.If):
                    look(node.body)
                continue
            first = node.lineno
            while first > 1 and lines[first - 2].strip().startswith("#"):
                first -= 1
            gone.update(range(first, (node.end_lineno or node.lineno) + 1))

    look(tree.body)
    kept = [line for number, line in enumerate(lines, start=1) if number not in gone]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")


def _is_glue(node: ast.stmt) -> bool:
    """Return whether the node only stores measured values."""
    if isinstance(node, ast.For | ast.If):
        return all(map(_is_glue, node.body))
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and "glue" in _read(node.value.func)


def _read(node: ast.AST) -> set[str]:
    """Return the names that the node reads from outside, excluding its own arguments and variables."""
    own: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.comprehension):
            own |= _stored(each)
        elif isinstance(each, ast.arg):
            own.add(each.arg)
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)} - own


def _stored(node: ast.AST) -> set[str]:
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return names - {"_"}


def _bound(node: ast.stmt) -> Iterator[tuple[set[str], ast.AST]]:
    """Yield the names that an assignment or a definition binds, with the bound value."""
    if isinstance(node, ast.FunctionDef):
        yield {node.name}, node
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(map(_stored, target.elts), node.value.elts, strict=False)
            else:
                yield _stored(target), node.value


def _tail(statements: Sequence[tuple[str, str]], wanted: set[str]) -> int:
    """Return how many statements at the end have only the wanted roles."""
    count = 0
    while count < len(statements) and statements[-1 - count][0] in wanted:
        count += 1
    return count


def _parts(groups: list[tuple[list[tuple[str, str]], str]]) -> list[Part]:
    made = [Part("\n".join(lines for _, lines in group).strip("\n"), does) for group, does in groups]
    return [part for part in made if part.code]
