"""Judges of the exercises in chapter `multihead`."""

import math
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from tfm_exercises.judge import Slip, exercise
from tfm_exercises.watching import Refused


def _sizes(count: int, low: int, high: int) -> list[int]:
    """`count` different whole numbers from `low` to `high`."""
    return (torch.randperm(high - low + 1)[:count] + low).tolist()


def _heads(X: Tensor, h: int) -> Tensor:
    return X.unflatten(-1, (h, -1)).transpose(-3, -2)


def _join(heads: Tensor) -> Tensor:
    return heads.transpose(-3, -2).flatten(-2)


# split and merge

SPLIT_SLIPS = [
    Slip(
        "split without exchanging axes",
        lambda X, h: X.reshape(X.shape[0], h, X.shape[1], -1),
        "The shape is right, the numbers are not: reshape reads on from one vector into the next, so a head "
        "gets pieces of several words. Cut the last axis first, then exchange positions and heads.",
    ),
    Slip(
        "heads interleaved",
        lambda X, h: X.unflatten(-1, (-1, h)).permute(0, 3, 1, 2),
        "Head 0 got one number in n_heads. A head is one piece without gaps: cut the last axis into "
        "(n_heads, d_k), in this order.",
    ),
    Slip(
        "heads not in front",
        lambda X, h: X.unflatten(-1, (h, -1)),
        "The vectors are cut rightly, but the heads stand behind the positions, (batch, n, n_heads, d_k). "
        "Attention would let the heads of one word attend to each other. Exchange axes 1 and 2.",
    ),
    Slip(
        "heads in front of the batch",
        lambda X, h: X.unflatten(-1, (h, -1)).permute(2, 0, 1, 3),
        "The heads are right, and they stand before the batch. Axis 0 stays the batch: heads are axis 1.",
    ),
    Slip(
        "n_heads taken for the width",
        lambda X, h: X.unflatten(-1, (-1, h)).transpose(1, 2),
        "Each head is n_heads wide, and there are d_k of them. It is the other way round: n_heads heads of "
        "d_model / n_heads numbers.",
    ),
    Slip(
        "words and features exchanged",
        lambda X, h: X.unflatten(-1, (h, -1)).permute(0, 2, 3, 1),
        "The last two axes are exchanged: (batch, n_heads, d_k, n). Each word keeps a vector, so features come last.",
    ),
    *(
        Slip(
            "n_heads is ignored",
            lambda X, h, k=k: _heads(X, k),
            f"There are {k} heads, whatever n_heads says. Take their number from the argument.",
        )
        for k in (1, 2, 3, 4, 8)
    ),
]
MERGE_SLIPS = [
    Slip(
        "merge without exchanging axes",
        lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1),
        "The shape is right, the numbers are not: reshape goes through one head after the other, so a vector "
        "gets pieces of several words. Bring positions before heads, then join.",
    ),
    Slip(
        "merged with the heads innermost",
        lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
        "The numbers of the heads alternate. Each head's numbers stay together: (batch, n, n_heads, d_v) "
        "before you join the last two axes.",
    ),
    Slip(
        "heads averaged",
        lambda heads: heads.mean(1),
        "The mean over the heads stirs together what they kept apart. Lay them side by side.",
    ),
    Slip(
        "heads added",
        lambda heads: heads.sum(1),
        "The sum over the heads stirs together what they kept apart. Lay them side by side.",
    ),
    Slip(
        "heads laid one below the other",
        lambda heads: heads.flatten(1, 2),
        "The heads are joined along the positions, (batch, n_heads · n, d_v). Each word has one vector, with the "
        "heads side by side: join along the last axis.",
    ),
    Slip(
        "words joined in place of heads",
        lambda heads: heads.flatten(2),
        "The words of a head were joined, (batch, n_heads, n · d_v). Join the heads of a word: positions before heads "
        "first.",
    ),
    Slip(
        "only the first head",
        lambda heads: heads[:, 0],
        "Only head 0 came back. A vector holds the numbers of all heads, side by side.",
    ),
    Slip(
        "heads not joined",
        lambda heads: heads.transpose(1, 2),
        "The axes are in the right order, and there are still four of them. Join the last two.",
    ),
]


