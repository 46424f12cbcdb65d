"""Select and run the tests that a change concerns, in three minutes: `make quick`.

A change concerns the tests that import it, directly or through other modules, and every test of its stem: the
chapter, its exercises, its widgets. `BESIDE` lists tests that no import connects with the files they test.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from project import CHAPTERS, ROOT, imports, shown, tree

SECONDS = 150  # after collection; then no further test begins, and the last may take half a minute
ALWAYS = ("book/test_layout.py", "book/test_gates.py", "book/test_notation.py", "book/test_reading_order.py")
BY_STEM = (  # each with one item, or one part of it, a stem
    *("checks/test_exercises.py", "checks/test_judges_look_at_arguments.py", "checks/test_slips.py"),
    *("lib/test_mutations.py", "lib/test_bad_input.py"),
    *("book/test_notebooks.py", "book/test_taught.py", "widgets/test_frontend.py", "widgets/test_base.py"),
)
#: Tests that no import connects with what they test, by the beginning of its path.
BESIDE = {
    "frontend/": (
        "widgets/test_frontend.py",
        "widgets/test_twin.py",
        "widgets/test_playground.py",
        "widgets/test_film.py",
    ),
    "models/": ("lib/test_engine.py", "widgets/test_twin.py"),
    "classroom/": ("grader/test_hub_configuration.py", "grader/test_instructor_guide.py"),
    "Makefile": ("book/test_installing.py",),
    "constraints.txt": ("book/test_packaging.py",),
    "pyproject.toml": ("book/test_packaging.py", "book/test_extras.py"),
    "experiments/": ("lib/test_recorded_results.py", "lib/test_experiments.py"),
}
HUB = "tfm_lib/cli.py"  # brings everything together, so that what imports it has to do with one thing in a hundred
OF_A_STEM = re.compile(
    r"(?:tfm_lib|tfm_exercises/checks|tfm_lib/widgets|chapters|tests/checks/answers|tests/widgets/samples)/(?P<a>\w+)\.(?:py|md)"
    r"|frontend/src/(?P<b>\w+)/\w+\.js|frontend/tests/(?P<c>\w+)\.test\.mjs"
    r"|tests/(?:lib|widgets)/(?:test|golden)_(?P<d>\w+)\.py"
)


@dataclass
class Concerned:
    """What a change concerns: test files by how near they are to it, stems, and chapters that show it."""

    files: dict[str, int] = field(default_factory=dict)
    stems: set[str] = field(default_factory=set)
    chapters: set[str] = field(default_factory=set)

    def keeps(self, nodeid: str, fixtures: set[str], long: bool) -> bool:
        """Whether the test is tried: near, not on the built book, and of a stem where its file is about all of them.

        Long ones are tried only of a changed stem.
        """
        file, _, name = nodeid.removeprefix("tests/").partition("::")
        if file not in self.files or fixtures & {"built_book", "lab"}:
            return False
        if long and not (file in BY_STEM and self.stems):
            return False
        parameters = re.search(r"\[(.*)\]", name)
        if self.files[file] or file not in BY_STEM or not parameters:
            return True
        return bool({*re.findall(r"[a-z_]+", parameters[1])} & self.stems)


def changed(since: str = "") -> tuple[str, list[str]]:
    """The commit to compare with, where the branch left main unless `since` is given, and the files that differ."""
    if not since:
        left = _git("merge-base", "main", "HEAD", check=False).strip()
        since = left or "HEAD"
    names = _git("diff", "--name-only", "-z", since) + _git("ls-files", "-z", "--others", "--exclude-standard")
    return since, sorted({*names.split("\0")} - {""})


def concerned(paths: list[str]) -> Concerned:
    """What a change of these files concerns."""
    found = Concerned()
    known = {path.stem for path in CHAPTERS.glob("*.md")}
    for path in paths:
        if (match := OF_A_STEM.fullmatch(path)) and (stem := next(filter(None, match.groups()))) in known:
            found.stems.add(stem)
    found.chapters = {stem for stem in known if any(_shows(stem, path) for path in paths)}
    near = _nearness(paths)
    tests = ROOT / "tests"
    for path in sorted(tests.rglob("test_*.py")):
        name = path.relative_to(tests).as_posix()
        if (rank := near.get(f"tests/{name}")) is not None:
            found.files[name] = rank + 1
    if paths:
        found.files |= dict.fromkeys(ALWAYS, 0)
    if found.stems:
        found.files |= dict.fromkeys(BY_STEM, 0)
    for begin, files in BESIDE.items():
        if any(path.startswith(begin) for path in paths):
            found.files |= {name: found.files.get(name, 1) for name in files}
    for path in paths:  # a changed test is tried as a whole
        if path.removeprefix("tests/") in found.files:
            found.files[path.removeprefix("tests/")] = 1
    return found


def _shows(stem: str, path: str) -> bool:
    """Whether the chapter is the file, or shows code from it."""
    return path == f"chapters/{stem}.md" or any((stem, path) == piece[:2] for piece in shown())


def _nearness(paths: list[str]) -> dict[str, int]:
    """How many imports lie between each file and the nearest of `paths`; files that import none of them are left out."""
    files, importers = _importers()
    near, edge, distance = {}, {path for path in paths if path in files}, 0
    while edge:
        near |= dict.fromkeys(edge, distance)
        edge = set().union(*(importers.get(file, set()) for file in edge if file != HUB)) - near.keys()
        distance += 1
    return near


@cache
def _importers() -> tuple[set[str], dict[str, set[str]]]:
    """The files of library and tests, and of each the files that import it; read once, since it takes seconds."""
    files = {
        path.relative_to(ROOT).as_posix()
        for top in ("tfm_lib", "tfm_exercises", "tfm_book", "tfm_grader", "tests")
        for path in (ROOT / top).rglob("*.py")
    }
    modules = {name: file for file in files for name in _names(file)}
    importers = defaultdict(set)
    for file in files:
        package = ".".join(Path(file).parent.parts)
        for name in imports(ast.walk(tree(ROOT / file)), package):
            if name in modules:
                importers[modules[name]].add(file)
    return files, dict(importers)


def _names(file: str) -> list[str]:
    """By what names `file` is imported: dotted from the root, and from the folder of the tests."""
    dotted = ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__")
    return [dotted, dotted.removeprefix("tests.")] if dotted.startswith("tests.") else [dotted]


def _git(*words: str, check: bool = True) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=check).stdout


def main(since: str = "") -> int:
    began = time.monotonic()
    base, paths = changed(since)
    if not paths:
        print(f"Nothing has changed since {base[:12]}: there is nothing to try. Everything is tried by: make test")
        return 0
    found = concerned(paths)
    print(
        f"{len(paths)} files have changed since {base[:12]}; they concern {len(found.files)} of the test files.",
        flush=True,
    )
    environment = {
        **os.environ,
        "TFM_QUICK": json.dumps({"paths": paths, "seconds": SECONDS}),
    }
    files = [f"tests/{name}" for name in sorted(found.files)]
    options = [
        "-p",
        "tests.plugins.quick",
        "-m",
        "not release",
        "--numprocesses=auto",
        "--maxprocesses=4",
        "--dist=load",
    ]
    code = subprocess.call([sys.executable, "-m", "pytest", *options, *files], cwd=ROOT, env=environment)
    built = (ROOT / "_build" / "html" / "index.html").is_file()
    if code == 0 and found.chapters and built and time.monotonic() - began < 2 * SECONDS:
        code = subprocess.call([sys.executable, "-m", "tfm_lib.cli", "build", *sorted(found.chapters)], cwd=ROOT)
    elif found.chapters and code == 0:
        why = "time was up" if built else "the book is not built here"
        print(f"These chapters were not executed, since {why}: {', '.join(sorted(found.chapters))} (make book).")
    print(
        "Left to make test: tests of the built pages, in browsers and in JupyterLab.",
        f"({time.monotonic() - began:.0f} s)",
    )
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
