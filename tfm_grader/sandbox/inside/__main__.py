"""The process inside a sandbox: it loads torch, drops every right, and answers the judge about one submission.

Its arguments are the numbers of the socket that leads to the judge, and of a pipe for its last word. It says when it is
ready, is told the limits, and forks a process that says when it is locked and only then hears of a submission.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from . import confinement, event_loop
from .answers import serve
from .channel import Channel

LOADED = ("numpy", "torch", "jaxtyping", "asyncio", "ctypes", "IPython.core.inputtransformer2", "IPython.core.events")


def main(wire: str, report: str) -> None:
    """Answer one judge until it hangs up, and tell on `report` how the process of the submission ended."""
    python = os.listdir("/tmp")  # nothing but what leads to Python, where it lies below /tmp
    warm_up()
    talk, tell = int(wire), int(report)
    _say(talk, {"ready": True})
    limits: confinement.Limits = json.loads(_line(talk))
    confinement.leave_namespaces()
    first = os.fork()
    if first == 0:
        os.close(tell)
        inhabit(limits, talk, python)
    waiting = select.poll()
    waiting.register(talk, select.POLLRDHUP)
    waiting.register(os.pidfd_open(first), select.POLLIN)
    waiting.poll()
    with suppress(ProcessLookupError):
        os.kill(first, signal.SIGKILL)  # and with it all in its namespaces
    _, status, usage = os.wait4(first, 0)
    cpu = usage.ru_utime + usage.ru_stime
    _say(tell, {"exit": os.waitstatus_to_exitcode(status), "cpu": cpu, "own": time.process_time()})


def inhabit(limits: confinement.Limits, talk: int, python: list[str]) -> None:
    """In the first process of the new namespaces: cover what a submission must not see, give up every right, serve."""
    os.setsid()  # a signal to "my process group" reaches nobody else
    try:
        confinement.set_limits(limits)
        status = confinement.furnish(limits, python)
        _, status = confinement.close_all_but(talk, status)
        confinement.lock(status)
    except Exception as error:  # noqa: BLE001 (whatever it is, nothing of a submission may run now)
        _say(talk, {"trouble": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _say(3, {"locked": True})
    serve(Channel(3, 3))
    os._exit(0)


def _say(talk: int, message: dict[str, Any]) -> None:
    os.write(talk, json.dumps(message).encode() + b"\n")


def _line(talk: int) -> bytes:
    """The next line from the judge, which says nothing beyond it before it is answered."""
    held = b""
    while not held.endswith(b"\n"):
        piece = os.read(talk, 1 << 12)
        if not piece:
            os._exit(0)
        held += piece
    return held


def warm_up() -> None:
    """Load what every submission needs, and what finds out about the machine when it is loaded."""
    environment = dict(os.environ)
    for name in LOADED:
        with suppress(ImportError):  # IPython, whose absence the self-test tells
            importlib.import_module(name)
    import torch

    torch.set_num_threads(1)
    event_loop.without_sockets()
    for name in set(os.environ) - set(environment):  # what a library has put there
        del os.environ[name]
    torch.manual_seed(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
