"""Ways to start a sandbox: bubblewrap, or Docker or Podman, behind one small interface; and what can be seen in one.

bubblewrap gives one sandbox that holds a waiting process with torch loaded; each exercise of each submission gets a
cell of its own inside it. A container gives one cell and ends with it.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from tfm_lib._packages import apt_install
from tfm_lib._refusal import Refusal
from tfm_lib.classroom.inside import seccomp
from tfm_lib.classroom.manifest import Limits

INSIDE = Path(__file__).parent / "inside"
START = "import sys; sys.path.insert(0, '/grader'); import runpy; sys.argv[1:] = {how!r}; runpy.run_module('inside', run_name='__main__')"
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "USER": "student",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp",
}


class NoSandbox(Refusal):
    """No sandbox works here; the message says why, and what to do."""


class Backend(Protocol):
    """A way to start a sandbox. `forks` says whether its one process serves many cells."""

    name: str
    forks: bool

    def command(self, limits: Limits, orders: int = 0) -> list[str]:
        """The command that starts it. It takes orders on the open file `orders` if it `forks`, else from its input."""
        ...


def require_bubblewrap() -> str:
    """The path of `bwrap`; raises NoSandbox where there is none, or where it would be of no use."""
    if platform.system() != "Linux" or not seccomp.supported():
        raise NoSandbox(
            "The bubblewrap sandbox needs Linux on x86_64 or aarch64. Elsewhere: tfm grade --sandbox docker."
        )
    program = shutil.which("bwrap")
    if program is None:
        raise NoSandbox(
            "bubblewrap is not installed, and submissions are not run without a sandbox. "
            "On Debian and Ubuntu: sudo apt install bubblewrap; on Fedora: sudo dnf install bubblewrap."
        )
    return program


class Bubblewrap:
    """Unprivileged namespaces by bubblewrap (`bwrap`)."""

    name, forks = "bubblewrap", True

    def command(self, limits: Limits, orders: int = 0) -> list[str]:
        program = require_bubblewrap()
        command = [
            program,
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
            "--hostname",
            "sandbox",
        ]
        for name, value in ENVIRONMENT.items():
            command += ["--setenv", name, value]
        command += [
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--tmpfs",
            "/tmp",
            "--tmpfs",
            "/image",
        ]  # before what is bound below
        for folder in visible_folders():
            command += ["--ro-bind", folder, folder]
        for link in ("/bin", "/sbin", "/lib", "/lib64", "/lib32"):
            if os.path.islink(link):
                command += ["--symlink", os.readlink(link), link]
            elif os.path.isdir(link):
                command += ["--ro-bind", link, link]
        for link, target in links_to_python():
            command += ["--symlink", target, link]
        if os.path.exists("/etc/ld.so.cache"):
            command += ["--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache"]
        for hidden in book_folders():
            command += ["--tmpfs", hidden, "--remount-ro", hidden]
        command += ["--ro-bind", str(INSIDE), "/grader/inside"]
        command += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"]
        return [*command, sys.executable, "-I", "-c", START.format(how=["fork", str(orders)])]


class Container:
    """A container by Docker or Podman, in which a cell is made as in the sandbox: the container is only around it.

    Podman with runc was tried; Docker was not.
    """

    forks = False

    def __init__(self, name: str, image: str):
        self.name, self.image = name, image

    def command(self, limits: Limits, orders: int = 0) -> list[str]:
        if shutil.which(self.name) is None:
            raise NoSandbox(
                f"{self.name} is not installed. On Linux bubblewrap does without it: tfm grade --sandbox bubblewrap."
            )
        command = [self.name, "run", "--rm", "--interactive", "--network", "none", "--read-only"]
        command += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--ipc", "none"]
        command += ["--pids-limit", str(limits.processes + 2), "--user", "65534:65534", "--hostname", "sandbox"]
        command += [word for name in self.nested() for word in ("--security-opt", name)]
        memory = f"{limits.memory + limits.disk + 1536}m"  # Python, torch and the copy of their files take the rest
        command += ["--memory", memory, "--memory-swap", memory, "--cpus", "1"]
        command += ["--tmpfs", "/tmp:rw,nosuid,nodev,size=64m,mode=1777", "--workdir", "/tmp"]
        command += ["--tmpfs", "/image:rw,nosuid,nodev,exec,size=1g,mode=1777", "--ulimit", "nofile=1024:1024"]
        for name, value in ENVIRONMENT.items():
            command += ["--env", f"{name}={value}"]
        command += ["--volume", f"{INSIDE}:/grader/inside:ro", "--entrypoint", "python3", self.image]
        return [*command, "-I", "-c", START.format(how=["single"])]

    def nested(self) -> list[str]:
        """What lets the first process in the container make a cell's own name spaces; the cell then loses all of it."""
        proc = "unmask=ALL" if self.name == "podman" else "systempaths=unconfined"
        return ["seccomp=unconfined", "apparmor=unconfined", proc]


