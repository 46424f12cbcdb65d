"""Resolve teams for a report: from the members' notebooks and results, make what each member gets a score for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tfm_grader.assignment.bundle import Bundle
from tfm_grader.collecting.collected_record import HandIn, Known, days_late
from tfm_grader.collecting.roster import Roster
from tfm_grader.notebook import is_untouched
from tfm_grader.records import StudentResult, Submission
from tfm_grader.scoring.scores import ClassMember
from tfm_grader.scoring.teams import Decision, HandedIn, Holder, Teams, decide
from tfm_grader.scoring.waivers import Waivers
from tfm_grader.written_answers import Handed


def decided(
    bundle: Bundle,
    listed: Roster | None,
    files: Mapping[tuple[str, str], Submission],
    found: Mapping[str, StudentResult],
    collected: Mapping[str, Known],
) -> Teams:
    """Decide for each team and chapter whose notebook counts. Only the roster puts students into teams."""
    members = listed.teams if listed else {}
    decisions: dict[tuple[str, str], Decision] = {}
    for team, students in members.items():
        for stem in bundle.stems:
            there = [files[student, stem] for student in students if (student, stem) in files]
            handed_in = [
                _handed_in(bundle, file, found.get(file.student), collected) for file in there if file.data is not None
            ]
            if not handed_in:  # reported as it was judged, although the notebooks are gone
                judged = [(name, found[name].chapters.get(stem)) for name in students if name in found]
                handed_in = [HandedIn(name, each.sha256) for name, each in judged if each and each.submitted]
            decisions[team, stem] = decide(handed_in)
    return Teams(members, decisions)


def _handed_in(
    bundle: Bundle, file: Submission, result: StudentResult | None, collected: Mapping[str, Known]
) -> HandedIn:
    """Describe a member's notebook. Its order and time are those of the record, if that is about this notebook."""
    noted = collected.get(file.student, Known()).files.get(file.stem)
    known = noted if noted and noted.sha256 == file.digest else HandIn("")
    rows = result.exercises(file.stem).values() if result else ()
    unreadable = any(row.status == "unreadable" and row.bound.handed_in == file.digest for row in rows)
    return HandedIn(
        file.student,
        file.digest,
        known.number if known.kind == "canvas" else 0,
        known.handed_in,
        is_untouched(file.data or b"", Handed.of(bundle.manifest.chapters[file.stem]).lines),
        not file.trouble and not unreadable,
    )


def as_member(
    name: str, people: Mapping[str, ClassMember], teams: Teams, collected: Mapping[str, Known]
) -> ClassMember:
    """Return a student with what their team handed in, in place of what they handed in themselves."""
    own = people[name]
    team = teams.of_student.get(name)
    if team is None:
        return own
    holders = teams.holders(team)
    refused = [f"{each}: {people[each].refused}" for each in teams.members[team] if people[each].refused]
    files = [collected.get(holder, Known()).files.get(stem) for stem, holder in holders.items()]
    return replace(
        own,
        handed_in=frozenset(stem for stem, holder in holders.items() if stem in people[holder].handed_in),
        refused="; ".join(refused),
        last=max((file.handed_in for file in files if file and file.handed_in is not None), default=None),
        team=team,
        holders={stem: Holder(holder, people[holder].name) for stem, holder in holders.items()},
        undecided=teams.undecided(team),
    )


def shared_result(name: str, person: ClassMember, found: Mapping[str, StudentResult]) -> StudentResult | None:
    """Return the result of a student, with the chapters of the members whose notebooks count for the team."""
    own = found.get(name)
    chapters = {
        stem: found[holder.student].chapters[stem]
        for stem, holder in person.holders.items()
        if holder.student in found and stem in found[holder.student].chapters
    }
    if not person.team:
        return own
    ours = {stem: chapter for stem, chapter in own.chapters.items() if stem not in person.holders} if own else {}
    return StudentResult(student=name, chapters={**ours, **chapters})


def late_days(
    bundle: Bundle, people: Mapping[str, ClassMember], waived: Waivers, collected: Mapping[str, Known]
) -> tuple[dict[str, float | None], list[str]]:
    """Return the days after each student's due date by student and chapter, as `ben/masking`; None if unknown.

    Returns also the students with a due date of their own whose lateness is unknown because only Canvas's mark says
    anything about it.
    """
    days: dict[str, float | None] = {}
    unknown = []
    for name, person in people.items():
        for stem in bundle.stems:
            waiver = waived.given.get((name, stem))
            due = waiver.due if waiver else None
            holder = person.holders[stem].student if stem in person.holders else "" if person.team else name
            file = collected.get(holder, Known()).files.get(stem)
            if stem in person.undecided:
                days[f"{name}/{stem}"] = None
            elif file is not None:
                days[f"{name}/{stem}"] = days_late(file, due or bundle.manifest.late.due_at, due is not None)
                if due and file.handed_in is None and file.late is not None:
                    unknown.append(name)
    return days, list(dict.fromkeys(unknown))
