"""An event loop that needs no socket and no pipe: a cell may have neither. It knows timers, tasks and threads."""

from __future__ import annotations

import asyncio
import threading
from typing import Any


class _Nap:
    """What the loop waits with, in place of a selector: nothing is ever ready but the loop itself."""

    def __init__(self) -> None:
        self.woken = threading.Event()

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None or timeout > 0:
            self.woken.wait(timeout)
        self.woken.clear()
        return []


class Loop(asyncio.BaseEventLoop):
    """Runs coroutines as Jupyter's loop does, while cells run inside it."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Nap()

    def _process_events(self, events: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        self._selector.woken.set()
