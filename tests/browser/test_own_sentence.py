"""Recorded widgets on a reader's own sentence: the machine of the page comes once, and shows what the library says of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page
from tiers import every, params

from browser.driving import PHONE, Widget, places, until
from browser.test_every_page import AXE, findings
from browser.test_translator import RUNS, fetched
from experiments.translator_switches import switches
from tfm_lib.engine.translator import Translator
from tfm_lib.widgets._film import record, without_positions
from tfm_lib.widgets.base import as_read
from tfm_lib.widgets.decoding import BeamTree, Sampling, phrase, search, translator_sampling, translator_tree
from tfm_lib.widgets.training import target, translator_smoothing
from tfm_lib.widgets.transformer import follow

SENTENCE, OTHER = "Where is the cat that ate my fish?", "He is late again."
RECORDED, STAYS = ("A recorded example.", "A recording."), "The recorded example stays."

# What the page asks of its machine from now on waits in `held`.
HELD = """() => {
  const post = Worker.prototype.postMessage;
  globalThis.held = [];
  Worker.prototype.postMessage = function (...message) { held.push(() => post.apply(this, message)); };
}"""


@pytest.fixture(scope="module")
def library() -> Translator:
    return Translator.shipped()


def opened(visit, book: Path, module: str, at: str = "file", **how) -> Widget:
    """The first place where the widget takes a sentence."""
    for place in places(book, module):
        widget = Widget(visit(place.page, at, **how), place.index)
        if widget.box.locator('[data-control="sentence"]').count():
            return widget
    raise AssertionError(f"no page has a line to type in beside {module}")


def typed(widget: Widget, sentence: str) -> None:
    """By keyboard alone."""
    widget.reach("sentence")
    widget.press("ControlOrMeta+a")
    widget.page.keyboard.type(sentence)
    widget.look()  # waits for the machine


def state(widget: Widget) -> str:
    widget.look()
    return widget.box.locator(".tfm-state").inner_text()


# Each asserts that the widget shows what the library says of the sentence.


def beam_tree(widget: Widget, library: Translator, sentence: str) -> None:
    made = translator_tree(library, sentence, widget.model()["widest"])
    own = BeamTree(**made, value=widget.model()["value"])
    beam, steps = search(own.tree, own.value, own.alpha, own.max_len)
    shown = [(int(row["step"]), row["text"], float(row["log_p"])) for row in widget.rows() if row["fate"] != "pruned"]
    wanted = [
        (i, phrase(own.tokens, way.path), way.log_p) for i, ways in enumerate(steps, 1) for way in ways if way.kept
    ]
    assert [(step, text) for step, text, _ in shown] == [(step, text or "(nothing)") for step, text, _ in wanted]
    assert [log_p for *_, log_p in shown] == pytest.approx([log_p for *_, log_p in wanted], abs=1e-3)
    assert f"{phrase(own.tokens, beam.found[0].ids)} leads with" in widget.readout()
    assert f"Source: {sentence}" in widget.box.inner_text()


def sampling(widget: Widget, library: Translator, sentence: str) -> None:
    """At the place that it tells of, and at that after the third token, chosen by hand."""
    (ids,) = library.search([sentence], beam=1)
    slider = widget.box.locator('[data-control="place"]')
    widget.look()
    fork, cold = slider.input_value(), widget.box.locator('[data-control="value"]')
    cold.fill("0.5")
    for place in (int(fork), 3):
        slider.fill(str(place))
        widget.look()
        own = Sampling(**translator_sampling(library, sentence, ids[:place]))
        own.value, own.top_k, own.top_p = float(cold.input_value()), 0, 1.0
        for column, name in (("p", "now"), ("as it is", "as it is")):
            shown = [float(row[column]) for row in widget.rows()]
            assert shown == pytest.approx(own.shares[name], abs=1e-3), column
        assert [row["token"] for row in widget.rows()][:-1] == [as_read(token, own.tokens) for token in own.tokens]
        assert own.context in widget.box.inner_text()
    cold.fill("1")
    slider.fill(fork)
    widget.look()


def label_smoothing(widget: Widget, library: Translator, sentence: str) -> None:
    """Each word's probability and loss, and those of the second in words."""
    found, epsilon = translator_smoothing(library, sentence), widget.model()["epsilon"]
    right, wrong = target(found["known"], epsilon, "all")
    losses = [
        (found["known"] - 1) * wrong * rest - right * math.log(p) for p, rest in zip(found["sure"], found["others"])
    ]
    rows = widget.rows()
    assert [row["word"] for row in rows] == [as_read(token, found["written"]) for token in found["written"]]
    assert [float(row["p"]) for row in rows] == pytest.approx(found["sure"], abs=1e-3)
    assert [float(row["loss"]) for row in rows] == pytest.approx(losses, abs=1e-3)
    slider = widget.box.locator('[data-control="word"]')
    slider.fill("1")
    told = re.search(
        r"p = (\S+) → [\s\S]* wrote (\S+) with probability (\S+)\. .* loss is (\S+) nats", widget.readout()
    )
    assert told and told[2] == rows[1]["word"]
    assert [float(told[i]) for i in (1, 3, 4)] == pytest.approx(
        [found["sure"][1], found["sure"][1], losses[1]], abs=2e-3
    )
    slider.fill("0")


