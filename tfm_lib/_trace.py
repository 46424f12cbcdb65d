"""Trace one forward pass: record or replace what every module computes, by a readable name.

    with trace(model) as seen:
        logits = model(src_ids, tgt_ids)
    seen["encoder.0.self_attention.weights"]  # (batch, n_heads, n, n)

A name is a module's path and a value there: the `output` of every module, the `weights` of an attention and, with all
heads concatenated, its `queries`, `keys`, `values` and `heads` (the input of W_O); a feed-forward network's `hidden`.
"""

import difflib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatchcase
from functools import partial
from inspect import signature
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tfm_lib._errors import bad_input, require_kind, shape_of, shown

Change = Tensor | Callable[[Tensor], Tensor]
INSIDE = {  # a projection: the side of it on which a value has its own name
    "W_Q": ("output", "queries"), "W_K": ("output", "keys"), "W_V": ("output", "values"),
    "W_O": ("input", "heads"), "W_2": ("input", "hidden"),
}  # fmt: skip


class Trace(Mapping[str, Tensor]):
    """`seen[name]` is the latest value, `seen.calls(name)` one per call; `print(seen)` lists names and shapes."""

    def __init__(self, kept: dict[str, list[Tensor]]) -> None:
        self._kept = kept

    def calls(self, name: str) -> list[Tensor]:
        if name not in self._kept:
            raise KeyError(f"Nothing called {name!r} has passed; {_near(name, self._kept)}.")
        return list(self._kept[name])

    def __getitem__(self, name: str) -> Tensor:
        return self.calls(name)[-1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        rows = [f"{name}  {tuple(X.shape)} × {len(self._kept[name])}" for name, X in self.items()]
        return "\n".join(row.removesuffix(" × 1") for row in rows) or "Nothing has passed."


@contextmanager
def trace(model: nn.Module, names: str = "*", replace: Mapping[str, Change] | None = None) -> Iterator[Trace]:
    """Record what passes through `model` while the block runs, and replace it where requested.

    `names` is a pattern such as "*.weights" for what is recorded. `replace` maps a name to a tensor, or to a function
    from the old value to the new one. Gradients flow through all values. An attention computes its weights even where
    a fused kernel would not. Calls from other threads are ignored; of two nested blocks the inner is closer to the
    model.
    """
    require_kind("model", model, nn.Module, "be a torch.nn.Module")
    require_kind("names", names, str, 'be a pattern such as "*.weights"')
    require_kind("replace", replace or {}, Mapping, "map names to tensors or functions")
    if any(hasattr(part, "_orig_mod") or part._compiled_call_impl for part in model.modules()):
        raise bad_input("model", "be as it was before torch.compile, whose code calls no hooks", "a compiled one")
    places, changes = list(_places(model)), {}
    known = [name for _, _, name in places]
    for name, change in (replace or {}).items():
        if name not in known:
            raise bad_input("replace", "name what the model computes", f"{name!r}; {_near(name, known)}")
        require_kind(f"replace[{name!r}]", change, (Tensor, Callable), "be a tensor or a function")
        changes[name] = partial(_replaced, name, change)
    kept: dict[str, list[Tensor]] = {}
    watches: dict[nn.Module, _Watch] = defaultdict(lambda: _Watch(kept, changes))
    for module, place, name in places:
        if name in changes or fnmatchcase(name, names):
            watches[module].names[place].append(name)
    with ExitStack() as hooks:
        for module, watch in watches.items():
            hooks.enter_context(module.register_forward_pre_hook(watch.before, with_kwargs=True))
            hooks.enter_context(module.register_forward_hook(watch.after, prepend=True, always_call=True))
        yield Trace(kept)


def _places(model: nn.Module) -> Iterator[tuple[nn.Module, str, str]]:
    """Yield places before ("input"), in ("weights") and after ("output") each module; shared ones have many names."""
    for path, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, torch.jit.ScriptModule):
            continue  # a ScriptModule takes no hooks
        parent, _, child = path.rpartition(".")
        place, name = INSIDE.get(child, ("output", f"{child}.output"))
        if child == "W_2" and len(signature(model.get_submodule(parent).forward).parameters) > 1:
            place, name = "output", "W_2.output"  # additive score of queries and keys, not a feed-forward network
        yield module, place, f"{parent}.{name}".lstrip(".")
        yield module, "weights", f"{path}.weights".lstrip(".")


