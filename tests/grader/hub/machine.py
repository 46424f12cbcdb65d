"""A machine of the test's own, as far as users go: private lists of users and passwords are mounted over the real ones.

`python -m grader.hub.machine FOLDER` must be root. Nothing outside this process and its children sees the users; their homes,
the exchange and the hub's files lie in FOLDER.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from grader.hub import course
from tfm_grader.sandbox.inside.linux_calls import CLONE_NEWNS, MS_BIND, MS_PRIVATE, MS_REC, mount, unshare
from tfm_grader.sandbox.unprivileged import open_the_way

FIRST = 61_500  # numbers that no user has
PASSWORD = "only on this machine"


def furnish(folder: Path, names: list[str]) -> None:
    """Give this process and its children the users `names`, with homes in `folder`."""
    unshare(CLONE_NEWNS)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    secret = subprocess.run(
        ["openssl", "passwd", "-6", PASSWORD], check=True, capture_output=True, text=True
    ).stdout.strip()
    lines: dict[str, list[str]] = {"passwd": [], "group": [], "shadow": []}
    for number, name in enumerate(names, start=FIRST):
        home = folder / "home" / name
        home.mkdir(parents=True)
        os.chown(home, number, number)
        home.chmod(0o700)
        lines["passwd"].append(f"{name}:x:{number}:{number}::{home}:/bin/bash")
        lines["group"].append(f"{name}:x:{number}:")
        lines["shadow"].append(f"{name}:{secret}:20000:0:99999:7:::")
    for file, more in lines.items():
        own = folder / file
        own.write_text("\n".join([Path("/etc", file).read_text().rstrip("\n"), *more, ""]))
        own.chmod(0o600 if file == "shadow" else 0o644)
        mount(str(own), f"/etc/{file}", None, MS_BIND)
    open_the_way()


@contextmanager
def hub(folder: Path, settings: dict[str, str]):
    """A running hub; its words are in folder/hub.log."""
    here = folder / "hub"
    here.mkdir(mode=0o700)
    command = [sys.executable, "-m", "jupyterhub", "-f", str(Path(__file__).with_name("jupyterhub_config.py"))]
    with (folder / "hub.log").open("w") as log:
        process = subprocess.Popen(command, cwd=here, env={**os.environ, **settings}, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(course.PATIENCE)


def main(folder: Path) -> None:
    furnish(folder, [course.INSTRUCTOR, *course.STUDENTS])
    settings = course.settings(folder)
    with hub(folder, settings) as process:
        course.hold(folder, settings, PASSWORD, process)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
