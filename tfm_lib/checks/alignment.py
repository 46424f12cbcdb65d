"""Judges of the exercises in chapter `alignment`."""

import torch
from torch import Tensor

from tfm_lib.checks.judge import Mistake, exercise


@exercise("alignment.one-step", answer="one_step")
def one_step(student, expect):
    H, h = (
        torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0], [1.0, 1.0, 0.0], [0.5, -1.0, 1.0]]),
        torch.tensor([0.4, 0.9, -0.3]),
    )
    W_c, b_c = 0.5 * torch.randn(6, 3), torch.tensor([0.3, -0.2, 0.1])
    answer = student.one_step(h, H, W_c, b_c)
    expect.true(
        isinstance(answer, (tuple, list)) and len(answer) == 2,
        holds="a vector and its weights come back",
        otherwise=f"Expected the pair (combined, weights), got a {type(answer).__name__}.",
    )
    combined, weights = answer
    scores = H @ h
    want = scores.softmax(-1)
    expect.close(
        weights,
        want,
        holds="the weights are the softmax of the dot products",
        mistakes=[
            Mistake(
                "scaled",
                (scores / 3**0.5).softmax(-1),
                "These are the weights of the scaled dot product. The exercise asks for the plain one.",
            ),
            Mistake(
                "no softmax",
                scores,
                "These are the scores. They do not sum to 1: the distribution is still to come.",
            ),
            Mistake(
                "shared by their sum",
                scores / scores.sum(),
                "You divided the scores by their sum. A score may be negative, and then so is its share: use the softmax.",
            ),
        ],
        describe="the weights",
    )
    c = want @ H

    def combine(first, second, squash=torch.tanh, bias=b_c):
        return squash(torch.cat([first, second]) @ W_c + bias)

    expect.close(
        combined,
        combine(h, c),
        holds="state and context are combined",
        mistakes=[
            Mistake(
                "context first",
                combine(c, h),
                "You put the context before the state, [c; h]. The upper half of W_c is made for h, so here it reads "
                "the wrong vector.",
            ),
            Mistake(
                "no tanh",
                combine(h, c, squash=lambda x: x),
                "The combination is right up to its last part: the tanh is missing.",
            ),
            Mistake(
                "no bias",
                combine(h, c, bias=0),
                "The bias b_c is missing.",
            ),
            Mistake(
                "scores as weights",
                combine(h, scores @ H),
                "The context is a mean with the scores, not with the weights.",
            ),
        ],
        describe="the combined vector",
    )


@exercise("alignment.true-links", answer="true_links")
def true_links(student, expect):
    cases = {
        "22 de marzo de 2021": ["day", None, "month", None, "year"],
        "March 22 nd , 2021": ["month", "day", "day", None, "year"],
    }
    tgt = ["year", None, "month", None, "day", None]
    for date, src in cases.items():
        same = torch.tensor([[a == b for b in src] for a in tgt])
        known = torch.tensor([[a is not None for _ in src] for a in tgt])
        want = same & known
        first = want & (want.cumsum(-1) == 1)
        place = torch.tensor([[i == j for j in range(len(src))] for i in range(len(tgt))])
        expect.close(
            student.true_links(tgt, src),
            want,
            holds=f"the links of {date}",
            mistakes=[
                Mistake(
                    "None is no field",
                    same,
                    "Signs are linked with signs: None == None is true. A token of no field has no counterpart.",
                ),
                Mistake(
                    "transposed",
                    want.T,
                    "Rows and columns are swapped. Targets ask, so they are the rows: entry [i, j] is for target i "
                    "and source j.",
                ),
                Mistake(
                    "first token only",
                    first,
                    "A field may have several tokens, as “22 nd” has. Each of them is linked, not only the first "
                    "that list.index finds.",
                ),
                Mistake(
                    "by place",
                    place,
                    "Token i is linked with token i. But the order of the fields differs from locale to locale: "
                    "compare the fields.",
                ),
            ],
            describe=f"the links of {date}",
        )


