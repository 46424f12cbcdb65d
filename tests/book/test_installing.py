"""What `make` asks of pip, and what it says when pip fails: by the command line and the words, without a network."""

import json
import os
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from project import ROOT

from tfm_book import installing
from tfm_book.installing import CPU_BUILDS, build_of_torch, cause, command_line, doing

TORCH = ["-c", "constraints.txt", "torch", "hatchling"]


def test_on_linux_torch_comes_from_its_index_of_cpu_builds() -> None:
    words, said = command_line(TORCH, "linux", {}, "", never_asked)
    assert words == [*TORCH, "--extra-index-url", CPU_BUILDS] and said.startswith("PyTorch: its CPU build")
    timeout = {"PIP_DEFAULT_TIMEOUT": "9"}, "global.timeout='9'"
    assert command_line(["torch==2.13.0"], "linux", *timeout, never_asked)[0][-1] == CPU_BUILDS


def never_asked() -> bool:
    pytest.fail("the network was asked")


OWN = "from your own index alone"


@pytest.mark.parametrize(
    ("arguments", "platform", "environment", "settings", "says"),
    [
        (TORCH, "darwin", {}, "", "the default build."),
        (TORCH, "win32", {}, "", "the default build."),
        (["hatchling"], "linux", {}, "", ""),
        (["-e", ".[book]"], "linux", {}, "", ""),
        (TORCH, "linux", {"TORCH": "default"}, "", "because of TORCH=default"),
        (TORCH, "linux", {"PIP_INDEX_URL": "file:///mirror"}, "", OWN),
        (TORCH, "linux", {"PIP_NO_INDEX": "1"}, "", OWN),
        (TORCH, "linux", {}, "global.extra-index-url='file:///a'\nuser.index-url='file:///mirror'\n", OWN),
    ],
)
def test_an_index_that_somebody_set_is_respected_and_no_other_asked(
    arguments, platform, environment, settings, says
) -> None:
    words, said = command_line(arguments, platform, environment, settings, never_asked)
    assert words == arguments and says in said and bool(says) == bool(said)


@pytest.mark.parametrize(
    ("environment", "settings"),
    [
        ({"PIP_FIND_LINKS": "/wheels"}, ""),
        ({}, "global.cert='x'\nglobal.extra-index-url='file:///mirror'\n"),
        ({"PIP_NO_INDEX": "0"}, "install.find-links='/wheels'\n"),
        ({}, ":env:.find-links='/wheels'\n"),
    ],
)
def test_places_beside_the_public_index_keep_the_cpu_build(environment, settings) -> None:
    words, said = command_line(TORCH, "linux", environment, settings, lambda: True)
    assert words[-1] == CPU_BUILDS and "its CPU build" in said
    words, said = command_line(TORCH, "linux", environment, settings, lambda: False)
    assert words == TORCH and "cannot be reached" in said, "what cannot be reached would only be waited for"


def test_what_was_installed_is_said() -> None:
    assert build_of_torch("2.13.0+cpu", ["nvidia-ml-py"]).endswith("the CPU build.")
    assert build_of_torch("2.13.0", ["nvidia-cublas"]).endswith("the build with CUDA.")
    assert build_of_torch("2.13.0", ["numpy"]).endswith("the default build.")


@pytest.mark.parametrize(
    ("line", "doing_so"),
    [
        ("  Downloading https://host/torch-2.13.0%2Bcpu-cp311-linux.whl (191.8 MB)", "downloading torch (191.8 MB)"),
        ("Using cached numpy-2.4.6-cp311-cp311-manylinux.whl.metadata (6.6 kB)", "downloading numpy (6.6 kB)"),
        ("Collecting jupyter-book<2,>=1.0.4 (from tfm-lib==1.0)", "collecting jupyter-book"),
        ("Processing /wheels/torch-2.13.0-cp311.whl", "collecting torch-2.13.0-cp311.whl"),
        ("Installing collected packages: a, b, c", "unpacking 3 packages"),
        ("Requirement already satisfied: numpy in /lib", None),
    ],
)
def test_what_pip_does_is_read_from_its_lines(line: str, doing_so: str | None) -> None:
    assert doing(line) == doing_so


