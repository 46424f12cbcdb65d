"""A pass that is traced computes what it computes alone; its values are those of the formulas, and can be replaced."""

import copy
import pickle
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint

from tfm_lib._trace import trace
from tfm_lib.attention import AdditiveScore
from tfm_lib.decoding import beam_search, greedy_decode
from tfm_lib.layers import EncoderLayer
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import KeyValueCache, MultiHeadAttention, without_heads
from tfm_lib.positional import AlibiAttention, RelativeAttention, RotaryAttention, ShawAttention
from tfm_lib.self_attention import SelfAttention
from tfm_lib.transformer import DecoderOnly, EncoderOnly, Transformer, TransformerConfig

seeds = st.integers(0, 1000)
both_norms = pytest.mark.parametrize("norm", ["post", "pre"])
KINDS = (MultiHeadAttention, RotaryAttention, AlibiAttention, ShawAttention, RelativeAttention)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
BOS, EOS = 1, 2
WEIGHTS = {  # all_weights' name: the path
    "encoder": "encoder.{}.self_attention",
    "decoder": "decoder.{}.self_attention",
    "cross": "decoder.{}.cross_attention",
}


def machine(norm: str = "post", of=Transformer, attention=None, dropout: float = 0.0, dtype=torch.double) -> nn.Module:
    """A small model whose every parameter is drawn anew, with the self-attention of another chapter if wanted."""
    model = of(TransformerConfig(11, d_model=8, n_heads=2, d_ff=12, n_layers=2, dropout=dropout, norm=norm, max_len=32))
    for layer in [*getattr(model, "encoder", []), *getattr(model, "decoder", []), *getattr(model, "layers", [])]:
        if attention is not None:
            layer.self_attention = attention(8, 2, dropout)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model.to(dtype)


def ids(batch: int, length: int) -> torch.Tensor:
    """Sentences that end in padding, but for their first word."""
    ends = torch.randint(1, length + 1, (batch, 1))
    return torch.randint(3, 11, (batch, length)).masked_fill(torch.arange(length) >= ends, 0)


def words(batch: int, length: int) -> torch.Tensor:
    return torch.randint(3, 11, (batch, length))


def close(got, expected):
    assert_close(got, expected, rtol=0, atol=1e-12)


def hooks_of(model: nn.Module) -> list:
    return [list(hooks) for part in model.modules() for name, hooks in vars(part).items() if "hooks" in name and hooks]


# what is computed stays


@both_norms
@pytest.mark.parametrize("training", [True, False])
@settings(max_examples=10)
@given(kind=st.sampled_from(KINDS), n=st.integers(1, 6), m=st.integers(1, 6), batch=st.integers(1, 3), seed=seeds)
def test_a_traced_pass_computes_the_same(norm, training, kind, n, m, batch, seed):
    torch.manual_seed(seed)
    model, src, tgt = machine(norm, attention=kind, dropout=0.3).train(training), ids(batch, m), words(batch, n)
    torch.manual_seed(seed)
    alone = model(src, tgt)
    torch.manual_seed(seed)
    with trace(model) as seen:
        traced = model(src, tgt)
    close(traced, alone)
    close(seen["output"], alone)
    torch.manual_seed(seed)
    assert torch.equal(model(src, tgt), alone)


@both_norms
@every_kind
def test_in_single_precision_by_less_than_a_hundred_thousandth_of_the_largest_logit(norm, kind):
    model, src, tgt = machine(norm, attention=kind, dtype=torch.float), ids(4, 12), words(4, 9)
    alone = model(src, tgt)
    with trace(model):
        traced = model(src, tgt)
    assert (traced - alone).abs().max() <= 1e-5 * alone.abs().max()


@both_norms
@pytest.mark.parametrize("of", [EncoderOnly, DecoderOnly])
def test_models_with_other_parts(norm, of):
    model, src = machine(norm, of), words(2, 5)
    with trace(model) as seen:
        close(model(src), seen["output"])
    close(seen["output"], model(src))
    close(seen["layers.1.self_attention.weights"].sum(dim=-1), torch.ones(2, 2, 5).double())
    ahead = seen["layers.0.self_attention.weights"].triu(1)
    assert (ahead == 0).all() if of is DecoderOnly else (ahead.sum(dim=-1)[..., :-1] > 0).all()


