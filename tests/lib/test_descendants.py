"""The descendants' objectives against slow loops, their parts against torch and against the layers they replace."""

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from lib.misfits import NO_FLOATS, NO_TENSOR, NUMBER, SIZE, WHOLE
from tfm_lib._trace import trace
from tfm_lib.descendants import (
    Classifier,
    FactorisedEmbedding,
    LowRankAdapter,
    MixtureOfExperts,
    RMSNorm,
    RotaryGroupedAttention,
    SwiGLU,
    VisionTransformer,
    add_adapters,
    balance_loss,
    corrupt_spans,
    decoder_of_today,
    masked_words,
    order_mask,
    patches,
    share_layers,
    top_k_gates,
)
from tfm_lib.masking import causal_mask, leak
from tfm_lib.multihead import KeyValueCache
from tfm_lib.transformer import DecoderOnly, EncoderOnly, TransformerConfig, count_parameters

seeds = st.integers(0, 1000)
CONFIG = TransformerConfig(40, d_model=16, n_heads=4, d_ff=32, n_layers=3, dropout=0.0, norm="pre", max_len=24)
SENTENCES = torch.tensor([[4, 5, 6, 7, 8], [9, 10, 11, 0, 0]])


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# masked words


def test_of_the_words_asked_for_eight_in_ten_are_hidden_and_one_is_another():
    ids = torch.randint(4, 1000, (400, 500), generator=generator())
    read, targets = masked_words(ids, 1000, 0.15, generator(1))
    asked = targets != 0
    hidden, stays = read[asked] == 1000, read[asked] == ids[asked]
    for share, wanted, of in ((asked, 0.15, ids.numel()), (hidden, 0.8, asked.sum()), (stays, 0.1, asked.sum())):
        slack = 4 * math.sqrt(wanted * (1 - wanted) / int(of))
        assert abs(share.float().mean().item() - wanted) < slack + 1 / 900  # a word drawn for another may be the same
    other = read[asked & (read != 1000) & (read != ids)]
    assert other.min() < 20 and other.max() > 980, "another word is any word"


@given(seeds)
def test_what_is_not_asked_for_is_read_as_it_is_and_has_no_target(seed):
    read, targets = masked_words(SENTENCES, 30, 0.5, generator(seed))
    assert targets[targets != 0].equal(SENTENCES[targets != 0])
    assert read[targets == 0].equal(SENTENCES[targets == 0])


def test_no_special_token_is_asked_for():
    ids = torch.tensor([[0, 1, 2, 3, 30, 30]]).repeat(50, 1)
    read, targets = masked_words(ids, 30, 0.9, generator())
    assert read.equal(ids) and not targets.any()


def test_each_call_hides_other_words():
    draws = generator()
    first, second = (masked_words(SENTENCES, 30, 0.5, draws)[1] for _ in range(2))
    assert not first.equal(second)


# spans


@given(n=st.integers(2, 40), share=st.floats(0.05, 0.9), mean_length=st.floats(1.0, 6.0), seed=seeds)
def test_source_and_target_together_are_the_sentence(n, share, mean_length, seed):
    ids = torch.arange(4, 4 + n)
    src, tgt = corrupt_spans(ids, 100, share, mean_length, generator(seed))
    fell: dict[int, list[int]] = {}
    for token in tgt:
        if token >= 100:
            fell[token] = []
        else:
            fell[max(fell)].append(token)
    assert [word for token in src for word in fell.get(token, [token])] == ids.tolist()
    assert list(fell) == list(range(100, 100 + len(fell))) and fell[max(fell)] == [], "one sentinel ends the target"
    spans = [fell[token] for token in src if token >= 100]
    assert all(spans) and len(spans) == len(fell) - 1


