"""Pages: one for each student, which opens alone and runs nothing, and one that shows the class."""

from __future__ import annotations

import html
import math
from importlib.resources import files
from typing import Any

from tfm_lib.classroom.exports import days as shown_days
from tfm_lib.classroom.exports import frequent, number
from tfm_lib.classroom.scores import Row, Score

POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # no script runs on these pages, whatever stands in them
STYLE = """
body { font: 1rem/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--tfm-ink); background: var(--tfm-paper); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
.points { font-variant-numeric: tabular-nums; font-weight: 600; white-space: nowrap; }
.card { border: 1px solid var(--tfm-line); border-radius: .5rem; background: var(--tfm-card); padding: .2rem 1rem .8rem; margin: 1rem 0; }
.card h2 { display: flex; justify-content: space-between; gap: 1rem; margin-top: .8rem; }
.held { color: var(--tfm-value); } .not { color: var(--tfm-broken); } .soft { color: var(--tfm-soft); }
ul { padding-left: 1.2rem; list-style: none; } li { overflow-wrap: anywhere; } li::before { display: inline-block; width: 1.2rem; margin-left: -1.2rem; }
li.held::before { content: "✓"; } li.not::before { content: "→"; }
blockquote { margin: .5rem 0; padding-left: 1rem; border-left: 3px solid var(--tfm-line); white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid var(--tfm-line); }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
"""
WIDTH, BARS = 4.6, 20  # inches, so that a plot can be read on a phone; bars at most
WORDS = {
    "passed": "That holds.",
    "partly": "Partly.",
    "refused": "Not yet.",
    "unsolved": "The answer is still the stub.",
    "missing": "No answer was found.",
    "stopped": "It was stopped.",
    "not judged": "It could not be judged yet; nothing was taken from you.",
    "waiting": "A mark by hand is still to come.",
    "by hand": "Marked by hand.",
}


def student_page(score: Score, assignment: str) -> str:
    """The feedback for one student."""
    late = [_lateness(score, stem, days) for stem, days in score.late_days.items() if days]
    if score.before != score.points:
        late.append(f"Without lateness it is {number(score.before)} of {number(score.of)} points.")
    body = [
        f"<h1>{_text(assignment)}</h1>",
        f"<p>{_text(score.name)} · <span class='points'>{_points(score.points)} of {number(score.of)} points</span></p>",
        *(f"<p class='soft'>{_text(line)}</p>" for line in late),
        *("<p class='soft'>Some of it is still to be marked.</p>" for _ in [0] if score.waits),
        *(_card(row) for row in score.rows),
    ]
    return _page(f"{assignment} · {score.name}", "\n".join(body))


def _lateness(score: Score, stem: str, days: float) -> str:
    told = f"{number(round(days, 1))} {'day' if round(days, 1) == 1 else 'days'} late"
    if waiver := score.waived.get(stem):
        told += f", of which {shown_days(waiver.days)} waived" if waiver.days < days else ", which is waived"
    factor = score.factors[stem]
    return f"{told}." if factor == 1 else f"{told}: × {number(factor)}"


def _points(points: float | None) -> str:
    return "–" if points is None else str(number(points))


def _card(row: Row) -> str:
    lines = [
        f"<div class='card'><h2><span>{_text(row.title)}</span><span class='points'>{_points(row.points)} / {number(row.of)}</span></h2>"
    ]
    lines.append(f"<p><strong>{WORDS[row.outcome]}</strong> {_text(row.reason)}</p>")
    held = list(dict.fromkeys(held for test in row.tests for held in test.held))
    said = list(dict.fromkeys(test.message for test in row.tests if test.message and test.message != row.reason))
    told = [f"<li class='held'>{_text(text)}</li>" for text in held] + [
        f"<li class='not'>{_text(text)}</li>" for text in said
    ]
    lines += [f"<ul>{''.join(told)}</ul>"] if told else []
    lines += [f"<blockquote>{_text(row.text)}</blockquote>"] if row.text.strip() else []
    lines += [f"<p>Your instructor: {_text(row.by_hand)}</p>"] if row.by_hand else []
    lines += [f"<p class='soft'>{_text(row.graded)}</p>"] if row.graded else []
    if row.outcome not in ("passed", "by hand"):
        lines += [f"<p class='soft'>{_text(note)}</p>" for note in row.notes]
    return "\n".join([*lines, "</div>"])


