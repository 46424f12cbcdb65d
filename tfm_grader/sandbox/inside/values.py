"""Encodes values as JSON and back: plain data of exact types is rebuilt, everything else stays behind a handle."""

from __future__ import annotations

import base64
import collections
import math
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.complex128),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
    )
}
MAX_DEPTH = 24
MAX_ITEMS = 200_000
MAX_DIMENSIONS = 16
MAX_SIDE = 1 << 31
MAX_STRING = 1 << 20
MAX_INTEGER = 1 << 4096  # beyond this Python would refuse to write the digits
MAX_EMPTY = 1 << 22  # lists within lists that a tensor without numbers may become
MAX_ALIKE = 32  # keys with one hash: each is compared with all others
MAX_GRADIENTS = 4096
#: What gives values one after the other and is nothing more: iterators, and what a dictionary shows of itself.
ONE_BY_ONE = (Iterator, KeysView, ValuesView, ItemsView, collections.deque)
Keep = Callable[[Any], dict[str, Any]]


class BadValue(Exception):
    """What came does not stand for a value."""


def encode(
    value: Any, keep: Keep, gradient: Callable[[Tensor], int | None] = lambda tensor: None, depth: int = 0
) -> Any:
    """`value` as JSON. `keep` makes a handle of what cannot leave; `gradient` numbers tensors with a gradient."""
    kind = type(value)
    if kind in (type(None), bool) or (kind is int and abs(value) < MAX_INTEGER):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$": "float", "v": repr(value)}  # JSON has no such numbers
    if kind is str and len(value) <= MAX_STRING and _is_text(value):
        return value
    if value is ...:
        return {"$": "stub"}
    if kind is complex:
        return {"$": "complex", "v": [repr(value.real), repr(value.imag)]}
    if depth < MAX_DEPTH and isinstance(value, ONE_BY_ONE):  # read here, up to what a message may hold
        return [encode(item, keep, gradient, depth + 1) for item in islice(value, MAX_ITEMS)]
    if depth < MAX_DEPTH and isinstance(value, (list, tuple, set, frozenset)):
        items = [encode(item, keep, gradient, depth + 1) for item in value]
        if kind is list:
            return items
        return {
            "$": "set" if isinstance(value, (set, frozenset)) else "list" if isinstance(value, list) else "tuple",
            "v": items,
        }
    if depth < MAX_DEPTH and isinstance(value, dict):
        return {
            "$": "dict",
            "v": [[encode(part, keep, gradient, depth + 1) for part in pair] for pair in value.items()],
        }
    if isinstance(value, Tensor) and str(value.dtype).removeprefix("torch.") in DTYPES:
        return _encode_tensor(value, gradient(value))
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.name in DTYPES:
        return {**_encode_tensor(torch.from_numpy(np.array(value)), None), "$": "array"}
    return keep(value)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair
        return False
    return True


def _encode_tensor(tensor: Tensor, gradient: int | None) -> dict[str, Any]:
    plain = tensor.detach().resolve_conj().resolve_neg().to("cpu").to_dense().contiguous()
    data = plain.reshape(-1).view(torch.uint8) if plain.numel() else torch.empty(0, dtype=torch.uint8)
    made = {
        "$": "tensor",
        "d": str(plain.dtype).removeprefix("torch."),
        "s": list(plain.shape),
        "b": base64.b64encode(data.numpy().tobytes()).decode(),
    }
    return made if gradient is None else {**made, "g": gradient}


