"""One whole chapter by keyboard alone: each stop of the Tab key is seen, in its place, has a name, and answers."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FileChooser, Page

from browser.driving import Widget

NAMED = re.compile(r"[^\W_]{2}")

# Where the focus is. What shows it may be larger than what has it: the label of a choice, the ring of a cell.
STOP = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  const known = (globalThis.stopsKnown ??= new Map()), before = [...known.keys()].pop();
  const again = known.has(at);
  if (!again) known.set(at, known.size);
  const shown = at.matches("input[type=radio]") ? at.closest("label") : at;
  const face = at.closest(".tfm-big-picture") && (at.querySelector(".face") ?? at.querySelector(".frame, .wire"));
  const whole = at.ownerSVGElement ?? shown; // parts of a picture may lie on each other
  const box = shown.getClientRects()[0] ?? shown.getBoundingClientRect();
  const rect = box.width ? box : shown.getBoundingClientRect();
  const inset = (low, far, part) => low + (far - low) * part;
  const points = [[0.5, 0.5], [0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9]].map(([a, b]) => document.elementFromPoint(inset(rect.left, rect.right, a), inset(rect.top, rect.bottom, b)));
  const style = (node) => getComputedStyle(node);
  const focus = style(document.documentElement).getPropertyValue("--tfm-focus").trim();
  const probe = Object.assign(document.createElement("i"), { style: `color:${focus}` });
  document.body.append(probe);
  const colour = style(probe).color;
  probe.remove();
  const lined = (node) => style(node).outlineStyle !== "none" && parseFloat(style(node).outlineWidth) >= 2;
  const stroked = (node) => node && style(node).stroke === colour && style(node).visibility === "visible" && parseFloat(style(node).strokeWidth) >= 2;
  const words = at.getAttribute("aria-label") ?? [...(at.labels ?? [])].map((label) => label.textContent).join(" ") ?? "";
  const holder = at.closest("[data-control], [data-action]");
  return {
    again,
    behind: !before || Boolean(before.compareDocumentPosition(at) & Node.DOCUMENT_POSITION_FOLLOWING),
    name: (words || at.textContent || at.title).trim().replace(/\\s+/g, " ").slice(0, 90),
    tag: at.localName,
    type: at.type ?? "",
    classes: [...at.classList, ...(at.closest(".tfm-menu, .tfm-downloads")?.classList ?? [])],
    href: at.getAttribute("href"),
    widget: [...document.querySelectorAll(".tfm-widget")].indexOf(at.closest(".tfm-widget")),
    control: holder?.dataset.control ?? null,
    action: holder?.dataset.action ?? null,
    ask: Boolean(at.closest(".tfm-ask")),
    within: rect.top >= -1 && rect.left >= -1 && rect.right <= innerWidth + 1 && (rect.bottom <= innerHeight + 1 || rect.height > innerHeight / 2),
    covered: points.filter((node) => !node || !(whole.contains(node) || node.contains(whole))).length,
    seen: [at, shown].some(lined) || stroked(at.closest(".tfm-heatmap")?.querySelector(".tfm-ring")) || stroked(at.querySelector(":scope > .tfm-halo")) || stroked(face),
  };
}"""

# What could be reached and was not. Of choices, of cells and of the buttons that copy one is a stop, and arrows lead on;
# the button that forgets what was read came into the sidebar after the reader had passed it.
MISSED = """() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter((node) =>
  node.tabIndex >= 0 && !node.disabled && node.checkVisibility({ visibilityProperty: true }) && !stopsKnown.has(node)
  && !(node.type === "radio" && [...stopsKnown.keys()].some((other) => other.name === node.name)) && !node.matches(".tfm-copy, .tfm-forget-reading, [role=radio], [role=gridcell]")
).map((node) => node.outerHTML.slice(0, 120))"""

ACTIVE = "(name) => document.activeElement.getAttribute(name)"


