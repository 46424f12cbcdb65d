"""How an answer is called in a notebook: on copies, watched for what it changes, stopped when it does not end."""

from __future__ import annotations

import ast
import dis
import inspect
import os
import signal
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, allclose, nn

from tfm_exercises.errors import clip, told

PATIENCE = 5  # seconds that a call of an answer may take
CHANGES_INPUT = "changes its input"
LOOPS = {
    "FOR_ITER",
    "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
    "POP_JUMP_BACKWARD_IF_TRUE",
    "POP_JUMP_BACKWARD_IF_FALSE",
}
AUTOGRAD = {"autograd", "backward", "grad", "hessian", "jacobian", "jacfwd", "jacrev", "jvp", "vjp"}


class Refused(Exception):
    """An expectation that did not hold; ends the judging."""

    def __init__(self, message: str, mistake: str | None = None):
        super().__init__(message)
        self.message, self.mistake = message, mistake


class Unsolved(Exception):
    """The answer is still the stub."""


class Endless(BaseException):
    """The answer did not end in time. No `except Exception` of the answer's may catch it."""


# ── calling ───────────────────────────────────────────────────────────────


def watched(name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
    """`answer`, called on copies, its exceptions turned into sentences; `changed` of what comes back is the sentence
    for an answer that wrote into what it was given, empty so far.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        before = [_state(arg) for arg in given]
        args, kwargs = copied(args), {key: copied(arg) for key, arg in kwargs.items()}
        try:
            result = within(PATIENCE, lambda: answer(*args, **kwargs))
        except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever an answer may raise becomes a sentence)
            if type(error) is NotImplementedError and not error.args:  # torch raises it too, but says why
                raise Unsolved from None
            raise Refused(*told(name, answer, args, kwargs, error, __file__)) from None
        if result is ... or (result is None and is_stub(answer)):
            raise Unsolved
        if result is None and _is_idle(answer):
            useless = f"{name} returns None whatever it is given, which is nothing useful. Put what it computes behind `return`."
            raise Refused(useless, "no return")
        if result is None:
            raise Refused(f"{name} returns nothing. Does it end with `return`?", "no return")
        for place, (old, new) in enumerate(zip(before, [*args, *kwargs.values()])):
            if not _same(old, _state(new)):
                watching.changed = changed_input(name, place)
        return result

    watching: Any = call
    watching.__name__, watching.changed = name, ""
    return watching


def changed_input(name: str, place: int) -> str:
    """The sentence for an answer that writes into its argument number `place`."""
    which = ("first", "second", "third", "fourth", "fifth", "sixth")[place] if place < 6 else f"{place + 1}th"
    return (
        f"{name} changes what it was given: after the call its {which} argument holds something else. Whoever called it "
        "may still need the old values. Make new ones: x + y in place of x += y, `masked_fill` in place of `masked_fill_`, "
        "`clone()` before you write into a slice."
    )


def copied(value: Any) -> Any:
    """`value` with its tensors and arrays copied, also inside lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(copied(item) for item in value)
    if type(value) is dict:
        return {key: copied(item) for key, item in value.items()}
    return value


def _state(value: Any) -> Any:
    """What `value` holds and an answer could change; the parameters of a module. None for what is not looked at."""
    if isinstance(value, nn.Module):
        return {key: item.detach().clone() for key, item in value.state_dict().items()}
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, (np.ndarray, list, dict)):
        return copied(value)
    return tuple(_state(item) for item in value) if type(value) is tuple else None


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor):
        same = isinstance(b, Tensor) and a.shape == b.shape and a.dtype == b.dtype
        return same and allclose(a, b, rtol=0, atol=0, equal_nan=True)
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and a.shape == b.shape
            and bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
        )
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return type(a) is type(b) and a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return type(a) is type(b) and (a is b or a == b or a != a)  # noqa: PLR0124 (NaN)


