"""The whole machine against torch.nn.Transformer with copied weights, its sizes against the paper's, and what it promises."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from tfm_lib.layers import FeedForward, LayerNorm
from tfm_lib.masking import causal_mask, leak, padding_mask
from tfm_lib.multihead import KeyValueCache, MultiHeadAttention
from tfm_lib.positional import AlibiAttention, RelativeAttention, RotaryAttention, ShawAttention, sinusoidal_encoding
from tfm_lib.transformer import (
    DecoderOnly,
    Embedding,
    EncoderOnly,
    Memory,
    Transformer,
    TransformerConfig,
    base_config,
    big_config,
    count_parameters,
    decoder_caches,
)

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch about its own fast path

seeds = st.integers(0, 1000)
both_norms = pytest.mark.parametrize("norm", ["post", "pre"])
every_kind = pytest.mark.parametrize("kind", [Transformer, EncoderOnly, DecoderOnly])

SIZES = {"vocab_size": 11, "d_model": 8, "n_heads": 2, "d_ff": 12, "n_layers": 2, "dropout": 0.0, "max_len": 16}


def config(norm: str = "post", **changed) -> TransformerConfig:
    return TransformerConfig(**{**SIZES, "norm": norm, **changed})


def machine(norm: str = "post", kind=Transformer, **changed) -> nn.Module:
    """A model in double precision with every parameter drawn anew, so that no gain is 1 and no bias 0."""
    model = kind(config(norm, **changed)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model


def words(*shape: int) -> torch.Tensor:
    """Random ids, none of them padding."""
    return torch.randint(1, SIZES["vocab_size"], shape)


def padded(batch: int, length: int) -> torch.Tensor:
    """Random ids; each sentence ends with padding from a random place on."""
    ids, ends = words(batch, length), torch.randint(1, length + 1, (batch, 1))
    return ids.masked_fill(torch.arange(length) >= ends, 0)


def close_to(got, expected):
    assert_close(got, expected, rtol=1e-5, atol=1e-5)


# against torch.nn.Transformer


def twin_of(ours: Transformer) -> nn.Transformer:
    """PyTorch's machine with the parameters of `ours`; its two final norms are None under post-norm, as in the paper."""
    c = ours.config
    twin = nn.Transformer(
        c.d_model, c.n_heads, c.n_layers, c.n_layers, c.d_ff,
        dropout=0.0, batch_first=True, norm_first=c.norm == "pre", dtype=torch.double,
    )  # fmt: skip
    if c.norm == "post":
        twin.encoder.norm = twin.decoder.norm = None
    with torch.no_grad():
        for name, parameter in named_pairs(ours, twin):
            parameter.copy_(name)
    return twin


def named_pairs(ours: Transformer, twin: nn.Transformer, of=lambda parameter: parameter):
    """(of our parameter, of the place in torch's that corresponds to it), for all but the embedding."""
    for stack, theirs in ((ours.encoder, twin.encoder), (ours.decoder, twin.decoder)):
        for layer, their_layer in zip(stack, theirs.layers, strict=True):
            attentions = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}
            for name, their_name in attentions.items():
                if not hasattr(layer, name):
                    continue
                attention, their_attention = getattr(layer, name), getattr(their_layer, their_name)
                for kind in ("weight", "bias"):
                    projections = of(getattr(their_attention, f"in_proj_{kind}")).chunk(3)
                    for W, place in zip((attention.W_Q, attention.W_K, attention.W_V), projections, strict=True):
                        yield of(getattr(W, kind)), place
                    yield of(getattr(attention.W_O, kind)), of(getattr(their_attention.out_proj, kind))
            for i, W in enumerate((layer.feed_forward.W_1, layer.feed_forward.W_2), start=1):
                yield of(W.weight), of(getattr(their_layer, f"linear{i}").weight)
                yield of(W.bias), of(getattr(their_layer, f"linear{i}").bias)
            for i, residual in enumerate(layer.residuals, start=1):
                yield of(residual.norm.gain), of(getattr(their_layer, f"norm{i}").weight)
                yield of(residual.norm.bias), of(getattr(their_layer, f"norm{i}").bias)
    if ours.config.norm == "pre":
        for norm, their_norm in ((ours.encoder_norm, twin.encoder.norm), (ours.decoder_norm, twin.decoder.norm)):
            yield of(norm.gain), of(their_norm.weight)
            yield of(norm.bias), of(their_norm.bias)


