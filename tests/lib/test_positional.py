"""Positions against slow loops of their formulas; each way of telling order keeps its promise about it."""

import cmath
import math
from fractions import Fraction

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from tfm_lib.masking import causal_mask, leak, padding_mask
from tfm_lib.multihead import KeyValueCache, MultiHeadAttention, split_heads
from tfm_lib.positional import (
    AlibiAttention,
    LearnedPositions,
    RelativeAttention,
    RotaryAttention,
    ShawAttention,
    alibi_bias,
    angles,
    distance_buckets,
    distances,
    rotary,
    sinusoidal_encoding,
)

seeds = st.integers(0, 1000)
bases = st.floats(2, 100_000)
pairs = st.integers(1, 5)
KINDS = (RotaryAttention, ShawAttention, RelativeAttention, AlibiAttention)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
both = pytest.mark.parametrize("need_weights", [True, False])
exact = {"rtol": 1e-6, "atol": 1e-6}


def made(kind, d_model=8, n_heads=2, **options):
    """A layer in double precision whose learned distances are not all alike."""
    layer = kind(d_model, n_heads, **options).double()
    with torch.no_grad():
        for name in ("a", "b"):
            if hasattr(layer, name):
                getattr(layer, name).normal_()
    return layer


def vectors(batch=2, n=5, d_model=8):
    return torch.randn(batch, n, d_model, dtype=torch.double)


# sinusoids


