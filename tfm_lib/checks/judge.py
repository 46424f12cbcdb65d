"""How an answer becomes a verdict that teaches.

A chapter's judges live in `tfm_lib/checks/<stem>.py`. A judge calls the student's function on a few
inputs and states what it expects; the first expectation that fails ends the judging. A mistake that
the judge knows by the value it produces is named; everything else is described by what came and what
was expected. The judge sees only `student`, a namespace with the answer under the name of the exercise, so that the same
judge serves a notebook (the functions themselves) and a grader (a proxy that calls a sandbox).
"""

from __future__ import annotations

import html
import importlib
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

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
        gap = (got.double() - want.double()).abs().nan_to_num(torch.inf).max().item()
        raise Refused(f"For {describe} expected {_short(want)}, got {_short(got)}; the largest difference is {gap:.3g}.")

    def equal(self, got: Any, want: Any, holds: str, mistakes: Sequence[Mistake] = (), describe: str = "the result") -> None:
        """`got` must equal `want` exactly: words, truth values, tuples."""
        if type(got) in _PLAIN and got == want:
            self._hold(holds)
            return
        for mistake in mistakes:
            if type(got) in _PLAIN and got == mistake.value != want:
                raise Refused(mistake.message, mistake.name)
        raise Refused(f"For {describe} expected {want!r}, got {_clip(repr(got))}.")

    def _hold(self, text: str) -> None:
        if text not in self.held:
            self.held.append(text)


_PLAIN = (bool, int, float, str, tuple, list, dict, set, type(None))

Judge = Callable[[Any, Expect], None]


@dataclass(frozen=True)
class Exercise:
    """One exercise: its `id`, the names of the answers it asks for, and its judge."""

    id: str
    answers: tuple[str, ...]
    judge: Judge


_exercises: dict[str, Exercise] = {}


def exercise(id: str, answer: str | tuple[str, ...]) -> Callable[[Judge], Judge]:
    """Register the decorated function as judge of exercise `id`; `answer` names what the student writes."""

    def register(judge: Judge) -> Judge:
        _exercises[id] = Exercise(id, (answer,) if isinstance(answer, str) else answer, judge)
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


def judge_student(found: Exercise, student: Any) -> Verdict:
    """The verdict of `found.judge` on `student`, whose attributes are the answers."""
    expect = Expect()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        try:
            found.judge(student, expect)
        except Refused as refused:
            return Verdict(found.id, "refused", tuple(expect.held), refused.message, refused.mistake)
        except Unsolved:
            return _unsolved(found.id)
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
        except NotImplementedError:
            raise Unsolved from None
        except Exception as error:  # whatever a student's code may raise becomes a sentence
            raise Refused(_describe_exception(name, args, error)) from None
        if result is None or result is ...:
            raise Unsolved
        return result

    return call


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) and value.is_leaf else value


def _describe_exception(name: str, args: tuple, error: Exception) -> str:
    inputs = ", ".join(f"a tensor of shape {tuple(a.shape)}" if isinstance(a, Tensor) else _clip(repr(a), 40) for a in args)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in line {frames[1].lineno} of your cell" if len(frames) > 1 else ""
    return f"{name}({inputs}) raised {type(error).__name__}{where}: {_clip(str(error) or 'no message')}"


def _as_tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value.detach()
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        raise Refused(f"Expected numbers (a tensor, an array or lists), got {_clip(repr(value))}.") from None


def _equal(a: Tensor, b: Tensor, tolerance: float) -> bool:
    if a.shape != b.shape or (a.dtype == torch.bool) != (b.dtype == torch.bool):
        return False
    return torch.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True)


def _short(value: Tensor) -> str:
    if value.numel() > 12:
        return f"a tensor of shape {tuple(value.shape)} that begins {_short(value.flatten()[:4])}"
    rounded = [[round(x, 4) for x in row] for row in value.tolist()] if value.dim() == 2 else value.tolist()
    return str([round(x, 4) for x in rounded] if value.dim() == 1 and value.is_floating_point() else rounded)


def _clip(text: str, limit: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
