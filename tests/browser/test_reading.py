"""What accompanies a reader: how far one has read, where one was, cards for terms, a citation to take along."""

import html
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page
from tiers import params

from benchmarks import rhythm
from browser.conftest import settled
from browser.driving import DESKTOP, PHONE, Widget, unfold, until
from tfm_book.site.doors import Repository
from tfm_lib import __version__

READ = "JSON.parse(localStorage.getItem('tfm-read') ?? '{}')"


def fresh(page: Page) -> Page:
    page.evaluate("localStorage.removeItem('tfm-read')")
    page.reload()
    return page


def marks(page: Page) -> list[str]:
    return page.locator(".tfm-chapters .tfm-read").evaluate_all("(all) => all.map((mark) => mark.title)")


def test_what_was_read_is_marked_kept_and_forgotten(visit) -> None:
    page = fresh(visit("chapters/masking"))
    assert marks(page) == [] and page.get_by_role("button", name="Forget what I read").count() == 0
    ends = (
        "(id) => scrollTo(0, scrollY + document.getElementById(id).getBoundingClientRect().bottom - innerHeight + 20)"
    )
    sections = page.locator("article section:has(> h2)").evaluate_all("(all) => all.map(({ id }) => id)")
    for i, id in enumerate(sections[:2], start=1):
        page.evaluate(ends, id)
        until(page, f"({READ}).masking?.read.includes('{id}')")
        assert marks(page)[-1] == f"{page.evaluate(READ)['masking']['read'].__len__()} of {len(sections)} sections read"
        assert page.evaluate(READ)["masking"]["of"] == len(sections) and i
    assert sections[-1] not in page.evaluate(READ)["masking"]["read"]

    landing = visit("chapters/intro")
    go_on = landing.get_by_role("link", name="Go on where you were")
    assert "Masking" in go_on.inner_text() and len(marks(landing)) == 1
    go_on.focus()
    landing.keyboard.press("Enter")
    landing.wait_for_url("**/chapters/masking.html#*")
    assert landing.url.split("#")[1] in sections
    landing.close()  # or it would note the jump half a second later, after all is forgotten

    landing = visit("chapters/intro")
    landing.get_by_role("button", name="Forget what I read").click()
    assert marks(landing) == [] and landing.locator(".tfm-go-on").count() == 0
    assert landing.evaluate("localStorage.getItem('tfm-read')") is None


@pytest.mark.long
def test_a_chapter_that_is_only_passed_is_not_read(visit) -> None:
    page = fresh(visit("chapters/masking"))
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    until(page, f"({READ}).masking")
    assert len(page.evaluate(READ)["masking"]["read"]) <= 2
    page.evaluate("localStorage.removeItem('tfm-read')")


def term(page: Page):
    return page.locator("article a[href*='#term-']").first


def test_a_term_has_a_card_on_focus_that_escape_closes(visit) -> None:
    for at in ("http", "file"):
        page = visit("chapters/masking", at=at)
        link, card = term(page), page.get_by_role("tooltip")
        assert card.count() == 0
        page.evaluate(
            "(link) => { const before = document.createElement('span'); before.tabIndex = -1; link.before(before); before.focus(); }",
            link.element_handle(),
        )
        page.keyboard.press("Tab")
        card.wait_for()
        assert link.get_attribute("aria-describedby") == card.get_attribute("id")
        assert len(card.inner_text()) > 40
        assert any("가" <= letter <= "힣" for letter in card.locator("[lang=ko]").inner_text())
        page.keyboard.press("Escape")
        assert not card.is_visible() and link.get_attribute("aria-describedby") is None
        assert link.evaluate("(link) => link === document.activeElement")


@pytest.mark.long
def test_a_card_can_be_pointed_at_and_lies_in_the_window(visit) -> None:
    for viewport in (DESKTOP, PHONE):
        page = visit("chapters/masking", viewport=viewport)
        term(page).hover()
        card = page.get_by_role("tooltip")
        card.wait_for()
        box = card.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= viewport["width"]
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        page.wait_for_timeout(600)
        assert card.is_visible()
        page.mouse.move(5, box["y"] + box["height"] + 200)
        card.wait_for(state="hidden")


