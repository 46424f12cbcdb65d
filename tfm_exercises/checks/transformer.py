"""Judges of the exercises in `chapters/transformer.md`."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tfm_exercises.random_inputs import different, whole
from tfm_exercises.judge import Mistake, Slip, exercise


def _named(like: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    answer.__name__ = getattr(like, "__name__", "the answer")
    return answer


# the look across

_LIBRARY = (
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention",
    "tfm_lib.attention.attention",
)


@exercise("transformer.cross-attention", answer="cross_attention", forbids=_LIBRARY)
def cross_attention(student, expect):
    def draw() -> tuple[Tensor, ...]:
        n, m, d_model, d_k, d_v = different(5, 3, 9)
        is_word = torch.ones(m, dtype=torch.bool)
        is_word[torch.randperm(m)[: whole(1, m - 2)]] = False
        W_Q, W_K = torch.randn(2, d_model, d_k)
        return torch.randn(n, d_model), torch.randn(m, d_model), W_Q, W_K, torch.randn(d_model, d_v), is_word

    def faint() -> tuple[Tensor, ...]:
        """One word, whose scores are −92: whoever hides with −100 hides badly, and no exponential overflows."""
        Z, H, W_Q, W_K, W_V, is_word = draw()
        is_word = torch.arange(len(H)) == 1
        H = torch.where(is_word[:, None], H, 0.0)
        scores = Z @ W_Q @ W_K.T @ H[1]
        Z = Z * -scores.sign()[:, None] * 92 * math.sqrt(W_K.shape[1]) / scores.abs()[:, None]
        return Z, H, W_Q, W_K, W_V, is_word

    def seen(*case: Any) -> tuple[Tensor, ...]:
        return *case[:-1], torch.ones_like(case[-1])

    answer, describe = student.cross_attention, "the look across"
    whole_cases = [seen(*draw()) for _ in range(3)]
    expect.agrees(
        answer,
        _across,
        whole_cases,
        "n who ask, m who answer",
        [*_LOOKS, *_HIDING],
        describe=f"{describe}, nothing hidden",
    )
    hidden = [draw() for _ in range(3)]
    expect.agrees(answer, _across, hidden, "padding gets no weight", [*_HIDING, *_LOOKS], describe=describe)
    expect.agrees(
        answer,
        _across,
        [faint() for _ in range(3)],
        "also with one word, whose scores are low",
        [*_HIDING, *_LOOKS],
        tolerance=1e-4,
        describe=f"{describe}, all notes hidden but one with low scores",
    )


def _across(
    Z: Tensor,
    H: Tensor,
    W_Q: Tensor,
    W_K: Tensor,
    W_V: Tensor,
    is_word: Tensor,
    *,
    scale: Callable[[Tensor, Tensor], float] = lambda Z, W_K: math.sqrt(W_K.shape[1]),
    hide: float = -torch.inf,
    dim: int = -1,
) -> Tensor:
    scores = Z @ W_Q @ (H @ W_K).T / scale(Z, W_K)
    return scores.masked_fill(~is_word, hide).softmax(dim=dim) @ (H @ W_V)


def _looking(**changes: Any) -> Callable[..., Tensor]:
    return lambda *case: _across(*case, **changes)


def _plain_weights(Z: Tensor, H: Tensor, W_Q: Tensor, W_K: Tensor) -> Tensor:
    return (Z @ W_Q @ (H @ W_K).T / math.sqrt(W_K.shape[1])).softmax(dim=-1)


_FINITE = "You hide with a number that a score can reach. −∞ is below every score, and its weight is exactly 0: use -torch.inf."
_HIDING = [
    Slip(
        "is_word ignored",
        lambda Z, H, W_Q, W_K, W_V, is_word: _across(Z, H, W_Q, W_K, W_V, torch.ones_like(is_word)),
        "A note of padding still gets weight: is_word is not used.",
    ),
    Slip(
        "0 instead of −∞",
        _looking(hide=0.0),
        "A score of padding that is set to 0, or multiplied by 0, is not a weight of 0: e⁰ = 1. Hide with −∞ before the softmax.",
    ),
    *(Slip("a finite number instead of −∞", _looking(hide=number), _FINITE) for number in (-1.0, -10.0, -100.0)),
    Slip(
        "mask the wrong way round",
        lambda Z, H, W_Q, W_K, W_V, is_word: _across(Z, H, W_Q, W_K, W_V, ~is_word),
        "You hide the words and look at the padding. is_word is True where a note may be seen: fill where it is False.",
    ),
    Slip(
        "hidden after the softmax",
        lambda Z, H, W_Q, W_K, W_V, is_word: (_plain_weights(Z, H, W_Q, W_K) * is_word) @ (H @ W_V),
        "You set the weights of padding to 0 after the softmax, so the others no longer sum to 1. Hide the scores, "
        "before it.",
    ),
    Slip(
        "the notes of padding set to 0",
        lambda Z, H, W_Q, W_K, W_V, is_word: _across(Z, H * is_word[:, None], W_Q, W_K, W_V, torch.ones_like(is_word)),
        "You set the notes of padding to 0. They still take weight, for a score of 0 is not a weight of 0: hide the scores.",
    ),
    Slip(
        "1 added to the words",
        lambda Z, H, W_Q, W_K, W_V, is_word: (
            (Z @ W_Q @ (H @ W_K).T / math.sqrt(W_K.shape[1]) + is_word).softmax(dim=-1) @ (H @ W_V)
        ),
        "You added is_word to the scores: the words get 1 more than the padding. Hide with −∞.",
    ),
]
_LOOKS = [
    Slip(
        "memory and target swapped",
        lambda Z, H, W_Q, W_K, W_V, is_word: _across(H, Z, W_Q, W_K, W_V, torch.ones(len(Z), dtype=torch.bool)),
        "You let the memory ask and the target answer. Queries come from Z, keys and values from H: the result has one row for "
        "each row of Z.",
    ),
    Slip(
        "self-attention",
        lambda Z, H, W_Q, W_K, W_V, is_word: _across(Z, Z, W_Q, W_K, W_V, torch.ones(len(Z), dtype=torch.bool)),
        "Your keys and values come from Z: that is self-attention, and the source is never looked at.",
    ),
    Slip(
        "self-attention of the source",
        lambda Z, H, W_Q, W_K, W_V, is_word: _across(H, H, W_Q, W_K, W_V, is_word),
        "Your queries come from H: the source looks at itself. The target asks, so queries come from Z.",
    ),
    Slip("no scale", _looking(scale=lambda Z, W_K: 1.0), "The scores are not scaled. Divide them by √d_k."),
    Slip(
        "scaled by the width of the model",
        _looking(scale=lambda Z, W_K: math.sqrt(len(W_K))),
        "You divided by √d_model. The vectors that are multiplied have d_k numbers, the columns of W_K.",
    ),
    Slip(
        "scaled by d_k",
        _looking(scale=lambda Z, W_K: W_K.shape[1]),
        "You divided by d_k. The scale is its root, √d_k.",
    ),
    Slip(
        "scaled the wrong way",
        _looking(scale=lambda Z, W_K: W_K.shape[1] ** -0.5),
        "You multiplied the scores by √d_k. Divide.",
    ),
    Slip(
        "scaled by the number of keys",
        lambda *case: _across(*case, scale=lambda Z, W_K: math.sqrt(len(case[1]))),
        "You divided by the root of the number of keys. d_k is how many numbers a key has: the last axis.",
    ),
    Slip(
        "scaled by the number of queries",
        lambda *case: _across(*case, scale=lambda Z, W_K: math.sqrt(len(Z))),
        "You divided by the root of the number of queries. d_k is how many numbers a query has: the last axis.",
    ),
    Slip(
        "scaled by the width of the values",
        lambda *case: _across(*case, scale=lambda Z, W_K: math.sqrt(case[4].shape[1])),
        "You divided by √d_v. The vectors that are multiplied are queries and keys, d_k wide.",
    ),
    Slip(
        "softmax over the queries",
        _looking(dim=0),
        "Your softmax runs down the columns. Each query shares 1 among the keys: the last axis, dim=-1.",
    ),
    Slip(
        "W_Q and W_K swapped",
        lambda Z, H, W_Q, W_K, W_V, is_word: _across(Z, H, W_K, W_Q, W_V, is_word),
        "The queries are made with W_K and the keys with W_Q. Each has its own matrix.",
    ),
    Slip(
        "V unprojected",
        lambda Z, H, W_Q, W_K, W_V, is_word: _across(Z, H, W_Q, W_K, torch.eye(len(W_V), dtype=W_V.dtype), is_word),
        "You mix the notes as they are: W_V is never used.",
    ),
    Slip(
        "no softmax",
        lambda Z, H, W_Q, W_K, W_V, is_word: Z @ W_Q @ (H @ W_K).T / math.sqrt(W_K.shape[1]) @ (H @ W_V),
        "The scores go to the values as they are. Weights are their softmax: they sum to 1.",
    ),
    Slip(
        "the weights returned",
        lambda Z, H, W_Q, W_K, W_V, is_word: (
            (Z @ W_Q @ (H @ W_K).T / math.sqrt(W_K.shape[1])).masked_fill(~is_word, -torch.inf).softmax(dim=-1)
        ),
        "Those are the weights. They still have to mix the values, H W_V.",
    ),
    Slip(
        "transposed",
        lambda *case: _across(*case).T,
        "The numbers are right and lie on their side. One row for each row of Z.",
    ),
]


# in and out by one matrix


@exercise("transformer.tied", answer=("embed", "unembed"))
def tied(student, expect):
    def draw() -> tuple[Tensor, Tensor, Tensor]:
        (n, d_model, spare), v = different(3, 3, 8), whole(9, 14)
        ids = torch.randint(0, v, (n,))
        ids[-1] = ids[0]
        return ids, torch.randn(v, d_model), torch.randn(v + spare, d_model)

    inputs = [draw() for _ in range(3)]
    expect.agrees(
        student.embed,
        _embed,
        inputs,
        holds="words times √d_model, plus places",
        slips=_WAYS_IN,
        describe="the vectors of the words",
    )
    ids, E, places = draw()
    edges = [(ids, E, places), (ids[:1], E, places), (ids, E, places[: len(ids)])]
    expect.agrees(student.embed, _embed, edges, "also one word, and a place for each word alone", _WAYS_IN)
    expect.agrees(
        student.unembed,
        _unembed,
        [(torch.randn(len(ids), E.shape[1]), E) for ids, E, _ in inputs],
        holds="a logit is a dot product with a word's row",
        slips=_WAYS_OUT,
        describe="the logits",
    )


def _embed(ids: Tensor, E: Tensor, places: Tensor) -> Tensor:
    return math.sqrt(E.shape[1]) * E[ids] + places[: len(ids)]


def _unembed(Y: Tensor, E: Tensor) -> Tensor:
    return Y @ E.T


def _way_in(of: Callable[[Tensor, Tensor, int, int], Tensor]) -> Callable[..., Tensor]:
    """A way in made by `of` from the words' rows, the first places, d_model and the size of the vocabulary."""
    return lambda ids, E, places: of(E[ids], places[: len(ids)], E.shape[1], len(E))