def heads(widget: Widget, library: Translator, sentence: str) -> None:
    seen, rows = library.attention(sentence), widget.rows()
    for kind, weights in seen["weights"].items():
        shown = [float(row["weight"]) for row in rows if row["attention"] == kind]
        assert shown == pytest.approx(weights.flatten().tolist(), abs=1e-3)
    assert widget.readout().startswith(f"{seen['source'][0].removeprefix('▁')} → ")


def head_ablation(widget: Widget, library: Translator, sentence: str) -> None:
    """The second head of the first cross-attention, and what the sentence becomes without it."""
    widget.box.locator('[data-control="mode"]').select_option(label="one head")
    widget.box.locator('[data-control="value"] [role="radio"]').nth(49).click()
    widget.look()
    (whole,) = library.translate([sentence], beam=1)
    with switches(library.model)["decoder.0.cross_attention.1"](library.model):
        (left,) = library.translate([sentence], beam=1)
    own = widget.box.locator(".tfm-said").first
    assert own.inner_text().splitlines() == [sentence, whole, f"now: {'the same' if left == whole else left}"]
    assert widget.readout().startswith("without head 2 of layer 1, cross-attention")  # over the test split, beside it


def follow_token(widget: Widget, library: Translator, sentence: str) -> None:
    (ids,) = library.search([sentence])
    _, stages = follow(library.model, library.ids(sentence), torch.tensor([[library.tokenizer.bos_id, *ids]]))
    states = [stage.state[2].sort(descending=True).values if stage.name == "logits" else stage.state[2] for stage in stages]  # fmt: skip
    kept = len(widget.model()["decoder"][0]["vectors"][0])
    shown = [float(row["value"]) for row in widget.rows()]
    assert shown == pytest.approx(torch.stack([state[:kept] for state in states]).flatten().tolist(), abs=1e-3)
    assert f"“{library.tokenizer.piece(ids[1]).removeprefix('▁')}” of the target" in widget.readout()


def film(widget: Widget, library: Translator, sentence: str) -> None:
    """The head that the film opens on, and what the model writes without positions."""
    wanted = record(library, sentence)
    zoom = widget.box.locator('[data-control="depth"]')
    zoom.select_option(index=1)
    weights = [float(cell.split(": ")[1]) for cell in widget.cells("pick")]
    assert weights == pytest.approx(torch.tensor(wanted["looks"]["cross"]["weights"]).flatten().tolist(), abs=0.0101)
    zoom.select_option(index=0)
    widget.box.locator('[data-control="value forth"]').click()
    drawn = widget.box.locator(".tfm-film text").all_text_contents()
    assert set(wanted["words"][:-1]) <= set(drawn)
    for _ in range(3):  # to the start, from there to the end, and to the scene before
        widget.box.locator('[data-control="value back"]').click()
    plain = widget.box.locator(".tfm-film text", has_text=without_positions(library, [sentence]))
    assert plain.count() == 1 and widget.box.locator('[data-control="swapped"]').is_disabled()
    for _ in range(2):
        widget.box.locator('[data-control="value forth"]').click()


