"""Multi-head attention against torch and against h attentions of our own; caches against no cache."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask, combine, leak, padding_mask
from tfm_lib.multihead import KeyValueCache, MemoryCache, MultiHeadAttention, merge_heads, split_heads, without_heads

seeds = st.integers(0, 1000)
heads_and_width = st.tuples(st.integers(1, 4), st.integers(1, 3)).map(lambda hw: (hw[0], hw[0] * hw[1]))
both = pytest.mark.parametrize("need_weights", [True, False])


def torch_twin(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """PyTorch's layer with the parameters of `ours`."""
    theirs = nn.MultiheadAttention(
        ours.W_Q.in_features, ours.n_heads, ours.dropout, batch_first=True, dtype=ours.W_Q.weight.dtype
    )
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.W_Q.weight, ours.W_K.weight, ours.W_V.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.W_Q.bias, ours.W_K.bias, ours.W_V.bias]))
        theirs.out_proj.load_state_dict(ours.W_O.state_dict())
    return theirs.train(ours.training)


def separate_heads(layer, query, key, value, mask=None):
    """The definition, with one attention after the other: outputs of the layer and weights of every head."""
    d_k, outputs, weights = layer.W_Q.in_features // layer.n_heads, [], []
    for i in range(layer.n_heads):
        rows = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = (
            F.linear(X, W.weight[rows], W.bias[rows])
            for X, W in ((query, layer.W_Q), (key, layer.W_K), (value, layer.W_V))
        )
        output, shares = attention(Q, K, V, mask)
        outputs.append(output)
        weights.append(shares)
    return layer.W_O(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)


# heads


