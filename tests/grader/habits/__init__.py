"""Right notebooks in the many habits that people have. Each is run in IPython first, then graded.

They stand in this folder's Markdown files: a heading for each notebook, the exercises that it answers below it, and
its code cells in fences. Before them comes the first cell of every notebook that `tfm assign` makes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from project import ROOT

from tfm_grader.assignment.assign import Assignment, AssignOptions, make
from tfm_grader.assignment.exercise_source import chosen, written_in

HERE = Path(__file__).parent
PRIVATE = ROOT / "tests" / "grader" / "assignments"
SEED = "habits"
FIRST = """import math

import torch
import torch.nn.functional as F
from torch import nn

from tfm_exercises import check
from tfm_exercises.judge import Mistake, exercise"""
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Habit:
    """A right notebook: the exercises that it answers, and its cells."""

    name: str
    ids: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def stem(self) -> str:
        return self.ids[0].partition(".")[0]


def habits() -> dict[str, Habit]:
    """All of them, by name."""
    path = PRIVATE / "masking.md"
    values = chosen(path, SEED)
    (band,) = (each for each in written_in(path, values) if each.id == "masking.band")
    found = {}
    for file in sorted(HERE.glob("*.md")):
        for part in file.read_text(encoding="utf-8").split("\n## ")[1:]:
            head, ids, rest = part.split("\n", 2)
            for name, value in values.items():
                rest = rest.replace("{{" + name + "}}", str(value))
            visible = tuple(band.visible) if "masking.band" in ids else ()
            cells = (FIRST, *visible, *(cell.removesuffix("\n") for cell in FENCE.findall(rest)))
            found[head] = Habit(head, tuple(id.strip() for id in ids.split(",")), cells)
    return found


def assignment() -> Assignment:
    """An assignment of all exercises that they answer, as an instructor makes it."""
    ids = frozenset(id for habit in habits().values() for id in habit.ids)
    stems = sorted({id.partition(".")[0] for id in ids})
    return make(AssignOptions(ROOT, stems, seed=SEED, private=PRIVATE, only=ids))
