"""The widgets of the heads in a kernel: weights of any model, an ablation, their states, their sentences."""

import hashlib
import json

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch import nn

from tfm_lib.drawing import recorded
from tfm_lib.engine.shipped import shipped_folder
from tfm_lib.engine.trained import WEIGHTS
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.widgets.multihead import HeadAblation, Heads, habits
from widgets.golden_multihead import measured

SRC, TGT = "le chat dort", "the cat sleeps now"


def random_weights(*shape) -> torch.Tensor:
    return torch.randn(*shape).softmax(dim=-1)


def three_kinds() -> dict:
    return {
        "encoder": random_weights(2, 4, 3, 3),
        "decoder": random_weights(2, 4, 4, 4),
        "cross": random_weights(1, 2, 4, 3),
    }


# What it takes


def test_three_attentions_have_their_own_queries_and_keys() -> None:
    widget = Heads(three_kinds(), SRC, TGT)
    assert list(widget.weights) == ["encoder", "decoder", "cross"]
    words = {}
    for kind in widget.weights:
        widget.kind = kind
        words[kind] = widget.tokens
    src, tgt = SRC.split(), TGT.split()
    assert words == {"encoder": (src, src), "decoder": (tgt, tgt), "cross": (tgt, src)}


@pytest.mark.parametrize("shape", [(3, 3), (4, 3, 3), (2, 4, 3, 3)])
@pytest.mark.parametrize("make", [lambda w: w, lambda w: w.numpy(), lambda w: w.tolist(), lambda w: w.bfloat16()])
def test_one_array_is_self_attention(shape, make) -> None:
    weights = random_weights(*shape)
    widget = Heads(make(weights), SRC)
    assert np.shape(widget.weights["self"]) == (1,) * (4 - len(shape)) + shape
    torch.testing.assert_close(torch.tensor(widget.matrix), weights.reshape(-1, 3, 3)[0], atol=5e-3, rtol=0)


def test_one_array_with_target_words_is_cross_attention() -> None:
    widget = Heads(random_weights(4, 4, 3), SRC, TGT)
    assert (widget.kind, widget.tokens) == ("cross", (TGT.split(), SRC.split()))


def test_a_list_of_layers_with_a_batch_of_one_as_other_libraries_return_it() -> None:
    layers = tuple(random_weights(1, 4, 3, 3) for _ in range(5))
    widget = Heads(layers, SRC, layer=4, head=2)
    assert np.shape(widget.weights["self"]) == (5, 4, 3, 3)
    torch.testing.assert_close(torch.tensor(widget.matrix), layers[4][0, 2], atol=6e-4, rtol=0)


def test_weights_of_torch_and_of_this_book_come_as_they_are() -> None:
    X = torch.randn(1, 3, 8)
    ours = MultiHeadAttention(8, 2)(X, X, X, causal_mask(3))[1]
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)(X, X, X, average_attn_weights=False)[1]
    for weights in (ours, theirs):
        assert np.shape(Heads(weights, SRC).weights["self"]) == (1, 2, 3, 3)


# State


def test_value_is_the_head_and_can_be_read_and_set() -> None:
    widget, heard = Heads(three_kinds(), SRC, TGT, head=1), []
    widget.observe(lambda change: heard.append(change.new), "value")
    assert widget.value == 1
    widget.value = 3
    assert heard == [3]
    assert widget.matrix == widget.weights["encoder"][0][3]


def test_another_attention_with_fewer_heads_keeps_the_place_inside() -> None:
    widget = Heads(three_kinds(), SRC, TGT, kind="decoder", layer=1, head=3, focus=3)
    widget.kind = "cross"
    assert (widget.layer, widget.value, widget.focus) == (0, 1, 3)
    widget.kind = "encoder"
    assert widget.focus == 2


def test_the_browser_changes_several_traits_at_once() -> None:
    widget = Heads(three_kinds(), SRC, TGT, kind="cross")
    widget.set_state({"kind": "decoder", "layer": 1, "value": 3, "focus": 3})
    assert (widget.kind, widget.layer, widget.value, widget.focus) == ("decoder", 1, 3, 3)


def test_state_is_plain_data() -> None:
    state = Heads(three_kinds(), SRC, TGT).get_state()
    json.dumps({key: value for key, value in state.items() if key != "layout"})
    assert state["_module"] == "multihead/heads"


# What it says


