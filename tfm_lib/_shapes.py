"""Check arguments against a function's annotations at each call, and report a misfit in a sentence.

    @checked
    def dot_score(Q: Float[Tensor, "*batch n d_k"], K: Float[Tensor, "*batch m d_k"]) -> ...

    dot_score(torch.ones(2, 3), torch.ones(4, 5))
    # ValueError: K must have shape (..., m, d_k) with d_k = 3, as in Q; got shape (4, 5).

An axis has one size in all arguments of a call; in a method, the size of the attribute of its name (`self.d_model`).
Floats must share a dtype and tensors a device, in a module those of its weights. Vectors must not be empty, and
queries need a key. A mask is compared where the call knows all of its axes.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, isclass, isfunction, signature
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin

import torch
from jaxtyping import AbstractArray
from torch import Tensor, nn

from tfm_lib._errors import bad_input, require_device, require_dtype, require_tensor, shape_of, shown, with_article

What = TypeVar("What", bound=Callable)
VALUES = {int, float, object, Parameter.empty}  # other helpers check these
MUST = {bool: "be True or False", str: "be a string", Tensor: "be a torch tensor"}
COUNTS = ("no axis", "one axis", "two axes", "three axes", "four axes")


def checked(what: What) -> What:
    """Return `what`, a function or a class with its public methods, wrapped to check arguments before it runs."""
    if not isclass(what):
        return _checked(what)
    for name, method in list(vars(what).items()):
        if isfunction(method) and (name in ("__init__", "__call__") or not name.startswith("_")):
            setattr(what, name, _checked(method))
    return what


def _checked(function: Any) -> Any:
    ours = _Signature(function)
    fitted: set[tuple] = set()  # kinds of calls that passed and are not checked again

    @wraps(function)
    def looks_first(*args: Any, **kwargs: Any) -> Any:
        own = vars(args[0]) if ours.in_a_module else {}
        weight = _weight(args[0]) if "_parameters" in own else None
        if torch.compiler.is_compiling() or ours.tuples:
            ours.look(args, kwargs, own, weight)
            return function(*args, **kwargs)
        key = (*map(own.get, ours.axes), weight is None or (weight.dtype, weight.device), *map(_kind, args))
        if kwargs:
            key = (*key, tuple(kwargs), *map(_kind, kwargs.values()))
        if key not in fitted and ours.look(args, kwargs, own, weight):
            if len(fitted) > 1000:
                fitted.clear()
            fitted.add(key)
        return function(*args, **kwargs)

    return looks_first if ours.looks else function


class _Signature:
    """The checks that a function's annotations define; fields of a NamedTuple are checked like arguments."""

    def __init__(self, function: Callable):
        parameters = [p for p in signature(function).parameters.values() if p.kind is not Parameter.VAR_POSITIONAL]
        self.names = [p.name for p in parameters]
        annotations = {p.name: p.annotation for p in parameters}
        self.tuples = {p.name: p.annotation for p in parameters if hasattr(p.annotation, "_fields")}
        for name, kind in self.tuples.items():
            annotations |= {f"{name}.{field}": kind.__annotations__[field] for field in kind._fields}
        self.looks = {name: look for name, annotation in annotations.items() if (look := _way(annotation))}
        self.axes = sorted({axis for look in self.looks.values() for axis in look.axes})
        self.in_a_module = self.names[:1] == ["self"] and any(isinstance(look, _Shape) for look in self.looks.values())

    def look(self, args: tuple, kwargs: dict, own: dict, weight: Tensor | None) -> bool:
        """Check all arguments, given a module's `own` sizes and `weight`; return whether equal calls can skip it."""
        given = {**dict(zip(self.names, args)), **kwargs}
        for name, kind in self.tuples.items():
            if isinstance(given.get(name), kind):
                given |= {f"{name}.{field}": value for field, value in given[name]._asdict().items()}
        sizes = {axis: int(axis) if axis.isdigit() else own.get(axis) for axis in self.axes}
        call = _Call({axis: (size, "the weights") for axis, size in sizes.items() if isinstance(size, int)})
        if weight is not None:
            call.float = call.place = weight, "the weights"
        for name, look in self.looks.items():
            if name in given:
                look.at(name, given[name], call)
        return call.is_strict and not torch.jit.is_tracing()


class _Call:
    """Facts collected in a call: sizes of axes and their source; the dtype and device that others must share."""

    def __init__(self, sizes: dict[str, tuple[Any, str]]):
        self.sizes, self.is_strict = sizes, True
        self.float: tuple[Tensor, str] | None = None
        self.place: tuple[Tensor, str] | None = None


def _kind(value: object) -> object:
    """Return everything that a check depends on."""
    if isinstance(value, Tensor):
        return value.shape, value.dtype, value.device
    return value if isinstance(value, str) else type(value)


def _weight(module: nn.Module) -> Tensor | None:
    """Return the first weight of a module; `module.parameters()` takes ten times as long."""
    for weight in module._parameters.values():
        if weight is not None:
            return weight
    for part in module._modules.values():
        if part is not None and (found := _weight(part)) is not None:
            return found
    return None


# checks of one argument


