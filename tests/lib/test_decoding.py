"""Decoding against slow loops, exhaustive search and no cache; sampling against the probabilities it draws from."""

import itertools
import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from tfm_lib.decoding import (
    Beam,
    MaskedTranslator,
    NextToken,
    beam_search,
    filter_logits,
    greedy_decode,
    length_penalty,
    mask_predict,
    sample,
)  # fmt: skip
from tfm_lib.transformer import DecoderOnly, Transformer, TransformerConfig, decoder_caches

PAD, BOS, EOS = 0, 1, 2
seeds = st.integers(0, 1000)


def small_model(
    vocab_size: int = 7, seed: int = 0, spread: float = 2.0, norm: str = "post", kind=Transformer
) -> Transformer | DecoderOnly:
    """A random model in double precision; `spread` makes it surer of its words."""
    torch.manual_seed(seed)
    config = TransformerConfig(
        vocab_size, d_model=8, n_heads=2, d_ff=12, n_layers=2, dropout=0.1, norm=norm, max_len=40
    )
    model = kind(config).double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        model.embedding.tokens.weight.mul_(spread)
    return model


def sources(seed: int = 0, vocab_size: int = 7) -> Tensor:
    """Three sources of 5, 3 and 1 tokens, padded."""
    torch.manual_seed(seed)
    lengths = torch.tensor([5, 3, 1])
    return torch.randint(3, vocab_size, (3, 5)).masked_fill(torch.arange(5) >= lengths[:, None], PAD)


def alone(src: Tensor, row: int) -> Tensor:
    """One source without its padding."""
    return src[row : row + 1, : int((src[row] != PAD).sum())]


@torch.no_grad()
def next_log_p(model: Transformer, src: Tensor, written: list[int]) -> list[float]:
    """Log-probabilities after `written`, by one whole forward pass."""
    return model(src, torch.tensor([[BOS, *written]]))[0, -1].log_softmax(-1).tolist()


def slow_greedy(model: Transformer, src: Tensor, max_len: int) -> list[int]:
    written: list[int] = []
    while len(written) < max_len and EOS not in written:
        log_p = next_log_p(model, src, written)
        written.append(log_p.index(max(log_p)))
    return written


def slow_beam(model: Transformer, src: Tensor, width: int, alpha: float, max_len: int) -> list[tuple[float, list[int]]]:
    """All that a beam finds when it never stops early: (score, ids without <eos>), best first."""
    live, done = [(0.0, [])], []
    for length in range(1, max_len + 1):
        read = torch.tensor([[BOS, *ids] for _, ids in live])
        with torch.no_grad():
            follow = model(src.expand(len(live), -1), read)[:, -1].log_softmax(-1).tolist() if live else []
        grown = [
            (log_p + more, [*ids, token]) for (log_p, ids), row in zip(live, follow) for token, more in enumerate(row)
        ]
        grown = sorted(grown, reverse=True)[:width]
        done += [(log_p / ((5 + length) / 6) ** alpha, ids[:-1]) for log_p, ids in grown if ids[-1] == EOS]
        live = [(log_p, ids) for log_p, ids in grown if ids[-1] != EOS]
    return sorted(done, reverse=True) or [(log_p / ((5 + max_len) / 6) ** alpha, ids) for log_p, ids in live]


def exhaustive(model: Transformer, src: Tensor, alpha: float, max_len: int) -> tuple[float, list[int]]:
    """The best of all sequences that end within `max_len` tokens."""
    words, best = [token for token in range(model.config.vocab_size) if token != EOS], (-math.inf, [])
    for length in range(1, max_len + 1):
        ids = torch.tensor([[*words, EOS] for words in itertools.product(words, repeat=length - 1)])
        read = torch.cat([torch.full_like(ids[:, :1], BOS), ids[:, :-1]], dim=1)
        with torch.no_grad():
            log_p = model(src.expand(len(ids), -1), read).log_softmax(-1)
        scores = log_p.gather(-1, ids[..., None]).sum(dim=(1, 2)) / ((5 + length) / 6) ** alpha
        top = scores.argmax()
        best = max(best, (scores[top].item(), ids[top, :-1].tolist()))
    return best


# the next token, with a cache and without


