"""Pages on paper: each widget whole, each prediction with its answer, folds folded, and no more pages than fit a binder."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pytest
from playwright.sync_api import Page
from project import ROOT
from tiers import params

from browser.driving import DESKTOP, PHONE
from tfm_book.notebooks.contents import pages

PAGES = pages(ROOT)
MOST = 20

# What can be read in the stages of the widgets, a label a line; hidden ones are no labels.
LABELS = """() => [...document.querySelectorAll(".tfm-widget [data-stage]")].flatMap((stage) => {
  const walker = document.createTreeWalker(stage, NodeFilter.SHOW_TEXT), found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement, style = getComputedStyle(parent);
    const seen = parent.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const drawn = seen && !parent.closest("select, input, option, [hidden]") && style.fillOpacity !== "0" && parent.getClientRects().length;
    if (drawn && node.data.trim()) found.push(node.data);
  }
  return found;
})"""

ALONE = """() => document.querySelector("article").replaceChildren(...document.querySelectorAll(".tfm-widget"))"""

ANSWERS = """() => [...document.querySelectorAll(".tfm-answer")].flatMap((answer) => {
  const copy = answer.cloneNode(true);
  copy.querySelectorAll("summary, .math, .tfm-outcome").forEach((node) => node.replaceWith("\\n"));
  return copy.textContent.split("\\n").map((words) => words.trim()).filter((words) => words.length > 12);
})"""

STATE = """() => [...document.querySelectorAll("article details, .tfm-card")].map((node) =>
  [node.open, node.hidden, Object.keys(node.dataset).join(), node.style?.cssText])"""


def close(text: str) -> str:
    """The letters and digits of `text`: where print puts white space, and how a sign is spelt, is its own affair."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text))


def times(label: str, text: str) -> int:
    """How often `text` holds `label`; a letter that has an edge is printed twice, once for the edge."""
    return len(re.findall("".join(f"{letter}{{1,2}}?" for letter in label), text))


def on_paper(page: Page, file: Path) -> pdfium.PdfDocument:
    page.pdf(path=file, format="A4", print_background=True)
    return pdfium.PdfDocument(file)


def text_of(printed: pdfium.PdfDocument) -> str:
    return close("".join(sheet.get_textpage().get_text_range() for sheet in printed))


def unseen(printed: pdfium.PdfDocument) -> list[str]:
    """The letters that the file holds and that its sheets do not show: cut off, covered or beside the paper."""
    missing = []
    for number, sheet in enumerate(printed, start=1):
        picture = sheet.render(scale=2).to_numpy().astype(int)
        text, height = sheet.get_textpage(), sheet.get_height()
        for i in range(text.count_chars()):
            letter = text.get_text_range(i, 1)
            if not letter.strip() or not letter.isalnum():
                continue
            left, bottom, right, top = (2 * edge for edge in text.get_charbox(i))
            box = picture[
                max(0, int(2 * height - top)) : int(2 * height - bottom) + 1, max(0, int(left)) : int(right) + 1
            ]
            if not box.size or np.ptp(box, axis=(0, 1)).max() < 24:
                missing.append(f"{letter!r} on sheet {number}")
    return missing


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paper")


@pytest.mark.parametrize("name", params(PAGES, ("chapters/attention",)))
def test_a_page_fills_few_sheets_and_tells_its_answers(visit, folder: Path, name: str) -> None:
    page = visit(name, at="file")
    before = page.evaluate(STATE)
    answers = page.evaluate(ANSWERS)
    printed = on_paper(page, folder / f"{Path(name).name}.pdf")
    assert len(printed) <= MOST
    text = text_of(printed)
    for answer in answers:
        assert close(answer) in text
    assert page.evaluate(STATE) == before, "the page is left as it was"


@pytest.mark.parametrize(
    "name_on",
    params(
        [*((name, "desktop") for name in PAGES), ("chapters/masking", "phone"), ("chapters/decoding", "phone")],
        (),
        " on the ".join,
    ),
)
def test_widgets_are_whole_on_paper(visit, folder: Path, name_on: tuple[str, str]) -> None:
    name, on = name_on
    page = visit(name, at="file", viewport={"desktop": DESKTOP, "phone": PHONE}[on])
    if not page.locator(".tfm-widget").count():
        return
    page.evaluate(ALONE)
    labels = Counter(map(close, page.evaluate(LABELS)))
    printed = on_paper(page, folder / f"{Path(name).name}-widgets.pdf")
    text = text_of(printed)
    assert {label: count for label, count in labels.items() if times(label, text) < count} == {}
    assert unseen(printed) == []


def test_the_picture_of_the_machine_is_whole_and_light_from_a_dark_screen(visit, tmp_path: Path) -> None:
    page = visit("chapters/mine", scheme="dark")
    page.pdf(path=tmp_path / "mine.pdf", print_background=True)
    with pdfium.PdfDocument(tmp_path / "mine.pdf") as paper:
        (drawn,) = (each for each in paper if "multi_head" in each.get_textpage().get_text_bounded())
        words = drawn.get_textpage().get_text_bounded()
        assert "beam_step" in words and "words to predict" in words, "on one page"
        assert np.median(drawn.render().to_numpy()) > 240