@given(n=st.integers(10, 60), seed=seeds)
def test_as_much_falls_out_as_asked_in_as_many_spans(n, seed):
    src, tgt = corrupt_spans(torch.arange(4, 4 + n), 100, 0.3, 3.0, generator(seed))
    lost = sum(token < 100 for token in tgt)
    assert lost == round(0.3 * n)
    assert sum(token >= 100 for token in src) == max(1, round(lost / 3))


def test_either_end_may_fall_out_and_either_may_stay():
    ends = {
        (src[0] == 100, src[-1] >= 100)
        for src, _ in (corrupt_spans(torch.arange(4, 14), 100, 0.4, 2.0, generator(s)) for s in range(200))
    }
    assert ends == {(a, b) for a in (True, False) for b in (True, False)}


# orders


@given(order=st.permutations(range(6)))
def test_order_mask_equals_a_slow_loop(order):
    mask = order_mask(torch.tensor(order))
    assert mask.tolist() == [[order.index(j) <= order.index(i) for j in range(6)] for i in range(6)]


def test_the_order_of_reading_gives_the_causal_mask():
    assert order_mask(torch.arange(7)).equal(causal_mask(7))


# fine-tuning


def test_a_classifier_reads_the_first_token_and_nothing_else():
    torch.manual_seed(0)
    encoder = EncoderOnly(CONFIG)
    model = Classifier(encoder, 3)
    X = encoder.hidden(SENTENCES)
    assert_close(encoder(SENTENCES), encoder.embedding.unembed(X))
    assert_close(model(SENTENCES), X[:, 0] @ model.head.weight.T + model.head.bias)


@given(seeds, st.integers(1, 5))
def test_an_adapter_is_a_dense_map_of_low_rank(seed, rank):
    torch.manual_seed(seed)
    linear, X = nn.Linear(6, 4), torch.randn(3, 6)
    adapter = LowRankAdapter(linear, rank, alpha=3.0)
    assert_close(adapter(X), linear(X))  # before training it changes nothing
    adapter.B.data.normal_()
    update = 3.0 / rank * adapter.B @ adapter.A
    assert torch.linalg.matrix_rank(update) == min(rank, 4)
    assert_close(adapter(X), X @ (linear.weight + update).T + linear.bias)


def test_adapters_train_nothing_but_themselves_and_change_no_output_at_first():
    torch.manual_seed(0)
    encoder = EncoderOnly(CONFIG)
    before, weights = encoder(SENTENCES), [p.clone() for p in encoder.parameters()]
    model = Classifier(add_adapters(encoder, rank=2), 3)
    assert_close(encoder(SENTENCES), before)
    trained = {name: p.numel() for name, p in model.named_parameters() if p.requires_grad}
    assert len(trained) == 3 * 2 * 2 + 2
    assert sum(trained.values()) == 3 * 2 * 2 * (16 + 16) + 3 * 16 + 3
    optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1.0)
    for _ in range(2):
        optimiser.zero_grad()
        model(SENTENCES).square().sum().backward()
        optimiser.step()
    kept = [p for name, p in encoder.named_parameters() if name.split(".")[-1] not in ("A", "B")]
    assert all(now.equal(old) for now, old in zip(kept, weights, strict=True))
    assert (encoder(SENTENCES) - before).abs().max() > 1e-3


# sharing


def test_shared_layers_are_one_layer_and_read_as_it_many_times():
    torch.manual_seed(0)
    model = EncoderOnly(CONFIG)
    before = count_parameters(model)
    first = model.layers[0]
    shared = share_layers(model)
    assert all(layer is first for layer in shared.layers) and len(shared.layers) == 3
    assert count_parameters(shared)["layers.self_attention"] * 3 == before["layers.self_attention"]
    X, mask = shared.embedding(SENTENCES), SENTENCES.ne(0)[:, None]
    for _ in range(3):
        X, _ = first(X, mask)
    assert_close(shared(SENTENCES), shared.embedding.unembed(shared.norm(X)))


