"""Make the folder that a student receives: notebooks, the library's wheel, and instructions."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

import nbformat

from tfm_book.notebooks.export import built_wheel, export_cells, wheel_name
from tfm_book.notebooks.myst import Block
from tfm_book.notebooks.outline import outline
from tfm_exercises.carried import output
from tfm_grader.assignment.exercise_source import Written, setup_of
from tfm_grader.assignment.manifest import Manifest
from tfm_grader.names import counted, digest
from tfm_grader.version import PACKAGES
from tfm_grader.written_answers import ANSWER_HERE

HEAD = """\
# {title}

{points}{due}

Write your answers where the functions are: replace each `...`, run the cell, then the check below it. {checks}

Rename no function. Hand in this notebook under its name, `{stem}.ipynb`. The chapter *{chapter}* of the book has all you need."""
CHECKS = "What a check says holds for its examples; the tests that count run after you have handed in."
PRACTICE = "The check is the one that counts."
CPU = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
INSTALL = """\
**Before you run this notebook**, install the library of the book, once, from a terminal in this notebook's folder:

    {cpu}
    pip install './{wheel}[notebook]'

`README.md`, beside this notebook, has every step. In a hosted notebook service, upload the file `{wheel}` and run `%pip install './{wheel}[notebook]'` in a cell."""
README = """\
# {title}

{points}{due}

1. **Make an environment** in this folder, from a terminal (Python 3.11 or newer), with PyTorch's build for processors: it is enough here, and on Linux the usual one brings several gigabytes for graphics cards.

       python3 -m venv .venv
       . .venv/bin/activate          (Windows: .venv\\Scripts\\activate)
       {cpu}

2. **Install the book's library** and JupyterLab, from the file that lies here:

       pip install './{wheel}[lab]'

3. **Open the notebook**, answer, run the checks, and hand in {names} under the same name:

       jupyter lab {first}
"""


@dataclass(frozen=True)
class Terms:
    """What students are told about grading: the points of each exercise, and the due date."""

    points: dict[str, float]  # by the exercise's id
    due: datetime | None = None

    @classmethod
    def of(cls, manifest: Manifest) -> Terms:
        """Read the terms from a manifest."""
        entries = [entry for chapter in manifest.chapters.values() for entry in chapter.exercises]
        return cls({entry.id: entry.points for entry in entries}, manifest.late.due_at)

    @property
    def until(self) -> str:
        """A sentence stating the due date, or "" if there is none."""
        if self.due is None:
            return ""
        zone = self.due.strftime("%z")
        day = f"{self.due:%A}, {self.due.day} {self.due:%B %Y, %H:%M}"
        return f" Due {day} (UTC{f'{zone[:3]}:{zone[3:]}' if self.due.utcoffset() else ''})."

    def total(self, exercises: list[Written]) -> str:
        return f"**{counted(sum(self.points[each.id] for each in exercises), 'point')}.**"


NUMBER = re.compile(r"(?<=Exercise )\d+(?= · )")


@dataclass
class Handout:
    """The notebook of one chapter of the assignment, for one student or for all."""

    root: Path
    stem: str
    name: str  # of the assignment
    exercises: list[Written]
    terms: Terms
    given: list[str] = field(default_factory=list)  # the source of every cell in the student notebook

    @property
    def title(self) -> str:
        return self.name or f"{outline(self._chapter).title}: exercises"

    @property
    def _chapter(self) -> Path:
        return self.root / "chapters" / f"{self.stem}.md"

    @cached_property
    def mark(self) -> str:
        """A digest of the exercises' text, which identifies this version of the hand-out."""
        asked = [cell.source for exercise in self.exercises for cell in self._cells(exercise, False)]
        return digest("\n\n".join([self.stem, *asked]))[:16]

    def notebook(self, solved: bool) -> str:
        """Build the notebook as JSON text, with the solutions if `solved`."""
        hidden = any(exercise.assigned for exercise in self.exercises)
        head = HEAD.format(
            title=self.title,
            points=self.terms.total(self.exercises),
            due=self.terms.until,
            checks=CHECKS if hidden else PRACTICE,
            stem=self.stem,
            chapter=outline(self._chapter).title,
        )
        setup = setup_of(self._chapter, self.exercises)
        carried = any(exercise.carried for exercise in self.exercises)
        checks = ["from tfm_exercises import check, hand_in" if carried else "from tfm_exercises import check"]
        if any(exercise.visible for exercise in self.exercises):
            checks.append("from tfm_exercises.judge import Mistake, exercise")
        cells = [
            nbformat.v4.new_markdown_cell(head),
            nbformat.v4.new_markdown_cell(INSTALL.format(cpu=CPU, wheel=wheel_name(self.root))),
            nbformat.v4.new_code_cell("\n\n".join(filter(None, [setup, "\n".join(checks)]))),
        ]
        for place, exercise in enumerate(self.exercises, start=1):
            first, *rest = self._cells(exercise, solved)
            first.source = NUMBER.sub(str(place), first.source, count=1)  # exercises may come from two files
            cells += [first, *rest]
        for number, cell in enumerate(cells):
            cell["id"] = f"{self.stem.replace('_', '-')}-{number}"
        self.given += [cell.source for cell in cells] if not solved else []
        mark = {"handout": self.mark}
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        made = nbformat.v4.new_notebook(
            cells=cells,
            metadata={"kernelspec": kernel, "language_info": {"name": "python", "file_extension": ".py"}, "tfm": mark},
        )
        return nbformat.writes(made) + "\n"

    def _cells(self, exercise: Written, solved: bool) -> list[nbformat.NotebookNode]:
        made = []
        parts: list[Block] = [self._plain(exercise), *exercise.between]
        for cell in export_cells(exercise.path, self.root, parts, "student"):
            if cell.cell_type == "code" and cell.source == exercise.stub:
                cell.source = exercise.solution_code.strip() if solved else exercise.stub
                cell.metadata["tfm"] = {"exercise": exercise.id}
                if solved and exercise.carried:
                    cell.outputs = [nbformat.v4.new_output("display_data", data=output(exercise.weights))]
            elif cell.cell_type == "code" and "visible" in cell.metadata.get("tags", []):
                cell.metadata = nbformat.from_dict({"jupyter": {"source_hidden": True}, "tags": ["hide-input"]})
            made.append(cell)
        if exercise.text_only:
            words = "\n".join(exercise.solution.lines).strip() if solved and exercise.solution else ANSWER_HERE
            made.append(nbformat.v4.new_markdown_cell(words, metadata={"tfm": {"text": exercise.id}}))
        elif solved and exercise.solution:
            made += export_cells(exercise.path, self.root, [exercise.solution], "instructor")
        return made

    def _plain(self, exercise: Written) -> Block:
        return plain_statement(exercise, f"*{counted(self.terms.points[exercise.id], 'point')}*")


