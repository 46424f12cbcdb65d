"""The sandbox finds Python also where links lead to it."""

import os
import sys
from pathlib import Path

import pytest

from tfm_grader.sandbox import bubblewrap


@pytest.fixture(autouse=True)
def only_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the links to the packages and the system's own."""
    for name in ("_named_folders", "_named_settings"):
        monkeypatch.setattr(bubblewrap, name, set)
    monkeypatch.setattr(bubblewrap, "SYSTEM_LINKS", ())


def test_links_outside_of_what_is_visible_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    visible, elsewhere = tmp_path / "environment", tmp_path / "elsewhere"
    for folder in (visible, elsewhere):
        folder.mkdir()
    python = visible / "python"
    python.symlink_to("python3")
    (visible / "python3").symlink_to(elsewhere / "python3")
    (elsewhere / "python3").symlink_to("python3.11")
    (elsewhere / "python3.11").symlink_to("/usr/bin/python3")
    monkeypatch.setattr(os.path, "exists", lambda path: True)  # whether or not this system has such a Python
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(bubblewrap, "visible_folders", lambda: [str(visible), "/usr"])
    assert bubblewrap.links_to_python() == [
        (str(elsewhere / "python3"), "python3.11"),
        (str(elsewhere / "python3.11"), "/usr/bin/python3"),
    ]


def test_links_among_the_folders_on_the_way_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "real" / "deep" / "bin").mkdir(parents=True)
    (tmp_path / "real" / "deep" / "bin" / "python").touch()
    (tmp_path / "first").symlink_to("real/second")
    (tmp_path / "real" / "second").symlink_to(tmp_path / "real" / "deep")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "first" / "bin" / "python"))
    monkeypatch.setattr(bubblewrap, "visible_folders", lambda: [str(tmp_path / "real" / "deep" / "bin")])
    assert bubblewrap.links_to_python() == [
        (str(tmp_path / "first"), "real/second"),
        (str(tmp_path / "real" / "second"), str(tmp_path / "real" / "deep")),
    ]


def test_a_plain_interpreter_needs_no_link(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", str(Path(sys.executable).resolve()))
    assert not bubblewrap.links_to_python()
