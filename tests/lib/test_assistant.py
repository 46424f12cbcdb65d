"""Losses against slow loops and their formulas, scores of answers against every subset, patches against heads set by hand."""

import itertools
import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from lib.misfits import NO_FLOATS, NO_TENSOR, NUMBER, SIZE, WHOLE
from tfm_lib._trace import trace
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.assistant import (
    Answers,
    answer_log_probs,
    best_of_n_kl,
    dpo_loss,
    majority,
    pass_at_k,
    patched_heads,
)
from tfm_lib.data import Example
from tfm_lib.descendants import decoder_of_today
from tfm_lib.transformer import DecoderOnly, EncoderOnly, TransformerConfig

PAD, BOS, EOS = 0, 1, 2
EXAMPLES = [Example([5, 6], [7]), Example([], [8, 9, 10]), Example([4], [])]
CONFIG = TransformerConfig(12, d_model=16, n_heads=4, d_ff=12, n_layers=3, dropout=0.0, max_len=20)
seeds = st.integers(0, 1000)
words = st.lists(st.sampled_from("abc"), min_size=1, max_size=8)


# the tokens that count


def test_only_the_answer_and_its_end_are_predicted():
    read, predicted = Answers.of(EXAMPLES)
    assert read.tolist() == [[BOS, 5, 6, 7], [BOS, 8, 9, 10], [BOS, 4, PAD, PAD]]
    assert predicted.tolist() == [[PAD, PAD, 7, EOS], [8, 9, 10, EOS], [PAD, EOS, PAD, PAD]]


def test_a_tokenizer_names_the_special_ids():
    class Other:
        pad_id, bos_id, eos_id = 11, 3, 5

    read, predicted = Answers.of(EXAMPLES[:2], Other)
    assert read.tolist() == [[3, 5, 6, 7], [3, 8, 9, 10]]
    assert predicted.tolist() == [[11, 11, 7, 5], [8, 9, 10, 5]]


def small_model(seed: int = 0, today: bool = False) -> DecoderOnly:
    """A random decoder in double precision, unlike its neighbours everywhere."""
    torch.manual_seed(seed)
    model = (decoder_of_today(CONFIG, n_key_heads=4) if today else DecoderOnly(CONFIG)).double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


@torch.no_grad()
def slow_log_p(model: DecoderOnly, example: Example) -> float:
    """The probability of each token of the answer, one pass after the other."""
    total, ids = 0.0, [BOS, *example.src]
    for token in [*example.tgt, EOS]:
        total += model(torch.tensor([ids]))[0, -1].softmax(-1)[token].log().item()
        ids.append(token)
    return total


@given(seeds)
def test_log_p_of_an_answer_is_that_of_its_tokens_one_after_the_other(seed):
    model = small_model(seed)
    read, predicted = Answers.of(EXAMPLES)
    found = answer_log_probs(model(read), predicted)
    assert_close(found.tolist(), [slow_log_p(model, each) for each in EXAMPLES])


@given(seeds)
def test_log_p_of_all_answers_of_a_length_add_up_to_one(seed):
    torch.manual_seed(seed)
    logits = torch.randn(1, 4, 3)
    every = torch.tensor([[9, *rest] for rest in itertools.product(range(3), repeat=3)])
    p = answer_log_probs(logits.expand(27, -1, -1), every, pad_id=9).exp()
    assert_close(p.sum().item(), 1.0)


@pytest.mark.parametrize("kind", [torch.int32, torch.int16])
def test_what_is_predicted_may_be_whole_numbers_of_any_type(kind):
    predicted, logits = Answers.of(EXAMPLES).predicted, torch.randn(3, 4, 12)
    assert_close(answer_log_probs(logits, predicted.to(kind)), answer_log_probs(logits, predicted))


def test_given_tokens_and_padding_have_no_slope():
    logits = torch.randn(3, 4, 12, requires_grad=True)
    predicted = Answers.of(EXAMPLES).predicted
    answer_log_probs(logits, predicted).sum().backward()
    assert logits.grad is not None
    assert (logits.grad.abs().amax(dim=-1) > 0).equal(predicted != PAD)


# preferences


def four(seed: int, pairs: int = 5) -> list[Tensor]:
    return list(-20 * torch.rand(4, pairs, dtype=torch.double, generator=torch.Generator().manual_seed(seed)))


