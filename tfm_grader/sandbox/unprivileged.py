"""Drop root privileges before judging: process limits do not apply to root, and root's files would be readable.

No user is created. The process takes an unused user id. If Python is in a folder that only root may enter, it also
takes a private mount namespace in which that folder is accessible: nothing changes outside this process.
"""

from __future__ import annotations

import os
import pwd
import stat
import sys
from pathlib import Path

from tfm_grader.sandbox.bubblewrap import NoSandbox, visible_folders
from tfm_grader.sandbox.inside.linux_calls import CLONE_NEWNS, MS_BIND, MS_PRIVATE, MS_REC, mount, unshare
from tfm_grader.version import PACKAGES

FIRST, LAST = 61_000, 61_999


def leave_root() -> None:
    """If running as root, become a user that owns nothing. Raises NoSandbox if that is impossible."""
    if os.geteuid() != 0:
        return
    try:
        open_the_way()
        number = free_number()
        os.setgroups([])
        os.setresgid(number, number, number)
        os.setresuid(number, number, number)
    except OSError as error:
        raise NoSandbox(
            f"You are root, and the grader cannot become an ordinary user here ({error.strerror}). "
            "Run tfm grade as an ordinary user, with Python installed where that user can read it."
        ) from None
    os.environ["HOME"] = "/"
    try:
        for folder in _needed():
            os.listdir(folder)
    except OSError:
        raise NoSandbox(
            f"You are root, and ordinary users may not read {folder}, where Python or its packages lie. "
            f"Run tfm grade as an ordinary user, or let others read it: chmod -R o+rX {folder}"
        ) from None


def _needed() -> list[Path]:
    home = Path(__file__).parents[2]
    return [*map(Path, visible_folders()), *(home / name for name in PACKAGES)]


def _closed_gate(folder: Path) -> Path | None:
    """Return the outermost folder on the path to `folder` that other users may not enter."""
    for gate in [*reversed(folder.parents), folder]:
        if not gate.stat().st_mode & stat.S_IXOTH:
            return gate
    return None


def open_the_way() -> None:
    """Make Python and its packages reachable for ordinary users if a folder on the path is closed to them.

    Raises OSError. It uses private mounts: each closed folder is covered, and only what is needed appears behind it.
    """
    closed = {folder: gate for folder in _needed() if (gate := _closed_gate(folder)) is not None}
    if not closed:
        return
    unshare(CLONE_NEWNS)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    held = {folder: os.open(folder, os.O_PATH) for folder in closed}
    for gate in {gate for gate in closed.values() if gate not in closed}:
        mount("tmpfs", str(gate), "tmpfs", 0, "size=1m,mode=0755")
    for folder, number in sorted(held.items()):
        folder.mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{number}", str(folder), None, MS_BIND | MS_REC)
        os.close(number)


def free_number(first: int = FIRST) -> int:
    """Return a user number that nobody has, from `first` on. Raises NoSandbox."""
    for number in [*range(first, LAST), *range(FIRST, first)]:
        try:
            pwd.getpwuid(number)
        except KeyError:
            return number
    raise NoSandbox(f"Every user number from {FIRST} to {LAST} is taken; the grader needs one that nobody has.")


if __name__ == "__main__":  # run another program as the unprivileged user
    leave_root()
    os.execv(sys.argv[1], sys.argv[1:])
