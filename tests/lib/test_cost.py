"""The formulas of `cost` against the running layers: multiplications, numbers kept and reach, each counted."""

import json
import subprocess
import sys
import warnings

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from project import ROOT
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from experiments.cost_table import Convolution, window_attention
from lib.misfits import CALLABLE, NUMBER, SIZE, WHOLE, WORD
from tfm_lib.attention import attention
from tfm_lib.cost import (
    attention_cost,
    convolutional_cost,
    dilated_layers,
    hardware_flops,
    recurrent_cost,
    restricted_attention_cost,
    stacked_layers,
    training_flops,
)  # fmt: skip
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.recurrence import DilatedConvolutions, gradient_reach
from tfm_lib.self_attention import SelfAttention
from tfm_lib.transformer import Transformer, TransformerConfig, base_config, big_config, count_parameters

SIZES = [(40, 8), (96, 16), (7, 24)]
CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
sizes = pytest.mark.parametrize(("n", "d"), SIZES)
words = st.integers(1, 300)
widths = st.integers(2, 9)


@pytest.fixture(params=CELLS)
def cell(request):
    """Its name; oneDNN, which computes an LSTM in one piece that nobody can look into, is off meanwhile."""
    with warnings.catch_warnings(action="ignore"), torch.backends.mkldnn.flags(enabled=False):
        yield request.param


def multiplied(layer, *inputs: Tensor) -> float:
    """Multiplications of a call's matrix products, as torch counts them: each with its addition."""
    with FlopCounterMode(display=False) as counter:
        layer(*inputs)
    return counter.get_total_flops() / 2


def kept(layer, X: Tensor) -> int:
    """Numbers that the backward pass is kept for, in memory that is neither the input's nor the parameters'."""
    given = [X, *getattr(layer, "parameters", list)()]
    known, found = {tensor.untyped_storage().data_ptr() for tensor in given}, {}

    def keep(tensor: Tensor) -> Tensor:
        found[tensor.untyped_storage().data_ptr()] = tensor  # kept alive, so that no address comes twice
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        layer(X)
    return sum(t.untyped_storage().nbytes() for at, t in found.items() if at not in known) // 4


def sentence(n: int, d: int) -> Tensor:
    return torch.randn(1, n, d, requires_grad=True)


def bare(X: Tensor) -> Tensor:
    return attention(X, X, X)[0]


def window(r: int):
    """Every query with copies of its r keys: the multiplications of the formula, and not one more."""

    def layer(X: Tensor) -> Tensor:
        near = F.pad(X, (0, 0, r - 1, 0)).unfold(1, r, 1)  # (batch, n, d, r)
        return (X.unsqueeze(2) @ near).softmax(dim=-1) @ near.mT

    return layer


# multiplications


@sizes
@pytest.mark.parametrize(
    ("layer", "projections", "heads"), [(bare, 0, 1), (SelfAttention, 3, 1), (MultiHeadAttention, 4, 4)]
)
def test_attention_multiplies_as_often_as_it_says(n, d, layer, projections, heads):
    X = (sentence(n, d),)
    if layer is SelfAttention:
        layer = SelfAttention(d, d)
    elif layer is MultiHeadAttention:
        layer, X = MultiHeadAttention(d, heads), 3 * X  # one sentence as query, key and value
    assert multiplied(layer, *X) == attention_cost(n, d, heads, projections).multiplications


@sizes
def test_recurrent_layers_multiply_as_often_as_they_say(n, d, cell):
    assert multiplied(CELLS[cell](d, d, batch_first=True), sentence(n, d)) == recurrent_cost(n, d, cell).multiplications


@sizes
@pytest.mark.parametrize("k", [2, 3, 7])
def test_convolutions_multiply_as_often_as_they_say(n, d, k):
    one = convolutional_cost(n, d, k).multiplications
    assert multiplied(Convolution(d, k), sentence(n, d)) == one
    assert multiplied(DilatedConvolutions(d, k, n_layers=3), sentence(n, d)) == 3 * one


@sizes
@pytest.mark.parametrize("r", [2, 5])
def test_a_window_multiplies_as_often_as_it_says(n, d, r):
    assert multiplied(window(r), sentence(n, d)) == restricted_attention_cost(n, d, r).multiplications


