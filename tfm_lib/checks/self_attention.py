"""Judges of the exercises in `chapters/self_attention.md`."""

import math
from typing import Any

import torch
from torch import Tensor

from tfm_lib.checks.judge import Expect, Mistake, exercise


@exercise("self_attention.projections", answer="self_attend")
def projections(student: Any, expect: Expect) -> None:
    X = torch.tensor([[1.0, 0, 2], [0, 1, 1], [1, 1, 0], [2, 0, 1]])
    W_Q = torch.tensor([[1.0, 2, 0], [0, 1, 1], [1, 0, 0]])
    W_K = torch.tensor([[0.0, 1, 0], [1, 0, 2], [0, 1, 1]])
    W_V = torch.tensor([[1.0, 0, 1], [2, 1, 0], [0, 0, 3]])
    output, weights = _pair(student.self_attend(X, W_Q, W_K, W_V), expect, "(output, weights)")
    scores = X @ W_Q @ (X @ W_K).T
    scaled = scores / math.sqrt(3)
    expect.shape(weights, (4, 4), "4 words give a weight for each of 4 × 4 pairs")
    expect.close(
        weights,
        scaled.softmax(-1),
        holds="each row of weights is softmax(QKᵀ / √d_k)",
        describe="the weights",
        mistakes=[
            Mistake(
                "softmax over the queries",
                scaled.softmax(0),
                "Your columns sum to 1, not your rows. Query i is row i, and it divides its attention among the keys: softmax along dim=-1.",
            ),
            Mistake(
                "matrices on the wrong side",
                (X @ W_Q.T @ (X @ W_K.T).T / math.sqrt(3)).softmax(-1),
                "You multiplied with the transposed matrices. Here Q = X @ W_Q, as in the formula; only nn.Linear keeps its weight transposed.",
            ),
            Mistake(
                "√T instead of √d_k",
                (scores / math.sqrt(4)).softmax(-1),
                "You divided by √T, the root of the number of words. A score is a sum of d_k products: the scale is √d_k, with d_k = Q.shape[-1].",
            ),
            Mistake(
                "no scale",
                scores.softmax(-1),
                "The scale is missing: divide the scores by √d_k before the softmax.",
            ),
            Mistake(
                "scale after the softmax",
                scores.softmax(-1) / math.sqrt(3),
                "You divided after the softmax, so your rows sum to 1/√d_k. The scale belongs to the scores, before the softmax.",
            ),
        ],
    )
    expect.close(output, scaled.softmax(-1) @ X @ W_V, holds="the output mixes the values XW^V", describe="the output")
    # d_model, d_k and d_v all differ here, so a size taken from the wrong matrix shows
    X, W_Q, W_K, W_V = torch.randn(4, 5), torch.randn(5, 2), torch.randn(5, 2), torch.randn(5, 3)
    output, weights = _pair(student.self_attend(X, W_Q, W_K, W_V), expect, "(output, weights)")
    want = (X @ W_Q @ (X @ W_K).T / math.sqrt(2)).softmax(-1)
    expect.close(
        weights, want, holds="also when d_model, d_k and d_v differ", describe="the weights for d_model 5, d_k 2, d_v 3"
    )
    expect.close(
        output,
        want @ X @ W_V,
        holds="also when d_model, d_k and d_v differ",
        describe="the output for d_model 5, d_k 2, d_v 3",
    )


@exercise("self_attention.scale", answer="score_scale")
def scale(student: Any, expect: Expect) -> None:
    expect.close(
        student.score_scale(64, 4.0, 9.0),
        48.0,
        holds="the root of d_k · var_q · var_k",
        describe="score_scale(64, 4.0, 9.0)",
        mistakes=[
            Mistake(
                "variance instead of standard deviation",
                2304.0,
                "2304 is the variance of the scores. Dividing by c divides a variance by c²: to bring it to 1, divide by its root.",
            ),
            Mistake(
                "only √d_k",
                8.0,
                "That is √d_k, right for variance 1. Here each product qᵢkᵢ has variance var_q · var_k = 36, and there are 64 of them.",
            ),
            Mistake(
                "variances outside the root",
                288.0,
                "You multiplied √d_k by the variances. The variance of the sum is d_k · var_q · var_k, and the root goes over all of it.",
            ),
            Mistake(
                "variances added",
                8 * math.sqrt(13),
                "Variances add for a *sum* of independent numbers. qᵢkᵢ is a product: with mean 0, its variance is var_q · var_k.",
            ),
            Mistake(
                "product of the lengths",
                384.0,
                "That is ‖q‖ · ‖k‖, about √(d_k var_q) · √(d_k var_k). It turns scores into cosines, whose spread is 1/√d_k, not 1.",
            ),
        ],
    )
    expect.close(
        student.score_scale(512, 1.0, 1.0),
        math.sqrt(512),
        holds="variance 1 gives back √d_k",
        describe="score_scale(512, 1.0, 1.0)",
    )
    q, k = 2 * torch.randn(20_000, 64), 3 * torch.randn(20_000, 64)
    spread = ((q * k).sum(-1) / torch.as_tensor(student.score_scale(64, 4.0, 9.0))).var().item()
    expect.true(
        abs(spread - 1) < 0.1,
        holds="20 000 random pairs, divided by your scale, have variance 1 to within a tenth",
        otherwise=f"20 000 random pairs, divided by your scale, have variance {spread:.2f} instead of 1.",
    )


