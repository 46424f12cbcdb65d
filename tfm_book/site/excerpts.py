"""Show library code on a page: the relevant lines, and the whole object in a fold."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from tfm_book.notebooks.shown_code import excerpt, included_code
from tfm_book.site.boxes import fold, folded

SHORT = 14  # lines of a whole that needs no fold: what an excerpt leaves out of it is mostly the docstring


class Excerpt(SphinxDirective):
    """`{excerpt} ../tfm_lib/cost.py` with `:pyobject: name`: shows the signature and the lines that the body selects,
    above a fold with the whole if that is long. The body gives the beginnings of lines ("A … B": from A to B); without it, the
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
        lines = whole.count("\n") + 1
        if short == whole:
            return [shown]
        if lines <= SHORT:
            shown["classes"].append("tfm-short")
            return [shown]
        title = [nodes.Text("All of "), nodes.literal("", name or ""), nodes.Text(f", {lines} lines")]
        return [shown, fold(title, [self._listing(whole)], ["tfm-whole"])]

    def _listing(self, code: str, **attributes: str) -> nodes.literal_block:
        listing = nodes.literal_block(code, code, language="python", **attributes)
        self.set_source_info(listing)
        listing["source"] = attributes.get("source", "")
        return listing


class NoFoldInAFold(SphinxPostTransform):
    """Shows the whole at once where the excerpt itself stands in a fold."""

    default_priority = 140  # before the files are named
    formats = ("html",)

    def run(self, **kwargs):
        for whole in [node for node in self.document.findall(folded) if "tfm-whole" in node["classes"]]:
            if _within_a_fold(whole):
                listing, at = whole.next_node(nodes.literal_block), whole.parent.index(whole)
                listing["source"] = whole.parent[at - 1]["source"]
                whole.parent[at - 1 : at + 1] = [listing]


def _within_a_fold(node: nodes.Element) -> bool:
    return node.parent is not None and (isinstance(node.parent, folded) or _within_a_fold(node.parent))


def setup(app: Sphinx) -> None:
    app.add_directive("excerpt", Excerpt)
    app.add_post_transform(NoFoldInAFold)
