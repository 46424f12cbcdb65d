"""The mask editor in a kernel: its traits, its weights, its sentences."""

import json
import math

import pytest
import torch
from matplotlib.figure import Figure

from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask
from tfm_lib.widgets.masking import MOST, PRESETS, MaskEditor


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


def test_rows_that_the_mask_does_not_cover_yet_see_everything() -> None:
    editor = MaskEditor(["a", "b", "c"], focus=1, bare=2)
    assert editor.mask == [[True, False, False], [True, True, True], [True, True, True]]
    assert editor.value == causal_mask(3).tolist()
    assert torch.tensor(editor.weights)[1].min() > 0
    assert "sees 3 of 3 keys" in editor.alt and "So far the mask covers 1 of 3 rows." in editor.alt
    editor.bare = 0
    assert editor.mask == editor.value and "So far" not in editor.alt
    with pytest.raises(ValueError, match=f"bare must be a number of rows from 0 to {MOST}"):
        editor.bare = MOST + 1


def test_an_empty_row_has_no_weights_and_is_named() -> None:
    editor = MaskEditor("one two", preset="strict")
    assert all(map(math.isnan, editor.weights[0]))
    assert "These rows may see nothing, and have no weights: one." in editor.alt


def test_words_of_a_readers_own_change_names_and_length_and_no_score() -> None:
    editor = MaskEditor("a b", [[0.5, -1.0], [2.0, 0.0]])
    editor.sentence = "dog bites man"
    assert editor.shown == ["dog", "bites", "man"] and editor.tokens == ["a", "b"]
    assert editor.value == causal_mask(3).tolist()
    assert editor.shown_scores == [[0.5, -1.0, 0.5], [2.0, 0.0, 2.0], [0.5, -1.0, 0.5]]
    assert editor.weights[1][:2] == pytest.approx(torch.tensor([2.0, 0.0]).softmax(0).tolist())
    assert "over “dog bites man”" in editor.alt and "the scores those of the example" in editor.alt
    editor.value = [[True, False, True], [True, True, False], [True, True, True]]
    editor.focus = 2
    editor.sentence = "dog bites"
    assert (editor.preset, editor.value, editor.focus) == ("own", [[True, False], [True, True]], 1)
    editor.sentence = ""
    assert editor.shown == ["a", "b"] and "the scores those" not in editor.alt


def test_of_a_long_sentence_the_first_words_are_taken() -> None:
    editor = MaskEditor("a b")
    editor.sentence = "w " * 30
    assert len(editor.shown) == len(editor.value) == MOST


@pytest.mark.parametrize("preset", PRESETS)
def test_a_picture_and_a_sentence_with_numbers(preset) -> None:
    editor = MaskEditor(preset=preset)
    assert isinstance(editor.figure(), Figure)
    visible = sum(map(sum, editor.value))
    assert f"leaves {visible} of 64 cells visible" in editor.alt


def test_the_state_is_plain_data() -> None:
    state = MaskEditor().get_state()
    json.dumps({key: value for key, value in state.items() if key != "layout"})
    assert state["_module"] == "masking/mask_editor"