def test_gradients_of_a_traced_pass_are_the_same():
    model, src, tgt = machine(), ids(2, 5), words(2, 4)
    model(src, tgt).square().sum().backward()
    alone = {name: parameter.grad for name, parameter in model.named_parameters()}
    model.zero_grad()
    with trace(model):
        model(src, tgt).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert_close(parameter.grad, alone[name], rtol=1e-9, atol=1e-9)


def test_who_did_not_ask_for_weights_gets_none():
    encoder, decoder, X = EncoderLayer(8, 2, 12), machine().float().decoder[0], torch.randn(1, 3, 8)
    attention = encoder.self_attention
    asking = nn.MultiheadAttention(8, 2, batch_first=True)
    with trace(encoder), trace(decoder), trace(asking) as seen:
        assert encoder(X)[1] is None and decoder(X, X)[1] == (None, None)
        assert attention(X, X, X, need_weights=False)[1] is None and attention(X, X, X, None, False)[1] is None
        assert encoder(X, need_weights=True)[1].shape == attention(X, X, X)[1].shape == (1, 2, 3, 3)
        assert [weights.shape for weights in decoder(X, X, need_weights=True)[1]] == [(1, 2, 3, 3)] * 2
        assert asking(X, X, X, need_weights=False)[1] is None
    assert seen["weights"].shape == (1, 3, 3)


# names


@both_norms
def test_weights_are_those_that_the_layers_return(norm):
    model, src, tgt = machine(norm), ids(2, 5), words(2, 4)
    with trace(model) as seen:
        model(src, tgt)
    for place, weights in model.all_weights(src, tgt).items():
        for i in range(2):
            close(seen[f"{WEIGHTS[place].format(i)}.weights"], weights[:, i])


@both_norms
def test_each_name_is_the_value_that_it_says(norm):
    model, src, tgt = machine(norm), ids(2, 5), words(2, 4)
    with trace(model) as seen:
        logits = model(src, tgt)
    memory, mask = model.encode(src)
    close(seen["encoder_norm.output"], memory)
    close(seen["decoder_norm.output"], model.hidden(src, tgt))
    close(model.embedding.unembed(seen["decoder_norm.output"]), logits)
    close(model.encoder[0](model.embedding(src), mask)[0], seen["encoder.0.output"])
    close(model.decoder[1](seen["decoder.0.output"], memory, causal_mask(4), mask)[0], seen["decoder.1.output"])
    for path in (place.format(i) for place in WEIGHTS.values() for i in (0, 1)):
        parts = {part: seen[f"{path}.{part}"] for part in ("queries", "keys", "values", "weights", "heads")}
        heads = parts["weights"] @ parts["values"].unflatten(-1, (2, 4)).transpose(1, 2)
        close(heads.transpose(1, 2).flatten(-2), parts["heads"])
        close(model.get_submodule(path).W_O(parts["heads"]), seen[f"{path}.output"])
        Q, K = (parts[part].unflatten(-1, (2, 4)) for part in ("queries", "keys"))
        scores = torch.einsum("bnhd,bmhd->bhnm", Q, K) / 2
        close(scores.masked_fill(parts["weights"] == 0, -torch.inf).softmax(dim=-1), parts["weights"])
    network, path = model.encoder[1].feed_forward, "encoder.1.feed_forward"
    close(network.W_2(seen[f"{path}.hidden"]), seen[f"{path}.output"])
    close(seen[f"{path}.W_1.output"].clamp(min=0), seen[f"{path}.hidden"])
    assert (seen[f"{path}.W_1.output"] < 0).any(), "written over by the ReLU behind it"


def test_a_part_by_itself_has_the_names_without_the_path():
    attention, X = MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
    with trace(attention) as seen:
        output, weights = attention(X, X, X)
    assert list(seen) == ["queries", "keys", "values", "heads", "weights", "output"]
    assert torch.equal(seen["output"], output) and torch.equal(seen["weights"], weights)
    own = SelfAttention(8, 4)
    with trace(own) as seen:
        _, weights = own(X)
    assert torch.equal(seen["weights"], weights) and seen["queries"].shape == (1, 3, 4)


def test_a_score_has_no_hidden_layer_of_a_feed_forward_network():
    score = AdditiveScore(3, 2, 5)
    with trace(score) as seen:
        score(torch.randn(4, 3), torch.randn(6, 2))
    assert seen["W_2.output"].shape == (6, 5) and "hidden" not in seen