def by_torch(ours: Transformer, twin: nn.Transformer, src, tgt):
    """Logits of torch's machine between embedding and unembedding spelled out."""
    E, d_model = ours.embedding.tokens.weight, ours.config.d_model

    def embed(ids):
        return E[ids] * math.sqrt(d_model) + sinusoidal_encoding(ids.shape[1], d_model).to(E.dtype)

    hidden = twin(
        embed(src), embed(tgt), tgt_mask=~causal_mask(tgt.shape[1]),
        src_key_padding_mask=src == 0, memory_key_padding_mask=src == 0,
    )  # fmt: skip
    return hidden @ E.T


@both_norms
@settings(max_examples=15)
@given(n=st.integers(1, 6), m=st.integers(1, 6), batch=st.integers(1, 3), seed=seeds)
def test_transformer_equals_torch(norm, n, m, batch, seed):
    torch.manual_seed(seed)
    ours, src, tgt = machine(norm), padded(batch, m), padded(batch, n)
    twin, E = twin_of(ours), ours.embedding.tokens.weight
    wanted = by_torch(ours, twin, src, tgt)
    (wanted.square().mean()).backward()
    slope_of_E, E.grad = E.grad, None
    got = ours(src, tgt)
    close_to(got, wanted)
    got.square().mean().backward()
    close_to(E.grad, slope_of_E)
    pairs = list(named_pairs(ours, twin, of=lambda parameter: parameter.grad))
    compared = sum(grad.numel() for grad, _ in pairs) + E.numel()
    assert compared == sum(count_parameters(ours).values()), "a parameter was not compared"
    for grad, their_grad in pairs:
        close_to(grad, their_grad)


def test_in_single_precision_too():
    ours = Transformer(config(d_model=64, n_heads=4, d_ff=128))
    twin = twin_of(ours).float()
    src, tgt = padded(3, 7), padded(3, 5)
    close_to(ours(src, tgt), by_torch(ours, twin, src, tgt))


# embedding


def test_embedding_is_scaled_and_knows_places():
    embedding, ids = Embedding(config()).double(), words(2, 5)
    rows = embedding.tokens.weight[ids] * math.sqrt(8)
    close_to(embedding(ids), rows + sinusoidal_encoding(5, 8))
    close_to(embedding(ids[:, 3:], start=3), embedding(ids)[:, 3:])


def test_scaled_embeddings_are_as_large_as_positions():
    embedding = Embedding(config(vocab_size=2000, d_model=64))
    scaled = embedding.tokens.weight * embedding.scale
    assert 0.95 < scaled.var() < 1.05
    assert 0.45 < embedding.positions.square().mean() < 0.55


def test_logits_are_dot_products_with_the_embeddings():
    model, src, tgt = machine(), words(2, 4), words(2, 3)
    Y = model.decode(tgt, model.encode(src))
    expected = torch.stack([(Y * row).sum(-1) for row in model.embedding.tokens.weight], dim=-1)
    close_to(model(src, tgt), expected)


def test_one_matrix_serves_source_target_and_output():
    model = Transformer(config())
    shapes = [tuple(parameter.shape) for parameter in model.parameters()]
    assert shapes.count((11, 8)) == 1 and sum(11 in shape for shape in shapes) == 1


def test_dropout_falls_on_embeddings_while_training_only():
    embedding, ids = Embedding(config(dropout=0.5, d_model=64)), words(1, 8)
    assert 0.3 < (embedding(ids) == 0).float().mean() < 0.7
    assert torch.equal(embedding.eval()(ids), embedding(ids))


def test_positions_are_no_parameters_and_are_not_saved():
    model = Transformer(config())
    assert not any("positions" in name for name in model.state_dict())


# the machine


@both_norms
def test_forward_is_encode_then_decode_then_unembed(norm):
    model, src, tgt = machine(norm), padded(2, 5), words(2, 4)
    Y = model.decode(tgt, model.encode(src))
    assert torch.equal(model(src, tgt), model.embedding.unembed(Y))
    assert torch.equal(model.hidden(src, tgt), Y)


@both_norms
def test_future_token_changes_nothing_earlier(norm):
    model, src, tgt = machine(norm), words(1, 4), words(1, 6)
    clean = model(src, tgt)
    for j in range(1, 6):
        other = tgt.clone()
        other[0, j] = other[0, j] % 10 + 1
        noisy = model(src, other)
        assert torch.equal(noisy[:, :j], clean[:, :j])
        assert (noisy[:, j] - clean[:, j]).abs().max() > 1e-6


