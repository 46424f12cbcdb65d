"""The picture of the reader's machine, what a wrong answer does to the translator, and the cell that draws it."""

# ruff: noqa: F811 (fixtures that come from test_mine)

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ET
from importlib import import_module

import pytest
import torch
from book.test_layout import reading_order
from project import CHAPTERS, ROOT

from checks.test_mine import TRIANGLE, place, shell, solve  # noqa: F401 (fixtures)
from tfm_book.notebooks.export import MACHINE, export_notebook
from tfm_exercises import mine
from tfm_exercises.judge import find
from tfm_exercises.mine import after_check, store, translating
from tfm_exercises.mine.catalogue import PARTS
from tfm_exercises.mine.chapters import CHAPTERS as ORDER
from tfm_exercises.mine.picture import NARROW, WIDE, Machine
from tfm_lib._refusal import Refusal
from tfm_lib.drawing.display import colours
from tfm_lib.engine.translator import Translator

SVG = "{http://www.w3.org/2000/svg}"
NAMES = [part.name for part in PARTS]


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A translation may take longer than a reader would wait: this machine may be busy."""
    monkeypatch.setattr(translating, "PATIENCE", 60.0)


def drawings(machine: Machine) -> list[ET.Element]:
    """The wide and the narrow drawing; ET refuses what is not well-formed."""
    return list(ET.fromstring(machine._repr_html_()).iter(f"{SVG}svg"))


def block(drawing: ET.Element, name: str) -> ET.Element:
    (found,) = (each for each in drawing.iter(f"{SVG}g") if each.get("data-part") == name)
    return found


# the picture


def test_every_part_has_one_block_that_says_whose_it_is():
    for drawing in drawings(Machine(frozenset({"causal_mask"}))):
        assert {each.get("data-part") for each in drawing.iter(f"{SVG}g")} - {None} == set(NAMES)
        for part in PARTS:
            found = block(drawing, part.name)
            words, mine_ = " ".join(found.itertext()), part.name == "causal_mask"
            assert part.name in words and part.chapter in words
            assert ("✓" in words, "yours" in words, "library" in words) == (mine_, mine_, not mine_)
            assert found.get("class").split()[1] == ("mine-yours" if mine_ else "mine-library")
            assert len(found.findall(f"{SVG}circle")) == 1 and found.get("data-needs") == part.exercise
            assert found[0].tag == f"{SVG}title" and part.does in found[0].text
        assert "1 of the 24 parts of the machine are yours. Yours: causal_mask." in drawing.get("aria-label")
        assert drawing.get("role") == "img"
        assert ".mine-library>circle" in drawing.find(f"{SVG}style").text, "the tick of what is not"


def test_what_runs_on_written_parts_is_lit_too():
    def lit(*names: str) -> list[str]:
        blocks = [each for each in drawings(Machine(frozenset(names)))[0].iter(f"{SVG}g") if not each.get("data-part")]
        lit = [each for each in blocks if "mine-yours" in each.get("class")]
        return sorted(each[3].text for each in lit if len(each) > 1)  # of one child are the heads behind attention

    assert lit("layer_norm") == ["Add & norm"] * 4
    assert lit("split_heads", "attention", "merge_heads") == []
    assert lit("feed_forward", "embed") == ["Embedding", "Feed-forward"]
    assert lit("causal_mask", "decoder_mask", "masked_softmax") == ["Masked self-attention"]


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_it_has_the_sides_and_the_wires_of_the_big_picture(width):
    drawing = ET.fromstring(Machine(frozenset())._svg(width))
    sides = {part: block(drawing, part).get("class").split()[0] for part in ("embed", "decoder_layer", "train_step")}
    assert sides == {"embed": "mine-encoder", "decoder_layer": "mine-decoder", "train_step": "mine-plain"}
    wires = [each.get("class").split()[1] for each in drawing.iter(f"{SVG}path") if "mine-wire" in each.get("class")]
    assert [wires.count(f"mine-{kind}") for kind in ("query", "key", "value")] == [3, 3, 3]


def luminance(colour: tuple) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_both_schemes(scheme):
    colour = {name: tuple(c / 255 for c in bytes.fromhex(value[1:])) for name, value in colours(scheme).items()}
    css = Machine(frozenset())._svg(WIDE)
    share = float(re.search(r"\.mine-tint{fill:var\(--kind\);fill-opacity:([.\d]+)", css)[1])
    seen = [(under, 0, words) for under in ("paper", "card") for words in ("ink", "soft", "query", "key", "value")]
    seen += [(kind, share, "ink") for kind in ("soft", "encoder", "decoder")]
    for kind, share, words in seen:
        paper = [share * a + (1 - share) * b for a, b in zip(colour[kind], colour["card" if share else kind])]
        high, low = sorted((luminance(paper), luminance(colour[words])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (kind, words)


def test_the_schemes_are_those_of_the_style_sheet():
    assert (colours()["ink"], colours("dark")["ink"]) == ("#1d2329", "#e8e6e1")
    assert colours().keys() == colours("dark").keys()


def test_it_says_what_comes_next_in_the_order_of_chapters():
    chapters = {part.chapter for part in PARTS}
    assert list(ORDER) == [stem for stem in reading_order() if stem in chapters]
    first = "Next: write attention, the exercise attention.all-queries in the chapter attention."
    assert repr(Machine(frozenset())) == f"0 of the 24 parts of the machine are yours.\n{first}"
    assert "write masked_softmax" in repr(Machine(frozenset({"attention", "causal_mask"})))
    assert "finished" in repr(Machine(frozenset(NAMES))) and "Next" not in repr(Machine(frozenset(NAMES)))


def test_it_translates_with_the_parts_as_they_are_now(shell):
    assert "It turns “I saw a black cat.” into “J'ai vu un chat noir.”" in repr(mine.machine())
    verdict = solve(shell, "masking.triangle", TRIANGLE)
    assert verdict.kept.endswith("1 of 24 parts of your machine are yours; mine.machine() draws it.")
    machine = mine.machine("A <cat> & a dog.")
    assert machine.mine == {"causal_mask"} and "“A <cat> & a dog.”" in repr(machine)
    assert "A &lt;cat&gt; &amp; a dog." in machine._repr_html_()
    assert mine.machine(None).translated == ""
    with pytest.raises(TypeError, match="a string, or None"):
        mine.machine(3)


@pytest.mark.parametrize(
    ("line", "said"),
    [("while True: pass", "not finished after 1 seconds"), ("raise ValueError('odd <n>')", "ValueError, odd <n>")],
)
def test_a_part_that_does_not_end_or_raises_is_told(place, monkeypatch, line, said):
    monkeypatch.setattr("tfm_exercises.mine.picture.PATIENCE", 1.0)
    entry = store.entry(f"def triangle(n):\n    {line}\n", ["triangle"])
    store.change(lambda stored: stored["answers"].update({"masking.triangle": entry}))
    assert said in repr(mine.machine())
    ET.fromstring(mine.machine()._repr_html_())


def test_a_saved_picture_is_one_file_of_its_own(tmp_path):
    file = tmp_path / "machine.svg"
    Machine(frozenset(NAMES), "It turns “a < b” into “c”.").save(file)
    root = ET.parse(file).getroot()
    assert root.tag == f"{SVG}svg" and "It turns “a < b” into “c”." in " ".join(root.itertext())
    text = file.read_text(encoding="utf-8")
    assert set(re.findall(r"var\((--[\w-]+)", text)) <= set(re.findall(r"(--[\w-]+):[#v]", text))
    assert "prefers-color-scheme:dark" in text and not re.search(r"url\(|href|@import", text)
    with pytest.raises(Refusal, match=r"machine\.png is not called one"):
        Machine(frozenset()).save(tmp_path / "machine.png")


def test_the_answers_travel_from_a_notebook_too(shell, tmp_path, monkeypatch, capsys):
    solve(shell, "masking.triangle", TRIANGLE)
    mine.export(tmp_path / "mine.json")
    monkeypatch.setenv("TFM_MINE_FOLDER", str(tmp_path / "elsewhere"))
    with pytest.raises(Refusal, match=r"mine\.import_\(.*, yes=True\)"):
        mine.import_(tmp_path / "mine.json")
    mine.import_(tmp_path / "mine.json", yes=True)
    assert capsys.readouterr().out.endswith("1 of 1 answers are taken in.\n")
    assert mine.machine(None).mine == {"causal_mask"}


# what a bug does


def wrong(id: str, mistake: str) -> str:
    return import_module(f"checks.answers.{id.partition('.')[0]}").WRONG[id][mistake]


def test_the_sentence_of_the_bugs_is_translated_as_it_says():
    assert Translator.shipped().translate([translating.SENTENCE]) == [translating.TRANSLATION]


@pytest.mark.parametrize(
    ("id", "mistake", "said"),
    [
        (
            "masking.triangle",
            "transposed",
            "turns “She does not like the cold water in winter.” into “Elle n'aime l'aime",
        ),
        ("layers.layer-norm", "over everything", "into “Elle n'aime pas l'eau.”"),
        ("layers.layer-norm", "variance unbiased", "still turns"),
        ("decoding.winner", "the worst", "into “Elle n'aime pas l'eau froid en hiver.”"),
        ("multihead.split", "split without exchanging axes", "into “L'amour ne fait pas partie de l'hiver.”"),
    ],
)
def test_a_wrong_answer_shows_what_the_translator_would_write(shell, id, mistake, said):
    translating.shipped()
    threads, weights = torch.get_num_threads(), translating.shipped().model.embedding.tokens.weight.clone()
    verdict = solve(shell, id, wrong(id, mistake))
    assert verdict.status == "refused" and said in verdict.kept
    assert verdict.kept.startswith("With this bug the translator ") and verdict.kept in repr(verdict)
    assert store.read()["answers"] == {} and torch.get_num_threads() == threads
    assert translating.shipped().model.embedding.tokens.weight.equal(weights)
    began = time.process_time()
    translating.with_bug(find(id), [shell(name) for name in find(id).answers])
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("masking.triangle", "def triangle(n):\n    ..."),
        ("masking.triangle", "def triangle(n):\n    raise ValueError"),
        ("masking.triangle", "def triangle(n):\n    return torch.tril(torch.ones(n, n)).bool()"),
        ("masking.leak-test", "def find_leaks(model_fn, n, d):\n    return [(0, 1)]"),
        ("masking.decoder-mask", "def decoder_mask(ids, pad_id):\n    return torch.ones(1, 1, 1).bool()"),
    ],
)
def test_there_is_nothing_to_show_of_others(shell, id, text):
    verdict = solve(shell, id, text)
    assert not verdict.passed and verdict.kept == ""


def test_a_part_that_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setattr(translating, "PATIENCE", 0.5)

    def triangle(n):
        while True:
            pass

    began = time.monotonic()
    assert translating.with_bug(find("masking.triangle"), [triangle]) == ""
    assert time.monotonic() - began < 20
    assert translating.written_within(20, translating.SENTENCE) == translating.TRANSLATION, "nothing is left plugged in"


def test_a_part_that_writes_into_the_weights_spoils_nothing(capsys):
    def layer_norm(X, gain, bias, eps):
        print("noise")
        gain.data.mul_(0)
        return X * gain

    weights = {name: value.clone() for name, value in translating.shipped().model.state_dict().items()}
    assert translating.with_bug(find("layers.layer-norm"), [layer_norm]).startswith("With this bug")
    assert all(value.equal(weights[name]) for name, value in translating.shipped().model.state_dict().items())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("variable", "value"), [("TFM_BOOK", "1"), ("TFM_MINE", "off")])
def test_nothing_is_shown_where_nothing_is_kept(shell, monkeypatch, variable, value):
    text = wrong("masking.triangle", "transposed")
    with monkeypatch.context() as patch:
        patch.setenv(variable, value)
        assert solve(shell, "masking.triangle", text).kept == ""
    mine.keep(False)
    assert solve(shell, "masking.triangle", text).kept == ""
    mine.keep()
    assert solve(shell, "masking.triangle", text).kept


def test_the_verdict_stands_whatever_the_translator_does(shell, monkeypatch):
    monkeypatch.setattr(after_check, "with_bug", lambda *_: 1 / 0)
    verdict = solve(shell, "masking.triangle", wrong("masking.triangle", "transposed"))
    assert verdict.status == "refused" and verdict.kept == "" and verdict.message


# the notebooks


def test_the_picture_ends_the_summary_of_chapters_with_parts():
    drawn = set()
    for path in sorted(CHAPTERS.glob("*.md")):
        cells = export_notebook(path, ROOT, values={}).cells
        places = [number for number, cell in enumerate(cells) if cell.source == MACHINE]
        if places:
            (at,) = places
            drawn.add(path.stem)
            assert cells[at].cell_type == "code" and cells[at - 1].source.endswith("\n\nYour machine so far:")
            headings = [line for cell in cells[:at] for line in cell.source.split("\n") if line.startswith("## ")]
            assert headings[-1] == "## Summary" and cells[at + 1].source.startswith("## ")
        assert path.stem == "mine" or "mine.machine" not in path.read_text(encoding="utf-8")
    assert drawn == {part.chapter for part in PARTS}