@given(seeds, st.sampled_from([0.05, 0.3, 2.0]))
def test_dpo_equals_its_formula(seed, beta):
    better, worse, better_before, worse_before = four(seed)
    losses = [
        -math.log(1 / (1 + math.exp(-beta * (w - w0 - (l - l0)))))
        for w, l, w0, l0 in zip(*(each.tolist() for each in (better, worse, better_before, worse_before)))
    ]
    assert_close(dpo_loss(better, worse, better_before, worse_before, beta).item(), sum(losses) / len(losses))


def test_dpo_of_a_model_that_has_not_moved_is_log_two():
    better, worse, *_ = four(0)
    assert_close(dpo_loss(better, worse, better, worse, beta=3.0).item(), math.log(2))


@given(seeds)
def test_a_step_down_the_loss_prefers_the_preferred(seed):
    better, worse, better_before, worse_before = (each.requires_grad_() for each in four(seed))
    dpo_loss(better, worse, better_before, worse_before).backward()
    assert better.grad is not None and worse.grad is not None
    assert (better.grad < 0).all() and (worse.grad > 0).all()


def test_dpo_is_finite_for_pairs_far_apart():
    far = torch.tensor([-4000.0])
    near = torch.tensor([-1.0])
    assert_close(dpo_loss(far, near, near, near, beta=1.0).item(), 3999.0)


# many answers


@given(st.integers(1, 7), st.data())
def test_pass_at_k_counts_the_subsets_with_a_right_answer(n, data):
    right, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    subsets = list(itertools.combinations([True] * right + [False] * (n - right), k))
    assert_close(pass_at_k(n, right, k), sum(map(any, subsets)) / len(subsets))


def test_pass_at_k_is_unbiased():
    p, n, k = 0.3, 6, 3
    expected = sum(math.comb(n, c) * p**c * (1 - p) ** (n - c) * pass_at_k(n, c, k) for c in range(n + 1))
    assert_close(expected, 1 - (1 - p) ** k)


@given(words)
def test_no_answer_is_more_frequent_than_the_majority_nor_came_earlier(answers):
    chosen, counts = majority(answers), Counter(answers)
    assert counts[chosen] == max(counts.values())
    assert all(counts[word] < counts[chosen] for word in answers[: answers.index(chosen)])


@pytest.mark.parametrize("n", [1, 2, 5, 64])
def test_the_best_of_n_is_as_far_as_the_density_of_a_maximum_says(n):
    """If no two answers score the same, the score's rank u has the density n uⁿ⁻¹ on [0, 1], against 1."""
    u = (torch.arange(200_000, dtype=torch.double) + 0.5) / 200_000
    density = n * u ** (n - 1)
    assert_close(best_of_n_kl(n), (density * density.clamp(min=1e-300).log()).mean().item(), atol=1e-4, rtol=1e-4)


# patches


