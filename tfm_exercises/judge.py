"""How an answer becomes a verdict that teaches.

A chapter's judges live in `tfm_exercises/checks/<stem>.py`. A judge calls the student's function on a few
inputs and states what it expects; the first expectation that fails ends the judging. A mistake that
the judge knows by the value it produces is named; everything else is described by what came and what
was expected. The judge sees only `student`, a namespace with the answer under the name of the exercise, so that the same
judge serves a notebook (the functions themselves) and a grader (a proxy that calls a sandbox).
"""

from __future__ import annotations

import html
import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, allclose, isclose

from tfm_exercises import IN_PAGES, watching
from tfm_exercises.carried import Weights
from tfm_exercises.cells import renamed, stopped_since
from tfm_exercises.relations import (
    NEAR,
    RELATED,
    Pair,
    relation,
    relation_of_counts,
    relation_of_parts,
    sizes,
    unnamed,
)
from tfm_exercises.watching import CHANGES_INPUT, Refused, Unsolved
from tfm_exercises.watching import clip as _clip


@dataclass(frozen=True)
class Mistake:
    """A mistake that people make: its `name`, the `value` an answer with it gives, and the `message` for its author."""

    name: str
    value: Any
    message: str


@dataclass(frozen=True)
class Slip:
    """A mistake known by what it computes: its `name`, the function `of` the exercise's inputs with it, the `message`."""

    name: str
    of: Callable[..., Any]
    message: str


