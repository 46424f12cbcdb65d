"""Drop root privileges before judging: process limits do not apply to root, and root's files would be readable.

No user is created. The process takes an unused user id. If Python is in a folder that only root may enter, it also
takes a private mount namespace in which that folder is accessible: nothing changes outside this process.
"""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

from tfm_grader.sandbox.bubblewrap import NoSandbox, links_on, links_to_python, settings_files, visible_folders
from tfm_grader.sandbox.inside.linux_calls import CLONE_NEWNS, MS_BIND, MS_PRIVATE, MS_REC, mount, unshare
from tfm_grader.version import PACKAGES

FIRST, LAST = 61_000, 61_999


def leave_root() -> None:
    """If running as root, become a user that owns nothing. Raises NoSandbox if that is impossible."""
    if os.geteuid() != 0:
        return
    needed = _needed()  # as long as every one of them can be seen
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
        for folder in needed:
            os.close(os.open(folder, os.O_RDONLY))
    except OSError:
        raise NoSandbox(
            f"You are root, and ordinary users may not read {folder}, where Python or its packages lie. "
            f"Run tfm grade as an ordinary user, or let others read it: chmod -R o+rX {folder}"
        ) from None


def _needed() -> list[Path]:
    home = Path(__file__).resolve().parents[2]
    return [*map(Path, [*visible_folders(), *settings_files()]), *(home / name for name in PACKAGES)]


def _needed_links() -> dict[str, str]:
    """Return the links, with targets, that lead to Python and to this package; none in a folder that is needed."""
    needed = _needed()
    found = {**dict(links_to_python()), **dict(links_on(__file__))}
    return {link: to for link, to in found.items() if not any(Path(link).is_relative_to(folder) for folder in needed)}


def _closed_gate(path: Path) -> Path | None:
    """Return the outermost folder on the path to `path` that other users may not enter."""
    for gate in [*reversed(path.parents), path]:
        if gate.is_dir() and not gate.stat().st_mode & stat.S_IXOTH:
            return gate
    return None


def open_the_way() -> None:
    """Make Python and its packages reachable for ordinary users if a folder on the path is closed to them.

    Raises OSError. It uses private mounts: each closed folder is covered, and only what is needed appears behind it.
    """
    closed = {path: gate for path in _needed() if (gate := _closed_gate(path)) is not None}
    if not closed:
        return
    links = _needed_links()
    unshare(CLONE_NEWNS)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    held = {path: os.open(path, os.O_PATH) for path in closed}
    covered = {gate for gate in closed.values() if gate not in closed}
    mask = os.umask(0o022)  # what is made here must let others through, whatever this user's own files do
    for gate in covered:
        mount("tmpfs", str(gate), "tmpfs", 0, "size=1m,mode=0755")
    for path, number in sorted(held.items()):
        if stat.S_ISDIR(os.fstat(number).st_mode):
            path.mkdir(parents=True, exist_ok=True)
        elif not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        mount(f"/proc/self/fd/{number}", str(path), None, MS_BIND | MS_REC)
        os.close(number)
    for link, target in links.items():
        if any(Path(link).is_relative_to(gate) for gate in covered):
            Path(link).parent.mkdir(parents=True, exist_ok=True)
            Path(link).symlink_to(target)
    os.umask(mask)


def free_number(first: int = FIRST) -> int:
    """Return a user number that nobody has, from `first` on. Raises NoSandbox."""
    for number in [*range(first, LAST), *range(FIRST, first)]:
        try:
            pwd.getpwuid(number)
        except KeyError:
            return number
    raise NoSandbox(f"Every user number from {FIRST} to {LAST} is taken; the grader needs one that nobody has.")
