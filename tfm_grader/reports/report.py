"""Make all reports of a class's results, and list what an instructor should check before releasing them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.manifest import Late
from tfm_grader.collecting import roster as rosters
from tfm_grader.collecting.collected_record import Known, roster
from tfm_grader.exports import grades, lms
from tfm_grader.exports.feedback_archives import archives
from tfm_grader.exports.pseudonyms import pseudonymised
from tfm_grader.judging import results
from tfm_grader.judging.audit_log import AuditLog, Event, Exported, Regarded, forgotten
from tfm_grader.judging.grade import submissions_in
from tfm_grader.names import digest
from tfm_grader.records import StudentResult, Submission
from tfm_grader.reports import class_overview, student_feedback
from tfm_grader.reports.own_code import Own
from tfm_grader.reports.team_hand_ins import as_member, decided, late_days, shared_result
from tfm_grader.scoring import manual_grades, marking_sheet, regrade_requests, waivers
from tfm_grader.scoring.scores import (
    ACCEPTED,
    HAND_IN,
    READABLE,
    RUN,
    UNDECIDED,
    ClassMember,
    Rules,
    Score,
    score,
    with_marks,
)
from tfm_grader.scoring.staleness import binding, compared
from tfm_lib._refusal import Refusal


@dataclass(frozen=True)
class Sources:
    """The files and settings that a report is made from."""

    results: Path
    bundle: Bundle
    submissions: Path
    marks: Path | None = None
    waivers: Path | None = None
    requests: Path | None = None
    nothing: float | None = None  # the points for exercises not submitted; None leaves them blank


@dataclass
class Report:
    """The scores of a class in one assignment, with notes and reasons why scores are stale."""

    assignment: str
    scores: list[Score]
    times: grades.Times = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    at: str = ""
    hidden: bool = False  # whether names are replaced by pseudonyms
    desk: marking_sheet.Desk | None = None
    requests: regrade_requests.Requests = field(default_factory=regrade_requests.Requests)
    own: Own = field(default_factory=Own)
    handed_in: list[tuple[str, str, str]] = field(default_factory=list)  # student, kind of source, path in the source

    @classmethod
    def of(cls, sources: Sources, log: AuditLog) -> Report:
        """Build the report from `sources`. Raises BadMarks, BadWaivers, BadRequests."""
        found = {result.student: result for result in results.all_in(sources.results)}
        files = {}
        if sources.submissions.is_dir():
            files = {(each.student, each.stem): each for each in submissions_in(sources.submissions, sources.bundle)}
        elif sources.waivers or sources.requests:
            raise Refusal(f"There is no folder {sources.submissions}, which says who is in the class: --submissions")
        collected, waived = roster(sources.submissions), waivers.Waivers()
        alone = _people(sources, files, found)
        teams = decided(sources.bundle, rosters.kept(sources.submissions), files, found, collected)
        people = {name: as_member(name, alone, teams, collected) for name in alone}
        seen = compared(sources.bundle, found, files if sources.submissions.is_dir() else None, people, log.judged)
        if not sources.submissions.is_dir():
            gone = f"{sources.submissions}: no such folder, and so no names, no dates and no notebooks to compare with"
            seen.stale.append(f"{gone}; name the collected submissions with --submissions")
        rule = sources.bundle.manifest.late
        if sources.waivers:
            left = (found.keys() | collected.keys()) - people.keys()
            waived = waivers.read_waivers(sources.waivers, people, sources.bundle.stems, left, teams.members)
        if waived.left:
            seen.notes.append(f"waivers passed over, since the student left the class: {', '.join(waived.left)}")
        seen.notes += teams.notes({name: person.refused for name, person in alone.items()})
        days, unknown = late_days(sources.bundle, people, waived, collected)
        if unknown:
            seen.notes.append(
                f"have a due date of their own, but Canvas only says whether they met its own date, so it isn't known "
                f"how late they are, which costs nothing: {', '.join(unknown)}"
            )
        rules = Rules(rule, days, waived.given, sources.nothing)
        made = [
            score(sources.bundle, name, person, shared_result(name, person, found), rules)
            for name, person in people.items()
        ]
        given, lines = manual_grades.Marks({}), []
        if sources.marks:
            whose = [(name, each) for each in made for name in (each.student, each.team) if name]
            most = {(name, row.id): row.of for name, each in whose for row in each.rows}
            given = manual_grades.require_known(
                manual_grades.read_marks(sources.marks), most, sources.marks, found.keys() - people.keys()
            )
            lines = manual_grades.lines(sources.marks)
            marking_sheet.require_within(lines, sources.bundle)
        bound = binding(made, given, log)
        made = with_marks(made, replace(given, given=bound.given), bound.stale)
        requests = regrade_requests.Requests()
        if sources.requests:
            asked = regrade_requests.read_requests(sources.requests)
            left = (found.keys() | collected.keys()) - people.keys()
            requests = regrade_requests.settle(asked, made, log, sources.requests, left)
        times = {key: line.at for key, line in log.judged.items()}
        here = Regarded(
            tuple(f"{student}/{stem}" for student, stem in sorted(waived.given)),
            tuple(dict.fromkeys(f"{each.request.student}/{each.request.exercise}" for each in requests.outcomes)),
        )
        news, missed = forgotten(log, here)
        notes = [*log.faults, *seen.notes, *bound.notes, *requests.notes, *missed, *_undated(rule, made)]
        return cls(
            sources.bundle.manifest.name,
            made,
            times,
            notes,
            seen.stale,
            [*bound.events, *requests.events, *news],
            bound.at,
            desk=marking_sheet.Desk.of(sources.bundle, made, lines),
            requests=requests,
            own=Own.of(sources.bundle, files.values(), teams.of_student),
            handed_in=[
                (student, file.kind, file.where)
                for student, known in collected.items()
                for file in known.files.values()
            ],
        )

    def under_pseudonyms(self, key_file: Path) -> Report:
        """Return a copy with codes in place of names."""
        return replace(
            self,
            scores=pseudonymised(self.scores, key_file),
            hidden=True,
            desk=None,
            requests=regrade_requests.Requests(),
            own=Own(),
            handed_in=[],
        )

    def files(self) -> dict[str, str | bytes]:
        """Build the files to write, by path within the report's folder."""
        lines = grades.audit(self.scores, self.times)
        made: dict[str, str | bytes] = {
            "grades.csv": grades.grades(self.scores, None if self.hidden else lines),
            "items.csv": grades.items(self.scores),
            "class.html": class_overview.class_page(self.scores, self.assignment, self.own.alike),
        }
        if not self.hidden:  # its hashes would identify anyone whose notebook is known
            made["audit.csv"] = grades.table(lines)
        shown = {
            each.student: student_feedback.student_page(
                each, self.assignment, self.own.graded(each), self.requests.of(each.student)
            )
            for each in self.scores
        }
        made |= archives(shown, self.handed_in)
        if self.desk is not None and self.desk.lines:
            made["marking.csv"] = self.desk.sheet()
        if self.desk is not None and self.desk.waiting:
            made["marking.html"] = self.desk.page()
        if self.requests.outcomes:
            made["requests.csv"] = self.requests.sheet()
        for each in self.scores:
            made[f"feedback/{each.student}.html"] = shown[each.student]
            made[f"gradescope/{each.student}/results.json"] = grades.gradescope(each)
        if any(each.lms_id for each in self.scores):
            made["moodle.csv"] = lms.moodle(self.scores)
        return made

    def blanks(self) -> list[str]:
        """List the students without a total, one line for each reason."""
        found: dict[str, list[str]] = {}
        several = len({row.id.partition(".")[0] for each in self.scores for row in each.rows}) > 1
        for each in self.scores:
            for row in each.rows:
                of = f" for {row.id.partition('.')[0]}" if several and not each.nothing else ""
                if row.lacks == HAND_IN:
                    found.setdefault(f"nothing handed in{of}", []).append(each.student)
                elif row.lacks == UNDECIDED:
                    found.setdefault("wait for a decision on which of their team's notebooks counts", []).append(
                        each.student
                    )
                elif row.lacks == RUN:
                    found.setdefault(f"{row.id} could not be judged ({row.why})", []).append(each.student)
                elif row.lacks in (READABLE, ACCEPTED):
                    why = f"blank{of} until it is handed in again ({row.why.rstrip('.')})"
                    found.setdefault(why, []).append(each.student)
                elif row.lacks:
                    found.setdefault(f"{row.id} waits for {row.lacks}", []).append(each.student)
        return [f"{why}: {', '.join(dict.fromkeys(names))}" for why, names in found.items()]