_WAYS_IN = [
    Slip("not scaled", _way_in(lambda X, P, d, v: X + P), "The words are not scaled: multiply them by √d_model."),
    Slip(
        "places scaled too",
        _way_in(lambda X, P, d, v: math.sqrt(d) * (X + P)),
        "You scaled the sum. Only the words are multiplied by √d_model; the places are added as they are.",
    ),
    Slip(
        "only the places scaled",
        _way_in(lambda X, P, d, v: X + math.sqrt(d) * P),
        "You scaled the places. It is the words that are multiplied by √d_model.",
    ),
    Slip(
        "scaled by d_model",
        _way_in(lambda X, P, d, v: d * X + P),
        "You multiplied by d_model. The factor is its root, √d_model.",
    ),
    Slip(
        "divided by √d_model",
        _way_in(lambda X, P, d, v: X / math.sqrt(d) + P),
        "You divided by √d_model. Here the words are made larger, so that the places do not drown them: multiply.",
    ),
    Slip(
        "scaled by the vocabulary",
        _way_in(lambda X, P, d, v: math.sqrt(v) * X + P),
        "You multiplied by the root of the vocabulary's size, the rows of E. d_model is the length of a row.",
    ),
    Slip(
        "scaled by the length of the sentence",
        _way_in(lambda X, P, d, v: math.sqrt(len(X)) * X + P),
        "You multiplied by the root of the number of words. d_model is the length of a row of E.",
    ),
    Slip(
        "places ignored",
        _way_in(lambda X, P, d, v: math.sqrt(d) * X),
        "The places are missing: without them the order of words is lost.",
    ),
    Slip(
        "the first place for all",
        _way_in(lambda X, P, d, v: math.sqrt(d) * X + P[0]),
        "Every word got the first place. Word i gets row i.",
    ),
    Slip(
        "places from 1",
        lambda ids, E, places: math.sqrt(E.shape[1]) * E[ids] + places[1 : len(ids) + 1],
        "Your places begin with row 1. The first word stands at place 0.",
    ),
    Slip(
        "the last places",
        lambda ids, E, places: math.sqrt(E.shape[1]) * E[ids] + places[-len(ids) :],
        "You took the last rows of `places`. Word i gets row i, from the start.",
    ),
    Slip(
        "places of the ids",
        lambda ids, E, places: math.sqrt(E.shape[1]) * E[ids] + places[ids],
        "You took the place whose number is the word's id. Places count 0, 1, 2 from the start of the sentence.",
    ),
    Slip(
        "places multiplied",
        _way_in(lambda X, P, d, v: math.sqrt(d) * X * P),
        "You multiplied by the places. They are added.",
    ),
    Slip(
        "ids ignored",
        lambda ids, E, places: math.sqrt(E.shape[1]) * E[: len(ids)] + places[: len(ids)],
        "You took the first rows of E. Each id picks its own row.",
    ),
]
_WAYS_OUT = [
    Slip(
        "scaled on the way out",
        lambda Y, E: math.sqrt(E.shape[1]) * Y @ E.T,
        "√d_model belongs to the way in only. On the way out the dot products stand as they are.",
    ),
    Slip(
        "divided on the way out",
        lambda Y, E: Y @ E.T / math.sqrt(E.shape[1]),
        "You divided the logits by √d_model, as attention does with its scores. Here the dot products stand as they are.",
    ),
    Slip(
        "probabilities",
        lambda Y, E: (Y @ E.T).softmax(dim=-1),
        "Those are probabilities. Logits come before the softmax, which the loss takes by itself.",
    ),
    Slip(
        "log-probabilities",
        lambda Y, E: (Y @ E.T).log_softmax(dim=-1),
        "Those are log-probabilities. Logits come before the softmax, which the loss takes by itself.",
    ),
    Slip(
        "transposed logits",
        lambda Y, E: E @ Y.T,
        "Rows are positions and columns words: (n, v). Yours lie on their side.",
    ),
    Slip(
        "ids",
        lambda Y, E: (Y @ E.T).argmax(dim=-1),
        "Those are the likeliest ids. A logit for every word was asked for.",
    ),
    Slip(
        "the last logits only", lambda Y, E: Y[-1] @ E.T, "Those are the logits of the last position. Each has its own."
    ),
    Slip(
        "cosines",
        lambda Y, E: torch.nn.functional.normalize(Y, dim=-1) @ torch.nn.functional.normalize(E, dim=-1).T,
        "You brought the vectors to length 1 first. A logit is the dot product as it is.",
    ),
]


