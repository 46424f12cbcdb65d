"""Make the marking sheet: all written answers that wait for a mark, as a CSV file and as a page.

The sheet also contains every mark given before, with its answer, so that one file is always complete and any mark can
be changed in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from tfm_grader import standalone_page, tables
from tfm_grader.assignment.bundle import Bundle
from tfm_grader.names import counted
from tfm_grader.scoring.manual_grades import WHOLE, BadMarks
from tfm_grader.scoring.scores import NEW_MARK, RESCALED, Row, Score

KEPT = ("student", "exercise", "criterion", "points", "reason", "text", "author", "time")  # the columns of a mark
COLUMNS = ("student", "name", "exercise", "criterion", "of", "points", "reason", "text", "author", "time", "answer")
LOOK = "It was not found under its question for sure. Look whether this answers it."
DIFFERS = (
    "Numbers differ between students: the question and the model answer here are the general version. "
    "A student's own question is in the fold above their answer."
)
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
    """A question with a written answer: its text and its rubric criteria."""

    id: str
    title: str
    text: str
    answer: str
    criteria: tuple[tuple[str, float], ...]
    own: Mapping[str, str]  # its text for students with personal values


@dataclass
class SheetLine:
    """A line of the sheet: one criterion of one answer, with its points once they are given."""

    cells: dict[str, str]
    answer: Row | None = None  # set on the first line of an answer that waits
    asked: str = ""  # the student whose version of the question it answers

    @property
    def filled(self) -> bool:
        return bool(self.cells["points"])


@dataclass
class Desk:
    """All answers that wait for a mark, and all existing marks."""

    assignment: str
    questions: list[Question]
    lines: list[SheetLine] = field(default_factory=list)

    @classmethod
    def of(cls, bundle: Bundle, scores: Iterable[Score], given: Iterable[Mapping[str, str]]) -> Desk:
        """Build it from the answers that wait in `scores`, and the lines `given` in the file of marks.

        A team's answer is there once, under the team's name. Members whose own marks are in the file stay by themselves.
        """
        made = cls(bundle.manifest.name, questions(bundle))
        rows = {(score.student, row.id): (score, row) for score in scores for row in score.rows}
        marked_rows = {(score.team, id): row for (_, id), (score, row) in rows.items()}
        marked_rows |= {key: row for key, (_, row) in rows.items()}
        names = _names([score for score, _ in rows.values()])
        guarded = {tables.cell(name): name for name in names}  # names as escaped in a sheet
        known: dict[tuple[str, str], list[Mapping[str, str]]] = {}
        for cells in given:
            student = guarded.get(cells["student"], cells["student"])
            known.setdefault((student, cells["exercise"]), []).append({**cells, "student": student})
        for question in made.questions:
            there: set[str] = set()
            for (student, id), (score, row) in rows.items():
                if id == question.id and row.waits and row.text.strip():
                    marked = any(cells["points"] for cells in known.get((student, id), ()))
                    whose = student if marked or not score.team else score.team
                    before = [] if row.lacks in (NEW_MARK, RESCALED) else known.get((whose, id), [])
                    for key in ((student, id), (whose, id)):
                        known.pop(key, None)
                    if whose not in there:
                        there.add(whose)
                        made.lines += _blank(question, whose, names[whose], score, row, before)
        for key, lines in known.items():
            made.lines += _kept(names.get(key[0], ""), marked_rows.get(key), made.questions, lines)
        return made

    @property
    def waiting(self) -> int:
        """The number of answers that wait."""
        return sum(line.answer is not None for line in self.lines)

    def sheet(self) -> str:
        """Build marking.csv: a line for each criterion of each answer, with points to be filled in."""
        rows: list[list[Any]] = [list(COLUMNS)]
        rows += [[line.cells[name] for name in COLUMNS] for line in self.lines]
        return tables.table(rows)

    def page(self) -> str:
        """Build marking.html: each question with its waiting answers, and inputs for points.

        Its script saves them as a sheet.
        """
        body = [f"<h1>{standalone_page.text(self.assignment)}: answers in words</h1>"]
        for question in self.questions:
            places = [at for at, line in enumerate(self.lines) if line.answer and line.answer.id == question.id]
            if places:
                body += [*_asked(question, len(places)), *(self._card(question, at) for at in places)]
        data = json.dumps([{name: line.cells[name] for name in KEPT} for line in self.lines])
        for char in "<>&":  # escaped so that nothing can end the script block
            data = data.replace(char, f"\\u{ord(char):04x}")
        body.append(
            '<div id="controls" hidden><span><span id="count"></span> marked</span>'
            '<button type="button" id="save">Save marking.csv</button></div>'
            f'<script type="application/json" id="lines">{data}</script>'
        )
        script = files("tfm_grader.scoring").joinpath("marking_sheet.js").read_text(encoding="utf-8")
        return standalone_page.page(f"{self.assignment}: answers in words", "\n".join(body), STYLE, script)

    def _card(self, question: Question, at: int) -> str:
        answer, cells = self.lines[at].answer, self.lines[at].cells
        assert answer is not None  # a card belongs to the first line of an answer
        made = [f"<div class='card'><h2><span>{standalone_page.text(cells['name'])}</span></h2>"]
        made += [f"<p class='soft'>{LOOK}</p>"] if answer.unsure else []
        if own := question.own.get(self.lines[at].asked):
            whom = "student" if self.lines[at].asked == cells["student"] else "team"
            made.append(
                f"<details><summary>Asked of this {whom}</summary><p class='question'>{standalone_page.text(_plain(own))}</p></details>"
            )
        made.append(f"<blockquote>{standalone_page.text(answer.text)}</blockquote><div class='marks'>")
        for place, (criterion, most) in enumerate(question.criteria, start=at):
            points = standalone_page.text(self.lines[place].cells["points"])
            made.append(
                f"<label for='p{place}'>{standalone_page.text(criterion)}</label><span><input id='p{place}' data-line='{place}' "
                f"data-column='points' type='number' min='0' max='{most:g}' step='any' inputmode='decimal' value='{points}'> / {most:g}</span>"
            )
        label, reason = standalone_page.text(f"Words for {cells['name']}"), standalone_page.text(cells["reason"])
        made.append(
            f"<textarea data-line='{at}' data-column='reason' rows='1' aria-label='{label}' "
            f"placeholder='Words for the student'>{reason}</textarea></div></div>"
        )
        return "\n".join(made)


EFFORT = re.compile(r"^\*\d+ minutes · [★☆]+\*\n+", re.MULTILINE)


def questions(bundle: Bundle) -> list[Question]:
    """List the questions of `bundle` that have written answers."""
    entries = [entry for stem in bundle.stems for entry in bundle.exercises(stem) if entry.kind == "text"]
    return [
        Question(
            entry.id,
            entry.title,
            EFFORT.sub("", entry.question),
            entry.answer,
            tuple((each.name, each.points) for each in entry.rubric) or ((WHOLE, entry.points),),
            {name: EFFORT.sub("", question) for name, question in entry.own_questions.items()},
        )
        for entry in entries
    ]


def require_within(given: Iterable[Mapping[str, str]], bundle: Bundle) -> None:
    """Check criteria and their points against the manifest's rubrics. Raises BadMarks."""
    most = {(question.id, name): points for question in questions(bundle) for name, points in question.criteria}
    known, guarded = {id for id, _ in most}, {tables.cell(name): name for _, name in most}
    for cells in given:
        id, points = cells["exercise"], cells["points"]
        criterion = guarded.get(cells["criterion"], cells["criterion"])
        if not criterion or id not in known:
            continue
        if (id, criterion) not in most:
            names = ", ".join(name for of, name in most if of == id)
            raise BadMarks(f"{cells['student']}: {id} has no criterion {criterion!r}. It has {names}.")
        if points and float(points.replace(",", ".")) > most[id, criterion]:
            raise BadMarks(
                f"{cells['student']}: {criterion!r} of {id} gives {counted(most[id, criterion], 'point')} at most, not {points}."
            )


