"""Judges of the exercises in the chapter on attention."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from tfm_lib.attention import attention
from tfm_exercises.random_inputs import different, whole
from tfm_exercises.judge import Expect, Slip, exercise

NO_SCALE = "These are the weights of the bare dot product. Divide the scores by √d_k before the softmax."
D_K = "You divide by d_k. The formula divides by its square root, √d_k."


@exercise("attention.one-query", answer="look_up")
def one_query(student: Any, expect: Expect) -> None:
    q = torch.tensor([2.0, 2.0, 0.0, 0.0])
    K = torch.tensor([[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    V = torch.tensor([[2.0, 100.0], [3.0, 200.0], [9.0, 20.0]])
    sizes = [(3, 3, 3), (9, 5, 2), (5, 7, 6), (6, 1, 3), (2, 4, 8)]  # d_k, m, d_v: square first, so that more runs
    square, *inputs = [(torch.randn(d_k), torch.randn(m, d_k), torch.randn(m, d_v)) for d_k, m, d_v in sizes]
    first = student.look_up(*square)
    expect.true(
        not (isinstance(first, (tuple, list)) and isinstance(first[0], Tensor) and first[0].dim()),
        "one output comes back",
        "Two things came back. Return the output alone, a tensor of shape (d_v,).",
        "a pair returned",
    )
    expect.true(
        not isinstance(first, list),
        "a tensor comes back",
        "A list came back. Return a tensor of shape (d_v,): `torch.stack` makes one of numbers that are tensors, "
        "`torch.tensor` of plain numbers.",
        "a list returned",
    )
    expect.agrees(
        student.look_up,
        _look_up,
        [square, (q, K, V), *inputs],
        holds="the three fruits of the chapter, and any d_k, any number of keys, any d_v",
        slips=_slips_of_one_query(),
        describe="the output",
    )


def _look_up(q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    return (K @ q / math.sqrt(len(q))).softmax(0) @ V


def _slips_of_one_query() -> list[Slip]:
    def scaled(by: Callable[[Tensor, Tensor, Tensor], float]) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
        return lambda q, K, V: (K @ q / by(q, K, V)).softmax(0) @ V

    def scores(q: Tensor, K: Tensor) -> Tensor:
        return K @ q / math.sqrt(len(q))

    return [
        Slip("no scale", scaled(lambda q, K, V: 1), NO_SCALE),
        Slip("d_k instead of √d_k", scaled(lambda q, K, V: len(q)), D_K),
        Slip(
            "√ of the number of keys",
            scaled(lambda q, K, V: len(K) ** 0.5),
            "You divide by the root of the number of keys. d_k is the length of one key: len(q), or K.shape[1].",
        ),
        Slip(
            "√ of the value's length",
            scaled(lambda q, K, V: V.shape[1] ** 0.5),
            "You divide by the root of d_v, the length of a value. d_k is the length of a key.",
        ),
        Slip(
            "multiplied by √d_k",
            scaled(lambda q, K, V: len(q) ** -0.5),
            "You multiply the scores by √d_k, which makes them larger still. Divide.",
        ),
        Slip(
            "scale of the example",
            scaled(lambda q, K, V: 2),
            "You divide by 2, which is √d_k for keys of length 4 only. Take the length from q.",
        ),
        Slip(
            "scale after the softmax",
            lambda q, K, V: (K @ q).softmax(0) / math.sqrt(len(q)) @ V,
            "You divide after the softmax, so the weights sum to 1/√d_k. Divide the scores.",
        ),
        Slip(
            "no softmax",
            lambda q, K, V: scores(q, K) @ V,
            "You mix with the scores themselves. Raise e to each and divide by the sum, so that the weights sum to 1.",
        ),
        Slip(
            "no softmax",
            lambda q, K, V: K @ q @ V,
            "You mix with the dot products themselves. Scale them, raise e to each and divide by the sum.",
        ),
        Slip(
            "no exponential",
            lambda q, K, V: scores(q, K) / scores(q, K).sum() @ V,
            "You divide the scores by their sum. A score can be negative or 0; raise e to it first, then divide.",
        ),
        Slip(
            "not divided by the sum",
            lambda q, K, V: scores(q, K).exp() @ V,
            "Your weights do not sum to 1. Divide each e to the score by the sum of all.",
        ),
        Slip(
            "softmax twice",
            lambda q, K, V: scores(q, K).softmax(0).softmax(0) @ V,
            "The softmax is taken twice, which flattens the weights. Once is right.",
        ),
        Slip(
            "farthest key first",
            lambda q, K, V: (-scores(q, K)).softmax(0) @ V,
            "The key that fits worst gets the largest weight. Is there a minus too many?",
        ),
        Slip(
            "each score by itself",
            lambda q, K, V: scores(q, K).sigmoid() @ V,
            "A sigmoid squashes each score by itself, so the weights do not sum to 1. Keys share: softmax.",
        ),
        Slip(
            "divided by the number of keys",
            lambda q, K, V: _look_up(q, K, V) / len(K),
            "You divide by the number of keys. The weights sum to 1 already.",
        ),
        Slip(
            "cosine",
            lambda q, K, V: torch.nn.functional.cosine_similarity(K, q[None]).softmax(0) @ V,
            "You compare directions, by the cosine. The score is the dot product over √d_k.",
        ),
        Slip(
            "the best value only",
            lambda q, K, V: V[scores(q, K).argmax()],
            "This is the value of the best key alone, the hard look-up. Every value takes part, by its weight.",
        ),
        Slip(
            "plain mean",
            lambda q, K, V: V.mean(0),
            "This is the plain mean of the values, whatever the query asks. Weigh each value.",
        ),
        Slip(
            "keys mixed",
            lambda q, K, V: scores(q, K).softmax(0) @ K,
            "You mixed the keys. Keys are compared with; what is handed over are the values, V.",
        ),
        Slip(
            "weights instead of output",
            lambda q, K, V: scores(q, K).softmax(0),
            "These are the weights, and they are right. One step is missing: the mean of the values with these weights.",
        ),
        Slip(
            "values not summed",
            lambda q, K, V: scores(q, K).softmax(0)[:, None] * V,
            "Each value is weighed, but they are not added up yet: sum over the keys.",
        ),
        Slip(
            "one mean for all columns",
            lambda q, K, V: (scores(q, K).softmax(0) @ V).sum(),
            "One number came: you summed over the columns of V too. Each column has a mean of its own.",
        ),
        Slip(
            "an axis too many",
            lambda q, K, V: _look_up(q, K, V)[None],
            "The numbers are right, in a tensor of shape (1, d_v). Return shape (d_v,).",
        ),
        Slip(
            "q times K as it stands",
            lambda q, K, V: (q @ K / math.sqrt(len(q))).softmax(0) @ V,
            "q @ K compares q with the columns of K; it fits only where m = d_k. A key is a row: K @ q.",
        ),
        Slip(
            "values the wrong way",
            lambda q, K, V: V @ scores(q, K).softmax(0),
            "V @ weights mixes the columns of V; it fits only where m = d_v. A value is a row: weights @ V.",
        ),
    ]


@exercise(
    "attention.all-queries",
    answer="batched_attention",
    forbids=("loop", "torch.nn.functional.scaled_dot_product_attention"),
)
def all_queries(student: Any, expect: Expect) -> None:
    sizes = [  # leading axes, n, m, d_k, d_v: first those in which a wrong axis fits too
        ((), 4, 4, 4, 4),
        ((3,), 2, 3, 3, 5),
        ((), 5, 4, 6, 3),
        ((2,), 5, 7, 3, 4),
        ((2, 3), 4, 6, 8, 5),
        ((), 1, 3, 2, 4),
    ]
    inputs = [
        (torch.randn(*lead, n, d_k), torch.randn(*lead, m, d_k), torch.randn(*lead, m, d_v))
        for lead, n, m, d_k, d_v in sizes
    ]
    expect.agrees(
        student.batched_attention,
        attention,
        inputs,
        holds="output and weights, for one sentence, a batch, and two leading axes, with d_v unlike d_k",
        slips=_slips_of_all_queries(),
        describe="(output, weights),",
    )


def _attend(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    scale: Callable[[Tensor, Tensor, Tensor], float] = lambda Q, K, V: Q.shape[-1] ** 0.5,
    turned: Callable[[Tensor], Tensor] = lambda K: K.transpose(-2, -1),
    share: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    give: Callable[..., Any] = lambda scores, weights, V: (weights @ V, weights),
) -> Any:
    """Attention with one of its steps exchanged."""
    scores = Q @ turned(K) / scale(Q, K, V)
    return give(scores, share(scores), V)


def _slips_of_all_queries() -> list[Slip]:
    def slip(name: str, message: str, **changes: Any) -> Slip:
        return Slip(name, partial(_attend, **changes), message)

    return [
        slip(
            "swapped",
            "You return (weights, output). Turn them round.",
            give=lambda scores, weights, V: (weights, weights @ V),
        ),
        slip(
            "weights missing",
            "Return two things, (output, weights); the output alone came.",
            give=lambda scores, weights, V: weights @ V,
        ),
        slip(
            "output missing",
            "Return two things, (output, weights); the weights alone came.",
            give=lambda scores, weights, V: weights,
        ),
        slip("no scale", NO_SCALE, scale=lambda Q, K, V: 1),
        slip("d_k instead of √d_k", D_K, scale=lambda Q, K, V: Q.shape[-1]),
        slip(
            "√ of the value's length",
            "You divide by √d_v. A score is a sum of d_k products, so the length of a query or key counts: "
            "Q.shape[-1].",
            scale=lambda Q, K, V: V.shape[-1] ** 0.5,
        ),
        slip(
            "√ of the number of keys",
            "You divide by the root of the number of keys. d_k is the length of one key, K.shape[-1].",
            scale=lambda Q, K, V: K.shape[-2] ** 0.5,
        ),
        slip(
            "√ of the number of queries",
            "You divide by the root of the number of queries. d_k is the length of one, Q.shape[-1].",
            scale=lambda Q, K, V: Q.shape[-2] ** 0.5,
        ),
        slip(
            "√ of the first axis",
            "You divide by the root of len(Q), the first axis: that is the batch, if there is one. Take Q.shape[-1].",
            scale=lambda Q, K, V: len(Q) ** 0.5,
        ),
        slip(
            "multiplied by √d_k",
            "You multiply the scores by √d_k, which makes them larger still. Divide.",
            scale=lambda Q, K, V: Q.shape[-1] ** -0.5,
        ),
        *[
            slip(
                "scale of an example",
                f"You divide by √{d_k} whatever the keys are. Take their length from Q.",
                scale=lambda Q, K, V, d_k=d_k: d_k**0.5,
            )
            for d_k in (4, 8, 64)
        ],
        Slip(
            "scale after the softmax",
            _scaled_late,
            "You divide after the softmax, so the rows do not sum to 1. Divide the scores.",
        ),
        slip(
            "K not transposed",
            "You multiply Q with K as it stands; it fits here because m = d_k. Swap the last two axes: "
            "K.transpose(-2, -1).",
            turned=lambda K: K,
        ),
        slip(
            "K.T on a batch",
            "K.T turns all axes round, the batch too. Swap the last two only: K.transpose(-2, -1).",
            turned=lambda K: K.permute(*reversed(range(K.dim()))),
        ),
        slip(
            "first two axes swapped",
            "K.transpose(0, 1) swaps the first two axes, which are the last two only without a batch. Count from the "
            "end: K.transpose(-2, -1).",
            turned=lambda K: K.transpose(0, 1),
        ),
        slip(
            "softmax over the queries",
            "Your columns sum to 1: the softmax runs over the queries. Each query shares its 1 among the keys, dim=-1.",
            share=lambda scores: scores.softmax(-2),
        ),
        slip(
            "softmax over the first axis",
            "The softmax runs over the first axis. Each query shares its 1 among the keys, the last axis: dim=-1.",
            share=lambda scores: scores.softmax(0),
        ),
        slip(
            "axis counted from the front",
            "dim=1 is the axis of the keys without a batch only; with one it is another. Count from the end: dim=-1.",
            share=lambda scores: scores.softmax(1),
        ),
        slip(
            "softmax over everything",
            "All weights together sum to 1. Each row has a softmax of its own: dim=-1.",
            share=lambda scores: scores.flatten().softmax(0).view_as(scores),
        ),
        slip(
            "softmax twice",
            "The softmax is taken twice, which flattens the weights. Once is right.",
            share=lambda scores: scores.softmax(-1).softmax(-1),
        ),
        slip(
            "no exponential",
            "You divide the scores by their sum. A score can be negative: use the softmax.",
            share=lambda scores: scores / scores.sum(-1, keepdim=True),
        ),
        slip(
            "not divided by the sum",
            "Your rows do not sum to 1. Divide each e to the score by the sum of its row.",
            share=torch.exp,
        ),
        slip(
            "weights before the softmax",
            "You return the scores as weights. Return what the softmax makes of them: rows that sum to 1.",
            give=lambda scores, weights, V: (weights @ V, scores),
        ),
        slip(
            "no softmax",
            "There is no softmax: you mix with the scores, and return them.",
            share=lambda scores: scores,
        ),
        slip(
            "output mixed with the scores",
            "The weights are right, and the output mixes with the scores. Mix with the weights.",
            give=lambda scores, weights, V: (scores @ V, weights),
        ),
        slip(
            "output mixed with turned weights",
            "The weights are right, and the output mixes with their transpose; it fits only where n = m. weights @ V.",
            give=lambda scores, weights, V: (weights.transpose(-2, -1) @ V, weights),
        ),
        slip(
            "looks back only",
            "Your queries do not look ahead. Nothing is hidden here: each query looks at all keys.",
            share=lambda scores: scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(-1),
        ),
        slip(
            "each score by itself",
            "A sigmoid squashes each score by itself, so the rows do not sum to 1. Keys share: softmax.",
            share=torch.sigmoid,
        ),
        Slip(
            "scale on the output",
            lambda Q, K, V: (_scaled_late(Q, K, V)[0], (Q @ K.transpose(-2, -1)).softmax(-1)),
            "You divide the output by √d_k. Divide the scores, before the softmax.",
        ),
        slip(
            "weights transposed",
            "The weights are transposed. Queries are rows: entry [i, j] is what query i gives to key j.",
            give=lambda scores, weights, V: (weights @ V, weights.transpose(-2, -1)),
        ),
        Slip(
            "queries and keys swapped",
            lambda Q, K, V: _attend(K, Q, V),
            "Your rows belong to the keys: K Qᵀ. The queries ask, so they are the rows: Q Kᵀ.",
        ),
        Slip(
            "keys mixed",
            lambda Q, K, V: attention(Q, K, K),
            "You mixed the keys. Keys are compared with; what is handed over are the values, V.",
        ),
    ]


def _scaled_late(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    weights = (Q @ K.transpose(-2, -1)).softmax(-1) / math.sqrt(Q.shape[-1])
    return weights @ V, weights


@exercise("attention.hard-limit", answer="weights_at")
def hard_limit(student: Any, expect: Expect) -> None:
    warm = [(torch.randn(4, 4), 1.7), (2 * torch.randn(2, 5), 0.4), (torch.randn(5, 3), 3.0), (torch.randn(1, 6), 0.7)]
    expect.agrees(
        student.weights_at,
        _weights_at,
        warm,
        holds="temperatures from 0.4 to 3",
        slips=_slips_of_temperature(),
        describe="the weights",
    )
    levels = torch.tensor([[300.0], [-300.0]])
    extreme = [(levels + 8 * torch.randn(2, 4), 2.5), (9 * torch.randn(3, 5), 0.01), (levels + torch.randn(2, 3), 0.6)]
    expect.agrees(
        student.weights_at,
        _weights_at,
        extreme,
        holds="scores near ± 300, and a temperature of 0.01",
        slips=[
            Slip(
                "overflow",
                lambda scores, temperature: _over_sum((scores / temperature).exp()),
                "e to a large score is infinite, and ∞/∞ is NaN; far below 0 it is 0, and 0/0 is NaN. Subtract the "
                "row's maximum first, or call softmax.",
            ),
            Slip(
                "one maximum for all rows",
                lambda scores, temperature: _over_sum(((scores - scores.max()) / temperature).exp()),
                "You subtract the maximum of all rows from each. In a row far below it every e to the score is 0, and "
                "0/0 is NaN. Each row needs its own: amax(dim=-1, keepdim=True).",
            ),
        ],
        describe="large scores",
    )
    cold = [(torch.randn(3, 3), 0), (torch.randn(2, 5), 0.0), (100 * torch.randn(5, 4), 0), (-5 - torch.rand(4, 6), 0)]
    expect.agrees(
        student.weights_at,
        _weights_at,
        cold,
        holds="temperature 0 is a hard look-up",
        slips=[*_slips_of_no_temperature(), *_slips_of_near_ties()],
        describe="temperature 0",
    )
    close = [(_nearly_tied(0.5, 4e-3), 0), (_nearly_tied(2.0, 1e-5), 0.0), (_nearly_tied(1000.0, 5e-3), 0)]
    expect.agrees(
        student.weights_at,
        _weights_at,
        close,
        holds="at temperature 0 the better of two nearly equal keys has all the weight",
        slips=_slips_of_near_ties(),
        describe="the better of two close scores",
    )
    cool = [(scale * torch.randn(3, 5), scale) for scale in (4e-3, 2e-4, 1e-5)]
    expect.agrees(
        student.weights_at,
        _weights_at,
        cool,
        holds="low temperatures are not 0",
        slips=[
            Slip(
                "hard before 0",
                lambda scores, temperature, bound=bound: _weights_at(scores, 0 if temperature < bound else temperature),
                "You give the limit before the temperature is 0. Scores that are close to each other still share at a low "
                "temperature: ask for temperature == 0.",
            )
            for bound in (1e-2, 1e-3, 1e-4)
        ],
        describe="low temperatures, with scores just as small",
    )
    ties = [(_tied(n, m, places), 0) for n, m, places in ((1, 4, (0, 2)), (3, 6, (1, 4, 5)), (2, 5, (0, 1, 2, 3, 4)))]
    one = "Two keys tie and you give one of them everything. Equal scores have equal weights at every temperature, so in the limit too."
    expect.agrees(
        student.weights_at,
        _weights_at,
        ties,
        holds="equal keys share at temperature 0",
        slips=[
            Slip("one winner of a tie", lambda scores, temperature: _one_hot(scores.argmax(-1), scores), one),
            Slip(
                "one winner of a tie",
                lambda scores, temperature: _one_hot(scores.shape[-1] - 1 - scores.flip(-1).argmax(-1), scores),
                one,
            ),
            Slip(
                "shares not divided",
                lambda scores, temperature: _best(scores).float(),
                "All winners get weight 1, and the row sums to more than 1. Divide by the number of winners.",
            ),
            Slip(
                "winners of all rows counted",
                lambda scores, temperature: _best(scores).float() / _best(scores).sum(),
                "You divide by the winners of all rows together. Each row counts its own: sum(dim=-1, keepdim=True).",
            ),
        ],
        describe="a tie at temperature 0",
    )


def _tied(n: int, m: int, places: tuple[int, ...]) -> Tensor:
    """Random scores whose largest, in every row, stands at all of `places`."""
    scores = torch.randn(n, m).round(decimals=2)
    scores[:, list(places)] = scores.amax(-1, keepdim=True) + 1.5
    return scores


def _nearly_tied(level: float, gap: float) -> Tensor:
    """Scores around `level` whose two largest, in every row, lie `gap` apart."""
    scores = level - 1 - torch.rand(3, 5)
    best = torch.randperm(5)[:2]
    scores[:, best] = torch.tensor([level, level + gap])
    return scores


def _slips_of_near_ties() -> list[Slip]:
    return [
        Slip(
            "nearly equal is a tie",
            lambda scores, temperature, rtol=rtol, atol=atol: _over_sum(_nearly_best(scores, rtol, atol).float()),
            "Two keys share although one is better, if only by a little. At temperature 0 every difference is infinite; "
            "only equal scores tie: compare with ==.",
        )
        for rtol, atol in ((1e-5, 1e-8), (0, 1e-2), (0, 5e-3), (0, 1e-3), (0, 1e-4), (1e-3, 1e-3), (0, 0.1))
    ]


def _nearly_best(scores: Tensor, rtol: float, atol: float) -> Tensor:
    return torch.isclose(scores, scores.amax(-1, keepdim=True), rtol=rtol, atol=atol)


def _weights_at(scores: Tensor, temperature: float) -> Tensor:
    return _over_sum(_best(scores).float()) if temperature == 0 else (scores / temperature).softmax(-1)


def _best(scores: Tensor) -> Tensor:
    return scores == scores.amax(-1, keepdim=True)


def _over_sum(numbers: Tensor) -> Tensor:
    return numbers / numbers.sum(-1, keepdim=True)


def _one_hot(winners: Tensor, scores: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(winners, scores.shape[-1]).float()


def _slips_of_temperature() -> list[Slip]:
    return [
        Slip(
            "multiplied",
            lambda scores, temperature: (temperature * scores).softmax(-1),
            "You multiply by the temperature. Divide: hot means flat, cold means sharp.",
        ),
        Slip(
            "divided after the softmax",
            lambda scores, temperature: scores.softmax(-1) / temperature,
            "You divide the weights, so they no longer sum to 1. Divide the scores, before the softmax.",
        ),
        Slip(
            "softmax twice",
            lambda scores, temperature: (scores.softmax(-1) / temperature).softmax(-1),
            "You take a softmax of weights. Divide the scores by the temperature, then take one softmax.",
        ),
        Slip(
            "softmax twice",
            lambda scores, temperature: (scores / temperature).softmax(-1).softmax(-1),
            "The softmax is taken twice, which flattens the weights. Once is right.",
        ),
        Slip(
            "temperature is ignored",
            lambda scores, temperature: scores.softmax(-1),
            "The temperature changes nothing. Divide the scores by it.",
        ),
        Slip(
            "always hard",
            lambda scores, temperature: _over_sum(_best(scores).float()),
            "Every temperature gives the hard look-up. Above 0 the weights are soft.",
        ),
        Slip(
            "softmax over the queries",
            lambda scores, temperature: (scores / temperature).softmax(-2),
            "Your columns sum to 1. Each query, a row, shares its 1 among the keys: dim=-1.",
        ),
        Slip(
            "softmax over everything",
            lambda scores, temperature: (scores / temperature).flatten().softmax(0).view_as(scores),
            "All weights together sum to 1. Each row has a softmax and a sum of its own: dim=-1.",
        ),
        Slip(
            "not divided by the sum",
            lambda scores, temperature: (scores / temperature).exp(),
            "Your rows do not sum to 1. Divide each e to the score by the sum of its row.",
        ),
        Slip(
            "not divided by the sum",
            lambda scores, temperature: ((scores - scores.amax(-1, keepdim=True)) / temperature).exp(),
            "The best key of each row has weight 1, and the rest more on top. Divide by the sum of the row.",
        ),
        Slip(
            "scores returned",
            lambda scores, temperature: scores / temperature,
            "These are the divided scores. The softmax is still to come.",
        ),
        Slip(
            "logarithms",
            lambda scores, temperature: (scores / temperature).log_softmax(-1),
            "These are the logarithms of the weights.",
        ),
        Slip(
            "root of the temperature",
            lambda scores, temperature: (scores / math.sqrt(temperature)).softmax(-1),
            "You divide by the root of the temperature. Divide by the temperature itself.",
        ),
        *[
            Slip(
                "temperature shifted",
                lambda scores, temperature, more=more: (scores / (temperature + more)).softmax(-1),
                "Something is added to the temperature, so every temperature gives other weights. Temperature 0 needs a "
                "branch of its own.",
            )
            for more in (0.1, 0.01, 1e-3, 1e-4, 1)
        ],
        Slip(
            "scaled by √d_k too",
            lambda scores, temperature: (scores / temperature / math.sqrt(scores.shape[-1])).softmax(-1),
            "You divide by the root of the number of keys as well. The temperature is all that divides here.",
        ),
        Slip(
            "temperature subtracted",
            lambda scores, temperature: (-scores / temperature).softmax(-1),
            "The worst key gets the largest weight. Is there a minus too many?",
        ),
    ]


def _slips_of_no_temperature() -> list[Slip]:
    zero = "At temperature 0 you divide by 0 and get NaN. The limit needs a branch of its own."
    return [
        Slip("division by 0", lambda scores, temperature: scores / 0, zero),
        Slip("division by 0", lambda scores, temperature: (scores / 0).softmax(-1), zero),
        Slip("division by 0", lambda scores, temperature: torch.full_like(scores, torch.nan), zero),
        Slip(
            "softmax at 0",
            lambda scores, temperature: scores.softmax(-1),
            "At temperature 0 you give the weights of temperature 1. In the limit all weight lies on the best key.",
        ),
        Slip(
            "flat at 0",
            lambda scores, temperature: torch.full_like(scores, 1 / scores.shape[-1]),
            "At temperature 0 you give all keys the same. That is the other end: hot means flat, cold means sharp.",
        ),
        Slip(
            "nothing at 0",
            lambda scores, temperature: 0 * scores,
            "At temperature 0 all weights are 0. They sum to 1 there too.",
        ),
        Slip(
            "best of the column",
            lambda scores, temperature: (scores == scores.amax(-2, keepdim=True)).float(),
            "You look for the best entry of each column. A row is one query: the best of each row, dim=-1.",
        ),
        Slip(
            "best of the column",
            lambda scores, temperature: _over_sum((scores == scores.amax(-2, keepdim=True)).float()),
            "You look for the best entry of each column. A row is one query: the best of each row, dim=-1.",
        ),
        Slip(
            "one winner for all rows",
            lambda scores, temperature: (scores == scores.max()).float(),
            "One entry of the whole tensor wins, and the other rows stay empty. Each row has its own best key.",
        ),
        Slip(
            "one winner for all rows",
            lambda scores, temperature: _over_sum((scores == scores.max()).float()),
            "One entry of the whole tensor wins, and the other rows stay empty. Each row has its own best key.",
        ),
        Slip(
            "worst key",
            lambda scores, temperature: _one_hot(scores.argmin(-1), scores),
            "All weight lies on the worst key. The limit is the best one.",
        ),
        Slip(
            "truth values",
            lambda scores, temperature: _best(scores),
            "These are truth values. Weights are numbers: float().",
        ),
        Slip(
            "place instead of weights",
            lambda scores, temperature: scores.argmax(-1),
            "This is the place of the best key. Weights are asked for, one for each key.",
        ),
        Slip(
            "score instead of weight",
            lambda scores, temperature: scores * _best(scores),
            "The best key keeps its score. Its weight is 1.",
        ),
    ]


@exercise("attention.kernel-regression", answer="kernel_regression")
def kernel_regression(student: Any, expect: Expect) -> None:
    sizes = [(4, 4, 0.6), (3, 5, 1.7), (6, 2, 0.4), (1, 7, 2.5)]  # n, m, bandwidth
    inputs = []
    for n, m, h in sizes:
        x_seen = _apart(m)
        x = x_seen[torch.randint(m, (n,))] + 0.7 * torch.rand(n) - 0.35
        inputs.append((x, x_seen, 2 * torch.randn(m), h))
    expect.agrees(
        student.kernel_regression,
        _regression,
        inputs,
        holds="the weighted mean of two to seven points, for four bandwidths",
        slips=_slips_of_regression(),
        describe="the regression",
    )
    far = [
        (sign * (90 + 9 * torch.rand(n)), _apart(m), torch.randn(m), h)
        for sign, n, m, h in ((1, 1, 4, 0.6), (-1, 2, 5, 0.5), (1, 3, 2, 0.4))
    ]
    expect.agrees(
        student.kernel_regression,
        _regression,
        far,
        holds="far from all points, the nearest one decides",
        slips=[
            Slip(
                "0 divided by 0",
                lambda x, x_seen, y_seen, h: torch.full_like(x, torch.nan),
                "Far away every κ rounds to 0, and 0/0 is NaN. Let softmax do the division: it subtracts the best score "
                "first.",
            ),
            Slip(
                "a small number below",
                lambda x, x_seen, y_seen, h: 0 * x,
                "Far away every κ rounds to 0. A small number added below the line saves you from 0/0, but then "
                "the weights sum to 0, not to 1. Let softmax do the division: it subtracts the best score first.",
            ),
            Slip(
                "plain mean far away",
                lambda x, x_seen, y_seen, h: y_seen.mean() + 0 * x,
                "Far from all points you give the plain mean. One point is still nearer than the others, and its κ is "
                "by far the largest.",
            ),
        ],
        describe="far from all points",
    )


def _apart(m: int) -> Tensor:
    """`m` places in random order, none closer than 0.4 to the next."""
    return (0.7 * torch.arange(m) - 0.35 * m + 0.3 * torch.rand(m))[torch.randperm(m)]


def _regression(x: Tensor, x_seen: Tensor, y_seen: Tensor, h: float) -> Tensor:
    return (-((x[:, None] - x_seen) ** 2) / (2 * h**2)).softmax(-1) @ y_seen


def _slips_of_regression() -> list[Slip]:
    def scored(score: Callable[[Tensor, float], Tensor]) -> Callable[..., Tensor]:
        return lambda x, x_seen, y_seen, h: score(x[:, None] - x_seen, h).softmax(-1) @ y_seen

    def kernel(x: Tensor, x_seen: Tensor, h: float) -> Tensor:
        return (-((x[:, None] - x_seen) ** 2) / (2 * h**2)).exp()

    return [
        Slip(
            "bandwidth not squared",
            scored(lambda gap, h: -(gap**2) / (2 * h)),
            "You divide by 2h. It is 2h²: the distance is squared, and so is its unit.",
        ),
        Slip("2 forgotten", scored(lambda gap, h: -(gap**2) / h**2), "You divide by h². The Gaussian divides by 2h²."),
        Slip(
            "2 squared too",
            scored(lambda gap, h: -(gap**2) / (2 * h) ** 2),
            "You square the 2 as well. Divide by 2h², not by (2h)².",
        ),
        Slip(
            "multiplied by the bandwidth",
            scored(lambda gap, h: -(gap**2) * 2 * h**2),
            "You multiply by 2h². Divide by it.",
        ),
        Slip(
            "multiplied by the bandwidth",
            scored(lambda gap, h: -(gap**2) / 2 * h**2),
            "You divide by 2 and multiply by h²: x / 2 * h**2 is read from the left. Put 2 * h**2 in brackets.",
        ),
        Slip(
            "bandwidth is ignored",
            scored(lambda gap, h: -(gap**2) / 2),
            "The bandwidth changes nothing: divide by 2h², not by 2.",
        ),
        Slip("bandwidth is ignored", scored(lambda gap, h: -(gap**2)), "The bandwidth changes nothing. Divide by 2h²."),
        Slip(
            "sign",
            scored(lambda gap, h: gap**2 / (2 * h**2)),
            "The farthest point gets the largest weight. The exponent is negative.",
        ),
        Slip(
            "distance not squared",
            scored(lambda gap, h: -gap.abs() / (2 * h**2)),
            "You use the distance. The Gaussian has its square.",
        ),
        Slip(
            "distance with its sign",
            scored(lambda gap, h: -gap / (2 * h**2)),
            "The distance is not squared, so points on one side count far more. Square it.",
        ),
        Slip(
            "not normalised",
            lambda x, x_seen, y_seen, h: kernel(x, x_seen, h) @ y_seen,
            "You sum κ·y and do not divide by the sum of κ: the weights of a point must sum to 1.",
        ),
        Slip(
            "density of a Gaussian",
            lambda x, x_seen, y_seen, h: kernel(x, x_seen, h) @ y_seen / (h * math.sqrt(2 * math.pi)),
            "You divide by h√(2π), the Gaussian's own constant. Divide by the sum of κ for this x.",
        ),
        Slip(
            "divided by the number of points",
            lambda x, x_seen, y_seen, h: kernel(x, x_seen, h) @ y_seen / len(x_seen),
            "You divide by the number of points. Divide by the sum of κ for this x.",
        ),
        Slip(
            "one sum for all queries",
            lambda x, x_seen, y_seen, h: kernel(x, x_seen, h) @ y_seen / kernel(x, x_seen, h).sum(),
            "You divide by the sum of κ over all x. Each x has its own: sum(dim=-1).",
        ),
        Slip(
            "kernel as score",
            lambda x, x_seen, y_seen, h: kernel(x, x_seen, h).softmax(-1) @ y_seen,
            "You take a softmax of the kernel. The kernel is already e to the score: leave out the exp.",
        ),
        Slip(
            "softmax over the queries",
            lambda x, x_seen, y_seen, h: (-((x[:, None] - x_seen) ** 2) / (2 * h**2)).softmax(0) @ y_seen,
            "The softmax runs over the queries x. Each x shares its 1 among the seen points, dim=-1.",
        ),
        Slip(
            "queries and keys swapped",
            lambda x, x_seen, y_seen, h: _regression(x_seen, x, y_seen, h),
            "Your rows belong to the seen points. The queries x ask, so they are the rows; it fits here because n = m.",
        ),
        Slip(
            "matching pairs only",
            lambda x, x_seen, y_seen, h: (-((x - x_seen) ** 2) / (2 * h**2)).softmax(-1) * y_seen,
            "You compare x[0] with x_seen[0], 1 with 1, and so on. Each x meets all seen points: x[:, None] - x_seen.",
        ),
        Slip(
            "multiplied by the bandwidth",
            scored(lambda gap, h: -((gap / 2 * h) ** 2)),
            "gap / 2 * h is read from the left, so the bandwidth multiplies. Write gap**2 / (2 * h**2).",
        ),
        Slip(
            "not summed",
            lambda x, x_seen, y_seen, h: (-((x[:, None] - x_seen) ** 2) / (2 * h**2)).softmax(-1) * y_seen,
            "Each value is weighed, but they are not added up yet: sum over the seen points.",
        ),
        Slip(
            "nearest point only",
            lambda x, x_seen, y_seen, h: y_seen[(x[:, None] - x_seen).abs().argmin(-1)],
            "This is the value of the nearest point alone. All points take part, by their weights.",
        ),
        Slip(
            "x is ignored",
            lambda x, x_seen, y_seen, h: y_seen.mean() + 0 * x,
            "This is the plain mean of y_seen, whatever x is.",
        ),
        Slip(
            "dot product as score",
            lambda x, x_seen, y_seen, h: (x[:, None] * x_seen / h**2).softmax(-1) @ y_seen,
            "Your score is the product x · x_seen. A point's own square belongs to it too: −(x − x_seen)² / 2h².",
        ),
        Slip(
            "weights instead of the mean",
            lambda x, x_seen, y_seen, h: (-((x[:, None] - x_seen) ** 2) / (2 * h**2)).softmax(-1),
            "These are the weights. One step is missing: the mean of y_seen with them.",
        ),
        Slip(
            "an axis too many",
            lambda x, x_seen, y_seen, h: _regression(x, x_seen, y_seen, h)[:, None],
            "The numbers are right, in a tensor of shape (n, 1). Return shape (n,).",
        ),
    ]


Attend = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


@exercise("attention.set-test", answer="is_a_set")
def set_test(student: Any, expect: Expect) -> None:
    Q, K, V = torch.randn(4, 6), torch.randn(9, 6), torch.randn(9, 3)
    _judge_shuffles(student, expect, Q, K, V)
    truth: dict[int, bool] = {}

    def posed(attend: Attend, is_set: bool, n: int, m: int) -> tuple[Attend, Tensor, Tensor, Tensor]:
        truth[id(attend)] = is_set
        V = (24 * torch.randn(m, 3)).round() / 8  # so that the even mean of 8 of them is exact in any order
        return attend, torch.randn(n, 6), torch.randn(m, 6), V

    inputs = [
        posed(_hard, True, 16, 9),
        posed(partial(_hard), True, 20, 13),
        posed(partial(attention), True, 32, 200),
        posed(_with_bias(torch.arange(8.0)), False, 3, 8),
        posed(partial(attention), True, 24, 150),
        posed(_evenly, True, 2, 8),
        posed(_with_bias(-0.7 * (torch.arange(9.0) - 4).abs()), False, 4, 9),
        posed(_by_place_alone, False, 3, 10),
        posed(_with_neighbours, False, 5, 11),
        posed(partial(_with_neighbours), False, 4, 12),
        posed(_one_query_counts_places(-1), False, 4, 8),
        posed(_one_query_counts_places(-1), False, 6, 11),
        posed(_one_query_counts_places(0), False, 5, 9),
        posed(_slightly_by_place, False, 4, 10),
        posed(partial(_slightly_by_place), False, 6, 12),
        posed(_by_place_in_balance, False, 4, 9),
        posed(partial(_by_place_in_balance), False, 7, 10),
        posed(_with_bias(torch.arange(9.0).sub(3).clamp(min=0)), False, 4, 9),
        posed(_with_bias(torch.arange(12.0).sub(4).clamp(min=0)), False, 5, 12),
        *[posed(_favouring(row, m), False, n, m) for row, n, m in _favourites()],
    ]
    expect.agrees(
        student.is_a_set,
        lambda attend, Q, K, V: truth[id(attend)],
        inputs,
        holds="true of attention and its like; false where places count, be it slightly or for one query",
        slips=_slips_of_set_tests(truth),
        describe="the verdict",
    )
    _judge_lone_shuffles(student, expect)


def _judge_lone_shuffles(student: Any, expect: Expect) -> None:
    """Two rows, which one shuffle in two leaves as they are, twelve times."""
    Q, K, V = torch.randn(3, 4), torch.randn(2, 4), torch.randn(2, 3)
    prefers_late = _with_bias(torch.tensor([0.0, 3.0]))
    for _ in range(12):
        seen: list[Tensor] = []

        def attend(Q: Tensor, K: Tensor, V: Tensor, seen: list[Tensor] = seen) -> tuple[Tensor, Tensor]:
            seen.append(K.clone())
            return prefers_late(Q, K, V)

        verdict = bool(student.is_a_set(attend, Q, K, V))
        expect.true(
            not verdict or len(seen) > 2 or any(not _same(k, K) for k in seen),
            "a shuffle that changes nothing proves nothing",
            "You shuffle once, and a shuffle may leave the order as it was: with two rows every second one does. "
            "Then nothing was tested, and you say True of an attention that prefers late rows. Shuffle several "
            "times.",
            "one shuffle",
        )


def _judge_shuffles(student: Any, expect: Expect, Q: Tensor, K: Tensor, V: Tensor) -> None:
    seen: list[tuple[Tensor, Tensor, Tensor]] = []

    def attend(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        seen.append((Q.clone(), K.clone(), V.clone()))
        return _hard(Q, K, V)

    student.is_a_set(attend, Q, K, V)
    moved_K, moved_V = any(not _same(k, K) for _, k, _ in seen), any(not _same(v, V) for _, _, v in seen)
    expect.true(
        moved_K or moved_V,
        "shuffles",
        "attend never got shuffled keys. Call it again with K and V in another order.",
        "nothing shuffled",
    )
    rows = all(
        sorted(k.tolist()) == sorted(K.tolist()) and sorted(v.tolist()) == sorted(V.tolist()) for _, k, v in seen
    )
    expect.true(
        rows,
        "whole rows change places",
        "attend got keys or values that are not among the rows of K and V. Shuffle whole rows: K[..., order, :].",
        "not whole rows",
    )
    queries = all(_same(q, Q) for q, _, _ in seen)
    message = (
        "You shuffle the queries too, so the rows of the output move with them. The question is about keys and values."
    )
    expect.true(queries, "the queries stay", message, "queries shuffled")
    alone = "Some keys lost their values: {} were shuffled, {} were not. Shuffle both with the same permutation."
    expect.true(moved_V, "keys and values together", alone.format("K", "V"), "keys without values")
    expect.true(moved_K, "keys and values together", alone.format("V", "K"), "values without keys")
    message = (
        "K and V are shuffled differently, so the keys lose their values. Draw one permutation and use it for both."
    )
    expect.true(
        all(_pairs_kept(k, v, K, V) for _, k, v in seen), "keys and values together", message, "two permutations"
    )


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a, b)


def _pairs_kept(k: Tensor, v: Tensor, K: Tensor, V: Tensor) -> bool:
    """Whether every row of `k` has beside it, in `v`, the value it had in (`K`, `V`)."""
    before = [tuple(row) for row in torch.cat([K, V], -1).tolist()]
    after = [tuple(row) for row in torch.cat([k, v], -1).tolist()]
    return sorted(before) == sorted(after)


def _hard(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """The best key's value: exact under shuffling, because no sum is rounded."""
    best = (Q @ K.T).argmax(-1)
    return V[best], torch.nn.functional.one_hot(best, len(K)).float()


