"""What is asked of every widget of every page, as it stands open in test_every_page.py: each question tells what it finds."""

from __future__ import annotations

import re
from collections import Counter

from playwright.sync_api import Page

from browser.driving import PHONE, Widget, until

# --- what a screen reader says ------------------------------------------------------------------------------------

CONTROLS = {"slider", "combobox", "checkbox", "button", "textbox", "radiogroup", "grid", "switch", "DisclosureTriangle"}
PARTS = {"radio", "gridcell", "rowheader", "columnheader", "image", "img"}
GLUED = re.compile(r"\bd(k|v|ff|model)\b")  # a symbol and its index, heard as one word
# A word: a letter is a symbol, and “or” joins what is seen beside it. The paper has no other name for d ff, as for d model.
ALONE = re.compile(r"[^\W\d_]{3}|^d ff$")


class Node(dict):
    """A node of the accessibility tree."""

    role = property(lambda self: self["role"]["value"])
    name = property(lambda self: self.get("name", {}).get("value", ""))


def heard(widget: Widget) -> list[Node]:
    """What of the widget is in the accessibility tree, in its order."""
    box = widget.box.evaluate_handle("(box) => (globalThis.boxHeard = box)")
    session = widget.page.context.new_cdp_session(widget.page)
    session.send("Accessibility.enable")
    found = session.send("Runtime.evaluate", {"expression": "globalThis.boxHeard"})["result"]
    nodes = session.send("Accessibility.queryAXTree", {"objectId": found["objectId"]})["nodes"]
    session.detach()
    box.dispose()
    return [Node(node) for node in nodes if not node.get("ignored")]


def names(widget: Widget) -> list[str]:
    """Names must make sense alone, and none be said twice."""
    nodes = heard(widget)
    controls = [node for node in nodes if node.role in CONTROLS]
    groups = Counter(node.name for node in nodes if node.role == "group" and node.name)
    return [
        *(["no control is heard"] if not controls else []),
        *(f"{node.role} “{node.name}” makes no sense alone" for node in controls if not ALONE.search(node.name)),
        *(f"“{node.name}” is heard as one word" for node in nodes if GLUED.search(node.name)),
        *(f"a {node.role} has no name" for node in nodes if node.role in PARTS and not node.name.strip()),
        *(f"{each} is there {n} times" for each, n in Counter((c.role, c.name) for c in controls).items() if n > 1),
        *(f"a group in a group of the same name: {name}" for name, n in groups.items() if n > 1),
    ]


# --- what is written ----------------------------------------------------------------------------------------------

LEAST = 9  # pixels of a letter's size, as it is rendered
RAW = re.compile(r"[A-Za-z∂]_[A-Za-z{]|▁")  # an index stands below the line, and ▁ is for tokenisers
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


def raw_signs(widget: Widget) -> list[str]:
    texts = [each["text"] for each in widget.box.evaluate(TEXTS)]
    return [f"“{text}” holds a raw sign" for text in texts if RAW.search(text)]


def plurals(widget: Widget) -> list[str]:
    """One of a thing must be one thing."""
    return [f"“{text}” is no plural" for text in PLURAL.findall(widget.box.evaluate(SAID))]


def small_letters(widget: Widget) -> list[str]:
    """On a phone, every letter must be large enough."""
    texts = widget.box.evaluate(TEXTS)
    small = [f"“{each['text']}” is {each['size']:.1f} px high" for each in texts if each["size"] < LEAST]
    return small if len(texts) > 5 else [f"only {len(texts)} texts are seen"]


SIGHT = 0.7  # of the screen's height, where the part of the stage is that one looks at
ROOM = 0.45  # of it, which controls may take at most
REACH = """async (box, [share, sight]) => {
  const [bar, stage] = [box.querySelector(".tfm-bar"), box.querySelector("[data-stage]")];
  if (!bar.childElementCount) return null; // all its controls are on its stage
  const at = stage.getBoundingClientRect();
  const isBelow = bar.getBoundingClientRect().top >= at.bottom;
  scrollBy({ top: isBelow ? at.top - document.querySelector(".tfm-top").getBoundingClientRect().bottom : at.top + share * at.height - sight * innerHeight, behavior: "instant" });
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const { top, bottom } = bar.getBoundingClientRect();
  return [document.querySelector(".tfm-top").getBoundingClientRect().bottom, top, bottom, isBelow];
}"""


def out_of_reach(widget: Widget) -> list[str]:
    """Whatever part of a tall stage one looks at on a phone, the controls stand whole above it, and leave it its room.

    Those below a stage, as under a film, are on the screen together with all of it.
    """
    high, found = PHONE["height"], []
    for share in (0.1, 0.5, 0.9):
        if seen := widget.box.evaluate(REACH, [share, SIGHT]):
            head, top, bottom, is_below = seen
            if top < head - 1 or bottom > (1 if is_below else SIGHT) * high + 1 or bottom - top >= ROOM * high:
                found.append(f"at {share:.0%} of the stage the controls stand from {top:.0f} to {bottom:.0f} px")
    return found


# --- colours ------------------------------------------------------------------------------------------------------

