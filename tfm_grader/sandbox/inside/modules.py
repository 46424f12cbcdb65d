"""Provide the book's modules that an exercise may import, from source text, as no file is visible in the sandbox."""

from __future__ import annotations

import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .forbidden_calls import forbid_in

BOOK = "tfm_lib"
EXERCISES = ("tfm_exercises", "tfm_lib.checks")  # the second in notebooks that were handed out before December 2026
CHECKS = (*EXERCISES, *(f"{name}.judge" for name in EXERCISES))


class Verdict:
    """A check's result inside the sandbox: always passed, so that the notebook continues. It has no effect."""

    status, held, message, mistake, passed = "passed", (), "", None, True


class BookModules(MetaPathFinder, Loader):
    """Imports the book's modules from `sources`; checks always pass, and other modules cannot be imported."""

    def __init__(self, sources: dict[str, str], forbidden: list[str]):
        self.sources, self.forbidden = sources, forbidden

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in (BOOK, *EXERCISES):
            return None
        if name in (BOOK, *CHECKS) or name in self.sources:
            return ModuleSpec(name, self, is_package=name in (BOOK, *EXERCISES))
        raise ImportError(f"{name} cannot be imported where this exercise is graded")

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ in CHECKS:
            module.check = lambda id, *answers: Verdict()  # type: ignore[attr-defined]
            module.hand_in = lambda *args, **kwargs: None  # type: ignore[attr-defined]
            module.exercise = lambda *args, **kwargs: lambda judge: judge  # type: ignore[attr-defined]
            module.Verdict = Verdict  # type: ignore[attr-defined]
            module.Mistake = module.Slip = lambda *args, **kwargs: None  # type: ignore[attr-defined]
        elif module.__name__ != BOOK:
            exec(compile(self.sources[module.__name__], f"<{module.__name__}>", "exec"), module.__dict__)  # noqa: S102 (the book's own text)
            forbid_in(module, self.forbidden)


def offer(sources: dict[str, str], forbidden: list[str]) -> None:
    """Make `import` find the book's modules in `sources` only, without the functions that are `forbidden`."""
    sys.meta_path.insert(0, BookModules(sources, forbidden))


def withdraw_own() -> None:
    """Take this program's modules out of `import`'s reach, so that no cell finds what forbids its calls by habit."""
    package = __name__.partition(".")[0]
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [path for path in sys.path if path != home]
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        del sys.modules[name]
