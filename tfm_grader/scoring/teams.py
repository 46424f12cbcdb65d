"""Decide whose notebook is the hand-in of a team, for each chapter.

Only the roster says who is in a team. The notebook of each member is collected and judged like anyone's, and teams
matter only when scores are computed: all members get the results of the notebook that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HandedIn:
    """One member's notebook for a chapter, and what is known about when it was handed in."""

    student: str
    sha256: str
    number: int = 0  # Canvas's submission number, which increases with each submission; 0 if there is none
    time: float | None = None  # Unix time; None if only the student states it
    untouched: bool = False  # whether it is as it was handed out
    readable: bool = True


@dataclass(frozen=True)
class Decision:
    """Whose notebook counts for a team in one chapter. It is nobody's if nobody handed in, or if it is `undecided`."""

    holder: str = ""
    undecided: tuple[str, ...] = ()  # the members with different notebooks, if it is unknown which came last
    replaced: tuple[str, ...] = ()  # the members whose different notebooks came before the one that counts
    unread: tuple[str, ...] = ()  # the members whose notebooks cannot be read, if another member's counts


@dataclass(frozen=True)
class Holder:
    """The member whose notebook counts for a team."""

    student: str
    name: str = ""

    @property
    def told(self) -> str:
        return self.name or self.student


def decide(found: Iterable[HandedIn]) -> Decision:
    """Decide which of a team's notebooks counts: the last one, where they differ.

    Notebooks that are untouched or cannot be read never count against another. Of identical notebooks the first one
    counts, so that handing in the same file again makes nobody late.
    """
    every = list(found)
    readable = [each for each in every if each.readable]
    worked = [each for each in readable if not each.untouched]
    unread = tuple(each.student for each in every if readable and not each.readable)
    counting = worked or readable or every
    if not counting:
        return Decision()
    order = _order(counting)
    if len({each.sha256 for each in worked}) > 1:
        undecided = Decision(undecided=tuple(each.student for each in worked), unread=unread)
        if order is None:
            return undecided
        last = max(worked, key=order)
        others = [each for each in worked if each.sha256 != last.sha256]
        before = max(map(order, others))
        if order(last) == before:
            return undecided
        same = [each for each in worked if each.sha256 == last.sha256 and order(each) > before]
        return Decision(min(same, key=order).student, replaced=tuple(each.student for each in others), unread=unread)
    first = min(counting, key=order) if order else next((e for e in counting if e.time is None), counting[0])
    return Decision(first.student, unread=unread)


def _order(found: list[HandedIn]) -> Callable[[HandedIn], float] | None:
    """Return the sort key by which notebooks follow each other, or None if their order is unknown."""
    if all(each.number for each in found):
        return lambda each: each.number
    if all(each.time is not None for each in found):
        return lambda each: each.time or 0.0
    return None


@dataclass(frozen=True)
class Teams:
    """The teams of a class, and whose notebook counts for each in each chapter."""

    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    decisions: Mapping[tuple[str, str], Decision] = field(default_factory=dict)  # by team and chapter

    @property
    def of_student(self) -> dict[str, str]:
        """The team of each student who is in one."""
        return {student: team for team, students in self.members.items() for student in students}

    def holders(self, team: str) -> dict[str, str]:
        """Return the member whose notebook counts, by chapter."""
        return {stem: each.holder for (name, stem), each in self.decisions.items() if name == team and each.holder}

    def undecided(self, team: str) -> frozenset[str]:
        """Return the chapters in which it is unknown whose notebook counts."""
        return frozenset(stem for (name, stem), each in self.decisions.items() if name == team and each.undecided)

    def notes(self, refused: Mapping[str, str]) -> Iterator[str]:
        """Yield what an instructor should know; `refused` says by student which files were not accepted, and why."""
        for (team, stem), each in self.decisions.items():
            if each.undecided:
                yield (
                    f"members of the team {team} handed in different notebooks for {stem}, and it isn't known which "
                    f"came last, so the whole team waits: {', '.join(each.undecided)}. Take the one that doesn't count "
                    f"out of its student's folder in the submissions and run `tfm grade` again, or collect with --dates mtime"
                )
            if each.replaced:
                yield (
                    f"for the team {team}, the notebook of {each.holder} for {stem} came last and counts; "
                    f"another one is from {', '.join(each.replaced)}"
                )
            if each.unread:
                yield (
                    f"for the team {team}, the notebook of {each.holder} for {stem} counts; what can't be read is from "
                    f"{', '.join(each.unread)}"
                )
        for team, students in self.members.items():
            for student in students:
                if refused.get(student) and (holders := self.holders(team)):
                    whose = " and ".join(dict.fromkeys(holders.values()))
                    yield (
                        f"a file of {student} was refused ({refused[student]}); for the team {team}, "
                        f"what {whose} handed in counts"
                    )
