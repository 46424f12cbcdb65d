"""Judges of the exercises in chapter `decoding`."""

import math

import torch
from torch import Tensor

from tfm_lib.checks.judge import Mistake, exercise

BOS, EOS = 1, 2


def _story(ids: list[int]) -> list[float]:
    """A language of six tokens whose next one depends on all before: 1 → 4 → 3 → 5 → 3 → <eos>, or less likely ways."""
    best = {(BOS,): 4, (BOS, 4): 3, (BOS, 4, 3): 5, (BOS, 4, 3, 5): 3, (BOS, 4, 3, 5, 3): EOS}.get(tuple(ids), EOS)
    second = {(BOS,): EOS, (BOS, 4): 5, (BOS, 4, 3): EOS}.get(tuple(ids), 4)
    p = [0.05] * 6
    p[best], p[second] = 0.5, 0.3
    return [math.log(share / sum(p)) for share in p]


@exercise("decoding.greedy", answer="greedy")
def greedy(student, expect):
    got = student.greedy(_story, BOS, EOS, 10)
    mistakes = [
        Mistake(
            "<bos> returned",
            [BOS, 4, 3, 5, 3],
            "The result begins with <bos>. The model must read it, but it was given, not written: return what follows.",
        ),
        Mistake(
            "<bos> returned",
            [BOS, 4, 3, 5, 3, EOS],
            "The result holds <bos> and <eos>. Neither is a word of the sentence: return what stands between them.",
        ),
        Mistake(
            "<eos> returned",
            [4, 3, 5, 3, EOS],
            "The words are right, and <eos> stands at the end. It says that the sentence is over; it is not a word "
            "of it.",
        ),
        Mistake("never stops", [4, 3, 5, 3, *[EOS] * 6], _NEVER),
        Mistake("never stops", [4, 3, 5, 3, *[EOS] * 7], _NEVER),
        Mistake(
            "reads only the newest",
            [4, *[EOS] * 9],
            "After the second word something else is written. The next word depends on all words so far: does "
            "next_log_p get the whole list?",
        ),
        Mistake("reads only the newest", [4], _NEWEST),
        Mistake(
            "least probable",
            [0] * 10,
            "This takes the least probable token. A log-probability is negative, and the largest one is the one "
            "closest to 0: max, not min.",
        ),
    ]
    expect.equal(got, [4, 3, 5, 3], holds="the likeliest token at each step, until <eos>", mistakes=mistakes)
    expect.equal(
        student.greedy(_story, BOS, EOS, 2),
        [4, 3],
        holds="and no more than max_len",
        mistakes=[
            Mistake(
                "one too many",
                [4, 3, 5],
                "With max_len = 2 there are three tokens. <bos> does not count as written: where does your loop end?",
            ),
            Mistake(
                "one too few",
                [4],
                "With max_len = 2 there is one token. <bos> stands in your list, but it was not written: it must not "
                "count.",
            ),
            Mistake(
                "no limit",
                [4, 3, 5, 3],
                "With max_len = 2 the whole sentence came. A model may never write <eos>, so the limit must end the "
                "loop too.",
            ),
        ],
        describe="greedy(…, max_len=2)",
    )
    expect.equal(
        student.greedy(lambda ids: [math.log(p) for p in (0.1, 0.1, 0.8)], BOS, EOS, 5),
        [],
        holds="a sentence may be empty",
        describe="a sentence whose first token is <eos>",
    )


_NEVER = "The sentence is over at the first <eos>, and yours goes on. Leave the loop there."
_NEWEST = "After the first word the sentence ends. The next word depends on all words so far: does next_log_p get the whole list?"