@both_norms
def test_padding_is_invisible(norm):
    model, src, tgt = machine(norm), words(1, 4), words(1, 3)
    alone = model(src, tgt)
    wider = torch.nn.functional.pad(src, (0, 3)), torch.nn.functional.pad(tgt, (0, 2))
    close_to(model(*wider)[:, :3], alone)


@both_norms
def test_every_output_depends_on_every_source_token(norm):
    model, src, tgt = machine(norm), words(1, 4), words(1, 3)
    clean = model(src, tgt)
    for j in range(4):
        other = src.clone()
        other[0, j] = other[0, j] % 10 + 1
        assert ((model(other, tgt) - clean).abs().amax(dim=-1) > 1e-6).all()


@both_norms
def test_every_decoder_layer_reads_the_finished_memory(norm):
    """The memory of the last encoder layer, and not that of the layer at the same height."""
    model, src, tgt = machine(norm), words(1, 4), words(1, 3)
    seen = []
    for layer in model.decoder:
        layer.cross_attention.register_forward_hook(lambda _, inputs, __: seen.append(inputs[1:3]))
    memory = model.encode(src).H
    model(src, tgt)
    assert len(seen) == 2
    for key, value in seen:
        assert torch.equal(key, memory) and torch.equal(value, memory)


@both_norms
def test_post_norm_has_no_norm_after_the_stack_and_pre_norm_has_one(norm):
    model = Transformer(config(norm))
    names = {name for name, _ in model.named_parameters() if name.startswith(("encoder_norm", "decoder_norm"))}
    wanted = {f"{stack}_norm.{part}" for stack in ("encoder", "decoder") for part in ("gain", "bias")}
    assert names == (wanted if norm == "pre" else set())


def test_matrices_are_drawn_as_by_the_authors_and_biases_are_0():
    model = Transformer(config(d_model=64, n_heads=4, d_ff=256))
    W = model.encoder[0].feed_forward.W_1
    limit = math.sqrt(6 / (64 + 256))
    assert 0.95 * limit < W.weight.abs().max() <= limit and (W.bias == 0).all()


# caches


@both_norms
@settings(max_examples=15)
@given(n=st.integers(1, 7), cut=st.integers(0, 7), batch=st.integers(1, 3), seed=seeds)
def test_cached_equals_uncached(norm, n, cut, batch, seed):
    torch.manual_seed(seed)
    model, src, tgt = machine(norm), padded(batch, 5), words(batch, n)
    memory = model.encode(src)
    whole = model.decode(tgt, memory)
    caches, cut = decoder_caches(2), min(cut, n)
    pieces = tgt.split([cut, *[1] * (n - cut)] if cut else 1, dim=1)  # a beginning at once, then token by token
    parts = [model.decode(piece, memory, caches) for piece in pieces]
    close_to(torch.cat(parts, dim=1), whole)
    assert [cache.length for cache, _ in caches] == [n, n]


def test_caches_keep_the_memory_and_do_not_project_it_again():
    model, src = machine(), words(1, 4)
    memory, caches = model.encode(src), decoder_caches(2)
    first = model.decode(words(1, 1), memory, caches)
    assert [of_memory.length for _, of_memory in caches] == [4, 4]
    tgt = words(1, 1)
    kept = model.decode(tgt, memory, caches)
    assert first.shape == kept.shape == (1, 1, 8)
    assert [of_memory.length for _, of_memory in caches] == [4, 4]


# weights


@both_norms
def test_all_weights_are_those_of_every_layer_and_head(norm):
    model, src, tgt = machine(norm), padded(2, 5), words(2, 3)
    found = model.all_weights(src, tgt)
    assert {place: tuple(weights.shape) for place, weights in found.items()} == {
        "encoder": (2, 2, 2, 5, 5), "decoder": (2, 2, 2, 3, 3), "cross": (2, 2, 2, 3, 5)
    }  # fmt: skip
    for weights in found.values():
        close_to(weights.sum(dim=-1), torch.ones(weights.shape[:-1]).double())
    assert (found["decoder"].triu(1) == 0).all()
    for place in ("encoder", "cross"):
        assert (found[place] * (src == 0)[:, None, None, None, :]).sum() == 0
    # the second layers, from what the first ones hand over
    X, mask = model.encoder[0](model.embedding(src), padding_mask(src, 0))[0], padding_mask(src, 0)
    close_to(found["encoder"][:, 1], model.encoder[1](X, mask, need_weights=True)[1])
    H = model.encode(src).H
    Y, (own, cross) = model.decoder[0](model.embedding(tgt), H, causal_mask(3), mask, True)
    _, (own_too, cross_too) = model.decoder[1](Y, H, causal_mask(3), mask, True)
    close_to(found["decoder"], torch.stack([own, own_too], dim=1))
    close_to(found["cross"], torch.stack([cross, cross_too], dim=1))