def call_text(name: str, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> str:
    """The call in words that fit a line: small inputs with their numbers, large ones by their shapes."""
    shown = [*map(_shown, args), *(f"{key}={_shown(arg)}" for key, arg in (kwargs or {}).items())]
    return f"{name}({clip(', '.join(shown), 240)})"


def _shown(value: Any) -> str:
    if isinstance(value, (Tensor, np.ndarray)):
        tensor = torch.as_tensor(value).detach()
        if tensor.numel() > 6:
            return f"a tensor of shape {tuple(tensor.shape)}"
        rounded = [round(x, 3) if isinstance(x, float) else x for x in tensor.flatten().tolist()]
        return str(
            torch.as_tensor(rounded).view(tensor.shape).tolist()
            if tensor.dim() > 1
            else rounded
            if tensor.dim()
            else rounded[0]
        )
    if isinstance(value, nn.Module) or callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, dict) and any(isinstance(each, Tensor) for each in value.values()):
        first = ", ".join(f"{key!r}: {_shown(each)}" for key, each in [*value.items()][:2])
        return f"{{{first}{f', and {len(value) - 2} more' if len(value) > 2 else ''}}}"
    return clip(repr(value), 60)


def is_stub(answer: Any) -> bool:
    """Whether a function's body is empty but for its docstring, `...` and `pass`, so that nothing was tried."""
    return _is_idle(answer) and not _says_return(answer)


def _is_idle(answer: Any) -> bool:
    """Whether a function does nothing but return a constant."""
    idle = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return hasattr(answer, "__code__") and {step.opname for step in dis.get_instructions(answer)} <= idle


def _says_return(answer: Any) -> bool:
    """Whether a function's source has a `return`, which its code does not tell from a body of `pass`; False without source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(answer)))
    except (OSError, TypeError, SyntaxError):
        return False
    name = answer.__code__.co_name
    defined = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name), None)
    return defined is not None and any(isinstance(node, ast.Return) for node in ast.walk(defined))


# ── ending ────────────────────────────────────────────────────────────────


def within(seconds: float, work: Callable[[], Any]) -> Any:
    """What `work` returns; raises Endless once it has gone on for `seconds` (on a busy machine for longer).

    A signal ends it, in the main thread of a system that has such signals. Elsewhere a thread is waited for,
    which nothing can end.
    """
    if can_interrupt():
        return _interrupted(seconds, work)
    came: list[Any] = []

    def run() -> None:
        try:
            came.append((work(), None))
        except BaseException as error:  # noqa: BLE001 (raised again where it is waited for)
            came.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(2 * seconds)
    if not came:
        raise Endless(f"{_no_end(2 * seconds)} It still runs, and cannot be stopped from here: restart the kernel.")
    result, error = came[0]
    if error is not None:
        raise error
    return result


def can_interrupt() -> bool:
    """Whether a signal can end what runs here: in the main thread of a system that has such signals."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def _interrupted(seconds: float, work: Callable[[], Any]) -> Any:
    began, used, held_up = time.monotonic(), time.process_time(), _held_up()

    def ring(*_: Any) -> None:
        passed = time.monotonic() - began
        its_own = passed - (_held_up() - held_up)  # what is left was slept through, or waited for a thread
        if time.process_time() - used < 0.8 * seconds and its_own < 2 * seconds:  # others have the processor
            signal.setitimer(signal.ITIMER_REAL, seconds / 2)
        else:
            raise Endless(_no_end(passed))

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _held_up() -> float:
    """Seconds for which this thread was ready to run and others had the processor; 0 where the system does not tell."""
    try:
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)  # asked twice a call: nothing slower will do
        try:
            return int(os.read(file, 64).split()[1]) / 1e9
        finally:
            os.close(file)
    except (OSError, IndexError, ValueError):
        return 0.0


def _no_end(seconds: float) -> str:
    return (
        f"The answer was still running after {seconds:.0f} seconds, which is far more than this exercise needs. Either a loop "
        "never ends, or it tries many more cases than it has to."
    )


