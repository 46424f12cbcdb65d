"""Tries tests in the order in which they are named, one at a time a worker, and notes each that fails in `TFM_FOUND`.

It rests on no other file of ours, so that it goes with the tests of any commit.
"""

import os
from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    from xdist.scheduler import LoadScheduling

    return LoadScheduling(config, log)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note(report)


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.failed:
        said = str(report.longrepr).strip().splitlines()
        with Path(os.environ["TFM_FOUND"]).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\t{said[-1] if said else ''}\n")