SHOWS: dict[str, Callable[[Widget, Translator, str], None]] = {
    "decoding/beam_tree": beam_tree,
    "decoding/sampling": sampling,
    "training/label_smoothing": label_smoothing,
    "multihead/head_ablation": head_ablation,
    "multihead/heads": heads,
    "transformer/film": film,
    "transformer/follow_token": follow_token,
}
EACH = pytest.mark.parametrize("module", params(SHOWS, ("decoding/sampling",), rest=every(8, SHOWS)))


@pytest.mark.parametrize(
    "module_at",
    params(
        [*((module, "file") for module in SHOWS), (next(iter(SHOWS)), "http")],
        [("decoding/sampling", "file")],
        "-".join,
        [(module, "file") for module in every(6, SHOWS)],
    ),
)
def test_a_typed_sentence_is_shown_as_the_library_has_it_and_reset_restores(
    visit, built_book: Path, library: Translator, module_at: tuple[str, str]
) -> None:
    module, at = module_at
    widget = opened(visit, built_book, module, at)
    fresh = widget.look()
    assert fetched(widget.page) == [], "nothing is fetched before a wish"
    assert state(widget).startswith(RECORDED)
    for sentence in (SENTENCE, OTHER):
        typed(widget, sentence)
        assert state(widget) == RUNS
        SHOWS[module](widget, library, sentence)
    names = fetched(widget.page)
    assert len(names) == len(set(names)) > 2
    widget.reset()
    assert widget.look() == fresh
    typed(widget, OTHER)
    widget.press("ControlOrMeta+a", "Backspace")
    assert state(widget).startswith(RECORDED)
    widget.reset()
    assert widget.look() == fresh


@pytest.mark.long
@EACH
def test_a_link_brings_the_sentence(visit, built_book: Path, module: str) -> None:
    widget = opened(visit, built_book, module)
    typed(widget, SENTENCE)
    for name in [*widget.usable()][1:]:
        if name in widget.usable():  # one before it may have switched it off
            widget.reach(name)
            widget.press(*widget.moves(name)[0])
    left, address = widget.look(), widget.link()
    other = opened(visit, built_book, module, hash="#" + address.split("#")[1])
    assert other.look() == left
    typed(other, OTHER)
    other.reset()
    assert other.look() == opened(visit, built_book, module).look()


@pytest.mark.long
@EACH
def test_what_lies_outside_its_world_gets_a_sentence(visit, built_book: Path, module: str) -> None:
    widget = opened(visit, built_book, module)
    fresh = widget.box.locator(".tfm-readout").inner_text()
    line = widget.box.locator('[data-control="sentence"]')
    for sentence, said in (("나는 학생입니다", "another alphabet"), ("🎉🎉🎉", "does not know"), (SENTENCE, RUNS)):
        line.fill(sentence)
        assert said in state(widget)
    line.evaluate("(line) => { line.maxLength = 9999; }")
    line.fill("!?" * 600)
    assert "more tokens than" in state(widget) and STAYS in state(widget)
    assert widget.readout() == fresh


@pytest.mark.long
@EACH
def test_a_machine_that_does_not_come_leaves_the_recorded_example(visit, built_book: Path, module: str) -> None:
    widget = opened(visit, built_book, module, "http")
    fresh = widget.readout()
    nonsense = {"status": 200, "content_type": "text/javascript", "body": 'tfmPart("AAAA")'}
    widget.page.route("**/en-fr/3.js*", lambda route: route.fulfill(**nonsense))
    typed(widget, SENTENCE)
    assert "3.js came damaged" in state(widget) and STAYS in state(widget)
    assert widget.readout() == fresh


