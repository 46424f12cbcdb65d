"""Print the book as one PDF: Chromium prints each page; the sheets are merged, with an outline and internal links."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from tfm_book.browser import find_browser
from tfm_lib._extras import needs

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from pypdf import PageObject, PdfWriter

PATIENCE = 120_000  # milliseconds to wait for a page's widgets before giving up
LIVE = "[...document.querySelectorAll('.tfm-widget')].every((box) => box.dataset.state)"
SECTIONS = """() => [...document.querySelectorAll("article section > h2")].map((heading) => {
  const words = heading.cloneNode(true);
  words.querySelectorAll(".headerlink, .katex-mathml").forEach((node) => node.remove());
  return [heading.parentElement.id, words.textContent.trim()];
})"""
TITLE = "document.querySelector('article h1').firstChild.textContent.trim()"
# Chromium records the position of every target that the page itself links to, even if the link is hidden.
NOTE_PLACES = """(ids) => {
  const links = Object.assign(document.createElement("nav"), { hidden: true });
  links.append(...ids.map((id) => Object.assign(document.createElement("a"), { href: `#${id}` })));
  document.body.append(links);
}"""
COUNT_FROM = ":root {{ counter-reset: page {before}; }}"  # number the sheets through the whole book


@dataclass
class Printed:
    """A page of the book after printing."""

    title: str
    sections: list[tuple[str, str]]  # id, heading
    sheets: list[PageObject]
    first: int  # index of its first sheet in the whole book
    places: dict[str, tuple[int, float]] = field(default_factory=dict)  # id → sheet in the book, height on that sheet
    links: list[tuple[int, list[float], str]] = field(default_factory=list)  # sheet in the book, rectangle, address


def print_book(
    html: Path,
    parts: Sequence[tuple[str, Sequence[str]]],
    to: Path,
    title: str,
    tell: Callable[[str, int], None] = lambda name, sheets: None,
) -> int:
    """Print the built pages of `parts`, each a caption and its pages (`chapters/masking`), and merge them into `to`.

    Calls `tell` after each page. Returns the number of sheets. Raises `MissingBrowser` if there is no Chromium.
    """
    needs("paper", "playwright", "pypdf")
    from playwright.sync_api import sync_playwright

    names = [name for _, pages in parts for name in pages]
    wanted = _linked_places(html, names)
    book: dict[str, Printed] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(find_browser()))
        try:
            context = browser.new_context(
                bypass_csp=True,  # the content security policy would not let Playwright wait
                viewport={"width": 1280, "height": 900},
                color_scheme="light",
                reduced_motion="reduce",
            )
            sheets = 0
            for name in names:
                page = context.new_page()
                book[name] = _printed(page, html / f"{name}.html", wanted[name], sheets)
                sheets += len(book[name].sheets)
                page.close()
                tell(name, len(book[name].sheets))
        finally:
            browser.close()
    _merge(html, parts, book, title).write(to)
    return sheets


def _linked_places(html: Path, names: Iterable[str]) -> dict[str, set[str]]:
    """Return, for each page, the ids on it that some page of the book links to."""
    wanted: dict[str, set[str]] = {name: set() for name in names}
    for name in wanted:
        for link in re.findall(r'href="([^"#:]*)#([^"]+)"', (html / f"{name}.html").read_text(encoding="utf-8")):
            target = _page_at((html / f"{name}.html").parent / link[0], html) if link[0] else name
            if target in wanted:
                wanted[target].add(unquote(link[1]))
    return wanted


def _page_at(path: Path, html: Path) -> str:
    """Return the book's name for the page at `path`, or an empty string if it is not in the book's folder."""
    resolved, root = path.resolve(), html.resolve()
    return resolved.relative_to(root).with_suffix("").as_posix() if root in resolved.parents else ""


def _printed(page: Page, file: Path, ids: Iterable[str], before: int) -> Printed:
    """Print `file`; its sheets are numbered after the `before` sheets of the preceding pages."""
    from pypdf import PdfReader

    page.goto(file.resolve().as_uri())
    page.wait_for_function(LIVE, timeout=PATIENCE)
    page.evaluate("document.fonts.ready.then(() => true)")
    sections = [(id, words) for id, words in page.evaluate(SECTIONS)]
    page.evaluate(NOTE_PLACES, sorted({*ids, *(id for id, _ in sections)}))
    page.add_style_tag(content=COUNT_FROM.format(before=before))
    pdf = PdfReader(io.BytesIO(page.pdf(format="A4", print_background=True)))
    sheets = list(pdf.pages)
    place_of = {sheet.indirect_reference.idnum: before + i for i, sheet in enumerate(sheets)}
    printed = Printed(page.evaluate(TITLE), sections, sheets, before)
    for name, place in pdf.named_destinations.items():
        printed.places[unquote(name.lstrip("/"))] = (place_of[place.raw_get("/Page").idnum], float(place["/Top"]))
    for i, sheet in enumerate(sheets):
        for annotation in sheet.get("/Annots", []):
            link = annotation.get_object()
            within, action = link.get("/Dest"), link.get("/A", {})
            address = f"{file.resolve().as_uri()}#{within.lstrip('/')}" if within else action.get("/URI")
            if address:
                printed.links.append((before + i, [float(edge) for edge in link["/Rect"]], str(address)))
    return printed


def _merge(html: Path, parts: Sequence[tuple[str, Sequence[str]]], book: dict[str, Printed], title: str) -> PdfWriter:
    from pypdf import PdfWriter
    from pypdf.annotations import Link
    from pypdf.generic import Fit, NameObject

    writer = PdfWriter()
    for printed in book.values():
        for sheet in printed.sheets:
            sheet.pop("/Annots", None)  # they point to places within the single page
            writer.add_page(sheet)
    for printed in book.values():
        for sheet, rectangle, address in printed.links:
            target = _place(address, html, book)
            if target is not None:
                to, top = target
                link = Link(rect=rectangle, target_page_index=to, fit=Fit.xyz(left=0, top=top))
            elif urlsplit(address).scheme in ("http", "https", "mailto"):
                link = Link(rect=rectangle, url=address)
            else:
                continue  # a file beside the page, which is not included in the PDF
            writer.add_annotation(sheet, link)
    for caption, names in parts:
        above = writer.add_outline_item(title=caption, page_number=book[names[0]].first) if caption else None
        for name in names:
            printed = book[name]
            chapter = writer.add_outline_item(title=printed.title, page_number=printed.first, parent=above)
            for id, words in printed.sections:
                if id in printed.places:
                    sheet, top = printed.places[id]
                    writer.add_outline_item(
                        title=words, page_number=sheet, parent=chapter, fit=Fit.xyz(left=0, top=top)
                    )
    writer.add_metadata({"/Title": title})
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    writer.compress_identical_objects()
    return writer


def _place(address: str, html: Path, book: dict[str, Printed]) -> tuple[int, float] | None:
    """Return the sheet that `address` points to and the height on it; None if it is not in the printed book."""
    split = urlsplit(address)
    name = _page_at(Path(unquote(split.path)), html) if split.scheme == "file" else ""
    if name not in book:
        return None
    printed = book[name]
    return printed.places.get(unquote(split.fragment), (printed.first, 842.0))