class Decoder:
    """Rebuilds values. `handle` makes of a description what stands for a value that stayed on the other side.

    `gradients` are the tensors to put where the message has numbered ones; without them they are made here
    and collected in `numbered`.
    """

    def __init__(self, handle: Callable[[dict[str, Any]], Any], gradients: dict[int, Tensor] | None = None):
        self.handle, self.gradients = handle, gradients
        self.numbered: dict[int, Tensor] = {}
        self.items = 0

    def decode(self, made: Any, depth: int = 0) -> Any:
        """The value that `made` stands for; raises BadValue."""
        self.items += 1
        if depth > MAX_DEPTH or self.items > MAX_ITEMS:
            raise BadValue("a value is nested too deep or holds too many items")
        if made is None or type(made) in (bool, float, str):
            return made
        if type(made) is int:
            if abs(made) >= MAX_INTEGER:
                raise BadValue("too large a number")
            return made
        if type(made) is list:
            return [self.decode(item, depth + 1) for item in made]
        if type(made) is not dict:
            raise BadValue("a value of no known kind")
        kind, inner = made.get("$"), made.get("v")
        if kind in ("tensor", "array"):
            return self._tensor(made)
        if kind == "stub":
            return ...
        if kind == "handle":
            return self.handle(made)
        if kind == "float":
            return _float(inner)
        if type(inner) is not list:
            raise BadValue("a value of no known kind")
        if kind == "complex":
            if len(inner) != 2:
                raise BadValue("not a complex number")
            return complex(*map(_float, inner))
        items = [self.decode(item, depth + 1) for item in inner]
        try:
            return self._collection(kind, items)
        except (TypeError, ValueError):
            raise BadValue(f"not a {kind}") from None

    @staticmethod
    def _collection(kind: Any, items: list) -> Any:
        if kind == "list":
            return items
        if kind == "tuple":
            return tuple(items)
        if kind == "set":
            _require_distinct(items)
            return set(items)
        if kind == "dict":
            pairs = [(key, value) for key, value in items]
            _require_distinct([key for key, _ in pairs])
            return dict(pairs)
        raise BadValue("a value of no known kind")

    def _tensor(self, made: dict[str, Any]) -> Any:
        number = made.get("g")
        if number is not None:
            if type(number) is not int or not 0 <= number < MAX_GRADIENTS or made["$"] != "tensor":
                raise BadValue("a gradient of no tensor")
            if self.gradients is not None:
                if number not in self.gradients:
                    raise BadValue("a gradient that nobody asked for")
                return self.gradients[number]
            if number in self.numbered:
                return self.numbered[number].clone()
        tensor = raw_tensor(made)
        if number is not None:
            if not (tensor.is_floating_point() or tensor.is_complex()):
                raise BadValue("a gradient of whole numbers")
            self.numbered[number] = tensor.requires_grad_()
            return tensor.clone()  # as in a notebook, where what an answer gets may be changed in place
        return tensor.numpy() if made["$"] == "array" else tensor


def _float(text: Any) -> float:
    """The number that `repr` wrote."""
    if type(text) is str and len(text) < 40:
        try:
            return float(text)
        except ValueError:
            pass
    raise BadValue("not a number")


def _require_distinct(keys: list[Any]) -> None:
    """Raises BadValue where so many `keys` have one hash that a set of them would take forever; TypeError where one has none."""
    alike: dict[int, int] = {}
    for key in keys:
        mark = hash(key)
        alike[mark] = alike.get(mark, 0) + 1
    if max(alike.values(), default=0) > MAX_ALIKE:
        raise BadValue("keys that Python can hardly tell apart")


def raw_tensor(made: dict[str, Any]) -> Tensor:
    """The tensor of dtype `d`, shape `s`, and bytes `b`; raises BadValue when they do not fit."""
    name, shape, text = made.get("d"), made.get("s"), made.get("b")
    dtype = DTYPES.get(name) if type(name) is str else None
    if dtype is None or type(text) is not str or type(shape) is not list or len(shape) > MAX_DIMENSIONS:
        raise BadValue("not a tensor")
    if any(type(side) is not int or not 0 <= side < MAX_SIDE for side in shape):
        raise BadValue("a tensor of impossible shape")
    if made.get("$") == "array" and dtype == torch.bfloat16:
        raise BadValue("numpy has no bfloat16")
    try:
        data = bytearray(base64.b64decode(text, validate=True))
    except ValueError:
        raise BadValue("not the bytes of a tensor") from None
    if math.prod(shape) * dtype.itemsize != len(data) or (
        not data and math.prod(side or 1 for side in shape) > MAX_EMPTY
    ):
        raise BadValue("a tensor whose shape does not fit its bytes")
    if not data:
        return torch.empty(shape, dtype=dtype)
    if dtype == torch.bool:  # any other byte than 0 and 1 would be neither true nor false
        return torch.frombuffer(data, dtype=torch.uint8).ne(0).reshape(shape)
    return torch.frombuffer(data, dtype=dtype).reshape(shape)


def numbered_tensors(made: Any) -> list[dict[str, Any]]:
    """The descriptions, in any depth of `made`, of tensors that carry a gradient."""
    found, waiting, seen = [], [made], 0
    while waiting:
        item, seen = waiting.pop(), seen + 1
        if seen > MAX_ITEMS or len(found) > MAX_GRADIENTS:
            raise BadValue("a value holds too many items")
        if type(item) is list:
            waiting += item
        elif type(item) is dict:
            if item.get("$") == "tensor" and "g" in item:
                found.append(item)
            elif type(item.get("v")) is list:
                waiting += item["v"]
    return found