def test_factorised_embeddings_are_narrow_ones_widened():
    torch.manual_seed(0)
    embedding = FactorisedEmbedding(CONFIG, d_embedding=6)
    wide = embedding.tokens.weight @ embedding.widen.weight.T  # (v, d_model)
    assert_close(embedding(SENTENCES) - embedding.positions[:5], wide[SENTENCES] * math.sqrt(6))
    X = torch.randn(2, 3, 16)
    assert_close(embedding.unembed(X), X @ wide.T)
    assert sum(p.numel() for p in embedding.parameters()) == 40 * 6 + 6 * 16


def test_a_factorised_embedding_starts_where_it_is_told():
    embedding = FactorisedEmbedding(CONFIG, d_embedding=6)
    assert_close(embedding(SENTENCES)[:, 2:], embedding(SENTENCES[:, 2:], start=2))


# experts


@given(k=st.integers(1, 5), seed=seeds)
def test_gates_are_a_softmax_over_the_k_best(k, seed):
    logits = torch.randn(3, 5, generator=generator(seed))
    gates = top_k_gates(logits, k)
    for row, gate in zip(logits, gates):
        best = row.argsort(descending=True)[:k]
        wanted = torch.zeros(5).scatter(0, best, row[best].softmax(0))
        assert_close(gate, wanted)
    assert ((gates > 0).sum(-1) == k).all()


@given(k=st.integers(1, 4), seed=seeds)
def test_a_mixture_equals_a_loop_over_tokens(k, seed):
    torch.manual_seed(seed)
    layer, X = MixtureOfExperts(6, 8, n_experts=4, k=k), torch.randn(2, 3, 6)
    gates = top_k_gates(layer.router(X), k)
    for b in range(2):
        for t in range(3):
            wanted = sum(gates[b, t, i] * layer.experts[i](X[b, t]) for i in range(4))
            assert_close(layer(X)[b, t], wanted)


def test_an_expert_that_is_not_asked_is_not_run():
    layer, X = MixtureOfExperts(6, 8, n_experts=4, k=1), torch.randn(1, 7, 6)
    rows = []
    for expert in layer.experts:
        expert.register_forward_hook(lambda _, args, out: rows.append(len(args[0])))
    layer(X)
    assert sum(rows) == 7, "each token is computed once"


def test_router_and_experts_learn():
    layer = MixtureOfExperts(6, 8, n_experts=3, k=2)
    layer(torch.randn(5, 40, 6)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in layer.parameters())


def test_balance_is_one_where_requests_are_even_and_e_over_k_where_they_are_not():
    even = torch.eye(4).repeat(8, 1) * 1e-3
    assert_close(balance_loss(even, 1), torch.tensor(1.0), atol=1e-3, rtol=0)
    collapsed = torch.tensor([50.0, 50, 0, 0]).expand(16, 4)
    assert_close(balance_loss(collapsed, 2), torch.tensor(2.0))


def test_balance_equals_the_formula_of_switch():
    logits = torch.randn(50, 8, generator=generator())
    f = F.one_hot(logits.argmax(-1), 8).float().mean(0)
    assert_close(balance_loss(logits, 1), 8 * (f * logits.softmax(-1).mean(0)).sum())


def test_balance_pushes_the_busiest_expert_down():
    logits = (torch.tensor([2.0, 0, 0, 0]) + 0.1 * torch.randn(64, 4, generator=generator())).requires_grad_()
    balance_loss(logits, 1).backward()
    assert logits.grad.mean(0)[0] > 0 > logits.grad.mean(0)[1:].max()


# the parts of today


def test_rms_norm_equals_torch():
    X, ours, theirs = 3 * torch.randn(4, 5, 16), RMSNorm(16), nn.RMSNorm(16, eps=1e-6)
    gain = torch.randn(16)
    ours.gain.data, theirs.weight.data = gain.clone(), gain.clone()
    assert_close(ours(X), theirs(X))


def test_rms_norm_keeps_the_mean_that_layer_norm_takes():
    X = torch.ones(2, 16) * 5
    assert_close(RMSNorm(16)(X), torch.ones(2, 16))