class Reader:
    """Goes on by the Tab key, and does at each stop what it is for."""

    def __init__(self, page: Page) -> None:
        self.page, self.key = page, page.keyboard
        self.stops: list[dict] = []
        self.faults: list[str] = []
        self.widgets = [Widget(page, i) for i in range(page.locator(".tfm-widget").count())]
        self.done: set[str] = set()
        self.choosers: list[FileChooser] = []
        page.on("filechooser", lambda chooser: self.choosers.append(chooser))

    def go(self) -> dict | None:
        self.key.press("Tab")
        stop = self.page.evaluate(STOP)
        if stop is None:
            return None
        for fault, holds in (
            ("is not new: a trap", not stop["again"]),
            ("stands before the one before it", stop["behind"]),
            ("has no name", NAMED.search(stop["name"])),
            ("is outside the window", stop["within"]),
            ("is covered", stop["covered"] < 3),
            ("does not show its focus", stop["seen"]),
        ):
            self.expect(holds, stop, fault)
        assert not stop["again"], "\n".join(self.faults)
        self.stops.append(stop)
        return stop

    def expect(self, holds: object, stop: dict, fault: str) -> None:
        if not holds:
            self.faults.append(f"{stop['tag']} “{stop['name']}” {fault}")

    def answer(self, stop: dict) -> None:
        kind = next((kind for kind in KINDS if KINDS[kind](stop)), None)
        if kind is None:
            return self.expect(False, stop, "is of no kind that this test knows")
        self.done.add(kind)
        getattr(self, kind)(stop)
        return None

    def focused(self, question: str) -> bool:
        return self.page.evaluate(f"() => {{ const at = document.activeElement; return Boolean({question}); }}")

    def soon(self, question: str) -> bool:
        """Whether the answer comes to be yes within two seconds."""
        for _ in range(40):
            if self.focused(question):
                return True
            self.page.wait_for_timeout(50)
        return False

    def skip(self, stop: dict) -> None: ...

    def menu(self, stop: dict) -> None:
        self.key.press("Enter")
        self.expect(self.focused("at.parentElement.open"), stop, "does not open")
        self.key.press("Tab")
        self.expect(self.focused("at.closest('details')?.open && at.localName !== 'summary'"), stop, "leads not in")
        self.key.press("Escape")
        closed = "at.localName === 'summary' && !at.parentElement.open"
        self.expect(self.focused(closed), stop, "is not closed by Escape, or loses the focus")

    def fold(self, stop: dict) -> None:
        was = self.focused("at.parentElement.open")
        self.key.press("Enter")
        self.expect(
            self.focused(f"at.localName === 'summary' && at.parentElement.open !== {str(was).lower()}"),
            stop,
            "does not open",
        )
        if was:
            self.key.press("Enter")

    def control(self, stop: dict) -> None:
        widget = self.widgets[stop["widget"]]
        if stop["name"] == "Open a model":
            self.key.press("Enter")
            self.page.wait_for_timeout(500)
            self.expect(self.choosers, stop, "asks for no file")
        else:
            known = self.within_reach(widget)
            process = stop["control"] not in widget.controls()  # a button that starts a training
            for keys in [("Enter",)] if process else widget.moves(stop["control"]):
                answers = widget.changed_by(*keys) or self.set_up(widget)
                self.expect(answers, stop, f"does not answer {' '.join(keys)}")
                if stop["tag"] == "select" and not known <= self.within_reach(widget):  # back
                    self.key.press({"ArrowUp": "ArrowDown", "ArrowDown": "ArrowUp"}[keys[0]])
        stays = f"at.closest('[data-control]')?.dataset.control === '{stop['control']}'"
        self.expect(self.focused(stays), stop, "loses the focus")

    def within_reach(self, widget: Widget) -> set[str]:
        return {name for name, control in widget.controls().items() if not control["off"]}

    def set_up(self, widget: Widget) -> bool:
        """Whether the control is a list, now at another entry, whose choice counts from the next training on."""
        trains = widget.box.locator('[data-control="train"]').count() > 0
        return trains and self.focused("at.selectedIndex > 0")

    def link(self, stop: dict) -> None:
        there = f"document.getElementById({stop['href']!r}.slice(1)) || {stop['href']!r} === '#'"
        self.expect(not stop["href"].startswith("#") or self.focused(there), stop, "leads nowhere")

    def term(self, stop: dict) -> None:
        card = self.page.get_by_role("tooltip")
        card.wait_for()
        self.key.press("Escape")
        self.expect(not card.is_visible() and self.focused("at.matches('a')"), stop, "keeps its card")

    def choice(self, stop: dict) -> None:
        self.key.press("Space")
        box = (
            "at.closest('.tfm-predict, .tfm-ask')"  # the first question of a chapter keeps an answer, and says no more
        )
        told = f"{box}.querySelector('[role=status]').textContent || {box}.dataset.state === 'kept'"
        waits = "at.closest('form')?.querySelector('.tfm-check')"
        self.expect(self.focused(f"at.checked && ({told} || {waits})"), stop, "is chosen, and nothing is said")

    def answered(self, stop: dict) -> None:
        self.key.type("2")
        self.key.press("Enter")
        self.verdict(stop)

    def check(self, stop: dict) -> None:
        self.key.press("Enter")
        self.verdict(stop)

    def verdict(self, stop: dict) -> None:
        told = "at.closest('.tfm-ask').querySelector('[role=status]').textContent.length > 10"
        self.expect(self.focused(told), stop, "gets no verdict, or loses the focus")

    def move(self, stop: dict) -> None:
        self.key.press("Enter")
        self.expect(self.focused("at.closest('.tfm-moves')"), stop, "loses the focus")

    def press(self, stop: dict) -> None:
        """A button that changes itself, and back."""
        look = "document.documentElement.dataset.theme + at.getAttribute('aria-expanded') + at.textContent"
        before = self.page.evaluate(f"() => {{ const at = document.activeElement; return {look}; }}")
        self.key.press("Enter")
        self.expect(self.soon(f"{look} !== {before!r}"), stop, "does not answer")
        if "tfm-tool" in stop["classes"]:
            self.key.press("Enter")

    def action(self, stop: dict) -> None:
        self.key.press("Enter")
        self.expect(self.focused("at.matches('[data-action]')"), stop, "loses the focus")

    def scroller(self, stop: dict) -> None:
        self.key.press("ArrowRight")
        self.expect(self.soon("at.scrollLeft > 0"), stop, "does not scroll")


