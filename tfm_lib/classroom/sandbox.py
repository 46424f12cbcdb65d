"""Where a student's code runs: a sandbox made by bubblewrap, or by Docker or Podman, behind one small interface.

bubblewrap gives one sandbox that holds a waiting process with torch loaded; each exercise of each submission gets a
cell of its own inside it. A container gives one cell and ends with it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import signal
import site
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from tfm_lib.classroom.inside import seccomp
from tfm_lib.classroom.inside.channel import Channel, TimeUp

INSIDE = Path(__file__).parent / "inside"
START = "import sys; sys.path.insert(0, '/grader'); import runpy; sys.argv[1:] = {how!r}; runpy.run_module('inside', run_name='__main__')"
PATIENCE = 300  # seconds for a sandbox to import torch on a busy machine
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


class NoSandbox(Exception):
    """No sandbox works here; the message says why, and what to do."""


class SandboxFailed(Exception):
    """The sandbox, not the student's code, did not do its part."""


@dataclass(frozen=True)
class Limits:
    """What one exercise of one submission may take."""

    seconds: float = (
        30.0  # on the clock, on which other programs may take turns; what an honest answer takes is in `cpu`
    )
    cpu: int = 10  # seconds of processor time of each process
    memory: int = 1024  # MB of each process, beyond what Python and torch take
    processes: int = 6  # threads count, and two are the sandbox's own
    disk: int = 32  # MB in /tmp
    open_files: int = 64

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Backend(Protocol):
    """A way to start a sandbox. `forks` says whether its one process serves many cells."""

    name: str
    forks: bool

    def command(self, limits: Limits, orders: int = 0) -> list[str]:
        """The command that starts it. It takes orders on the open file `orders` if it `forks`, else from its input."""
        ...


class Bubblewrap:
    """Unprivileged namespaces by bubblewrap (`bwrap`)."""

    name, forks = "bubblewrap", True

    def command(self, limits: Limits, orders: int = 0) -> list[str]:
        program = shutil.which("bwrap")
        if program is None:
            raise NoSandbox(
                "bubblewrap is not installed, and submissions are not run without a sandbox. "
                "On Debian and Ubuntu: sudo apt install bubblewrap; on Fedora: sudo dnf install bubblewrap. "
                "On macOS and Windows: tfm grade --sandbox docker."
            )
        if platform.system() != "Linux" or not seccomp.supported():
            raise NoSandbox(
                "The bubblewrap sandbox needs Linux on x86_64 or aarch64. Elsewhere: tfm grade --sandbox docker."
            )
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
        command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # before what is bound below them
        for folder in visible_folders():
            command += ["--ro-bind", folder, folder]
        for link in ("/bin", "/sbin", "/lib", "/lib64", "/lib32"):
            if os.path.islink(link):
                command += ["--symlink", os.readlink(link), link]
            elif os.path.isdir(link):
                command += ["--ro-bind", link, link]
        if os.path.exists("/etc/ld.so.cache"):
            command += ["--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache"]
        for hidden in book_folders():
            command += ["--tmpfs", hidden, "--remount-ro", hidden]
        command += ["--ro-bind", str(INSIDE), "/grader/inside"]
        command += ["--remount-ro", "/dev", "--remount-ro", "/tmp", "--remount-ro", "/", "--chdir", "/"]
        return [*command, sys.executable, "-I", "-c", START.format(how=["fork", str(orders)])]


class Container:
    """A container by Docker or Podman. Not verified: tested by the command that it builds."""

    forks = False

    def __init__(self, name: str, image: str):
        self.name, self.image = name, image

    def command(self, limits: Limits, orders: int = 0) -> list[str]:
        if shutil.which(self.name) is None:
            raise NoSandbox(
                f"{self.name} is not installed. On Linux bubblewrap does without it: tfm grade --sandbox bubblewrap."
            )
        command = [self.name, "run", "--rm", "--interactive", "--init", "--network", "none", "--read-only"]
        command += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--ipc", "none"]
        command += ["--pids-limit", str(limits.processes + 2), "--user", "65534:65534", "--hostname", "sandbox"]
        memory = f"{limits.memory + 512}m"  # Python and torch take the rest
        command += ["--memory", memory, "--memory-swap", memory, "--cpus", "1"]
        command += ["--tmpfs", f"/tmp:rw,nosuid,nodev,size={limits.disk}m,mode=1777", "--workdir", "/tmp"]
        for name, value in ENVIRONMENT.items():
            command += ["--env", f"{name}={value}"]
        command += ["--volume", f"{INSIDE}:/grader/inside:ro", "--entrypoint", "python3", self.image]
        return [*command, "-I", "-c", START.format(how=["single"])]


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
    for package in ("torch", "numpy", "jaxtyping"):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found.add(os.path.dirname(os.path.dirname(spec.origin)))
    return found


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