def test_swiglu_equals_its_formula():
    layer, X = SwiGLU(16, 24), torch.randn(3, 16)
    gate = X @ layer.W_gate.weight.T
    wanted = (gate / (1 + torch.exp(-gate)) * (X @ layer.W_1.weight.T)) @ layer.W_2.weight.T
    assert_close(layer(X), wanted)


def test_rotary_grouped_attention_depends_on_distances_and_has_no_bias():
    torch.manual_seed(0)
    attention = RotaryGroupedAttention(16, 4, n_key_heads=2).double()
    assert not [name for name, _ in attention.named_parameters() if "bias" in name]
    assert attention.W_K.out_features == attention.W_V.out_features == 8
    X = torch.randn(1, 6, 16, dtype=torch.double)
    mask = causal_mask(6)
    near = mask & (torch.arange(6)[:, None] - torch.arange(6) < 3)
    Z = torch.cat([torch.randn(1, 2, 16, dtype=torch.double), X], dim=1)
    later = causal_mask(8) & (torch.arange(8)[:, None] - torch.arange(8) < 3)
    assert_close(attention(Z, Z, Z, later)[0][:, 4:], attention(X, X, X, near)[0][:, 2:])


def test_word_order_matters_to_rotary_grouped_attention():
    torch.manual_seed(0)
    attention, X = RotaryGroupedAttention(16, 4, n_key_heads=2), torch.randn(1, 6, 16)
    turned = torch.cat([X[:, 1:5].flip(1), X[:, :1], X[:, 5:]], dim=1)
    assert not torch.allclose(attention(X, X, X)[0][:, -1], attention(turned, turned, turned)[0][:, -1])


def test_a_decoder_of_today_is_made_of_the_parts_of_today():
    model = decoder_of_today(replace(CONFIG, norm="post"), n_key_heads=2)
    assert isinstance(model, DecoderOnly) and not model.embedding.positions.any()
    for layer in model.layers:
        assert isinstance(layer.self_attention, RotaryGroupedAttention) and layer.self_attention.n_key_heads == 2
        assert isinstance(layer.feed_forward, SwiGLU)
        assert all(isinstance(around.norm, RMSNorm) and not around.is_post for around in layer.residuals)
    assert isinstance(model.norm, RMSNorm)
    assert not [name for name, _ in model.named_parameters() if "bias" in name]


def test_a_decoder_of_today_goes_on_with_its_cache_as_without():
    torch.manual_seed(0)
    model = decoder_of_today(CONFIG, n_key_heads=2).double().eval()
    whole, caches = model(SENTENCES[:1]), [KeyValueCache() for _ in range(3)]
    parts = [model(SENTENCES[:1, :2], caches), *(model(SENTENCES[:1, i : i + 1], caches) for i in range(2, 5))]
    assert_close(torch.cat(parts, dim=1), whole)


def test_a_decoder_of_today_does_not_see_its_future():
    torch.manual_seed(0)
    model = decoder_of_today(CONFIG)
    X = torch.randn(5, 16)

    def through(X):
        for layer in model.layers:
            X = layer(X[None], causal_mask(5))[0][0]
        return X

    assert leak(through, X).triu(1).eq(0).all()


# images


@given(down=st.integers(1, 3), across=st.integers(1, 3), size=st.integers(1, 3))
def test_patches_equal_a_slow_loop(down, across, size):
    images = torch.arange(2.0 * down * across * size * size).view(2, down * size, across * size)
    wanted = [
        [
            images[b, size * r : size * r + size, size * c : size * c + size].flatten().tolist()
            for r in range(down)
            for c in range(across)
        ]
        for b in range(2)
    ]
    assert patches(images, size).tolist() == wanted