def test_a_pattern_says_what_is_kept():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    with trace(model, "decoder.*.cross_attention.weights") as seen:
        model(src, tgt)
    assert list(seen) == ["decoder.0.cross_attention.weights", "decoder.1.cross_attention.weights"]
    with trace(model, "*.output") as seen:
        model(src, tgt)
    assert all(name.endswith(".output") for name in seen) and "encoder.0.self_attention.output" in seen


def test_what_is_not_kept_runs_as_ever(monkeypatch):
    fused, calls = nn.functional.scaled_dot_product_attention, []
    monkeypatch.setattr(
        nn.functional, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or fused(*a, **k)
    )
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    with trace(model, "*.output"):
        model(src, tgt)
    assert len(calls) == 6
    with trace(model, "encoder*.weights"):
        model(src, tgt)
    assert len(calls) == 6 + 4


def test_a_trace_is_a_mapping_that_prints_what_passed():
    model = machine()
    with trace(model) as seen:
        assert repr(seen) == "Nothing has passed." and len(seen) == 0
        model(words(1, 4), words(1, 3))
    lines = str(seen).splitlines()
    assert lines[0] == "embedding.tokens.output  (1, 3, 8) × 2" and lines[-1] == "output  (1, 3, 11)"
    assert "encoder.1.self_attention.weights  (1, 2, 4, 4)" in lines and len(lines) == len(seen)
    assert "encoder.1.self_attention.weights" in seen and "encoder.2.self_attention.weights" not in seen


def test_a_name_that_is_not_there_gets_a_sentence():
    model = machine()
    with trace(model) as seen:
        with pytest.raises(KeyError, match="Nothing called 'output' has passed; print a trace to see the names."):
            seen["output"]
        model.encode(words(1, 3))
    with pytest.raises(KeyError, match="the nearest name is 'encoder.0.self_attention.weights'"):
        seen["encoder.0.self_atention.weights"]


# values are part of the graph


@both_norms
def test_gradients_flow_through_what_was_kept(norm):
    model, src, tgt = machine(norm), words(1, 4), words(1, 3)
    with trace(model) as seen:
        logits = model(src, tgt)
    names = [name for name in seen if not name.startswith(("embedding", "encoder.0.w", "encoder.1.w"))]
    for name, slope in zip(names, torch.autograd.grad(logits.square().sum(), [seen[name] for name in names])):
        assert slope.shape == seen[name].shape and slope.abs().max() > 0, name


def test_a_gradient_through_weights_is_how_the_output_answers_to_them():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    name, step = "decoder.1.cross_attention.weights", 1e-6
    with trace(model) as seen:
        total = model(src, tgt).sum()
    (slope,) = torch.autograd.grad(total, seen[name])

    def nudged(weights):
        weights[0, 1, 2, 3] += step
        return weights

    with trace(model, replace={name: nudged}):
        assert_close((model(src, tgt).sum() - total) / step, slope[0, 1, 2, 3], rtol=1e-4, atol=1e-6)


def test_without_gradients_there_are_values_all_the_same():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    with torch.no_grad(), trace(model) as seen:
        model(src, tgt)
    assert not any(value.requires_grad for value in seen.values())
    with torch.inference_mode(), trace(model) as again:
        model(src, tgt)
    assert all(torch.equal(again[name], value) for name, value in seen.items())


# one call after the other


@both_norms
@every_kind
def test_every_step_of_a_cached_greedy_search_is_seen(norm, kind):
    model, src = machine(norm, attention=kind).eval(), words(2, 5)
    with torch.no_grad():
        alone = greedy_decode(model, src, BOS, 99, max_len=6)
        with trace(model, "*attention.weights") as seen:
            written = greedy_decode(model, src, BOS, 99, max_len=6)
        whole = model.all_weights(src, torch.cat([torch.tensor([[BOS]] * 2), written[:, :-1]], dim=1))
    assert torch.equal(written, alone)
    for layer in (0, 1):
        for i, row in enumerate(seen.calls(f"decoder.{layer}.self_attention.weights")):
            close(row[..., 0, :], whole["decoder"][:, layer, :, i, : i + 1])
        rows = seen.calls(f"decoder.{layer}.cross_attention.weights")
        assert len(rows) == 6
        close(torch.cat(rows, dim=2), whole["cross"][:, layer])
        assert len(seen.calls(f"encoder.{layer}.self_attention.weights")) == 1


