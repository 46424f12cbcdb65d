"""Identify the grader behind a result: the versions of the package and of torch, and a hash of the judging code."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import tfm_lib

PACKAGE = Path(tfm_lib.__file__).parent
HOME = PACKAGE.parent
PACKAGES = ("tfm_lib", "tfm_exercises", "tfm_book", "tfm_grader")  # the packages in HOME
JUDGES = ("tfm_grader.judging.process", "tfm_grader.written_answers")  # the modules they import are included
AFTER = "tfm_exercises.mine.after_check"  # what a check does in a student's own notebook, and nowhere else


@cache
def grader(modules: tuple[str, ...] = ()) -> str:
    """Describe the grader version; it changes with any change in the code that verdicts depend on.

    `modules` are included: a chapter's own judge, what its students may import, and its hidden tests.
    """
    files = sorted({*_imported((*JUDGES, *modules)), *(HOME / "tfm_grader" / "sandbox" / "inside").glob("*.py")})
    code = hashlib.sha256()
    for path in files:
        text = path.read_bytes()
        code.update(f"{path.relative_to(HOME).as_posix()} {len(text)}\n".encode() + text)
    return f"tfm-lib {_version('tfm-lib')}, torch {_version('torch')}, code {code.hexdigest()[:16]}"


def _imported(modules: tuple[str, ...]) -> set[Path]:
    """Return the files of the book's packages that `modules` import, directly or indirectly, anywhere in the code."""
    found: set[Path] = set()
    waiting = list(modules)
    while waiting:
        path = HOME.joinpath(*waiting.pop().split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if path in found or not path.is_file():
            continue
        found.add(path)
        waiting += {*_imports(path.read_text(encoding="utf-8"))} - {AFTER}
    return found


def _imports(source: str) -> list[str]:
    """What `source` may import of the book's packages: modules, and names that may be modules."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (name := node.module or "").startswith("tfm_"):
            found += [name, *(f"{name}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def library_modules(tests: str) -> tuple[str, ...]:
    """The modules of the library and of the exercises that hidden tests import."""
    return tuple(sorted(name for name in _imports(tests) if name.startswith(("tfm_lib.", "tfm_exercises."))))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"
