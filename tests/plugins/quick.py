"""Keeps of the collected tests those that the changed files concern, the nearest first, until time is up."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from quick import concerned

ASKED = json.loads(os.environ["TFM_QUICK"])
LATE = "no time was left for this test; make test runs it"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    found = concerned(ASKED["paths"])
    kept = [item for item in items if found.keeps(item.nodeid, {*getattr(item, "fixturenames", ())})]
    config.hook.pytest_deselected(items=[item for item in items if item not in {*kept}])
    items[:] = sorted(kept, key=lambda item: found.files[item.nodeid.removeprefix("tests/").partition("::")[0]])


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    from xdist.scheduler import LoadScheduling

    return LoadScheduling(config, log)  # in the order given, whereas the whole suite begins with its large groups


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > ASKED["until"]:
        pytest.skip(LATE)


def pytest_terminal_summary(terminalreporter) -> None:
    late = sum(LATE in str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
    if late:
        terminalreporter.write_line(
            f"Time was up before {late} of the tests that the change concerns: make test runs them."
        )