def _way(annotation: Any) -> "_Look | _Shape | None":
    """Return the check for an argument with this annotation; None if it is not checked."""
    choices = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    kinds = tuple(kind for kind in choices if kind is not type(None))
    optional, kind = len(kinds) < len(choices), kinds[0]
    if isclass(kind) and issubclass(kind, AbstractArray):
        return _Shape(kind, optional)
    if get_origin(kind) is Literal:
        words = get_args(kind)
        must = f"be {_either(words)}"
        return _Look(lambda value: isinstance(value, str) and value in words, must, ValueError, optional)
    if Callable in (kind, get_origin(kind)):
        return _Look(callable, "be a function", TypeError, optional)
    if not all(isclass(kind) and get_origin(kind) is None and kind not in VALUES for kind in kinds):
        return None
    fields = f"({', '.join(kind._fields)})" if hasattr(kind, "_fields") else ""
    must = MUST.get(kind) or f"be {' or '.join(with_article(kind.__name__) for kind in kinds)}{fields}"
    return _Look(lambda value: isinstance(value, kinds), must, TypeError, optional)


class _Look:
    """Check that an argument `fits`, else report that it `must`."""

    axes: tuple[str, ...] = ()

    def __init__(self, fits: Callable[[Any], bool], must: str, error: type[Exception], optional: bool):
        self.fits, self.must, self.error, self.optional = fits, must, error, optional

    def at(self, name: str, value: Any, call: _Call) -> None:
        if not (self.fits(value) or (value is None and self.optional)):
            raise bad_input(name, self.must, shown(value), self.error)


class _Shape:
    """Check a tensor argument against its annotation, such as `Float[Tensor, "*batch n d_k"]`."""

    def __init__(self, annotation: type[AbstractArray], optional: bool):
        self.is_mask, self.optional = "#" in annotation.dim_str, optional
        numbers = annotation.dtype.__name__
        self.numbers = "Mask" if self.is_mask and numbers == "Bool" else numbers
        words = annotation.dim_str.split()
        self.leading = words.pop(0).strip("*#") if words and words[0][0] in "*." else None
        self.last = [(word.lstrip("#"), word.startswith("#")) for word in words]  # axes, and whether they may be 1
        self.axes = {axis for axis, _ in self.last}
        written = (*([] if self.leading is None else ["..."]), *(axis for axis, _ in self.last))
        self.text = f"({', '.join(written)}{',' if len(written) == 1 else ''})"

    def at(self, name: str, X: Any, call: _Call) -> None:
        if X is None and self.optional:
            return
        require_tensor(name, X, self.numbers)
        if self.is_mask:
            self._broadcasts(name, X, call.sizes)
        else:
            self._has_shape(name, X, call.sizes)
        call.place = call.place or (X, name)
        require_device(name, X, *call.place)
        if self.numbers == "Float":
            call.float = call.float or (X, name)
            require_dtype(name, X, *call.float)
            call.is_strict &= X.dtype == call.float[0].dtype  # under autocast they may differ

    def _has_shape(self, name: str, X: Tensor, sizes: dict) -> None:
        shape, start = X.shape, X.dim() - len(self.last)
        if start < 0 or (start > 0 and self.leading is None):
            count = f"{'' if self.leading is None else 'at least '}{COUNTS[len(self.last)]}"
            known = [axis for axis, _ in self.last if axis in sizes]
            raise bad_input(name, f"have {count}, {self.text}{_with(known, sizes)}", shape_of(X))
        for (axis, _), size in zip(self.last, shape[start:]):
            if axis != "_" and sizes.setdefault(axis, (size, name))[0] != size:
                others = [
                    axis for (axis, _), size in zip(self.last, shape[start:]) if sizes.get(axis, (size,))[0] != size
                ]
                raise bad_input(name, f"have shape {self.text}{_with(others, sizes)}", shape_of(X))
            if size == 0 and self.numbers == "Float" and (axis == "m" or axis[0] == "d"):
                raise bad_input(name, f"have shape {self.text} with {axis} at least 1", shape_of(X))
        if self.leading and sizes.setdefault(self.leading, (shape[:start], name))[0] != shape[:start]:
            leading, of = sizes[self.leading]
            raise bad_input(name, f"have the leading axes of {of}, {tuple(map(int, leading))}", shape_of(X))

    def _broadcasts(self, name: str, X: Tensor, sizes: dict) -> None:
        """Every axis must equal that of the scores, or be 1 where allowed; the batch axes may be omitted."""
        if not all(axis in sizes for axis in (self.leading, *self.axes) if axis is not None):
            return
        batch = () if self.leading is None else sizes[self.leading][0]
        whole = [(size, True) for size in (batch if isinstance(batch, tuple) else (batch,))]
        whole += [(sizes[axis][0], can_be_one) for axis, can_be_one in self.last]
        pairs = zip(reversed(X.shape), reversed(whole))
        fits = all(size == wanted or (can_be_one and size == 1) for size, (wanted, can_be_one) in pairs)
        if not fits or not len(self.last) <= X.dim() <= len(whole):
            scores = tuple(int(size) for size, _ in whole)
            must = f"broadcast to the scores' shape {scores}, as a causal (n, n) or a padding (batch, 1, m) mask does"
            raise bad_input(name, must, shape_of(X))


def _with(axes: list[str], sizes: dict) -> str:
    """Describe the sizes of these axes, and the arguments that define them."""
    told: dict[str, list[str]] = {}
    for axis in axes:
        if not axis.isdigit():
            size, of = sizes[axis]
            told.setdefault(of, []).append(f"{axis} = {int(size)}")
    facts = [f"{' and '.join(sizes_of)}, as in {of}" for of, sizes_of in told.items()]
    return f" with {', and '.join(facts)}" if facts else ""


def _either(words: tuple[str, ...]) -> str:
    *others, last = [f'"{word}"' for word in words]
    return f"{', '.join(others)} or {last}" if others else last
