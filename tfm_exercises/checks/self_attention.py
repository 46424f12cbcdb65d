"""Judges of the exercises in `chapters/self_attention.md`."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tfm_exercises.judge import Expect, Slip, exercise


@exercise("self_attention.projections", answer="self_attend")
def projections(student: Any, expect: Expect) -> None:
    sizes = [(4, 4, 4, 4), (4, 5, 2, 3), (6, 3, 5, 2), (3, 7, 4, 6), (1, 2, 3, 5)]  # T, d_model, d_k, d_v
    inputs = [
        (torch.randn(T, d_model), torch.randn(d_model, d_k), torch.randn(d_model, d_k), torch.randn(d_model, d_v))
        for T, d_model, d_k, d_v in sizes
    ]
    expect.agrees(
        student.self_attend,
        _attended,
        inputs,
        holds="output and weights, also when d_model, d_k and d_v differ",
        slips=_slips_of_projections(),
        describe="(output, weights),",
    )


def _attended(
    X: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    project: Callable[..., tuple] = lambda X, W_Q, W_K, W_V: (X @ W_Q, X @ W_K, X @ W_V),
    scale: Callable[..., float] = lambda X, Q, V: Q.shape[1] ** 0.5,
    turned: Callable[[Tensor], Tensor] = lambda K: K.T,
    share: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    give: Callable[..., Any] = lambda scores, weights, V: (weights @ V, weights),
) -> Any:
    """Self-attention with one of its steps exchanged."""
    Q, K, V = project(X, W_Q, W_K, W_V)
    scores = Q @ turned(K) / scale(X, Q, V)
    return give(scores, share(scores), V)


def _scaled_late(X: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> tuple[Tensor, Tensor]:
    weights = (X @ W_Q @ (X @ W_K).T).softmax(-1) / math.sqrt(W_Q.shape[1])
    return weights @ X @ W_V, weights


def _slips_of_projections() -> list[Slip]:
    def slip(name: str, message: str, **changes: Any) -> Slip:
        return Slip(name, partial(_attended, **changes), message)

    return [
        slip(
            "swapped",
            "You return (weights, output). Turn them round.",
            give=lambda scores, weights, V: (weights, weights @ V),
        ),
        slip(
            "weights missing",
            "Return a pair, (output, weights); the output alone came.",
            give=lambda scores, weights, V: weights @ V,
        ),
        slip(
            "output missing",
            "Return a pair, (output, weights); the weights alone came.",
            give=lambda scores, weights, V: weights,
        ),
        slip(
            "softmax over the queries",
            "Your columns sum to 1, not your rows. Query i is row i, and it divides its attention among the keys: softmax "
            "along dim=-1.",
            share=lambda scores: scores.softmax(0),
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
            "matrices on the wrong side",
            "You multiplied with the transposed matrices. Here Q = X @ W_Q, as in the formula; only nn.Linear keeps its "
            "weight transposed.",
            project=lambda X, W_Q, W_K, W_V: (X @ W_Q.T, X @ W_K.T, X @ W_V.T),
        ),
        slip(
            "matrices on the wrong side",
            "Your matrices stand on the left of X; it fits only where T = d_model. Here Q = X @ W_Q.",
            project=lambda X, W_Q, W_K, W_V: (W_Q @ X, W_K @ X, W_V @ X),
        ),
        slip(
            "V unprojected",
            "You mix the rows of X themselves. What is handed over are the values, V = X W_V.",
            project=lambda X, W_Q, W_K, W_V: (X @ W_Q, X @ W_K, X),
        ),
        slip(
            "K unprojected",
            "The queries meet the rows of X themselves. They must meet the keys, K = X W_K.",
            project=lambda X, W_Q, W_K, W_V: (X @ W_Q, X, X @ W_V),
        ),
        slip(
            "Q unprojected",
            "The rows of X themselves meet the keys. The queries are Q = X W_Q.",
            project=lambda X, W_Q, W_K, W_V: (X, X @ W_K, X @ W_V),
        ),
        slip(
            "nothing projected",
            "None of the matrices is used. Make Q, K and V of X first.",
            project=lambda X, W_Q, W_K, W_V: (X, X, X),
        ),
        slip(
            "Q and K swapped",
            "Queries and keys are swapped: your rows belong to the keys. The queries ask, so they are the rows: Q Kᵀ.",
            project=lambda X, W_Q, W_K, W_V: (X @ W_K, X @ W_Q, X @ W_V),
        ),
        slip(
            "K and V swapped",
            "Keys and values are swapped; it fits only where d_k = d_v. Queries meet keys, and values are mixed.",
            project=lambda X, W_Q, W_K, W_V: (X @ W_Q, X @ W_V, X @ W_K),
        ),
        slip(
            "W_K is ignored",
            "The queries meet each other: the keys go through W_Q too. K = X W_K.",
            project=lambda X, W_Q, W_K, W_V: (X @ W_Q, X @ W_Q, X @ W_V),
        ),
        slip(
            "W_Q is ignored",
            "The keys meet each other: the queries go through W_K too. Q = X W_Q.",
            project=lambda X, W_Q, W_K, W_V: (X @ W_K, X @ W_K, X @ W_V),
        ),
        slip(
            "keys mixed",
            "You mixed the keys. What is handed over are the values, V = X W_V.",
            project=lambda X, W_Q, W_K, W_V: (X @ W_Q, X @ W_K, X @ W_K),
        ),
        slip(
            "queries mixed",
            "You mixed the queries. What is handed over are the values, V = X W_V.",
            project=lambda X, W_Q, W_K, W_V: (X @ W_Q, X @ W_K, X @ W_Q),
        ),
        slip(
            "K not transposed",
            "You multiply Q with K as it stands; it fits only where T = d_k. A key is a row: Q @ K.T.",
            turned=lambda K: K,
        ),
        slip(
            "no scale",
            "The scale is missing: divide the scores by √d_k before the softmax.",
            scale=lambda X, Q, V: 1,
        ),
        slip(
            "d_k instead of √d_k",
            "You divide by d_k. The formula divides by its square root, √d_k.",
            scale=lambda X, Q, V: Q.shape[1],
        ),
        slip(
            "√T instead of √d_k",
            "You divided by √T, the root of the number of words. A score is a sum of d_k products: the scale is √d_k, with "
            "d_k = Q.shape[-1].",
            scale=lambda X, Q, V: len(X) ** 0.5,
        ),
        slip(
            "√d_model instead of √d_k",
            "You divided by √d_model, the root of the length of a word. A score is a sum of d_k products: √d_k.",
            scale=lambda X, Q, V: X.shape[1] ** 0.5,
        ),
        slip(
            "√d_v instead of √d_k",
            "You divided by √d_v, the root of the length of a value. A score is a sum of d_k products: √d_k.",
            scale=lambda X, Q, V: V.shape[1] ** 0.5,
        ),
        slip(
            "multiplied by √d_k",
            "You multiply the scores by √d_k, which makes them larger still. Divide.",
            scale=lambda X, Q, V: Q.shape[1] ** -0.5,
        ),
        *[
            slip(
                "scale of an example",
                f"You divide by √{d_k} whatever the matrices are. Take d_k from Q.",
                scale=lambda X, Q, V, d_k=d_k: d_k**0.5,
            )
            for d_k in (4, 3, 8, 64)
        ],
        Slip(
            "scale after the softmax",
            _scaled_late,
            "You divided after the softmax, so your rows sum to 1/√d_k. The scale belongs to the scores, before the "
            "softmax.",
        ),
        slip(
            "weights before the softmax",
            "You return the scores as weights. The weights are what the softmax makes of them.",
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
            "not divided by the sum",
            "Your rows do not sum to 1. Divide each e to the score by the sum of its row.",
            share=torch.exp,
        ),
        slip(
            "no exponential",
            "You divide the scores by their sum. A score can be negative: use the softmax.",
            share=lambda scores: scores / scores.sum(-1, keepdim=True),
        ),
        slip(
            "weights transposed",
            "The weights are transposed. Queries are rows: entry [i, j] is what query i gives to key j.",
            give=lambda scores, weights, V: (weights @ V, weights.T),
        ),
        slip(
            "output mixed with turned weights",
            "The weights are right, and the output mixes with their transpose. weights @ V.",
            give=lambda scores, weights, V: (weights.T @ V, weights),
        ),
        slip(
            "each score by itself",
            "A sigmoid squashes each score by itself, so the rows do not sum to 1. Keys share: softmax.",
            share=torch.sigmoid,
        ),
        Slip(
            "the words added",
            lambda X, W_Q, W_K, W_V: (
                _attended(X, W_Q, W_K, W_V)[0] + X[:, : W_V.shape[1]],
                _attended(X, W_Q, W_K, W_V)[1],
            ),
            "You add X to the output. That residual comes in a later chapter; here the output is weights @ V.",
        ),
        Slip(
            "scale on the output",
            lambda X, W_Q, W_K, W_V: (_scaled_late(X, W_Q, W_K, W_V)[0], (X @ W_Q @ (X @ W_K).T).softmax(-1)),
            "You divide the output by √d_k. Divide the scores, before the softmax.",
        ),
        slip(
            "looks back only",
            "Your words do not look ahead. Nothing is hidden here: each word looks at all of them.",
            share=lambda scores: scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(-1),
        ),
    ]


@exercise("self_attention.looked-at", answer="words_looked_at")
def looked_at(student: Any, expect: Expect) -> None:
    inputs = [(2 * torch.randn(n, m)).softmax(-1) for n, m in ((4, 4), (3, 6), (5, 2), (1, 7))]
    slips = _slips_of_looking()
    expect.agrees(
        student.words_looked_at,
        _looked_at,
        [(weights,) for weights in inputs],
        holds="each row gives e to the power of its entropy",
        slips=slips,
        describe="the numbers of words",
    )
    expect.close(
        student.words_looked_at(torch.full((2, 8), 1 / 8)),
        [8.0, 8.0],
        holds="8 equal weights count as 8 words",
        describe="8 equal weights",
    )
    gaps = []
    for n, m in ((2, 3), (4, 5), (3, 7)):
        scores = 2 * torch.randn(n, m)
        scores[torch.arange(n), torch.randint(m, (n,))] = -torch.inf
        gaps.append(scores.softmax(-1))
    expect.agrees(
        student.words_looked_at,
        _looked_at,
        [(weights,) for weights in [torch.eye(4)[[2, 0, 3]], *gaps, _causal(torch.randn(5, 5))]],
        holds="a weight of exactly 0 adds nothing",
        slips=[
            Slip(
                "0 · log 0",
                lambda weights: (-(weights * weights.log()).sum(-1)).exp(),
                "A weight of exactly 0 gave NaN: log 0 is −∞, and 0 · (−∞) is NaN. The limit of w ln w is 0; "
                "torch.special.xlogy or torch.special.entr knows it.",
            ),
            *slips,
        ],
        describe="rows with weights of exactly 0",
    )


def _causal(scores: Tensor) -> Tensor:
    """Weights of which row i has zeros behind column i."""
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf).softmax(-1)


def _looked_at(weights: Tensor) -> Tensor:
    return torch.special.entr(weights).sum(-1).exp()


def _slips_of_looking() -> list[Slip]:
    def of(make: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
        """`make` of the weights and of −w ln w, entry by entry."""
        return lambda weights: make(weights, torch.special.entr(weights))

    return [
        Slip(
            "entropy without e to its power",
            of(lambda w, h: h.sum(-1)),
            "That is the entropy, in nats. A query that looks at m words alike has entropy ln m; e to that power is m.",
        ),
        Slip(
            "entropy without e to its power",
            of(lambda w, h: h.sum(-1) / math.log(2)),
            "That is the entropy, in bits. 2 to that power is the number of words.",
        ),
        Slip(
            "sum over the queries",
            of(lambda w, h: h.sum(0).exp()),
            "You summed down the columns. A row is what one query does: sum along dim=-1.",
        ),
        Slip(
            "one sum for all rows",
            of(lambda w, h: h.sum().exp()),
            "One number came for all rows. Each query has its own: sum along dim=-1.",
        ),
        Slip(
            "mean of the rows",
            of(lambda w, h: h.sum(-1).mean().exp()),
            "One number came, from the mean of the entropies. Give one for each row.",
        ),
        Slip(
            "mean of the rows",
            of(lambda w, h: h.sum(-1).exp().mean()),
            "One number came, the mean of the rows. Give one for each row.",
        ),
        Slip(
            "mean for sum",
            of(lambda w, h: h.mean(-1).exp()),
            "You took the mean of −w ln w along the row. The entropy is the sum.",
        ),
        Slip(
            "not summed",
            of(lambda w, h: h.exp()),
            "e was raised to each −w ln w by itself. Sum along the row first.",
        ),
        Slip(
            "bits read as nats",
            of(lambda w, h: (h.sum(-1) / math.log(2)).exp()),
            "You took log2 and then e to its power. Stay in one base: 2 to the power of bits, or e to the power of nats.",
        ),
        Slip(
            "nats read as bits",
            of(lambda w, h: 2 ** h.sum(-1)),
            "You took the natural logarithm and then 2 to its power. Stay in one base.",
        ),
        Slip(
            "sign",
            of(lambda w, h: (-h.sum(-1)).exp()),
            "The minus is missing: what came lies below 1. H = −Σ w ln w.",
        ),
        Slip(
            "sign",
            of(lambda w, h: -h.sum(-1)),
            "This is Σ w ln w. The entropy has a minus before it, and e to its power is asked for.",
        ),
        Slip(
            "one over the sum of squares",
            of(lambda w, h: 1 / (w**2).sum(-1)),
            "That is 1/Σw², another fair way to count, but not the one that belongs to the entropy.",
        ),
        Slip(
            "one over the largest weight",
            of(lambda w, h: 1 / w.amax(-1)),
            "That is one over the largest weight. The entropy asks all of them.",
        ),
        Slip(
            "logarithm without its weight",
            of(lambda w, h: (-w.log().sum(-1)).exp()),
            "You summed −ln w. Each logarithm is weighed by its w.",
        ),
        Slip(
            "logarithm without its weight",
            of(lambda w, h: (-w.log().mean(-1)).exp()),
            "You took the plain mean of −ln w. Each logarithm is weighed by its w.",
        ),
        Slip(
            "words with any weight",
            of(lambda w, h: (w > 0).sum(-1)),
            "You counted the weights above 0. A word with little weight counts little.",
        ),
        *[
            Slip(
                "words with any weight",
                of(lambda w, h, bound=bound: (w > bound).sum(-1)),
                "You counted the weights above a bound. Take e to the power of the entropy.",
            )
            for bound in (0.01, 0.05, 0.1)
        ],
        Slip(
            "whole number",
            of(lambda w, h: h.sum(-1).exp().round()),
            "The numbers were rounded. A query may look at two words and a half.",
        ),
        Slip(
            "share of the words",
            of(lambda w, h: h.sum(-1) / math.log(w.shape[-1])),
            "You divide the entropy by its largest value. e to the power of the entropy is asked for.",
        ),
        Slip(
            "share of the words",
            of(lambda w, h: h.sum(-1).exp() / w.shape[-1]),
            "You divide by the number of words. The number itself is asked for.",
        ),
        Slip(
            "an axis too many",
            of(lambda w, h: h.sum(-1, keepdim=True).exp()),
            "The numbers are right, in a tensor of shape (n, 1). Return one axis: leave out keepdim.",
        ),
        Slip(
            "a softmax too many",
            lambda weights: _looked_at(weights.softmax(-1)),
            "You took a softmax of the weights. They sum to 1 already.",
        ),
    ]


@exercise("self_attention.bilinear", answer="score_matrix")
def bilinear(student: Any, expect: Expect) -> None:
    inputs = [
        (torch.randn(d_model, d_k), torch.randn(d_model, d_k)) for d_model, d_k in ((3, 3), (5, 3), (4, 7), (6, 2))
    ]
    expect.agrees(
        student.score_matrix,
        _score_matrix,
        inputs,
        holds="M is d_model × d_model, and X M Xᵀ gives the scaled scores",
        slips=_slips_of_the_matrix(),
        describe="M",
    )
    X, W_Q, W_K = torch.randn(7, 6), torch.randn(6, 2), torch.randn(6, 2)
    expect.close(
        X @ torch.as_tensor(student.score_matrix(W_Q, W_K)) @ X.T,
        X @ W_Q @ (X @ W_K).T / math.sqrt(2),
        holds="X M Xᵀ gives all scores of a random sentence of 7 words",
        tolerance=1e-4,
        describe="X M Xᵀ",
    )


def _score_matrix(W_Q: Tensor, W_K: Tensor) -> Tensor:
    return W_Q @ W_K.T / math.sqrt(W_Q.shape[1])


def _slips_of_the_matrix() -> list[Slip]:
    def d_k(W: Tensor) -> float:
        return math.sqrt(W.shape[1])

    return [
        Slip(
            "inner instead of outer",
            lambda W_Q, W_K: W_Q.T @ W_K / d_k(W_Q),
            "W_Qᵀ W_K is d_k × d_k, and X does not fit on its sides. Write XW^Q(XW^K)ᵀ out: (XW^K)ᵀ = W^Kᵀ Xᵀ, and see "
            "what stands between X and Xᵀ.",
        ),
        Slip(
            "inner instead of outer",
            lambda W_Q, W_K: W_Q.T @ W_K,
            "W_Qᵀ W_K is d_k × d_k, and X does not fit on its sides. And the scale is missing.",
        ),
        Slip(
            "inner instead of outer",
            lambda W_Q, W_K: W_K.T @ W_Q / d_k(W_Q),
            "W_Kᵀ W_Q is d_k × d_k, and X does not fit on its sides. Write XW^Q(XW^K)ᵀ out.",
        ),
        Slip(
            "queries and keys swapped",
            lambda W_Q, W_K: W_K @ W_Q.T / d_k(W_Q),
            "This is the transpose: X M Xᵀ would have queries as columns. W_Q stands on the left, beside the X of the "
            "queries.",
        ),
        Slip(
            "queries and keys swapped",
            lambda W_Q, W_K: W_K @ W_Q.T,
            "This is the transpose, and without the scale. W_Q stands on the left, beside the X of the queries.",
        ),
        Slip(
            "no scale",
            lambda W_Q, W_K: W_Q @ W_K.T,
            "The scale is missing. Fold 1/√d_k into M, so that X M Xᵀ is what the softmax gets.",
        ),
        Slip(
            "√d_model instead of √d_k",
            lambda W_Q, W_K: W_Q @ W_K.T / math.sqrt(len(W_Q)),
            "You divided by √d_model. A score is a sum of d_k products, so it is √d_k, with d_k = W_Q.shape[1].",
        ),
        Slip(
            "d_k instead of √d_k",
            lambda W_Q, W_K: W_Q @ W_K.T / W_Q.shape[1],
            "You divided by d_k, the variance of the scores. Divide by √d_k, their standard deviation.",
        ),
        Slip(
            "d_model instead of √d_k",
            lambda W_Q, W_K: W_Q @ W_K.T / len(W_Q),
            "You divided by d_model. The scale is √d_k, with d_k = W_Q.shape[1].",
        ),
        Slip(
            "multiplied by √d_k",
            lambda W_Q, W_K: W_Q @ W_K.T * d_k(W_Q),
            "You multiply by √d_k. The scores are divided by it.",
        ),
        Slip(
            "not transposed",
            lambda W_Q, W_K: W_Q @ W_K / d_k(W_Q),
            "W_Q @ W_K fits only where d_model = d_k. Between X and Xᵀ stands W_Q W_Kᵀ.",
        ),
        Slip(
            "both transposed",
            lambda W_Q, W_K: W_Q.T @ W_K.T / d_k(W_Q),
            "W_Qᵀ W_Kᵀ fits only where d_model = d_k. Between X and Xᵀ stands W_Q W_Kᵀ.",
        ),
        Slip(
            "entry by entry",
            lambda W_Q, W_K: W_Q * W_K / d_k(W_Q),
            "You multiply entry by entry. M is a matrix product: @.",
        ),
        Slip(
            "W_K is ignored",
            lambda W_Q, W_K: W_Q @ W_Q.T / d_k(W_Q),
            "W_Q meets itself. The keys go through W_K.",
        ),
        Slip(
            "W_Q is ignored",
            lambda W_Q, W_K: W_K @ W_K.T / d_k(W_Q),
            "W_K meets itself. The queries go through W_Q.",
        ),
        Slip(
            "softmax inside",
            lambda W_Q, W_K: _score_matrix(W_Q, W_K).softmax(-1),
            "You took a softmax of M. The softmax comes later, of X M Xᵀ.",
        ),
        Slip(
            "made symmetric",
            lambda W_Q, W_K: (_score_matrix(W_Q, W_K) + _score_matrix(W_Q, W_K).T) / 2,
            "Your M is symmetric. Whom a word looks for and who looks for it are two things: leave M as the "
            "product gives it.",
        ),
        *[
            Slip(
                "scale of an example",
                lambda W_Q, W_K, d=d: W_Q @ W_K.T / math.sqrt(d),
                f"You divide by √{d} whatever the matrices are. Take d_k from W_Q.",
            )
            for d in (64, 4, 8, 2, 3)
        ],
    ]


@exercise("self_attention.swap-pair", answer="swap_pair")
def swap_pair(student: Any, expect: Expect) -> None:
    inputs = [(torch.randn(T, d), torch.randn(T, d), _order(T)) for T, d in ((4, 4), (5, 3), (6, 7), (8, 2))]
    expect.agrees(
        student.swap_pair,
        _swapped,
        inputs,
        holds="the outputs in the new order, and the outputs of the reordered words at places that stay",
        slips=_slips_of_the_pair(),
        describe="(outputs, reordered) and (outputs of the reordered words)",
    )
    X, order = torch.randn(6, 3), _order(6)
    first, second = student.swap_pair(X, torch.zeros(6, 3), order)
    expect.close(
        first,
        second,
        holds="with P = 0 both are equal: self-attention does not know order",
        describe="the pair for P = 0",
    )


def _order(T: int) -> Tensor:
    """A random order that is not its own inverse and moves the first and the last word."""
    while True:
        order = torch.randperm(T)
        if not torch.equal(order, order.argsort()) and order[0] != 0 and order[-1] != T - 1:
            return order


def _bare(Z: Tensor) -> Tensor:
    return (Z @ Z.T / math.sqrt(Z.shape[-1])).softmax(-1) @ Z


def _down(Z: Tensor) -> Tensor:
    return (Z @ Z.T / math.sqrt(Z.shape[-1])).softmax(0) @ Z


def _behind(Z: Tensor) -> Tensor:
    scores = Z @ Z.T / math.sqrt(Z.shape[-1])
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf).softmax(-1) @ Z


def _swapped(X: Tensor, P: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    return _bare(X + P)[order], _bare(X[order] + P)


def _slips_of_the_pair() -> list[Slip]:
    def slip(
        name: str, first: Callable[..., Tensor] | None, second: Callable[..., Tensor] | None, message: str
    ) -> Slip:
        """`first` and `second` of X, P and order make the pair; None for the right one."""

        def of(X: Tensor, P: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
            right = _swapped(X, P, order)
            return first(X, P, order) if first else right[0], second(X, P, order) if second else right[1]

        return Slip(name, of, message)

    undone = "Your rows are sorted the other way round: X[order] puts row order[i] in place i. Index; do not assign into X[order]."
    features = "You reordered the columns, that is the features. Words are rows: X[order], not X[:, order]."
    return [
        slip(
            "outputs left in the old order",
            lambda X, P, order: _bare(X + P),
            None,
            "The first holds the right outputs in the old order. Index its rows with order, so that both of the pair list "
            "the same words.",
        ),
        slip(
            "order is ignored",
            lambda X, P, order: _bare(X + P),
            lambda X, P, order: _bare(X + P),
            "Both of the pair belong to the old order. Where does order enter?",
        ),
        slip(
            "order undone",
            lambda X, P, order: _bare(X + P)[order.argsort()],
            lambda X, P, order: _bare(X[order.argsort()] + P),
            undone,
        ),
        slip(
            "order undone",
            lambda X, P, order: _bare(X + P)[order.argsort()],
            None,
            f"In the first of the pair it goes wrong. {undone}",
        ),
        slip(
            "order undone",
            None,
            lambda X, P, order: _bare(X[order.argsort()] + P),
            f"In the second of the pair it goes wrong. {undone}",
        ),
        slip(
            "features reordered",
            lambda X, P, order: _bare(X + P)[:, order],
            lambda X, P, order: _bare(X[:, order] + P),
            features,
        ),
        slip("features reordered", lambda X, P, order: _bare(X + P)[:, order], None, f"In the first: {features}"),
        slip("features reordered", None, lambda X, P, order: _bare(X[:, order] + P), f"In the second: {features}"),
        slip(
            "places travel with the words",
            None,
            lambda X, P, order: _bare((X + P)[order]),
            "You moved P together with the words, so both of the pair are equal whatever P is. Place 0 stays place 0: "
            "reorder X, then add P.",
        ),
        slip(
            "places move, words stay",
            None,
            lambda X, P, order: _bare(X + P[order]),
            "In the second you reordered the places and left the words. It is the other way round: X[order] + P.",
        ),
        slip(
            "softmax of the columns",
            lambda X, P, order: _down(X + P)[order],
            lambda X, P, order: _down(X[order] + P),
            "Your softmax goes down the columns. Each word shares its weight among the keys: dim=-1.",
        ),
        slip(
            "causal",
            lambda X, P, order: _behind(X + P)[order],
            lambda X, P, order: _behind(X[order] + P),
            "You hid the words to come. Bare self-attention lets every word look at all.",
        ),
        slip(
            "reordered twice",
            None,
            lambda X, P, order: _bare(X[order] + P)[order],
            "The words of the second were in the new order already when they went in. Reordering the outputs again mixes "
            "them up.",
        ),
        slip(
            "put back",
            None,
            lambda X, P, order: _bare(X[order] + P)[order.argsort()],
            "You put the outputs of the second back into the old order. Leave them in the new one.",
        ),
        slip(
            "second not reordered",
            None,
            lambda X, P, order: _bare(X + P),
            "The second belongs to the old sentence. Its words go in as X[order].",
        ),
        slip(
            "first reordered before",
            lambda X, P, order: _bare(X[order] + P),
            None,
            "In the first, the words were reordered before the attention. There the outputs are reordered, afterwards.",
        ),
        slip(
            "pair turned round",
            lambda X, P, order: _swapped(X, P, order)[1],
            lambda X, P, order: _swapped(X, P, order)[0],
            "The two are right, and in the wrong order.",
        ),
        slip(
            "P is ignored",
            lambda X, P, order: _bare(X)[order],
            lambda X, P, order: _bare(X[order]),
            "The places do not enter: word i goes in as X[i] + P[i].",
        ),
        slip(
            "no place in the second",
            None,
            lambda X, P, order: _bare(X[order]),
            "The places are missing in the second: X[order] + P.",
        ),
        slip(
            "no place in the first",
            lambda X, P, order: _bare(X)[order],
            None,
            "The places are missing in the first: X + P.",
        ),
        slip(
            "places added to the outputs",
            lambda X, P, order: (_bare(X) + P)[order],
            lambda X, P, order: _bare(X[order]) + P,
            "You add the places to what comes out. They belong to what goes in.",
        ),
        slip(
            "places multiplied",
            lambda X, P, order: _bare(X * P)[order],
            lambda X, P, order: _bare(X[order] * P),
            "You multiply words and places. Add them.",
        ),
        slip(
            "no scale",
            lambda X, P, order: _unscaled(X + P)[order],
            lambda X, P, order: _unscaled(X[order] + P),
            "Your attention has no scale: divide the scores by √d.",
        ),
        slip(
            "values without places",
            lambda X, P, order: (_weights(X + P) @ X)[order],
            lambda X, P, order: _weights(X[order] + P) @ X[order],
            "Queries and keys have their places, the values have not. All three are X + P: attention(Z, Z, Z).",
        ),
        slip(
            "no attention",
            lambda X, P, order: (X + P)[order],
            lambda X, P, order: X[order] + P,
            "These are what goes in. The attention is missing.",
        ),
        slip(
            "weights returned",
            lambda X, P, order: _weights(X + P)[order],
            lambda X, P, order: _weights(X[order] + P),
            "These are the weights. attention gives back a pair; its first is the output.",
        ),
        Slip(
            "one thing returned",
            lambda X, P, order: _swapped(X, P, order)[0],
            "Return a pair; the first of the two came alone.",
        ),
        Slip(
            "one thing returned",
            lambda X, P, order: _swapped(X, P, order)[1],
            "Return a pair; the second of the two came alone.",
        ),
        Slip(
            "difference returned",
            lambda X, P, order: _swapped(X, P, order)[0] - _swapped(X, P, order)[1],
            "This is how far the two differ. Return both.",
        ),
    ]


def _weights(Z: Tensor) -> Tensor:
    return (Z @ Z.T / math.sqrt(Z.shape[-1])).softmax(-1)


def _unscaled(Z: Tensor) -> Tensor:
    return (Z @ Z.T).softmax(-1) @ Z


@exercise("self_attention.softmax-backward", answer="softmax_backward")
def softmax_backward(student: Any, expect: Expect) -> None:
    shapes = [(3, 3), (2, 6), (2, 3, 7), (4, 3, 2, 5), (5,)]  # square first: there an axis that was not kept fits too
    inputs = [(torch.randn(shape).mul(1.5).softmax(-1), torch.randn(shape)) for shape in shapes]
    expect.agrees(
        student.softmax_backward,
        lambda p, g: p * (g - (p * g).sum(-1, keepdim=True)),
        inputs,
        holds="each row is pᵢ (gᵢ − Σⱼ pⱼgⱼ), for one row, and under one to three leading axes",
        slips=_slips_of_the_gradient(),
        describe="the gradient of the scores",
    )
    scores, g = torch.randn(3, 2, 11, requires_grad=True), torch.randn(3, 2, 11)
    weights = scores.softmax(-1)
    (by_autograd,) = torch.autograd.grad(weights, scores, g)
    with _Shapes() as made:
        got = student.softmax_backward(weights.detach(), g)
    expect.close(
        got,
        by_autograd,
        holds="it equals what autograd finds, for a batch of rows",
        describe="a batch of shape (3, 2, 11)",
    )
    expect.true(
        all(shape.count(11) < 2 for shape in made.shapes),
        holds="no m × m matrix was built",
        otherwise="Right, but with a matrix of m × m on the way, the Jacobian. Apply its two terms to g one by one: "
        "for the second, pᵀg is a single number for each row.",
        mistake="m × m matrix",
    )


class _Shapes(TorchFunctionMode):
    """Notes the shape of each tensor that is made here; of an answer in another process there is nothing to note."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        self.shapes += [tuple(result.shape)] if isinstance(result, Tensor) else []
        return result


