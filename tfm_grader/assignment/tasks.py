"""An exercise and its tests, as the judge works through them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Test:
    """A test of an exercise. A hidden one tells the student its `hint`, and nothing of what happened."""

    name: str
    points: float
    judge: Callable[[Any, Any], None]
    hint: str = ""
    hidden: bool = True


@dataclass(frozen=True)
class Task:
    """An exercise as the grader sees it."""

    id: str
    answers: tuple[str, ...]
    tests: tuple[Test, ...]
    sources: dict[str, str] = field(default_factory=dict)  # of the book's modules that may be imported
    forbidden: tuple[str, ...] = ()  # calls of torch that may not be used
    may_change_input: bool = False  # because its text asks for that

    @property
    def points(self) -> float:
        return sum(test.points for test in self.tests)
