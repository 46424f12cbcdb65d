"""A right answer is never refused for how it came: the ways of habits.py in a kernel, which is emptied before each."""

import os
import re

import pytest
from jupyter_client.manager import start_new_kernel
from project import ROOT

from checks.habits import CHECK, FILE, HABITS, RIGHT, SETUP, STUB, TOLD, WRONG


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """`kernel(cells)`: what the last of these cells says, run in an empty namespace after the stub's."""
    home = tmp_path_factory.mktemp("reader")
    (home / "mine_file.py").write_text(FILE, encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(ROOT), "TFM_MINE_FOLDER": str(home), "OMP_NUM_THREADS": "1"}
    manager, client = start_new_kernel(cwd=str(home), env=env)

    def said(cells: list[str]) -> str:
        came: list[str] = []

        def heard(message: dict) -> None:
            content = message["content"]
            text = content.get("text") or content.get("data", {}).get("text/plain") or ""
            came.append(text + re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(content.get("traceback", ()))))

        for cell in ("%reset -f", SETUP, STUB, *cells):
            came.clear()
            client.execute_interactive(cell, output_hook=heard, timeout=120)
        return "".join(came)

    yield said
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_right_answer_passes_however_it_came(kernel):
    refused = {name: said for name, cells in HABITS.items() if "✓" not in (said := kernel(cells))}
    assert refused == {}


def test_what_went_wrong_is_told(kernel):
    told = {name: said for name, (cells, words) in TOLD.items() if words not in (said := kernel(cells))}
    assert told == {}


def test_an_attempt_that_stopped_is_not_blamed_for_a_version_taken_back(kernel):
    said = kernel([WRONG, "old = triangle", f"1 / 0\n{RIGHT}", "triangle = old", CHECK])
    assert "the future" in said and "an older cell" not in said
