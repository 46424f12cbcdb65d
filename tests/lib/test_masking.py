"""Masks against torch and slow loops, and the promises they keep inside attention."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask, combine, leak, padding_mask
from tfm_lib.self_attention import SelfAttention

lengths = st.integers(1, 6)
seeds = st.integers(0, 1000)


# causal


@given(lengths)
def test_causal_mask_equals_a_slow_loop(n):
    assert causal_mask(n).tolist() == [[j <= i for j in range(n)] for i in range(n)]


def test_causal_mask_equals_torch():
    assert torch.equal(~causal_mask(5), nn.Transformer.generate_square_subsequent_mask(5) == -torch.inf)


@given(lengths)
def test_first_position_sees_itself_and_the_last_sees_all(n):
    mask = causal_mask(n)
    assert mask[0].tolist() == [True] + [False] * (n - 1)
    assert mask[-1].all()


@given(n=st.integers(2, 6), seed=seeds, data=st.data())
def test_future_token_changes_nothing_earlier(n, seed, data):
    torch.manual_seed(seed)
    layer, X, mask = SelfAttention(d_model=4, d_k=3), torch.randn(n, 4), causal_mask(n)
    changed = X.clone()
    j = data.draw(st.integers(1, n - 1))
    changed[j] += 10
    before, after = layer(X, mask)[0], layer(changed, mask)[0]
    assert_close(after[:j], before[:j], rtol=0, atol=0)
    assert not torch.allclose(after[j], before[j])


# padding


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=4).filter(
        lambda b: all(map(any, b))
    )
)
def test_padding_mask_equals_a_slow_loop(batch):
    mask = padding_mask(torch.tensor(batch), pad_id=0)
    assert mask.tolist() == [[[token != 0 for token in sentence]] for sentence in batch]


@given(real=lengths, padding=lengths, seed=seeds)
def test_padding_is_invisible(real, padding, seed):
    torch.manual_seed(seed)
    layer, X = SelfAttention(d_model=4, d_k=3), torch.randn(1, real, 4)
    padded = torch.cat([X, 10 * torch.randn(1, padding, 4)], dim=1)
    ids = torch.tensor([[5] * real + [9] * padding])
    assert_close(layer(padded, padding_mask(ids, pad_id=9))[0][:, :real], layer(X)[0])


def test_padding_hides_keys_not_queries():
    ids = torch.tensor([[7, 8, 0]])
    _, weights = attention(*torch.randn(3, 1, 3, 4), padding_mask(ids, pad_id=0))
    assert (weights[0, :, 2] == 0).all()
    assert (weights[0, :, :2] > 0).all()


# combine


@given(with_padding=st.booleans(), with_window=st.booleans(), random=st.randoms(use_true_random=False))
def test_combine_allows_what_every_mask_allows(with_padding, with_window, random):
    padding = padding_mask(torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]]), 0) if with_padding else None
    window = torch.ones(2, 4, 4, dtype=torch.bool).triu(-2) if with_window else None
    masks = [causal_mask(4), padding, window]
    combined = combine(*random.sample(masks, 3))
    full = [mask.expand(2, 4, 4) for mask in masks if mask is not None]
    expected = [[[all(mask[b, i, j] for mask in full) for j in range(4)] for i in range(4)] for b in range(2)]
    assert combined.expand(2, 4, 4).tolist() == expected


def test_combine_of_causal_and_padding_has_a_row_for_each_query_of_each_sentence():
    ids = torch.tensor([[3, 4, 0], [3, 4, 5]])
    combined = combine(causal_mask(3), padding_mask(ids, pad_id=0))
    lower = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert combined.int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 0]], lower]


def test_combine_skips_none():
    assert combine() is None
    assert combine(None, None) is None
    assert torch.equal(combine(None, causal_mask(3), None), causal_mask(3))


# leak


@given(n=lengths, d=lengths)
def test_leak_of_a_running_sum_is_all_that_came_before(n, d):
    assert_close(leak(lambda x: x.cumsum(dim=0), torch.randn(n, d)), torch.ones(n, n).tril())


def test_leak_rows_are_outputs_and_columns_are_inputs():
    def peek_one_ahead(x):
        return torch.cat([2 * x[1:], x[-1:]])

    assert leak(peek_one_ahead, torch.randn(3, 2)).tolist() == [[0, 2, 0], [0, 0, 2], [0, 0, 1]]


def test_leak_equals_finite_differences():
    layer, x, step = SelfAttention(3, 3, d_v=2).double(), torch.randn(4, 3, dtype=torch.double), 1e-6
    expected = torch.zeros(4, 4, dtype=torch.double)
    for j in range(4):
        for d in range(3):
            nudge = torch.zeros_like(x)
            nudge[j, d] = step
            slope = (layer(x + nudge)[0] - layer(x - nudge)[0]) / (2 * step)
            expected[:, j] = torch.maximum(expected[:, j], slope.abs().amax(dim=-1))
    assert_close(leak(lambda x: layer(x)[0], x), expected, rtol=1e-5, atol=1e-8)


@given(n=lengths, seed=seeds)
def test_leak_is_zero_above_the_diagonal_behind_a_causal_mask(n, seed):
    torch.manual_seed(seed)
    layer, x = SelfAttention(4, 3), torch.randn(n, 4)
    seen = leak(lambda x: layer(x, causal_mask(n))[0], x)
    assert (seen.triu(1) == 0).all()
    assert (seen.tril()[causal_mask(n)] > 0).all()


def test_leak_finds_a_model_that_sees_the_future():
    layer, x = SelfAttention(4, 3), torch.randn(4, 4)
    for mask in (None, causal_mask(4).T):
        assert leak(lambda x, mask=mask: layer(x, mask)[0], x).triu(1).max() > 0


def test_leak_takes_one_sequence_with_or_without_a_batch_axis():
    layer, x = SelfAttention(4, 3), torch.randn(3, 4)
    assert_close(leak(lambda x: layer(x)[0], x), leak(lambda x: layer(x)[0], x[None]))


def test_leak_of_a_constant_is_zero():
    assert leak(lambda x: 0 * x[:, :2] + 1, torch.randn(3, 4)).tolist() == [[0] * 3] * 3
    with pytest.raises(ValueError, match="^model_fn must let the gradient through"):
        leak(lambda x: torch.ones(3, 2), torch.randn(3, 4))  # as what a peeking model returns behind a detach


def test_leak_leaves_the_model_and_its_input_without_gradients():
    layer, x = SelfAttention(4, 3), torch.randn(3, 4)
    leak(lambda x: layer(x)[0], x)
    assert x.grad is None
    assert all(p.grad is None for p in layer.parameters())


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "causal is strict, j < i": (
        ".tril()",
        ".tril(-1)",
        "test_first_position_sees_itself_and_the_last_sees_all",
    ),
    "causal looks one ahead": (
        ".tril()",
        ".tril(1)",
        "test_leak_is_zero_above_the_diagonal_behind_a_causal_mask",
    ),
    "causal transposed": (
        ".tril()",
        ".triu()",
        "test_future_token_changes_nothing_earlier",
    ),
    "causal hides nothing": (
        ".tril()",
        "",
        "test_causal_mask_equals_torch",
    ),
    "padding polarity flipped": (
        "ids != pad_id",
        "ids == pad_id",
        "test_padding_is_invisible",
    ),
    "padding is whatever is at most pad_id": (
        "ids != pad_id",
        "ids > pad_id",
        "test_padding_is_invisible",
    ),
    "padding hides queries": (
        "mask.unsqueeze(1)",
        "mask.unsqueeze(2)",
        "test_padding_hides_keys_not_queries",
    ),
    "combine allows what any mask allows": (
        "torch.logical_and",
        "torch.logical_or",
        "test_combine_allows_what_every_mask_allows",
    ),
    "combine trips over None": (
        " if mask is not None]",
        "]",
        "test_combine_skips_none",
    ),
    "leak transposed": (
        ".amax(dim=(1, 3))",
        ".amax(dim=(1, 3)).mT",
        "test_leak_rows_are_outputs_and_columns_are_inputs",
    ),
    "leak hears only positive slopes": (
        ".abs().amax",
        ".amax",
        "test_leak_equals_finite_differences",
    ),
}