def plain_statement(exercise: Written, *first: str) -> Block:
    """Return an exercise's statement, preceded by the lines `first`, without grading-only options."""
    statement = exercise.statement
    options = {name: value for name, value in statement.options.items() if name == "label"}
    lines = [*(line for text in first for line in (text, "")), *statement.lines]
    return Block("directive", lines, "exercise", statement.argument, options)


def question(exercise: Written, root: Path) -> str:
    """Return the text of `exercise` as students see it."""
    return export_cells(exercise.path, root, [plain_statement(exercise)], "student")[0].source


def readme(root: Path, title: str, stems: list[str], terms: Terms) -> str:
    """Build README.md for students."""
    names = [f"`{stem}.ipynb`" for stem in stems]
    return README.format(
        title=title,
        points=f"**{counted(sum(terms.points.values()), 'point')}.**",
        due=terms.until,
        cpu=CPU,
        wheel=wheel_name(root),
        names=" and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names),
        first=f"{stems[0]}.ipynb",
    )


def put_wheel(root: Path, folders: list[Path]) -> str:
    """Put the library's wheel into each of `folders` (hard links if possible). Returns a warning, or ""."""
    wheel = built_wheel(root)
    if wheel is None:
        return f"The library's file {wheel_name(root)} is not built, so students cannot install it: make wheel, then this again."
    first = folders[0] / wheel.name
    first.unlink(missing_ok=True)
    shutil.copyfile(wheel, first)
    for folder in folders[1:]:
        (folder / wheel.name).unlink(missing_ok=True)
        try:
            os.link(first, folder / wheel.name)
        except OSError:
            shutil.copyfile(wheel, folder / wheel.name)
    return older_than_library(root, wheel)


def older_than_library(root: Path, wheel: Path) -> str:
    """Return a warning if the library has changed since `wheel` was built, or ""."""
    sources = (path for name in PACKAGES for path in (root / name).rglob("*.py"))
    if max((path.stat().st_mtime for path in sources), default=0.0) > wheel.stat().st_mtime:
        return f"The library has changed since {wheel.name} was built: make wheel, then this again."
    return ""
