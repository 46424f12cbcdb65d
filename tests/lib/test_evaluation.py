"""BLEU and chrF against the field's library, the paired bootstrap against loops and against coins whose odds are known."""

import math
import random
import re

import pytest
import sacrebleu
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from lib.misfits import NUMBER, SIZE
from tfm_lib.evaluation import Bleu, bleu, bleu_words, chrf, ngram_matches, paired_bootstrap

WORDS = "the a cat dog sat on mat red old table, book. she put 3.5 1,000 don't well-known 1990-95 &quot; (so) $5 l'eau".split()
SIGNS = "abc 019.,-'\"&;:!?()[]{}/\\$%<>@#*+=~`^_|éß한\n\t"
sentences = st.lists(st.sampled_from(WORDS), min_size=0, max_size=14).map(" ".join)
TEXTS = [
    "", " ", "a", "3.14", "1,000.5", "a.b", "1.a", "a-1", "1-a", "1 - 2", "U.S.A.", "--", "...", "“quoted”", "&lt;b&gt; &amp;amp;",
    "l'eau n'est-elle pas là ?", "Où   ça\t!", "100%-ig", "e-mail: a@b.c", "été\nhiver", "a_b", "x<=y", "1.2.3,4-5-x",
]  # fmt: skip


def corpus(size: int, seed: int = 0, slips: float = 0.3) -> tuple[list[str], list[str]]:
    """Hypotheses that differ from their references by words left out, exchanged and repeated."""
    draw = random.Random(seed)
    references = [" ".join(draw.choices(WORDS, k=draw.randrange(1, 16))) for _ in range(size)]

    def slipped(words: list[str]) -> str:
        kept = [
            draw.choice(WORDS) if draw.random() < slips / 2 else word for word in words if draw.random() > slips / 3
        ]
        return " ".join(kept + kept[-1:] * (draw.random() < slips / 3))

    return [slipped(reference.split()) for reference in references], references


# words and n-grams


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_cut_as_the_official_script_cuts_them(text):
    assert bleu_words(text) == Tokenizer13a()(text).split()


@given(text=st.text(alphabet=SIGNS, max_size=40))
def test_words_of_any_text_are_cut_like_that(text):
    theirs = Tokenizer13a()
    assert (
        bleu_words(text.replace("\n", " ").replace("&", "")) == theirs(text.replace("\n", " ").replace("&", "")).split()
    )


def test_an_n_gram_matches_at_most_as_often_as_the_reference_has_it():
    assert ngram_matches("the the the the".split(), "the cat and the dog".split(), 1) == 2
    assert ngram_matches("a b a b a b".split(), "a b a".split(), 2) == 2


@given(
    ours=st.lists(st.sampled_from("abc"), max_size=9),
    theirs=st.lists(st.sampled_from("abc"), max_size=9),
    n=st.integers(1, 4),
)
def test_matches_are_pairs_that_are_struck_out_one_by_one(ours, theirs, n):
    left = [theirs[i : i + n] for i in range(len(theirs) - n + 1)]
    found = 0
    for start in range(len(ours) - n + 1):
        if ours[start : start + n] in left:
            left.remove(ours[start : start + n])
            found += 1
    assert ngram_matches(ours, theirs, n) == found == ngram_matches(theirs, ours, n)


# scores


def test_bleu_of_a_thousand_pairs_is_the_librarys():
    ours, theirs = corpus(1000)
    for count in (1000, 10, 1):  # of all, and of small corpora, one after the other
        for start in range(0, 1000, count):
            hypotheses, references = ours[start : start + count], theirs[start : start + count]
            found, wanted = bleu(hypotheses, references), sacrebleu.corpus_bleu(hypotheses, [references])
            assert found.score == pytest.approx(wanted.score, abs=1e-9)
            assert found.precisions == pytest.approx(wanted.precisions, abs=1e-9)
            assert found.brevity == pytest.approx(wanted.bp, abs=1e-12)
            assert found[3:] == (wanted.sys_len, wanted.ref_len)


@given(ours=st.lists(sentences, min_size=3, max_size=3), theirs=st.lists(sentences, min_size=3, max_size=3))
def test_bleu_of_any_three_pairs_is_the_librarys(ours, theirs):
    assert bleu(ours, theirs).score == pytest.approx(sacrebleu.corpus_bleu(ours, [theirs]).score, abs=1e-9)


def test_the_sum_of_all_sentences_is_divided_once():
    ours, theirs = ["the cat sat on the mat", "a dog"], ["the cat sat on the mat", "she put it there"]
    apart = [bleu([one], [other]).score for one, other in zip(ours, theirs, strict=True)]
    assert bleu(ours, theirs).score != pytest.approx(sum(apart) / 2, abs=1)
    assert bleu(ours, theirs).precisions[0] == pytest.approx(100 * 6 / 8)


