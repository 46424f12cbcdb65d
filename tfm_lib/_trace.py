"""One pass through a model, traced: what every module computes by a readable name, to look at or to replace.

    with trace(model) as seen:
        logits = model(src_ids, tgt_ids)
    seen["encoder.0.self_attention.weights"]  # (batch, n_heads, n, n)

A name is a module's path and what passes there: the `output` of every module, the `weights` of an attention and, with
all heads side by side, its `queries`, `keys`, `values` and `heads` (what W_O mixes); a feed-forward network's `hidden`.
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
INSIDE = {  # a projection: on which side of it something has a name of its own
    "W_Q": ("output", "queries"), "W_K": ("output", "keys"), "W_V": ("output", "values"),
    "W_O": ("input", "heads"), "W_2": ("input", "hidden"),
}  # fmt: skip


class Trace(Mapping[str, Tensor]):
    """`seen[name]` is the latest value of this name, `seen.calls(name)` all of them: a decoder writes in many calls.

    `print(seen)` lists the names with their shapes, in the order in which they came.
    """

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
        times = {name: f" × {len(values)}" if len(values) > 1 else "" for name, values in self._kept.items()}
        return "\n".join(f"{name}  {tuple(X.shape)}{times[name]}" for name, X in self.items()) or "Nothing has passed."


@contextmanager
def trace(model: nn.Module, names: str = "*", replace: Mapping[str, Change] | None = None) -> Iterator[Trace]:
    """While the block lasts, what passes through `model` is kept, and replaced where you ask for it.

    `names` is a pattern such as "*.weights" for what is kept. `replace` maps a name to a tensor, or to a function from
    the value that came to the one that goes on. Gradients flow through all values. An attention is asked for weights
    where a fused kernel gives none. Calls of other threads are not seen; of two blocks the inner is nearer to the model.
    """
    require_kind("model", model, nn.Module, "be a torch.nn.Module")
    places: dict[nn.Module, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for module, place, name in _names(model):
        places[module][place].append(name)
    known = [name for named in places.values() for all_names in named.values() for name in all_names]
    changes = {}
    for name, change in (replace or {}).items():
        if name not in known:
            raise bad_input("replace", "name what the model computes", f"{name!r}; {_near(name, known)}")
        require_kind(f"replace[{name!r}]", change, (Tensor, Callable), "be a tensor or a function")
        changes[name] = partial(_replaced, name, change)
    kept: dict[str, list[Tensor]] = {}
    with ExitStack() as hooks:
        for module, named in places.items():
            wanted = {
                place: [n for n in all_names if n in changes or fnmatchcase(n, names)]
                for place, all_names in named.items()
            }
            if any(wanted.values()):
                watch = _Watch(kept, wanted, changes)
                hooks.enter_context(module.register_forward_pre_hook(watch.before, with_kwargs=True))
                hooks.enter_context(module.register_forward_hook(watch.after, prepend=True, always_call=True))
        yield Trace(kept)


def _names(model: nn.Module) -> Iterator[tuple[nn.Module, str, str]]:
    """What passes before ("input"), in ("weights") and after ("output") each module; a shared one has many names."""
    for path, module in model.named_modules(remove_duplicate=False):
        parent, _, child = path.rpartition(".")
        place, name = INSIDE.get(child, ("output", f"{child}.output"))
        if child == "W_2" and len(signature(model.get_submodule(parent).forward).parameters) > 1:
            place, name = "output", "W_2.output"  # of queries and keys: a score, no feed-forward network
        yield module, place, f"{parent}.{name}".lstrip(".")
        yield module, "weights", f"{path}.weights".lstrip(".")


class _Watch:
    """The hooks of one module, before and after it."""

    thread: int | None = None  # whose calls are seen; a copy of the model has a copy of this, which sees none

    def __init__(self, kept: dict[str, list[Tensor]], named: dict[str, list[str]], changes: dict[str, Callable]):
        self.kept, self.named, self.changes, self.thread = kept, named, changes, threading.get_ident()
        self.begun: list[tuple[bool, ExitStack]] = []  # calls that have not ended

    def __reduce__(self) -> tuple:
        return object.__new__, (_Watch,)

    def before(self, module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict] | None:
        if threading.get_ident() != self.thread:
            return None
        unasked, inside = False, ExitStack()
        with suppress(TypeError):  # of arguments that do not fit, of which the module itself will tell
            bound = signature(module.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            if unasked := bool(self.named["weights"]) and bound.arguments.get("need_weights") is False:
                bound.arguments["need_weights"] = True
                args, kwargs = bound.args, bound.kwargs
        if args and isinstance(args[0], Tensor):
            args = (self.passes("input", args[0]), *args[1:])
        for name in self.changes.keys() & set(self.named["weights"]):
            inside.enter_context(_Softmax(self.changes[name]))
        self.begun.append((unasked, inside))
        return args, kwargs

    def after(self, module: nn.Module, args: tuple, output: Any) -> Any:
        if threading.get_ident() != self.thread or not self.begun:
            return None
        unasked, inside = self.begun.pop()
        inside.close()
        if isinstance(output, Tensor):
            return self.passes("output", output)
        if not isinstance(output, tuple) or not output or not isinstance(output[0], Tensor):
            return None  # nothing that has a name, or an exception is on its way
        first, *rest = output
        if len(rest) == 1 and isinstance(rest[0], Tensor) and not isinstance(module, nn.RNNBase):  # it gives its state
            rest[0] = self.passes("weights", rest[0])
        parts = [self.passes("output", first), *(map(_nothing_like, rest) if unasked else rest)]
        return type(output)(*parts) if hasattr(output, "_fields") else tuple(parts)

    def passes(self, place: str, value: Tensor) -> Tensor:
        """Keep `value`, or what replaces it; a clone goes on, for the model may write into it."""
        names = self.named.get(place, [])
        for name in names if place != "weights" else []:
            value = self.changes[name](value) if name in self.changes else value
        for name in names:
            self.kept.setdefault(name, []).append(value)
        return value.clone() if names else value


class _Softmax(TorchFunctionMode):
    """A softmax makes the weights of an attention: while this mode lasts, they are changed before they mix values."""

    def __init__(self, change: Callable[[Tensor], Tensor]):
        super().__init__()
        self.change = change

    def __torch_function__(self, function: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        found = function(*args, **(kwargs or {}))
        return self.change(found) if function in (Tensor.softmax, torch.softmax, F.softmax) else found


def _replaced(name: str, change: Change, value: Tensor) -> Tensor:
    new = change if isinstance(change, Tensor) else change(value.clone())
    if not isinstance(new, Tensor) or (new.shape, new.dtype) != (value.shape, value.dtype):
        came = f"{shape_of(new)} in {new.dtype}" if isinstance(new, Tensor) else shown(new)
        raise bad_input(f"replace[{name!r}]", f"give a tensor of {shape_of(value)} in {value.dtype}", came)
    return new


def _near(name: object, known: Mapping | list) -> str:
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"the nearest name is {near[0]!r}" if near else "print a trace to see the names"


def _nothing_like(part: Any) -> Any:
    """None for each tensor: what a call gets that asked for no weights."""
    return None if isinstance(part, Tensor) else tuple(map(_nothing_like, part)) if isinstance(part, tuple) else part