@exercise("alignment.error-rate", answer="error_rate")
def error_rate(student, expect):
    sure = torch.tensor([[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]).bool()
    maybe = torch.tensor([[0, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]]).bool()
    predicted = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]]).bool()
    hits, found, A, S = 2, 3, 4, 3  # |A ∩ S|, |A ∩ P|, |A|, |S|
    expect.close(
        student.error_rate(predicted, sure, maybe),
        1 - (hits + found) / (A + S),
        holds="two sure links found, a possible one found, one wrong",
        mistakes=[
            Mistake(
                "possible links ignored",
                1 - 2 * hits / (A + S),
                "This counts the possible link that was found as wrong. It belongs to P, so it adds to |A ∩ P|.",
            ),
            Mistake(
                "sure links are not possible",
                1 - (hits + found - hits) / (A + S),
                "A sure link is a possible one too: P is sure | possible. Yours counts it in |A ∩ S| only.",
            ),
            Mistake(
                "possible links must be found",
                1 - (hits + found) / (A + 6),
                "You divide by |A| + |P|, so a possible link that was not found costs something. It need not be found: "
                "|A| + |S|.",
            ),
            Mistake(
                "not an error",
                (hits + found) / (A + S),
                "This is large when the links are good. An error rate is 1 minus that.",
            ),
        ],
        describe="the error rate",
    )
    expect.close(
        student.error_rate(sure, sure, maybe),
        0.0,
        holds="all sure links and no other: 0",
        describe="the rate of the truth",
    )
    expect.close(
        student.error_rate(sure | maybe, sure, maybe),
        0.0,
        holds="possible links cost nothing",
        describe="the rate of all possible links",
    )


@exercise("alignment.two-witnesses", answer="agreed_links")
def two_witnesses(student, expect):
    square = torch.tensor([[0.1, 0.7, 0.2], [0.33, 0.31, 0.36], [0.8, 0.1, 0.1]])
    square_back = torch.tensor([[0.1, 0.35, 0.55], [0.6, 0.3, 0.1], [0.5, 0.3, 0.2]])
    wide = torch.tensor([[0.15, 0.6, 0.05, 0.2], [0.1, 0.2, 0.3, 0.4]])
    wide_back = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    for there, back in ((square, square_back), (wide, wide_back)):
        n, m = there.shape
        from_target = torch.zeros(n, m, dtype=torch.bool).scatter(1, there.argmax(1, keepdim=True), True)
        from_source = torch.zeros(m, n, dtype=torch.bool).scatter(1, back.argmax(1, keepdim=True), True)
        product = there * back.T
        mistakes = [
            Mistake(
                "either",
                from_target | from_source.T,
                "These are the links that one of the two has chosen. Both must: & in place of |.",
            ),
            Mistake(
                "only one asked",
                from_target,
                "These are the choices of the first translator alone. The second has a say too.",
            ),
            Mistake(
                "product of the weights",
                torch.zeros(n, m, dtype=torch.bool).scatter(1, product.argmax(1, keepdim=True), True),
                "You multiplied the weights and took the largest of each row, so every row has a link. Where the two "
                "disagree there is none.",
            ),
            Mistake(
                "the other axis",
                _chosen(there, 0) & _chosen(back, 0).T,
                "You took the largest weight of each column. A row is one question: its shares are compared along "
                "the last axis.",
            ),
        ]
        if n == m:
            mistakes.append(
                Mistake(
                    "not turned",
                    from_target & from_source,
                    "back has the source in its rows. Turn it, so that both matrices have targets in their rows.",
                )
            )
        expect.close(
            student.agreed_links(there, back),
            from_target & from_source.T,
            holds=f"{n} target and {m} source words",
            mistakes=mistakes,
            describe="the links on which both agree",
        )