@both_norms
@every_kind
def test_every_word_that_a_decoder_alone_writes_is_seen(norm, kind):
    model, text = machine(norm, DecoderOnly, attention=kind).eval(), words(2, 6)
    with torch.no_grad():
        with trace(model) as whole:
            wanted = model(text)
        caches = [KeyValueCache() for _ in model.layers]
        with trace(model) as seen:
            written = [model(word, caches) for word in text.split(1, dim=1)]
    close(torch.cat(written, dim=1), wanted)
    for name in ("layers.0.feed_forward.hidden", "layers.1.self_attention.heads", "norm.output"):
        close(torch.cat(seen.calls(name), dim=1), whole[name])
    for i, row in enumerate(seen.calls("layers.1.self_attention.weights")):
        close(row[..., 0, :], whole["layers.1.self_attention.weights"][..., i, : i + 1])


def test_a_beam_search_finds_the_same_and_each_of_its_steps_is_seen():
    model, src = machine().eval(), words(2, 5)
    alone = beam_search(model, src, BOS, EOS, 3, max_len=5)
    with trace(model) as seen:
        found = beam_search(model, src, BOS, EOS, 3, max_len=5)
    assert [[h.ids for h in row] for row in found] == [[h.ids for h in row] for row in alone]
    steps = seen.calls("decoder.0.self_attention.weights")
    assert [weights.shape[-1] for weights in steps] == list(range(1, len(steps) + 1)) and len(steps) > 1
    assert len(seen.calls("decoder.0.cross_attention.queries")) == len(steps)
    assert len(seen.calls("decoder.0.cross_attention.keys")) == 1


def test_a_shared_layer_has_all_its_names_and_all_its_calls():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    model.encoder[1] = model.encoder[0]
    with trace(model) as seen:
        model(src, tgt)
    for part in ("output", "self_attention.weights", "feed_forward.hidden"):
        one, two = seen.calls(f"encoder.0.{part}"), seen.calls(f"encoder.1.{part}")
        assert len(one) == len(two) == 2 and not torch.equal(*one)
        assert all(a is b for a, b in zip(one, two))
    close(seen["encoder.0.output"], model.encode(src).H)


# replaced


@both_norms
@settings(max_examples=10)
@given(kind=st.sampled_from(KINDS), off=st.sets(st.integers(0, 1)), seed=seeds)
def test_heads_replaced_by_0_are_heads_switched_off(norm, kind, off, seed):
    torch.manual_seed(seed)
    model, src, tgt = machine(norm, attention=kind), ids(2, 5), words(2, 4)

    def silent(heads):
        heads.unflatten(-1, (2, 4))[..., list(off), :] = 0
        return heads

    with trace(model, replace={"encoder.1.self_attention.heads": silent}) as seen:
        patched = model(src, tgt)
    with without_heads(model.encoder[1].self_attention, *off):
        close(patched, model(src, tgt))
    assert (seen["encoder.1.self_attention.heads"].unflatten(-1, (2, 4))[..., list(off), :] == 0).all()


@both_norms
@every_kind
def test_weights_replaced_are_the_weights_that_mix(norm, kind):
    model, src, tgt = machine(norm, attention=kind), words(2, 5), words(2, 4)
    name = "encoder.0.self_attention"
    with trace(model, replace={f"{name}.weights": torch.full((2, 2, 5, 5), 0.2, dtype=torch.double)}) as seen:
        model(src, tgt)
    close(seen[f"{name}.heads"], seen[f"{name}.values"].mean(dim=1, keepdim=True).expand(-1, 5, -1))
    assert (seen[f"{name}.weights"] == 0.2).all() and not (seen["encoder.1.self_attention.weights"] == 0.2).all()


def test_a_vector_of_another_pass_is_patched_in():
    model, (clean, other), tgt = machine(), words(2, 4).split(1), words(1, 3)
    with trace(model) as seen:
        wanted = model(clean, tgt)
    assert not torch.allclose(model(other, tgt), wanted)
    with trace(model, replace={"encoder.1.output": seen["encoder.1.output"]}):
        close(model(other, tgt), wanted)
    with trace(model, replace={"encoder.0.output": seen["encoder.0.output"], "embedding.output": lambda X: X}) as again:
        close(model(other, tgt), wanted)
    assert not torch.equal(again.calls("embedding.output")[0], seen.calls("embedding.output")[0])


