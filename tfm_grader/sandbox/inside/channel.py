"""JSON lines over a file descriptor, with size limits, so that reading untrusted input is safe."""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

MAX_LINE = 32 << 20  # maximum bytes of one message


class ChannelError(Exception):
    """The data received is not a valid message: too long, too deep, or not JSON."""


class Closed(ChannelError):
    """The other side has closed the connection."""


class TimeUp(ChannelError):
    """The deadline passed while waiting."""


class TooLong(ChannelError):
    """The message to send exceeds the maximum length."""


class Channel:
    """A two-way message channel over `reader` and `writer` (file descriptors, possibly the same).

    `deadline` is a time on the monotonic clock, or None; `budget` limits the total number of bytes read.
    """

    def __init__(self, reader: int, writer: int, budget: int | None = None):
        self.reader, self.writer, self.budget = reader, writer, budget
        self.deadline: float | None = None
        self._rest = bytearray()
        self._searched = 0
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)

    def send(self, message: dict[str, Any]) -> None:
        """Send `message`. Raises Closed, TimeUp or TooLong."""
        self.write(json.dumps(message, separators=(",", ":")).encode())

    def write(self, text: bytes) -> None:
        """Write `text`, which contains no newline, as a line. Raises as `send` does."""
        line = memoryview(text + b"\n")
        if len(line) > MAX_LINE:
            raise TooLong(f"a message of {len(line) >> 20} MB is too long; the limit is {MAX_LINE >> 20} MB")
        while line:
            try:
                line = line[os.write(self.writer, line) :]
            except BlockingIOError:
                self._wait(writing=True)
            except (BrokenPipeError, ConnectionResetError):
                raise Closed("the other side is gone") from None

    def receive(self) -> dict[str, Any]:
        """Receive the next message. Raises Closed, TimeUp, or ChannelError if it is invalid."""
        try:
            message = json.loads(self.line())
        except RecursionError:
            raise ChannelError("what came is nested too deep") from None
        except ValueError:
            raise ChannelError("what came is not JSON") from None
        if type(message) is not dict:
            raise ChannelError("what came is not a message")
        return message

    def line(self) -> bytes:
        """Read the next line without its newline. Raises Closed, TimeUp, or ChannelError if it is too long."""
        if self._left() == 0:  # checked even if data is always available
            raise TimeUp("the time is up")
        while (end := self._rest.find(b"\n", self._searched)) < 0:
            self._searched = len(self._rest)
            if len(self._rest) > MAX_LINE:
                raise ChannelError(f"a message is longer than {MAX_LINE >> 20} MB")
            try:
                piece = os.read(self.reader, 1 << 20)
            except BlockingIOError:
                self._wait(writing=False)
                continue
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Closed("the other side is gone")
            self._count(len(piece))
            self._rest += piece
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        self._searched = 0
        return line

    def _count(self, read: int) -> None:
        if self.budget is not None:
            self.budget -= read
            if self.budget < 0:
                raise ChannelError("more was sent than all messages together may hold")

    def _wait(self, writing: bool) -> None:
        left = self._left()
        if left == 0:
            raise TimeUp("the time is up")
        waiting = select.poll()
        waiting.register(self.writer if writing else self.reader, select.POLLOUT if writing else select.POLLIN)
        waiting.poll(None if left is None else max(1, left * 1000))

    def _left(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
