"""The messages that `tfm collect` prints beside its refusals."""

from __future__ import annotations

from collections.abc import Iterator

from tfm_grader.collecting.identity import KINDS
from tfm_grader.collecting.inbox import CollectionReport

MOST = 10  # lines per top-level entry
IN_ALL = 200  # lines about refusals in total
WHO = {
    "folder": "the folders at its top say who handed in",
    "canvas": "the number in each file's name says who handed in",
    "moodle": "the number in each name at its top says who handed in",
    "nbgrader": "the owner of each folder says who handed in",
}


def after(found: CollectionReport) -> Iterator[str]:
    """Yield a line for the detected kind of source, for each note, and for each missing student."""
    yield f"{found.source} is {KINDS[found.kind]}: {WHO[found.kind]}."
    for where in found.replaced:
        counts = terminal_line(found.counting.get(where, "another one"))
        how = "by the file's number or date" if found.kind == "folder" else "as the later one"
        yield f"  {counts} counts, {how}; {terminal_line(where)} is kept beside it."
    for note in found.notes:
        yield f"  {terminal_line(note)}"
    teams = found.roster.teams if found.roster else {}
    missing = {person.student for person in found.missing}
    for team, members in teams.items():
        if missing.issuperset(members):
            what = "nothing" if found.waiting.isdisjoint(members) else "only refused files"
            yield f"  {what} from the team {team} ({', '.join(members)})"
    for person in found.missing:
        if person.team in teams:  # the team has handed in, or is listed
            continue
        name = f" ({terminal_line(person.name)})" if person.name and person.name != person.student else ""
        yield f"  {'only refused files' if person.student in found.waiting else 'nothing'} from {person.student}{name}"


def refusal_lines(found: CollectionReport) -> Iterator[str]:
    """Yield a line for each refused entry, abbreviated if one student has many."""
    seen: dict[str, int] = {}
    told = 0
    for where, why in found.refused:
        top = where.split("/")[0]
        seen[top] = seen.get(top, 0) + 1
        if seen[top] <= MOST and told < IN_ALL:
            told += 1
            yield f"  refused {terminal_line(where)}: {terminal_line(why)}"
    if told == IN_ALL < len(found.refused):
        yield f"  and {len(found.refused) - told} more, which collected.json lists"
        return
    for top, count in seen.items():
        if count > MOST:
            yield f"  refused {terminal_line(top)}: and {count - MOST} more in it, which collected.json lists"


def terminal_line(text: str) -> str:
    """Return `text` as one printable line for a terminal."""
    whole = "".join(char if char.isprintable() else "?" for char in text)
    return whole if len(whole) <= 400 else f"{whole[:399]}…"