@dataclass(frozen=True)
class Verdict:
    """What a check found. Truth is in `passed`; the rest is for the reader."""

    exercise: str
    status: Literal["passed", "refused", "unsolved"]
    held: tuple[str, ...] = ()
    message: str = ""
    mistake: str | None = None
    kept: str = ""  # in a notebook: whether the answer is kept for "Your own machine", or what its bug does there

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        lines = [f"{_MARKS[self.status]} {self.exercise}: {_WORDS[self.status]}"]
        lines += [f"  ✓ {held}" for held in self.held]
        lines += [f"  {'→' if self.status == 'refused' else ' '} {self.message}"] if self.message else []
        lines += [f"  {self.kept}"] if self.kept else []
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What a page of the book reads, where one asks the kernel; a notebook shows the HTML."""
        return {MIME: {**vars(self), "word": _WORDS[self.status]}} if IN_PAGES in os.environ else {}

    def _repr_html_(self) -> str:
        held = "".join(f'<div class="tfm-held">✓ {_marked_up(text)}</div>' for text in self.held)
        arrow = "→ " if self.status == "refused" else ""
        message = f"<p>{arrow}{_marked_up(self.message)}</p>" if self.message else ""
        message += f"<p>{_marked_up(self.kept)}</p>" if self.kept else ""
        return (
            f'<div class="tfm-verdict tfm-{self.status}" role="status">'
            f"<p><strong>{_MARKS[self.status]} {_WORDS[self.status]}</strong> <code>{html.escape(self.exercise)}</code></p>"
            f"{held}{message}</div>"
        )


MIME = "application/vnd.tfm.verdict+json"
CHECKS = "tfm_exercises.checks"  # a module a chapter

#: What adds a sentence to the verdict on functions in a notebook: given exercise, answers and verdict.
AFTER: list[Callable[[Exercise, Sequence[Any], Verdict], str]] = []

_MARKS = {"passed": "✓", "refused": "✗", "unsolved": "…"}
_WORDS = {"passed": "That holds.", "refused": "Not yet.", "unsolved": "Yours to write."}


@dataclass
class Expect:
    """States what must hold, in the order in which a beginner should hear it; remembers what did."""

    held: list[str] = field(default_factory=list)
    newest: tuple[str, Any] = ("", None)  # the newest call of an answer, in words, and what it returned
    changed: str = ""  # the sentence for an answer that writes into what it is given

    def agrees(
        self,
        answer: Callable[..., Any],
        right: Callable[..., Any],
        inputs: Iterable[tuple],
        holds: str,
        slips: Sequence[Slip] = (),
        tolerance: float = 1e-5,
        describe: str = "the result",
    ) -> None:
        """`answer` must give what `right` gives on each of the `inputs`, tuples of arguments: numbers and tensors up
        to `tolerance`, words and truth values exactly, tuples and lists of them part by part.

        Draw at least three, all sizes distinct and no argument at its default. A slip is named when it gives what
        came on every input, and something wrong on two of them; on one, where the results are floating-point
        numbers, which agree by chance in no other way.
        """
        came: list[tuple[tuple, Any, Any]] = []
        stopped: Refused | None = None
        for args in inputs:
            want = right(*watching.copied(args))
            try:
                came.append((args, answer(*watching.copied(args)), want))
            except Refused as refused:
                stopped = refused
                break
        gaps = [_gap(got, want, tolerance) for _, got, want in came]
        if not any(gaps):
            if stopped:
                raise stopped
            self._hold(holds)
            return
        for slip in slips:
            if _explains(slip, came, tolerance):
                raise Refused(slip.message, slip.name)
        args, gap = next((args, gap) for (args, _, _), gap in zip(came, gaps) if gap)
        if isinstance(gap, Refused):
            raise gap
        name, sentence = _related(came) if not stopped else (None, "")
        called = watching.call_text(_name_of(answer), args)
        raise Refused(f"For {describe} {gap}.{sentence} The call was {called}.", name)

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
            raise Refused(f"Expected {_shaped(want)}, got {_shaped(got.shape)}.", f"{RELATED}another shape")
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
        came, got, want = got, _as_tensor(got), _as_tensor(want)
        if _equal(got, want, tolerance):
            self._hold(holds)
            return
        for mistake in mistakes:
            value = _as_tensor(mistake.value)
            if _equal(got, value, tolerance) and not _equal(value, want, tolerance):
                raise Refused(mistake.message, mistake.name)
        if got.shape != want.shape:
            raise Refused(f"For {describe} expected {_shaped(want.shape)}, got {_shaped(got.shape)}.")
        if got.isnan().any() and not want.isnan().any():
            raise Refused(f"There is a NaN in {describe}: {_short(got)}. {WHENCE_NAN}", f"{RELATED}no finite number")
        if (got.dtype == torch.bool) != (want.dtype == torch.bool):
            kinds = ("numbers", "truth values") if got.dtype == torch.bool else ("truth values (bool)", "numbers")
            raise Refused(f"For {describe} expected {kinds[0]}, {_short(want)}, got {kinds[1]}, {_short(got)}.")
        name, sentence = _related([((), got, want)])
        raise Refused(f"For {describe} {_first_gap(got, want, tolerance)}.{sentence}{self._called(came)}", name)

    def equal(
        self, got: Any, want: Any, holds: str, mistakes: Sequence[Mistake] = (), describe: str = "the result"
    ) -> None:
        """`got` must equal `want` exactly: words, truth values, tuples; tensors and arrays count as lists."""
        came, got = got, _as_plain(got)
        if got == want:
            self._hold(holds)
            return
        for mistake in mistakes:
            if got == mistake.value != want:
                raise Refused(mistake.message, mistake.name)
        gap = _first_gap(got, want, 0.0) if isinstance(want, (list, tuple)) else ""
        gap = gap or f"expected {want!r}, got {_clip(repr(got))}"
        name, sentence = _related([((), got, want)])
        raise Refused(f"For {describe} {gap}.{sentence}{self._called(came)}", name)

    def _called(self, came: Any) -> str:
        """The call that returned `came`, if it was the newest."""
        text, result = self.newest
        return f" The call was {text}." if text and came is result else ""

    def _hold(self, text: str) -> None:
        if text not in self.held:
            self.held.append(text)


Judge = Callable[[Any, Expect], None]


@dataclass(frozen=True)
class Exercise:
    """One exercise: its `id`, the names of the answers it asks for (functions), its judge, what its text forbids, what it
    wants used.

    Forbidden are calls, such as "torch.tril", and "loop" and "autograd". A notebook looks for them in the answer's
    code and says so kindly once all else holds; where submissions are graded the calls are taken away. Of `uses`, calls
    too, an answer needs one; that also a notebook looks for. An answer may not write into what it is given, unless
    `may_change_input`, because the text asks for that.
    """

    id: str
    answers: tuple[str, ...]
    judge: Judge
    forbids: tuple[str, ...] = ()
    may_change_input: bool = False
    uses: tuple[str, ...] = ()


_exercises: dict[str, Exercise] = {}


def exercise(
    id: str,
    answer: str | tuple[str, ...],
    forbids: tuple[str, ...] = (),
    may_change_input: bool = False,
    uses: tuple[str, ...] = (),
) -> Callable[[Judge], Judge]:
    """Register the decorated function as judge of exercise `id`; `answer` names what the student writes."""

    def register(judge: Judge) -> Judge:
        answers = (answer,) if isinstance(answer, str) else answer
        _exercises[id] = Exercise(id, answers, judge, forbids, may_change_input, uses)
        return judge

    return register


def told(answer: Callable[..., Any], known: dict[str, tuple[str, str]]) -> Callable[..., Any]:
    """`answer`, of which an error that is `known` by a pattern in what it says is told as that mistake."""

    @wraps(answer)
    def call(*args: Any) -> Any:
        try:
            return answer(*args)
        except Refused as refused:
            for pattern, (mistake, message) in known.items():
                if unnamed(refused.mistake) and re.search(pattern, refused.message):
                    raise Refused(message, mistake) from None
            raise

    return call


def find(id: str) -> Exercise:
    """The exercise `id` (`"<stem>.<name>"`); raises KeyError with the ids that exist."""
    stem = id.split(".", maxsplit=1)[0]
    try:
        importlib.import_module(f"{CHECKS}.{stem}")
    except ModuleNotFoundError as error:
        if error.name != f"{CHECKS}.{stem}":
            raise
    if id not in _exercises:
        known = ", ".join(sorted(name for name in _exercises if name.startswith(f"{stem}."))) or "none in this chapter"
        raise KeyError(f"No exercise is called {id!r}; known: {known}.")
    return _exercises[id]


def check(id: str, *answers: Any) -> Verdict:
    """Judge the answer to exercise `id` and say what holds, what does not, and what it looks like.

    `answers` are what the exercise asks for, usually one function, or the weights that `hand_in` returned. Never
    raises: a name that no exercise has, or too few answers, is refused with a sentence.
    """
    try:
        found = find(id)
    except (KeyError, AttributeError, TypeError):
        return Verdict(str(id), "refused", message=_no_such(id), mistake="no such exercise")
    if len(answers) != len(found.answers):
        asked = f'check("{id}", {", ".join(found.answers)})'
        message = f"{id} asks for {len(found.answers)} and was given {len(answers)}. Write: {asked}"
        return Verdict(id, "refused", message=message, mistake="another number of answers")
    if any(answer is None or answer is ... for answer in answers):
        return _unsolved(id)
    for name, answer in zip(found.answers, answers):
        if isinstance(answer, str) and answer.endswith(".safetensors"):
            message = f'This is the name of a file. Hand in the weights that it holds: {name} = hand_in("{answer}", name="{name}")'
            return Verdict(id, "refused", message=message, mistake="a file's name in place of its weights")
        if not callable(answer) and not isinstance(answer, Weights):
            message = (
                f"This is {_article(type(answer).__name__)}, perhaps what {name} returned. Hand over the function itself, without "
                f'brackets behind its name: check("{id}", {", ".join(found.answers)}). The check calls it with inputs of its own.'
            )
            return Verdict(id, "refused", message=message, mistake="a result in place of the function")
    verdict = judged(found, answers)
    if not verdict.passed:
        for name, answer in zip(found.answers, answers):
            if stale := stopped_since(name, answer):
                return Verdict(id, "refused", message=stale, mistake="older code")
    if verdict.status == "unsolved":
        return _unsolved(id, dict(zip(found.answers, answers)))
    if verdict.status == "refused" and unnamed(verdict.mistake) and (other := _answers_another(found, answers)):
        verdict = replace(verdict, message=f"{other} {verdict.message}", mistake="another exercise's answer")
    return replace(verdict, kept=_told_after(found, answers, verdict))


def judged(found: Exercise, answers: Sequence[Any]) -> Verdict:
    """The verdict on functions, which are called on copies, stopped if they do not end, and searched for what the text
    forbids; or on weights.
    """
    student = SimpleNamespace(
        **{
            name: watching.watched(name, answer) if callable(answer) else answer
            for name, answer in zip(found.answers, answers)
        }
    )
    try:
        verdict = judge_student(found, student)
    except watching.Endless as endless:
        return Verdict(found.id, "refused", message=str(endless), mistake="no end")
    if verdict.passed and (used := watching.forbidden_call(answers, found.forbids)):
        return Verdict(found.id, "refused", verdict.held, used, "forbidden")
    if verdict.passed and (unused := watching.unused_call(answers, found.uses)):
        return Verdict(found.id, "refused", verdict.held, unused, "not used")
    return verdict


def _told_after(found: Exercise, answers: Sequence[Any], verdict: Verdict) -> str:
    """What `AFTER` adds to the verdict on functions in a notebook; elsewhere ""."""
    if not all(map(callable, answers)) or getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)() is None:
        return ""
    try:
        return " ".join(filter(None, (tell(found, answers, verdict) for tell in AFTER)))
    except Exception as error:  # noqa: BLE001 (the verdict stands, whatever becomes of the answer)
        return f"This answer is not kept: {type(error).__name__}, {error}." if verdict.passed else ""


def _no_such(id: Any) -> str:
    """What to say where no exercise has the name that was given."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent / "checks")]):
        importlib.import_module(f"{CHECKS}.{module.name}")
    first = 'The name of the exercise comes first, in quotation marks, then your function: check("masking.band", band).'
    if not isinstance(id, str):
        return f"{first} What came first here is {_article(type(id).__name__)}."
    plain = re.sub(r"[\s_]+", "-", id.strip().lower())
    names = {re.sub("_", "-", name): name for name in _exercises}
    endings = {name.rpartition(".")[2]: full for name, full in names.items()}
    near = endings.get(plain) or next((names[each] for each in get_close_matches(plain, names, n=1)), None)
    near = near or next((endings[each] for each in get_close_matches(plain, endings, n=1)), None)
    return f"No exercise is called {id!r}. " + (f'Perhaps you mean "{near}"?' if near else first)


