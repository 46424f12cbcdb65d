"""Make a student's feedback page: what each answer earned and why. It is self-contained and runs no code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from tfm_grader import standalone_page
from tfm_grader.exports.grades import days as days_told
from tfm_grader.names import counted
from tfm_grader.scoring.regrade_requests import Outcome
from tfm_grader.scoring.scores import Row, Score
from tfm_grader.standalone_page import text
from tfm_grader.tables import number

WORDS = {
    "passed": "That holds.",
    "partly": "Partly.",
    "refused": "Not yet.",
    "unsolved": "The answer is still the stub.",
    "missing": "No answer was found.",
    "stopped": "It was stopped.",
    "unreadable": "Your notebook could not be read; hand it in again.",
    "not accepted": "What you handed in was not accepted; hand in your notebook again.",
    "undecided": "Members of your team handed in different notebooks; your instructor decides which one counts.",
    "not judged": "It could not be judged yet; nothing was taken from you.",
    "waiting": "A mark by hand is still to come.",
    "by hand": "Marked by hand.",
}
UNSURE = "It stands elsewhere than under its question, so your instructor looks whether this is your answer:"
ASK = (
    "Does a number seem wrong to you? Write to your instructor, and name the exercise, what you expected and why, "
    "and the notebook that was graded:"
)


def student_page(
    score: Score,
    assignment: str,
    code: Mapping[str, list[str]] = MappingProxyType({}),
    requests: Iterable[Outcome] = (),
) -> str:
    """Build one student's feedback page; `code` holds their own code by exercise, `requests` those for a regrade."""
    asked: dict[str, list[Outcome]] = {}
    for each in requests:
        asked.setdefault(each.request.exercise, []).append(each)
    body = [
        f"<h1>{text(assignment)}</h1>",
        f"<p>{text(score.name)} · <span class='points'>{_points(score.points)} of {counted(score.of, 'point')}</span></p>",
        *(f"<p class='soft'>{text(line)}</p>" for line in [*_unfinished(score), *_of_team(score), *_lateness(score)]),
        *(_card(row, code.get(row.id, []), asked.get(row.id, [])) for row in score.rows),
        *_asking(score),
    ]
    return standalone_page.page(f"{assignment} · {score.name}", "\n".join(body))


def _unfinished(score: Score) -> list[str]:
    """State the points known so far, if anything is still pending."""
    waiting = [row for row in score.rows if row.waits]
    if not waiting:
        return []
    before = round(sum(row.points or 0 for row in score.rows), 2)
    known = round(sum(score.counted(row) or 0 for row in score.rows), 2)
    told = f"{counted(known, 'point')} so far" + (
        f" after lateness ({number(before)} before)" if known != before else ""
    )
    rest = sum(row.of for row in waiting)
    verb = "is" if rest == 1 else "are"
    return [f"Not final: {told}, and {number(rest)} {verb} still to be decided."]


def _of_team(score: Score) -> list[str]:
    """Say whose notebook counts for the student's team."""
    names: dict[str, list[str]] = {}
    for stem, holder in score.holders.items():
        names.setdefault(holder.told, []).append(stem)
    by = [name if len(names) == 1 else f"{name} ({', '.join(stems)})" for name, stems in names.items()]
    return [f"Handed in by {' and '.join(by)} for the team {score.team}."] if score.team and by else []


def _own_due_dates(score: Score) -> list[str]:
    """Say which due date of the student's own counted, and why."""
    stems: dict[str, list[str]] = {}
    for stem, waiver in score.waived.items():
        if when := waiver.due:
            told = f"due on {when.day} {when:%B %Y at %H:%M %Z}" + (f" ({waiver.reason})" if waiver.reason else "")
            stems.setdefault(told, []).append(stem)
    if not stems:
        return []
    whole = [set(each) == set(score.late_days) for each in stems.values()] == [True]
    return [
        f"For you, this was {told}." if whole else f"For you, {', '.join(of)} was {told}." for told, of in stems.items()
    ]


