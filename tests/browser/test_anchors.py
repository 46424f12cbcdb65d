"""An address ends at its place, whatever comes to life above it afterwards."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Page
from project import CHAPTERS, ROOT
from tiers import params

from browser.conftest import settled
from browser.driving import DESKTOP, PHONE, until
from tfm_book.notebooks.contents import pages

TEACHING = [
    name for name in pages(ROOT) if "\n## Exercises\n" in (CHAPTERS.parent / f"{name}.md").read_text(encoding="utf-8")
]
TOP = "(id) => document.getElementById(id).querySelector('h2').getBoundingClientRect().top"


def calm(page: Page) -> None:
    """Wait until every widget is live and the page has had two frames and a second for whatever it still moves."""
    settled(page)
    page.wait_for_timeout(1200)


@pytest.mark.parametrize("viewport", params([DESKTOP, PHONE], [PHONE], lambda size: f"{size['width']} px"))
@pytest.mark.parametrize("name", params(TEACHING, ["chapters/masking"]))
def test_an_address_ends_at_its_place(visit, bases, built_book: Path, name: str, viewport: dict) -> None:
    """In the middle of a page on a desk; at its end, where more lies above, on a phone."""
    page = visit.blank(bases["http"], viewport=viewport)
    source = BeautifulSoup((built_book / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
    sections = [section["id"] for section in source.select("article section:has(> h2)")]
    anchor = sections[len(sections) // 2] if viewport == DESKTOP else "exercises"
    page.goto(f"{bases['http']}{name}.html#{anchor}")
    calm(page)
    assert 0 <= page.evaluate(TOP, anchor) <= 120, anchor


def test_a_reader_who_scrolls_is_not_called_back(visit) -> None:
    page = visit(TEACHING[0], hash="#exercises")
    page.mouse.move(600, 500)
    page.mouse.wheel(0, -900)
    until(page, f"({TOP})('exercises') > 500")
    page.evaluate(
        "document.querySelector('article').prepend(Object.assign(document.createElement('p'), { textContent: 'new' }))"
    )
    page.wait_for_timeout(1500)
    assert page.evaluate(TOP, "exercises") > 500


def test_an_exercise_is_open_where_an_address_leads_to_it_and_on_paper(visit) -> None:
    page = visit("chapters/masking", hash="#masking.decoder-mask")
    cards, statements = page.locator(".tfm-exercise"), page.locator(".exercise")
    opened = "(cards) => cards.map((card) => card.open)"
    assert cards.evaluate_all(opened) == [False, False, False, True, False, False]
    title = cards.nth(3).locator("> summary")
    assert "Exercise 4 · The decoder’s mask" in title.inner_text() and "10 minutes" in title.inner_text()
    assert 0 <= title.evaluate("(title) => title.getBoundingClientRect().top") <= 120
    page.evaluate("location.hash = '#masking.triangle'")
    assert statements.locator("visible=true").count() == 2
    page.emulate_media(media="print")
    assert statements.evaluate_all("(all) => all.every((each) => each.checkVisibility())")
