"""A widget on a page, driven as a reader without a mouse drives it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from time import monotonic
from typing import NamedTuple
from urllib.parse import urlencode

from playwright.sync_api import Download, Locator, Page
from widgets.samples import MODULES

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
PATIENCE = 60_000  # milliseconds until a state is given up that should come at once: the machine may be busy


UNTIL = """async ([patience, argument]) => {
  const asked = () => (CONDITION);
  for (const end = Date.now() + patience; Date.now() < end; await new Promise((go) => setTimeout(go, 20))) {
    const found = asked();
    if (await (typeof found === "function" ? found(argument) : found)) return true;
  }
  return false;
}"""


def reopen(page: Page, arrived: Callable[[], bool]) -> None:
    """
    Open the page again. From a file the new page is another process, which may read its store before the old one's
    last write is in it, on a busy machine a second later: then it is opened again, for at most ten seconds.
    """
    page.wait_for_timeout(300)
    page.reload()
    end = monotonic() + 10 * page.url.startswith("file:")
    while monotonic() < end and not arrived():
        page.wait_for_timeout(500)
        page.reload()


def until(page: Page, condition: str, arg: object = None) -> None:
    """Wait until a condition, an expression or a function of `arg`, holds. Raises TimeoutError.

    Playwright's own wait_for_function evaluates its text again and again, which no page of the book allows.
    """
    if not page.evaluate(UNTIL.replace("CONDITION", condition), [PATIENCE, arg]):
        raise TimeoutError(f"it never held: {condition}")


def unfold(card: Locator) -> None:
    """Open the card of an exercise, unless it is open."""
    if card.get_attribute("open") is None:
        card.locator(":scope > summary").click()


class Place(NamedTuple):
    """Where a widget stands: the page, and its place among the page's widgets."""

    page: str
    index: int


def places(book: Path, module: str) -> list[Place]:
    """Where the widget stands in the built book."""
    found = _places(book).get(module)
    assert found, f"no page of the book shows {module}"
    return found


@cache
def _places(book: Path) -> dict[str, list[Place]]:
    found = defaultdict(list)
    for path in sorted(book.glob("**/*.html")):
        modules = re.findall(r'<div class="tfm-widget"[^>]*? data-module="([^"]*)"', path.read_text(encoding="utf-8"))
        name = path.relative_to(book).with_suffix("").as_posix()
        for index, module in enumerate(modules):
            found[module].append(Place(name, index))
    return found


def pages_with_widgets(book: Path) -> list[str]:
    return sorted({place.page for module in MODULES for place in places(book, module)})


# What can be seen of stage and readout. Where the focus is, is left out: moving it is no answer of a widget.
LOOK = """async (box) => {
  for (let waits = 0; box.querySelector("[data-busy]"); waits++) { // a machine at work
    if (waits > 2000) throw new Error("the machine does not end");
    await new Promise((go) => setTimeout(go, 20));
  }
  const lines = [];
  const tell = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return void lines.push(node.data);
    if (node.hidden || node.matches(".tfm-ring")) return;
    const attributes = [...node.attributes].filter(({ name, value }) => !["tabindex", "data-lm-suppress-shortcuts"].includes(name) && !(name === "style" && !value)).map(({ name, value }) => `${name}="${name === "style" ? node.style.cssText : value}"`);
    lines.push(`<${node.localName} ${attributes.sort().join(" ")}>`.replace(/tfm-([a-z]+)-\\d+/g, "tfm-$1")); // ids are counted, not seen
    node.childNodes.forEach(tell);
  };
  tell(box.querySelector("[data-stage]"));
  return [...lines, box.querySelector(".tfm-readout").textContent].join("\\n");
}"""

FOCUSED = """(box) => {
  const at = document.activeElement;
  if (!box.contains(at)) return null;
  const control = at.closest("[data-control], [data-action]");
  const ring = at.closest(".tfm-heatmap")?.querySelector(".tfm-ring");
  const halo = at.querySelector(":scope > .tfm-halo");
  return {
    process: "process" in (control?.dataset ?? {}),
    name: control?.dataset.control ?? control?.dataset.action ?? at.outerHTML,
    looks: [
      getComputedStyle(at).outlineStyle !== "none" && parseFloat(getComputedStyle(at).outlineWidth) > 0,
      ring && getComputedStyle(ring).visibility === "visible",
      halo && getComputedStyle(halo).stroke !== "none",
    ].filter(Boolean).length,
  };
}"""

# A grid and a radio group are one stop of the Tab key; what is inside is reached by arrow keys.
# The contrast of an outline with the page.
SEEN = """(node) => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const [one, two] = [light(getComputedStyle(node).outlineColor), light(getComputedStyle(document.body).backgroundColor)];
  return Math.max(one, two) / Math.min(one, two);
}"""

BEFORE = """(box) => {
  document.getElementById("before-widget")?.remove();
  const start = Object.assign(document.createElement("span"), { id: "before-widget", tabIndex: -1 });
  box.before(start);
  start.focus();
}"""

