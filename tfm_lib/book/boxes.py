"""The book's own pieces of a page: kicker, prediction, the big picture, folded boxes, and SVG drawn into the page."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import is_exercise_node, is_solution_node

logger = logging.getLogger(__name__)

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
ET.register_namespace("", SVG)
ET.register_namespace("xlink", XLINK)

BIG_PICTURE = "figures/transformer.svg"


class Kicker(SphinxDirective):
    """`:::{kicker} Part II · The pieces · 25 minutes`: the line above a chapter's title."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        return [nodes.paragraph(self.arguments[0], self.arguments[0], classes=["tfm-kicker"])]


class predict(nodes.General, nodes.Element):
    """A question, its choices, and what is shown after choosing."""


class choice(nodes.General, nodes.Element):
    pass


class explanation(nodes.General, nodes.Element):
    pass


class Predict(SphinxDirective):
    """`:::{predict} id`: a question, a list of `- [ ]` and one `- [x]`, and an explanation."""

    required_arguments = 1
    has_content = True

    def run(self):
        question, choices, after = split_prediction(list(self.content))
        if sum(right for right, _ in choices) != 1 or len(choices) < 2:
            raise self.error(f"The prediction {self.arguments[0]!r} needs at least two choices, `- [ ]`, exactly one of them `- [x]`.")
        node = predict(name=f"{self.env.docname.rsplit('/', 1)[-1]}.{self.arguments[0]}")
        self._parse(question, node)
        for right, lines in choices:
            item = choice(right=right)
            self._parse(lines, item)
            node += item
        answer = explanation()
        self._parse(after, answer)
        node += answer
        self.set_source_info(node)
        return [node]

    def _parse(self, lines: list[str], into: nodes.Element) -> None:
        self.state.nested_parse(StringList(lines, source=self.get_source_info()[0]), self.content_offset, into)


def split_prediction(lines: list[str]) -> tuple[list[str], list[tuple[bool, list[str]]], list[str]]:
    """The lines of a prediction as question, [(right?, lines of the choice)], explanation."""
    mark = re.compile(r"^[-*] \[([ xX])\] ?(.*)$")
    starts = [i for i, line in enumerate(lines) if mark.match(line)]
    if not starts:
        return lines, [], []
    choices: list[tuple[bool, list[str]]] = []
    end = starts[0]
    while end < len(lines):
        found = mark.match(lines[end])
        if found:
            choices.append((found[1] in "xX", [found[2]]))
        elif lines[end].startswith("  ") or (not lines[end].strip() and any(i > end for i in starts)):
            choices[-1][1].append(lines[end].strip())
        else:
            break
        end += 1
    return lines[: starts[0]], choices, lines[end:]


def _visit_predict(self, node: predict) -> None:
    name = html.escape(node["name"])
    self.body.append(
        f'<form class="tfm-predict" data-predict="{name}" aria-label="Prediction">\n'
        '<p class="tfm-box-title">Predict first</p>\n'
    )
    node["count"] = 0


def _depart_predict(self, node: predict) -> None:
    self.body.append('<button type="button" class="tfm-forget" hidden>Forget my answer</button>\n</form>\n')


def _visit_choice(self, node: choice) -> None:
    form = node.parent
    name, index = html.escape(form["name"]), form["count"]
    form["count"] += 1
    if index == 0:
        self.body.append('<div class="tfm-choices" role="radiogroup" aria-label="Your prediction">\n')
    right = ' data-right=""' if node["right"] else ""
    self.body.append(f'<label class="tfm-choice"{right}><input type="radio" name="{name}" value="{index}"/><span>')
    if len(node) == 1 and isinstance(node[0], nodes.paragraph):  # a label holds phrases, not paragraphs
        node.children = node[0].children


def _depart_choice(self, node: choice) -> None:
    self.body.append("</span></label>\n")
    if not any(isinstance(sibling, choice) for sibling in node.parent[node.parent.index(node) + 1 :]):
        self.body.append("</div>\n")


def _visit_explanation(self, node: explanation) -> None:
    right = next(sibling for sibling in node.parent if isinstance(sibling, choice) and sibling["right"])
    self.body.append(
        '<details class="tfm-answer"><summary>What happens</summary>\n'
        f'<p class="tfm-outcome" role="status" data-answer="{html.escape(right.astext().strip())}">'
        f"<strong>Answer:</strong> {html.escape(right.astext().strip())}</p>\n"
    )


def _depart_explanation(self, node: explanation) -> None:
    self.body.append("</details>\n")


class big_picture(nodes.General, nodes.Element):
    pass


class BigPicture(SphinxDirective):
    """`:::{big-picture} masking`: the book's one picture of the Transformer with that block lit; without a name, none."""

    optional_arguments = 1
    has_content = True

    def run(self):
        self.env.note_dependency(str(Path(self.env.srcdir, "chapters", BIG_PICTURE)))
        node = big_picture(stem=self.arguments[0] if self.arguments else "")
        self.set_source_info(node)
        return [node]