# ── looking at the code ───────────────────────────────────────────────────


def forbidden_call(answers: Sequence[Any], forbids: Sequence[str]) -> str:
    """A sentence about what the answers' code uses although the text forbids it; empty if nothing."""
    names, named_here, loops = set(), set(), False
    for answer in answers:
        own = _own_names(answer)  # a helper may be called what a library calls something else
        for code in _codes(answer):
            names.update(_names_used(code, own))
            named_here.update(code.co_names)
            loops = loops or any(step.opname in LOOPS for step in dis.get_instructions(code))
    for forbidden in forbids:
        word = forbidden.rpartition(".")[2]
        if forbidden == "loop" and loops:
            return "Right, but with a loop, which the text asks you to do without: let one operation on whole tensors take its place."
        if forbidden == "autograd" and names & AUTOGRAD:
            return "Right, but PyTorch did the differentiating. The text asks for the derivative itself."
        of_the_notebook = "." not in forbidden  # a function that the chapter defines by hand, not a library's
        if forbidden not in ("loop", "autograd") and word in (named_here if of_the_notebook else names):
            return f"Right, but with `{word}`, which this exercise forbids. What does it do inside? Write that."
    return ""


def unused_call(answers: Sequence[Any], uses: Sequence[str]) -> str:
    """A sentence if the answers' code calls nothing of `uses` although the text asks for it; empty if it does, if nothing
    is asked for, or if there is no code to look at.
    """
    names: set[str] = set()
    for answer in answers:
        beside = getattr(getattr(answer, "__func__", answer), "__globals__", {})
        for code in _codes(answer):
            names.update(code.co_names)
            names.update(
                getattr(beside.get(name), "__name__", name) for name in code.co_names
            )  # `as` gives other names
    if not uses or not names or names & set(uses):
        return ""
    return f"Right, but without `{uses[0]}`, which the text asks you to use. The point is that it can do this: how?"


def _names_used(code: CodeType, own: set[str]) -> Iterator[str]:
    """The names that `code` looks up: of a library's module or tensor all, `F.layer_norm`; by themselves those not its `own`."""
    before = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
            loaded = before and before.argval
            if isinstance(loaded, tuple):  # since Python 3.13 one instruction may load two variables
                loaded = loaded[-1]
            if loaded != "self":
                yield step.argval
        elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval not in own:
            yield step.argval
        before = step


def _own_names(answer: Any) -> set[str]:
    """The names of the functions and classes that stand beside `answer` in the same notebook."""
    function = getattr(answer, "__func__", answer)
    beside = getattr(function, "__globals__", {}).items()
    return {
        name for name, it in beside if isinstance(it, (FunctionType, type)) and it.__module__ == function.__module__
    }


def _codes(answer: Any, home: str | None = None, seen: set[int] | None = None) -> Iterator[CodeType]:
    """The code of a function or class, of what it defines inside, and of its helpers in the same notebook.

    `home` is the notebook's module. Decorators put functions of other modules into a class and around a function
    (`dataclass`, `contextmanager`, `torch.no_grad`); what a library wrote is not the answer's.
    """
    home = home or getattr(answer, "__module__", None)
    seen = set() if seen is None else seen
    if id(answer) in seen:
        return
    seen.add(id(answer))
    if isinstance(answer, type):
        for member in vars(answer).values():
            yield from _codes(member, home, seen)
    if (inner := getattr(answer, "__wrapped__", None)) is not None:
        yield from _codes(inner, home, seen)
    function = getattr(answer, "__func__", answer)
    if not isinstance(function, FunctionType) or function.__globals__.get("__name__") != home:
        return
    stack = [function.__code__]
    while stack:
        code = stack.pop()
        yield code
        stack += [const for const in code.co_consts if isinstance(const, CodeType)]
        for name in code.co_names:
            helper = function.__globals__.get(name)
            if getattr(helper, "__module__", None) == home:
                yield from _codes(helper, home, seen)
