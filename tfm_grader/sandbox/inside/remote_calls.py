"""Function calls across the channel, both ways and nested: an answer may call a function of the waiting test.

Gradients pass too: a tensor that requires one is numbered, the side that computes with it keeps the graph, and the
backward pass requests the vector-Jacobian product over the same wire. A reply also says which argument the function
modified, because arguments are copies made for the call and the caller could not see it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor, peek_interpreter_stack
from torch._functorch.pyfunctorch import temporarily_pop_interpreter_stack
from torch.autograd import forward_ad

from .channel import Channel, ChannelError
from .values import BadValue, Decoder, encode, encode_tensor, numbered_tensors, raw_tensor

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
        self._asking = threading.RLock()  # threads of an answer take turns; a call within a call is the same thread's

    # ── asking ────────────────────────────────────────────────────────────
    def call(self, target: str | int, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Call the other side's `target`, a name or a handle's number. Raises Raised if it raises."""
        inputs: list[Tensor] = []

        def described(tensor: Tensor) -> dict[str, Any]:
            """Describe a tensor that is derived by, or of a `vmap`, by its number: `_Asked.values` adds the rest."""
            if tensor.requires_grad or is_functorch_wrapped_tensor(tensor) or _has_tangent(tensor):
                return {"$": "tensor", "g": _number(tensor, inputs)}
            return encode_tensor(tensor)

        asked = _Asked(
            self,
            {
                "of": target,
                "args": [encode(arg, self._keep, described) for arg in args],
                "kwargs": {name: encode(arg, self._keep, described) for name, arg in (kwargs or {}).items()},
            },
        )
        given = _Computed.apply(asked, *inputs) if inputs else asked.values()
        return Decoder(self._foreign, dict(zip(asked.numbers, given, strict=True))).decode(asked.reply.get("ok"))

    def ask(self, what: str, made: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and serve the other side's requests until its reply comes."""
        id = secrets.token_hex(8)  # so that no reply can be sent before its request
        with self._asking:
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
        leaves, outputs = list(decoder.numbered.values()), []

        def described(tensor: Tensor) -> dict[str, Any]:
            return encode_tensor(tensor, _number(tensor, outputs) if leaves and tensor.requires_grad else None)

        reply = {"ok": encode(result, self._keep, described)}  # a generator runs here
        changed = [place for place, arg in enumerate(given) if encode(arg, _still) != before[place]]
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


class _Asked:
    """A call, and what came back: the reply, and the numbers of those of its tensors that carry a gradient."""

    def __init__(self, peer: Peer, made: dict[str, Any]):
        self.peer, self.made = peer, made
        self.reply: dict[str, Any] = {}
        self.inputs = 0  # how many tensors were given that are derived by
        self.numbers: list[int] = []
        self.shapes: list[torch.Size] = []  # of these tensors
        self.calls: list[_Asked] = []  # of a `vmap`: the calls that this one stands for

    def values(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Ask, with `inputs` in the place of the tensors that were numbered; return those that carry a gradient."""
        self.inputs = len(inputs)
        for made in numbered_tensors([*self.made["args"], *self.made["kwargs"].values()]):
            made.update(encode_tensor(inputs[made["g"]], made["g"]))
        self.reply = self.peer.ask("call", self.made)
        self.peer.changed = self.reply.get("changed")
        if self.reply.get("tape") is None or not inputs:
            return ()
        raw = {made["g"]: raw_tensor(made) for made in numbered_tensors(self.reply.get("ok"))}
        if any(type(number) is not int for number in raw):
            raise BadValue("a gradient of no tensor")
        self.numbers, self.shapes = list(raw), [tensor.shape for tensor in raw.values()]
        return tuple(raw.values())

    def products(self, *slopes: Tensor | None) -> list[Any]:
        """Ask for the vector-Jacobian product of each input."""
        sent = [encode(slope, self.peer._keep) for slope in slopes]
        reply = self.peer.ask("back", {"tape": self.reply.get("tape"), "slopes": sent})
        found = Decoder(self.peer._foreign).decode(reply.get("ok"))
        if type(found) is not list or len(found) != self.inputs:
            raise BadValue("not the gradients that were asked for")
        return [slope if isinstance(slope, Tensor) else None for slope in found]

    def jacobians(self) -> Iterator[tuple[int, int, Tensor]]:
        """Yield the numbers of an output and of an input, and the derivatives of the one by the other, (m, n)."""
        for k, shape in enumerate(self.shapes):
            unit = torch.eye(shape.numel()).reshape(-1, *shape)
            rows = [self.products(*(each if k == j else None for j in range(len(self.shapes)))) for each in unit]
            for i, column in enumerate(zip(*rows, strict=True)):
                if column[0] is not None:
                    yield k, i, torch.stack(column).flatten(1)


class _Computed(torch.autograd.Function):
    """Tensors that the other side computes from `inputs`; it keeps their graph."""

    @staticmethod
    def forward(asked: _Asked, *inputs: Tensor) -> tuple[Tensor, ...]:
        return asked.values(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.asked = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def vmap(info: Any, places: tuple[Any, ...], asked: _Asked, *inputs: Tensor) -> Any:
        asked.calls = [_Asked(asked.peer, deepcopy(asked.made)) for _ in range(info.batch_size)]
        found = [_Computed.apply(one, *_select(inputs, places[1:], i)) for i, one in enumerate(asked.calls)]
        if not asked.calls[0].numbers:
            raise RuntimeError("Under vmap, a function of another process has to compute its result from its input.")
        asked.reply, asked.numbers = {**asked.calls[0].reply, "tape": None}, asked.calls[0].numbers
        return _stacked(found)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> tuple[Tensor | None, ...]:
        found: list[Tensor | None] = [None for _ in ctx.asked.shapes]
        with (
            temporarily_pop_interpreter_stack() if peek_interpreter_stack() else nullcontext()
        ):  # to be sent as they are
            slopes = list(ctx.asked.jacobians())
        for k, i, J in slopes:
            if (tangent := tangents[i]) is not None:
                found[k] = _plus(found[k], (J @ tangent.reshape(-1)).reshape(ctx.asked.shapes[k]))
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor | None) -> tuple[Tensor | None, ...]:
        inputs = ctx.saved_tensors
        return None, *_Product.apply(ctx.asked, len(inputs), *inputs, *slopes)


class _Product(torch.autograd.Function):
    """The vector-Jacobian products; for many vectors at once, as in `torch.func.jacrev`, one after the other.

    They depend on the inputs as well, so these are arguments: a second derivative is refused, not taken for 0.
    """

    @staticmethod
    def forward(asked: _Asked, count: int, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        inputs, slopes = given[:count], given[count:]
        if not any(map(_is_batch, slopes)):
            found = asked.products(*slopes)
        else:  # `autograd.grad` with many vectors at once, which asks no `vmap` of a Function
            found = [None for _ in inputs]
            for k, i, J in asked.jacobians():
                slope, X = slopes[k], inputs[i]
                if slope is not None and X is not None:
                    found[i] = _plus(found[i], (slope.reshape(-1) @ J).reshape(X.shape))
        return tuple(found)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor | None, ...]) -> None:
        pass  # nothing to keep

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor | None) -> Any:
        raise RuntimeError("A function of another process has no second derivative here.")

    @staticmethod
    def vmap(info: Any, places: tuple[Any, ...], asked: _Asked, count: int, *given: Tensor | None) -> Any:
        many = any(at is not None for at in places[2 : 2 + count])  # calls, each with vectors; else vectors of one call
        return _stacked(
            [
                _Product.apply(asked.calls[i] if many else asked, count, *_select(given, places[2:], i))
                for i in range(info.batch_size)
            ]
        )


def _select(given: Sequence[Tensor | None], places: Sequence[int | None], i: int) -> list[Tensor | None]:
    """Return what the call number `i` of a `vmap` is given: each tensor's entry `i` along the axis in `places`."""
    return [x if x is None or at is None else x.select(at, i) for x, at in zip(given, places, strict=True)]


def _has_tangent(tensor: Tensor) -> bool:
    """Whether `tensor` carries a tangent of forward-mode differentiation."""
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


def _is_batch(tensor: Tensor | None) -> bool:
    """Whether `tensor` stands for many, in a way that cannot be sent."""
    try:
        return tensor is not None and tensor.detach() is None
    except RuntimeError:
        return True


def _plus(a: Tensor | None, b: Tensor) -> Tensor:
    return b if a is None else a + b


def _stacked(found: Sequence[tuple[Tensor | None, ...]]) -> tuple[tuple[Tensor | None, ...], tuple[int | None, ...]]:
    """Return what the calls of a `vmap` have `found`, stacked, and the axis of the calls."""
    stacked = tuple(None if each[0] is None else torch.stack(each) for each in zip(*found, strict=True))
    return stacked, tuple(None if each is None else 0 for each in stacked)