def test_habits_of_a_head_that_looks_at_the_word_before() -> None:
    weights = torch.eye(4).roll(-1, dims=1).roll(1, dims=1).roll(1, dims=0)  # row i looks at i − 1, row 0 at the last
    assert habits(weights) == {"itself": 0, "before": 1, "after": 0, "entropy": 0}
    assert habits(torch.eye(4))["itself"] == 1
    assert habits(weights, asks_itself=False) == {"entropy": 0}


def test_alt_names_place_query_and_numbers() -> None:
    weights = torch.eye(3).expand(2, 4, 3, 3)
    widget = Heads(weights, SRC, layer=1, head=2, focus=1)
    assert widget.alt == (
        "Head 3 of 4 in layer 2 of 2, self-attention. The query “chat” over 3 keys: chat 1.00, le 0.00, dort 0.00. "
        "On average over 3 queries: on itself 1.00, on the previous word 0.00, on the next word 0.00, entropy 0.00."
    )


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_picture_of_every_head(kind) -> None:
    widget = Heads(three_kinds(), SRC, TGT, kind=kind, head=1)
    picture = widget.figure()
    assert isinstance(picture, Figure)
    titles = [ax.get_title(loc="left") for ax in picture.axes]
    assert titles == [f"head {i + 1}" for i in range(len(widget.weights[kind][0]))]


# Heads switched off


def test_one_head_a_layer_or_the_first_of_the_order_are_off() -> None:
    data = measured()
    widget = HeadAblation(data)
    assert widget.off == []
    widget.value = 4
    assert widget.off == [4]
    widget.mode = "layer"
    assert widget.off == [3, 4, 5]
    widget.mode, widget.removed = "order", 4
    assert widget.off == data["order"][:4]


@pytest.mark.parametrize(
    ("state", "entry"),
    [
        ({}, lambda data: data["whole"]),
        ({"value": 5}, lambda data: data["heads"][5]),
        ({"value": 5, "mode": "layer"}, lambda data: data["layers"][1]),
        ({"mode": "order", "removed": 6}, lambda data: data["pruned"][3]),
    ],
)
def test_the_cost_is_the_difference_from_the_whole_model(state, entry) -> None:
    data = measured()
    widget, (loss, bleu, _) = HeadAblation(data, **state), entry(data)
    summed = sum(data["heads"][i][0] - 1.0 for i in widget.off)
    assert widget.cost == {"loss": loss - 1.0, "bleu": bleu - 50.0, "summed": summed}


def test_worth_counts_the_heads_above_1_bleu() -> None:
    data = measured()
    for entry, bleu in zip(data["heads"], (50, 49.1, 49.0, 48.9, 40, 51)):
        entry[1] = bleu
    assert HeadAblation(data).worth == 2


def test_heads_that_were_tried_alone_are_remembered() -> None:
    widget = HeadAblation(measured())
    for value in (4, 1, 4, -1):
        widget.value = value
    widget.mode = "layer"
    widget.value = 2
    assert widget.tried == [4, 1]


def test_alt_names_what_is_off_its_cost_and_the_changed_sentence() -> None:
    data = measured()
    assert HeadAblation(data).alt == "All 6 heads on: loss 1.000 nats, BLEU 50.0."
    assert HeadAblation(data, guess=2).alt.endswith(" Guess: 2 of them cost more than 1 BLEU, one at a time.")
    data["heads"][4] = [1.25, 48.5, [None, "Bon matin !"]]
    assert HeadAblation(data, value=4).alt == (
        "Without head 2 of layer 1, cross-attention: loss 1.000 → 1.250 nats (+0.250), BLEU 50.0 → 48.5 (-1.5). "
        "“Good morning!” becomes “Bon matin !”."
    )
    assert "all heads of layer 1, cross-attention" in HeadAblation(data, value=4, mode="layer").alt
    assert "the 2 least important of 6 heads" in HeadAblation(data, mode="order", removed=2).alt


@pytest.mark.parametrize("state", [{}, {"value": 3}, {"mode": "layer", "value": 3}, {"mode": "order", "removed": 4}])
def test_a_picture_of_every_ablation(state) -> None:
    assert isinstance(HeadAblation(measured(), **state).figure(), Figure)


def test_without_an_argument_it_shows_the_recorded_run() -> None:
    widget = HeadAblation()
    assert widget.n == len(widget.measured["order"])
    json.dumps({key: value for key, value in widget.get_state().items() if key != "layout"})


def test_the_recorded_run_is_of_the_shipped_model() -> None:
    weights = (shipped_folder() / WEIGHTS).read_bytes()
    stale = "the translator has changed: run python -m experiments.multihead_ablation again"
    assert recorded("multihead_ablation")["model"] == hashlib.sha256(weights).hexdigest()[:16], stale
