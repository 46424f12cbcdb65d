"""Embedded corpora: the same at every call, split for ever, with alignments that an independent look confirms."""

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

import pytest
from babel.dates import format_date
from num2words import num2words
from project import ROOT

from tfm_lib.alignment import AttentiveSeq2Seq
from tfm_lib.corpora import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Corpus, Pair, Vocabulary, load_corpus, memory_tensors
from tfm_lib.corpora.dates import LOCALES, date_tokenizer, iso, links, written
from tfm_lib.corpora.numbers import LANGUAGES, number_pair
from tfm_lib.corpora.questions import facts_of
from tfm_lib.data import Example, Tokenizer, pad
from tfm_lib.recurrence import Seq2Seq
from tfm_lib.training import Batch
from tfm_lib.transformer import TransformerConfig

NAMES = ("copy", "reverse", "sort", "dates", "numbers", "questions")
every_corpus = pytest.mark.parametrize("name", NAMES)


def plain(pairs) -> list:
    return [[pair.src, pair.tgt, sorted(pair.links), sorted(pair.possible)] for pair in pairs]


# what holds for every corpus


@every_corpus
def test_size_and_distinct_sources(name):
    pairs = load_corpus(name, size=300).pairs
    assert len({pair.src for pair in pairs}) == len(pairs) == 300


@every_corpus
def test_seed_decides(name):
    first = load_corpus(name, size=50).pairs
    assert load_corpus(name, size=50).pairs == first
    assert load_corpus(name, size=50, seed=1).pairs != first
    assert load_corpus(name, size=80).pairs[:50] == first


