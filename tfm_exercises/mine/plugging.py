"""Plug the reader's functions into the library for as long as a `with` block lasts."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tfm_exercises.mine import active, answers
from tfm_exercises.mine.catalogue import PARTS, Part, find


class Plugged:
    """What is plugged in: the `names` of the parts, and `calls`, how often each was called."""

    def __init__(self, names: tuple[str, ...]):
        self.names, self.calls = names, Counter(dict.fromkeys(names, 0))

    def __repr__(self) -> str:
        return (
            "\n".join(f"{name}: called {count} times" for name, count in self.calls.items()) or "Nothing is plugged in."
        )


@contextmanager
def plugged_in(*names: str, instead: Mapping[str, Callable[..., Any]] | None = None) -> Iterator[Plugged]:
    """The reader's parts in the library's place; what stood there before stands there again afterwards.

    `names` are the parts to plug in, all that are written if there are none. `instead` maps names of parts to functions
    that need not have passed their checks; by itself it plugs in these only. Raises KeyError for a name that no part
    has, AttributeError for a part that is not written yet. The change is one of the whole process: run one such block
    at a time, not one in each of several threads.
    """
    instead = dict(instead or {})
    for name in (*names, *instead):
        if find(name) is None:
            raise KeyError(f"No part is called {name!r}; the parts are {', '.join(part.name for part in PARTS)}.")
    asked = {*names, *instead} or set(answers.written())
    chosen = [part for part in PARTS if part.name in asked]
    functions = {part.name: instead.get(part.name) or answers.part(part.name) for part in chosen}
    own = [each for each in functions.values() if isinstance(each, FunctionType)]
    kept = [each.__globals__ for each in own if each.__globals__.get("__name__", "").startswith("mine ")]
    plugged = Plugged(tuple(functions))
    undo: list[Callable[[], None]] = []
    try:
        with active.block():
            for part in chosen:
                _plug(part, functions[part.name], plugged, undo, kept)
            yield plugged
    finally:
        for restore in reversed(undo):
            restore()


def _plug(
    part: Part, function: Callable[..., Any], plugged: Plugged, undo: list[Callable[[], None]], kept: list[dict]
) -> None:
    running: list[bool] = []  # whether the part's function runs, whose own calls of the library go to what was below

    def counted(*args: Any) -> Any:
        plugged.calls[part.name] += 1
        running.append(True)
        try:
            return _as_library(function(*args), args)
        finally:
            running.pop()

    for module, attribute, adapter in part.places:
        owner: Any = importlib.import_module(module)
        *kind, last = attribute.split(".")
        owner = getattr(owner, kind[0]) if kind else owner
        below = vars(owner)[last]
        above = _unless(running, adapter(counted, below), below)
        if kind:
            undo.append(partial(setattr, owner, last, below))
            setattr(owner, last, above)
        else:
            undo.append(partial(_replace, above, below, kept))
            _replace(below, above, kept, among="tfm_lib.")


def _as_library(result: Any, args: tuple) -> Any:
    """`result` as the library's tensors are: an array or lists of numbers as a tensor, in the precision of `args`."""
    if isinstance(result, np.ndarray) or (isinstance(result, list) and result and isinstance(result[0], list)):
        result = torch.as_tensor(result)
    if not isinstance(result, Tensor) or not result.is_floating_point():
        return result
    given = (each.dtype for each in args if isinstance(each, Tensor) and each.is_floating_point())
    return result.to(next(given, torch.get_default_dtype()))


def _unless(running: list[bool], above: Any, below: Any) -> Any:
    """`above`, but `below` while the part's own function runs: it may use the library's part and not call itself."""
    if isinstance(below, property):
        return above

    @wraps(below)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (below if running else above)(*args, **kwargs)

    return call


def _replace(old: Any, new: Any, kept: list[dict], among: str = "tfm_") -> None:
    """Put `new` in place of `old` in all loaded modules of the library that hold it, and where the `kept` answers of the
    reader have imported it from there; the judges keep theirs.
    """
    modules = [
        vars(each) for name, each in [*sys.modules.items()] if name.startswith(among) and isinstance(each, ModuleType)
    ]
    for names in (*modules, *kept):
        for name, value in list(names.items()):
            if value is old:
                names[name] = new
