"""Attention and the score functions against torch, slow loops, and their own promises."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from torch.testing import assert_close

from tfm_lib.attention import AdditiveScore, BilinearScore, attention, dot_score, scaled_dot_score

sizes = st.integers(1, 5)
batches = st.lists(st.integers(1, 3), max_size=2)


@st.composite
def lookups(draw, masked=False):
    """Q, K, V of any shape that fits and, if `masked`, a mask that leaves every query a key."""
    torch.manual_seed(draw(st.integers(0, 1000)))
    batch, n, m, d_k, d_v = draw(batches), draw(sizes), draw(sizes), draw(sizes), draw(sizes)
    Q, K, V = torch.randn(*batch, n, d_k), torch.randn(*batch, m, d_k), torch.randn(*batch, m, d_v)
    if not masked:
        return Q, K, V
    mask = torch.rand(*batch, n, m) < 0.5
    mask[..., draw(st.integers(0, m - 1))] = True
    return Q, K, V, mask


def loop_scores(Q, K, score):
    """`score` of each query with each key, one at a time."""
    return torch.tensor([[score(q, k).item() for k in K] for q in Q])


# attention against someone else


@given(lookups(masked=True))
def test_attention_equals_torch(lookup):
    Q, K, V, mask = lookup
    assert_close(attention(Q, K, V)[0], F.scaled_dot_product_attention(Q, K, V))
    assert_close(attention(Q, K, V, mask)[0], F.scaled_dot_product_attention(Q, K, V, attn_mask=mask))


def test_attention_equals_a_slow_loop():
    Q, K, V = torch.randn(3, 8), torch.randn(4, 8), torch.randn(4, 2)
    mask = torch.tensor([[True, False, True, True], [True, True, True, True], [False, False, False, True]])
    output, weights = attention(Q, K, V, mask)
    for i in range(3):
        raised = [math.exp(float(Q[i] @ K[j]) / math.sqrt(8)) if mask[i, j] else 0.0 for j in range(4)]
        expected = torch.tensor(raised) / sum(raised)
        assert_close(weights[i], expected)
        assert_close(output[i], sum(expected[j] * V[j] for j in range(4)))


def test_attention_has_the_gradient_that_finite_differences_show():
    Q, K, V = (torch.randn(3, 2, dtype=torch.double, requires_grad=True) for _ in range(3))
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    assert torch.autograd.gradcheck(lambda *QKV: attention(*QKV, mask), (Q, K, V))


# attention's promises


@given(lookups(masked=True))
def test_weights_are_a_distribution_over_the_keys(lookup):
    _, weights = attention(*lookup)
    assert (weights >= 0).all()
    assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))


@given(lookups())
def test_output_lies_among_the_values(lookup):
    Q, K, V = lookup
    output, _ = attention(Q, K, V)
    assert (output <= V.amax(dim=-2, keepdim=True) + 1e-5).all()
    assert (output >= V.amin(dim=-2, keepdim=True) - 1e-5).all()


@given(lookups(masked=True), st.randoms(use_true_random=False))
def test_keys_are_a_set_not_a_list(lookup, random):
    Q, K, V, mask = lookup
    order = random.sample(range(K.shape[-2]), K.shape[-2])
    output, weights = attention(Q, K, V, mask)
    shuffled, shuffled_weights = attention(Q, K[..., order, :], V[..., order, :], mask[..., order])
    assert_close(shuffled, output)
    assert_close(shuffled_weights, weights[..., order])


@given(lookups(masked=True))
def test_masked_is_zeroed_and_renormalised(lookup):
    Q, K, V, mask = lookup
    _, free = attention(Q, K, V)
    kept = free * mask
    assert_close(attention(Q, K, V, mask)[1], kept / kept.sum(dim=-1, keepdim=True))


@given(lookups(masked=True))
def test_hidden_weights_are_exactly_zero(lookup):
    Q, K, V, mask = lookup
    assert (attention(Q, K, V, mask)[1][~mask] == 0).all()


def test_mask_true_means_may_attend():
    mask = torch.tensor([[True, False], [False, True]])
    _, weights = attention(torch.randn(2, 3), torch.randn(2, 3), torch.randn(2, 3), mask)
    assert_close(weights, torch.eye(2))


def test_mask_rows_are_queries_and_columns_are_keys():
    mask = torch.tensor([[True, False, False], [True, True, True], [True, True, True]])
    _, weights = attention(torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4), mask)
    assert weights[0].tolist() == [1, 0, 0]
    assert (weights[1:] > 0).all()


def test_one_mask_serves_a_whole_batch():
    Q, K, V, mask = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 1), torch.rand(3, 5) < 0.7
    mask[:, 0] = True
    assert_close(attention(Q, K, V, mask)[0], attention(Q, K, V, mask.expand(2, 3, 5))[0])


def test_equal_keys_share_alike():
    output, weights = attention(torch.randn(2, 3), torch.ones(4, 3), V := torch.randn(4, 5))
    assert_close(weights, torch.full((2, 4), 0.25))
    assert_close(output, V.mean(dim=0).expand(2, 5))


def test_attention_leaves_its_arguments_alone():
    Q, K, V, mask = torch.randn(2, 3), torch.randn(2, 3), torch.randn(2, 3), torch.eye(2, dtype=torch.bool)
    before = [tensor.clone() for tensor in (Q, K, V, mask)]
    attention(Q, K, V, mask)
    assert all(torch.equal(tensor, old) for tensor, old in zip((Q, K, V, mask), before, strict=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_attention_keeps_the_precision_it_is_given(dtype):
    Q, K, V = (torch.randn(3, 4).to(dtype) for _ in range(3))
    output, weights = attention(Q, K, V, torch.ones(3, 3, dtype=torch.bool).tril())
    assert output.dtype == weights.dtype == dtype
    assert_close(weights.sum(dim=-1).float(), torch.ones(3), rtol=0, atol=1e-2)


# scores


@given(lookups())
def test_dot_score_equals_einsum(lookup):
    Q, K, _ = lookup
    assert_close(dot_score(Q, K), torch.einsum("...nd,...md->...nm", Q, K))


@given(lookups(masked=True))
def test_attention_is_the_softmax_of_the_scaled_dot_score(lookup):
    Q, K, V, _ = lookup
    assert_close(attention(Q, K, V)[1], scaled_dot_score(Q, K).softmax(dim=-1))


@pytest.mark.parametrize("d_k", [4, 64, 1024])
def test_variance_of_the_dot_product_is_d_k_and_the_scale_makes_it_1(d_k):
    Q, K = torch.randn(400, d_k), torch.randn(400, d_k)
    assert dot_score(Q, K).var().item() == pytest.approx(d_k, rel=0.1)
    assert scaled_dot_score(Q, K).var().item() == pytest.approx(1, rel=0.1)


def test_additive_score_equals_a_slow_loop():
    score = AdditiveScore(d_q=3, d_k=2, d_hidden=5)
    Q, K = torch.randn(4, 3), torch.randn(6, 2)
    W_1, W_2, v = score.W_1.weight, score.W_2.weight, score.v.weight[0]
    assert_close(score(Q, K), loop_scores(Q, K, lambda q, k: v @ torch.tanh(W_1 @ q + W_2 @ k)))


def test_bilinear_score_equals_a_slow_loop():
    score = BilinearScore(d_q=3, d_k=2)
    Q, K = torch.randn(4, 3), torch.randn(6, 2)
    assert_close(score(Q, K), loop_scores(Q, K, lambda q, k: q @ score.W.weight @ k))


def test_bilinear_score_with_the_identity_is_the_dot_score():
    score = BilinearScore(d_q=3, d_k=3)
    score.W.weight.data = torch.eye(3)
    Q, K = torch.randn(2, 4, 3), torch.randn(2, 5, 3)
    assert_close(score(Q, K), dot_score(Q, K))


@pytest.mark.parametrize("score", [AdditiveScore(3, 3, 4), BilinearScore(3, 3), dot_score, scaled_dot_score])
def test_scores_treat_each_sequence_of_a_batch_alone(score):
    Q, K = torch.randn(2, 4, 3), torch.randn(2, 5, 3)
    assert_close(score(Q, K), torch.stack([score(Q[0], K[0]), score(Q[1], K[1])]))


def test_parameters_of_the_scores_are_those_of_their_formulas():
    shapes = {name: tuple(p.shape) for name, p in AdditiveScore(3, 2, 5).named_parameters()}
    assert shapes == {"W_1.weight": (5, 3), "W_2.weight": (5, 2), "v.weight": (1, 5)}
    assert {name: tuple(p.shape) for name, p in BilinearScore(3, 2).named_parameters()} == {"W.weight": (3, 2)}


# signatures


def test_shapes_in_signatures_are_executed_under_pytest():
    with pytest.raises(TypeCheckError):
        attention.__wrapped__(torch.randn(2, 3), torch.randn(2, 4), torch.randn(2, 3))


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "no √d_k": (
        "Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])",
        "Q @ K.transpose(-2, -1)",
        "test_attention_equals_torch",
    ),
    "d_k in place of √d_k": (
        "Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])",
        "Q @ K.transpose(-2, -1) / Q.shape[-1]",
        "test_attention_equals_a_slow_loop",
    ),
    "the keys' number in place of d_k": (
        "Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])",
        "Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-2])",
        "test_attention_is_the_softmax_of_the_scaled_dot_score",
    ),
    "mask polarity flipped": (
        "scores = scores.masked_fill(~mask, -torch.inf)",
        "scores = scores.masked_fill(mask, -torch.inf)",
        "test_mask_true_means_may_attend",
    ),
    "mask transposed": (
        "scores = scores.masked_fill(~mask, -torch.inf)",
        "scores = scores.masked_fill(~mask.mT, -torch.inf)",
        "test_mask_rows_are_queries_and_columns_are_keys",
    ),
    "mask forgotten": (
        "scores = scores.masked_fill(~mask, -torch.inf)",
        "pass",
        "test_attention_equals_torch",
    ),
    "0 in place of −∞": (
        "scores = scores.masked_fill(~mask, -torch.inf)",
        "scores = scores.masked_fill(~mask, 0)",
        "test_hidden_weights_are_exactly_zero",
    ),
    "−1e9 in place of −∞": (
        "scores = scores.masked_fill(~mask, -torch.inf)",
        "scores = scores.masked_fill(~mask, -1e9)",
        "test_attention_keeps_the_precision_it_is_given",
    ),
    "masked after the softmax, not renormalised": (
        "scores = scores.masked_fill(~mask, -torch.inf)\n    weights = scores.softmax(dim=-1)",
        "pass\n    weights = scores.softmax(dim=-1) * (1 if mask is None else mask)",
        "test_masked_is_zeroed_and_renormalised",
    ),
    "softmax over the queries": (
        "weights = scores.softmax(dim=-1)",
        "weights = scores.softmax(dim=-2)",
        "test_weights_are_a_distribution_over_the_keys",
    ),
    "no softmax": (
        "weights = scores.softmax(dim=-1)",
        "weights = scores",
        "test_output_lies_among_the_values",
    ),
    "a uniform mean": (
        "weights = scores.softmax(dim=-1)",
        "weights = (0 * scores).softmax(dim=-1)",
        "test_attention_equals_a_slow_loop",
    ),
    "scores without the scale": (
        "return dot_score(Q, K) / math.sqrt(Q.shape[-1])",
        "return dot_score(Q, K)",
        "test_variance_of_the_dot_product_is_d_k_and_the_scale_makes_it_1",
    ),
    "additive score without tanh": (
        "self.v(hidden.tanh())",
        "self.v(hidden)",
        "test_additive_score_equals_a_slow_loop",
    ),
    "additive score of the key alone": (
        "self.W_1(Q).unsqueeze(-2) + ",
        "0 * self.W_1(Q).unsqueeze(-2) + ",
        "test_additive_score_equals_a_slow_loop",
    ),
    "bilinear score halved": (
        "return Q @ self.W(K)",
        "return Q / 2 @ self.W(K)",
        "test_bilinear_score_with_the_identity_is_the_dot_score",
    ),
    "additive score with a bias": (
        "self.W_1 = nn.Linear(d_q, d_hidden, bias=False)",
        "self.W_1 = nn.Linear(d_q, d_hidden)",
        "test_parameters_of_the_scores_are_those_of_their_formulas",
    ),
}
