"""The instructor's bundle: exercises, points, limits and hidden tests.

A folder with `manifest.json` and `tests/<chapter>.py` (`tests/<chapter>/<student>.py` if every student has
personal values). `visible/` holds, under the same names, the checks that students see. It is plain text and may be edited; results affected by an edit are graded again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tfm_grader.assignment.manifest import FORMAT, MOST_POINTS, BadBundle, Entry, Manifest, manifest
from tfm_grader.sandbox.limits import Limits
from tfm_grader.version import PACKAGE, grader, library_modules


@dataclass(frozen=True)
class Bundle:
    """A loaded bundle: the manifest, and the source of the tests by chapter and student ("" for all).

    If `visible`, the tests are the checks that students see.
    """

    manifest: Manifest
    tests: dict[str, dict[str, str]]
    visible: bool = False

    @property
    def limits(self) -> Limits:
        return self.manifest.limits

    @property
    def seed(self) -> int:
        return int.from_bytes(hashlib.sha256(str(self.manifest.seed).encode()).digest()[:6])

    @property
    def stems(self) -> list[str]:
        return list(self.manifest.chapters)

    def exercises(self, stem: str) -> list[Entry]:
        """Return the manifest entries for the exercises of chapter `stem`."""
        return self.manifest.chapters[stem].exercises

    def has_tests_for(self, stem: str, student: str) -> bool:
        """Whether chapter `stem` is the same for all students, or has personal tests for `student`."""
        own = self.tests.get(stem, {}).keys() - {""}
        return not own or not student or student in own

    def source(self, stem: str, student: str) -> str:
        """Return the source of the hidden tests of chapter `stem` for `student`."""
        texts = self.tests.get(stem, {})
        return texts.get(student, texts.get("", ""))

    def whose(self, stem: str, student: str) -> str:
        """Return the key of the tests of chapter `stem` for `student`: the student, or "" if shared.

        Raises BadBundle if the chapter has personal tests but none for this student.
        """
        if not self.has_tests_for(stem, student):
            raise BadBundle(
                f"The bundle has numbers for each student of a roster, and {student} is not on it. "
                "Collect with that roster, or make the assignment again for all."
            )
        return student if student in self.tests.get(stem, {}) else ""

    def fingerprint(self, stem: str, student: str, id: str) -> str:
        """Hash everything in the bundle that the result of exercise `id` depends on."""
        entry = next(each for each in self.exercises(stem) if each.id == id)
        own = {name: text for name, text in entry.own_questions.items() if name == student}
        entry = msgspec.structs.replace(entry, title="", answer="", own_questions=own)
        known = [FORMAT, entry, self.manifest.seed, self.limits]
        if entry.kind == "assigned":
            known.append(self.source(stem, student))
        return hashlib.sha256(msgspec.json.encode(known, order="sorted")).hexdigest()

    def grader(self, stem: str, id: str) -> str:
        """Describe the installed version of the code that grades exercise `id`."""
        entry = next(each for each in self.exercises(stem) if each.id == id)
        judges: tuple[str, ...] = ()
        if entry.kind == "practice":
            judges = (f"tfm_exercises.checks.{stem}", f"tfm_lib.{stem}")
        elif entry.kind == "assigned":  # every student's tests import the same
            judges = library_modules(next(iter(self.tests.get(stem, {}).values()), ""))
        return grader((*judges, *map("tfm_lib.{}".format, entry.modules)) if entry.kind != "text" else ())


def read_bundle(folder: Path, visible: bool = False) -> Bundle:
    """Load the bundle in `folder`, with the checks that students see if `visible`, else with the hidden tests.

    Raises BadBundle if it is missing or invalid.
    """
    try:
        made = msgspec.json.decode((folder / "manifest.json").read_bytes())
    except FileNotFoundError:
        raise BadBundle(f"There is no bundle in {folder}: it has no manifest.json. `tfm assign` makes one.") from None
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise BadBundle(f"{folder / 'manifest.json'} is not JSON: {error}.") from None
    if not isinstance(made, dict) or made.get("format") != FORMAT:
        raise BadBundle(f"{folder} was made by another version of this program. Make it again with `tfm assign`.")
    tests: dict[str, dict[str, str]] = {}
    sources = folder / ("visible" if visible else "tests")
    for path in sorted(sources.glob("*.py")):
        tests[path.stem] = {"": path.read_text(encoding="utf-8")}
    for path in sorted(sources.glob("*/*.py")):
        tests.setdefault(path.parent.name, {})[path.stem] = path.read_text(encoding="utf-8")
    return Bundle(manifest(made), tests, visible)


def module_sources(names: list[str]) -> dict[str, str]:
    """Return the source of the book's modules `names`, for import in the sandbox."""
    return {f"tfm_lib.{name}": (PACKAGE / f"{name}.py").read_text(encoding="utf-8") for name in names}