def holds_more(written: Iterable[Mapping[str, str]], desk: Desk) -> bool:
    """Whether an existing sheet contains a mark that `desk` lacks, and so must not be overwritten."""
    filled = {_key(line.cells) for line in desk.lines if line.filled}
    return any(cells["points"] and _key(cells) not in filled for cells in written)


def _key(cells: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(tables.cell(cells[name]) for name in ("student", "exercise", "criterion", "points", "reason"))


def _names(scores: Iterable[Score]) -> dict[str, str]:
    """Return the names to show: of each student, and for each team those of its members."""
    students: dict[str, str] = {}
    teams: dict[str, dict[str, str]] = {}
    for score in scores:
        students[score.student] = score.name
        if score.team:
            teams.setdefault(score.team, {})[score.student] = score.name
    return students | {team: ", ".join(members.values()) for team, members in teams.items()}


def _blank(
    question: Question, whose: str, name: str, score: Score, row: Row, before: list[Mapping[str, str]]
) -> list[SheetLine]:
    """Make the lines for a waiting answer of `whose`, a student or a team, with what was filled in `before`."""
    filled = {cells["criterion"]: cells for cells in before}
    made = []
    for criterion, most in question.criteria:
        known = filled.get(criterion) or filled.get(tables.cell(criterion), {})
        cells = {name: known.get(name, "") for name in COLUMNS}
        cells |= {"student": whose, "name": name, "exercise": row.id, "criterion": criterion}
        cells |= {"of": f"{most:g}", "text": row.subject, "answer": "" if made else _words(row)}
        made.append(SheetLine(cells, None if made else row, score.student))
    return made


def _kept(name: str, row: Row | None, asked: list[Question], lines: list[Mapping[str, str]]) -> list[SheetLine]:
    """Make the lines for a mark that was given before, with the answer or work `row` that it is for, if it is known."""
    most = {WHOLE: f"{row.of:g}", "": f"{row.of:g}"} if row else {}
    for question in asked:
        if row and question.id == row.id:
            most |= {tables.cell(criterion): f"{points:g}" for criterion, points in question.criteria}
    made = []
    for cells in lines:
        more = {"name": name, "of": most.get(tables.cell(cells["criterion"]), "")}
        more["answer"] = _words(row) if row and not made else ""
        made.append(SheetLine({**dict.fromkeys(COLUMNS, ""), **cells, **more}))
    return made


def _words(row: Row) -> str:
    """Return a written answer for the sheet, with a warning if it is unclear that it is the answer."""
    return f"({LOOK}) {row.text}" if row.unsure and row.waits else row.text


def _asked(question: Question, count: int) -> list[str]:
    wait = f"{count} {'answer waits' if count == 1 else 'answers wait'}"
    made = [
        f"<h2>{standalone_page.text(question.title)}</h2>",
        *([f"<p class='soft'>{DIFFERS}</p>"] if question.own else []),
        f"<p class='question'>{standalone_page.text(_plain(question.text))}</p>",
    ]
    if question.answer:
        made.append(
            f"<details><summary>A model answer{' to the general version' if question.own else ''}</summary><p class='question'>{standalone_page.text(question.answer)}</p></details>"
        )
    return [*made, f"<p class='soft'>{wait}.</p>"]


def _plain(question: str) -> str:
    """Remove the question's heading, which is shown above it."""
    return question.partition("\n")[2].strip() if question.startswith("#") else question