# Where the control is the first, or its neighbour no stop after all, nothing is found, and the way is walked.
STOP_BEFORE = """(box, name) => {
  const stops = [...box.querySelectorAll("*")].filter((node) => node.tabIndex >= 0 && !node.disabled && node.checkVisibility());
  const at = stops.findIndex((node) => node.closest("[data-control], [data-action]")?.matches(`[data-control="${name}"], [data-action="${name}"]`));
  if (at < 1) return false;
  stops[at - 1].focus();
  return document.activeElement === stops[at - 1];
}"""

UNFOLD = """(box, name) => {
  const at = box.querySelector(`[data-control="${name}"], [data-action="${name}"]`);
  if (at?.closest("details") && !at.matches("summary")) at.closest("details").open = true;
}"""

# What begins a process is left out: what follows differs from time to time, and has tests of its own.
KINDS = """(box) => Object.fromEntries([...box.querySelectorAll("[data-control]:not([data-process])")].map((node) => [node.dataset.control, {
  kind: node.type === "range" ? "range" : node.type === "checkbox" ? "checkbox" : node.localName === "select" ? "select" : node.getAttribute("role") ?? node.localName,
  off: Boolean(node.disabled),
  editable: node.classList.contains("tfm-editable"),
  last: node.type === "range" ? node.value === node.max : node.localName === "select" ? node.selectedIndex === node.length - 1 : false,
  first: node.querySelector('[tabindex="0"]')?.dataset.i === "0",
  count: node.length ?? 0,
}]))"""

# What its live regions say from now on, as [region, words], in box.said.
LISTEN = """(box) => {
  const at = ({ target }) => (target.closest ? target : target.parentElement)?.closest("output, [role=status], [role=alert], [aria-live]");
  box.said = [];
  new MutationObserver((changes) => {
    for (const region of new Set(changes.map(at))) {
      const silent = !region?.checkVisibility() || region.closest('[aria-hidden="true"]') || region.getAttribute("aria-live") === "off";
      if (!silent && region.textContent) box.said.push([region.className, region.textContent]);
    }
  }).observe(box, { subtree: true, childList: true, characterData: true });
}"""

SAVED = """async (box) => {
  const [make, click] = [URL.createObjectURL, HTMLAnchorElement.prototype.click];
  try {
    const saved = new Promise((done) => { URL.createObjectURL = (blob) => (done(blob.text()), "#"); });
    HTMLAnchorElement.prototype.click = () => {};
    box.querySelector("[data-action='save-csv']").click();
    return await saved;
  } finally {
    [URL.createObjectURL, HTMLAnchorElement.prototype.click] = [make, click];
  }
}"""


