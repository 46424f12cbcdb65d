"""Judges of the exercises in chapter `multihead`."""

import math

import torch
from torch import Tensor

from tfm_lib.checks.judge import Mistake, exercise


@exercise("multihead.split", answer=("split", "merge"))
def split_and_merge(student, expect):
    X = torch.arange(48.0).reshape(2, 4, 6)  # no axis as long as another, and d_k = 2
    want = X.unflatten(-1, (3, 2)).transpose(1, 2)
    expect.close(
        student.split(X, 3),
        want,
        holds="split: each head gets its slice of every vector",
        mistakes=[
            Mistake(
                "split without exchanging axes",
                X.reshape(2, 3, 4, 2),
                "The shape is right, the numbers are not: reshape reads on from one vector into the next, so a head "
                "gets pieces of several words. Cut the last axis first, then exchange positions and heads.",
            ),
            Mistake(
                "heads interleaved",
                X.unflatten(-1, (2, 3)).permute(0, 3, 1, 2),
                "Head 0 got every third number. A head is one piece without gaps: cut the last axis into "
                "(n_heads, d_k), in this order.",
            ),
            Mistake(
                "heads not in front",
                X.unflatten(-1, (3, 2)),
                "The vectors are cut rightly, but the heads stand behind the positions, (batch, n, n_heads, d_k). "
                "Attention would let the heads of one word attend to each other. Exchange axes 1 and 2.",
            ),
        ],
        describe="split of X (2, 4, 6) into 3 heads",
    )
    expect.close(
        student.merge(want),
        X,
        holds="merge: the heads of a position side by side",
        mistakes=[
            Mistake(
                "merge without exchanging axes",
                want.reshape(2, 4, 6),
                "The shape is right, the numbers are not: reshape goes through one head after the other, so a vector "
                "gets pieces of several words. Bring positions before heads, then join.",
            ),
            Mistake(
                "merged with the heads innermost",
                want.permute(0, 2, 3, 1).reshape(2, 4, 6),
                "The numbers of the heads alternate. Each head's numbers stay together: (batch, n, n_heads, d_v) "
                "before you join the last two axes.",
            ),
            Mistake(
                "heads averaged",
                want.mean(1),
                "The mean over the heads stirs together what they kept apart. Lay them side by side.",
            ),
        ],
        describe="merge of these heads",
    )
    again = torch.randn(3, 5, 8)
    for n_heads in (1, 2, 8):
        expect.close(student.merge(student.split(again, n_heads)), again, holds="and merge undoes split")


@exercise("multihead.look-back", answer="looks_back")
def look_back(student, expect):
    weights = torch.tensor(
        [
            [[1.0, 0, 0, 0], [0.8, 0.2, 0, 0], [0.1, 0.6, 0.3, 0], [0.2, 0.1, 0.4, 0.3]],
            [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]],
        ]
    )
    line = weights.diagonal(-1, -2, -1)
    want = line.mean(-1)
    expect.close(
        student.looks_back(weights),
        want,
        holds="two heads over four words: 0.6 and 0.15",
        mistakes=[
            Mistake(
                "looks at itself",
                weights.diagonal(0, -2, -1).mean(-1),
                "This is the diagonal: the weight that a word gives to itself. The word before is one column to "
                "the left.",
            ),
            Mistake(
                "looks ahead",
                weights.diagonal(1, -2, -1).mean(-1),
                "This is the line above the diagonal, the weight on the next word. Rows are queries: the word before "
                "word i is key i − 1, below the diagonal.",
            ),
            Mistake(
                "counts the first word",
                line.sum(-1) / 4,
                "You divided by n. The first word has no word before it, so there are n − 1 weights to average.",
            ),
            Mistake(
                "summed",
                line.sum(-1),
                "This is the sum of the weights. Their mean says how strong the habit is, whatever the length.",
            ),
            Mistake(
                "all heads in one",
                line.mean(),
                "One number for all heads. They have different habits; average over the positions of each.",
            ),
        ],
        describe="the mean weight on the word before",
    )
    random = torch.rand(5, 9, 9).softmax(-1)
    expect.close(student.looks_back(random), random.diagonal(-1, -2, -1).mean(-1), holds="five heads over nine words")


