"""How an answer becomes a verdict that teaches.

A chapter's judges live in `tfm_lib/checks/<stem>.py`. A judge calls the student's function on a few
inputs and states what it expects; the first expectation that fails ends the judging. A mistake that
the judge knows by the value it produces is named; everything else is described by what came and what
was expected. The judge sees only `student`, a namespace with the answer under the name of the exercise, so that the same
judge serves a notebook (the functions themselves) and a grader (a proxy that calls a sandbox).
"""

from __future__ import annotations

import dis
import html
import importlib
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Mistake:
    """A mistake that people make: its `name`, the `value` an answer with it gives, and the `message` for its author."""

    name: str
    value: Any
    message: str


@dataclass(frozen=True)
class Verdict:
    """What a check found. Truth is in `passed`; the rest is for the reader."""

    exercise: str
    status: Literal["passed", "refused", "unsolved"]
    held: tuple[str, ...] = ()
    message: str = ""
    mistake: str | None = None

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        lines = [f"{_MARKS[self.status]} {self.exercise}: {_WORDS[self.status]}"]
        lines += [f"  ✓ {held}" for held in self.held]
        lines += [f"  {'→' if self.status == 'refused' else ' '} {self.message}"] if self.message else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        held = "".join(f"<li>{html.escape(text)}</li>" for text in self.held)
        message = f"<p>{html.escape(self.message)}</p>" if self.message else ""
        return (
            f'<div class="tfm-verdict tfm-{self.status}" role="status">'
            f"<p><strong>{_MARKS[self.status]} {_WORDS[self.status]}</strong> <code>{html.escape(self.exercise)}</code></p>"
            f"{f'<ul>{held}</ul>' if held else ''}{message}</div>"
        )


_MARKS = {"passed": "✓", "refused": "✗", "unsolved": "…"}
_WORDS = {"passed": "That holds.", "refused": "Not yet.", "unsolved": "Yours to write."}


class Refused(Exception):
    """An expectation that did not hold; ends the judging."""

    def __init__(self, message: str, mistake: str | None = None):
        super().__init__(message)
        self.message, self.mistake = message, mistake


class Unsolved(Exception):
    """The answer is still the stub."""


@dataclass
class Expect:
    """States what must hold, in the order in which a beginner should hear it; remembers what did."""

    held: list[str] = field(default_factory=list)

    def true(self, condition: bool, holds: str, otherwise: str, mistake: str | None = None) -> None:
        """`condition` must be true; `holds` says what then holds, `otherwise` what is wrong."""
        if not condition:
            raise Refused(otherwise, mistake)
        self._hold(holds)

    def shape(self, got: Any, want: Sequence[int], holds: str, mistakes: Sequence[Mistake] = ()) -> None:
        """`got` must be a tensor of shape `want`; a mistake's `value` is the shape it leads to."""
        got = _as_tensor(got)
        for mistake in mistakes:
            if tuple(got.shape) == tuple(mistake.value) != tuple(want):
                raise Refused(mistake.message, mistake.name)
        if tuple(got.shape) != tuple(want):
            raise Refused(f"Expected shape {tuple(want)}, got {tuple(got.shape)}.")
        self._hold(holds)

    def close(
        self,
        got: Any,
        want: Any,
        holds: str,
        mistakes: Sequence[Mistake] = (),
        tolerance: float = 1e-5,
        describe: str = "the result",
    ) -> None:
        """`got` must equal `want` (numbers, tensors, nested lists) up to `tolerance`, relative and absolute.

        A mistake is recognised when `got` equals its `value`; a value equal to `want` on this input
        can name nobody and is skipped.
        """
        got, want = _as_tensor(got), _as_tensor(want)
        if _equal(got, want, tolerance):
            self._hold(holds)
            return
        for mistake in mistakes:
            value = _as_tensor(mistake.value)
            if _equal(got, value, tolerance) and not _equal(value, want, tolerance):
                raise Refused(mistake.message, mistake.name)
        if got.shape != want.shape:
            raise Refused(f"Expected {describe} of shape {tuple(want.shape)}, got shape {tuple(got.shape)}.")
        if got.isnan().any() and not want.isnan().any():
            raise Refused(f"There is a NaN in {describe}: {_short(got)}.")
        if (got.dtype == torch.bool) != (want.dtype == torch.bool):
            kinds = ("numbers", "truth values") if got.dtype == torch.bool else ("truth values (bool)", "numbers")
            raise Refused(f"For {describe} expected {kinds[0]}, {_short(want)}, got {kinds[1]}, {_short(got)}.")
        gap = _gap(got, want)
        raise Refused(f"For {describe} expected {_short(want)}, got {_short(got)}; the largest difference is {gap:.3g}.")

    def equal(self, got: Any, want: Any, holds: str, mistakes: Sequence[Mistake] = (), describe: str = "the result") -> None:
        """`got` must equal `want` exactly: words, truth values, tuples; tensors and arrays count as lists."""
        got = _as_plain(got)
        if got == want:
            self._hold(holds)
            return
        for mistake in mistakes:
            if got == mistake.value != want:
                raise Refused(mistake.message, mistake.name)
        raise Refused(f"For {describe} expected {want!r}, got {_clip(repr(got))}.")

    def _hold(self, text: str) -> None:
        if text not in self.held:
            self.held.append(text)