def test_another_process_makes_the_same_corpora():
    code = (
        "import json; from tfm_lib.corpora import load_corpus\n"
        "print(json.dumps({name: [[p.src, p.tgt, sorted(p.links), sorted(p.possible)]"
        f" for p in load_corpus(name, size=40).pairs] for name in {NAMES}}}))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    here = {name: plain(load_corpus(name, size=40).pairs) for name in NAMES}
    assert json.loads(run.stdout) == json.loads(json.dumps(here))


@every_corpus
def test_links_stay_within_the_sentences(name):
    for pair in load_corpus(name, size=300).pairs:
        assert all(0 <= i < len(pair.tgt) and 0 <= j < len(pair.src) for i, j in pair.links | pair.possible)
        assert not pair.links & pair.possible
        assert pair.links


@every_corpus
def test_split_keeps_every_pair_once(name):
    corpus = load_corpus(name, size=2000)
    parts = {part: corpus.split(part) for part in ("train", "val", "test")}
    assert sorted(str(pair) for part in parts.values() for pair in part) == sorted(map(str, corpus.pairs))
    assert 0.75 < len(parts["train"]) / 2000 < 0.85
    assert 0.07 < len(parts["val"]) / 2000 < 0.13


@every_corpus
def test_a_pair_stays_in_its_part_when_the_corpus_grows(name):
    small, large = load_corpus(name, size=100), load_corpus(name, size=200)
    for part in ("train", "val", "test"):
        assert set(small.split(part)) <= set(large.split(part))


def test_split_is_by_the_hash_of_the_source():
    for target in ("x", "y"):  # what follows is written down once, and must stay so
        corpus = Corpus("own", tuple(Pair((word,), (target,)) for word in "abcdefghijklmnop"))
        assert "".join(pair.src[0] for pair in corpus.split("val")) == "cfn"
        assert "".join(pair.src[0] for pair in corpus.split("test")) == "djp"


def test_vocabulary_begins_with_the_special_tokens():
    vocabulary = Vocabulary(["b", "a", "b"])
    assert vocabulary.tokens == ("<pad>", "<bos>", "<eos>", "<unk>", "a", "b")
    assert vocabulary.encode(["b", "c"]) == [5, UNK_ID]
    assert vocabulary.decode([BOS_ID, 5, 4, EOS_ID, 5, PAD_ID]) == ["b", "a"]
    assert len(vocabulary) == 6


@every_corpus
def test_sentences_are_the_tokens_of_a_part_with_single_spaces(name):
    corpus = load_corpus(name, size=300)
    for part in ("train", "val", "test"):
        pairs = [(tuple(src.split(" ")), tuple(tgt.split(" "))) for src, tgt in corpus.sentences(part)]
        assert pairs == [(pair.src, pair.tgt) for pair in corpus.split(part)]


def test_one_vocabulary_says_which_ids_are_special():
    sizes = dict(d_model=8, n_heads=2, d_ff=12, n_layers=1)
    own = [TransformerConfig(9, **sizes).pad_id, Seq2Seq(9, 9, 4).pad_id, AttentiveSeq2Seq(9, 9, 4).pad_id, PAD_ID]
    own += [Tokenizer.pad_id, pad([[5], [5, 5]])[0, 1].item(), Batch.of([Example([5], [5])]).pad_id]
    assert own == [Vocabulary.pad_id] * 7
    assert [Vocabulary.special[i] for i in (PAD_ID, BOS_ID, EOS_ID, UNK_ID)] == ["<pad>", "<bos>", "<eos>", "<unk>"]
    for name in ("bos_id", "eos_id", "unk_id"):
        assert getattr(Tokenizer, name) == getattr(Vocabulary, name)


def test_tensors_are_padded_and_shifted():
    corpus = Corpus("own", (Pair(("a", "b"), ("x",)), Pair(("a",), ("x", "y"))))
    src, inputs, outputs = corpus.tensors(corpus.pairs)
    assert src.tolist() == [[4, 5, EOS_ID], [4, EOS_ID, PAD_ID]]
    assert inputs.tolist() == [[BOS_ID, 4, PAD_ID], [BOS_ID, 4, 5]]
    assert outputs.tolist() == [[4, EOS_ID, PAD_ID], [4, 5, EOS_ID]]


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        (
            "date",
            {},
            "No corpus is called 'date'; there are copy, dates, multi30k, numbers, questions, reverse, sort, tatoeba-en-fr,",
        ),
        ("copy", {"alphabet": 1}, "Need 1 ≤ min_len ≤ max_len and 2 ≤ alphabet ≤ 26; got 2, 10, 1."),
        ("dates", {"first_year": 2000, "last_year": 1999}, "Need 1 ≤ first_year ≤ last_year; got 2000 and 1999."),
        ("dates", {"pattern": "short"}, "pattern must be full, long or medium; got 'short'."),
        ("dates", {"locales": ["xx_YY"]}, f"Babel knows no locale 'xx_YY'; {', '.join(LOCALES)} are some"),
        ("numbers", {"language": "de"}, "language must be one of en, es, id, pl, pt, ru; got 'de'."),
        ("numbers", {"to": "word"}, 'to must be "digits" or "words"; got \'word\'.'),
        ("numbers", {"max_digits": 7}, "Need 1 ≤ min_digits ≤ max_digits ≤ 6; got 1 and 7."),
        ("questions", {"min_facts": 2}, "Need 3 ≤ min_facts ≤ max_facts; got 2 and 10."),
    ],
)
def test_bad_options_get_a_sentence(name, options, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        load_corpus(name, **options)


# lists of letters


@pytest.mark.parametrize(("name", "expected"), [("copy", list), ("reverse", lambda s: list(s)[::-1]), ("sort", sorted)])
def test_lists_are_copied_reversed_and_sorted(name, expected):
    for pair in load_corpus(name, size=300).pairs:
        assert list(pair.tgt) == expected(pair.src)
        assert sorted(j for _, j in pair.links) == sorted(i for i, _ in pair.links) == list(range(len(pair.src)))
        assert all(pair.tgt[i] == pair.src[j] for i, j in pair.links)


# dates


def joined(tokens) -> str:
    return "".join(token for token, _ in tokens)


@pytest.mark.parametrize("pattern", ["full", "long", "medium"])
@pytest.mark.parametrize("locale", LOCALES)
def test_a_written_date_is_babels(locale, pattern):
    for day in range(0, 3000, 37):
        date = datetime.date(1999, 1, 1) + datetime.timedelta(day)
        assert joined(written(date, locale, pattern)) == re.sub(r"\s", "", format_date(date, pattern, locale))


@pytest.mark.parametrize("pattern", ["full", "long", "medium"])
@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("field", ["year", "month", "day"])
def test_the_tokens_of_a_field_are_those_that_change_with_it(locale, pattern, field):
    """Independent of the pattern: change one field of the date, and see which tokens differ."""
    date = datetime.date(2021, 3, 14)
    for value in {"year": (1987, 2032), "month": range(1, 13), "day": (1, 9, 28)}[field]:
        other = date.replace(**{field: value})
        if other == date:
            continue
        before, after = written(date, locale, pattern), written(other, locale, pattern)
        own = [[token for token, of in tokens if of == field] for tokens in (before, after)]
        rest = [[token for token, of in tokens if of not in (field, "weekday")] for tokens in (before, after)]
        assert own[0] != own[1]
        assert rest[0] == rest[1]


def test_every_field_of_an_iso_date_is_linked_once():
    for pair in load_corpus("dates", size=300).pairs:
        assert sorted(i for i, _ in pair.links) == [0, 2, 4]
        year, month, day = (next(pair.src[j] for i, j in pair.links if i == place) for place in (0, 2, 4))
        assert (year, int(day)) == (pair.tgt[0], int(pair.tgt[4]))
        assert not month.isdigit() or int(month) == int(pair.tgt[2])  # Korean months are numbers


def test_the_tokenizer_of_dates_joins_digits_and_loses_nothing():
    pairs = load_corpus("dates").sentences("train")
    tokenizer = date_tokenizer((side for pair in pairs for side in pair), 400)
    assert tokenizer.pieces("28 de julio de 1975")[-1].strip("▁") == "1975"
    assert [tokenizer.piece(i) for i in range(4)] == ["<pad>", "<bos>", "<eos>", "<unk>"]
    for side in (side for pair in pairs[:300] for side in pair):
        assert tokenizer.decode(tokenizer.encode(side)) == side


def test_links_of_a_date_by_hand():
    date = datetime.date(2021, 3, 4)
    assert iso(date) == [("2021", "year"), ("-", None), ("03", "month"), ("-", None), ("04", "day")]
    src = written(date, "es")
    assert [token for token, _ in src] == ["4", "de", "marzo", "de", "2021"]
    assert links(iso(date), src) == {(0, 4), (2, 2), (4, 0)}
    assert [token for token, _ in written(date, "de", "full")] == ["Donnerstag", ",", "4", ".", "März", "2021"]
    korean = load_corpus("dates", size=20, target="ko", locales=["hu"])
    assert all(len(pair.links) == 3 for pair in korean.pairs)


# numbers

SCALES = {
    "en": {"hundred": 100, "thousand": 1000},
    "es": {"mil": 1000},
    "id": {"belas": 10, "puluh": 10, "ratus": 100, "ribu": 1000, "seribu": 1000},
    "pl": {"tysiąc": 1000, "tysiące": 1000, "tysięcy": 1000},
    "pt": {"mil": 1000},
    "ru": {"тысяча": 1000, "тысячи": 1000, "тысяч": 1000},
}
MORE = {"es": {"ciento": 100}, "pt": {"cento": 100}, "ru": {"одна": 1, "две": 2}}


def values(language: str) -> dict[str, int]:
    """The words that are a number by themselves, asked of num2words one at a time."""
    alone = [*range(1, 100), *range(100, 1000, 100)]
    words = {num2words(value, lang=language): value for value in alone}
    return {word: value for word, value in words.items() if " " not in word and "-" not in word} | MORE.get(
        language, {}
    )


def place_values(words, language: str, known: dict[str, int]) -> list[int]:
    """What each word is worth where it stands, read from the right as a person would; 0 for scales that only multiply."""
    scales = SCALES[language]
    worth, thousand, factor = [0] * len(words), 1, 1
    for w in reversed(range(len(words))):
        word = words[w]
        if word in scales and scales[word] == 1000:
            thousand, factor = 1000, 1
            worth[w] = 1000 if w == 0 else 0  # "mil", a thousand of which nothing says how many
        elif word == "belas":
            worth[w] = 10 * thousand
        elif word in scales:
            factor = scales[word]
        elif word in known:
            worth[w] = known[word] * factor * thousand
            factor = 1
        else:
            assert word in LANGUAGES[language], f"{word} is neither a number nor a joining word"
    return worth


@pytest.mark.parametrize("language", LANGUAGES)
def test_links_are_place_values_from_1_to_9999_and_beyond(language):
    """An independent parser knows what each word is worth; its nonzero digits are the sure links."""
    known = values(language)
    for number in [*range(1, 10_000), *range(10_000, 1_000_000, 773), 999_999]:
        pair = number_pair(number, language)
        worth = place_values(pair.src, language, known)
        assert sum(worth) == number, (number, pair.src)
        last = len(str(number)) - 1
        sure = {
            (last - power, w)
            for w, value in enumerate(worth)
            for power, digit in enumerate(reversed(str(value)))
            if digit != "0"
        }
        assert pair.links == sure, (number, pair.src)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_digit_but_0_is_named_and_0_is_not(language):
    for pair in load_corpus("numbers", size=500, language=language).pairs:
        linked = {i for i, _ in pair.links}
        assert linked == {i for i, digit in enumerate(pair.tgt) if digit != "0"}
        assert {i for i, _ in pair.possible} <= linked
        joining = {j for j, word in enumerate(pair.src) if word in LANGUAGES[language]}
        assert not joining & {j for _, j in pair.links | pair.possible}


def test_links_of_a_number_by_hand():
    pair = number_pair(342_017)
    assert pair.src == ("three", "hundred", "and", "forty", "two", "thousand", "and", "seventeen")
    assert pair.tgt == tuple("342017")
    assert pair.links == {(0, 0), (1, 3), (2, 4), (4, 7), (5, 7)}
    assert pair.possible == {(0, 1), (0, 5), (1, 5), (2, 5)}
    assert number_pair(17, "id").links == {(0, 1), (1, 0)}  # tujuh belas, seven-teen
    assert number_pair(1000, "es").links == {(0, 0)}  # mil
    assert number_pair(2000, "es").possible == {(0, 1)}  # dos mil


def test_words_to_digits_is_digits_to_words_turned_round():
    for number in (7, 40, 101, 1000, 342_017):
        there, back = number_pair(number), number_pair(number, to="words")
        assert (there.src, there.tgt) == (back.tgt, back.src)
        assert there.links == {(j, i) for i, j in back.links}
        assert there.possible == {(j, i) for i, j in back.possible}


# questions


def answer(facts, question) -> str | None:
    """The answer by acting the story out."""
    place, taker = {}, {}
    for person, deed, *_, last in facts:
        if deed == "took":
            taker[last] = person
        else:
            place[person] = last
    subject = question[-2]
    return place.get(taker.get(subject, subject))


def test_answers_follow_from_the_story():
    for pair in load_corpus("questions", size=500).pairs:
        facts, question, _ = facts_of(pair)
        assert (answer(facts, question),) == pair.tgt
        assert 6 <= len(facts) <= 10


def test_needed_facts_are_those_without_which_the_answer_changes():
    for pair in load_corpus("questions", size=500).pairs:
        facts, question, needed = facts_of(pair)
        for i in range(len(facts)):
            same = answer(facts[:i] + facts[i + 1 :], question) == pair.tgt[0]
            assert same == (i not in needed)


def test_half_of_the_questions_need_two_facts():
    pairs = load_corpus("questions", size=500).pairs
    assert sum(len(facts_of(pair)[2]) == 2 for pair in pairs) == 250


def test_memory_tensors_hold_the_story():
    corpus = load_corpus("questions", size=60)
    memory, asked, answers, needed = memory_tensors(corpus, corpus.pairs)
    tokens = corpus.src_vocab.tokens
    for b, pair in enumerate(corpus.pairs):
        facts, question, supports = facts_of(pair)
        read = [[tokens[id] for id in row if id != PAD_ID] for row in memory[b].tolist()]
        assert [row for row in read if row] == facts
        assert [tokens[id] for id in asked[b].tolist() if id != PAD_ID] == question
        assert corpus.tgt_vocab.tokens[answers[b]] == pair.tgt[0]
        assert needed[b].nonzero().flatten().tolist() == supports


# what another release of somebody's data would change in silence


MADE = {
    **{name: {} for name in NAMES},
    **{f"dates, {pattern}": {"pattern": pattern} for pattern in ("full", "medium")},
    **{f"numbers, {language}": {"language": language} for language in sorted(LANGUAGES) if language != "en"},
    "numbers, in words": {"to": "words"},
}
CHECKSUMS = {
    "copy": "bdc2fe8c5172b06d",
    "reverse": "edce0bf009d55df4",
    "sort": "7bf05d18e352948f",
    "dates": "ad9cd0c74e30b600",
    "numbers": "07241946eefea3fd",
    "questions": "620912d03a6fcc6c",
    "dates, full": "cadfaa42eb74afda",
    "dates, medium": "5e3692ede61abd46",
    "numbers, es": "94c5d8af8b828943",
    "numbers, id": "334889f5ecaaa0a7",
    "numbers, pl": "d454d0d12e263d0b",
    "numbers, pt": "b417962bb2cccea3",
    "numbers, ru": "65bf8ae2535c0e5c",
    "numbers, in words": "8899d2e079842829",
}


def checksum(name: str) -> str:
    corpus = load_corpus(name.partition(",")[0], **{"size": 2000, **MADE[name]})
    text = json.dumps([plain(corpus.split(part)) for part in ("train", "val", "test")], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", MADE)
def test_an_embedded_corpus_is_what_the_chapters_numbers_were_measured_on(name):
    """Babel's or num2words' next release may write a date or a number otherwise: then the numbers in the text go too."""
    assert checksum(name) == CHECKSUMS[name], f"{name} is made of other pairs than those"
