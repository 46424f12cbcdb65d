"""The widgets of chapter `recurrence` in a kernel."""

import json

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from tfm_lib.widgets.recurrence import FAINTEST, LOUDEST, GradientReach, InteractionPath, path, strength
from widgets.samples.recurrence import NORMS, reach

# interaction path


def test_hops_of_each_model() -> None:
    widget = InteractionPath(value=8)
    assert widget.hops == {"rnn": 8, "window": 4, "dilated": 2, "attention": 1}
    widget.value = 9
    assert widget.hops["dilated"] == 3
    widget.k, widget.window = 2, 4
    assert widget.hops == {"rnn": 9, "window": 3, "dilated": 4, "attention": 1}


def test_hops_of_dilated_convolutions_are_the_digits_of_the_distance() -> None:
    assert path("dilated", 12) == [0, 0, 3, 12]  # 110 in base 3
    assert path("dilated", 17) == [0, 2, 8, 17]  # 122


def test_a_distance_longer_than_the_way_back_moves_the_word() -> None:
    widget = InteractionPath("a b c d", value=1, word=1)
    widget.value = 3
    assert widget.word == 3
    widget.word = 2
    assert widget.value == 2


def test_path_in_a_sentence_and_a_picture() -> None:
    widget = InteractionPath("the cat sat on the mat", value=4)
    assert "From “cat” to “mat”, 4 words apart: an RNN needs 4 steps; windows of 2 on each side, 2 layers" in widget.alt
    assert "attention, 1 layer." in widget.alt
    assert isinstance(widget.figure(), Figure)


# gradient reach


def test_summary_is_the_geometric_mean_and_the_spread() -> None:
    found = reach().summary("GRU", "at the start")
    np.testing.assert_allclose(found["mean"], [0.5, 0.25, 0.25])
    np.testing.assert_allclose([found["low"], found["high"]], [[0.5, 0.25, 0.125], [0.5, 0.25, 0.5]])


@pytest.mark.parametrize("make", [np.array, torch.tensor, list])
def test_norms_of_any_kind_are_taken(make) -> None:
    assert reach(reach={"GRU": make(NORMS["GRU"])}).reach == NORMS
    one_stage = reach(reach={"mine": make(NORMS["GRU"][0])})
    assert one_stage.stages == ["stage 0"] and one_stage.distances == [1, 2, 3]


def test_without_norms_it_shows_the_recorded_run() -> None:
    widget = GradientReach()
    assert list(widget.reach) == ["RNN", "RNN, U × 4", "LSTM", "GRU", "attention"]
    assert widget.distances[0] == 1 and widget.distances[-1] == 63
    assert widget.summary("attention", "trained")["mean"][-1] > 1e6 * widget.summary("RNN", "trained")["mean"][-1]


def test_reach_in_a_sentence_and_a_picture() -> None:
    widget = reach()
    assert widget.alt == (
        "GRU: at the start: 3 of 3 words reach the end; trained: 3 of 3 words reach the end. "
        "Norm of ∂h_T/∂x_t at the start, 3 words back, the geometric mean of the seeds: GRU 0.25."
    )
    widget.stage = "trained"
    assert "GRU 2." in widget.alt
    assert isinstance(widget.figure(), Figure)


def test_each_word_is_heard_as_its_distance_from_the_end() -> None:
    widget = GradientReach({"GRU": [[0.5, 1e-3, 1e-9]]}, tokens="far nearer near nearest last")
    assert widget.tokens == ["nearer", "near", "nearest", "last"]  # as many as there are distances
    np.testing.assert_allclose(widget.words_heard("stage 0"), [1e-9, 1e-3, 0.5])
    assert "stage 0: 2 of 3 words reach the end" in widget.alt
    sparse = GradientReach({"GRU": [[0.5, 1e-3]]}, distances=[1, 4], tokens="a b c d last")
    np.testing.assert_allclose(sparse.words_heard("stage 0"), [1e-3, 1e-3, 0.5, 0.5])


def test_the_recorded_networks_hear_more_of_a_sentence_after_training() -> None:
    widget = GradientReach(kind="GRU")
    assert len(widget.tokens) == 64
    before, after = (sum(norm > FAINTEST for norm in widget.words_heard(stage)) for stage in widget.stages)
    assert before < 45 and after == 63
    widget.kind = "RNN"
    assert all(sum(norm > FAINTEST for norm in widget.words_heard(stage)) < 25 for stage in widget.stages)


def test_strength_follows_the_logarithm_between_its_ends() -> None:
    assert [float(strength(norm)) for norm in (1e-40, FAINTEST, LOUDEST, 1e9)] == [0, 0, 1, 1]
    assert float(strength((FAINTEST * LOUDEST) ** 0.5)) == pytest.approx(0.5)


@pytest.mark.parametrize("make", [InteractionPath, reach])
def test_the_state_is_plain_data(make) -> None:
    state = make().get_state()
    json.dumps({key: value for key, value in state.items() if key != "layout"})
