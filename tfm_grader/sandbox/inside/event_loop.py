"""An asyncio event loop without sockets; it wakes itself through an eventfd, which the sandbox allows."""

from __future__ import annotations

import asyncio.selector_events
import os
from typing import Any


class Bell:
    """Replaces both ends of asyncio's self-pipe: what is sent to it makes it readable."""

    def __init__(self) -> None:
        self._number = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def fileno(self) -> int:
        return self._number

    def send(self, data: bytes) -> int:
        os.eventfd_write(self._number, 1)
        return len(data)

    def recv(self, size: int) -> bytes:
        os.eventfd_read(self._number)  # raises BlockingIOError if nothing was sent
        return b"\0"

    def close(self) -> None:
        if self._number >= 0:
            os.close(self._number)
            self._number = -1


def without_sockets() -> None:
    """Make event loops created from now on wake themselves through a Bell."""

    def make_bell(loop: Any) -> None:
        loop._ssock = loop._csock = Bell()
        loop._internal_fds += 1
        loop._add_reader(loop._ssock.fileno(), loop._read_from_self)

    asyncio.selector_events.BaseSelectorEventLoop._make_self_pipe = make_bell  # type: ignore[attr-defined]