# sizes


def on_paper(vocab_size: int, d_model: int, d_ff: int, n_layers: int) -> dict[str, int]:
    """Each part by its formula; biases everywhere but in the embedding, no norm after the stacks."""
    attention = n_layers * 4 * (d_model * d_model + d_model)
    feed_forward = n_layers * (d_model * d_ff + d_ff + d_ff * d_model + d_model)
    return {
        "embedding.tokens": vocab_size * d_model,
        "encoder.self_attention": attention,
        "encoder.feed_forward": feed_forward,
        "decoder.self_attention": attention,
        "decoder.cross_attention": attention,
        "decoder.feed_forward": feed_forward,
        "norms": n_layers * (2 + 3) * 2 * d_model,
    }


def size_of(configuration: TransformerConfig, kind=Transformer) -> dict[str, int]:
    with torch.device("meta"):
        return count_parameters(kind(configuration))


@pytest.mark.parametrize(
    ("configuration", "sizes", "total"),
    [(base_config, (512, 2048, 6), 63_082_496), (big_config, (1024, 4096, 6), 214_245_376)],
)
def test_paper_sizes_part_by_part(configuration, sizes, total):
    counted = size_of(configuration(37_000))
    assert counted == on_paper(37_000, *sizes)
    assert sum(counted.values()) == total


def test_paper_settings():
    base, big = base_config(37_000), big_config(37_000)
    assert (base.n_heads, base.dropout, base.norm) == (8, 0.1, "post")
    assert (big.n_heads, big.dropout, big.norm) == (16, 0.3, "post")


@both_norms
@every_kind
def test_counts_hold_every_parameter_once(norm, kind):
    model = kind(config(norm))
    counted = count_parameters(model)
    assert sum(counted.values()) == sum(parameter.numel() for parameter in model.parameters())
    assert size_of(config(norm), kind) == counted


def test_heads_cost_no_parameters_and_pre_norm_two_norms():
    assert size_of(config(n_heads=1)) == size_of(config(n_heads=4))
    assert size_of(config("pre"))["norms"] - size_of(config())["norms"] == 2 * 2 * 8


def test_a_tied_module_counts_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(3, 3, bias=False)
            self.two = self.one

    assert count_parameters(Tied()) == {"one.weight": 9}


# other parts