@exercise(
    "multihead.split",
    answer=("split", "merge"),
    forbids=("tfm_lib.multihead.split_heads", "tfm_lib.multihead.merge_heads"),
)
def split_and_merge(student, expect):
    batch, n, h = *_sizes(2, 2, 4), 3 + 2 * int(torch.randint(2, ()))
    given = [
        (torch.randn(batch, n, h * 8), h)
    ]  # a width that many numbers of heads divide: a fixed one runs, and is named
    for _ in range(2):
        batch, h, n, d_k = _sizes(4, 2, 6)
        given += [(torch.randn(batch, n, h * d_k), h)]
    whole = torch.randn(2, 3, 7)
    expect.agrees(
        student.split,
        _heads,
        given,
        "split: each head gets its slice of every vector",
        SPLIT_SLIPS,
        describe="split(X)",
    )
    expect.agrees(student.split, _heads, [(whole, 1), (whole, 7)], "one head of all, or one number a head")
    apart = [(_heads(*args).contiguous(),) for args in given]
    try:
        expect.agrees(
            student.merge,
            _join,
            apart,
            "merge: the heads of a position side by side",
            MERGE_SLIPS,
            describe="merge(heads)",
        )
        expect.agrees(student.merge, _join, [(_heads(*args),) for args in given], "and merge takes what split gives")
    except Refused as refused:
        if "view size" not in refused.message:
            raise
        text = (
            "merge stops at a `view`: it cannot join axes whose numbers do not lie in memory in this order, as after a "
            "transpose. `reshape` copies where it must."
        )
        raise Refused(text, "view after transpose") from None


# multi-head attention from its matrices


def _multi(
    X, W_Q, W_K, W_V, W_O, h, *, scale: Callable[[int, int, int], float] | None = None, cut=_heads, axis=-1, join=_join
):
    """Multi-head attention with its steps open to slips; `scale` is a function of d_k, d_model and n."""
    Q, K, V = (cut(X @ W, h) for W in (W_Q, W_K, W_V))
    by = math.sqrt(Q.shape[-1]) if scale is None else scale(Q.shape[-1], X.shape[-1], len(X))
    return join((Q @ K.mT / by).softmax(axis) @ V) @ W_O


def _eye(X: Tensor) -> Tensor:
    return torch.eye(X.shape[-1])


