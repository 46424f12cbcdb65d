"""Tell students what the checks in their notebooks say of a hand-in: run as it will be graded, but worth no points.

Hidden tests aren't loaded, and nothing here reaches results, reports or the audit log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tfm_grader import standalone_page
from tfm_grader.assignment.bundle import Bundle
from tfm_grader.collecting.collected_record import Known
from tfm_grader.judging.grade import Engine, submission_at
from tfm_grader.names import counted
from tfm_grader.notebook import NotANotebook, read_notebook
from tfm_grader.records import ExerciseResult, Job, Judged, NotJudged, Submission, Unreadable
from tfm_grader.standalone_page import text
from tfm_lib._refusal import Refusal

LATER = "The tests that give points run after you have handed in; some of them are hidden."
SAID = {
    "passed": "What the check tries holds.",
    "unsolved": "The answer is still the stub.",
    "missing": "No answer was found.",
    "stopped": "It was stopped.",
    "refused": "Not yet.",
}
ANSWERED, NO_ANSWER = "Your answer in words was found. It is marked by hand.", "No answer in words was found."
NOT_RUN = "The checks could not be run, which says nothing about your answers. Ask for another run."
NO_CHECK = "This exercise has no check that you can see."


@dataclass(frozen=True)
class Checked:
    """What the check of one exercise says: a sentence, what holds, what doesn't, and remarks on how it was run."""

    id: str
    title: str
    said: str
    held: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    passed: bool = False
    counts: bool = False  # whether it is a check with a verdict, and not a written answer or an exercise without one

    @property
    def lines(self) -> list[str]:
        """Return the verdict as lines of text."""
        mark = "✓ " if self.passed else "→ " if self.counts else "  "
        rest = [*(f"    ✓ {each}" for each in self.held), *(f"    → {each}" for each in self.faults)]
        return [f"{mark}{self.title}: {self.said}", *rest, *(f"      {each}" for each in self.notes)]


@dataclass(frozen=True)
class CheckedNotebook:
    """What a student is told about one chapter's notebook. If it could not be checked, `trouble` says why."""

    student: str
    stem: str
    checked: list[Checked] = field(default_factory=list)
    trouble: str = ""

    @property
    def summary(self) -> str:
        """Return one sentence on the whole notebook."""
        if self.trouble:
            return self.trouble
        judged = [each for each in self.checked if each.counts]
        hold = "holds" if len(judged) == 1 else "hold"
        return f"{sum(each.passed for each in judged)} of {counted(len(judged), 'check')} {hold}. {LATER}"

    @property
    def told(self) -> str:
        """Return the summary with the chapter, which is unknown if a file wasn't accepted."""
        return f"{self.stem}: {self.summary}" if self.stem else self.summary

    @property
    def lines(self) -> list[str]:
        return [self.told, *(line for each in self.checked for line in each.lines)]


def one_notebook(path: Path, bundle: Bundle) -> Submission:
    """Read a single notebook, whose name, or whose hand-out, says which chapter it is of. Raises Refusal.

    If students have numbers of their own, the mark of the hand-out says whose these are.
    """
    found = submission_at(path, "", "")
    if found.trouble:
        raise Refusal(f"{path} cannot be read: {found.trouble}.")
    try:
        mark = read_notebook(found.data or b"").handout
    except NotANotebook as error:
        raise Refusal(f"{path} cannot be read as a notebook: {error}.") from None
    of = {
        stem: student
        for stem, chapter in bundle.manifest.chapters.items()
        for student, each in chapter.handouts.items()
        if mark and each == mark
    }
    stems = [stem for stem in bundle.stems if path.stem == stem] or [*of] or bundle.stems
    if len(stems) != 1:
        raise Refusal(f"{path.name} fits no chapter of the assignment. Name it {' or '.join(bundle.stems)}.ipynb.")
    return found.but(student=of.get(stems[0], ""), stem=stems[0])