# As they are drawn, of the card and of the marks on its stage.
COLOURS = """(box) => {
  const of = (node, ...names) => names.map((name) => getComputedStyle(node)[name]);
  const marks = [...box.querySelectorAll("[data-stage] :is(text, rect, path, circle, line, p)")];
  return { ground: of(box.querySelector(".tfm-card"), "backgroundColor", "color"), marks: [...new Set(marks.flatMap((mark) => of(mark, "fill", "stroke", "color")))].sort() };
}"""
NEUTRAL = {"none", "rgba(0, 0, 0, 0)", "rgb(0, 0, 0)"}  # what is not painted at all reads as black


# What is drawn in the three colours that mean query, key and value, by the widget or figure where it stands.
THREE = """() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const meaning = Object.fromEntries(["query", "key", "value"].map((name) => {
    probe.style.color = `var(--tfm-${name})`;
    return [getComputedStyle(probe).color, name];
  }));
  probe.remove();
  const found = {};
  for (const node of document.querySelectorAll(".tfm-widget *, main svg *")) {
    if (node.closest(".katex")) continue; // a formula has them by its letters
    const style = getComputedStyle(node);
    for (const property of ["color", "fill", "stroke", "backgroundColor", "borderTopColor", "borderLeftColor", "accentColor", "outlineColor"]) {
      const name = meaning[style[property]];
      const place = name && (node.closest(".tfm-widget")?.dataset.module ?? (node.closest(".tfm-big-picture") ? "the big picture" : node.closest("[id]:not(svg *)").id));
      if (name) (found[place] ??= {})[name] = `${property} of ${node.outerHTML.slice(0, 120)}`;
    }
  }
  return found;
}"""
#: Where there are queries, keys and values to be drawn. Nothing else has their colours.
QUERIES_KEYS_VALUES = {
    "alignment/alignment": "qk", "alignment/memory_hops": "q", "attention/soft_lookup": "qkv",
    "decoding/translator": "qk", "descendants/five_models": "qk", "efficient/online_softmax": "v",
    "efficient/sparsity": "qk", "masking/mask_editor": "qk", "multihead/heads": "qk", "positional/rotary_pairs": "qk",
    "playground/playground": "qk",
    "self_attention/attention_weights": "qk", "self_attention/softmax_saturation": "qk",
    "self_attention/word_in_context": "qkv",
    "training/training_replay": "qk", "transformer/follow_token": "k", "transformer/film": "qkv",
    "alignment-stages": "qkv", "alignment-two-dates": "qk", "decoding-kept": "k", "efficient-ideas": "qk", "cost-growth": "qk",
    "fig-lookup": "qkv", "fig-shapes": "qkv", "masking-shift": "qk", "multihead-ask": "qv", "multihead-shapes": "qv",
    "multihead-subspaces": "qkv", "positional-leak": "q", "positional-turned": "qk", "self-attention-ask": "qkv",
    "self-attention-shapes": "qkv", "transformer-arrangements": "qk", "transformer-asks": "q", "transformer-memory": "kv",
    "transformer-shapes": "qkv", "the big picture": "qkv", "the-chapters": "qkv",
}  # fmt: skip


def colours_without_their_meaning(page: Page) -> list[str]:
    """What has the colour of queries, keys or values where none are drawn."""
    return [
        f"{place}: the {name}'s colour, {where}"
        for place, names in page.evaluate(THREE).items()
        for name, where in names.items()
        if name[0] not in QUERIES_KEYS_VALUES.get(place, "")
    ]


def same_colours(light: dict, dark: dict) -> list[str]:
    """The dark scheme must have colours of its own."""
    patterns = {colour for colour in light["marks"] if colour.startswith(("url", 'url("'))}
    same = {*light["marks"]} & {*dark["marks"]} - NEUTRAL - patterns
    same |= {a for a, b in zip(light["ground"], dark["ground"], strict=True) if a == b}
    return [f"{colour} is drawn in the light and in the dark" for colour in sorted(same)]


def in_scheme(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    until(page, "(scheme) => document.documentElement.dataset.theme === scheme", arg=scheme)


# --- answers ------------------------------------------------------------------------------------------------------


def answer(widget: Widget, every_key: bool = True) -> None:
    """Every control, by keyboard alone: each key (or the first, and what takes a letter back) changes what is seen, and is said once."""
    assert widget.controls(), "a widget without a control"
    widget.said()
    kept: dict[str, str] = {}
    for name in widget.controls():
        control = widget.controls()[name]
        if control["off"]:
            widget.enable(name)
        widget.reach(name)
        for keys in widget.moves(name)[: None if every_key or control["kind"] == "input" else 1]:
            assert widget.changed_by(*keys), f"{name}: {' '.join(keys)} changes nothing"
            assert_said_once(widget.said(), kept, f"{name}: {' '.join(keys)}")


def assert_said_once(said: list[tuple[str, str]], kept: dict[str, str], what: str) -> None:
    """A live region that is written says something new; and where no machine is asked, one of them says all."""
    for region, words in said:
        assert kept.get(region) != words, f"{what}: “{words}” is said once more"
        kept[region] = words
    others = {region.split(" ")[-1] for region, _ in said} - {"tfm-readout"}
    assert others <= {"tfm-state", "tfm-outcome"}, f"{what}: {others} speak beside the readout"
