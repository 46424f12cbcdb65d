"""Grade the one submission in a container of Gradescope's, and write the results.json that it shows.

    python -P -m tfm_grader.on_gradescope [--visible]

Gradescope knows who hands in and when, so lateness and written answers are left to it. If something fails that isn't
the student's fault, no results.json is written: Gradescope then tells the instructor, and nobody gets 0 points.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from tfm_grader import visible_checks
from tfm_grader.assignment.bundle import Bundle, read_bundle
from tfm_grader.assignment.manifest import Entry
from tfm_grader.collecting import roster as rosters
from tfm_grader.collecting.inbox import replace_file
from tfm_grader.judging.pool import Pool
from tfm_grader.names import fold
from tfm_grader.records import Begin, ExerciseResult, Job, Judged, NotJudged, Submission
from tfm_grader.sandbox.container import require_container
from tfm_grader.tables import number
from tfm_lib._refusal import Refusal

HOME = Path("/autograder")
LATER = "after_published"  # when students see the total and the hidden tests
NO_POINTS = "These checks are those of your notebook. They give no points. " + visible_checks.LATER


CLOSED = ("source", "submission")  # folders that only root may enter
ABOUT = "submission_metadata.json"  # who hands in, and the results of earlier submissions
DEEPEST = 20  # folders


class _User(msgspec.Struct):
    email: str | None = None


class _About(msgspec.Struct):
    users: list[_User]


class NotAccepted(Exception):
    """What was handed in can't be graded; the message tells the student what to do."""


def results(home: Path, visible_only: bool) -> dict[str, Any]:
    """Grade the submission in `home` and return results.json. Raises Refusal if the student isn't at fault."""
    folder = home / "source" / "bundle"
    shown = read_bundle(folder, visible=True)
    require_container(shown.limits.memory)
    _close(home)
    whole = shown if visible_only else read_bundle(folder)  # both before anything of a submission runs
    try:
        found = _submitted(home, shown)
    except NotAccepted as why:
        return {"score": 0, "output": str(why), "tests": []}
    private = [str(home / name) for name in (*CLOSED, ABOUT)]
    tests = _visible(_begin(shown, private), shown, found)
    if visible_only:
        return {"score": 0, "output": NO_POINTS, "tests": tests}
    scored = _scored(_begin(whole, private), whole, found)
    total = number(sum(each.get("score", 0) for each in scored))
    return {"score": total, "visibility": LATER, "tests": [*tests, *scored]}  # a test's own visibility goes first


def _close(home: Path) -> None:
    """Let only root change what is graded and what is written, before anything of a submission runs. Raises OSError."""
    (home / "results").mkdir(exist_ok=True)
    if not (home / "submission").is_dir():
        raise Refusal(f"There is no folder {home / 'submission'} with what was handed in.")
    for path in (home, home / "results", *(home / name for name in CLOSED), home / ABOUT):
        if path.exists():
            os.chown(path, 0, 0)
            path.chmod(path.stat().st_mode & (0o755 if path in (home, home / "results") else 0o700))


def _submitted(home: Path, bundle: Bundle) -> list[Submission]:
    """Find the notebook of each chapter. Raises NotAccepted."""
    student, found = _student(home, bundle), dict[str, tuple[str, Submission]]()
    for path in _notebooks(home / "submission"):
        name = path.relative_to(home / "submission").as_posix()
        try:
            one = visible_checks.one_notebook(path, bundle)
        except Refusal as why:
            raise NotAccepted(str(why).replace(str(path), name)) from None
        if one.stem in found:
            raise NotAccepted(f"{found[one.stem][0]} and {name} are both notebooks of {one.stem}. Hand in one of them.")
        found[one.stem] = name, one.but(student=student)
    if not found:
        names = " and ".join(f"{stem}.ipynb" for stem in bundle.stems)
        raise NotAccepted(f"There is no notebook in what you handed in. Hand in {names}.")
    return [one for _, one in found.values()]


def _notebooks(folder: Path) -> list[Path]:
    """List the notebooks in `folder`, not those of macOS or Jupyter, nor any in more than DEEPEST folders."""
    found, waiting = [], [(folder, 0)]
    while waiting:
        here, depth = waiting.pop()
        for path in here.iterdir():
            if path.name.startswith(".") or path.name == "__MACOSX" or path.is_symlink():
                continue
            if path.is_dir() and depth < DEEPEST:
                waiting.append((path, depth + 1))
            elif path.is_file() and path.suffix.lower() == ".ipynb":
                found.append(path)
    return sorted(found)