# counting


@exercise("transformer.count", answer="count")
def count(student, expect):
    def draw() -> tuple[int, int, int, int]:
        n_layers, d_model, d_ff, vocab_size = different(4, 2, 60)
        return vocab_size, d_model, d_ff, n_layers

    what = "the number of parameters"
    expect.agrees(
        student.count,
        _total,
        [draw() for _ in range(3)],
        holds="small machines, part by part",
        slips=_COUNTS,
        tolerance=0,
        describe=what,
    )
    base, big = (37_000, 512, 2048, 6), (37_000, 1024, 4096, 6)
    expect.agrees(student.count, _total, [base, big], "the paper's base model and its big one", (), 0, what)


def _total(
    vocab_size: int,
    d_model: int,
    d_ff: int,
    n_layers: int,
    tables: int = 1,
    matrices: int = 4,
    bias: int = 1,
    own_bias: tuple[int, int] | None = None,
    attentions: int = 3,
    networks: int = 2,
    norms: int = 5,
    of_norm: int = 2,
    final: int = 0,
    out: int = 0,
) -> int:
    """All parameters; `own_bias` holds the numbers of biases of an attention and a network, in widths d_model and in all."""
    of_attention, of_network = own_bias or (4 * bias * d_model, bias * (d_ff + d_model))
    attention = matrices * d_model * d_model + (of_attention if matrices == 4 else 3 * bias * d_model)
    network = 2 * d_model * d_ff + of_network
    layer = attentions * attention + networks * network + norms * of_norm * d_model
    return tables * vocab_size * d_model + n_layers * layer + final * 2 * d_model + out * vocab_size


