"""Find pairs of submissions worth comparing by hand. This is not a score: similarity proves nothing.

A program is reduced to its tokens, with all names and all values made equal, so renaming and reformatting have no
effect. Token runs shared by half the class are ignored. Of weights, the numbers are compared.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, islice
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from tfm_exercises.carried import BadWeights, unpacked

RUN = 12  # tokens; shorter runs of two programs may agree by chance
LEAST = 60  # minimum number of runs for a program to be compared
SHARE = 0.8  # share of the shorter program's runs, or of the weights' numbers, from which a pair is reported
KEPT = 30  # students; a run shared by more is what everybody writes
CLOSE = 0.1  # times the median of a tensor: two numbers this close count as one, which 4 % are by chance
MAX_WEIGHTS = 20  # outputs with weights that are read of a student
NUMBERS = 4096  # of a student's weights that are compared
TOKEN = re.compile(  # a string without an end reaches to that of its line or cell, so that the time stays linear
    r"""\#[^\r\n]*|\\[\r\n]|\s+
    |(?P<value>[bfru]{0,2}(?:("{3}|'{3})(?:\\.|(?!\2)[^\\])*(?:\2)?|(["'])(?:\\.|(?!\3)[^\\\r\n])*(?:\3)?)
        |\.?\d(?:e[-+]|[\w.])*)
    |(?P<name>\w+)|(?P<sign>.)""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True)
class Pair:
    """Two students, and the share of the shorter program's runs, or of the weights' numbers, that both contain."""

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
    shared = {run for run, count in times.items() if count > 1}
    holders: dict[int, list[str]] = {}
    for student, found in rare.items():
        for run in found & shared:
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
    tokens = [token for cell in cells for token in _tokens(cell)]
    return {*map(hash, zip(*(tokens[start:] for start in range(RUN)), strict=False))}


def _tokens(code: str) -> Iterator[str]:
    for token in TOKEN.finditer(code):
        if token.lastgroup:
            name = token.lastgroup == "name" and not keyword.iskeyword(token[0])
            yield "name" if name else "value" if token.lastgroup == "value" else token[0]


def copies(
    weights: Mapping[str, Iterable[dict[str, Any]]], teams: Mapping[str, str] = MappingProxyType({})
) -> list[Pair]:
    """Return the pairs of students whose `weights`, outputs that nobody has read, are the same but for small changes."""
    groups: dict[Hashable, list[tuple[str, Tensor]]] = {}
    for student, outputs in sorted(weights.items()):
        for kind, numbers in map(_numbers, islice(outputs, MAX_WEIGHTS)):
            groups.setdefault(kind, []).append((student, numbers))
    shares: dict[tuple[str, str], float] = {}
    for group in groups.values():
        for (first, own), (second, other) in combinations(group, 2):
            if _group(first, teams) == _group(second, teams):
                continue
            share = ((own - other).abs() <= CLOSE).float().mean().item()
            if share >= SHARE:
                shares[first, second] = max(share, shares.get((first, second), 0))
    return [Pair(first, second, share) for (first, second), share in shares.items()]


def _numbers(packed: dict[str, Any]) -> tuple[Hashable, Tensor]:
    """Return what weights must have in common to be compared, and numbers from all over them, by their tensor's median."""
    try:
        tensors = sorted(unpacked(packed).tensors.items())
    except BadWeights:
        return str(packed.get("data")), torch.zeros(1)
    numbers = torch.cat([(value / value.abs().median().clamp(min=1e-6)).flatten() for _, value in tensors])
    places = torch.linspace(0, len(numbers) - 1, min(len(numbers), NUMBERS)).long()
    return tuple((name, value.shape) for name, value in tensors), numbers[places]