TURNED = "You multiplied by W.T, as nn.Linear does. Here the matrices are as in the paper, from the right: X @ W."
MULTI_SLIPS = [
    Slip(
        "scaled by d_model",
        lambda *a: _multi(*a, scale=lambda d_k, d, n: math.sqrt(d)),
        "The scores are divided by √d_model. A head's query and key have only d_k = d_model / h numbers, "
        "and the variance of their dot product is d_k.",
    ),
    Slip(
        "not scaled",
        lambda *a: _multi(*a, scale=lambda d_k, d, n: 1.0),
        "The scores are not divided by √d_k, with d_k = d_model / h.",
    ),
    Slip(
        "divided by d_k",
        lambda *a: _multi(*a, scale=lambda d_k, d, n: d_k),
        "The scores are divided by d_k. The scale is its root, √d_k.",
    ),
    Slip(
        "scaled by the length",
        lambda *a: _multi(*a, scale=lambda d_k, d, n: math.sqrt(n)),
        "The scores are divided by the root of the number of words. d_k is how wide a key of one head is.",
    ),
    Slip(
        "scaled by the number of heads",
        lambda *a: _multi(*a, scale=lambda d_k, d, n: math.sqrt(a[-1])),
        "The scores are divided by √n_heads. d_k is how wide a key of one head is, d_model / n_heads.",
    ),
    Slip(
        "no W_O",
        lambda X, Q, K, V, O, h: _multi(X, Q, K, V, _eye(X), h),
        "These are the heads side by side. The last step is missing: W_O mixes them.",
    ),
    Slip(
        "one wide head",
        lambda X, Q, K, V, O, h: _multi(X, Q, K, V, O, 1),
        "This is a single head of full width: one softmax for all. Cut queries, keys and values into "
        "n_heads pieces, and give each its own scores and softmax.",
    ),
    Slip(
        "joined in the wrong order",
        lambda *a: _multi(*a, join=lambda heads: heads.reshape(heads.shape[1], -1)),
        "The heads are right, the joining is not: reshape read one head to its end before it began the next, "
        "so each output mixes several words. Positions first, then join.",
    ),
    Slip(
        "cut without exchanging axes",
        lambda *a: _multi(
            *a, cut=lambda X, h: X.reshape(h, len(X), -1), join=lambda heads: heads.reshape(heads.shape[1], -1)
        ),
        "You reshaped straight to (n_heads, n, d_k), so a head holds pieces of several words. Cut the last axis, then "
        "exchange positions and heads; and the same way back.",
    ),
    Slip(
        "every h-th column",
        lambda *a: _multi(*a, cut=lambda X, h: X.unflatten(-1, (-1, h)).permute(2, 0, 1)),
        "A head got columns that lie n_heads apart. Head i owns the i-th block, columns that stand together.",
    ),
    Slip(
        "softmax over the queries",
        lambda *a: _multi(*a, axis=-2),
        "The columns sum to 1, not the rows. Each query shares its weight among the keys: dim=-1.",
    ),
    Slip(
        "softmax over the heads",
        lambda *a: _multi(*a, axis=0),
        "The softmax runs over the heads, so they compete for each pair of words. Each head has its own softmax, over "
        "the keys: dim=-1.",
    ),
    Slip(
        "words cut instead of projections",
        lambda X, Q, K, V, O, h: _multi(X, _eye(X), _eye(X), _eye(X), O, h),
        "The matrices W_Q, W_K, W_V are not used.",
    ),
    Slip(
        "V unprojected",
        lambda X, Q, K, V, O, h: _multi(X, Q, K, _eye(X), O, h),
        "The means are taken of X itself. The values are X @ W_V: W_V is not used.",
    ),
    Slip(
        "K unprojected",
        lambda X, Q, K, V, O, h: _multi(X, Q, _eye(X), V, O, h),
        "The queries meet X itself. The keys are X @ W_K: W_K is not used.",
    ),
    Slip(
        "Q unprojected",
        lambda X, Q, K, V, O, h: _multi(X, _eye(X), K, V, O, h),
        "X itself asks. The queries are X @ W_Q: W_Q is not used.",
    ),
    Slip(
        "W_Q for the keys too",
        lambda X, Q, K, V, O, h: _multi(X, Q, Q, V, O, h),
        "Queries and keys are the same here, both from W_Q, so every word asks for its like. The keys are X @ W_K.",
    ),
    Slip(
        "W_K for the values too",
        lambda X, Q, K, V, O, h: _multi(X, Q, K, K, O, h),
        "Keys and values are the same here, both from W_K. The values are X @ W_V.",
    ),
    Slip(
        "Q and K swapped",
        lambda X, Q, K, V, O, h: _multi(X, K, Q, V, O, h),
        "Queries and keys changed their roles, so the matrix of scores is transposed: rows are queries, Q @ K.T with "
        "Q = X @ W_Q.",
    ),
    Slip(
        "W_O transposed",
        lambda X, Q, K, V, O, h: _multi(X, Q, K, V, O.T, h),
        "The last product takes W_O.T, as nn.Linear does. Here W_O is as in the paper: heads @ W_O.",
    ),
    Slip("all transposed", lambda X, Q, K, V, O, h: _multi(X, Q.T, K.T, V.T, O.T, h), TURNED),
    Slip("all transposed", lambda X, Q, K, V, O, h: _multi(X, Q.T, K.T, V.T, O, h), TURNED),
]