SLOW_PIP = """
import sys, time
print("Collecting torch", flush=True); time.sleep(0.5); print("Installing collected packages: a, b", flush=True)
time.sleep(0.5); sys.stderr.write("a complaint"); sys.exit(3)
"""


def test_a_long_installation_gives_signs_of_life(monkeypatch, capfd) -> None:
    monkeypatch.setattr(installing, "EVERY", 0.2)
    assert installing.install([sys.executable, "-c", SLOW_PIP]) == (3, "a complaint")
    said = capfd.readouterr().out
    assert "  0:00 collecting torch\n" in said and "unpacking 2 packages\n" in said


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


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the Makefile and what it calls first, as a copy of the book."""
    return copy_at(tmp_path / "book")


def copy_at(place: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "tfm_book/installing.py", "tfm_lib/__init__.py"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes((ROOT / name).read_bytes())
    return place


def a_python(place: Path, version: str) -> str:
    """A script that answers what `make` asks of a Python of this version."""
    program = place.with_name(f"{place.name}.py")
    program.write_text(
        f"import sys\nsys.version, sys.version_info = '{version} (x)', "
        f"tuple(map(int, '{version}'.split('.')))\nexec(sys.argv[2])\n"
    )
    # of a shell, because a script's first line can't name an interpreter whose path has a space
    place.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(program))} "$@"\n')
    place.chmod(0o755)
    return str(place)


@pytest.mark.parametrize("by", ["on the command line", "in the environment"])
def test_an_unsuitable_python_that_was_named_is_refused(place: Path, by: str, monkeypatch) -> None:
    for named, why in (
        (a_python(place / "an older one", "3.10.13"), "which is Python 3.10.13; the book needs version 3.11 or newer."),
        ("no-such-python", "which is not a Python that runs here."),
    ):
        monkeypatch.setenv("PYTHON", "") if by == "on the command line" else monkeypatch.setenv("PYTHON", named)
        run = make(".venv/.done/venv", *([f"PYTHON={named}"] if by == "on the command line" else []), cwd=place)
        assert run.returncode == 2 and f"PYTHON names {named}, {why}" in run.stderr, run.stderr
        assert not (place / ".venv").exists()


def test_an_environment_of_another_python_than_the_named_one_is_refused(place: Path) -> None:
    venv.create(place / ".venv", with_pip=False)
    (place / ".venv" / ".done").mkdir()
    (place / ".venv" / ".done" / "venv").touch()
    own = ".".join(map(str, sys.version_info[:3]))
    assert make(".venv/.done/venv", f"PYTHON={sys.executable}", cwd=place).returncode == 0
    run = make(".venv/.done/venv", f"PYTHON={a_python(place / 'other', '3.99.1')}", cwd=place)
    assert run.returncode == 2 and "which is Python 3.99.1, but the environment" in run.stderr
    assert f"was made with Python {own}. Remove that environment, or make another one: make VENV=" in run.stderr


def test_an_environment_of_another_copy_is_left_alone(place: Path, tmp_path: Path) -> None:
    other = copy_at(tmp_path / "other")
    venv.create(other / ".venv", with_pip=False)
    (place / ".venv").symlink_to(other / ".venv")
    for run in (
        make(".venv/.done/venv", cwd=place),
        subprocess.run(
            [".venv/bin/python", "-P", "tfm_book/installing.py", "x"], cwd=place, capture_output=True, text=True
        ),
    ):
        assert run.returncode == 2 and f"lies in another copy of the book, {other}, " in run.stderr
    shared = tmp_path / "shared"
    noted = shared / "lib" / "tfm_lib-1.dist-info"
    noted.mkdir(parents=True)
    (noted / "METADATA").write_text("Metadata-Version: 2.1\nName: tfm-lib\nVersion: 1\n")
    for tree, refused in ((other, True), (place, False)):
        (noted / "direct_url.json").write_text(json.dumps({"url": tree.as_uri(), "dir_info": {"editable": True}}))
        said = installing.not_ours(place, shared, installing.library_of([str(shared / "lib")]))
        assert (f"its tfm_lib is that of {other}" in said) == refused == bool(said)
