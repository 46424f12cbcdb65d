"""Write the glossary cards, with definitions and Korean terms, into a script that a page loads on demand."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tfm_book.site.assets import OURS, write
from tfm_book.site.search import KOREAN, words_in_title

SCRIPT = "terms.js"


def cards(app: Sphinx, doctree: nodes.document) -> dict[str, list[str]]:
    """Return id of a term → its name, its definition as HTML, its Korean name."""
    found = {}
    for item in doctree.findall(nodes.definition_list_item):
        terms = [term for term in item.findall(nodes.term) if any(id.startswith("term-") for id in term["ids"])]
        if not terms:
            continue
        body = [child for child in item if isinstance(child, nodes.definition)]
        korean = [word for raw in item.findall(nodes.raw) for word in KOREAN.findall(raw.astext())]
        said = "".join(_html(app, each) for each in body).strip()
        said = re.sub(r"\s*<em>Korean:</em>[\s.]*$", "", said)
        for term in terms:
            for id in term["ids"]:
                found[id] = [words_in_title(term).strip(), said, html.unescape(", ".join(korean))]
    return found


def _html(app: Sphinx, node: nodes.Node) -> str:
    """Return `node` as HTML for a card, without links."""
    if isinstance(node, nodes.Text):
        return html.escape(node.astext())
    if isinstance(node, nodes.math):
        formula = f'<span class="math">{app.tfm_katex.render(node.astext().strip(), False)}</span>'
        return html.escape(node.get("before", "")) + formula + html.escape(node.get("after", ""))
    if isinstance(node, nodes.raw):
        return ""
    inside = "".join(_html(app, child) for child in node.children)
    for kind, tag in ((nodes.emphasis, "em"), (nodes.strong, "strong"), (nodes.literal, "code")):
        if isinstance(node, kind):
            return f"<{tag}>{inside}</{tag}>"
    return inside


def collect(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write the cards when the page that defines the terms is written."""
    if doctree is not None and (found := cards(app, doctree)):
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        write(Path(app.outdir) / OURS / SCRIPT, f"globalThis.tfmTerms = {text};\n".encode())


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", collect, priority=920)
