"""Two graders in one folder: the second is refused with a sentence, and nobody waits for the dead."""

import errno
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from project import ROOT
from typer.testing import CliRunner

from tfm_grader import grade_commands, lock
from tfm_grader.lock import Busy, only_one
from tfm_lib._refusal import Refusal
from tfm_lib.cli import app

HOLD = """
import sys, time
from pathlib import Path
from tfm_grader.lock import only_one
with only_one(Path(sys.argv[1]), "tfm grade"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_is_refused_with_who_and_since_when(holder, tmp_path):
    with pytest.raises(Busy) as caught, only_one(tmp_path, "tfm report"):
        pass
    told = str(caught.value)
    assert told.startswith(f"tfm grade (process {holder.pid} on ") and str(time.localtime().tm_year) in told
    assert told.endswith(f"is at work in {tmp_path}. Wait until it has ended, or name another folder.")


def test_the_dead_hold_nothing(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with only_one(tmp_path, "tfm report"):
        assert "tfm report" in (tmp_path / ".held").read_text(encoding="utf-8")
    with only_one(tmp_path, "tfm report"):  # and whoever ended well holds nothing either
        pass


def test_a_disk_that_cannot_lock_is_not_taken_for_a_busy_one(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", no_locks)
    with pytest.raises(Refusal, match="No locks available") as caught, only_one(tmp_path, "tfm grade"):
        pass
    assert not isinstance(caught.value, Busy)


def test_both_commands_take_the_folder_for_themselves(holder, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    course = tmp_path.parent / f"{tmp_path.name}-course"
    (course / "anna").mkdir(parents=True)
    bundle = _bundle(course / "bundle")
    for words in (
        ["grade", course, "--bundle", bundle, "--to", tmp_path],
        ["report", tmp_path, "--bundle", bundle, "--to", course / "report"],
        ["report", course, "--bundle", bundle, "--to", tmp_path],
    ):
        with pytest.raises(Busy, match=f"process {holder.pid}"):
            CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert not (course / "report" / "grades.csv").exists() and not (tmp_path / "grades.csv").exists()


def _bundle(folder: Path) -> Path:
    folder.mkdir()
    text = '{"format": 1, "name": "Masks", "seed": "spring", "chapters": {"masking": {"exercises": []}}}'
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    return folder


def test_a_report_looks_for_the_submissions_where_they_were_graded(tmp_path, monkeypatch):
    """Whatever the folder is called, and if both have been moved since."""
    handed_in, results = tmp_path / "course" / "handed in", tmp_path / "course" / "results"
    (handed_in / "anna").mkdir(parents=True)
    bundle = _bundle(tmp_path / "bundle")
    monkeypatch.setattr(grade_commands, "_engine", lambda *_: nullcontext())
    monkeypatch.setattr(grade_commands, "_judge", lambda *_: None)
    words = ["grade", handed_in, "--bundle", bundle]
    CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    (tmp_path / "course").rename(tmp_path / "moved")
    assert grade_commands._read_from(tmp_path / "moved" / "results") == tmp_path / "moved" / "handed in"
    (tmp_path / "moved" / "handed in").rename(tmp_path / "gone")
    assert grade_commands._read_from(tmp_path / "moved" / "results") is None
    assert not results.exists()
