"""The slides of a chapter, opened from a folder and gone through with the keyboard."""

from pathlib import Path

import pytest

from browser.driving import PHONE, until
from tfm_book.slides import write_decks

PROJECTOR = {"width": 1280, "height": 720}
KIND = "document.querySelector('.deck-shown').classList[1]"
OVER = """() => { const stage = document.querySelector(".deck-shown .deck-stage");
  return [stage.scrollWidth - stage.clientWidth, stage.scrollHeight - stage.clientHeight]; }"""
DRAWN = """() => [...document.querySelectorAll(".deck-shown .tfm-card :is(svg, canvas)")]
  .map((drawing) => drawing.getBoundingClientRect()).map(({ width, height }) => [width, height])
  .reduce((a, b) => (a[0] * a[1] > b[0] * b[1] ? a : b))"""
ZOOMED = "document.querySelector('.deck-shown .deck-fit').style.visibility !== 'hidden'"


@pytest.fixture(scope="module")
def folder(built_book: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    to = tmp_path_factory.mktemp("slides")
    write_decks(built_book, ["chapters/masking"], to, "Book")
    return to.as_uri() + "/"


@pytest.mark.long
def test_the_keys_go_through_a_deck_without_a_network(visit, folder: str) -> None:
    page = visit.blank(folder, viewport=PROJECTOR)
    page.goto(f"{folder}masking.html")
    count, at, kinds = page.locator(".deck-slide").count(), 1, set()
    while True:
        assert page.locator(".deck-place").inner_text() == f"{at} of {count}" and page.url.endswith(f"#{at}")
        kind = page.evaluate(KIND)
        kinds.add(kind)
        shown = page.locator(".deck-shown")
        assert shown.count() == 1 and shown.locator(".deck-fit").text_content().strip()
        if kind == "deck-widget":
            until(page, "document.querySelector('.deck-shown .tfm-widget').dataset.state === 'live'")
            until(page, ZOOMED)
            width, height = page.evaluate(DRAWN)
            assert width > 100 and height > 50
        until(page, f"Math.max(...({OVER})()) <= 1")
        if answer := shown.locator(".deck-answer").all():
            assert not answer[0].is_visible()
            page.keyboard.press("ArrowRight")
            assert answer[0].is_visible() and page.locator(".deck-place").inner_text() == f"{at} of {count}"
        if at == count:
            break
        page.keyboard.press(["ArrowRight", "PageDown", " "][at % 3])
        at += 1
    assert kinds >= {f"deck-{kind}" for kind in "title widget vote section formula figure claim summary".split()}
    page.keyboard.press("Home")
    assert page.locator(".deck-live").inner_text() == f"slide 1 of {count}"


@pytest.mark.long
def test_a_widget_keeps_its_clicks_and_keys(visit, folder: str) -> None:
    page = visit.blank(folder, viewport=PROJECTOR)
    page.goto(f"{folder}masking.html#2")
    until(page, "document.querySelector('.deck-shown .tfm-widget').dataset.state === 'live'")
    until(page, ZOOMED)
    readout = page.locator(".deck-shown .tfm-readout")
    before = readout.inner_text()
    page.locator(".deck-shown").get_by_text("1.6", exact=True).first.click(force=True)  # the cell below takes it
    until(page, "(before) => document.querySelector('.deck-shown .tfm-readout').innerText !== before", before)
    page.locator(".deck-shown input[type=text], .deck-shown input:not([type])").first.focus()
    page.keyboard.press("End")
    assert page.locator(".deck-place").inner_text().startswith("2 of")
    page.keyboard.press("Escape")
    page.keyboard.press("End")
    assert not page.locator(".deck-place").inner_text().startswith("2 of")


@pytest.mark.long
def test_overview_notes_and_a_phone(visit, folder: str) -> None:
    page = visit.blank(folder, viewport=PROJECTOR)
    page.goto(f"{folder}masking.html#5")
    assert not page.locator(".deck-shown .deck-notes").is_visible()
    page.keyboard.press("s")
    assert page.locator(".deck-shown .deck-notes").is_visible()
    page.keyboard.press("o")
    assert page.locator(".deck-slide").nth(7).is_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".deck-place").inner_text().startswith("6 of")
    assert page.locator(".deck-slide:visible").count() == 1
    page.set_viewport_size(PHONE)
    for index in range(page.locator(".deck-slide").count()):
        page.evaluate("(at) => { location.hash = `#${at}`; }", index + 1)
        until(page, f"({OVER})()[0] <= 1")
