"""The main process inside a sandbox: it loads torch, drops all privileges, and serves one submission.

Its arguments are the file descriptors of the socket to the judge and of the pipe for its exit report, and "container"
if a container and its own user number take the place of bubblewrap's namespaces. It reports that it is ready, receives the limits, and forks a process that receives the submission only once it is confined.
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


def main(wire: str, report: str, place: str = "") -> None:
    """Serve one judge until it hangs up, and write to `report` how the submission's process ended."""
    ways = None if place else confinement.ways_to_python()
    warm_up()
    talk, tell = int(wire), int(report)
    _say(talk, {"ready": True})
    limits: confinement.Limits = json.loads(_line(talk))
    if place:
        confinement.hide_from_own_user()
    else:
        confinement.leave_namespaces()
    first = os.fork()
    if first == 0:
        os.close(tell)
        inhabit(limits, talk, ways)
    waiting = select.poll()
    waiting.register(talk, select.POLLRDHUP)
    waiting.register(os.pidfd_open(first), select.POLLIN)
    waiting.poll()
    with suppress(ProcessLookupError):
        os.kill(first, signal.SIGKILL)  # also kills everything in its namespaces
    _, status, usage = os.wait4(first, 0)
    cpu = usage.ru_utime + usage.ru_stime
    _say(tell, {"exit": os.waitstatus_to_exitcode(status), "cpu": cpu, "own": time.process_time()})


def inhabit(limits: confinement.Limits, talk: int, ways: dict[str, list[str]] | None) -> None:
    """As the first process of the new namespaces, hide files, drop all privileges, and serve.

    In a container there are no new namespaces, and `ways` is None.
    """
    os.setsid()  # signals to its process group then reach no other process
    try:
        confinement.set_limits(limits)
        status = confinement.settle_in_container() if ways is None else confinement.furnish(limits, ways)
        _, status = confinement.close_all_but(talk, status)
        confinement.lock(status, bounded=ways is not None)
    except Exception as error:  # noqa: BLE001 (whatever it is, nothing of a submission may run now)
        _say(talk, {"trouble": f"{type(error).__name__}: {error}"})
        os._exit(1)
    _say(3, {"locked": True})
    serve(Channel(3, 3))
    os._exit(0)


def _say(talk: int, message: dict[str, Any]) -> None:
    os.write(talk, json.dumps(message).encode() + b"\n")


def _line(talk: int) -> bytes:
    """Read the next line from the judge, which sends nothing more until it is answered."""
    held = b""
    while not held.endswith(b"\n"):
        piece = os.read(talk, 1 << 12)
        if not piece:
            os._exit(0)
        held += piece
    return held


def warm_up() -> None:
    """Import what every submission needs, and what inspects the machine on import."""
    environment = dict(os.environ)
    for name in LOADED:
        with suppress(ImportError):  # the self-test reports a missing IPython
            importlib.import_module(name)
    import torch

    torch.set_num_threads(1)
    event_loop.without_sockets()
    for name in set(os.environ) - set(environment):  # set by a library
        del os.environ[name]
    torch.manual_seed(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
