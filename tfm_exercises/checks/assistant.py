"""Judges of the exercises in chapter `assistant`."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tfm_exercises.judge import Slip, exercise
from tfm_exercises.random_inputs import chance, different, whole

# the targets of an answer


def _batch(given: Sequence[int], answers: Sequence[int]) -> tuple[Tensor, Tensor, int, int]:
    """A batch whose rows have as many `given` tokens and as many in the `answers`, with special ids of its own."""
    pad_id, bos, eos_id = different(3, 0, 8)
    words = [i for i in range(40) if i not in (pad_id, bos, eos_id)]
    longest = 1 + max(map(sum, zip(given, answers)))
    read = torch.full((len(given), longest), pad_id)
    for row, prompt, answer in zip(read, given, answers):
        row[0] = bos
        row[1 : 1 + prompt + answer] = torch.tensor([words[i] for i in different(prompt + answer, 0, 36)])
    return read, torch.tensor(given), eos_id, pad_id


def _targets(
    read: Tensor, given: Tensor, eos_id: int, pad_id: int, begin: int = 0, end: bool = True, shift: int = 1
) -> Tensor:
    """The targets; `begin` moves where they begin, without `end` there is no <eos>, `shift` says how far ahead they are."""
    position, length = torch.arange(read.shape[1]), (read != pad_id).sum(dim=1, keepdim=True)
    following = torch.cat([read, torch.full_like(read[:, :1], pad_id)], dim=1)[:, shift:][:, : read.shape[1]]
    last = length - shift
    targets = following.where(position != last, eos_id if end else pad_id)
    first = given[:, None] + 1 - shift + begin
    return targets.masked_fill((position < first) | (position > last), pad_id)


def _eos_on_padding(read: Tensor, given: Tensor, eos_id: int, pad_id: int) -> Tensor:
    targets = _targets(read, given, eos_id, pad_id)
    return targets.masked_fill(read == pad_id, eos_id)


def _eos_in_the_last_column(read: Tensor, given: Tensor, eos_id: int, pad_id: int) -> Tensor:
    targets = _targets(read, given, eos_id, pad_id, end=False)
    targets[:, -1] = eos_id
    return targets


def _one_column_short(read: Tensor, given: Tensor, eos_id: int, pad_id: int) -> Tensor:
    return _targets(read, given, eos_id, pad_id, end=False)[:, :-1]


def _one_column_short_with_eos(read: Tensor, given: Tensor, eos_id: int, pad_id: int) -> Tensor:
    return _targets(read, given, eos_id, pad_id)[:, :-1]


def _not_shifted(read: Tensor, given: Tensor, eos_id: int, pad_id: int) -> Tensor:
    return _targets(read, given, eos_id, pad_id, shift=0, end=False)


def _not_shifted_with_end(read: Tensor, given: Tensor, eos_id: int, pad_id: int) -> Tensor:
    return _targets(read, given, eos_id, pad_id, shift=0)


def _prompt(read: Tensor, given: Tensor, eos_id: int, pad_id: int) -> Tensor:
    """What is left out: the given tokens."""
    position = torch.arange(read.shape[1])
    return read.roll(-1, dims=1).masked_fill(position >= given[:, None], pad_id)


ONE_SHORT = (
    "Your targets are one column short: there is one for each position of `read`. What must the decoder predict after the "
    "last token of the longest row?"
)
SAME_PLACE = (
    "Each token is the target of the position where it is read, so it only has to be copied. Position $i$ must predict the "
    "token at $i + 1$: move the targets one to the left."
)
ANSWER_SLIPS = [
    Slip(
        "the prompt counts",
        lambda read, given, eos_id, pad_id: _targets(read, given * 0, eos_id, pad_id),
        "The targets are shifted correctly, but the tokens of the prompt are among them. They are given: put `pad_id` there.",
    ),
    Slip(
        "no <eos>",
        partial(_targets, end=False),
        "The answers are there, and no row has an <eos>. After the last token of an answer the decoder must predict `eos_id`, or "
        "it never learns to stop.",
    ),
    Slip("not shifted", _not_shifted, SAME_PLACE),
    Slip("not shifted", _not_shifted_with_end, SAME_PLACE),
    Slip(
        "first token lost",
        partial(_targets, begin=1),
        "The first token of each answer is no target. It is predicted at the last token of the prompt, and <bos> stands before "
        "the prompt: which position is that?",
    ),
    Slip(
        "one token of the prompt counts",
        partial(_targets, begin=-1),
        "The last token of each prompt is a target too. It is predicted one position before the prompt ends.",
    ),
    Slip(
        "<eos> on padding",
        _eos_on_padding,
        "Padding has <eos> as its target. One <eos>, after the last token of the answer, is learned; then comes `pad_id`.",
    ),
    Slip(
        "<eos> in the last column",
        _eos_in_the_last_column,
        "<eos> stands in the last column of every row. An answer ends where its row does, before the padding.",
    ),
    Slip("one column short", _one_column_short, ONE_SHORT),
    Slip("one column short", _one_column_short_with_eos, ONE_SHORT),
    Slip(
        "−100",
        lambda read, given, eos_id, pad_id: _minus_100(_targets(read, given, eos_id, pad_id), pad_id),
        "You put −100 where nothing is to be learned, which `cross_entropy` ignores by default. Here `pad_id` says so.",
    ),
    Slip(
        "the prompt instead",
        _prompt,
        "Only the tokens of the prompt are targets. It is the other way round: the prompt is given, the answer is learned.",
    ),
]


def _minus_100(targets: Tensor, pad_id: int) -> Tensor:
    return targets.masked_fill(targets == pad_id, -100)


@exercise("assistant.answers-only", answer="answers_only")
def answers_only(student, expect):
    inputs = [_batch(different(rows, 2, 7), different(rows, 1, 6)) for rows in (3, 4, 5)]
    expect.agrees(
        student.answers_only,
        _targets,
        inputs,
        "the answer and its <eos> are predicted, one position early, and nothing else",
        ANSWER_SLIPS,
        describe="the targets",
    )
    alike = [_batch([a, a], [b, b]) for a, b in ((2, 4), (5, 3), (3, 1))]
    expect.agrees(
        student.answers_only,
        _targets,
        alike,
        "rows may be of one length, without padding",
        ANSWER_SLIPS,
        describe="the targets",
    )
    bare = [_batch([0, a], [a + 1, 2]) for a in (3, 4)]
    holds = "a text without a prompt is learned from its first token"
    expect.agrees(
        student.answers_only, _targets, bare, holds, ANSWER_SLIPS, describe="the targets of a text without a prompt"
    )


# preferences


def _ahead(log_p: Tensor, before: Tensor, counts: Tensor) -> Tensor:
    gained = ((log_p - before) * counts).sum(dim=-1)
    return gained[:, 0] - gained[:, 1]


def _dpo(log_p: Tensor, before: Tensor, counts: Tensor, beta: float) -> Tensor:
    return -F.logsigmoid(beta * _ahead(log_p, before, counts)).mean()


def _per_token(log_p: Tensor, before: Tensor, counts: Tensor, beta: float) -> Tensor:
    gained = ((log_p - before) * counts).sum(dim=-1) / counts.sum(dim=-1)
    return -F.logsigmoid(beta * (gained[:, 0] - gained[:, 1])).mean()


DPO_SLIPS = [
    Slip(
        "no frozen model",
        lambda log_p, before, counts, beta: _dpo(log_p, before * 0, counts, beta),
        "The frozen model doesn't count. What is compared is how much each answer has *gained* since: subtract `before`.",
    ),
    Slip(
        "padding counts",
        lambda log_p, before, counts, beta: _dpo(log_p, before, torch.ones_like(counts), beta),
        "You sum over all positions, also those behind the end of an answer. Only where `counts` is True is there a token of it.",
    ),
    Slip(
        "only padding counts",
        lambda log_p, before, counts, beta: _dpo(log_p, before, ~counts, beta),
        "You sum where `counts` is False, which is the padding.",
    ),
    Slip(
        "mean per token",
        _per_token,
        "You take the mean over an answer's tokens. The probability of an answer is a product, so its logarithm is the *sum*.",
    ),
    Slip(
        "the other preferred",
        lambda log_p, before, counts, beta: _dpo(log_p.flip(1), before.flip(1), counts.flip(1), beta),
        "The two answers have changed places: your loss falls as the second one gains. The preferred one is at index 0.",
    ),
    Slip(
        "no β",
        lambda log_p, before, counts, beta: _dpo(log_p, before, counts, 1.0),
        "β is missing. It multiplies the difference inside the sigmoid.",
    ),
    Slip(
        "β outside",
        lambda log_p, before, counts, beta: beta * _dpo(log_p, before, counts, 1.0),
        "β multiplies the loss, and stands outside of the sigmoid. It belongs inside, where it multiplies the difference.",
    ),
    Slip(
        "divided by β",
        lambda log_p, before, counts, beta: _dpo(log_p, before, counts, 1 / beta),
        "You divide by β. Inside the sigmoid the difference is multiplied by it.",
    ),
    Slip(
        "no logarithm",
        lambda log_p, before, counts, beta: -torch.sigmoid(beta * _ahead(log_p, before, counts)).mean(),
        "The logarithm of the sigmoid is missing.",
    ),
    Slip(
        "no sigmoid",
        lambda log_p, before, counts, beta: -(beta * _ahead(log_p, before, counts)).mean(),
        "The sigmoid is missing: this loss would fall for ever as a pair comes further apart. It is the −log of a probability.",
    ),
    Slip(
        "the wrong sign",
        lambda *args: -_dpo(*args),
        "Your loss is negative. It is *minus* the logarithm of a probability.",
    ),
    Slip(
        "a sum over the pairs",
        lambda log_p, before, counts, beta: _dpo(log_p, before, counts, beta) * len(log_p),
        "This is the sum over the pairs. Return their mean.",
    ),
    Slip(
        "one loss a pair",
        lambda log_p, before, counts, beta: -F.logsigmoid(beta * _ahead(log_p, before, counts)),
        "One number for each pair came back. Return their mean.",
    ),
    Slip(
        "the loss of the mean",
        lambda log_p, before, counts, beta: -F.logsigmoid(beta * _ahead(log_p, before, counts).mean()),
        "You average the pairs first and then take the loss. Each pair has its own loss; the mean comes last.",
    ),
    Slip(
        "bits",
        lambda *args: _dpo(*args) / math.log(2),
        "Your logarithm has base 2. The loss has the natural one.",
    ),
]


@exercise("assistant.dpo", answer="dpo")
def dpo(student, expect):
    def draw(pairs: int, n: int) -> tuple[Tensor, Tensor, Tensor, float]:
        log_p = -3 * torch.rand(2, pairs, 2, n)
        lengths = torch.randint(1, n, (pairs, 2, 1))
        lengths[0, whole(0, 1)] = n
        return log_p[0], log_p[1], torch.arange(n) < lengths, whole(2, 8) / 10 + 0.05

    inputs = [draw(pairs, n) for pairs, n in zip(different(3, 3, 6), different(3, 7, 11))]
    expect.agrees(
        student.dpo,
        _dpo,
        inputs,
        "each pair's loss compares what its two answers gained, and the mean is over the pairs",
        DPO_SLIPS,
        describe="the loss",
    )
    log_p, _, counts, beta = inputs[0]
    expect.agrees(
        student.dpo,
        _dpo,
        [(log_p, log_p.clone(), counts, beta)],
        "a model that has not moved has the loss log 2",
        DPO_SLIPS,
        describe="the loss of a model that has not moved",
    )
    one = [draw(1, n) for n in (4, 5)]
    expect.agrees(student.dpo, _dpo, one, "there may be a single pair", DPO_SLIPS, describe="the loss of one pair")


# many answers

Many = tuple[float, str]


def _voted(answers: list[str]) -> str:
    return Counter(answers).most_common(1)[0][0]


def _many(answers: list[str], right: str, k: int) -> Many:
    n, c = len(answers), answers.count(right)
    return 1 - math.comb(n - c, k) / math.comb(n, k), _voted(answers)


def _estimated(estimate: Callable[[int, int, int], float]) -> Callable[[list[str], str, int], Many]:
    """The right vote, with another estimate of n, the number of right ones, and k."""
    return lambda answers, right, k: (float(estimate(len(answers), answers.count(right), k)), _voted(answers))


def _with_vote(vote: Callable[[list[str], str], Any]) -> Callable[[list[str], str, int], tuple[float, Any]]:
    """The right estimate, with another vote."""
    return lambda answers, right, k: (_many(answers, right, k)[0], vote(answers, right))


def _last_of_several(answers: list[str]) -> str:
    return _voted(answers[::-1])


MANY_SLIPS = [
    Slip(
        "answers put back",
        _estimated(lambda n, c, k: 1 - (1 - c / n) ** k),
        "1 − (1 − p)ᵏ with the share p of right answers draws the same answer more than once, and comes out too low on average. "
        "Draw k *different* ones of the n: count the ways to draw only wrong ones.",
    ),
    Slip(
        "the share of right answers",
        _estimated(lambda n, c, k: c / n),
        "This is the share of right answers, whatever k is. How likely is at least one right answer among k?",
    ),
    Slip(
        "all wrong",
        _estimated(lambda n, c, k: math.comb(n - c, k) / math.comb(n, k)),
        "This is the probability that all k are wrong. Subtract it from 1.",
    ),
    Slip(
        "all right",
        _estimated(lambda n, c, k: math.comb(c, k) / math.comb(n, k)),
        "This is the probability that all k are right. At least one is asked for: 1 minus the probability that all are wrong.",
    ),
    Slip(
        "exactly one right",
        _estimated(lambda n, c, k: c * math.comb(n - c, k - 1) / math.comb(n, k)),
        "This is the probability that exactly one of the k is right. Two or more will do as well.",
    ),
    Slip(
        "the first k",
        lambda answers, right, k: (float(right in answers[:k]), _voted(answers)),
        "You look at the first k answers only, so that the result is 0 or 1. Take the mean over all ways to choose k of the n.",
    ),
    Slip(
        "a vote of the first k",
        lambda answers, right, k: (_many(answers, right, k)[0], _voted(answers[:k])),
        "Only the first k answers vote. All n do.",
    ),
    Slip(
        "the right answer",
        _with_vote(lambda answers, right: right),
        "You return the right answer as what was voted for. The vote doesn't know it: return the most frequent answer.",
    ),
    Slip(
        "whether the vote is right",
        _with_vote(lambda answers, right: _voted(answers) == right),
        "The second part says whether the vote is right. Return the answer itself that was voted for.",
    ),
    Slip(
        "how many votes",
        _with_vote(lambda answers, right: Counter(answers).most_common(1)[0][1]),
        "The second part is the number of votes. Return the answer that has them.",
    ),
    Slip(
        "answer and votes",
        _with_vote(lambda answers, right: Counter(answers).most_common(1)[0]),
        "`most_common` gives pairs of an answer and its count. Return the answer alone.",
    ),
]
TIE_SLIPS = [
    Slip(
        "the last of several",
        _with_vote(lambda answers, right: _last_of_several(answers)),
        "Two answers have equally many votes, and you return the one that came later. The one that came first wins.",
    ),
    Slip(
        "first in the alphabet",
        _with_vote(lambda answers, right: max(sorted(set(answers)), key=answers.count)),
        "Two answers have equally many votes, and you return the one that is first in the alphabet. The one that came first in "
        "`answers` wins.",
    ),
    Slip(
        "last in the alphabet",
        _with_vote(lambda answers, right: max(answers, key=lambda word: (answers.count(word), word))),
        "Two answers have equally many votes, and you return the one that is last in the alphabet. The one that came first in "
        "`answers` wins.",
    ),
]


@exercise("assistant.many-answers", answer="many_answers")
def many_answers(student, expect):
    draw, places = chance(), ["barn", "forest", "garden", "kitchen", "park", "school", "shop", "tower"]

    def votes(*counts: int) -> list[str]:
        """Answers of which each has its count, mixed; the most frequent one comes neither first nor last."""
        named = draw.sample(places, len(counts))
        answers = [name for name, count in zip(named, counts) for _ in range(count)]
        top = max(counts)
        while counts.count(top) == 1 and named[counts.index(top)] in (answers[0], answers[-1]):
            draw.shuffle(answers)
        return answers

    def right_of(answers: list[str], count: int) -> str:
        return next(word for word in draw.sample(answers, len(answers)) if answers.count(word) == count)

    inputs = []
    for counts, count, k in (((4, 3, 2), 3, 3), ((2, 5, 3, 1), 2, 4), ((3, 4, 1), 4, 2)):
        answers = votes(*counts)
        inputs.append((answers, right_of(answers, count), k))
    what = "(pass@k, the vote)"
    expect.agrees(
        student.many_answers,
        _many,
        inputs,
        "the mean over all ways to draw k answers, and the most frequent answer",
        MANY_SLIPS,
        describe=what,
    )
    answers = votes(3, 2, 1)
    ends = [
        (answers, next(word for word in places if word not in answers), 2),
        (answers, right_of(answers, 3), 4),
        (answers, right_of(answers, 2), 6),
        (answers, right_of(answers, 1), 1),
        (["barn"] * 3, "barn", 2),
    ]
    holds = "no answer, few or all may be right, and k may be 1 or all"
    expect.agrees(student.many_answers, _many, ends, holds, MANY_SLIPS, describe=what)
    one, two, three, four = (f"the {word}" for word in draw.sample(places, 4))
    low, high = sorted((one, two))
    ties = [
        ([low, high, three, low, high], low, 2),
        ([high, three, low, high, low], low, 2),
        ([high, low, low, high, four], four, 3),
        ([low, four, high, low, four, high], high, 3),
        ([high, four, low, low, high, four], low, 2),
    ]
    holds = "of several most frequent answers the one that came first wins"
    expect.agrees(student.many_answers, _many, ties, holds, TIE_SLIPS, describe=what)


# what one head said elsewhere

Change = Callable[[int, Tensor], Tensor | None]
Run = Callable[..., Tensor]


def _runner(n_layers: int, n_heads: int) -> Run:
    """The run of a random causal decoder: the probabilities of the next word, with heads that may be changed on the way."""
    d = 4 * n_heads
    words, places = torch.randn(11, d), torch.randn(16, d)
    weights = [torch.randn(5, d, d) / d**0.5 for _ in range(n_layers)]

    def run(ids: Any, change: Change | None = None) -> Tensor:
        ids = torch.as_tensor(ids).flatten()
        X, future = words[ids] + places[: len(ids)], torch.ones(len(ids), len(ids), dtype=torch.bool).triu(1)
        for layer, W in enumerate(weights):
            Q, K, V = (F.layer_norm(X, (d,)) @ W[:3]).unflatten(-1, (n_heads, 4)).transpose(1, 2)
            heads = ((Q @ K.mT / 2).masked_fill(future, -torch.inf).softmax(dim=-1) @ V).transpose(0, 1)
            came = change(layer, heads.clone()) if change else None
            if came is not None:
                if not isinstance(came, Tensor) or came.shape != heads.shape:
                    told = f"shape {tuple(came.shape)}" if isinstance(came, Tensor) else f"a {type(came).__name__}"
                    raise ValueError(
                        f"change must return heads, a tensor of shape {tuple(heads.shape)}, or None; got {told}."
                    )
                heads = came
            X = X + heads.flatten(-2) @ W[3]
            X = X + F.gelu(F.layer_norm(X, (d,)) @ W[4])
        return (X[-1] @ words.T / d**0.5).softmax(dim=-1)

    return run


def _patched(
    run: Run,
    prompt: list[int],
    other: list[int],
    layer: int,
    head: int,
    put: Callable[[Tensor, Tensor, int], None] | None = None,
    every: bool = False,
) -> Tensor:
    """The probabilities after the patch; `put` writes it, of the chosen layer or of `every` one."""
    seen: dict[int, Tensor] = {}
    run(other, lambda i, heads: seen.update({i: heads}))

    def change(i: int, heads: Tensor) -> Tensor:
        if i == layer or every:
            (put or _put)(heads, seen[i], head)
        return heads

    return run(prompt, change)


def _put(here: Tensor, there: Tensor, head: int) -> None:
    here[-1, head] = there[-1, head]


def _every_head(here: Tensor, there: Tensor, head: int) -> None:
    here[-1] = there[-1]


def _other_heads(here: Tensor, there: Tensor, head: int) -> None:
    said = here[-1, head].clone()
    here[-1] = there[-1]
    here[-1, head] = said


def _everywhere(here: Tensor, there: Tensor, head: int) -> None:
    here[:, head] = there[-1, head]


def _all_positions(here: Tensor, there: Tensor, head: int) -> None:
    n = min(len(here), len(there))
    here[-n:, head] = there[-n:, head]


def _by_number(here: Tensor, there: Tensor, head: int) -> None:
    here[-1, head] = there[len(here) - 1, head]


def _silent(here: Tensor, there: Tensor, head: int) -> None:
    here[-1, head] = 0


def _added(here: Tensor, there: Tensor, head: int) -> None:
    here[-1, head] += there[-1, head]


def _patching(put: Callable[[Tensor, Tensor, int], None]) -> Callable[..., Tensor]:
    return partial(_patched, put=put)


PATCH_SLIPS = [
    Slip(
        "nothing patched",
        lambda run, prompt, other, layer, head: run(prompt),
        "This is what the model says after `prompt` without a patch. `heads` is a copy: does your function return the changed "
        "one, does the second run get your function, and is it the last position that changes?",
    ),
    Slip(
        "the other run",
        lambda run, prompt, other, layer, head: run(other),
        "This is what the model says after `other`. That run only lends one head; the probabilities are those after `prompt`.",
    ),
    Slip(
        "prompts swapped",
        lambda run, prompt, other, layer, head: _patched(run, other, prompt, layer, head),
        "The two runs have changed places: you read `other`, with a head from the run of `prompt`.",
    ),
    Slip(
        "every head",
        _patching(_every_head),
        "You replace what all heads of the layer say. Only the one with the number `head` changes.",
    ),
    Slip(
        "the other heads",
        _patching(_other_heads),
        "You replace what all heads of the layer say except `head`. It is this one alone that changes.",
    ),
    Slip(
        "every layer",
        partial(_patched, every=True),
        "You patch this head in every layer. Your function is called once a layer: look at the number that it gets.",
    ),
    Slip(
        "at every position",
        _patching(_everywhere),
        "The head says the same at all positions now. Only what it says at the last one is replaced.",
    ),
    Slip(
        "all positions",
        _patching(_all_positions),
        "You replace what the head says at all positions. Only the last one is patched.",
    ),
    Slip(
        "position counted from the start",
        _patching(_by_number),
        "You take what the head said at the position of the same number. The prompts differ in length: the last position of "
        "`other` is −1 there.",
    ),
    Slip(
        "the head silenced",
        _patching(_silent),
        "The head says 0 now. It has to say what it said at the last position of `other`.",
    ),
    Slip(
        "added",
        _patching(_added),
        "You add what the head said in the other run to what it says here. Put it in its place.",
    ),
]


@exercise("assistant.patch", answer="patched")
def patch(student, expect):
    def draw(n: int, m: int) -> tuple[Run, list[int], list[int], int, int]:
        n_layers, n_heads = different(2, 2, 4)
        prompt, other = ([1, *(whole(3, 10) for _ in range(length - 1))] for length in (n, m))
        return _runner(n_layers, n_heads), prompt, other, whole(0, n_layers - 2), whole(0, n_heads - 1)

    a, b, c = different(3, 4, 7)
    inputs = [draw(a, a + 2), draw(b, b + 3), draw(c, c + 1)]
    expect.agrees(
        student.patched,
        _patched,
        inputs,
        "one head of one layer says at the last position what it said in the other run",
        PATCH_SLIPS,
        describe="the probabilities of the next word",
    )
    holds = "the other prompt may be the shorter one, or as long"
    shorter = [draw(a + 2, a), draw(b, b)]
    expect.agrees(student.patched, _patched, shorter, holds, PATCH_SLIPS, describe="the probabilities of the next word")
    run, prompt, _, layer, head = inputs[0]
    same = [(run, prompt, list(prompt), layer, head)]
    holds = "from its own run a model is not changed"
    expect.agrees(student.patched, _patched, same, holds, PATCH_SLIPS, describe="a run patched with itself")