@given(heads_and_width, st.integers(1, 4), st.lists(st.integers(1, 3), max_size=2))
def test_merge_heads_undoes_split_heads(heads, n, batch):
    n_heads, d_model = heads
    X = torch.randn(*batch, n, d_model)
    parts = split_heads(X, n_heads)
    assert parts.shape == (*batch, n_heads, n, d_model // n_heads)
    assert torch.equal(merge_heads(parts), X)


def test_a_head_is_a_slice_of_every_vector():
    X = torch.arange(12).reshape(2, 6).float()
    assert split_heads(X, 3).tolist() == [[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [10, 11]]]


def test_merged_heads_stand_side_by_side_at_each_position():
    heads = torch.tensor([[[1.0], [2.0]], [[10.0], [20.0]]])  # (n_heads, n, d_v)
    assert merge_heads(heads).tolist() == [[1, 10], [2, 20]]


# oracles


@both
@given(heads=heads_and_width, n=st.integers(1, 5), m=st.integers(1, 5), batch=st.integers(1, 3), seed=seeds)
def test_multihead_equals_torch(need_weights, heads, n, m, batch, seed):
    torch.manual_seed(seed)
    n_heads, d_model = heads
    layer = MultiHeadAttention(d_model, n_heads).double()
    query = torch.randn(batch, n, d_model, dtype=torch.double)
    key, value = torch.randn(2, batch, m, d_model, dtype=torch.double)
    mask = torch.rand(batch, n, m) < 0.6
    mask[..., 0] = True
    expected, shares = torch_twin(layer)(
        query, key, value, attn_mask=~mask.repeat_interleave(n_heads, dim=0), average_attn_weights=False
    )
    output, weights = layer(query, key, value, mask, need_weights)
    assert_close(output, expected, rtol=1e-6, atol=1e-6)
    if need_weights:
        assert_close(weights, shares, rtol=1e-6, atol=1e-6)
    else:
        assert weights is None


@given(heads=heads_and_width, seed=seeds, masked=st.booleans())
def test_one_big_projection_equals_separate_heads(heads, seed, masked):
    torch.manual_seed(seed)
    n_heads, d_model = heads
    layer = MultiHeadAttention(d_model, n_heads).double()
    query, key, value = torch.randn(3, 2, 4, d_model, dtype=torch.double)
    mask = causal_mask(4) if masked else None
    output, weights = layer(query, key, value, mask)
    expected, shares = separate_heads(layer, query, key, value, mask)
    assert_close(output, expected, rtol=1e-9, atol=1e-9)
    assert_close(weights, shares, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "mask",
    [None, causal_mask(4), padding_mask(torch.tensor([[5, 5, 5, 0], [5, 5, 0, 0]]), 0)],
    ids=["none", "causal", "padding"],
)
def test_fused_kernel_equals_the_clear_form(mask):
    layer, X = MultiHeadAttention(8, 2), torch.randn(2, 4, 8)
    clear, _ = layer(X, X, X, mask)
    fused, weights = layer(X, X, X, mask, need_weights=False)
    assert weights is None
    assert_close(fused, clear, rtol=1e-6, atol=1e-6)


@both
def test_gradients_equal_those_of_torch(need_weights):
    layer = MultiHeadAttention(6, 3).double()
    twin, X = torch_twin(layer), torch.randn(2, 4, 6, dtype=torch.double)
    layer(X, X, X, causal_mask(4), need_weights)[0].square().sum().backward()
    twin(X, X, X, attn_mask=~causal_mask(4))[0].square().sum().backward()
    ours = torch.cat([layer.W_Q.weight.grad, layer.W_K.weight.grad, layer.W_V.weight.grad])
    assert_close(ours, twin.in_proj_weight.grad, rtol=1e-6, atol=1e-6)
    assert_close(layer.W_O.weight.grad, twin.out_proj.weight.grad, rtol=1e-6, atol=1e-6)


# promises


@given(heads=heads_and_width, seed=seeds)
def test_weights_are_a_distribution_in_every_head(heads, seed):
    torch.manual_seed(seed)
    n_heads, d_model = heads
    X = torch.randn(2, 3, d_model)
    _, weights = MultiHeadAttention(d_model, n_heads)(X, X, X, causal_mask(3))
    assert weights.shape == (2, n_heads, 3, 3)
    assert_close(weights.sum(dim=-1), torch.ones(2, n_heads, 3))
    assert (weights.triu(1) == 0).all()


def test_parameters_do_not_depend_on_the_number_of_heads():
    counts = {sum(p.numel() for p in MultiHeadAttention(16, h).parameters()) for h in (1, 2, 4, 8, 16)}
    assert counts == {4 * (16 * 16 + 16)}


def test_every_head_is_scaled_by_its_own_width():
    layer, X = MultiHeadAttention(8, 4), torch.randn(1, 3, 8)
    Q, K = split_heads(layer.W_Q(X), 4), split_heads(layer.W_K(X), 4)
    assert_close(layer(X, X, X)[1], (Q @ K.mT / 2**0.5).softmax(dim=-1))


def test_heads_do_not_see_each_other():
    """Head i reads rows i of the projections only: the others' do not change its weights."""
    layer, X = MultiHeadAttention(6, 3), torch.randn(1, 4, 6)
    before = layer(X, X, X)[1]
    with torch.no_grad():
        layer.W_Q.weight[2:4] += 1  # head 1 of 0, 1, 2
    after = layer(X, X, X)[1]
    assert torch.equal(after[:, [0, 2]], before[:, [0, 2]])
    assert not torch.allclose(after[:, 1], before[:, 1])


@both
def test_future_token_changes_nothing_earlier(need_weights):
    layer = MultiHeadAttention(8, 2)
    seen = leak(lambda x: layer(x[None], x[None], x[None], causal_mask(5), need_weights)[0][0], torch.randn(5, 8))
    assert (seen.triu(1) == 0).all()
    assert (seen[causal_mask(5)] > 0).all()


@both
def test_padding_is_invisible(need_weights):
    layer, X = MultiHeadAttention(8, 4), torch.randn(2, 5, 8)
    noisy, ids = X.clone(), torch.tensor([[7, 7, 7, 0, 0], [7, 7, 7, 7, 7]])
    noisy[0, 3:] += 100
    mask = combine(causal_mask(5), padding_mask(ids, pad_id=0))
    before, after = (layer(Z, Z, Z, mask, need_weights)[0] for Z in (X, noisy))
    assert torch.equal(before[ids > 0], after[ids > 0])


@both
def test_dropout_falls_on_the_weights_while_training_only(need_weights):
    layer, X = MultiHeadAttention(8, 2, dropout=0.5), torch.randn(1, 40, 8)
    rested = layer.eval()(X, X, X, need_weights=need_weights)[0]
    assert torch.equal(rested, layer(X, X, X, need_weights=need_weights)[0])
    trained = torch.stack([layer.train()(X, X, X, need_weights=need_weights)[0] for _ in range(400)])
    assert not torch.allclose(trained[0], trained[1])
    assert_close(trained.mean(dim=0), rested, rtol=0, atol=0.1)  # unbiased


def test_returned_weights_are_those_before_dropout():
    layer, X = MultiHeadAttention(8, 2, dropout=0.5), torch.randn(1, 4, 8)
    assert torch.equal(layer.train()(X, X, X)[1], layer.eval()(X, X, X)[1])


# caches


@both
@given(heads=heads_and_width, chunks=st.lists(st.integers(1, 3), min_size=1, max_size=4), seed=seeds)
def test_cache_equals_no_cache(need_weights, heads, chunks, seed):
    torch.manual_seed(seed)
    n_heads, d_model = heads
    layer, n = MultiHeadAttention(d_model, n_heads).double(), sum(chunks)
    X, mask, cache = torch.randn(2, n, d_model, dtype=torch.double), causal_mask(n), KeyValueCache()
    expected, shares = layer(X, X, X, mask)
    for count in chunks:
        start, end = cache.length, cache.length + count
        new = X[:, start:end]
        output, weights = layer(new, new, new, mask[start:end, :end], need_weights, cache)
        assert cache.length == end
        assert_close(output, expected[:, start:end], rtol=1e-9, atol=1e-9)
        if need_weights:
            assert_close(weights, shares[:, :, start:end, :end], rtol=1e-9, atol=1e-9)


def test_cache_projects_each_position_once():
    layer, X, cache, seen = MultiHeadAttention(4, 2), torch.randn(1, 5, 4), KeyValueCache(), []
    layer.W_K.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape[1]))
    for i in range(5):
        layer(*[X[:, i : i + 1]] * 3, cache=cache)
    assert seen == [1] * 5


