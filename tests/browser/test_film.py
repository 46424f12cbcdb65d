"""The film in the browser: it plays by itself once on the landing page, stops when nobody looks, and goes as close as its numbers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from browser.conftest import settled
from browser.driving import Widget, first, until

HERE = "chapters/intro", "transformer/film"
PLAYING = "document.querySelector('[data-control=\"value play\"]')?.getAttribute('aria-label') === 'Pause'"
RESTING = PLAYING.replace("===", "!==")


def shown(widget: Widget) -> float:
    """The second that the scrubber shows, also while it plays."""
    return float(widget.box.locator('[data-control="value"]').input_value())


def last(widget: Widget) -> float:
    return float(widget.box.locator('[data-control="value"]').get_attribute("max"))


def caption(widget: Widget) -> str:
    return widget.box.locator(".tfm-film-caption").inner_text()


def visible(widget: Widget) -> list[str]:
    """Where the camera looks, the words in view, and the caption."""
    words = widget.box.locator(".tfm-film text").all_text_contents()
    return [widget.box.locator(".tfm-film").get_attribute("viewBox"), *words, caption(widget)]


def landing(visit, motion: str = "no-preference") -> tuple[Page, Widget]:
    page = visit("chapters/intro")
    page.emulate_media(reduced_motion=motion)
    page.set_viewport_size({"width": 1200, "height": 150})  # the film and its caption do not fit in
    page.reload()
    settled(page)
    return page, first(page, HERE[1])


@pytest.fixture
def film(visit) -> Widget:
    """As a link to a moment shows it: it doesn't begin by itself."""
    page = visit(HERE[0])
    page.emulate_media(reduced_motion="no-preference")
    page.goto(f"{page.url}#tfm={HERE[1]}.0&value=0.1")
    page.reload()
    settled(page)
    return first(page, HERE[1])


def middle(page: Page) -> None:
    page.set_viewport_size({"width": 1200, "height": 1000})
    page.evaluate("document.querySelector('.tfm-film').scrollIntoView({ block: 'center' })")


def test_it_begins_when_it_is_seen_stops_when_it_is_not_and_begins_only_once(visit) -> None:
    page, widget = landing(visit)
    page.wait_for_timeout(400)
    assert shown(widget) == 0 and page.evaluate(RESTING), "nobody has seen it yet"
    middle(page)
    until(page, PLAYING)
    until(page, "document.querySelector('[data-control=\"value\"]').value > 1")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    until(page, RESTING)
    left = shown(widget)
    assert left > 1
    middle(page)
    page.wait_for_timeout(400)
    assert shown(widget) == pytest.approx(left, abs=0.06), "it stays where it was left"


def test_before_it_is_touched_only_play_scrubber_and_swap_are_in_sight_and_nothing_moves_then(visit) -> None:
    _, widget = landing(visit)
    high = "(card) => [card.offsetHeight, ...[...card.querySelectorAll('.tfm-bar [data-control]')].filter((each) => each.checkVisibility({ opacityProperty: true })).map((each) => each.dataset.control)]"
    before = widget.box.locator(".tfm-card").evaluate(high)
    assert before[1:] == ["value play", "value", "swapped"]
    widget.box.locator('[data-control="value play"]').focus()
    after = widget.box.locator(".tfm-card").evaluate(high)
    assert after[0] == before[0] and {"value back", "depth"} <= set(after)


@pytest.mark.long
def test_it_does_not_begin_by_itself_for_who_wants_no_motion_nor_at_a_linked_moment(visit, film: Widget) -> None:
    middle(film.page)
    film.page.wait_for_timeout(600)
    assert shown(film) == 0.1
    page, widget = landing(visit, "reduce")
    middle(page)
    page.wait_for_timeout(600)
    assert shown(widget) == 0 and "value play" not in widget.controls()


def test_every_step_has_its_sentence_and_they_are_all_that_print_and_screen_reader_get(visit) -> None:
    widget = first(visit(HERE[0]), HERE[1])
    picture = widget.box.locator(".tfm-film")
    said = [picture.get_attribute("aria-label")]
    steps = 0
    while shown(widget) < last(widget):
        widget.box.locator('[data-control="value forth"]').click()
        steps += 1
        said.append(picture.get_attribute("aria-label"))
        assert said[-1].startswith(caption(widget))
    rows = [row["caption"] for row in widget.rows()]
    assert steps > 20 and set(rows) == set(said)
    assert any("become “Le chien blanc.”" in each for each in said) and any("black 0.37" in each for each in said)
    told = widget.page.locator(".tfm-told")
    pictures = told.locator("li").all_text_contents()  # each of the six with what is told beside it
    assert len(pictures) == 6 and " ".join(pictures) == " ".join(rows) and not told.is_visible()
    widget.page.emulate_media(media="print")
    assert told.is_visible()
    assert visit(HERE[0], scripts=False).locator(".tfm-told").is_visible()


@pytest.mark.long
def test_zooming_in_and_out_keeps_the_place(film: Widget) -> None:
    film.show({"value": 24})
    before = visible(film)
    for depth, words in ((1, "Each row is a query, each column a key."), (2, "Divided by √32, this is the score")):
        film.box.locator('[data-control="depth"]').select_option(index=depth)
        film.look()
        assert words in caption(film) and shown(film) == 24
    film.box.locator('[data-control="depth"]').select_option(index=0)
    assert visible(film) == before


@pytest.mark.long
def test_a_cell_leads_to_its_dot_product(film: Widget) -> None:
    film.show({"value": 24, "depth": 1})
    film.box.locator('[data-control="pick"] [data-i="3"][data-j="1"]').click()
    assert film.box.locator('[data-control="depth"]').input_value() == "one dot product"
    look = film.model()["film"]["one"]["looks"]["first"]
    assert re.search(
        rf"query of bit and the key of black sum to .*the weight is {look['weights'][3][1]:.2f}", caption(film)
    )


@pytest.mark.long
def test_a_masked_pair_gets_its_weight_from_the_mask(film: Widget) -> None:
    film.show({"value": 62, "depth": 2, "pick": "own.2.4"})
    assert re.search(
        "The mask covers a for the query of chat: whatever their dot product, .*the weight is 0", caption(film)
    )


@pytest.mark.long
def test_taking_the_positions_away_plays_to_the_end_where_the_whole_machine_rests(film: Widget) -> None:
    film.box.locator('[data-control="value speed"]').click(click_count=2)  # 4×
    film.box.locator('[data-action="others"]').click()
    film.box.locator('[data-control="remove"]').click()
    until(film.page, PLAYING)
    until(film.page, RESTING)
    assert shown(film) == last(film)
    assert "the whole machine" in caption(film) and film.model()["film"]["one"]["translation"] in visible(film)
    film.box.locator('[data-control="value back"]').click()
    assert "the same set of words" in caption(film) and visible(film).count(film.model()["film"]["plain"]) == 2


@pytest.mark.long
def test_swapping_the_animals_swaps_the_sentence(film: Widget) -> None:
    film.show({"value": 13, "swapped": True})
    words = [text for text in film.box.locator(".tfm-film text").all_text_contents() if text in ("cat", "dog")]
    assert words == ["dog", "cat"]
