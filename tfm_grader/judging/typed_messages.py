"""Typed messages over a channel, validated on reading."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from tfm_grader.sandbox.inside.channel import ChannelError
from tfm_grader.sandbox.own_time import TimedChannel

Kind = TypeVar("Kind")


class Wire(TimedChannel):
    """A channel that sends and receives records as JSON lines."""

    def say(self, record: msgspec.Struct) -> None:
        """Send `record`. Raises as `Channel.send` does."""
        self.write(msgspec.json.encode(record))

    def hear(self, kind: type[Kind] | Any) -> Kind:
        """Receive the next message, which must be of type `kind`. Raises as `Channel.receive` does."""
        try:
            return msgspec.json.decode(self.line(), type=kind)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise ChannelError(f"what came is not what was asked for ({error})") from None
