"""Attention weights and softmax saturation in a kernel: what they accept, hold, say and draw."""

import gzip
import json
import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from tfm_lib.attention import dot_score, scaled_dot_score
from tfm_lib.drawing.display import svg_text
from tfm_lib.self_attention import SelfAttention, entropy, softmax_jacobian
from tfm_lib.widgets.self_attention import (
    KEYS,
    PAIRS,
    QUERIES,
    SENTENCES,
    SIZES,
    AttentionWeights,
    SoftmaxSaturation,
    WordInContext,
)
from widgets.samples.self_attention import of

WEIGHTS = [[0.5, 0.25, 0.25], [0.9, 0.05, 0.05], [0.2, 0.3, 0.5]]
WORDS = "dog bites man"


# Attention weights


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        torch.tensor,
        lambda w: torch.tensor([w]),
        lambda w: torch.tensor(w, requires_grad=True),
        lambda w: torch.tensor(w, dtype=torch.bfloat16),
        lambda w: np.round(np.array(w), 2).astype(np.float32),
    ],
)
def test_weights_come_from_any_model(make) -> None:
    widget = AttentionWeights(WORDS, make(WEIGHTS))
    assert np.shape(widget.weights) == (1, 3, 3)
    np.testing.assert_allclose(widget.weights[0], WEIGHTS, atol=3e-3)


def test_heads_and_other_key_words() -> None:
    widget = AttentionWeights("le chat", of(4, 2, 3), key_tokens="the cat sat", head=3, value=1)
    assert (widget.head, widget.value, widget.key_tokens) == (3, 1, ["the", "cat", "sat"])
    assert widget.row == widget.weights[3][1]
    assert "query “chat” in head 4 of 4 over 3 keys" in widget.alt


def test_the_query_that_looks_hardest_at_another_word_is_shown_first() -> None:
    assert AttentionWeights(WORDS, WEIGHTS).value == 1
    assert AttentionWeights("a b", [[1, 0], [0.3, 0.7]]).value == 1  # the first sees only itself
    assert AttentionWeights("a b", [[1, 0], [0.3, 0.7]], key_tokens="x y").value == 0


def test_a_row_to_be_guessed_is_not_drawn_before_its_query_is_chosen(monkeypatch) -> None:
    drawn = []
    monkeypatch.setattr("tfm_lib.widgets._figures.heatmap", lambda ax, matrix, *rest, **look: drawn.append(matrix))
    widget = AttentionWeights(WORDS, WEIGHTS, value=0, guess=1)
    widget.figure()
    widget.value = 1
    widget.figure()
    assert drawn[0] == [widget.weights[0][0], [0] * 3, widget.weights[0][2]] and drawn[1] == widget.weights[0]


def test_value_head_weights_and_words_can_be_set() -> None:
    widget, heard = AttentionWeights(WORDS, of(2, 3, 3), value=0), []
    widget.observe(lambda change: heard.append((change.name, change.new)), ["value", "head"])
    widget.value, widget.head = 2, 1
    assert heard == [("value", 2), ("head", 1)]
    widget.weights = of(2, 3, 3).flip(-1)
    widget.tokens = widget.key_tokens = ["man", "bites", "dog"]
    assert "query “dog”" in widget.alt


def test_rows_that_are_nearly_1_are_made_1() -> None:
    widget = AttentionWeights("a b", [[0.33, 0.66], [0.5, 0.501]])
    assert widget.weights[0][0] == [0.3333, 0.6667]


def test_weights_in_a_sentence() -> None:
    widget = AttentionWeights(WORDS, WEIGHTS, value=2)
    nats = entropy(torch.tensor(WEIGHTS[2])).item()
    assert widget.alt == (
        f"Attention weights of the query “man” over 3 keys: man 0.50, bites 0.30, dog 0.20. Entropy {nats:.2f} nats."
    )
    assert "7 keys, the 5 largest: " in AttentionWeights("a b c d e f g", of(1, 7, 7)).alt


@pytest.mark.parametrize(("heads", "n", "m"), [(1, 1, 1), (2, 11, 11), (1, 3, 9), (8, 40, 40)])
def test_weights_as_a_picture_that_follows_the_scheme(heads, n, m) -> None:
    keys = [f"$k_{j}$" for j in range(m)]  # a token that is no formula
    widget = AttentionWeights([f"word{i}" for i in range(n)], of(heads, n, m), key_tokens=keys)
    figure = widget.figure()
    assert isinstance(figure, Figure)
    svg = svg_text(figure)
    assert "var(--tfm-w1, #23386b)" in svg and "$k_0$" in svg


def test_words_of_a_readers_own_get_the_weights_of_their_kinds() -> None:
    torch.manual_seed(0)
    layer = SelfAttention(2, 3).double().requires_grad_(False)
    rows = torch.eye(2).double()
    scores = scaled_dot_score(layer.W_Q(rows), layer.W_K(rows))
    widget = AttentionWeights(WORDS, WEIGHTS, lexicon={"a thing": "dog man", "grammar": "the"}, scores=scores, value=2)
    widget.sentence = "the Dog, saw"
    assert widget.shown == widget.shown_keys == ["the", "Dog,", "saw"]
    expected = layer(rows[[1, 0, 1]])[1]
    torch.testing.assert_close(torch.tensor(widget.shown_weights[0]).double(), expected, atol=1e-5, rtol=0)
    assert "“saw” counts as grammar, and the weights depend only on these kinds" in widget.alt
    widget.sentence = "dog"
    assert widget.value == 0 and widget.row == [1.0]
    widget.sentence = " "
    assert widget.shown == widget.tokens and "own" not in widget.alt


