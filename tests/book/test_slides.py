"""Slides: what of a built page becomes a slide, what stays hidden, and what lies beside a deck."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from project import ROOT
from typer.testing import CliRunner

from tfm_book.slides import Deck, outline, write_decks
from tfm_lib.cli import app

WIDGET = '<div class="tfm-widget" data-model="w1" role="group" aria-label="Dial"><noscript>No.</noscript></div>'
PREDICTION = """<div class="tfm-predict"><p class="tfm-box-title">Predict first</p><p>How much is left?</p>
<div class="tfm-choices"><label class="tfm-choice"><input name="p" type="radio" value="0"/><span>all</span></label>
<label class="tfm-choice" data-right=""><input name="p" type="radio" value="1"/><span>a half</span></label></div>
<details class="tfm-answer"><summary>What happens</summary><p class="tfm-outcome">Answer: a half</p>
<p>The other half is gone.</p></details><button class="tfm-forget">Forget</button></div>"""
ASK = """<fieldset class="tfm-ask" data-ask="toy.one" data-part="{part}"><legend class="tfm-box-title">{title}</legend>
<div class="tfm-asked"><p>How many?</p></div><form><label class="tfm-choice"><input type="radio" value="0"/>
<span>one</span></label><label class="tfm-choice"><input type="radio" value="1"/><span>two</span></label></form>
{key}</fieldset>"""
KEY = """<details class="tfm-key"><p><strong>two</strong>: <span class="tfm-right" data-if="1">Count them.</span></p>
<ul><li><strong>one</strong>: <span data-if="0">There is another.</span></li></ul></details>"""
FORMULA = '<div class="math tfm-equation"><div class="tfm-formula"><span class="katex">{}</span></div></div>'
PAGE = f"""<!DOCTYPE html><html lang="en"><head>
<link rel="stylesheet" href="../_tfm/book.css?v=1"/><link rel="next" href="other.html"/>
<link rel="icon" href="../_static/icon.png"/>
<script defer src="../_tfm/book.js?v=1"></script><script defer src="../_widgets/kit.js?v=1"></script>
<script defer src="../_widgets/toy/dial.js"></script><script defer src="../_widgets/host.js"></script>
</head><body><article><section id="toy"><p class="tfm-kicker">Part I</p><h1>Toy<a class="headerlink" href="#toy">#</a></h1>
<div class="goals"><p><strong>What is a toy?</strong></p>
<ul><li>play</li></ul></div>
<p>Turn the dial. It turns <a href="https://example.org">back</a>.</p>
<div class="cell"><div class="cell_input">code()</div><div class="cell_output">{WIDGET}</div></div>
{ASK.format(part="first", title="Before you read", key="")}
<section id="why"><h2>Why</h2><p>A toy (Fig. 1 of e.g. Ann et al. [2020]) is small: <em>very</em> small. It is <code>not</code> large.</p>
<figure id="f"><svg viewBox="0 0 1 1"><a href="other.html"><path id="x" d="M0 0"/></a></svg><img src="../_images/a%20b.png"/>
<img src="https://example.org/far.png"/><figcaption>A toy.</figcaption></figure>
<p>We weigh it.</p>{FORMULA.format("m = 1")}{PREDICTION}<p>It is light.</p>
<details class="tfm-fold more"><summary>A proof</summary><p>Add one.</p>{FORMULA.format("1 + 1")}</details></section>
<section id="they-agree"><h2>They agree</h2><p>Code compares them.</p></section>
<section id="misconceptions"><h2>Misconceptions</h2><div class="misconception admonition">
<p class="admonition-title">Misconception: “Toys are alive.”</p><p>They are not. Look.</p></div></section>
<section id="exercises"><h2>Exercises</h2><p>Do this.</p>{FORMULA.format("9")}</section>
<section id="summary"><h2>Summary</h2>{ASK.format(part="again", title="Asked again", key=KEY)}
<p>Toys are small. Very.</p><p>They are light. Really.</p></section></section>
<script type="application/vnd.jupyter.widget-state+json">{{"state": {{}}}}</script></article></body></html>"""
FILES = {
    "_tfm/book.css": "@font-face { src: url(fonts/a.woff2) }",
    "_tfm/fonts/a.woff2": "font",
    "_tfm/book.js": "",
    "_static/icon.png": "icon",
    "_images/a b.png": "picture",
    "_widgets/kit.js": 'lazy("twin.js")',
    "_widgets/host.js": "",
    "_widgets/toy/dial.js": 'lazy("engine.js")',
    "_widgets/other/dial.js": "",
    "_widgets/engine.js": "",
    "_widgets/twin.js": 'model = "en-fr"',
    "_widgets/en-fr/0.js": "weights",
    "chapters/toy.html": PAGE,
    "chapters/empty.html": "<html><body><article><section><h1>Empty</h1></section></article></body></html>",
}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "html" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "html"


@pytest.fixture(scope="module")
def deck() -> Deck:
    return outline(BeautifulSoup(PAGE, "html.parser"))


def text(markup: str) -> str:
    return " ".join(BeautifulSoup(markup, "html.parser").get_text(" ").split())


def test_one_thought_is_one_slide_in_the_order_of_the_page(deck: Deck) -> None:
    kinds = "title widget vote section figure formula vote formula claim vote summary"
    assert [slide.kind for slide in deck.slides] == kinds.split()
    assert (deck.title, deck.question) == ("Toy", "What is a toy?")
    headings = [text(slide.heading) for slide in deck.slides]
    assert headings[1:8] == ["Toy", "Before you read", "", "Why", "Why", "Predict first", "A proof"]


def test_a_formula_alone_on_a_slide_does_not_end_with_a_comma() -> None:
    def shown(end: str) -> str:
        row = f'<span class="katex-base"><span class="mord">m</span><span class="mpunct">{end}</span></span>'
        made = FORMULA.format(f'<span class="katex-html"><span class="katex-base">x,</span>{row}</span>')
        return text(
            outline(BeautifulSoup(f"<article><section><h1>T</h1>{made}</section></article>", "html.parser"))
            .slides[1]
            .body
        )

    assert (shown(","), shown("."), shown("!")) == ("x, m", "x, m .", "x, m !")


def test_a_section_says_its_first_sentence_and_the_notes_say_the_rest(deck: Deck) -> None:
    section, figure, formula = deck.slides[3:6]
    assert text(section.body) == "Why A toy (Fig. 1 of e.g. Ann et al. [2020]) is small: very small."
    assert section.body.endswith("<em>very</em> small.</p>")
    assert "It is not large." in text(" ".join(figure.notes)) and "not large" not in figure.body
    assert text(formula.body) == "We weigh it. m = 1"
    assert text(" ".join(deck.slides[6].notes)) == "" and "It is light." in text(" ".join(deck.slides[7].notes))
    assert text(deck.slides[10].body) == "Toys are small. They are light."


def test_a_vote_keeps_its_answer_for_the_second_step(deck: Deck) -> None:
    opening, prediction, again = (slide for slide in deck.slides if slide.kind == "vote")
    assert "deck-answer" not in opening.body and "data-right" not in opening.body
    for slide, right, why in [(prediction, "a half", "The other half is gone."), (again, "two", "Count them.")]:
        body = BeautifulSoup(slide.body, "html.parser")
        assert [each.get_text() for each in body.select("li[data-right]")] == [right]
        hidden = body.select_one(".deck-answer").extract()
        assert hidden.get_text().strip() == why and why not in body.get_text() + "".join(slide.notes)
        assert "There is another." not in slide.body and not body.select("input, details, button")


def test_a_widget_waits_for_its_slide(deck: Deck) -> None:
    (widget,) = (slide for slide in deck.slides if slide.kind == "widget")
    assert 'data-waiting="w1"' in widget.body and "data-model" not in widget.body
    assert "noscript" not in widget.body and "code()" not in widget.body


def test_beside_a_deck_lies_what_it_needs_and_nothing_else(built: Path, tmp_path: Path) -> None:
    told = []
    write_decks(built, ["chapters/toy", "chapters/empty"], tmp_path / "deck", "Book", lambda *said: told.append(said))
    assert told == [("toy.html", 11)]
    assert {path.relative_to(tmp_path / "deck").as_posix() for path in (tmp_path / "deck").rglob("*.*")} == {
        *("index.html", "toy.html", "_slides/deck.css", "_slides/deck.js", "_slides/head.js"),
        *("_tfm/book.css", "_tfm/fonts/a.woff2", "_static/icon.png", "_images/a b.png"),
        *("_widgets/kit.js", "_widgets/host.js", "_widgets/toy/dial.js", "_widgets/engine.js"),
    }
    page = BeautifulSoup((tmp_path / "deck" / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert [link["href"] for link in page.select("li a")] == ["toy.html"]


def test_the_translator_comes_with_its_model(built: Path, tmp_path: Path) -> None:
    (built / "_widgets/toy/dial.js").write_text("tfmKit.twinFor(ui)")
    write_decks(built, ["chapters/toy"], tmp_path / "deck", "Book")
    assert (tmp_path / "deck/_widgets/twin.js").is_file() and (tmp_path / "deck/_widgets/en-fr/0.js").is_file()


def test_a_deck_refers_to_nothing_outside_its_folder(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "deck"
    write_decks(built, ["chapters/toy"], folder, "Book")
    for file in ("toy.html", "index.html"):
        words = (folder / file).read_text(encoding="utf-8")
        named = re.findall(r'(?:href|src|data-host)="([^"]+)"', words)
        assert named and "http" not in words and str(tmp_path) not in words
        assert [address for address in named if not (folder / address.replace("%20", " ")).is_file()] == (
            ["data:,"] if file == "index.html" else []
        )


def test_each_slide_says_where_it_stands(built: Path, tmp_path: Path) -> None:
    write_decks(built, ["chapters/toy"], tmp_path / "deck", "Book")
    page = BeautifulSoup((tmp_path / "deck/toy.html").read_text(encoding="utf-8"), "html.parser")
    labels = [slide["aria-label"] for slide in page.select("section.deck-slide")]
    assert labels[:3] == ["1 of 11: Toy", "2 of 11: Toy, widget: Dial", "3 of 11: Before you read, vote"]
    assert page.select_one(".deck-live[role=status]") and len(labels) == 11


def test_the_command_refuses_what_it_cannot_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = tmp_path / "book"
    (book / "chapters").mkdir(parents=True)
    (book / "_config.yml").write_text("title: Book\n")
    (book / "_toc.yml").write_text("format: jb-book\nroot: chapters/toy\nchapters:\n- file: chapters/empty\n")
    (book / "chapters/toy.md").write_text("# Toy\n\n```{code-cell}\n1\n```\n")
    (book / "file").write_text("")
    monkeypatch.chdir(book)

    def said(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["slides", *arguments])
        return f"{done.exit_code} {' '.join(done.output.split())}{done.exception or ''}"

    assert "The book is not built yet. Build it first: tfm build" in said()
    for name, words in FILES.items():
        path = book / "_build/html" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words, encoding="utf-8")
    assert "Did you mean toy?" in said("toyy")
    assert "There is nothing to show on these pages." in said("empty")
    assert "is not a folder. Name another one: --to FOLDER" in said("--to", "file")
    assert said().startswith("0 toy.html: 11 slides Slides of 1 chapter: _build/slides/index.html")
    assert (ROOT / "tfm_book/slides/deck.js").read_text() == (book / "_build/slides/_slides/deck.js").read_text()
