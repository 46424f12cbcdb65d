"""What a widget writes can be read: large enough on a phone, in true signs and true numbers, in both colour schemes."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from PIL import Image
from project import CHAPTERS
from tiers import CHAPTERS as KEPT
from tiers import params

from browser.conftest import Shown
from browser.driving import PHONE, Widget, places

LEAST = 9  # pixels of a letter's size, as it is rendered
RAW = re.compile(r"[A-Za-z∂]_[A-Za-z{]")
PLURAL = re.compile(
    r"(?<![\w.,−-])1 (?:hop|sentence|word|batch|layer|step|head|merge|piece|place|nat|key|number|hand)(?:s|es)\b.*"
)

# Every text that is seen in a box, with its size on the screen: a drawing may be scaled.
TEXTS = """(box) => {
  const found = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const [node, at] = [walker.currentNode, walker.currentNode.parentElement];
    if (!node.data.trim() || !at.checkVisibility({ visibilityProperty: true }) || at.closest('option, [fill-opacity="0"]')) continue;
    const matrix = at.closest("svg") && at.getScreenCTM();
    found.push({ text: node.data.trim(), size: parseFloat(getComputedStyle(at).fontSize) * (matrix ? Math.hypot(matrix.b, matrix.d) : 1) });
  }
  return found;
}"""

# What is spoken of each mark, and all that is written, after each control was moved once through all that it can be.
SAID = """async (box) => {
  const said = new Set();
  const note = () => {
    said.add(box.querySelector(".tfm-readout").textContent);
    for (const node of box.querySelectorAll("output, [aria-label], [data-stage] p")) said.add(node.getAttribute("aria-label") ?? node.textContent);
  };
  for (const input of box.querySelectorAll("input[type=range], select")) {
    const count = input.length ?? Math.round((input.max - input.min) / input.step) + 1;
    for (let k = 0; k < count; k += Math.ceil(count / 40)) {
      if (input.length) input.selectedIndex = k;
      else input.value = +input.min + k * input.step;
      input.dispatchEvent(new Event(input.length ? "change" : "input", { bubbles: true }));
      await null;
      note();
    }
    box.querySelector("[data-action='reset']").click();
    await null;
  }
  note();
  return [...said].join("\\n");
}"""


def opened(visit, book: Path, module: str, **how) -> list[Widget]:
    return [Widget(visit(place.page, **how), place.index) for place in places(book, module)]


def test_every_letter_is_large_enough_on_a_phone(on_a_phone: list[Shown]) -> None:
    for module, _, widget in on_a_phone:
        texts = widget.box.evaluate(TEXTS)
        assert len(texts) > 5
        assert [each for each in texts if each["size"] < LEAST] == [], module
        assert widget.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_no_sign_is_left_raw(on_a_desk: list[Shown]) -> None:
    """An index stands below the line, and ▁ is for tokenisers."""
    for module, _, widget in on_a_desk:
        texts = [each["text"] for each in widget.box.evaluate(TEXTS)]
        assert [text for text in texts if "▁" in text or RAW.search(text)] == [], module


def test_one_of_a_thing_is_one_thing(on_a_desk: list[Shown]) -> None:
    for module, _, widget in on_a_desk:
        assert PLURAL.findall(widget.box.evaluate(SAID)) == [], module


SIGHT = 0.7  # of the screen's height, where the part of the stage is that one looks at
ROOM = 0.45  # of it, which controls may take at most
REACH = """async (box, [share, sight]) => {
  const [bar, stage] = [box.querySelector(".tfm-bar"), box.querySelector("[data-stage]")];
  if (!bar.childElementCount) return null; // all its controls are on its stage
  const at = stage.getBoundingClientRect();
  scrollBy({ top: at.top + share * at.height - sight * innerHeight, behavior: "instant" });
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const { top, bottom } = bar.getBoundingClientRect();
  return [document.querySelector(".tfm-top").getBoundingClientRect().bottom, top, bottom];
}"""


def test_controls_stay_in_reach_of_what_they_move(on_a_phone: list[Shown]) -> None:
    """Whatever part of a tall stage one looks at on a phone, the controls stand whole above it, and leave it its room."""
    high = PHONE["height"]
    for module, _, widget in on_a_phone:
        for share in (0.1, 0.5, 0.9):
            if seen := widget.box.evaluate(REACH, [share, SIGHT]):
                head, top, bottom = seen
                where = f"{module}, at {share:.0%}: they stand at {top:.0f}"
                assert head - 1 <= top and bottom <= SIGHT * high + 1, where
                assert bottom - top < ROOM * high, where


# The size on the screen of each text of a figure; an index is smaller than its letter, as everywhere.
LABELS = """() => [...document.querySelectorAll(".tfm-figure svg text")].filter((at) => at.textContent.trim() && at.checkVisibility()).map((at) => {
  const own = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  const [matrix, sizes] = [at.getScreenCTM(), [at, ...at.querySelectorAll("tspan")].filter(own).map((node) => parseFloat(getComputedStyle(node).fontSize))];
  const box = at.getBoundingClientRect(), frame = at.closest(".tfm-figure").getBoundingClientRect();
  return { text: at.textContent.trim(), size: Math.hypot(matrix.b, matrix.d) * Math.max(...sizes), out: box.left < frame.left - 2 || box.right > frame.right + 2 };
})"""


STEMS = sorted(path.stem for path in CHAPTERS.glob("*.md"))


@pytest.mark.parametrize("some", params([True, False], [True], lambda some: "some" if some else "all"))
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


@pytest.mark.parametrize("stem", params(STEMS, KEPT))
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
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
    page.wait_for_function(f"({stops})[0] > 0")
    (at,) = page.evaluate(stops)
    page.locator(".tfm-copy").nth(at).focus()
    page.keyboard.press("ArrowDown")
    (then,) = page.evaluate(stops)
    assert then > at and page.evaluate(
        "document.activeElement.tabIndex === 0 && document.activeElement.matches('.tfm-copy')"
    )
    page.keyboard.press("Enter")
    page.wait_for_function("['Copied', 'Selected'].includes(document.activeElement.textContent)")


def test_label_smoothing_keeps_its_answer_until_it_is_found(visit, built_book: Path) -> None:
    (widget, *_) = opened(visit, built_book, "training/label_smoothing")
    green = widget.box.locator('[data-stage] circle.tfm-dot[style*="value"]')
    assert "least" not in widget.readout() and not green.is_visible()
    widget.show({"value": 0.92, "epsilon": 0.1, "vocabulary": 5, "convention": "all"})
    assert "the least there is" in widget.readout() and green.is_visible()
    for vocabulary in (2, 5, 10, 100, 1000, 37000):
        widget.show({"value": 0.5, "epsilon": 0.5, "vocabulary": vocabulary, "convention": "all"})
        plane, knob = (
            widget.box.locator(".tfm-axes").bounding_box(),
            widget.box.locator(".tfm-handle .tfm-dot").bounding_box(),
        )
        assert plane["y"] < knob["y"] + knob["height"] / 2 < plane["y"] + plane["height"]
        curve = widget.box.locator('.tfm-line[style*="query"]').bounding_box()
        assert curve["width"] > 0.5 * plane["width"], f"with {vocabulary} words most of the curve is off the chart"


def test_no_widget_opens_on_its_answer(visit, built_book: Path) -> None:
    (follow, *_) = opened(visit, built_book, "transformer/follow_token")
    steps = follow.box.locator('[data-control="value"] [role="radio"]')
    assert steps.last.get_attribute("aria-checked") == "true", "it does not begin at the bottom of the machine"
    (heads, *_) = opened(visit, built_book, "multihead/head_ablation")
    assert "?" not in heads.box.locator('[data-control="value"]').inner_text()
    assert "your guess" not in heads.readout()
