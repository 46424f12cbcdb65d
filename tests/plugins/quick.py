"""Keeps of the collected tests those that the changed files concern, the nearest first, until time is up."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from quick import concerned
from rooms import selection

ASKED = json.loads(os.environ["TFM_QUICK"])
LATE = "no time was left for this test; it is run by "


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rank = selection(ASKED["paths"]).rank if ASKED["long"] else near(ASKED["paths"])
    ranks = {item: rank(item.nodeid, {*getattr(item, "fixturenames", ())}) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if ranks[item] is None])
    items[:] = sorted((item for item in items if ranks[item] is not None), key=ranks.get)


def near(paths: list[str]):
    """How near a test is to the changed files; None where it is not tried."""
    found = concerned(paths)

    def rank(nodeid: str, fixtures: set[str]) -> int | None:
        file = nodeid.removeprefix("tests/").partition("::")[0]
        return found.files[file] if found.keeps(nodeid, fixtures) else None

    return rank


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    from xdist.scheduler import LoadScheduling

    # In the order given, whereas the whole suite begins with its large groups. Long tests stay in groups all the same:
    # what their fixtures make takes minutes.
    return None if ASKED["long"] else LoadScheduling(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > ASKED["until"]:
        pytest.skip(LATE + ("make test-all" if ASKED["long"] else "make test"))


def pytest_terminal_summary(terminalreporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    late = Counter(report.nodeid.partition("::")[0] for report in skipped if LATE in str(report.longrepr))
    if late:
        rest = "make test-all" if ASKED["long"] else "make test"
        terminalreporter.write_line(
            f"Time was up before {late.total()} of the tests that the change concerns; {rest} runs them: "
            + ", ".join(f"{file} ({count})" for file, count in late.most_common())
        )
