"""Translate with the library's machine and with the reader's parts, and find the part that makes a difference."""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from io import StringIO
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tfm_exercises.judge import Exercise, judged
from tfm_exercises.judge import find as find_exercise
from tfm_exercises.mine import active, answers
from tfm_exercises.mine.catalogue import PARTS, Part
from tfm_exercises.mine.plugging import plugged_in
from tfm_exercises.mine.store import NotKept
from tfm_exercises.watching import Endless, can_interrupt, clip, within
from tfm_lib._errors import bad_input, require_kind
from tfm_lib._trace import trace
from tfm_lib.engine.translator import Translator

# What a bug does is shown on a sentence that most bugs change.
SENTENCE, TRANSLATION = "She does not like the cold water in winter.", "Elle n'aime pas l'eau froide en hiver."
TOLERANCE = 1e-4  # two right ways to compute the same thing differ by far less
SLOPE = 1e-2  # of the gradient's length: a right one differs by rounding, a wrong one by a factor
PATIENCE = 1.5  # seconds that a translation with a bug may take
NOISE = 1e-4  # of the longest gradient: what is shorter may be rounding alone, as that of a key's bias


@dataclass(frozen=True)
class Cause:
    """A part that makes a difference: its `part`, what `differs` with it alone, and what its check says (`reason`)."""

    part: str
    differs: str
    reason: str

    def __str__(self) -> str:
        return f"{self.part}: {self.differs} {self.reason}"


@dataclass(frozen=True)
class Comparison:
    """A sentence translated twice; `calls` counts the calls of each part. Truth is in `equal`."""

    sentence: str
    library: str
    yours: str | None
    calls: Mapping[str, int]
    causes: tuple[Cause, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether the sentences and the gradients are the same, and every sub-layer's output to 10⁻⁴."""
        return self.library == self.yours and not self.causes

    def __bool__(self) -> bool:
        return self.equal

    def _sentences(self) -> list[str]:
        used = [name for name, count in self.calls.items() if count]
        idle = [name for name, count in self.calls.items() if not count]
        if not self.calls:
            return ["None of your parts is plugged in, because none is written yet. mine.parts() lists them."]
        if self.equal:
            said = ["The two translations are equal, and so are every sub-layer's output (to 10⁻⁴) and the gradients."]
        elif self.library == self.yours:
            said = ["The two translations are equal, but inside the machine something differs:"]
        elif self.yours is None:
            said = ["With your parts the machine stops with an error:"]
        else:
            said = ["The two translations differ:"]
        said += map(str, self.causes)
        if not self.causes and not self.equal:
            said.append("No part makes this difference alone; two of them make it together.")
        said += [f"Parts of yours that ran: {', '.join(used)}."] if used else []
        return said + ([f"Parts that this sentence did not need: {', '.join(idle)}."] if idle else [])

    def __repr__(self) -> str:
        lines = [f"the library: {self.library}", f"your machine: {self.yours or '(no translation)'}"]
        return "\n".join([*lines, *(f"  {text}" for text in self._sentences())])

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(text)}</p>" for text in self._sentences())
        rows = "".join(
            f"<tr><th>{who}</th><td>{html.escape(text or '(no translation)')}</td></tr>"
            for who, text in (("The library", self.library), ("Your machine", self.yours))
        )
        return f'<div class="tfm-comparison" role="status"><table>{rows}</table>{said}</div>'


