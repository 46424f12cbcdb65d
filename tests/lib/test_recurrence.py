"""Recurrent encoder and decoder, windows and convolutions against slow loops; how far back each of them hears."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from tfm_lib.recurrence import DilatedConvolutions, Seq2Seq, WordWindow, gradient_reach, greedy

CELLS = ("rnn", "lstm", "gru")
PAD, BOS, EOS = 0, 1, 2
seeds = st.integers(0, 1000)
every_cell = pytest.mark.parametrize("cell", CELLS)


def seq2seq(cell: str = "gru", seed: int = 0, d_model: int = 5) -> Seq2Seq:
    torch.manual_seed(seed)
    return Seq2Seq(src_vocab=9, tgt_vocab=7, d_model=d_model, cell=cell).double()


def step(rnn: nn.Module, x, state):
    """One step of torch's `rnn` from the equations of its cell; `state` is h, or (h, c) for an LSTM."""
    kind = type(rnn)
    h = state[0] if kind is nn.LSTM else state
    from_x = rnn.weight_ih_l0 @ x + rnn.bias_ih_l0
    from_h = rnn.weight_hh_l0 @ h + rnn.bias_hh_l0
    if kind is nn.RNN:
        return torch.tanh(from_x + from_h)
    if kind is nn.LSTM:
        i, f, g, o = (from_x + from_h).chunk(4)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    (r_x, z_x, n_x), (r_h, z_h, n_h) = from_x.chunk(3), from_h.chunk(3)
    r, z = (r_x + r_h).sigmoid(), (z_x + z_h).sigmoid()
    return (1 - z) * torch.tanh(n_x + r * n_h) + z * h


def slow_states(rnn: nn.Module, vectors, state=None):
    """Every state of `rnn` over `vectors`, one word at a time, and the last one."""
    if state is None:
        zero = vectors.new_zeros(rnn.hidden_size)
        state = (zero, zero) if isinstance(rnn, nn.LSTM) else zero
    states = []
    for x in vectors:
        state = step(rnn, x, state)
        states.append(state[0] if isinstance(rnn, nn.LSTM) else state)
    return torch.stack(states), state


# encoder and decoder


@every_cell
@given(m=st.integers(1, 5), n=st.integers(1, 4), seed=seeds)
def test_seq2seq_equals_a_slow_loop(cell, m, n, seed):
    model = seq2seq(cell, seed)
    src, tgt = torch.randint(1, 9, (1, m)), torch.randint(1, 7, (1, n))
    H, state = slow_states(model.encoder, model.src_embedding(src)[0])
    written, _ = slow_states(model.decoder, model.tgt_embedding(tgt)[0], state)
    assert_close(model.encode(src)[0][0], H, rtol=0, atol=1e-6)
    assert_close(model(src, tgt)[0], model.output(written), rtol=0, atol=1e-6)


@every_cell
def test_padding_of_the_source_is_invisible(cell):
    model, tgt = seq2seq(cell), torch.tensor([[BOS, 4], [BOS, 4]])
    padded = model(torch.tensor([[3, 4, PAD, PAD], [5, 6, 7, 8]]), tgt)
    assert_close(padded[0], model(torch.tensor([[3, 4]]), tgt[:1])[0])
    assert_close(padded[1], model(torch.tensor([[5, 6, 7, 8]]), tgt[:1])[0])


def test_states_of_padding_are_zero():
    H, _ = seq2seq().encode(torch.tensor([[3, 4, PAD], [5, 6, 7]]))
    assert (H[0, 2] == 0).all()
    assert (H[0, :2] != 0).all()


@every_cell
def test_all_that_passes_is_one_state_of_fixed_size(cell):
    model = seq2seq(cell)
    sizes = set()
    for m in (1, 4, 9):
        _, state = model.encode(torch.randint(1, 9, (2, m)))
        parts = state if cell == "lstm" else (state,)
        sizes.add(tuple(tuple(part.shape) for part in parts))
    assert sizes == {((1, 2, 5),) * (2 if cell == "lstm" else 1)}


