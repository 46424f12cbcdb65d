"""The process that waits inside the sandbox: it has torch loaded, and forks one cell for each exercise of a submission.

It never reads a submission itself. `fork N` (the socket of orders is open as N): an order comes with the socket of
the submission, which the new cell speaks on. `single`: there is one cell only, it speaks on this process's input and
output, and the sandbox ends with it.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any

from . import caches, cell, image, waking
from .answers import serve
from .channel import Channel

BY_OTHER_LIBRARIES = (
    "bz2",
    "ctypes",
    "hashlib",
    "lzma",
    "ssl",
    "uuid",
    "xml.parsers.expat",
    "zlib",
)  # which cells lack
IF_INSTALLED = (
    "sqlite3",
    "matplotlib.pyplot",
    "IPython.display",
    "IPython.core.inputtransformer2",
    "IPython.core.events",
)


def main(mode: str, orders: str = "") -> None:
    """Serve until the judge is gone."""
    warm_up()
    image.build()
    if mode == "fork":
        with socket.socket(fileno=int(orders)) as listening:
            listening.send(b'{"ready": true}\n')
            take_orders(listening)
    elif mode == "single":
        single()


def warm_up() -> None:
    """Load what submissions load, so that no cell pays for it; forked memory is shared as long as nobody writes.

    Libraries that ask the machine about itself, or load more when they are first used, do so here.
    """
    environment = dict(os.environ)
    for name in ("random", "typing", "jaxtyping", "numpy", "torch.utils.data", "asyncio", *BY_OTHER_LIBRARIES):
        importlib.import_module(name)
    import torch

    torch.set_num_threads(1)
    weights = torch.nn.Linear(8, 8)
    optimizer = torch.optim.AdamW(weights.parameters())
    weights(torch.ones(8, 8)).softmax(-1).sum().backward()
    optimizer.step()
    for name in IF_INSTALLED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    if "matplotlib.pyplot" in sys.modules:
        draw()
    waking.without_sockets()
    for name in set(os.environ) - set(environment):  # what a library has put there
        del os.environ[name]
    torch.manual_seed(0)
    gc.collect()
    gc.freeze()


def draw() -> None:
    """Draw something, for which fonts and writers of pictures are loaded."""
    from matplotlib import font_manager, get_data_path, pyplot

    fonts = font_manager.fontManager
    fonts.ttflist = [font for font in fonts.ttflist if font.fname.startswith(get_data_path())]  # cells have no others
    fonts.afmlist = [font for font in fonts.afmlist if font.fname.startswith(get_data_path())]
    figure, axes = pyplot.subplots()
    axes.plot([0, 1], label="$x^2$")
    axes.legend()
    for kind in ("png", "svg"):
        figure.savefig(io.BytesIO(), format=kind)
    pyplot.close(figure)


def take_orders(orders: socket.socket) -> None:
    """One order after the other: `{"fork": limits}` with a socket, then `{"end": true}`; each is answered."""
    held = b""
    child = first = 0
    empty = caches.cleaner()
    while True:
        piece, files, _, _ = socket.recv_fds(orders, 1 << 16, 1)
        if not piece:
            return
        held += piece
        if not held.endswith(b"\n"):
            continue
        order, held = json.loads(held), b""
        if "fork" in order:
            empty(caches.shared_memory())
            child, first, trouble = start(order["fork"], files[0], orders)
            os.close(files[0])
            reply: dict[str, Any] = {"trouble": trouble} if trouble else {"started": True}
        else:
            reply = {**end(child, first), "own": time.process_time()}
            child = first = 0
        orders.send(json.dumps(reply).encode() + b"\n")


def start(limits: cell.Limits, talk: int, orders: socket.socket) -> tuple[int, int, str]:
    """Fork a keeper, which forks the cell's first process; their numbers, and what went wrong if anything did."""
    told, tell = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        os.close(told)
        orders.close()
        keep(limits, talk, tell)
    os.close(tell)
    with os.fdopen(told, "rb") as heard:  # until the cell is locked, and every copy of the pipe closed
        lines = heard.read().decode(errors="replace").splitlines()
    first = next((int(line) for line in lines if line.isdigit()), 0)
    trouble = next((line for line in lines if not line.isdigit()), "" if first else "no process")
    return keeper, first, trouble


def keep(limits: cell.Limits, talk: int, tell: int) -> None:
    """In the keeper: make the namespaces, fork the first process in them, wait for it, end as it ends."""
    try:
        cell.leave_namespaces()
        first = os.fork()
    except OSError as error:
        os.write(tell, f"{error}\n".encode())
        os._exit(1)
    if first == 0:
        inhabit(limits, talk, tell)
    os.write(tell, f"{first}\n".encode())
    os.close(tell)
    os.close(talk)
    _, status = os.waitpid(first, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def inhabit(limits: cell.Limits, talk: int, tell: int) -> None:
    """In the cell: furnish it, lock it, and only then hear of a submission."""
    try:
        caches.meet(caches.shared_memory())
        cell.set_limits(limits)
        _, tell, status = cell.close_all_but(talk, tell, cell.furnish(limits))
        cell.lock(status)
    except Exception as error:  # noqa: BLE001 (whatever it is, nothing of a submission may run now)
        os.write(tell, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    os.close(tell)  # by which the order counts as carried out
    speak(3, 3)


def speak(reader: int, writer: int) -> None:
    """Serve a submission until the judge hangs up."""
    serve(Channel(reader, writer))
    os._exit(0)


def end(child: int, first: int) -> dict[str, Any]:
    """Kill the cell and all in it; how it had ended, if it had, and the processor seconds that it took."""
    if not child:
        return {"exit": None, "cpu": 0.0}
    if first:
        with suppress(ProcessLookupError):
            os.kill(first, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    return {"exit": os.waitstatus_to_exitcode(status), "cpu": usage.ru_utime + usage.ru_stime}


def single() -> None:
    """One cell, in a sandbox that was made for it only: a container. It is furnished and locked like every other."""
    reader, writer = os.dup(0), os.dup(1)
    os.write(writer, b'{"ready": true}\n')
    limits: cell.Limits = json.loads(sys.stdin.buffer.raw.readline())
    cell.leave_namespaces()
    first = os.fork()
    if first == 0:
        cell.set_limits(limits)
        reader, writer, status = cell.close_all_but(reader, writer, cell.furnish(limits))
        cell.lock(status)
        speak(reader, writer)
    os.close(reader)
    os.close(writer)
    os.closerange(0, 2)
    _, status = os.waitpid(first, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    main(*sys.argv[1:])
