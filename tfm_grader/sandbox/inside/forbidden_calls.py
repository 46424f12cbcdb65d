"""Blocks the calls that an exercise forbids.

What is held: torch's operators of a forbidden name, at the place where every way to them ends. `x.tril()`, `x.tril_()`,
`torch.tril(x, out=y)`, `torch.ops.aten.tril`, a scripted function, a thread and torch's own functions that use it all
arrive at the same kernel, and there it raises. Beside the kernel of that name go those that differ from it by an
underscore, and a few that do the same under other names (`TWINS`). Functions that are Python and no operator, classes
of `torch.nn`, functions of numpy with the same name, and functions of the book are replaced where they stand.

What is not held: the same result by another computation, which is what most exercises ask for; a third library's
function; a method of numpy's arrays; torch's reference implementations in `torch._refs`. And it is a house rule, not a
wall: the process is the student's, and whoever digs in its memory can put back what was taken away.

While a notebook loads, all is taken away that one of its exercises forbids; while an exercise is tried, what that one does.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

TWINS = {
    "tril": ("tril_indices", "tril_indices_from", "tri", "mask_indices"),
    "triu": ("triu_indices", "triu_indices_from", "tri", "mask_indices"),
    "scaled_dot_product_attention": (
        "_scaled_dot_product_attention_math",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_efficient_attention",
    ),
    "cross_entropy": ("cross_entropy_loss",),
    "layer_norm": ("native_layer_norm",),
    "multi_head_attention_forward": ("_native_multi_head_attention",),
}
BACKENDS = (
    *("CPU", "SparseCPU", "SparseCsrCPU", "MkldnnCPU", "QuantizedCPU", "NestedTensorCPU", "Meta"),
    *(
        "CompositeImplicitAutograd",
        "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional",
        "BackendSelect",
    ),
)
_closed: dict[str, Any] = {}  # by call, the torch library that keeps its operators closed
_active: set[str] = set()  # the calls that raise now
met: set[str] = set()  # those that somebody tried


def forbid(calls: list[str]) -> None:
    """Replace what these dotted names call; those of the book are replaced when their module is loaded."""
    for call in calls:
        word = call.rpartition(".")[2]
        words = {word, *TWINS.get(word.strip("_"), ())}
        if call.startswith("torch."):
            _replace(call)
            for name in words & set(dir(sys.modules["numpy"])):
                _put(sys.modules["numpy"], name, call, inner="numpy")


def activate(calls: list[str]) -> None:
    """From now on these calls raise, and no others."""
    _active.clear()
    _active.update(calls)
    for call in [call for call in _closed if call not in _active]:
        _closed.pop(call)._destroy()
    for call in calls:
        if call.startswith("torch.") and call not in _closed:
            word = call.rpartition(".")[2]
            _closed[call] = _close_operators({word, *TWINS.get(word.strip("_"), ())}, call)


def forbid_in(module: ModuleType, calls: list[str]) -> None:
    """Replace what `calls` name in a module of the book, which goes on to use it itself."""
    for call in calls:
        owner, _, name = call.rpartition(".")
        if owner == module.__name__ and hasattr(module, name):
            _put(module, name, call, inner=module.__name__.partition(".")[0])


def _refusal(call: str, original: Any = None, inner: str = "") -> Callable[..., Any]:
    """A function that raises while `call` is taken away, but for callers in the package `inner`."""

    def refused(*args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if original is not None and (call not in _active or (inner and caller.partition(".")[0] == inner)):
            return original(*args, **kwargs)
        met.add(call)
        raise RuntimeError(f"{call} is not allowed in this exercise")

    return refused


def _put(owner: Any, name: str, call: str, inner: str = "") -> None:
    found = getattr(owner, name)
    if isinstance(found, type):
        found.__init__ = _refusal(call, found.__init__)  # type: ignore[misc]  # whoever holds the class, or makes one like it, meets this
    else:
        setattr(owner, name, _refusal(call, found, inner))


def _replace(call: str) -> None:
    """Replace the function, method or class that `call` names, and the same function in torch's other modules."""
    parts = call.split(".")
    owner: Any = sys.modules.get(parts[0])
    for part in parts[1:-1]:
        owner = getattr(owner, part, None)
    found = getattr(owner, parts[-1], None)
    if found is None:
        return
    _put(owner, parts[-1], call)
    if isinstance(found, type):
        return
    for module in [module for key, module in sys.modules.items() if key.partition(".")[0] == "torch"]:
        held = getattr(module, "__dict__", {})
        for key in [key for key, value in held.items() if value is found]:
            held[key] = getattr(owner, parts[-1])


def _close_operators(words: set[str], call: str) -> Any:
    """Put a kernel that raises in the place of every kernel of torch's operators of these names, as long as the library
    that comes back is held.
    """
    import torch

    bases = {form for word in words for form in (word, f"{word.strip('_')}", f"{word}_", f"_{word}", f"special_{word}")}
    library = torch.library.Library("aten", "IMPL")
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for full in torch._C._dispatch_get_all_op_names():
            space, _, name = full.partition("::")
            if space == "aten" and name.partition(".")[0] in bases:
                for backend in BACKENDS:
                    if has(full, backend):
                        library.impl(name, _refusal(call), backend, allow_override=True)
    return library
