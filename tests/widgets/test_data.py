"""The widget of chapter `data` in a kernel: traits, arrays, pictures, and sentences when something is wrong."""

import json
from collections import Counter

from matplotlib.figure import Figure

from tfm_lib.corpora.story import story_words
from tfm_lib.data import apply_merges, learn_merges
from tfm_lib.widgets.data import MergeSteps, words_of

OWN = [("t", "h"), ("th", "e"), ("th", "e·")]


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


# three lives


def test_pictures_and_plain_state() -> None:
    for widget in (MergeSteps(), MergeSteps("the theme", OWN, used=2), MergeSteps("")):
        assert isinstance(widget.figure(), Figure)
        state = widget.get_state()
        json.dumps({key: value for key, value in state.items() if key != "layout"})
        assert widget.alt