def _counting(**changes: Any) -> Callable[..., int]:
    return lambda *sizes: _total(*sizes, **changes)


_TABLES = "Tied, E is one matrix: the way in, for both languages, and the way out share it."
_CROSS = "A decoder layer has three sub-layers: the cross-attention, with its norm, is missing."
_NORM = "Each sub-layer has its own norm: two in an encoder layer, three in a decoder layer, each with γ and β."
_COUNTS = [
    Slip("three tables of words", _counting(tables=3), f"You counted E three times. {_TABLES}"),
    Slip("two tables of words", _counting(tables=2), f"You counted E twice. {_TABLES}"),
    Slip("vocab_size ignored", _counting(tables=0), "The words are missing: E has a row of d_model numbers for each."),
    Slip(
        "no biases",
        _counting(bias=0),
        "The biases are missing: one number for each output of every linear map in the layers.",
    ),
    Slip(
        "no biases in the attentions",
        lambda v, d, f, n: _total(v, d, f, n, own_bias=(0, f + d)),
        "The biases of the attentions are missing: each of the four maps has d_model of them.",
    ),
    Slip(
        "no biases in the networks",
        lambda v, d, f, n: _total(v, d, f, n, own_bias=(4 * d, 0)),
        "The biases of the networks are missing: d_ff behind the first matrix, d_model behind the second.",
    ),
    Slip(
        "a norm or a bias short",
        _counting(norms=4),
        "You are 2 · d_model short in each pair of layers. Does the decoder layer have its three norms? Does each "
        "network have its second bias, d_model numbers behind the second matrix?",
    ),
    Slip(
        "biases as long as the inputs",
        lambda v, d, f, n: _total(v, d, f, n, own_bias=(4 * d, 2 * d)),
        "A bias is as long as what comes *out*: d_ff behind the network's first matrix, d_model behind its second.",
    ),
    Slip(
        "biases as long as the inputs",
        lambda v, d, f, n: _total(v, d, f, n, own_bias=(4 * d, 2 * f)),
        "A bias is as long as what comes *out*: d_ff behind the network's first matrix, d_model behind its second.",
    ),
    Slip(
        "one bias in the attention",
        lambda v, d, f, n: _total(v, d, f, n, own_bias=(d, f + d)),
        "You gave an attention one bias. Each of its four maps has one.",
    ),
    Slip(
        "a bias on the logits",
        _counting(out=1),
        "You gave the logits a bias, one number for each word. The last linear map has none.",
    ),
    Slip("cross-attention forgotten", _counting(attentions=2, norms=4), _CROSS),
    Slip(
        "cross-attention forgotten",
        _counting(attentions=2),
        "A decoder layer has two attentions: the cross-attention is missing. (You have its norm.)",
    ),
    Slip(
        "cross-attention in the encoder",
        _counting(attentions=4, norms=6),
        "You counted two attentions in the encoder layers as well. An encoder has nothing to look across at.",
    ),
    Slip(
        "W_O forgotten",
        _counting(matrices=3),
        "You gave an attention three matrices. The fourth, W^O, mixes the heads.",
    ),
    Slip("norms forgotten", _counting(norms=0), f"The norms are missing. {_NORM}"),
    Slip("β of the norms forgotten", _counting(of_norm=1), "A norm has two vectors of d_model numbers, γ and β."),
    Slip(
        "two numbers a norm",
        lambda v, d, f, n: _total(v, d, f, n, norms=0) + n * 10,
        "You gave a norm two numbers. γ and β are vectors, d_model numbers each.",
    ),
    Slip(
        "norms after the stacks",
        _counting(final=2),
        "You counted one more norm after each stack. A post-norm layer ends with a norm already.",
    ),
    Slip("one norm a layer", _counting(norms=2), f"You counted one norm for each layer. {_NORM}"),
    Slip(
        "three norms in the encoder layer", _counting(norms=6), f"You counted three norms in an encoder layer. {_NORM}"
    ),
    Slip(
        "one stack only",
        lambda v, d, f, n: _total(v, d, f, n, attentions=1, networks=1, norms=2),
        "You counted the encoder alone. There are as many decoder layers, with a sub-layer more.",
    ),
    Slip(
        "one stack only",
        lambda v, d, f, n: _total(v, d, f, n, attentions=2, networks=1, norms=3),
        "You counted the decoder alone. There are as many encoder layers.",
    ),
    Slip(
        "n_layers ignored",
        lambda v, d, f, n: _total(v, d, f, 1),
        "That is one layer a side: `n_layers` is never used.",
    ),
    Slip(
        "n_layers ignored",
        lambda v, d, f, n: _total(v, d, f, 6),
        "You counted six layers a side, whatever `n_layers` is.",
    ),
    Slip(
        "d_ff ignored",
        lambda v, d, f, n: _total(v, d, 4 * d, n),
        "Your networks are 4 · d_model wide inside, whatever `d_ff` is.",
    ),
    Slip(
        "one network a pair of layers",
        _counting(networks=1),
        "You counted one network for an encoder and a decoder layer. Each layer has its own.",
    ),
]


