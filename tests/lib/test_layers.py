"""Layers against torch with copied weights, post-norm and pre-norm, forward and backward; and what each part promises."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from tfm_lib.layers import DecoderLayer, EncoderLayer, FeedForward, LayerNorm, Residual, standardise
from tfm_lib.masking import causal_mask, combine, leak, padding_mask
from tfm_lib.multihead import KeyValueCache, MemoryCache

seeds = st.integers(0, 1000)
sizes = st.lists(st.integers(1, 3), max_size=2).map(tuple)
both_norms = pytest.mark.parametrize("norm", ["post", "pre"])
both_kernels = pytest.mark.parametrize("need_weights", [True, False])

D_MODEL, N_HEADS, D_FF = 8, 2, 12


def double(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.double)


def randomised(module: nn.Module) -> nn.Module:
    """`module` in double precision with every parameter drawn anew, so that no gain is 1 and no bias 0."""
    module.double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def encoder_layer(norm: str = "post", dropout: float = 0.0) -> EncoderLayer:
    return randomised(EncoderLayer(D_MODEL, N_HEADS, D_FF, dropout, norm))


def decoder_layer(norm: str = "post", dropout: float = 0.0) -> DecoderLayer:
    return randomised(DecoderLayer(D_MODEL, N_HEADS, D_FF, dropout, norm))


def twin_of(ours: EncoderLayer | DecoderLayer, norm: str) -> nn.Module:
    """PyTorch's layer with the parameters of `ours`."""
    is_decoder = isinstance(ours, DecoderLayer)
    kind = nn.TransformerDecoderLayer if is_decoder else nn.TransformerEncoderLayer
    twin = kind(
        D_MODEL, N_HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=norm == "pre", dtype=torch.double
    )  # fmt: skip
    with torch.no_grad():
        _copy_attention(ours.self_attention, twin.self_attn)
        if is_decoder:
            _copy_attention(ours.cross_attention, twin.multihead_attn)
        twin.linear1.load_state_dict(ours.feed_forward.W_1.state_dict())
        twin.linear2.load_state_dict(ours.feed_forward.W_2.state_dict())
        for i, residual in enumerate(ours.residuals, start=1):
            _copy_norm(residual.norm, getattr(twin, f"norm{i}"))
    return twin


def _copy_attention(ours, theirs):
    theirs.in_proj_weight.copy_(torch.cat([ours.W_Q.weight, ours.W_K.weight, ours.W_V.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.W_Q.bias, ours.W_K.bias, ours.W_V.bias]))
    theirs.out_proj.load_state_dict(ours.W_O.state_dict())


def _copy_norm(ours, theirs):
    theirs.weight.copy_(ours.gain)
    theirs.bias.copy_(ours.bias)


def gradients_of_torch(twin: nn.Module) -> dict[str, torch.Tensor]:
    """The gradients of PyTorch's layer under our names."""
    found = {}
    attentions = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}
    for ours, theirs in attentions.items():
        if hasattr(twin, theirs):
            attention = getattr(twin, theirs)
            for suffix, grad in (("weight", attention.in_proj_weight.grad), ("bias", attention.in_proj_bias.grad)):
                for name, part in zip("QKV", grad.chunk(3)):
                    found[f"{ours}.W_{name}.{suffix}"] = part
                found[f"{ours}.W_O.{suffix}"] = getattr(attention.out_proj, suffix).grad
    for suffix in ("weight", "bias"):
        found[f"feed_forward.W_1.{suffix}"] = getattr(twin.linear1, suffix).grad
        found[f"feed_forward.W_2.{suffix}"] = getattr(twin.linear2, suffix).grad
    for i in (1, 2, 3):
        if hasattr(twin, f"norm{i}"):
            found[f"residuals.{i - 1}.norm.gain"] = getattr(twin, f"norm{i}").weight.grad
            found[f"residuals.{i - 1}.norm.bias"] = getattr(twin, f"norm{i}").bias.grad
    return found


