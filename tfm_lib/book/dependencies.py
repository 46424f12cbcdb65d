"""What a chapter's execution depends on, read from its code without running it.

The files found are the modules of the book's own packages that the code imports, directly or through
others, and the data that those sources name: a file beside a module (`"theme/tokens.css"`), a check's
judges (`"masking.leak-test"`), recorded results and the shipped models (`"experiments/results/x.json"`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

RECORDED = ("experiments", "models")  # folders whose files are recorded results; naming the folder names them all
BUILT = "static"  # the widgets' bundles: a page takes them from the front end, not from an execution
CHECKS = "tfm_lib.checks"


def dependencies(cells: Iterable[str], folder: Path, root: Path) -> list[Path]:
    """The files that code `cells`, run in `folder` of the book at `root`, depend on; sorted, each once."""
    bases = [root] if (root / "tfm_lib").is_dir() else [root, Path(__file__).parents[2]]
    found: set[Path] = set()
    waiting = [(tree, folder, "") for tree in map(_parse, cells)]
    while waiting:
        tree, place, package = waiting.pop()
        for name in _imports(tree, package):
            for path in _modules(name, bases):
                if path not in found:
                    found.add(path)
                    here = name if path.name == "__init__.py" else name.rpartition(".")[0]
                    waiting.append((_parse(path.read_text(encoding="utf-8")), path.parent, here))
        for text in _strings(tree):
            found.update(_data(text, place, root))
            if re.fullmatch(r"\w+\.[\w-]+", text):
                judges = [path for path in _modules(f"{CHECKS}.{text.partition('.')[0]}", bases) if path not in found]
                found.update(path for path in judges if not package)  # named in a cell, as `check("masking.…")` does
                waiting += [(_parse(p.read_text(encoding="utf-8")), p.parent, CHECKS) for p in judges if not package]
    return sorted(found)


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError:  # a cell with %magics or !commands
        return ast.parse(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", source) if re.search(r"(?m)^\s*[%!]", source) else "")


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, [above, node.module]))
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)  # a name may be a module


def _modules(name: str, bases: list[Path]) -> Iterator[Path]:
    """The files that importing `name` runs: each parent package, then the module; nothing for a foreign name."""
    parts = name.split(".")
    for base in bases:
        for depth in range(1, len(parts) + 1):
            path = base.joinpath(*parts[:depth])
            if (path / "__init__.py").is_file():
                yield path / "__init__.py"
            elif path.with_suffix(".py").is_file():
                yield path.with_suffix(".py")


def _strings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and 0 < len(node.value) < 200:
            yield node.value


def _data(text: str, place: Path, root: Path) -> Iterator[Path]:
    if "\n" in text or "\0" in text:
        return
    recorded = [root / name for name in RECORDED]
    for path in {(place / text).resolve(), (root / text).resolve()}:
        inside = any(path == folder or folder in path.parents for folder in recorded)
        if inside and path.is_dir():
            yield from (file for file in path.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc"))
        elif path.is_file() and (inside or (place in path.parents and BUILT not in path.parts)):
            yield path
