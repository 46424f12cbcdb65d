"""The own code of a class: graded cells, and pairs of programs that are alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tfm_grader.assignment.bundle import Bundle
from tfm_grader.notebook import carried, cells_of, written
from tfm_grader.records import Submission
from tfm_grader.reports.similarity import Pair, copies, pairs
from tfm_grader.scoring.scores import Score


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
        weights: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for file in files:
            if file.data and not file.trouble:
                chapter = bundle.manifest.chapters[file.stem]
                cells[file.student, file.digest] = cells_of(file.data, chapter)
                programs.setdefault(file.stem, {})[file.student] = written(file.data, chapter)
                weights.setdefault(file.stem, {})[file.student] = carried(file.data)
        alike = [(stem, pair) for stem, found in programs.items() for pair in pairs(found, teams)]
        alike += [(f"{stem}: weights", pair) for stem, found in weights.items() for pair in copies(found, teams)]
        return cls(cells, alike)

    def graded(self, score: Score) -> dict[str, list[str]]:
        """Return one student's graded cells by exercise; none if the notebook has changed since."""
        found = {}
        for row in score.rows:
            holder = score.holders.get(row.id.partition(".")[0])
            whose = holder.student if holder else score.student
            found[row.id] = self.cells.get((whose, row.bound.handed_in), {}).get(row.id, [])
        return found