@exercise("self_attention.looked-at", answer="words_looked_at")
def looked_at(student: Any, expect: Expect) -> None:
    weights = torch.tensor([[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.1, 0.3, 0.6]])
    H = torch.special.entr(weights).sum(-1)
    expect.close(
        student.words_looked_at(weights),
        H.exp(),
        holds="each row gives e to the power of its entropy",
        describe="the effective numbers of words",
        mistakes=[
            Mistake(
                "entropy without e to its power",
                H,
                "That is the entropy, in nats. A query that looks at m words alike has entropy ln m; e to that power is m.",
            ),
            Mistake(
                "sum over the queries",
                torch.special.entr(weights).sum(0).exp(),
                "You summed down the columns. A row is what one query does: sum along dim=-1.",
            ),
            Mistake(
                "bits read as nats",
                (H / math.log(2)).exp(),
                "You took log2 and then e to its power. Stay in one base: 2 to the power of bits, or e to the power of nats.",
            ),
            Mistake(
                "one over the sum of squares",
                1 / (weights**2).sum(-1),
                "That is 1/Σw², another fair way to count, but not the one that belongs to the entropy.",
            ),
        ],
    )
    expect.close(
        student.words_looked_at(torch.full((1, 8), 1 / 8)),
        [8.0],
        holds="8 equal weights count as 8 words",
        describe="8 equal weights",
    )
    expect.close(
        student.words_looked_at(torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])),
        [1.0, 2.0],
        holds="a weight of exactly 0 adds nothing",
        describe="rows with weights of exactly 0",
        mistakes=[
            Mistake(
                "0 · log 0",
                [math.nan, math.nan],
                "A weight of exactly 0 gave NaN: log 0 is −∞, and 0 · (−∞) is NaN. The limit of w ln w is 0; torch.special.xlogy or torch.special.entr knows it.",
            ),
        ],
    )


@exercise("self_attention.bilinear", answer="score_matrix")
def bilinear(student: Any, expect: Expect) -> None:
    W_Q = torch.tensor([[1.0, 0, 2], [0, 1, 0], [1, 1, 0], [0, 0, 1], [2, 0, 1]])
    W_K = torch.tensor([[0.0, 1, 0], [1, 0, 1], [2, 0, 0], [0, 1, 1], [1, 1, 0]])
    M = student.score_matrix(W_Q, W_K)
    expect.shape(
        M,
        (5, 5),
        holds="M is d_model × d_model",
        mistakes=[
            Mistake(
                "inner instead of outer",
                (3, 3),
                "W_Qᵀ W_K is d_k × d_k, and X does not fit on its sides. Write XW^Q(XW^K)ᵀ out: (XW^K)ᵀ = W^Kᵀ Xᵀ, and see what stands between X and Xᵀ.",
            )
        ],
    )
    outer = W_Q @ W_K.T
    expect.close(
        M,
        outer / math.sqrt(3),
        holds="M = W^Q W^Kᵀ / √d_k",
        describe="M",
        mistakes=[
            Mistake(
                "queries and keys swapped",
                outer.T / math.sqrt(3),
                "This is the transpose: X M Xᵀ would have queries as columns. W_Q stands on the left, beside the X of the queries.",
            ),
            Mistake(
                "no scale", outer, "The scale is missing. Fold 1/√d_k into M, so that X M Xᵀ is what the softmax gets."
            ),
            Mistake(
                "√d_model instead of √d_k",
                outer / math.sqrt(5),
                "You divided by √d_model. A score is a sum of d_k products, so it is √d_k, with d_k = W_Q.shape[1].",
            ),
            Mistake(
                "d_k instead of √d_k",
                outer / 3,
                "You divided by d_k, the variance of the scores. Divide by √d_k, their standard deviation.",
            ),
        ],
    )
    X, W_Q, W_K = torch.randn(7, 6), torch.randn(6, 2), torch.randn(6, 2)
    M = student.score_matrix(W_Q, W_K)
    expect.shape(M, (6, 6), holds="M is d_model × d_model")
    expect.close(
        X @ torch.as_tensor(M) @ X.T,
        X @ W_Q @ (X @ W_K).T / math.sqrt(2),
        holds="X M Xᵀ gives all scores of a random sentence of 7 words",
        tolerance=1e-4,
        describe="X M Xᵀ",
    )


