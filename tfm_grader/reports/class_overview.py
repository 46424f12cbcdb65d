"""Make the instructor's page about a class: points, results by exercise, and recognised mistakes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from tfm_grader.exports.grades import frequent
from tfm_grader.names import counted
from tfm_grader.reports.similarity import Pair
from tfm_grader.scoring.scores import HAND_IN, Score
from tfm_grader.standalone_page import html_table, page, text
from tfm_grader.tables import number

WIDTH, BARS = 4.6, 20  # inches, readable on a phone; maximum number of bars
LOOK = "Programs that are alike once their names and numbers are set aside, and that the class does not share, and weights that are the same but for small changes, as two trainings from one seed with the same settings are too. A likeness proves nothing: look at them, and ask."


def class_page(scores: list[Score], assignment: str, alike: Iterable[tuple[str, Pair]] = ()) -> str:
    """Build the class page: the distribution of points, results by exercise, and recognised mistakes."""
    handed_in = [score for score in scores if not score.nothing and not score.not_accepted]
    # a 0 for what is missing counts, as in the grades
    totals = [score.points for score in scores if score.points is not None]
    finished = f" of the {len(totals)} that are finished" if len(totals) > 1 else " of the one that is finished"
    finished = finished if len(totals) < len(scores) else ""
    of = max((score.of for score in scores), default=0)
    mean = (
        f"the mean{finished} is {number(round(sum(totals) / len(totals), 2))} of {counted(of, 'point')}"
        if totals
        else ""
    )
    rows = [row for score in scores for row in score.rows]
    mistakes = frequent(f"{row.title}: {test.mistake}" for row in rows for test in row.tests if test.mistake)
    remarks = [(row.title, score.name, each) for score in scores for row in score.rows for each in row.remarks]
    waiting = sorted((score.name, "; ".join(lacks)) for score in scores if (lacks := _waits_for(score)))
    body = [
        f"<h1>{text(assignment)}: the class</h1>",
        f"<p>{len(handed_in)} of {len(scores)} handed in; {mean or 'no total is known yet'}.</p>",
        _distribution(totals, of),
        _success(scores),
        "<h2>The most frequent mistakes that were recognised</h2>",
        html_table(["mistake", "students"], mistakes[:15]) if mistakes else "<p>None.</p>",
    ]
    if waiting:
        body += ["<h2>Not finished</h2>", html_table(["student", "waits for"], waiting)]
    if remarks:
        body += ["<h2>For you alone</h2>", html_table(["exercise", "student", "remark"], remarks)]
    if groups := _groups(alike, {score.student: score.name for score in scores}):
        body += ["<h2>Worth a look together</h2>", f"<p class='soft'>{LOOK}</p>"]
        body.append(html_table(["chapter", "students", "in common"], groups))
    return page(f"{assignment}: the class", "\n".join(body))


def _groups(alike: Iterable[tuple[str, Pair]], names: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Join pairs of one chapter into a group where every two of its students are a pair; others stay pairs.

    Each row is the chapter, names, and what the pairs have in common. Two who share a source share nothing by that.
    """
    found: list[tuple[str, list[Pair]]] = []
    for stem, pair in alike:
        joined = [pair]
        for group in [each for each in found if each[0] == stem and _members(each[1]) & _members([pair])]:
            joined += group[1]
            found.remove(group)
        found.append((stem, joined))
    rows = []
    for stem, pairs in found:
        whole = len(pairs) == math.comb(len(_members(pairs)), 2)
        for together in [pairs] if whole else [[pair] for pair in pairs]:
            shares = [pair.share for pair in together]
            least, most = f"{100 * min(shares):.0f}", f"{100 * max(shares):.0f}"
            who = ", ".join(sorted(names.get(student, student) for student in _members(together)))
            rows.append((stem, who, f"{most} %" if least == most else f"{least} to {most} %"))
    return rows


def _members(pairs: Iterable[Pair]) -> set[str]:
    return {student for pair in pairs for student in (pair.first, pair.second)}


def _waits_for(score: Score) -> list[str]:
    """List what the blank scores of a student wait for."""
    several = len(score.late_days) > 1 and not score.nothing
    made = []
    for row in score.rows:
        of = f" for {row.id.partition('.')[0]}" if several and row.lacks == HAND_IN else ""
        made += [f"{row.lacks}{of}{f' ({row.why})' if row.why else ''}"] if row.lacks else []
    return list(dict.fromkeys(made))


def _distribution(totals: list[float], of: float) -> str:
    from tfm_lib.drawing.display import figure

    if not totals:
        return ""
    most = of or 1
    step = math.ceil(most / BARS)
    edges = [step * (place - 0.5) for place in range(math.ceil(most / step) + 2)]  # bars centred on whole points
    fig, ax = figure(width=WIDTH, height=2.4)
    counts, _, _ = ax.hist(totals, bins=edges, rwidth=0.9)
    ax.set(xlabel="points", ylabel="students", title="Points")
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True)
    alt = f"A histogram of the points of {counted(len(totals), 'student')}; the tallest of {len(counts)} bars holds {int(max(counts))}."
    return _figure(fig, alt)


def _success(scores: list[Score]) -> str:
    from tfm_lib.drawing.display import figure

    shares: dict[str, list[float]] = {}
    for score in scores:
        for row in score.rows:
            if row.of and row.points is not None:
                shares.setdefault(row.title, []).append(row.points / row.of)
    if not shares:
        return ""
    means = {title: 100 * sum(values) / len(values) for title, values in shares.items()}
    fig, ax = figure(width=WIDTH, height=0.8 + 0.5 * len(means))
    places = range(len(means))
    ax.barh(places, list(means.values()), height=0.4)
    ax.spines["left"].set_visible(False)
    for place, title in zip(places, means, strict=True):
        ax.text(0, place - 0.28, title[:48], va="bottom", parse_math=False)  # titles are plain text, dollar signs too
    ax.set(xlim=(0, 100), ylim=(len(means) - 0.6, -0.9), yticks=[], xlabel="share of the points, %", title="Exercises")
    alt = "Share of the points that the class has for each exercise: " + ", ".join(
        f"{title} {mean:.0f} %" for title, mean in means.items()
    )
    return _figure(fig, f"{alt}.")


def _figure(fig: Any, alt: str) -> str:
    from tfm_lib.drawing.display import svg_text

    return f'<figure role="img" aria-label="{text(alt)}">{svg_text(fig)}</figure>'