def test_a_vision_transformer_sees_every_patch_and_where_it_stands():
    torch.manual_seed(0)
    model, images = VisionTransformer(CONFIG, side=6, size=2, n_classes=5), torch.randn(2, 6, 6, requires_grad=True)
    classes = model(images)
    assert classes.shape == (2, 5)
    classes.sum().backward()
    assert (images.grad != 0).all()
    moved = images.detach().roll(2, dims=2)
    assert (model(moved) - classes).abs().max() > 1e-3


def test_a_vision_transformer_gathers_in_its_first_position():
    torch.manual_seed(0)
    model = VisionTransformer(CONFIG, side=4, size=2, n_classes=3)
    with trace(model, "layers.*.output") as seen:
        classes = model(torch.randn(2, 4, 4))
    assert_close(classes, model.read(model.norm(seen["layers.2.output"][:, 0])))


def mean(values):
    values = list(values)
    assert len(values) >= 3
    return sum(values) / len(values)


def test_the_recorded_digits_are_named_better_than_by_logistic_regression():
    from tfm_lib.drawing import recorded  # what stands beside the core is not there where the core is mutated

    vision = recorded("descendants_vision")
    right = mean(run["right"] for run in vision["runs"])
    assert right >= 0.97 and right > max(vision["logistic"].values())


def test_every_recorded_encoder_fills_blanks_that_a_decoder_cannot_know():
    from tfm_lib.drawing import recorded  # what stands beside the core is not there where the core is mutated

    runs = recorded("descendants_objectives")["runs"]
    assert min(run["words"] for run in runs["masked words"]) > 2 * max(run["words"] for run in runs["next word"])
    assert mean(run["written"] for run in runs["next word"]) > 0.99


def test_in_the_record_two_layers_learn_from_their_prompt_and_its_rule_is_what_helps():
    from tfm_lib.drawing import recorded  # what stands beside the core is not there where the core is mutated

    result = recorded("descendants_in_context")
    last = result["settings"]["shown"].index(12)
    two, one = result["runs"]["two layers"], result["runs"]["one layer"]
    assert all(abs(run["right"][last] - run["best"][last]) < 0.02 for run in two)
    assert max(run["shuffled"][last] for run in two) < 0.4 > max(run["right"][last] for run in one)
    silenced = [mean(run[f"induction_{way}_first"][6] for run in two) for way in ("largest", "smallest")]
    assert silenced[0] + 0.3 < silenced[1]


def test_in_the_record_experts_fall_asleep_only_without_the_balance_loss():
    from tfm_lib.drawing import recorded  # what stands beside the core is not there where the core is mutated

    experts = recorded("descendants_experts")
    idle = {
        arm: sum(
            share < 0.1 / experts["settings"]["experts"] for run in runs for shares in run["shares"] for share in shares
        )
        for arm, runs in experts["runs"].items()
    }
    assert idle["no balance"] > 0 == idle["balance"]


