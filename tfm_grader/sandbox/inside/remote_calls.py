"""Function calls across the channel, both ways and nested: an answer may call a function of the waiting test.

Gradients pass too: a tensor that requires one is numbered, the side that computes with it keeps the graph, and the
backward pass requests the vector-Jacobian product over the same wire. A reply also says which argument the function
modified, because arguments are copies made for the call and the caller could not see it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .channel import Channel, ChannelError
from .values import BadValue, Decoder, encode, numbered_tensors, raw_tensor

MAX_CALLS = 100_000
MAX_NESTING = 40


class Raised(Exception):
    """The other side's function raised: the exception's name, its text, and the line in the student's cell."""

    def __init__(self, name: str, text: str, line: int | None, bare: bool):
        super().__init__(f"{name}: {text}")
        self.name, self.text, self.line, self.bare = name, text, line, bare


class Foreign:
    """An object of the other side that cannot be sent; testing, comparing or measuring it raises TypeError.

    Its class has the name of the original's class, so that error messages about it read naturally.
    """

    __slots__ = ()

    @staticmethod
    def of(kind: str, call: Callable[..., Any] | None) -> Foreign:
        """Make a stand-in for an object of class `kind`, callable if `call` is given."""
        named = {"__call__": lambda self, *args, **kwargs: call(*args, **kwargs)} if call else {}
        return type(kind if kind.isidentifier() else "object", (Foreign,), {"__slots__": (), **named})()

    def _refuse(self, *_: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} was given back, where plain values or tensors are asked for")

    __bool__ = __eq__ = __ne__ = __len__ = __iter__ = __getitem__ = __float__ = __int__ = __index__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<a {type(self).__name__}>"


