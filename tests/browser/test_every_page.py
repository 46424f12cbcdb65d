"""Every page of the book, on http and on file: quiet, within a phone's width, and without a finding of axe."""

import pytest
from driving import DESKTOP, PHONE, Widget
from playwright.sync_api import Page
from project import ROOT

from tfm_lib.book.build import pages

PAGES = pages(ROOT)
LOOKS = [("light", DESKTOP), ("light", PHONE), ("dark", PHONE), ("dark", DESKTOP)]

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
FINDINGS = """async (within) => (await axe.run(within ?? document, { resultTypes: ["violations"] })).violations.map(
  ({ id, help, nodes }) => `${id}: ${help}: ` + nodes.map((node) => node.target.join(" ") + " " + node.any.map((each) => each.message).join("; ")).join(" | "))"""


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.fail("axe-core is missing: `make test` installs it (or npm ci in the folder frontend)", pytrace=False)
    return AXE.read_text(encoding="utf-8")


def sideways(page: Page) -> list[str]:
    """What is wider than the window, if the page can be scrolled sideways."""
    return page.evaluate("""() => {
      const width = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth <= width) return [];
      const wide = [...document.querySelectorAll("main *")].filter((node) => node.getBoundingClientRect().right > width + 1);
      return ["the page scrolls sideways", ...wide.slice(0, 8).map((node) => node.outerHTML.slice(0, 120))];
    }""")


def dress(page: Page, scheme: str, viewport: dict) -> None:
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function("(scheme) => document.documentElement.dataset.theme === scheme", arg=scheme)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")


def findings(page: Page, within: str | None = None) -> dict[str, list[str]]:
    """What axe and the width find, by the look of the page."""
    found = {}
    for scheme, viewport in LOOKS:
        dress(page, scheme, viewport)
        found[f"{scheme}, {viewport['width']} px"] = page.evaluate(FINDINGS, within) + sideways(page)
    return {look: each for look, each in found.items() if each}


@pytest.mark.parametrize("name", [*PAGES, "search"])
def test_page_is_quiet_and_without_barriers(visit, axe: str, name: str) -> None:
    page = visit(name)
    page.evaluate(axe)
    assert findings(page) == {}
    widgets = [Widget(page, index) for index in range(page.locator(".tfm-widget").count())]
    for widget in widgets:
        assert widget.state == "live"
        for control, known in widget.controls().items():
            if not known["off"]:
                widget.reach(control)
                for keys in widget.moves(control):
                    widget.press(*keys)
    if widgets:
        assert findings(page, ".tfm-widget") == {}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_as_quiet_without_a_server(visit, name: str) -> None:
    page = visit(name, at="file", viewport=PHONE)
    assert page.evaluate("innerWidth") == 360 and sideways(page) == []
    states = page.locator(".tfm-widget").evaluate_all("(boxes) => boxes.map((box) => box.dataset.state)")
    assert set(states) <= {"live"}
    page.set_viewport_size(DESKTOP)
    assert sideways(page) == []


def test_the_book_opens_at_its_first_page(visit, bases) -> None:
    for base in bases.values():
        page = visit.blank(base)
        page.goto(f"{base}index.html")
        page.wait_for_url(f"{base}chapters/intro.html")
