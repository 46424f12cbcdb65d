"""A course on a JupyterHub, by the settings in classroom/hub: release, fetch, submit, collect, grade, feedback.

It needs root, `pip install -e '.[hub]'`, and configurable-http-proxy on the PATH: make test TESTS="-m hub".
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from project import ROOT

ALONE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]  # whatever happens, no process is left


@pytest.mark.hub
def test_a_course_from_release_to_feedback():
    assert os.geteuid() == 0, "a hub that starts servers for others must be root"
    assert shutil.which("configurable-http-proxy"), "npm install -g configurable-http-proxy"
    with tempfile.TemporaryDirectory(prefix="tfm-hub-") as made:  # pytest's own folders are closed to ordinary users
        hold(Path(made))


def hold(folder: Path) -> None:
    """The course, in `folder`."""
    folder.chmod(0o755)
    before = Path("/etc/passwd").read_text()
    done = subprocess.run(
        [*ALONE, sys.executable, "-m", "grader.hub.machine", str(folder)],
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
    )
    log = (folder / "hub.log").read_text() if (folder / "hub.log").exists() else ""
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{log[-4000:]}"
    assert Path("/etc/passwd").read_text() == before
