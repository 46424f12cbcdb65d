"""Run a submission as a user of its own inside a container, where no sandbox of bubblewrap's can be made.

For services that start a fresh container for each submission: the container separates submissions, the machine and
the network. Inside it the judge is root, and the submission is a user that owns nothing, under the same limits and the
same list of system calls as in the sandbox. What that user must not read, its files' permissions hide.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfm_grader.sandbox.bubblewrap import ENVIRONMENT, INSIDE, START, NoSandbox
from tfm_grader.sandbox.inside import seccomp
from tfm_grader.sandbox.unprivileged import FIRST, LAST, free_number
from tfm_grader.version import HOME, PACKAGES

MARKS = ("/.dockerenv", "/run/.containerenv")  # files in the containers of Docker and Podman
PUBLIC = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock")  # where every user may write
CONTROL_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
TWO_WITH_TORCH = 700  # MB that judge and submission take with torch loaded
NAMES = ("container", "KUBERNETES_SERVICE_HOST", "TFM_CONTAINER")  # environment variables that say the same


def require_container(memory: int) -> None:
    """Require that this is a container with room for answers that use `memory` (MB), and that its root runs this.

    Raises NoSandbox.
    """
    if not seccomp.supported():
        raise NoSandbox("Submissions are run on Linux, on x86_64 or aarch64. Use a container of that kind.")
    if not (any(map(os.path.exists, MARKS)) or any(map(os.environ.get, NAMES))):
        raise NoSandbox(
            "This does not look like a container, and the grader of Gradescope's archive leaves to the container what "
            "bubblewrap does elsewhere. In a container that shows no sign of being one: set the environment variable "
            "TFM_CONTAINER to 1."
        )
    if os.geteuid() != 0:
        raise NoSandbox("In a container, the grader must be root, so that the submission can be another user.")
    if (there := memory_here()) < memory + TWO_WITH_TORCH:
        raise NoSandbox(
            f"This container has {there:,} MB of memory. The judge and the submission need {TWO_WITH_TORCH} MB, and the "
            f"manifest allows answers {memory:,} MB more. Choose a larger container, or a smaller `memory`."
        )


def memory_here() -> int:
    """Return how much memory (MB) this container may use: by its control group, or all that the machine has."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in CONTROL_GROUPS:
        try:
            found.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # there is none of this kind, or it says "max"
            continue
    return min(found) >> 20


def hidden() -> list[str]:
    """List the folders of the book's packages, which contain answers and which the submission must not read."""
    return [str(HOME / name) for name in PACKAGES if (HOME / name).is_dir()]


@dataclass(frozen=True)
class Place:
    """The folders of one submission's process: its program, which it may read, and one that is its own."""

    program: Path
    own: Path
    number: int  # of its user

    def command(self, wire: int, report: int) -> list[str]:
        """Build the command of the process, with its channel on `wire` and its exit report on `report`."""
        start = START.format(grader=str(self.program), files=[str(wire), str(report), "container"])
        return [sys.executable, "-I", "-c", start]

    def options(self) -> dict[str, Any]:
        """Return the further arguments of Popen: the submission's user, folder and environment."""
        folder = str(self.own)
        environment = {**ENVIRONMENT, "HOME": folder, "TMPDIR": folder, "MPLCONFIGDIR": folder}
        return {"user": self.number, "group": self.number, "extra_groups": [], "cwd": folder, "env": environment}


@contextmanager
def place() -> Iterator[Place]:
    """Make the folders of a submission's process, and delete them afterwards with whatever it has left there.

    The program is a copy, because the package itself is closed to the submission.
    """
    number = free_number(random.SystemRandom().randrange(FIRST, LAST))  # limits on threads count a user's on the host
    folder = tempfile.mkdtemp(prefix="tfm-")
    try:
        made = Place(Path(folder) / "program", Path(folder) / "own", number)
        shutil.copytree(INSIDE, made.program / "inside", ignore=shutil.ignore_patterns("__pycache__"))
        for path in [Path(folder), made.program, *made.program.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        made.own.mkdir(mode=0o700)
        os.chown(made.own, number, number)
        yield made
    finally:
        subprocess.run(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL, check=False)  # however deep it is
        for public in filter(os.path.isdir, PUBLIC):
            words = ["find", public, "-xdev", "-mindepth", "1", "-uid", str(number), "-delete"]
            subprocess.run(words, stderr=subprocess.DEVNULL, check=False)