Judge = Callable[[Any, Expect], None]


@dataclass(frozen=True)
class Exercise:
    """One exercise: its `id`, the names of the answers it asks for, its judge, and calls that would answer it too cheaply.

    The calls, such as "torch.tril", are refused where submissions are graded; a notebook does not look for them.
    """

    id: str
    answers: tuple[str, ...]
    judge: Judge
    forbids: tuple[str, ...] = ()


_exercises: dict[str, Exercise] = {}


def exercise(id: str, answer: str | tuple[str, ...], forbids: tuple[str, ...] = ()) -> Callable[[Judge], Judge]:
    """Register the decorated function as judge of exercise `id`; `answer` names what the student writes."""

    def register(judge: Judge) -> Judge:
        _exercises[id] = Exercise(id, (answer,) if isinstance(answer, str) else answer, judge, forbids)
        return judge

    return register


def find(id: str) -> Exercise:
    """The exercise `id` (`"<stem>.<name>"`); raises KeyError with the ids that exist."""
    stem = id.split(".")[0]
    try:
        importlib.import_module(f"tfm_lib.checks.{stem}")
    except ModuleNotFoundError as error:
        if error.name != f"tfm_lib.checks.{stem}":
            raise
    if id not in _exercises:
        known = ", ".join(sorted(name for name in _exercises if name.startswith(f"{stem}."))) or "none in this chapter"
        raise KeyError(f"No exercise is called {id!r}; known: {known}.")
    return _exercises[id]


def check(id: str, *answers: Any) -> Verdict:
    """Judge the answer to exercise `id` and say what holds, what does not, and what it looks like.

    `answers` are what the exercise asks for, usually one function. Never raises for a wrong answer,
    only for an unknown `id` (KeyError) or a wrong number of answers (TypeError).
    """
    found = find(id)
    if len(answers) != len(found.answers):
        raise TypeError(f"{id} asks for {len(found.answers)} answer(s), {', '.join(found.answers)}; got {len(answers)}.")
    if any(answer is None or answer is ... for answer in answers):
        return _unsolved(id)
    student = SimpleNamespace(**{name: _watched(name, answer) for name, answer in zip(found.answers, answers)})
    return judge_student(found, student)


def judge_student(found: Exercise, student: Any, seed: int = 0) -> Verdict:
    """The verdict of `found.judge` on `student`, whose attributes are the answers; `seed` chooses its random inputs."""
    expect = Expect()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            found.judge(student, expect)
        except Refused as refused:
            return Verdict(found.id, "refused", tuple(expect.held), refused.message, refused.mistake)
        except Unsolved:
            return _unsolved(found.id)
        except Exception as error:  # an answer that the judge cannot even take apart, such as one result for two
            stumbled = f"{type(error).__name__}: {_clip(str(error))}"
            message = f"The check cannot read this answer ({stumbled}). Does it give back what the text asks for?"
            return Verdict(found.id, "refused", tuple(expect.held), message)
    return Verdict(found.id, "passed", tuple(expect.held))