def class_page(scores: list[Score], assignment: str) -> str:
    """The class at a glance: the distribution, how each exercise went, and the mistakes that were recognised."""
    handed_in = [score for score in scores if not score.nothing]
    totals = [score.points for score in handed_in if score.points is not None]
    finished = "" if len(totals) == len(handed_in) else f" of the {len(totals)} that are finished"
    mean = number(round(sum(totals) / len(totals), 2)) if totals else "not known yet"
    rows = [row for score in handed_in for row in score.rows]
    mistakes = frequent(f"{row.title}: {test.mistake}" for row in rows for test in row.tests if test.mistake)
    waiting = sorted(score.name for score in scores if score.waits)
    body = [
        f"<h1>{_text(assignment)}: the class</h1>",
        f"<p>{len(handed_in)} of {len(scores)} handed in; the mean{finished} is {mean} of {number(max((score.of for score in scores), default=0))} points.</p>",
        _distribution(totals, max((score.of for score in scores), default=0)),
        _success(handed_in),
        "<h2>The most frequent mistakes that were recognised</h2>",
        _table(["mistake", "students"], mistakes[:15]) if mistakes else "<p>None.</p>",
    ]
    if waiting:
        body += ["<h2>Still to be marked</h2>", f"<p>{_text(', '.join(waiting))}</p>"]
    return _page(f"{assignment}: the class", "\n".join(body))


def _distribution(totals: list[float], of: float) -> str:
    from tfm_lib.book.display import figure

    if not totals:
        return ""
    most = of or 1
    step = math.ceil(most / BARS)
    edges = [step * (place - 0.5) for place in range(math.ceil(most / step) + 2)]  # bars around whole points
    fig, ax = figure(width=WIDTH, height=2.4)
    counts, _, _ = ax.hist(totals, bins=edges, rwidth=0.9)
    ax.set(xlabel="points", ylabel="students", title="Points")
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True)
    alt = f"A histogram of the points of {len(totals)} students; the tallest of {len(counts)} bars holds {int(max(counts))}."
    return _figure(fig, alt)


def _success(scores: list[Score]) -> str:
    from tfm_lib.book.display import figure

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
        ax.text(0, place - 0.28, title[:48], va="bottom")
    ax.set(xlim=(0, 100), ylim=(len(means) - 0.6, -0.9), yticks=[], xlabel="share of the points, %", title="Exercises")
    alt = "Share of the points that the class has for each exercise: " + ", ".join(
        f"{title} {mean:.0f} %" for title, mean in means.items()
    )
    return _figure(fig, f"{alt}.")


def _figure(fig: Any, alt: str) -> str:
    from tfm_lib.book.display import svg_text

    return f'<figure role="img" aria-label="{_text(alt)}">{svg_text(fig)}</figure>'


def _table(head: list[str], rows: list[tuple[Any, ...]]) -> str:
    top = "".join(f"<th>{_text(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{_text(str(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{_colours()}{STYLE}</style></head><body><main>\n{body}\n</main></body></html>\n"
    )


def _colours() -> str:
    """The book's colours; the dark set where the reader's system asks for it, since no script runs here that could ask."""
    css = files("tfm_lib.book").joinpath("theme/tokens.css").read_text(encoding="utf-8")
    light, _, dark = css.partition('html[data-theme="dark"]')
    dark = dark[dark.index("{") : dark.index("}") + 1]
    return f":root {{ color-scheme: light dark; }}\n{light}@media screen and (prefers-color-scheme: dark) {{ :root {dark} }}\n"


def _text(text: str) -> str:
    return html.escape(text)
