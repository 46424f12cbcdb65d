"""The widgets of chapter `layers` in a kernel: traits, arrays, pictures, and sentences when something is wrong."""

import json
from itertools import product

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch.testing import assert_close

from tfm_lib.layers import EncoderLayer, standardise
from tfm_lib.widgets.layers import (
    NORMS,
    GradientThroughDepth,
    LayerNormByHand,
    RankCollapse,
    _climb,
    _drawn,
    measure,
    measure_words,
)
from widgets.samples.layers import small_stacks


@pytest.fixture
def norms():
    return small_stacks()


# LayerNorm by hand


def test_the_norm_is_that_of_the_library() -> None:
    widget = LayerNormByHand([1, 3, 3, 9], eps=0.5)
    assert_close(torch.tensor(widget.normalised), standardise(torch.tensor([1.0, 3, 3, 9]), 0.5))
    assert "mean 4.00 and variance 9.00" in widget.alt and "ε = 0.5" in widget.alt


def test_the_norm_goes_in_steps() -> None:
    widget = LayerNormByHand([1, 3, 3, 9], eps=1e-6)
    assert "The picture shows" not in widget.alt
    shown = {0: "before the norm: 1.00,", 1: "minus their mean: −3.00,"}
    for widget.done, told in shown.items():
        assert f"The picture shows them {told}" in widget.alt
    widget.gain, widget.bias, widget.done = 2, 0.5, 3
    assert_close(torch.tensor(widget.stages[3]), 2 * torch.tensor(widget.normalised) + 0.5)
    assert "A gain of 2 and a bias of 0.5 then make them −1.50, −0.17, −0.17, 3.83." in widget.alt
    assert "The picture shows" not in widget.alt
    for name, value in (("gain", 2.5), ("bias", -2), ("done", 4)):
        with pytest.raises(ValueError, match=f"{name} must be from"):
            setattr(widget, name, value)


@pytest.mark.parametrize("make", [np.array, torch.tensor, tuple])
def test_features_may_be_given_in_any_dress_and_set_later(make) -> None:
    widget = LayerNormByHand(make([1.0, 2.0]))
    assert widget.value == [1, 2]
    widget.value = make([3.0, -4.0])
    assert widget.value == [3, -4]


# Gradient through depth


def test_a_whole_stack_is_a_stack_of_encoder_layers() -> None:
    layers, X = torch.nn.ModuleList(EncoderLayer(8, 4, 16) for _ in range(2)), torch.randn(1, 4, 8)
    assert_close(_climb(X, layers, torch.ones(1, 2), "post")[2], layers[1](layers[0](X)[0])[0])


def test_a_layer_that_is_cut_replaces_what_it_read() -> None:
    layers, X = torch.nn.ModuleList(EncoderLayer(8, 4, 16) for _ in range(2)), torch.randn(1, 4, 8)
    states = _climb(X, layers, torch.tensor([[1.0, 0.0]]), "none")
    attended, _ = layers[1].self_attention(states[1], states[1], states[1])
    assert_close(states[2], layers[1].feed_forward(attended))


def test_what_is_measured_of_many_stacks_at_once_is_measured_of_each(norms) -> None:
    one_by_one = measure(depths=(2, 3), seeds=range(2), d_model=8, n=4)
    for norm, rows in norms.items():
        assert rows.shape == (8, 2, 4)
        assert_close(rows[:, :, -1], torch.ones(8, 2, dtype=torch.double))
        assert_close(rows[0], one_by_one[True, norm][3].double())
        assert_close(rows[7], one_by_one[False, norm][3].double())


def test_a_cut_in_the_lowest_layer_is_the_first_of_the_value(norms) -> None:
    widget = GradientThroughDepth(norms, value=[True, False, False], norm="pre")
    rows = norms["pre"][1]  # bit 0
    assert_close(torch.tensor(widget.lengths()).double(), rows.log().mean(0).exp(), rtol=2e-3, atol=0)
    least, most = widget.seeds()
    assert (least, most) == pytest.approx((rows[:, 0].min().item(), rows[:, 0].max().item()), rel=2e-3)
    assert "residual connections cut in layer 1:" in widget.alt
    assert f"{widget.lengths()[0]:.2g} arrives at the bottom" in widget.alt
    widget.value = [True, False, True]
    assert "residual connections cut in layers 1, 3:" in widget.alt


