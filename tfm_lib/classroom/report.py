"""All that a class's results become."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tfm_lib.classroom import exports, feedback, results
from tfm_lib.classroom.collect import late_days, roster
from tfm_lib.classroom.manifest import Manifest
from tfm_lib.classroom.scores import Score, pseudonymised, read_marks, scores


@dataclass(frozen=True)
class Report:
    """The scores of a class in one assignment."""

    assignment: str
    scores: list[Score]

    @classmethod
    def of(cls, folder: Path, manifest: Manifest, submissions: Path, marks: Path | None) -> Report:
        """The report on the results in `folder`; raises BadMarks."""
        given = read_marks(marks) if marks else {}
        made = scores(
            results.all_in(folder),
            roster(submissions),
            given,
            manifest.late,
            late_days(submissions, manifest.late.due_at),
        )
        return cls(manifest.name, made)

    def under_pseudonyms(self, key_file: Path) -> Report:
        """The same with codes in place of people."""
        return replace(self, scores=pseudonymised(self.scores, key_file))

    def files(self, column: str) -> dict[str, str]:
        """The texts to write, by their place in the folder of the report."""
        made = {
            "grades.csv": exports.grades(self.scores),
            "items.csv": exports.items(self.scores),
            "class.html": feedback.class_page(self.scores, self.assignment),
        }
        for score in self.scores:
            made[f"feedback/{score.student}.html"] = feedback.student_page(score, self.assignment)
            made[f"gradescope/{score.student}/results.json"] = exports.gradescope(score)
        if any(score.lms_id for score in self.scores):
            made["moodle.csv"] = exports.moodle(self.scores, column)
        return made