class Widget:
    """`page.locator(".tfm-widget")` number `index`, or the `box` that a widget's card stands in."""

    def __init__(self, page: Page, index: int = 0, box: Locator | None = None) -> None:
        self.page = page
        self.box = page.locator(".tfm-widget").nth(index) if box is None else box

    @property
    def state(self) -> str | None:
        return self.box.get_attribute("data-state")

    def look(self) -> str:
        """All that can be seen on the stage and in the readout, as text."""
        return self.box.evaluate(LOOK)

    def readout(self) -> str:
        return self.box.locator(".tfm-readout").inner_text()

    def said(self) -> list[tuple[str, str]]:
        """What the live regions, by their class, have said since this was asked last; at first nothing."""
        told = self.box.evaluate("(box) => box.said?.splice(0)")
        if told is None:
            self.box.evaluate(LISTEN)
        return [(region, words) for region, words in told or []]

    def controls(self) -> dict[str, dict]:
        """What is known of each control by its name: kind, off (disabled), editable, at its last or first, count."""
        return self.box.evaluate(KINDS)

    def cells(self, grid: str) -> list[str]:
        """The words of a heat-map's cells for a screen reader, row by row."""
        cells = self.box.locator(f'[data-control="{grid}"] [role="gridcell"]')
        return cells.evaluate_all("(cells) => cells.map((cell) => cell.getAttribute('aria-label'))")

    def stops(self) -> list[dict]:
        """Where the Tab key stops in the widget, what is folded opened: the control's name, and how many looks of focus it has."""
        found = []
        self.box.evaluate("(box) => box.querySelectorAll('.tfm-more').forEach((folded) => (folded.open = true))")
        self.box.evaluate(BEFORE)
        while True:
            self.page.keyboard.press("Tab")
            stop = self.box.evaluate(FOCUSED)
            if stop is None:
                return found
            if not stop["process"]:
                found.append(stop)
            assert len(found) < 100, "the Tab key never leaves the widget"

    def reach(self, name: str) -> None:
        """Go to a control by the Tab key: from the stop before it, or else from before the widget. Folded ones are opened."""
        self.box.evaluate(UNFOLD, name)
        if self.box.evaluate(STOP_BEFORE, name):
            self.page.keyboard.press("Tab")
            if (self.box.evaluate(FOCUSED) or {}).get("name") == name:
                return
        self.box.evaluate(BEFORE)
        seen = []
        while True:
            self.page.keyboard.press("Tab")
            stop = self.box.evaluate(FOCUSED)
            assert stop, f"the Tab key does not reach {name}; it stops at {seen}"
            if stop["name"] == name:
                return
            seen.append(stop["name"])

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def changed_by(self, *keys: str) -> bool:
        """Whether stage or readout look different after these keys. A drawing follows its event at once."""
        before = self.look()
        self.press(*keys)
        return self.look() != before

    def moves(self, name: str) -> list[tuple[str, ...]]:
        """Keys, each of which must change what is seen once the control has the focus."""
        control = self.controls()[name]
        back, forth = ("ArrowLeft", "ArrowRight") if control["kind"] == "range" else ("ArrowUp", "ArrowDown")
        return {
            "range": [(back,) if control["last"] else (forth,)],
            "select": [(back,) if control["last"] else (forth,)],
            "checkbox": [("Space",)],
            "radiogroup": [("Home", "End"), ("ArrowUp",), ("ArrowDown",)],
            "grid": [("ArrowDown",) if control["first"] else ("ArrowUp",)]
            + [("Enter",), ("Space",)] * control["editable"],
            "slider": [("ArrowRight",), ("ArrowUp",), ("ArrowLeft",), ("Shift+ArrowDown",)],
            "button": [("Enter",)],
            "group": [("Space",)],  # of switches; the first of them
            "input": [("End", "x"), ("Backspace",)],  # a line of text
        }[control["kind"]]

    def usable(self) -> Iterator[str]:
        """Controls one after the other; left out is what is off or gone when its turn comes, because of one before it."""
        for name in self.controls():
            self.look()  # a machine that is on its way comes first
            if not self.controls().get(name, {"off": True})["off"]:
                yield name

    def enable(self, name: str) -> None:
        """Move other selects, checkboxes and radios, then sliders, then type, by keyboard, until the control can be used."""
        last = ["range", "input"]
        for other, control in sorted(
            self.controls().items(), key=lambda item: item[1]["kind"] in last and 1 + last.index(item[1]["kind"])
        ):
            ways = {
                "select": ["Home", *["ArrowDown"] * (control["count"] - 1)],
                "checkbox": ["Space"],
                "radiogroup": ["ArrowUp"] * 4,
                "range": ["ArrowRight"] * 4,
                "input": ["x"],
            }
            keys = ways.get(control["kind"])
            if control["off"] or not keys:
                continue
            self.reach(other)
            for key in keys:
                self.press(key)
                self.look()  # waits for a machine
                if not self.controls()[name]["off"]:
                    return
            self.reset()
        raise AssertionError(f"no select, checkbox, radio, slider or text enables {name}")

    def reset(self) -> None:
        self.reach("reset")
        self.press("Enter")

    def link(self) -> str:
        """The address that the Link button gives, from the clipboard or from the address bar."""
        self.box.locator(
            '[data-action="link"]'
        ).focus()  # not on the way over the stage, where a focus may choose a word
        note = self.box.locator(".tfm-note")
        note.evaluate("(note) => { note.textContent = ''; }")  # what it said of an earlier link
        self.press("Enter")
        note.filter(has_text=re.compile("link", re.IGNORECASE)).wait_for(state="visible")
        return self.page.evaluate("navigator.clipboard.readText()") if "copied" in note.inner_text() else self.page.url

    def model(self) -> dict:
        """The state that the build embedded in the page for this widget."""
        states = self.page.locator('script[type="application/vnd.jupyter.widget-state+json"]').text_content()
        return json.loads(states)["state"][self.box.get_attribute("data-model")]["state"]

    def rows(self) -> list[dict[str, str]]:
        """What is saved as CSV, a dictionary a line; read before it becomes a file, since a browser slows many files down."""
        return list(csv.DictReader(io.StringIO(self.box.evaluate(SAVED))))

    def save(self, kind: str) -> Download:
        """Save as svg, png or csv, by keyboard."""
        self.reach("more")
        self.press("Enter")
        while self.box.evaluate(FOCUSED)["name"] != f"save-{kind}":
            self.press("Tab")
        with self.page.expect_download() as download:
            self.press("Enter")
        return download.value

    def show(self, state: dict) -> None:
        """Follow a link to another state on the same page, and wait until it is drawn."""
        place = self.box.evaluate("(box) => [...document.querySelectorAll('.tfm-widget')].indexOf(box)")
        said = urlencode({name: each if isinstance(each, str) else json.dumps(each) for name, each in state.items()})
        self.go(f"#tfm={self.box.get_attribute('data-module')}.{place}&{said}")

    def go(self, hash: str) -> None:
        self.page.evaluate(
            """(hash) => new Promise((done) => {
              addEventListener("hashchange", () => setTimeout(done), { once: true });
              location.hash = hash;
            })""",
            hash,
        )


def first(page: Page, module: str) -> Widget:
    """The first such widget on the page, scrolled to."""
    widget = Widget(page, box=page.locator(f'.tfm-widget[data-module="{module}"]').first)
    widget.box.scroll_into_view_if_needed()
    return widget
