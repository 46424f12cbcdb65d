"""Widgets in a kernel: traits, arrays of any kind, pictures, and sentences when something is wrong."""

import json
import math

import numpy as np
import pytest
import torch
from matplotlib.text import Text
from tiers import params

from tfm_lib.widgets import base
from tfm_lib.widgets.base import WIDGET_VIEW, to_list, to_numpy, to_words
from tfm_lib.widgets.masking import MaskEditor
from widgets.pseudo import data_of, pseudo, untranslated
from widgets.samples import MODULES, fits, kind, made, sample

# What every widget accepts


@pytest.mark.parametrize(
    "make",
    [
        np.array,
        torch.tensor,
        list,
        lambda rows: torch.tensor(rows, requires_grad=True),
        lambda rows: torch.tensor(rows, dtype=torch.bfloat16),
    ],
)
def test_arrays_of_any_kind_become_lists(make) -> None:
    assert to_list("weights", make([[0.25, 0.75]]), ("n", "m")) == [[0.25, 0.75]]


def test_lists_are_rounded_for_the_page() -> None:
    assert to_list("x", [1 / 3], ("n",)) == [0.33333]


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        ([1.0, 2.0], ValueError, "weights must have shape (n, m); it has shape (2,)"),
        ([[1.0], [2.0, 3.0]], TypeError, "weights must be numbers of shape (n, m)"),
        ([["a"]], TypeError, "weights must be numbers"),
        ([[math.nan, 1.0]], ValueError, "weights must be finite; it holds 1 values"),
        (np.zeros((0, 3)), ValueError, "it has shape (0, 3)"),
    ],
)
def test_bad_arrays_get_a_sentence_that_names_them(array, error, words) -> None:
    with pytest.raises(error) as caught:
        to_numpy("weights", array, ("n", "m"))
    assert words in str(caught.value)


def test_words_come_from_a_sentence_or_a_list() -> None:
    assert to_words("tokens", "dog bites man") == to_words("tokens", ("dog", "bites", "man"))
    with pytest.raises(ValueError, match="tokens must hold 2 words.*it holds 3"):
        to_words("tokens", "dog bites man", count=2)
    with pytest.raises(ValueError, match="at least one word"):
        to_words("tokens", "")


# What none accepts


@pytest.mark.parametrize("module", MODULES)
def test_a_sample_makes_its_widget(module) -> None:
    widget = made(module)
    assert widget._module == module and widget.alt
    json.dumps({key: value for key, value in widget.get_state().items() if key != "layout"})


@pytest.mark.parametrize("module", MODULES)
def test_bad_input_gets_a_sentence(module) -> None:
    tried = sample(module)
    assert tried.refused, f"the Sample of {module} names no input that is refused"
    for error, refused in ((ValueError, tried.refused), (TypeError, tried.mistyped)):
        for sentence, ask in refused.items():
            with pytest.raises(error) as caught:
                ask()
            assert fits(sentence, str(caught.value)), f"{caught.value} instead of {sentence}"


def test_a_widget_without_a_sample_is_told_where_to_write_one() -> None:
    for module in ("nowhere/one", "masking/one"):
        with pytest.raises(
            AssertionError, match=rf"tests/widgets/samples/{module[:-4]}.py must hold SAMPLES with a Sample for one"
        ):
            sample(module)


# What all say


@pytest.mark.parametrize("module", MODULES)
def test_no_word_stands_outside_the_words_at_the_head_of_the_file(module, monkeypatch) -> None:
    assert_in_its_words(module, [{}], monkeypatch)


@pytest.mark.parametrize("module", params(MODULES, {"masking/mask_editor", "positional/encoding"}))
def test_no_word_stands_outside_them_in_any_sampled_state(module, monkeypatch) -> None:
    assert_in_its_words(module, sample(module).states, monkeypatch)


def assert_in_its_words(module: str, states: list[dict], monkeypatch) -> None:
    monkeypatch.setattr(kind(module), "words", pseudo(kind(module).words))
    for state in states:
        widget = made(module, **state)
        data = data_of({name: each for name, each in widget.get_state().items() if name not in ("_esm", "_css")})
        texts = [widget.title, widget.question, widget.alt]
        texts += [text.get_text() for text in widget.figure().findobj(Text)]
        for text in texts:
            left = untranslated(text, data)
            assert not left, f"{text!r}: put {', '.join(left)} into the Words of {module}"


def test_a_word_that_stands_elsewhere_is_found() -> None:
    assert pseudo("{count:.2f} words") == "{count:.2f} ｗｏｒｄｓ"
    assert untranslated("ｗｏｒｄｓ and a cat of 3 MB", ["the cat"]) == ["and", "of"]


# Three lives


def test_the_page_gets_a_still_only_while_the_book_builds(monkeypatch) -> None:
    editor = MaskEditor("a b c")
    monkeypatch.delenv("TFM_BOOK", raising=False)
    assert "tfm" not in editor._repr_mimebundle_()[0][WIDGET_VIEW]
    monkeypatch.setenv("TFM_BOOK", "1")
    view = editor._repr_mimebundle_()[0][WIDGET_VIEW]
    assert view["tfm"]["alt"] == editor.alt
    assert view["tfm"]["still"].startswith("<svg") and "var(--tfm-w0" in view["tfm"]["still"]
    assert view["model_id"] == editor.model_id


def test_an_unbuilt_widget_says_what_to_do(monkeypatch) -> None:
    monkeypatch.setattr(base, "built", lambda name: None)
    editor = MaskEditor("a b c")
    assert "run “make book”" in editor._esm and editor._esm.startswith("export default")
    assert editor._css == ""
