"""The judge's end of the channel to a sandbox: every reply is validated against a schema before it is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tfm_grader.sandbox.inside.channel import Channel, ChannelError, TooLong
from tfm_grader.sandbox.inside.remote_calls import Peer
from tfm_grader.sandbox.inside.values import (
    DTYPES,
    MAX_DIMENSIONS,
    MAX_GRADIENTS,
    MAX_INTEGER,
    MAX_ITEMS,
    MAX_SIDE,
    BadValue,
)

MAX_MESSAGE = 600
MAX_LISTS = 1 << 20  # per line, because each list costs memory and time
Index = Annotated[int, Meta(ge=0, lt=1 << 32)]


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    """Base class that rejects unknown fields."""


class Told(Strict):
    """A raised exception."""

    name: str = "Exception"
    text: str = ""
    line: int | None = None
    bare: bool = False


class Message(Strict, omit_defaults=True):
    """A request (`do`), or the reply to one (`re`)."""

    re: str | UnsetType = UNSET
    ok: Any = UNSET
    raised: Told | UnsetType = UNSET
    changed: Any = UNSET  # can only cost points, so a false value harms only the student
    do: Literal["call", "back"] | UnsetType = UNSET
    id: str | UnsetType = UNSET
    of: str | int | UnsetType = UNSET
    args: list[Any] | UnsetType = UNSET
    kwargs: dict[str, Any] | UnsetType = UNSET
    tape: int | UnsetType | None = UNSET
    slopes: list[Any] | UnsetType = UNSET

    def __post_init__(self) -> None:
        given = {name for name in self.__struct_fields__ if getattr(self, name) is not UNSET}
        if given - {"changed", "tape"} not in FORMS:
            raise ValueError("neither a request nor a reply")

    @property
    def values(self) -> list[Any]:
        """The parts of the message that hold values from the student."""
        kwargs = list(self.kwargs.values()) if self.kwargs is not UNSET else []
        return [part for part in (self.ok, self.args, kwargs, self.slopes) if part is not UNSET]


FORMS = ({"re", "ok"}, {"re", "raised"}, {"do", "id", "of", "args", "kwargs"}, {"do", "id", "slopes"})


class Numbers(Strict, tag_field="$", tag="tensor"):
    """A tensor; `g` is its index among those with a gradient."""

    d: Annotated[str, Meta(pattern=rf"\A({'|'.join(DTYPES)})\Z")]
    s: Annotated[list[Annotated[int, Meta(ge=0, lt=MAX_SIDE)]], Meta(max_length=MAX_DIMENSIONS)]
    b: str
    g: Annotated[int, Meta(ge=0, lt=MAX_GRADIENTS)] | None = None


class Array(Numbers, tag="array"):
    """A numpy array."""


class Handle(Strict, tag_field="$", tag="handle"):
    """A reference to an object that stays in the sandbox."""

    i: Index
    k: str
    called: bool = True  # whether it can be called


class Stub(Strict, tag_field="$", tag="stub"):
    """An ellipsis."""


class Float(Strict, tag_field="$", tag="float"):
    """A float that JSON cannot represent."""

    v: Literal["nan", "inf", "-inf"]


class Complex(Strict, tag_field="$", tag="complex"):
    """Real and imaginary part, as written by `repr`."""

    v: tuple[Annotated[str, Meta(max_length=40)], Annotated[str, Meta(max_length=40)]]


class Items(Strict, tag_field="$", tag="list"):
    """An instance of a list subclass."""

    v: list[Any]


class Tuple(Items, tag="tuple"):
    """A tuple."""


class Set(Items, tag="set"):
    """A set."""


class Dict(Strict, tag_field="$", tag="dict"):
    """A dictionary, as pairs."""

    v: list[tuple[Any, Any]]


KINDS = {  # in words, for messages
    "tensor": "a tensor",
    "array": "an array",
    "handle": "an object",
    "float": "a number",
    "complex": "a complex number",
    "list": "a list",
    "tuple": "a tuple",
    "set": "a set",
    "dict": "a dictionary",
}
Described = Numbers | Array | Handle | Stub | Float | Complex | Items | Tuple | Set | Dict


def read_reply(line: bytes) -> dict[str, Any]:
    """Parse the message in `line`. Raises ChannelError if it is invalid, BadValue if a value in it is."""
    if line.count(b"[") + line.count(b"{") > MAX_LISTS:
        raise ChannelError("a message holds too many lists")
    try:
        made = msgspec.json.decode(line)
    except RecursionError:
        raise ChannelError("a message is nested deeper than any value") from None
    except (msgspec.MsgspecError, ValueError):
        raise ChannelError("what came is not JSON") from None
    try:
        message = msgspec.convert(made, Message)
    except (msgspec.MsgspecError, RecursionError):  # whose texts quote what came, and students may read ours
        raise ChannelError("what came is not a message") from None
    require_values(message.values)
    return made


def require_values(made: Any) -> None:
    """Check that every part of `made`, at any depth, is plain or matches `Described`. Raises BadValue."""
    waiting, seen = [made], 0
    while waiting:
        part, seen = waiting.pop(), seen + 1
        if seen > MAX_ITEMS:
            raise BadValue("a value holds too many items")
        if type(part) is list:
            waiting += part
        elif type(part) is int and abs(part) >= MAX_INTEGER:
            raise BadValue("too large a number")
        elif type(part) is dict:
            try:
                described = msgspec.convert(part, Described)
            except (msgspec.MsgspecError, RecursionError):
                kind = part.get("$")
                what = KINDS.get(kind, "") if type(kind) is str else ""
                raise BadValue(f"{what or 'something'} of a form that cannot be compared") from None
            if isinstance(described, Items | Dict):
                waiting += part["v"]


class Stopped(BaseException):
    """The student's process ended, hung or broke the protocol; tests must not catch this."""


class BrokenTest(BaseException):
    """The test itself is faulty, whatever the answer was."""


class JudgePeer(Peer):
    """The judge's end of the wire: if the wire breaks, the answer is stopped.

    `tell` is called whenever it changes whether the student's data may be the cause of what happens next.
    """

    ends = (Stopped, BrokenTest)

    def __init__(self, channel: Channel, tell: Callable[[bool], None] = lambda of_student: None):
        super().__init__(channel, lambda error: {"name": type(error).__name__, "text": str(error)[:MAX_MESSAGE]})
        self.heard = False  # whether the running test holds student data
        self._tell = tell
        self._told: bool | None = None
        self._values = False  # whether the notebook's answers include values that are not functions

    def begin_test(self) -> None:
        """Begin a test; the only student data it can hold now are answers that are not functions."""
        self.heard, self._told = self._values, None
        self._say(self._values)

    def call(self, target: str | int, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Call as in `Peer`; a reply too large for memory stops the answer."""
        if target == "begin":
            self._told = None  # a new exercise begins
        self._say(True)
        try:
            came = super().call(target, args, kwargs)
        except MemoryError:
            raise Stopped("what it gave back does not fit into memory") from None
        finally:
            self.heard = True
        if target == "load":
            plain = came.get("plain") if type(came) is dict else None
            self._values = type(plain) is not dict or bool(plain)
            self.begin_test()
        return came

    def ask(self, what: str, made: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().ask(what, made)
        except TooLong as error:
            raise Stopped(error) if self.heard else BrokenTest(f"the test hands over too much: {error}") from None
        except ChannelError as error:
            raise Stopped(error) from None

    def receive(self) -> dict[str, Any]:
        return read_reply(self.channel.line())

    def _say(self, of_student: bool) -> None:
        if of_student != self._told:
            self._told = of_student
            self._tell(of_student)
