"""After set-up, `make book` needs no network: a whole build, from nothing, in a namespace that has only loopback."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.plugins.book import FROM_NOTHING, LOOPBACK, this_run, without_network
from tfm_book.notebooks.contents import pages

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def cut() -> list[str]:
    """The command that runs a shell line without a network."""
    if command := without_network():
        return [*command]
    pytest.fail(
        "This test cuts the network with `unshare -n` and `ip`, on Linux (apt install util-linux iproute2), which are "
        "missing or not allowed here. Run it as root, or allow user namespaces "
        "(sysctl kernel.unprivileged_userns_clone=1; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0).",
        pytrace=False,
    )


def test_the_network_is_really_cut(cut: list[str]) -> None:
    devices = subprocess.run([*cut, f"{LOOPBACK} && ip -o link"], capture_output=True, text=True, check=True).stdout
    assert "lo" in devices and not [line for line in devices.splitlines() if "state UP" in line and ": lo:" not in line]


def make_book(cut: list[str], options: str = "") -> subprocess.CompletedProcess[str]:
    run = subprocess.run(
        [*cut, f"{LOOPBACK} && make book BOOK='{options}'"],
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if not key.startswith("MAKE")},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Installing" not in run.stdout  # set-up was done before, and needs no second look
    return run


def assert_whole(html: Path, said: str) -> None:
    assert all_pages(html) >= {f"{page}.html" for page in pages(ROOT)}
    assert "executed masking" in said


def all_pages(html: Path) -> set[str]:
    return {path.relative_to(html).as_posix() for path in html.rglob("*.html")}


def test_the_book_that_these_tests_built_was_built_with_the_network_cut(cut: list[str], built_book: Path) -> None:
    noted = built_book.with_name(FROM_NOTHING)
    by, _, said = noted.read_text(encoding="utf-8").partition("\n") if noted.is_file() else ("", "", "")
    if by != this_run():
        pytest.skip("the book was there before; make release builds it from nothing")
    make_book(cut)
    assert_whole(built_book, said)


@pytest.mark.release
def test_the_book_builds_from_nothing_with_the_network_cut(cut: list[str], built_book: Path, tmp_path: Path) -> None:
    said = make_book(cut, f"--force --out {tmp_path}").stderr
    assert_whole(tmp_path / "html", said)
    assert all_pages(tmp_path / "html") == all_pages(built_book)
