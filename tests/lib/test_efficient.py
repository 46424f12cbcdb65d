"""Attention for longer sentences against attention, slow loops and torch; a draft against every way that chance may go."""

import math
from collections import defaultdict
from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from lib.misfits import CALLABLE, SHARE, SIZE, WHOLE
from tfm_lib.attention import attention
from tfm_lib.decoding import greedy_decode
from tfm_lib.efficient import (
    GroupedQueryAttention,
    SlidingCache,
    accept_drafts,
    cache_bytes,
    gated_recurrence,
    gated_recurrence_step,
    linear_attention,
    linear_attention_step,
    lsh_attention,
    lsh_buckets,
    lsh_pairs,
    speculative_decode,
    tiled_attention,
    window_attention,
)
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import KeyValueCache, MemoryCache, MultiHeadAttention
from tfm_lib.transformer import DecoderOnly, Transformer, TransformerConfig

seeds = st.integers(0, 1000)
lengths = st.integers(1, 20)


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor holds that is made meanwhile."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for each in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(each, Tensor):
                self.numbers = max(self.numbers, each.untyped_storage().nbytes() // each.element_size())
        return made


def words(n: int, m: int, d_k: int = 5, d_v: int = 3, dtype=torch.float64) -> list[Tensor]:
    shapes = (2, n, d_k), (2, m, d_k), (2, m, d_v)
    return [torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in shapes]


def with_gradients(output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """The output, and what a loss with random slopes sends back."""
    slopes = torch.randn(output.shape, generator=torch.Generator().manual_seed(1), dtype=output.dtype)
    return [output, *torch.autograd.grad(output, inputs, slopes)]


# tiles


@given(n=lengths, m=lengths, size=st.integers(1, 8), masked=st.booleans(), seed=seeds)
def test_tiles_are_attention_with_all_gradients(n, m, size, masked, seed):
    torch.manual_seed(seed)
    inputs, mask = words(n, m), None
    if masked:
        mask = (torch.rand(2, n, m) < 0.5).scatter(-1, torch.randint(m, (2, n, 1)), True)
    plain = with_gradients(attention(*inputs, mask)[0], inputs)
    tiled = with_gradients(tiled_attention(*inputs, mask, size=size), inputs)
    assert_close(tiled, plain, atol=1e-10, rtol=0)


def test_tiles_agree_in_half_the_bits_and_under_masks_that_broadcast():
    torch.manual_seed(0)
    inputs = words(300, 300, 64, 64, torch.float32)
    for mask in (causal_mask(300), torch.rand(2, 1, 300) < 0.9, torch.rand(1, 300) < 0.9):
        plain = with_gradients(attention(*inputs, mask)[0], inputs)
        tiled = with_gradients(tiled_attention(*inputs, mask, size=64), inputs)
        assert_close(tiled, plain, atol=1e-5, rtol=0)


def test_scores_of_a_thousand_are_no_problem_for_tiles():
    Q, K, V = (300 * X.detach() for X in words(9, 20))
    assert_close(tiled_attention(Q, K, V, size=4), attention(Q, K, V)[0])


def test_tiles_have_the_first_and_second_derivatives_that_finite_differences_find():
    assert torch.autograd.gradcheck(lambda *inputs: tiled_attention(*inputs, size=2), words(5, 4))
    assert torch.autograd.gradgradcheck(lambda *inputs: tiled_attention(*inputs, size=2), words(5, 4))


@pytest.mark.parametrize("in_dims", [(0, 0, 0), (0, None, None), (None, 1, None), (2, None, 0)])
@pytest.mark.parametrize("masked", [False, True])
def test_tiles_go_under_vmap_whoever_has_the_axis(in_dims, masked):
    torch.manual_seed(0)
    inputs = [X.detach() for X in words(5, 4)]
    inputs = [X if dim is None else torch.stack([X, -X, X + 1], dim) for X, dim in zip(inputs, in_dims)]
    mask = torch.tensor([[True, False, True, True]]) if masked else None
    plain = torch.vmap(lambda *inputs: attention(*inputs, mask)[0], in_dims)(*inputs)
    assert_close(torch.vmap(lambda *inputs: tiled_attention(*inputs, mask, size=2), in_dims)(*inputs), plain)


def test_tiles_go_under_vmap_with_a_mask_for_each():
    torch.manual_seed(0)
    inputs = [X.detach() for X in words(5, 4)]
    masks = torch.rand(3, 5, 4) < 0.7
    masks[..., 0] = True
    tiled = torch.vmap(lambda mask: tiled_attention(*inputs, mask, size=2))(masks)
    assert_close(tiled, torch.stack([attention(*inputs, mask)[0] for mask in masks]))


TRANSFORMS = {
    "grad": lambda attend, *inputs: torch.func.grad(lambda *X: attend(*X).sin().sum(), (0, 1, 2))(*inputs),
    "jacrev": lambda attend, *inputs: torch.func.jacrev(attend, (0, 1, 2))(*inputs),
    "a slope for each example": lambda attend, *inputs: torch.vmap(
        torch.func.grad(lambda *X: attend(*X).sin().sum(), (0, 1, 2)), (0, None, 0)
    )(inputs[0], inputs[1][0], inputs[2]),
    "a slope through many examples": lambda attend, *inputs: torch.func.grad(
        lambda Q, K, V: torch.vmap(attend, (0, None, None))(Q, K[0], V[0]).sin().sum(), (0, 1, 2)
    )(*inputs),
    "the second derivative": lambda attend, *inputs: torch.func.jacrev(
        torch.func.grad(lambda *X: attend(*X).sin().sum(), (0, 1, 2)), (0, 1, 2)
    )(*inputs),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_tiles_have_the_derivatives_of_attention_in_torch_func(name, masked):
    torch.manual_seed(0)
    inputs = [X.detach() for X in words(3, 4, 2, 2)]
    mask = torch.tensor([[True, False, True, True]]) if masked else None
    tiled = TRANSFORMS[name](lambda *X: tiled_attention(*X, mask, size=2), *inputs)
    plain = TRANSFORMS[name](lambda *X: attention(*X, mask)[0], *inputs)
    assert_close(tiled, plain, atol=1e-10, rtol=0)


def test_no_query_is_no_trouble_for_tiles():
    Q, K, V = words(0, 4)
    O = tiled_attention(Q, K, V, size=2)
    assert O.shape == (2, 0, 3)
    assert all((slope == 0).all() for slope in torch.autograd.grad(O.sum(), (Q, K, V)))


def test_nothing_larger_than_a_tile_is_made():
    inputs = words(200, 300)
    with Largest() as made:
        tiled_attention(*inputs, size=16).sum().backward()
    assert made.numbers <= max(X.numel() for X in inputs) < 200 * 300 / 10


def test_the_recorded_memory_of_tiles_is_a_tenth_of_the_plain_form_s():
    from tfm_lib.drawing import recorded  # what stands beside the core is not there where the core is mutated

    at = recorded("efficient_scaling")["methods"]["8192"]
    for stage in ("forward", "backward"):
        assert at["tiled"]["memory"][stage] <= at["full"]["memory"][stage] / 10


# windows


@given(n=lengths, back=st.integers(0, 9), ahead=st.integers(0, 5), seed=seeds)
def test_a_window_is_attention_under_its_mask(n, back, ahead, seed):
    torch.manual_seed(seed)
    inputs = words(n, n)
    i, j = torch.arange(n)[:, None], torch.arange(n)
    plain = with_gradients(attention(*inputs, (i - back <= j) & (j <= i + ahead))[0], inputs)
    assert_close(with_gradients(window_attention(*inputs, back, ahead), inputs), plain)


def test_a_window_makes_nothing_that_is_n_by_n():
    inputs = words(1000, 1000)
    with Largest() as made:
        window_attention(*inputs, back=3).sum().backward()
    assert made.numbers < 40 * 1000


def test_the_recorded_window_grows_with_n():
    from tfm_lib.drawing import recorded

    slopes = recorded("efficient_scaling")["slopes"]
    assert slopes["window"]["slope"] <= 1.15 and slopes["full"]["slope"] > 1.8


# hashing


def slow_pairs(buckets: list[list[int]], size: int) -> list[list[bool]]:
    """Who looks at whom, by its definition."""
    n = len(buckets[0])
    met = [[False] * n for _ in range(n)]
    for bucket in buckets:
        order = sorted(range(n), key=lambda i: (bucket[i], i))
        chunk = {i: place // size for place, i in enumerate(order)}
        for i in range(n):
            for j in range(n):
                met[i][j] |= i != j and bucket[i] == bucket[j] and chunk[i] - chunk[j] in (0, 1)
    return [[met[i][j] or (i == j and not any(met[i])) for j in range(n)] for i in range(n)]


@given(
    chunks=st.integers(1, 5), size=st.integers(1, 6), n_buckets=st.integers(1, 5), rounds=st.integers(1, 4), seed=seeds
)
def test_hashing_is_attention_among_those_that_met(chunks, size, n_buckets, rounds, seed):
    torch.manual_seed(seed)
    n = chunks * size
    buckets = torch.randint(n_buckets, (rounds, 2, n))
    pairs = lsh_pairs(buckets, size)
    assert pairs.tolist() == [slow_pairs(buckets[:, row].tolist(), size) for row in range(2)]
    X, _, V = words(n, n)
    plain = with_gradients(attention(X, F.normalize(X, dim=-1), V, pairs)[0], [X, V])
    assert_close(with_gradients(lsh_attention(X, V, buckets, size), [X, V]), plain, atol=1e-7, rtol=1e-5)


def test_hashing_makes_nothing_that_is_n_by_n():
    X, V = torch.randn(1, 2000, 8), torch.randn(1, 2000, 8)
    with Largest() as made:
        lsh_attention(X, V, lsh_buckets(X, 100, 2), size=20)
    assert made.numbers <= 2000 * 2000 / 8


def test_the_same_direction_shares_a_bucket_and_the_opposite_does_not():
    X = torch.randn(50, 8)
    here, longer, opposite = (lsh_buckets(each, 6, 3, torch.Generator().manual_seed(0)) for each in (X, 3 * X, -X))
    assert here.equal(longer) and here.shape == (3, 50)
    assert ((here - opposite).abs() == 3).all() and set(here.flatten().tolist()) == set(range(6))


def test_what_points_nearly_the_same_way_meets_more_often_and_rounds_help():
    torch.manual_seed(0)
    X = torch.randn(128, 32)
    X = torch.cat([X, X + 0.2 * torch.randn(128, 32)])
    twin = (torch.arange(256) + 128) % 256
    found = [
        torch.stack([lsh_pairs(lsh_buckets(X, 16, rounds), 32)[torch.arange(256), twin] for _ in range(10)])
        .double().mean().item() for rounds in (1, 4)
    ]  # fmt: skip
    apart = lsh_pairs(lsh_buckets(X, 16, 1), 32).double().mean().item()
    assert apart < 0.15
    assert 0.6 < found[0] < 0.95 < found[1]


# sums


@given(n=lengths, size=st.integers(1, 8), seed=seeds)
def test_both_forms_of_linear_attention_are_its_definition(n, size, seed):
    torch.manual_seed(seed)
    inputs = words(n, n)
    Q, K, V = inputs
    weights = ((F.elu(Q) + 1) @ (F.elu(K) + 1).mT).tril()
    expected = with_gradients(weights @ V / weights.sum(dim=-1, keepdim=True), inputs)
    assert_close(with_gradients(linear_attention(Q, K, V, size), inputs), expected)
    state, outputs = None, []
    for t in range(n):
        output, state = linear_attention_step(Q[:, t], K[:, t], V[:, t], state)
        outputs.append(output)
        assert state.shape == (2, 5, 4)
    assert_close(with_gradients(torch.stack(outputs, dim=1), inputs), expected)


@pytest.mark.parametrize("far", [-20.0, -100.0, -1e30, 1e4])
def test_linear_attention_is_finite_where_its_inputs_are(far):
    Q, K, V = (torch.randn(7, 3).add(shift).requires_grad_() for shift in (far, far, 0.0))
    output = linear_attention(Q, K, V, 3)
    output.sum().backward()
    assert output.isfinite().all() and all(X.grad.isfinite().all() for X in (Q, K, V))
    stepped, state = linear_attention_step(Q[0], K[0], V[0])
    assert_close(stepped, V[0]) and state.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_linear_attention_is_finite_in_every_precision(dtype):
    V = torch.randn(7, 3, dtype=dtype)
    output = linear_attention(torch.full((7, 3), -20.0, dtype=dtype), torch.full((7, 3), -20.0, dtype=dtype), V, 3)
    assert output.isfinite().all()


def test_linear_attention_makes_nothing_that_is_n_by_n():
    with Largest() as made:
        linear_attention(*words(4000, 4000), size=50).sum().backward()
    assert made.numbers < 2 * 4000 * 51


# sums with a gate


def slowly_gated(Q: Tensor, K: Tensor, V: Tensor, gates: Tensor) -> Tensor:
    """Pair by pair: vⱼ comes to i with the weight (qᵢ·kⱼ) aⱼ₊₁ ⋯ aᵢ."""
    rows = []
    for i in range(Q.shape[-2]):
        pairs = [
            (Q[:, i] * K[:, j]).sum(-1, keepdim=True) * gates[:, j + 1 : i + 1].prod(-1, keepdim=True) * V[:, j]
            for j in range(i + 1)
        ]
        rows.append(torch.stack(pairs).sum(dim=0))
    return torch.stack(rows, dim=1)


@given(n=lengths, size=st.integers(1, 8), closed=st.booleans(), seed=seeds)
def test_both_forms_of_the_gated_recurrence_are_a_loop_over_pairs(n, size, closed, seed):
    torch.manual_seed(seed)
    gates = torch.rand(2, n, dtype=torch.float64)
    gates = gates.masked_fill(gates < 0.3, 0) if closed else gates
    inputs = [*words(n, n), gates.requires_grad_()]
    Q, K, V, gates = inputs
    expected = with_gradients(slowly_gated(*inputs), inputs)
    assert_close(with_gradients(gated_recurrence(*inputs, size), inputs), expected)
    state, outputs = Q.new_zeros(2, 5, 3), []
    for t in range(n):
        output, state = gated_recurrence_step(Q[:, t], K[:, t], V[:, t], gates[:, t], state)
        outputs.append(output)
    assert_close(with_gradients(torch.stack(outputs, dim=1), inputs), expected)
    assert_close(gated_recurrence_step(Q[:, 0], K[:, 0], V[:, 0], gates[:, 0])[0], outputs[0])


def test_gates_of_1_leave_the_plain_sum_and_gates_of_0_the_position_alone():
    torch.manual_seed(0)
    Q, K, V = words(20, 20)
    assert_close(gated_recurrence(Q, K, V, Q.new_ones(2, 20), 8), (Q @ K.mT).tril() @ V)
    assert_close(gated_recurrence(Q, K, V, Q.new_zeros(2, 20), 8), (Q * K).sum(-1, keepdim=True) * V)


def test_the_gated_recurrence_has_the_derivatives_that_finite_differences_find():
    torch.manual_seed(0)
    inputs = [*words(5, 5), torch.rand(2, 5, dtype=torch.float64).requires_grad_()]
    assert torch.autograd.gradcheck(lambda *inputs: gated_recurrence(*inputs, size=2), inputs)
    assert torch.autograd.gradgradcheck(lambda *inputs: gated_recurrence(*inputs, size=2), inputs)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("gate", [0.0, 1e-7, 0.5, 0.99])
def test_the_gated_recurrence_is_finite_for_long_inputs_in_every_precision(dtype, gate):
    torch.manual_seed(0)
    inputs = [X.detach().to(dtype).requires_grad_() for X in words(2000, 2000)]
    inputs.append(torch.full((2, 2000), gate, dtype=dtype, requires_grad=True))
    output = gated_recurrence(*inputs)
    assert output.isfinite().all()
    assert all(slope.isfinite().all() for slope in torch.autograd.grad(output.mean(), inputs))
    assert_close(output.double(), gated_recurrence(*(X.double() for X in inputs)), atol=0.4, rtol=0.05)


def test_the_gated_recurrence_goes_under_vmap_and_no_text_is_no_trouble():
    torch.manual_seed(0)
    Q, K, V = (X.detach() for X in words(5, 5))
    gates = torch.rand(2, 5, dtype=torch.float64)
    assert_close(torch.vmap(gated_recurrence)(Q, K, V, gates), gated_recurrence(Q, K, V, gates))
    assert gated_recurrence(Q[:, :0], K[:, :0], V[:, :0], gates[:, :0]).shape == (2, 0, 3)


def test_the_gated_recurrence_makes_nothing_that_is_n_by_n():
    inputs = [*words(4000, 4000), torch.rand(2, 4000, dtype=torch.float64)]
    with Largest() as made:
        gated_recurrence(*inputs, size=50).sum().backward()
    assert made.numbers < 2 * 4000 * 51


# shared keys, sliding caches


def test_as_many_key_heads_as_heads_are_multi_head_attention():
    torch.manual_seed(0)
    grouped, usual, X = GroupedQueryAttention(12, 4, n_key_heads=4), MultiHeadAttention(12, 4), torch.randn(2, 5, 12)
    grouped.load_state_dict(usual.state_dict())
    for need_weights in (True, False):
        assert_close(grouped(X, X, X, causal_mask(5), need_weights), usual(X, X, X, causal_mask(5), need_weights))


@pytest.mark.parametrize("n_key_heads", [1, 2, 4])
def test_grouped_heads_are_those_of_torch(n_key_heads):
    torch.manual_seed(0)
    layer, X = GroupedQueryAttention(16, 4, n_key_heads=n_key_heads), torch.randn(2, 6, 16)
    Q, K, V = (W(X).unflatten(-1, (-1, 4)).transpose(1, 2) for W in (layer.W_Q, layer.W_K, layer.W_V))
    heads = F.scaled_dot_product_attention(Q, K, V, is_causal=True, enable_gqa=True)
    expected = layer.W_O(heads.transpose(1, 2).flatten(2))
    for need_weights in (True, False):
        output, weights = layer(X, X, X, causal_mask(6), need_weights)
        assert_close(output, expected)
        assert (weights is None) != need_weights
    assert weights is None and layer(X, X, X)[1].shape == (2, 4, 6, 6)


def test_a_decoder_with_shared_keys_writes_with_a_cache_of_those_alone():
    torch.manual_seed(0)
    config = TransformerConfig(11, d_model=16, n_heads=4, d_ff=8, n_layers=2, dropout=0.0)
    model = DecoderOnly(config, attention=partial(GroupedQueryAttention, n_key_heads=2)).half().eval()
    ids, caches = torch.randint(1, 11, (3, 7)), [KeyValueCache() for _ in range(2)]
    whole = model(ids)
    steps = [model(ids[:, t : t + 1], caches) for t in range(7)]
    assert_close(torch.cat(steps, dim=1), whole, atol=2e-3, rtol=2e-3)
    held = sum(X.numel() * X.element_size() for cache in caches for X in (cache.K, cache.V))
    assert held == cache_bytes(7, n_layers=2, n_key_heads=2, d_k=4, batch=3) == 2 * 2 * 2 * 4 * 7 * 3 * 2


@given(n=st.integers(1, 12), window=st.integers(1, 6), seed=seeds)
def test_a_sliding_cache_gives_what_one_pass_under_a_window_gives(n, window, seed):
    torch.manual_seed(seed)
    layer, X, cache = MultiHeadAttention(8, 2), torch.randn(2, n, 8), SlidingCache(window)
    i, j = torch.arange(n)[:, None], torch.arange(n)
    whole, _ = layer(X, X, X, (i - window < j) & (j <= i))
    steps = []
    for t, x in enumerate(X.split(1, dim=1)):
        assert cache.length == t
        steps.append(layer(x, x, x, cache=cache)[0])
        assert cache.K.shape[-2] == cache.V.shape[-2] == min(t + 1, window)
    assert_close(torch.cat(steps, dim=1), whole)


@pytest.mark.parametrize("window", [1, 3, 20])
def test_a_decoder_with_sliding_caches_reads_as_under_a_window_in_every_layer(window):
    model, caches = tiny_decoder(0, 12, n_layers=2), [SlidingCache(window) for _ in range(2)]
    ids, n = torch.randint(1, 12, (2, 9)), 9
    i, j = torch.arange(n)[:, None], torch.arange(n)
    X = model.embedding(ids)
    for layer in model.layers:
        X, _ = layer(X, (i - window < j) & (j <= i))
    steps = [model(column, caches) for column in ids.split(1, dim=1)]
    assert_close(torch.cat(steps, dim=1), model.embedding.unembed(model.norm(X)))


def test_a_translator_writes_with_sliding_caches_as_under_a_window():
    model, window, src, ids = tiny(0, 12), 3, torch.tensor([[5, 7, 3]]), torch.randint(1, 12, (1, 8))
    memory, i, j = model.encode(src), torch.arange(8)[:, None], torch.arange(8)
    Y, _ = model.decoder[0](model.embedding(ids), memory.H, (i - window < j) & (j <= i), memory.mask)
    caches = [(SlidingCache(window), MemoryCache())]
    steps = [model.decode(column, memory, caches) for column in ids.split(1, dim=1)]
    assert_close(torch.cat(steps, dim=1), model.decoder_norm(Y))


def test_a_sliding_cache_reads_one_position_at_a_time():
    layer, X = MultiHeadAttention(8, 2), torch.randn(1, 2, 8)
    with pytest.raises(ValueError, match=r"^key must be one position at a time, .+; got 2 positions\.$"):
        layer(X, X, X, cache=SlidingCache(4))


# drafts


class Way:
    """One way that chance may go: `draw` follows `begun`, then always what is first; `others` are the ways not taken."""

    def __init__(self, begun: list[int]):
        self.taken, self.begun, self.others, self.probability = [], begun, [], 1.0

    def draw(self, p: Tensor) -> int:
        at, likely = len(self.taken), [index for index, share in enumerate(p.tolist()) if share > 0]
        if at < len(self.begun):
            index = self.begun[at]
        else:
            index = likely[0]
            self.others += [[*self.taken, other] for other in likely[1:]]
        self.taken.append(index)
        self.probability *= p[index].item()
        return index


def every_way(run: Callable[[Callable[[Tensor], int]], list[int]]) -> dict[tuple, float]:
    """What `run(draw)` may give, each with its probability: every draw goes every way that has one."""
    found, begun = defaultdict(float), [[]]
    while begun:
        way = Way(begun.pop())
        tokens = tuple(run(way.draw))
        found[tokens] += way.probability
        begun += way.others
    return found


@given(v=st.integers(2, 4), k=st.integers(0, 2), seed=seeds)
def test_accepted_tokens_are_distributed_as_if_the_large_model_had_drawn_them(v, k, seed):
    torch.manual_seed(seed)
    p, q = torch.randn(k + 1, v, dtype=torch.float64).softmax(-1), torch.randn(k, v, dtype=torch.float64).softmax(-1)

    def run(draw):
        return accept_drafts(p, q, [draw(row) for row in q], draw)

    found = every_way(run)
    assert math.isclose(sum(found.values()), 1)
    for t in range(k + 1):  # given that token t is written, it is drawn from row t, whatever stands before it
        for before in {tokens[:t] for tokens in found if len(tokens) > t}:
            shares = [sum(p for tokens, p in found.items() if tokens[: t + 1] == (*before, x)) for x in range(v)]
            assert_close(torch.tensor(shares) / sum(shares), p[t].float(), atol=1e-6, rtol=0)


def tiny(seed: int, v: int, loud: float = 3.0) -> Transformer:
    """A small model that is sure of nothing, in float64."""
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(v, d_model=8, n_heads=2, d_ff=16, n_layers=1, dropout=0.0)).double().eval()
    model.embedding.tokens.weight.data[:] = loud * torch.randn(v, 8) / 8**0.5
    return model


def tiny_decoder(seed: int, v: int, n_layers: int = 1, loud: float = 3.0) -> DecoderOnly:
    """The same without an encoder."""
    torch.manual_seed(seed)
    model = DecoderOnly(TransformerConfig(v, d_model=8, n_heads=2, d_ff=16, n_layers=n_layers, dropout=0.0))
    model.embedding.tokens.weight.data[:] = loud * torch.randn(v, 8) / 8**0.5
    return model.double().eval()


@pytest.mark.parametrize(("ahead", "max_len"), [(1, 3), (2, 3), (3, 2)])
def test_speculation_has_exactly_the_distribution_of_the_large_model(ahead, max_len):
    model, draft, src = tiny(0, 3, 1.0), tiny(1, 3, 1.0), torch.tensor([[1, 2]])
    softmax = partial(torch.softmax, dim=-1)

    def run(draw):
        return speculative_decode(model, draft, src, 1, 2, ahead, max_len, softmax, draw).ids

    def alone(draw):
        ids = [1]
        while ids[-1] != 2 and len(ids) <= max_len:
            with torch.no_grad():
                ids.append(draw(model(src, torch.tensor([ids]))[0, -1].softmax(dim=-1)))
        return ids[1:]

    found, expected = every_way(run), every_way(alone)
    assert found.keys() == expected.keys() and len(expected) >= 7
    assert max(expected.values()) < 0.9
    for ids, probability in expected.items():
        assert math.isclose(found[ids], probability, abs_tol=1e-9)


@pytest.mark.parametrize(("seed", "ahead", "max_len"), [(0, 1, 1), (0, 1, 9), (1, 3, 7), (2, 5, 12), (3, 2, 12)])
def test_a_greedy_model_writes_with_any_draft_what_it_writes_alone(seed, ahead, max_len):
    model, draft, src = tiny(seed, 12), tiny(seed + 1, 12), torch.tensor([[5, 7, 3]])
    alone = greedy_decode(model, src, 1, 2, max_len)[0].tolist()
    written = speculative_decode(model, draft, src, 1, 2, ahead, max_len)
    assert written.ids == alone and sum(written.per_call) == len(alone)
    assert all(1 <= each <= ahead + 1 for each in written.per_call)


@pytest.mark.parametrize(("seed", "ahead", "max_len"), [(0, 1, 1), (1, 3, 7), (2, 5, 12), (3, 2, 12)])
def test_a_greedy_decoder_goes_on_with_any_draft_as_it_does_alone(seed, ahead, max_len):
    model, draft, begun = tiny_decoder(seed, 12, 2), tiny_decoder(seed + 1, 12), torch.tensor([[5, 7, 3, 7]])
    alone = greedy_decode(model, begun, 1, 2, max_len)[0].tolist()
    written = speculative_decode(model, draft, begun, 1, 2, ahead, max_len)
    assert written.ids == alone and sum(written.per_call) == len(alone)
    perfect = speculative_decode(model, model, begun, 1, 2, ahead, max_len)
    assert perfect.ids == alone and len(perfect.per_call) <= -(-len(alone) // (ahead + 1)) + 1


def test_a_perfect_draft_fills_every_call():
    model, src = tiny(3, 12), torch.tensor([[5, 7, 3]])
    alone = greedy_decode(model, src, 1, 0, 13)[0].tolist()  # 0 is never written first here
    written = speculative_decode(model, model, src, 1, 0, ahead=3, max_len=len(alone))
    assert written.ids == alone
    assert written.per_call[:-1] == [4] * (len(written.per_call) - 1)


def test_a_draft_without_a_layer_saves_calls_and_changes_no_word():
    from experiments.efficient_speculative import without_layer
    from tfm_lib.engine.translator import Translator

    translator, tokens, calls = Translator.shipped(), 0, 0
    draft = without_layer(translator.model, 1)
    for sentence in ("We ran out of sugar again.", "My father taught me how to swim.", "The train leaves in an hour."):
        src = translator.ids(sentence)
        written = speculative_decode(translator.model, draft, src, 1, 2)
        assert written.ids == greedy_decode(translator.model, src, 1, 2)[0].tolist()
        tokens, calls = tokens + len(written.ids), calls + len(written.per_call)
    assert calls < 0.8 * tokens


def test_models_of_other_words_are_refused():
    src = torch.tensor([[5]])
    with pytest.raises(ValueError, match=r"^draft must write the 12 tokens of model; got 11\.$"):
        speculative_decode(tiny(0, 12), tiny(0, 11), src, 1, 2)
    with pytest.raises(ValueError, match=r"^draft must be a Transformer, as model is; got DecoderOnly\.$"):
        speculative_decode(tiny(0, 12), tiny_decoder(0, 12), src, 1, 2)
    padded = torch.tensor([[5, 0]])
    with pytest.raises(ValueError, match=r"^src_ids must be a beginning without padding; got one that is padded\.$"):
        speculative_decode(tiny_decoder(0, 12), tiny_decoder(0, 12), padded, 1, 2)
    with pytest.raises(ValueError, match=r"^size must divide the number of positions in buckets; got 3 for .+\.$"):
        lsh_pairs(torch.zeros(1, 8, dtype=torch.long), 3)


torch.manual_seed(0)
Q, K, V = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)
MASK = torch.ones(3, 5, dtype=torch.bool)
X, W, GATES = torch.randn(2, 6, 4), torch.randn(2, 6, 3), torch.rand(2, 6)
BUCKETS = torch.randint(2, (3, 2, 6))
SRC = torch.tensor([[4, 5]])
MODEL = tiny(0, 12)
P, DRAFTED = torch.tensor([[0.5, 0.5], [1.0, 0.0]]), [1]


def floats(t: Tensor) -> tuple:
    """What is no tensor of floats like `t`."""
    nan, inf = torch.full_like(t, torch.nan), torch.full_like(t, torch.inf)
    return (None, t.tolist(), t.numpy(), t.long(), t > 0, t[..., :-1], nan, inf, t.double(), t.to("meta"))


MISFITS = {
    "tiled_attention": (
        tiled_attention,
        dict(Q=Q, K=K, V=V, mask=MASK),
        dict(K=floats(K), V=(None, V.long(), V[:, :-1]), mask=(MASK.float(), MASK[:, :4], ~MASK), size=SIZE),
    ),
    "window_attention": (
        window_attention,
        dict(Q=X, K=X + 1, V=W, back=2, ahead=1),
        dict(K=floats(X), V=(None, W[:, :-1]), back=(*WHOLE, -1), ahead=(*WHOLE, -1)),
    ),
    "lsh_buckets": (
        lsh_buckets,
        dict(X=X, n_buckets=4, rounds=2),
        dict(X=(None, "x", X.tolist(), X.long(), X * math.nan), n_buckets=(*SIZE, 3), rounds=SIZE, generator=(3, "x")),
    ),
    "lsh_attention": (
        lsh_attention,
        dict(X=X, V=W, buckets=BUCKETS, size=3),
        dict(X=(None, X.long(), X * math.nan), V=(None, W[:, :-1]), buckets=(None, BUCKETS.float(), BUCKETS[:, :1], BUCKETS[0]), size=(*SIZE, 4)),
    ),
    "lsh_pairs": (lsh_pairs, dict(buckets=BUCKETS, size=3), dict(buckets=(None, [[1]], BUCKETS.float()), size=(*SIZE, 4))),
    "linear_attention": (
        linear_attention,
        dict(Q=X, K=X + 1, V=W),
        dict(K=floats(X), V=(None, W[:, :-1]), size=SIZE),
    ),
    "linear_attention_step": (
        linear_attention_step,
        dict(q=X[:, 0], k=X[:, 1], v=W[:, 0], S=torch.ones(2, 4, 4)),
        dict(k=floats(X[:, 1]), v=(None, W[:1, 0]), S=("x", torch.ones(2, 4, 3), torch.ones(2, 3, 4))),
    ),
    "gated_recurrence": (
        gated_recurrence,
        dict(Q=X, K=X + 1, V=W, gates=GATES),
        dict(K=floats(X), V=(None, W[:, :-1]), gates=(*floats(GATES), GATES + 1, -GATES), size=SIZE),
    ),
    "gated_recurrence_step": (
        gated_recurrence_step,
        dict(q=X[:, 0], k=X[:, 1], v=W[:, 0], gate=GATES[:, 0], S=torch.ones(2, 4, 3)),
        dict(k=floats(X[:, 1]), v=(None, W[:1, 0]), gate=(None, 0.5, GATES, GATES[:, 0] + 1, -GATES[:, 0]), S=("x", torch.ones(2, 4, 4), torch.ones(2, 3, 3))),
    ),
    "GroupedQueryAttention": (
        GroupedQueryAttention,
        dict(d_model=8, n_heads=4, dropout=0.1, n_key_heads=2),
        dict(d_model=SIZE, n_heads=(*SIZE, 3), dropout=SHARE, n_key_heads=(*SIZE, 3)),
    ),
    "SlidingCache": (SlidingCache, dict(window=3), dict(window=SIZE)),
    "cache_bytes": (
        cache_bytes,
        dict(length=3, n_layers=2, n_key_heads=2, d_k=4),
        dict(length=SIZE, n_layers=SIZE, n_key_heads=SIZE, d_k=SIZE, batch=SIZE, number=SIZE),
    ),
    "accept_drafts": (
        accept_drafts,
        dict(p=P, q=P[:1], drafted=DRAFTED, draw=lambda p: int(p.argmax())),
        {
            "p": (None, P.tolist(), P * 2, P[:1]), "q": (None, P, P[:1, :1]), "drafted": (3, "0"),
            "draw": (*CALLABLE, *(lambda p, drawn=drawn: drawn for drawn in (None, "a", 1.5, True, 99, -1))),
            "drafted → each id of drafted": ([0.5], [2], [-1], [True]), "drafted → q": ([0, 1], []),
            "q → drafted": [torch.tensor([[1.0, 0.0]])],
        },
    ),
    "speculative_decode": (
        speculative_decode,
        dict(model=MODEL, draft=MODEL, src_ids=SRC, bos_id=1, eos_id=2),
        dict(
            model=(None, 3, torch.nn.Linear(2, 2)), draft=(None, tiny(0, 11)), src_ids=(None, SRC.float(), SRC[0], SRC[:, :0]),
            bos_id=(*WHOLE, -1), eos_id=(*WHOLE, -1), ahead=SIZE, max_len=SIZE,
            chances=(*CALLABLE, lambda logits: None, lambda logits: logits[..., :3].softmax(-1)),
            draw=(*CALLABLE, lambda p: 'a', lambda p: 12),
        ) | {"chances → what chances returns": (lambda logits: logits, lambda logits: logits.exp(), lambda logits: logits * math.nan)},
    ),
}  # fmt: skip


def test_a_window_wider_than_the_text_costs_no_more_and_no_text_is_no_trouble():
    Q, K, V = (X.detach() for X in words(5, 5))
    assert_close(window_attention(Q, K, V, 10**9, 10**9), attention(Q, K, V)[0])
    assert window_attention(Q[..., :0, :], K[..., :0, :], V[..., :0, :], 2).shape == V[..., :0, :].shape


MUTATIONS = {  # what is removed, and the test that must turn red
    "what was there does not shrink": (
        "mixed = mixed * shrink +",
        "mixed = mixed +",
        "test_tiles_are_attention_with_all_gradients",
    ),
    "the total does not shrink": (
        "total = total * shrink +",
        "total = total +",
        "test_tiles_are_attention_with_all_gradients",
    ),
    "no largest score": (
        "higher = top.maximum(S.amax(dim=-1, keepdim=True))",
        "higher = top.maximum(0 * S.amax(dim=-1, keepdim=True))",
        "test_scores_of_a_thousand_are_no_problem_for_tiles",
    ),
    "a gradient without what the row takes back": (
        "dS = A * (dA - D[..., rows, :] + dL[..., rows, :])",
        "dS = A * dA",
        "test_tiles_have_the_first_and_second_derivatives_that_finite_differences_find",
    ),
    "one tile as large as the matrix": (
        "return (slice(start, start + size) for start in range(0, max(X.shape[-2], 1), size))",
        "return (slice(start, None) for start in (0,))",
        "test_nothing_larger_than_a_tile_is_made",
    ),
    "the window sees what fills the first block": (
        " & (j >= 0) & (j < n)",
        "",
        "test_a_window_is_attention_under_its_mask",
    ),
    "the window is one short": (
        "(i - back <= j)",
        "(i - back < j)",
        "test_a_window_is_attention_under_its_mask",
    ),
    "whoever meets twice counts twice": (
        "S = S - met.sum(dim=0).log()",
        "S = S - 0 * met.sum(dim=0)",
        "test_hashing_is_attention_among_those_that_met",
    ),
    "everyone looks at itself": (
        "S = S.masked_fill(i.unsqueeze(-1) == j.unsqueeze(-2), ALONE)",
        "S = S + 0",
        "test_hashing_is_attention_among_those_that_met",
    ),
    "buckets without opposites": (
        "torch.cat([turned, -turned], dim=-1)",
        "torch.cat([turned, turned], dim=-1)",
        "test_the_same_direction_shares_a_bucket_and_the_opposite_does_not",
    ),
    "rounds with one matrix": (
        "R = torch.randn(rounds, X.shape[-1], n_buckets // 2, generator=generator)",
        "R = torch.randn(1, X.shape[-1], n_buckets // 2, generator=generator).repeat(rounds, 1, 1)",
        "test_what_points_nearly_the_same_way_meets_more_often_and_rounds_help",
    ),
    "a sum that sees its own chunk twice": (
        "(S.cumsum(dim=-3) - S)",
        "S.cumsum(dim=-3)",
        "test_both_forms_of_linear_attention_are_its_definition",
    ),
    "a state that forgets": (
        "S = added if S is None else S + added",
        "S = added",
        "test_both_forms_of_linear_attention_are_its_definition",
    ),
    "pairs without the gates between them": (
        "(left * (q @ k.mT)) @ v",
        "(q @ k.mT).tril() @ v",
        "test_both_forms_of_the_gated_recurrence_are_a_loop_over_pairs",
    ),
    "a position that its own gate lets fade": (
        ".tril(-1).bool()",
        ".tril().bool()",
        "test_both_forms_of_the_gated_recurrence_are_a_loop_over_pairs",
    ),
    "a state that no gate lets fade": (
        "gate[..., None, None] * S + added",
        "S + added",
        "test_both_forms_of_the_gated_recurrence_are_a_loop_over_pairs",
    ),
    "chunks that forget those before": (
        "S = kept[..., -1:, :] * S + (left",
        "S = (left",
        "test_both_forms_of_the_gated_recurrence_are_a_loop_over_pairs",
    ),
    "key heads in another order": (
        "X.repeat_interleave(self.n_heads // self.n_key_heads, dim=-3)",
        "X.repeat(1, self.n_heads // self.n_key_heads, 1, 1)",
        "test_grouped_heads_are_those_of_torch",
    ),
    "a cache that keeps all": (
        "self.K, self.V = K[..., -self.window :, :], V[..., -self.window :, :]",
        "self.K, self.V = K, V",
        "test_a_sliding_cache_gives_what_one_pass_under_a_window_gives",
    ),
    "a draft is always believed": (
        "stays = (p[t, token] / q[t, token]).clamp(max=1)",
        "stays = torch.ones_like(p[t, token])",
        "test_speculation_has_exactly_the_distribution_of_the_large_model",
    ),
    "what is thrown away is drawn from p": (
        "missing = (p[t] - q[t]).clamp(min=0)",
        "missing = p[t]",
        "test_accepted_tokens_are_distributed_as_if_the_large_model_had_drawn_them",
    ),
    "rejected tokens stay in the cache": (
        "        large.forget(len(ids) - 1)\n",
        "",
        "test_a_greedy_model_writes_with_any_draft_what_it_writes_alone",
    ),
}
