"""Predictions: chosen by keyboard, explained, remembered, and forgotten on request."""

import pytest
from playwright.sync_api import Locator, Page
from project import CHAPTERS, ROOT
from tiers import params

from browser.driving import BEFORE, SEEN, reopen
from tfm_book.notebooks.contents import pages

WITH_PREDICTIONS = [
    page for page in pages(ROOT) if "{predict}" in (CHAPTERS.parent / f"{page}.md").read_text(encoding="utf-8")
]


def boxes(page: Page) -> list[Locator]:
    return page.locator(".tfm-predict").all()


def is_open(box: Locator) -> bool:
    """Whether nothing is chosen and nothing is told."""
    answer, forget = box.locator(".tfm-answer"), box.locator(".tfm-forget")
    chosen = box.locator("input:checked").count()
    assert bool(chosen) == answer.is_visible() == forget.is_visible()
    return not chosen


def chosen(box: Locator) -> int:
    return box.locator("input").evaluate_all("(inputs) => inputs.findIndex((input) => input.checked)")


def step_into(box: Locator) -> None:
    box.evaluate(BEFORE)
    box.page.keyboard.press("Tab")
    assert box.locator("input:focus").count() == 1
    assert box.locator(".tfm-choice:has(:focus)").evaluate(SEEN) >= 3, "the focus is hardly seen"


@pytest.mark.parametrize(
    "name_at",
    params(
        [*((name, "http") for name in WITH_PREDICTIONS), (WITH_PREDICTIONS[0], "file")],
        [("chapters/attention", "http")],
        "-".join,
    ),
)
def test_a_prediction_is_made_kept_and_forgotten_by_keyboard(visit, name_at: tuple[str, str]) -> None:
    page = visit(*name_at)
    key = page.keyboard
    assert boxes(page)
    for box in boxes(page):
        assert is_open(box) and box.get_attribute("data-state") == "open"
        explanation = box.locator(".tfm-answer p").last
        assert not explanation.is_visible()
        right = box.locator(".tfm-choice").evaluate_all(
            "(choices) => choices.findIndex((choice) => 'right' in choice.dataset)"
        )
        step_into(box)
        key.press("Space")
        for choice in range(box.locator("input").count()):
            if choice:
                key.press("ArrowDown")
            assert chosen(box) == choice and explanation.is_visible()
            outcome = box.locator(".tfm-outcome").inner_text()
            heard = box.locator("[role=status]:not([hidden] *)").inner_html()
            assert heard == box.locator(".tfm-outcome").inner_html(), "it is not heard"
            assert box.get_attribute("data-state") == ("right" if choice == right else "other")
            assert ("Your guess is right" in outcome) == (choice == right)
            assert choice == right or len(outcome) > len("Another answer is right: ")

    reopen(page, lambda: not any(is_open(box) for box in boxes(page)))
    for box in boxes(page):
        assert chosen(box) == box.locator("input").count() - 1 and not is_open(box)
        step_into(box)
        while not box.locator(".tfm-forget:focus").count():
            key.press("Tab")
            assert box.locator(":focus").count(), "the Tab key does not reach the button that forgets"
        key.press("Enter")
        assert is_open(box) and box.locator("input").first.evaluate("(input) => input === document.activeElement")

    reopen(page, lambda: all(is_open(box) for box in boxes(page)))
    assert all(is_open(box) for box in boxes(page))