def test_without_a_lexicon_there_are_no_words_of_ones_own() -> None:
    widget = AttentionWeights(WORDS, WEIGHTS)
    widget.sentence = "a b c d"
    assert widget.shown == WORDS.split() and widget.shown_weights == widget.weights


# Softmax saturation


def test_the_scores_are_those_of_the_library() -> None:
    widget = SoftmaxSaturation()
    assert np.shape(widget.scores) == (len(SIZES), QUERIES, KEYS)
    g = torch.Generator().manual_seed(6)
    Q, K = (torch.randn(QUERIES, count, 1024, generator=g) for count in (1, KEYS))
    for score, scaled in ((dot_score, False), (scaled_dot_score, True)):
        widget.value, widget.scaled = 16, scaled
        p = score(Q[..., :16], K[..., :16])[:, 0].softmax(dim=-1)
        np.testing.assert_allclose(widget.weights, p, atol=0.03)  # scores are rounded for the page


def test_the_histogram_has_the_spread_that_theory_expects() -> None:
    widget = SoftmaxSaturation()
    middles = (np.arange(32) + 0.5) / 4 - 4
    for d_k, counts in zip(widget.sizes, widget.histogram):
        assert PAIRS * 0.97 <= sum(counts) <= PAIRS
        if d_k > 4:  # the heavy tails of a short sum reach beyond the axis
            assert np.average(middles**2, weights=counts) == pytest.approx(1, abs=0.1)


def test_without_the_scale_entropy_and_gradient_fall_and_with_it_they_stay() -> None:
    widget = SoftmaxSaturation()
    measured = {}
    for scaled in (False, True):
        for d_k in SIZES:
            widget.scaled, widget.value = scaled, d_k
            p = torch.tensor(widget.weights, dtype=torch.float64)
            measured[scaled, d_k] = entropy(p).median(), softmax_jacobian(p).flatten(1).norm(dim=1).median()
    bare, scaled = ([measured[yes, d_k] for d_k in SIZES] for yes in (False, True))
    assert all(a[0] > b[0] for a, b in pairwise(bare))
    assert bare[-1][0] < 0.01 and bare[-1][1] < 0.01
    assert all(abs(nats - scaled[0][0]) < 0.35 and abs(norm - scaled[0][1]) < 0.05 for nats, norm in scaled)


def test_the_scale_is_a_temperature() -> None:
    cooled, scaled = SoftmaxSaturation(256, temperature=16), SoftmaxSaturation(256, scaled=True)
    assert cooled.weights == scaled.weights and cooled.spread == scaled.spread == 1


def test_d_k_can_be_read_set_and_be_one_of_yours() -> None:
    widget, heard = SoftmaxSaturation(d_k=100), []
    assert widget.value == 100 and 100 in widget.sizes
    widget.observe(lambda change: heard.append(change.new), "value")
    widget.value = 1024
    assert heard == [1024] and widget.spread == 32


@pytest.mark.parametrize(("d_k", "scaled", "temperature"), [(1, False, 1.0), (512, False, 1.0), (512, True, 2.0)])
def test_saturation_as_a_picture_and_a_sentence(d_k, scaled, temperature) -> None:
    widget = SoftmaxSaturation(d_k, scaled, temperature)
    assert isinstance(widget.figure(), Figure)
    assert f"At d_k = {d_k} the scores, {'' if scaled else 'not '}divided by √d_k" in widget.alt
    assert f"standard deviation {widget.spread:.3g}" in widget.alt
    assert ("at temperature 2" in widget.alt) == (temperature == 2)


def test_what_a_page_carries_is_small() -> None:
    def size(widget):
        state = {k: v for k, v in widget.get_state().items() if k not in ("layout", "_esm", "_css")}
        return len(gzip.compress(json.dumps(state).encode(), mtime=0))

    assert size(SoftmaxSaturation()) <= 6 * 1024
    assert size(AttentionWeights([str(i) for i in range(12)], of(2, 12, 12))) <= 2 * 1024


# A word in its sentence


def test_a_word_turns_towards_what_its_sentence_is_about() -> None:
    widget = WordInContext()
    turned = {}
    for widget.value in SENTENCES:
        turned[widget.value] = widget.turn
        X = torch.tensor(widget.vectors, dtype=torch.float64)
        expected = torch.softmax(X @ X.T / 2**0.5, dim=-1) @ X
        np.testing.assert_allclose(widget.output, expected[widget.asked])
    towards = {"money": [], "river": [], "both": []}
    for sentence, angle in turned.items():
        both = "money" in sentence and "river" in sentence
        towards["both" if both else "money" if re.search("money|cash", sentence) else "river"].append(angle)
    assert max(towards["money"]) < -15 and min(towards["river"]) > 15 and abs(towards["both"][0]) < 2
    widget.value = "the bank"
    assert abs(widget.turn) < 1e-6 and "turned" not in widget.alt
    widget.value = "nobody knows"
    assert np.isnan(widget.turn) and widget.weights == [0.5, 0.5]


def test_another_word_may_ask_and_words_may_move() -> None:
    widget = WordInContext(value="she took money to the bank", focus="money")
    assert widget.shown[widget.asked] == "money" and "“money” at (2.10, 0.25)" in widget.alt
    widget.places = [[0.0, 2.0] if name == "money" else place for name, place in zip(widget.names, widget.places)]
    widget.focus = "bank"
    assert widget.turn > 15, "money now stands where the river was"
    widget.focus = "nothing here"
    assert widget.shown[widget.asked] == "money", "the first word with a place asks"