@settings(max_examples=6)
@given(seed=seeds, norm=st.sampled_from(["post", "pre"]))
def test_cached_logits_equal_those_of_whole_passes(seed, norm):
    model, src = small_model(seed=seed, norm=norm).float(), sources(seed)
    ids = torch.randint(3, 7, (3, 8))
    ids[:, 0] = BOS
    with torch.no_grad():
        expected = model(src, ids)
        cached, uncached = NextToken(model, src), NextToken(model, src, use_cache=False)
        for i in range(8):
            assert_close(cached(ids[:, i : i + 1]), expected[:, i], rtol=1e-5, atol=1e-5)
            assert_close(uncached(ids[:, i : i + 1]), expected[:, i], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("rows", [[2, 0], [1, 1, 2], [0, 2, 1], [0, 1, 2], [2, 2, 2, 2]])
def test_selected_rows_go_on_as_if_they_had_been_alone(use_cache, rows):
    model, src = small_model(), sources()
    first, then, last = torch.full((3, 1), BOS), torch.randint(3, 7, (3, 1)), torch.randint(3, 7, (len(rows), 1))
    with torch.no_grad():
        next_token = NextToken(model, src, use_cache)
        for ids in (first, then):
            next_token(ids)
        next_token.select(torch.tensor(rows))
        logits = next_token(last)
        for place, row in enumerate(rows):
            whole = torch.cat([first[row], then[row], last[place]])[None]
            assert_close(logits[place], model(alone(src, row), whole)[0, -1])


def test_a_second_selection_counts_from_the_first():
    model, src = small_model(), sources()
    with torch.no_grad():
        next_token = NextToken(model, src)
        next_token(torch.full((3, 1), BOS))
        for rows in ([2, 1, 0], [2, 1, 0], [1, 1, 2], [1, 0, 2]):  # sources 2 1 0, 0 1 2, 1 1 2, and two swapped
            next_token.select(torch.tensor(rows))
        logits = next_token(torch.full((3, 1), 5))
        for place, row in enumerate([1, 1, 2]):
            assert_close(logits[place], model(alone(src, row), torch.tensor([[BOS, 5]]))[0, -1])


def test_cache_reads_each_token_once():
    model, src, seen = small_model(), sources(), []
    model.decoder[0].feed_forward.register_forward_hook(lambda module, inputs, output: seen.append(output.shape[1]))
    greedy_decode(model, src, BOS, 99, max_len=5)
    assert seen == [1] * 5
    greedy_decode(model, src, BOS, 99, max_len=5, use_cache=False)
    assert seen[5:] == [1, 2, 3, 4, 5]


def test_encoder_reads_the_source_once():
    model, src, seen = small_model(), sources(), []
    model.encoder[0].register_forward_hook(lambda module, inputs, output: seen.append(1))
    for decode in (greedy_decode, beam_search, sample):
        decode(model, src, BOS, EOS, max_len=6)
    assert seen == [1] * 3


# greedy


@settings(max_examples=6)
@given(seed=seeds, use_cache=st.booleans())
def test_greedy_equals_a_slow_loop(seed, use_cache):
    model, src = small_model(seed=seed), sources(seed)
    written = greedy_decode(model, src, BOS, EOS, 6, use_cache)
    expected = [slow_greedy(model, alone(src, row), 6) for row in range(3)]
    assert written.shape[1] == max(map(len, expected))
    assert written.tolist() == [ids + [PAD] * (written.shape[1] - len(ids)) for ids in expected]


def test_cached_and_uncached_write_the_same_tokens():
    for seed in range(6):
        model, src = small_model(seed=seed).float(), sources(seed)
        cached = greedy_decode(model, src, BOS, EOS, 12)
        assert cached.equal(greedy_decode(model, src, BOS, EOS, 12, use_cache=False))


def eos_after(model: Transformer, step: int) -> Transformer:
    """`model`, that writes token 4, and <eos> for ever from `step` (counted from 1) on."""
    unembed, calls = model.embedding.unembed, itertools.count(1)

    def forced(X: Tensor) -> Tensor:
        logits = unembed(X).fill_(-50.0)
        logits[..., EOS if next(calls) >= step else 4] = 0.0
        return logits

    model.embedding.unembed = forced
    return model


@pytest.mark.parametrize("decode", [greedy_decode, sample])
def test_writing_stops_when_every_sentence_has_ended(decode):
    assert decode(eos_after(small_model(), 4), sources(), BOS, EOS, max_len=30).tolist() == [[4, 4, 4, EOS]] * 3
    assert decode(eos_after(small_model(), 9), sources(), BOS, EOS, max_len=3).tolist() == [[4, 4, 4]] * 3


def test_a_sentence_that_ended_is_padded_and_the_others_go_on():
    """Row r of the batch wants to end at step 2r + 2."""
    model, src = small_model(), sources()
    unembed, steps = model.embedding.unembed, itertools.count(1)

    def forced(X: Tensor) -> Tensor:
        logits, ends = unembed(X).fill_(-50.0), torch.arange(3) * 2 + 2 <= next(steps)
        return logits.scatter(1, torch.where(ends, EOS, 4)[:, None], 0.0)

    model.embedding.unembed = forced
    four, end = [4], [EOS]
    expected = [four + end + [PAD] * 4, four * 3 + end + [PAD] * 2, four * 5 + end]
    assert greedy_decode(model, src, BOS, EOS, 20).tolist() == expected


# beam search


@settings(max_examples=6)
@given(seed=seeds, alpha=st.sampled_from([0.0, 0.6, 1.0]))
def test_beam_of_one_equals_greedy(seed, alpha):
    model, src = small_model(seed=seed), sources(seed)
    written = greedy_decode(model, src, BOS, EOS, 6).tolist()
    for ids, found in zip(written, beam_search(model, src, BOS, EOS, 1, alpha, 6), strict=True):
        ended = ids.index(EOS) if EOS in ids else 6
        assert [hypothesis.ids for hypothesis in found] == [ids[:ended]]


@settings(max_examples=6)
@given(seed=seeds, alpha=st.sampled_from([0.0, 0.6, 1.5]), spread=st.sampled_from([0.3, 2.0]))
def test_beam_of_full_width_equals_exhaustive_search(seed, alpha, spread):
    model, src = small_model(vocab_size=4, seed=seed, spread=spread), torch.tensor([[3, 3, 1]])
    score, ids = exhaustive(model, src, alpha, max_len=4)
    best = beam_search(model, src, BOS, EOS, 4**4, alpha, max_len=4)[0][0]
    assert best.ids == ids
    assert_close(best.score, score, rtol=1e-9, atol=1e-9)


@settings(max_examples=6)
@given(seed=seeds, width=st.integers(1, 4), alpha=st.sampled_from([0.0, 0.6, 1.0]), spread=st.sampled_from([0.5, 2.0]))
def test_beam_search_equals_a_slow_beam_that_never_stops_early(seed, width, alpha, spread):
    model, src = small_model(seed=seed, spread=spread), sources(seed)
    for row, found in enumerate(beam_search(model, src, BOS, EOS, width, alpha, 6)):
        score, ids = slow_beam(model, alone(src, row), width, alpha, 6)[0]
        assert found[0].ids == ids
        assert_close(found[0].score, score, rtol=1e-9, atol=1e-9)
        assert 1 <= len(found) <= width


@settings(max_examples=6)
@given(seed=seeds, alpha=st.sampled_from([0.0, 0.6]))
def test_hypotheses_carry_their_probability_and_come_best_first(seed, alpha):
    model, src = small_model(seed=seed), sources(seed)
    for row, found in enumerate(beam_search(model, src, BOS, EOS, 4, alpha, 6)):
        scores = [hypothesis.score for hypothesis in found]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(hypothesis.ids) for hypothesis in found}) == len(found)
        cut = all(len(hypothesis.ids) == 6 for hypothesis in found)
        for ids, log_p, score in found:
            written = ids if cut else [*ids, EOS]
            with torch.no_grad():
                each = model(alone(src, row), torch.tensor([[BOS, *written[:-1]]]))[0].log_softmax(-1)
            total = each[range(len(written)), written].sum().item()
            assert_close(log_p, total, rtol=1e-9, atol=1e-9)
            assert_close(score, total / length_penalty(len(written), alpha), rtol=1e-9, atol=1e-9)