@exercise("decoding.winner", answer="winner")
def winner(student, expect):
    # sum: 0; mean: 3; penalty at 0.6: 1; multiplied: 0
    log_p, lengths = [-2.0, -2.2, -9.0, -4.9], [1, 4, 2, 12]
    longest_wins = "Of these, the longest won although it is far less probable. "
    expect.equal(
        student.winner(log_p, lengths, 0.6),
        1,
        holds="α = 0.6: a longer one that is hardly less probable wins",
        mistakes=[
            Mistake(
                "no penalty",
                0,
                "The most probable won, and it is the shortest. Either the penalty is missing, or you multiply by it: a "
                "negative number comes closer to 0 when it is divided.",
            ),
            Mistake(
                "the worst",
                2,
                "The hypothesis with the lowest score won. All scores are negative; the best is the one closest to 0.",
            ),
            Mistake(
                "mean per token",
                3,
                longest_wins
                + "This looks like a division by the length itself: α must temper it, and 5 is added above "
                "and below.",
            ),
        ],
        describe="the winner at α = 0.6",
    )
    expect.equal(
        student.winner(log_p, lengths, 0.0),
        0,
        holds="α = 0: the most probable wins",
        mistakes=[
            Mistake(
                "α ignored",
                1,
                "With α = 0 the penalty is 1 for every length, and the most probable must win. Is α in your power, or "
                "a fixed 0.6?",
            )
        ],
        describe="the winner at α = 0",
    )
    expect.equal(
        student.winner([-1.0, -1.7], [1, 7], 0.8),
        1,
        holds="((5 + length) / 6)^α in the figures",
        mistakes=[
            Mistake(
                "not divided by 6",
                0,
                "Here −1 with 1 token loses to −1.7 with 7: the penalties are 1 and (12/6)^0.8 = 1.74. Does yours begin "
                "at 1 for one token? Look at the 5s and the place of α.",
            )
        ],
        describe="the winner of −1 (1 token) and −1.7 (7 tokens) at α = 0.8",
    )
    expect.equal(student.winner([-3.0], [4], 0.6), 0, holds="one hypothesis wins against nobody")


@exercise("decoding.beam-step", answer="beam_step")
def beam_step(student, expect):
    totals = torch.tensor([-1.0, -1.5, -4.0])
    log_p = torch.tensor([[0.4, 0.3, 0.2, 0.1], [0.05, 0.85, 0.05, 0.05], [0.97, 0.01, 0.01, 0.01]]).log()
    answer = student.beam_step(totals, log_p, 3)
    expect.true(
        isinstance(answer, (tuple, list)) and len(answer) == 3,
        holds="three tensors come back",
        otherwise=f"Expected the triple (log-probabilities, rows, tokens), got a {type(answer).__name__}.",
    )
    every = totals[:, None] + log_p
    best, where = every.flatten().topk(3)
    alone = log_p.flatten().topk(3).values
    expect.close(
        answer[0],
        best,
        holds="the best of all continuations, best first",
        mistakes=[
            Mistake(
                "totals forgotten",
                alone,
                "These are the likeliest next tokens, whatever came before them. A continuation has the log-probability "
                "of its path plus that of its token.",
            ),
            Mistake(
                "multiplied",
                (totals[:, None] * log_p).flatten().topk(3).values,
                "Probabilities are multiplied, so their logarithms are added.",
            ),
            Mistake(
                "one from each path",
                every.max(dim=1).values.sort(descending=True).values,
                "This takes the best continuation of each path. A path may be continued twice, and another not at all: "
                "let all k·v compete at once.",
            ),
            Mistake(
                "one from each path",
                every.max(dim=1).values,
                "This takes the best continuation of each path. A path may be continued twice, and another not at all: "
                "let all k·v compete at once.",
            ),
            Mistake(
                "first path only",
                every[0].topk(3).values,
                "These all continue the first path. The other paths compete too: flatten the whole table, not one row.",
            ),
            Mistake(
                "the worst",
                every.flatten().topk(3, largest=False).values,
                "These are the least probable continuations. Log-probabilities are negative: the best are the largest.",
            ),
        ],
        describe="the log-probabilities",
    )
    rows, tokens = where // 4, where % 4
    swapped = "Rows and tokens are swapped: of the flat index, the quotient by v is the row, the rest is the token."
    expect.close(
        answer[1],
        rows,
        holds="each knows which path it continues",
        mistakes=[
            Mistake("rows and tokens swapped", tokens, swapped),
            Mistake(
                "divided by k",
                where // 3,
                "The rows are off. A row of the table is v long, so divide the flat index by v, the size of the "
                "vocabulary, not by k.",
            ),
            Mistake(
                "flat index", where, "This is the index in the flattened table. Which row, and which column, was that?"
            ),
        ],
        describe="the rows",
    )
    expect.close(
        answer[2],
        tokens,
        holds="and by which token",
        mistakes=[
            Mistake("rows and tokens swapped", rows, swapped),
            Mistake("divided by k", where % 3, "The rest of the division must be by v, the size of the vocabulary."),
            Mistake("flat index", where, "This is the index in the flattened table. Which column was that?"),
        ],
        describe="the tokens",
    )
    got = student.beam_step(torch.zeros(1), log_p[:1], 2)
    expect.close(
        got[2], torch.tensor([0, 1]), holds="the first step has one path", describe="the tokens of the first step"
    )


