"""Extract a student's own code from a notebook: the graded cells, and the lines not in the hand-out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType

from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.manifest import Chapter
from tfm_grader.notebook import NotANotebook, read_notebook
from tfm_grader.records import Submission
from tfm_grader.reports.similarity import Pair, pairs
from tfm_grader.scoring.scores import Score
from tfm_grader.written_answers import Handed, own


def cells_of(data: bytes, chapter: Chapter) -> dict[str, list[str]]:
    """Return the cells that define each exercise's answers, by id; none if the notebook cannot be read."""
    names = {name for entry in chapter.exercises for name in entry.answers}
    code = _code(data, names)
    return {entry.id: _defining(code, entry.answers) for entry in chapter.exercises if entry.answers}


def written(data: bytes, chapter: Chapter) -> list[str]:
    """Return the code cells without the handed-out lines."""
    handed = Handed.of(chapter)
    return [own(cell, handed) for cell in _code(data, set())]


def carried(data: bytes) -> list[str]:
    """Return a digest of each file of weights in the outputs."""
    try:
        packed = read_notebook(data, set()).carried.values()
    except NotANotebook:
        return []
    return [hashlib.sha256(str(each.get("data")).encode()).hexdigest() for each in packed]


def _code(data: bytes, names: set[str]) -> list[str]:
    try:
        return read_notebook(data, names).code
    except NotANotebook:
        return []


def _defining(code: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the cells that bind one of `names` (the last two if there are more), judged by their text."""
    bound = "|".join(map(re.escape, names))
    binds = re.compile(rf"^(?:(?:async +)?def +(?:{bound})\b|class +(?:{bound})\b|(?:{bound}) *[:=])", re.MULTILINE)
    return [cell for cell in code if binds.search(cell)][-2:]


@dataclass(frozen=True)
class Own:
    """The code of a class: graded cells by notebook and exercise, and similar pairs by chapter."""

    cells: dict[tuple[str, str], dict[str, list[str]]] = field(
        default_factory=dict
    )  # by (student, SHA-256 of the notebook)
    alike: list[tuple[str, Pair]] = field(default_factory=list)

    @classmethod
    def of(cls, bundle: Bundle, files: Iterable[Submission], teams: Mapping[str, str] = MappingProxyType({})) -> Own:
        """Read it from the current notebooks; members of one of the `teams`, by student, are no pair."""
        cells: dict[tuple[str, str], dict[str, list[str]]] = {}
        programs: dict[str, dict[str, list[str]]] = {}
        weights: dict[tuple[str, str], set[str]] = {}  # the students who handed in the same ones
        for file in files:
            if file.data and not file.trouble:
                chapter = bundle.manifest.chapters[file.stem]
                cells[file.student, file.digest] = cells_of(file.data, chapter)
                programs.setdefault(file.stem, {})[file.student] = written(file.data, chapter)
                for digest in carried(file.data):
                    weights.setdefault((file.stem, digest), set()).add(file.student)
        alike = [(stem, pair) for stem, found in programs.items() for pair in pairs(found, teams)]
        for (stem, _), students in weights.items():
            alike += [
                (f"{stem}: weights", Pair(one, other, 1.0))
                for one, other in combinations(sorted(students), 2)
                if one not in teams or teams[one] != teams.get(other)
            ]
        return cls(cells, alike)

    def graded(self, score: Score) -> dict[str, list[str]]:
        """Return one student's graded cells by exercise; none if the notebook has changed since."""
        found = {}
        for row in score.rows:
            holder = score.holders.get(row.id.partition(".")[0])
            whose = holder.student if holder else score.student
            found[row.id] = self.cells.get((whose, row.bound.handed_in), {}).get(row.id, [])
        return found