ORDER = torch.tensor([1, 0, 2])
NO_IDS = (*NO_TENSOR, torch.ones(2, 3), torch.ones(3, dtype=torch.bool))
SHARES = (*NUMBER, 0.0, 1.0, -0.1)
MISFITS = {
    "masked_words": (
        masked_words,
        dict(ids=SENTENCES, mask_id=30, share=0.2),
        dict(ids=(*NO_IDS, SENTENCES[0]), mask_id=(*WHOLE, 4), share=SHARES),
    ),
    "corrupt_spans": (
        corrupt_spans,
        dict(ids=torch.arange(4, 14), first_sentinel=30, share=0.2, mean_length=2.0),
        dict(
            ids=(*NO_IDS, SENTENCES, torch.tensor([4])),
            first_sentinel=(*WHOLE, 4),
            share=SHARES,
            mean_length=(*NUMBER, 0.5),
        ),
    ),
    "order_mask": (
        order_mask,
        dict(order=ORDER),
        dict(order=(*NO_IDS, SENTENCES, torch.tensor([0, 2]), torch.tensor([0, 0]))),
    ),
    "Classifier": (
        Classifier,
        dict(encoder=EncoderOnly(CONFIG), n_classes=2),
        dict(encoder=(None, DecoderOnly(CONFIG)), n_classes=SIZE),
    ),
    "LowRankAdapter": (
        LowRankAdapter,
        dict(linear=nn.Linear(3, 2), rank=2, alpha=1.0),
        dict(linear=(None, nn.ReLU()), rank=SIZE, alpha=NUMBER),
    ),
    "add_adapters": (
        add_adapters,
        dict(model=EncoderOnly(CONFIG), rank=2),
        dict(model=(None, "x", nn.Linear(2, 2)), rank=SIZE),
    ),
    "share_layers": (share_layers, dict(model=EncoderOnly(CONFIG)), dict(model=(None, "x", nn.Linear(2, 2)))),
    "FactorisedEmbedding": (
        FactorisedEmbedding,
        dict(config=CONFIG, d_embedding=4),
        dict(d_embedding=SIZE),
    ),
    "top_k_gates": (top_k_gates, dict(logits=torch.randn(2, 4), k=2), dict(logits=NO_FLOATS, k=(*SIZE, 5))),
    "balance_loss": (balance_loss, dict(logits=torch.randn(2, 4), k=2), dict(logits=NO_FLOATS, k=(*SIZE, 5))),
    "MixtureOfExperts": (
        MixtureOfExperts,
        dict(d_model=4, d_ff=6, n_experts=4, k=2),
        dict(d_model=SIZE, d_ff=SIZE, n_experts=SIZE, k=(*SIZE, 5)),
    ),
    "RMSNorm": (RMSNorm, dict(d_model=4, eps=1e-6), dict(d_model=SIZE, eps=(*NUMBER, -1.0))),
    "SwiGLU": (SwiGLU, dict(d_model=4, d_ff=6), dict(d_model=SIZE, d_ff=SIZE)),
    "RotaryGroupedAttention": (
        RotaryGroupedAttention,
        dict(d_model=8, n_heads=4, dropout=0.0, n_key_heads=2),
        dict(d_model=SIZE, n_heads=(*SIZE, 3), n_key_heads=(*SIZE, 3)),
    ),
    "decoder_of_today": (decoder_of_today, dict(config=CONFIG, n_key_heads=2), dict(n_key_heads=(*SIZE, 3))),
    "patches": (
        patches,
        dict(images=torch.randn(2, 4, 4), size=2),
        dict(images=(*NO_FLOATS, torch.randn(4, 4)), size=(*SIZE, 3)),
    ),
    "VisionTransformer": (
        partial(VisionTransformer, CONFIG),
        dict(side=4, size=2, n_classes=3),
        dict(size=(*SIZE, 3), n_classes=SIZE),
    ),
}


def test_a_row_without_a_value_stays_without_one():
    experts = MixtureOfExperts(4, 8, n_experts=3, k=2)
    X = torch.randn(2, 4)
    X[0, 1] = torch.nan
    Y = experts(X)
    assert Y[0].isnan().all() and Y[1].isfinite().all()


def test_a_factorised_embedding_has_the_room_of_every_other():
    embedding = FactorisedEmbedding(TransformerConfig(9, d_model=8, n_heads=2, max_len=4), d_embedding=2)
    assert embedding(torch.ones(1, 2, dtype=torch.long), start=2).shape == (1, 2, 8)
    for ids, start in ((torch.ones(1, 5, dtype=torch.long), 0), (torch.ones(1, 2, dtype=torch.long), -1)):
        with pytest.raises(ValueError):
            embedding(ids, start=start)


def test_a_single_token_has_a_balance_and_none_has_not():
    logits = torch.randn(5)
    torch.testing.assert_close(balance_loss(logits, 2), balance_loss(logits[None], 2))
    with pytest.raises(ValueError, match="logits must hold at least one token"):
        balance_loss(torch.empty(0, 5), 2)


