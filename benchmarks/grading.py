"""Processor seconds that a submission of two exercises takes to grade, in its sandbox; the mean over a class of right answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row
from tfm_grader.assignment.manifest import manifest
from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.records import Begin, Job, Judged

BAR, CLASS = 1.3, 20  # seconds, submissions; nbgrader takes 2.1 s for the same


def measure(root: Path) -> Iterator[Row]:
    sys.path.insert(0, str(root / "tests"))
    from hostile.assignment import HIDDEN, MANIFEST
    from hostile.cases import BAND, IMPORTS, TRIANGLE, notebook

    begin = Begin(manifest=manifest(MANIFEST), tests={"masking": {"": HIDDEN}})
    ids = [entry["id"] for entry in MANIFEST["chapters"]["masking"]["exercises"]]
    judge = JudgeProcess(begin)
    try:
        spent = []
        for number in range(CLASS):
            data = notebook([IMPORTS, TRIANGLE, BAND, f"# {number}"])
            result = judge.judge(Job(student=f"s{number}", stem="masking", ids=ids, data=data))
            if not isinstance(result, Judged) or sum(row.points for row in result.exercises.values()) != 4:
                raise RuntimeError(f"a right submission was not graded as right: {result}")
            spent.append(result.cpu)
    finally:
        judge.close()
    yield Row("grading a submission of two exercises, sandboxed", sum(spent[1:]) / (CLASS - 1), BAR, "CPU s", digits=3)