def test_by_hand():
    """7/9 of the words, 5/8, 4/7 and 3/6 of the longer runs: their geometric mean is the fourth root of 5/36."""
    found = bleu(["she put the red book on the old table"], ["she put the red book on a table"])
    assert found == Bleu(
        pytest.approx(100 * (5 / 36) ** 0.25), pytest.approx([700 / 9, 500 / 8, 400 / 7, 50]), 1.0, 9, 8
    )


def test_short_translations_pay():
    reference = "she put the red book on a table"
    assert bleu([reference[:20]], [reference]) == Bleu(
        pytest.approx(100 * math.exp(1 - 8 / 5)), [100.0] * 4, pytest.approx(math.exp(-0.6)), 5, 8
    )
    assert bleu([reference], [reference]).score == pytest.approx(100)
    assert bleu([""], [reference]) == Bleu(0.0, [0.0] * 4, 0.0, 0, 8)


@pytest.mark.parametrize(("n", "beta"), [(6, 2.0), (4, 1.0), (6, 3.0), (2, 2.0)])
def test_chrf_of_a_thousand_pairs_is_the_librarys(n, beta):
    ours, theirs = corpus(1000, seed=1)
    wanted = sacrebleu.metrics.CHRF(char_order=n, beta=beta).corpus_score(ours, [theirs]).score
    assert chrf(ours, theirs, n=n, beta=beta) == pytest.approx(wanted, abs=1e-9)


@given(ours=st.lists(sentences, min_size=2, max_size=2), theirs=st.lists(sentences, min_size=2, max_size=2))
def test_chrf_lies_between_nothing_and_all(ours, theirs):
    assert 0 <= chrf(ours, theirs) <= 100 + 1e-9
    assert chrf(theirs, theirs) == pytest.approx(100 if any("".join(theirs).split()) else 0)


# differences


def test_a_paired_bootstrap_is_what_loops_find():
    (ours, references), (theirs, _) = corpus(25, slips=0.3), corpus(25, slips=0.5)
    found = paired_bootstrap(ours, theirs, references, draws=60, seed=3)
    chosen = torch.randint(25, (60, 25), generator=torch.Generator().manual_seed(3)).tolist()
    points = []
    for rows in chosen:
        wanted = [[references[i] for i in rows]]
        first, second = (sacrebleu.corpus_bleu([texts[i] for i in rows], wanted).score for texts in (ours, theirs))
        points.append(first - second)
    whole = sacrebleu.corpus_bleu(ours, [references]).score - sacrebleu.corpus_bleu(theirs, [references]).score
    assert found.points == pytest.approx(whole, abs=1e-9)
    assert [found.low, found.high] == pytest.approx(
        torch.tensor(points).quantile(torch.tensor([0.025, 0.975])).tolist(), abs=1e-3
    )
    assert found.not_better == sum(point <= 0 for point in points) / 60


def test_both_systems_are_scored_on_the_same_draw():
    """Half of the sentences are hopeless to both; on some of the others one of them is a little better."""
    _, references = corpus(40, seed=2)
    better = [text if i % 2 else "so so so" for i, text in enumerate(references)]
    other = [" ".join([*text.split()[:-1], "so"]) if i % 4 == 1 else text for i, text in enumerate(better)]
    found = paired_bootstrap(better, other, references, draws=200)
    assert found.not_better == 0 and found.low > 0


def test_exchanged_systems_exchange_the_interval():
    (ours, references), (theirs, _) = corpus(30, slips=0.3), corpus(30, slips=0.4)
    one, other = paired_bootstrap(ours, theirs, references, 200), paired_bootstrap(theirs, ours, references, 200)
    assert other.points == -one.points
    assert [-other.high, -other.low] == pytest.approx([one.low, one.high], abs=1e-3)


def test_equal_systems_differ_by_nothing():
    ours, references = corpus(20)
    assert paired_bootstrap(ours, ours, references, draws=50) == (0.0, 0.0, 0.0, 1.0)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_a_seed_draws_the_same_again(seed):
    (ours, references), (theirs, _) = corpus(15), corpus(15, seed=1)
    assert paired_bootstrap(ours, theirs, references, 30, seed) == paired_bootstrap(ours, theirs, references, 30, seed)


@pytest.mark.long
def test_of_two_equally_good_systems_one_is_rarely_called_better():
    """Each makes its slips by the same coin: an interval of 95 % leaves out 0 in about 5 % of such tests."""
    wrong = 0
    for seed in range(60):
        _, references = corpus(60, seed=1000 + seed)
        draw = random.Random(seed)
        ours, theirs = (
            [text if draw.random() < 0.5 else f"{text} so so" for text in references] for _ in range(2)
        )  # fmt: skip
        found = paired_bootstrap(ours, theirs, references, draws=200, seed=seed)
        wrong += not found.low <= 0 <= found.high
    assert wrong <= 9  # of 60; more with a chance below one in a thousand