# one stack for both sentences


@exercise("transformer.one-stack", answer="one_stack_mask")
def one_stack_mask(student, expect):
    what = "the mask"
    inputs = [
        tuple(sorted(different(2, 2, 7))),
        tuple(sorted(different(2, 2, 7), reverse=True)),
        tuple(different(2, 3, 9)),
    ]
    expect.agrees(
        student.one_stack_mask,
        _one_stack,
        inputs,
        holds="the source whole, the target up to itself",
        slips=_STACKS,
        describe=what,
    )
    edges = [(1, 4), (5, 1), (1, 1), (3, 3)]
    expect.agrees(student.one_stack_mask, _one_stack, edges, "for one word a side as well", _STACKS, describe=what)


def _stack(of: Callable[..., Tensor]) -> Callable[[int, int], Tensor]:
    """A mask made by `of` from rows (queries), columns (keys), m and n."""
    return lambda m, n: of(torch.arange(m + n)[:, None], torch.arange(m + n), m, n)


_one_stack = _stack(lambda row, column, m, n: (column <= row) | (column < m))
_STACKS = [
    Slip(
        "m and n exchanged",
        _stack(lambda row, column, m, n: (column <= row) | (column < n)),
        "Your source is n words long. `m` words of the source come first, then `n` of the target.",
    ),
    Slip(
        "causal only",
        _stack(lambda row, column, m, n: column <= row),
        "The first source word does not see the second: yours is the causal mask. The source is all there from the start, so let "
        "every query see all of it.",
    ),
    Slip(
        "the source sees the target",
        _stack(lambda row, column, m, n: (column <= row) | (row < m) | (column < m)),
        "Your source words see the target, which does not exist yet when the machine begins to write.",
    ),
    Slip(
        "no limit",
        _stack(lambda row, column, m, n: row + column >= 0),
        "Every word sees every word, so target words see their future too.",
    ),
    Slip(
        "transposed",
        _stack(lambda row, column, m, n: (row <= column) | (row < m)),
        "Rows and columns are swapped: the query is the row, the key the column.",
    ),
    Slip(
        "reversed",
        lambda m, n: ~_one_stack(m, n),
        "Your truth values are reversed: True where the query *may* see the key.",
    ),
    Slip(
        "two kinds of attention apart",
        _stack(lambda row, column, m, n: ((row < m) & (column < m)) | ((row >= m) & (column >= m) & (column <= row))),
        "Source sees source and target sees target, but nothing leads across. Target words must see the source.",
    ),
    Slip(
        "the target does not see itself",
        _stack(lambda row, column, m, n: (column < row) | (column < m)),
        "A target word does not see itself in yours. Up to itself means key ≤ query.",
    ),
    Slip(
        "the target sees only the source",
        _stack(lambda row, column, m, n: (column < m) & (row >= 0)),
        "Your target words see the source and none of the target. They also see what is written, up to themselves.",
    ),
    Slip(
        "the target sees its future",
        _stack(lambda row, column, m, n: (row >= m) | (column < m)),
        "Your target words see the target words behind them. Up to themselves is all.",
    ),
    Slip(
        "off by one",
        _stack(lambda row, column, m, n: (column <= row) | (column <= m)),
        "Your source is one word too long: it ends before position m, so key < m.",
    ),
    Slip(
        "off by one",
        _stack(lambda row, column, m, n: (column <= row) | (column < m - 1)),
        "Your source is one word too short: the key at position m − 1 belongs to it.",
    ),
    Slip(
        "target before source",
        _stack(lambda row, column, m, n: (column >= n) | ((row < n) & (column <= row))),
        "Your target stands before the source. The source comes first.",
    ),
    Slip(
        "the source hidden from itself",
        _stack(lambda row, column, m, n: (row >= m) & (column <= row)),
        "Your source words see nothing, and a query needs at least one key. They see the whole source.",
    ),
    Slip(
        "numbers in place of truth values",
        lambda m, n: _one_stack(m, n).float(),
        "The pattern is right, in zeros and ones. The book's masks are boolean: `.bool()`.",
    ),
    Slip(
        "numbers in place of truth values",
        lambda m, n: torch.zeros(m + n, m + n).masked_fill(~_one_stack(m, n), -torch.inf),
        "The pattern is right, in 0 and −∞, to be added to scores. The book's masks are boolean.",
    ),
    Slip(
        "the first pattern alone",
        lambda m, n: _one_stack(m, n)[m:],
        "These are the rows of the target. The source words ask too: the mask is square, m + n on each side.",
    ),
]


