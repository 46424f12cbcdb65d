"""What a screen reader says of each widget: names that make sense alone, nothing twice, and what changes once."""

import re
from collections import Counter

from playwright.sync_api import Page

from browser.conftest import Shown
from browser.driving import Widget

CONTROLS = {"slider", "combobox", "checkbox", "button", "textbox", "radiogroup", "grid", "switch", "DisclosureTriangle"}
PARTS = {"radio", "gridcell", "rowheader", "columnheader", "image", "img"}
GLUED = re.compile(r"\bd(k|v|ff|model)\b")  # a symbol and its index, heard as one word
# A word: a letter is a symbol, and “or” joins what is seen beside it. The paper has no other name for d ff, as for d model.
ALONE = re.compile(r"[^\W\d_]{3}|^d ff$")


class Node(dict):
    """A node of the accessibility tree."""

    role = property(lambda self: self["role"]["value"])
    name = property(lambda self: self.get("name", {}).get("value", ""))


def heard(page: Page, widget: Widget) -> list[Node]:
    """What of the widget is in the accessibility tree, in its order."""
    box = widget.box.evaluate_handle("(box) => (globalThis.boxHeard = box)")
    session = page.context.new_cdp_session(page)
    session.send("Accessibility.enable")
    found = session.send("Runtime.evaluate", {"expression": "globalThis.boxHeard"})["result"]
    nodes = session.send("Accessibility.queryAXTree", {"objectId": found["objectId"]})["nodes"]
    session.detach()
    box.dispose()
    return [Node(node) for node in nodes if not node.get("ignored")]


# What the live regions say from now on, as [region, text].
LISTEN = """(box) => {
  const regions = "[role=status], [role=alert], [aria-live]";
  box.said = [];
  new MutationObserver((changes) => {
    const at = ({ target }) => (target.closest ? target : target.parentElement)?.closest(regions);
    for (const region of new Set(changes.map(at))) {
      if (region?.checkVisibility() && region.ariaLive !== "off" && region.textContent) box.said.push([region.className, region.textContent]);
    }
  }).observe(box, { subtree: true, childList: true, characterData: true });
}"""


def test_names_make_sense_alone_and_none_is_said_twice(on_a_desk: list[Shown]) -> None:
    for module, _, widget in on_a_desk:
        nodes = heard(widget.page, widget)
        controls = [node for node in nodes if node.role in CONTROLS]
        assert controls, module
        assert [(node.role, node.name) for node in controls if not ALONE.search(node.name)] == [], module
        assert [node.name for node in nodes if GLUED.search(node.name)] == [], module
        assert [node.role for node in nodes if node.role in PARTS and not node.name.strip()] == [], module
        twice = [name for name, n in Counter((node.role, node.name) for node in controls).items() if n > 1]
        assert twice == [], module
        groups = [node.name for node in nodes if node.role == "group" and node.name]
        assert len(groups) == len(set(groups)), f"{module}: a group in a group of the same name"
