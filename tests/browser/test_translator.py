"""The translator in the page: from a folder, with nobody outside, it comes on a wish, writes what the library writes, and breaks."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page
from project import ROOT
from tiers import params

from benchmarks import machine
from browser.conftest import settled
from browser.driving import PHONE, Widget, places, until
from browser.test_every_page import AXE, findings
from browser.test_fingers import Finger, middle
from experiments.translator_switches import switches as library_switches
from tfm_book.site.model_scripts import shipped_scripts
from tfm_lib.engine.shipped import shipped_folder
from tfm_lib.engine.translator import Translator
from tfm_lib.widgets.decoding import FAILURES

SVG = "{http://www.w3.org/2000/svg}"
MODULE = "decoding/translator"
SENTENCE = "Where is the cat that ate my fish?"
RUNS = "The machine runs in your browser."


@pytest.fixture(scope="module")
def library() -> Translator:
    return Translator.shipped()


def opened(visit, book: Path, at: str = "file", **how) -> Widget:
    place = places(book, MODULE)[0]
    return Widget(visit(place.page, at, **how), place.index)


def typed(widget: Widget, sentence: str) -> None:
    """By keyboard alone."""
    widget.reach("sentence")
    widget.press("ControlOrMeta+a")
    widget.page.keyboard.type(sentence)
    widget.look()  # waits for the machine


def written(widget: Widget) -> str:
    widget.look()
    return widget.box.locator(".tfm-outcome b").last.inner_text()


def fetched(page: Page) -> list[str]:
    return page.evaluate("[...document.scripts].map(({ src }) => src).filter((name) => /twin|en-fr/.test(name))")


@pytest.mark.parametrize("at", params(["file", "http"], ["file"]))
def test_a_typed_sentence_is_translated_as_the_library_does(
    visit, built_book: Path, library: Translator, at: str
) -> None:
    widget = opened(visit, built_book, at)
    assert fetched(widget.page) == [], "nothing is fetched before a wish"
    typed(widget, SENTENCE)
    assert written(widget) == library.translate([SENTENCE])[0]
    assert widget.box.locator(".tfm-state").inner_text() == RUNS
    names = [name.rsplit("/", 1)[1] for name in fetched(widget.page)]
    parts = [path for path, _ in shipped_scripts() if path.startswith("en-fr/")]
    assert len(names) == len(set(names)) == 1 + len(parts)  # the code, and each part once
    seen = library.attention(SENTENCE)
    told = [float(row["probability"]) for row in widget.rows()]
    assert len(told) == len(seen["target"]) and all(0 < p <= 1 for p in told)
    weights = seen["weights"]["cross"][-1].mean(dim=0)
    shown = [[float(x) for x in list(row.values())[2:]] for row in widget.rows()]
    assert shown == [pytest.approx(row, abs=1e-4) for row in weights.tolist()]


@pytest.mark.long
def test_greedy_beam_and_chance(visit, built_book: Path, library: Translator) -> None:
    widget = opened(visit, built_book)
    typed(widget, SENTENCE)
    choose = widget.box.locator('[data-control="by"]')
    choose.select_option("greedily")
    assert written(widget) == library.translate([SENTENCE], beam=1)[0]
    choose.select_option("at random")
    drawn = {written(widget)}
    for _ in range(5):
        widget.box.locator('[data-control="seed"]').click()
        drawn.add(written(widget))
    assert len(drawn) > 1
    cold = widget.box.locator('[data-control="top_p"]')
    cold.evaluate("(input) => { input.value = 0.05; input.dispatchEvent(new Event('input', { bubbles: true })); }")
    assert written(widget) == library.translate([SENTENCE], beam=1)[0]  # only the likeliest is left


@pytest.mark.parametrize(
    "name",
    params(
        ["positions", "scale", "causal", "cross", "residuals", "encoder.0", "decoder.2", "decoder.1.cross_attention.3"],
        ["positions"],
        rest=["causal", "decoder.2"],
    ),
)
def test_a_part_is_switched_off_as_in_the_library(visit, built_book: Path, library: Translator, name: str) -> None:
    widget = opened(visit, built_book)
    typed(widget, SENTENCE)
    whole = library.translate([SENTENCE])[0]
    widget.box.locator('[data-control="breaking"]').check()
    widget.box.locator(f'[data-part="{name}"]').click()
    with library_switches(library.model)[name](library.model):
        wanted = library.translate([SENTENCE])[0]
    widget.look()
    said = [text.strip() for text in widget.box.locator(".tfm-outcome > *").all_inner_texts()]
    assert said == [whole, "broken:", "the same" if wanted == whole else wanted]
    if name == "causal":
        assert said[2] == "the same" and "leaves nothing to hide" in widget.box.inner_text()
    widget.box.locator(f'[data-part="{name}"]').click()
    assert written(widget) == whole


@pytest.mark.long
def test_examples_that_fail_are_offered_and_say_how(visit, built_book: Path, library: Translator) -> None:
    widget = opened(visit, built_book)
    choose = widget.box.locator('[data-control="example"]')
    failing = choose.locator('optgroup[label="where it fails"] option').all_inner_texts()
    assert failing == list(FAILURES)
    for sentence in failing:
        choose.select_option(sentence)
        assert written(widget) == library.translate([sentence])[0]
        assert widget.box.locator(".tfm-state").inner_text() == f"{RUNS} It fails here: {FAILURES[sentence]}."


@pytest.mark.long
def test_break_it_runs_the_machine_and_unticked_it_is_whole(visit, built_book: Path, library: Translator) -> None:
    widget = opened(visit, built_book)
    fresh, breaking = widget.look(), widget.box.locator('[data-control="breaking"]')
    breaking.check()
    widget.look()
    assert widget.box.locator(".tfm-state").inner_text() == RUNS
    widget.box.locator('[data-part="positions"]').click()
    assert written(widget) != (whole := library.translate([widget.model()["sentence"]])[0])
    breaking.uncheck()
    assert widget.look() == fresh, "without its switches in sight nothing may be broken"
    other = opened(visit, built_book, hash="#" + widget.link().split("#")[1])
    assert written(other) == whole and other.look() == fresh
    breaking.check()
    assert written(widget) != whole, "what was off is off again"


@pytest.mark.long
def test_a_layer_that_is_off_looks_nowhere(visit, built_book: Path) -> None:
    widget = opened(visit, built_book)
    widget.box.locator('[data-control="breaking"]').check()
    widget.look()
    widget.box.locator('[data-part="decoder.2"]').click()
    widget.look()
    assert widget.readout().endswith("it looks at nothing: this layer is off.")
    widget.box.locator('[data-control="layer"]').select_option("2")
    assert re.search(r"it looks at .* 0\.[1-9]", widget.readout())


@pytest.mark.long
def test_of_what_is_not_translated_nothing_is_told(visit, built_book: Path) -> None:
    widget = opened(visit, built_book)
    typed(widget, SENTENCE)
    for sentence in ("", "x" * 600):
        widget.box.locator('[data-control="sentence"]').fill(sentence)
        widget.look()
        assert widget.readout() == ""
        assert (
            not widget.box.locator('[data-control="written"], .tfm-heatmap, .tfm-rivals').filter(visible=True).count()
        )
        other = opened(visit, built_book, hash="#" + widget.link().split("#")[1])
        assert other.look().startswith(widget.look().split("<div")[0]) and other.readout() == ""
    typed(widget, SENTENCE)
    assert widget.box.locator('[data-control="written"]').is_visible() and "has probability" in widget.readout()


@pytest.mark.long
def test_a_machine_that_comes_late_does_not_speak_for_an_older_wish(visit, built_book: Path) -> None:
    widget = opened(visit, built_book, "http")
    fresh = widget.look()
    held = []
    widget.page.route("**/en-fr/3.js*", lambda route: held.append(route))
    widget.box.locator('[data-control="sentence"]').fill(SENTENCE)
    widget.box.get_by_text("Loading the model").wait_for()
    until(widget.page, "[...document.scripts].some(({ src }) => src.includes('en-fr/3.js'))")
    widget.reset()
    held.pop().continue_()
    until(widget.page, "globalThis.tfmModels['en-fr'].then(() => true)")
    assert widget.look() == fresh


@pytest.mark.long
def test_a_part_that_was_lost_is_fetched_again(visit, built_book: Path, bases, library: Translator) -> None:
    place = places(built_book, MODULE)[0]
    page = visit.blank(bases["http"], broken=True)
    page.route("**/en-fr/3.js*", lambda route: route.abort())
    page.goto(f"{bases['http']}{place.page}.html")
    settled(page)
    widget = Widget(page, place.index)
    typed(widget, SENTENCE)
    assert "3.js could not be loaded" in widget.box.locator(".tfm-state").inner_text()
    page.unroute("**/en-fr/3.js*")
    typed(widget, "Nobody knows.")
    assert written(widget) == library.translate(["Nobody knows."])[0]


@pytest.mark.long
def test_a_piece_is_called_the_same_in_the_tree_as_in_the_row(visit, built_book: Path) -> None:
    widget = opened(visit, built_book)
    typed(widget, "Where is it?")
    widget.box.locator('[data-control="written"] [role="radio"]').last.click()
    named = widget.box.locator("svg .tfm-branch[width] + text").all_text_contents()
    assert all(named) and {"␣", "?"} < {*named}


@pytest.mark.long
def test_a_saved_picture_says_what_is_off_and_keeps_its_lines(visit, built_book: Path) -> None:
    widget = opened(visit, built_book)
    widget.box.locator('[data-control="breaking"]').check()
    widget.look()
    widget.box.locator('[data-part="encoder.0"]').click()
    widget.look()
    svg = ElementTree.fromstring(Path(widget.save("svg").path()).read_text(encoding="utf-8"))
    texts = [(text.text, text) for text in svg.findall(f"{SVG}text")]
    marks = [text for text, _ in texts if text in ("☐", "☑")]
    assert (marks.count("☐"), marks.count("☑")) == (1, 10)
    assert {"decoder → source", "all, averaged"} < {text for text, _ in texts}
    (first,) = [text for words, text in texts if words and words.startswith("Decoding word by word")]
    assert float(first.get("textLength")) < 380 and not first.text.endswith("matter?"), (
        "a line is as long as in the page"
    )


@pytest.mark.long
def test_a_saved_picture_has_the_bars_and_the_frames_of_the_page(visit, built_book: Path) -> None:
    widget = opened(visit, built_book)
    svg = ElementTree.fromstring(Path(widget.save("svg").path()).read_text(encoding="utf-8"))
    grown = widget.box.locator("[data-stage] i").evaluate_all(
        "(bars) => bars.filter((bar) => bar.checkVisibility()).map((bar) => parseFloat(getComputedStyle(bar).backgroundSize) / 100)"
    )
    boxes = [group.findall(f"{SVG}rect") for group in svg.findall(f"{SVG}g")]
    drawn = [float(bar.get("width")) / float(whole.get("width")) for whole, bar in (box for box in boxes if box[1:])]
    assert len(drawn) > 10 and drawn == pytest.approx([share for share in grown if share > 0], abs=1e-3)
    frames = [box[0] for box in boxes if box and box[0].get("stroke-width") != "0px"]
    tokens = [box for box in widget.box.locator(".tfm-token").all() if box.is_visible()]
    assert len(frames) >= len(tokens) > 10
    assert len({frame.get("stroke") for frame in frames}) > 1, "the chosen word has a frame of its own"


@pytest.mark.long
def test_on_a_phone_no_word_stands_alone_above_what_it_names(visit, built_book: Path) -> None:
    widget = opened(visit, built_book, viewport=PHONE)
    words, choice = (
        widget.box.locator(f'label:has([data-control="example"]) > {part}').bounding_box()
        for part in ("span", "select")
    )
    assert choice["y"] < words["y"] + words["height"] / 2 < choice["y"] + choice["height"]


@pytest.mark.long
def test_the_causal_masks_question_leads_to_its_chapter(visit, built_book: Path) -> None:
    for place in places(built_book, MODULE):
        widget = Widget(visit(place.page, "file"), place.index)
        widget.box.locator('[data-control="breaking"]').check()
        widget.look()
        widget.box.get_by_role("link", name="Masking").click()
        assert widget.page.locator("h1").inner_text().startswith("Masking")


def test_what_lies_outside_its_world_gets_a_sentence(visit, built_book: Path) -> None:
    widget = opened(visit, built_book)
    state = widget.box.locator(".tfm-state")
    for sentence, said in (
        ("나는 학생입니다", "another alphabet"),
        ("🎉🎉🎉", "does not know"),
        ("", "Type a sentence"),
        ("a! " * 199, RUNS),
        ("!?" * 299, "more tokens than"),
    ):
        widget.box.locator('[data-control="sentence"]').fill(sentence)
        widget.look()
        assert said in state.inner_text(), sentence[:20]
    widget.reset()
    assert "recorded example" in state.inner_text()


def test_a_link_brings_the_sentence_and_what_is_broken(visit, built_book: Path) -> None:
    widget = opened(visit, built_book)
    typed(widget, "Is 100% of #1 mine & yours + his = ours?")  # all that means something in an address
    widget.box.locator('[data-control="breaking"]').check()
    widget.box.locator('[data-part="positions"]').click()
    left, address = widget.look(), widget.link()
    other = opened(visit, built_book, hash="#" + address.split("#")[1])
    assert other.look() == left


@pytest.mark.long
@pytest.mark.parametrize("part", params(["toString", "__proto__", "decoder.9"], ["toString"]))
def test_a_part_that_it_does_not_have_is_not_off(visit, built_book: Path, part: str) -> None:
    start = opened(visit, built_book)
    link = start.link().split("#")[1]
    widget = opened(visit, built_book, hash=f"#{link}&breaking=true&off={part}")
    assert "left out" in widget.look() and widget.model()["off"] == ""


@pytest.mark.long
def test_a_word_tells_what_it_looked_at_and_the_beam_is_a_tree(visit, built_book: Path) -> None:
    widget = opened(visit, built_book)
    typed(widget, SENTENCE)
    word = widget.box.locator('[data-control="written"] [role="radio"]').nth(3)
    word.hover()
    assert widget.readout().startswith("chat has probability")
    steps = widget.box.locator(".tfm-branch[width]")
    few = steps.count()
    word.click()
    widget.page.keyboard.press("Home")
    assert steps.count() == 4 < few  # four hypotheses after one step
    for _ in range(8):  # a page that moves below the resting mouse chooses nothing
        widget.page.evaluate("window.scrollBy(0, 7)")
        widget.page.evaluate("() => new Promise((go) => setTimeout(() => requestAnimationFrame(go), 60))")
    assert steps.count() == 4


@pytest.mark.long  # fingers, phones and the dark scheme are tried on other widgets
def test_by_finger_on_a_phone_in_the_dark(visit, built_book: Path, library: Translator) -> None:
    widget = opened(visit, built_book, "http", viewport=PHONE, touch=True, scheme="dark")
    finger = Finger(widget.page)
    widget.box.locator('[data-control="example"]').select_option(index=1)
    assert written(widget) == library.translate(["I don't want to wait for you any longer."])[0]
    for control in ('[data-control="breaking"]', '[data-part="decoder.0"]'):
        part = widget.box.locator(control)
        part.scroll_into_view_if_needed()
        finger.tap(middle(part))
    widget.look()
    assert "broken:" in widget.box.locator(".tfm-outcome").inner_text()
    assert widget.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    widget.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert findings([widget.page]) == []


@pytest.mark.long
def test_a_model_that_is_not_there_leaves_the_recorded_example(visit, built_book: Path) -> None:
    widget = opened(visit, built_book, "http")
    widget.page.route(
        "**/en-fr/3.js*",
        lambda route: route.fulfill(status=200, content_type="text/javascript", body='tfmPart("AAAA")'),
    )
    typed(widget, SENTENCE)
    assert "3.js came damaged" in widget.box.locator(".tfm-state").inner_text()
    assert widget.box.locator(".tfm-outcome").inner_text() == widget.model()["found"]["translation"]
    widget.page.unroute("**/en-fr/3.js*")


DAMAGES = {
    "empty": lambda whole: "",
    "cut": lambda whole: whole[: len(whole) // 2],
    "a page in its place": lambda whole: "<!doctype html><title>Sign in</title>",
    "one byte changed": lambda whole: whole[:5000] + ("A" if whole[5000] != "A" else "B") + whole[5001:],
}


DAMAGED = [(name, damage) for name in ("en-fr/about.js", "en-fr/3.js", "twin.js") for damage in DAMAGES]
DAMAGED = [each for each in DAMAGED if each[1] != "one byte changed" or each[0] == "en-fr/3.js"]  # whose sum is known
KEPT = [("twin.js", "a page in its place")]


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        pytest.param(
            *each, marks=[] if each in KEPT else [pytest.mark.long if each in DAMAGED[::4] else pytest.mark.release]
        )
        for each in DAMAGED
    ],
)
def test_a_part_that_came_damaged_is_told_and_fetched_again(
    visit, built_book: Path, bases, library: Translator, name: str, damage: str
) -> None:
    place = places(built_book, MODULE)[0]
    page = visit.blank(bases["http"], broken=True)
    whole = (built_book / "_widgets" / name).read_text(encoding="utf-8")
    body = DAMAGES[damage](whole)
    page.route(f"**/{name}*", lambda route: route.fulfill(content_type="text/javascript", body=body))
    page.goto(f"{bases['http']}{place.page}.html")
    settled(page)
    widget = Widget(page, place.index)
    typed(widget, SENTENCE)
    assert f"{name} came damaged" in widget.box.locator(".tfm-state").inner_text()
    page.unroute(f"**/{name}*")
    typed(widget, "Nobody knows.")
    assert written(widget) == library.translate(["Nobody knows."])[0]


@pytest.mark.long
def test_what_differs_is_marked_in_both_and_both_are_shown_whole(visit, built_book: Path) -> None:
    widget = opened(visit, built_book, viewport=PHONE)
    typed(widget, "The old woman who lives next door gave my sister a book about cats.")
    widget.box.locator('[data-control="breaking"]').check()
    widget.look()
    widget.box.locator('[data-part="decoder.0"]').click()
    widget.look()
    whole, broken = widget.box.locator(".tfm-outcome b").all()
    for sentence in (whole, broken):
        assert sentence.evaluate("(node) => node.scrollHeight <= node.clientHeight + 1")
    words, marked = whole.inner_text().split(), whole.locator("u").all_inner_texts()
    others = broken.inner_text().split()
    assert marked and [word for word in words if word not in others] == [w for w in marked if w not in others]


@pytest.mark.long
def test_a_text_without_a_blank_is_drawn_in_a_few_thousand_pieces(visit, built_book: Path) -> None:
    widget = opened(visit, built_book)
    widget.box.locator('[data-control="by"]').select_option("greedily")
    widget.box.locator('[data-control="sentence"]').fill("anticonstitutionally" * 15)
    widget.look()
    assert "The map shows 30 words around the chosen one" in widget.box.inner_text()
    assert widget.box.locator("*").count() < 8000
    words = widget.box.locator('[data-control="written"] [role="radio"]')
    words.last.click()
    assert widget.readout().startswith("<eos> has probability")


@pytest.mark.long
def test_a_link_of_a_sentence_is_short_and_opens_on_what_it_means(visit, built_book: Path) -> None:
    widget = opened(visit, built_book, "http", viewport=PHONE)
    typed(widget, SENTENCE)
    address = widget.link()
    assert len(address.split("#")[1]) <= len(SENTENCE) + 120
    page = visit(places(built_book, MODULE)[0].page, hash="#" + address.split("#")[1], viewport=PHONE)
    other = Widget(page, places(built_book, MODULE)[0].index)
    outcome = written(other)
    until(
        page,
        """(outcome) => [...document.querySelectorAll(".tfm-outcome")].some((node) => {
          const { top, bottom } = node.getBoundingClientRect();
          return node.innerText === outcome && top >= 0 && bottom <= innerHeight;
        })""",
        arg=outcome,
    )
    field = other.box.locator('[data-control="sentence"]').bounding_box()
    assert field["y"] > page.locator(".tfm-top").bounding_box()["height"] - 1


@pytest.mark.long
def test_who_types_on_a_phone_sees_what_comes_of_it_above_the_keyboard(visit, built_book: Path) -> None:
    widget = opened(visit, built_book, "http", viewport=PHONE, touch=True)
    field, other = (widget.box.locator(f'[data-control="{name}"]') for name in ("sentence", "by"))
    widget.page.evaluate(f"Object.defineProperty(screen, 'height', {{ value: {PHONE['height']} }})")
    field.tap()
    assert other.is_visible(), "no keyboard has come"
    widget.page.set_viewport_size({"width": 360, "height": 400})
    other.wait_for(state="hidden")
    widget.page.keyboard.press("ControlOrMeta+a")
    widget.page.keyboard.type("Nobody knows.")
    written(widget)
    outcome = widget.box.locator(".tfm-outcome").bounding_box()
    assert 0 < field.bounding_box()["y"] < outcome["y"] and outcome["y"] + outcome["height"] < 400
    widget.page.set_viewport_size(PHONE)
    other.wait_for(state="visible")  # the keyboard is gone, and the line still has the focus


@pytest.mark.long
@pytest.mark.parametrize("at", params(["file", "http"], ["file"]))
def test_without_workers_the_machine_runs_beside_the_page(
    visit, built_book: Path, bases, library: Translator, at: str
) -> None:
    place = places(built_book, MODULE)[0]
    page = visit.blank(bases[at])
    page.add_init_script("delete globalThis.Worker")
    page.goto(f"{bases[at]}{place.page}.html")
    settled(page)
    widget = Widget(page, place.index)
    typed(widget, SENTENCE)
    assert written(widget) == library.translate([SENTENCE])[0]


def test_without_a_script_the_picture_tells_the_same(visit, built_book: Path) -> None:
    page = visit(places(built_book, MODULE)[0].page, "file", scripts=False)
    still = page.locator(f'[data-module="{MODULE}"] .tfm-still')
    assert re.search("Le vieil homme lit un livre", still.get_attribute("aria-label"))


def test_the_scripts_hold_the_shipped_bytes(built_book: Path) -> None:
    import base64
    import gzip
    import json
    import zlib

    folder = built_book / "_widgets" / "en-fr"
    about = json.loads((folder / "about.js").read_text(encoding="utf-8").removeprefix("tfmPart(").removesuffix(");\n"))
    parts = [(folder / f"{i}.js").read_text(encoding="utf-8") for i in range(len(about["sums"]))]
    parts = [base64.b64decode(part.removeprefix('tfmPart("').removesuffix('");\n')) for part in parts]
    assert about["sums"] == [zlib.crc32(part) for part in parts]
    assert b"".join(parts) == (shipped_folder() / "model.safetensors").read_bytes()
    for name in ("config", "tokenizer"):
        assert about[name] == json.loads((shipped_folder() / f"{name}.json").read_text(encoding="utf-8"))
    served = [*folder.glob("*.js"), built_book / "_widgets" / "twin.js"]
    assert sum(len(gzip.compress(path.read_bytes())) for path in served) <= 8_000_000
    assert len(gzip.compress((built_book / "_widgets" / "twin.js").read_bytes())) <= 25_000


@pytest.mark.long
def test_the_benchmark_of_the_translator_follows_its_interface(monkeypatch) -> None:
    monkeypatch.setattr(machine, "TIMES", 1)
    with ThreadPoolExecutor(1) as apart:  # the browser of the other tests holds this thread's event loop
        rows = apart.submit(lambda: list(machine.measure(ROOT))).result()
    assert len(rows) == 5 and all(row.value > 0 for row in rows)
