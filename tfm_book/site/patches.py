"""What the build does to parts of other projects that they do not offer: all of it stands here, and nothing elsewhere.

Each has its reason and the version that it was seen with; `tests/test_patches.py` says when one may go.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sphinx.environment import BuildEnvironment


def build_sphinx(root: Path, html: Path, **options: Any) -> int | BaseException:
    """Sphinx's run over the book at `root`, configured by `_config.yml`, as the command `jupyter-book build` makes it.

    jupyter-book 1.0.4: its command takes no settings of Sphinx but those of the file, so the function behind it is
    called. jsonschema 4.26 compiles, on finding rfc3987-syntax 1.1 (JupyterLab brings it), 38 grammars of addresses
    when it is imported: a second for nothing, so it does not find it.
    """
    return require_sphinx()(root, html, path_config=root / "_config.yml", **options)


def require_sphinx() -> Callable[..., int | BaseException]:
    """jupyter-book's function; raises ModuleNotFoundError where it, or Sphinx, is not installed."""
    sys.modules.setdefault("rfc3987_syntax", None)
    from jupyter_book.sphinx import build_sphinx as build

    return build


def stylesheet(path: str, **attributes: Any) -> Any:
    """A style sheet of one page. Sphinx 7.4: `app.add_css_file` serves only from `_static`, which is not ours alone."""
    from sphinx.builders.html._assets import _CascadingStyleSheet

    return _CascadingStyleSheet(path, **attributes)


def script(path: str, **attributes: Any) -> Any:
    """A script of one page; as for a style sheet."""
    from sphinx.builders.html._assets import _JavaScript

    return _JavaScript(path, **attributes)


def figure_numbers(env: BuildEnvironment) -> dict[str, dict[str, dict[str, tuple[int, ...]]]]:
    """The numbers of figures and exercises: page → kind → id → number. Sphinx 7.4 counts through the whole book."""
    return env.toc_fignumbers


def set_figure_numbers(env: BuildEnvironment, numbers: dict[str, dict[str, dict[str, tuple[int, ...]]]]) -> None:
    """Replace the numbers of figures and exercises. Sphinx 7.4 has no setting that counts anew on each page."""
    env.toc_fignumbers = numbers
