"""Collect every use that the build makes of internals of other projects, so that no other module touches them.

Each gives its reason and the version that it was written for; `tests/book/test_patches.py` shows when one can be removed.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sphinx.environment import BuildEnvironment


def build_sphinx(root: Path, html: Path, **options: Any) -> int | BaseException:
    """Run Sphinx over the book at `root`, configured by `_config.yml`, as the command `jupyter-book build` does.

    jupyter-book 1.0.4: its command accepts no Sphinx settings except those in the file, so the function behind it is
    called. jsonschema 4.26 compiles 38 grammars of addresses on import if it finds rfc3987-syntax 1.1 (which
    JupyterLab installs); this takes a second for nothing, so the package is hidden from it.
    """
    return require_sphinx()(root, html, path_config=root / "_config.yml", **options)


def require_sphinx() -> Callable[..., int | BaseException]:
    """Return jupyter-book's build function; raises ModuleNotFoundError if it or Sphinx is not installed."""
    modules: dict[str, Any] = sys.modules
    modules.setdefault("rfc3987_syntax", None)
    from jupyter_book.sphinx import build_sphinx as build

    find_plugins_once()
    return build


def find_plugins_once() -> None:
    """Let pybtex remember where its plugins are.

    pybtex 0.26: it goes through the entry points of every installed package for each citation, 300 times in this book.
    """
    import pybtex.plugin

    if not hasattr(pybtex.plugin._load_entry_point, "cache_info"):
        pybtex.plugin._load_entry_point = functools.cache(pybtex.plugin._load_entry_point)


def stylesheet(path: str, **attributes: Any) -> Any:
    """Return a style sheet for one page. Sphinx 7.4: `app.add_css_file` serves only from the shared `_static`."""
    from sphinx.builders.html._assets import _CascadingStyleSheet

    return _CascadingStyleSheet(path, **attributes)


def script(path: str, **attributes: Any) -> Any:
    """Return a script for one page; the reason is the same as for `stylesheet`."""
    from sphinx.builders.html._assets import _JavaScript

    return _JavaScript(path, **attributes)


def figure_numbers(env: BuildEnvironment) -> dict[str, dict[str, dict[str, tuple[int, ...]]]]:
    """Return the numbers of figures and exercises: page → kind → id → number. Sphinx 7.4 counts book-wide."""
    return env.toc_fignumbers


def set_figure_numbers(env: BuildEnvironment, numbers: dict[str, dict[str, dict[str, tuple[int, ...]]]]) -> None:
    """Replace the numbers of figures and exercises. Sphinx 7.4 has no setting for counting from 1 on each page."""
    env.toc_fignumbers = numbers
