"""Lines of JSON over a file descriptor, with a limit on every size, so that reading untrusted input is safe."""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

MAX_LINE = 32 << 20  # bytes of one message
OUT_OF_CPU = 120  # how a process ends that has used up its time on the processor


class ChannelError(Exception):
    """What came is not a message: too long, too deep, not JSON."""


class Closed(ChannelError):
    """The other side is gone."""


class TimeUp(ChannelError):
    """The deadline passed while waiting."""


class TooLong(ChannelError):
    """What this side has to say is longer than a message may be."""


class Channel:
    """Messages both ways over `reader` and `writer` (file descriptors, perhaps the same).

    `deadline` is a time on the monotonic clock, or None; `budget` caps the bytes read in all.
    """

    def __init__(self, reader: int, writer: int, budget: int | None = None):
        self.reader, self.writer, self.budget = reader, writer, budget
        self.deadline: float | None = None
        self._rest = bytearray()
        self._searched = 0
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)

    def send(self, message: dict[str, Any]) -> None:
        """Write `message`; raises Closed, TimeUp or TooLong."""
        self.write(json.dumps(message, separators=(",", ":")).encode())

    def write(self, text: bytes) -> None:
        """Write `text`, which holds no line's end, as a line; raises as `send` does."""
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
        """The next message; raises Closed, TimeUp, or ChannelError if it is none."""
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
        """The next line without its end; raises Closed, TimeUp, or ChannelError if it is too long."""
        if self._left() == 0:  # also when there is always something to read
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
