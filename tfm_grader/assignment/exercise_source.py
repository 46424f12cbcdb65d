"""Read exercises from a chapter, or from an instructor's own file in the same format.

An instructor's file may be parameterised: `parameters:` in its front matter lists the values for each name, and
`{{name}}` is replaced by the chosen value. A value may also be a mapping of texts that belong together, such as
`{made: tril(1), used: ""}`: `{{name.made}}` is replaced by the part `made` of the chosen mapping. Cells tagged
`visible` form the check that students see; cells tagged `hidden` form the hidden tests.
"""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfm_book.notebooks.myst import Block, blocks, front_matter, without_front_matter
from tfm_exercises.carried import BadWeights, Weights, read_weights
from tfm_grader.sandbox.inside.notebook_code import Cell, without_commands
from tfm_grader.sandbox.inside.slices import Statement, needed, statements
from tfm_lib._refusal import Refusal

MINUTES = re.compile(r"\*(\d+) minutes · (★+)☆*\*")
TAGS = {"visible", "hidden", "hide-input", "hide-output"}
USUAL = {"torch", "math", "F", "nn"}  # always provided, because an answer may use names that the solution does not
DEFINING = (ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AugAssign, ast.AnnAssign)
PAGE_ONLY = re.compile(r"tfm_lib\.(?:book|widgets)\b|tfm_exercises\b")
PYTHON = re.compile(r"^(`{3,})python\n(.*?)^\1 *$", re.MULTILINE | re.DOTALL)


class BadSource(Refusal):
    """An exercise is written incorrectly; the message says where and how."""


@dataclass
class Written:
    """One exercise, with its blocks sorted by role."""

    id: str
    title: str
    path: Path
    statement: Block
    text_only: bool = False
    between: list[Block] = field(default_factory=list)  # the blocks after the statement, in order: cells, hints, prose
    stub: str = ""
    given: list[str] = field(default_factory=list)  # folded cells with data or helper functions
    visible: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    solution: Block | None = None
    stars: int = 1

    @property
    def assigned(self) -> bool:
        return bool(self.hidden)

    @property
    def answers(self) -> list[str]:
        """The names that the stub defines, in order."""
        return [node.name for node in ast.parse(self.stub).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]

    @property
    def solution_code(self) -> str:
        """The Python code of the solution. Raises BadSource if there is none."""
        found = PYTHON.findall("\n".join(self.solution.lines) + "\n") if self.solution else []
        if not found:
            raise BadSource(f"{self.path.name}: the solution of {self.id} has no ```python block.")
        return "\n".join(code for _, code in found)

    @property
    def carried(self) -> str:
        """The file of the solution's weights, beside the source, for an exercise that asks for weights; else ""."""
        return self.option("carried")

    @property
    def weights(self) -> Weights:
        """The solution's weights; they have the file's name without its ending. Raises BadSource."""
        file = self.path.parent / self.carried
        if self.answers or not self.assigned or not file.stem.isidentifier():
            raise BadSource(
                f"{self.path.name}: {self.id} asks for weights, so it needs hidden tests, a stub without functions, and "
                "`:carried:` with the name of a file such as reverse.safetensors."
            )
        try:
            return read_weights(file.read_bytes(), file.stem)
        except (OSError, BadWeights) as error:
            raise BadSource(f"{self.path.name}: the solution's weights, {file}, cannot be read: {error}") from None

    def option(self, name: str) -> str:
        return self.statement.options.get(name, "")


def written_in(path: Path, values: dict[str, Any] | None = None) -> list[Written]:
    """Parse the exercises in the file at `path`, with `values` for its parameters. Raises BadSource."""
    text = without_front_matter(path.read_text(encoding="utf-8"))
    for name, value in (values or {}).items():
        parts = {f"{name}.{part}": each for part, each in value.items()} if isinstance(value, dict) else {name: value}
        for place, part in parts.items():
            text = text.replace("{{" + place + "}}", str(part))
    if left := re.search(r"\{\{([\w.]+)\}\}", text) if values is not None else None:
        raise BadSource(f"{path.name}: {{{{{left[1]}}}}} is not among the parameters at the top.")
    found: list[Written] = []
    for block in blocks(text):
        if block.kind == "directive" and block.name == "exercise":
            found.append(_begin(path, block))
        elif block.kind == "heading":
            found.append(Written("", "", path, block))  # the blocks after a heading belong to no exercise
        elif found and found[-1].id:
            _add(found[-1], block)
    exercises = [exercise for exercise in found if exercise.id]
    for exercise in exercises:
        _require_whole(exercise)
    return exercises


def code_before(path: Path) -> list[str]:
    """Return the code cells before the first exercise of the chapter at `path`."""
    cells = []
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.name == "exercise":
            break
        if block.name == "code-cell":
            cells.append("\n".join(block.lines))
    return cells


def parameters(path: Path) -> dict[str, list[Any]]:
    """Return the possible values of each parameter of the file at `path`. Raises BadSource."""
    given = front_matter(path.read_text(encoding="utf-8")).get("parameters", {})
    if not isinstance(given, dict) or not all(isinstance(values, list) and values for values in given.values()):
        raise BadSource(f"{path.name}: `parameters:` must give each name a list of values, as `back: [1, 2, 3]`.")
    return given


