"""A class in small: killed in the middle and run again, it ends as if nothing had happened.

The same with 200 submissions: python tests/grader/make_class.py FOLDER, then tfm grade, or `make bench`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from project import ROOT

from grader.make_class import make
from grader.test_classroom import without_times


def settled(folder: Path) -> dict[str, dict]:
    """Results but for times, and for which of two limits an attack ran into first."""
    made = without_times(folder)
    for result in made.values():
        for exercise in result["chapters"]["masking"]["exercises"]:
            if exercise["status"] == "stopped":
                exercise["reason"] = ""
                for test in exercise["tests"]:
                    test["message"] = ""
    return made


def grade(folder: Path, to: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "tfm_lib.cli", "grade", str(folder / "submissions")]
    command += ["--bundle", str(folder / "bundle"), "--to", str(folder / to), "--jobs", "2"]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )


@pytest.mark.long
def test_killed_and_run_again_ends_the_same(tmp_path):
    deserved = make(tmp_path, honest=12, hostile=3)
    whole = grade(tmp_path, "whole")
    said, _ = whole.communicate()
    assert whole.returncode == 0, said
    killed = grade(tmp_path, "parts")
    while len(list((tmp_path / "parts").glob("*.json"))) < 4:
        assert killed.poll() is None, killed.stdout.read()
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("*.json")}
    assert 4 <= len(done) < 15, "killed too late to prove anything"
    again = grade(tmp_path, "parts")
    said, _ = again.communicate()
    assert again.returncode == 0, said
    assert all(path.stat().st_mtime_ns == time for path, time in done.items()), "what was done was done again"
    assert settled(tmp_path / "parts") == settled(tmp_path / "whole")
    got = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))["points"]
        for path in (tmp_path / "whole").glob("*.json")
    }
    assert got == deserved
