"""Pairs of submissions that are worth a look together: never a score, for a likeness proves nothing.

A program is read as its tokens, with every name and number made one: who renames and reformats changes nothing.
Runs of tokens that half the class has count for nobody.
"""

from __future__ import annotations

import io
import keyword
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

RUN = 12  # tokens; shorter runs of two programs agree by chance
LEAST = 60  # runs that a program must have to be compared
SHARE = 0.8  # of the shorter program's runs, from which on a pair is shown
MAX_CODE = 200_000  # letters
KEPT = 30  # students; a run that more of them share is what everybody writes
IGNORED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Pair:
    """Two students, and the share of the shorter program's runs that the other has too."""

    first: str
    second: str
    share: float


def pairs(programs: Mapping[str, Iterable[str]]) -> list[Pair]:
    """The pairs among `programs`, the code cells by student, that are most alike."""
    runs = {student: _runs(cells) for student, cells in programs.items()}
    times = Counter(run for found in runs.values() for run in found)
    common = max(2, len(runs) // 2) if len(runs) > 4 else len(runs)
    rare = {student: {run for run in found if times[run] <= min(common, KEPT)} for student, found in runs.items()}
    holders: dict[int, list[str]] = {}
    for student, found in rare.items():
        for run in found:
            holders.setdefault(run, []).append(student)
    together = Counter(pair for students in holders.values() for pair in combinations(sorted(students), 2))
    made = []
    for (first, second), count in together.items():
        fewer = min(len(rare[first]), len(rare[second]))
        if fewer >= LEAST and count / fewer >= SHARE:
            made.append(Pair(first, second, count / fewer))
    return sorted(made, key=lambda pair: (-pair.share, pair.first, pair.second))


def _runs(cells: Iterable[str]) -> set[int]:
    tokens: list[str] = []
    for cell in cells:
        tokens += _tokens(cell[:MAX_CODE])
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
        pass  # what was read until there
    return found
