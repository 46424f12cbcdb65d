"""Evaluation: how near translations come to references, and whether a difference is one."""

import math
import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from tfm_lib._errors import (
    bad_input, require_kind, require_number, require_sizes, require_texts, require_whole,
    require_words,
)  # fmt: skip

__all__ = ["Bleu", "Difference", "bleu", "bleu_words", "chrf", "ngram_matches", "paired_bootstrap"]

_SIGNS = "".join(sign for sign in string.punctuation if sign not in "',-.")
_CUTS = (
    (f"([{re.escape(_SIGNS)}])", r" \1 "),
    ("([^0-9])([.,])", r"\1 \2 "),
    ("([.,])([^0-9])", r" \1 \2"),
    ("([0-9])(-)", r"\1 \2 "),
)
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def bleu_words(text: str) -> list[str]:
    """`text` cut into words as BLEU's official script cuts it.

    Signs stand alone, but for points and commas between digits, apostrophes, and hyphens that
    follow no digit.

    Source: mteval-v13a of NIST, which sacrebleu calls "13a" (Post, 2018).
    """
    require_kind("text", text, str, "be a string")
    for written, sign in _ENTITIES:
        text = text.replace(written, sign)
    text = f" {text} "
    for pattern, parted in _CUTS:
        text = re.sub(pattern, parted, text)
    return text.split()


def ngram_matches(hypothesis: Sequence[str], reference: Sequence[str], n: int) -> int:
    """How many n-grams of the hypothesis the reference has too, each at most as often as there.

    Source: Papineni et al. (2002), section 2.1, the modified precision's numerator.
    """
    require_sizes(n=n)
    for name, words in (("hypothesis", hypothesis), ("reference", reference)):
        require_words(name, words)
    return (_ngrams(hypothesis, n) & _ngrams(reference, n)).total()


class Bleu(NamedTuple):
    """BLEU and what it is made of, in percent but for `brevity`; words of both sides."""

    score: float
    precisions: list[float]
    brevity: float
    hypothesis_words: int
    reference_words: int


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Bleu:
    """BLEU of a corpus: brevity penalty times the geometric mean of p₁ to p₄.

    p_n is the share of the hypotheses' n-grams that the references have too; counts are added
    over all sentences before anything is divided. An n without a match counts half a match,
    the next a quarter.

    Source: Papineni et al. (2002), section 2.3; mteval-v13a for the case without a match.
    """
    return _bleu(_statistics(hypotheses, references).sum(dim=0).tolist())


def chrf(
    hypotheses: Sequence[str],
    references: Sequence[str],
    n: int = 6,
    beta: float = 2.0,
) -> float:
    """chrF, in percent: how many runs of 1 to `n` characters the two sides share.

    Precision and recall are means over the lengths of runs; recall weighs `beta` times as much.
    Spaces do not count, and neither do runs that are longer than the reference.

    Source: Popović (2015), section 2.
    """
    _require_references(hypotheses, references)
    require_sizes(n=n)
    require_number("beta", beta, lambda beta: 0 < beta <= 1e6, "be above 0, and a million at most")
    pairs = [["".join(text.split()) for text in pair] for pair in zip(hypotheses, references)]
    shares = []
    for length in range(1, n + 1):
        long_enough = [pair for pair in pairs if len(pair[1]) >= length]
        shared = sum(ngram_matches(ours, theirs, length) for ours, theirs in long_enough)
        runs = [sum(max(len(text) - length + 1, 0) for text in side) for side in zip(*long_enough)]
        if runs and all(runs):
            shares.append((shared / runs[0], shared / runs[1]))
    if not shares:
        return 0.0
    precision, recall = (sum(share) / len(shares) for share in zip(*shares))
    weighed = beta**2 * precision + recall
    return 100 * (1 + beta**2) * precision * recall / weighed if weighed else 0.0


class Difference(NamedTuple):
    """By how much the first system's BLEU is above the second's, and how sure that is.

    From `low` to `high` are 95 % of the draws; `not_better` is the share of draws in which
    the first system is not ahead.
    """

    points: float
    low: float
    high: float
    not_better: float


def paired_bootstrap(
    ours: Sequence[str],
    theirs: Sequence[str],
    references: Sequence[str],
    draws: int = 1000,
    seed: int = 0,
) -> Difference:
    """Whether `ours` is better than `theirs`, or was lucky with the sentences of this test.

    Test sets of the same size are drawn from this one, with sentences coming twice or not at all,
    and both systems are scored on each.

    Source: Koehn (2004), section 4.
    """
    require_sizes(draws=draws)
    require_whole("seed", seed, 0, "be a whole number from 0 to 2⁶³ − 1", 2**63 - 1)
    systems = [_statistics(texts, references) for texts in (ours, theirs)]
    size, generator = len(references), torch.Generator().manual_seed(seed)
    chosen = torch.randint(size, (draws, size), generator=generator)
    times = torch.stack([draw.bincount(minlength=size) for draw in chosen])  # each sentence comes
    first, second = ([_bleu(row).score for row in (times @ counts).tolist()] for counts in systems)
    points = torch.tensor(first) - torch.tensor(second)
    low, high = points.quantile(torch.tensor([0.025, 0.975])).tolist()
    whole = bleu(ours, references).score - bleu(theirs, references).score
    return Difference(whole, low, high, (points <= 0).double().mean().item())


def _ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1))


def _statistics(hypotheses: Sequence[str], references: Sequence[str]) -> Int[Tensor, "rows 10"]:
    """All that BLEU asks of a sentence: words of both sides, then matches and n-grams for n = 1 to 4."""
    _require_references(hypotheses, references)
    rows = []
    for ours, theirs in zip(map(bleu_words, hypotheses), map(bleu_words, references)):
        counts = [(ngram_matches(ours, theirs, n), max(len(ours) - n + 1, 0)) for n in (1, 2, 3, 4)]
        rows.append([len(ours), len(theirs), *(number for pair in counts for number in pair)])
    return torch.tensor(rows)


def _bleu(counts: Sequence[int]) -> Bleu:
    ours, theirs, *rest = counts
    matches, ngrams = rest[::2], rest[1::2]
    brevity = 1.0 if ours >= theirs else math.exp(1 - theirs / ours) if ours else 0.0
    precisions, half = [], 1.0
    for matched, of in zip(matches, ngrams):
        if of and not matched:
            half /= 2
        precisions.append(100 * (matched or half) / of if of else 0.0)
    if not any(matches) or 0 in precisions:
        return Bleu(0.0, precisions if any(matches) else [0.0] * 4, brevity, ours, theirs)
    score = brevity * math.exp(sum(map(math.log, precisions)) / 4)
    return Bleu(score, precisions, brevity, ours, theirs)


def _require_references(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    require_texts("hypotheses", hypotheses)
    require_texts("references", references)
    if len(hypotheses) != len(references) or not references:
        must = "hold one text for each hypothesis, and at least one"
        raise bad_input("references", must, f"{len(references)} for {len(hypotheses)} hypotheses")