def table(seed: int, ids: list[int], vocab_size: int = 5) -> list[float]:
    """Log-probabilities after `ids`, made up, but always the same."""
    chance = torch.Generator().manual_seed(hash((seed, *ids)) % 2**31)
    return (2 * torch.randn(vocab_size, generator=chance, dtype=torch.double)).log_softmax(-1).tolist()


def step(search: Beam, seed: int) -> list[int]:
    every = [table(seed, hypothesis.ids) for hypothesis in search.open]
    return search.advance([list(range(5))] * len(every), every)


@given(
    seed=seeds, width=st.integers(1, 5), alpha=st.sampled_from([0.0, 0.3, 0.6, 1.0, 2.0]), max_len=st.integers(1, 12)
)
def test_early_stopping_never_loses_the_best(seed, width, alpha, max_len):
    search = Beam(BOS, EOS, width, alpha, max_len)
    while not search.is_over:
        step(search, seed)
    assume(search.length < max_len and search.open)
    best = search.found[0]
    while search.open and search.length < max_len:
        step(search, seed)
    assert search.found[0] == best


def test_search_goes_on_while_an_open_hypothesis_may_still_win():
    search = Beam(BOS, EOS, beam=2, alpha=1.0, max_len=7)  # penalties 1, 7/6, … 2
    search.advance([[EOS, 3]], [[-1.0, -1.9]])
    assert not search.is_over  # −1.9 / 2 could still beat −1
    search.advance([[3, EOS]], [[-0.2, -3.0]])
    assert search.is_over  # −2.1 / 2 cannot
    assert [hypothesis.ids for hypothesis in search.found] == [[], [3]]


