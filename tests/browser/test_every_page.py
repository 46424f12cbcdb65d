"""Every page of the book, on http and on file: quiet, within a phone's width, and without a finding of axe."""

from collections.abc import Callable, Collection
from itertools import islice
from pathlib import Path

import pytest
from playwright.sync_api import Page
from project import ROOT
from tiers import SPREAD, every, params
from widgets.samples import MODULES

from browser.asked import (
    COLOURS,
    answer,
    colours_without_their_meaning,
    in_scheme,
    names,
    out_of_reach,
    plurals,
    raw_signs,
    same_colours,
    small_letters,
)
from browser.driving import DESKTOP, PHONE, Widget, places, until
from tfm_book.notebooks.contents import pages

PAGES = pages(ROOT)
#: Those in which axe looks at moved widgets in the dark on a phone.
FOR_AXE_TWICE = {"search", "chapters/intro", "chapters/masking"}

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
# Begun in one tab, it works on while another tab is asked.
BEGIN = """(within) => {
  const told = ({ id, help, nodes }) => `${id}: ${help}: ` + nodes.map((node) => `${node.target.join(" ")} ${node.any.map((each) => each.message).join("; ")}`).join(" | ");
  globalThis.findings = axe.run(within ?? document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(told));
}"""


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


def torn(page: Page) -> list[str]:
    """The words after a formula whose comma or full stop begins a line."""
    return page.evaluate("""() => [...document.querySelectorAll("article .tfm-kept")].filter((kept) => {
      const mark = kept.lastChild, range = document.createRange();
      if (mark.nodeType !== Node.TEXT_NODE) return false;
      range.selectNodeContents(mark);
      return range.getBoundingClientRect().left < kept.querySelector(".katex-html").getBoundingClientRect().left;
    }).map((kept) => kept.parentNode.textContent.slice(0, 80))""")


def findings(tabs: Collection[Page], within: str | None = None) -> list[str]:
    """What axe and the width find in each of the tabs."""
    for tab in tabs:
        tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
        tab.evaluate(BEGIN, within)
    return [found for tab in tabs for found in [*tab.evaluate("findings"), *sideways(tab), *torn(tab)]]


def widgets_of(page: Page) -> dict[str, Widget]:
    """By module and place on the page. In each the kinds of controls are those that tests/tiers.py says."""
    found = {}
    for index in range(page.locator(".tfm-widget").count()):
        widget = Widget(page, index)
        module = widget.box.get_attribute("data-module")
        kinds = {each["kind"] + "!" * each["editable"] for each in widget.controls().values()}
        assert kinds <= SPREAD.get(module, set().union(*SPREAD.values())), f"{module}: not in tests/tiers.py"
        found[f"{module} {index}"] = widget
    return found


def stir(widget: Widget, most: int | None = None) -> None:
    """Move each control once, or only the first of them."""
    for control in islice(widget.usable(), most):
        widget.reach(control)
        widget.press(*widget.moves(control)[0])


def colours(widgets: dict[str, Widget]) -> dict[str, dict]:
    return {place: widget.box.evaluate(COLOURS) for place, widget in widgets.items()}


def told(widgets: dict[str, Widget], *questions: Callable[[Widget], list[str]]) -> list[str]:
    """What the questions find in each of the widgets."""
    return [f"{name}: {each}" for name, widget in widgets.items() for ask in questions for each in ask(widget)]


@pytest.mark.parametrize("name", params([*PAGES, "search"], {"search", "chapters/attention"}, rest=every(6, PAGES)))
def test_page_is_quiet_and_without_barriers(visit, built_book: Path, axe: str, name: str) -> None:
    """In the light on a desk; then, with the widgets of some pages moved, in the dark on a phone."""
    page = visit(name)
    alive(page, "light")
    page.evaluate(axe)
    assert findings([page]) == []
    widgets = widgets_of(page)
    assert told(widgets, names, raw_signs, plurals) == []
    if name in FOR_AXE_TWICE:
        moved_and_back(page, widgets, built_book, name)
    assert colours_without_their_meaning(page) == []
    in_scheme(page, "dark")
    page.set_viewport_size(PHONE)
    assert told(widgets, small_letters, out_of_reach) == []
    assert [*sideways(page), *torn(page)] == []