# the whole machine


@exercise("transformer.machine", answer="transformer", forbids=("tfm_lib.transformer.Transformer",))
def machine(student, expect):
    cases = [_parts(n_encoder, n_decoder) for n_encoder, n_decoder in ((2, 2), (3, 2), (2, 4))]
    src, tgt, *_ = cases[0]
    (batch, m), n = src.shape, tgt.shape[1]
    logits = student.transformer(*cases[0])
    v = cases[0][-1](cases[0][2](src)).shape[-1]
    expect.shape(
        logits,
        (batch, n, v),
        holds="logits for each target position and word",
        mistakes=[
            Mistake("no logits", (batch, n, _WIDTH), "You return the decoder's vectors. The last step is `unembed`."),
            Mistake(
                "source and target swapped",
                (batch, m, v),
                "Your logits are as many as source words: encoder and decoder have changed places.",
            ),
            Mistake(
                "the last logits only",
                (batch, v),
                "Those are the logits of the last position. Each position has its own.",
            ),
        ],
    )
    answer = _named(student.transformer, lambda *case: torch.as_tensor(student.transformer(*case))[case[1] != 0])
    describe = "the logits of the real target words"
    expect.agrees(
        answer,
        _real(_machine),
        cases,
        holds="sources of different length, two layers a side and more",
        slips=_MACHINES,
        tolerance=1e-4,
        describe=describe,
    )
    edges = [_parts(1, 1), _parts(2, 3, full=True)]
    expect.agrees(answer, _real(_machine), edges, "one layer a side, and no padding", _MACHINES, 1e-4, describe)