TEXT = (None, "one text", 3)
NO_WORDS = {f"{side} → each of {side}": ([["a"]], [3], [None], ["a", ("a",)]) for side in ("hypothesis", "reference")}
MISFITS = {
    "bleu_words": (bleu_words, dict(text="a b"), dict(text=(None, 3, ["a"]))),
    "ngram_matches": (ngram_matches, dict(hypothesis=["a"], reference=["a"], n=1), NO_WORDS | {"n": SIZE}),
    "bleu": (bleu, dict(hypotheses=["a"], references=["a"]), dict(hypotheses=TEXT, references=(*TEXT, [], ["a", "b"]))),
    "chrf": (
        chrf,
        dict(hypotheses=["a"], references=["a"], n=2, beta=2.0),
        dict(hypotheses=TEXT, references=(*TEXT, ["a", "b"]), n=SIZE, beta=(*NUMBER, 0.0)),
    ),
    "paired_bootstrap": (
        paired_bootstrap,
        dict(ours=["a"], theirs=["a"], references=["a"], draws=3, seed=0),
        dict(references=(*TEXT, ["a", "b"]), draws=SIZE),
    ),
}


FOREIGN = {  # calls that ended in another library's words, or in silence, with what they must say
    "words that are a number": (lambda: ngram_matches(5, ["a"], 1), "hypothesis must be a sequence of words"),
    "words that are a set": (lambda: ngram_matches({"a"}, ["a"], 1), "hypothesis must be a sequence of words"),
    "no words at all": (lambda: ngram_matches(["a"], None, 1), "reference must be a sequence of words"),
    "an infinite weight": (lambda: chrf(["a"], ["a"], beta=math.inf), "beta must be above 0, and a million at most"),
    "a weight whose square is none": (lambda: chrf(["a"], ["a"], beta=1e200), "beta must be above 0, and a million"),
    "a seed that is a word": (lambda: paired_bootstrap(["a"], ["a"], ["a"], seed="x"), "seed must be a whole number"),
    "a seed with a half": (lambda: paired_bootstrap(["a"], ["a"], ["a"], seed=1.5), "seed must be a whole number"),
    "a seed too large": (lambda: paired_bootstrap(["a"], ["a"], ["a"], seed=2**70), "seed must be a whole number"),
}


@pytest.mark.parametrize("call", FOREIGN)
def test_what_cannot_be_ends_in_a_sentence(call, as_readers_run_it):
    asked, says = FOREIGN[call]
    with pytest.raises((ValueError, TypeError), match=re.escape(says)):
        asked()


MUTATIONS = {  # what is removed, and the test that must turn red
    "no clipping": ("(_ngrams(hypothesis, n) & _ngrams(reference, n)).total()", "sum(_ngrams(hypothesis, n)[run] for run in _ngrams(reference, n))", "test_an_n_gram_matches_at_most_as_often_as_the_reference_has_it"),
    "no brevity penalty": ("math.exp(1 - theirs / ours) if ours else 0.0", "1.0", "test_short_translations_pay"),
    "a mean of precisions": ("math.exp(sum(map(math.log, precisions)) / 4)", "sum(precisions) / 400", "test_by_hand"),
    "nothing for a run without a match": ("(matched or half)", "matched", "test_bleu_of_a_thousand_pairs_is_the_librarys"),
    "half a match each time": ("            half /= 2\n", "            half = 0.5\n", "test_bleu_of_a_thousand_pairs_is_the_librarys"),
    "signs stay with their words": ('(f"([{re.escape(_SIGNS)}])", r" \\1 "),', "", "test_words_are_cut_as_the_official_script_cuts_them"),
    "points in numbers are cut": ('("([^0-9])([.,])", r"\\1 \\2 "),', '("()([.,])", r"\\1 \\2 "),', "test_words_are_cut_as_the_official_script_cuts_them"),
    "spaces count": ('["".join(text.split()) for text in pair]', "list(pair)", "test_chrf_of_a_thousand_pairs_is_the_librarys"),
    "runs that no reference holds": ("if len(pair[1]) >= length]", "]", "test_chrf_of_a_thousand_pairs_is_the_librarys"),
    "recall counts once": ("weighed = beta**2 * precision + recall", "weighed = precision + recall", "test_chrf_of_a_thousand_pairs_is_the_librarys"),
    "each system has its own draw": (
        "for counts in systems)",
        "for counts in (systems[0], systems[1].roll(1, 0)))",
        "test_both_systems_are_scored_on_the_same_draw",
    ),
    "a sentence never comes twice": ("torch.randint(size, (draws, size), generator=generator)", "torch.stack([torch.randperm(size, generator=generator) for _ in range(draws)])", "test_a_paired_bootstrap_is_what_loops_find"),
    "a draw counts as better when it is equal": ("(points <= 0)", "(points < 0)", "test_equal_systems_differ_by_nothing"),
}  # fmt: skip