@every_cell
def test_last_state_is_all_that_the_decoder_knows_of_the_source(cell):
    model, tgt = seq2seq(cell), torch.tensor([[BOS, 3, 4]])
    src = torch.randint(1, 9, (1, 6))
    assert_close(model(src, tgt), model.decode(tgt, model.encode(src)[1])[0])


def test_reading_order_matters():
    model, tgt = seq2seq(), torch.tensor([[BOS]])
    assert not torch.allclose(model(torch.tensor([[3, 4]]), tgt), model(torch.tensor([[4, 3]]), tgt))


@every_cell
def test_teacher_forcing_in_one_pass_equals_word_by_word(cell):
    model = seq2seq(cell)
    src, tgt = torch.randint(1, 9, (2, 4)), torch.randint(1, 7, (2, 5))
    _, state = model.encode(src)
    logits = []
    for i in range(5):
        step_logits, state = model.decode(tgt[:, i : i + 1], state)
        logits.append(step_logits)
    assert_close(torch.cat(logits, dim=1), model(src, tgt))


def test_later_words_of_the_target_change_nothing_earlier():
    model, src = seq2seq(), torch.randint(1, 9, (1, 4))
    before, after = model(src, torch.tensor([[BOS, 3, 4]])), model(src, torch.tensor([[BOS, 3, 5]]))
    assert_close(before[:, :2], after[:, :2], rtol=0, atol=0)
    assert not torch.allclose(before[:, 2], after[:, 2])


# greedy


def scripted(script: list[list[int]]):
    """`start` and `step` of a model that writes row b of `script`, whatever it is fed, and notes what it was fed."""
    fed = []

    def step(ids, place):
        fed.append(ids.squeeze(1).tolist())
        wanted = torch.tensor([row[place] for row in script])
        return F.one_hot(wanted, 9).float().unsqueeze(1), place + 1

    return (lambda src: 0), step, fed


def test_greedy_begins_with_bos_and_goes_on_from_its_own_words():
    start, step, fed = scripted([[5, 6, EOS]])
    assert greedy(start, step, torch.ones(1, 1).long(), BOS, EOS, max_len=9).tolist() == [[5, 6, EOS]]
    assert fed == [[BOS], [5], [6]]


def test_greedy_waits_for_the_last_eos():
    start, step, _ = scripted([[EOS, 5, 6, 7], [3, 4, EOS, 7]])
    assert greedy(start, step, torch.ones(2, 1).long(), BOS, EOS, max_len=9).tolist() == [[EOS, 5, 6], [3, 4, EOS]]


def test_greedy_stops_at_max_len():
    start, step, _ = scripted([[5] * 9])
    assert greedy(start, step, torch.ones(1, 1).long(), BOS, EOS, max_len=3).tolist() == [[5, 5, 5]]


@given(seed=seeds)
def test_greedy_equals_a_slow_loop(seed):
    model = seq2seq(seed=seed)
    src = torch.randint(1, 9, (2, 4))
    got = greedy(lambda ids: model.encode(ids)[1], model.decode, src, BOS, EOS, max_len=6)
    for row, sentence in enumerate(src):
        written = [BOS]
        while len(written) <= got.shape[1] and EOS not in written:
            logits = model(sentence[None], torch.tensor([written]))
            written.append(int(logits[0, -1].argmax()))
        assert got[row, : len(written) - 1].tolist() == written[1:]


def test_greedy_leaves_no_gradients():
    model = seq2seq()
    written = greedy(lambda ids: model.encode(ids)[1], model.decode, torch.ones(1, 2).long(), BOS, EOS, 3)
    assert not written.requires_grad


# windows and convolutions


@given(n=st.integers(1, 6), window=st.integers(0, 3), seed=seeds)
def test_word_window_equals_a_slow_loop(n, window, seed):
    torch.manual_seed(seed)
    layer, X = WordWindow(3, window), torch.randn(1, n, 3)
    padded = torch.cat([torch.zeros(window, 3), X[0], torch.zeros(window, 3)])
    expected = [layer.W(padded[i : i + 2 * window + 1].flatten()).clamp(min=0) for i in range(n)]
    assert_close(layer(X)[0], torch.stack(expected), rtol=0, atol=1e-6)


