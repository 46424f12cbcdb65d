"""Attention inside a translator, hops in a memory, and the alignment error rate, against slow loops and torch."""

import re

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from tfm_lib.alignment import AttentiveSeq2Seq, MemoryHop, MemoryNetwork, alignment_error_rate
from tfm_lib.recurrence import Seq2Seq, greedy

SCORES = ("dot", "scaled dot", "additive", "bilinear")
CELLS = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}
every_score = pytest.mark.parametrize("score", SCORES)

SRC = torch.tensor([[4, 5, 6, 2], [7, 2, 0, 0], [5, 5, 2, 0]])
TGT = torch.tensor([[1, 4, 5], [1, 6, 4], [1, 5, 0]])


def slow_score(model: AttentiveSeq2Seq, name: str, h, k):
    """The score of one decoder state with one encoder state."""
    if name == "additive":
        hidden = model.score.W_1.weight @ h + model.score.W_2.weight @ k
        return model.score.v.weight[0] @ torch.tanh(hidden)
    if name == "bilinear":
        return h @ model.score.W.weight @ k
    return (h @ k) / (len(h) ** 0.5 if name == "scaled dot" else 1)


def slow_translation(model: AttentiveSeq2Seq, cell: str, score: str, src: list[int], tgt: list[int]):
    """Logits and weights of one sentence: no batch, no padding, one step at a time, with torch's single cells."""

    def stepper(rnn: nn.RNNBase):
        step = CELLS[cell](rnn.input_size, rnn.hidden_size)
        step.load_state_dict({name.removesuffix("_l0"): value for name, value in rnn.state_dict().items()})
        return step

    def output_of(state):
        return state[0][0] if cell == "lstm" else state[0]

    read, write = stepper(model.encoder), stepper(model.decoder)
    zero = torch.zeros(1, model.encoder.hidden_size)
    state, H = (zero, zero) if cell == "lstm" else zero, []
    for word in src:
        state = read(model.src_embedding.weight[word : word + 1], state)
        H.append(output_of(state))
    logits, rows = [], []
    for word in tgt:
        state = write(model.tgt_embedding.weight[word : word + 1], state)
        h = output_of(state)
        raised = [torch.exp(slow_score(model, score, h, k)) for k in H]
        weights = [r / sum(raised) for r in raised]
        c = sum(w * k for w, k in zip(weights, H, strict=True))
        combined = torch.tanh(model.W_c.weight @ torch.cat([h, c]) + model.W_c.bias)
        logits.append(model.output.weight @ combined + model.output.bias)
        rows.append(torch.stack(weights))
    return torch.stack(logits), torch.stack(rows)


# the translator


@every_score
@pytest.mark.parametrize("cell", CELLS)
def test_translator_equals_a_slow_loop(cell, score):
    model = AttentiveSeq2Seq(8, 7, 5, cell, score)
    logits, _, weights = model.attend(TGT, model.read(SRC))
    assert_close(model(SRC, TGT), logits)
    for b, row in enumerate(SRC.tolist()):
        src = [word for word in row if word != 0]
        expected, shares = slow_translation(model, cell, score, src, TGT[b].tolist())
        assert_close(logits[b], expected, rtol=0, atol=1e-6)
        assert_close(weights[b, :, : len(src)], shares, rtol=0, atol=1e-6)


@every_score
def test_weights_are_a_distribution_over_the_words_of_the_source(score):
    model = AttentiveSeq2Seq(8, 7, 5, score=score)
    _, _, weights = model.attend(TGT, model.read(SRC))
    assert_close(weights.sum(dim=-1), torch.ones(3, 3))
    assert (weights.masked_select((SRC == 0).unsqueeze(1)) == 0).all()
    assert (weights.masked_select((SRC != 0).unsqueeze(1)) > 0).all()


@every_score
def test_padding_is_invisible(score):
    model = AttentiveSeq2Seq(8, 7, 5, score=score)
    wider = F.pad(SRC, (0, 3))
    assert_close(model(wider, TGT), model(SRC, TGT))
    assert_close(model(SRC[1:2, :2], TGT[1:2]), model(SRC, TGT)[1:2])


def test_padding_may_have_another_id():
    model = AttentiveSeq2Seq(8, 7, 5, pad_id=3)
    _, _, weights = model.attend(TGT, model.read(torch.tensor([[4, 0, 3]]).expand(3, 3)))
    assert (weights[..., 2] == 0).all()
    assert (weights[..., 1] > 0).all()


