"""Widgets under a finger: real touches, sent as a touch screen sends them. What may be dragged is, the rest scrolls the page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Locator, Page
from tiers import SPREAD, every, params
from widgets.samples import MODULES

from browser.driving import PHONE, Widget, places

#: Every handle that a widget draws itself, and by how many pixels it is dragged here; along None it is not free.
HANDLES: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "attention/soft_lookup": {"value": (40, -30)},
    "positional/encoding": {"value": (None, 60), "other": (40, None)},
    "self_attention/word_in_context": {"bank": (-40, 30), "money": (-20, -60)},
    "training/label_smoothing": {"value": (-50, None)},
    "training/learning_rate": {"value": (40, None)},
}

#: Where the hand of a control is that is larger than what one takes it by.
GRIPS = {("positional/encoding", "value"): ".tfm-handle"}

DRAWN = """(box) => [...box.querySelectorAll('[data-control][role="slider"]')].map((node) => node.dataset.control)"""
SEEN = """(box) => [...box.querySelectorAll("input, select")].map((node) => node.checked + node.value).join()"""


# A page goes on for a while after the finger has left it.
AT_REST = """new Promise((done) => {
  let [last, still] = [scrollY, 0];
  const look = () => {
    still = scrollY === last ? still + 1 : 0;
    last = scrollY;
    if (still < 6) requestAnimationFrame(look);
    else done();
  };
  look();
})"""


class Finger:
    """One finger on the screen of a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session = page.context.new_cdp_session(page)

    def drag(self, start: tuple[float, float], by: tuple[float, float], steps: int = 6) -> None:
        """Down, a step a frame, up."""
        (x, y), (dx, dy) = start, by
        self._touch("touchStart", x, y)
        for k in range(1, steps + 1):
            self._touch("touchMove", x + dx * k / steps, y + dy * k / steps)
        self._touch("touchEnd")
        self.page.evaluate(AT_REST)

    def tap(self, at: tuple[float, float]) -> None:
        self.drag(at, (0, 0), steps=0)

    def _touch(self, kind: str, *place: float) -> None:
        points = [{"x": place[0], "y": place[1]}] if place else []
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


class Held(NamedTuple):
    """A widget of the book on a phone, and a finger."""

    module: str
    widget: Widget
    finger: Finger

    @property
    def scrolled(self) -> float:
        return self.widget.page.evaluate("scrollY")

    def shown(self) -> tuple[str, str]:
        """All that one sees of the widget: stage, readout, and where its controls stand."""
        return self.widget.look(), self.widget.box.evaluate(SEEN)

    def bring(self, part: Locator, to: float = 0.5) -> None:
        """Scroll the page until the part stands at this share of the screen."""
        part.evaluate(
            "(node, to) => { const at = node.getBoundingClientRect(); scrollBy({ top: at.top + at.height / 2 - to * innerHeight, behavior: 'instant' }); }",
            to,
        )


def middle(part: Locator) -> tuple[float, float]:
    at = part.bounding_box()
    return at["x"] + at["width"] / 2, at["y"] + at["height"] / 2


@pytest.fixture(
    scope="module",
    params=params(MODULES, ["positional/encoding"], "stage {} by finger".format, {*SPREAD, *every(2, HANDLES)}),
)
def opened(request, visitor, built_book: Path) -> Iterator[Held]:
    with visitor() as visit:
        place = places(built_book, request.param)[0]
        page = visit(place.page, viewport=PHONE, touch=True)
        yield Held(request.param, Widget(page, place.index), Finger(page))


@pytest.fixture
def held(opened: Held) -> Held:
    """As the build left it."""
    opened.widget.reset()
    return opened