@exercise("self_attention.swap-pair", answer="swap_pair")
def swap_pair(student: Any, expect: Expect) -> None:
    X = torch.tensor([[1.0, 0, 2, 0], [0, 1, 0, 1], [2, 1, 0, 0], [0, 0, 1, 3]])
    P = torch.tensor([[0.0, 0, 0, 0], [1, 0, 0, 1], [0, 2, 0, 0], [0, 1, 3, 0]])
    order = torch.tensor([2, 0, 3, 1])  # not its own inverse
    undone = order.argsort()
    first, second = _pair(student.swap_pair(X, P, order), expect, "(reordered outputs, outputs of the reordered words)")
    attend = _bare
    expect.shape(first, (4, 4), "one row for each word")
    expect.close(
        first,
        attend(X + P)[order],
        holds="the first has the outputs of X + P in the new order",
        describe="the first of the pair",
        mistakes=[
            Mistake(
                "outputs left in the old order",
                attend(X + P),
                "The first holds the right outputs in the old order. Index its rows with order, so that both of the pair list the same words.",
            ),
            Mistake(
                "order undone",
                attend(X + P)[undone],
                "Your rows are sorted the other way round: X[order] puts row order[i] in place i. Index; do not assign into X[order].",
            ),
            Mistake(
                "features reordered",
                attend(X + P)[:, order],
                "You reordered the columns, that is the features. Words are rows: X[order], not X[:, order].",
            ),
        ],
    )
    expect.close(
        second,
        attend(X[order] + P),
        holds="in the second the words move and the places stay",
        describe="the second of the pair",
        mistakes=[
            Mistake(
                "places travel with the words",
                attend((X + P)[order]),
                "You moved P together with the words, so both of the pair are equal whatever P is. Place 0 stays place 0: reorder X, then add P.",
            ),
            Mistake(
                "reordered twice",
                attend(X[order] + P)[order],
                "The words of the second were in the new order already when they went in. Reordering the outputs again mixes them up.",
            ),
        ],
    )
    X, order = torch.randn(6, 3), torch.randperm(6)
    without = _pair(student.swap_pair(X, torch.zeros(6, 3), order), expect, "(first, second)")
    expect.close(
        without[0],
        without[1],
        holds="with P = 0 both are equal: self-attention does not know order",
        describe="the pair for P = 0",
    )


@exercise("self_attention.softmax-backward", answer="softmax_backward")
def softmax_backward(student: Any, expect: Expect) -> None:
    p = torch.tensor([[0.7, 0.2, 0.1], [0.25, 0.5, 0.25]])
    g = torch.tensor([[1.0, 2.0, -1.0], [0.0, 3.0, 1.0]])
    mean = (p * g).sum(-1, keepdim=True)
    expect.close(
        student.softmax_backward(p, g),
        p * (g - mean),
        holds="each row is pᵢ (gᵢ − Σⱼ pⱼgⱼ)",
        mistakes=[
            Mistake(
                "each weight by itself",
                p * (1 - p) * g,
                "pᵢ(1 − pᵢ) is the diagonal of the Jacobian: how a weight answers to its own score. Raising one score also lowers all other weights.",
            ),
            Mistake(
                "without the mean",
                p * g,
                "That is diag(p) g. The second half of the Jacobian, −ppᵀ, is missing: subtract from g its mean under p.",
            ),
            Mistake(
                "plain mean",
                p * (g - g.mean(-1, keepdim=True)),
                "You subtracted the plain mean of g. The mean that the Jacobian asks for is weighted by p: Σⱼ pⱼgⱼ.",
            ),
            Mistake(
                "one sum for all rows",
                p * (g - (p * g).sum()),
                "You summed over all rows at once. Every row has a softmax of its own: sum along dim=-1 and keep that axis.",
            ),
            Mistake(
                "sign turned",
                p * (mean - g),
                "All signs are turned. A score whose g lies above the mean must get a positive gradient: g − Σⱼ pⱼgⱼ, in this order.",
            ),
        ],
    )
    scores, g = torch.randn(2, 3, 5, requires_grad=True), torch.randn(2, 3, 5)
    weights = scores.softmax(-1)
    (by_autograd,) = torch.autograd.grad(weights, scores, g)
    got = student.softmax_backward(weights.detach(), g)
    expect.close(
        got,
        by_autograd,
        holds="it equals what autograd finds, for a batch of rows",
        describe="a batch of shape (2, 3, 5)",
    )


def _bare(X: Tensor) -> Tensor:
    return (X @ X.T / math.sqrt(X.shape[-1])).softmax(-1) @ X


def _pair(result: Any, expect: Expect, names: str) -> tuple[Any, Any]:
    expect.true(
        isinstance(result, tuple | list) and len(result) == 2,
        holds=f"it returns the two of {names}",
        otherwise=f"Return a pair, {names}, with a comma between the two.",
    )
    return result[0], result[1]
