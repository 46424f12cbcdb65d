"""The widget of chapter `layers` in a kernel: traits, arrays, pictures, and sentences when something is wrong."""

import json

import pytest
import torch
from matplotlib.figure import Figure
from torch.testing import assert_close

from tfm_lib.layers import EncoderLayer
from tfm_lib.widgets.layers import NORMS, GradientThroughDepth, _climb, measure
from widgets.samples.layers import small_stacks


@pytest.fixture
def norms():
    return small_stacks()


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


# three lives


def test_pictures_and_plain_state(norms) -> None:
    for norm in NORMS:
        widget = GradientThroughDepth(norms, norm=norm, before="none", value=[False, True, False])
        assert isinstance(widget.figure(), Figure)
        state = widget.get_state()
        json.dumps({key: value for key, value in state.items() if key != "layout"})
        assert widget.alt
