"""Find the files that a chapter's execution depends on by analysing its code, without running it.

These are the modules of the book's own packages that the code imports, directly or indirectly, and the data that these
sources name: a file beside a module (`"tokens.css"`), a check's judges (`"masking.leak-test"`), recorded results and
the shipped models (`recorded("x")`, `"models/x.json"`).
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

RECORDED = ("experiments", "models")  # folders of recorded results; naming the folder includes all its files
BUILT = "static"  # the widgets' bundles: pages take them from the front end, not from an execution
CHECKS = "tfm_exercises.checks"
KEPT = "tfm_exercises.mine.after_check"  # what a check does in a reader's notebook, and not while the book is built
READER = "tfm_lib.drawing.recorded"  # names the folder of all results, but each call names the one that is needed
NAMES = re.compile(rf"{'|'.join(RECORDED)}|[\w-][\w./-]*[./][\w./-]*|\.\.?/[\w./-]*")  # of files, folders and exercises


#: What a source imports, as (name, level), and the strings in it that may name a file or an exercise.
Facts = tuple[tuple[tuple[str, int], ...], tuple[str, ...]]


class KnownSources:
    """The facts about every source read in a build, some of them kept from the build before."""

    def __init__(self, before: dict[bytes, Facts] | None = None) -> None:
        self._before = before or {}
        self.read: dict[bytes, Facts] = {}  # hash of a source → facts; what the next build may be given
        self._modules: dict[str, list[Path]] = {}

    def facts(self, source: str) -> Facts:
        key = hashlib.sha256(source.encode()).digest()
        if key not in self.read:
            self.read[key] = self._before.get(key) or _facts(source)
        return self.read[key]

    def modules(self, name: str, bases: list[Path]) -> list[Path]:
        if name not in self._modules:
            self._modules[name] = list(_modules(name, bases))
        return self._modules[name]


def dependencies(cells: Iterable[str], folder: Path, root: Path, known: KnownSources | None = None) -> list[Path]:
    """Return the files that the code `cells`, run in `folder` of the book at `root`, depend on, sorted and unique."""
    known = known or KnownSources()
    bases = [root] if (root / "tfm_lib").is_dir() else [root, Path(__file__).parents[2]]
    found: set[Path] = set()
    waiting = [(known.facts(cell), folder, "") for cell in cells]
    while waiting:
        (imports, strings), place, package = waiting.pop()
        names = [_absolute(name, level, package) for name, level in imports]
        if not package:  # named in a cell, as in `check("masking.leak-test", …)`
            names += [f"{CHECKS}.{text.partition('.')[0]}" for text in strings if re.fullmatch(r"\w+\.[\w-]+", text)]
        for name in (name for name in names if name != KEPT):
            for path in known.modules(name, bases):
                if path not in found:
                    found.add(path)
                    here = name if path.name == "__init__.py" else name.rpartition(".")[0]
                    imported, named = known.facts(path.read_text(encoding="utf-8"))
                    waiting.append(((imported, () if name == READER else named), path.parent, here or name))
        for text in strings:
            found.update(_data(text, place, root))
    return sorted(found)


def _facts(source: str) -> Facts:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell with %magics or !commands
        try:
            tree = ast.parse(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", source))
        except SyntaxError:  # the execution will report it better
            tree = ast.Module([], [])
    imports, strings = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports.append((node.module or "", node.level))
            imports += [
                (f"{node.module or ''}.{alias.name}".lstrip("."), node.level) for alias in node.names
            ]  # it may be a module
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "recorded":
            names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            strings += [f"experiments/results/{name}.json" for name in names if isinstance(name, str)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMES.fullmatch(node.value):
            strings.append(node.value)
    return tuple(imports), tuple(strings)


def _absolute(name: str, level: int, package: str) -> str:
    parents = package.split(".")
    return ".".join(filter(None, [*(parents[: len(parents) - level + 1] if level else []), name]))


def _modules(name: str, bases: list[Path]) -> Iterator[Path]:
    """Yield the files that importing `name` runs: parent packages, then the module; none if it is not the book's."""
    parts = name.split(".")
    for base in bases:
        for depth in range(1, len(parts) + 1):
            path = base.joinpath(*parts[:depth])
            if (path / "__init__.py").is_file():
                yield path / "__init__.py"
            elif path.with_suffix(".py").is_file():
                yield path.with_suffix(".py")


def _data(text: str, place: Path, root: Path) -> Iterator[Path]:
    recorded = [root / name for name in RECORDED]
    for path in {Path(os.path.normpath(place / text)), Path(os.path.normpath(root / text))}:
        inside = any(path == folder or folder in path.parents for folder in recorded)
        if inside and path.is_dir():
            yield from (file for file in path.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc"))
        elif (inside or (place in path.parents and BUILT not in path.parts)) and path.is_file():
            yield path