def _undated(rule: Late, scores: Iterable[Score]) -> list[str]:
    """Say for whom a late rule can't work, because nothing says when they handed in."""
    unknown = [each.student for each in scores if None in each.late_days.values()]
    if not (rule.per_day and unknown):
        return []
    more = f" and {len(unknown) - 12} more" if len(unknown) > 12 else ""
    remedy = "If the dates of a folder's files are right, collect with --dates mtime"
    return [f"late days are unknown, and so cost nothing: {', '.join(unknown[:12])}{more}. {remedy}"]


def exported(folder: Path, files: dict[str, str | bytes], stale: bool) -> Exported:
    """Make the audit log event for the exported files."""
    hashes = {name: digest(made) for name, made in files.items() if "/" not in name}
    return Exported(str(folder), hashes, stale)


def _people(
    sources: Sources, files: dict[tuple[str, str], Submission], found: dict[str, StudentResult]
) -> dict[str, ClassMember]:
    """List everyone in the class: from the roster, else from the folders, else from the results."""
    known, listed = roster(sources.submissions), rosters.kept(sources.submissions)
    names = listed.students if listed else {student for student, _ in files} or found
    stems: dict[str, list[str]] = {name: [] for name in sorted(names)}
    for (student, stem), file in files.items():
        if file.data is not None and student in stems:
            stems[student].append(stem)
    return {name: _person(known.get(name, Known()), handed_in) for name, handed_in in stems.items()}


def _person(known: Known, stems: Iterable[str]) -> ClassMember:
    times = [file.handed_in for file in known.files.values() if file.handed_in is not None]
    why = "; ".join(f"{each.file}: {each.why}" for each in known.refused)
    return ClassMember(known.name, known.lms_id, frozenset(stems), why, max(times, default=None))
