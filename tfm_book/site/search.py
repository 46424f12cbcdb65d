"""Build the search index: the plain text of every page's sections, terms, misconceptions and widgets, in one script.

It is a classic script, because a page opened from a file may load one, but may not fetch anything.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from unicodedata import normalize

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_exercise.nodes import is_exercise_node

from tfm_book.site.assets import OURS, write
from tfm_book.site.page_widgets import widget_view
from tfm_lib.drawing.macros import MACROS

SCRIPT = "sections.js"
NAMES = """alpha beta gamma delta epsilon varepsilon zeta eta theta lambda mu nu pi rho sigma tau phi omega Omega Delta
Sigma partial nabla infty top times cdot le leq ge geq ne neq to approx sum prod in pm ldots dots cdots odot cap cup mid"""
SIGNS = dict(zip(NAMES.split(), "αβγδεεζηθλμνπρστφωΩΔΣ∂∇∞ᵀ×·≤≤≥≥≠≠→≈Σ∏∈±………⊙∩∪|", strict=True))
SILENT = {"tfm-kicker", "tfm-korean", "hint", "solution"}  # what is found elsewhere, or opened only as a last resort
SPOKEN = "tanh log ln exp max min arg sin cos".split()
ADDRESS = re.compile(r"https?://\S+ ?")  # nobody searches for addresses
KOREAN = re.compile(r'<span class="ko" lang="ko">(.*?)</span>')
SHORT = 40  # characters of a formula that is still searchable as a word


def words_of_formula(tex: str) -> str:
    """Convert `tex` to what somebody would type: signs for names, no braces; empty if the result is too long."""
    tex = re.sub(r"\\[a-zA-Z]+", lambda name: MACROS[name[0]][1] if name[0] in MACROS else name[0], tex)
    tex = re.sub(r"\\sqrt\{([^{}]*)\}", r"√\1", tex)
    tex = re.sub(r"\\d?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", tex)
    tex = re.sub(r"\\([a-zA-Z]+) ?", lambda name: SIGNS.get(name[1], name[1] if name[1] in SPOKEN else ""), tex)
    text = " ".join(re.sub(r"\\.|[{}$^~&]", "", tex).split())
    return text if len(text) <= SHORT else ""


def words_in(node: nodes.Node) -> str:
    """Return the visible text of `node`, without nested sections, terms and misconceptions (indexed separately)."""
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, nodes.math):
        return f"{node.get('before', '')}{words_of_formula(node.astext())}{node.get('after', '')}"
    if isinstance(node, nodes.raw):
        return " ".join(KOREAN.findall(node.astext()))
    skipped = nodes.section | nodes.math_block | nodes.literal_block | nodes.image | nodes.Invisible
    of_its_own = _is_term(node) or _is_misconception(node) or _is_title_of_section(node)
    if isinstance(node, skipped) or of_its_own or SILENT.intersection(node.get("classes", ())):
        return ""
    parts = "".join(words_in(child) for child in node.children)
    return parts if isinstance(node, nodes.Inline) else f"{parts} "


def _is_term(node: nodes.Node) -> bool:
    return isinstance(node, nodes.definition_list_item) and any(
        id.startswith("term-") for term in node.findall(nodes.term) for id in term["ids"]
    )


def _is_misconception(node: nodes.Node) -> bool:
    return isinstance(node, nodes.admonition) and "misconception" in node["classes"]


def _is_title_of_section(node: nodes.Node) -> bool:
    return isinstance(node, nodes.title) and isinstance(node.parent, nodes.section)


def name_misconceptions(app: Sphinx, doctree: nodes.document) -> None:
    """Give each misconception an id, so that a search result can link to it."""
    for box in doctree.findall(_is_misconception):
        if not box["ids"]:
            box["ids"] = [nodes.make_id(next(box.findall(nodes.title)).astext())]


def sections_of(doctree: nodes.document) -> list[list[str]]:
    """Return id, title, text and kind of each section, exercise, term, misconception and widget; the page comes first.

    The kind of a section is "", and every text is composed (NFC), as what is typed will be.
    """
    found = []
    for section in doctree.findall(nodes.section):
        title = next(section.findall(nodes.title))
        words = ADDRESS.sub("", " ".join(" ".join(words_in(child) for child in section).split()))
        whole = isinstance(section.parent, nodes.document)
        found.append(["" if whole else section["ids"][0], " ".join(words_in_title(title).split()), words, ""])
    for box in doctree.findall(is_exercise_node):
        title = box.get("heading") or next(box.findall(nodes.title), None)
        words = " ".join("".join(words_in(child) for child in box if child is not title).split())
        if title is not None and box["ids"]:
            words = re.sub(r"^\d+ minutes · [★☆]+ ", "", words)
            found.append([box["ids"][0], words_in_title(title).strip(" ·"), words, "exercise"])
    for item in doctree.findall(nodes.definition_list_item):
        if _is_term(item):
            terms = list(item.findall(nodes.term))
            ids = [id for term in terms for id in term["ids"] if id.startswith("term-")]
            names = ", ".join(words_in_title(term).strip() for term in terms)
            words = " ".join("".join(words_in(child) for child in item if not isinstance(child, nodes.term)).split())
            found.append([ids[0], names, words, "term"])
    for box in doctree.findall(_is_misconception):
        title = next(box.findall(nodes.title))
        words = " ".join("".join(words_in(child) for child in box if child is not title).split())
        found.append([box["ids"][0], words_in_title(title).strip(), words, "misconception"])
    for place, view in enumerate(doctree.findall(widget_view)):
        if view.get("module"):  # link to the widget in its initial state
            told = f"{view['question']} {view['tfm'].get('alt', '')}"
            found.append([f"tfm={view['module']}.{place}", view["label"], told.strip(), "widget"])
    return [[normalize("NFC", part) for part in each] for each in found]


def words_in_title(title: nodes.Element) -> str:
    return "".join(words_in(child) for child in title)


def collect(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Save the text of a page that is written; texts of the others were saved by earlier builds."""
    if doctree is not None:
        found = sections_of(doctree)
        text = json.dumps([found[0][1] if found else pagename, found], ensure_ascii=False)
        write(_kept(app, pagename), text.encode())


def gather(app: Sphinx, exception: Exception | None) -> None:
    if app.builder.format != "html":
        return
    kept = {name: _kept(app, name) for name in sorted(app.env.found_docs)}
    pages = [[name, *json.loads(path.read_text(encoding="utf-8"))] for name, path in kept.items() if path.is_file()]
    text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    write(Path(app.outdir) / OURS / SCRIPT, f"globalThis.tfmSections = {text};\n".encode())


def _kept(app: Sphinx, pagename: str) -> Path:
    return Path(app.outdir).parent / "sections" / f"{pagename}.json"


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", name_misconceptions)
    app.connect("html-page-context", collect, priority=920)
    app.connect("build-finished", gather)