@exercise("multihead.from-matrices", answer="multi_head")
def from_matrices(student, expect):
    n, d_model, h = 5, 8, 2
    X = torch.randn(n, d_model)
    W_Q, W_K, W_V, W_O = torch.randn(4, d_model, d_model) / 2
    Q, K, V = (_heads(X @ W, h) for W in (W_Q, W_K, W_V))
    scores = Q @ K.mT
    heads = _attend(scores / math.sqrt(d_model // h), V)
    wide = ((X @ W_Q) @ (X @ W_K).T / math.sqrt(d_model)).softmax(-1) @ (X @ W_V) @ W_O
    own_input = _attend(_heads(X, h) @ _heads(X, h).mT / 2, _heads(X, h))
    expect.close(
        student.multi_head(X, W_Q, W_K, W_V, W_O, h),
        _join(heads) @ W_O,
        holds="two heads over five words",
        mistakes=[
            Mistake(
                "scaled by d_model",
                _join(_attend(scores / math.sqrt(d_model), V)) @ W_O,
                "The scores are divided by √d_model. A head's query and key have only d_k = d_model / h numbers, "
                "and the variance of their dot product is d_k.",
            ),
            Mistake(
                "not scaled",
                _join(_attend(scores, V)) @ W_O,
                "The scores are not divided by √d_k, with d_k = d_model / h.",
            ),
            Mistake(
                "no W_O",
                _join(heads),
                "These are the heads side by side. The last step is missing: W_O mixes them.",
            ),
            Mistake(
                "one wide head",
                wide,
                "This is a single head of full width: one softmax for all. Cut queries, keys and values into "
                "n_heads pieces, and give each its own scores and softmax.",
            ),
            Mistake(
                "joined in the wrong order",
                heads.reshape(n, d_model) @ W_O,
                "The heads are right, the joining is not: reshape read one head to its end before it began the next, "
                "so each output mixes several words. Positions first, then join.",
            ),
            Mistake(
                "softmax over the queries",
                _join((scores / 2).softmax(-2) @ V) @ W_O,
                "The columns sum to 1, not the rows. Each query shares its weight among the keys: dim=-1.",
            ),
            Mistake(
                "words cut instead of projections", _join(own_input) @ W_O, "The matrices W_Q, W_K, W_V are not used."
            ),
        ],
        describe="the output",
    )
    X, h = torch.randn(3, 12), 4
    W_Q, W_K, W_V, W_O = torch.randn(4, 12, 12) / 3
    Q, K, V = (_heads(X @ W, h) for W in (W_Q, W_K, W_V))
    want = _join(_attend(Q @ K.mT / math.sqrt(3), V)) @ W_O
    expect.close(student.multi_head(X, W_Q, W_K, W_V, W_O, h), want, holds="four heads of width 3")
    want = _join(_attend((X @ W_Q @ (X @ W_K).T / math.sqrt(12))[None], (X @ W_V)[None])) @ W_O
    expect.close(student.multi_head(X, W_Q, W_K, W_V, W_O, 1), want, holds="one head is the attention you know")


def _heads(X: Tensor, h: int) -> Tensor:
    return X.unflatten(-1, (h, -1)).transpose(-3, -2)


def _attend(scores: Tensor, V: Tensor) -> Tensor:
    return scores.softmax(-1) @ V


def _join(heads: Tensor) -> Tensor:
    return heads.transpose(-3, -2).flatten(-2)


@exercise("multihead.contributions", answer="contributions")
def contributions(student, expect):
    heads, W_O = torch.randn(2, 3, 4), torch.randn(8, 8)
    blocks = W_O.unflatten(0, (2, 4))
    want = heads @ blocks
    expect.close(
        student.contributions(heads, W_O),
        want,
        holds="two heads: each with its own rows of W_O",
        mistakes=[
            Mistake(
                "columns instead of rows",
                heads @ W_O.T.unflatten(0, (2, 4)),
                "You used columns of W_O. In head · W the numbers of the head meet the rows of W. "
                "(nn.Linear keeps the transpose, so there it is the columns. Here W_O is as in the paper.)",
            ),
            Mistake(
                "every h-th row",
                heads @ W_O.unflatten(0, (4, 2)).transpose(0, 1),
                "Head 0 got every second row of W_O. Concatenated, a head's numbers stand together, and so do its "
                "rows.",
            ),
            Mistake(
                "already summed",
                want.sum(0),
                "This is the whole output, the sum over the heads. Leave the axis of the heads as it is.",
            ),
            Mistake(
                "always the first block",
                heads @ blocks[0],
                "Every head was multiplied by the first d_v rows. Head i owns rows i · d_v to (i + 1) · d_v − 1.",
            ),
            Mistake(
                "heads swapped",
                heads @ blocks.flip(0),
                "Each head got the rows of the other one.",
            ),
        ],
        describe="what each head adds",
    )
    heads, W_O = torch.randn(3, 5, 2), torch.randn(6, 7)
    answer = student.contributions(heads, W_O)
    expect.shape(answer, (3, 5, 7), holds="one term a head, as wide as the output")
    expect.close(
        sum(term for term in answer),
        _join(heads) @ W_O,
        holds="together they are Concat(…) W_O",
        describe="the sum of the terms",
    )
    expect.close(answer, heads @ W_O.unflatten(0, (3, 2)), holds="for any number of heads")


@exercise("multihead.cost", answer="bill")
def cost(student, expect):
    n, d_model, h = 10, 24, 4
    projections, products, weights = 4 * n * d_model**2, 2 * n * n * d_model, h * n * n
    answer = student.bill(n, d_model, h)
    expect.true(
        isinstance(answer, (tuple, list)) and len(answer) == 2,
        holds="two numbers come back",
        otherwise=f"Expected the pair (multiplications, weights), got a {type(answer).__name__}.",
    )
    multiplications, made = answer
    expect.close(
        multiplications,
        projections + products,
        holds="10 words, width 24, 4 heads: 27,840 multiplications",
        mistakes=[
            Mistake(
                "heads of full width",
                projections + h * products,
                "The two products are counted with width d_model in every head. A head is d_model / h wide, so all "
                "heads together cost what one wide head does.",
            ),
            Mistake(
                "everything times h",
                h * (projections + products),
                "This is h times the right number. Each head's matrices and vectors are h times narrower.",
            ),
            Mistake(
                "W^O forgotten",
                3 * n * d_model**2 + products,
                "Three projections are counted. The fourth is W^O, which mixes the heads at the end.",
            ),
            Mistake(
                "means forgotten",
                projections + products // 2,
                "The scores are counted, the means are not: weights times values is a product as large as queries "
                "times keys.",
            ),
            Mistake(
                "width of one head only",
                projections + products // h,
                "The two products of one head are counted. There are h heads.",
            ),
            Mistake(
                "no projections",
                products,
                "Scores and means are counted. The four projections are missing; for short sentences they are most "
                "of it.",
            ),
        ],
        describe="the multiplications for n = 10, d_model = 24, 4 heads",
    )
    expect.close(
        made,
        weights,
        holds="400 weights",
        mistakes=[
            Mistake(
                "weights of one head",
                n * n,
                "These are the weights of one head. Every head has n² of its own: this is what grows with h.",
            ),
            Mistake(
                "weights as wide as a head", weights * d_model // h, "A weight is one number for a query and a key."
            ),
        ],
        describe="the number of weights",
    )
    for n, d_model, h in ((64, 256, 16), (512, 256, 1)):
        answer = student.bill(n, d_model, h)
        want = [4 * n * d_model**2 + 2 * n * n * d_model, h * n * n]
        expect.close([int(x) for x in answer], want, holds="and for other sizes", describe=f"bill({n}, {d_model}, {h})")


@exercise("multihead.prune", answer="prune")
def prune_heads(student, expect):
    def cost(off) -> float:
        return sum((0.1, 0.2, 0.3, 0.4)[i] for i in set(off)) + ({0, 1} <= set(off))

    expect.close(
        student.prune(cost, 4),
        [0, 2, 3, 1],
        holds="head 1 stays to the last, because head 0 is gone",
        mistakes=[
            Mistake(
                "asked once",
                [0, 1, 2, 3],
                "These are the heads by what each costs alone. Heads 0 and 1 do the same job: when 0 is off, 1 is no "
                "longer cheap. Ask again after each head that goes, with those already off.",
            ),
            Mistake(
                "most important first",
                [3, 2, 1, 0],
                "This takes the head that is missed most. The first to go is the one without which the cost is least.",
            ),
            Mistake(
                "the same head again",
                [0, 0, 0, 0],
                "A head that is off cannot be switched off again. Choose among those left.",
            ),
            Mistake(
                "costs instead of heads",
                [0.1, 0.4, 0.8, 2.0],
                "These are the costs on the way. Return the numbers of the heads, in the order in which they go.",
            ),
        ],
        describe="the order",
    )
    single, both = torch.rand(6).tolist(), torch.rand(6, 6)
    left, order = set(range(6)), []

    def random_cost(off) -> float:
        off = sorted(set(off))
        return sum(single[i] for i in off) + sum(both[i, j].item() for i in off for j in off if i < j)

    while left:
        order.append(min(left, key=lambda i: random_cost([*order, i])))
        left.remove(order[-1])
    expect.close(student.prune(random_cost, 6), order, holds="six heads that depend on one another")
    expect.close(student.prune(lambda off: 1.0, 1), [0], holds="a single head")


@exercise("multihead.cached-step", answer="step")
def cached_step(student, expect):
    h, d_k, d_model, n = 2, 3, 6, 5
    X, (W_Q, W_K, W_V) = torch.randn(n, d_model), torch.randn(3, h, d_model, d_k) / 2
    Q, K, V = (X @ W for W in (W_Q, W_K, W_V))  # (h, n, d_k)
    past = slice(0, n - 1)
    answer = student.step(X[-1], K[:, past], V[:, past], W_Q, W_K, W_V)
    expect.true(
        isinstance(answer, (tuple, list)) and len(answer) == 3,
        holds="three tensors come back",
        otherwise=f"Expected (outputs, K, V), got a {type(answer).__name__}.",
    )
    output, longer_K, longer_V = answer

    def found(keys: Tensor, values: Tensor, scale: float) -> Tensor:
        return ((Q[:, -1:] @ keys.mT / scale).softmax(-1) @ values)[:, 0]

    root = math.sqrt(d_k)
    expect.close(
        output,
        found(K, V, root),
        holds="the new word finds what the whole pass finds in its last row",
        mistakes=[
            Mistake(
                "does not see itself",
                found(K[:, past], V[:, past], root),
                "The new word attends to the words before it, but not to itself: its key and value were appended "
                "too late, or not at all. Append, then attend.",
            ),
            Mistake(
                "forgets the past",
                V[:, -1],
                "The new word sees only itself, and gets its own value. Its query must meet the kept keys as well.",
            ),
            Mistake(
                "scaled by the length",
                found(K, V, math.sqrt(n)),
                "The scores are divided by the root of the number of keys. d_k is the width of a key, the last axis.",
            ),
            Mistake("not scaled", found(K, V, 1.0), "The scores are not divided by √d_k."),
            Mistake(
                "asks with its key",
                ((K[:, -1:] @ K.mT / root).softmax(-1) @ V)[:, 0],
                "The new word asks with its key. The query is x @ W_Q.",
            ),
        ],
        describe="the heads' outputs",
    )
    in_front = (
        "The new key and value stand in front of the old ones. This output is still right, since attention sees a "
        "set, but masks and positions count on the order: append at the end."
    )
    for name, got, want in (("K", longer_K, K), ("V", longer_V, V)):
        expect.close(
            got,
            want,
            holds="K and V hold all words, in order",
            mistakes=[
                Mistake("new word in front", want.roll(1, 1), in_front),
                Mistake(
                    "nothing kept",
                    want[:, past],
                    f"{name} came back as it was. Give back the longer one, or the next word will not know this one.",
                ),
                Mistake(
                    "only the new word kept",
                    want[:, -1:],
                    f"{name} holds the new word only. The next word needs all of them.",
                ),
            ],
            describe=name,
        )
    empty = torch.zeros(h, 0, d_k)
    first, *_ = student.step(X[0], empty, empty, W_Q, W_K, W_V)
    expect.close(first, V[:, 0], holds="the first word, with nothing kept yet, gets its own value")