def test_the_book_can_be_cited_by_keyboard(visit) -> None:
    page = visit("chapters/masking")
    page.get_by_text("Cite this book").press("Enter")
    button = page.get_by_role("button", name="Copy the BibTeX")
    button.press("Enter")
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("@misc{the-transformer-taken-apart,") and copied.endswith("}")
    assert page.locator("#tfm-cite-text").inner_text().endswith("Version 0.1.0.")


def test_hints_come_one_at_a_time_by_keyboard(visit) -> None:
    page = visit("chapters/masking")
    card = page.locator(".tfm-exercise", has=page.locator(".tfm-hint")).last
    unfold(card)
    fold = card.locator("details.hint")
    hints = fold.locator(".tfm-hint")
    fold.locator("summary").press("Enter")
    seen = []
    while (more := fold.get_by_role("button", name="Next hint")).is_visible():
        seen.append(hints.locator("visible=true").count())
        more.press("Enter")
    assert hints.last.is_visible() and hints.last.evaluate("(hint) => hint === document.activeElement")
    assert len(seen) == hints.count() - 1 >= 2


def test_nothing_of_it_is_shown_without_scripts(visit) -> None:
    page = visit("chapters/intro", scripts=False)
    assert page.locator(".tfm-read, .tfm-go-on, .tfm-term").count() == 0
    page.get_by_text("Cite this book").click()
    assert page.locator("#tfm-cite-bibtex").is_visible()
    assert page.locator(".tfm-cite button:visible").count() == 0


@pytest.mark.long
def test_the_list_of_downloads_lies_in_the_window(visit) -> None:
    for viewport in (PHONE, DESKTOP):
        page = visit("chapters/masking", viewport=viewport)
        page.locator(".tfm-downloads summary").click()
        shown = page.locator(".tfm-downloads ul").bounding_box()
        assert shown["x"] >= 0 and shown["x"] + shown["width"] <= viewport["width"]


TAKE = """(named) => {  // leaves what the route takes: to the end of the first section named, the others named, the summary
  const sections = [...document.querySelectorAll("article section section")];
  const called = sections.map((section) => section.querySelector("h2, h3").firstChild.textContent.trim());
  sections.forEach((section, i) => {
    if (i > called.indexOf(named[0]) && ![...named, "Summary", "Exercises"].includes(called[i])) section.hidden = true;
  });
  return named.every((name) => called.includes(name));
}"""


@pytest.mark.long
def test_the_ninety_minute_route_is_as_long_as_it_says(visit) -> None:
    stem, minutes = "attention", []
    for number in range(1, 7):
        page = visit(f"chapters/{stem}")
        route = page.locator("details.route")
        route.locator("summary").click()
        title = re.match(r"The ninety-minute route: stop (\d) of 6, (\d+) minutes", route.inner_text().strip())
        assert int(title[1]) == number
        assert page.evaluate(TAKE, route.locator("em").all_inner_texts())
        found = page.evaluate(rhythm.MEASURE)
        measured = found["words"] / rhythm.WORDS + found["lines"] / rhythm.LINES
        assert measured == pytest.approx(int(title[2]), abs=1), stem
        minutes.append(int(title[2]))
        onward = route.locator("a")
        if number < 6:
            stem = Path(onward.get_attribute("href")).stem
    assert stem == "transformer" and onward.count() == 0 and 70 <= sum(minutes) <= 80  # the rest is for the widgets


