"""All answers in words that wait, on one sheet and on one page; both come back as marks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from tfm_lib.classroom import pages, tables

WHOLE = "as a whole"  # the criterion of an answer without a rubric
COLUMNS = ("student", "name", "exercise", "criterion", "of", "points", "reason", "text", "answer")
LOOK = "It was not found under its question for sure. Look whether this answers it."
STYLE = """
main { padding-bottom: 4rem; }
.marks { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .3rem .8rem; align-items: center; margin-top: .8rem; }
.marks label { overflow-wrap: anywhere; } .marks input { width: 5rem; } .marks textarea { grid-column: 1 / -1; }
input, textarea, button { font: inherit; color: inherit; background: var(--tfm-paper); border: 1px solid var(--tfm-soft);
  border-radius: .3rem; padding: .25rem .5rem; box-sizing: border-box; }
textarea { width: 100%; } input:invalid { border-color: var(--tfm-broken); }
:focus-visible { outline: 2px solid var(--tfm-focus); outline-offset: 1px; }
#controls { position: fixed; inset: auto 0 0; padding: .6rem 1rem; background: var(--tfm-card); border-top: 1px solid var(--tfm-line);
  display: flex; gap: 1rem; justify-content: center; align-items: center; } #controls[hidden] { display: none; }
.card { scroll-margin-bottom: 4rem; } .question { white-space: pre-wrap; overflow-wrap: anywhere; }
"""


@dataclass(frozen=True)
class Question:
    """A question in words: what it asks, and what an answer earns points for."""

    id: str
    title: str
    text: str
    answer: str
    criteria: tuple[tuple[str, float], ...]
    own: dict[str, str]  # its text for students who have numbers of their own


@dataclass(frozen=True)
class Waiting:
    """An answer that waits for a mark."""

    student: str
    name: str
    exercise: str
    text: str
    unsure: bool = False

    @property
    def digest(self) -> str:
        """What binds a mark to these words."""
        return hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()


def sheet(questions: Iterable[Question], waiting: Iterable[Waiting]) -> str:
    """marking.csv: a line for each criterion of each answer, its points to be filled in."""
    rows: list[list[Any]] = [list(COLUMNS)]
    for question, answer, (criterion, most) in _lines(questions, waiting):
        words = f"({LOOK}) {answer.text}" if answer.unsure else answer.text
        first = criterion == question.criteria[0][0]
        rows.append(
            [
                answer.student,
                answer.name,
                question.id,
                criterion,
                f"{most:g}",
                "",
                "",
                answer.digest,
                words if first else "",
            ]
        )
    return tables.table(rows)


def page(questions: Iterable[Question], waiting: Iterable[Waiting], assignment: str) -> str:
    """marking.html: each question once, all answers to it below, and places for points that its script saves as a sheet."""
    questions, waiting = list(questions), list(waiting)
    lines: list[dict[str, str]] = []
    body = [f"<h1>{pages.text(assignment)}: answers in words</h1>"]
    for question in questions:
        answers = [each for each in waiting if each.exercise == question.id]
        if answers:
            body += [*_asked(question, len(answers)), *(_card(question, each, lines) for each in answers)]
    body.append(
        '<div id="controls" hidden><span><span id="count"></span> marked</span>'
        '<button type="button" id="save">Save marking.csv</button></div>'
        f'<script type="application/json" id="lines">{_json(lines)}</script>'
    )
    script = files("tfm_lib.classroom").joinpath("marking.js").read_text(encoding="utf-8")
    return pages.page(f"{assignment}: answers in words", "\n".join(body), STYLE, script)


def _lines(
    questions: Iterable[Question], waiting: Iterable[Waiting]
) -> Iterable[tuple[Question, Waiting, tuple[str, float]]]:
    waiting = list(waiting)
    for question in questions:
        for answer in waiting:
            if answer.exercise == question.id:
                for criterion in question.criteria:
                    yield question, answer, criterion


def _asked(question: Question, count: int) -> list[str]:
    wait = f"{count} {'answer waits' if count == 1 else 'answers wait'}"
    made = [f"<h2>{pages.text(question.title)}</h2>", f"<p class='question'>{pages.text(_plain(question.text))}</p>"]
    if question.answer:
        made.append(
            f"<details><summary>A model answer</summary><p class='question'>{pages.text(question.answer)}</p></details>"
        )
    return [*made, f"<p class='soft'>{wait}.</p>"]


def _plain(question: str) -> str:
    """The question without its heading, which stands above it."""
    return question.partition("\n")[2].strip() if question.startswith("#") else question


def _card(question: Question, answer: Waiting, lines: list[dict[str, str]]) -> str:
    own = question.own.get(answer.student)
    made = [f"<div class='card'><h2><span>{pages.text(answer.name)}</span></h2>"]
    made += [f"<p class='soft'>{LOOK}</p>"] if answer.unsure else []
    made += (
        [
            f"<details><summary>Asked of this student</summary><p class='question'>{pages.text(_plain(own))}</p></details>"
        ]
        if own
        else []
    )
    made.append(f"<blockquote>{pages.text(answer.text)}</blockquote><div class='marks'>")
    for criterion, most in question.criteria:
        line = len(lines)
        lines.append(
            {"student": answer.student, "exercise": question.id, "criterion": criterion, "text": answer.digest}
        )
        made.append(
            f"<label for='p{line}'>{pages.text(criterion)}</label><span><input id='p{line}' data-line='{line}' "
            f"data-column='points' type='number' min='0' max='{most:g}' step='any' inputmode='decimal'> / {most:g}</span>"
        )
    label = pages.text(f"Words for {answer.name}")
    made.append(
        f"<textarea data-line='{len(lines) - len(question.criteria)}' data-column='reason' rows='1' "
        f"aria-label=\"{label}\" placeholder='Words for the student'></textarea></div></div>"
    )
    return "\n".join(made)


def _json(lines: list[dict[str, str]]) -> str:
    """`lines` for a data block, in which nothing can end it."""
    return json.dumps(lines).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