def backend(name: str, image: str = "tfm-sandbox") -> Backend:
    """The back end called `name`; raises NoSandbox for an unknown one."""
    if name == "bubblewrap":
        return Bubblewrap()
    if name in ("docker", "podman"):
        return Container(name, image)
    raise NoSandbox(f"There is no sandbox {name!r}; there are bubblewrap, docker and podman.")


def visible_folders() -> list[str]:
    """The folders that Python and its packages live in, the outermost only; a submission can read these and no others."""
    paths = {"/usr", sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, sysconfig.get_path("stdlib")}
    paths |= {path for path in package_folders() if os.path.isdir(path)}
    real = {os.path.abspath(path) for path in paths} | {os.path.realpath(path) for path in paths}
    return sorted(path for path in real if not any(_below(path, other) for other in real))


def package_folders() -> set[str]:
    """The site-packages folders of this interpreter, and where else the packages that a submission needs may lie."""
    found = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    if site.ENABLE_USER_SITE:
        found.add(site.getusersitepackages())
    for package in ("torch", "numpy", "jaxtyping", "IPython"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found.add(os.path.dirname(os.path.dirname(spec.origin)))
    return found


def links_to_python() -> Iterator[tuple[str, str]]:
    """The links that lead to the interpreter by way of folders that are not visible, each with its target."""
    folders, link = visible_folders(), sys.executable
    while os.path.islink(link):
        target = os.readlink(link)
        if not any(Path(link).is_relative_to(folder) for folder in folders):
            yield link, target
        link = os.path.join(os.path.dirname(link), target)


def book_folders() -> list[str]:
    """Where the book's library, or a pointer to it, is installed: hidden in the sandbox, its answers are inside."""
    found = {os.path.join(folder, "tfm_lib") for folder in package_folders()}
    return sorted(path for path in found if os.path.isdir(path))


def require_outside(folders: list[Path]) -> None:
    """None of `folders` may lie where submissions can read; raises NoSandbox."""
    for folder in folders:
        for shown in visible_folders():
            if _below(os.path.realpath(folder), shown) or os.path.realpath(folder) == shown:
                raise NoSandbox(
                    f"{folder} lies inside {shown}, which submissions can read because Python is installed there. "
                    "Move it elsewhere, and run the command again."
                )


def _below(path: str, folder: str) -> bool:
    return path != folder and os.path.commonpath([path, folder]) == folder


def install_bubblewrap() -> None:
    """Install bubblewrap where it is missing, if it can be done; raises NoSandbox where it stays missing."""
    if platform.system() == "Linux" and shutil.which("bwrap") is None:
        print("Sandbox: no bubblewrap found, installing it.", flush=True)
        apt_install("bubblewrap")
    require_bubblewrap()


if __name__ == "__main__":
    try:
        install_bubblewrap()
    except NoSandbox as missing:
        if platform.system() == "Linux":
            sys.exit(str(missing))
        print(f"{missing} The tests of grading will fail here; all others run.")
