"""The task and test types that the judge works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Test:
    """One test of an exercise. If hidden, the student sees only its `hint` when it fails, not the details."""

    name: str
    points: float
    judge: Callable[[Any, Any], None]
    hint: str = ""
    hidden: bool = True


@dataclass(frozen=True)
class Task:
    """One exercise, as the judge needs it."""

    id: str
    answers: tuple[str, ...]
    tests: tuple[Test, ...]
    sources: dict[str, str] = field(default_factory=dict)  # source of the book's modules that may be imported
    forbidden: tuple[str, ...] = ()  # torch functions that may not be called
    may_change_input: bool = False  # if the exercise asks for it
    carried: str = ""  # the name of the weights that it asks for, in place of functions

    @property
    def points(self) -> float:
        return sum(test.points for test in self.tests)
