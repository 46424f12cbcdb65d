"""Offer downloads on a chapter's page: the chapter as a plain notebook, its source, and the library's wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from tfm_book.notebooks.export import built_wheel, export_notebook, glued
from tfm_book.site.assets import write
from tfm_book.site.doors import Repository

logger = logging.getLogger(__name__)

FOLDER = "_downloads"


def offer(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write the page's downloads and pass their names to the template."""
    source = Path(app.env.doc2path(pagename)) if doctree is not None else None
    if source is None or source.suffix != ".md":
        return
    text = source.read_text(encoding="utf-8")
    folder, files, wheel = Path(app.outdir) / FOLDER, [], built_wheel(Path(app.srcdir))
    if "{code-cell}" in text:
        values = glued(Path(app.outdir).parent / "jupyter_execute" / f"{pagename}.glue.json")
        try:
            url = Repository.of(app.config).wheel(wheel.name) if wheel else ""
            notebook = export_notebook(source, Path(app.srcdir), values=values, wheel_url=url)
        except (ValueError, KeyError) as error:
            logger.warning("No notebook of this chapter: %s", error, location=pagename, type="tfm", subtype="export")
            return
        write(folder / f"{source.stem}.ipynb", nbformat.writes(notebook).encode())
        files.append((f"{source.stem}.ipynb", "to run in Jupyter"))
        write(folder / source.name, text.encode())
        files.append((source.name, "its MyST source"))
    if wheel:
        files.append((wheel.name, "the library that notebooks need"))
        context["tfm_wheel"] = wheel.name if pagename == app.config.root_doc else ""
    pathto = context["pathto"]
    context["tfm_downloads"] = [
        {"name": name, "what": what, "href": pathto(f"{FOLDER}/{name}", 1)} for name, what in files
    ]


def copy_wheel(app: Sphinx) -> None:
    """Copy the library's wheel into the book and delete older ones."""
    folder, wheel = Path(app.outdir) / FOLDER, built_wheel(Path(app.srcdir))
    for old in folder.glob("*.whl"):
        if wheel is None or old.name != wheel.name:
            old.unlink()
    if wheel is not None:
        write(folder / wheel.name, wheel.read_bytes())


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", copy_wheel)
    app.connect("html-page-context", offer, priority=910)