def _chosen(weights: Tensor, dim: int) -> Tensor:
    return torch.zeros_like(weights, dtype=torch.bool).scatter(dim, weights.argmax(dim, keepdim=True), True)


@exercise("alignment.hops", answer="hops")
def hops(student, expect):
    u, M_in, M_out = torch.randn(4), torch.randn(5, 4), torch.randn(5, 4)

    def after(n_hops, ask_again=True, keep=True, tell=M_out, scale=1.0):
        now = u
        for _ in range(n_hops):
            o = (M_in @ (now if ask_again else u) / scale).softmax(-1) @ tell
            now = now + o if keep else o
        return now

    expect.close(
        student.hops(u, M_in, M_out, 1),
        after(1),
        holds="one hop",
        mistakes=[
            Mistake(
                "question forgotten",
                after(1, keep=False),
                "You hand on what was found and drop the question: u becomes o. It must become u + o, or the next hop "
                "no longer knows what was asked.",
            ),
            Mistake(
                "reads what it was found by",
                after(1, tell=M_in),
                "The weights are applied to M_in. That is what facts are found by; what they hand over is M_out.",
            ),
            Mistake(
                "scaled",
                after(1, scale=2.0),
                "You divided the scores by √d. A hop of this exercise has no scale.",
            ),
            Mistake("one hop too many", after(2), "For n_hops = 1 this looks twice."),
        ],
        describe="hops(…, 1)",
    )
    expect.close(
        student.hops(u, M_in, M_out, 3),
        after(3),
        holds="three hops",
        mistakes=[
            Mistake(
                "asks the same again",
                after(3, ask_again=False),
                "Each hop computes the same weights, because each asks with the first u. Ask with the u that the last "
                "hop has left.",
            )
        ],
        describe="hops(…, 3)",
    )


@exercise("alignment.what-matters", answer="what_matters")
def what_matters(student, expect):
    unk, src = 3, torch.tensor([5, 7, 6, 4])
    worth = torch.zeros(9, 3)
    worth[5], worth[7], worth[6], worth[4] = torch.tensor([[2.0, 0, 0], [1.0, 0.5, 0], [-0.5, 1.0, 0], [0.0, 0.0, 0.5]])
    place = torch.tensor([1.0, 1.5, 0.7, 1.0])

    def predict(ids: Tensor) -> Tensor:
        return (place[:, None] * worth[ids]).sum(0).softmax(-1)

    full = predict(src)
    word = full.argmax()
    alone, gone = [], src.clone()
    cumulative = []
    for j in range(len(src)):
        changed = src.clone()
        changed[j] = unk
        alone.append(predict(changed))
        gone[j] = unk
        cumulative.append(predict(gone))
    alone, cumulative = torch.stack(alone), torch.stack(cumulative)
    expect.close(
        student.what_matters(predict, src, unk),
        full[word] - alone[:, word],
        holds="how far the word's probability falls without each source word",
        mistakes=[
            Mistake(
                "not put back",
                full[word] - cumulative[:, word],
                "From the second position on, the words before are unknown as well. Put each word back before you "
                "replace the next: work on a copy of src_ids.",
            ),
            Mistake(
                "another word",
                full.max() - alone.amax(-1),
                "When a source word is gone, another target word may become the most probable. Follow the word that "
                "was predicted from the full source.",
            ),
            Mistake(
                "rise, not fall",
                alone[:, word] - full[word],
                "The sign is turned: this is how far the probability rises. A word that matters gives a large positive "
                "number.",
            ),
            Mistake(
                "what is left",
                alone[:, word],
                "These are the probabilities that are left. What matters is how much was lost: subtract them from the "
                "probability with the full source.",
            ),
        ],
        describe="the falls",
    )
    expect.true(
        (student.what_matters(predict, src, unk)[2] < 0),
        holds="a word that spoke against it has a negative fall",
        otherwise="Without source word 2 the probability rises, so its fall is negative.",
    )
