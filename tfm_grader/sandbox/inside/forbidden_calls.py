"""Block the calls that an exercise forbids.

Blocked: torch's operators of a forbidden name, at the dispatcher, where every route to them ends. `x.tril()`,
`x.tril_()`, `torch.tril(x, out=y)`, `torch.ops.aten.tril`, a scripted function, a thread and torch's own functions
that use it all reach the same kernel, and there it raises. Kernels whose names differ by an underscore are blocked
too, and a few equivalents under other names (`TWINS`). Python functions that are not operators, classes of
`torch.nn`, numpy functions of the same name in any of its modules, torch's implementations in Python (`PYTHON`), and
functions of the book are replaced in place.

Not blocked: the same result by another computation, which is what most exercises ask for; functions of third-party
libraries; methods of numpy arrays; a numpy function that another of numpy's functions calls. This is a rule, not a
security boundary: the process is the student's, and code that inspects its memory can restore what was replaced.

While a notebook loads, the calls forbidden by any of its exercises are blocked; during an exercise, only its own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from types import FrameType, ModuleType
from typing import Any

TWINS = {
    "tril": ("tril_indices", "tril_indices_from", "tri", "mask_indices"),
    "softmax": ("_masked_softmax", "_sparse_softmax"),
    "log_softmax": ("_sparse_log_softmax",),
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
PYTHON = ("torch._refs", "torch._decomp", "torch._prims")  # packages with operators written in Python
_closed: dict[str, Any] = {}  # by call, the torch library that blocks its operators
_active: set[str] = set()  # the calls that raise now
met: set[str] = set()  # the forbidden calls that were attempted


def forbid(calls: list[str]) -> None:
    """Replace the functions with these dotted names; those of the book are replaced when their module loads."""
    for call in calls:
        word = call.rpartition(".")[2]
        words = {word, *TWINS.get(word.strip("_"), ())}
        if call.startswith("torch."):
            _replace(call)
            for module in _loaded("numpy"):
                _put_all(vars(module), words, call, inner="numpy")
            for module in [each for package in PYTHON for each in _loaded(package)]:
                _put_all(vars(module), words, call)
            for table in _decompositions():
                _put_all(
                    table,
                    {key for key in table if str(key).split(".")[1:2] in [[form] for form in _forms(words)]},
                    call,
                )


def activate(calls: list[str]) -> None:
    """Make exactly these calls raise from now on."""
    _active.clear()
    _active.update(calls)
    for call in [call for call in _closed if call not in _active]:
        _closed.pop(call)._destroy()
    for call in calls:
        if call.startswith("torch.") and call not in _closed:
            word = call.rpartition(".")[2]
            _closed[call] = _close_operators({word, *TWINS.get(word.strip("_"), ())}, call)


def forbid_in(module: ModuleType, calls: list[str]) -> None:
    """Replace what `calls` name in a module of the book; the module's own code can still use it."""
    for call in calls:
        owner, _, name = call.rpartition(".")
        if owner == module.__name__ and hasattr(module, name):
            _put(module, name, call, inner=module.__name__.partition(".")[0])


def _refusal(call: str, original: Any = None, inner: str = "") -> Callable[..., Any]:
    """Make a function that raises while `call` is blocked, except for callers in the package `inner`."""

    def refused(*args: Any, **kwargs: Any) -> Any:
        if original is not None and (call not in _active or (inner and _caller().partition(".")[0] == inner)):
            return original(*args, **kwargs)
        met.add(call)
        raise RuntimeError(f"{call} is not allowed in this exercise")

    return refused


def _caller() -> str:
    """Return the name of the module that calls a replaced function, beyond other replacements of it; "" if it only says so."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals is globals():
        frame = frame.f_back
    name = frame.f_globals.get("__name__", "") if frame is not None else ""
    known = frame is not None and frame.f_globals is getattr(sys.modules.get(name), "__dict__", None)
    return name if known else ""


def _loaded(package: str) -> list[ModuleType]:
    """Return the modules of `package` that are imported."""
    return [
        module
        for name, module in sys.modules.items()
        if f"{name}.".startswith(f"{package}.") and hasattr(module, "__dict__")
    ]


def _decompositions() -> list[dict[Any, Any]]:
    """Return torch's tables of operators written in Python."""
    tables = getattr(sys.modules.get("torch._decomp"), "global_decomposition_table", {})
    return [*tables.values()]


def _put_all(owner: dict[Any, Any], names: Iterable[Any], call: str, inner: str = "") -> None:
    """Replace the functions that `owner` holds under `names`."""
    for name in [name for name in names if callable(owner.get(name)) and not isinstance(owner[name], type)]:
        owner[name] = _refusal(call, owner[name], inner)


def _put(owner: Any, name: str, call: str, inner: str = "") -> None:
    found = getattr(owner, name)
    if isinstance(found, type):
        found.__init__ = _refusal(call, found.__init__)  # type: ignore[misc]  # whoever holds the class, or makes one like it, meets this
    else:
        setattr(owner, name, _refusal(call, found, inner))


def _replace(call: str) -> None:
    """Replace the function, method or class named by `call`, and its aliases in torch's other modules."""
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


def _forms(words: Iterable[str]) -> set[str]:
    """Return the names under which torch has operators for `words`."""
    return {form for word in words for form in (word, f"{word.strip('_')}", f"{word}_", f"_{word}", f"special_{word}")}


def _close_operators(words: set[str], call: str) -> Any:
    """Override every kernel of torch's operators of these names with one that raises.

    The overrides last as long as the returned library exists.
    """
    import torch

    bases = _forms(words)
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