def _unsolved(id: str) -> Verdict:
    return Verdict(id, "unsolved", message="The cell above still holds the stub. Replace the ... and run both cells again.")


def _watched(name: str, answer: Any) -> Any:
    """`answer`, if callable: called on copies of its tensors, its exceptions turned into sentences."""
    if not callable(answer):
        return answer

    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple(_copy(arg) for arg in args)
        kwargs = {key: _copy(arg) for key, arg in kwargs.items()}
        try:
            result = answer(*args, **kwargs)
        except (Exception, SystemExit) as error:  # whatever a student's code may raise becomes a sentence
            if type(error) is NotImplementedError and not error.args:  # torch raises it too, but says why
                raise Unsolved from None
            raise Refused(_describe_exception(name, args, error)) from None
        if result is ... or (result is None and _is_stub(answer)):
            raise Unsolved
        if result is None:
            raise Refused(f"{name} returns nothing. Does it end with `return`?", "no return")
        return result

    return call


def _is_stub(answer: Any) -> bool:
    """Whether a function's body is empty but for its docstring and `...`, so that nothing was tried."""
    idle = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return hasattr(answer, "__code__") and {step.opname for step in dis.get_instructions(answer)} <= idle


def _copy(value: Any) -> Any:
    """`value` with its tensors and arrays copied, also inside lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(_copy(item) for item in value)
    if type(value) is dict:
        return {key: _copy(item) for key, item in value.items()}
    return value


def _describe_exception(name: str, args: tuple, error: Exception) -> str:
    inputs = ", ".join(f"a tensor of shape {tuple(a.shape)}" if isinstance(a, Tensor) else _clip(repr(a), 40) for a in args)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in line {frames[1].lineno} of your cell" if len(frames) > 1 else ""
    return f"{name}({inputs}) raised {type(error).__name__}{where}: {_clip(str(error) or 'no message')}"


def _as_tensor(value: Any) -> Tensor:
    """`value` as a tensor: numbers, arrays, nested lists, and lists of tensors."""
    try:
        if isinstance(value, (list, tuple)) and any(isinstance(item, (Tensor, np.ndarray)) for item in value):
            return torch.stack([_as_tensor(item) for item in value])
        return torch.as_tensor(value).detach()
    except (TypeError, ValueError, RuntimeError):
        raise Refused(f"Expected numbers (a tensor, an array or lists), got {_clip(repr(value))}.") from None


def _as_plain(value: Any) -> Any:
    """`value` in types whose equality can be trusted; tensors and arrays as lists."""
    if isinstance(value, Tensor) or type(value) is np.ndarray or isinstance(value, np.generic):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        items = [_as_plain(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if type(value) is dict:
        return {_as_plain(key): _as_plain(item) for key, item in value.items()}
    if type(value) is set:
        return {_as_plain(item) for item in value}
    if type(value) in (bool, int, float, str, type(None)):
        return value
    raise Refused(f"Expected plain values (numbers, words, lists of them), got {_clip(repr(value))}.")


def _equal(a: Tensor, b: Tensor, tolerance: float) -> bool:
    if a.shape != b.shape or (a.dtype == torch.bool) != (b.dtype == torch.bool):
        return False
    a, b = _wide(a, b)
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def _gap(a: Tensor, b: Tensor) -> float:
    """The largest difference; infinite where one is NaN or they are different infinities."""
    a, b = _wide(a, b)
    return (a - b).abs().nan_to_num(torch.inf, posinf=torch.inf).masked_fill(a == b, 0).max().item()


def _wide(*tensors: Tensor) -> list[Tensor]:
    """The tensors in one type that holds them all."""
    dtype = torch.complex128 if any(tensor.is_complex() for tensor in tensors) else torch.double
    return [tensor.to("cpu", dtype) for tensor in tensors]


def _short(value: Tensor) -> str:
    if value.numel() > 12:
        return f"a tensor of shape {tuple(value.shape)} that begins {_short(value.flatten()[:4])}"
    return str(_rounded(value.tolist()))


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value


def _clip(text: str, limit: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
