"""After set-up, `make book` needs no network: a whole build, from nothing, in a namespace that has only loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOOPBACK = "ip link set lo up"


@pytest.fixture(scope="session")
def cut() -> list[str]:
    """The command that runs a shell line without a network, as root or in a user namespace of one's own."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        pytest.fail(
            "This test cuts the network with `unshare` and `ip`, on Linux: apt install util-linux iproute2",
            pytrace=False,
        )
    for command in (["unshare", "-n", "sh", "-c"], ["unshare", "-r", "-n", "sh", "-c"]):
        if subprocess.run([*command, LOOPBACK], capture_output=True).returncode == 0:
            return command
    pytest.fail(
        "This test cuts the network with `unshare -n`, which is not allowed here. Run it as root, or allow "
        "user namespaces "
        "(sysctl kernel.unprivileged_userns_clone=1; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0).",
        pytrace=False,
    )


def test_the_network_is_really_cut(cut: list[str]) -> None:
    devices = subprocess.run([*cut, f"{LOOPBACK} && ip -o link"], capture_output=True, text=True, check=True).stdout
    assert "lo" in devices and not [line for line in devices.splitlines() if "state UP" in line and ": lo:" not in line]


def test_the_book_builds_from_nothing_with_the_network_cut(cut: list[str], built_book: Path, tmp_path: Path) -> None:
    options = f"--force --out {tmp_path}"
    run = subprocess.run(
        [*cut, f"{LOOPBACK} && make book BOOK='{options}'"],
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if not key.startswith("MAKE")},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Installing" not in run.stdout  # set-up was done before, and needs no second look

    def all_pages(html: Path) -> set[str]:
        return {path.relative_to(html).as_posix() for path in html.rglob("*.html")}

    assert all_pages(tmp_path / "html") == all_pages(built_book)
    assert "executed masking" in run.stderr