@pytest.mark.long
@EACH
def test_by_finger_on_a_phone_in_the_dark(visit, built_book: Path, library: Translator, module: str) -> None:
    widget = opened(visit, built_book, module, "http", viewport=PHONE, touch=True, scheme="dark")
    line = widget.box.locator('[data-control="sentence"]')
    line.tap()
    line.fill(SENTENCE)
    assert state(widget) == RUNS
    SHOWS[module](widget, library, SENTENCE)
    assert widget.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    widget.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert findings([widget.page]) == []


# The tokeniser has a line of its own, and shows the translator's pieces beside what it has learned itself.


@pytest.mark.long
def test_the_translators_pieces_stand_beside_those_of_the_story(visit, built_book: Path, library: Translator) -> None:
    place = places(built_book, "data/merge_steps")[0]
    widget = Widget(visit(place.page, "file"), place.index)
    fresh, ours = widget.look(), len(widget.rows())
    assert "its own list" in state(widget) and fetched(widget.page) == []
    widget.reach("beside")
    widget.press("Space")
    for sentence in (widget.model()["value"], "Keeperless, isn't it? 1988 ☃", "THAT IS MY HAT"):
        widget.reach("value")
        widget.press("ControlOrMeta+a")
        widget.page.keyboard.type(sentence)
        assert state(widget) == RUNS
        pieces = library.tokenizer.pieces(library.as_read(sentence))
        shown = widget.box.locator(".tfm-figure-box svg[role='img']").nth(1)
        boxes = shown.locator("[data-piece]").all()
        assert [box.get_attribute("data-piece") for box in boxes] == pieces
        assert "".join(shown.locator("text").all_text_contents()) == "".join(pieces)
        assert f"{len(library.tokenizer)} sub-words: {len(pieces)} pieces" in widget.box.inner_text()
        theirs = [row["pieces"].split() for row in widget.rows() if row["word"].startswith("▁")]
        assert [piece for word in theirs for piece in word] == pieces
    left, address = widget.look(), widget.link()
    other = Widget(visit(place.page, "file", hash="#" + address.split("#")[1]), place.index)
    assert other.look() == left
    for each in (widget, other):
        each.reset()
        assert each.look() == fresh and len(each.rows()) == ours


COUNTED = "globalThis.machines = 0; globalThis.Worker = class extends Worker { constructor(...all) { super(...all); globalThis.machines++; } };"


def test_the_machine_is_started_once_for_all_widgets_of_a_page(visit, bases, built_book: Path) -> None:
    page: Page = visit.blank(bases["file"])
    page.add_init_script(COUNTED)
    page.goto(f"{bases['file']}chapters/decoding.html")
    until(page, "[...document.querySelectorAll('.tfm-widget')].every((box) => box.dataset.state)")
    lines = page.locator('[data-control="sentence"]')
    assert lines.count() >= 2
    for line in lines.all():  # none waits for another
        line.fill(SENTENCE)
    until(page, "!document.querySelector('[data-busy]')")
    assert page.locator(".tfm-state").all_inner_texts() == [RUNS] * lines.count()
    assert page.evaluate("globalThis.machines") == 1
    names = fetched(page)
    assert len(names) == len(set(names))


def test_an_answer_that_comes_when_the_line_is_empty_again_is_not_shown(visit, built_book: Path) -> None:
    widget = opened(visit, built_book, "decoding/sampling")
    recorded = widget.rows()
    typed(widget, SENTENCE)
    assert widget.rows() != recorded
    widget.page.evaluate(HELD)
    widget.press("ControlOrMeta+a")
    widget.page.keyboard.type(OTHER)
    until(widget.page, "globalThis.held.length > 0")
    widget.press("ControlOrMeta+a")
    widget.page.keyboard.press("Delete")
    assert state(widget).startswith(RECORDED) and widget.rows() == recorded
    widget.page.evaluate("held.splice(0).forEach((go) => go())")
    widget.page.wait_for_timeout(1000)
    assert state(widget).startswith(RECORDED) and widget.rows() == recorded