@given(seed=seeds, width=st.integers(2, 4), alpha=st.sampled_from([0.0, 0.6]), max_len=st.integers(8, 12))
def test_a_list_of_the_n_best_is_full_and_beyond_improvement(seed, width, alpha, max_len):
    search = Beam(BOS, EOS, width, alpha, max_len, n_best=width)
    while not search.is_over:
        step(search, seed)
    assume(search.length < max_len and search.open)
    found = search.found
    assert len(found) == width
    while search.open and search.length < max_len:
        step(search, seed)
    assert search.found == found


def test_beam_names_the_row_that_each_hypothesis_continues():
    search = Beam(BOS, EOS, beam=3)
    assert search.newest == [BOS]
    assert search.advance([[5, 6, EOS]], [[-0.1, -1.0, -9.0]]) == [0, 0]
    assert [hypothesis.ids for hypothesis in search.open] == [[5], [6]]
    assert search.advance([[5, 6], [7, 8]], [[-3.0, -4.0], [-0.5, -9.0]]) == [1, 0, 0]
    assert [hypothesis.ids for hypothesis in search.open] == [[6, 7], [5, 5], [5, 6]]
    assert search.newest == [7, 5, 6]


@pytest.mark.parametrize(("length", "alpha", "penalty"), [(1, 0.6, 1.0), (7, 1.0, 2.0), (19, 0.5, 2.0), (30, 0.0, 1.0)])
def test_length_penalty_in_round_numbers(length, alpha, penalty):
    assert_close(length_penalty(length, alpha), penalty)


def test_without_the_penalty_the_beam_prefers_the_shorter():
    """The long sentence has the better mean, the short one the better sum: α decides."""
    for alpha, best in ((0.0, []), (1.0, [3, 3, 3])):
        search = Beam(BOS, EOS, beam=2, alpha=alpha, max_len=9)
        search.advance([[3, EOS]], [[-0.5, -1.0]])
        for more in (-0.3, -0.2):
            search.advance([[3, EOS]], [[more, -9.0]])
        search.advance([[EOS, 3]], [[-0.2, -9.0]])
        assert search.found[0].ids == best


def test_an_unfinished_beam_gives_what_it_has():
    found = beam_search(eos_after(small_model(), 99), sources(), BOS, EOS, 3, 0.6, 4)
    assert [each[0].ids for each in found] == [[4, 4, 4, 4]] * 3
    assert all(len(hypothesis.ids) == 4 for each in found for hypothesis in each)


# sampling


def repeated(times: int) -> Tensor:
    return alone(sources(), 0).expand(times, -1)


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"), [(1.0, None, None), (0.5, None, None), (2.0, 3, None), (1.0, None, 0.7), (1.5, 4, 0.8)]
)  # fmt: skip
def test_frequencies_match_the_probabilities(temperature, top_k, top_p):
    model, times = small_model(spread=1.0), 10_000
    draw = torch.Generator().manual_seed(0)
    ids = sample(model, repeated(times), BOS, EOS, 1, temperature, top_k, top_p, draw)[:, 0]
    p = torch.tensor(next_log_p(model, repeated(1), []), dtype=torch.double).exp() ** (1 / temperature)
    ordered = sorted(range(7), key=lambda token: -p[token])
    kept = ordered[: top_k or 7]
    if top_p:
        shares = [p[token] / sum(p[kept]) for token in kept]
        kept = [token for i, token in enumerate(kept) if sum(shares[:i]) < top_p]
    expected = torch.zeros(7, dtype=torch.double)
    expected[kept] = p[kept] / p[kept].sum()
    frequencies = ids.bincount(minlength=7) / times
    assert (frequencies[expected == 0] == 0).all()
    assert ((frequencies - expected).abs() <= 4 * (expected * (1 - expected) / times).sqrt()).all()


