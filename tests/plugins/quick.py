"""Keep, of the collected tests, those that the changed files concern, the nearest first, until time is up."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # a plugin is imported before pytest knows the tests' folder
from quick import concerned

UNTIL = pytest.StashKey[float]()
ASKED = json.loads(os.environ["TFM_QUICK"])
LATE = "no time was left for this test; it is run by make test"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    found = concerned(ASKED["paths"])

    def near(item: pytest.Item) -> int | None:
        """How near a test is to the changed files; None where it is not tried."""
        file = item.nodeid.removeprefix("tests/").partition("::")[0]
        fixtures, long = {*getattr(item, "fixturenames", ())}, item.get_closest_marker("long") is not None
        return found.files[file] if found.keeps(item.nodeid, fixtures, long) else None

    config.stash[UNTIL] = time.monotonic() + ASKED["seconds"]  # a busy machine may take minutes to collect
    ranks = {item: near(item) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if ranks[item] is None])
    items[:] = sorted((item for item in items if ranks[item] is not None), key=ranks.get)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    from xdist.scheduler import LoadScheduling

    return LoadScheduling(config, log)  # in the order given, whereas the whole suite begins with its large groups


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.monotonic() > item.config.stash[UNTIL]:
        pytest.skip(LATE)


def pytest_terminal_summary(terminalreporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    late = Counter(report.nodeid.partition("::")[0] for report in skipped if LATE in str(report.longrepr))
    if late:
        terminalreporter.write_line(
            f"Time was up before {late.total()} of the tests that the change concerns; make test runs them: "
            + ", ".join(f"{file} ({count})" for file, count in late.most_common())
        )
