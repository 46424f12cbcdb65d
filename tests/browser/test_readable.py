"""Figures and pictures can be read on a phone and in the dark, and boxes stand straight; of widgets test_every_page.py asks it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from project import CHAPTERS
from tiers import CHAPTERS as KEPT
from tiers import params

from browser.asked import LEAST
from browser.driving import PHONE, Widget, places, until


def opened(visit, book: Path, module: str, **how) -> list[Widget]:
    return [Widget(visit(place.page, **how), place.index) for place in places(book, module)]


# The size on the screen of each text of a figure; an index is smaller than its letter, as everywhere.
LABELS = """() => [...document.querySelectorAll(".tfm-figure svg text")].filter((at) => at.textContent.trim() && at.checkVisibility()).map((at) => {
  const own = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  const [matrix, sizes] = [at.getScreenCTM(), [at, ...at.querySelectorAll("tspan")].filter(own).map((node) => parseFloat(getComputedStyle(node).fontSize))];
  const box = at.getBoundingClientRect(), frame = at.closest(".tfm-figure").getBoundingClientRect();
  return { text: at.textContent.trim(), size: Math.hypot(matrix.b, matrix.d) * Math.max(...sizes), out: box.left < frame.left - 2 || box.right > frame.right + 2 };
})"""


STEMS = sorted(path.stem for path in CHAPTERS.glob("*.md"))


# Of each formula and table that can be scrolled: the colour of the ground behind it, and that which its shadow is covered with.
GROUNDS = """() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  return [...document.querySelectorAll(".tfm-formula, .tfm-scroll")].map((box) => {
    let ground = box.parentElement;
    while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
    box.style.outlineColor = "var(--tfm-behind, var(--tfm-paper))";
    return [getComputedStyle(ground).backgroundColor, getComputedStyle(box).outlineColor, getComputedStyle(box).backgroundImage];
  });
}"""


@pytest.mark.parametrize("scheme", params(["light", "dark"], []))
def test_what_can_be_scrolled_shows_it_in_boxes_too(visit, scheme: str) -> None:
    grounds = [each for stem in KEPT for each in visit(f"chapters/{stem}", scheme=scheme).evaluate(GROUNDS)]
    assert len({ground for ground, *_ in grounds}) > 1, "on paper and in boxes"
    assert all(ground == cover and image.count("gradient") == 4 for ground, cover, image in grounds)


PROSE = """() => [...document.querySelectorAll("article p:not([class])")]
  .filter((at) => at.textContent.trim() && !at.closest(".cell_output, .tfm-card") && !getComputedStyle(at).fontFamily.startsWith('"Source Sans'))
  .map((at) => at.textContent.trim().slice(0, 60))"""


def test_prose_is_set_in_the_page_s_own_type(visit) -> None:
    assert {stem: found for stem in KEPT if (found := visit(f"chapters/{stem}").evaluate(PROSE))} == {}


# What has a frame and stands in another that has one, all folds open; choices and lines to sort are controls, as those of widgets.
FRAMES = """() => {
  const sides = ["Top", "Left", "Right", "Bottom"];
  const framed = (node) => {
    const style = getComputedStyle(node);
    return sides.filter((side) => parseFloat(style[`border${side}Width`]) > 0 && !/^rgba.*, 0\\)|transparent/.test(style[`border${side}Color`])).length >= 3;
  };
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  const boxes = [...document.querySelectorAll("article *")].filter((node) => !node.closest("svg, table, .katex, .tfm-card, .tfm-choice, .tfm-ask li, button, input") && framed(node));
  return boxes.filter((box) => boxes.some((other) => other !== box && other.contains(box))).map((box) => box.outerHTML.slice(0, 120));
}"""
# Where blocks of the page begin, and where boxes end: folds, cards, code, and the pictures of figures.
EDGES = """() => {
  const left = (node) => Math.round(node.getBoundingClientRect().left), right = (node) => Math.round(node.getBoundingClientRect().right);
  const own = (selector) => [...document.querySelectorAll(`article section > :is(${selector})`)].filter((node) => node.checkVisibility());
  const boxes = own(".admonition, .tfm-fold, .tfm-predict, .tfm-ask, .tfm-exercise, .tfm-scroll");
  const drawn = own("figure, .cell").flatMap((node) => [...node.querySelectorAll("svg")].slice(0, 1)).filter((node) => !node.closest(".tfm-card"));
  return [[...new Set([...boxes, ...drawn].map(left))], [...new Set(boxes.map(right))]];
}"""


def test_a_page_has_one_frame_around_anything_one_edge_and_one_width_of_boxes(visit) -> None:
    for stem in KEPT:
        page = visit(f"chapters/{stem}")
        (left, right) = page.evaluate(EDGES)
        assert len(left) == 1 and len(right) == 1, (stem, left, right)
        assert page.evaluate(FRAMES) == [], stem


@pytest.mark.parametrize("some", params([True, False], [True], lambda some: "some" if some else "all", ()))
def test_every_label_of_a_figure_is_large_enough_on_a_phone(visit, some: bool) -> None:
    """And stands whole in its figure, which need not be scrolled."""
    small, seen = {}, 0
    for stem in KEPT if some else STEMS:
        texts = visit(f"chapters/{stem}", viewport=PHONE).evaluate(LABELS)
        seen += len(texts)
        if bad := [each for each in texts if each["size"] < LEAST or each["out"]]:
            small[stem] = bad
    assert seen > (10 if some else 500) and small == {}


GLARE = 0.8  # of white, by luminance, in a book that is dark
PICTURES = {"descendants"}  # pages that show pictures as such, which are as bright as they are
PATCH = 0.12  # of a picture, at most, may be so bright: letters and lines are


@pytest.mark.parametrize("stem", params(STEMS, KEPT[:1]))
def test_no_picture_glares_in_the_dark(visit, stem: str) -> None:
    page, bright = visit(f"chapters/{stem}", scheme="dark"), {}
    for i, part in enumerate(page.locator(".tfm-figure, .tfm-heatmap").all()):
        if not part.is_visible() or (stem in PICTURES and part.locator("image").count()):
            continue
        with Image.open(io.BytesIO(part.screenshot(animations="disabled"))) as picture:
            shades = picture.convert("L").histogram()
        if sum(shades[int(255 * GLARE) :]) > PATCH * sum(shades):
            bright[i] = sum(shades[int(255 * GLARE) :]) / sum(shades)
    assert bright == {}


STRENGTH = """(box) => {
  const paint = (node) => getComputedStyle(node).fill.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const far = (a, b) => Math.hypot(...a.map((x, i) => x - b[i]));
  const [ground, lowest, highest] = [getComputedStyle(box.querySelector(".tfm-card")).backgroundColor.match(/[\\d.]+/g).slice(0, 3).map(Number), ...[...box.querySelectorAll('[data-control="value"] > rect')].slice(0, 2).map(paint)];
  return [far(lowest, ground), far(highest, ground)];
}"""


@pytest.mark.long
@pytest.mark.parametrize("scheme", params(["light", "dark"], ["dark"]))
def test_the_encoding_is_as_faint_and_as_strong_as_it_says(visit, built_book: Path, scheme: str) -> None:
    (widget, *_) = opened(visit, built_book, "positional/encoding", scheme=scheme)
    assert "−1 faint, 1 strong" in widget.box.inner_text()
    faint, strong = widget.box.evaluate(STRENGTH)
    assert strong > 3 * faint


def test_the_tab_key_meets_one_button_that_copies(visit, built_book: Path) -> None:
    page = visit("chapters/self_attention")
    stops = "[...document.querySelectorAll('.tfm-copy')].flatMap((button, i) => (button.tabIndex === 0 ? [i] : []))"
    assert page.locator(".tfm-copy").count() > 10 and len(page.evaluate(stops)) == 1
    page.locator(".tfm-copy").nth(5).evaluate("(button) => button.scrollIntoView({ block: 'start' })")
    until(page, f"({stops})[0] > 0")
    (at,) = page.evaluate(stops)
    seen = "(all) => all.flatMap((button, i) => (getComputedStyle(button).opacity > 0 ? [i] : []))"
    assert page.locator(".tfm-copy").evaluate_all(seen) == []
    page.locator(".tfm-copy").nth(at).focus()
    assert page.locator(".tfm-copy").evaluate_all(seen) == [at]
    page.keyboard.press("ArrowDown")
    (then,) = page.evaluate(stops)
    assert then > at and page.evaluate(
        "document.activeElement.tabIndex === 0 && document.activeElement.matches('.tfm-copy')"
    )
    page.keyboard.press("Enter")
    until(page, "['Copied', 'Selected'].includes(document.activeElement.textContent)")


@pytest.mark.long
def test_label_smoothing_keeps_its_answer_until_it_is_found(visit, built_book: Path) -> None:
    (widget, *_) = opened(visit, built_book, "training/label_smoothing")
    least = widget.box.locator('[data-stage] circle.tfm-dot[style*="two"]')
    assert "least" not in widget.readout() and not least.is_visible()
    widget.show({"value": 0.92, "epsilon": 0.1, "vocabulary": 5, "convention": "all"})
    assert "the lowest possible" in widget.readout() and least.is_visible()
    for vocabulary in (2, 5, 10, 100, 1000, 37000):
        widget.show({"value": 0.5, "epsilon": 0.5, "vocabulary": vocabulary, "convention": "all"})
        plane, knob = (
            widget.box.locator(".tfm-axes").bounding_box(),
            widget.box.locator(".tfm-handle .tfm-dot").bounding_box(),
        )
        assert plane["y"] < knob["y"] + knob["height"] / 2 < plane["y"] + plane["height"]
        curve = widget.box.locator('.tfm-line[style*="one"]').bounding_box()
        assert curve["width"] > 0.5 * plane["width"], f"with {vocabulary} words most of the curve is off the chart"


@pytest.mark.long
def test_no_widget_opens_on_its_answer(visit, built_book: Path) -> None:
    (follow, *_) = opened(visit, built_book, "transformer/follow_token")
    state = follow.model()
    told = follow.box.locator(".tfm-lens td").all_text_contents()
    n, i = len(state["tgt_tokens"]), state["word"] - len(state["src_tokens"])
    at = int(follow.box.locator('[data-control="value"]').input_value())
    assert any(told) and not any(told[: -n * (at + 1)]), "it tells what higher steps say"
    answer = state["decoder"][-1]["says"][i][0][0]
    assert answer == "noir" and answer not in told[i::n], "it tells where the answer comes to mind"
    (heads, *_) = opened(visit, built_book, "multihead/head_ablation")
    assert "?" not in heads.box.locator('[data-control="value"]').inner_text()
    assert "your guess" not in heads.readout()
