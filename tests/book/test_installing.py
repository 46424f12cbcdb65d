"""What `make` asks of pip, and what it says when pip fails: by the command line and the words, without a network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import ROOT

from tfm_book.installing import CPU_BUILDS, cause, command_line

TORCH = ["-c", "constraints.txt", "torch", "hatchling"]


def test_on_linux_torch_comes_from_its_index_of_cpu_builds() -> None:
    assert command_line(TORCH, "linux", {}, "") == [*TORCH, "--extra-index-url", CPU_BUILDS]
    assert (
        command_line(["torch==2.13.0"], "linux", {"PIP_DEFAULT_TIMEOUT": "9"}, "global.timeout='9'")[-1] == CPU_BUILDS
    )


@pytest.mark.parametrize(
    ("arguments", "platform", "environment", "settings"),
    [
        (TORCH, "darwin", {}, ""),
        (TORCH, "win32", {}, ""),
        (["hatchling"], "linux", {}, ""),
        (["-e", ".[book]"], "linux", {}, ""),
        (TORCH, "linux", {"TORCH": "default"}, ""),
        (TORCH, "linux", {"PIP_INDEX_URL": "file:///mirror"}, ""),
        (TORCH, "linux", {"PIP_FIND_LINKS": "/wheels"}, ""),
        (TORCH, "linux", {"PIP_NO_INDEX": "1"}, ""),
        (TORCH, "linux", {}, "global.cert='x'\nglobal.extra-index-url='file:///mirror'\n"),
        (TORCH, "linux", {}, "install.find-links='/wheels'\n"),
        (TORCH, "linux", {}, "user.index-url='file:///mirror'\n"),
    ],
)
def test_an_index_that_somebody_set_is_respected_and_no_other_asked(arguments, platform, environment, settings) -> None:
    assert command_line(arguments, platform, environment, settings) == arguments


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "The disk is full"),
        (
            "OSError: [Errno 30] Read-only file system: '/book/.venv/lib'",
            "The environment cannot be written: /book/.venv",
        ),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(…)'\nERROR: ResolutionImpossible",
            "No package index could be reached",
        ),
    ],
)
def test_a_failure_is_told_by_its_cause(words: str, begins: str) -> None:
    assert cause(words, "/book/.venv").startswith(begins)


def test_what_nobody_foresaw_has_no_cause_made_up() -> None:
    assert cause("ERROR: No matching distribution found for torch==99", "/book/.venv") is None


def test_pips_words_and_code_reach_who_called() -> None:
    script = ROOT / "tfm_book" / "installing.py"
    run = subprocess.run(
        [sys.executable, "-P", str(script), "--no-index", "--no-deps", "no-such-package-of-anybody"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(Path.home())},
    )
    assert run.returncode == 1
    assert "no-such-package-of-anybody" in run.stderr and run.stderr.endswith("its words stand above.\n")


def make(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """As a person calls it: what a `make` above these tests was told (`make new`) is not told to this one."""
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.run(["make", *words], cwd=cwd, capture_output=True, text=True, check=False, env=env)


def test_the_folder_of_tests_is_no_target() -> None:
    run = make("tests", cwd=ROOT)
    assert run.returncode == 2 and "The tests are run by: make test" in run.stderr


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    (tmp_path / ".venv").write_text("a file where the folder should be")
    run = make(".venv/.done/venv", cwd=tmp_path)
    assert run.returncode == 2 and f"The book's folder cannot be written: {tmp_path}" in run.stderr
