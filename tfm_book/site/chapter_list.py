"""List the chapters on the page as a grid of small pictures: title, minutes, and what each is about in a line."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tfm_book.notebooks.reading_order import listed_briefly

PICTURES = "chapters/figures/chapters.svg"


class ReadingOrder(SphinxDirective):
    """`:::{reading-order}`: lists the chapters in the order of the table of contents."""

    has_content = True

    def run(self):
        root = Path(self.env.srcdir)
        shown = listed_briefly(root)
        self.env.metadata[self.env.docname]["tfm_reading_order"] = shown
        self.env.note_dependency(str(root / PICTURES))
        box = nodes.container(classes=["tfm-chapter-grid"])
        self.state.nested_parse(StringList(shown.splitlines(), source=str(self.env.doc2path(self.env.docname))), 0, box)
        pictures = _pictures(root / PICTURES)
        for stem, item in zip(re.findall(r"\{doc\}`/(?:.*/)?(\w+)`", shown), box.findall(nodes.list_item), strict=True):
            item.insert(0, nodes.raw("", pictures.get(stem, ""), format="html"))
        return [box]


def _pictures(path: Path) -> dict[str, str]:
    """Return an inline SVG for each group of the file by its id; the first brings the style of all."""
    if not path.is_file():
        return {}
    svg = ET.fromstring(path.read_text(encoding="utf-8"))
    style, *groups = svg
    drawn = {}
    for group in groups:
        name = group.attrib.pop("id")
        parts = [group] if drawn else [style, group]
        body = "".join(ET.tostring(part, encoding="unicode") for part in parts)
        drawn[name] = f'<svg class="tfm-mark" viewBox="{svg.get("viewBox")}" aria-hidden="true">{body}</svg>'
    return drawn


def _with_another_order(app: Sphinx, env, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Return pages whose list of chapters is out of date, without making them depend on whole chapters."""
    listing = {docname: known.get("tfm_reading_order") for docname, known in env.metadata.items()}
    return [docname for docname, shown in listing.items() if shown and shown != listed_briefly(Path(env.srcdir))]


def setup(app: Sphinx) -> None:
    app.add_directive("reading-order", ReadingOrder)
    app.connect("env-get-outdated", _with_another_order)