_WIDTH = 11


def _parts(n_encoder: int, n_decoder: int, full: bool = False) -> tuple[Any, ...]:
    """Source and target ids, and the parts of a machine: its layers look as real ones do, with weights by chance."""
    batch, m, n, v = *different(3, 2, 4), whole(12, 14)
    m, n = m + 6, n + 3  # no two sizes alike
    src, tgt = torch.randint(1, v, (batch, m)), torch.randint(1, v, (batch, n))
    if not full:
        for ids in (src, tgt):
            ids[0, 2:] = 0
            ids[1, ids.shape[1] - 1 :] = 0
    E, mixes = torch.randn(v, _WIDTH), 0.3 * torch.randn(n_encoder + 2 * n_decoder, _WIDTH, _WIDTH)

    def embed(ids: Tensor) -> Tensor:
        return E[ids] + torch.arange(ids.shape[1])[:, None] / 3

    def attend(X: Tensor, M: Tensor, mask: Tensor | None, mix: Tensor) -> Tensor:
        scores = X @ mix @ M.transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(dim=-1) @ M

    def encoder_layer(k: int) -> Callable[..., Tensor]:
        return lambda X, mask=None: torch.tanh(X + attend(X, X, mask, mixes[k]))

    def decoder_layer(k: int) -> Callable[..., Tensor]:
        def layer(
            Y: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None
        ) -> Tensor:
            Y = torch.tanh(Y + attend(Y, Y, tgt_mask, mixes[k]))
            return torch.tanh(Y + attend(Y, memory, memory_mask, mixes[k + 1]))

        return layer

    encoder = [encoder_layer(k) for k in range(n_encoder)]
    decoder = [decoder_layer(n_encoder + 2 * k) for k in range(n_decoder)]
    return src, tgt, embed, encoder, decoder, lambda Y: Y @ E.T


