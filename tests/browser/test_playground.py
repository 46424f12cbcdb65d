"""The playground trains in the page: it learns what the same run learns in node, stops at once, and can be steered."""

import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch
from project import ROOT

from browser.bench import Bench, bench
from browser.driving import DESKTOP, PHONE, Widget
from tfm_lib.data import Tokenizer
from tfm_lib.decoding import greedy_decode
from tfm_lib.drawing import recorded
from tfm_lib.engine.trained import save_trained
from tfm_lib.engine.translator import Translator
from tfm_lib.transformer import Transformer, TransformerConfig
from tfm_lib.widgets.playground import Experiment, Playground


@pytest.fixture(scope="module")
def stand(tmp_path_factory, serve, contexts) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("bench"), serve, contexts) as made_bench:
        yield made_bench


def update(widget: Widget) -> int:
    """The newest update, as the readout says it."""
    return int(widget.readout().split()[1])


def until(holds: Callable[[], bool], seconds: float = 60) -> float:
    """Wait until something holds, and return how long that took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() < began + seconds, "it never holds"
        time.sleep(0.02)
    return time.monotonic() - began


def button(widget: Widget) -> str:
    return widget.box.locator('[data-control="train"]').inner_text()


def press(widget: Widget, name: str) -> None:
    widget.box.locator(f'[data-control="{name}"]').click()


def unfold(widget: Widget) -> None:
    widget.box.locator(".tfm-more > summary").click()


def test_the_page_learns_what_node_learned_stops_at_once_and_goes_on(stand: Bench):
    (widget,) = stand.show(Playground())
    before = widget.look()
    assert update(widget) == 1500 and button(widget) == "Train"
    press(widget, "train")
    until(lambda: button(widget) == "Pause" and 100 < update(widget) < 1500)
    press(widget, "train")
    until(lambda: button(widget) == "Go on", 1)
    time.sleep(0.2)  # its last slice of time
    rests = update(widget)
    time.sleep(0.3)
    assert update(widget) == rests
    press(widget, "once")
    until(lambda: update(widget) == rests + 1)
    kept = {int(row["update"]): row for row in widget.rows()}
    node = {moment["step"]: moment for moment in recorded("playground")["moments"]}
    for step in (25, 50, 75, 100):
        assert float(kept[step]["exact"]) == pytest.approx(node[step]["exact"], abs=0.01)
        assert float(kept[step]["loss"]) == pytest.approx(node[step]["loss"], rel=0.02)
    press(widget, "train")
    until(lambda: update(widget) > rests + 1)
    widget.reset()
    until(lambda: widget.look() == before)
    time.sleep(0.5)
    assert widget.look() == before, "a run goes on after Reset"


@pytest.mark.long
def test_a_switch_trains_again_and_the_former_run_stays_as_a_ghost(stand: Bench):
    (widget,) = stand.show(Playground(positions="none", updates=400, step=400))
    said = widget.box.locator("[data-stage]").inner_text
    assert "This was: reverse. Press “Train” for: reverse, positions none." in said()
    press(widget, "train")
    until(lambda: button(widget) == "Pause" and update(widget) > 100)
    assert "the run before, reverse\n" in f"{said()}\n" and "Your run: reverse, positions none" in said()
    unfold(widget)
    widget.box.locator('[data-control="n_heads"]').select_option("4")
    until(lambda: "the run before, reverse, positions none" in said())
    assert button(widget) == "Pause" and update(widget) < 400
    until(lambda: update(widget) > 20)
    widget.box.locator('[data-control="causal"]').uncheck()
    until(lambda: 0 < update(widget) < 20)
    assert "the run before, reverse, positions none" in said(), "what was soon given up is no run to compare with"
    widget.box.locator('[data-control="n_heads"]').select_option("2")
    widget.box.locator('[data-control="task"]').select_option("sort")
    until(lambda: 0 < update(widget) < 20 and "Your run: sort" in said())
    assert "the run before" not in said(), "a run of another task is no run to compare with"
    widget.box.locator('[data-control="value"]').fill("a Map!")
    until(lambda: len(widget.cells("head 1")) == 5 * 5)  # amap, and its end
    assert "it doesn't know !" in said() or "it doesn't know   !" in said()
    until(lambda: update(widget) > 50)
    widget.box.locator('[data-control="step"]').fill("30")
    until(lambda: update(widget) == 25)  # the moment that was kept, while the training goes on
    time.sleep(0.3)
    assert update(widget) == 25 and button(widget) == "Pause" and "it has come to update" in said()
    press(widget, "train")
    until(lambda: button(widget) == "Go on")
    for text, shown in (("tide", 5), ("to", 3)):  # a model that rests writes my word as it would have at update 25
        widget.box.locator('[data-control="value"]').fill(text)
        until(lambda shown=shown: len(widget.cells("head 1")) == shown * shown)
        assert update(widget) == 25
    widget.box.locator('[data-control="step"]').fill("0")
    until(lambda: update(widget) == 0 and widget.cells("head 2")[0].startswith("writing "))
    widget.box.locator('[data-control="step"]').fill("375")
    until(
        lambda: (
            0 < update(widget) == int(widget.box.locator('[data-control="step"]').input_value()) or update(widget) > 50
        )
    )
    assert "it has come to update" not in said(), "the slider stands where the run hasn't come to"
    widget.box.locator('[data-control="step"]').fill("25")
    widget.box.locator('[data-control="residuals"]').uncheck()
    time.sleep(0.3)
    assert button(widget) == "Train" and update(widget) == 25, "a run that rests waits"
    assert "Press “Train” for: sort, positions none, no residual connections, no causal mask" in said()
    widget.box.locator('[data-control="residuals"]').check()
    until(lambda: button(widget) == "Go on")
    press(widget, "once")
    until(lambda: update(widget) > 50)  # back at the newest moment, one further
    press(widget, "train")
    until(lambda: update(widget) == 400 and button(widget) == "Train again")
    assert not widget.box.locator('[data-control="once"]').is_visible(), "one update more would give up the run"


@pytest.mark.long
def test_an_experiment_is_guessed_run_and_judged(stand: Bench):
    (widget,) = stand.show(Playground(updates=75, step=75))
    choose, outcome = "[data-control='{}']", widget.box.locator(".tfm-outcome")
    guess = widget.box.locator(".tfm-guesses")
    assert not guess.is_visible()
    widget.box.locator(choose.format("experiment")).select_option("3. no causal mask")
    assert outcome.inner_text() == "How many unseen words will it write? Your guess starts the training."
    assert not widget.box.locator(choose.format("causal")).is_checked()
    assert button(widget) == "Train", "it trains before anything is expected"
    press(widget, "guess-2")
    until(lambda: update(widget) == 75 and button(widget) == "Train again")
    assert outcome.inner_text().startswith("As you guessed, hardly any: 0 of 200. In training, it copies")
    option = widget.box.locator(choose.format("experiment")).locator("option").nth(3)
    until(lambda: option.inner_text() == "3. no causal mask (tried)")
    widget.box.locator(choose.format("experiment")).select_option("1. reverse without positions")
    time.sleep(0.3)
    assert button(widget) == "Train", "an experiment waits for the guess"
    press(widget, "guess-0")
    until(lambda: outcome.inner_text() == "Your guess: almost every.")
    until(lambda: update(widget) == 75 and button(widget) == "Train again")
    assert outcome.inner_text().startswith("You guessed almost every, but it is hardly any: ")
    widget.box.locator(choose.format("experiment")).select_option("none, play freely")
    until(lambda: widget.box.locator(choose.format("positions")).input_value() == "sinusoidal")
    time.sleep(0.3)
    assert button(widget) == "Train" and "Press “Train” for: reverse." in widget.box.inner_text(), "it trains unasked"
    press(widget, "train")
    until(lambda: button(widget) == "Pause")
    widget.box.locator(choose.format("experiment")).select_option("1. reverse without positions (tried)")
    until(lambda: button(widget) == "Train")  # it stopped the run that went on, and began none
    assert guess.is_visible() and outcome.inner_text().startswith("How many unseen words")
    widget.box.locator(choose.format("task")).select_option("sort")  # a hand ends the experiment
    until(lambda: button(widget) == "Train" and not outcome.is_visible())
    assert widget.box.locator(choose.format("experiment")).input_value() == "none, play freely"
    (again,) = stand.show(Playground())
    kept = again.box.locator(choose.format("experiment")).locator("option").all_inner_texts()
    assert [words for words in kept if "tried" in words] == [
        "1. reverse without positions (tried)",
        "3. no causal mask (tried)",
    ]


# Where each part of the card stands in it; the name of the small button may change within its place.
PLACES = """(box) => {
  const home = box.querySelector(".tfm-card").getBoundingClientRect();
  const parts = box.querySelectorAll("header *, .tfm-bar *, [data-stage] > *, [data-stage] > div > *, .tfm-plot, .tfm-readout");
  return JSON.stringify([home.height, ...[...parts].map((part) => part.getBoundingClientRect()).map(({ x, y, width, height }) => [x - home.x, y - home.y, width, height].map(Math.round))]);
}"""


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_in_a_chapter_a_guess_starts_the_training_and_nothing_moves(stand: Bench, viewport):
    whole = [{"step": 0, "loss": None, "exact": 0}, {"step": 75, "loss": 2, "exact": 0.995}]
    (widget,) = stand.show(Experiment(2, whole=whole), viewport=viewport)
    before, look, said = widget.box.evaluate(PLACES), widget.look(), widget.readout
    small = widget.box.locator('[data-control="again"]')
    chosen = widget.box.locator('[aria-pressed="true"]')
    assert not small.is_visible() and not chosen.count() and "199 of 200 unseen words right" in said()
    press(widget, "guess-0")
    seen = []
    for _ in range(2):
        until(
            lambda: seen.append(widget.box.evaluate(PLACES)) or "You guessed almost every, but it is hardly" in said()
        )
        assert {*seen} == {before} and chosen.inner_text() == "almost every"
        assert "In training, it copies the letter" in said() and small.inner_text() == "Again, other weights"
        press(widget, "again")
        until(lambda: "Update" in said() and small.inner_text() == "Pause")
    press(widget, "again")
    until(lambda: small.inner_text() == "Go on")
    time.sleep(0.2)  # its last slice of time
    rests = said()
    time.sleep(0.3)
    assert said() == rests
    press(widget, "again")
    until(lambda: small.inner_text() == "Again, other weights")
    assert {row["run"] for row in widget.rows()} == {"all its parts", "no causal mask"}
    widget.reset()
    until(lambda: widget.look() == look)
    assert widget.box.evaluate(PLACES) == before and not chosen.count()


@pytest.mark.long
def test_two_machines_race_and_the_gradients_are_drawn(stand: Bench):
    (widget,) = stand.show(Playground(gradients=True))
    before = widget.look()

    def drawn(colour: str) -> int:
        styles = widget.box.locator("path.tfm-line[d]").evaluate_all(
            "all => all.filter((l) => l.getAttribute('d')).map((l) => l.getAttribute('style'))"
        )
        return sum(f"--tfm-{colour})" in style for style in styles)

    assert [drawn(colour) for colour in ("one", "two", "encoder", "decoder")] == [2, 0, 1, 1]
    press(widget, "train")
    until(lambda: update(widget) > 50)
    unfold(widget)
    widget.box.locator('[data-control="rival"]').select_option("GRU with attention")
    until(lambda: 0 < update(widget) < 50)  # both begin together
    until(lambda: update(widget) > 60 and "GRU with attention:" in widget.readout())
    until(lambda: [drawn(colour) for colour in ("one", "two", "soft", "encoder", "decoder")] == [2, 2, 2, 1, 1])
    press(widget, "train")
    until(lambda: button(widget) == "Go on", 1)
    time.sleep(0.3)
    rests = widget.readout()
    time.sleep(0.3)
    assert widget.readout() == rests, "the rival goes on without it"
    assert "GRU with attention writes" in " ".join(widget.box.locator("[data-stage]").inner_text().split())
    widget.reset()
    until(lambda: "GRU" not in widget.readout())
    until(lambda: widget.look() == before)


@pytest.mark.long
def test_numbers_and_dates_are_learned_and_asked_in_words_of_ones_own(stand: Bench):
    (widget,) = stand.show(Playground(task="dates", updates=300, step=300))
    said = widget.box.locator("[data-stage]").inner_text
    own = widget.box.locator('[data-control="value"]')
    press(widget, "train")
    until(lambda: "1 of 200 unseen dates" in widget.readout() or update(widget) > 25)
    assert own.input_value() == "March 5, 2031"
    own.fill("24. Dezember 1999")
    until(lambda: update(widget) == 300)
    until(lambda: "1999-12-24" in said())
    assert widget.cells("head 1")[0].startswith("writing 1999, looking at 24")
    for chosen, label in (
        ("the encoder’s own", "reading 24, looking at 24"),
        ("the decoder’s own", "writing 1999, looking at ▸"),
    ):
        widget.box.locator('[data-control="map"]').select_option(chosen)
        until(partial(lambda start: widget.cells("head 2")[0].startswith(start), label), 5)
    assert int(widget.readout().split(": ")[1].split()[0]) > 180
    widget.box.locator('[data-control="task"]').select_option("numbers")
    until(lambda: update(widget) < 200)
    assert own.input_value() == "three hundred and forty seven" and "your number" in said()
    own.fill("2047 dozen")
    until(lambda: update(widget) == 300)
    until(lambda: "it doesn't know dozen" in said() and "hundred" not in said())
    assert "unseen numbers" in widget.readout()
    own.fill("!")
    until(lambda: "it can read nothing of this, so the answer is for two thousand and forty seven" in said())


def test_a_model_of_tfm_train_is_opened_and_writes_what_the_library_writes(stand: Bench, tmp_path):
    torch.manual_seed(0)
    sentences = ["three small cats sleep", "two dogs run home", "the cats run", "small dogs sleep"]
    tokenizer = Tokenizer.train(sentences, 60)
    model = Transformer(TransformerConfig(len(tokenizer), d_model=64, n_heads=4, d_ff=96, n_layers=2, dropout=0.0))
    save_trained(tmp_path / "run", model, tokenizer, {})
    library = Translator.load(tmp_path / "run")
    (widget,) = stand.show(Playground(gradients=True))
    unfold(widget)
    said = widget.box.locator("[data-stage]").inner_text
    chosen = widget.box.locator('input[type="file"]')
    chosen.set_input_files(sorted((tmp_path / "run").iterdir()))
    until(lambda: "This is the model of model.safetensors" in said())
    assert f"{sum(p.numel() for p in model.parameters()):,}" in widget.readout()
    own = widget.box.locator('[data-control="value"]')
    for sentence in sentences[:2]:
        own.fill(sentence)
        src = library.ids(sentence)
        ids = greedy_decode(library.model, src, Tokenizer.bos_id, Tokenizer.eos_id, 25)[0].tolist()
        ids = ids[: ids.index(Tokenizer.eos_id)] if Tokenizer.eos_id in ids else ids
        pieces = " ".join(map(library.tokenizer.piece, ids))
        until(partial(lambda text: text in " ".join(said().split()), pieces), 10)
    assert widget.box.locator('[data-control="train"]').inner_text() == "Train"
    chosen.set_input_files(ROOT / "tests" / "grader" / "assignments" / "reverse.safetensors")
    own.fill("parents")
    until(lambda: "stnerap" in "".join(said().split()) and "5,824 parameters" in widget.readout())
    assert len(widget.cells("head 1")) == 8 * 8, "rows after the end"
    chosen.set_input_files(tmp_path / "run" / "config.json")
    until(lambda: "Choose a file that the playground saved" in widget.box.inner_text())
    (tmp_path / "broken.safetensors").write_bytes(b"{}")
    chosen.set_input_files(tmp_path / "broken.safetensors")
    until(lambda: "isn't a whole .safetensors file" in widget.box.inner_text())
    press(widget, "train")
    until(lambda: "Your run: reverse" in said() and update(widget) > 0)


@pytest.mark.long
def test_the_page_is_exact_within_a_minute(stand: Bench):
    (widget,) = stand.show(Playground())
    press(widget, "train")
    seconds = until(
        lambda: (
            "of 200 unseen" in widget.readout() and int(widget.readout().split()[4]) >= 198 and update(widget) < 1500
        ),
        100,
    )
    assert seconds < 100