@exercise(
    "multihead.from-matrices",
    answer="multi_head",
    forbids=(
        "tfm_lib.multihead.MultiHeadAttention",
        "torch.nn.MultiheadAttention",
        "torch.nn.functional.multi_head_attention_forward",
    ),
)
def from_matrices(student, expect):
    def drawn(n: int, h: int, d_k: int) -> tuple:
        d_model = h * d_k
        return (torch.randn(n, d_model), *(torch.randn(4, d_model, d_model) * 1.5 / d_model**0.5).unbind(), h)

    inputs = [drawn(*_sizes(3, 2, 6)) for _ in range(3)]
    expect.agrees(
        student.multi_head,
        _multi,
        inputs,
        "several heads, each with its own queries, keys, values and softmax",
        MULTI_SLIPS,
        tolerance=1e-4,
        describe="the output",
    )
    edges = [drawn(5, 1, 3), drawn(1, 3, 2), drawn(4, 6, 1)]
    expect.agrees(
        student.multi_head, _multi, edges, "one head, one word, heads of width 1", MULTI_SLIPS[:1], tolerance=1e-4
    )


# who wrote what


def _terms(heads: Tensor, W_O: Tensor) -> Tensor:
    return heads @ W_O.unflatten(0, (len(heads), -1))


CONTRIBUTION_SLIPS = [
    Slip(
        "columns instead of rows",
        lambda heads, W_O: torch.stack([head @ own.T for head, own in zip(heads, W_O.split(heads.shape[-1], dim=1))]),
        "You used columns of W_O. In head · W the numbers of the head meet the rows of W. "
        "(nn.Linear keeps the transpose, so there it is the columns. Here W_O is as in the paper.)",
    ),
    Slip(
        "every h-th row",
        lambda heads, W_O: heads @ W_O.unflatten(0, (-1, len(heads))).transpose(0, 1),
        "A head got rows that lie n_heads apart. Concatenated, a head's numbers stand together, and so do its rows.",
    ),
    Slip(
        "already summed",
        lambda heads, W_O: _join(heads) @ W_O,
        "This is the whole output, the sum over the heads. Leave the axis of the heads as it is.",
    ),
    Slip(
        "always the first block",
        lambda heads, W_O: heads @ W_O[: heads.shape[-1]],
        "Every head was multiplied by the first d_v rows. Head i owns rows i · d_v to (i + 1) · d_v − 1.",
    ),
    Slip(
        "heads swapped",
        lambda heads, W_O: heads @ W_O.unflatten(0, (len(heads), -1)).flip(0),
        "The blocks of rows came in reverse: head 0 got the last one. Head i owns rows i · d_v to (i + 1) · d_v − 1.",
    ),
    Slip(
        "W_O is ignored",
        lambda heads, W_O: heads,
        "These are the heads as they came. What a head writes into the output has passed its rows of W_O.",
    ),
    Slip(
        "heads not in front",
        lambda heads, W_O: _terms(heads, W_O).transpose(0, 1),
        "The terms are right, with the positions in front. The text asks for (n_heads, n, d_model).",
    ),
    Slip(
        "terms divided by h",
        lambda heads, W_O: _terms(heads, W_O) / len(heads),
        "Each term is divided by the number of heads. The output is their sum, not their mean.",
    ),
    Slip(
        "blocks one row apart",
        lambda heads, W_O: torch.stack([head @ W_O[i : i + heads.shape[-1]] for i, head in enumerate(heads)]),
        "Head i got the rows from i on, so the blocks overlap. A head is d_v wide: its rows begin at i · d_v.",
    ),
    Slip(
        "the whole output for every head",
        lambda heads, W_O: (_join(heads) @ W_O).expand(len(heads), -1, -1),
        "Every head's term is the whole output here. Each head meets its own rows of W_O only.",
    ),
    Slip(
        "running sums",
        lambda heads, W_O: _terms(heads, W_O).cumsum(0),
        "Term i holds the heads up to i. Each head's own term is asked for, without the ones before.",
    ),
]


@exercise("multihead.contributions", answer="contributions")
def contributions(student, expect):
    shapes = [_sizes(3, 2, 5) for _ in range(3)]
    widths = [shapes[0][0] * shapes[0][2], 7, 11]  # the first square: there columns fit, and can be named
    inputs = [(torch.randn(h, n, d_v), torch.randn(h * d_v, width)) for (h, n, d_v), width in zip(shapes, widths)]
    inputs += [(torch.randn(1, 3, 2), torch.randn(2, 5)), (torch.randn(4, 1, 1), torch.randn(4, 6))]
    expect.agrees(
        student.contributions,
        _terms,
        inputs,
        "each head with its own rows of W_O, as wide as the output",
        CONTRIBUTION_SLIPS,
        tolerance=1e-4,
        describe="what each head adds",
    )