class Cell:
    """One cell, with its channel; after it is closed, how it ended and the processor seconds that it took."""

    def __init__(self, channel: Channel):
        self.channel = channel
        self.exit: int | None = None
        self.cpu = 0.0


class Sandbox:
    """A running sandbox. It is started when the first cell is asked for, and again after it died."""

    def __init__(self, backend: Backend):
        self.backend = backend
        self.spent = 0.0  # seconds of processor time for cells, and for making them
        self._own: float | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def cell(self, limits: Limits, budget: int = 1 << 30) -> Iterator[Cell]:
        """A fresh cell under `limits`; it is killed, with all in it, when the block ends. Raises SandboxFailed, NoSandbox."""
        with self._forked(limits, budget) if self.backend.forks else self._alone(limits, budget) as cell:
            yield cell

    def close(self) -> None:
        """End the sandbox and everything in it."""
        if self._orders is not None:
            self._orders.close()
            self._orders = None
        if self._process is not None:
            _kill(self._process)
            self._process = self._own = None

    @contextmanager
    def _forked(self, limits: Limits, budget: int) -> Iterator[Cell]:
        self._start(limits)
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                reply = self._order({"fork": limits.as_dict()}, theirs)
            if "started" not in reply:
                self._order({"end": True})
                raise SandboxFailed(f"a cell could not be made: {reply.get('trouble')}")
            cell = Cell(Channel(ours.fileno(), ours.fileno(), budget))
            cell.channel.deadline = time.monotonic() + limits.seconds
            try:
                yield cell
            finally:
                ended = self._order({"end": True})
                code = ended.get("exit")
                cell.exit = code - 256 if code is not None and code > 192 else code
                cell.cpu = ended.get("cpu", 0.0)
                own = ended.get("own", 0.0)
                self.spent += cell.cpu + (own - self._own if self._own is not None else 0.0)
                self._own = own

    def _start(self, limits: Limits) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                self.backend.command(limits, theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                env={},
            )
        self._orders = ours
        ours.settimeout(PATIENCE)
        try:
            ready = self._reply()
        except TimeoutError:
            self.close()
            raise NoSandbox(
                f"The sandbox was not ready after {PATIENCE} seconds. Is the machine busy? Run the command again."
            ) from None
        except (SandboxFailed, OSError):
            said = _last_words(self._process)
            self.close()
            raise NoSandbox(_why_not(said)) from None
        if "ready" not in ready:
            raise SandboxFailed("the sandbox did not get ready")

    def _order(self, order: dict[str, Any], file: socket.socket | None = None) -> dict[str, Any]:
        try:
            if self._orders is None:
                raise SandboxFailed("the sandbox is gone")
            line = json.dumps(order).encode() + b"\n"
            if file is None:
                self._orders.sendall(line)
            else:
                socket.send_fds(self._orders, [line], [file.fileno()])
            return self._reply()
        except (OSError, SandboxFailed) as error:
            self.close()
            raise SandboxFailed(f"the sandbox does not answer: {error}") from None

    def _reply(self) -> dict[str, Any]:
        held = b""
        assert self._orders is not None
        while not held.endswith(b"\n"):
            piece = self._orders.recv(1 << 16)
            if not piece:
                raise SandboxFailed("the sandbox ended")
            held += piece
        return json.loads(held)

    @contextmanager
    def _alone(self, limits: Limits, budget: int) -> Iterator[Cell]:
        process = subprocess.Popen(
            self.backend.command(limits), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdin is not None and process.stdout is not None
        try:
            cell = Cell(Channel(process.stdout.fileno(), process.stdin.fileno(), budget))
            cell.channel.deadline = time.monotonic() + PATIENCE
            try:
                cell.channel.send(limits.as_dict())
            except (TimeUp, OSError) as error:
                raise SandboxFailed(f"the sandbox does not answer: {error}") from None
            cell.channel.deadline = time.monotonic() + limits.seconds + PATIENCE
            yield cell
            cell.exit = process.poll()
        finally:
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)  # and by --die-with-parent all that is in the sandbox
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _last_words(process: subprocess.Popen[bytes]) -> str:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    assert process.stderr is not None
    return process.stderr.read().decode(errors="replace").strip()


def _why_not(said: str) -> str:
    last = said.splitlines()[-1] if said else "it ended without a word"
    sentence = f"The sandbox does not start ({last})."
    if any(word in said for word in ("uid map", "No permissions", "Operation not permitted", "namespace")):
        return (
            f"{sentence} This machine does not let ordinary programs make namespaces, and submissions are not run without "
            "a sandbox. On Ubuntu 24.04 and later: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an "
            "AppArmor profile for bwrap; on older Debian: sudo sysctl kernel.unprivileged_userns_clone=1; in a container: "
            "start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or grade outside it."
        )
    if "ModuleNotFoundError" in said:
        return f"{sentence} Grading needs torch, numpy and jaxtyping in this Python environment: pip install tfm-lib."
    return f"{sentence} Submissions are not run without one."