@given(n=st.integers(1, 7), k=st.integers(2, 3), n_layers=st.integers(1, 3), seed=seeds)
def test_dilated_convolutions_equal_a_slow_loop(n, k, n_layers, seed):
    torch.manual_seed(seed)
    model, X = DilatedConvolutions(2, k, n_layers), torch.randn(1, n, 2)
    features = X[0]
    for depth, layer in enumerate(model.layers):
        rows = []
        for i in range(n):
            total = layer.bias
            for tap in range(k):  # the last tap is the position itself
                seen = i - (k - 1 - tap) * k**depth
                total = total + layer.weight[:, :, tap] @ (features[seen] if seen >= 0 else torch.zeros(2))
            rows.append(total.tanh())
        features = torch.stack(rows)
    assert_close(model(X)[0], features, rtol=0, atol=1e-6)


def heard(model: nn.Module, n: int, i: int) -> list[int]:
    """The positions on which output i depends."""
    X = torch.randn(n, 16, dtype=torch.double)
    return gradient_reach(lambda X: model.double()(X[None])[0, i], X).nonzero().flatten().tolist()


@pytest.mark.parametrize("window", [1, 2, 3])
def test_window_hears_its_neighbours_only(window):
    assert heard(WordWindow(16, window), 15, 7) == list(range(7 - window, 7 + window + 1))


def test_windows_on_top_of_each_other_reach_further():
    stack = nn.Sequential(*[WordWindow(16, 2) for _ in range(3)])
    assert heard(stack, 21, 10) == list(range(4, 17))


@pytest.mark.parametrize(("k", "n_layers"), [(3, 1), (3, 2), (3, 3), (2, 4), (5, 2)])
def test_dilated_convolutions_hear_k_to_the_number_of_layers(k, n_layers):
    span = k**n_layers
    assert heard(DilatedConvolutions(16, k, n_layers), span + 4, span + 1) == list(range(2, span + 2))


@pytest.mark.parametrize("k", [2, 3])
def test_dilated_convolutions_join_the_ends_of_a_sentence_of_k_to_the_layers(k):
    n = k**3
    assert 0 in heard(DilatedConvolutions(16, k, 3), n, n - 1)
    assert 0 not in heard(DilatedConvolutions(16, k, 2), n, n - 1)


# gradient reach


@given(w=st.floats(0.2, 1.5), n=st.integers(1, 12))
def test_reach_of_a_linear_recurrence_is_a_power_of_its_weight(w, n):
    def last(X):
        h = torch.zeros(1, dtype=torch.double)
        for x in X:
            h = w * h + x
        return h

    expected = torch.tensor([w ** (n - 1 - t) for t in range(n)], dtype=torch.double)
    assert_close(gradient_reach(last, torch.randn(n, 1, dtype=torch.double)), expected)


@given(n=st.integers(1, 4), seed=seeds)
def test_reach_equals_finite_differences(n, seed):
    torch.manual_seed(seed)
    rnn = nn.GRU(3, 2, batch_first=True).double()
    X, eps = torch.randn(n, 3, dtype=torch.double), 1e-6
    squares = torch.zeros(n, dtype=torch.double)
    for t in range(n):
        for feature in range(3):
            nudge = torch.zeros_like(X)
            nudge[t, feature] = eps
            slope = (rnn((X + nudge)[None])[0][0, -1] - rnn((X - nudge)[None])[0][0, -1]) / (2 * eps)
            squares[t] += slope.square().sum()
    assert_close(gradient_reach(lambda X: rnn(X[None])[0][0, -1], X), squares.sqrt(), rtol=1e-5, atol=1e-8)