def test_every_handle_follows_the_finger(held: Held) -> None:
    module, widget = held.module, held.widget
    assert set(widget.box.evaluate(DRAWN)) == set(HANDLES.get(module, {})), "the table above knows every handle"
    for name, (dx, dy) in HANDLES.get(module, {}).items():
        control = widget.box.locator(f'[data-control="{name}"]')
        grip = control.locator(GRIPS[module, name]) if (module, name) in GRIPS else control
        hand = grip.locator(".tfm-halo")
        held.bring(hand)
        before, top = middle(hand), held.scrolled
        held.finger.drag(before, (dx or 0, dy or 0))
        after = middle(hand)
        assert held.scrolled == top, f"dragging {name} scrolls the page"
        for moved, wanted in zip((after[0] - before[0], after[1] - before[1]), (dx, dy), strict=True):
            assert wanted is None or abs(moved - wanted) < 8, f"{name} moved by {moved:.0f} of {wanted} pixels"


def test_every_slider_follows_the_finger(held: Held) -> None:
    for slider in sliders(held.widget):
        held.bring(slider)
        at = slider.bounding_box()
        low, value, high = slider.evaluate("(node) => [node.min, node.value, node.max].map(Number)")
        share = (value - low) / (high - low)
        thumb = at["x"] + 8 + share * (at["width"] - 16), at["y"] + at["height"] / 2
        end = low if share > 0.5 else high
        held.finger.drag(thumb, ((-share if end == low else 1 - share) * at["width"], 0))
        moved = float(slider.input_value()) - value  # as far as the widget lets it
        name = slider.get_attribute("data-control")
        assert moved * (end - value) > 0, f"{name} does not follow"
        assert abs(slider.bounding_box()["y"] - at["y"]) < 2, f"{name} leaves the finger"


def sliders(widget: Widget) -> Iterator[Locator]:
    """Those that are on, what is folded opened."""
    widget.box.evaluate("(box) => box.querySelectorAll('.tfm-more').forEach((folded) => (folded.open = true))")
    for name, control in widget.controls().items():
        if control["kind"] == "range" and not widget.controls()[name]["off"]:
            yield widget.box.locator(f'[data-control="{name}"]')


STEP, SWIPE = 90, 170  # pixels between two swipes, and of one
# A finger is broad: what it touches beside its middle, it takes as well.
ON_A_HANDLE = """([x, y]) => [[0, 0], [-10, 0], [10, 0], [0, -10], [0, 10]].some(([dx, dy]) => document.elementFromPoint(x + dx, y + dy)?.closest(".tfm-handle"))"""
SWIPES = ((0.15, -1), (0.5, 1), (0.85, -1))  # where across the card they begin, and which way they go, by turns


@pytest.mark.parametrize("opened", params(SPREAD, (), "stage {} by finger".format), indirect=True)
def test_a_thumb_that_scrolls_across_a_widget_changes_nothing(held: Held) -> None:
    """Swipes over the whole card, up and down, but for those that begin on a handle: they belong to it."""
    widget, before = held.widget, held.shown()
    card = widget.box.locator(".tfm-card")
    for down, (share, way) in zip(range(12, int(card.bounding_box()["height"]), STEP), cycle(SWIPES), strict=False):
        y = 0.5 * PHONE["height"] - way * SWIPE / 2
        card.evaluate(
            "(card, [down, y]) => scrollBy({ top: card.getBoundingClientRect().top + down - y, behavior: 'instant' })",
            [down, y],
        )
        at = card.bounding_box()
        start = at["x"] + share * at["width"], at["y"] + down
        if not widget.page.evaluate(ON_A_HANDLE, start):
            top = held.scrolled
            held.finger.drag(start, (way * 4, way * SWIPE))
            assert abs(held.scrolled - top) > SWIPE / 2, f"the page does not scroll at {share:.0%}, {down} px down"
            assert held.shown() == before, f"a swipe at {share:.0%}, {down} px down, changes the widget"


@pytest.mark.parametrize(
    "opened",
    params(["masking/mask_editor", "alignment/alignment", "training/training_replay"], ["masking/mask_editor"]),
    indirect=True,
)
def test_a_tap_does_what_a_click_does(held: Held) -> None:
    cell = held.widget.box.locator('[role="gridcell"]').nth(20)
    held.bring(cell)
    before = held.shown()
    held.finger.tap(middle(cell))
    assert held.shown() != before
