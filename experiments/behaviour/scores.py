"""Figures with intervals: shares by Wilson, BLEU and shares of BLEU by a paired bootstrap over the cases."""

import random
from collections.abc import Sequence
from math import sqrt

import sacrebleu

DRAWS = 1000
_BLEU = sacrebleu.BLEU()
_SENTENCE = sacrebleu.BLEU(effective_order=True)  # counts the same, and has nothing to say about short sentences

Stats = tuple[int, ...]  # for orders 1 to 4: right n-grams, then n-grams; the lengths of hypothesis and reference


def wilson(passed: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, 1927)."""
    share, centre = passed / n, passed / n + z * z / (2 * n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)
    return max(0.0, low), min(1.0, high)


def stats(written: str, reference: str) -> Stats:
    score = _SENTENCE.sentence_score(written, [reference])
    return (*score.counts, *score.totals, score.sys_len, score.ref_len)


def bleu(cases: Sequence[Stats]) -> float:
    """Corpus BLEU from its sentences' counts, as sacrebleu's `corpus_score` has it."""
    total = [sum(column) for column in zip(*cases)]
    return _BLEU.compute_bleu(total[:4], total[4:8], total[8], total[9], smooth_method="exp").score


def bootstrap(cases: Sequence[Sequence[list[Stats]]], figure, draws: int = DRAWS, seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of `figure(columns)`: cases are drawn anew, each with all its columns.

    A case is, for each column, the counts of its sentences (a carrier has one for each of its references).
    """
    draw, found = random.Random(seed), []
    # A case's counts are summed once; a drawn corpus is then a sum of so many rows.
    rows = [[tuple(map(sum, zip(*column))) for column in case] for case in cases]
    for _ in range(draws):
        chosen = draw.choices(rows, k=len(rows))
        found.append(figure([list(column) for column in zip(*chosen)]))
    found.sort()
    return found[int(0.025 * draws)], found[int(0.975 * draws) - 1]
