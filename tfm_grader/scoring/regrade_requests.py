"""Students' requests for a regrade: one CSV line for each, which the next report answers.

The first report that sees a request notes the points of that time in the audit log, so that later ones can say what
has become of it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tfm_grader import tables
from tfm_grader.judging.audit_log import Answered, AuditLog, Event, Exported, Judgement, Marked, Requested, Withdrawn
from tfm_grader.names import digest
from tfm_grader.scoring.scores import Row, Score
from tfm_grader.tables import BadTable, Faults, cell, read_rows

COLUMNS = ("student", "exercise", "request")
MORE = ("answer",)
SHEET = ("student", "name", "exercise", "request", "was", "points", "of", "answer")
IGNORED = ("was", "points", "of")  # columns of requests.csv that are not read
LONGEST = 4000  # characters of a request or an answer


class BadRequests(BadTable):
    """The file of requests cannot be used; the message says which line, and why."""


@dataclass(frozen=True)
class Request:
    """One student's request about one exercise, with the instructor's answer if there is one."""

    student: str
    exercise: str
    request: str
    answer: str = ""
    line: int = 0

    @property
    def mark(self) -> str:
        """The SHA-256 of what the student wrote, by which the audit log knows the request."""
        return digest(cell(self.request))  # as a sheet that was written and read again has it


@dataclass(frozen=True)
class Asked:
    """The requests in a file, and its faulty lines as pairs of a line number and a sentence."""

    requests: tuple[Request, ...]
    faults: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What has become of a request: the points when it was first seen, and now (None if they are still open)."""

    request: Request
    name: str
    of: float
    was: float | None
    now: float | None

    @property
    def settled(self) -> bool:
        """Whether it was answered, or the points have changed since."""
        return bool(self.request.answer) or (self.now is not None and self.now != self.was)

    @property
    def sentence(self) -> str:
        """Say what became of the points."""
        if not self.settled:
            return "Your request is being looked at."
        if self.now is None:
            return f"The points are still to be decided{'' if self.was is None else ' again'}."
        if self.now == self.was:
            return f"The points stay as they were: {self.now:g} of {self.of:g}."
        before = "open" if self.was is None else f"{self.was:g}"
        return f"The points were {before} and are now {self.now:g}, of {self.of:g}."


@dataclass
class Requests:
    """All requests of a class with their outcomes, what to note in the audit log, and lines for the instructor."""

    outcomes: list[Outcome] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def of(self, student: str) -> list[Outcome]:
        """List the outcomes of one student's requests."""
        return [each for each in self.outcomes if each.request.student == student]

    @property
    def waiting(self) -> list[Outcome]:
        return [each for each in self.outcomes if not each.settled]

    def sheet(self) -> str:
        """Build requests.csv: all requests, the open ones first, with a column for the answer."""
        rows: list[list[object]] = [list(SHEET)]
        for each in sorted(self.outcomes, key=lambda each: each.settled):
            asked = each.request
            was, now = ("" if points is None else f"{points:g}" for points in (each.was, each.now))
            rows.append(
                [asked.student, each.name, asked.exercise, asked.request, was, now, f"{each.of:g}", asked.answer]
            )
        return tables.table(rows)


def read_requests(path: Path) -> Asked:
    """Read the requests at `path`.

    Raises BadTable if the columns are wrong. Faults in single lines are raised by `settle`, with its own.
    """
    found: dict[tuple[str, str, str], Request] = {}
    faults = Faults(BadRequests)
    for number, cells in read_rows(path, COLUMNS, MORE, IGNORED, faults):
        where = f"{path}, line {number}"
        with faults.line(number):
            if not cells["request"]:
                raise BadRequests(f"{where}: the request is empty. Write what the student expects, and why.")
            if max(len(cells["request"]), len(cells["answer"])) > LONGEST:
                raise BadRequests(f"{where}: a request and an answer have at most {LONGEST} characters.")
            key = cells["student"], cells["exercise"], cells["request"]
            if key in found:
                raise BadRequests(
                    f"{where}: this request stands in line {found[key].line} already. Keep one of the two."
                )
            found[key] = Request(*key, cells["answer"], number)
    return Asked(tuple(found.values()), tuple(faults.told))