def translate(
    sentence: str,
    *names: str,
    beam: int = 4,
    instead: Mapping[str, Callable[..., Any]] | None = None,
    translator: Translator | None = None,
) -> Comparison:
    """Translate `sentence` with the library's machine and with the reader's parts, and compare the two.

    `names` and `instead` choose the parts as in `plugged_in`. The machine is the English–French translator that comes
    with the book unless a `translator` is given; with `beam` = 1 it writes greedily. Errors of the reader's parts are
    reported, not raised.
    """
    if active.is_active():
        raise RuntimeError(
            "mine.translate compares the library with your parts, and inside mine.plugged_in() both are yours. "
            "Call it outside the block; inside, use a Translator."
        )
    translator = translator or shipped()
    require_kind("sentence", sentence, str, "be a string")
    tokenizer = translator.tokenizer
    if not tokenizer.encode(sentence):
        raise bad_input("sentence", "hold something to translate", repr(sentence))
    (ids,) = translator.search([sentence], beam)
    library = tokenizer.decode(ids, tokenizer.unknown(sentence))
    src, tgt = translator.ids(sentence), torch.tensor([[tokenizer.bos_id, *ids]])
    compute = lambda: _outputs(_copy(translator), src, tgt)  # noqa: E731 (a part may write into the weights)
    write = lambda: _copy(translator).translate([sentence], beam)[0]  # noqa: E731
    with plugged_in(*names, instead=instead) as plugged:
        yours, _ = _attempted(write)
    learn = partial(_gradients, translator, src, tgt)
    functions = {name: (instead or {}).get(name) or answers.part(name) for name in plugged.names}
    calls, right, slopes = plugged.calls.copy(), compute(), learn()
    causes = []
    for name, function in functions.items():
        with plugged_in(instead={name: function}) as alone:
            outputs, error = _attempted(compute)
            calls.update(alone.calls)
            differs = error or _first_difference(right, outputs) or _wrong_gradient(slopes, learn)
        if differs:
            causes.append(Cause(name, differs, _reason(name, functions)))
    if yours != library and not causes:
        for name, function in functions.items():
            with plugged_in(instead={name: function}):
                written, error = _attempted(write)
            if error or written != library:
                differs = error or f"with this part alone the machine writes “{written}”."
                causes.append(Cause(name, differs, _reason(name, functions)))
    return Comparison(sentence, library, yours, calls, tuple(causes))


@cache
def shipped() -> Translator:
    """The translator that comes with the book, loaded once."""
    return Translator.shipped()


def _copy(translator: Translator) -> Translator:
    """The translator with weights of its own, so that a part that writes into them spoils nothing."""
    return Translator(deepcopy(translator.model), translator.tokenizer, translator.about)