def test_a_value_that_is_replaced_gets_the_gradient():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    patch = torch.zeros(1, 4, 8).double().requires_grad_()
    with trace(model, replace={"encoder.0.feed_forward.output": patch}) as seen:
        model(src, tgt).square().sum().backward()
    assert seen["encoder.0.feed_forward.output"] is patch and patch.grad.abs().max() > 0
    assert model.encoder[0].feed_forward.W_1.weight.grad is None


def test_all_weights_see_what_a_trace_around_them_replaces():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    even = torch.full((1, 2, 3, 4), 0.25).double()
    with trace(model, replace={"decoder.1.cross_attention.weights": even}):
        found = model.all_weights(src, tgt)["cross"]
    assert torch.equal(found[:, 1], even) and not torch.equal(found[:, 0], even)


@pytest.mark.parametrize(
    ("replace", "kind", "words"),
    [
        ({"encoder.0.self_atention.output": torch.relu}, ValueError, r"replace must name what the model computes; got 'encoder\.0\.self_atention\.output'; the nearest name is 'encoder\.0\.self_attention\.output'\."),
        ({"encoder.0.output": 3}, TypeError, r"replace\['encoder\.0\.output'\] must be a tensor or a function; got 3\."),
        ({"encoder.0.output": torch.zeros(4, 8)}, ValueError, r"replace\['encoder\.0\.output'\] must give a tensor of shape \(1, 4, 8\) in torch\.float64; got shape \(4, 8\) in torch\.float32\."),
        ({"encoder.0.output": lambda X: None}, ValueError, r"replace\['encoder\.0\.output'\] must give a tensor of shape \(1, 4, 8\) in torch\.float64; got None\."),
        ({"encoder.0.feed_forward.weights": torch.relu}, ValueError, r"replace must change weights that a softmax makes; got none in a FeedForward\."),
        ({"encoder.0.self_attention.weights": lambda w: w.float()}, ValueError, r"replace\['encoder\.0\.self_attention\.weights'\] must give a tensor of shape \(1, 2, 4, 4\) in torch\.float64; got shape \(1, 2, 4, 4\) in torch\.float32\."),
    ],
)  # fmt: skip
def test_a_replacement_that_does_not_fit_gets_a_sentence(replace, kind, words):
    model, src = machine(), torch.tensor([[3, 4, 5, 6]])
    with pytest.raises(kind, match=f"^{words}$"), trace(model, replace=replace):
        model(src, src)
    assert hooks_of(model) == []


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"model": None}, TypeError, "model must be a torch.nn.Module; got None."),
        ({"names": ["*"]}, TypeError, 'names must be a pattern such as "*.weights"; got a list.'),
        ({"replace": "output"}, TypeError, "replace must map names to tensors or functions; got 'output'."),
        ({"replace": {"x": torch.relu}}, ValueError, "replace must name what the model computes; got 'x'; print a trace to see the names."),
    ],
)  # fmt: skip
def test_what_cannot_be_traced_gets_a_sentence(given, kind, words):
    with pytest.raises(kind) as caught, trace(**{"model": machine(), **given}):
        pass
    assert str(caught.value) == words


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_compiled_gets_a_sentence():
    whole, within = torch.compile(nn.ReLU()), nn.ReLU()
    within.compile()
    for model in (whole, nn.Sequential(nn.ReLU(), whole), nn.Sequential(within)):
        with pytest.raises(ValueError, match="^model must be as it was before") as caught, trace(model):
            pass
        assert str(caught.value).endswith("calls no hooks; got a compiled one.")


# everything is as it was


def test_hooks_and_state_are_as_they_were():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    mine = []
    model.encoder[0].register_forward_hook(lambda *_: mine.append("after"))
    model.encoder[0].register_forward_pre_hook(lambda *_: mine.append("before"))
    before, keys = hooks_of(model), list(model.state_dict())
    forwards = [module.forward for module in model.modules()]
    with trace(model):
        assert list(model.state_dict()) == keys
        model(src, tgt)
    assert hooks_of(model) == before and mine == ["before", "after"]
    assert [module.forward for module in model.modules()] == forwards and list(model.state_dict()) == keys


