"""Kernel clients that poll for messages four times a second.

Occasionally the wake-up of one long `poll` is lost; the cell then waits for its whole timeout although its answer has
already arrived in the socket. A short poll finds it.
"""

from __future__ import annotations

import time
from queue import Empty
from typing import Any

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from traitlets import Type

SLICE = 0.25  # seconds


class PatientChannel(AsyncZMQSocketChannel):
    """A channel that waits in short slices."""

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        """Return the next message; raises Empty after `timeout` seconds without one."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = SLICE if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                return await super().get_msg(min(left, SLICE))
            except Empty:
                if deadline is not None and time.monotonic() >= deadline:
                    raise


class PatientClient(AsyncKernelClient):
    """A client whose channels wait in short slices."""

    shell_channel_class = Type(PatientChannel)
    iopub_channel_class = Type(PatientChannel)
    stdin_channel_class = Type(PatientChannel)
    control_channel_class = Type(PatientChannel)
