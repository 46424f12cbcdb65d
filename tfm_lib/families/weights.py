"""Fill our models from a state that `transformers` writes, using every parameter once and leaving none over."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tfm_lib.families.settings import NotSupported

NAMED = 4  # keys that an error message lists


def same(value: Tensor) -> Tensor:
    return value


@dataclass(frozen=True)
class Place:
    """The place of one of our parameters in their state, and how to read it from there.

    Several names belong to one tied matrix: at least one must be present, and those present must
    agree.
    """

    names: tuple[str, ...]
    read: Callable[[Tensor], Tensor] = same


def at(*names: str, read: Callable[[Tensor], Tensor] = same) -> Place:
    return Place(names, read)


def transposed(W: Tensor) -> Tensor:
    """Transpose a matrix, which GPT-2 stores as (in, out), to the layout of `nn.Linear`."""
    return W.transpose(0, 1)


def linear(ours: str, theirs: str, bias: bool = True) -> dict[str, Place]:
    """Map a matrix and its bias."""
    places = {f"{ours}.weight": at(f"{theirs}.weight")}
    return places | ({f"{ours}.bias": at(f"{theirs}.bias")} if bias else {})


def norm(ours: str, theirs: str, bias: bool = True) -> dict[str, Place]:
    """Map a gain and its bias."""
    places = {f"{ours}.gain": at(f"{theirs}.weight")}
    return places | ({f"{ours}.bias": at(f"{theirs}.bias")} if bias else {})


def fill(
    model: nn.Module,
    state: Mapping[str, Tensor],
    table: Mapping[str, Place],
    prefix: str,
    passed_over: Sequence[str] = (),
    dtype: torch.dtype = torch.float32,
) -> list[str]:
    """Load the numbers of `state` into `model`, in `dtype`, by the `table`: our name → their place.

    Their names begin with `prefix`, except those of heads; a state without it anywhere is that of the bare model.
    Keys that match a pattern of `passed_over` are not parameters of this model and are returned. A key that is
    missing, left over, of another shape or not of floating-point numbers raises `NotSupported`.
    """
    bare = not any(key.startswith(prefix) for key in state)
    shapes, used, values = {name: value.shape for name, value in model.state_dict().items()}, set(), {}
    for name, place in table.items():
        known = [key.removeprefix(prefix) if bare else key for key in place.names]
        there = [key for key in known if key in state]
        if not there:
            also = f" (or {', '.join(known[1:])})" if known[1:] else ""
            raise NotSupported(f"The weights lack {known[0]}{also}, which {name} is read from.")
        for key in there[1:]:
            if state[key].shape != state[there[0]].shape or not torch.equal(state[key], state[there[0]]):
                raise NotSupported(f"The weights hold {there[0]} and {key}, which are tied in this model, and differ.")
        used.update(there)
        read = _read(state[there[0]], there[0], place, name, tuple(shapes[name]))
        values[name] = torch.empty(read.shape, dtype=dtype).copy_(read)  # our own copy: theirs may be a file's memory
    rest = [key for key in state if key not in used]
    skipped = [
        key for key in rest if any(re.fullmatch(rf"(?:{re.escape(prefix)})?{each}", key) for each in passed_over)
    ]
    if over := sorted(set(rest) - set(skipped)):
        more = f" and {len(over) - NAMED} more" if len(over) > NAMED else ""
        raise NotSupported(
            f"The weights hold {', '.join(over[:NAMED])}{more}, for which this model has no place: it is another model "
            "than config.json says, or has parts that are not supported."
        )
    model.load_state_dict(values, assign=True)
    return sorted(skipped)


def _read(value: Tensor, key: str, place: Place, name: str, shape: tuple[int, ...]) -> Tensor:
    if not value.is_floating_point() or value.element_size() < 2:
        kind = str(value.dtype).removeprefix("torch.")
        raise NotSupported(
            f"The weights hold {key} in {kind}; floating-point numbers of 16, 32 or 64 bits can be read. "
            "Quantised weights are not supported."
        )
    try:
        read = place.read(value)
    except (IndexError, RuntimeError, ValueError):
        read = value
    if tuple(read.shape) != shape:
        raise NotSupported(
            f"{key} has shape {tuple(value.shape)}, from which {name} of shape {shape} cannot be read: "
            "config.json tells of other sizes."
        )
    if not read.isfinite().all():
        raise NotSupported(f"{key} holds numbers that are NaN or infinite.")
    return read