def tasks(bundle: Bundle, stem: str, student: str) -> list[Any]:
    """Build the judge's tasks: the exercises of `stem` with their tests.

    Executes the bundle's test files. Raises BadBundle.
    """
    from tfm_exercises.judge import find
    from tfm_grader.assignment.tasks import Task, Test

    source = bundle.source(stem, student)
    hidden = {} if bundle.visible else hidden_tests(source, stem)
    visible = visible_checks(source, stem) if bundle.visible else {}
    made = []
    for entry in bundle.exercises(stem):
        answers = tuple(entry.answers)
        if entry.kind == "text" or (bundle.visible and entry.kind == "assigned" and entry.id not in visible):
            continue
        if entry.id in visible:
            answers = () if entry.carried else visible[entry.id].answers
            tests: tuple[Test, ...] = (Test(entry.id, entry.points, visible[entry.id].judge, hidden=False),)
        elif entry.kind == "assigned":
            tests = tuple(hidden.get(entry.id, ()))
            if not tests:
                raise BadBundle(f"tests/{stem}.py has no test for {entry.id}.")
            if not math.isclose(sum(test.points for test in tests), entry.points):
                raise BadBundle(
                    f"The tests of {entry.id} give {sum(test.points for test in tests):g} points, "
                    f"and manifest.json says {entry.points:g}. Make them agree."
                )
        else:
            try:
                judge = find(entry.id).judge
            except KeyError:
                judge = _gone
            tests = (Test(entry.id, entry.points, judge, hidden=False),)
        sources, forbidden = module_sources(entry.modules), tuple(entry.forbidden)
        may_change = entry.may_change_input
        made.append(Task(entry.id, answers, tests, sources, forbidden, may_change, entry.carried))
    return made


def _gone(student: Any, expect: Any) -> None:
    """Judge no answer to an exercise that the book had when the bundle was made."""
    raise LookupError(
        "this version of the book does not have the exercise; grade it with the version that made the bundle"
    )


def hidden_tests(source: str, stem: str) -> dict[str, list[Any]]:
    """Run `source` and return the tests it defines with `@hidden`, by exercise. Raises BadBundle if it fails."""
    from tfm_grader.assignment.tasks import Test

    collected: dict[str, list[Any]] = {}

    def hidden(id: str, points: float, hint: str = "") -> Callable[[Callable], Callable]:
        """Register the decorated `test(student, expect)` of exercise `id`."""
        if type(points) not in (int, float) or not 0 <= points <= MOST_POINTS:
            raise ValueError(f"the points of a test of {id} must be a number from 0 to {MOST_POINTS}, not {points!r}")

        def register(test: Callable) -> Callable:
            collected.setdefault(id, []).append(Test(test.__name__, points, test, hint))
            return test

        return register

    _run(source, f"tests/{stem}.py", hidden=hidden)
    return collected


def visible_checks(source: str, stem: str) -> dict[str, Any]:
    """Run `source` and return the checks that it defines with `@exercise`, by exercise. Raises BadBundle if it fails."""
    from tfm_exercises.judge import Exercise

    collected: dict[str, Exercise] = {}

    def exercise(id: str, answer: str | tuple[str, ...], **options: Any) -> Callable[[Callable], Callable]:
        """Register the decorated `check(student, expect)` of exercise `id`."""

        def register(check: Callable) -> Callable:
            collected[id] = Exercise(id, (answer,) if isinstance(answer, str) else answer, check, **options)
            return check

        return register

    _run(source, f"visible/{stem}.py", exercise=exercise)
    return collected


def _run(source: str, file: str, **names: Callable) -> None:
    """Execute the instructor's `source`, with `names` and what its tests use. Raises BadBundle."""
    import torch

    from tfm_exercises import judge

    usual = {"Mistake": judge.Mistake, "Slip": judge.Slip, "torch": torch, "F": torch.nn.functional, "math": math}
    try:
        exec(compile(source, file, "exec"), {**usual, **names, "__name__": file.removesuffix(".py").replace("/", "_")})  # noqa: S102 (the instructor's own)
    except Exception as error:  # noqa: BLE001 (whatever it raises is told)
        raise BadBundle(f"{file} does not run: {type(error).__name__}: {error}") from None
