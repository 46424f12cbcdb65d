"""What a submission may import of the book: the modules that its exercise allows, from their text; nothing is on disk."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

BOOK = "tfm_lib"
CHECKS = f"{BOOK}.checks"


class BookModules(MetaPathFinder, Loader):
    """Finds the book's modules among `sources`, by name; the checks answer nothing, all others cannot be imported."""

    def __init__(self, sources: dict[str, str]):
        self.sources = sources

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != BOOK and not name.startswith(f"{BOOK}."):
            return None
        if name in (BOOK, CHECKS) or name in self.sources:
            return ModuleSpec(name, self, is_package=name in (BOOK, CHECKS))
        raise ImportError(f"{name} cannot be imported where this exercise is graded")

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == CHECKS:
            module.check = lambda id, *answers: None  # type: ignore[attr-defined]
            module.Verdict = object  # type: ignore[attr-defined]
        elif module.__name__ != BOOK:
            exec(compile(self.sources[module.__name__], f"<{module.__name__}>", "exec"), module.__dict__)  # noqa: S102 (the book's own text)


def offer(sources: dict[str, str]) -> None:
    """Let `import` find the book's modules in `sources` and nowhere else."""
    sys.meta_path.insert(0, BookModules(sources))


def forbid(calls: list[str]) -> None:
    """Replace torch's functions and methods of these dotted names, and their twins in torch's modules, by one that raises.

    This is a house rule, not a wall: whoever wants can rebuild what was taken away.
    """
    for call in calls:
        owner, name = _owner(call)
        found = getattr(owner, name, None)
        if found is None:
            continue

        def refused(*args: Any, _call: str = call, **kwargs: Any) -> None:
            raise RuntimeError(f"{_call} is not allowed in this exercise")

        setattr(owner, name, refused)
        for module in [module for key, module in sys.modules.items() if key.partition(".")[0] == "torch"]:
            held = getattr(module, "__dict__", {})
            for key in [key for key, value in held.items() if value is found]:
                held[key] = refused


def _owner(call: str) -> tuple[Any, str]:
    """The module or class that holds the last name of `call`."""
    parts = call.split(".")
    owner: Any = sys.modules.get(parts[0])
    for part in parts[1:-1]:
        owner = getattr(owner, part, None)
    return owner, parts[-1]