def test_blocks_compute_twice_the_scores_that_count():
    X = sentence(96, 8)
    back = torch.arange(96)[:, None] - torch.arange(96)
    seen = (back >= 0) & (back < 16)
    assert torch.allclose(window_attention(X, 16), attention(X, X, X, seen)[0], atol=1e-6)
    assert multiplied(lambda X: window_attention(X, 16), X) == 2 * restricted_attention_cost(96, 8, 16).multiplications


def test_a_mask_saves_no_multiplication():
    X = sentence(64, 8)
    assert multiplied(lambda X: attention(X, X, X, causal_mask(64)), X) == attention_cost(64, 8).multiplications


# memory


@sizes
def test_attention_keeps_as_many_numbers_as_it_says(n, d):
    X, many = sentence(n, d), MultiHeadAttention(d, 4)
    assert kept(bare, X) == attention_cost(n, d).memory == n**2
    assert kept(SelfAttention(d, d), X) == attention_cost(n, d, projections=3).memory

    def four(X: Tensor) -> Tensor:
        return many(X, X, X)[0]

    four.parameters = many.parameters
    assert kept(four, X) == attention_cost(n, d, n_heads=4, projections=4).memory


@sizes
def test_recurrent_layers_keep_as_many_numbers_as_they_say(n, d, cell):
    began = d if cell == "rnn" else 0  # the state before the first word
    assert kept(CELLS[cell](d, d, batch_first=True), sentence(n, d)) == recurrent_cost(n, d, cell).memory + began


@sizes
def test_a_convolution_keeps_its_output(n, d):
    padded = (n + 2) * d  # a copy of the input with the zeros before it
    assert kept(Convolution(d, 3), sentence(n, d)) == convolutional_cost(n, d, 3).memory + padded


def test_a_window_keeps_r_weights_a_word():
    assert restricted_attention_cost(100, 8, 5, n_heads=2).memory == 2 * 100 * 5
    assert restricted_attention_cost(100, 8, 5, projections=3).memory == 100 * 5 + 3 * 100 * 8


def test_measured_memory_is_that_of_scores_and_weights():
    """In a fresh process, as the recorded run measures; so that nothing that this one has freed is there to be used."""
    code = "import json, torch; torch.set_num_threads(1); from experiments.cost_table import memory; "
    code += "print(json.dumps(memory('attention', 64, 1, 4096)))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    found, weights = json.loads(run.stdout), attention_cost(4096, 64).memory * 4 / 1e6
    assert found["kept"] == pytest.approx(weights, rel=0.1)
    assert found["forward"] == pytest.approx(2 * weights, rel=0.1)
    assert found["backward"] == pytest.approx(3 * weights, rel=0.1)


# steps and paths


def chain(output: Tensor) -> int:
    """How many matrix products, at most, wait for each other on a way from the input to this output."""
    longest: dict[object, int] = {None: 0}
    waiting = [output.grad_fn]
    while waiting:
        node = waiting[-1]
        before = [each for each, _ in node.next_functions]
        if missing := [each for each in before if each not in longest]:
            waiting += missing
            continue
        is_product = any(word in node.name() for word in ("Mm", "Bmm", "Addmm", "Convolution"))
        longest[waiting.pop()] = is_product + max((longest[each] for each in before), default=0)
    return longest[output.grad_fn]


def test_only_a_recurrent_layer_has_steps_that_wait(cell):
    short, long, many = sentence(12, 8), sentence(30, 8), MultiHeadAttention(8, 2)
    recurrent = CELLS[cell](8, 8, batch_first=True)
    steps = [chain(recurrent(X)[0].sum()) for X in (short, long)]
    assert steps[1] - steps[0] == recurrent_cost(30, 8, cell).sequential - recurrent_cost(12, 8, cell).sequential == 18
    assert steps[0] >= recurrent_cost(12, 8, cell).sequential
    for layer in (bare, lambda X: many(X, X, X)[0], Convolution(8, 3), window(5)):
        assert 1 <= chain(layer(short).sum()) == chain(layer(long).sum())


def heard(layer, n: int) -> int:
    """How many of n words the last output hears."""
    return int((gradient_reach(lambda X: layer(X[None])[0, -1], torch.randn(n, 4)) > 0).sum())