@pytest.mark.parametrize("cell", CELLS)
def test_one_word_at_a_time_gives_what_one_pass_gives(cell):
    model = AttentiveSeq2Seq(8, 7, 5, cell)
    whole, _, whole_weights = model.attend(TGT, model.read(SRC))
    reading = model.read(SRC)
    for i in range(3):
        logits, reading, weights = model.attend(TGT[:, i : i + 1], reading)
        assert_close(logits[:, 0], whole[:, i])
        assert_close(weights[:, 0], whole_weights[:, i])


def test_a_later_target_word_changes_nothing_earlier():
    model = AttentiveSeq2Seq(8, 7, 5)
    other = TGT.clone()
    other[:, 2] = 6
    assert_close(model(SRC, TGT)[:, :2], model(SRC, other)[:, :2])


def test_greedy_writes_with_read_and_attend():
    model = AttentiveSeq2Seq(8, 7, 5)
    written = greedy(model.read, lambda ids, reading: model.attend(ids, reading)[:2], SRC, 1, 2, max_len=4)
    logits = model(SRC, torch.cat([torch.ones(3, 1, dtype=torch.long), written[:, :-1]], dim=1))
    assert torch.equal(logits.argmax(dim=-1), written)


def test_without_its_context_it_is_the_bottleneck_model():
    """Equal weights, a context of zeros, and a combination that passes h_t on: the decoder of `Seq2Seq`."""
    torch.manual_seed(0)
    plain = Seq2Seq(8, 7, 5)
    model = AttentiveSeq2Seq(8, 7, 5)
    model.load_state_dict(plain.state_dict(), strict=False)
    model.combine = lambda h, c: h
    assert_close(model(SRC, TGT), plain(SRC, TGT))


def test_context_reaches_the_logits_and_the_encoder_learns_through_it():
    model = AttentiveSeq2Seq(8, 7, 5)
    reading = model.read(SRC)
    model.attend(TGT, reading._replace(state=reading.state.detach()))[0].sum().backward()
    assert model.src_embedding.weight.grad.abs().sum() > 0


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: AttentiveSeq2Seq(8, 7, 5, score="cosine"),
            """score must be "dot", "scaled dot", "additive" or "bilinear"; got 'cosine'.""",
        ),
        (lambda: AttentiveSeq2Seq(8, 7, 5).read(SRC[0]), "src_ids must have two axes, (batch, m); got shape (4,)."),
        (
            lambda: AttentiveSeq2Seq(8, 7, 5).read(torch.tensor([[4, 2], [0, 0]])),
            "src_ids must begin with a token that is not padding in every row; got padding first in row 1.",
        ),
        (
            lambda: alignment_error_rate(torch.ones(2, 3).bool(), torch.ones(3, 2).bool()),
            "sure must have shape (n, m) with n = 2 and m = 3, as in predicted; got shape (3, 2).",
        ),
        (
            lambda: MemoryHop()(torch.ones(1, 2), torch.ones(1, 3, 2), torch.ones(1, 3, 2), torch.zeros(1, 3).bool()),
            "mask must leave every question a fact; got none in row 0.",
        ),
    ],
)
def test_bad_input_gets_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        make()


@pytest.mark.usefixtures("as_readers_run_it")
def test_soft_weights_are_no_links():
    with pytest.raises(TypeError, match="predicted must be boolean"):
        alignment_error_rate(torch.ones(2, 2) / 2, torch.eye(2).bool())


# the alignment error rate


def cells(shape=(3, 4)):
    return st.lists(st.booleans(), min_size=12, max_size=12).map(lambda bits: torch.tensor(bits).view(shape))


@given(cells(), cells(), cells())
def test_alignment_error_rate_equals_sets(predicted, sure, possible):
    A, S = (set(map(tuple, links.nonzero().tolist())) for links in (predicted, sure))
    P = S | set(map(tuple, possible.nonzero().tolist()))
    expected = 1 - (len(A & S) + len(A & P)) / (len(A) + len(S)) if A | S else 0
    assert alignment_error_rate(predicted, sure, possible) == pytest.approx(expected)


@given(cells(), cells())
def test_alignment_error_rate_without_possible_links_is_one_minus_f1(predicted, sure):
    rate = alignment_error_rate(predicted, sure)
    hits, A, S = ((links.sum().item()) for links in (predicted & sure, predicted, sure))
    if hits:
        precision, recall = hits / A, hits / S
        assert rate == pytest.approx(1 - 2 * precision * recall / (precision + recall))
    assert 0 <= rate <= 1
    assert (rate == 0) == torch.equal(predicted, sure)


