"""Runs named tests against mutated copies of the core, all in one process, so that torch is imported once.

For each line `{"folder": …, "tests": […]}` of standard input, writes the line `{"passed": …, "failed": …, "broken": …}`
to standard output; each value lists test ids. A test that fails before or after its call (a module that cannot be
imported, a test that does not exist) counts as broken, not as failed.
"""

import importlib
import json
import os
import sys
from pathlib import Path

import pytest
from beartype._cache.cacheclear import clear_caches

TESTS = Path(__file__).parents[1]
ALWAYS_FRESH = ("tfm_lib", "tfm_exercises", "conftest", "project", "lib")
OPTIONS = [
    *("-q", "--no-header", "--tb=no", "-c", os.devnull, "--rootdir", str(TESTS)),
    *("-p", "no:cacheprovider", "--hypothesis-profile", "mutants"),
    *("-p", "no:unraisableexception"),  # it collects garbage twice a run, half a second with torch loaded
]


class Recorder:
    """Collects the outcome of each test."""

    def __init__(self):
        self.outcome = {"passed": [], "failed": [], "broken": []}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.outcome in self.outcome:
            self.outcome[report.outcome].append(report.nodeid)
        elif report.failed:
            self.outcome["broken"].append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.outcome["broken"].append(report.nodeid)


def run(folder: str, tests: list[str]) -> dict[str, list[str]]:
    """The outcome of `tests` when `tfm_lib` is imported from `folder`."""
    for name in [name for name in sys.modules if name.split(".")[0] in ALWAYS_FRESH or name.startswith("test_")]:
        del sys.modules[name]
    clear_caches()  # beartype knows `KeyValueCache | None` by its text, and would hold the new class to be a stranger
    path, finders, recorder = list(sys.path), list(sys.meta_path), Recorder()
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        pytest.main([*OPTIONS, *(str(TESTS / test) for test in tests)], plugins=[recorder])
    finally:
        sys.path[:], sys.meta_path[:] = path, finders
    used = Path(sys.modules["tfm_lib"].__file__)
    if not used.is_relative_to(folder):
        raise RuntimeError(f"{tests} ran against {used}, not against the copy in {folder}.")
    return recorder.outcome


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the tests print is no answer
    for line in sys.stdin:
        print(json.dumps(run(**json.loads(line))), file=answers, flush=True)
