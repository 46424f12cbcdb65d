"""Typed messages over a channel, validated while they are read."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from tfm_grader.sandbox.inside.channel import Channel, ChannelError

Kind = TypeVar("Kind")


class Wire(Channel):
    """Records both ways, as lines of JSON."""

    def say(self, record: msgspec.Struct) -> None:
        """Write `record`; raises as `Channel.send` does."""
        self.write(msgspec.json.encode(record))

    def hear(self, kind: type[Kind] | Any) -> Kind:
        """The next message, which must be a `kind`; raises as `Channel.receive` does."""
        try:
            return msgspec.json.decode(self.line(), type=kind)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise ChannelError(f"what came is not what was asked for ({error})") from None