def test_after_an_exception_of_the_reader_or_of_the_model():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    alone = model(src, tgt)
    with pytest.raises(RuntimeError, match="mine"), trace(model):
        raise RuntimeError("mine")
    assert hooks_of(model) == []

    def stop(_):
        raise RuntimeError("stop")

    with trace(model, replace={"decoder.0.cross_attention.weights": stop}) as seen:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="stop"):
                model(src, tgt)
    assert hooks_of(model) == [] and len(seen.calls("encoder.1.output")) == 2 and "decoder.0.output" not in seen
    assert torch.softmax(torch.tensor([1.0]), 0) == 1, "the softmax is still replaced"
    assert torch.equal(model(src, tgt), alone)
    with trace(model) as seen:
        with pytest.raises(ValueError, match="ids must"):
            model(src * 99, tgt)
        with pytest.raises(TypeError):
            model(src)
        close(model(src, tgt), alone)
    assert len(seen.calls("encoder.0.output")) == 1


def test_blocks_within_blocks():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    name = "encoder.0.self_attention"
    with trace(model, replace={f"{name}.output": lambda X: 2 * X}) as outer:
        with trace(model, replace={f"{name}.output": lambda X: X.flip(-1)}) as inner:
            first = model(src, tgt)
        second = model(src, tgt)
    assert len(inner.calls(f"{name}.output")) == 1 and len(outer.calls(f"{name}.output")) == 2
    close(outer.calls(f"{name}.output")[0], 2 * inner[f"{name}.output"])
    close(inner[f"{name}.output"].flip(-1), outer[f"{name}.output"] / 2)
    assert all(seen[f"{name}.weights"].shape == (1, 2, 4, 4) for seen in (outer, inner))
    assert not torch.allclose(first, second) and hooks_of(model) == []
    with trace(model) as one, trace(model.encoder[0]) as part, trace(model) as two:
        model(src, tgt)
    assert torch.equal(part["self_attention.weights"], one[f"{name}.weights"])
    assert torch.equal(two[f"{name}.weights"], one[f"{name}.weights"]) and list(one) == list(two)


def test_a_copy_of_the_model_is_not_traced():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    with trace(model, replace={"encoder.0.output": torch.zeros_like}) as seen:
        copies = copy.deepcopy(model), pickle.loads(pickle.dumps(model))  # noqa: S301 (our own bytes)
        found = [made(src, tgt) for made in copies]
        assert len(seen) == 0
        zeroed = model(src, tgt)
    for output in (*found, *(made(src, tgt) for made in copies)):
        close(output, model(src, tgt))
        assert not torch.allclose(output, zeroed)
    assert len(seen.calls("output")) == 1


def test_another_thread_is_not_traced():
    model, src, tgt = machine(), words(1, 4), words(1, 3)
    alone, found = model(src, tgt), []
    with trace(model, replace={"encoder.0.output": torch.zeros_like}) as seen:
        thread = threading.Thread(target=lambda: found.append(model(src, tgt)))
        thread.start()
        thread.join()
        assert len(seen) == 0
        assert not torch.allclose(model(src, tgt), alone)
    assert torch.equal(found[0], alone)


# modules of others