@pytest.mark.release
@pytest.mark.parametrize("name", [name for name in PAGES if name not in FOR_AXE_TWICE])
def test_widgets_of_a_page_move_and_come_back(visit, built_book: Path, name: str) -> None:
    page = visit(name)
    moved_and_back(page, widgets_of(page), built_book, name)


def moved_and_back(page: Page, widgets: dict[str, Widget], book: Path, name: str) -> None:
    """Each control is moved, both schemes are looked at, on a phone too; and Reset brings all of it back."""
    fresh = {place: widget.look() for place, widget in widgets.items()}
    for place, widget in widgets.items():
        module = place.split()[0]
        first = places(book, module)[0].page == name
        answer(widget, every_key=module in SPREAD) if first else stir(widget, 1)
    assert colours_without_their_meaning(page) == []
    light = colours(widgets)
    in_scheme(page, "dark")
    dark = colours(widgets)
    assert {place: same for place in widgets if (same := same_colours(light[place], dark[place]))} == {}
    page.set_viewport_size(PHONE)
    assert told(widgets, small_letters, out_of_reach) == []
    if name in FOR_AXE_TWICE:
        assert findings([page], ".tfm-widget" if widgets else None) == []
    else:
        assert [*sideways(page), *torn(page)] == []
    page.set_viewport_size(DESKTOP)
    in_scheme(page, "light")
    for widget in widgets.values():
        widget.reset()
    assert {place: widget.look() for place, widget in widgets.items()} == fresh, "Reset does not bring it back"


@pytest.mark.parametrize(
    "module",
    params(
        [each for each in MODULES if each != "masking/mask_editor"],
        {"alignment/alignment", "data/merge_steps"},
        rest=SPREAD,
    ),
)
def test_every_control_answers_to_every_key(visit, built_book: Path, module: str) -> None:
    """`make test` asks this of one widget of each kind."""
    page, index = places(built_book, module)[0]
    answer(Widget(visit(page), index))


@pytest.mark.parametrize(
    "name", params([name for name in PAGES if name not in FOR_AXE_TWICE], (), rest=every(12, PAGES))
)
def test_page_has_no_barriers_in_the_dark_on_a_phone(visit, axe: str, name: str) -> None:
    page = visit(name, scheme="dark", viewport=PHONE)
    alive(page, "dark")
    page.evaluate(axe)
    for widget in widgets_of(page).values():
        stir(widget)
    assert findings([page]) == []


def alive(page: Page, scheme: str) -> None:
    """All widgets of the page are live, in the colours that are asked for."""
    assert page.locator("html").get_attribute("data-theme") == scheme
    states = page.locator(".tfm-widget").evaluate_all("(boxes) => boxes.map((box) => box.dataset.state)")
    assert {*states} <= {"live"}


@pytest.mark.parametrize("name", params(PAGES, ["chapters/intro", "chapters/masking"], rest=every(6, PAGES)))
def test_page_is_as_quiet_without_a_server(visit, name: str) -> None:
    page = visit(name, at="file", viewport=PHONE)
    assert page.evaluate("innerWidth") == 360 and sideways(page) == []
    states = page.locator(".tfm-widget").evaluate_all("(boxes) => boxes.map((box) => box.dataset.state)")
    assert set(states) <= {"live"}
    page.emulate_media(reduced_motion="no-preference")  # players have a speed, too
    page.reload()
    until(page, "[...document.querySelectorAll('.tfm-widget')].every((box) => box.dataset.state === 'live')")
    assert sideways(page) == []
    page.set_viewport_size(DESKTOP)
    assert sideways(page) == []


def test_the_book_opens_at_its_first_page(visit, bases) -> None:
    for base in bases.values():
        page = visit.blank(base)
        page.goto(f"{base}index.html")
        page.wait_for_url(f"{base}chapters/intro.html")