def test_alignment_error_rate_by_hand():
    sure = torch.tensor([[1, 0, 0], [0, 1, 0]]).bool()
    possible = torch.tensor([[0, 1, 0], [0, 0, 0]]).bool()
    predicted = torch.tensor([[0, 1, 0], [0, 1, 0]]).bool()  # one possible link, one sure one
    assert alignment_error_rate(predicted, sure) == 0.5
    assert alignment_error_rate(predicted, sure, possible) == 0.25
    assert alignment_error_rate(sure | possible, sure, possible) == 0  # possible links cost nothing
    assert alignment_error_rate(sure, sure, possible) == 0  # and need not be found


# hops


@st.composite
def memories(draw):
    torch.manual_seed(draw(st.integers(0, 1000)))
    batch, m, d = (draw(st.integers(1, 4)) for _ in range(3))
    mask = torch.rand(batch, m) < 0.6
    mask[:, draw(st.integers(0, m - 1))] = True
    return torch.randn(batch, d), torch.randn(batch, m, d), torch.randn(batch, m, d), mask


@given(memories())
def test_a_hop_is_unscaled_attention_with_the_question_added(memory):
    u, M_in, M_out, mask = memory
    expected = F.scaled_dot_product_attention(u[:, None], M_in, M_out, attn_mask=mask[:, None], scale=1.0)
    after, weights = MemoryHop()(u, M_in, M_out, mask)
    assert_close(after, u + expected[:, 0], rtol=1e-5, atol=1e-6)
    assert_close(weights.sum(dim=-1), torch.ones(len(u)))
    assert (weights[~mask] == 0).all()


def test_a_hop_equals_a_slow_loop():
    u, M_in, M_out = torch.randn(2, 3), torch.randn(2, 4, 3), torch.randn(2, 4, 3)
    after, weights = MemoryHop()(u, M_in, M_out)
    for b in range(2):
        raised = [torch.exp(u[b] @ key) for key in M_in[b]]
        shares = torch.stack([r / sum(raised) for r in raised])
        assert_close(weights[b], shares)
        assert_close(after[b], u[b] + sum(share * value for share, value in zip(shares, M_out[b], strict=True)))


@given(memories())
def test_a_memory_is_a_set(memory):
    u, M_in, M_out, mask = memory
    order = torch.randperm(M_in.shape[1])
    after, weights = MemoryHop()(u, M_in[:, order], M_out[:, order], mask[:, order])
    plain, plain_weights = MemoryHop()(u, M_in, M_out, mask)
    assert_close(after, plain)
    assert_close(weights, plain_weights[:, order])


def test_a_hop_has_nothing_to_learn():
    assert not list(MemoryHop().parameters())


# a network of hops

FACTS = torch.tensor([[[4, 5, 6], [7, 5, 0]], [[4, 8, 0], [0, 0, 0]]])
ASKED = torch.tensor([[3, 7, 0], [3, 4, 0]])


@pytest.mark.parametrize("n_hops", [1, 2, 3])
def test_memory_network_equals_a_slow_loop(n_hops):
    model = MemoryNetwork(9, 5, 4, n_hops)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(10)  # far from uniform weights
    logits, weights = model(FACTS, ASKED)
    for b, n_facts in enumerate((2, 1)):
        u = sum(model.ask.weight[word] for word in ASKED[b, :2])
        for hop in range(n_hops):
            found, told = [], []
            for i in range(n_facts):
                words, age = [word for word in FACTS[b, i].tolist() if word], n_facts - i
                found.append(sum(model.find.weight[word] for word in words) + model.find_age.weight[age])
                told.append(sum(model.tell.weight[word] for word in words) + model.tell_age.weight[age])
            raised = [torch.exp(u @ key) for key in found]
            shares = [r / sum(raised) for r in raised]
            assert_close(weights[b, hop, :n_facts], torch.stack(shares), rtol=0, atol=1e-6)
            assert (weights[b, hop, n_facts:] == 0).all()
            u = u + sum(share * value for share, value in zip(shares, told, strict=True))
        assert_close(logits[b], model.output.weight @ u + model.output.bias, rtol=0, atol=1e-5)


def test_padding_of_facts_and_words_is_invisible():
    model = MemoryNetwork(9, 5, 4, 2)
    wider = F.pad(FACTS, (0, 2, 0, 3))
    assert_close(model(wider, F.pad(ASKED, (0, 2)))[0], model(FACTS, ASKED)[0])


