"""The widgets of chapter `data` in a kernel: traits, arrays, pictures, and sentences when something is wrong."""

import json
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from tfm_lib.corpora.story import story_words
from tfm_lib.data import Example, apply_merges, batches, learn_merges, padding_waste
from tfm_lib.widgets.data import RULES, BatchPacker, MergeSteps, drawn_lengths, packed, waste, words_of

OWN = [("t", "h"), ("th", "e"), ("th", "e·")]


# merge steps


def test_pieces_are_those_of_the_library() -> None:
    widget = MergeSteps("The unhappiest keeper!", used=200)
    merges = learn_merges(Counter(story_words()), 300)
    assert [tuple(pair.split(" ")) for pair in widget.merges] == merges
    known = [apply_merges(word, merges[:200]) for word in ("the", "unhappiest", "keeper")]
    assert widget.pieces == [*known, ["<unk>"]]


def test_counts_say_how_many_pieces_there_are_after_each_merge() -> None:
    widget = MergeSteps("the other them", OWN, used=3)
    assert widget.counts == [12, 9, 7, 6]
    for widget.used in range(4):
        assert widget.counts[widget.used] == sum(map(len, widget.pieces))


def test_a_letter_that_is_not_among_the_letters_is_unknown() -> None:
    widget = MergeSteps("the jazz", OWN, letters=["t", "h", "e", "e·", "a"])
    assert widget.pieces == [["the·"], ["<unk>", "a", "<unk>", "<unk>"]]
    assert MergeSteps("jazz", OWN).pieces == [["j", "a", "z", "z·"]], "without an alphabet every letter is known"


def test_words_are_cut_as_people_write() -> None:
    assert words_of("Où est-il? 등대는, 3.14") == ["où", "est", "-", "il", "?", "등대는", ",", "3", ".", "14"]
    assert MergeSteps("").pieces == []


def test_alt_tells_the_pieces() -> None:
    alt = MergeSteps("the other", OWN, used=3).alt
    assert alt == "After 3 merges the sentence “the other” has 4 pieces for 2 words: the·, o the r·."


# batch packer


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(1, 12), st.integers(1, 90), st.integers(1, 40)
)
def test_every_sentence_is_in_one_batch(lengths, size, places, pool) -> None:
    for rule in RULES:
        groups = packed(lengths, rule, size, places, pool)
        assert sorted(i for group in groups for i in group) == list(range(len(lengths)))
        if rule != "by tokens":
            assert all(len(group) <= size for group in groups)
        else:
            assert all(len(group) == 1 or len(group) * max(lengths[i] for i in group) <= places for group in groups)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(30, 90))
def test_by_tokens_without_pools_is_what_the_library_does(lengths, places) -> None:
    examples = [Example([], [5] * (length - 1)) for length in lengths]
    theirs = list(batches(examples, places))
    ours = packed(lengths, "by tokens", 1, places, len(lengths))
    assert [[lengths[i] for i in group] for group in ours] == [[len(e.tgt) + 1 for e in group] for group in theirs]
    assert waste(lengths, ours) == pytest.approx(padding_waste(theirs))


def test_sentences_that_wait_are_in_no_batch_yet() -> None:
    widget = BatchPacker([5, 1, 30, 2, 2, 9], "any order", size=4, waiting=1)
    assert "2 batches: 64.5% padding" in widget.alt
    assert "The picture shows the first 5 sentences, in 2 batches with 67.2% padding." in widget.alt
    widget.waiting = 6
    assert "the first 0 sentences, in 0 batches with 0.0% padding." in widget.alt
    assert widget.figure()
    with pytest.raises(ValueError, match="waiting must be a number of sentences from 0 to 6"):
        widget.waiting = 7


def test_sorting_wastes_less_and_small_pools_more() -> None:
    widget = BatchPacker()
    any_order, by_length, by_tokens = (waste(widget.lengths, widget.groups(rule)) for rule in RULES)
    assert any_order > by_length > 0 and any_order > by_tokens > 0
    widget.pool = 4
    assert waste(widget.lengths, widget.groups("by length")) > by_length
    assert f"{100 * any_order:.1f}% padding" in widget.alt


@pytest.mark.parametrize("make", [np.array, torch.tensor, tuple])
def test_lengths_may_be_given_in_any_dress(make) -> None:
    assert BatchPacker(make([3, 9, 4])).lengths == [3, 9, 4]


def test_drawn_lengths_are_always_the_same() -> None:
    assert drawn_lengths() == drawn_lengths() and len(set(drawn_lengths(300))) > 15


# three lives


def test_pictures_and_plain_state() -> None:
    widgets = [MergeSteps(), MergeSteps("the theme", OWN, used=2), MergeSteps("")]
    widgets += [BatchPacker([3, 9, 4, 2], value=rule) for rule in RULES]
    for widget in widgets:
        assert isinstance(widget.figure(), Figure)
        state = widget.get_state()
        json.dumps({key: value for key, value in state.items() if key != "layout"})
        assert widget.alt