@pytest.mark.parametrize(
    ("leads_to", "holds"),
    [
        pytest.param("a[href^='#equation-']", ".math .katex", marks=pytest.mark.long),
        pytest.param("a:has(.std-numref)", "figure figcaption", marks=pytest.mark.long),
        pytest.param("a[href*='bibliography.html#']", "p", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("viewport", params([DESKTOP, PHONE], [PHONE], lambda size: f"{size['width']} px"))
def test_a_link_to_a_formula_a_figure_or_a_source_has_a_card(visit, leads_to: str, holds: str, viewport: dict) -> None:
    page = visit("chapters/self_attention", viewport=viewport)
    card, shown = page.get_by_role("tooltip"), 0
    for link in page.locator(f"article {leads_to}").all()[:8]:
        if not link.is_visible():
            continue
        link.scroll_into_view_if_needed()
        link.hover()
        page.wait_for_timeout(400)
        if card.is_visible():  # else the figure is before the reader's eyes
            shown += 1
            box = card.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= viewport["width"]
            assert box["y"] >= 0 and box["y"] + box["height"] <= viewport["height"]
            assert card.locator(holds).count() and len(card.inner_text()) > 10
            assert page.evaluate("document.querySelectorAll('[role=tooltip] [id]').length") == 0
        page.keyboard.press("Escape")
        page.mouse.move(2, 2)
        assert not card.is_visible()
    assert shown and not page.locator("article a.reference[title*='arXiv']").count()


@pytest.mark.long
def test_a_page_says_when_its_site_has_a_newer_version(visit) -> None:
    page = visit("chapters/notation")
    assert page.locator(".tfm-version").inner_text() == f"Version {__version__} · What changed"
    older, says = page.locator(".tfm-older"), []
    page.route("**/version.json", lambda route: route.fulfill(json={"version": says[-1]}))
    for newest, shown in (("0.0.9", False), (__version__, False), ("not a version", False), ("0.10.0", True)):
        says.append(newest)
        with page.expect_response("**/version.json"):
            page.reload()
        page.wait_for_timeout(100)
        assert older.is_visible() == shown, newest
    assert older.inner_text().startswith(f"You are reading version {__version__}. The newest is 0.10.0;")
    page.get_by_role("link", name="What changed").click()
    page.wait_for_url("**/chapters/changes.html")
    assert page.get_by_role("heading", name=__version__).count() == 1
    alone = visit("chapters/notation", at="file")  # asks nobody: `visit` would notice
    assert not alone.locator(".tfm-older").is_visible()


@pytest.mark.long
def test_a_report_names_section_and_the_widget_as_it_stands(visit, built_book: Path) -> None:
    text = (built_book / "chapters/masking.html").read_text(encoding="utf-8")
    address = Repository("https://github.com/owner/book").report("chapters/masking", "Masking")
    report = f'<p class="tfm-report"><a href="{html.escape(address)}">Report a mistake on this page</a></p>'
    page = visit("chapters/masking")
    page.route(
        "**/masking.html",
        lambda route: route.fulfill(
            body=text.replace('<footer class="tfm-footer">', '<footer class="tfm-footer">' + report)
        ),
    )
    page.reload()
    settled(page)
    link = page.get_by_role("link", name="Report a mistake")
    page.evaluate(
        "document.querySelector('.tfm-report a').addEventListener('click', (event) => event.preventDefault())"
    )

    def said() -> list[str]:
        (body,) = parse_qs(urlsplit(link.get_attribute("href")).query)["body"]
        return [line for line in body.splitlines() if line]

    assert said() == ["On the page chapters/masking:"]
    widget = Widget(page, 1)
    name = next(iter(widget.usable()))
    widget.reach(name)
    widget.press(*widget.moves(name)[0])
    link.click()
    first, section, state = said()
    assert first == "On the page chapters/masking:" and section.startswith("In the section “")
    assert state == f"The widget “{widget.box.locator('header b').inner_text()}” as it stood: {state.split(': ', 1)[1]}"
    left, there = widget.look(), state.split(": ", 1)[1]
    link.click()
    assert said()[2] == state and len(said()) == 3, "a second click adds nothing"
    again = visit("chapters/masking", hash="#" + there.split("#")[1])
    assert Widget(again, 1).look() == left