def test_the_axis_is_the_same_for_all_stacks_and_holds_them(norms) -> None:
    widget = GradientThroughDepth(norms)
    low, high = widget.ends()
    for widget.norm in NORMS:
        for k in range(8):
            widget.value = [bool(k >> i & 1) for i in range(3)]
            assert low <= min(*widget.lengths(), *widget.seeds()) and max(*widget.lengths(), *widget.seeds()) <= high
            assert widget.figure().axes[1].get_xlim() == (low, high)


def test_it_follows_the_error_through_some_of_the_layers(norms) -> None:
    widget = GradientThroughDepth(norms)
    assert widget.passed == 3 and "The picture follows" not in widget.alt
    widget.passed = 1
    assert f"through 1 of 3 layers, where its length is {widget.lengths()[2]:.2g}." in widget.alt
    assert [len(line.get_xdata()) for line in widget.figure().axes[1].lines][-1] == 2
    with pytest.raises(ValueError, match="passed must be a number of layers from 0 to 3"):
        widget.passed = 4


def test_it_measures_by_itself_without_touching_the_random_numbers() -> None:
    before = torch.get_rng_state()
    widget = GradientThroughDepth()
    assert torch.equal(before, torch.get_rng_state())
    assert widget.value == [False] * 6


def test_lists_serve_as_well_as_tensors(norms) -> None:
    lists = {norm: rows.tolist() for norm, rows in norms.items()}
    assert GradientThroughDepth(lists).measured == GradientThroughDepth(norms).measured


# Rank collapse


def test_words_are_measured_as_they_climb() -> None:
    apart, cosines = measure_words(2, seeds=range(2), d_model=8, n=4)
    (layers, X, _) = next(_drawn(range(1), 2, 8, 4))
    for think in (True, False):
        states = _climb(X, layers, torch.ones(1, 2), "pre", think)
        for at, state in enumerate(states):
            left = (state - state.mean(dim=1, keepdim=True)).norm() / state.norm()
            assert_close(apart[True, think, "pre"][0, at], left)
            pair = torch.nn.functional.cosine_similarity(state[0, 0], state[0, 3], dim=0)
            assert_close(cosines[True, think, "pre"][at, 0, 3], pair)


def test_only_residuals_keep_words_apart() -> None:
    widget = RankCollapse()
    for widget.residual, widget.think, widget.norm in product((True, False), (True, False), NORMS):
        left = widget.differences()["mean"][8]
        assert left > 0.01 if widget.residual else left < 1e-12
    assert "and two words have a mean cosine of 1.00." in RankCollapse(value=6).alt


def test_the_alternative_tells_the_stack_and_the_layer() -> None:
    widget = RankCollapse(value=2, residual=True, think=True, norm="post")
    at = widget.differences()["mean"][2]
    stack = "attention and feed-forward, with residuals, norm after the sum"
    assert f"{stack}: at layer 2 of 12, the words differ by {at:.2g} of" in widget.alt


def test_the_norm_is_drawn_on_one_axis_so_that_it_visibly_shrinks_the_features() -> None:
    axes = [LayerNormByHand(gain=2.0, bias=1.0, done=done).figure().axes for done in range(4)]
    assert {ax.get_ylim() for _, ax in axes} == {(-12, 12)}


# three lives


def test_pictures_and_plain_state(norms) -> None:
    widgets = [LayerNormByHand(), LayerNormByHand([2, 2, 2])]
    widgets += [GradientThroughDepth(norms, norm=norm, before="none", value=[False, True, False]) for norm in NORMS]
    widgets += [RankCollapse(value=3), RankCollapse(residual=True, former=[False, True], before="post")]
    for widget in widgets:
        assert isinstance(widget.figure(), Figure)
        state = widget.get_state()
        json.dumps({key: value for key, value in state.items() if key != "layout"})
        assert widget.alt