def test_reach_of_a_plain_rnn_vanishes_and_with_large_weights_explodes():
    rnn, X = nn.RNN(8, 8, batch_first=True).double(), 0.01 * torch.randn(40, 8, dtype=torch.double)
    small = gradient_reach(lambda X: rnn(X[None])[0][0, -1], X)
    with torch.no_grad():
        nn.init.orthogonal_(rnn.weight_hh_l0).mul_(1.3)
        nn.init.zeros_(rnn.bias_hh_l0)
        nn.init.zeros_(rnn.bias_ih_l0)
    large = gradient_reach(lambda X: rnn(X[None])[0][0, -1], X)
    assert small[0] < 1e-4 * small[-1]
    assert large[0] > 10 * large[-1]


def test_reach_is_zero_where_no_path_leads():
    reach = gradient_reach(lambda X: X[:3].sum(dim=0), torch.randn(5, 2))
    assert_close(reach, torch.tensor([2**0.5] * 3 + [0, 0]))


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "the slip gets lost": (
        "self.decode(tgt_ids, state)\n        return logits",
        "self.decode(tgt_ids, None)\n        return logits",
        "test_last_state_is_all_that_the_decoder_knows_of_the_source",
    ),
    "padding is read": (
        "lengths.cpu(), batch_first",
        "torch.full_like(lengths, X.shape[1]).cpu(), batch_first",
        "test_padding_of_the_source_is_invisible",
    ),
    "encoder and decoder are one": (
        "states, state = self.decoder(",
        "states, state = self.encoder(",
        "test_seq2seq_equals_a_slow_loop",
    ),
    "source read with the target's words": (
        "self.src_embedding(src_ids)",
        "self.tgt_embedding(src_ids % 7)",
        "test_seq2seq_equals_a_slow_loop",
    ),
    "decoder's state not handed on": (
        "logits, state = step(ids, state)",
        "logits, _ = step(ids, state)",
        "test_greedy_begins_with_bos_and_goes_on_from_its_own_words",
    ),
    "least probable word": (
        "logits[:, -1:].argmax(dim=-1)",
        "logits[:, -1:].argmin(dim=-1)",
        "test_greedy_equals_a_slow_loop",
    ),
    "stops at the first end sign": (
        "not finished.all()",
        "not finished.any()",
        "test_greedy_waits_for_the_last_eos",
    ),
    "an end sign is soon forgotten": (
        "finished = finished | (ids == eos_id)",
        "finished = ids == eos_id",
        "test_greedy_waits_for_the_last_eos",
    ),
    "one word more than asked for": (
        "len(written) < max_len",
        "len(written) <= max_len",
        "test_greedy_stops_at_max_len",
    ),
    "window looks back only": (
        "F.pad(X, (0, 0, self.window, self.window))",
        "F.pad(X, (0, 0, 2 * self.window, 0))",
        "test_window_hears_its_neighbours_only",
    ),
    "window with features and words mixed up": (
        "2 * self.window + 1, 1).mT",
        "2 * self.window + 1, 1)",
        "test_word_window_equals_a_slow_loop",
    ),
    "window without a bend": (
        "F.relu(self.W(neighbours.flatten(2)))",
        "self.W(neighbours.flatten(2))",
        "test_word_window_equals_a_slow_loop",
    ),
    "no dilation": (
        "k**layer for layer in range(n_layers)",
        "1 for layer in range(n_layers)",
        "test_dilated_convolutions_hear_k_to_the_number_of_layers",
    ),
    "dilated the wrong way up": (
        "for layer in range(n_layers)]",
        "for layer in reversed(range(n_layers))]",
        "test_dilated_convolutions_equal_a_slow_loop",
    ),
    "convolutions look ahead": (
        "F.pad(features, (before, 0))",
        "F.pad(features, (0, before))",
        "test_dilated_convolutions_hear_k_to_the_number_of_layers",
    ),
    "reach squared": (
        ".sum(dim=(0, 2)).sqrt()",
        ".sum(dim=(0, 2))",
        "test_reach_equals_finite_differences",
    ),
    "reach of sums that cancel": (
        "jacobian.square().sum(dim=(0, 2)).sqrt()",
        "jacobian.sum(dim=(0, 2)).abs()",
        "test_reach_equals_finite_differences",
    ),
}