# which head goes next

Cost = Callable[[Sequence[int]], float]


def _greedy(cost: Cost, n: int, key: Callable[[Cost, list[int], int, int], float] | None = None) -> list[int]:
    """The order in which heads go; `key` says by what the next is chosen, by default what it costs with those gone."""
    gone: list[int] = []
    while len(gone) < n:
        left = [i for i in range(n) if i not in gone]
        gone.append(min(left, key=lambda i: cost([*gone, i]) if key is None else key(cost, gone, i, n)))
    return gone


MISSED_MOST = "This takes the head that is missed most. The first to go is the one without which the cost is least."
PRUNE_SLIPS = [
    Slip(
        "asked once",
        lambda cost, n: _greedy(cost, n, lambda cost, gone, i, n: cost([i])),
        "These are the heads by what each costs alone. Two heads may do the same job: when one is off, the other is no "
        "longer cheap. Ask again after each head that goes, with those already off.",
    ),
    Slip("most important first", lambda cost, n: _greedy(cost, n, lambda c, gone, i, n: -c([*gone, i])), MISSED_MOST),
    Slip("most important first", lambda cost, n: _greedy(cost, n, lambda c, gone, i, n: -c([i])), MISSED_MOST),
    Slip(
        "the same head again",
        lambda cost, n: _again(cost, n),
        "A head that is off cannot be switched off again. Choose among those left.",
    ),
    Slip(
        "costs instead of heads",
        lambda cost, n: [cost(_greedy(cost, n)[: i + 1]) for i in range(n)],
        "These are the costs on the way. Return the numbers of the heads, in the order in which they go.",
    ),
    Slip(
        "order turned round",
        lambda cost, n: _greedy(cost, n)[::-1],
        "The order is turned round: the last to go stands first. Put each head behind those gone before.",
    ),
    Slip(
        "only the last one stays off",
        lambda cost, n: _greedy(cost, n, lambda cost, gone, i, n: cost([*gone[-1:], i])),
        "Each question holds the newest head and the one before, and forgets the others that are off. Ask with all "
        "that are gone.",
    ),
    Slip(
        "on and off exchanged",
        lambda cost, n: _greedy(cost, n, lambda c, gone, i, n: c([j for j in range(n) if j not in gone and j != i])),
        "You asked for the cost of switching off those that stay. `cost` takes the heads that are off.",
    ),
    Slip(
        "one head left on",
        lambda cost, n: _greedy(cost, n)[:-1],
        "The last head is missing. All are to go, so the order holds n_heads numbers.",
    ),
    Slip(
        "cost is ignored",
        lambda cost, n: list(range(n)),
        "These are the heads in the order of their numbers, whatever they cost.",
    ),
    Slip(
        "by what it costs more than alone",
        lambda cost, n: _greedy(cost, n, lambda cost, gone, i, n: cost([*gone, i]) - cost([i])),
        "You subtracted what the head costs alone. The next to go is the one with which all that are off cost "
        "least together.",
    ),
    Slip(
        "ranks",
        lambda cost, n: _ranks(_greedy(cost, n)),
        "Your list says when each head goes: place i holds the turn of head i. The text asks for the heads in the "
        "order in which they go.",
    ),
    Slip(
        "all orders tried",
        lambda cost, n: _cheapest(cost, n) if n < 6 else _greedy(cost, n),
        "You look for the order that is cheapest in sum. The text asks for a choice at each step: the head goes "
        "whose absence, with those already gone, costs least.",
    ),
    *(
        Slip(
            "n_heads is ignored",
            lambda cost, n, k=k: _greedy(cost, k),
            f"The order holds {k} heads, whatever n_heads is.",
        )
        for k in (2, 3, 4)
    ),
]