def _student(home: Path, bundle: Bundle) -> str:
    """Return the student whose numbers count, by the roster in the bundle; "" if all have the same.

    Only what Gradescope says of its users is believed. Raises Refusal if nobody fits.
    """
    if not any(set(texts) - {""} for texts in bundle.tests.values()):
        return ""
    try:
        about = msgspec.json.decode((home / ABOUT).read_bytes(), type=_About)
    except (OSError, ValueError, RecursionError) as error:
        raise Refusal(f"{home / ABOUT} doesn't say whose submission it is ({error}).") from None
    said = {fold(user.email or "") for user in about.users} - {""}  # names can be changed there
    roster = rosters.kept(home / "source" / "bundle") or rosters.Roster(())
    people = [each for each in roster.people if {fold(each.email), fold(each.student)} & said]
    if len({each.team or each.student for each in people}) != 1:
        raise Refusal(
            f"Each student has numbers of their own, and by {', '.join(sorted(said)) or 'no email'} the roster knows "
            f"{len(people)} students. It needs a column `email` with the addresses that Gradescope has."
        )
    return people[0].student


def _visible(begin: Begin, bundle: Bundle, found: list[Submission]) -> list[dict[str, Any]]:
    """Run the visible checks; they have a status and no points."""
    tests = []
    with Pool(begin, 1) as pool:
        for told in visible_checks.checked(bundle, found, pool):
            if told.trouble:
                tests.append({"name": f"{told.stem}, visible checks", "status": "failed", "output": told.trouble})
            for each in told.checked:
                status = {"status": "passed" if each.passed else "failed"} if each.counts else {}
                lines = [
                    each.said,
                    *(f"✓ {one}" for one in each.held),
                    *(f"→ {one}" for one in each.faults),
                    *each.notes,
                ]
                name = f"{each.title}, visible check" if each.counts else each.title
                tests.append({"name": name, **status, "output": "\n".join(lines)})
    return [{**each, "visibility": "visible", "output_format": "text"} for each in tests]


def _scored(begin: Begin, bundle: Bundle, found: list[Submission]) -> list[dict[str, Any]]:
    """Run the tests that give points. Raises Refusal if one couldn't be judged."""
    by_stem = {each.stem: each for each in found}
    jobs = [
        Job(student=each.student, stem=stem, ids=[entry.id for entry in bundle.exercises(stem)], data=each.data or b"")
        for stem, each in by_stem.items()
    ]
    rows: dict[str, ExerciseResult] = {}
    with Pool(begin, 1) as pool:
        for _, result in pool.results(jobs):
            if isinstance(result, NotJudged):
                raise Refusal(f"The submission could not be judged: {result.infrastructure}")
            if isinstance(result, Judged):
                rows |= result.exercises
    return [
        _told(entry, rows.get(entry.id), stem in by_stem)
        for stem in bundle.stems
        for entry in bundle.exercises(stem)
        if entry.kind != "text"
    ]


def _told(entry: Entry, row: ExerciseResult | None, there: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"name": entry.title, "visibility": LATER, "output_format": "text"}
    if row is None:
        output = "The notebook could not be read." if there else "Nothing was handed in."
        return {**made, "score": 0, "max_score": number(entry.points), "output": output}
    if row.status == "infrastructure":
        raise Refusal(f"{entry.id} could not be judged: {row.cause or row.reason}")
    said = [*dict.fromkeys(f"✓ {held}" for test in row.tests for held in test.held)]
    if entry.kind == "practice":  # what its answer raises here could show what it has seen of a hidden test
        said += ["The visible check says what is missing."] if row.points < row.of else []
    else:
        said += dict.fromkeys(test.message for test in row.tests if test.message) or (
            [row.reason] if row.reason else []
        )
    said += [row.graded.sentence] if row.graded and row.points < row.of else []
    return {**made, "score": number(row.points), "max_score": number(row.of), "output": "\n".join(said)}


def _begin(bundle: Bundle, private: list[str]) -> Begin:
    return Begin(bundle.manifest, bundle.tests, private, visible=bundle.visible, in_container=True)


def write_results() -> int:
    """Write results.json. What goes wrong is printed, which only the instructor sees."""
    home = Path(os.environ.get("TFM_AUTOGRADER", HOME))
    target = home / "results" / "results.json"
    try:
        target.unlink(missing_ok=True)
        made = json.dumps(results(home, "--visible" in sys.argv[1:]), ensure_ascii=False, indent=1)
        replace_file(target, made.encode("utf-8", "replace") + b"\n")
    except Exception as error:  # noqa: BLE001 (whatever it is, no result is written)
        kind = "" if isinstance(error, Refusal) else f"{type(error).__name__}: "
        print(f"Not graded. {kind}{error}".encode("ascii", "backslashreplace").decode())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(write_results())
