"""Makes an assignment: notebooks for students, notebooks with solutions, and the bundle that grades them."""

from __future__ import annotations

import ast
import csv
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import yaml

from tfm_lib.book.export import INSTALL, export_cells, wheel_name
from tfm_lib.book.myst import Block
from tfm_lib.book.outline import outline
from tfm_lib.classroom import bundle as bundles
from tfm_lib.classroom.leaks import require_none
from tfm_lib.classroom.manifest import Limits
from tfm_lib.classroom.notebook import ANSWER_HERE
from tfm_lib.classroom.source import BadSource, Written, chosen, parameters, setup_of, written_in
from tfm_lib.classroom.tables import read_text

CHEAP = ("torch.nn.functional.scaled_dot_product_attention", "torch.nn.functional.multi_head_attention_forward")
HEAD = """\
# {title}

Write your answers where the functions are: replace each `...`, run the cell, then the check below it. {checks}

Rename no function. Hand in this notebook under its name, `{stem}.ipynb`. The chapter *{chapter}* of the book has all you need."""
CHECKS = "What a check says holds for its examples; the tests that count run after you have handed in."
PRACTICE = "The check is the one that counts."
STUDENT = re.compile(r"[^\W_][\w .@+-]{0,99}")


@dataclass
class Assignment:
    """All files of an assignment, by their place in its folder."""

    students: dict[str, str] = field(default_factory=dict)
    solutions: dict[str, str] = field(default_factory=dict)
    bundle: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        for name, text in {**self.students, **self.solutions, **self.bundle}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Wishes:
    """What the instructor asks for."""

    root: Path
    stems: list[str]
    seed: str = "class"
    private: Path | None = None
    only: frozenset[str] = frozenset()
    roster: tuple[str, ...] = ()
    name: str = ""


def make(wishes: Wishes) -> Assignment:
    """The assignment that `wishes` describe; raises BadSource, and Leak if a student would get what is secret."""
    made = Assignment()
    manifest: dict[str, Any] = {
        "format": bundles.FORMAT,
        "name": wishes.name or ", ".join(wishes.stems),
        "seed": wishes.seed,
        "limits": Limits().as_dict(),
        "late": {"per_day": 0.0, "free_days": 0},
        "chapters": {},
    }
    secrets: dict[str, str] = {}
    public: list[str] = []
    for stem in wishes.stems:
        own = bool(wishes.roster) and bool(_varying(wishes, stem))
        for student in ("", *wishes.roster) if own else ("",):
            exercises = _exercises(wishes, stem, student)
            part = _Part(wishes, stem, exercises)
            folder = f"student/{student}" if student else "student"
            if not (own and not student):
                made.students[f"{folder}/{stem}.ipynb"] = part.notebook(solved=False)
            made.solutions[f"solution/{student}/{stem}.ipynb" if student else f"solution/{stem}.ipynb"] = part.notebook(
                solved=True
            )
            if any(exercise.assigned for exercise in exercises):
                name = f"bundle/tests/{stem}/{student}.py" if student else f"bundle/tests/{stem}.py"
                made.bundle[name] = "\n\n\n".join(code for exercise in exercises for code in exercise.hidden) + "\n"
            if not student:
                manifest["chapters"][stem] = {"exercises": [_entry(wishes.root, stem, each) for each in exercises]}
            for exercise in exercises:
                if exercise.solution:
                    secrets[f"the solution of {exercise.id}"] = "\n".join(exercise.solution.lines)
                for code in exercise.hidden:
                    secrets[f"a hidden test of {exercise.id}"] = code
            public += part.public
    made.bundle["bundle/manifest.json"] = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    require_none(made.students, secrets, public)
    return made


def read_roster(path: Path) -> tuple[str, ...]:
    """The students in the first column of the CSV file at `path`; raises BadSource for names that make no folder."""
    lines = csv.reader(read_text(path).splitlines())
    names = [row[0].strip() for row in lines if row and row[0].strip()]
    names = names[1:] if names and names[0].lower() in ("student", "id", "name", "login") else names
    for name in names:
        if not STUDENT.fullmatch(name):
            raise BadSource(f"{path.name}: {name!r} cannot name a folder. Use letters, digits, and . _ - @ + inside.")
    return tuple(dict.fromkeys(names))


def _varying(wishes: Wishes, stem: str) -> dict[str, list[Any]]:
    path = _private(wishes, stem)
    return parameters(path) if path else {}


def _private(wishes: Wishes, stem: str) -> Path | None:
    path = wishes.private / f"{stem}.md" if wishes.private else None
    return path if path and path.is_file() else None


def _exercises(wishes: Wishes, stem: str, student: str) -> list[Written]:
    chapter = wishes.root / "chapters" / f"{stem}.md"
    if not chapter.is_file():
        raise BadSource(f"There is no chapter {stem}: {chapter} does not exist.")
    private = _private(wishes, stem)
    own = written_in(private, chosen(private, wishes.seed, student)) if private else []
    found = written_in(chapter) + own
    if wishes.only:
        found = [exercise for exercise in found if exercise.id in wishes.only]
    elif own:
        found = own
    if not found:
        raise BadSource(
            f"No exercise was chosen in {stem}. It has {', '.join(each.id for each in written_in(chapter) + own)}."
        )
    if twice := {each.id for each in found if [other.id for other in found].count(each.id) > 1}:
        raise BadSource(
            f"{', '.join(sorted(twice))} stands both in the chapter and in {private}. Give yours another label."
        )
    for exercise in own:
        if not exercise.text_only and not exercise.assigned:
            raise BadSource(f"{private}: {exercise.id} has no cell with `:tags: [hidden]`, so nothing would be tested.")
        if exercise.id.partition(".")[0] != stem:
            raise BadSource(f"{private}: the label {exercise.id} must begin with {stem}.")
    return found