def _lateness(score: Score) -> list[str]:
    lines, several = _own_due_dates(score), len(score.late_days) > 1
    if score.handed_in is not None:
        zone = next((due.tzinfo for due in score.due.values()), UTC)
        when = datetime.fromtimestamp(score.handed_in, zone)
        lines.append(f"{'Last handed' if several else 'Handed'} in on {when.day} {when:%B %Y at %H:%M %Z}.")
    for stem, late in score.late_days.items():
        if not late:
            continue
        told = f"{stem}: " if several else ""
        told += f"{number(round(late, 1))} {'day' if round(late, 1) == 1 else 'days'} late"
        if (waiver := score.waived.get(stem)) and waiver.due is None:
            part = "all of which" if waiver.days >= late else f"of which {days_told(waiver.days)}"
            told += f", {part} {'is' if waiver.days == 1 and waiver.days < late else 'are'} waived"
            told += f" ({waiver.reason})" if waiver.reason else ""
        factor = score.factors.get(stem, 1.0)
        lines.append(f"{told}." if factor == 1 else f"{told}: × {number(factor)}. A day that has begun counts whole.")
    if score.before is not None and score.before != score.points:
        lines.append(
            f"{number(score.before)} of {counted(score.of, 'point')} before lateness, {_points(score.points)} after; "
            "each exercise below shows its points before."
        )
    return lines


def _points(points: float | None) -> str:
    return "–" if points is None else str(number(points))


def _card(row: Row, code: list[str], requests: list[Outcome]) -> str:
    points = f"{_points(row.points)} / {number(row.of)}"
    lines = [f"<div class='card'><h2><span>{text(row.title)}</span><span class='points'>{points}</span></h2>"]
    ours = row.outcome == "not judged"  # a grader failure; its reason may mention hidden tests
    why = f"({row.why})" if row.outcome == "not accepted" and row.why else row.reason
    lines.append(f"<p><strong>{WORDS[row.outcome]}</strong> {'' if ours else text(why)}</p>")
    if not ours:
        lines += _told(row)
    if row.by_hand:
        lines.append(f"<p>Your instructor: {text(row.by_hand)}</p>")
    for each in requests:
        lines.append(f"<p>You asked for a regrade:</p><blockquote>{text(each.request.request)}</blockquote>")
        answer = f"{each.request.answer} " if each.request.answer else ""
        lines.append(f"<p><strong>{text(answer)}{text(each.sentence)}</strong></p>")
    if row.unsure and row.waits:
        lines.append(f"<p class='soft'>{UNSURE}</p>")
    lines += [f"<blockquote>{text(row.text)}</blockquote>"] if row.text.strip() else []
    if code:
        lines.append(f"<details><summary>Your code</summary>{''.join(map(standalone_page.code, code))}</details>")
    lines += [f"<p class='soft'>{text(row.graded)}</p>"] if row.graded else []
    if not ours and row.outcome not in ("passed", "by hand"):
        lines += [f"<p class='soft'>{text(note)}</p>" for note in row.notes]
    return "\n".join([*lines, "</div>"])


def _told(row: Row) -> list[str]:
    """List what held and what did not, without repetition."""
    held = dict.fromkeys(held for test in row.tests for held in test.held)
    told = (row.reason, WORDS[row.outcome])
    said = dict.fromkeys(test.message for test in row.tests if test.message and test.message not in told)
    lines = [f"<li class='held'>{text(each)}</li>" for each in held] + [
        f"<li class='not'>{text(each)}</li>" for each in said
    ]
    return [f"<ul>{''.join(lines)}</ul>"] if lines else []


def _asking(score: Score) -> list[str]:
    hashes = dict.fromkeys(row.bound.handed_in[:12] for row in score.rows if row.bound.handed_in)
    return [f"<p class='soft'>{ASK} <code>{text(', '.join(hashes))}</code></p>"] if hashes else []
