"""The widgets of chapter `transformer` in a kernel: traits, any model, pictures, and sentences when something is wrong."""

import json
from itertools import pairwise

import pytest
import torch
from matplotlib.figure import Figure
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from tfm_lib.transformer import Transformer, TransformerConfig, count_parameters
from tfm_lib.widgets.transformer import FollowToken, ModelSize, flops_per_word, follow
from widgets.samples.transformer import SRC, TGT, machine

both_norms = pytest.mark.parametrize("norm", ["post", "pre"])


# follow a token


@both_norms
def test_the_way_ends_where_the_machine_ends(norm) -> None:
    model = machine(norm)
    encoder, decoder = follow(model, SRC, TGT)
    assert_close(encoder[-1].state, model.encode(SRC).H[0])
    assert_close(decoder[-2].state, model.hidden(SRC, TGT)[0])
    assert_close(decoder[-1].state, model(SRC, TGT)[0])
    names = [stage.name for stage in decoder]
    layer = ["masked self-attention", "cross-attention", "feed-forward"]
    assert names == ["embedding", "+ position", *layer, *layer, *["last norm"] * (norm == "pre"), "logits"]


@both_norms
def test_weights_on_the_way_are_those_of_the_model(norm) -> None:
    model = machine(norm)
    encoder, decoder = follow(model, SRC, TGT)
    known = model.all_weights(SRC, TGT)
    for place, stages, name in (
        ("encoder", encoder, "self-attention"), ("decoder", decoder, "masked self-attention"), ("cross", decoder, "cross-attention")
    ):  # fmt: skip
        assert_close(torch.stack([stage.weights for stage in stages if stage.name == name]), known[place][0])


def test_under_pre_norm_each_state_is_the_last_plus_what_was_added() -> None:
    for stages in follow(machine("pre"), SRC, TGT):
        for before, stage in pairwise(stages):
            if stage.added is not None:
                assert_close(stage.state, before.state + stage.added)


def test_dropout_rests_while_a_word_is_followed_and_the_model_stays_as_it_was() -> None:
    model = machine(dropout=0.5)
    first, second = follow(model, SRC, TGT)[1], follow(model, SRC, TGT)[1]
    assert_close(first[-1].state, second[-1].state)
    assert model.training


@both_norms
def test_what_the_last_vector_says_is_what_the_machine_says(norm) -> None:
    model = machine(norm)
    widget = FollowToken(model, SRC, TGT, words="w{}".format)
    p = model.eval()(SRC, TGT)[0].softmax(dim=-1)
    for i in range(3):
        for stage in widget.decoder[-2:]:
            word, share = stage["says"][i][0]
            best = int(p[i].argmax())
            assert word == ("<pad> <bos> <eos> <unk>".split()[best] if best < 4 else f"w{best}")
            assert share == pytest.approx(p[i].max().item(), abs=1e-3)


def test_numbers_kept_are_those_of_the_vectors() -> None:
    model = machine()
    widget = FollowToken(model, SRC, TGT, numbers=5)
    encoder, decoder = follow(model, SRC, TGT)
    for kept, stages in ((widget.encoder, encoder), (widget.decoder, decoder[:-1])):
        for plain, stage in zip(kept, stages):
            assert_close(torch.tensor(plain["vectors"]), stage.state[:, :5], atol=0.0051, rtol=0)
            assert_close(torch.tensor(plain["lengths"]), stage.state.norm(dim=-1), atol=0.0051, rtol=0)
    assert_close(
        torch.tensor(widget.decoder[-1]["vectors"][0]),
        decoder[-1].state[0].sort(descending=True).values[:5],
        atol=0.0051,
        rtol=0,
    )


def test_words_are_chosen_and_told() -> None:
    widget = FollowToken(machine(), SRC, TGT)
    assert widget.src_tokens == ["5", "6", "7", "<eos>"] and widget.tgt_tokens == ["<bos>", "11", "12"]
    assert widget.at[0]["name"] == "embedding" and widget.at[1:] == (0, False)  # the reader goes up from there
    widget.value = next(at for at, stage in enumerate(widget.decoder) if stage["name"] == "cross-attention")
    assert sum(widget.weights()) == pytest.approx(1, abs=0.01) and widget.asked() == widget.src_tokens
    widget.head = 2
    assert widget.weights() == widget.at[0]["weights"][1][0]
    widget.word, widget.value = 1, 0
    assert widget.at[1:] == (1, True) and widget.weights() == []
    assert "“6” of the source, embedding" in widget.alt
    widget.value = len(widget.decoder) - 1  # higher than the encoder: its last step
    assert widget.at[0] == widget.encoder[-1]


def test_without_a_model_it_shows_one_that_has_learned_nothing() -> None:
    before = torch.get_rng_state()
    assert FollowToken().width == 16
    assert torch.equal(before, torch.get_rng_state())


# model size


def test_parts_are_counted_from_a_model() -> None:
    widget = ModelSize()
    assert sum(widget.parts.values()) == 63_082_496
    widget.preset = "big"
    assert sum(widget.parts.values()) == 214_245_376 and widget.value == 1024
    widget.preset = "translator"
    small = Transformer(TransformerConfig(6000, 256, 8, 1024, 3, norm="pre"))
    assert widget.parts == count_parameters(small) and widget.norm == "pre"


def test_another_size_makes_it_your_own() -> None:
    widget = ModelSize()
    widget.n_heads = 16
    assert widget.preset == "own" and sum(widget.parts.values()) == 63_082_496
    widget.preset = "base"
    assert widget.n_heads == 8
    assert ModelSize(value=256).preset == "own"


@both_norms
@pytest.mark.parametrize("length", [3, 10])
def test_operations_are_those_that_torch_counts(norm, length) -> None:
    config = TransformerConfig(50, d_model=16, n_heads=4, d_ff=48, n_layers=2, dropout=0.0, norm=norm)
    model, ids = Transformer(config).eval(), torch.ones(1, length, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:  # the clear form: torch does not see into every fused kernel
        model.all_weights(ids, ids)
        model.embedding.unembed(torch.randn(length, 16))
    assert counter.get_total_flops() / length == sum(flops_per_word(config, length).values())


def test_the_alternative_in_words() -> None:
    assert "63,082,496 parameters" in ModelSize().alt
    assert "In 32 bits 252 MB, to train with Adam 1.01 GB" in ModelSize().alt


# three lives


@both_norms
def test_pictures_and_plain_state(norm) -> None:
    follower = FollowToken(machine(norm), SRC, TGT)
    widgets = [ModelSize(), ModelSize("big"), follower]
    for widget in widgets:
        assert isinstance(widget.figure(), Figure)
        json.dumps({key: value for key, value in widget.get_state().items() if key != "layout"})
        assert widget.alt
    for follower.word in range(7):
        for follower.value in (0, 1, 2, 4, 8):
            assert isinstance(follower.figure(), Figure) and follower.alt
