"""The widgets of chapter `layers` in a kernel: traits, arrays, pictures, and sentences when something is wrong."""

import json

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from samples.layers import small_stacks
from torch.testing import assert_close

from tfm_lib.layers import EncoderLayer, standardise
from tfm_lib.widgets.layers import NORMS, GradientThroughDepth, LayerNormByHand, _climb


@pytest.fixture
def norms():
    return small_stacks()


# LayerNorm by hand


def test_the_norm_is_that_of_the_library() -> None:
    widget = LayerNormByHand([1, 3, 3, 9], eps=0.5)
    assert_close(torch.tensor(widget.normalised), standardise(torch.tensor([1.0, 3, 3, 9]), 0.5))
    assert "mean 4.00 and variance 9.00" in widget.alt and "ε = 0.5" in widget.alt


@pytest.mark.parametrize("make", [np.array, torch.tensor, tuple])
def test_features_may_be_given_in_any_dress_and_set_later(make) -> None:
    widget = LayerNormByHand(make([1.0, 2.0]))
    assert widget.value == [1, 2]
    widget.value = make([3.0, -4.0])
    assert widget.value == [3, -4]


# Gradient through depth


def test_a_stack_with_residuals_and_norm_is_a_stack_of_encoder_layers() -> None:
    layers, X = torch.nn.ModuleList(EncoderLayer(8, 4, 16) for _ in range(2)), torch.randn(1, 4, 8)
    assert_close(_climb(X, layers, True, "post")[2], layers[1](layers[0](X)[0])[0])


def test_the_gradient_at_the_top_is_1_and_shrinks_without_residuals(norms) -> None:
    for stack in norms.values():
        for depth, rows in stack.items():
            assert rows.shape == (2, depth + 1)
            assert_close(rows[:, -1], torch.ones(2))
    assert (norms[False, "none"][3][:, 0] < 0.5 * norms[True, "none"][3][:, 0]).all()


def test_summaries_are_least_geometric_mean_and_greatest(norms) -> None:
    widget = GradientThroughDepth(norms, value=3, residual=False, norm="pre")
    rows = norms[False, "pre"][3]
    expected = torch.stack([rows.amin(0), rows.log().mean(0).exp(), rows.amax(0)], dim=1)
    assert_close(torch.tensor(widget.lengths()), expected, rtol=6e-3, atol=0)
    assert f"{widget.lengths()[0][1]:.2g} arrives at the bottom" in widget.alt


def test_it_measures_by_itself_without_touching_the_random_numbers() -> None:
    before = torch.get_rng_state()
    widget = GradientThroughDepth()
    assert torch.equal(before, torch.get_rng_state())
    assert widget.value == widget.depths[-1] == 12


def test_lists_serve_as_well_as_tensors(norms) -> None:
    lists = {stack: {depth: rows.tolist() for depth, rows in found.items()} for stack, found in norms.items()}
    assert GradientThroughDepth(lists).measured == GradientThroughDepth(norms).measured


# three lives


def test_pictures_and_plain_state(norms) -> None:
    widgets = [LayerNormByHand(), LayerNormByHand([2, 2, 2])]
    widgets += [
        GradientThroughDepth(norms, residual=residual, norm=norm) for residual in (True, False) for norm in NORMS
    ]
    for widget in widgets:
        assert isinstance(widget.figure(), Figure)
        state = widget.get_state()
        json.dumps({key: value for key, value in state.items() if key != "layout"})
        assert widget.alt