@torch.no_grad()
def run(model: DecoderOnly, ids: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    with trace(model) as seen:
        logits = model(ids)
    return logits, dict(seen)


@pytest.mark.parametrize("today", [False, True])
def test_patched_with_its_own_run_a_model_says_the_same(today):
    model, ids = small_model(today=today), torch.tensor([[1, 5, 6, 7]])
    logits, seen = run(model, ids)
    every = list(itertools.product(range(3), range(4)))
    for position in range(-4, 4):
        with patched_heads(model, every, seen, position) as patched:
            assert_close(patched(ids), logits)


@pytest.mark.parametrize("position", [-1, 1])
@pytest.mark.parametrize("heads", [[(1, 2)], [(0, 3), (2, 0), (0, 1)]])
@torch.no_grad()
def test_patched_heads_equal_heads_set_by_hand(heads, position):
    """By hand: what W_O reads is overwritten, a slice for each head."""
    model, here, there = small_model(3), torch.tensor([[1, 5, 6, 7]]), torch.tensor([[1, 8, 9, 4, 10, 6]])
    _, seen = run(model, there)
    hooks = []
    for layer, head in heads:
        mine, theirs = slice(4 * head, 4 * head + 4), seen[f"layers.{layer}.self_attention.heads"]

        def set_by_hand(module, args, mine=mine, theirs=theirs):
            X = args[0].clone()
            X[0, position, mine] = theirs[0, position, mine]
            return (X,)

        hooks.append(model.layers[layer].self_attention.W_O.register_forward_pre_hook(set_by_hand))
    by_hand = model(here)
    for hook in hooks:
        hook.remove()
    with patched_heads(model, heads, seen, position):
        assert_close(model(here), by_hand)
    whole, _ = run(model, here)
    changed = (by_hand - whole).abs().amax(dim=-1)[0] > 1e-9
    assert changed.tolist() == [i >= position % 4 for i in range(4)]
    assert_close(model(here), whole)  # afterwards nothing is patched


@torch.no_grad()
def test_all_heads_of_the_only_layer_carry_the_whole_attention():
    """With one layer and the last token in common, the patched run ends as the other."""
    torch.manual_seed(0)
    model = decoder_of_today(TransformerConfig(12, 16, 4, 12, 1, 0.0, max_len=20), n_key_heads=4).eval()
    here, there = torch.tensor([[1, 5, 6, 7]]), torch.tensor([[1, 9, 3, 4, 8, 7]])
    other, seen = run(model, there)
    with patched_heads(model, [(0, head) for head in range(4)], seen):
        assert_close(model(here)[:, -1], other[:, -1])


@torch.no_grad()
def test_each_sentence_is_patched_from_its_own_or_all_from_one():
    model, here = small_model(), torch.tensor([[1, 5, 6], [1, 7, 8]])
    there = torch.tensor([[1, 9, 3], [1, 4, 10]])
    _, seen = run(model, there)
    with patched_heads(model, [(1, 0)], seen):
        own = model(here)
    for row in range(2):
        _, alone = run(model, there[row : row + 1])
        with patched_heads(model, [(1, 0)], alone):
            assert_close(model(here[row : row + 1])[0], own[row])
            assert_close(model(here)[row], own[row])


# what does not fit


def patching(**given) -> None:
    ids = given.pop("ids", torch.tensor([[1, 5, 6]]))
    with patched_heads(**given) as model:
        model(ids)


MODEL = small_model()
SEEN = run(MODEL, torch.tensor([[1, 7, 8, 9]]))[1]
IDS = Answers.of(EXAMPLES).predicted
PAIR = dict(
    preferred=torch.randn(3), other=torch.randn(3), preferred_before=torch.randn(3), other_before=torch.randn(3)
)
NO_PAIR = (*NO_FLOATS, torch.randn(3, 2), torch.randn(3).double(), torch.tensor([0.0, 0.0, -torch.inf]))
MISFITS = {
    "Answers.of": (
        Answers.of,
        dict(examples=EXAMPLES, vocabulary=Vocabulary),
        {
            "examples": (None, 3, "text", [1, 2], []),
            "examples → each id of rows": [[Example(["a"], [3])], [Example([2.5], [3])]],
            "vocabulary": (None, 3, "en", CONFIG),
        },
    ),
    "answer_log_probs": (
        answer_log_probs,
        dict(logits=torch.randn(3, 4, 12), predicted=IDS, pad_id=0),
        {
            "logits": (*NO_FLOATS, torch.randn(4, 12), torch.full((3, 4, 12), torch.nan)),
            "logits → predicted": [torch.randn(3, 5, 12), torch.randn(3, 4, 9)],
            "predicted": (*NO_TENSOR, IDS.float(), IDS[:, :2], IDS + 9, IDS - 9, IDS * 0),
            "pad_id": WHOLE,
        },
    ),
    "dpo_loss": (
        dpo_loss,
        PAIR,
        {
            "preferred": (*NO_FLOATS, torch.randn(3, 2), torch.tensor([0.0, 0.0, torch.nan])),
            "preferred → other": [torch.randn(2), torch.randn(3).double()],
            "other": NO_PAIR,
            "preferred_before": NO_PAIR,
            "other_before": NO_PAIR,
            "beta": (*NUMBER, 0, -1.0, math.inf),
        },
    ),
    "pass_at_k": (
        pass_at_k,
        dict(n=5, right=2, k=3),
        {"n": SIZE, "n → right|k": [1], "right": (*WHOLE, -1, 6), "k": (*SIZE, 6)},
    ),
    "majority": (majority, dict(answers=["a"]), {"answers": (None, 3, "a", []), "answers → each of answers": [[1]]}),
    "best_of_n_kl": (best_of_n_kl, dict(n=4), dict(n=SIZE)),
    "patched_heads": (
        patching,
        dict(model=MODEL, heads=[(1, 2)], seen=SEEN, position=-1),
        {
            "model": (None, "x", nn.Linear(2, 2), EncoderOnly(CONFIG)),
            "heads": (None, 3, "text", [1, 2], [(1,)], [(1, 2, 3)]),
            "heads → each layer of heads": [[(3, 0)], [(-1, 0)], [("1", 0)]],
            "heads → each head of heads": [[(0, 4)], [(0, -1)], [(0, 0.0)]],
            "seen": (None, 3, {}, {"layers.1.self_attention.heads": torch.randn(1, 4, 8)}, run(MODEL, IDS[1:] + 1)[1]),
            "position": (*WHOLE, 3, -4),
        },
    ),
}  # fmt: skip


def test_no_pair_has_no_loss():
    with pytest.raises(ValueError, match="preferred must hold at least one answer"):
        dpo_loss(*torch.empty(4, 0))


MUTATIONS = {
    "the question is learned too": ("[*[pad_id] * len(src), *tgt, eos]", "[*src, *tgt, eos]", "test_only_the_answer_and_its_end_are_predicted"),
    "no end is learned": ("*tgt, eos] for", "*tgt] for", "test_only_the_answer_and_its_end_are_predicted"),
    "answers begin without <bos>": ("[[bos, *src, *tgt]", "[[*src, *tgt, eos]", "test_only_the_answer_and_its_end_are_predicted"),
    "a mean over the tokens": ("return -nats.sum(dim=-1)", "return -nats.mean(dim=-1)", "test_log_p_of_an_answer_is_that_of_its_tokens_one_after_the_other"),
    "padding counts": ("predicted.long(), ignore_index=pad_id,", "predicted.long(),", "test_given_tokens_and_padding_have_no_slope"),
    "the wrong sign": ("return -nats.sum", "return nats.sum", "test_log_p_of_all_answers_of_a_length_add_up_to_one"),
    "no frozen model": ("(preferred - preferred_before) - (other - other_before)", "preferred - other", "test_dpo_of_a_model_that_has_not_moved_is_log_two"),
    "the other is preferred": ("(preferred - preferred_before) - (other - other_before)", "(other - other_before) - (preferred - preferred_before)", "test_a_step_down_the_loss_prefers_the_preferred"),
    "no β": ("F.logsigmoid(beta * ahead)", "F.logsigmoid(ahead)", "test_dpo_equals_its_formula"),
    "a sigmoid that runs over": ("-F.logsigmoid(beta * ahead)", "-(beta * ahead).sigmoid().log()", "test_dpo_is_finite_for_pairs_far_apart"),
    "answers are put back": ("1 - math.comb(n - right, k) / math.comb(n, k)", "1 - (1 - right / n) ** k", "test_pass_at_k_is_unbiased"),
    "all k are right": ("1 - math.comb(n - right, k)", "math.comb(right, k)", "test_pass_at_k_counts_the_subsets_with_a_right_answer"),
    "the rarest": ("most_common(1)[0][0]", "most_common()[-1][0]", "test_no_answer_is_more_frequent_than_the_majority_nor_came_earlier"),
    "the last of several": ("Counter(answers)", "Counter(answers[::-1])", "test_no_answer_is_more_frequent_than_the_majority_nor_came_earlier"),
    "log n alone": ("math.log(n) - (n - 1) / n", "math.log(n)", "test_the_best_of_n_is_as_far_as_the_density_of_a_maximum_says"),
    "the whole layer": ("here[:, position, some] = there[:, position, some]", "here[:, position] = there[:, position]", "test_patched_heads_equal_heads_set_by_hand"),
    "at every position": ("here[:, position, some] = there[:, position, some]", "here[:, :, some] = there[:, [position], some].unsqueeze(1)", "test_patched_heads_equal_heads_set_by_hand"),
    "heads are not kept apart by layer": ("setdefault(pair[0], [])", "setdefault(0, [])", "test_patched_heads_equal_heads_set_by_hand"),
    "nothing is patched": ("    return here.flatten(-2)", "    return here.flatten(-2) * 0 + seen[name][:, -1:]", "test_patched_with_its_own_run_a_model_says_the_same"),
}  # fmt: skip