def test_second_token_is_drawn_after_the_first_that_was_drawn():
    model, times = small_model(spread=1.0), 20_000
    ids = sample(model, repeated(times), BOS, 99, 2, generator=torch.Generator().manual_seed(1))
    for first in ids[:, 0].unique().tolist():
        after = ids[ids[:, 0] == first, 1]
        p = torch.tensor(next_log_p(model, repeated(1), [first]), dtype=torch.double).exp()
        spread = (p * (1 - p) / len(after)).sqrt()
        assert ((after.bincount(minlength=7) / len(after) - p).abs() <= 4.5 * spread + 1e-3).all()


@settings(max_examples=6)
@given(seed=seeds, narrow=st.sampled_from([{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}]))
def test_narrow_sampling_is_greedy(seed, narrow):
    model, src = small_model(seed=seed), sources(seed)
    assert sample(model, src, BOS, EOS, 6, **narrow).equal(greedy_decode(model, src, BOS, EOS, 6))


def test_a_generator_repeats_its_draws():
    model, src = small_model(spread=0.5), sources()
    once, again, other = (
        sample(model, src, BOS, 99, 20, generator=torch.Generator().manual_seed(seed)) for seed in (5, 5, 6)
    )
    assert once.equal(again) and not once.equal(other)


@given(seed=seeds, k=st.integers(1, 9))
def test_top_k_keeps_the_k_best(seed, k):
    torch.manual_seed(seed)
    logits = torch.randn(2, 7)
    kept = filter_logits(logits, top_k=k)
    assert ((kept > -torch.inf).sum(dim=-1) == min(k, 7)).all()
    assert kept[kept > -torch.inf].equal(logits[kept > -torch.inf])
    for row, left in zip(logits.tolist(), (kept > -torch.inf).tolist()):
        assert min(x for x, yes in zip(row, left) if yes) >= max(
            [x for x, no in zip(row, left) if not no], default=-9e9
        )


@given(seed=seeds, top_p=st.floats(0.05, 0.95))
def test_top_p_keeps_the_fewest_that_hold_p(seed, top_p):
    torch.manual_seed(seed)
    logits = 2 * torch.randn(3, 6, dtype=torch.double)
    for row, kept in zip(logits.softmax(-1), filter_logits(logits, top_p=top_p) > -torch.inf):
        held = row[kept].sum()
        assert held >= top_p - 1e-9
        assert held - row[kept].min() < top_p + 1e-9  # one fewer would not do
        assert row[~kept].max() <= row[kept].min() if not kept.all() else True


def test_top_p_of_1_keeps_all_even_where_the_first_rounds_to_1():
    logits = torch.tensor([[0.0, -40.0, -60.0]])
    assert filter_logits(logits, top_p=1.0).equal(logits)
    assert filter_logits(logits, top_p=0.99).tolist() == [[0.0, -math.inf, -math.inf]]


def test_filtering_changes_nothing_it_keeps_and_nothing_it_was_given():
    logits = torch.randn(2, 5)
    before = logits.clone()
    assert filter_logits(logits).equal(logits)
    filter_logits(logits, top_k=2, top_p=0.5)
    assert logits.equal(before)


# attention on demand


def test_attention_of_a_finished_translation_is_what_the_decoder_saw_as_it_wrote():
    model, src = small_model(), alone(sources(), 0)
    written = greedy_decode(model, src, BOS, 99, max_len=5)
    read = torch.cat([torch.tensor([[BOS]]), written[:, :-1]], dim=1)
    with torch.no_grad():
        on_demand = model.all_weights(src, read)
        memory, caches = model.encode(src), decoder_caches(model.config.n_layers)
        for i in range(5):
            Y = model.embedding(read[:, i : i + 1], start=i)
            for number, (layer, kept) in enumerate(zip(model.decoder, caches)):
                Y, (own, cross) = layer(Y, memory.H, need_weights=True, caches=kept)
                assert_close(own[:, :, 0], on_demand["decoder"][:, number, :, i, : i + 1])
                assert_close(cross[:, :, 0], on_demand["cross"][:, number, :, i])