def _slips_of_the_gradient() -> list[Slip]:
    def slip(name: str, of: Callable[[Tensor, Tensor, Tensor], Tensor], message: str) -> Slip:
        """`of` p, g, and the mean of g under p."""
        return Slip(name, lambda p, g: of(p, g, (p * g).sum(-1, keepdim=True)), message)

    return [
        slip(
            "each weight by itself",
            lambda p, g, mean: p * (1 - p) * g,
            "pᵢ(1 − pᵢ) is the diagonal of the Jacobian: how a weight answers to its own score. Raising one score also "
            "lowers all other weights.",
        ),
        slip(
            "without the mean",
            lambda p, g, mean: p * g,
            "That is diag(p) g. The second half of the Jacobian, −ppᵀ, is missing: subtract from g its mean under p.",
        ),
        slip(
            "plain mean",
            lambda p, g, mean: p * (g - g.mean(-1, keepdim=True)),
            "You subtracted the plain mean of g. The mean that the Jacobian asks for is weighted by p: Σⱼ pⱼgⱼ.",
        ),
        slip(
            "plain sum",
            lambda p, g, mean: p * (g - g.sum(-1, keepdim=True)),
            "You subtracted the plain sum of g. Each gⱼ is weighted by its pⱼ: Σⱼ pⱼgⱼ.",
        ),
        slip(
            "mean of the products",
            lambda p, g, mean: p * (g - mean / p.shape[-1]),
            "You took the mean of pⱼgⱼ, which divides by m once more. Their sum is the mean of g under p.",
        ),
        slip(
            "one sum for all rows",
            lambda p, g, mean: p * (g - (p * g).sum()),
            "You summed over all rows at once. Every row has a softmax of its own: sum along dim=-1 and keep that axis.",
        ),
        slip(
            "sum over the first axis",
            lambda p, g, mean: p * (g - (p * g).sum(0, keepdim=True)),
            "You summed over the first axis. The rows run along the last one: dim=-1.",
        ),
        slip(
            "axis counted from the front",
            lambda p, g, mean: p * (g - (p * g).sum(1, keepdim=True)),
            "dim=1 is the last axis for two axes only. Count from the end: dim=-1.",
        ),
        slip(
            "axis not kept",
            lambda p, g, mean: p * (g - mean.squeeze(-1)),
            "The sums of the rows lie along the wrong axis; they fit only where there are as many rows as columns. Keep "
            "the axis: keepdim=True.",
        ),
        slip(
            "sign turned",
            lambda p, g, mean: p * (mean - g),
            "All signs are turned. A score whose g lies above the mean must get a positive gradient: g − Σⱼ pⱼgⱼ, in this "
            "order.",
        ),
        slip(
            "added",
            lambda p, g, mean: p * (g + mean),
            "You added the mean. The Jacobian is diag(p) − ppᵀ: subtract it.",
        ),
        slip(
            "p not in front",
            lambda p, g, mean: g - mean,
            "The factor p in front is missing: a weight near 0 hardly moves, whatever its score does.",
        ),
        slip(
            "gradient of the logarithm",
            lambda p, g, mean: g - p * g.sum(-1, keepdim=True),
            "That is the gradient through log softmax. Here g belongs to the weights themselves.",
        ),
        slip(
            "gradient of the cross entropy",
            lambda p, g, mean: p - g,
            "p − g is what cross entropy sends to the scores. Here g is any gradient, sent to the weights.",
        ),
        slip(
            "p outside forgotten once",
            lambda p, g, mean: p * g - mean,
            "p multiplies the first term only. The second is p (pᵀg).",
        ),
        slip(
            "g is ignored",
            lambda p, g, mean: p * (1 - p),
            "g does not enter. This is the diagonal of the Jacobian, and it is yet to be multiplied with g.",
        ),
        slip(
            "handed on unchanged",
            lambda p, g, mean: g,
            "g came back as it was. It still has to pass the softmax.",
        ),
        slip(
            "1 − p too much",
            lambda p, g, mean: p * (1 - p) * (g - mean),
            "There is a factor 1 − p too much. The mean that is subtracted holds it already.",
        ),
        slip(
            "p twice",
            lambda p, g, mean: p * g - p * p * mean,
            "p stands squared before the mean. The second term is p (pᵀg).",
        ),
        slip(
            "g twice",
            lambda p, g, mean: p * g * (1 - mean),
            "g multiplies the mean too. It stands in the first term and inside the mean, nowhere else.",
        ),
        slip(
            "largest subtracted",
            lambda p, g, mean: p * (g - g.amax(-1, keepdim=True)),
            "You subtracted the largest gⱼ, as one does with scores before an exp. Here it is the mean of g under p.",
        ),
        slip(
            "mean returned",
            lambda p, g, mean: p * mean,
            "That is the second half of the Jacobian alone, ppᵀg. It is subtracted from diag(p) g.",
        ),
        slip(
            "softmax twice",
            lambda p, g, mean: p.softmax(-1) * (g - (p.softmax(-1) * g).sum(-1, keepdim=True)),
            "You took a softmax of p. It holds weights already.",
        ),
        slip(
            "p and g exchanged",
            lambda p, g, mean: g * (p - mean),
            "p and g are exchanged: p (g − Σⱼ pⱼgⱼ).",
        ),
        slip(
            "divided by p",
            lambda p, g, mean: (g - mean) / p,
            "You divide by p. The weight multiplies.",
        ),
    ]