def _evenly(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """The same weight for every key, beside which each query keeps something of its own."""
    weights = torch.full((len(Q), len(K)), 1 / len(K))
    return weights @ V + Q[:, : V.shape[1]], weights


def _by_place_alone(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """Weights that depend on the row a key stands in, and on nothing else."""
    weights = torch.arange(len(K)).div(2).softmax(-1).expand(len(Q), -1)
    return weights @ V, weights


def _with_neighbours(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """Each key joined by the two beside it, the rows closed to a ring: neither rotation nor reversal changes that."""
    return attention(Q, K + K.roll(1, 0) + K.roll(-1, 0), V)


def _one_query_counts_places(which: int) -> Attend:
    """A preference for late rows that only one query has."""

    def attend(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        bias = torch.zeros(len(Q), len(K))
        bias[which] = torch.arange(len(K))
        return _with_bias(bias)(Q, K, V)

    return attend


def _by_place_in_balance(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """What the places give to the first query they take from the second, so that no sum of outputs shows it."""
    output, weights = attention(Q, K, V)
    more = _by_place_alone(Q, K, V)[0][0]
    return torch.cat([output[:1] + more, output[1:2] - more, output[2:]]), weights


def _slightly_by_place(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """A preference for late rows that moves no output by more than 0.004."""
    output, weights = attention(Q, K, V)
    more = _with_bias(torch.arange(len(K)))(Q, K, V)[0] - output
    return output + 0.004 * more / more.abs().max(), weights


def _with_bias(bias: Tensor) -> Attend:
    """An attention whose scores also depend on the row a key stands in."""

    def attend(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        weights = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]) + bias).softmax(-1)
        return weights @ V, weights

    return attend


def _favourites() -> list[tuple[int, int, int]]:
    """The first of many rows, one in the middle, and the last; with how many queries, among how many rows.

    They are many, so that a shuffle at random seldom leaves the row in question where it was.
    """
    counts, sizes = different(3, 7, 15), different(3, 300, 500)
    return [(row, n, m) for row, n, m in zip([0, whole(5, 290), sizes[2] - 1], counts, sizes)]


def _favouring(row: int, m: int) -> Attend:
    """An attention to `m` rows that prefers the one in this place to all others."""
    return _with_bias(10.0 * (torch.arange(m) == row))


def _slips_of_set_tests(truth: dict[int, bool]) -> list[Slip]:
    def test(
        order: Callable[[int], Tensor] = torch.randperm,
        agree: Callable[..., bool] = lambda a, b: torch.allclose(a[0], b[0], atol=1e-4),
    ) -> Callable[..., bool]:
        def verdict(attend: Attend, Q: Tensor, K: Tensor, V: Tensor) -> bool:
            places = order(len(K))
            return agree(attend(Q, K, V), attend(Q, K[places], V[places]))

        return verdict

    def close(a: Tensor, b: Tensor) -> bool:
        return torch.allclose(a, b, atol=1e-4)

    def first_two(m: int) -> Tensor:
        return torch.tensor([1, 0, *range(2, m)])

    def last_two(m: int) -> Tensor:
        return torch.tensor([*range(m - 2), m - 1, m - 2])

    def ends(m: int) -> Tensor:
        return torch.tensor([m - 1, *range(1, m - 1), 0])

    return [
        Slip(
            "reversed",
            lambda attend, Q, K, V: not truth[id(attend)],
            "Your verdict is turned round: you say True where the order matters.",
        ),
        Slip(
            "always True",
            lambda attend, Q, K, V: True,
            "You say True of everything, also of an attention that prefers late rows. There the order matters.",
        ),
        Slip(
            "always False",
            lambda attend, Q, K, V: False,
            "You say False of everything, also of a look-up whose output does not change at all.",
        ),
        Slip(
            "weights compared",
            test(agree=lambda a, b: close(a[0], b[0]) and close(a[1], b[1])),
            "You say False of a hard look-up, whose output does not change at all. Its weights move with their keys: "
            "compare outputs only.",
        ),
        Slip(
            "weights in place of outputs",
            test(agree=lambda a, b: close(a[1], b[1])),
            "You compare the weights, the second of the pair. They move with their keys. Compare the outputs, the first.",
        ),
        Slip(
            "exact equality",
            test(agree=lambda a, b: torch.equal(a[0], b[0])),
            "You say False of attention itself. Summing in another order changes the last digits; compare with "
            "torch.allclose.",
        ),
        Slip(
            "first query only",
            test(agree=lambda a, b: close(a[0][0], b[0][0])),
            "You say True of an attention whose last query minds the order. Compare the outputs of all queries.",
        ),
        Slip(
            "reversal only",
            test(order=lambda m: torch.arange(m).flip(0)),
            "You say True of an attention that prefers the middle rows. Reversing the rows does not show it: shuffle at "
            "random, more than once.",
        ),
        Slip(
            "rotation only",
            test(order=lambda m: torch.arange(m).roll(1)),
            "You say True of an attention that looks at neighbouring rows. Rotating the rows does not show it: shuffle "
            "at random, more than once.",
        ),
        Slip(
            "one pair swapped",
            test(order=first_two),
            "You say True of an attention to which only late rows differ. Swapping the first two does not show it: "
            "shuffle at random, more than once.",
        ),
        Slip(
            "one pair swapped",
            test(order=last_two),
            "You say True of an attention that prefers the first row. Swapping the last two does not show it: move every "
            "row. Shuffle at random, more than once.",
        ),
        Slip(
            "one pair swapped",
            test(order=ends),
            "You say True of an attention that prefers a row in the middle. Swapping the first row and the last does not "
            "show it: move every row. Shuffle at random, more than once.",
        ),
        *[
            Slip(
                "loose tolerance",
                test(agree=lambda a, b, bound=bound: torch.allclose(a[0], b[0], atol=bound)),
                "You say True of an attention that prefers late rows slightly. Rounding changes the sixth digit: the "
                "tolerance may be near 1e-5.",
            )
            for bound in (0.3, 0.1, 0.5, 0.05, 0.02, 0.01)
        ],
        Slip(
            "sums compared",
            test(agree=lambda a, b: close(a[0].sum(), b[0].sum())),
            "You compare sums or means of outputs. One entry can gain what another loses: compare entry by entry, with "
            "torch.allclose.",
        ),
        Slip(
            "one equal entry is enough",
            test(agree=lambda a, b: bool(torch.isclose(a[0], b[0], atol=1e-5).any())),
            "With `any`, one entry that stays the same is enough. All of them must stay the same: all.",
        ),
    ]
