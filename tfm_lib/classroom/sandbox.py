"""Where a student's code runs: a running sandbox, and the cells in it, each of which holds one exercise of one submission."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from tfm_lib import _extras
from tfm_lib.classroom.backends import Backend, NoSandbox
from tfm_lib.classroom.inside.channel import Channel, ChannelError
from tfm_lib.classroom.manifest import Limits
from tfm_lib.classroom.records import ExerciseResult

PATIENCE = 300  # seconds for a sandbox to import torch on a busy machine


class SandboxFailed(Exception):
    """The sandbox, not the student's code, did not do its part."""


class Cell:
    """One cell, with its channel; after it is closed, how it ended and the processor seconds that it took."""

    def __init__(self, channel: Channel):
        self.channel = channel
        self.exit: int | None = None
        self.cpu = 0.0
        self.tell: Callable[[bool], None] = lambda of_student: None  # hears when the student's data come in
        self.standing: Callable[[], tuple[ExerciseResult, int] | tuple[()]] = lambda: ()  # if it ends here: see Step


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
                cell.channel.receive()  # that it is ready
                cell.channel.send(limits.as_dict())
            except (ChannelError, OSError) as error:
                raise SandboxFailed(f"the sandbox does not answer: {error}") from None
            cell.channel.deadline = time.monotonic() + limits.seconds
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
        return f"{sentence} Grading needs torch, numpy and jaxtyping here: {_extras.command('classroom')}"
    return f"{sentence} Submissions are not run without one."
