"""What a hand holds stays where it is: no control moves on the screen because of what it changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiers import SPREAD, params
from widgets.samples import MODULES

from browser.driving import DESKTOP, PHONE, Widget, places

MOST = 2  # pixels

# Each control is moved through all that it can be, as a hand would, and its distance from the top of the widget is
# measured after each move; that of a handle's plane, since the handle itself goes with the hand.
MOVED = """async (box) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const top = (node) => node.getBoundingClientRect().top - box.getBoundingClientRect().top;
  const tell = (node, ...kinds) => kinds.forEach((kind) => node.dispatchEvent(new Event(kind, { bubbles: true })));
  const some = (list, most = 12) => list.filter((_, i) => i % Math.ceil(list.length / most) === 0 || i === list.length - 1);
  const moved = {};
  async function see(name, node, act, from = top(node)) {
    act();
    await frame();
    if (node.isConnected) moved[name] = Math.max(moved[name] ?? 0, Math.abs(top(node) - from));
  }
  const moves = {
    range(name, node) {
      const { min, max, step } = node;
      const count = Math.round((max - min) / step);
      return some([...Array(count + 1).keys()]).map((k) => () => { node.value = +min + k * step; tell(node, "input", "change"); });
    },
    select: (name, node) => [...node.options].map((_, k) => () => { node.selectedIndex = k; tell(node, "input", "change"); }),
    checkbox: (name, node) => [0, 1].map(() => () => node.click()),
    text: (name, node) => ["", "a", node.value.repeat(3).slice(0, 120), node.value].map((words) => () => { node.value = words; tell(node, "input"); }),
    button: (name, node) => [...Array(6)].map(() => () => node.click()),
    group: (name, node) => some([...node.querySelectorAll("input, button")], 8).map((part) => () => part.click()),
    radiogroup: (name, node) => [...node.querySelectorAll('[role="radio"]')].map((item) => () => item.click()),
    slider: (name, node) => ["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"].flatMap((key) => [...Array(8)].map(() => () => node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, shiftKey: true })))),
  };
  async function enable(control) {
    for (const other of box.querySelectorAll("select, [type=checkbox], [role=radiogroup]")) {
      for (const act of control.disabled && !other.disabled ? moves[kind(other)]("", other) : []) {
        act();
        do await frame();
        while (box.querySelector("[data-busy]")); // a machine that is on its way
        if (!control.disabled) return;
      }
    }
    const line = box.querySelector("[type=text]"); // what only a sentence of one's own enables
    if (control.disabled && line) {
      line.value = "x";
      tell(line, "input");
      while (box.querySelector("[data-busy]")) await frame();
      await frame();
    }
    if (control.disabled) throw new Error(`nothing enables ${control.dataset.control}`);
  }
  const kind = (node) => ({ range: "range", checkbox: "checkbox", text: "text" })[node.type] ?? { SELECT: "select", BUTTON: "button" }[node.tagName] ?? node.getAttribute("role");
  for (const control of [...box.querySelectorAll("[data-control]:not([data-process])")]) {
    const [name, what] = [control.dataset.control, kind(control)];
    await enable(control);
    if (what === "radiogroup" || what === "grid") {
      const items = () => [...control.querySelectorAll('[role="radio"], [role="gridcell"]')];
      for (const i of some([...items().keys()])) {
        const item = items()[i];
        if (!item?.isConnected) continue;
        await see(name, item, () => { item.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true, pointerType: "mouse" })); item.dispatchEvent(new MouseEvent("click", { bubbles: true })); dispatchEvent(new PointerEvent("pointerup")); });
      }
    } else if (moves[what]) {
      const held = what === "slider" ? control.closest("div") : control;
      const from = top(held);
      for (const act of moves[what](name, control)) await see(name, held, act, from);
    }
    box.querySelector("[data-action='reset']").click();
    await frame();
  }
  return moved;
}"""


VIEWPORTS = {"phone": PHONE, "desktop": DESKTOP}
KEPT = {("data/merge_steps", "phone"), ("training/training_replay", "phone"), ("masking/mask_editor", "desktop")}


STAGES = [(module, "phone") for module in MODULES] + [(module, "desktop") for module in SPREAD]


@pytest.mark.parametrize(
    "module_on", params(STAGES, KEPT, "-".join, [("alignment/alignment", "desktop"), ("positional/encoding", "phone")])
)
def test_no_control_moves_while_it_is_moved(visit, built_book: Path, module_on: tuple[str, str]) -> None:
    module, on = module_on
    for place in places(built_book, module):
        widget = Widget(visit(place.page, viewport=VIEWPORTS[on]), place.index)
        moved = widget.box.evaluate(MOVED)
        assert set(moved) == set(widget.controls())
        assert {name: by for name, by in moved.items() if by > MOST} == {}, f"on {place.page}"