def test_memory_cache_projects_the_memory_once_and_keeps_it():
    layer, memory, cache, seen = MultiHeadAttention(4, 2), torch.randn(1, 5, 4), MemoryCache(), []
    layer.W_V.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape[1]))
    for _ in range(3):
        query = torch.randn(1, 1, 4)
        output, weights = layer(query, memory, memory, cache=cache)
        assert cache.length == 5
        seen_now = list(seen)
        assert_close((output, weights), layer(query, memory, memory))
        seen[:] = seen_now
    assert seen == [5]


@pytest.mark.parametrize("kind", [KeyValueCache, MemoryCache])
def test_selected_rows_go_on_as_if_they_had_been_alone(kind):
    layer, X, cache, rows = MultiHeadAttention(4, 2), torch.randn(3, 4, 4), kind(), torch.tensor([2, 0, 2])
    layer(X, X, X, cache=cache)
    cache.select(rows)
    new, past = torch.randn(3, 1, 4), X[rows]
    read = past if kind is MemoryCache else new
    keys = past if kind is MemoryCache else torch.cat([past, new], dim=1)
    assert_close(layer(new, read, read, cache=cache), layer(new, keys, keys))


def test_an_empty_cache_has_length_0_and_nothing_to_select():
    cache = KeyValueCache()
    cache.select(torch.tensor([0]))
    assert (cache.length, cache.K, cache.V) == (0, None, None)


# heads switched off


