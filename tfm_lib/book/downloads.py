"""What a chapter's page offers for download: the chapter as a plain notebook, its source, and the library's wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx

from tfm_lib.book.assets import write

FOLDER = "_downloads"


def offer(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Write the page's downloads and name them to the template."""
    source = Path(app.env.doc2path(pagename)) if doctree is not None else None
    if source is None or source.suffix != ".md":
        return
    text = source.read_text(encoding="utf-8")
    folder, files = Path(app.outdir) / FOLDER, []
    if "{code-cell}" in text:
        from tfm_lib.book.export import export_notebook

        notebook = export_notebook(source, Path(app.srcdir), values=glued_values(app))
        write(folder / f"{source.stem}.ipynb", nbformat.writes(notebook).encode())
        files.append((f"{source.stem}.ipynb", "to run in Jupyter"))
        write(folder / source.name, text.encode())
        files.append((source.name, "its MyST source"))
    wheels = sorted(Path(app.srcdir, "dist").glob("tfm_lib-*.whl"))
    if wheels:
        write(folder / wheels[-1].name, wheels[-1].read_bytes())
        files.append((wheels[-1].name, "the library that notebooks need"))
    pathto = context["pathto"]
    context["tfm_downloads"] = [{"name": name, "what": what, "href": pathto(f"{FOLDER}/{name}", 1)} for name, what in files]


def glued_values(app: Sphinx) -> dict[str, Any]:
    """What the chapters measured and glued in this build, by name."""
    import json

    values: dict[str, Any] = {}
    for path in sorted((Path(app.outdir).parent / "jupyter_execute").rglob("*.glue.json")):
        for name, output in json.loads(path.read_text(encoding="utf-8")).items():
            values[name] = output.get("data", {}).get("text/plain", "")
    return values


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", offer, priority=910)