def _tril(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()


def _words(ids: Tensor) -> Tensor:
    return (ids != 0)[:, None, :]


def _machine(
    src: Tensor,
    tgt: Tensor,
    embed: Callable[..., Tensor],
    encoder: list,
    decoder: list,
    unembed: Callable[..., Tensor],
    src_mask: Callable[[Tensor], Tensor | None] = _words,
    tgt_mask: Callable[[Tensor], Tensor | None] = lambda tgt: _tril(tgt.shape[1]),
    memory_mask: Callable[[Tensor], Tensor | None] = _words,
    memory: Callable[[list[Tensor], int], Tensor] = lambda states, k: states[-1],
    chained: tuple[bool, bool] = (True, True),
) -> Tensor:
    """The whole machine; `memory` chooses what decoder layer k reads of the states of the encoder."""
    X, Y = embed(src), embed(tgt)
    first_X, first_Y, states = X, Y, [X]
    for layer in encoder:
        X = layer(X if chained[0] else first_X, src_mask(src))
        states.append(X)
    for k, layer in enumerate(decoder):
        Y = layer(Y if chained[1] else first_Y, memory(states, k), tgt_mask(tgt), memory_mask(src))
    return unembed(Y)


def _real(machine: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The logits of the real target words; those behind the end are nobody's."""
    return lambda *case: machine(*case)[case[1] != 0]


def _building(**changes: Any) -> Callable[..., Tensor]:
    return _real(lambda *case: _machine(*case, **changes))


def _with_lists(change: Callable[[list, list], tuple[list, list]]) -> Callable[..., Tensor]:
    return _real(
        lambda src, tgt, embed, encoder, decoder, unembed: _machine(src, tgt, embed, *change(encoder, decoder), unembed)
    )


_MACHINES = [
    Slip(
        "decoder layer k reads encoder layer k",
        _building(memory=lambda states, k: states[min(k + 1, len(states) - 1)]),
        "Your decoder layers look at the encoder layers of their own height. All of them look at the finished memory, the output "
        "of the last encoder layer.",
    ),
    Slip(
        "decoder layer k reads encoder layer k",
        _real(
            lambda src, tgt, embed, encoder, decoder, unembed: _machine(
                src, tgt, embed, encoder, decoder[: len(encoder)], unembed, memory=lambda states, k: states[k + 1]
            )
        ),
        "You walk through both stacks at once, with `zip`: each decoder layer looks at an unfinished memory. Run the whole encoder "
        "first.",
    ),
    Slip(
        "the encoder left out",
        _building(memory=lambda states, k: states[0]),
        "Your memory is the embedded source: the encoder's result is not used.",
    ),
    Slip(
        "encoder layers not chained",
        _building(chained=(False, True)),
        "Each encoder layer reads the embedded source anew, and only the last one counts. A layer reads what the one before it has "
        "made.",
    ),
    Slip(
        "decoder layers not chained",
        _building(chained=(True, False)),
        "Each decoder layer reads the embedded target anew, and only the last one counts. A layer reads what the one before it has "
        "made.",
    ),
    Slip(
        "padding of the source read by the encoder",
        _building(src_mask=lambda src: None),
        "The encoder reads padding as if it were words. Give its layers padding_mask(src_ids, 0).",
    ),
    Slip(
        "padding of the source read by the decoder",
        _building(memory_mask=lambda src: None),
        "The cross-attention looks at the notes of padding. The memory has the source's padding, so its mask is "
        "padding_mask(src_ids, 0), too.",
    ),
    Slip(
        "padding of the source read by both",
        _building(src_mask=lambda src: None, memory_mask=lambda src: None),
        "Padding of the source is read as if it were words, by encoder and decoder. Hide it with padding_mask(src_ids, 0) in both.",
    ),
    Slip(
        "the decoder sees the future",
        _building(tgt_mask=lambda tgt: None),
        "Your decoder sees the words that it is to predict. Its self-attention needs the causal mask.",
    ),
    Slip(
        "the decoder sees the future, but no padding",
        _building(tgt_mask=_words),
        "You hid the target's padding, and not its future. Its self-attention needs the causal mask, which hides padding on the "
        "right as well.",
    ),
    Slip(
        "the causal mask transposed",
        _building(tgt_mask=lambda tgt: _tril(tgt.shape[1]).T),
        "Your causal mask lies on its side: words see what follows and not what came before. Row i is True up to column i.",
    ),
    Slip(
        "the decoder does not see itself",
        _building(tgt_mask=lambda tgt: torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril(-1)),
        "A target word does not see itself in yours, and the first one sees nothing, which makes NaN. Up to itself: the diagonal "
        "belongs to the mask.",
    ),
    Slip(
        "masks reversed",
        _building(src_mask=lambda src: ~_words(src), memory_mask=lambda src: ~_words(src)),
        "Your padding mask is reversed: True where a key may be *seen*.",
    ),
    Slip(
        "a causal encoder",
        _building(src_mask=lambda src: _words(src) & _tril(src.shape[1])),
        "Your encoder may not look ahead. The source is all there: only its padding is hidden.",
    ),
    Slip(
        "a causal encoder",
        _building(src_mask=lambda src: _tril(src.shape[1])),
        "Your encoder has a causal mask. The source is all there: only its padding is hidden.",
    ),
    Slip(
        "the first encoder layer only",
        _with_lists(lambda encoder, decoder: (encoder[:1], decoder)),
        "Only the first encoder layer ran. Is there a return, or an assignment, that ends the loop's effect?",
    ),
    Slip(
        "the first decoder layer only",
        _with_lists(lambda encoder, decoder: (encoder, decoder[:1])),
        "Only the first decoder layer ran. Does your function return inside the loop?",
    ),
    Slip(
        "layers backwards",
        _with_lists(lambda encoder, decoder: (encoder[::-1], decoder[::-1])),
        "Your layers run from the last to the first.",
    ),
    Slip(
        "source embedded in place of the target",
        _real(lambda src, tgt, *parts: _machine(src, src[:, : tgt.shape[1]], *parts)),
        "Your decoder reads the source. It reads what is written so far: embed(tgt_ids).",
    ),
    Slip(
        "probabilities",
        lambda *case: _machine(*case)[case[1] != 0].softmax(dim=-1),
        "Those are probabilities. The logits themselves are asked for; the loss takes the softmax.",
    ),
]