def assert_same_gradients(ours: nn.Module, twin: nn.Module) -> None:
    expected = gradients_of_torch(twin)
    assert expected.keys() == dict(ours.named_parameters()).keys()
    for name, parameter in ours.named_parameters():
        assert_close(
            parameter.grad, expected[name], rtol=1e-6, atol=1e-6, msg=lambda text, name=name: f"{name}: {text}"
        )


# layer normalisation


@given(batch=sizes, d=st.integers(1, 6), eps=st.sampled_from([1e-5, 0.1, 2.0]), seed=seeds)
def test_standardise_equals_a_slow_loop(batch, d, eps, seed):
    torch.manual_seed(seed)
    X = double(*batch, d)
    expected = torch.empty_like(X)
    for row, out in zip(X.view(-1, d), expected.view(-1, d)):
        mean = sum(row) / d
        variance = sum((x - mean) ** 2 for x in row) / d
        out[:] = torch.stack([(x - mean) / (variance + eps) ** 0.5 for x in row])
    assert_close(standardise(X, eps), expected, rtol=1e-9, atol=1e-9)


@given(batch=sizes, d=st.integers(1, 6), eps=st.sampled_from([1e-5, 0.1]), seed=seeds)
def test_layer_norm_equals_torch(batch, d, eps, seed):
    torch.manual_seed(seed)
    ours, X = randomised(LayerNorm(d, eps)), double(*batch, d).requires_grad_()
    theirs, X_too = nn.LayerNorm(d, eps, dtype=torch.double), X.detach().clone().requires_grad_()
    with torch.no_grad():
        _copy_norm(ours, theirs)
    got, expected = ours(X), theirs(X_too)
    assert_close(got, expected, rtol=1e-6, atol=1e-6)
    got.pow(3).sum().backward()
    expected.pow(3).sum().backward()
    for ours_grad, theirs_grad in (
        (X.grad, X_too.grad), (ours.gain.grad, theirs.weight.grad), (ours.bias.grad, theirs.bias.grad)
    ):  # fmt: skip
        assert_close(ours_grad, theirs_grad, rtol=1e-6, atol=1e-6)


@given(batch=sizes, d=st.integers(1, 6), seed=seeds)
def test_layer_norm_is_standardise_then_gain_and_bias(batch, d, seed):
    torch.manual_seed(seed)
    norm, X = randomised(LayerNorm(d)), double(*batch, d)
    assert_close(norm(X), norm.gain * standardise(X) + norm.bias, rtol=1e-9, atol=1e-9)


def test_layer_norm_and_standardise_send_back_the_same_gradient():
    norm, X = randomised(LayerNorm(6)), double(3, 6).requires_grad_()
    (fused,) = torch.autograd.grad(norm(X).pow(3).sum(), X)
    (clear,) = torch.autograd.grad((norm.gain * standardise(X) + norm.bias).pow(3).sum(), X)
    assert_close(fused, clear, rtol=1e-9, atol=1e-9)


def test_a_new_layer_norm_only_standardises():
    X = torch.randn(2, 3, 5)
    assert_close(LayerNorm(5)(X), standardise(X))


def test_variance_is_biased():
    assert_close(standardise(torch.tensor([1.0, 3, 3, 9]), eps=0.0), torch.tensor([-1, -1 / 3, -1 / 3, 5 / 3]))


def test_epsilon_stands_inside_the_root():
    X = torch.tensor([-0.1, 0.1])  # variance 0.01
    assert_close(standardise(X, eps=0.03), X / 0.2)


def test_a_constant_vector_becomes_0_and_its_gradient_is_finite():
    for normalise in (standardise, LayerNorm(4)):
        X = torch.full((4,), 7.0, requires_grad=True)
        Y = normalise(X)
        Y[0].backward()
        assert (Y == 0).all() and X.grad.isfinite().all()