def are_all_in(path: Path, requests: Requests) -> bool:
    """Whether the list at `path` has nothing that `requests` don't have, so that it may be replaced."""
    asked = [each.request for each in requests.outcomes]
    have = {tuple(map(cell, (each.student, each.exercise, each.request, each.answer))) for each in asked}
    try:
        there = read_requests(path)
    except BadTable:
        return False
    held = {(each.student, each.exercise, each.request, each.answer) for each in there.requests}
    return not there.faults and held <= have


def settle(
    asked: Asked, scores: Iterable[Score], log: AuditLog, path: Path, left: Container[str] = frozenset()
) -> Requests:
    """Compare each request with the current `scores`. Those of students who `left` the class are noted and skipped.

    Raises BadRequests if a line could not be read, or names nobody, or no exercise of the assignment.
    """
    rows = {(cell(score.student), row.id): (score, row) for score in scores for row in score.rows}
    rows |= {(score.student, id): found for (_, id), found in rows.items() for score in [found[0]]}
    seen, answered = _logged(log)
    before = _LastReport(log)
    made, gone, faults = Requests(), [], Faults(BadRequests, asked.faults)
    for each in asked.requests:
        found = rows.get((each.student, each.exercise))
        if found is None and each.student in left:
            gone.append(each.student)
            continue
        if found is None:
            who = f"no student {each.student!r} with an exercise {each.exercise!r}"
            faults.told.append((each.line, f"{path}, line {each.line}: there is {who}. Mind the spelling."))
            continue
        score, row = found
        own = Request(score.student, row.id, each.request, each.answer, each.line)
        key = own.student, own.exercise, own.mark
        was = seen[key].points if key in seen else before.points(score, row)
        made.outcomes.append(Outcome(own, score.name, row.of, was, row.points))
        if key not in seen:
            made.events.append(Requested(*key, was))
        if own.answer and answered.get(key) != own.answer:
            made.events.append(Answered(*key, own.answer, row.points))
    faults.refuse()
    made.notes += [f"requests passed over, since the student left the class: {', '.join(dict.fromkeys(gone))}"] * bool(
        gone
    )
    if made.waiting:
        told = ", ".join(f"{each.request.student} ({each.request.exercise})" for each in made.waiting)
        made.notes.append(f"requests for a regrade that wait for an answer: {told}")
    return made


class _LastReport:
    """The points that the last report told, by student (or team) and exercise; marks by hand come first."""

    def __init__(self, log: AuditLog):
        self.judged: dict[tuple[str, str], float] = {}
        self.marks: dict[tuple[str, str], float] = {}
        reports = [place for place, line in enumerate(log.lines) if isinstance(line.event, Exported)]
        for line in log.lines[: reports[-1]] if reports else []:
            event = line.event
            if isinstance(event, Judgement) and not event.text:
                self.judged[event.student, event.exercise] = event.points
            elif isinstance(event, Marked):
                self.marks[event.student, event.exercise] = event.points
            elif isinstance(event, Withdrawn):
                self.marks.pop((event.student, event.exercise), None)

    def points(self, score: Score, row: Row) -> float | None:
        """Return the points of a row, or those by the tests if no report has told any."""
        for name in (score.student, score.team):
            if (name, row.id) in self.marks:
                return self.marks[name, row.id]
        holder = score.holders.get(row.id.partition(".")[0])
        return self.judged.get((holder.student if holder else score.student, row.id), row.judged)


def _logged(log: AuditLog) -> tuple[dict[tuple[str, str, str], Requested], dict[tuple[str, str, str], str]]:
    """Return the first event of each request, and the last answer to each."""
    seen: dict[tuple[str, str, str], Requested] = {}
    answered: dict[tuple[str, str, str], str] = {}
    for line in log.lines:
        event = line.event
        if isinstance(event, Requested):
            seen.setdefault((event.student, event.exercise, event.request), event)
        elif isinstance(event, Answered):
            answered[event.student, event.exercise, event.request] = event.answer
    return seen, answered
