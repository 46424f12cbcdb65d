"""What every change goes through: the linter, the formatter, and the width of a page."""

import importlib
import inspect
import subprocess
import sys

import pytest
from project import CORE, ROOT

SHOWN = 100  # columns of a page's code, beyond which it scrolls


@pytest.mark.parametrize("command", ["check", "format --check"])
def test_ruff_has_nothing_to_say(command):
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command.split(), "."], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, f"`ruff {command.removesuffix(' --check')} .` would say or change:\n{done.stdout}"


@pytest.mark.parametrize("module", CORE)
def test_shown_code_fits_the_page(module):
    """A comma at the end of a list makes the formatter give each of its parts a line."""
    found = importlib.import_module(f"tfm_lib.{module}")
    shown = [getattr(found, name) for name in found.__all__]
    lines = [line for each in shown if callable(each) for line in inspect.getsource(each).splitlines()]
    assert lines
    assert [line for line in lines if len(line) > SHOWN] == []