def _again(cost: Cost, n: int) -> list[int]:
    order: list[int] = []
    for _ in range(n):
        order.append(min(range(n), key=lambda i: cost([*order, i])))
    return order


def _ranks(order: list[int]) -> list[int]:
    return [order.index(i) for i in range(len(order))]


def _drawn_cost(n: int) -> Cost:
    """What heads cost, alone and in pairs."""
    single, both = torch.rand(n).tolist(), (4 * torch.rand(n, n) ** 4).tolist()

    def cost(off: Any) -> float:
        off = sorted({int(i) for i in off})
        return sum(single[i] for i in off) + sum(both[i][j] for i in off for j in off if i < j)

    return cost


def _cheapest(cost: Cost, n: int) -> list[int]:
    """The order whose costs on the way have the least sum."""

    def on_the_way(order: Sequence[int]) -> float:
        return sum(cost(order[: i + 1]) for i in range(n))

    cheapest = min(permutations(range(n)), key=on_the_way)
    return list(cheapest)


def _short_sighted_cost(n: int) -> Cost:
    """A drawn cost for which the cheapest head first is not the cheapest order."""
    return next(cost for cost in iter(lambda: _drawn_cost(n), None) if _greedy(cost, n) != _cheapest(cost, n))


@exercise("multihead.prune", answer="prune")
def prune_heads(student, expect):
    inputs = [(_drawn_cost(n), n) for n in _sizes(4, 6, 10)]
    inputs += [(_short_sighted_cost(n), n) for n in (4, 5)]
    expect.agrees(
        student.prune,
        _greedy,
        inputs,
        "each time the head goes that is missed least, given those already gone",
        PRUNE_SLIPS,
        describe="the order",
    )
    expect.agrees(student.prune, _greedy, [(_drawn_cost(1), 1), (_drawn_cost(2), 2)], "a single head, or two, as well")


# one step with a cache


def _found(q: Tensor, K: Tensor, V: Tensor, scale: float | None = None) -> Tensor:
    return ((q[:, None] @ K.mT / (scale or math.sqrt(K.shape[-1]))).softmax(-1) @ V)[:, 0]


def _step(x, K, V, W_Q, W_K, W_V, *, scale: Callable[[Tensor], float] | None = None):
    q, k, v = (x @ W for W in (W_Q, W_K, W_V))
    K, V = torch.cat([K, k[:, None]], 1), torch.cat([V, v[:, None]], 1)
    return _found(q, K, V, scale and scale(K)), K, V


def _cache(*a, of: Callable[..., tuple]) -> tuple:
    """What `of` makes of the right step's parts: q, the old K and V, the output, the new K and V."""
    x, K, V, W_Q, *_ = a
    return of(x @ W_Q, K, V, *_step(*a))