@pytest.mark.parametrize(("n", "k"), [(27, 3), (28, 3), (49, 7), (50, 7), (16, 2)])
def test_so_many_dilated_layers_join_the_first_word_and_the_last(n, k):
    torch.manual_seed(0)
    layers = dilated_layers(n, k)
    assert heard(DilatedConvolutions(4, k, layers), n) == n
    assert heard(DilatedConvolutions(4, k, layers - 1), n) < n


@pytest.mark.parametrize(("n", "k"), [(9, 3), (10, 3), (13, 7), (14, 7), (5, 2)])
def test_so_many_stacked_layers_join_the_first_word_and_the_last(n, k):
    torch.manual_seed(0)
    back = torch.arange(n)[:, None] - torch.arange(n)
    seen = (back >= 0) & (back < k)

    def windows(count: int):
        return lambda X: X if count == 0 else windows(count - 1)(attention(X, X, X, seen)[0])

    layers = stacked_layers(n, k)
    assert restricted_attention_cost(n, 4, k).path == layers
    assert heard(windows(layers), n) == n
    assert heard(windows(layers - 1), n) < n


@given(n=words, k=widths)
def test_layers_are_the_least_that_reach(n, k):
    dilated, stacked = dilated_layers(n, k), stacked_layers(n, k)
    assert k**dilated >= n and stacked * (k - 1) + 1 >= n
    assert dilated == 1 or k ** (dilated - 1) < n
    assert stacked == 1 or (stacked - 1) * (k - 1) + 1 < n


def test_powers_of_k_are_reached_exactly():
    assert [dilated_layers(k**5, k) for k in range(2, 30)] == [5] * 28  # where math.log(k**5, k) may be above 5


def test_the_table_of_the_paper():
    n, d, k, r = 1000, 64, 3, 10
    assert attention_cost(n, d)[1:3] == (1, 1)
    assert recurrent_cost(n, d)[1:3] == (n, n)
    assert convolutional_cost(n, d, k)[1:3] == (1, 7)
    assert convolutional_cost(n, d, k, stacked_layers)[1:3] == (1, 500)
    assert restricted_attention_cost(n, d, r)[1:3] == (1, 111)


@given(n=words, d=widths, k=widths)
def test_a_recurrent_layer_and_attention_need_no_second_layer(n, d, k):
    assert attention_cost(n, d).layers == recurrent_cost(n, d).layers == 1
    assert convolutional_cost(n, d, k, stacked_layers).layers == restricted_attention_cost(n, d, k).layers


@given(n=st.integers(2, 60), d=widths)
def test_a_window_as_wide_as_the_sentence_is_attention(n, d):
    assert restricted_attention_cost(n, d, n, 2, 3) == attention_cost(n, d, 2, 3)
    assert restricted_attention_cost(n, d, 9 * n, 2, 3) == attention_cost(n, d, 2, 3)


# a whole training


def test_hours_of_the_paper():
    assert hardware_flops(12.0) == pytest.approx(3.3e18, rel=0.01)
    assert hardware_flops(3.5 * 24) == pytest.approx(2.3e19, rel=0.01)
    assert hardware_flops(2.0, n_devices=3, rate=10.0) == 2 * 3600 * 3 * 10


@pytest.mark.parametrize(("config", "steps", "less"), [(base_config, 100_000, 3.4), (big_config, 300_000, 2.4)])
def test_the_configuration_asks_for_a_third_of_what_the_hours_hold(config, steps, less):
    with torch.device("meta"):
        parameters = sum(count_parameters(Transformer(config(37_000))).values())
    hours = {100_000: 12.0, 300_000: 84.0}[steps]
    assert hardware_flops(hours) / training_flops(parameters, 25_000 * steps) == pytest.approx(less, abs=0.1)