def judge_student(found: Exercise, student: Any, seed: int = 0) -> Verdict:
    """The verdict of `found.judge` on `student`, whose attributes are the answers; `seed` chooses its random inputs."""
    expect = Expect()
    with torch.random.fork_rng(devices=[]), _default_type_kept():
        torch.manual_seed(seed)
        try:
            found.judge(_Noted(student, expect), expect)
            if expect.changed and not found.may_change_input:
                raise Refused(expect.changed, CHANGES_INPUT)
        except Refused as refused:
            if expect.changed and not found.may_change_input and unnamed(refused.mistake):
                refused = Refused(expect.changed, CHANGES_INPUT)
            return Verdict(found.id, "refused", tuple(expect.held), refused.message, refused.mistake)
        except Unsolved:
            return _unsolved(found.id)
        except Exception as error:  # noqa: BLE001 (an answer that cannot even be taken apart, such as one result for two)
            stumbled = f"{type(error).__name__}: {_clip(str(error))}"
            message = f"The check cannot read this answer ({stumbled}). Does it give back what the text asks for?"
            return Verdict(found.id, "refused", tuple(expect.held), message)
    return Verdict(found.id, "passed", tuple(expect.held))


@contextmanager
def _default_type_kept() -> Iterator[None]:
    """Torch's default type is afterwards what it was, whatever an answer sets it to."""
    default = torch.get_default_dtype()
    try:
        yield
    finally:
        torch.set_default_dtype(default)


