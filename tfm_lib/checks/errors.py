"""Errors that an answer raises, in a sentence: what came, where, and, of the common ones, what to do."""

from __future__ import annotations

import builtins
import inspect
import re
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

#: Where the names of a chapter come from, each with the words that stand before a name of it.
HOMES: dict[str, ModuleType] = {"torch": torch, "F": F}


#: What the first cell of a chapter imports.
IMPORTED = ("torch", "F", "nn", "math", "np", "Tensor", "check")


def told(
    name: str, answer: Callable[..., Any], args: tuple, kwargs: dict[str, Any], error: BaseException, checks: str
) -> str:
    """The sentence about `error`, which `answer(*args, **kwargs)` raised; `checks` is the file that called it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != checks]
    inputs = ", ".join(map(_input, args))
    if not frames and isinstance(error, TypeError) and (signature := _that_forbids(answer, args, kwargs)):
        count = "one argument" if len(args) == 1 else f"{len(args)} arguments"
        return f"The check calls {name} with {count}, {inputs}; yours is written for {signature}. Keep the stub's first line."
    where = f" in line {frames[0].lineno} of your cell" if frames else ""
    said = clip(str(error) or "no message")
    return f"{name}({inputs}) raised {type(error).__name__}{where}: {said}{_help(args, error)}"


def clip(text: str, limit: int = 160) -> str:
    """`text` in one line of at most `limit` letters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _input(arg: Any) -> str:
    return f"a tensor of shape {tuple(arg.shape)}" if isinstance(arg, Tensor) else clip(repr(arg), 40)


def _that_forbids(answer: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> str:
    """What `answer` takes, if it cannot be called with these arguments; empty if it can, or does not tell."""
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return str(signature.replace(return_annotation=signature.empty))
    return ""


def _help(args: tuple, error: BaseException) -> str:
    """What to add to an error that many meet; empty for others."""
    text = str(error)
    if isinstance(error, NameError) and (missing := re.match(r"name '(\w+)' is not defined", text)):
        return _whence(missing[1])
    if found := re.search(r"'(list|tuple|int|float|ndarray)' object has no attribute '(\w+)'", text):
        kind, attribute = found.groups()
        if hasattr(Tensor, attribute):
            return f". A tensor has .{attribute}, {_a(kind)} has not: torch.tensor(…) makes one of it"
    batch = next((arg for arg in args if isinstance(arg, Tensor) and arg.dim() > 2), None)
    fits = r"shape|size|dimension|dim |broadcast|expand|match|index|out of (range|bounds)|unpack|Boolean value"
    if batch is not None and re.search(fits, text):
        many = batch.dim() - 2
        axes = "The first axis" if many == 1 else f"The first {many} axes"
        return (
            f". {axes} of {tuple(batch.shape)} may be a batch: one operation on the last two, `dim=-1` and "
            "`transpose(-2, -1)`, does them all"
        )
    return ""


def _whence(name: str) -> str:
    """Where the `name` that is not defined may come from."""
    if name in IMPORTED:
        return ". The chapter's first cell imports it: run that again, as after each restart"
    if found := next((home for home, module in HOMES.items() if callable(getattr(module, name, None))), ""):
        return f". PyTorch has it: {found}.{name}"
    near = [each for each in dir(builtins) if each.lower() == name.lower()]
    return f". Perhaps you mean {near[0]}" if near else ". Has its cell been run, and is it spelt the same there?"


def _a(kind: str) -> str:
    return f"an {kind}" if kind in ("int", "ndarray") else f"a {kind}"