def checked(bundle: Bundle, found: Iterable[Submission], engine: Engine) -> Iterator[CheckedNotebook]:
    """Run the visible checks of `bundle` on the notebooks `found`, and yield what each student is told."""
    jobs, by_key = [], {}
    for each in found:
        by_key[each.student, each.stem] = each
        if each.trouble:
            yield CheckedNotebook(each.student, each.stem, trouble=f"Your notebook could not be read: {each.trouble}.")
        elif each.data is not None:
            ids = [entry.id for entry in bundle.exercises(each.stem)]
            jobs.append(Job(student=each.student, stem=each.stem, ids=ids, data=each.data))
    for job, result in engine.results(jobs):
        if isinstance(result, Judged):
            yield CheckedNotebook(job.student, job.stem, [*_each(bundle, job.stem, result)])
        elif isinstance(result, Unreadable):
            yield CheckedNotebook(
                job.student, job.stem, trouble=f"Your notebook could not be read: {result.unreadable}."
            )
        elif isinstance(result, NotJudged):
            yield CheckedNotebook(job.student, job.stem, trouble=f"{NOT_RUN} ({result.infrastructure})")


def _each(bundle: Bundle, stem: str, result: Judged) -> Iterator[Checked]:
    for entry in bundle.exercises(stem):
        row = result.exercises.get(entry.id)
        if row is not None:
            yield _of_row(entry.title, row, result.notes or [])
        elif entry.kind == "text":
            said = ANSWERED if result.texts.get(entry.id, "").strip() else NO_ANSWER
            yield Checked(entry.id, entry.title, said)
        else:
            yield Checked(entry.id, entry.title, NO_CHECK)


def _of_row(title: str, row: ExerciseResult, notes: list[str]) -> Checked:
    if row.status == "infrastructure" or not row.tests:
        return Checked(row.id, title, "The check could not be run; this says nothing about your answer.")
    test, passed = row.tests[0], row.tests[0].outcome == "passed"
    message = test.message or row.reason
    remarks = [] if passed else [*notes, *row.notes, *([row.graded.sentence] if row.graded else [])]
    faults = [message] if message and message != SAID.get(test.outcome) else []
    return Checked(row.id, title, SAID.get(test.outcome, "Not yet."), test.held, faults, remarks, passed, True)


def not_accepted(people: Mapping[str, Known]) -> Iterator[CheckedNotebook]:
    """Yield what students are told whose files were refused when they were collected."""
    for student, known in people.items():
        for each in known.refused:
            yield CheckedNotebook(
                student, "", trouble=f"{each.file} was not accepted: {each.why}. Hand in your notebook again."
            )


def visible_pages(assignment: str, told: Iterable[CheckedNotebook], names: Mapping[str, str]) -> dict[str, str]:
    """Build a page for each student, by file name; `names` are those of students who have one beside their folder's."""
    by_student: dict[str, list[CheckedNotebook]] = {}
    for each in told:
        by_student.setdefault(each.student, []).append(each)
    return {
        f"{student}.html": _page(assignment, names.get(student) or student, sorted(each, key=lambda one: one.stem))
        for student, each in sorted(by_student.items())
    }


def _page(assignment: str, name: str, told: list[CheckedNotebook]) -> str:
    body = [
        f"<h1>{text(assignment)}: what the checks say</h1>",
        f"<p>{text(name)} · <strong>This is not a grade.</strong></p>",
    ]
    for each in told:
        body.append(f"<p>{text(each.told)}</p>")
        body += [_card(one) for one in each.checked]
    return standalone_page.page(f"{assignment} · {name}", "\n".join(body))


def _card(one: Checked) -> str:
    lines = [f"<li class='held'>{text(each)}</li>" for each in one.held]
    lines += [f"<li class='not'>{text(each)}</li>" for each in one.faults]
    parts = [f"<div class='card'><h2>{text(one.title)}</h2>", f"<p><strong>{text(one.said)}</strong></p>"]
    parts += [f"<ul>{''.join(lines)}</ul>"] if lines else []
    return "\n".join([*parts, *(f"<p class='soft'>{text(note)}</p>" for note in one.notes), "</div>"])