class _Watch:
    """The hooks before and after one module."""

    def __init__(self, kept: dict[str, list[Tensor]], changes: Mapping[str, Callable[[Tensor], Tensor]]):
        self.kept, self.changes, self.thread = kept, changes, threading.get_ident()
        self.names: dict[str, list[str]] = {"input": [], "weights": [], "output": []}
        self.begun: list[tuple[bool, _Softmax | None]] = []  # calls that have not ended

    def __reduce__(self) -> tuple:
        return _Watch, ({}, {})  # a copied model gets a copy of this object that records nothing

    def before(self, module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        if threading.get_ident() != self.thread:
            return None
        unasked, changes = False, [self.changes[name] for name in self.names["weights"] if name in self.changes]
        with suppress(TypeError):  # arguments that do not fit, which the module itself will report
            bound = signature(module.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            if unasked := bool(self.names["weights"]) and bound.arguments.get("need_weights") is False:
                bound.arguments["need_weights"] = True
                args, kwargs = bound.args, bound.kwargs
        if args and isinstance(args[0], Tensor):
            args = (self.passes("input", args[0]), *args[1:])
        self.begun.append((unasked, _Softmax(changes).__enter__() if changes else None))
        return args, kwargs

    def after(self, module: nn.Module, args: tuple, output: Any) -> Any:
        if threading.get_ident() != self.thread or not self.begun:
            return None
        unasked, softmax = self.begun.pop()
        if softmax:
            softmax.__exit__(None, None, None)
        first, *rest = output if isinstance(output, tuple) and output else (output,)
        if not isinstance(first, Tensor):
            return None  # nothing that has a name, or an exception is being raised
        if softmax and not softmax.used:
            raise bad_input("replace", "change weights that a softmax makes", f"none in a {type(module).__name__}")
        if len(rest) == 1 and isinstance(rest[0], Tensor) and not isinstance(module, nn.RNNBase):  # gives its state
            rest[0] = self.passes("weights", rest[0])
        if unasked and rest:  # a decoder layer has two
            rest[0] = (None,) * len(rest[0]) if isinstance(rest[0], tuple) else None
        first = self.passes("output", first)
        if isinstance(output, Tensor):
            return first
        return type(output)(first, *rest) if hasattr(output, "_fields") else (first, *rest)

    def passes(self, place: str, value: Tensor) -> Tensor:
        """Record `value` or its replacement; return a clone, since the model may write into it."""
        for name in self.names[place]:
            if name in self.changes and place != "weights":
                value = self.changes[name](value)
        for name in self.names[place]:
            self.kept.setdefault(name, []).append(value)
        return value.clone() if self.names[place] else value


class _Softmax(TorchFunctionMode):
    """Mode that changes the output of softmax, the weights of an attention, before it mixes values."""

    def __init__(self, changes: list[Callable[[Tensor], Tensor]]):
        super().__init__()
        self.changes, self.used = changes, False

    def __torch_function__(self, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        found = function(*args, **(kwargs or {}))
        if function in (Tensor.softmax, torch.softmax, F.softmax):
            self.used = True
            for change in self.changes:
                found = change(found)
        return found


def _replaced(name: str, change: Change, value: Tensor) -> Tensor:
    new = change if isinstance(change, Tensor) else change(value.clone())
    if not isinstance(new, Tensor) or (new.shape, new.dtype) != (value.shape, value.dtype):
        came = f"{shape_of(new)} in {new.dtype}" if isinstance(new, Tensor) else shown(new)
        raise bad_input(f"replace[{name!r}]", f"give a tensor of {shape_of(value)} in {value.dtype}", came)
    return new


def _near(name: object, known: Mapping | list) -> str:
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"the nearest name is {near[0]!r}" if near else "print a trace to see the names"
