"""Inline SVG into the page so that the page's colours apply: figures, the big picture, and matplotlib's plots."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from itertools import takewhile
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
ET.register_namespace("", SVG)
ET.register_namespace("xlink", XLINK)

BIG_PICTURE = "figures/transformer.svg"


class big_picture(nodes.General, nodes.Element):
    pass


class BigPicture(SphinxDirective):
    """`:::{big-picture} masking`: shows the Transformer's picture with that block highlighted, if one is named."""

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
    blocks = {block.get("data-block", "") for block in svg.iter() if block.get("data-block")}
    if stem and stem not in blocks:
        known = ", ".join(sorted(blocks))
        logger.warning(
            "The big picture has no block %r; it has %s.", stem, known, location=node, type="tfm", subtype="figure"
        )
    link_blocks(svg, stem, lambda name: _page_of(builder, name))
    here = f", with the block of this chapter, {stem.replace('_', '-')}, marked" if stem else ""
    self.body.append(
        f'<nav class="tfm-big-picture" aria-label="The Transformer, block by block{here}">{inline(svg, "big")}</nav>\n'
        f"{_film_link(builder)}"
    )
    raise nodes.SkipNode


def _film_link(builder) -> str:
    """Return a paragraph that links to the film's scene about the current chapter; "" on a page that is not a chapter."""
    from tfm_lib.widgets._film import moment

    second, page = moment(builder.current_docname.rpartition("/")[2]), _page_of(builder, "intro")
    if second is None or page is None:
        return ""
    address = (
        f"{page}#tfm=transformer/film.0&amp;value={second + 0.1:g}"  # so that the scene before is not what is seen
    )
    return f'<p class="tfm-film-link"><a href="{address}">Watch this chapter’s part in the film</a></p>\n'


def _page_of(builder, stem: str) -> str | None:
    """Return the link from the current page to the chapter `stem`; None if there is no such chapter."""
    docname = f"chapters/{stem}"
    if docname not in builder.env.found_docs:
        return None
    return builder.get_relative_uri(builder.current_docname, docname)


def link_blocks(svg: ET.Element, stem: str, page_of) -> None:
    """Make each `data-block` group of `svg` a link to its chapter if that exists; highlight the block of `stem`."""
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
    """Replaces local SVG images by inline SVG, so that the page's colours apply to them."""

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


class BesideItsWords(SphinxPostTransform):
    """Puts the paragraphs that precede the big picture and the picture into one box, so that they can stand side by side."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs):
        for picture in list(self.document.findall(big_picture)):
            around = picture.parent
            at = around.index(picture)
            words = list(takewhile(lambda node: isinstance(node, nodes.paragraph), reversed(around[:at])))[::-1]
            around[at - len(words) : at + 1] = [
                nodes.container("", nodes.container("", *words), picture, classes=["tfm-beside"])
            ]


def inline(svg: ET.Element, prefix: str, hidden: bool = False) -> str:
    """Return `svg` as text for an HTML page: at most as wide as its own width, with ids made unique by `prefix`."""
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
            element.text = re.sub(
                r"#([A-Za-z][\w-]*)(?=[^{}]*\{)", lambda m: f"#{prefix}-{m[1]}" if m[1] in ids else m[0], element.text
            )
    if hidden:
        for name in ("role", "aria-label", "aria-labelledby", "aria-describedby"):
            svg.attrib.pop(name, None)
        svg.set("aria-hidden", "true")
    view = svg.get("viewBox", "").split()
    if len(view) == 4:
        own = re.search(r"max-width: *([\d.]+)px;?", style := svg.get("style", ""))
        width = f"{float(own[1] if own else view[2]):g}"
        svg.set("style", f"max-width: min(100%, {width}px); {style.replace(own[0], '') if own else style}".strip())
        svg.set("width", width)  # what a caption leaves room for
        svg.attrib.pop("height", None)
    return ET.tostring(svg, encoding="unicode")


def slim(text: str) -> str:
    """Return HTML without comments and without unreferenced ids, which matplotlib repeats in each figure."""
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    used = set(re.findall(r"""(?:url\(|href=")#([\w.:-]+)""", text))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)


def setup(app: Sphinx) -> None:
    app.add_directive("big-picture", BigPicture)
    app.add_node(big_picture, html=(_visit_big_picture, None))
    app.add_post_transform(BesideItsWords)
    app.add_post_transform(InlineSvg)