@both
@given(heads=heads_and_width, seed=seeds, off=st.sets(st.integers(0, 3)))
def test_without_heads_leaves_their_terms_out_of_the_sum(need_weights, heads, seed, off):
    torch.manual_seed(seed)
    n_heads, d_model = heads
    layer, X = MultiHeadAttention(d_model, n_heads).double(), torch.randn(2, 3, d_model, dtype=torch.double)
    off, d_v = {i for i in off if i < n_heads}, d_model // n_heads
    found, _ = attention(*(split_heads(W(X), n_heads) for W in (layer.W_Q, layer.W_K, layer.W_V)))
    terms = found @ layer.W_O.weight.T.unflatten(0, (n_heads, d_v))  # (batch, n_heads, n, d_model)
    expected = layer.W_O.bias + sum(terms[:, i] for i in range(n_heads) if i not in off)
    with without_heads(layer, *off):
        output, _ = layer(X, X, X, need_weights=need_weights)
    assert_close(output, expected.expand_as(X))


def test_heads_come_back_after_the_block_also_after_an_error():
    layer = MultiHeadAttention(6, 3)
    before = layer.W_O.weight.clone()
    with pytest.raises(KeyError), without_heads(layer, 1) as same:  # noqa: PT012 (the block is what is tried)
        assert same is layer and (layer.W_O.weight != before).any()
        raise KeyError
    assert torch.equal(layer.W_O.weight, before)


def test_blocks_without_heads_stand_in_one_another():
    layer = MultiHeadAttention(6, 3)
    before = layer.W_O.weight.clone()
    with without_heads(layer, 0):
        with without_heads(layer, 2):
            assert [(layer.W_O.weight[:, 2 * i : 2 * i + 2] == 0).all().item() for i in range(3)] == [True, False, True]
        assert [(layer.W_O.weight[:, 2 * i : 2 * i + 2] == 0).all().item() for i in range(3)] == [True, False, False]
    assert torch.equal(layer.W_O.weight, before)


# what is compared


class Pulled(MultiHeadAttention):
    """Scores with a table of numbers added."""

    def __init__(self, table: torch.Tensor, dropout: float = 0.0):
        super().__init__(8, 2, dropout)
        self.table = table

    def compared(self, Q, K):
        return Q, K, self.table


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_bias_enters_the_scores_and_leaves_the_mask_its_place(need_weights):
    table, X, mask = torch.randn(2, 4, 5), torch.randn(3, 5, 8), torch.rand(3, 4, 5) > 0.4
    mask[..., 0] = True
    layer = Pulled(table)
    output, weights = layer(X[:, :4], X, X, mask, need_weights)
    Q, K, V = (split_heads(W(Z), 2) for W, Z in ((layer.W_Q, X[:, :4]), (layer.W_K, X), (layer.W_V, X)))
    scores = torch.einsum("bhnd,bhmd->bhnm", Q, K) / 2 + table
    expected = scores.where(mask[:, None], -torch.inf).softmax(dim=-1)
    assert_close(output, layer.W_O(merge_heads(expected @ V)))
    if need_weights:
        assert_close(weights, expected)


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_bias_of_zero_is_plain_attention(need_weights):
    layer, plain, X = Pulled(torch.zeros(5, 5)), MultiHeadAttention(8, 2), torch.randn(2, 5, 8)
    plain.load_state_dict(layer.state_dict())
    assert_close(layer(X, X, X, causal_mask(5), need_weights), plain(X, X, X, causal_mask(5), need_weights))


