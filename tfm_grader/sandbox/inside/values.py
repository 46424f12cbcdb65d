"""Encode values as JSON and decode them: plain data of exact types is rebuilt, all else is kept behind a handle."""

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
MAX_INTEGER = 1 << 4096  # Python refuses to format larger integers
MAX_EMPTY = 1 << 22  # maximum nested lists that an empty tensor may become
MAX_ALIKE = 32  # maximum keys with equal hashes, as each is compared with all others
MAX_GRADIENTS = 4096
#: One-pass or view types that are sent as lists: iterators, dictionary views and deques.
ONE_BY_ONE = (Iterator, KeysView, ValuesView, ItemsView, collections.deque)
Keep = Callable[[Any], dict[str, Any]]


class BadValue(Exception):
    """The data received does not represent a value."""


def encode(value: Any, keep: Keep, tensor: Callable[[Tensor], dict[str, Any]] | None = None, depth: int = 0) -> Any:
    """Encode `value` as JSON. `keep` makes a handle for what cannot be sent; `tensor` may describe tensors its way."""
    if isinstance(value, str) and type(value) is not str:
        value = str.__str__(value)  # numpy's strings, and members of an enumeration
    kind = type(value)
    if kind in (type(None), bool) or (kind is int and abs(value) < MAX_INTEGER):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$": "float", "v": repr(value)}  # JSON cannot represent these
    if kind is str and len(value) <= MAX_STRING and _is_text(value):
        return value
    if value is ...:
        return {"$": "stub"}
    if kind is complex:
        return {"$": "complex", "v": [repr(value.real), repr(value.imag)]}
    if depth < MAX_DEPTH and isinstance(value, ONE_BY_ONE):  # consumed here, up to the maximum items of a message
        return [encode(item, keep, tensor, depth + 1) for item in islice(value, MAX_ITEMS)]
    if depth < MAX_DEPTH and isinstance(value, (list, tuple, set, frozenset)):
        items = [encode(item, keep, tensor, depth + 1) for item in value]
        if kind is list:
            return items
        return {
            "$": "set" if isinstance(value, (set, frozenset)) else "list" if isinstance(value, list) else "tuple",
            "v": items,
        }
    if depth < MAX_DEPTH and isinstance(value, dict):
        return {
            "$": "dict",
            "v": [[encode(part, keep, tensor, depth + 1) for part in pair] for pair in value.items()],
        }
    if isinstance(value, Tensor) and str(value.dtype).removeprefix("torch.") in DTYPES:
        return tensor(value) if tensor else encode_tensor(value)
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.name in DTYPES:
        return {**encode_tensor(torch.from_numpy(np.array(value))), "$": "array"}
    return keep(value)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def encode_tensor(tensor: Tensor, gradient: int | None = None) -> dict[str, Any]:
    """Encode a tensor, with its number if it carries a gradient."""
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
    """Rebuilds values. `handle` makes a stand-in for a value that stayed on the other side.

    `gradients` are the tensors to use for the numbered ones in the message; without them, tensors are created here and
    collected in `numbered`.
    """

    def __init__(self, handle: Callable[[dict[str, Any]], Any], gradients: dict[int, Tensor] | None = None):
        self.handle, self.gradients = handle, gradients
        self.numbered: dict[int, Tensor] = {}
        self.items = 0

    def decode(self, made: Any, depth: int = 0) -> Any:
        """Decode the value that `made` represents. Raises BadValue."""
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
            return tensor.clone()  # a clone, so that an answer may modify it in place, as in a notebook
        return tensor.numpy() if made["$"] == "array" else tensor


def _float(text: Any) -> float:
    """Parse a number written by `repr`."""
    if type(text) is str and len(text) < 40:
        try:
            return float(text)
        except ValueError:
            pass
    raise BadValue("not a number")


def _require_distinct(keys: list[Any]) -> None:
    """Raise BadValue if too many `keys` share a hash, which would make a set slow; TypeError if unhashable."""
    alike: dict[int, int] = {}
    for key in keys:
        mark = hash(key)
        alike[mark] = alike.get(mark, 0) + 1
    if max(alike.values(), default=0) > MAX_ALIKE:
        raise BadValue("keys that Python can hardly tell apart")


def raw_tensor(made: dict[str, Any]) -> Tensor:
    """Build the tensor of dtype `d`, shape `s` and bytes `b`. Raises BadValue if they do not match."""
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
    if dtype == torch.bool:  # a byte other than 0 and 1 would be an invalid boolean
        return torch.frombuffer(data, dtype=torch.uint8).ne(0).reshape(shape)
    return torch.frombuffer(data, dtype=dtype).reshape(shape)


def numbered_tensors(made: Any) -> list[dict[str, Any]]:
    """Find the descriptions, at any depth of `made`, of tensors that carry a gradient."""
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
