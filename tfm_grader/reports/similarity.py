"""Find pairs of submissions worth comparing by hand. This is not a score: similarity proves nothing.

A program is reduced to its tokens, with all names and all values made equal, so renaming and reformatting have no
effect. Token runs shared by half the class are ignored.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

RUN = 12  # tokens; shorter runs of two programs may agree by chance
LEAST = 60  # minimum number of runs for a program to be compared
SHARE = 0.8  # share of the shorter program's runs from which a pair is reported
MAX_CODE = 100_000  # characters of a student's program
KEPT = 30  # students; a run shared by more is what everybody writes
IGNORED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Pair:
    """Two students, and the share of the shorter program's runs that both contain."""

    first: str
    second: str
    share: float


def pairs(programs: Mapping[str, Iterable[str]], teams: Mapping[str, str] = MappingProxyType({})) -> list[Pair]:
    """Return the most similar pairs among `programs`, which maps students to code cells.

    `teams` maps students to teams: members of one team are no pair, and what they share counts once.
    """
    runs = {student: _runs(cells) for student, cells in programs.items()}
    groups: dict[tuple[bool, str], set[int]] = {}
    for student, found in runs.items():
        groups.setdefault(_group(student, teams), set()).update(found)
    times = Counter(run for found in groups.values() for run in found)
    common = max(2, len(groups) // 2) if len(groups) > 4 else len(groups)
    rare = {student: {run for run in found if times[run] <= min(common, KEPT)} for student, found in runs.items()}
    holders: dict[int, list[str]] = {}
    for student, found in rare.items():
        for run in found:
            holders.setdefault(run, []).append(student)
    together = Counter(pair for students in holders.values() for pair in combinations(sorted(students), 2))
    made = []
    for (first, second), count in together.items():
        fewer = min(len(rare[first]), len(rare[second]))
        if _group(first, teams) == _group(second, teams):
            continue
        if fewer >= LEAST and count / fewer >= SHARE:
            made.append(Pair(first, second, count / fewer))
    return sorted(made, key=lambda pair: (-pair.share, pair.first, pair.second))


def _group(student: str, teams: Mapping[str, str]) -> tuple[bool, str]:
    """Return the team of a student, or the student; the two are kept apart."""
    return student in teams, teams.get(student, student)


def _runs(cells: Iterable[str]) -> set[int]:
    tokens: list[str] = []
    left = MAX_CODE
    for cell in cells:
        tokens += _tokens(cell[:left])
        left -= len(cell[:left])
    return {hash(tuple(tokens[start : start + RUN])) for start in range(len(tokens) - RUN + 1)}


def _tokens(code: str) -> list[str]:
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type in IGNORED:
                continue
            name = token.type == tokenize.NAME and not keyword.iskeyword(token.string)
            found.append(
                "name" if name else "value" if token.type in (tokenize.NUMBER, tokenize.STRING) else token.string
            )
    except (tokenize.TokenError, SyntaxError, RecursionError):
        pass  # keep the tokens read so far
    return found