ITSELF = (
    "The new word attends to the words before it, but not to itself: its key and value were appended "
    "too late, or not at all. Append, then attend."
)
IN_FRONT = (
    "The new key and value stand in front of the old ones. This output is still right, since attention sees a "
    "set, but masks and positions count on the order: append at the end."
)
STEP_SLIPS = [
    Slip("does not see itself", lambda *a: _cache(*a, of=lambda q, K, V, o, K2, V2: (_found(q, K, V), K2, V2)), ITSELF),
    Slip("does not see itself", lambda *a: _cache(*a, of=lambda q, K, V, o, K2, V2: (_found(q, K, V), K, V)), ITSELF),
    Slip(
        "forgets the past",
        lambda *a: _cache(*a, of=lambda q, K, V, o, K2, V2: (V2[:, -1], K2, V2)),
        "The new word sees only itself, and gets its own value. Its query must meet the kept keys as well.",
    ),
    Slip(
        "scaled by the length",
        lambda *a: _step(*a, scale=lambda K: math.sqrt(K.shape[1])),
        "The scores are divided by the root of the number of keys. d_k is the width of a key, the last axis.",
    ),
    Slip("not scaled", lambda *a: _step(*a, scale=lambda K: 1.0), "The scores are not divided by √d_k."),
    Slip(
        "divided by d_k",
        lambda *a: _step(*a, scale=lambda K: K.shape[-1]),
        "The scores are divided by d_k. The scale is its root, √d_k.",
    ),
    Slip(
        "scaled by d_model",
        lambda *a: _step(*a, scale=lambda K: math.sqrt(len(a[0]))),
        "The scores are divided by √d_model. A head's key has d_k numbers, the last axis of K.",
    ),
    Slip(
        "asks with its key",
        lambda x, K, V, W_Q, W_K, W_V: _step(x, K, V, W_K, W_K, W_V),
        "The new word asks with its key. The query is x @ W_Q.",
    ),
    Slip(
        "W_V is ignored",
        lambda x, K, V, W_Q, W_K, W_V: _step(x, K, V, W_Q, W_K, W_K),
        "The new value is the new key: both come from W_K. The value is x @ W_V.",
    ),
    Slip(
        "W_Q and W_K exchanged",
        lambda x, K, V, W_Q, W_K, W_V: _step(x, K, V, W_K, W_Q, W_V),
        "The query comes from W_K and the new key from W_Q. It is the other way round.",
    ),
    Slip(
        "new word in front",
        lambda *a: _cache(*a, of=lambda q, K, V, o, K2, V2: (o, K2.roll(1, 1), V2.roll(1, 1))),
        IN_FRONT,
    ),
    Slip(
        "nothing kept",
        lambda *a: _cache(*a, of=lambda q, K, V, o, K2, V2: (o, K, V)),
        "K and V came back as they were. Give back the longer ones, or the next word will not know this one.",
    ),
    Slip(
        "only the new word kept",
        lambda *a: _cache(*a, of=lambda q, K, V, o, K2, V2: (o, K2[:, -1:], V2[:, -1:])),
        "K and V hold the new word only. The next word needs all of them.",
    ),
    Slip(
        "K and V exchanged",
        lambda *a: _cache(*a, of=lambda q, K, V, o, K2, V2: (o, V2, K2)),
        "Keys and values come back in the wrong order. Give back (outputs, K, V).",
    ),
    Slip(
        "overwrites the last",
        lambda x, K, V, W_Q, W_K, W_V: _step(x, K[:, :-1], V[:, :-1], W_Q, W_K, W_V),
        "The new key took the place of the last one, so a word of the past is gone. K and V grow by one: torch.cat.",
    ),
    Slip(
        "an axis too many",
        lambda *a: _cache(*a, of=lambda q, K, V, o, K2, V2: (o[:, None], K2, V2)),
        "The outputs still have an axis of length 1 for the query, (n_heads, 1, d_k). Take it out again.",
    ),
    Slip(
        "heads joined",
        lambda *a: _cache(*a, of=lambda q, K, V, o, K2, V2: (o.flatten(), K2, V2)),
        "The heads' outputs were joined to one vector. Here they stay apart, (n_heads, d_k).",
    ),
]


@exercise("multihead.cached-step", answer="step")
def cached_step(student, expect):
    def drawn(h: int, length: int, d_k: int, d_model: int) -> tuple:
        matrices = torch.randn(3, h, d_model, d_k) * 1.5 / d_model**0.5
        return torch.randn(d_model), torch.randn(h, length, d_k), torch.randn(h, length, d_k), *matrices.unbind()

    inputs = [drawn(*_sizes(4, 2, 7)) for _ in range(3)]
    answer = student.step(*inputs[0])
    expect.true(
        isinstance(answer, (tuple, list)) and len(answer) == 3,
        holds="three tensors come back",
        otherwise=f"Expected (outputs, K, V), got a {type(answer).__name__}.",
        mistake="no three tensors",
    )
    expect.agrees(
        student.step,
        _step,
        inputs,
        "the new word finds what a whole pass finds in its last row; K and V hold all words, in order",
        STEP_SLIPS,
        describe="(outputs, K, V)",
    )
    first = [drawn(h, 0, d_k, d_model) for h, d_k, d_model in (_sizes(3, 2, 5),)]
    expect.agrees(
        student.step,
        _step,
        first,
        "the first word, with nothing kept yet, gets its own value",
        describe="(outputs, K, V)",
    )
