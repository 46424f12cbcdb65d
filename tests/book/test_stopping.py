"""A build that is told to end, by Ctrl-C or by SIGTERM, ends its kernels first and shows no traceback."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from project import ROOT

TERM, INT = signal.SIGTERM, signal.SIGINT


@pytest.fixture
def endless(toy_book) -> Path:
    """A book with a chapter that would run for a minute."""
    toy_book.chapter("slow", "import time", "print('begun', file=open('begun', 'w'))", "time.sleep(60)")
    return toy_book.root


def _wait_for(condition) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "nothing came within a minute"
        time.sleep(0.05)


@pytest.mark.long
@pytest.mark.parametrize("signals", [[TERM], [INT], [TERM, INT]], ids=lambda signals: "-".join(s.name for s in signals))
def test_a_build_that_is_told_to_end_leaves_no_kernel(endless: Path, tmp_path: Path, signals) -> None:
    """Called by `make`, which passes SIGTERM on; SIGINT is sent to the build, as a terminal sends it to all."""
    recipe = f"@export PATH=\"$$PATH\"; exec '{sys.executable}' -m tfm_lib.cli build"
    (endless / "Makefile").write_text(f"book:\n\t{recipe}\n")
    assert "\n\t@$(RUN) $(PY) -m tfm_lib.cli build" in (ROOT / "Makefile").read_text(encoding="utf-8")  # the same way
    own = tmp_path / "temporary"
    own.mkdir()
    with subprocess.Popen(
        ["make"],
        cwd=endless,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(own), "MAKEFLAGS": ""},
    ) as make:
        try:
            _wait_for(lambda: list(endless.rglob("begun")) or make.poll() is not None)
            started = psutil.Process(make.pid).children(recursive=True)
            build = next(each for each in started if "tfm_lib.cli" in each.cmdline())
            assert len(started) >= 3, "the build, the process that forks kernels, and a kernel"
            for number in signals:
                os.kill(make.pid if number == TERM else build.pid, number)
                time.sleep(0.1)
            _, said = make.communicate(timeout=120)  # a busy machine
        finally:
            make.kill()
    _, alive = psutil.wait_procs(started, timeout=10)
    for process in alive:
        process.kill()
    assert not alive
    assert make.returncode != 0 and "Interrupted!" in said, said
    assert "Traceback" not in said
    assert not list(own.glob("tfm-*"))