KINDS = {
    "menu": lambda stop: stop["tag"] == "summary" and {"tfm-menu", "tfm-downloads"} & set(stop["classes"]),
    "fold": lambda stop: stop["tag"] == "summary",
    "action": lambda stop: stop["action"],
    "control": lambda stop: stop["control"],
    "term": lambda stop: "#term-" in (stop["href"] or ""),
    "link": lambda stop: stop["tag"] == "a",
    "choice": lambda stop: stop["type"] == "radio",
    "answered": lambda stop: stop["ask"] and stop["type"] == "text",
    "move": lambda stop: stop["name"].startswith("Move "),
    "check": lambda stop: "tfm-check" in stop["classes"],
    "skip": lambda stop: stop["type"] == "search" or "tfm-forget" in stop["classes"],  # below, and in other tests
    "press": lambda stop: stop["tag"] == "button",
    "scroller": lambda stop: stop["tag"] in ("pre", "div", "nav"),
}


@pytest.fixture
def page(visit) -> Page:
    page = visit("chapters/masking")
    yield page
    page.evaluate("localStorage.clear()")


@pytest.mark.release
def test_a_chapter_is_read_by_keyboard_alone(page: Page) -> None:
    reader = Reader(page)
    while stop := reader.go():
        reader.answer(stop)
        assert len(reader.stops) < 600, "the page has no end"
    assert not reader.faults, "\n".join(reader.faults)
    assert page.evaluate(MISSED) == []
    wanted = {"menu", "fold", "action", "control", "term", "link", "choice", "answered", "check", "press", "skip"}
    assert reader.done >= wanted
    assert {"sentence", "preset", "mask", "weights"} <= {stop["control"] for stop in reader.stops}

    back = len(reader.stops) - next(i for i, stop in enumerate(reader.stops) if "tfm-next" in stop["classes"])
    for _ in range(back):  # from the page's end, where the focus went to the browser
        page.keyboard.press("Shift+Tab")
    assert "tfm-next" in page.evaluate(ACTIVE, "class")
    page.keyboard.press("Enter")
    page.wait_for_url("**/chapters/multihead.html")


def test_one_can_skip_to_the_text_and_search_from_it(page: Page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("Boolean(document.activeElement.closest('main'))")
    page.keyboard.press("Control+k")
    page.keyboard.type("leak test")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=leak+test")
    page.locator("#search-results a").first.wait_for()
    while not page.evaluate("Boolean(document.activeElement.closest('#search-results'))"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement !== document.body"), "no result is reached"
    page.keyboard.press("Enter")
    page.wait_for_url("**/chapters/*#*")
