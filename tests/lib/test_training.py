"""The loss equals PyTorch's and a slow loop's, the schedule the paper's formula, the loop Adam by hand."""

import math
import re
from itertools import chain, islice, pairwise

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from tfm_lib._vocabulary import Vocabulary
from tfm_lib.data import Example
from tfm_lib.training import (
    Batch,
    Step,
    label_smoothed_loss,
    paper_optimiser,
    smoothed_targets,
    train,
    warmup_lr,
)
from tfm_lib.transformer import Transformer, TransformerConfig

seeds = st.integers(0, 2**16)
epsilons = st.floats(0, 0.9)
PAD = 0


def small_model(dropout: float = 0.0, seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    config = TransformerConfig(12, d_model=8, n_heads=2, d_ff=16, n_layers=1, dropout=dropout)
    return Transformer(config).double()


def examples(count: int, longest: int = 6) -> list[Example]:
    def words() -> list[int]:
        return torch.randint(4, 12, (int(torch.randint(1, longest, ())),)).tolist()

    return [Example(words(), words()) for _ in range(count)]


def batches(count: int, size: int = 3) -> list[Batch]:
    return [Batch.of(examples(size)) for _ in range(count)]


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


# the learning rate


@given(step=st.integers(1, 10**6), d_model=st.integers(1, 4096), warmup=st.integers(1, 10**5))
def test_schedule_equals_the_papers_formula_by_powers_of_logarithms(step, d_model, warmup):
    rising = math.log(step) - 1.5 * math.log(warmup)
    falling = -0.5 * math.log(step)
    slow = math.exp(-0.5 * math.log(d_model) + min(rising, falling))
    assert warmup_lr(step, d_model, warmup) == pytest.approx(slow, rel=1e-9)


@given(d_model=st.integers(1, 2048), warmup=st.integers(1, 3000))
def test_peak_is_at_warmup_and_as_high_as_one_over_the_root_of_d_model_times_warmup(d_model, warmup):
    rates = [warmup_lr(step, d_model, warmup) for step in range(1, 2 * warmup + 2)]
    assert rates.index(max(rates)) + 1 == warmup
    assert max(rates) == pytest.approx((d_model * warmup) ** -0.5, rel=1e-9)


@given(d_model=st.integers(1, 2048), warmup=st.integers(2, 3000))
def test_it_rises_in_equal_steps_and_then_falls_as_one_over_the_root(d_model, warmup):
    first = warmup_lr(1, d_model, warmup)
    for step in (2, warmup // 2 + 1, warmup):
        assert warmup_lr(step, d_model, warmup) == pytest.approx(step * first, rel=1e-9)
    assert warmup_lr(4 * warmup, d_model, warmup) == pytest.approx(warmup_lr(warmup, d_model, warmup) / 2, rel=1e-9)


def test_base_model_of_the_paper_peaks_at_7e_minus_4():
    assert warmup_lr(4000, 512) == pytest.approx(6.987e-4, rel=1e-3)
    assert warmup_lr(1, 512) == pytest.approx(warmup_lr(4000, 512) / 4000)


# the loss


@given(
    batch=st.integers(1, 3),
    n=st.integers(1, 5),
    vocab_size=st.integers(2, 9),
    epsilon=epsilons,
    seed=seeds,
)
def test_loss_is_the_cross_entropy_against_the_smoothed_targets(batch, n, vocab_size, epsilon, seed):
    torch.manual_seed(seed)
    logits = torch.randn(batch, n, vocab_size, dtype=torch.double)
    targets = torch.randint(0, vocab_size, (batch, n))
    targets[0, 0] = vocab_size - 1  # one token at least is not padding
    total, tokens = 0.0, 0
    for row, target in zip(logits.flatten(0, 1), targets.flatten().tolist()):
        if target == PAD:
            continue
        tokens += 1
        log_z = math.log(sum(math.exp(x) for x in row.tolist()))
        for k, x in enumerate(row.tolist()):
            wanted = epsilon / vocab_size + (1 - epsilon if k == target else 0)
            total -= wanted * (x - log_z)
    assert_close(label_smoothed_loss(logits, targets, epsilon), torch.tensor(total / tokens, dtype=torch.double))


@given(epsilon=epsilons, seed=seeds)
def test_loss_and_gradient_equal_torchs_on_the_real_tokens(epsilon, seed):
    torch.manual_seed(seed)
    logits = torch.randn(2, 4, 7, dtype=torch.double, requires_grad=True)
    targets = torch.tensor([[3, 4, 5, 0], [6, 1, 0, 0]])
    real = targets != PAD
    ours = label_smoothed_loss(logits, targets, epsilon)
    theirs = F.cross_entropy(logits[real], targets[real], label_smoothing=epsilon)
    assert_close(ours, theirs)
    ours_grad, theirs_grad = (torch.autograd.grad(loss, logits)[0] for loss in (ours, theirs))
    assert_close(ours_grad, theirs_grad)


def test_padding_is_ignored_whatever_its_id():
    logits = torch.randn(1, 4, 6)
    targets = torch.tensor([[2, 5, 5, 5]])
    expected = F.cross_entropy(logits[0, :1], targets[0, :1], label_smoothing=0.1)
    assert_close(label_smoothed_loss(logits, targets, pad_id=5), expected)
    noisy = logits.clone()
    noisy[0, 1:] += 100 * torch.randn(3, 6)
    assert_close(label_smoothed_loss(noisy, targets, pad_id=5), expected)


def test_every_token_counts_the_same_and_not_every_sentence():
    logits, targets = torch.randn(2, 3, 6), torch.tensor([[2, 3, 4], [5, 0, 0]])
    each = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1, reduction="none")
    assert_close(label_smoothed_loss(logits, targets), each[targets.flatten() != PAD].mean())


@given(vocab_size=st.integers(2, 50), epsilon=epsilons, seed=seeds)
def test_smoothed_targets_are_a_distribution_with_the_true_token_on_top(vocab_size, epsilon, seed):
    torch.manual_seed(seed)
    targets = torch.randint(0, vocab_size, (2, 3))
    wanted = smoothed_targets(targets, vocab_size, epsilon)
    assert_close(wanted.sum(dim=-1), torch.ones(2, 3))
    assert torch.equal(wanted.argmax(dim=-1), targets)
    others = wanted.scatter(-1, targets.unsqueeze(-1), epsilon / vocab_size)
    assert_close(others, torch.full_like(others, epsilon / vocab_size))


def test_no_model_gets_below_the_entropy_of_the_smoothed_targets():
    wanted = smoothed_targets(torch.tensor([2]), 5, 0.1)
    floor = -(wanted * wanted.log()).sum()
    assert_close(label_smoothed_loss(wanted.log(), torch.tensor([2])), floor)
    for _ in range(20):
        assert label_smoothed_loss(torch.randn(1, 5), torch.tensor([2])) > floor


def test_without_smoothing_it_is_the_plain_cross_entropy():
    logits, targets = torch.randn(4, 6), torch.tensor([1, 2, 3, 4])
    assert_close(label_smoothed_loss(logits, targets, 0.0), F.cross_entropy(logits, targets))


# batches


def test_a_batch_shifts_the_target_right():
    batch = Batch.of([Example([7, 8], [9]), Example([7], [5, 6])])
    assert batch.src.tolist() == [[7, 8, 2], [7, 2, 0]]
    assert batch.tgt_in.tolist() == [[1, 9, 0], [1, 5, 6]]
    assert batch.tgt_out.tolist() == [[9, 2, 0], [5, 6, 2]]


# the loop


def test_adam_has_the_papers_settings():
    settings = paper_optimiser(nn.Linear(2, 2)).defaults
    assert settings["betas"] == (0.9, 0.98)
    assert settings["eps"] == 1e-9
    assert settings["weight_decay"] == 0 and not settings["amsgrad"]


def test_three_updates_equal_adam_by_hand():
    model, twin, data = small_model(), small_model(), batches(3)

    def lr(step):
        return 0.01 * step

    taken = list(train(model, data, lr, epsilon=0.2))
    m, v = [[torch.zeros_like(p) for p in twin.parameters()] for _ in range(2)]
    for t, batch in enumerate(data, start=1):
        logits = twin(batch.src, batch.tgt_in).flatten(0, 1)
        loss = F.cross_entropy(logits, batch.tgt_out.flatten(), label_smoothing=0.2, ignore_index=PAD)
        slopes = torch.autograd.grad(loss, list(twin.parameters()))
        assert taken[t - 1].loss == pytest.approx(loss.item(), rel=1e-9)
        with torch.no_grad():
            for i, (p, g) in enumerate(zip(twin.parameters(), slopes)):
                m[i] = 0.9 * m[i] + 0.1 * g
                v[i] = 0.98 * v[i] + 0.02 * g**2
                p -= lr(t) * (m[i] / (1 - 0.9**t)) / ((v[i] / (1 - 0.98**t)).sqrt() + 1e-9)
    assert_close(weights(model), weights(twin), rtol=1e-7, atol=1e-9)


def test_a_step_tells_its_number_loss_rate_and_tokens():
    data = batches(2)
    steps = list(train(small_model(), data, lambda step: 0.5**step))
    assert [s.step for s in steps] == [1, 2]
    assert [s.lr for s in steps] == [0.5, 0.25]
    assert [s.tokens for s in steps] == [(b.tgt_out != PAD).sum().item() for b in data]
    assert all(isinstance(s, Step) and math.isfinite(s.loss) for s in steps)


@given(accumulate=st.integers(1, 4), seed=seeds)
def test_accumulation_equals_one_big_batch(accumulate, seed):
    torch.manual_seed(seed)
    pairs = [examples(3) for _ in range(2 * accumulate)]
    together = [[*chain(*pairs[i : i + accumulate])] for i in (0, accumulate)]
    small, big = small_model(), small_model()
    taken = list(train(small, map(Batch.of, pairs), lambda step: 0.01, accumulate=accumulate))
    expected = list(train(big, map(Batch.of, together), lambda step: 0.01))
    assert [s.tokens for s in taken] == [s.tokens for s in expected]
    assert_close([s.loss for s in taken], [s.loss for s in expected])
    assert_close(weights(small), weights(big), rtol=1e-5, atol=1e-6)  # Adam's division magnifies rounding


def test_one_schedule_step_for_each_update_and_not_for_each_micro_batch():
    asked = []
    steps = list(train(small_model(), batches(7), lambda step: asked.append(step) or 0.01, accumulate=3))
    assert [s.step for s in steps] == [1, 2, 3] == sorted(set(asked))  # 3 + 3 + 1 micro-batches


def test_learning_rate_zero_moves_nothing():
    model = small_model()
    before = weights(model)
    list(train(model, batches(2), lambda step: 0.0))
    assert torch.equal(weights(model), before)


def test_gradients_do_not_pile_up_from_one_update_to_the_next():
    model, seen = small_model(), []
    batch = batches(1)[0]
    for _ in train(model, [batch] * 3, lambda step: 0.0):
        assert all(p.grad is None or not p.grad.any() for p in model.parameters())
        seen.append(True)
    assert len(seen) == 3


def test_clipping_shortens_a_long_gradient_and_leaves_a_short_one(monkeypatch):
    lengths = []

    def keep(optimiser):
        slopes = [p.grad for group in optimiser.param_groups for p in group["params"] if p.grad is not None]
        lengths.append(torch.cat([g.flatten() for g in slopes]).norm().item())

    monkeypatch.setattr(torch.optim.Adam, "step", keep)
    data = batches(1)
    for clip in (math.inf, 1e-3, 1e3):
        list(train(small_model(), data, lambda step: 0.1, clip=clip))
    free, short, wide = lengths
    assert short == pytest.approx(1e-3, rel=1e-3) and free > 2e-3
    assert wide == pytest.approx(free)


def test_the_loop_trains_with_dropout_on():
    model = small_model(dropout=0.5).eval()
    losses = [s.loss for s in train(model, batches(1) * 2, lambda step: 0.0)]
    assert model.training and losses[0] != losses[1]


def test_the_loop_learns_one_batch_by_heart():
    model, batch = small_model(), batches(1)[0]
    steps = list(train(model, [batch] * 60, lambda step: 0.01, epsilon=0.0))
    assert steps[-1].loss < 0.1 < steps[0].loss


def test_batches_are_asked_for_when_they_are_needed():
    def endless():
        while True:
            yield batch

    batch = batches(1)[0]
    assert len(list(islice(train(small_model(), endless(), lambda step: 0.01), 2))) == 2


def test_same_seed_same_weights_bit_for_bit():
    def run():
        torch.manual_seed(1)
        data = batches(4)
        model = small_model(dropout=0.1)
        list(train(model, data, lambda step: 0.01))
        return weights(model)

    assert torch.equal(run(), run())


def test_rates_are_taken_in_order():
    rates = [s.lr for s in train(small_model(), batches(6), lambda step: warmup_lr(step, 8, 3), accumulate=2)]
    assert rates == [warmup_lr(step, 8, 3) for step in (1, 2, 3)]
    assert all(a < b for a, b in pairwise(rates))


# bad input

BAD_INPUT = {
    "a step 0": (lambda: warmup_lr(0, 512), "step must count from 1; got 0."),
    "no warm-up": (lambda: warmup_lr(1, 512, 0), "warmup must be at least 1 step; got 0."),
    "ε of a percentage": (
        lambda: smoothed_targets(torch.tensor([1]), 4, 10),
        "epsilon must be at least 0 and below 1; got 10.",
    ),
    "ε below 0": (
        lambda: label_smoothed_loss(torch.ones(1, 4), torch.tensor([1]), -0.1),
        "epsilon must be at least 0 and below 1; got -0.1.",
    ),
    "nothing to accumulate": (
        lambda: next(train(small_model(), [], lambda step: 0.1, accumulate=0)),
        "accumulate must be at least 1; got 0.",
    ),
}


@pytest.mark.usefixtures("as_readers_run_it")
@pytest.mark.parametrize(("call", "sentence"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        call()


# special ids


class PaddedByThree(Vocabulary):
    special = ("<bos>", "<eos>", "<unk>", "<pad>")
    bos_id, eos_id, unk_id, pad_id = range(4)


def test_a_model_trains_on_no_padding_whatever_its_id():
    """Two targets of 2 and 4 tokens, <eos> counted, fill a rectangle of 8 places, of which 6 count."""
    pairs = [Example([7, 8], [9]), Example([7], [5, 6, 9])]
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(11, d_model=8, n_heads=2, d_ff=12, n_layers=1, dropout=0.0, pad_id=3))
    batch = Batch.of(pairs, PaddedByThree)
    assert batch.src.tolist() == [[7, 8, 1], [7, 1, 3]]
    assert batch.tgt_in.tolist() == [[0, 9, 3, 3], [0, 5, 6, 9]]
    assert batch.tgt_out.tolist() == [[9, 1, 3, 3], [5, 6, 9, 1]]
    alone = [Batch.of([pair], PaddedByThree) for pair in pairs]  # without any padding
    with torch.no_grad():
        apart = [label_smoothed_loss(model(one.src, one.tgt_in), one.tgt_out, pad_id=3) for one in alone]
    (step,) = train(model, [batch], lambda step: 0.01)
    assert step.tokens == 6
    assert step.loss == pytest.approx((2 * apart[0].item() + 4 * apart[1].item()) / 6)
    with pytest.raises(ValueError, match=r"^batches must be padded with the model's pad_id = 3; got 0\.$"):
        next(train(model, [Batch.of(pairs)], lambda step: 0.01))


BATCH = Batch.of([Example([4, 5], [6]), Example([4], [5, 6, 7])])
MISFITS = {
    "train on what is no Batch": (
        lambda **given: list(train(small_model(), lr=lambda step: 0.1, **given)),
        dict(batches=[BATCH]),
        {
            "batches → each of batches": ([tuple(BATCH)], [BATCH, None], [[4, 5]], BATCH),
            "batches → tgt_out of batches": [
                [BATCH._replace(tgt_out=ids)] for ids in ("c", None, [[4]], BATCH.tgt_out[0], BATCH.tgt_out.float())
            ],
        },
    ),
    "Batch.of what is no Example": (
        Batch.of,
        dict(examples=[Example([4], [5])]),
        {
            "examples → each of examples": ([([4], [5])], [Example([4], [5]), [4, 5]]),
            "examples → both sides of examples": ([Example("a", [5])], [Example([4], "b")], [Example(4, 5)]),
        },
    ),
}


# mutations


MUTATIONS = {  # what is removed, and the test that must turn red
    "the peak misplaced": (
        "step * warmup**-1.5)",
        "step * warmup**-1.4)",
        "test_peak_is_at_warmup_and_as_high_as_one_over_the_root_of_d_model_times_warmup",
    ),
    "no warm-up": (
        "min(step**-0.5, step * warmup**-1.5)",
        "step**-0.5",
        "test_schedule_equals_the_papers_formula_by_powers_of_logarithms",
    ),
    "rate grows with the width": (
        "return d_model**-0.5 *",
        "return d_model**0.5 *",
        "test_base_model_of_the_paper_peaks_at_7e_minus_4",
    ),
    "targets not smoothed": (
        "* (1 - epsilon) + epsilon / vocab_size",
        "* (1 - 0 * epsilon)",
        "test_no_model_gets_below_the_entropy_of_the_smoothed_targets",
    ),
    "the other convention": (
        "* (1 - epsilon) + epsilon / vocab_size",
        "* (1 - epsilon * vocab_size / (vocab_size - 1)) + epsilon / (vocab_size - 1)",
        "test_smoothed_targets_are_a_distribution_with_the_true_token_on_top",
    ),
    "loss not smoothed": (
        "label_smoothing=epsilon, ",
        "",
        "test_loss_is_the_cross_entropy_against_the_smoothed_targets",
    ),
    "padding counts": (
        ", ignore_index=pad_id)\n    require_a_loss",
        ")\n    require_a_loss",
        "test_padding_is_ignored_whatever_its_id",
    ),
    "padding is id 0 whatever it is": (
        "ignore_index=pad_id)\n    require_a_loss",
        "ignore_index=0)\n    require_a_loss",
        "test_padding_is_ignored_whatever_its_id",
    ),
    "the target not shifted": (
        "tgt_in=pad([[bos, *example.tgt]",
        "tgt_in=pad([[*example.tgt, eos]",
        "test_a_batch_shifts_the_target_right",
    ),
    "whatever batches are padded with": (
        "require_padding(batch.pad_id, pad_id)",
        "pass",
        "test_a_model_trains_on_no_padding_whatever_its_id",
    ),
    "padded with 0 whatever the vocabulary": (
        "for example in examples], pad_id),\n            pad_id=pad_id",
        "for example in examples], 0),\n            pad_id=pad_id",
        "test_a_model_trains_on_no_padding_whatever_its_id",
    ),
    "PyTorch's own β₂": (
        "betas=(0.9, 0.98)",
        "betas=(0.9, 0.999)",
        "test_adam_has_the_papers_settings",
    ),
    "PyTorch's own ε": (
        "eps=1e-9",
        "eps=1e-8",
        "test_adam_has_the_papers_settings",
    ),
    "another optimiser": (
        "torch.optim.Adam(",
        "torch.optim.Adamax(",
        "test_three_updates_equal_adam_by_hand",
    ),
    "every micro-batch counts the same": (
        "share = (batch.tgt_out != pad_id).sum() / tokens",
        "share = 1 / len(group)",
        "test_accumulation_equals_one_big_batch",
    ),
    "micro-batches not averaged": (
        "epsilon, pad_id) * share",
        "epsilon, pad_id)",
        "test_accumulation_equals_one_big_batch",
    ),
    "the schedule steps per micro-batch": (
        "enumerate(_groups(batches, accumulate), start=1)",
        "zip(range(1, 10**9, accumulate), _groups(batches, accumulate))",
        "test_one_schedule_step_for_each_update_and_not_for_each_micro_batch",
    ),
    "steps count from 0": (
        "start=1)",
        "start=0)",
        "test_a_step_tells_its_number_loss_rate_and_tokens",
    ),
    "the rate never set": (
        'parameters["lr"] = lr(step)',
        "lr(step)",
        "test_three_updates_equal_adam_by_hand",
    ),
    "gradients pile up": (
        "        optimiser.zero_grad()\n",
        "",
        "test_gradients_do_not_pile_up_from_one_update_to_the_next",
    ),
    "not clipped": (
        "        nn.utils.clip_grad_norm_(model.parameters(), clip)\n",
        "",
        "test_clipping_shortens_a_long_gradient_and_leaves_a_short_one",
    ),
    "dropout off": (
        "model.train()",
        "model.eval()",
        "test_the_loop_trains_with_dropout_on",
    ),
    "the last micro-batches lost": (
        "while group := list(islice(rest, size)):",
        "while len(group := list(islice(rest, size))) == size:",
        "test_one_schedule_step_for_each_update_and_not_for_each_micro_batch",
    ),
}