@given(n=st.integers(1, 40), half=pairs, base=bases)
def test_sinusoidal_encoding_equals_the_formula(n, half, base):
    d_model = 2 * half
    expected = [
        [
            (math.sin if column % 2 == 0 else math.cos)(pos / base ** (2 * (column // 2) / d_model))
            for column in range(d_model)
        ]
        for pos in range(n)
    ]
    assert_close(sinusoidal_encoding(n, d_model, base), torch.tensor(expected), **exact)


def test_far_positions_keep_their_digits():
    last = sinusoidal_encoding(50_000, 6)[-1]
    turned = [49_999 / 10_000 ** (i / 3) for i in range(3)]
    assert_close(last, torch.tensor([f(angle) for angle in turned for f in (math.sin, math.cos)]), **exact)


def test_position_0_is_sine_0_and_cosine_1():
    assert sinusoidal_encoding(1, 6).tolist() == [[0, 1, 0, 1, 0, 1]]


@given(n=st.integers(1, 30), half=pairs)
def test_encoding_is_in_the_default_precision(n, half):
    assert sinusoidal_encoding(n, 2 * half).dtype == torch.float32


@given(half=pairs, shift=st.integers(0, 40))
def test_dot_products_of_sinusoids_depend_on_the_distance_only(half, shift):
    P = sinusoidal_encoding(60, 2 * half).double()
    products = (P @ P.T).diagonal(shift)
    expected = sum(math.cos(shift / 10_000 ** (i / half)) for i in range(half))
    assert_close(products, torch.full_like(products, expected), rtol=0, atol=1e-5)


@given(half=pairs, shift=st.integers(-20, 20))
def test_a_shift_of_sinusoids_is_a_rotation_of_each_pair(half, shift):
    P = sinusoidal_encoding(50, 2 * half).double()
    turn = torch.zeros(2 * half, 2 * half, dtype=torch.double)
    for i in range(half):
        angle = shift / 10_000 ** (i / half)
        block = [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        turn[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor(block)
    moved = (P @ turn.T)[20:30]
    assert_close(moved, P[20 + shift : 30 + shift], rtol=0, atol=1e-5)


@given(n=st.integers(1, 10), half=pairs, start=st.integers(0, 100))
def test_angles_from_a_later_start_are_the_last_rows(n, half, start):
    assert torch.equal(angles(n, 2 * half, start=start), angles(start + n, 2 * half)[start:])


# learned positions


def test_learned_positions_are_rows_of_a_table_that_is_trained():
    positions = LearnedPositions(6, 4)
    assert torch.equal(positions(3), positions.table[:3])
    positions(3).sum().backward()
    assert positions.table.grad.sum(dim=-1).tolist() == [4, 4, 4, 0, 0, 0]


def test_learned_positions_are_about_as_long_as_a_unit_vector():
    assert LearnedPositions(1000, 64).table.norm(dim=-1).mean().item() == pytest.approx(1, abs=0.02)


# rotary


@given(n=st.integers(1, 6), half=pairs, start=st.integers(0, 50), base=bases, seed=seeds)
def test_rotary_equals_complex_multiplication(n, half, start, base, seed):
    torch.manual_seed(seed)
    X = torch.randn(2, n, 2 * half, dtype=torch.double)
    turned = rotary(X, start, base)
    for b in range(2):
        for pos in range(n):
            for i in range(half):
                angle = (start + pos) / base ** (i / half)
                even, odd = X[b, pos, 2 * i : 2 * i + 2].tolist()
                z = complex(even, odd) * cmath.exp(1j * angle)
                assert_close(turned[b, pos, 2 * i : 2 * i + 2].tolist(), [z.real, z.imag], **exact)


@given(half=pairs, i=st.integers(0, 200), j=st.integers(0, 200), shift=st.integers(0, 500), seed=seeds)
def test_products_of_turned_vectors_depend_on_the_distance_only(half, i, j, shift, seed):
    torch.manual_seed(seed)
    q, k = torch.randn(2, 1, 2 * half, dtype=torch.double)
    here = rotary(q, i) @ rotary(k, j).T
    there = rotary(q, i + shift) @ rotary(k, j + shift).T
    assert_close(here, there, rtol=0, atol=1e-9)


def test_rotary_keeps_lengths_and_dtype_and_leaves_position_0():
    X = torch.randn(3, 7, 10)
    turned = rotary(X)
    assert turned.dtype == X.dtype
    assert_close(turned.norm(dim=-1), X.norm(dim=-1))
    assert torch.equal(turned[:, 0], X[:, 0])


# ALiBi


def published_slopes(n_heads: int) -> list[float]:
    """The authors' rule: between powers of 2, every other slope of the next one fills up the last one."""
    if math.log2(n_heads).is_integer():
        return [2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)]
    below = 2 ** math.floor(math.log2(n_heads))
    return published_slopes(below) + published_slopes(2 * below)[::2][: n_heads - below]


@given(n_heads=st.integers(1, 40), n=st.integers(1, 6), past=st.integers(0, 4))
def test_alibi_bias_equals_a_slow_loop(n_heads, n, past):
    m = n + past
    expected = [
        [[-slope * abs(past + i - j) for j in range(m)] for i in range(n)] for slope in published_slopes(n_heads)
    ]
    assert_close(alibi_bias(n_heads, n, m), torch.tensor(expected), **exact)


def test_slopes_of_twelve_heads_are_those_that_others_use():
    expected = [2.0**-h for h in range(1, 9)] + [2.0**-h for h in (0.5, 1.5, 2.5, 3.5)]
    assert_close(-alibi_bias(12, 2)[:, 0, 1], torch.tensor(expected))


def test_slopes_of_eight_heads_are_those_of_the_paper():
    assert (-alibi_bias(8, 2)[:, 0, 1]).tolist() == [2.0**-h for h in range(1, 9)]


# T5's buckets


@pytest.mark.parametrize(("n_buckets", "max_distance"), [(32, 128), (16, 128), (8, 64), (10, 100), (6, 20)])
def test_buckets_equal_a_count_of_whole_steps(n_buckets, max_distance):
    exact, r = n_buckets // 2, torch.arange(400)
    growth = Fraction(max_distance, exact)  # over all growing buckets; each grows by its `exact`-th root

    def bucket(distance):
        if distance < exact:
            return distance
        steps = sum(growth**k <= Fraction(distance, exact) ** exact for k in range(1, n_buckets))
        return min(exact + steps, n_buckets - 1)

    assert distance_buckets(r, n_buckets, max_distance).tolist() == [bucket(distance) for distance in range(400)]


def test_buckets_of_both_sides_are_those_that_others_use():
    d = torch.tensor([-200, -16, -8, -7, -1, 0, 1, 7, 8, 16, 200])
    both = distance_buckets(d.abs(), 16) + 16 * (d > 0)
    assert both.tolist() == [15, 10, 8, 7, 1, 0, 17, 23, 24, 26, 31]


@given(n=st.integers(1, 8), past=st.integers(0, 8))
def test_distances_are_key_minus_query(n, past):
    assert distances(n, n + past).tolist() == [[j - (past + i) for j in range(n + past)] for i in range(n)]


# attention with positions


def slow_scores(layer, X):
    """The scores of `layer` among the vectors of `X`, one pair after the other from the papers' formulas."""
    Q, K = (split_heads(W(X), layer.n_heads) for W in (layer.W_Q, layer.W_K))
    batch, n_heads, n, d_k = Q.shape
    scores = torch.empty(batch, n_heads, n, n, dtype=X.dtype)
    for b in range(batch):
        for h in range(n_heads):
            for i in range(n):
                for j in range(n):
                    scores[b, h, i, j] = slow_score(layer, Q[b, h, i], K[b, h, j], h, i, j) / math.sqrt(d_k)
    return scores


def slow_score(layer, q, k, h, i, j):
    """√d_k times the score of query q at position i and key k at position j in head h."""
    d_k = len(q)
    match layer:
        case RotaryAttention():
            # the turn by the distance alone, as the derivation has it
            return sum(
                (
                    complex(*q[c : c + 2].tolist()).conjugate()
                    * complex(*k[c : c + 2].tolist())
                    * cmath.exp(1j * (j - i) / 10_000 ** (c / d_k))
                ).real
                for c in range(0, d_k, 2)
            )
        case ShawAttention():
            return q @ (k + layer.a[max(-layer.max_distance, min(layer.max_distance, j - i)) + layer.max_distance])
        case RelativeAttention():
            place = max(-layer.max_distance, min(layer.max_distance, j - i)) + layer.max_distance
            return q @ k + layer.b[h, place] * math.sqrt(d_k)
        case AlibiAttention():
            return q @ k - abs(i - j) * 2 ** (-8 * (h + 1) / layer.n_heads) * math.sqrt(d_k)


@every_kind
@both
@pytest.mark.parametrize("masked", [False, True], ids=["whole", "causal"])
def test_attention_equals_a_slow_loop(kind, need_weights, masked):
    options = {"max_distance": 2} if kind in (ShawAttention, RelativeAttention) else {}
    layer, X = made(kind, **options), vectors()
    mask = causal_mask(5) if masked else None
    scores = slow_scores(layer, X)
    if masked:
        scores = scores.masked_fill(~mask, -torch.inf)
    expected = scores.softmax(dim=-1)
    heads = expected @ split_heads(layer.W_V(X), 2)
    output, weights = layer(X, X, X, mask, need_weights)
    assert_close(output, layer.W_O(heads.transpose(1, 2).flatten(-2)), **exact)
    if need_weights:
        assert_close(weights, expected, **exact)
    else:
        assert weights is None


@every_kind
def test_gradients_of_both_ways_are_equal(kind):
    layer, X = made(kind), vectors()
    gradients = []
    for need_weights in (True, False):
        layer.zero_grad()
        layer(X, X, X, causal_mask(5), need_weights)[0].square().sum().backward()
        gradients.append([parameter.grad.clone() for parameter in layer.parameters()])
    assert_close(*gradients, **exact)
    assert all(gradient.abs().sum() > 0 for gradient in gradients[0])


@every_kind
def test_words_far_into_a_text_are_treated_like_the_first(kind):
    """What a causal layer with a window of its own makes of a word depends on distances, not on places."""
    layer, X = made(kind), vectors(1, 4)
    before = torch.randn(1, 9, 8, dtype=torch.double)
    window = (distances(13, 13).abs() <= 3) & causal_mask(13)
    late = layer(*[torch.cat([before, X], dim=1)] * 3, window)[1][..., 12, 9:]
    assert_close(late, layer(X, X, X, causal_mask(4))[1][..., 3, :], rtol=0, atol=1e-9)


@every_kind
def test_order_matters(kind):
    layer, X = made(kind), vectors(1, 3)
    one, two = layer(X, X, X)[0], layer(*[X[:, [2, 1, 0]]] * 3)[0]
    same = torch.allclose(one[:, 0], two[:, 2])
    assert same == (kind is AlibiAttention)  # without a mask ALiBi cannot tell left from right …
    one, two = layer(X, X, X, causal_mask(3))[0], layer(*[X[:, [1, 0, 2]]] * 3, causal_mask(3))[0]
    assert not torch.allclose(one[:, 2], two[:, 2])  # … but near from far


@every_kind
def test_cache_equals_no_cache(kind):
    layer, X, mask, cache = made(kind), vectors(), causal_mask(5), KeyValueCache()
    expected, shares = layer(X, X, X, mask)
    for start, end in ((0, 2), (2, 3), (3, 5)):
        output, weights = layer(*[X[:, start:end]] * 3, mask[start:end, :end], cache=cache)
        assert_close(output, expected[:, start:end], rtol=1e-9, atol=1e-9)
        assert_close(weights, shares[:, :, start:end, :end], rtol=1e-9, atol=1e-9)


@every_kind
@both
def test_future_and_padding_are_invisible(kind, need_weights):
    layer = kind(8, 2)
    seen = leak(lambda x: layer(x[None], x[None], x[None], causal_mask(5), need_weights)[0][0], torch.randn(5, 8))
    assert (seen.triu(1) == 0).all() and (seen[causal_mask(5)] > 0).all()
    X, ids = torch.randn(2, 5, 8), torch.tensor([[7, 7, 7, 0, 0], [7, 7, 7, 7, 7]])
    noisy = X.clone()
    noisy[0, 3:] += 100
    before, after = (layer(Z, Z, Z, padding_mask(ids, 0), need_weights)[0] for Z in (X, noisy))
    assert torch.equal(before[ids > 0], after[ids > 0])


@every_kind
@both
def test_dropout_falls_on_the_weights_while_training_only(kind, need_weights):
    layer, X = kind(8, 2, dropout=0.5), torch.randn(1, 20, 8)
    rested = layer.eval()(X, X, X, need_weights=need_weights)[0]
    assert torch.equal(rested, layer(X, X, X, need_weights=need_weights)[0])
    trained = torch.stack([layer.train()(X, X, X, need_weights=need_weights)[0] for _ in range(400)])
    assert not torch.allclose(trained[0], trained[1])
    assert_close(trained.mean(dim=0), rested, rtol=0, atol=0.12)


@pytest.mark.parametrize(("kind", "more"), [(ShawAttention, 9 * 4), (RelativeAttention, 9 * 2)])
def test_parameters_of_the_distances(kind, more):
    count = sum(p.numel() for p in kind(8, 2, max_distance=4).parameters())
    assert count == more + sum(p.numel() for p in MultiHeadAttention(8, 2).parameters())


@pytest.mark.parametrize("kind", [RotaryAttention, AlibiAttention])
def test_rotary_and_alibi_learn_nothing_more(kind):
    assert kind(8, 2).state_dict().keys() == MultiHeadAttention(8, 2).state_dict().keys()


def test_relative_attention_begins_as_plain_attention():
    layer, X = RelativeAttention(8, 2), torch.randn(1, 5, 8)
    plain = MultiHeadAttention(8, 2)
    plain.load_state_dict(layer.state_dict(), strict=False)
    assert_close(layer(X, X, X), plain(X, X, X))


# bad input


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sinusoidal_encoding(4, 5), "the width of a vector must be even, a sine and a cosine"),
        (lambda: sinusoidal_encoding(0, 4), "n must be at least 1; got 0."),
        (lambda: rotary(torch.randn(3, 5)), "must be even"),
        (lambda: rotary(torch.randn(4)), "X must have at least two axes, (..., n, d_k); got shape (4,)."),
        (lambda: LearnedPositions(6, 4)(7), "n must be from 1 to max_len = 6, the positions that were learned; got 7."),
        (
            lambda: alibi_bias(2, 3, 2),
            "the queries must be the last of the 2 positions of their own keys; got 3 queries.",
        ),
        (lambda: RotaryAttention(8, 2)(*(torch.randn(1, n, 8) for n in (3, 2, 2))), "got 3 queries."),
        (
            lambda: AlibiAttention(8, 2)(*[torch.randn(1, 2, 8)] * 3, torch.tensor([[True, True], [False, False]])),
            "mask must allow every query at least one key",
        ),
    ],
    ids=["odd width", "no position", "odd keys", "one axis", "not learned", "short keys", "other keys", "empty row"],
)
def test_bad_input_gets_a_sentence(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)


def test_fused_kernel_is_what_runs_without_weights(monkeypatch):
    called = []
    fused = F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *a, **k: called.append(1) or fused(*a, **k))
    X = torch.randn(1, 3, 8)
    for kind in KINDS:
        kind(8, 2)(X, X, X, need_weights=False)
    assert len(called) == len(KINDS)


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "angles in single precision": (
        "return positions[:, None] * frequencies",
        "return positions.float()[:, None] * frequencies.float()",
        "test_far_positions_keep_their_digits",
    ),
    "i in place of 2i": (
        "torch.arange(0, d, 2, dtype=torch.double) / d",
        "torch.arange(d // 2, dtype=torch.double) / d",
        "test_sinusoidal_encoding_equals_the_formula",
    ),
    "positions begin at 1": (
        "torch.arange(start, start + n, dtype=torch.double)",
        "torch.arange(start + 1, start + n + 1, dtype=torch.double)",
        "test_position_0_is_sine_0_and_cosine_1",
    ),
    "the start is forgotten": (
        "turned = angles(X.shape[-2], X.shape[-1], base, start)",
        "turned = angles(X.shape[-2], X.shape[-1], base)",
        "test_cache_equals_no_cache",
    ),
    "both lines written for 2i": (
        "torch.stack([turned.sin(), turned.cos()], dim=-1)",
        "torch.stack([turned.cos(), 0 * turned], dim=-1)",
        "test_a_shift_of_sinusoids_is_a_rotation_of_each_pair",
    ),
    "sines first, then cosines": (
        "return waves.flatten(-2)",
        "return waves.transpose(-2, -1).flatten(-2)",
        "test_sinusoidal_encoding_equals_the_formula",
    ),
    "the table gives its last rows": (
        "return self.table[:n]",
        "return self.table[-n:]",
        "test_learned_positions_are_rows_of_a_table_that_is_trained",
    ),
    "a table that pretends to go on": (
        "1, must, len(self.table))",
        "1, must)",
        "test_bad_input_gets_a_sentence[not learned]",
    ),
    "a turn that stretches": (
        "even * sin + odd * cos",
        "even * sin - odd * cos",
        "test_rotary_equals_complex_multiplication",
    ),
    "keys turned, queries not": (
        "rotary(Q, start), rotary(K)",
        "Q, rotary(K)",
        "test_words_far_into_a_text_are_treated_like_the_first",
    ),
    "queries turned, keys not": (
        "rotary(Q, start), rotary(K)",
        "rotary(Q, start), K",
        "test_attention_equals_a_slow_loop",
    ),
    "queries turned as if they stood first": (
        "start = _first_query(Q.shape[-2], K.shape[-2])",
        "start = 0",
        "test_cache_equals_no_cache",
    ),
    "distances with the other sign": (
        "return torch.arange(m) - torch.arange(first, m)[:, None]",
        "return torch.arange(first, m)[:, None] - torch.arange(m)",
        "test_distances_are_key_minus_query",
    ),
    "Shaw without √d_k": (
        "Q @ self.a.T / math.sqrt(Q.shape[-1])",
        "Q @ self.a.T",
        "test_attention_equals_a_slow_loop",
    ),
    "distances not clipped alike": (
        ".clamp(-most, most) + most",
        ".clamp(-most, most).abs() + most",
        "test_attention_equals_a_slow_loop",
    ),
    "one slope for all heads": (
        "2.0 ** (-8 * h / power)",
        "2.0 ** (-8 * torch.ones(n_heads) / power)",
        "test_slopes_of_eight_heads_are_those_of_the_paper",
    ),
    "one rule of slopes for any number of heads": (
        "power = 2 ** (n_heads.bit_length() - 1)",
        "power = n_heads",
        "test_slopes_of_twelve_heads_are_those_that_others_use",
    ),
    "buckets of equal width": (
        "exact * times.log() / math.log(max_distance / exact)",
        "exact * (times - 1) / (max_distance / exact - 1)",
        "test_buckets_equal_a_count_of_whole_steps",
    ),
    "no last bucket": (
        ".clamp(max=n_buckets - 1)",
        "",
        "test_buckets_equal_a_count_of_whole_steps",
    ),
    "ALiBi rewards distance": (
        "return -slopes[:, None, None]",
        "return slopes[:, None, None]",
        "test_alibi_bias_equals_a_slow_loop",
    ),
}