def _visit_big_picture(self, node: big_picture) -> None:
    builder = self.builder
    path = Path(builder.srcdir, "chapters", BIG_PICTURE)
    stem = node["stem"]
    if not path.exists():
        logger.warning("chapters/%s is missing", BIG_PICTURE, location=node, type="tfm", subtype="figure")
        raise nodes.SkipNode
    svg = ET.fromstring(path.read_text(encoding="utf-8"))
    blocks = {block.get("data-block") for block in svg.iter() if block.get("data-block")}
    if stem and stem not in blocks:
        known = ", ".join(sorted(blocks))
        logger.warning("The big picture has no block %r; it has %s.", stem, known, location=node, type="tfm", subtype="figure")
    link_blocks(svg, stem, lambda name: _page_of(builder, name))
    here = f", with the block of this chapter, {stem.replace('_', '-')}, marked" if stem else ""
    self.body.append(f'<nav class="tfm-big-picture" aria-label="The Transformer, block by block{here}">{inline(svg, "big")}</nav>\n')
    raise nodes.SkipNode


def _page_of(builder, stem: str) -> str | None:
    """The link from the page being written to the chapter `stem`; None if there is no such chapter."""
    docname = f"chapters/{stem}"
    if docname not in builder.env.found_docs:
        return None
    return builder.get_relative_uri(builder.current_docname, docname)


def link_blocks(svg: ET.Element, stem: str, page_of) -> None:
    """Make each `data-block` group of `svg` a link to its chapter if that exists, and light the one of `stem`."""
    for parent in list(svg.iter()):
        for index, child in enumerate(list(parent)):
            block = child.get("data-block")
            if block is None:
                continue
            lit = block == stem
            if lit:
                child.set("class", f"{child.get('class', '')} lit".strip())
                child.set("aria-current", "true")
            anchor = f"{{{SVG}}}a"
            href = page_of(block)
            for attribute in ("href", f"{{{XLINK}}}href"):
                child.attrib.pop(attribute, None)
            if child.tag == anchor:
                if href:
                    child.set("href", href)
                else:
                    child.tag = f"{{{SVG}}}g"
            elif href:
                wrapper = ET.Element(anchor, {"href": href})
                wrapper.tail, child.tail = child.tail, None
                parent[index] = wrapper
                wrapper.append(child)


class InlineSvg(SphinxPostTransform):
    """Puts local SVG images into the page, so that the colours of the page apply to them."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs):
        for serial, image in enumerate(list(self.document.findall(nodes.image))):
            path = Path(self.env.srcdir, image["uri"].lstrip("/"))
            if path.suffix == ".svg" and path.is_file() and "logo" not in image.get("classes", ()):
                alt = image.get("alt", "")
                if not alt:
                    message = "The figure %s has no text alternative: give it an `:alt:`."
                    logger.warning(message, image["uri"], location=image, type="tfm", subtype="alt")
                svg = ET.fromstring(path.read_text(encoding="utf-8"))
                width = f' style="max-width: {html.escape(image["width"])}"' if image.get("width") else ""
                text = (
                    f'<div class="tfm-figure" role="img" aria-label="{html.escape(alt)}"{width}>'
                    f"{inline(svg, f'{path.stem}-{serial}', hidden=True)}</div>"
                )
                image.replace_self(nodes.raw(text, text, format="html"))
            elif not image.get("alt") and "jupyter_execute" in image["uri"]:
                logger.warning(
                    "A cell shows a picture without a text alternative: end it with `show(fig, alt=…)`.",
                    location=image, type="tfm", subtype="alt",
                )  # fmt: skip


def inline(svg: ET.Element, prefix: str, hidden: bool = False) -> str:
    """`svg` as text for an HTML page: no fixed size beyond its own width, ids made unique with `prefix`."""
    ids = {element.get("id") for element in svg.iter() if element.get("id")}
    for element in svg.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, f"{prefix}-{value}")
            elif name in ("href", f"{{{XLINK}}}href") and value.startswith("#") and value[1:] in ids:
                element.set(name, f"#{prefix}-{value[1:]}")
            elif name in ("aria-labelledby", "aria-describedby"):
                element.set(name, " ".join(f"{prefix}-{word}" if word in ids else word for word in value.split()))
            elif "url(#" in value:
                element.set(name, re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", value))
        if element.tag == f"{{{SVG}}}style" and element.text:
            element.text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", element.text)
            element.text = re.sub(r"#([A-Za-z][\w-]*)(?=[^{}]*\{)", lambda m: f"#{prefix}-{m[1]}" if m[1] in ids else m[0], element.text)
    if hidden:
        svg.set("aria-hidden", "true")
    view = svg.get("viewBox", "").split()
    if len(view) == 4:
        svg.set("style", f"max-width: min(100%, {float(view[2]):g}px); {svg.get('style', '')}".strip())
        for size in ("width", "height"):
            svg.attrib.pop(size, None)
    return ET.tostring(svg, encoding="unicode")


class folded(nodes.General, nodes.Element):
    """A box that opens on a click, with no script: `<details>`."""


class Dropdown(SphinxDirective):
    """`:::{dropdown} Title`, with `:class: hint` for hints and `:open:`: a folded box."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"class": directives.class_option, "open": directives.flag, "name": directives.unchanged}

    def run(self):
        title, messages = self.state.inline_text(self.arguments[0], self.lineno)
        node = _fold(title, [], self.options.get("class", ["more"]), opened="open" in self.options)
        self.add_name(node)
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node, *messages]