@pytest.mark.parametrize("need_weights", [True, False])
def test_dropout_falls_on_biased_weights_too(need_weights):
    layer, X = Pulled(torch.zeros(20, 20), dropout=0.5), torch.randn(1, 20, 8)
    one, two = (layer(X, X, X, need_weights=need_weights)[0] for _ in range(2))
    assert not torch.allclose(one, two)


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "rows instead of columns switched off": (
        "W.unflatten(1, (layer.n_heads, -1))[:, list(off)] = 0",
        "W.unflatten(0, (layer.n_heads, -1))[list(off)] = 0",
        "test_without_heads_leaves_their_terms_out_of_the_sum",
    ),
    "heads stay off": (
        "W.copy_(kept)",
        "pass",
        "test_heads_come_back_after_the_block_also_after_an_error",
    ),
    "heads cut without exchanging axes": (
        "X.unflatten(-1, (n_heads, -1)).transpose(-3, -2)",
        "X.reshape(*X.shape[:-2], n_heads, X.shape[-2], -1)",
        "test_a_head_is_a_slice_of_every_vector",
    ),
    "heads joined without exchanging axes": (
        "return heads.transpose(-3, -2).flatten(-2)",
        "return heads.reshape(*heads.shape[:-3], heads.shape[-2], -1)",
        "test_merged_heads_stand_side_by_side_at_each_position",
    ),
    "joined wrongly, the future leaks": (
        "return heads.transpose(-3, -2).flatten(-2)",
        "return heads.reshape(*heads.shape[:-3], heads.shape[-2], -1)",
        "test_future_token_changes_nothing_earlier",
    ),
    "heads interleaved": (
        "X.unflatten(-1, (n_heads, -1)).transpose(-3, -2)",
        "X.unflatten(-1, (-1, n_heads)).movedim(-1, -3)",
        "test_one_big_projection_equals_separate_heads",
    ),
    "no W_O": (
        "return self.W_O(merge_heads(heads))",
        "return merge_heads(heads)",
        "test_multihead_equals_torch",
    ),
    "scaled by the root of d_model": (
        "heads, weights = attention(Q, K, V, mask)",
        "heads, weights = attention(Q / Q.shape[1] ** 0.5, K, V, mask)",
        "test_every_head_is_scaled_by_its_own_width",
    ),
    "values projected by W_K": (
        "K, V = self.W_K(key), self.W_V(value)",
        "K, V = self.W_K(key), self.W_K(value)",
        "test_multihead_equals_torch",
    ),
    "the first head's weights for all": (
        "return self.W_O(merge_heads(heads)), weights",
        "return self.W_O(merge_heads(heads)), weights if weights is None else weights[:, :1].expand_as(weights)",
        "test_heads_do_not_see_each_other",
    ),
    "fused without the mask": (
        "attn_mask=seen",
        "attn_mask=None",
        "test_padding_is_invisible",
    ),
    "fused scaled otherwise": (
        "attn_mask=seen, dropout_p=dropout",
        "attn_mask=seen, dropout_p=dropout, scale=1.0",
        "test_fused_kernel_equals_the_clear_form",
    ),
    "the bias forgotten": (
        "weights = (scaled_dot_score(Q, K) + B).softmax(dim=-1)",
        "weights = (scaled_dot_score(Q, K) + 0 * B).softmax(dim=-1)",
        "test_a_bias_enters_the_scores_and_leaves_the_mask_its_place",
    ),
    "the mask forgotten where there is a bias": (
        "B = B if B is None else B.masked_fill(~mask, -torch.inf)",
        "pass",
        "test_a_bias_enters_the_scores_and_leaves_the_mask_its_place",
    ),
    "dropout forgotten where there is a bias": (
        "(F.dropout(weights, dropout) @ V if dropout else heads)",
        "(F.dropout(weights, dropout) @ V if dropout and B is None else heads)",
        "test_dropout_falls_on_biased_weights_too",
    ),
    "dropout also at rest": (
        "self.dropout if self.training else 0.0",
        "self.dropout",
        "test_dropout_falls_on_the_weights_while_training_only",
    ),
    "no dropout on the weights": (
        "(F.dropout(weights, dropout) @ V if dropout else heads)",
        "heads",
        "test_dropout_falls_on_the_weights_while_training_only",
    ),
    "cache puts new keys in front": (
        "torch.cat([self.K, K], dim=-2)",
        "torch.cat([K, self.K], dim=-2)",
        "test_cache_equals_no_cache",
    ),
    "cache forgets": (
        "self.K = K if self.K is None else torch.cat([self.K, K], dim=-2)",
        "self.K = K",
        "test_cache_equals_no_cache",
    ),
    "memory cache projects every time": (
        "        if self.K is None:\n            self.K, self.V = project()",
        "        self.K, self.V = project()",
        "test_memory_cache_projects_the_memory_once_and_keeps_it",
    ),
    "a beam keeps its old values": (
        "self.K, self.V = self.K[rows], self.V[rows]",
        "self.K = self.K[rows]",
        "test_selected_rows_go_on_as_if_they_had_been_alone",
    ),
}
