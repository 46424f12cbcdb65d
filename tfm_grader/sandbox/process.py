"""Start a sandbox for each submission, with torch loaded, and stop it afterwards."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TextIO

from tfm_grader.sandbox import bubblewrap, container
from tfm_grader.sandbox.bubblewrap import NoSandbox
from tfm_grader.sandbox.inside.channel import ChannelError, TimeUp
from tfm_grader.sandbox.limits import Limits
from tfm_grader.sandbox.own_time import TimedChannel
from tfm_lib import _extras

PATIENCE = 300  # seconds that a sandbox may take to import torch on a busy machine
SETTLING = 3  # seconds for the exit report in a container, where a submission can stop the process that writes it


class SandboxFailed(Exception):
    """The sandbox failed, not the student's code."""


class RunningSandbox:
    """A running sandbox with its channel; once closed, also its exit status and the student's CPU seconds."""

    def __init__(self, channel: TimedChannel):
        self.channel = channel
        self.exit: int | None = None
        self.cpu = 0.0
        self.tell: Callable[[bool], None] = lambda of_student: None  # called when student data becomes involved


class Sandbox:
    """Starts sandboxes, and sums the CPU time they used. If `in_container`, each is only a user of its own."""

    def __init__(self, in_container: bool = False) -> None:
        self.in_container = in_container
        self.spent = 0.0  # CPU seconds

    @contextmanager
    def cell(self, limits: Limits, budget: int = 1 << 30) -> Iterator[RunningSandbox]:
        """Open a fresh sandbox under `limits`, killed at the end of the block. Raises SandboxFailed, NoSandbox."""
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        heard, tell = os.pipe()
        with ours, os.fdopen(heard) as report, container.place() if self.in_container else nullcontext() as place:
            with theirs, os.fdopen(tell, "w"):
                process = _started(place, theirs.fileno(), tell)
            cell = RunningSandbox(TimedChannel(ours.fileno(), ours.fileno(), budget))
            try:
                _lock(cell.channel, ours, limits, process)
                cell.channel.allow(limits.cpu, limits.seconds)
                yield cell
            finally:
                ours.close()  # which ends the sandbox
                said = _last_word(report, SETTLING if self.in_container else PATIENCE)
                _kill(process)
                cell.exit, cell.cpu = said.get("exit"), said.get("cpu", 0.0)
                self.spent += cell.cpu + said.get("own", 0.0)


def _started(place: container.Place | None, wire: int, report: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            place.command(wire, report) if place else bubblewrap.command(wire, report),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[wire, report],
            **(place.options() if place else {"env": {}}),
        )
    except PermissionError as error:
        raise NoSandbox(
            f"The submission's user may not start {error.filename}. Install Python where every user may enter."
        ) from None


def _lock(channel: TimedChannel, ours: socket.socket, limits: Limits, process: subprocess.Popen[bytes]) -> None:
    """Wait until the sandbox is ready and has dropped its privileges; from then on its process is watched.

    Raises SandboxFailed, NoSandbox.
    """
    channel.deadline = time.monotonic() + PATIENCE
    try:
        channel.receive()
    except TimeUp:
        raise NoSandbox(
            f"The sandbox was not ready after {PATIENCE} seconds. Is the machine busy? Run the command again."
        ) from None
    except ChannelError:
        raise NoSandbox(_why_not(_last_words(process))) from None
    try:
        channel.send(limits.as_dict())
        number = _sender(ours)
        locked = channel.receive()
    except ChannelError as error:
        raise SandboxFailed(f"the sandbox does not answer: {error}") from None
    if "locked" not in locked:
        raise SandboxFailed(f"the sandbox could not be locked: {locked.get('trouble')}")
    try:
        channel.watch(number)
    except OSError:
        raise SandboxFailed(
            "this machine hides the sandbox's process in /proc, where its time is told from the machine's. "
            "Is /proc mounted with hidepid?"
        ) from None


def _sender(ours: socket.socket) -> int:
    """Wait for the next message, and return the number here of the process that sent it, as the kernel says."""
    waiting = select.poll()
    waiting.register(ours, select.POLLIN)
    waiting.poll(1000 * PATIENCE)
    try:
        _, said, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(struct.calcsize("3i")), socket.MSG_PEEK)
    except BlockingIOError:
        return 0
    return struct.unpack("3i", said[0][2])[0] if said else 0


def _last_word(report: TextIO, seconds: float) -> dict[str, Any]:
    """Read the exit report of the submission's process: exit status and CPU time; empty if none comes in `seconds`."""
    waiting = select.poll()
    waiting.register(report, select.POLLIN)
    if not waiting.poll(1000 * seconds):
        return {}
    try:
        made: dict[str, Any] = json.loads(report.readline())
    except ValueError:  # it was killed before it could report
        return {}
    return made


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)  # --die-with-parent then kills everything in the sandbox
    process.wait()
    assert process.stderr is not None
    process.stderr.close()


def _last_words(process: subprocess.Popen[bytes]) -> str:
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
