"""Check an assignment before release: solutions earn full points, and untouched notebooks none."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing

from tfm_grader.assignment.assign import Assignment
from tfm_grader.assignment.manifest import BadBundle, manifest
from tfm_grader.judging.pool import JudgeProcess, judged
from tfm_grader.records import Begin, Job, Judged, Result, Unreadable


def require_gradable(
    made: Assignment, stems: list[str], tell: Callable[[int, int], None] = lambda done, of: None
) -> None:
    """Grade the notebooks to be released, and `tell` how many are done of how many.

    Raises BadBundle if a solution fails or a stub passes, NoSandbox.
    """
    written = manifest(json.loads(made.bundle["bundle/manifest.json"]))
    done, of = 0, sum(name.endswith(".ipynb") for name in {**made.solutions, **made.students})
    with closing(JudgeProcess(Begin(manifest=written, tests=_tests(made)))) as judge:
        for stem in stems:
            ids = [entry.id for entry in written.chapters[stem].exercises if entry.kind != "text"]
            for name, text in [*made.solutions.items(), *made.students.items()]:
                folder, *student, file = name.split("/")
                if file == f"{stem}.ipynb":
                    job = Job(student="".join(student), stem=stem, ids=ids, data=text.encode())
                    tell(done := done + 1, of)
                    _require(name, judged(judge, job), full=folder == "solution")


def _require(name: str, result: Result, full: bool) -> None:
    if not isinstance(result, Judged):
        why = result.unreadable if isinstance(result, Unreadable) else result.infrastructure
        raise BadBundle(f"{name} could not be graded: {why}. Nothing was written.")
    for id, row in result.exercises.items():
        if row.status == "infrastructure":
            raise BadBundle(
                f"In {name}, {id} could not be judged: {row.reason.removesuffix('.')}. Nothing was written."
            )
        if row.points != (row.of if full else 0):
            said = "; ".join(test.message for test in row.tests if test.message) or row.reason or "it holds"
            expected = "all" if full else "none"
            raise BadBundle(
                f"In {name}, {id} earns {row.points:g} of {row.of:g} points where it should earn {expected}: {said} Nothing was written."
            )


def _tests(made: Assignment) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, text in made.bundle.items():
        if name.startswith("bundle/tests/"):
            stem, _, student = name.removeprefix("bundle/tests/").removesuffix(".py").partition("/")
            found.setdefault(stem, {})[student] = text
    return found