class SwiGLU(nn.Module):
    """(SiLU(xW) ⊙ xV) U, as many call it."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.W, self.V = nn.Linear(d_model, d_ff, bias=False), nn.Linear(d_model, d_ff, bias=False)
        self.U = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, X):
        return self.U(nn.functional.silu(self.W(X)) * self.V(X))


PARTS = {
    "rotary": dict(attention=RotaryAttention, positions=torch.zeros),
    "alibi": dict(attention=AlibiAttention, positions=torch.zeros),
    "relative": dict(attention=partial(RelativeAttention, max_distance=3)),
    "shaw": dict(attention=partial(ShawAttention, max_distance=3)),
    "llama": dict(attention=RotaryAttention, feed_forward=SwiGLU, norm_layer=nn.RMSNorm, positions=torch.zeros),
}
other_parts = pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)


def test_default_parts_are_those_that_stand_in_the_signature():
    """The same numbers are drawn in the same order, and bear the same names, as by hand from the pieces."""
    torch.manual_seed(0)
    model = Transformer(config("pre"))
    torch.manual_seed(0)
    named = dict(attention=MultiHeadAttention, feed_forward=FeedForward, norm_layer=LayerNorm)
    spelled_out = Transformer(config("pre"), positions=sinusoidal_encoding, **named)
    torch.manual_seed(0)
    by_hand = {f"embedding.{name}": value for name, value in Embedding(config()).state_dict().items()}
    attentions = {"encoder": ("self_attention",), "decoder": ("self_attention", "cross_attention")}
    for stack, names in attentions.items():
        for i in range(2):
            pieces = {name: MultiHeadAttention(8, 2) for name in names} | {"feed_forward": FeedForward(8, 12)}
            pieces |= {f"residuals.{k}.norm": LayerNorm(8) for k in range(len(names) + 1)}
            for name, piece in pieces.items():
                by_hand |= {f"{stack}.{i}.{name}.{key}": value for key, value in piece.state_dict().items()}
        by_hand |= {f"{stack}_norm.{key}": value for key, value in LayerNorm(8).state_dict().items()}
    assert model.state_dict().keys() == by_hand.keys()
    for name, value in model.state_dict().items():
        assert value.equal(spelled_out.state_dict()[name])
        if "W_" in name and name.endswith("weight"):
            nn.init.xavier_uniform_(by_hand[name])
        assert value.equal(torch.zeros_like(value) if "W_" in name and name.endswith("bias") else by_hand[name]), name


@other_parts
@pytest.mark.parametrize("kind", [Transformer, DecoderOnly])
def test_other_parts_enter_and_learn(kind, parts):
    torch.manual_seed(0)
    model = kind(config("pre", d_model=16, d_ff=32), **parts)
    layers = model.layers if kind is DecoderOnly else [*model.encoder, *model.decoder]
    attention = parts["attention"]
    for layer in layers:
        assert type(layer.self_attention) is getattr(attention, "func", attention)
        assert type(layer.feed_forward) is parts.get("feed_forward", FeedForward)
        assert all(type(around.norm) is parts.get("norm_layer", LayerNorm) for around in layer.residuals)
    assert type(model.norm if kind is DecoderOnly else model.decoder_norm) is parts.get("norm_layer", LayerNorm)
    optimiser, src = torch.optim.Adam(model.parameters(), lr=0.01), words(8, 5)
    read, said = torch.nn.functional.pad(src.flip(1), (1, -1), value=1), src.flip(1)
    losses = []
    for _ in range(25):
        logits = model(src, read) if kind is Transformer else model(src[:, :-1])
        wanted = said if kind is Transformer else src[:, 1:]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        assert all(
            parameter.grad.abs().sum() > 0 for name, parameter in model.named_parameters() if "W_K.bias" not in name
        )
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0], losses


@other_parts
def test_other_parts_see_neither_future_nor_padding_and_write_with_caches(parts):
    torch.manual_seed(0)
    model, src, tgt = Transformer(config("pre"), **parts).double(), words(2, 4), words(2, 5)
    whole = model(src, tgt)
    for i in range(5):
        close_to(model(src, tgt[:, : i + 1]), whole[:, : i + 1])
    close_to(model(torch.nn.functional.pad(src, (0, 3)), tgt), whole)
    memory, caches = model.encode(src), decoder_caches(2)
    steps = [model.decode(word, memory, caches) for word in tgt.split(1, dim=1)]
    close_to(model.embedding.unembed(torch.cat(steps, dim=1)), whole)


def test_without_positions_plain_attention_sees_a_set():
    torch.manual_seed(0)
    ids, order = words(1, 5), torch.tensor([3, 1, 4, 0, 2])
    blind = EncoderOnly(config(), positions=torch.zeros)
    close_to(blind(ids)[:, order], blind(ids[:, order]))
    seeing = EncoderOnly(config(), positions=torch.zeros, attention=RotaryAttention)
    assert (seeing(ids)[:, order] - seeing(ids[:, order])).abs().max() > 1e-3


# encoder alone, decoder alone


@both_norms
def test_encoder_only_is_the_encoder_with_its_embedding_at_both_ends(norm):
    whole, alone, ids = machine(norm), machine(norm, EncoderOnly), padded(2, 5)
    alone.embedding.load_state_dict(whole.embedding.state_dict())
    alone.layers.load_state_dict(whole.encoder.state_dict())
    alone.norm.load_state_dict(whole.encoder_norm.state_dict())
    close_to(alone(ids), whole.embedding.unembed(whole.encode(ids).H))


@both_norms
def test_decoder_only_is_encoder_only_under_a_causal_mask(norm):
    two_ways, one_way, ids = machine(norm, EncoderOnly), machine(norm, DecoderOnly), words(1, 5)
    one_way.load_state_dict(two_ways.state_dict())
    close_to(one_way(ids)[:, -1], two_ways_masked(two_ways, ids)[:, -1])
    for i in range(5):  # position i is what the beginning up to i gives
        close_to(one_way(ids)[:, i], one_way(ids[:, : i + 1])[:, i])
    assert (one_way(ids)[:, 0] - two_ways(ids)[:, 0]).abs().max() > 1e-6


def two_ways_masked(model: EncoderOnly, ids):
    X = model.embedding(ids)
    for layer in model.layers:
        X, _ = layer(X, causal_mask(ids.shape[1]))
    return model.embedding.unembed(model.norm(X))


@both_norms
@pytest.mark.parametrize(("kind", "sees_ahead"), [(EncoderOnly, True), (DecoderOnly, False)])
def test_who_sees_ahead(norm, kind, sees_ahead):
    model, ids = machine(norm, kind), words(1, 4)

    def through(X):
        given = model.embedding.register_forward_hook(lambda *_: X)
        logits = model(ids)
        given.remove()
        return logits

    seen = leak(through, model.embedding(ids).detach())
    assert bool((seen.triu(1) > 0).any()) == sees_ahead
    assert (seen.tril().diagonal() > 0).all()


@both_norms
@settings(max_examples=15)
@given(n=st.integers(1, 7), cut=st.integers(1, 7), batch=st.integers(1, 3), seed=seeds)
def test_a_decoder_alone_with_caches_equals_one_without(norm, n, cut, batch, seed):
    torch.manual_seed(seed)
    model, ids = machine(norm, DecoderOnly), padded(batch, n)
    caches, cut = [KeyValueCache() for _ in model.layers], min(cut, n)
    pieces = ids.split([cut, *[1] * (n - cut)], dim=1)
    close_to(torch.cat([model(piece, caches) for piece in pieces], dim=1), model(ids))
    assert [cache.length for cache in caches] == [n, n]


def test_a_decoder_alone_is_no_encoder():
    assert not issubclass(DecoderOnly, EncoderOnly)


@pytest.mark.parametrize("kind", [EncoderOnly, DecoderOnly])
def test_padding_is_invisible_to_one_stack(kind):
    model, ids = machine(kind=kind), words(1, 4)
    close_to(model(torch.nn.functional.pad(ids, (0, 3)))[:, :4], model(ids))


# bad input


def vectors(m: int, d_model: int) -> Memory:
    return Memory(torch.zeros(1, m, d_model), torch.ones(1, 1, m, dtype=torch.bool))


def on(device_ids, **changed):
    return lambda: Transformer(config(**changed))(*device_ids)


BAD = {
    "heads that do not divide": (lambda: config(n_heads=3), "n_heads must divide d_model = 8; got 3."),
    "odd width": (
        lambda: config(d_model=9, n_heads=3),
        "d_model must be even, for positions are pairs of sine and cosine; got 9.",
    ),
    "no layer": (lambda: config(n_layers=0), "n_layers must be a whole number of at least 1; got 0."),
    "half a layer": (lambda: config(d_ff=2.5), "d_ff must be a whole number of at least 1; got 2.5."),
    "dropout of all": (lambda: config(dropout=1.0), "dropout must be a probability below 1; got 1.0."),
    "padding beyond the vocabulary": (lambda: config(pad_id=11), "pad_id must be an id below vocab_size = 11; got 11."),
    "a norm unheard of": (lambda: Transformer(config("before")), """norm must be "post" or "pre"; got 'before'."""),
    "an id beyond the vocabulary": (
        on((torch.tensor([[1, 11]]), torch.tensor([[1]]))),
        "ids must be from 0 to 10, as vocab_size says; got 11.",
    ),
    "a negative id": (
        on((torch.tensor([[1]]), torch.tensor([[-100, 1]]))),
        "ids must be from 0 to 10, as vocab_size says; got -100.",
    ),
    "vectors for ids": (
        on((torch.rand(1, 2), torch.tensor([[1]]))),
        "src_ids must hold whole numbers; got torch.float32.",
    ),
    "one sentence without a batch": (
        on((torch.tensor([1, 2]), torch.tensor([[1]]))),
        "src_ids must have two axes, (batch, m); got shape (2,).",
    ),
    "an empty target": (
        on((torch.tensor([[1]]), torch.zeros(1, 0, dtype=torch.long))),
        "ids must hold at least one token in each row; got shape (1, 0).",
    ),
    "a source of nothing but padding": (
        on((torch.tensor([[0, 0]]), torch.tensor([[1]]))),
        "ids must hold a token that is not padding in every row; got none in row 0.",
    ),
    "two sources, one target": (
        on((torch.tensor([[1], [2]]), torch.tensor([[1]]))),
        "tgt_ids must have shape (batch, n) with batch = 2, as in src_ids; got shape (1, 1).",
    ),
    "too long": (
        on((torch.ones(1, 17, dtype=torch.long), torch.tensor([[1]]))),
        "ids must end before position max_len = 16; got 17 positions.",
    ),
    "caches for another depth": (
        lambda: Transformer(config()).decode(torch.tensor([[1]]), vectors(2, 8), decoder_caches(3)),
        "caches must hold a pair, as decoder_caches makes it, for each of the 2 layers; got 3.",
    ),
    "a memory of another width": (
        lambda: Transformer(config()).decode(torch.tensor([[1]]), vectors(2, 6)),
        "memory.H must have shape (batch, m, d_model) with d_model = 8, as in the weights; got shape (1, 2, 6).",
    ),
    "caches for another stack": (
        lambda: DecoderOnly(config())(torch.tensor([[1]]), [KeyValueCache()]),
        "caches must hold one for each of the 2 layers; got 1.",
    ),
    "a memory without its mask": (
        lambda: Transformer(config()).decode(torch.tensor([[1]]), torch.zeros(1, 2, 8)),
        "memory must be a Memory(H, mask); got a tensor of shape (1, 2, 8).",
    ),
    "a part that is none": (
        lambda: Transformer(config(), attention="rotary"),
        "attention must be a function; got 'rotary'.",
    ),
    "positions that are none": (
        lambda: EncoderOnly(config(), positions=None),
        "positions must be a function; got None.",
    ),
    "padding on the left of one stack": (
        lambda: DecoderOnly(config())(torch.tensor([[0, 1]])),
        "ids must begin with a token in every row, padding stands at the end; got padding in row 0.",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.usefixtures("as_readers_run_it")
def test_bad_input_gets_a_sentence(name):
    call, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert str(caught.value) == sentence


NO_PARTS = dict(
    positions=(lambda n, d: torch.zeros(n, d + 1), lambda n, d: torch.zeros(n, 1), lambda n, d: torch.zeros(n - 1, d), lambda n, d: None, nn.Linear),
    attention=(nn.MultiheadAttention, lambda *sizes: None),
    feed_forward=(lambda *sizes: None,),
    norm_layer=(lambda d_model: None,),
)  # fmt: skip
MISFITS = {
    f"{kind.__name__} of other parts": (kind, dict(config=config()), NO_PARTS)
    for kind in (Transformer, EncoderOnly, DecoderOnly)
}


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "embeddings not scaled": (
        "self.tokens(ids) * self.scale",
        "self.tokens(ids)",
        "test_embedding_is_scaled_and_knows_places",
    ),
    "no positions": (
        "self.tokens(ids) * self.scale + self.positions[start:end]",
        "self.tokens(ids) * self.scale",
        "test_embedding_is_scaled_and_knows_places",
    ),
    "positions always from the start": (
        "self.positions[start:end]",
        "self.positions[: end - start]",
        "test_cached_equals_uncached",
    ),
    "embeddings as small as they are kept": (
        "std=config.d_model**-0.5",
        "std=config.d_model**-1.0",
        "test_scaled_embeddings_are_as_large_as_positions",
    ),
    "no dropout on the sum": (
        "return self.dropout(self.tokens(ids)",
        "return (self.tokens(ids)",
        "test_dropout_falls_on_embeddings_while_training_only",
    ),
    "output not tied": (
        "return F.linear(X, self.tokens.weight)",
        "return F.linear(X, self.tokens.weight.roll(1, 0))",
        "test_logits_are_dot_products_with_the_embeddings",
    ),
    "padding of the source is read": (
        "            X, _ = layer(X, mask)\n        return Memory(",
        "            X, _ = layer(X, None)\n        return Memory(",
        "test_padding_is_invisible",
    ),
    "padding of the memory is read": (
        "memory.H, kept, memory.mask,",
        "memory.H, kept, None,",
        "test_padding_is_invisible",
    ),
    "the decoder sees the future": (
        "memory.H, kept, memory.mask,",
        "memory.H, None, memory.mask,",
        "test_future_token_changes_nothing_earlier",
    ),
    "memory and target swapped": (
        "memory.H, kept, memory.mask,",
        "Y, mask, None,",
        "test_every_output_depends_on_every_source_token",
    ),
    "a decoder layer reads what the last one made of the memory": (
        "Y, _ = layer(Y, memory.H, kept, memory.mask, caches=layer_caches)",
        "Y, _ = layer(Y, memory.H, kept, memory.mask, caches=layer_caches); memory.H.mul_(0.9)",
        "test_every_decoder_layer_reads_the_finished_memory",
    ),
    "a norm after the stack under post-norm": (
        'nn.Identity() if config.norm == "post" else norm_layer(config.d_model)',
        "norm_layer(config.d_model)",
        "test_post_norm_has_no_norm_after_the_stack_and_pre_norm_has_one",
    ),
    "no norm after the stack under pre-norm": (
        'nn.Identity() if config.norm == "post" else norm_layer(config.d_model)',
        "nn.Identity()",
        "test_transformer_equals_torch",
    ),
    "pre-norm stacks end without their norm": (
        "        return self.decoder_norm(Y)",
        "        return Y",
        "test_transformer_equals_torch",
    ),
    "new tokens masked as if they came first": (
        "mask = causal_mask(start + tgt_ids.shape[1])[start:]",
        "mask = causal_mask(start + tgt_ids.shape[1])[: tgt_ids.shape[1]]",
        "test_cached_equals_uncached",
    ),
    "the weights of the first layer for all": (
        "seen[name.format(i)] for i in layers",
        "seen[name.format(0)] for i in layers",
        "test_all_weights_are_those_of_every_layer_and_head",
    ),
    "one norm too few counted": (
        "counts[part] += parameter.numel()",
        "counts[part] = parameter.numel()",
        "test_paper_sizes_part_by_part",
    ),
    "the big model as wide as the base": (
        "d_model=1024, n_heads=16, d_ff=4096",
        "d_model=512, n_heads=16, d_ff=4096",
        "test_paper_sizes_part_by_part",
    ),
    "GPT that looks ahead": (
        "X, _ = layer(X, _still_seen(mask, cache).to(X.device), cache=cache)",
        "X, _ = layer(X, None, cache=cache)",
        "test_who_sees_ahead",
    ),
    "GPT whose new tokens are masked as if they came first": (
        "causal_mask(start + ids.shape[1])[start:]",
        "causal_mask(start + ids.shape[1])[: ids.shape[1]]",
        "test_a_decoder_alone_with_caches_equals_one_without",
    ),
    "GPT that forgets where it is": (
        "X, mask = self.embedding(ids, start)",
        "X, mask = self.embedding(ids)",
        "test_a_decoder_alone_with_caches_equals_one_without",
    ),
    "every layer takes the same attention": (
        "kind(*sizes, **parts)",
        "kind(*sizes)",
        "test_other_parts_enter_and_learn",
    ),
    "an id beyond the vocabulary goes unnoticed": (
        'require_tokens("ids", ids, self.tokens.weight)',
        "pass",
        "test_bad_input_gets_a_sentence[an id beyond the vocabulary]",
    ),
}


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_model_that_was_emptied_and_loaded_is_the_same(device):
    config = TransformerConfig(11, d_model=8, n_heads=2, d_ff=16, n_layers=1, max_len=9)
    model = Transformer(config).eval()
    with torch.device(device):
        other = Transformer(config).eval()
    other.to_empty(device="cpu").load_state_dict(model.state_dict(), strict=True)
    ids = torch.tensor([[1, 4, 5, 2]])
    torch.testing.assert_close(other(ids, ids), model(ids, ids), rtol=0, atol=0)
    assert model.double()(ids, ids).dtype == torch.float64


def test_a_batch_of_no_sentence_gives_no_logits() -> None:
    model = Transformer(TransformerConfig(20, d_model=16, n_heads=2, d_ff=32, n_layers=1))
    none = torch.zeros(0, 5, dtype=torch.long)
    assert model(none, none[:, :4]).shape == (0, 4, 20)
    with pytest.raises(ValueError, match="at least one token in each row"):
        model.embedding(torch.zeros(2, 0, dtype=torch.long))
