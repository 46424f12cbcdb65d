"""The widget of the heads in a kernel: weights of any model, its state, its sentences."""

import json

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch import nn

from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.widgets.multihead import Heads, habits

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
        "On average over 3 queries: on itself 1.00, on the word before 0.00, on the word after 0.00, entropy 0.00."
    )


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_picture_of_every_head(kind) -> None:
    widget = Heads(three_kinds(), SRC, TGT, kind=kind, head=1)
    picture = widget.figure()
    assert isinstance(picture, Figure)
    titles = [ax.get_title(loc="left") for ax in picture.axes]
    assert titles == [f"head {i + 1}" for i in range(len(widget.weights[kind][0]))]


# What it refuses

UNIFORM = np.full((2, 3, 3), 1 / 3)

BAD = {
    "an unknown kind": (lambda: Heads({"middle": UNIFORM}, SRC), "with encoder, decoder or cross; it holds 'middle'"),
    "nothing": (lambda: Heads({}, SRC), "it holds nothing"),
    "no target words": (lambda: Heads({"cross": UNIFORM}, SRC), "cross attention needs tgt_tokens"),
    "a kind that is not there": (lambda: Heads(UNIFORM, SRC, kind="cross"), "kind must be one of self; it is 'cross'"),
    "words that do not fit": (
        lambda: Heads(UNIFORM, "a b"),
        "self must have shape (heads, 2, 2); it has shape (2, 3, 3)",
    ),
    "a head too many": (lambda: Heads(UNIFORM, SRC, head=2), "head must be a head from 0 to 1; it is 2"),
    "a layer too many": (lambda: Heads(UNIFORM, SRC, layer=1), "layer must be a layer from 0 to 0; it is 1"),
    "a row too many": (lambda: Heads(UNIFORM, SRC, focus=3), "focus must be a row from 0 to 2; it is 3"),
    "scores": (lambda: Heads(UNIFORM - 1, SRC), "must be at least 0"),
    "rows that are cut": (lambda: Heads(UNIFORM / 2, SRC), "row 0 of head 0 in layer 0 sums to 0.5. Was the text cut"),
    "a transpose": (
        lambda: Heads(np.array([[0.2, 0.5, 0.9], [0.3, 0.4, 0.05], [0.5, 0.1, 0.05]]), SRC),
        "rows must be queries, so pass the transpose",
    ),
    "a batch of layers": (lambda: Heads(np.full((2, 5, 2, 3, 3), 1 / 3), SRC), "pass one text"),
    "a flat list": (lambda: Heads([0.5, 0.5], SRC), "self must have shape (layers, heads, 3, 3); it has shape (2,)"),
}


@pytest.mark.parametrize(("make", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_gets_a_sentence(make, words) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert words in str(caught.value)


def test_a_place_outside_is_refused_later_too() -> None:
    widget = Heads(UNIFORM, SRC)
    with pytest.raises(ValueError, match="head must be a head from 0 to 1; it is 7"):
        widget.value = 7