def test_order_of_facts_is_known_by_their_age_alone():
    model = MemoryNetwork(9, 5, 4, 2)
    assert not torch.allclose(model(FACTS[:1].flip(1), ASKED[:1])[0], model(FACTS[:1], ASKED[:1])[0])
    for age in (model.find_age, model.tell_age):
        torch.nn.init.zeros_(age.weight)
    assert_close(model(FACTS[:1].flip(1), ASKED[:1])[0], model(FACTS[:1], ASKED[:1])[0])


@pytest.mark.usefixtures("as_readers_run_it")
def test_too_many_facts_get_a_sentence():
    with pytest.raises(ValueError, match="^facts must hold at most 1 facts, the oldest age; got 2.$"):
        MemoryNetwork(9, 5, 4, 1, oldest=1)(FACTS, ASKED)


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "context of the wrong weights": (
        "c = weights @ reading.H",
        "c = weights.flip(-1) @ reading.H",
        "test_translator_equals_a_slow_loop",
    ),
    "context cut out": (
        "torch.cat([h, c], dim=-1)",
        "torch.cat([h, 0 * c], dim=-1)",
        "test_translator_equals_a_slow_loop",
    ),
    "context before the state": (
        "torch.cat([h, c], dim=-1)",
        "torch.cat([c, h], dim=-1)",
        "test_translator_equals_a_slow_loop",
    ),
    "combination without tanh": (
        "torch.tanh(self.W_c(torch.cat([h, c], dim=-1)))",
        "self.W_c(torch.cat([h, c], dim=-1))",
        "test_translator_equals_a_slow_loop",
    ),
    "padding takes part": (
        "scores.masked_fill(~reading.mask, -torch.inf)",
        "scores",
        "test_padding_is_invisible",
    ),
    "0 in place of −∞": (
        "scores.masked_fill(~reading.mask, -torch.inf)",
        "scores.masked_fill(~reading.mask, 0)",
        "test_weights_are_a_distribution_over_the_words_of_the_source",
    ),
    "padding is id 0 whatever it is": (
        "(src_ids != self.pad_id).unsqueeze(1)",
        "(src_ids != 0).unsqueeze(1)",
        "test_padding_may_have_another_id",
    ),
    "softmax over the target": (
        "-torch.inf).softmax(dim=-1)\n        c =",
        "-torch.inf).softmax(dim=-2)\n        c =",
        "test_weights_are_a_distribution_over_the_words_of_the_source",
    ),
    "state not handed on": (
        "reading._replace(state=state), weights",
        "reading, weights",
        "test_one_word_at_a_time_gives_what_one_pass_gives",
    ),
    "the scale forgotten": (
        '"scaled dot": lambda: scaled_dot_score',
        '"scaled dot": lambda: dot_score',
        "test_translator_equals_a_slow_loop",
    ),
    "possible links ignored": (
        "(predicted & (sure | possible)).sum()",
        "(predicted & sure).sum()",
        "test_alignment_error_rate_by_hand",
    ),
    "sure links no longer possible": (
        "(predicted & (sure | possible))",
        "(predicted & possible)",
        "test_alignment_error_rate_equals_sets",
    ),
    "possible links must be found": (
        "predicted.sum() + sure.sum()",
        "predicted.sum() + (sure | possible).sum()",
        "test_alignment_error_rate_by_hand",
    ),
    "hop forgets the question": (
        "return u + (weights @ M_out)",
        "return (weights @ M_out)",
        "test_a_hop_equals_a_slow_loop",
    ),
    "hop reads what it searched": (
        "return u + (weights @ M_out)",
        "return u + (weights @ M_in)",
        "test_a_hop_equals_a_slow_loop",
    ),
    "hop scaled": (
        "dot_score(u.unsqueeze(1), M_in)",
        "scaled_dot_score(u.unsqueeze(1), M_in)",
        "test_a_hop_is_unscaled_attention_with_the_question_added",
    ),
    "every hop asks the first question": (
        "u, shares = self.hop(u, M_in, M_out, mask)",
        "u, shares = self.hop(self.ask(question).sum(dim=1), M_in, M_out, mask)",
        "test_memory_network_equals_a_slow_loop",
    ),
    "age counted from the oldest": (
        "mask.flip(-1).cumsum(dim=-1).flip(-1)",
        "mask.cumsum(dim=-1)",
        "test_memory_network_equals_a_slow_loop",
    ),
    "empty facts are found": (
        "self.hop(u, M_in, M_out, mask)",
        "self.hop(u, M_in, M_out)",
        "test_padding_of_facts_and_words_is_invisible",
    ),
}