class _Part:
    """The notebook of one chapter of the assignment."""

    def __init__(self, wishes: Wishes, stem: str, exercises: list[Written]):
        self.wishes, self.stem, self.exercises = wishes, stem, exercises
        self.chapter = wishes.root / "chapters" / f"{stem}.md"
        self.public: list[str] = []

    def notebook(self, solved: bool) -> str:
        """As text; with the answers in it if `solved`."""
        title = self.wishes.name or f"{outline(self.chapter).title}: exercises"
        hidden = any(exercise.assigned for exercise in self.exercises)
        head = HEAD.format(
            title=title, checks=CHECKS if hidden else PRACTICE, stem=self.stem, chapter=outline(self.chapter).title
        )
        setup = setup_of(self.chapter, self.exercises)
        checks = ["from tfm_lib.checks import check"]
        if any(exercise.visible for exercise in self.exercises):
            checks.append("from tfm_lib.checks.judge import Mistake, exercise")
        cells = [
            nbformat.v4.new_markdown_cell(head),
            nbformat.v4.new_markdown_cell(INSTALL.format(wheel=wheel_name(self.wishes.root))),
            nbformat.v4.new_code_cell("\n\n".join(filter(None, [setup, "\n".join(checks)]))),
        ]
        for exercise in self.exercises:
            cells += self._cells(exercise, solved)
        for number, cell in enumerate(cells):
            cell["id"] = f"{self.stem.replace('_', '-')}-{number}"
        self.public += [cell.source for cell in cells] if not solved else []
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        made = nbformat.v4.new_notebook(
            cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}}
        )
        return nbformat.writes(made) + "\n"

    def _cells(self, exercise: Written, solved: bool) -> list[nbformat.NotebookNode]:
        made = []
        parts: list[Block] = [_plain(exercise.statement), *exercise.between]
        for cell in export_cells(exercise.path, self.wishes.root, parts, "student"):
            if cell.cell_type == "code" and cell.source == exercise.stub:
                cell.source = exercise.solution_code.strip() if solved else exercise.stub
                cell.metadata["tfm"] = {"exercise": exercise.id}
            elif cell.cell_type == "code" and "visible" in cell.metadata.get("tags", []):
                cell.metadata = nbformat.from_dict({"jupyter": {"source_hidden": True}, "tags": ["hide-input"]})
            made.append(cell)
        if exercise.text_only:
            words = "\n".join(exercise.solution.lines).strip() if solved and exercise.solution else ANSWER_HERE
            made.append(nbformat.v4.new_markdown_cell(words, metadata={"tfm": {"text": exercise.id}}))
        elif solved and exercise.solution:
            made += export_cells(exercise.path, self.wishes.root, [exercise.solution], "instructor")
        return made


def _plain(statement: Block) -> Block:
    """An exercise's statement without the options that only grading reads."""
    options = {name: value for name, value in statement.options.items() if name == "label"}
    return Block("directive", statement.lines, "exercise", statement.argument, options)


def _entry(root: Path, stem: str, exercise: Written) -> dict[str, Any]:
    """The exercise in the manifest."""
    from tfm_lib.checks.judge import find

    made: dict[str, Any] = {"id": exercise.id, "title": exercise.title}
    points = exercise.option("points")
    if exercise.text_only:
        return {**made, "kind": "text", "answers": [], "points": _number(exercise, points or "1")}
    earlier = _earlier(root, stem)
    made |= {"kind": "assigned" if exercise.assigned else "practice", "answers": exercise.answers}
    if exercise.assigned:
        hidden = bundles.hidden_tests("\n\n".join(exercise.hidden), stem).get(exercise.id, [])
        given = sum(test.points for test in hidden)
        if points and _number(exercise, points) != given:
            raise BadSource(f"{exercise.path.name}: the tests of {exercise.id} give {given:g} points, not {points}.")
        if not given:
            raise BadSource(f"{exercise.path.name}: no hidden test names {exercise.id} and gives points for it.")
        allowed = [name.strip() for name in exercise.option("modules").split(",") if name.strip()]
        forbidden = [name.strip() for name in exercise.option("forbidden").split(",") if name.strip()]
        return {
            **made,
            "points": given,
            "modules": _closed(allowed or earlier),
            "forbidden": [*CHEAP, *forbidden],
            "may_change_input": "may-change-input" in exercise.statement.options,
        }
    found = find(exercise.id)
    return {
        **made,
        "answers": list(found.answers),
        "points": exercise.stars,
        "modules": _closed(earlier),
        "forbidden": [*CHEAP, *(name for name in found.forbids if "." in name)],
        "may_change_input": found.may_change_input,
    }


def _number(exercise: Written, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadSource(f"{exercise.path.name}: the points of {exercise.id} are no number: {text!r}.") from None


def _earlier(root: Path, stem: str) -> list[str]:
    """The library's modules whose chapters stand before `stem` in the reading order."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    order = [Path(entry["file"]).name for part in toc.get("parts", []) for entry in part["chapters"]]
    before = order[: order.index(stem)] if stem in order else []
    return [name for name in before if (bundles.PACKAGE / f"{name}.py").is_file()]


def _closed(names: list[str]) -> list[str]:
    """`names` with the modules of the library that they import."""
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        path = bundles.PACKAGE / f"{name}.py"
        if name in found or not path.is_file():
            continue
        found.add(name)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tfm_lib."):
                waiting.append(node.module.split(".")[1])
    return sorted(found)
