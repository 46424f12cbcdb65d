"""The soft look-up in a kernel: the reader's arrays in, the query back, and sentences when something is wrong."""

import json

import pytest
import torch
from matplotlib.figure import Figure
from torch.testing import assert_close

from tfm_lib.attention import AdditiveScore, BilinearScore, attention
from tfm_lib.widgets.attention import SCORES, SoftLookup
from tfm_lib.widgets.base import WIDGET_VIEW
from widgets.samples.attention import TRIANGLE


def test_weights_and_output_are_those_of_attention() -> None:
    query = torch.tensor([1.0, 0.5])
    widget = SoftLookup(keys=TRIANGLE, values=TRIANGLE, query=query, score="scaled dot", labels=["A", "B", "C"])
    output, weights = attention(query[None], TRIANGLE, TRIANGLE)
    assert_close(torch.tensor(widget.weights), weights[0])
    assert_close(torch.tensor(widget.output), output[0])


def test_the_query_can_be_read_and_set() -> None:
    widget = SoftLookup(TRIANGLE, query=(1, 2))
    heard = []
    widget.observe(lambda change: heard.append(change.new), "value")
    widget.value = torch.tensor([0.0, 0.0])
    assert widget.value == [0.0, 0.0] and heard == [[0.0, 0.0]]
    assert_close(torch.tensor(widget.weights), torch.full((3,), 1 / 3))  # no direction, no preference


@pytest.mark.parametrize("kind", [torch.Tensor.numpy, torch.Tensor.tolist, torch.Tensor.requires_grad_])
def test_arrays_of_any_kind(kind) -> None:
    values = torch.tensor([1.0, 2.0, 3.0])
    widget = SoftLookup(kind(TRIANGLE.clone()), kind(values))
    assert widget.K == [[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]]
    assert widget.V == [[1.0], [2.0], [3.0]]
    widget.V = kind(10 * values)
    assert widget.V[0] == [10.0]
    widget.K = kind(10 * TRIANGLE)
    assert widget.K[0] == [20.0, 0.0]


def test_keys_stand_for_missing_values_and_letters_for_missing_labels() -> None:
    widget = SoftLookup(TRIANGLE)
    assert widget.V == widget.K and widget.labels == ["A", "B", "C"]
    assert SoftLookup().labels == ["lemon", "green apple", "strawberry"]
    assert SoftLookup(torch.randn(30, 2)).labels[29] == "k30"


@pytest.mark.parametrize("module", [BilinearScore(2, 2), AdditiveScore(2, 2, 5)])
def test_a_score_of_ones_own(module) -> None:
    widget = SoftLookup(TRIANGLE, query=(0.3, -0.8), score=module)
    expected = module(torch.tensor([[0.3, -0.8]]), TRIANGLE)[0].detach()
    assert_close(torch.tensor(widget.scores), expected, atol=1e-4, rtol=0)
    assert widget.score in SCORES


def test_a_low_temperature_is_a_hard_look_up_and_a_uniform_mean_ignores_the_query() -> None:
    widget = SoftLookup(TRIANGLE, query=(1.0, 0.5), temperature=0.05)
    assert widget.weights[0] > 0.999
    widget.uniform = True
    before = widget.output
    widget.value = [-2, 2]
    assert widget.output == before and widget.weights == [1 / 3] * 3


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("values", [TRIANGLE, [1, 2, 4]])
@pytest.mark.parametrize("uniform", [True, False])
def test_a_picture_and_a_sentence_with_numbers(score, values, uniform) -> None:
    widget = SoftLookup(TRIANGLE, values, query=(1.0, 0.5), score=score, uniform=uniform)
    assert isinstance(widget.figure(), Figure)
    assert f"A {widget.weights[0]:.2f}" in widget.alt and "query at (1.00, 0.50) among 3 keys" in widget.alt
    assert ("same share for every key" if uniform else score) in widget.alt


def test_the_state_is_plain_data_and_the_page_gets_a_still(monkeypatch) -> None:
    monkeypatch.setenv("TFM_BOOK", "1")
    widget = SoftLookup()
    json.dumps({key: value for key, value in widget.get_state().items() if key != "layout"})
    view = widget._repr_mimebundle_()[0][WIDGET_VIEW]
    assert view["tfm"]["alt"] == widget.alt
    assert "var(--tfm-query" in view["tfm"]["still"] and "var(--tfm-key" in view["tfm"]["still"]