# a decoder that goes on with beginnings


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("use_cache", [True, False])
@settings(max_examples=10)
@given(n=st.integers(0, 4), batch=st.integers(1, 3), seed=seeds)
def test_a_decoder_alone_goes_on_as_whole_passes_do(norm, use_cache, n, batch, seed):
    model = small_model(seed=seed, norm=norm, kind=DecoderOnly)
    begun = torch.randint(3, 7, (batch, n))
    written = greedy_decode(model, begun, BOS, EOS, max_len=6, use_cache=use_cache)
    for row, found in zip(begun.tolist(), written.tolist()):
        expected: list[int] = []
        while len(expected) < 6 and EOS not in expected:
            with torch.no_grad():
                expected.append(model(torch.tensor([[BOS, *row, *expected]]))[0, -1].argmax().item())
        assert found == expected + [PAD] * (len(found) - len(expected))


def test_a_decoder_alone_reads_each_token_once_with_its_cache():
    model, read = small_model(kind=DecoderOnly), []
    model.embedding.tokens.register_forward_hook(lambda _, given, __: read.append(given[0].shape[1]))
    greedy_decode(model, torch.tensor([[3, 4, 5]]), BOS, 99, max_len=4)
    assert read == [1 + 3, 1, 1, 1]
    read.clear()
    greedy_decode(model, torch.tensor([[3, 4, 5]]), BOS, 99, max_len=4, use_cache=False)
    assert read == [4, 5, 6, 7]


def test_a_decoder_alone_samples_and_beams():
    model, begun = small_model(kind=DecoderOnly), torch.tensor([[3, 4], [5, 6]])
    greedily = greedy_decode(model, begun, BOS, 99, max_len=5)
    assert sample(model, begun, BOS, 99, max_len=5, top_k=1).equal(greedily)
    narrow = beam_search(model, begun, BOS, 99, beam=1, max_len=5)
    assert [found.ids for (found,) in narrow] == greedily.tolist()
    with torch.no_grad():
        p = model(torch.tensor([[BOS, 3, 4]]))[0, -1].softmax(dim=-1)
    draw = torch.Generator().manual_seed(0)
    drawn = sample(model, begun[:1].expand(4000, -1), BOS, 99, max_len=1, generator=draw)
    assert_close(drawn.flatten().bincount(minlength=7) / 4000, p.float(), rtol=0, atol=0.03)
    # a beam that swaps its rows goes on with the caches and the beginnings of those that it kept
    wide = beam_search(model, begun, BOS, EOS, beam=3, max_len=5)
    for row, found in zip(begun, wide):
        by_itself = beam_search(model, row[None], BOS, EOS, beam=3, max_len=5)[0]
        assert [each.ids for each in found] == [each.ids for each in by_itself]
        for each in found:
            whole = torch.tensor([[BOS, *row.tolist(), *each.ids]])
            with torch.no_grad():
                log_p = model(whole)[0, 2:].log_softmax(dim=-1)
            steps = [*each.ids, EOS][: len(log_p)] if len(each.ids) < 5 else each.ids
            assert_close(each.log_p, sum(log_p[i, token].item() for i, token in enumerate(steps)))


SAMPLED = dict(model=small_model().float(), src_ids=sources(), bos_id=BOS, eos_id=EOS, max_len=3, temperature=1.0)
MISFITS = {
    "sample with a temperature that rounds to 0": (sample, SAMPLED, dict(temperature=(1e-320, 5e-324, 1e-39))),
    "sample with half the bits": (sample, {**SAMPLED, "model": small_model().half()}, dict(temperature=(1e-320, 1e-6))),
}


