"""Self-attention against torch, slow loops and autograd, and what √d_k is for."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.autograd.functional import jacobian
from torch.testing import assert_close

from tfm_lib.attention import attention
from tfm_lib.self_attention import SelfAttention, entropy, softmax_jacobian

sizes = st.integers(1, 6)
seeds = st.integers(0, 1000)


@st.composite
def distributions(draw):
    """Weights of any shape: each row sums to 1, some entries are nearly or exactly 0."""
    torch.manual_seed(draw(seeds))
    scores = draw(st.sampled_from([0.1, 1, 10, 200])) * torch.randn(*draw(st.lists(sizes, min_size=1, max_size=3)))
    return scores.softmax(dim=-1)


# the layer


@given(n=sizes, d=sizes, seed=seeds)
def test_self_attention_equals_torch_with_one_head(n, d, seed):
    torch.manual_seed(seed)
    ours, theirs = SelfAttention(d, d), nn.MultiheadAttention(d, num_heads=1, bias=False, batch_first=True)
    theirs.in_proj_weight.data = torch.cat([ours.W_Q.weight, ours.W_K.weight, ours.W_V.weight]).detach()
    theirs.out_proj.weight.data = torch.eye(d)
    X, mask = torch.randn(2, n, d), torch.ones(n, n, dtype=torch.bool).tril()
    for ours_may, theirs_may_not in ((None, None), (mask, ~mask)):
        output, weights = ours(X, ours_may)
        expected, expected_weights = theirs(X, X, X, attn_mask=theirs_may_not)
        assert_close(output, expected)
        assert_close(weights, expected_weights)


def test_self_attention_equals_a_slow_loop():
    layer, X = SelfAttention(d_model=4, d_k=3, d_v=2), torch.randn(5, 4)
    W_Q, W_K, W_V = (W.weight.T for W in (layer.W_Q, layer.W_K, layer.W_V))
    output, weights = layer(X)
    for i in range(5):
        raised = torch.stack([torch.exp((X[i] @ W_Q) @ (X[j] @ W_K) / math.sqrt(3)) for j in range(5)])
        assert_close(weights[i], raised / raised.sum())
        assert_close(output[i], sum(weights[i, j] * (X[j] @ W_V) for j in range(5)))


def test_bare_self_attention_is_the_case_of_identities():
    layer, X = SelfAttention(d_model=3, d_k=3), torch.randn(4, 3)
    for W in (layer.W_Q, layer.W_K, layer.W_V):
        W.weight.data = torch.eye(3)
    assert_close(layer(X), attention(X, X, X))


@given(n=sizes, seed=seeds, random=st.randoms(use_true_random=False))
def test_order_of_the_words_is_not_seen(n, seed, random):
    torch.manual_seed(seed)
    layer, X, order = SelfAttention(4, 3), torch.randn(n, 4), random.sample(range(n), n)
    output, weights = layer(X)
    shuffled, shuffled_weights = layer(X[order])
    assert_close(shuffled, output[order])
    assert_close(shuffled_weights, weights[order][:, order])


def test_mask_reaches_the_weights():
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    _, weights = SelfAttention(3, 2)(torch.randn(2, 4, 3), mask)
    assert (weights[:, ~mask] == 0).all()
    assert (weights[:, mask] > 0).all()


def test_parameters_are_three_matrices():
    shapes = {name: tuple(p.shape) for name, p in SelfAttention(8, 3, d_v=5).named_parameters()}
    assert shapes == {"W_Q.weight": (3, 8), "W_K.weight": (3, 8), "W_V.weight": (5, 8)}
    assert SelfAttention(8, 3).W_V.out_features == 3


# why √d_k


@pytest.mark.parametrize("d_k", [16, 256])
def test_variance_of_q_dot_k_is_d_k(d_k):
    q, k = torch.randn(20_000, d_k), torch.randn(20_000, d_k)
    assert (q * k).sum(dim=-1).var().item() == pytest.approx(d_k, rel=0.05)


def test_scale_keeps_entropy_and_gradient_alive_at_large_d_k():
    def entropy_and_slope(d_k):
        _, weights = attention(torch.randn(200, d_k), K := torch.randn(32, d_k), K)
        return entropy(weights).mean().item(), softmax_jacobian(weights).norm(dim=(-2, -1)).mean().item()

    narrow, wide = entropy_and_slope(8), entropy_and_slope(512)
    assert wide == pytest.approx(narrow, rel=0.15)


def test_softmax_saturates_without_the_scale():
    scores = torch.randn(200, 512) @ torch.randn(32, 512).T
    scaled, unscaled = (scores / math.sqrt(512)).softmax(dim=-1), scores.softmax(dim=-1)
    assert entropy(unscaled).mean() < 0.1 * entropy(scaled).mean()
    assert softmax_jacobian(unscaled).abs().amax() <= 0.25
    assert softmax_jacobian(unscaled).norm(dim=(-2, -1)).median() < 0.01


# the softmax's derivative


@given(st.integers(1, 6), seeds)
def test_softmax_jacobian_equals_autograd(m, seed):
    torch.manual_seed(seed)
    scores = 3 * torch.randn(m)
    assert_close(softmax_jacobian(scores.softmax(dim=-1)), jacobian(lambda s: s.softmax(dim=-1), scores))


@given(distributions())
def test_softmax_jacobian_is_symmetric_and_its_rows_sum_to_0(p):
    J = softmax_jacobian(p)
    assert_close(J, J.mT)
    assert_close(J.sum(dim=-1), torch.zeros_like(p))


def test_softmax_jacobian_of_a_one_hot_is_0():
    assert softmax_jacobian(torch.tensor([0.0, 1.0, 0.0])).tolist() == [[0] * 3] * 3


def test_softmax_jacobian_treats_each_row_alone():
    p = torch.randn(2, 3, 4).softmax(dim=-1)
    assert_close(softmax_jacobian(p)[1, 2], softmax_jacobian(p[1, 2]))


# entropy


@given(distributions())
def test_entropy_equals_torch(weights):
    assert_close(entropy(weights), torch.distributions.Categorical(probs=weights).entropy(), rtol=1e-4, atol=1e-5)


@given(distributions())
def test_entropy_lies_between_0_and_ln_m(weights):
    assert (entropy(weights) >= 0).all()
    assert (entropy(weights) <= math.log(weights.shape[-1]) + 1e-5).all()


def test_entropy_of_one_hot_and_of_equal_shares():
    weights = torch.tensor([[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0, 0]])
    assert_close(entropy(weights), torch.tensor([0, math.log(4), math.log(2)]))


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "W_Q and W_K swapped": (
        "self.W_Q(X), self.W_K(X)",
        "self.W_K(X), self.W_Q(X)",
        "test_self_attention_equals_a_slow_loop",
    ),
    "values not projected by W_V": (
        "self.W_V(X), mask",
        "self.W_K(X), mask",
        "test_self_attention_equals_torch_with_one_head",
    ),
    "mask dropped on the way": (
        "self.W_V(X), mask)",
        "self.W_V(X))",
        "test_mask_reaches_the_weights",
    ),
    "jacobian without −ppᵀ": (
        " - p.unsqueeze(-1) * p.unsqueeze(-2)",
        "",
        "test_softmax_jacobian_is_symmetric_and_its_rows_sum_to_0",
    ),
    "jacobian with +ppᵀ": (
        "torch.diag_embed(p) - p",
        "torch.diag_embed(p) + p",
        "test_softmax_jacobian_equals_autograd",
    ),
    "entropy in bits": (
        ".sum(dim=-1)",
        ".sum(dim=-1) / torch.tensor(2.0).log()",
        "test_entropy_of_one_hot_and_of_equal_shares",
    ),
    "entropy averaged over the keys": (
        ".sum(dim=-1)",
        ".mean(dim=-1)",
        "test_entropy_equals_torch",
    ),
}