def written_within(
    seconds: float, sentence: str, instead: Mapping[str, Callable[..., Any]] | None = None, beam: int = 4
) -> str:
    """The translation of `sentence` with the reader's parts, or with those in `instead` only; nothing is printed.

    Raises what a part raises, and Endless after `seconds`. A copy of the model translates, so that a part that writes
    into the weights spoils nothing. One thread is enough: for tensors this small, several spend their time waiting.
    """
    translator, threads = _copy(shipped()), torch.get_num_threads()
    plugged = plugged_in(instead=instead) if instead or answers.written() else nullcontext()
    torch.set_num_threads(1)
    try:
        with plugged, torch.random.fork_rng(devices=[]), redirect_stdout(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return within(seconds, lambda: translator.translate([sentence], beam)[0])
    finally:
        torch.set_num_threads(threads)


def with_bug(exercise: Exercise, given: Sequence[Any]) -> str:
    """In words, what the translator writes with answers that failed their check in its parts; "" if that shows nothing.

    That is so where no part of `exercise` is called in a translation, or one raises an error or is slow.
    """
    parts = [part for part in PARTS if part.exercise == exercise.id and part.beam]
    if not parts or not can_interrupt():
        return ""
    instead = {part.name: given[part.index] for part in parts}
    try:
        written = written_within(PATIENCE, SENTENCE, instead, beam=parts[0].beam)
    except (Exception, SystemExit, Endless):  # noqa: BLE001 (the check has told what is wrong)
        return ""
    if written == TRANSLATION:
        return (
            f"With this bug the translator still turns “{SENTENCE}” into “{written}”, so a good translation does not "
            "prove a part right."
        )
    shown = quoted_last(clip(written, 80)) if written else "nothing: it stops before the first word."
    return f"With this bug the translator turns “{SENTENCE}” into {shown}"


def quoted_last(text: str) -> str:
    """`text` in quotation marks at the end of a sentence, which has a stop there unless `text` brings one."""
    return f"“{text}”" if text.endswith((".", "?", "!")) else f"“{text}”."


def _attempted(work: Callable[[], Any], what: str = "the machine") -> tuple[Any, str]:
    """What `work` returns, and "" ; or None, and in words the error with which `what` stops."""
    try:
        return work(), ""
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever the reader's function raises is told)
        return None, f"{what} stops with {type(error).__name__}: {clip(str(error)).rstrip('.')}."


@torch.no_grad()
def _outputs(translator: Translator, src: Tensor, tgt: Tensor) -> dict[str, Tensor]:
    """The output of every sub-layer, in the order of the computation; the logits last."""
    with trace(translator.model, "*output") as seen:
        translator.model(src, tgt)
        return {name: X for name, X in seen.items() if "dropout" not in name}


def _first_difference(right: Mapping[str, Tensor], ours: Mapping[str, Tensor]) -> str:
    """The first sub-layer whose output differs, and by how much, in words; "" if none does."""
    for name, X in right.items():
        if (Y := ours.get(name)) is None:
            continue  # the reader's part does without this module
        gap = (X - Y).abs().nan_to_num(nan=torch.inf).max().item() if X.shape == Y.shape else torch.inf
        if gap > TOLERANCE:
            return f"the first output that differs is that of {_in_words(name)}, by up to {gap:.2g}."
    return ""


def _gradients(translator: Translator, src: Tensor, tgt: Tensor) -> dict[str, Tensor | None]:
    """The gradient of every parameter; the loss is the cross-entropy of each target token after the first."""
    model = _copy(translator).model.requires_grad_(True)
    with torch.enable_grad():
        F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten()).backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def _wrong_gradient(right: Mapping[str, Tensor | None], learn: Callable[[], Mapping[str, Tensor | None]]) -> str:
    """In words, the parameters that would learn nothing, or something else than with the library; "" if all learn alike."""
    ours, error = _attempted(learn, "the backward pass")
    if error:
        return f"it translates like the library's, but it can't be trained: {error}"
    longest = max(G.norm() for G in right.values() if G is not None)
    learned = {name: G for name, G in right.items() if G is not None and G.norm() > NOISE * longest}
    still, other = [], []
    for name, G in learned.items():
        mine = ours.get(name)
        if mine is None or not mine.any():
            still.append(name)
        elif (G - mine).norm() > SLOPE * G.norm():
            other.append(name)
    if still:
        which = f"{len(still)} of {len(learned)} parameter tensors, the first of them {still[0]}"
        return (
            f"it translates like the library's, but no gradient reaches {which}, so they wouldn't learn. "
            "Look for .detach(), .data, .item(), .tolist(), torch.no_grad() or NumPy."
        )
    if other:
        return f"it translates like the library's, but the gradient of {other[0]} differs, so it would learn something else."
    return ""


def _in_words(name: str) -> str:
    path = name.removesuffix("output").strip(".")
    if found := re.fullmatch(r"(encoder|decoder)\.(\d+)\.?(.*)", path):
        stack, number, inner = found.groups()
        return f"{inner or 'the whole layer'} in layer {int(number) + 1} of the {stack}"
    return path or "the whole model (the logits)"


def _reason(name: str, functions: Mapping[str, Callable[..., Any]]) -> str:
    """What the part's own check says of it now."""
    part = next(part for part in PARTS if part.name == name)
    exercise, siblings = find_exercise(part.exercise), _siblings(part)
    try:
        given = [functions.get(each.name) or answers.part(each.name) for each in siblings]
    except (AttributeError, NotKept):
        return ""
    verdict = judged(exercise, given)
    if verdict.passed:
        return f"Its check, {part.exercise}, accepts it: the cause is something that the check does not try."
    return f"Its check, {part.exercise}, says: {verdict.message}"


def _siblings(part: Part) -> list[Part]:
    return sorted((each for each in PARTS if each.exercise == part.exercise), key=lambda each: each.index)