class Strange(nn.Module):
    """Works in place, is called twice, returns more than tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.relu, self.gru = nn.Linear(4, 4), nn.ReLU(inplace=True), nn.GRU(4, 3, batch_first=True)
        self.lstm = nn.LSTM(3, 2, batch_first=True)
        self.heads = nn.ModuleDict({"a": nn.Linear(2, 2)})

    def forward(self, X, *, again: bool = False):
        X = self.relu(self.first(X))
        X = self.relu(self.first(X.mul_(-1))) if again else X
        X, (h, c) = self.lstm(self.gru(X)[0])
        return {"output": self.heads["a"](input=X), "state": (h, c)}


def test_modules_that_nobody_here_wrote():
    model, X = Strange(), torch.randn(2, 3, 4)
    alone = model(X, again=True)["output"]
    with trace(model) as seen:
        assert torch.equal(model(X, again=True)["output"], alone)
    first = seen.calls("first.output")
    assert torch.equal(first[0], model.first(X)) and (first[0] < 0).any() and len(first) == 2
    assert torch.equal(seen["heads.a.output"], alone)
    assert not any(name.endswith("weights") for name in seen) and "output" not in seen
    assert seen["gru.output"].shape == (2, 3, 3) and seen["lstm.output"].shape == (2, 3, 2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_takes_no_hooks_is_passed_over():
    model, X = nn.Sequential(torch.jit.script(nn.Linear(3, 3)), nn.ReLU()), torch.randn(2, 3)
    alone = model(X)
    with trace(model) as seen:
        assert torch.equal(model(X), alone)
    assert list(seen) == ["1.output", "output"]


def test_the_shape_of_each_value_is_seen_where_there_are_no_numbers():
    with torch.device("meta"):
        model, empty = machine(), torch.zeros(1, 4).long()
        with trace(model) as seen:
            model(empty, empty)
    assert seen["decoder.1.cross_attention.weights"].shape == (1, 2, 4, 4) and seen["output"].is_meta


def test_a_call_within_a_call_of_the_same_module():
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = MultiHeadAttention(8, 2)

        def forward(self, X, left=2):
            return X if left == 0 else self(self.inner(X, X, X, need_weights=False)[0], left - 1)

    model, X = Twice(), torch.randn(1, 3, 8)
    alone = model(X)
    with trace(model) as seen:
        assert_close(model(X), alone)
    assert len(seen.calls("inner.weights")) == 2 and len(seen.calls("output")) == 3


def test_a_checkpointed_pass_may_be_computed_again_while_it_is_traced():
    class Light(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = MultiHeadAttention(8, 2)

        def forward(self, X):
            return checkpoint(lambda Y: self.inner(Y, Y, Y, need_weights=False)[0], X, use_reentrant=False)

    model, X = Light(), torch.randn(1, 3, 8, requires_grad=True)
    (wanted,) = torch.autograd.grad(model(X).square().sum(), X)
    with trace(model):
        (slope,) = torch.autograd.grad(model(X).square().sum(), X)
    assert_close(slope, wanted)


def test_pytorchs_own_layers():
    layer, X = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True).eval(), torch.randn(1, 3, 8)
    alone = layer(X)
    with torch.no_grad(), trace(layer) as seen:
        assert_close(layer(X), alone)
    assert seen["self_attn.weights"].shape == (1, 3, 3)


def test_layers_of_other_parts():
    class SwiGLU(nn.Module):
        def __init__(self, d_model: int, d_ff: int) -> None:
            super().__init__()
            self.W_1, self.W_3 = nn.Linear(d_model, d_ff), nn.Linear(d_model, d_ff)
            self.W_2 = nn.Linear(d_ff, d_model)

        def forward(self, X):
            return self.W_2(nn.functional.silu(self.W_1(X)) * self.W_3(X))

    small = TransformerConfig(11, d_model=8, n_heads=2, d_ff=12, n_layers=2, dropout=0.0, norm="pre")
    model = Transformer(
        small, attention=RotaryAttention, feed_forward=SwiGLU, norm_layer=nn.RMSNorm, positions=torch.zeros
    )
    src, tgt = words(1, 4), words(1, 3)
    alone = model(src, tgt)
    with trace(model) as seen:
        assert_close(model(src, tgt), alone)
    network, path = model.encoder[1].feed_forward, "encoder.1.feed_forward"
    assert torch.equal(network.W_2(seen[f"{path}.hidden"]), seen[f"{path}.output"])
    gated = nn.functional.silu(seen[f"{path}.W_1.output"]) * seen[f"{path}.W_3.output"]
    assert torch.equal(gated, seen[f"{path}.hidden"]) and seen["decoder.0.self_attention.weights"].shape == (1, 2, 3, 3)


def test_an_attention_around_an_attention():
    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.gate = MultiHeadAttention(8, 2), nn.Linear(8, 8)

        def forward(self, query, key, value, mask=None, need_weights=True, cache=None):
            output, weights = self.inner(query, key, value, mask, need_weights, cache)
            return self.gate(query).sigmoid() * output, weights

    model, src, tgt = machine(dtype=torch.float), words(1, 4), words(1, 3)
    model.encoder[0].self_attention = Gated()
    alone = model(src, tgt)
    with trace(model) as seen:
        assert_close(model(src, tgt), alone)
    assert torch.equal(seen["encoder.0.self_attention.weights"], seen["encoder.0.self_attention.inner.weights"])
    assert model.all_weights(src, tgt)["encoder"].shape == (1, 2, 2, 4, 4)