class Tidy(SphinxPostTransform):
    """Folded admonitions and solutions become `<details>`; the kicker goes above the title; exercises lose a repeated id."""

    default_priority = 150
    formats = ("html",)

    def run(self, **kwargs):
        for node in list(self.document.findall(nodes.Admonition)):
            if is_exercise_node(node):
                _unwrap(node)
                title = node[0].children
                if len(title) > 2 and title[-1].astext() == ")":  # "Exercise 1 (The leak test)"
                    node[0].children = [nodes.Text(" · "), *title[1:-1]]
            elif is_solution_node(node):
                _unwrap(node)
                exercise = node.get("target_label")
                node.replace_self(_fold([nodes.Text("Solution")], node[1:], ["solution"], node.get("ids"), exercise=exercise))
            elif "dropdown" in node.get("classes", ()):
                classes = [name for name in node["classes"] if name != "dropdown"]
                node.replace_self(_fold(node[0].children, node[1:], classes, node.get("ids")))
        for table in list(self.document.findall(nodes.table)):
            box = nodes.container(classes=["tfm-scroll"])
            table.replace_self(box)
            box += table
        for code in list(self.document.findall(nodes.literal_block)):
            shown = re.search(r"tfm_lib/[\w/]+\.py$", Path(code.get("source") or "").as_posix())
            if shown:
                file = nodes.paragraph(shown[0], shown[0], classes=["tfm-file"])
                code.parent.insert(code.parent.index(code), file)
        for kicker in list(self.document.findall(nodes.paragraph)):
            if "tfm-kicker" in kicker["classes"] and isinstance(kicker.parent, nodes.section):
                section = kicker.parent
                section.remove(kicker)
                section.insert(0, kicker)


def _unwrap(node: nodes.Element) -> None:
    for child in list(node.children):
        if isinstance(child, nodes.section) and child["ids"] and child["ids"][0] in ("exercise-content", "solution-content"):
            child.replace_self(child.children)


def _fold(title, body, classes, ids=(), opened=False, exercise=None) -> folded:
    node = folded("", *body, classes=["tfm-fold", *classes], ids=list(ids or ()), opened=opened)
    node.insert(0, _summary("", "", *title))
    if exercise:
        node["exercise"] = exercise
    return node


class _summary(nodes.General, nodes.TextElement):
    pass


def _visit_folded(self, node: folded) -> None:
    attributes = {"open": "open"} if node.get("opened") else {}
    if node.get("exercise"):
        attributes["data-exercise"] = node["exercise"]
    self.body.append(self.starttag(node, "details", **attributes))


def _tags(open_tag: str, close_tag: str):
    return (lambda self, node: self.body.append(open_tag)), (lambda self, node: self.body.append(close_tag))


def _visit_hidden_cell(self, node: HideCodeCellNode) -> None:
    what = "the code" if "below-input" not in node["classes"] else "the output"
    self.body.append(f'<details class="tfm-fold tfm-hidden-cell"><summary>Show {what}</summary>\n')


def _number_per_book(app: Sphinx, env) -> list[str]:
    env.toc_fignumbers = getattr(env, "tfm_fignumbers", env.toc_fignumbers)
    return []


def _number_per_chapter(app: Sphinx, env) -> list[str]:
    """Figures, equations and exercises count from 1 in each chapter, so that a new chapter renumbers no other."""
    env.tfm_fignumbers = env.toc_fignumbers
    env.toc_fignumbers = {
        docname: {kind: {id: (i,) for i, id in enumerate(ids, start=1)} for kind, ids in kinds.items()}
        for docname, kinds in env.toc_fignumbers.items()
    }
    return []


def setup(app: Sphinx) -> None:
    app.connect("env-get-updated", _number_per_book, priority=400)  # Sphinx compares with its own numbers of last time
    app.connect("env-get-updated", _number_per_chapter, priority=600)
    app.add_directive("kicker", Kicker)
    app.add_directive("dropdown", Dropdown, override=True)
    app.add_directive("predict", Predict)
    app.add_directive("big-picture", BigPicture)
    app.add_node(predict, html=(_visit_predict, _depart_predict))
    app.add_node(choice, html=(_visit_choice, _depart_choice))
    app.add_node(explanation, html=(_visit_explanation, _depart_explanation))
    app.add_node(big_picture, html=(_visit_big_picture, None))
    app.add_node(folded, html=(_visit_folded, _tags("", "</details>\n")[1]))
    app.add_node(_summary, html=_tags("<summary>", "</summary>\n"))
    app.add_node(HideCodeCellNode, override=True, html=(_visit_hidden_cell, _tags("", "</details>\n")[1]))
    app.add_post_transform(InlineSvg)
    app.add_post_transform(Tidy)
