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


def told(name: str, answer: Callable[..., Any], args: tuple, error: BaseException, checks: str) -> str:
    """The sentence about `error`, which `answer(*args)` raised; `checks` is the file that called it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != checks]
    if not frames and isinstance(error, TypeError) and (sentence := _another_count(name, answer, args)):
        return sentence
    inputs = ", ".join(_input(arg) for arg in args)
    where = f" in line {frames[0].lineno} of your cell" if frames else ""
    said = " ".join(str(error).split()) or "no message"
    said = said if len(said) <= 160 else said[:159] + "…"
    return f"{name}({inputs}) raised {type(error).__name__}{where}: {said}{_help(args, error)}"


def _input(arg: Any) -> str:
    if isinstance(arg, Tensor):
        return f"a tensor of shape {tuple(arg.shape)}"
    text = " ".join(repr(arg).split())
    return text if len(text) <= 40 else text[:39] + "…"


def _another_count(name: str, answer: Callable[..., Any], args: tuple) -> str:
    """A sentence if `answer` cannot be called with that many arguments; empty if it can."""
    try:
        signature = inspect.signature(answer)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*args)
    except TypeError:
        needed = [each for each in signature.parameters.values() if each.default is each.empty]
        takes = f"needs {len(needed)} ({', '.join(each.name for each in needed)})" if needed else "takes no argument"
        if 0 < len(needed) < len(args):
            takes = takes.replace("needs", "takes only")
        count = "one argument" if len(args) == 1 else f"{len(args)} arguments"
        return f"The check calls {name} with {count}, {', '.join(map(_input, args))}; yours {takes}. The exercise's first line says which it gets."
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
    if found := next((home for home, module in HOMES.items() if hasattr(module, name)), ""):
        return f". PyTorch has it: {found}.{name}"
    if name in ("torch", "F", "nn", "math", "np", "Tensor", "check"):
        return ". The chapter's first cell imports it: run that again, as after each restart"
    near = [each for each in dir(builtins) if each.lower() == name.lower()]
    return f". Perhaps you mean {near[0]}" if near else ". Is its cell run, and spelt the same?"


def _a(kind: str) -> str:
    return f"an {kind}" if kind in ("int", "ndarray") else f"a {kind}"
