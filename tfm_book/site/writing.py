"""Let an exercise be answered in the page: the script that finds its card, the editor, and the chapter's imports."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tfm_book.notebooks.myst import blocks
from tfm_book.site.assets import OURS, THEME, write
from tfm_book.site.page_widgets import BUNDLES
from tfm_book.site.patches import script

#: What an answer may use in each chapter.
USUAL = (
    "import math",
    "import numpy as np",
    "import torch",
    "import torch.nn.functional as F",
    "from torch import Tensor, nn",
)
EDITOR = "editor.js"  # the bundle of frontend/src/write, which a page loads when its reader begins to write


def imports_of(source: str) -> str:
    """Return the import statements of a chapter's cells, but for what only its widgets need: what an answer may use."""
    cells = ("\n".join(block.lines) for block in blocks(source) if block.name == "code-cell")
    found = [node for cell in cells for node in ast.parse(cell).body if isinstance(node, ast.Import | ast.ImportFrom)]
    own = (line for node in found if "widgets" not in (line := ast.unparse(node)))
    return "\n".join(dict.fromkeys([*USUAL, *own]))


def copy_scripts(app: Sphinx) -> None:
    if app.builder.format == "html":
        out = Path(app.outdir) / OURS
        for name in ("write.js", "lines.js", "write.css"):
            write(out / name, (THEME / name).read_bytes())
        write(out / EDITOR, (BUNDLES / "write.js").read_bytes())


def offer(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    if 'class="tfm-exercise"' in context.get("body", ""):
        context["script_files"].append(script(f"{OURS}/write.js", priority=900, defer="defer"))
        context["tfm_setup"] = imports_of(Path(app.env.doc2path(pagename)).read_text(encoding="utf-8"))


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", copy_scripts)
    app.connect("html-page-context", offer, priority=960)  # after `assets`, which lists a page's scripts anew
