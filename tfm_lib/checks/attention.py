"""Judges of the exercises in the chapter on attention."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tfm_lib.attention import AdditiveScore, attention
from tfm_lib.checks.judge import Expect, Mistake, exercise

NO_SCALE = "These are the weights of the bare dot product. Divide the scores by √d_k before the softmax."
D_K = "You divide by d_k. The formula divides by its square root, √d_k."


@exercise("attention.one-query", answer="look_up")
def one_query(student: Any, expect: Expect) -> None:
    q = torch.tensor([2.0, 2.0, 0.0, 0.0])
    K = torch.tensor([[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    V = torch.tensor([[2.0, 100.0], [3.0, 200.0], [9.0, 20.0]])
    _judge_one_query(student, expect, q, K, V, "the three fruits give the numbers of the chapter")
    q, K, V = torch.randn(9), torch.randn(5, 9), torch.randn(5, 3)
    _judge_one_query(student, expect, q, K, V, "any d_k, any number of keys, any d_v")


def _judge_one_query(student: Any, expect: Expect, q: Tensor, K: Tensor, V: Tensor, holds: str) -> None:
    raw = K @ q
    scores = raw / math.sqrt(len(q))
    mistakes = [
        Mistake("no scale", raw.softmax(0) @ V, NO_SCALE),
        Mistake("d_k instead of √d_k", (raw / len(q)).softmax(0) @ V, D_K),
        Mistake(
            "√ of the number of keys",
            (raw / math.sqrt(len(K))).softmax(0) @ V,
            "You divide by the root of the number of keys. d_k is the length of one key: len(q), or K.shape[1].",
        ),
        Mistake(
            "no softmax",
            scores @ V,
            "You mix with the scores themselves. Raise e to each and divide by the sum, so that the weights sum to 1.",
        ),
        Mistake(
            "no exponential",
            scores / scores.sum() @ V,
            "You divide the scores by their sum. A score can be negative or 0; raise e to it first, then divide.",
        ),
        Mistake(
            "the best value only",
            V[scores.argmax()],
            "This is the value of the best key alone, the hard look-up. Every value takes part, by its weight.",
        ),
        Mistake(
            "weights instead of output",
            scores.softmax(0),
            "These are the weights, and they are right. One step is missing: the mean of the values with these weights.",
        ),
    ]
    got = student.look_up(q, K, V)
    expect.close(got, attention(q[None], K, V)[0][0], holds=holds, mistakes=mistakes, describe="the output")


@exercise("attention.all-queries", answer="batched_attention")
def all_queries(student: Any, expect: Expect) -> None:
    square = torch.randn(2, 4), torch.randn(4, 4), torch.randn(4, 3)  # m = d_k, so that K untransposed fits too
    _judge_batched(student, expect, *square, holds="two queries, four keys of length 4, values of length 3")
    cube = torch.randn(3, 2, 3), torch.randn(3, 3, 3), torch.randn(3, 3, 5)  # batch = m = d_k: Kᵀ of all axes fits too
    _judge_batched(student, expect, *cube, holds="a batch of three")
    deep = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 6, 8), torch.randn(2, 3, 6, 2)
    _judge_batched(student, expect, *deep, holds="two leading axes, d_v smaller than d_k")


def _judge_batched(student: Any, expect: Expect, Q: Tensor, K: Tensor, V: Tensor, holds: str) -> None:
    raw = Q @ K.transpose(-2, -1)
    scores = raw / math.sqrt(Q.shape[-1])
    output, weights = attention(Q, K, V)
    wrong_scores = [
        ("no scale", raw, NO_SCALE),
        ("d_k instead of √d_k", raw / Q.shape[-1], D_K),
        (
            "√ of the value's length",
            raw / math.sqrt(V.shape[-1]),
            "You divide by √d_v. The scores are sums of d_k products, so it is the length of the keys that counts: Q.shape[-1].",
        ),
    ]
    if K.shape[-2] == K.shape[-1]:
        message = "You multiply Q with K as it stands; it fits here because m = d_k. Swap the last two axes: K.transpose(-2, -1)."
        wrong_scores.append(("K not transposed", Q @ K / math.sqrt(Q.shape[-1]), message))
    if K.dim() == 3 and K.shape[0] == K.shape[1] == K.shape[2]:
        message = "K.T turns all axes round, the batch too. Swap the last two only: K.transpose(-2, -1)."
        wrong_scores.append(("K.T on a batch", Q @ K.permute(2, 1, 0) / math.sqrt(Q.shape[-1]), message))
    wrong_weights = [Mistake(name, s.softmax(dim=-1), message) for name, s, message in wrong_scores]
    wrong_weights += [
        Mistake(
            "weights before the softmax",
            scores,
            "What you return as weights are the scores, before the softmax. The reader of your function wants rows that sum to 1.",
        ),
    ]
    queries = (
        "Your columns sum to 1: the softmax runs over the queries. Each query shares its 1 among the keys, dim=-1."
    )
    wrong_weights.append(Mistake("softmax over the queries", scores.softmax(dim=-2), queries))
    got_output, got_weights = _pair(student.batched_attention(Q, K, V), expect, output, weights)
    expect.close(got_weights, weights, holds=f"{holds}: weights", mistakes=wrong_weights, describe="the weights")
    wrong_output = [Mistake("no softmax", scores @ V, "The output mixes with the scores. Mix with the weights.")]
    expect.close(got_output, output, holds=f"{holds}: output", mistakes=wrong_output, describe="the output")


def _pair(result: Any, expect: Expect, output: Tensor, weights: Tensor) -> tuple[Any, Any]:
    is_pair = isinstance(result, (tuple, list)) and len(result) == 2
    expect.true(is_pair, "returns two things", "Return two things, (output, weights).", "one thing returned")
    first, second = result
    swapped = _looks_like(first, weights) and _looks_like(second, output)
    expect.true(
        not swapped, "output first, weights second", "You return (weights, output). Turn them round.", "swapped"
    )
    return first, second


def _looks_like(got: Any, want: Tensor) -> bool:
    return isinstance(got, Tensor) and got.shape == want.shape and torch.allclose(got, want, atol=1e-5)


@exercise("attention.additive-score", answer="additive_score")
def additive_score(student: Any, expect: Expect) -> None:
    for n, m, d_q, d_k, holds in (
        (3, 3, 4, 4, "three queries, three keys, all of length 4"),
        (2, 5, 3, 6, "2 queries and 5 keys of different lengths"),
    ):
        Q, K, W_1, W_2, v = (
            torch.randn(n, d_q),
            torch.randn(m, d_k),
            torch.randn(7, d_q),
            torch.randn(7, d_k),
            torch.randn(7),
        )
        got = student.additive_score(Q, K, W_1, W_2, v)
        from_q, from_k = (Q @ W_1.T)[:, None], (K @ W_2.T)[None]
        mistakes = _additive_mistakes(Q, K, W_1, W_2, v) if d_q == d_k and n == m else []
        mistakes += [
            Mistake(
                "no tanh",
                (from_q + from_k) @ v,
                "The tanh is missing. Without it the score splits into a part of q and a part of k.",
            ),
            Mistake(
                "tanh outside",
                ((from_q + from_k) @ v).tanh(),
                "The tanh stands outside. It bends each hidden unit, then v sums them.",
            ),
            Mistake(
                "product instead of sum",
                (from_q * from_k).tanh() @ v,
                "You multiply W_1 q and W_2 k. The score is additive: add them.",
            ),
            Mistake(
                "keys as rows",
                ((from_q + from_k).tanh() @ v).T,
                "This is the transpose. Queries are rows, keys are columns: entry [i, j] belongs to Q[i] and K[j].",
            ),
        ]
        expect.close(got, _additive(Q, K, W_1, W_2, v), holds=holds, mistakes=mistakes, describe="the scores")


def _additive(Q: Tensor, K: Tensor, W_1: Tensor, W_2: Tensor, v: Tensor) -> Tensor:
    score = AdditiveScore(W_1.shape[1], W_2.shape[1], len(v))
    score.load_state_dict({"W_1.weight": W_1, "W_2.weight": W_2, "v.weight": v[None]})
    return score(Q, K).detach()


def _additive_mistakes(Q: Tensor, K: Tensor, W_1: Tensor, W_2: Tensor, v: Tensor) -> list[Mistake]:
    """Mistakes that only run when n = m and d_q = d_k."""
    return [
        Mistake(
            "matching pairs only",
            (Q @ W_1.T + K @ W_2.T).tanh() @ v,
            "You compare query 0 with key 0, 1 with 1, and so on. Every query meets every key: open an axis, (n, 1, d) + (1, m, d).",
        ),
        Mistake(
            "W_1 and W_2 swapped",
            _additive(Q, K, W_2, W_1, v),
            "W_1 belongs to the query and W_2 to the key; you have them swapped.",
        ),
    ]


@exercise("attention.hard-limit", answer="weights_at")
def hard_limit(student: Any, expect: Expect) -> None:
    scores = torch.tensor([[0.0, 1.0, 2.0], [1.5, -1.0, 0.5]])
    mistakes = [
        Mistake(
            "multiplied",
            (2 * scores).softmax(-1),
            "You multiply by the temperature. Divide: hot means flat, cold means sharp.",
        ),
        Mistake(
            "divided after the softmax",
            scores.softmax(-1) / 2,
            "You divide the weights, so they no longer sum to 1. Divide the scores, before the softmax.",
        ),
        Mistake(
            "softmax twice",
            (scores.softmax(-1) / 2).softmax(-1),
            "You take a softmax of weights. Divide the scores by the temperature, then take one softmax.",
        ),
        Mistake("temperature ignored", scores.softmax(-1), "The temperature changes nothing. Divide the scores by it."),
    ]
    expect.close(
        student.weights_at(scores, 2.0), (scores / 2).softmax(-1), "temperature 2", mistakes, describe="temperature 2"
    )

    large = torch.tensor([[300.0, 310.0, 290.0]])
    overflow = Mistake(
        "overflow",
        torch.full((1, 3), torch.nan),
        "e to a large score is infinite, and ∞/∞ is NaN. Subtract the row's maximum first, or call softmax.",
    )
    partly = Mistake(overflow.name, (large / 2).exp() / (large / 2).exp().sum(-1, keepdim=True), overflow.message)
    got = student.weights_at(large, 2.0)
    expect.close(got, (large / 2).softmax(-1), "large scores", [overflow, partly], describe="scores near 300")

    zero = Mistake(
        "division by 0",
        scores / 0,
        "At temperature 0 you divide by 0 and get NaN. The limit needs a branch of its own.",
    )
    after = Mistake(zero.name, (scores / 0).softmax(-1), zero.message)
    got = student.weights_at(scores, 0)
    expect.close(
        got,
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
        "temperature 0 is a hard look-up",
        [zero, after],
        describe="temperature 0",
    )

    tie = torch.tensor([[3.0, 1.0, 3.0, 0.0]])
    message = "Two keys tie and you give one of them everything. Equal scores have equal weights at every temperature, so in the limit too."
    one = [Mistake("one winner of a tie", F, message) for F in ([[1.0, 0, 0, 0]], [[0, 0, 1.0, 0]])]
    both = Mistake(
        "shares not divided",
        [[1.0, 0, 1.0, 0]],
        "Both winners get weight 1, and the row sums to 2. Divide by the number of winners.",
    )
    got = student.weights_at(tie, 0)
    expect.close(
        got, [[0.5, 0, 0.5, 0]], "equal keys share at temperature 0", [*one, both], describe="a tie at temperature 0"
    )


@exercise("attention.kernel-regression", answer="kernel_regression")
def kernel_regression(student: Any, expect: Expect) -> None:
    x, x_seen, y_seen, h = (
        torch.tensor([0.0, 0.7, 1.9]),
        torch.tensor([-0.5, 0.2, 1.0, 2.0]),
        torch.tensor([1.0, 3.0, -2.0, 0.5]),
        0.6,
    )
    gap = x[:, None] - x_seen
    kernel = (-(gap**2) / (2 * h**2)).exp()

    def mean(scores: Tensor) -> Tensor:
        return scores.softmax(-1) @ y_seen

    mistakes = [
        Mistake(
            "bandwidth not squared",
            mean(-(gap**2) / (2 * h)),
            "You divide by 2h. It is 2h²: the distance is squared, and so is its unit.",
        ),
        Mistake("2 forgotten", mean(-(gap**2) / h**2), "You divide by h². The Gaussian has 2h² below."),
        Mistake(
            "sign", mean(gap**2 / (2 * h**2)), "The farthest point gets the largest weight. The exponent is negative."
        ),
        Mistake(
            "distance not squared", mean(-gap.abs() / (2 * h**2)), "You use the distance. The Gaussian has its square."
        ),
        Mistake(
            "not normalised",
            kernel @ y_seen,
            "You sum κ·y and do not divide by the sum of κ: the weights of a point must sum to 1.",
        ),
        Mistake(
            "divided by the number of points",
            kernel @ y_seen / len(x_seen),
            "You divide by the number of points. Divide by the sum of κ for this x.",
        ),
        Mistake(
            "kernel as score",
            mean(kernel),
            "You take a softmax of the kernel. The kernel is already e to the score: leave out the exp.",
        ),
        Mistake(
            "softmax over the queries",
            (-(gap**2) / (2 * h**2)).softmax(0) @ y_seen,
            "The softmax runs over the queries x. Each x shares its 1 among the seen points, dim=-1.",
        ),
    ]
    want = kernel @ y_seen / kernel.sum(-1)
    expect.close(student.kernel_regression(x, x_seen, y_seen, h), want, "the weighted mean of four points", mistakes)
    far = torch.tensor([100.0])
    underflow = Mistake(
        "0 divided by 0",
        [torch.nan],
        "Far away every κ rounds to 0, and 0/0 is NaN. Let softmax do the division: it subtracts the best score first.",
    )
    got = student.kernel_regression(far, x_seen, y_seen, h)
    expect.close(got, [0.5], "far from all points, the nearest one decides", [underflow], describe="x = 100")


@exercise("attention.set-test", answer="is_a_set")
def set_test(student: Any, expect: Expect) -> None:
    Q, K, V = torch.randn(4, 6), torch.randn(9, 6), torch.randn(9, 3)
    seen: list[tuple[Tensor, Tensor]] = []

    def hard(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:  # exact under shuffling: no sums to round
        seen.append((K, V))
        weights = torch.nn.functional.one_hot((Q @ K.T).argmax(-1), len(K)).float()
        return V[(Q @ K.T).argmax(-1)], weights

    verdict = bool(student.is_a_set(hard, Q, K, V))
    moved_K = any(not torch.equal(k, K) for k, _ in seen)
    moved_V = any(not torch.equal(v, V) for _, v in seen)
    expect.true(
        moved_K or moved_V,
        "shuffles",
        "attend never got shuffled keys. Call it again with K and V in another order.",
        "nothing shuffled",
    )
    together = moved_K and moved_V and all(_pairs_kept(k, v, K, V) for k, v in seen)
    message = (
        "Some keys lost their values. Shuffle K and V with the same permutation, so that each value stays with its key."
    )
    expect.true(together, "keys and values together", message, "keys without values")
    message = "You say False of a hard look-up, whose output does not change at all. Its weights move with their keys: compare outputs only."
    expect.true(verdict, "a hard look-up is a set", message, "weights compared")

    many = torch.randn(32, 6), torch.randn(200, 6), torch.randn(200, 3)
    message = "You say False of attention itself. Summing in another order changes the last digits; compare with torch.allclose."
    expect.true(bool(student.is_a_set(attention, *many)), "attention is a set", message, "exact equality")

    place = torch.arange(9.0)
    message = "You say True of an attention that prefers late rows. With that one the order matters."
    expect.true(
        not student.is_a_set(_with_bias(place), Q, K, V), "a preference for late rows is found", message, "always True"
    )
    message = "You say True of an attention that prefers the middle rows. Reversing the rows does not show it: shuffle at random, more than once."
    symmetric = _with_bias(-(place - 4).abs())
    expect.true(
        not student.is_a_set(symmetric, Q, K, V), "a preference for the middle is found", message, "reversal only"
    )


def _pairs_kept(k: Tensor, v: Tensor, K: Tensor, V: Tensor) -> bool:
    """Whether every row of `k` has beside it, in `v`, the value it had in (`K`, `V`)."""
    if k.shape != K.shape or v.shape != V.shape:
        return False
    before = [tuple(row) for row in torch.cat([K, V], -1).tolist()]
    after = [tuple(row) for row in torch.cat([k, v], -1).tolist()]
    return sorted(before) == sorted(after)


def _with_bias(bias: Tensor) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """An attention whose scores also depend on the row a key stands in."""

    def attend(Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        weights = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]) + bias).softmax(-1)
        return weights @ V, weights

    return attend