class Peer:
    """One end of the wire.

    `describe` converts an exception of this side's functions for sending; `convert` converts one received from the
    other side for raising here.
    """

    ends: tuple[type[BaseException], ...] = ()  # exceptions that are not sent as a reply but end all calls

    def __init__(
        self,
        channel: Channel,
        describe: Callable[[BaseException], dict[str, Any]],
        convert: Callable[[Raised], Exception] = lambda raised: raised,
    ):
        self.channel, self.describe, self.convert = channel, describe, convert
        self.named: dict[str, Callable[..., Any]] = {}
        self.changed: Any = None  # the argument that the last call changed, as the other side reports: untrusted
        self._kept: list[Any] = []
        self._tapes: list[tuple[list[Tensor], list[Tensor]]] = []
        self._calls = self._nesting = 0

    # ── asking ────────────────────────────────────────────────────────────
    def call(self, target: str | int, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Call the other side's `target`, a name or a handle's number. Raises Raised if it raises."""
        inputs: list[Tensor] = []

        def number(tensor: Tensor) -> int | None:
            return _number(tensor, inputs) if tensor.requires_grad else None

        made = {
            "of": target,
            "args": [encode(arg, self._keep, number) for arg in args],
            "kwargs": {name: encode(arg, self._keep, number) for name, arg in (kwargs or {}).items()},
        }
        reply = self.ask("call", made)
        self.changed = reply.get("changed")
        tape, outputs = reply.get("tape"), {}
        if tape is not None and inputs:
            raw = {made["g"]: raw_tensor(made) for made in numbered_tensors(reply.get("ok"))}
            if any(type(number) is not int for number in raw):
                raise BadValue("a gradient of no tensor")
            given = _Computed.apply(self, tape, list(raw.values()), *inputs)
            outputs = dict(zip(raw, given, strict=True))
        return Decoder(self._foreign, outputs).decode(reply.get("ok"))

    def ask(self, what: str, made: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and serve the other side's requests until its reply comes."""
        id = secrets.token_hex(8)  # so that no reply can be sent before its request
        self.channel.send({"do": what, "id": id, **made})
        while True:
            message = self.receive()
            if "do" in message:
                self.answer(message)
            elif message.get("re") == id:
                if "raised" in message:
                    raise self.convert(_raised(message["raised"]))
                return message
            else:
                raise ChannelError("a reply came that nobody asked for")

    def receive(self) -> dict[str, Any]:
        """Receive the next message."""
        return self.channel.receive()

    # ── answering ─────────────────────────────────────────────────────────
    def answer(self, message: dict[str, Any]) -> None:
        """Execute the request in `message` and reply. Raises ChannelError if there are too many calls."""
        self._calls += 1
        if self._calls > MAX_CALLS or self._nesting >= MAX_NESTING:
            raise ChannelError("too many calls")
        self._nesting += 1
        try:
            reply = self._do(message)
        except ChannelError:
            raise
        except BaseException as error:
            if isinstance(error, self.ends):
                raise
            reply = {"raised": self.describe(error)}
        finally:
            self._nesting -= 1
        self.channel.send({"re": message.get("id"), **reply})

    def _do(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["do"] == "call":
            return self._called(message)
        if message["do"] == "back":
            return self._backward(message)
        raise BadValue("an unknown request")

    def _called(self, message: dict[str, Any]) -> dict[str, Any]:
        target, args, kwargs = message.get("of"), message.get("args"), message.get("kwargs")
        if type(args) is not list or type(kwargs) is not dict:
            raise BadValue("not a call")
        decoder = Decoder(self._foreign)
        args = [decoder.decode(arg) for arg in args]
        kwargs = {name: decoder.decode(arg) for name, arg in kwargs.items()}
        given = [*args, *kwargs.values()] if type(target) is str else []
        before = [encode(arg, _still) for arg in given]
        with torch.enable_grad():
            result = self._find(target)(*args, **kwargs)
        changed = [place for place, arg in enumerate(given) if encode(arg, _still) != before[place]]
        leaves, outputs = list(decoder.numbered.values()), []

        def number(tensor: Tensor) -> int | None:
            return _number(tensor, outputs) if leaves and tensor.requires_grad else None

        reply = {"ok": encode(result, self._keep, number)}
        if changed:
            reply["changed"] = changed[0]
        if outputs:
            self._tapes.append((outputs, leaves))
            reply["tape"] = len(self._tapes) - 1
        return reply

    def _backward(self, message: dict[str, Any]) -> dict[str, Any]:
        number, slopes = message.get("tape"), message.get("slopes")
        if type(number) is not int or not 0 <= number < len(self._tapes) or type(slopes) is not list:
            raise BadValue("not a request for a gradient")
        outputs, leaves = self._tapes[number]
        decoder = Decoder(self._foreign)
        slopes = [decoder.decode(slope) for slope in slopes]
        pairs = [(out, slope) for out, slope in zip(outputs, slopes, strict=True) if isinstance(slope, Tensor)]
        found = torch.autograd.grad(
            [out for out, _ in pairs], leaves, [slope for _, slope in pairs], retain_graph=True, allow_unused=True
        )
        return {"ok": [encode(slope, self._keep) for slope in found]}

    def _find(self, target: Any) -> Callable[..., Any]:
        if type(target) is str and target in self.named:
            return self.named[target]
        if type(target) is int and 0 <= target < len(self._kept) and callable(self._kept[target]):
            return self._kept[target]
        raise BadValue("nothing of that name can be called")

    def _keep(self, value: Any) -> dict[str, Any]:
        self._kept.append(value)
        return {
            "$": "handle",
            "i": len(self._kept) - 1,
            "k": type(value).__name__[:80],
            "called": callable(value),
        }

    def _foreign(self, made: dict[str, Any]) -> Foreign:
        number, kind, called = made.get("i"), made.get("k"), made.get("called", True)
        if type(number) is not int or type(kind) is not str or type(called) is not bool:
            raise BadValue("not a handle")
        return Foreign.of(kind[:80], (lambda *args, **kwargs: self.call(number, args, kwargs)) if called else None)


def _number(tensor: Tensor, among: list[Tensor]) -> int:
    """Return the index of `tensor` in the list, appending it if absent."""
    for place, other in enumerate(among):
        if other is tensor:
            return place
    among.append(tensor)
    return len(among) - 1


def _still(value: Any) -> dict[str, Any]:
    """Return a placeholder for an object whose content is not compared."""
    return {"$": "handle", "i": id(value)}


def _raised(made: Any) -> Raised:
    if type(made) is not dict:
        raise ChannelError("what came is not an exception")
    name, text, line = made.get("name"), made.get("text"), made.get("line")
    return Raised(
        name[:80] if type(name) is str else "Exception",
        text[:2000] if type(text) is str else "",
        line if type(line) is int else None,
        made.get("bare") is True,
    )


class _Computed(torch.autograd.Function):
    """Tensors that the other side computed from `inputs`; it keeps their graph under the number `tape`."""

    @staticmethod
    def forward(ctx: Any, peer: Peer, tape: int, values: list[Tensor], *inputs: Tensor) -> tuple[Tensor, ...]:
        ctx.peer, ctx.tape, ctx.inputs = peer, tape, len(inputs)
        ctx.set_materialize_grads(False)
        return tuple(values)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *slopes: Tensor | None) -> tuple[Tensor | None, ...]:
        peer: Peer = ctx.peer
        reply = peer.ask("back", {"tape": ctx.tape, "slopes": [encode(slope, peer._keep) for slope in slopes]})
        found = Decoder(peer._foreign).decode(reply.get("ok"))
        if type(found) is not list or len(found) != ctx.inputs:
            raise BadValue("not the gradients that were asked for")
        return (None, None, None, *(slope if isinstance(slope, Tensor) else None for slope in found))
