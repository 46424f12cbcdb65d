"""Before an assignment goes out: its solutions earn every point, and its empty notebooks none."""

from __future__ import annotations

import base64
import json

from tfm_lib.classroom.assign import Assignment
from tfm_lib.classroom.bundle import BadBundle
from tfm_lib.classroom.pool import JudgeProcess, judged


def require_gradable(made: Assignment, stems: list[str]) -> None:
    """Grade what is about to be handed out; raises BadBundle for a solution that fails or a stub that does not, NoSandbox."""
    manifest = json.loads(made.bundle["bundle/manifest.json"])
    begin = {"manifest": manifest, "tests": _tests(made), "sandbox": "bubblewrap", "image": "", "private": []}
    judge = JudgeProcess(begin)
    try:
        for stem in stems:
            entries = [entry for entry in manifest["chapters"][stem]["exercises"] if entry["kind"] != "text"]
            for name, text in [*made.solutions.items(), *made.students.items()]:
                folder, *student, file = name.split("/")
                if file == f"{stem}.ipynb":
                    data = base64.b64encode(text.encode()).decode()
                    job = {
                        "student": "".join(student),
                        "stem": stem,
                        "ids": [each["id"] for each in entries],
                        "data": data,
                    }
                    _require(name, judged(judge, job), full=folder == "solution")
    finally:
        judge.close()


def _require(name: str, result: dict, full: bool) -> None:
    if "exercises" not in result:
        raise BadBundle(f"{name} could not be graded: {result}. Nothing was written.")
    for id, row in result["exercises"].items():
        if row["points"] != (row["of"] if full else 0):
            said = "; ".join(test["message"] for test in row["tests"] if test["message"]) or row["reason"] or "it holds"
            expected = "all" if full else "none"
            raise BadBundle(
                f"In {name}, {id} earns {row['points']:g} of {row['of']:g} points where it should earn {expected}: {said} Nothing was written."
            )


def _tests(made: Assignment) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, text in made.bundle.items():
        if name.startswith("bundle/tests/"):
            stem, _, student = name.removeprefix("bundle/tests/").removesuffix(".py").partition("/")
            found.setdefault(stem, {})[student] = text
    return found