def test_six_a_parameter_and_token_are_what_a_step_of_training_counts():
    config = TransformerConfig(64, d_model=256, n_heads=2, d_ff=1024, n_layers=2, dropout=0.0)
    model, ids = Transformer(config), torch.ones(2, 5, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model.embedding.unembed(model.decode(ids, model.encode(ids))).sum().backward()
    parameters = sum(count_parameters(model).values())
    assert counter.get_total_flops() == pytest.approx(training_flops(parameters, 10), rel=0.02)


MISFITS = {
    "attention_cost": (
        attention_cost, dict(n=3, d=4, n_heads=2, projections=3), dict(n=SIZE, d=SIZE, n_heads=SIZE, projections=(*WHOLE, -1)),
    ),
    "restricted_attention_cost": (
        restricted_attention_cost,
        dict(n=3, d=4, r=2, n_heads=2, projections=3),
        dict(n=SIZE, d=SIZE, r=(*SIZE, 1), n_heads=SIZE, projections=(*WHOLE, -1)),
    ),
    "recurrent_cost": (recurrent_cost, dict(n=3, d=4, cell="gru"), dict(n=SIZE, d=SIZE, cell=WORD)),
    "convolutional_cost": (
        convolutional_cost, dict(n=3, d=4, k=3, layers=dilated_layers), dict(n=SIZE, d=SIZE, k=(*SIZE, 1), layers=CALLABLE),
    ),
    "dilated_layers": (dilated_layers, dict(n=3, k=3), dict(n=SIZE, k=(*SIZE, 1))),
    "stacked_layers": (stacked_layers, dict(n=3, k=3), dict(n=SIZE, k=(*SIZE, 1))),
    "training_flops": (training_flops, dict(n_parameters=3, n_tokens=4), dict(n_parameters=SIZE, n_tokens=SIZE)),
    "hardware_flops": (
        hardware_flops, dict(hours=1.0, n_devices=2, rate=1e9), dict(hours=(*NUMBER, -1.0), n_devices=SIZE, rate=(*NUMBER, 0.0)),
    ),
}  # fmt: skip


def test_a_path_is_a_whole_number():
    with pytest.raises(ValueError, match=r"what layers\(n, k\) gives must be a whole number of at least 1"):
        convolutional_cost(9, 4, 3, layers=lambda n, k: "3")


MUTATIONS = {  # what is removed, and the test that must turn red
    "the means are forgotten": ("2 * seen * n * d", "seen * n * d", "test_attention_multiplies_as_often_as_it_says"),
    "a window looks at all words": ("seen = min(r, n)", "seen = n", "test_a_window_multiplies_as_often_as_it_says"),
    "a window is wider than the sentence": ("seen = min(r, n)", "seen = r", "test_a_window_as_wide_as_the_sentence_is_attention"),
    "projections are free": ("+ projections * n * d**2", "", "test_attention_multiplies_as_often_as_it_says"),
    "weights of one head": ("n_heads * seen * n", "seen * n", "test_attention_keeps_as_many_numbers_as_it_says"),
    "what projections make is forgotten": (" + projections * n * d,", ",", "test_attention_keeps_as_many_numbers_as_it_says"),
    "a GRU has two gates and nothing to write": ('"gru": 6', '"gru": 4', "test_recurrent_layers_multiply_as_often_as_they_say"),
    "states only are kept": ('"gru": 7', '"gru": 1', "test_recurrent_layers_keep_as_many_numbers_as_they_say"),
    "a chain that runs at once": ("sequential=n, path=n", "sequential=1, path=n", "test_only_a_recurrent_layer_has_steps_that_wait"),
    "a filter of one word": ("Cost(k * n * d**2", "Cost(n * d**2", "test_convolutions_multiply_as_often_as_they_say"),
    "a layer less": ("while k**layers < n", "while k ** (layers + 1) < n", "test_so_many_dilated_layers_join_the_first_word_and_the_last"),
    "a layer hops over k words": ("// (k - 1)))", "// k))", "test_so_many_stacked_layers_join_the_first_word_and_the_last"),
    "a logarithm instead of whole numbers": (
        "    layers = 1\n    while k**layers < n:  # whole numbers: a logarithm may come out a little above its true value\n        layers += 1\n",
        "    import math\n    layers = max(1, math.ceil(math.log(n, k)))\n",
        "test_powers_of_k_are_reached_exactly",
    ),
    "forward only": ("6 * n_parameters", "2 * n_parameters", "test_six_a_parameter_and_token_are_what_a_step_of_training_counts"),
    "minutes for hours": ("3600 *", "60 *", "test_hours_of_the_paper"),
}  # fmt: skip