@exercise("decoding.nucleus", answer="nucleus")
def nucleus(student, expect):
    p, top_p = torch.tensor([0.15, 0.5, 0.05, 0.3]), 0.9

    def shared(kept: list[float]) -> Tensor:
        kept = torch.tensor(kept)
        return kept / kept.sum()

    right = shared([0.15, 0.5, 0.0, 0.3])
    expect.close(
        student.nucleus(p, top_p),
        right,
        holds="the fewest that hold 0.9 share 1",
        mistakes=[
            Mistake(
                "not renormalised",
                torch.tensor([0.15, 0.5, 0.0, 0.3]),
                "The right words are kept, but they sum to 0.95. Divide by what is left.",
            ),
            Mistake(
                "stops too early",
                shared([0.0, 0.5, 0.0, 0.3]),
                "The words that you keep hold 0.8 only. The word that crosses the line of 0.9 is still needed.",
            ),
            Mistake(
                "order lost",
                shared([0.5, 0.3, 0.15, 0.0]),
                "The right numbers, sorted. Each must stand at its word's place again: the second result of sort says "
                "where.",
            ),
            Mistake(
                "keeps the tail",
                shared([0.15, 0.0, 0.05, 0.0]),
                "You kept the least probable words. Begin to add up with the most probable one: descending=True.",
            ),
            Mistake(
                "keeps the tail",
                shared([0.15, 0.5, 0.05, 0.3]),
                "Nothing was cut. Begin to add up with the most probable word, and cut those that come after 0.9 is "
                "reached.",
            ),
        ],
        describe="the distribution for top_p = 0.9",
    )
    expect.close(
        student.nucleus(p, 0.4),
        torch.tensor([0.0, 1.0, 0.0, 0.0]),
        holds="one word may be enough",
        mistakes=[
            Mistake(
                "a threshold",
                torch.full((4,), torch.nan),
                "No word is left, and the division is 0/0. top_p is a share that words hold together; the best word "
                "always stays.",
            ),
            Mistake(
                "one too many",
                shared([0.0, 0.5, 0.0, 0.3]),
                "The best word alone holds 0.5, more than 0.4, and you kept a second one. Compare what the words "
                "before it hold with top_p.",
            ),
        ],
        describe="the distribution for top_p = 0.4",
    )
    torch.manual_seed(0)
    wide = (2 * torch.randn(50)).softmax(0)
    ordered, order = wide.sort(descending=True)
    kept = torch.zeros(50)
    kept[order] = ordered * (ordered.cumsum(0) - ordered < 0.7)
    expect.close(
        student.nucleus(wide, 0.7), kept / kept.sum(), holds="50 words, each at its place", describe="50 words"
    )