def chosen(path: Path, seed: str, student: str = "") -> dict[str, Any]:
    """Choose one value for each parameter; the choice is determined by `seed` (the class) and `student`."""
    return {
        name: random.Random(f"{seed}\0{student}\0{path.stem}\0{name}").choice(values)
        for name, values in parameters(path).items()
    }


def setup_of(path: Path, exercises: list[Written]) -> str:
    """Extract the chapter code that its exercises need: imports and helpers, with their dependencies."""
    return _needed_of(code_before(path), set().union(USUAL, *(_uses(each) for each in exercises if not each.text_only)))


def visible_check(path: Path, exercises: list[Written]) -> str:
    """Return the code of the checks that students see, with the chapter's and the given code that they need.

    "" if the exercises have none. It runs without the notebook, and so without the students' code.
    """
    checks = [code for each in exercises for code in each.visible]
    if not checks:
        return ""
    wanted = set().union(*(statement.uses for statement in _statements(checks)))
    given = [code for each in exercises for code in each.given]
    return "\n\n\n".join(filter(None, [_needed_of([*code_before(path), *given], wanted), *checks])) + "\n"


def _needed_of(cells: list[str], wanted: set[str]) -> str:
    """Extract from `cells` the imports and definitions that the names `wanted` need."""
    lines: list[str] = []
    for statement in needed(_statements(cells), wanted - {"check", "exercise", "Mistake"}, effects=False):
        text = ast.get_source_segment(cells[statement.cell - 1], statement.node) or ""
        defines = isinstance(statement.node, DEFINING)
        if getattr(statement.node, "decorator_list", None):
            text = ast.unparse(statement.node)
        if (defines or (statement.imports and not PAGE_ONLY.search(text))) and text not in lines:
            lines.append(text)
    imports = sorted(line for line in lines if line.startswith(("import ", "from ")))
    imports.sort(key=lambda line: "tfm_" in line)
    return "\n\n".join(filter(None, ["\n".join(imports), *(line for line in lines if line not in imports)]))


def _uses(exercise: Written) -> set[str]:
    """Return the names that the exercise's code uses, except those that its stub defines."""
    used = set().union(*(each.uses for each in _statements([exercise.stub, *exercise.visible, exercise.solution_code])))
    return used.difference(*(each.binds for each in _statements([exercise.stub])))


def _statements(cells: list[str]) -> list[Statement]:
    return statements([Cell(number, text) for number, text in enumerate(cells, start=1)])


def _begin(path: Path, block: Block) -> Written:
    id = block.options.get("label", "")
    if not re.fullmatch(r"\w+\.[\w-]+", id):
        raise BadSource(f"{path.name}: the exercise {block.argument!r} needs a label such as `:label: masking.band`.")
    stars = MINUTES.search("\n".join(block.lines))
    text_only = "text" in block.options.get("class", "").split()
    return Written(id, block.argument, path, block, text_only, stars=len(stars[2]) if stars else 1)


def _add(exercise: Written, block: Block) -> None:
    hidden = block.name == "code-cell" and "hidden" in _tags(exercise, block)
    if block.name == "code-cell" and not hidden and any("@hidden" in line for line in block.lines):
        raise BadSource(
            f"{exercise.path.name}: a cell of {exercise.id} defines a hidden test without `:tags: [hidden]`."
        )
    if exercise.solution is not None and not hidden:  # the exercise ends with its solution
        return
    if block.name == "solution":
        exercise.solution = block
        return
    if block.name != "code-cell":
        exercise.between.append(block)
        return
    code = "\n".join(block.lines).strip("\n")
    if hidden:
        exercise.hidden.append(code)
        return
    exercise.between.append(block)
    if "visible" in _tags(exercise, block):
        exercise.visible.append(code)
    elif "hide-input" in _tags(exercise, block):
        exercise.given.append(code)
    elif not exercise.stub:
        exercise.stub = code


def _tags(exercise: Written, block: Block) -> set[str]:
    tags = {tag.strip(" \"'") for tag in block.options.get("tags", "").strip("[]").split(",") if tag.strip()}
    if unknown := tags - TAGS:
        raise BadSource(
            f"{exercise.path.name}: a cell of {exercise.id} has the unknown tag {', '.join(sorted(unknown))}."
        )
    return tags


def _require_whole(exercise: Written) -> None:
    name = exercise.path.name
    if exercise.text_only:
        return
    try:
        if not exercise.stub or not (exercise.answers or exercise.carried):
            raise BadSource(f"{name}: {exercise.id} needs a first cell with the stub of a function.")
    except SyntaxError as error:
        raise BadSource(f"{name}: the stub of {exercise.id} is not Python: {error}.") from None
    for code in [*exercise.visible, *exercise.hidden, exercise.solution_code]:
        try:
            ast.parse(without_commands(code))
        except SyntaxError as error:
            raise BadSource(f"{name}: a cell of {exercise.id} is not Python: {error}.") from None