def test_a_low_temperature_is_greedy_down_to_the_smallest():
    model, src = small_model().float(), sources()
    assert sample(model, src, BOS, EOS, 6, temperature=1e-30).equal(greedy_decode(model, src, BOS, EOS, 6))


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "the cache reads everything again": (
        "read = new if self.caches else self.written",
        "read = self.written",
        "test_cached_logits_equal_those_of_whole_passes",
    ),
    "without a cache the past is forgotten": (
        "read = new if self.caches else self.written",
        "read = new",
        "test_cached_logits_equal_those_of_whole_passes",
    ),
    "padding of the source is seen": (
        "self.model.decode(read, self.memory, self.caches)",
        "self.model.decode(read, self.memory._replace(mask=None), self.caches)",
        "test_selected_rows_go_on_as_if_they_had_been_alone[rows0-True]",
    ),
    "rows keep the cache of others": (
        "            own.select(rows)\n",
        "",
        "test_selected_rows_go_on_as_if_they_had_been_alone[rows1-True]",
    ),
    "rows keep the memory of others": (
        "                of_memory.select(rows)\n",
        "                pass\n",
        "test_selected_rows_go_on_as_if_they_had_been_alone[rows0-True]",
    ),
    "sources confused after a second selection": (
        "sources = self.sources[rows]",
        "sources = rows",
        "test_a_second_selection_counts_from_the_first",
    ),
    "least probable token": (
        "partial(torch.argmax, dim=-1)",
        "partial(torch.argmin, dim=-1)",
        "test_greedy_equals_a_slow_loop",
    ),
    "stops at the first <eos>": (
        "if done.all():",
        "if done.any():",
        "test_a_sentence_that_ended_is_padded_and_the_others_go_on",
    ),
    "goes on writing after <eos>": (
        ".masked_fill(done, model.config.pad_id)",
        "",
        "test_a_sentence_that_ended_is_padded_and_the_others_go_on",
    ),
    "<eos> is soon forgotten": (
        "done |= chosen == eos_id",
        "done = chosen == eos_id",
        "test_a_sentence_that_ended_is_padded_and_the_others_go_on",
    ),
    "temperature turned round": (
        "filter_logits(logits / temperature",
        "filter_logits(logits * temperature",
        "test_frequencies_match_the_probabilities",
    ),
    "temperature forgotten": (
        "filter_logits(logits / temperature",
        "filter_logits(logits",
        "test_frequencies_match_the_probabilities",
    ),
    "one more than k": (
        "[..., top_k:]",
        "[..., top_k + 1 :]",
        "test_top_k_keeps_the_k_best",
    ),
    "top-p loses the word that crosses the line": (
        "p.cumsum(dim=-1) - p ",
        "p.cumsum(dim=-1) ",
        "test_top_p_keeps_the_fewest_that_hold_p",
    ),
    "top-p cuts the best": (
        "sort(dim=-1, descending=True, stable=True)\n        p",
        "sort(dim=-1, descending=False, stable=True)\n        p",
        "test_top_p_keeps_the_fewest_that_hold_p",
    ),
    "top-p at the wrong places": (
        ".scatter(-1, order, held_before >= top_p)",
        " | (held_before >= top_p)",
        "test_top_p_keeps_the_fewest_that_hold_p",
    ),
    "no length penalty": (
        "return ((5 + length) / 6) ** alpha",
        "return 1.0",
        "test_without_the_penalty_the_beam_prefers_the_shorter",
    ),
    "multiplied by the penalty": (
        "total / length_penalty(self.length, self.alpha)",
        "total * length_penalty(self.length, self.alpha)",
        "test_hypotheses_carry_their_probability_and_come_best_first",
    ),
    "<eos> not counted": (
        "total / length_penalty(self.length,",
        "total / length_penalty(self.length - 1,",
        "test_hypotheses_carry_their_probability_and_come_best_first",
    ),
    "only the newest token counts": (
        "(self.open[row].log_p + more, row, token)",
        "(more, row, token)",
        "test_beam_search_equals_a_slow_beam_that_never_stops_early",
    ),
    "the worst are kept": (
        "heapq.nlargest(self.beam",
        "heapq.nsmallest(self.beam",
        "test_beam_search_equals_a_slow_beam_that_never_stops_early",
    ),
    "one more than the beam": (
        "heapq.nlargest(self.beam,",
        "heapq.nlargest(self.beam + 1,",
        "test_beam_names_the_row_that_each_hypothesis_continues",
    ),
    "parents lost": (
        "parents.append(row)",
        "parents.append(0)",
        "test_beam_names_the_row_that_each_hypothesis_continues",
    ),
    "stops when the first has ended": (
        "return bool(sure) and ceiling <= sure[0].score",
        "return bool(sure)",
        "test_early_stopping_never_loses_the_best",
    ),
    "stops by the present length's penalty": (
        "length_penalty(self.max_len, self.alpha)",
        "length_penalty(self.length, self.alpha)",
        "test_search_goes_on_while_an_open_hypothesis_may_still_win",
    ),
    "never stops early": (
        "return bool(sure) and ceiling <= sure[0].score",
        "return False",
        "test_search_goes_on_while_an_open_hypothesis_may_still_win",
    ),
    "sure of the best alone": (
        "self.finished[self.n_best - 1 :][:1]",
        "self.finished[:1]",
        "test_a_list_of_the_n_best_is_full_and_beyond_improvement",
    ),
    "in the order of their ends": (
        "        self.finished.sort(key=lambda hypothesis: -hypothesis.score)\n",
        "",
        "test_without_the_penalty_the_beam_prefers_the_shorter",
    ),
    "logits for log-probabilities": (
        "(best - logits.logsumexp(dim=-1, keepdim=True))",
        "best",
        "test_hypotheses_carry_their_probability_and_come_best_first",
    ),
    "rows counted from the first source": (
        "[start + row for row in parents]",
        "parents",
        "test_beam_search_equals_a_slow_beam_that_never_stops_early",
    ),
    "decodes with dropout": (
        "if model.training and model.config.dropout:",
        "if False:",
        "test_error_sentences.py::test_a_misfit_ends_in_this_sentence[decoding, a model in training]",
    ),
}