class _Noted:
    """The student's answers; each call of one is noted in `expect`, for the message."""

    def __init__(self, student: Any, expect: Expect):
        self._student, self._expect = student, expect

    def __getattr__(self, name: str) -> Any:
        answer, expect = getattr(self._student, name), self._expect
        if not callable(answer):
            return answer

        def call(*args: Any, **kwargs: Any) -> Any:
            text = watching.call_text(name, args, kwargs)
            result = answer(*args, **kwargs)
            expect.newest, expect.changed = (text, result), expect.changed or getattr(answer, "changed", "")
            return result

        call.__name__ = name
        return call


def _marked_up(text: str) -> str:
    """`text` for a page: what stands between backticks is code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text))


def _name_of(answer: Any) -> str:
    return getattr(answer, "__name__", "the answer")


def _unsolved(id: str, answers: dict[str, Any] | None = None) -> Verdict:
    """The verdict on stubs among the `answers`; where one may stand under another name, under which."""
    for name, answer in (answers or {}).items():
        if watching.is_stub(answer) and (other := renamed(name, answer)):
            handed = ", ".join(other if each == name else each for each in answers or ())
            way = f"name it {name}." if IN_PAGES in os.environ else f'hand that over: check("{id}", {handed})'
            message = f"{name} is still the stub. If {other} is your answer, {way}"
            return Verdict(id, "unsolved", message=message)
    return Verdict(
        id, "unsolved", message="The cell above still holds the stub. Replace the ... and run both cells again."
    )


def _answers_another(found: Exercise, answers: Sequence[Any]) -> str:
    """A sentence if what was handed over has the name of another answer of the chapter; empty if not."""
    chapter = [each for each in _exercises.values() if each.judge.__module__ == found.judge.__module__]
    for name, answer in zip(found.answers, answers):
        called = getattr(answer, "__name__", name)
        other = next((each.id for each in chapter if called in each.answers), found.id)
        if called not in found.answers and other != found.id:
            return f"{called} answers {other}; {found.id} asks for {name}."
    return ""


def _explains(slip: Slip, came: Sequence[tuple[tuple, Any, Any]], tolerance: float) -> bool:
    """Whether `slip` gives what came on every input, and is wrong often enough for that to be no chance."""
    wrong, floats = 0, False
    for args, got, want in came:
        try:
            value = slip.of(*watching.copied(args))
            if _first_gap(got, value, tolerance):
                return False
        except Exception:  # noqa: BLE001 (a slip that has no value here, or none to compare with, explains nothing)
            return False
        if _gap(value, want, tolerance):
            wrong, floats = wrong + 1, floats or _has_floats(want)
    return wrong >= (1 if floats else 2)


def _related(came: Sequence[tuple[tuple, Any, Any]]) -> tuple[str | None, str]:
    """How what came relates to what is right, on every input: a name and a sentence; None and "" if in no simple way.

    Of results in several parts, the first that differs tells.
    """
    try:
        found = _relation(came)
    except (Refused, RuntimeError, TypeError, ValueError):
        return None, ""
    return (f"{RELATED}{found[0]}", f" {found[1]}" if found[1] else "") if found else (None, "")


def _relation(came: Sequence[tuple[tuple, Any, Any]]) -> tuple[str, str] | None:
    results = [(got, want) for _, got, want in came]
    if len(came) > 2 and all(type(want) is int for _, want in results):
        results = [(_as_plain(got), want) for got, want in results]
        if all(type(got) is int for got, _ in results) and (found := relation_of_counts(results)):
            return found
    if all(isinstance(want, (list, tuple, set)) and want and not _is_numbers(want) for _, want in results):
        differ = [(_as_plain(got), _as_plain(want)) for got, want in results if _gap(got, want, NEAR)]
        if not any(isinstance(part, Tensor) for _, want in results for part in want):
            return relation_of_parts(differ)
    pairs = [(args, *_parts(got, want)) for args, got, want in came]
    return relation([Pair(_as_tensor(got), _as_tensor(want), sizes(args)) for args, got, want in pairs])


def _parts(got: Any, want: Any) -> tuple[Any, Any]:
    """The first parts that differ of two results."""
    if isinstance(want, (list, tuple)) and not _is_numbers(want):
        return next((pair for pair in zip(got, want) if _gap(*pair, NEAR)), (got, want))
    return got, want


def _has_floats(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return torch.as_tensor(value).is_floating_point()
    if isinstance(value, (list, tuple)):
        return any(map(_has_floats, value))
    return isinstance(value, float)


def _gap(got: Any, want: Any, tolerance: float) -> str | Refused:
    """How `got` differs from `want`; a refusal where it cannot be compared; empty if it does not."""
    try:
        return _first_gap(got, want, tolerance)
    except Refused as refused:
        return refused


def _first_gap(got: Any, want: Any, tolerance: float, where: str = "") -> str:
    """How `got` first differs from `want`, with the place; empty if it does not."""
    if isinstance(want, (list, tuple)) and not _is_numbers(want):
        if not isinstance(got, (list, tuple)):
            return f"expected {_count(want)}{where}, got {_said(got, 60)}"
        if len(got) != len(want):
            came = f"{len(got)}: {_clip(repr(got), 80)}" if got else f"an empty {type(got).__name__}"
            return f"expected {_count(want)}{where}, got {came}"
        parts = (_first_gap(g, w, tolerance, f"{where} in part {i}") for i, (g, w) in enumerate(zip(got, want)))
        return next(filter(None, parts), "")
    if isinstance(want, (str, bool, type(None), dict, set)):
        plain = _as_plain(got)
        same = plain == want and type(plain) is type(want)
        return "" if same else f"expected {want!r}{where}, got {_clip(repr(plain))}"
    got, want = _as_tensor(got), _as_tensor(want)
    if _equal(got, want, tolerance):
        return ""
    if got.shape != want.shape:
        return f"expected {_shaped(want.shape)}{where}, got {_shaped(got.shape)}"
    if (got.dtype == torch.bool) != (want.dtype == torch.bool):
        kinds = ("numbers", "truth values") if got.dtype == torch.bool else ("truth values (bool)", "numbers")
        return f"expected {kinds[0]}{where}, {_short(want)}, got {kinds[1]}, {_short(got)}"
    a, b = _wide(got, want)
    wrong = ~isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    index = tuple(wrong.nonzero()[0].tolist())
    why = _why_near(got, a[index], b[index])
    if not index:
        return f"expected {_short(want)}{where}, got {_short(got)}{why}"
    rest = f" ({int(wrong.sum())} of {wrong.numel()} entries differ)" if wrong.sum() > 1 else ""
    came = f"expected {_short(want[index])}, got {_short(got[index])}{rest}{why}"
    return f"the first wrong entry{where} is at {list(index)}: {came}"


WHENCE_NAN = "A NaN comes of 0/0, of ∞ − ∞, or of numbers that have grown too large before."


def _why_near(got: Tensor, came: Tensor, want: Tensor) -> str:
    """What to add where a number alone does not show what is wrong with it."""
    if came.isnan() and not want.isnan():
        return f". {WHENCE_NAN.removesuffix('.')}"
    if came.isinf() and not want.isinf():
        return ". An infinity comes of a division by 0, or of numbers that have grown too large"
    if got.dtype in (torch.float16, torch.bfloat16) and isclose(came, want, rtol=1e-2, atol=1e-2):
        return f". The answer is in {str(got.dtype).removeprefix('torch.')}, which keeps two or three digits; compute in float32"
    return ""


def _shaped(shape: Sequence[int]) -> str:
    return f"shape {tuple(shape)}" if len(shape) else "one number"


def _said(value: Any, limit: int = 160) -> str:
    """A value in a sentence; of a function, that it was not called."""
    if callable(value):
        return f"{getattr(value, '__name__', type(value).__name__)} itself, which was not called (are its brackets missing?)"
    return _clip(repr(value), limit)


def _is_numbers(value: list | tuple | set) -> bool:
    """Whether nested lists hold numbers only, so that they are one tensor."""
    try:
        return torch.as_tensor(value).numel() > 0
    except (TypeError, ValueError, RuntimeError):
        return False


def _article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


def _count(value: list | tuple) -> str:
    return f"{len(value)} part{'' if len(value) == 1 else 's'}"


def _as_tensor(value: Any) -> Tensor:
    """`value` as a tensor: numbers, arrays, nested lists, and lists of tensors."""
    try:
        if isinstance(value, (list, tuple)) and any(isinstance(item, (Tensor, np.ndarray)) for item in value):
            return torch.stack([_as_tensor(item) for item in value])
        return torch.as_tensor(value).detach()
    except (TypeError, ValueError, RuntimeError):
        raise Refused(f"Expected numbers (a tensor, an array or lists), got {_said(value)}.") from None


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
    raise Refused(f"Expected plain values (numbers, words, lists of them), got {_said(value)}.")


def _equal(a: Tensor, b: Tensor, tolerance: float) -> bool:
    if a.shape != b.shape or (a.dtype == torch.bool) != (b.dtype == torch.bool):
        return False
    a, b = _wide(a, b)
    return allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


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