def test_ids_beyond_the_last_are_no_words():
    ids = torch.tensor([[5, 6, 20]])
    with pytest.raises(ValueError, match="ids must be at most mask_id = 9, the last id; got 20"):
        masked_words(ids, 9)
    with pytest.raises(ValueError, match="ids must be below first_sentinel = 20; got 20"):
        corrupt_spans(ids[0], 20)


MUTATIONS = {
    "every word asked for is hidden": ("fate < 0.8", "fate < 1.0", "test_of_the_words_asked_for_eight_in_ten_are_hidden_and_one_is_another"),
    "no word stays as it is": ("fate >= 0.9", "fate >= 0.8", "test_of_the_words_asked_for_eight_in_ten_are_hidden_and_one_is_another"),
    "padding is asked for": ("(ids >= FIRST_WORD) & (ids < mask_id) & ", "", "test_no_special_token_is_asked_for"),
    "targets everywhere": ("ids.masked_fill(~asked, Vocabulary.pad_id)", "ids", "test_of_the_words_asked_for_eight_in_ten_are_hidden_and_one_is_another"),
    "no last sentinel": ("return src + rest, [*tgt, first_sentinel + n_spans]", "return src + rest, tgt", "test_source_and_target_together_are_the_sentence"),
    "the rest is lost": ("return src + rest, [", "return src, [", "test_source_and_target_together_are_the_sentence"),
    "one sentinel for all spans": ("sentinel = first_sentinel + i", "sentinel = first_sentinel", "test_source_and_target_together_are_the_sentence"),
    "the order is taken for the turns": ("turn = order.argsort()", "turn = order", "test_order_mask_equals_a_slow_loop"),
    "nobody sees themselves": ("return turn <= turn[:, None]", "return turn < turn[:, None]", "test_the_order_of_reading_gives_the_causal_mask"),
    "layers are copies": ("[model.layers[0]] * len(model.layers)", "list(model.layers)", "test_shared_layers_are_one_layer_and_read_as_it_many_times"),
    "a softmax over all experts": ("best.softmax(dim=-1)", "logits.softmax(dim=-1).gather(-1, chosen)", "test_gates_are_a_softmax_over_the_k_best"),
    "experts without gates": ("gate[sent].unsqueeze(-1) * expert", "expert", "test_a_mixture_equals_a_loop_over_tokens"),
    "every expert computes every token": ("sent = gate != 0", "sent = gate >= 0", "test_an_expert_that_is_not_asked_is_not_run"),
    "balance of probabilities alone": ("(asked.mean(dim=0) / k * p.mean(dim=0))", "(p.mean(dim=0) * p.mean(dim=0))", "test_balance_equals_the_formula_of_switch"),
    "the mean is taken off": ("X.square().mean(dim=-1, keepdim=True)", "X.var(dim=-1, keepdim=True)", "test_rms_norm_equals_torch"),
    "the gate is a sigmoid": ("F.silu(self.W_gate(X))", "self.W_gate(X).sigmoid()", "test_swiglu_equals_its_formula"),
    "no positions": ("return rotary(Q, K.shape[-2] - Q.shape[-2]), rotary(K), None", "return Q, K, None", "test_word_order_matters_to_rotary_grouped_attention"),
    "every query stands at the beginning": ("rotary(Q, K.shape[-2] - Q.shape[-2])", "rotary(Q)", "test_a_decoder_of_today_goes_on_with_its_cache_as_without"),
    "patches by columns": (".unfold(1, size, size).unfold(2, size, size)", ".unfold(2, size, size).unfold(1, size, size).transpose(1, 2)", "test_patches_equal_a_slow_loop"),
    "the class from the mean of all": ("self.norm(X[:, 0])", "self.norm(X.mean(dim=1))", "test_a_vision_transformer_gathers_in_its_first_position"),
    "images without positions": ("X = X + self.positions(X.shape[1])", "X = X + 0", "test_a_vision_transformer_sees_every_patch_and_where_it_stands"),
}  # fmt: skip