# all words at once

MASK = 6


def masked_translator(seed: int) -> MaskedTranslator:
    model = small_model(seed=seed, kind=lambda config: MaskedTranslator(config, longest=9))
    assert isinstance(model, MaskedTranslator)
    return model


@torch.no_grad()
def slow_mask_predict(model: MaskedTranslator, src: Tensor, passes: int) -> list[int]:
    """The same for one source, word by word."""
    memory = model.encode(src)
    length = max(1, int(model.lengths(memory)[0].argmax()))
    ids, certain = [MASK] * length, [0.0] * length
    for done in range(passes):
        asked = sorted(range(length), key=lambda i: certain[i])[: length * (passes - done) // passes]
        read = torch.tensor([[MASK if i in asked else ids[i] for i in range(length)]])
        words = [word for word in range(model.config.vocab_size) if word not in (PAD, MASK)]
        logits = model.embedding.unembed(model.decode(read, memory))[0]
        p = torch.zeros_like(logits)
        p[:, words] = logits[:, words].softmax(-1)
        for i in asked:
            ids[i], certain[i] = int(p[i].argmax()), float(p[i].max())
    return ids


@given(seeds, st.integers(1, 6))
def test_mask_predict_equals_a_slow_loop(seed, passes):
    model, src = masked_translator(seed), sources(seed)
    written = mask_predict(model, src, MASK, passes)
    for row, ids in enumerate(written.tolist()):
        slow = slow_mask_predict(model, alone(src, row), passes)
        assert ids == slow + [PAD] * (len(ids) - len(slow))


def test_a_masked_translator_sees_all_places_on_both_sides_but_no_padding():
    model, src = masked_translator(0), sources()[:1]
    tgt = torch.tensor([[3, 4, 5, 4]])
    whole = model(src, tgt)
    for place in range(4):
        other = tgt.clone()
        other[0, place] = MASK
        moved = (model(src, other) - whole).abs().amax(dim=-1)[0]
        assert (moved > 1e-6).all()
    padded = model(src, torch.cat([tgt, torch.zeros(1, 3, dtype=torch.long)], dim=1))
    assert_close(padded[:, :4], whole)
    assert_close(model.lengths(model.encode(sources()))[2:], model.lengths(model.encode(alone(sources(), 2))))


def test_each_pass_reads_the_target_once_and_hides_fewer_words():
    model, read = masked_translator(3), []
    model.embedding.register_forward_pre_hook(lambda _, args: read.append(args[0]))
    mask_predict(model, sources(), MASK, passes=4)
    src, *targets = read
    assert src.equal(sources()) and len(targets) == 4
    length = (targets[0] == MASK).sum(dim=1)
    assert [(ids == MASK).sum(dim=1).tolist() for ids in targets] == [
        (length * (4 - done) // 4).tolist() for done in range(4)
    ]


def test_a_masked_translator_does_not_write_from_left_to_right():
    with pytest.raises(ValueError, match="model must write one word after the other"):
        greedy_decode(masked_translator(0), sources(), BOS, EOS)