@exercise("decoding.cached-step", answer="cached_step")
def cached_step(student, expect):
    torch.manual_seed(0)
    Q, K, V = torch.randn(3, 4, 4)
    past_K, past_V = K[:3], V[:3]

    def attend(keys: Tensor, values: Tensor, scale: float = 2.0) -> Tensor:
        return (keys @ Q[3] / scale).softmax(0) @ values

    answer = student.cached_step(Q[3], K[3], V[3], past_K, past_V)
    expect.true(
        isinstance(answer, (tuple, list)) and len(answer) == 3,
        holds="three tensors come back",
        otherwise=f"Expected the triple (output, keys, values), got a {type(answer).__name__}.",
    )
    output, kept_K, kept_V = answer
    mixed_up = (torch.cat([past_K, K[3:]]) @ Q[3] / 2).softmax(0) @ torch.cat([V[3:], past_V])
    expect.close(
        output,
        attend(K, V),
        holds="the new token attends to all before it and to itself",
        mistakes=[
            Mistake(
                "does not see itself",
                attend(past_K, past_V),
                "The new token attends to the past only. Position i sees j ≤ i: its own key and value belong into the "
                "cache before the scores.",
            ),
            Mistake(
                "no scale",
                attend(K, V, 1.0),
                "The scale is missing: divide the scores by √d_k before the softmax.",
            ),
            Mistake(
                "sees only itself",
                V[3],
                "The output is the new value alone: the token attends to itself only. Which keys does the cache keep?",
            ),
            Mistake(
                "keys and values out of step",
                mixed_up,
                "New keys stand behind the old ones, new values before them. Row j of both must belong to one token.",
            ),
        ],
        describe="the output",
    )
    expect.close(
        kept_K,
        K,
        holds="the new key is kept",
        mistakes=[
            Mistake(
                "cache not kept",
                past_K,
                "The keys that you return are the old ones: at the next step this token would be forgotten.",
            ),
            Mistake("cache not kept", K[3:], "Only the new key is returned. The past must stay in the cache too."),
            Mistake(
                "query kept", torch.cat([past_K, Q[3:]]), "A query stands in the cache. Keys are kept, queries asked."
            ),
        ],
        describe="the keys to keep",
    )
    expect.close(
        kept_V,
        V,
        holds="and so is the new value",
        mistakes=[Mistake("cache not kept", past_V, "The values that you return are the old ones.")],
        describe="the values to keep",
    )
    first = student.cached_step(Q[0], K[0], V[0], K[:0], V[:0])
    expect.close(first[0], V[0], holds="the first token finds an empty cache", describe="the output for an empty cache")


@exercise("decoding.may-stop", answer="may_stop")
def may_stop(student, expect):
    def said(*case) -> bool:
        return bool(student.may_stop(*case))

    # lp at 7 tokens with α = 1 is 2
    expect.true(
        said([-3.0, -5.0], -1.4, 1.0, 7),
        holds="−3 divided by at most 2 cannot pass −1.4",
        otherwise="With paths at −3 and −5, a score of −1.4, α = 1 and at most 7 tokens, the best that can come is "
        "−3 / 2 = −1.5. It may stop, and you said no.",
        mistake="turned round",
    )
    expect.true(
        not said([-3.0, -5.0], -1.6, 1.0, 7),
        holds="but it can pass −1.6",
        otherwise="−3 / 2 = −1.5 is better than −1.6, if the path grows to 7 tokens with certainty. It must go on, and "
        "you said stop. Did you divide by the penalty of the limit?",
        mistake="no penalty",
    )
    expect.true(
        not said([-5.0, -3.0], -1.6, 1.0, 7),
        holds="in any order of the paths",
        otherwise="The same two paths in the other order, and you said stop: one path that can still win is enough. Look "
        "at the best of them, not at the first or the worst.",
        mistake="not the best path",
    )
    expect.true(
        said([-3.0], -1.5, 1.0, 7),
        holds="a tie is no higher score",
        otherwise="−3 / 2 = −1.5 is as high as the score, not higher. It may stop.",
        mistake="a tie",
    )
    expect.true(
        said([-3.0], -2.9, 0.0, 7),
        holds="without a penalty, log-probabilities are compared",
        otherwise="With α = 0 the penalty is 1, and −3 can only fall: it cannot pass −2.9. It may stop. Is α in your power?",
        mistake="α ignored",
    )
    expect.true(
        not said([-3.0], -1.0, 1.0, 31),
        holds="the limit counts",
        otherwise="With at most 31 tokens the penalty is 36/6 = 6, so −3 can still become −0.5. It must go on.",
        mistake="limit ignored",
    )
    expect.true(
        said([], -4.0, 0.6, 20),
        holds="with no open path it is over",
        otherwise="No path is open, so nothing can win any more. It may stop.",
        mistake="no paths",
    )
