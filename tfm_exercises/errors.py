"""Errors that an answer raises, in a sentence: what came, where, and, of the common ones, what to do."""

from __future__ import annotations

import builtins
import difflib
import inspect
import os
import re
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tfm_exercises import IN_PAGES

#: Where the names of a chapter come from, each with the words that stand before a name of it.
HOMES: dict[str, ModuleType] = {"torch": torch, "F": F}


RAISED = "raised: "  # begins the name of a mistake that is known by the error which it raises

#: What the first cell of a chapter imports.
IMPORTED = ("torch", "F", "nn", "math", "np", "Tensor", "check")


def told(
    name: str, answer: Callable[..., Any], args: tuple, kwargs: dict[str, Any], error: BaseException, checks: str
) -> tuple[str, str | None]:
    """The sentence about `error`, which `answer(*args, **kwargs)` raised, and the mistake if it is a common one.

    `checks` is the file that called it.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != checks]
    inputs = ", ".join(map(_input, args))
    if not frames and isinstance(error, TypeError) and (signature := _that_forbids(answer, args, kwargs)):
        count = "one argument" if len(args) == 1 else f"{len(args)} arguments"
        written = f"yours is written for {signature}. Keep the stub's first line."
        return f"The check calls {name} with {count}, {inputs}; {written}", f"{RAISED}other arguments"
    own = [frame for frame in frames if frame.filename == frames[0].filename]  # the innermost of them is where it came
    where = f" in line {own[-1].lineno} of your cell" if own else ""
    said = clip(str(error) or "no message")
    helped = _help(args, error)
    kind = type(error).__name__
    return f"{name}({inputs}) raised {kind}{where}: {said}{helped}", f"{RAISED}{kind}" if helped else None


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
        return _whence(missing[1], _known(error))
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
    return next(
        (f". {sentence}" for pattern, sentence in COMMON if re.search(pattern, f"{type(error).__name__}: {text}")), ""
    )


#: What many errors mean, each by a pattern in its type and text.
COMMON = (
    ("Dimension out of range", "The code counts on more axes than there are here. Counted from the end, `dim=-1`, the last axis is there in any case"),
    ("return_types", "max, min, sort and topk with a `dim` return a pair, values and indices: `.values` takes the first"),
    ("must match the size of tensor b", "Counted from the last axis, lengths must be equal or 1: `[:, None]` puts in an axis of length 1, `keepdim=True` keeps one"),
    ("shapes cannot be multiplied|size mismatch|inconsistent tensor size|Expected size for first two", "For A @ B, the last axis of A must be as long as the last but one of B"),
    ("values to unpack", "Left of the = stands another number of names than there are values on the right; a shape has one number for each axis"),
    ("unhashable type: 'list'", "A list cannot be a key; `tuple(…)` makes something of it that can"),
    ("KeyError|is not in list", "That is not there to be looked up. What is looked up, and what is there?"),
    ("shape of the mask", "A mask in brackets must have the shape of the tensor before them; `masked_fill` and `torch.where` stretch it"),
    ("IndexError", "Indices run from 0 to the length less 1. Which axis or list has the length that the code counts with?"),
    ("'NoneType' object", "Here stands None. What changes a list in its place, `append`, `extend`, `sort`, returns None, and so does a function without return"),
    ("negative dimension", "A length became negative, because one argument is larger than the other"),
    ("Boolean value of Tensor", "`if` wants one truth value, and here are many: `.all()` and `.any()` make one of them, `torch.where` chooses for each"),
    ("expected scalar type|same dtype|must be the same", "Two tensors are of different types: `.float()` and `.long()` change that"),
    ("is an empty sequence|iterable argument is empty|empty range", "There is nothing to choose from here. What should come out in this case?"),
    ("expected sequence of length", "The lists within are not equally long, so they make no tensor"),
    ("is invalid for input of size", "The new shape holds another number of entries than the old one"),
    ("stack expects each tensor", "torch.stack wants tensors of one shape; of others, flatten each and use torch.cat"),
    ("same number of dimensions", "torch.cat wants as many axes in each tensor: `flatten()` or `[None]` changes their number"),
    ("UnboundLocalError", "On this input no line gave the name a value before it was used, perhaps because a loop had nothing to do"),
    ("Supports 1D or 2D|Expected 1-D|must be 1-?D|expects a 2D|expected 2D", "This function takes fewer axes than there are here"),
    ("not supported between instances of", "The two sides of this comparison are of different kinds"),
    ("division by zero", "The divisor is 0 here. What should come out in this case?"),
    ("tensors used as indices|only integers?", "Indices are whole numbers: `.long()` or `int(…)` makes some"),
)  # fmt: skip


def _known(error: BaseException) -> list[str]:
    """The names that the line which raised `error` could have used, its own function's first."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1:]
    return [name for frame in frames for name in (*frame.f_code.co_varnames, *frame.f_globals)] + dir(builtins)


def _whence(name: str, known: list[str]) -> str:
    """Where the `name` that is not defined may come from, where these are `known`."""
    if name in IMPORTED:
        return ". The chapter's first cell imports it: run that again, as after each restart"
    if found := next((home for home, module in HOMES.items() if callable(getattr(module, name, None))), ""):
        return f". PyTorch has it: {found}.{name}"
    near = [each for each in known if each.lower() == name.lower()] or difflib.get_close_matches(name, known, 1, 0.75)
    if near:
        return f". Perhaps you mean {near[0]}"
    return ". Is it spelt the same where it is defined" + (
        "?" if IN_PAGES in os.environ else ", and has that cell been run?"
    )


def _a(kind: str) -> str:
    return f"an {kind}" if kind in ("int", "ndarray") else f"a {kind}"
