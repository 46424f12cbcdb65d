"""The translator in Firefox, from a folder and with nobody outside: typed, switched off, followed along the beam."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from browser.driving import LOOK, PHONE, pages_with_widgets, places
from browser.firefox import CONTROL, MISSING, Firefox, find_firefox, firefox
from experiments.translator_switches import switches as library_switches
from tfm_lib.engine.translator import Translator

pytestmark = pytest.mark.long
MODULE = "decoding/translator"
SENTENCE = "Where is the cat that ate my fish?"
LIVE = "() => [...document.querySelectorAll('.tfm-widget')].every((box) => box.dataset.state)"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    path = find_firefox()
    if path is None:
        pytest.skip(MISSING)
    with firefox(path, tmp_path_factory.mktemp("firefox")) as started:
        yield started


@pytest.fixture
def browser(program: Firefox) -> Iterator[Firefox]:
    """Whatever a test does, its pages ask nobody outside and print nothing."""
    program.size(1280, 900)
    program.asked.clear()
    program.said.clear()
    yield program
    program.run("() => 0")  # what is still on its way is heard
    assert [each for each in program.asked if not each.startswith(("file:", "data:", "blob:"))] == []
    assert program.said == []


@pytest.fixture(scope="module")
def library() -> Translator:
    return Translator.shipped()


def opened(browser: Firefox, book: Path, page: str) -> str:
    """The page with its widgets live; what finds the translator on it."""
    browser.go((book / f"{page}.html").as_uri())
    browser.until(LIVE)
    return f'.tfm-widget[data-module="{MODULE}"] '


def look(browser: Firefox, widget: str) -> str:
    """All that can be seen on the stage, once the machine has ended."""
    return browser.run(f"(box) => ({LOOK})(document.querySelector(box))", widget)


def texts(browser: Firefox, selector: str) -> list[str]:
    return browser.run("(them) => [...document.querySelectorAll(them)].map((node) => node.innerText.trim())", selector)


def count(browser: Firefox, selector: str) -> int:
    return browser.run("(them) => document.querySelectorAll(them).length", selector)


def typed(browser: Firefox, widget: str, sentence: str) -> None:
    browser.point(f'{widget}[data-control="sentence"]')
    browser.press("a", held=CONTROL)
    browser.press(*sentence)
    look(browser, widget)


def test_what_a_page_asks_and_prints_is_heard(program: Firefox, built_book: Path) -> None:
    """The sieve itself: whoever asks outside, warns or throws is noticed."""
    ask = "() => fetch('http://outside.invalid/').catch(() => {})"
    opened(program, built_book, "chapters/intro")
    program.asked.clear()
    program.run(ask)
    assert program.asked == []  # the page's policy does not let it
    program.go("about:blank")
    program.asked.clear()
    program.run(ask)
    program.run("() => { console.error('told'); setTimeout(() => { throw new Error('thrown'); }); }")
    program.until("() => new Promise((go) => setTimeout(() => go(true), 100))")
    assert program.asked == ["http://outside.invalid/"]
    assert any("told" in line for line in program.said) and any("thrown" in line for line in program.said)


def test_a_sentence_is_typed_broken_and_followed(browser: Firefox, built_book: Path, library: Translator) -> None:
    (page,) = [place.page for place in places(built_book, MODULE)]
    widget = opened(browser, built_book, page)
    typed(browser, widget, SENTENCE)
    whole = library.translate([SENTENCE])[0]
    assert texts(browser, f"{widget}.tfm-outcome b") == [whole]
    assert texts(browser, f"{widget}.tfm-state") == ["The machine runs in your browser."]

    # along the beam: a step more for each word, as far as it has room
    word = f'{widget}[data-control="written"] [role="radio"]'
    browser.point(word, place=0)
    assert count(browser, f"{widget}rect.tfm-branch") == 4
    browser.press("ArrowRight")
    browser.until("(branches) => document.querySelectorAll(branches).length === 8", f"{widget}rect.tfm-branch")
    browser.point(word, click=False, place=3)
    browser.until(
        "(said) => document.querySelector(said).innerText.startsWith('chat has probability')", f"{widget}.tfm-readout"
    )

    browser.point(f'{widget}[data-control="breaking"]')
    for name in ("positions", "decoder.1.cross_attention.3"):
        browser.point(f'{widget}[data-part="{name}"]')
        look(browser, widget)
        with library_switches(library.model)[name](library.model):
            wanted = library.translate([SENTENCE])[0]
        assert texts(browser, f"{widget}.tfm-outcome > *") == [
            whole,
            "broken:",
            "the same" if wanted == whole else wanted,
        ]
        browser.point(f'{widget}[data-part="{name}"]')
        look(browser, widget)
    assert texts(browser, f"{widget}.tfm-outcome b") == [whole]


def test_every_widget_comes_to_life_and_fits_a_phone(browser: Firefox, built_book: Path) -> None:
    browser.size(PHONE["width"], PHONE["height"])
    for page in pages_with_widgets(built_book):
        opened(browser, built_book, page)
        failed = browser.run(
            "() => [...document.querySelectorAll('.tfm-widget')].filter(({ dataset }) => dataset.state !== 'live').map(({ dataset }) => dataset.module)"
        )
        assert failed == [], page
        assert browser.run("() => document.documentElement.scrollWidth") <= PHONE["width"], page


def test_the_playground_trains_in_firefox(browser: Firefox, built_book: Path) -> None:
    """From a folder: its worker is made of a text, and learns what Chromium's learns."""
    browser.go((built_book / "chapters/playground.html").as_uri())
    browser.until(LIVE)
    browser.point('[data-control="train"]')
    browser.until(
        "() => /^Update (2[5-9]|[3-9][0-9]|[0-9]{3}) of/.test(document.querySelector('.tfm-readout').innerText)"
    )
    browser.point('[data-control="train"]')
    browser.until("() => document.querySelector('[data-control=\"train\"]').innerText === 'Go on'")
