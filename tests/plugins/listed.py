"""Tries tests in the order in which they are named, and gives each worker one at a time. It rests on no other file of ours."""

import pytest


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    from xdist.scheduler import LoadScheduling

    return LoadScheduling(config, log)
