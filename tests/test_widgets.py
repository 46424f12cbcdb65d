"""Widgets in a kernel: traits, arrays of any kind, pictures, and sentences when something is wrong."""

import json
import math

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask
from tfm_lib.widgets import base
from tfm_lib.widgets.base import WIDGET_VIEW, to_list, to_numpy, to_words
from tfm_lib.widgets.masking import PRESETS, MaskEditor

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


# The mask editor


def test_presets_come_from_the_library() -> None:
    assert MaskEditor("a b c").value == causal_mask(3).tolist()
    assert MaskEditor("a b <pad>", preset="padding").value == [[True, True, False]] * 3
    assert MaskEditor("a b c", preset="strict").value[0] == [False, False, False]
    assert MaskEditor("a b c d", preset="window", size=1).value[0] == [True, True, False, False]
    assert MaskEditor("a b c d", preset="block", size=2).value[3] == [False, False, True, True]
    assert all(map(all, MaskEditor("a b c", preset="full").value))
    assert MaskEditor("a <pad>", preset="full", hide_padding=True).value == [[True, False]] * 2


def test_value_can_be_read_and_set() -> None:
    editor = MaskEditor("a b")
    heard = []
    editor.observe(lambda change: heard.append(change.new), "value")
    editor.value = [[True, True], [False, True]]
    assert (editor.preset, editor.mask, heard) == ("own", [[True, True], [False, True]], [editor.value])
    editor.preset = "causal"
    assert editor.value == causal_mask(2).tolist()


def test_a_mask_may_be_given_as_tensor_array_or_lists() -> None:
    mask = causal_mask(3)
    for given in (mask, mask.numpy(), mask.tolist()):
        editor = MaskEditor("a b c", mask=given)
        assert editor.value == mask.tolist() and editor.preset == "own"
    editor.value = ~mask  # and later too
    assert editor.value == (~mask).tolist()


def test_weights_are_those_of_attention() -> None:
    Q = K = V = torch.randn(4, 5, dtype=torch.float64)
    scores = Q @ K.T / math.sqrt(5)
    editor = MaskEditor("a b c d", scores=scores)
    expected = attention(Q, K, V, causal_mask(4))[1]
    torch.testing.assert_close(torch.tensor(editor.weights, dtype=torch.float64), expected, atol=1e-4, rtol=0)


def test_an_empty_row_has_no_weights_and_is_named() -> None:
    editor = MaskEditor("one two", preset="strict")
    assert all(map(math.isnan, editor.weights[0]))
    assert "Rows that may see nothing, and have no weights: one." in editor.alt


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mask": [[True]]}, "mask must have shape (2, 2); it has shape (1, 1)"),
        ({"mask": [[0.5, 1], [1, 1]]}, "mask must hold booleans"),
        ({"scores": np.zeros((3, 3))}, "scores must have shape (2, 2); it has shape (3, 3)"),
        ({"preset": "casual"}, "preset must be one of causal, strict, padding, window, block, full; it is 'casual'"),
        ({"size": 0}, "size must be at least 1; it is 0"),
        ({"focus": 2}, "focus must be a row from 0 to 1; it is 2"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, words) -> None:
    with pytest.raises(ValueError) as caught:
        MaskEditor("a b", **arguments)
    assert words in str(caught.value)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_picture_and_a_sentence_with_numbers(preset) -> None:
    editor = MaskEditor(preset=preset)
    assert isinstance(editor.figure(), Figure)
    visible = sum(map(sum, editor.value))
    assert f"leaves {visible} of 64 cells visible" in editor.alt


# Three lives


def test_the_state_is_plain_data() -> None:
    state = MaskEditor().get_state()
    json.dumps({key: value for key, value in state.items() if key != "layout"})
    assert state["_module"] == "masking/mask_editor"


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
    monkeypatch.setattr(base, "_built", lambda name: None)
    editor = MaskEditor("a b c")
    assert "run “make book”" in editor._esm and editor._esm.startswith("export default")
    assert editor._css == ""