@given(shift=st.floats(-100, 100), scale=st.floats(0.1, 100), seed=seeds)
def test_standardise_forgets_shift_and_scale(shift, scale, seed):
    torch.manual_seed(seed)
    X = double(3, 6)
    assert_close(standardise(scale * X + shift, eps=0.0), standardise(X, eps=0.0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("normalise", [standardise, LayerNorm(5)], ids=["standardise", "LayerNorm"])
def test_each_token_is_normalised_by_itself(normalise):
    X = torch.randn(4, 5)
    assert_close(normalise(X), torch.stack([normalise(x) for x in X]))
    seen = leak(lambda x: normalise(x), X)
    assert (seen - seen.diagonal().diag() == 0).all() and (seen.diagonal() > 0).all()


# feed-forward


@given(batch=sizes, seed=seeds)
def test_feed_forward_equals_a_slow_loop(batch, seed):
    torch.manual_seed(seed)
    network, X = randomised(FeedForward(3, 5)).requires_grad_(False), double(*batch, 3)
    W_1, b_1, W_2, b_2 = network.W_1.weight.T, network.W_1.bias, network.W_2.weight.T, network.W_2.bias
    expected = torch.empty_like(X)
    for x, out in zip(X.view(-1, 3), expected.view(-1, 3)):
        hidden = [max(0.0, sum(x[i] * W_1[i, k] for i in range(3)) + b_1[k]) for k in range(5)]
        out[:] = torch.stack([sum(hidden[k] * W_2[k, j] for k in range(5)) + b_2[j] for j in range(3)])
    assert_close(network(X), expected, rtol=1e-9, atol=1e-9)


def test_feed_forward_treats_every_position_alike():
    network, X = FeedForward(4, 6), torch.randn(2, 5, 4)
    order = torch.tensor([3, 1, 0, 4, 2])
    assert_close(network(X)[:, order], network(X[:, order]))
    seen = leak(network, X[0])
    assert (seen - seen.diagonal().diag() == 0).all()


def test_feed_forward_bends():
    network, x = FeedForward(4, 64), torch.randn(4)
    assert not torch.allclose(network(x) + network(-x), 2 * network(torch.zeros(4)), atol=1e-3)


def test_parameters_of_the_parts_are_those_of_their_formulas():
    def count(module):
        return sum(parameter.numel() for parameter in module.parameters())

    assert count(LayerNorm(8)) == 2 * 8
    assert count(FeedForward(8, 12)) == 8 * 12 + 12 + 12 * 8 + 8
    attention = 4 * (8 * 8 + 8)
    assert count(EncoderLayer(8, 2, 12)) == attention + count(FeedForward(8, 12)) + 2 * 16
    assert count(DecoderLayer(8, 2, 12)) == 2 * attention + count(FeedForward(8, 12)) + 3 * 16


# residual connection


def test_post_norm_is_the_norm_of_the_sum():
    residual, X = randomised(Residual(6)), double(2, 3, 6)
    assert_close(residual(X, torch.sin), residual.norm(X + torch.sin(X)))


def test_pre_norm_adds_the_sublayer_of_the_norm():
    residual, X = randomised(Residual(6, norm="pre")), double(2, 3, 6)
    assert_close(residual(X, torch.sin), X + torch.sin(residual.norm(X)))


def test_a_sublayer_that_says_nothing_changes_nothing():
    X = torch.randn(2, 3, 6)
    assert torch.equal(Residual(6, norm="pre")(X, torch.zeros_like), X)
    assert_close(Residual(6)(X, torch.zeros_like), standardise(X))


def test_the_residual_adds_1_to_the_derivative():
    x = torch.randn(4)
    residual = Residual(4, norm="pre")
    residual.norm = nn.Identity()
    slopes = torch.autograd.functional.jacobian(lambda x: residual(x, torch.sin), x)
    assert_close(slopes, torch.eye(4) + x.cos().diag())


def test_dropout_falls_on_the_change_and_never_on_what_goes_round_it():
    residual, X = Residual(400, dropout=0.5, norm="pre"), torch.randn(1, 400)
    added = residual(X, torch.ones_like) - X
    assert ((added.abs() < 1e-5) | ((added - 2).abs() < 1e-5)).all()
    assert 0.35 < (added > 1).float().mean() < 0.65
    assert_close(residual.eval()(X, torch.ones_like), X + 1)


@both_norms
def test_enter_and_leave_are_the_two_halves_of_forward(norm):
    residual, X = randomised(Residual(6, norm=norm)), double(2, 3, 6)
    assert torch.equal(residual(X, torch.sin), residual.leave(X, torch.sin(residual.enter(X))))


# encoder and decoder layer


@both_norms
@both_kernels
@given(n=st.integers(1, 5), batch=st.integers(1, 3), seed=seeds)
def test_encoder_layer_equals_torch(norm, need_weights, n, batch, seed):
    torch.manual_seed(seed)
    ours = encoder_layer(norm)
    twin, X = twin_of(ours, norm), double(batch, n, D_MODEL).requires_grad_()
    X_too = X.detach().clone().requires_grad_()
    got, weights = ours(X, causal_mask(n), need_weights)
    expected = twin(X_too, src_mask=~causal_mask(n))
    assert_close(got, expected, rtol=1e-6, atol=1e-6)
    assert (weights is not None) == need_weights
    got.square().sum().backward()
    expected.square().sum().backward()
    assert_close(X.grad, X_too.grad, rtol=1e-6, atol=1e-6)
    assert_same_gradients(ours, twin)


@both_norms
@both_kernels
@given(n=st.integers(1, 4), m=st.integers(1, 4), batch=st.integers(1, 3), seed=seeds)
def test_decoder_layer_equals_torch(norm, need_weights, n, m, batch, seed):
    torch.manual_seed(seed)
    ours = decoder_layer(norm)
    twin = twin_of(ours, norm)
    Y, memory = double(batch, n, D_MODEL).requires_grad_(), double(batch, m, D_MODEL).requires_grad_()
    Y_too, memory_too = (X.detach().clone().requires_grad_() for X in (Y, memory))
    seen = torch.rand(batch, 1, m) < 0.6
    seen[..., 0] = True
    got, weights = ours(Y, memory, causal_mask(n), seen, need_weights)
    expected = twin(Y_too, memory_too, tgt_mask=~causal_mask(n), memory_key_padding_mask=~seen[:, 0])
    assert_close(got, expected, rtol=1e-6, atol=1e-6)
    assert [part is not None for part in weights] == [need_weights] * 2
    got.square().sum().backward()
    expected.square().sum().backward()
    assert_close(Y.grad, Y_too.grad, rtol=1e-6, atol=1e-6)
    assert_close(memory.grad, memory_too.grad, rtol=1e-6, atol=1e-6)
    assert_same_gradients(ours, twin)


@both_norms
def test_encoder_layer_is_two_sublayers_each_within_its_residual(norm):
    layer, X = encoder_layer(norm), double(1, 4, D_MODEL)
    attended = layer.residuals[0](X, lambda Z: layer.self_attention(Z, Z, Z)[0])
    assert_close(layer(X)[0], layer.residuals[1](attended, layer.feed_forward))
    assert len(layer.residuals) == 2


@both_norms
def test_decoder_layer_is_three_sublayers_each_within_its_residual(norm):
    layer, Y, memory = decoder_layer(norm), double(1, 4, D_MODEL), double(1, 3, D_MODEL)
    Z = layer.residuals[0](Y, lambda Z: layer.self_attention(Z, Z, Z, causal_mask(4))[0])
    Z = layer.residuals[1](Z, lambda Z: layer.cross_attention(Z, memory, memory)[0])
    assert_close(layer(Y, memory, causal_mask(4))[0], layer.residuals[2](Z, layer.feed_forward))
    assert len(layer.residuals) == 3


def test_post_norm_leaves_every_vector_standardised_and_pre_norm_does_not():
    X = 3 * torch.randn(1, 5, D_MODEL)
    post, pre = (EncoderLayer(D_MODEL, N_HEADS, D_FF, norm=norm)(X)[0] for norm in ("post", "pre"))
    assert_close(post, standardise(post), rtol=1e-4, atol=1e-4)
    assert pre.var(dim=-1).mean() > 2


@both_norms
@both_kernels
def test_future_token_changes_nothing_earlier(norm, need_weights):
    encoder, decoder = encoder_layer(norm), decoder_layer(norm)
    mask, memory = causal_mask(4), double(1, 3, D_MODEL)
    for layer in (
        lambda X: encoder(X[None], mask, need_weights)[0][0],
        lambda Y: decoder(Y[None], memory, mask, None, need_weights)[0][0],
    ):
        seen = leak(layer, double(4, D_MODEL))
        assert (seen.triu(1) == 0).all() and (seen[mask] > 0).all()


@both_norms
def test_padding_is_invisible(norm):
    encoder, decoder, ids = encoder_layer(norm), decoder_layer(norm), torch.tensor([[7, 7, 0, 0], [7, 7, 7, 7]])
    X, Y, padding = double(2, 4, D_MODEL), double(2, 3, D_MODEL), padding_mask(ids, 0)
    noisy = X.clone()
    noisy[ids == 0] += 100
    assert torch.equal(encoder(X, padding)[0][ids > 0], encoder(noisy, padding)[0][ids > 0])
    quiet, loud = (decoder(Y, memory, causal_mask(3), padding)[0] for memory in (X, noisy))
    assert torch.equal(quiet, loud)


@both_norms
def test_dropout_while_training_only(norm):
    layer, X = encoder_layer(norm, dropout=0.5), double(1, 4, D_MODEL)
    assert not torch.allclose(layer(X)[0], layer(X)[0])
    rested = layer.eval()(X)[0]
    assert torch.equal(rested, layer(X)[0])
    same = encoder_layer(norm)
    same.load_state_dict(layer.state_dict())
    assert_close(rested, same(X)[0])


def test_weights_come_back_from_every_attention():
    X, memory = torch.randn(2, 4, 8), torch.randn(2, 3, 8)
    _, weights = EncoderLayer(8, 2, 12)(X, need_weights=True)
    assert weights.shape == (2, 2, 4, 4)
    _, (self_weights, cross_weights) = DecoderLayer(8, 2, 12)(X, memory, causal_mask(4), need_weights=True)
    assert self_weights.shape == (2, 2, 4, 4) and cross_weights.shape == (2, 2, 4, 3)
    assert (self_weights.triu(1) == 0).all()
    assert_close(cross_weights.sum(dim=-1), torch.ones(2, 2, 4))


@both_norms
@both_kernels
def test_decoder_with_caches_equals_decoder_without(norm, need_weights):
    layer, Y, memory = decoder_layer(norm), double(2, 5, D_MODEL), double(2, 3, D_MODEL)
    mask, padding = causal_mask(5), padding_mask(torch.tensor([[7, 7, 0], [7, 7, 7]]), 0)
    expected, _ = layer(Y, memory, mask, padding)
    caches = (KeyValueCache(), MemoryCache())
    for start, end in ((0, 1), (1, 3), (3, 4), (4, 5)):
        got, _ = layer(Y[:, start:end], memory, mask[start:end, :end], padding, need_weights, caches)
        assert_close(got, expected[:, start:end], rtol=1e-9, atol=1e-9)


def test_a_causal_encoder_layer_under_combined_masks_equals_each_sentence_alone():
    layer, ids = encoder_layer(), torch.tensor([[7, 7, 7, 0], [7, 7, 7, 7]])
    X = double(2, 4, D_MODEL)
    together = layer(X, combine(causal_mask(4), padding_mask(ids, 0)))[0]
    assert_close(together[0, :3], layer(X[:1, :3], causal_mask(3))[0][0])


NO_LAYERS = (lambda *sizes: None, lambda *sizes: 3)
LAYER = dict(d_model=4, n_heads=2, d_ff=8)
PARTS = dict(attention=(*NO_LAYERS, nn.MultiheadAttention), feed_forward=NO_LAYERS, norm_layer=NO_LAYERS)
MISFITS = {
    "EncoderLayer of other parts": (EncoderLayer, LAYER, PARTS),
    "DecoderLayer of other parts": (DecoderLayer, LAYER, PARTS),
    "Residual around no norm": (Residual, dict(d_model=4), dict(norm_layer=NO_LAYERS)),
}


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "variance unbiased": (
        "centred.square().mean(dim=-1, keepdim=True)",
        "X.var(dim=-1, keepdim=True)",
        "test_variance_is_biased",
    ),
    "ε outside the root": (
        "torch.sqrt(variance + eps)",
        "(torch.sqrt(variance) + eps)",
        "test_epsilon_stands_inside_the_root",
    ),
    "no ε": (
        "torch.sqrt(variance + eps)",
        "torch.sqrt(variance)",
        "test_a_constant_vector_becomes_0_and_its_gradient_is_finite",
    ),
    "mean not subtracted": (
        "X - X.mean(dim=-1, keepdim=True)",
        "X",
        "test_standardise_forgets_shift_and_scale",
    ),
    "one mean for all positions": (
        "X - X.mean(dim=-1, keepdim=True)",
        "X - X.mean()",
        "test_each_token_is_normalised_by_itself",
    ),
    "norm without γ and β": (
        "F.layer_norm(X, self.gain.shape, self.gain, self.bias, self.eps)",
        "F.layer_norm(X, self.gain.shape, None, None, self.eps)",
        "test_layer_norm_equals_torch",
    ),
    "norm forgotten": (
        "return F.layer_norm(X, self.gain.shape, self.gain, self.bias, self.eps)",
        "return X + 0 * self.gain",
        "test_encoder_layer_equals_torch",
    ),
    "no ReLU": (
        "self.W_1(X).relu_()",
        "self.W_1(X)",
        "test_feed_forward_bends",
    ),
    "ReLU after the second matrix": (
        "self.W_2(self.W_1(X).relu_())",
        "self.W_2(self.W_1(X)).relu_()",
        "test_feed_forward_equals_a_slow_loop",
    ),
    "no residual": (
        "X = X + self.dropout(change)",
        "X = self.dropout(change)",
        "test_the_residual_adds_1_to_the_derivative",
    ),
    "no residual, seen by a whole layer": (
        "X = X + self.dropout(change)",
        "X = self.dropout(change)",
        "test_decoder_layer_equals_torch",
    ),
    "dropout on the sum": (
        "X = X + self.dropout(change)",
        "X = self.dropout(X + change)",
        "test_dropout_falls_on_the_change_and_never_on_what_goes_round_it",
    ),
    "no dropout": (
        "X = X + self.dropout(change)",
        "X = X + change",
        "test_dropout_falls_on_the_change_and_never_on_what_goes_round_it",
    ),
    "post-norm and pre-norm swapped": (
        'self.is_post = norm == "post"',
        'self.is_post = norm == "pre"',
        "test_post_norm_is_the_norm_of_the_sum",
    ),
    "pre-norm also carries the normed vector": (
        "return self.leave(X, sublayer(self.enter(X)))",
        "return self.leave(self.enter(X), sublayer(self.enter(X)))",
        "test_pre_norm_adds_the_sublayer_of_the_norm",
    ),
    "residual of the feed-forward network left out": (
        "return around_feed_forward(X, self.feed_forward), weights",
        "return around_feed_forward.leave(0 * X, self.feed_forward(around_feed_forward.enter(X))), weights",
        "test_encoder_layer_is_two_sublayers_each_within_its_residual",
    ),
    "mask of the encoder layer dropped": (
        "self.self_attention(inner, inner, inner, mask, need_weights, cache)",
        "self.self_attention(inner, inner, inner, None, need_weights, cache)",
        "test_padding_is_invisible",
    ),
    "mask of the decoder layer dropped": (
        "inner, inner, inner, tgt_mask, need_weights",
        "inner, inner, inner, None, need_weights",
        "test_future_token_changes_nothing_earlier",
    ),
    "memory's mask dropped": (
        "around_cross.enter(Y), memory, memory, memory_mask,",
        "around_cross.enter(Y), memory, memory, None,",
        "test_padding_is_invisible",
    ),
    "memory normed with the queries' norm": (
        "around_cross.enter(Y), memory, memory, memory_mask,",
        "around_cross.enter(Y), around_cross.enter(memory), around_cross.enter(memory), memory_mask,",
        "test_decoder_layer_equals_torch",
    ),
    "one cache for both attentions": (
        "need_weights, of_memory",
        "need_weights, own",
        "test_decoder_with_caches_equals_decoder_without",
    ),
}
