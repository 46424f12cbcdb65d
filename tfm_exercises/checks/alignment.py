"""Judges of the exercises in chapter `alignment`."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from tfm_exercises.judge import Slip, exercise

ONE_THING = "Return a pair, (combined, weights). One of the two came alone: {}."


@exercise("alignment.one-step", answer="one_step")
def one_step(student, expect):
    inputs = [
        (torch.randn(d), torch.randn(m, d), torch.randn(2 * d, d) / 2, torch.randn(d))
        for d, m in ((3, 3), (3, 5), (5, 2), (4, 7))
    ]
    expect.agrees(
        student.one_step,
        _stepped,
        inputs,
        holds="state and context are combined, and the weights are the softmax of the dot products",
        slips=_slips_of_one_step(),
        describe="(combined, weights),",
    )


def _stepped(
    h: Tensor,
    H: Tensor,
    W_c: Tensor,
    b_c: Tensor,
    share: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    mean: Callable[[Tensor, Tensor], Tensor] = lambda weights, H: weights @ H,
    join: Callable[[Tensor, Tensor], Tensor] = lambda h, c: torch.cat([h, c]),
    bend: Callable[[Tensor], Tensor] = torch.tanh,
    give: Callable[..., Any] = lambda combined, weights, c: (combined, weights),
) -> Any:
    """The four stages, with one of them exchanged."""
    weights = share(H @ h)
    c = mean(weights, H)
    return give(bend(join(h, c) @ W_c + b_c), weights, c)


def _stepped_by_cosine(h: Tensor, H: Tensor, W_c: Tensor, b_c: Tensor) -> tuple[Tensor, Tensor]:
    weights = torch.nn.functional.cosine_similarity(H, h[None]).softmax(-1)
    return (torch.cat([h, weights @ H]) @ W_c + b_c).tanh(), weights


def _slips_of_one_step() -> list[Slip]:
    def slip(name: str, message: str, **changes: Any) -> Slip:
        return Slip(name, partial(_stepped, **changes), message)

    def same(x: Tensor) -> Tensor:
        return x

    return [
        slip(
            "pair turned round",
            "You return (weights, combined). Turn them round.",
            give=lambda combined, weights, c: (weights, combined),
        ),
        slip("one thing returned", ONE_THING.format("the combined vector"), give=lambda combined, weights, c: combined),
        slip("one thing returned", ONE_THING.format("the weights"), give=lambda combined, weights, c: weights),
        slip(
            "context returned",
            "The first of the pair is the context c. It is yet to be joined with h, and to go through W_c and tanh.",
            give=lambda combined, weights, c: (c, weights),
        ),
        slip(
            "context for weights",
            "The second of the pair is the context. The weights were asked for: one number for each position.",
            give=lambda combined, weights, c: (combined, c),
        ),
        slip(
            "the best alone",
            "Your context is the best position's vector alone. It is the mean of all, each with its weight.",
            mean=lambda weights, H: H[weights.argmax()],
        ),
        Slip(
            "exponentials not divided",
            lambda h, H, W_c, b_c: _stepped(h, H, W_c, b_c, mean=lambda weights, H: (H @ h).exp() @ H),
            "The weights are right, and the context is made of the exponentials before they were divided by their sum.",
        ),
        Slip(
            "scaled",
            lambda h, H, W_c, b_c: _stepped(h, H, W_c, b_c, share=lambda scores: (scores / len(h) ** 0.5).softmax(-1)),
            "These are the weights of the scaled dot product. The exercise asks for the plain one.",
        ),
        Slip(
            "cosine",
            _stepped_by_cosine,
            "You compare directions, by the cosine. The score is the plain dot product.",
        ),
        slip(
            "no softmax",
            "These are the scores. They do not sum to 1: the distribution is still to come.",
            share=same,
        ),
        slip(
            "shared by their sum",
            "You divided the scores by their sum. A score may be negative, and then so is its share: use the softmax.",
            share=lambda scores: scores / scores.sum(),
        ),
        slip(
            "not divided by the sum",
            "Your weights do not sum to 1. Divide each e to the score by the sum of all.",
            share=torch.exp,
        ),
        slip(
            "worst first",
            "The source word that fits worst gets the largest weight. Is there a minus too many?",
            share=lambda scores: (-scores).softmax(-1),
        ),
        slip(
            "best word only",
            "All weight lies on the best source word. The softmax gives each its share.",
            share=lambda scores: torch.nn.functional.one_hot(scores.argmax(), len(scores)).float(),
        ),
        Slip(
            "scores as weights",
            lambda h, H, W_c, b_c: (_stepped(h, H, W_c, b_c, share=same)[0], _stepped(h, H, W_c, b_c)[1]),
            "The context is a mean with the scores, not with the weights.",
        ),
        slip(
            "weighed and divided again",
            "The context is the sum of the weighted rows. You divided it by their number once more; the weights sum to 1 already.",
            mean=lambda weights, H: weights @ H / len(H),
        ),
        slip(
            "softmax over one score",
            "Each weight is 1: the softmax ran over an axis of length 1. It runs over the m source words.",
            share=torch.ones_like,
        ),
        slip(
            "plain mean as context",
            "The context is the plain mean of H. Weigh its rows.",
            mean=lambda weights, H: H.mean(0),
        ),
        slip(
            "H the wrong way",
            "H @ weights mixes the columns of H; it fits only where m = d. The states are its rows: weights @ H.",
            mean=lambda weights, H: H @ weights,
        ),
        slip(
            "context first",
            "You put the context before the state, [c; h]. The upper half of W_c is made for h, so here it reads the "
            "wrong vector.",
            join=lambda h, c: torch.cat([c, h]),
        ),
        slip(
            "context alone",
            "The state h does not enter the combination. Join the two: [h; c].",
            join=lambda h, c: torch.cat([0 * h, c]),
        ),
        slip(
            "state alone",
            "The context does not enter the combination. Join the two: [h; c].",
            join=lambda h, c: torch.cat([h, 0 * c]),
        ),
        slip(
            "state twice",
            "The state enters twice and the context not at all.",
            join=lambda h, c: torch.cat([h, h]),
        ),
        slip("no tanh", "The combination is right up to its last part: the tanh is missing.", bend=same),
        slip("another bend", "You bend with a sigmoid. The formula has tanh.", bend=torch.sigmoid),
        slip("another bend", "You bend with a ReLU. The formula has tanh.", bend=torch.relu),
        Slip(
            "bias outside",
            lambda h, H, W_c, b_c: (_stepped(h, H, W_c, 0 * b_c)[0] + b_c, _stepped(h, H, W_c, b_c)[1]),
            "The bias is added after the tanh. It belongs inside.",
        ),
        Slip(
            "tanh too early",
            lambda h, H, W_c, b_c: _stepped(h, H, W_c, b_c, bend=same, join=lambda h, c: torch.cat([h, c]).tanh()),
            "The tanh bends [h; c] before the product with W_c. It comes last.",
        ),
        Slip("b_c is ignored", lambda h, H, W_c, b_c: _stepped(h, H, W_c, 0 * b_c), "The bias b_c is missing."),
        Slip(
            "W_c is ignored",
            lambda h, H, W_c, b_c: ((h + _stepped(h, H, W_c, b_c)[1] @ H + b_c).tanh(), _stepped(h, H, W_c, b_c)[1]),
            "You add state and context. Join them, [h; c], and let W_c weigh both.",
        ),
    ]


FIELDS = ("year", "month", "day", "weekday", None)


@exercise("alignment.true-links", answer="true_links")
def true_links(student, expect):
    march = ["month", "day", "day", None, "year"]  # March 22 nd , 2021
    inputs = [(_fields(n), _fields(m)) for n, m in ((5, 5), (8, 5), (6, 9))]
    whole = [
        (src[::-1][1:] + src[:k], src) for src, k in ((_fields(7), 3), (_fields(4), 0))
    ]  # each field has a partner
    expect.agrees(
        student.true_links,
        _linked,
        [(["year", None, "month", None, "day", None], march), *whole, *inputs],
        holds="the links of March 22 nd , 2021, and of five random dates",
        slips=_slips_of_links(),
        describe="the links",
    )


def _fields(n: int) -> list[str | None]:
    """`n` fields, with a sign and a field of two tokens among them, in random order."""
    chance = random.Random(int(torch.randint(2**31, ())))
    twice = chance.choice(FIELDS[:4])
    fields = [None, twice, twice, *(chance.choice(FIELDS) for _ in range(n - 3))]
    chance.shuffle(fields)
    return fields


def _linked(tgt: Sequence[str | None], src: Sequence[str | None]) -> Tensor:
    return torch.tensor([[a is not None and a == b for b in src] for a in tgt])


def _slips_of_links() -> list[Slip]:
    def pairs(joined: Callable[[Any, Any], bool]) -> Callable[..., Tensor]:
        return lambda tgt, src: torch.tensor([[bool(joined(a, b)) for b in src] for a in tgt])

    def first(tgt: list, src: list) -> Tensor:
        links = _linked(tgt, src)
        return links & (links.cumsum(-1) == 1)

    def last(tgt: list, src: list) -> Tensor:
        found = {field: j for j, field in enumerate(src)}
        return torch.tensor([[a is not None and found.get(a) == j for j in range(len(src))] for a in tgt])

    def each_once(tgt: list, src: list) -> Tensor:
        links, used = torch.zeros(len(tgt), len(src), dtype=torch.bool), set()
        for i, a in enumerate(tgt):
            free = [j for j, b in enumerate(src) if a is not None and a == b and j not in used]
            links[i, free[:1]] = True
            used.update(free[:1])
        return links

    return [
        Slip(
            "None is no field",
            pairs(lambda a, b: a == b),
            "Signs are linked with signs: None == None is true. A token of no field has no counterpart.",
        ),
        Slip(
            "transposed",
            lambda tgt, src: _linked(tgt, src).T,
            "Rows and columns are swapped. Targets ask, so they are the rows: entry [i, j] is for target i and source j.",
        ),
        Slip(
            "first token only",
            first,
            "A field may have several tokens, as “22 nd” has. Each of them is linked, not only the first that "
            "list.index finds.",
        ),
        Slip(
            "last token only",
            last,
            "A field may have several tokens, as “22 nd” has. A dictionary from field to place keeps the last alone.",
        ),
        Slip(
            "each token once",
            each_once,
            "Each source token is linked once and then used up. Two tokens of a field on one side are linked with all "
            "tokens of that field on the other.",
        ),
        Slip(
            "first target only",
            lambda tgt, src: first(src, tgt).T,
            "Of a field with two target tokens you link the first alone. Each of them is linked.",
        ),
        Slip(
            "by place",
            lambda tgt, src: torch.eye(len(tgt), len(src)).bool(),
            "Token i is linked with token i. But the order of the fields differs from locale to locale: compare the "
            "fields.",
        ),
        Slip(
            "same place and same field",
            lambda tgt, src: _linked(tgt, src) & torch.eye(len(tgt), len(src)).bool(),
            "You compare token i with token i only. The fields stand in another order on the other side: compare all "
            "with all.",
        ),
        Slip(
            "any two fields",
            pairs(lambda a, b: a is not None and b is not None),
            "All tokens of any field are linked with each other. They must belong to the same one.",
        ),
        Slip(
            "whole rows",
            lambda tgt, src: torch.tensor([[a is not None and a in src] * len(src) for a in tgt]),
            "Whole rows are True: you asked whether the field occurs on the other side at all. Where?",
        ),
        Slip("turned round", pairs(lambda a, b: a is None or a != b), "True and False are exchanged."),
        Slip("turned round", pairs(lambda a, b: a != b), "True and False are exchanged."),
        Slip(
            "numbers",
            lambda tgt, src: _linked(tgt, src).float(),
            "The right links, as numbers. Make the tensor boolean: dtype=torch.bool.",
        ),
        Slip(
            "numbers",
            lambda tgt, src: pairs(lambda a, b: a == b)(tgt, src).float(),
            "These are numbers; a boolean tensor is asked for. And signs are linked with signs: None == None is true.",
        ),
        Slip(
            "a list of pairs",
            lambda tgt, src: _linked(tgt, src).nonzero().tolist(),
            "This is a list of places. Make a table of shape (n, m) that is True at these.",
        ),
        Slip(
            "src_fields is ignored",
            lambda tgt, src: _linked(tgt, tgt),
            "The targets are compared with themselves. Compare them with the sources.",
        ),
        Slip(
            "tgt_fields is ignored",
            lambda tgt, src: _linked(src, src),
            "The sources are compared with themselves. Compare the targets with them.",
        ),
    ]


@exercise("alignment.two-witnesses", answer="agreed_links")
def two_witnesses(student, expect):
    sizes = ((4, 4), (6, 6), (5, 5), (8, 8), (7, 7), (2, 4), (7, 3), (5, 6), (3, 8), (8, 5))
    inputs = [_witnesses(n, m) for n, m in sizes]
    expect.agrees(
        student.agreed_links,
        _agreed,
        inputs,
        holds="the links on which both agree, for as many words on both sides, and for more on either",
        slips=_slips_of_witnesses(),
        describe="the links",
    )


def _witnesses(n: int, m: int) -> tuple[Tensor, Tensor]:
    """Weights both ways that agree on most links and leave some rows without one."""
    scores = 2 * torch.randn(n, m)
    return (scores + torch.randn(n, m)).softmax(-1), (scores + torch.randn(n, m)).T.softmax(-1).contiguous()


def _agreed(there: Tensor, back: Tensor) -> Tensor:
    return _chosen(there, -1) & _chosen(back, -1).T


def _chosen(weights: Tensor, dim: int) -> Tensor:
    return torch.zeros_like(weights, dtype=torch.bool).scatter(dim, weights.argmax(dim, keepdim=True), True)


def _slips_of_witnesses() -> list[Slip]:
    both = "You made one table of both weights and took the largest of each row, so every row has a link. Where the two disagree there is none."
    return [
        Slip(
            "not turned",
            lambda there, back: _chosen(there, -1) & _chosen(back, -1),
            "`back` has sources in its rows; it fits here because both sides have as many words. Turn it, so that "
            "both matrices have targets in their rows.",
        ),
        Slip(
            "reshaped, not turned",
            lambda there, back: _chosen(there, -1) & _chosen(back, -1).reshape(there.shape),
            "reshape and view keep the order of the entries, so rows do not become columns. Transpose: back.T.",
        ),
        Slip(
            "either",
            lambda there, back: _chosen(there, -1) | _chosen(back, -1).T,
            "These are the links that one of the two has chosen. Both must: & in place of |.",
        ),
        Slip(
            "only one of the two",
            lambda there, back: _chosen(there, -1) ^ _chosen(back, -1).T,
            "These are the links on which the two disagree. Keep those that both chose.",
        ),
        Slip(
            "same verdict",
            lambda there, back: _chosen(there, -1) == _chosen(back, -1).T,
            "A pair that neither has chosen is True here: they agree that it is none. Both must choose it: &.",
        ),
        Slip(
            "back is ignored",
            lambda there, back: _chosen(there, -1),
            "These are the choices of the first translator alone. The second has a say too.",
        ),
        Slip(
            "there is ignored",
            lambda there, back: _chosen(back, -1).T,
            "These are the choices of the second translator alone. The first has a say too.",
        ),
        Slip("one table of both", lambda there, back: _chosen(there * back.T, -1), both),
        Slip(
            "one table of both", lambda there, back: _chosen(there + back.T, -1), both.replace("one table", "one sum")
        ),
        Slip(
            "one table of both",
            lambda there, back: _chosen(there * back.T, -1) & _chosen(there * back.T, -2),
            "You multiplied the weights before anyone was asked. Each witness chooses by its own weights; then compare.",
        ),
        Slip(
            "one table of both",
            lambda there, back: _chosen(there + back.T, -1) & _chosen(there + back.T, -2),
            "You added the weights before anyone was asked. Each witness chooses by its own weights; then compare.",
        ),
        Slip(
            "one table of both",
            lambda there, back: _chosen(torch.minimum(there, back.T), -1),
            "You took the smaller of both weights and then the largest of each row, so every row has a link. Where the two "
            "disagree there is none.",
        ),
        Slip(
            "one witness twice",
            lambda there, back: _chosen(there, -1) & _chosen(there, -2),
            "You compared the rows of `there` with its own columns. The second witness is `back`.",
        ),
        Slip(
            "the other axis",
            lambda there, back: _chosen(there, 0) & _chosen(back, 0).T,
            "You took the largest weight of each column. A row is one question: its shares are compared along the last "
            "axis.",
        ),
        Slip(
            "axis after the turn",
            lambda there, back: _chosen(there, -1) & _chosen(back.T, -1),
            "You turned `back` first and then took the largest of each row. In `back` each source chooses: take "
            "the largest of its own rows, then turn.",
        ),
        Slip(
            "axis after the turn",
            lambda there, back: _chosen(there, 0) & _chosen(back.T, 0),
            "`there` was asked along its columns. Its rows are the questions.",
        ),
        *[
            Slip(
                "a threshold",
                lambda there, back, bound=bound: (there > bound) & (bound < back.T),
                "You keep the links to which both give more than some bound. A row's largest weight may be small: "
                "ask which is the largest.",
            )
            for bound in (0.5, 0.3, 0.25, 0.2, 0.1)
        ],
        Slip(
            "smallest weights",
            lambda there, back: _chosen(-there, -1) & _chosen(-back, -1).T,
            "You took the smallest weight of each row. The largest is asked for.",
        ),
        Slip(
            "result turned",
            lambda there, back: _agreed(there, back).T,
            "The answer has sources in its rows. Targets are rows: (n, m).",
        ),
        Slip("turned round", lambda there, back: ~_agreed(there, back), "True and False are exchanged."),
        Slip(
            "numbers",
            lambda there, back: _agreed(there, back).float(),
            "The right links, as numbers. Make the tensor boolean: .bool().",
        ),
        Slip(
            "weights kept",
            lambda there, back: there * _agreed(there, back),
            "The weights stand where the links are. A boolean tensor is asked for.",
        ),
        Slip(
            "largest of the whole table",
            lambda there, back: (there == there.max()) & (back == back.max()).T,
            "You look for the largest weight of the whole table. Each row chooses for itself.",
        ),
    ]


@exercise("alignment.hops", answer="hops")
def hops(student, expect):
    slips = _slips_of_hops()
    for counts, holds in (((1, 1, 1, 1), "one hop"), ((3, 2, 4, 5), "two to five hops")):
        sizes = ((4, 4), (3, 6), (5, 3), (6, 7))  # d, m
        inputs = [(torch.randn(d), torch.randn(m, d), torch.randn(m, d), n) for (d, m), n in zip(sizes, counts)]
        expect.agrees(student.hops, _hopped, inputs, holds=holds, slips=slips, describe="the last u")
    none = [(torch.randn(d), torch.randn(m, d), torch.randn(m, d), 0) for d, m in ((3, 5), (4, 2), (2, 6))]
    expect.agrees(
        student.hops,
        _hopped,
        none,
        holds="no hop leaves the question as it was",
        slips=[
            Slip(
                "at least one hop",
                lambda u, M_in, M_out, n_hops: _hopped(u, M_in, M_out, 1),
                "For n_hops = 0 this looks once. A loop over range(n_hops) has no turn then, and u comes back.",
            ),
            Slip(
                "nothing for no hop",
                lambda u, M_in, M_out, n_hops: 0 * u,
                "For n_hops = 0 the question u itself is the answer.",
            ),
        ],
        describe="u after no hop",
    )


def _hopped(
    u: Tensor,
    M_in: Tensor,
    M_out: Tensor,
    n_hops: int,
    share: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
    step: Callable[..., Tensor] = lambda u, o, first: u + o,
    ask: Callable[..., Tensor] = lambda u, first: u,
    mean: Callable[[Tensor, Tensor], Tensor] = lambda weights, M: weights @ M,
) -> Tensor:
    first = u
    for _ in range(n_hops):
        u = step(u, mean(share(M_in @ ask(u, first)), M_out), first)
    return u


def _slips_of_hops() -> list[Slip]:
    def slip(name: str, message: str, **changes: Any) -> Slip:
        return Slip(name, partial(_hopped, **changes), message)

    def all_of_them(u: Tensor, M_in: Tensor, M_out: Tensor, n_hops: int) -> Tensor:
        return torch.stack([_hopped(u, M_in, M_out, k) for k in range(1, n_hops + 1)])

    def found_last(u: Tensor, M_in: Tensor, M_out: Tensor, n_hops: int) -> Tensor:
        return _hopped(u, M_in, M_out, n_hops) - _hopped(u, M_in, M_out, n_hops - 1)

    return [
        slip(
            "question forgotten",
            "You hand on what was found and drop the question: u becomes o. It must become u + o, or the next hop no "
            "longer knows what was asked.",
            step=lambda u, o, first: o,
        ),
        slip(
            "what was found is forgotten",
            "Each hop begins again from the first u: what earlier hops found is lost. Add to the u that the last hop left.",
            step=lambda u, o, first: first + o,
        ),
        slip(
            "asks the same again",
            "Each hop computes the same weights, because each asks with the first u. Ask with the u that the last hop "
            "has left.",
            ask=lambda u, first: first,
        ),
        Slip(
            "only what was found last",
            found_last,
            "This is what the last hop found, without the u that it is added to.",
        ),
        Slip(
            "reads what it was found by",
            lambda u, M_in, M_out, n_hops: _hopped(u, M_in, M_in, n_hops),
            "The weights are applied to M_in. That is what facts are found by; what they hand over is M_out.",
        ),
        Slip(
            "M_in is ignored",
            lambda u, M_in, M_out, n_hops: _hopped(u, M_out, M_out, n_hops),
            "The scores come from M_out. Facts are found by M_in; M_out is what they hand over.",
        ),
        Slip(
            "memories exchanged",
            lambda u, M_in, M_out, n_hops: _hopped(u, M_out, M_in, n_hops),
            "M_in and M_out are exchanged: M_in makes the scores, M_out is what is read.",
        ),
        Slip(
            "scaled",
            lambda u, M_in, M_out, n_hops: _hopped(
                u, M_in, M_out, n_hops, share=lambda s: (s / len(u) ** 0.5).softmax(-1)
            ),
            "You divided the scores by √d. A hop of this exercise has no scale.",
        ),
        slip("no softmax", "You mix with the scores. They become weights by the softmax.", share=lambda scores: scores),
        slip(
            "not divided by the sum",
            "Your weights do not sum to 1. Divide each e to the score by the sum of all.",
            share=torch.exp,
        ),
        slip(
            "shared by their sum",
            "You divided the scores by their sum. A score may be negative: use the softmax.",
            share=lambda scores: scores / scores.sum(),
        ),
        slip(
            "best fact only",
            "Each hop takes the best fact alone. The weights give every fact its share.",
            share=lambda scores: torch.nn.functional.one_hot(scores.argmax(), len(scores)).float(),
        ),
        slip(
            "worst first",
            "The fact that fits worst gets the largest weight. Is there a minus too many?",
            share=lambda scores: (-scores).softmax(-1),
        ),
        slip("plain sum", "All facts are read alike. Weigh them.", share=torch.ones_like),
        slip("bent", "A tanh bends what a hop leaves. The sum u + o is all.", step=lambda u, o, first: (u + o).tanh()),
        slip(
            "mean of both", "You take the mean of u and o. The sum is asked for.", step=lambda u, o, first: (u + o) / 2
        ),
        slip("taken away", "You subtract what was found. Add it.", step=lambda u, o, first: u - o),
        slip("multiplied", "You multiply u by what was found. Add it.", step=lambda u, o, first: u * o),
        slip(
            "memory the wrong way",
            "M_out @ weights mixes the columns of M_out; it fits only where m = d. Facts are its rows: weights @ M_out.",
            mean=lambda weights, M: M @ weights,
        ),
        Slip(
            "memory the wrong way",
            lambda u, M_in, M_out, n_hops: _hopped(u, M_in.T, M_out, n_hops),
            "u @ M_in compares u with the columns of M_in; it fits only where m = d. Facts are its rows: M_in @ u.",
        ),
        Slip(
            "one hop too many",
            lambda u, M_in, M_out, n_hops: _hopped(u, M_in, M_out, n_hops + 1),
            "This looks once more than n_hops says.",
        ),
        Slip(
            "one hop too few",
            lambda u, M_in, M_out, n_hops: _hopped(u, M_in, M_out, n_hops - 1),
            "This looks once less than n_hops says.",
        ),
        *[
            Slip(
                "n_hops is ignored",
                lambda u, M_in, M_out, n_hops, fixed=fixed: _hopped(u, M_in, M_out, fixed),
                f"This looks {fixed} time{'s' * (fixed > 1)}, whatever n_hops is.",
            )
            for fixed in (1, 2, 3)
        ],
        Slip("all of them", all_of_them, "Every u came. The last one is asked for."),
        Slip(
            "weights returned",
            lambda u, M_in, M_out, n_hops: (M_in @ _hopped(u, M_in, M_out, n_hops - 1)).softmax(-1),
            "These are the weights of the last hop. The last u is asked for.",
        ),
    ]


@exercise("alignment.what-matters", answer="what_matters")
def what_matters(student, expect):
    inputs = [_translator(*sizes) for sizes in ((9, 3, 4), (12, 5, 6), (8, 4, 3), (11, 6, 7))]  # ids, words, source
    inputs += [_translator(*sizes, twice=True) for sizes in ((9, 3, 5), (10, 4, 6))]
    expect.agrees(
        student.what_matters,
        _falls,
        inputs,
        holds="how far the word's probability falls, or rises, without each of three to seven source words",
        slips=_slips_of_what_matters(),
        describe="the falls",
    )


def _translator(
    n_ids: int, n_words: int, m: int, twice: bool = False
) -> tuple[Callable[[Tensor], Tensor], Tensor, int]:
    """Arguments for `what_matters`: a source of `m` ids, one of which speaks against the word, and another without which
    a different word would lead; an unk_id that is not among them, nor 0. With `twice`, one of the ids occurs twice.
    """
    while True:
        predict, ids = _predictor(n_ids, n_words), 1 + torch.randperm(n_ids - 1)
        src_ids, unk_id = ids[:m].clone(), int(ids[-1])
        if twice:
            src_ids[-1] = src_ids[1]
        falls = _falls(predict, src_ids, unk_id)
        leading = _falls(predict, src_ids, unk_id, told=lambda full, changed, word: changed.argmax() == word)
        if falls.min() < -0.02 and not leading.all():
            return predict, src_ids, unk_id


def _predictor(n_ids: int, n_words: int) -> Callable[[Tensor], Tensor]:
    """Probabilities of the next word to which each source word adds its own, by its place."""
    worth, place = 1.5 * torch.randn(n_ids, n_words), 0.5 + torch.rand(16, 1)

    def predict(src_ids: Tensor) -> Tensor:
        ids = torch.as_tensor(src_ids).long()
        return (place[: len(ids)] * worth[ids]).sum(0).softmax(-1)

    return predict


def _falls(predict, src_ids, unk_id, told=lambda full, changed, word: full[word] - changed[word]) -> Tensor:
    full, falls = predict(src_ids), []
    for j in range(len(src_ids)):
        changed = src_ids.clone()
        changed[j] = unk_id
        falls.append(told(full, predict(changed), int(full.argmax())))
    return torch.stack(falls)


def _slips_of_what_matters() -> list[Slip]:
    def slip(name: str, told: Callable[[Tensor, Tensor, int], Tensor], message: str) -> Slip:
        """`told` of the probabilities before and after, and the word."""
        return Slip(name, partial(_falls, told=told), message)

    def not_put_back(predict, src_ids, unk_id):
        full, falls, ids = predict(src_ids), [], src_ids.clone()
        for j in range(len(ids)):
            ids[j] = unk_id
            falls.append(full[full.argmax()] - predict(ids)[full.argmax()])
        return torch.stack(falls)

    def step_by_step(predict, src_ids, unk_id):
        left = torch.cat(
            [predict(src_ids).max()[None], predict(src_ids).max() - not_put_back(predict, src_ids, unk_id)]
        )
        return left[:-1] - left[1:]

    def left_out(predict, src_ids, unk_id):
        full = predict(src_ids)
        kept = [torch.cat([src_ids[:j], src_ids[j + 1 :]]) for j in range(len(src_ids))]
        return torch.stack([full.max() - predict(ids)[full.argmax()] for ids in kept])

    def everywhere(predict, src_ids, unk_id):
        full = predict(src_ids)
        without = [predict(src_ids.masked_fill(src_ids == word, unk_id)) for word in src_ids]
        return torch.stack([full.max() - each[full.argmax()] for each in without])

    def all_but_one(predict, src_ids, unk_id):
        full, falls = predict(src_ids), []
        for j in range(len(src_ids)):
            ids = torch.full_like(src_ids, unk_id)
            ids[j] = src_ids[j]
            falls.append(full.max() - predict(ids)[full.argmax()])
        return torch.stack(falls)

    return [
        Slip(
            "not put back",
            not_put_back,
            "From the second position on, the words before are unknown as well. Put each word back before you replace "
            "the next: work on a copy of src_ids.",
        ),
        Slip(
            "every occurrence",
            everywhere,
            "A word that occurs twice in the source was replaced at both places. Replace position j alone.",
        ),
        Slip(
            "step by step",
            step_by_step,
            "Each fall is counted from a source in which the words before are unknown already. Replace one word at a "
            "time, and compare with the full source.",
        ),
        slip(
            "another word",
            lambda full, changed, word: full.max() - changed.max(),
            "When a source word is gone, another target word may become the most probable. Follow the word that was "
            "predicted from the full source.",
        ),
        slip(
            "another word",
            lambda full, changed, word: full[changed.argmax()] - changed[changed.argmax()],
            "You follow the word that leads when the source word is gone. Follow the one that was predicted from the full "
            "source.",
        ),
        slip(
            "rise, not fall",
            lambda full, changed, word: changed[word] - full[word],
            "The sign is turned: this is how far the probability rises. A word that matters gives a large positive number.",
        ),
        slip(
            "what is left",
            lambda full, changed, word: changed[word],
            "These are the probabilities that are left. What matters is how much was lost: subtract them from the "
            "probability with the full source.",
        ),
        slip(
            "without its sign",
            lambda full, changed, word: (full[word] - changed[word]).abs(),
            "A rise counts as a fall here. A source word that spoke against the word gives a negative number: leave out abs.",
        ),
        slip(
            "rises cut off",
            lambda full, changed, word: (full[word] - changed[word]).clamp(min=0),
            "Where the probability rises you give 0. A source word that spoke against the word gives a negative number.",
        ),
        slip(
            "fall as a share",
            lambda full, changed, word: (full[word] - changed[word]) / full[word],
            "You divide the fall by the probability. The fall itself is asked for.",
        ),
        slip(
            "fall as a share",
            lambda full, changed, word: changed[word] / full[word],
            "This is the share that is left. Subtract.",
        ),
        slip(
            "logarithms",
            lambda full, changed, word: full[word].log() - changed[word].log(),
            "This is the fall of the logarithm. Probabilities are asked for.",
        ),
        slip(
            "all words",
            lambda full, changed, word: full - changed,
            "Every target word's fall came. Follow the one that was predicted.",
        ),
        slip(
            "all words",
            lambda full, changed, word: (full - changed).abs().sum(),
            "You add up how all probabilities change. Follow the one word that was predicted.",
        ),
        slip(
            "least probable word",
            lambda full, changed, word: full.min() - changed[full.argmin()],
            "You follow the least probable word. Take the most probable one.",
        ),
        slip(
            "first word of the vocabulary",
            lambda full, changed, word: full[0] - changed[0],
            "You follow word 0. Follow the most probable one: argmax.",
        ),
        Slip(
            "left out, not replaced",
            left_out,
            "You leave the word out, so all words behind it change their places. Replace it by unk_id.",
        ),
        Slip("all but one", all_but_one, "You replace all words but one. Replace one and keep the others."),
        *[
            Slip(
                "unk_id is ignored",
                lambda predict, src_ids, unk_id, fixed=fixed: _falls(predict, src_ids, fixed),
                f"Each word is replaced by the id {fixed}, whatever unk_id is.",
            )
            for fixed in (0, 1, 3)
        ],
        Slip(
            "nothing replaced",
            lambda predict, src_ids, unk_id: _falls(predict, src_ids, 0) * 0,
            "No fall at all: the source that goes in is the full one each time. Is the copy that you changed the one that "
            "you hand over?",
        ),
        Slip(
            "first position forgotten",
            lambda *args: _falls(*args)[1:],
            "The first source position is missing: begin at 0.",
        ),
        Slip(
            "last position forgotten",
            lambda *args: _falls(*args)[:-1],
            "The last source position is missing.",
        ),
        Slip(
            "place instead of falls",
            lambda predict, src_ids, unk_id: _falls(predict, src_ids, unk_id).argmax(),
            "This is the position that matters most. All falls are asked for.",
        ),
        Slip(
            "made to sum to 1",
            lambda predict, src_ids, unk_id: _falls(predict, src_ids, unk_id) / _falls(predict, src_ids, unk_id).sum(),
            "You divide by the sum, as if falls were weights. They may be negative; leave them as they are.",
        ),
        Slip(
            "made to sum to 1",
            lambda predict, src_ids, unk_id: _falls(predict, src_ids, unk_id).softmax(-1),
            "You take a softmax of the falls, as if they were scores. Leave them as they are.",
        ),
    ]
