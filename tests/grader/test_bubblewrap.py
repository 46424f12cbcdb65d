"""The sandbox finds Python also where links lead to it."""

import sys
from pathlib import Path

import pytest

from tfm_grader.sandbox import bubblewrap


def test_links_outside_of_what_is_visible_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    visible, elsewhere = tmp_path / "environment", tmp_path / "elsewhere"
    for folder in (visible, elsewhere):
        folder.mkdir()
    python = visible / "python"
    python.symlink_to("python3")
    (visible / "python3").symlink_to(elsewhere / "python3")
    (elsewhere / "python3").symlink_to("python3.11")
    (elsewhere / "python3.11").symlink_to("/usr/bin/python3")
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(bubblewrap, "visible_folders", lambda: [str(visible), "/usr"])
    assert list(bubblewrap.links_to_python()) == [
        (str(elsewhere / "python3"), "python3.11"),
        (str(elsewhere / "python3.11"), "/usr/bin/python3"),
    ]


def test_a_plain_interpreter_needs_no_link(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", str(Path(sys.executable).resolve()))
    assert not list(bubblewrap.links_to_python())
