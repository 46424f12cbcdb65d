"""Build the book, redoing only what has changed since the last build.

If nothing changed, nothing is done. If a chapter or the library changed, Sphinx reads the affected pages again, and
`cache` executes what is stale. If the build tools changed (this package, the widgets' bundles, a package that it needs),
every page is made again, from the outputs that are still valid.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tfm_book.notebooks.contents import pages, pages_named
from tfm_book.site.patches import build_sphinx, require_sphinx
from tfm_lib._refusal import BuildStopped

NO_SOURCES = {
    "_build",
    "benchmarks",
    "frontend",
    "node_modules",
    "tests",
    "work",
    "__pycache__",
}  # nor anything that begins with a dot
MACHINERY = ("_config.yml", "tfm_book", "tfm_lib/drawing", "tfm_lib/widgets/static")
PRODUCTS = ("html", ".doctrees", ".jupyter_cache", "jupyter_execute")
STATE = ".state.json"


def build(root: Path, out: Path | None = None, chapters: Sequence[str] = (), force: bool = False) -> int:
    """Build the book at `root` into `out/html` (`_build/html`); return 1 if a page has a fault, else 0.

    With `chapters`, execute only these, and others only if they never were. `force` redoes everything or, with
    `chapters`, executes these again.
    """
    out = out or root / "_build"
    html = out / "html"
    only = pages_named(chapters, root)
    before = _read(out / STATE)
    now: dict[str, Any] = {
        "machinery": _hash(root, MACHINERY, _packages()),
        "sources": _hash(root, _sources(root), _packages()),
    }
    if not force and before.get("sources") == now["sources"] and _all_there(html, before.get("pages", {})):
        return 0
    require_sphinx()  # if this fails, the book of the last build stays
    if force and not only:
        for name in PRODUCTS:
            shutil.rmtree(out / name, ignore_errors=True)
    (out / STATE).unlink(missing_ok=True)
    anew = (
        before.get("machinery") != now["machinery"]
    )  # also true after a build with faults, so that they are reported again
    with rarely_collected():
        result = build_sphinx(
            root,
            html,
            noconfig=True,  # no conf.py: _config.yml takes its place
            confoverrides={
                "external_toc_path": str(root / "_toc.yml"),
                "tfm_only": tuple(only),
                "tfm_force": force and bool(only),
                "latex_individualpages": False,
            },
            quiet=True,
            warningiserror=True,
            keep_going=True,
            freshenv=anew,
            force_all=anew,
        )
    if isinstance(result, KeyboardInterrupt):
        raise KeyboardInterrupt
    if isinstance(result, BaseException):
        raise BuildStopped(f"The build stopped: {result}") from result
    if result != 0:
        return 1
    _remove_orphans(html, root)
    now["pages"] = {path.relative_to(html).as_posix(): path.stat().st_size for path in sorted(html.rglob("*.html"))}
    if only:
        del now["sources"]  # the other chapters may be stale
    (out / STATE).write_text(json.dumps(now), encoding="utf-8")
    return 0


@contextlib.contextmanager
def rarely_collected() -> Iterator[None]:
    """Search for garbage less often than usual. Sphinx keeps millions of nodes, and each search visits them all:
    with Python's own thresholds it takes a quarter of the time of a build without execution.
    """
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _read(state: Path) -> dict:
    try:
        return json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _sources(root: Path) -> list[str]:
    """Return what the build may read: all folders except irrelevant ones, and settings at the top level."""
    return sorted(
        path.name
        for path in root.iterdir()
        if not path.name.startswith(".")
        and path.name not in NO_SOURCES
        and (path.is_dir() or path.suffix in (".yml", ".bib"))
    )


def _hash(root: Path, names: Iterable[str], more: str) -> str:
    digest = hashlib.sha256(more.encode())
    for name in names:
        path = root / name
        for file in [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file()):
            part = file.relative_to(root).as_posix()
            if not NO_SOURCES.intersection(part.split("/")) and "/." not in part:
                digest.update(part.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@cache
def _packages() -> str:
    """Return the packages that build the book, with their versions: what its extra asks for, and what these ask for.

    Others, such as those that test it, make no page stale. Read from the packages' folders, which takes a fifth of the
    time of `importlib.metadata`.
    """
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    folders = [
        path for entry in sys.path if entry.endswith("site-packages") for path in Path(entry).glob("*.dist-info")
    ]
    installed = {canonicalize_name(path.name.partition("-")[0]): path for path in folders}
    seen, waiting = set(), [("tfm-lib", frozenset({"book"}))]
    while waiting:
        name, extras = wanted = waiting.pop()
        if wanted in seen or name not in installed:
            continue
        seen.add(wanted)
        about = (installed[name] / "METADATA").read_text(encoding="utf-8").partition("\n\n")[0]
        waiting += [
            (canonicalize_name(asked.name), frozenset(asked.extras))
            for asked in map(Requirement, re.findall(r"^Requires-Dist: (.+)$", about, re.MULTILINE))
            if not asked.marker or any(asked.marker.evaluate({"extra": extra}) for extra in extras or {""})
        ]
    return " ".join(sorted(installed[name].name for name in {name for name, _ in seen} - {"tfm-lib"}))


def _all_there(html: Path, sizes: dict[str, int]) -> bool:
    return bool(sizes) and all(
        (html / name).is_file() and (html / name).stat().st_size == size for name, size in sizes.items()
    )


def _remove_orphans(html: Path, root: Path) -> None:
    """Delete pages whose chapter is no longer in the table of contents."""
    known = set(pages(root))
    for path in (html / "chapters").glob("*.html"):
        if path.relative_to(html).with_suffix("").as_posix() not in known:
            path.unlink()
