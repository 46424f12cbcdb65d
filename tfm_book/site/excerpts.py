"""Show library code on a page: the relevant lines, and the whole object in a fold."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tfm_book.notebooks.shown_code import excerpt, included_code
from tfm_book.site.boxes import fold


class Excerpt(SphinxDirective):
    """`{excerpt} ../tfm_lib/cost.py` with `:pyobject: name`: shows the signature and the lines that the body selects,
    above a fold with the whole. The body gives the beginnings of lines ("A … B": from A to B); without it, the
    whole is shown.
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"pyobject": directives.unchanged_required}

    def run(self):
        _, file = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(file)
        name = self.options.get("pyobject")
        try:
            whole = included_code(Path(file), name)
            short = excerpt(whole, self.content) if self.content else whole
        except (OSError, ValueError) as wrong:
            raise self.error(f"excerpt of {name} from {self.arguments[0]}: {wrong}") from wrong
        shown = self._listing(short, source=file)
        if short == whole:
            return [shown]
        lines = whole.count("\n") + 1
        title = [nodes.Text("All of "), nodes.literal("", name or ""), nodes.Text(f", {lines} lines")]
        return [shown, fold(title, [self._listing(whole)], ["tfm-whole"])]

    def _listing(self, code: str, **attributes: str) -> nodes.literal_block:
        listing = nodes.literal_block(code, code, language="python", **attributes)
        self.set_source_info(listing)
        listing["source"] = attributes.get("source", "")
        return listing


def setup(app: Sphinx) -> None:
    app.add_directive("excerpt", Excerpt)
