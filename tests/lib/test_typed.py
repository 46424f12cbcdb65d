"""What people type: the training pairs that `tfm_lib.corpora.typed` changes and makes."""

import random
import re
from collections import Counter

import pytest
from num2words import num2words

from tfm_lib.corpora import typed as module
from tfm_lib.corpora.names import FAMILIES, MEN, PLACES, WOMEN
from tfm_lib.corpora.typed import (
    FRAMES,
    NAMES,
    clock,
    date,
    decimal,
    filled,
    hasty,
    in_digits,
    in_words,
    invented,
    other_clock,
    other_count,
    other_names,
    other_numbers,
    slip,
    typed,
    with_elision,
    with_sign,
    year,
)

PAIRS = [  # ours
    ("Tom waits for Mary.", "Tom attend Mary."),
    ("I think that Tom is tired.", "Je pense que Tom est fatigué."),
    ("The house of Tom is old.", "La maison de Tom est vieille."),
    ("We have three lamps.", "Nous avons trois lampes."),
    ("The lamp is on page 14.", "La lampe est à la page 14."),
    ("The ship leaves at 8:30.", "Le bateau part à 8 h 30."),
    ("The keeper climbs the stairs.", "La gardienne monte l'escalier."),
    ("Where is the radio?", "Où est la radio ?"),
] * 60


def draws(count: int = 300):
    return (random.Random(i) for i in range(count))


def test_an_epoch_follows_from_the_seed_and_its_number():
    assert typed(PAIRS, 1, 3) == typed(PAIRS, 1, 3)
    assert typed(PAIRS, 1, 3) != typed(PAIRS, 1, 4) != typed(PAIRS, 2, 4)
    before = list(PAIRS)
    typed(PAIRS, 1, 3)
    assert before == PAIRS


def test_most_pairs_stay_as_they_are_and_each_kind_of_change_occurs():
    plain = [("The keeper climbs the old stairs.", "La gardienne monte le vieil escalier.")] * 4000
    made = typed(plain, 0, 0)
    own, frames = made[:4000], made[4000:]
    assert len(frames) == round(module.GENERATED * 4000)
    kept = sum(pair == plain[0] for pair in own) / 4000
    assert 0.65 < kept < 0.80
    assert 0.55 < kept * 4000 / len(made) < 0.70
    shares = {
        "lower": sum(src == src.lower() for src, _ in own),
        "open": sum(not re.search(r"[.!?]$", src) for src, _ in own),
        "joined": sum(tgt.count("gardienne") > 1 for _, tgt in own),
        "sign": sum(any(sign in tgt for sign in module._SIGNS) for _, tgt in own),
    }
    for kind, low, high in [("lower", 0.07, 0.125), ("open", 0.06, 0.12), ("joined", 0.04, 0.08), ("sign", 0.02, 0.04)]:
        assert low < shares[kind] / 4000 < high, (kind, shares)


def test_the_target_is_never_hasty():
    for src, tgt in typed([("The keeper climbs.", "La gardienne monte.")] * 2000, 5, 0)[:2000]:
        signs = "".join(module._SIGNS)
        assert re.fullmatch(rf"((La gardienne monte[ {signs}]*\.|[ {signs}]+)[ {signs}]*)+", tgt), (src, tgt)


def test_names_are_exchanged_on_both_sides_alike():
    for draw in draws():
        src, tgt = other_names(PAIRS[0], draw)
        man, woman = re.fullmatch(r"(.+) waits for (.+)\.", src).groups()
        assert tgt == f"{man} attend {woman}." and "Tom" not in src and "Mary" not in src


@pytest.mark.parametrize(
    "pair",
    [
        ("Tom saw Tom.", "Tom l'a vu."),  # not equally often
        ("The friend of Jane is here.", "L'ami d'Jane est ici."),  # cut short already
        ("The Tom-and-Jerry film", "Le film Tom-et-Jerry"),  # part of a word
        ("The keeper sleeps.", "La gardienne dort."),
    ],
)
def test_names_stay_where_an_exchange_is_not_safe(pair):
    assert all(other_names(pair, draw) == pair for draw in draws(30))


@pytest.mark.parametrize(
    ("french", "new", "expected"),
    [
        ("Je pense que Tom dort.", "Aitor", "Je pense qu'Aitor dort."),
        ("La lampe de Tom", "Eneko", "La lampe d'Eneko"),
        ("De Tom à Tom", "Ulf", "D'Ulf à Ulf"),
        ("Est-ce que Tom dort ?", "Ivo", "Est-ce qu'Ivo dort ?"),
        ("Lorsque Tom dort", "Otis", "Lorsqu'Otis dort"),
        ("La lampe de Tom", "Lars", "La lampe de Lars"),
        ("La lampe de Tom", "Yannick", "La lampe de Yannick"),
        ("La lampe de Tom", "Ylva", "La lampe d'Ylva"),
        ("Tom, code Tom", "Emeka", "Emeka, code Emeka"),
        ("Une lampe de Tomás", "Emeka", "Une lampe de Tomás"),
    ],
)
def test_french_elides(french, new, expected):
    assert with_elision(french, "Tom", new) == expected


def test_no_frame_keeps_a_slot_or_an_elision_undone():
    assert len(FRAMES) > 100 and len(set(FRAMES)) == len(FRAMES)
    for frame in FRAMES:
        for draw in draws(40):
            for side in filled(frame, draw):
                assert not re.search(r"[{}]|SLOT|  |\.\.", side), side
            _, fr = filled(frame, draw)
            assert not re.search(r"\b([Dd]|[Qq]u)e [AEIOUÉ]", fr), fr
            assert re.search(r"(^|[^ ]) ?[.?!]$", fr) and fr[0] == fr[0].upper()


def test_slots_stand_on_both_sides():
    for en, fr in FRAMES:
        slots = [Counter(module._SLOT.findall(side)) for side in (en, fr)]
        assert slots[0] == slots[1], (en, fr)


def test_numbers_in_digits_stay_equal_on_both_sides():
    for draw in draws():
        src, tgt = other_numbers(("Room 14 is not room 27.", "La chambre 14 n'est pas la chambre 27."), draw)
        values = [[int(re.sub(r"[, ]", "", text)) for text in re.findall(r"\d[\d, ]*", side)] for side in (src, tgt)]
        assert values[0] == values[1] and len(values[0]) == 2


@pytest.mark.parametrize(
    "pair",
    [
        ("It costs $3.50.", "Cela coûte 3,50 $."),
        ("Call 555-0123.", "Appelez le 555-0123."),
        ("I have 14 lamps.", "J'ai quatorze lampes."),
        ("It is 8:30.", "Il est 8 h 30."),
        ("I have 1 lamp.", "J'ai 1 lampe."),
        ("The 2nd of 14.", "Le 2e de 14 ou 15."),
    ],
)
def test_numbers_stay_where_an_exchange_is_not_safe(pair):
    assert all(other_numbers(pair, draw) == pair for draw in draws(30))


def test_years_stay_years_and_days_days():
    for draw in draws():
        src, tgt = other_numbers(("Born on March 14, 1950.", "Né le 14 mars 1950."), draw)
        day, written = map(int, re.findall(r"\d+", src))
        assert 2 <= day <= 28 and 1000 <= written <= 2100 and tgt == f"Né le {day} mars {written}."


def read_aloud(english: str) -> str:
    """A number in words, without what one may leave out."""
    return re.sub(r"^an? ", "one ", re.sub(r"-| and |, ?", " ", english.lower()).strip()).replace("  ", " ")


def test_a_count_in_words_becomes_another_in_words_or_digits():
    digits, known = 0, {read_aloud(num2words(n)): num2words(n, lang="fr") for n in range(2, 1000)}
    found = 0
    for draw in draws():
        src, tgt = other_count(("Three lamps are here.", "Trois lampes sont ici."), draw)
        en, fr = re.fullmatch(r"(.+) lamps are here\.", src)[1], re.fullmatch(r"(.+) lampes sont ici\.", tgt)[1]
        assert en[0] == en[0].upper() and fr[0] == fr[0].upper() and not re.search(r"\bune?$", fr)
        if en[0].isdigit():
            digits += 1
            assert int(en.replace(",", "")) == int(fr.replace(" ", ""))
        else:
            found += read_aloud(en) in known
            assert known.get(read_aloud(en), fr.lower()) == fr.lower(), (en, fr)
    assert 60 < digits < 240 and found > 60


@pytest.mark.parametrize(
    "pair",
    [
        ("Two or three lamps.", "Deux ou trois lampes."),
        ("Twenty-three lamps.", "Vingt-trois lampes."),
        ("Three hundred lamps.", "Trois cents lampes."),
        ("It is three o'clock.", "Il est trois heures."),
        ("Three lamps, then three more.", "Trois lampes, puis trois."),
        ("I have three lamps.", "J'ai quelques lampes."),
        ("I slept three hours.", "J'ai dormi trois heures."),
    ],
)
def test_a_count_stays_where_an_exchange_is_not_safe(pair):
    assert all(other_count(pair, draw) == pair for draw in draws(30))


@pytest.mark.parametrize(
    ("number", "feminine", "french"),
    [
        (21, False, "vingt et un"),
        (21, True, "vingt et une"),
        (71, True, "soixante et onze"),
        (80, False, "quatre-vingts"),
        (81, True, "quatre-vingt-une"),
        (200, False, "deux cents"),
        (1215, False, "mille deux cent quinze"),
    ],
)
def test_numbers_in_french_words(number, feminine, french):
    assert all(in_words(number, draw, feminine)[1] == french for draw in draws(5))


def test_numbers_in_english_words_are_written_in_several_ways():
    written = {in_words(1215, draw)[0] for draw in draws(100)}
    assert {"one thousand two hundred and fifteen", "a thousand two hundred fifteen"} <= written
    assert "twenty one" in {in_words(21, draw)[0] for draw in draws(100)}


def test_digits_in_the_ways_of_two_countries():
    assert {in_digits(12345, draw) for draw in draws(20)} == {("12,345", "12 345"), ("12345", "12345")}
    for draw in draws(20):
        en, fr = decimal(draw, 2)
        assert en.replace(".", ",") == fr and re.fullmatch(r"\d+,\d\d", fr)
    assert all(in_digits(345, draw) == ("345", "345") for draw in draws(5))


CLOCKS = {  # what the English says: what the French may say
    r"(\d+):(\d\d)": lambda h, m: f"{int(h)} h {m}" if int(m) else f"{int(h)} heure{'s' * (int(h) > 1)}",
    r"(\d+)[:.](\d\d) ?[aA]\.?[mM]\.?": lambda h, m: f"{int(h)} h {m}",
    r"(\d+)[:.](\d\d) ?[pP]\.?[mM]\.?": lambda h, m: f"{int(h) + 12} h {m}",
    r"(\d+) ?[pP]\.?[mM]\.?": lambda h: f"{int(h) + 12} heures",
}


def test_clock_times_in_digits_say_the_same():
    seen = Counter()
    for draw in draws(2000):
        en, fr = clock(draw)
        for pattern, french in CLOCKS.items():
            if match := re.fullmatch(pattern, en):
                seen[pattern] += 1
                assert fr == french(*match.groups()), en
    assert set(seen) == set(CLOCKS)


def test_clock_times_in_words_say_the_same():
    pairs = dict(clock(draw) for draw in draws(6000))
    expected = {
        "quarter to nine": "neuf heures moins le quart",
        "a quarter past one": "une heure et quart",
        "half past six": "six heures et demie",
        "ten past eight": "huit heures dix",
        "twenty to one": "une heure moins vingt",
        "seven o'clock": "sept heures",
        "7 o'clock": "7 heures",
        "eight forty-five": "huit heures quarante-cinq",
        "noon": "midi",
    }
    assert {en: pairs[en] for en in expected} == expected


def test_a_clock_time_in_a_sentence_becomes_another():
    for draw in draws(50):
        src, tgt = other_clock(("The ship leaves at 8:30.", "Le bateau part à 8 h 30."), draw)
        assert src.startswith("The ship leaves at ") and tgt.startswith("Le bateau part à ") and src.endswith(".")
    silent = ("The 8:30 ship is late.", "Le bateau de 8 h 30 est en retard.")
    assert all(other_clock(silent, draw) == silent for draw in draws(20))


def test_dates_say_the_same():
    months = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()
    english = "January February March April May June July August September October November December".split()
    firsts = 0
    for draw in draws(1500):
        en, fr = date(draw)
        if re.fullmatch(r"[\d.-]+", en):
            assert en == fr
            continue
        (month,) = [i for i, name in enumerate(english) if name in en]
        assert f" {months[month]}" in fr
        days = re.findall(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", en)
        if days:
            firsts += days[0] == "1"
            assert re.search(rf"\b{'1er' if days[0] == '1' else days[0]} {months[month]}", fr), (en, fr)
        assert re.findall(r"\b\d{4}\b", en) == re.findall(r"\b\d{4}\b", fr)
    assert firsts


def test_years_in_words():
    pairs = dict(year(number, draw) for number in (1905, 1984, 2005) for draw in draws(40))
    assert pairs["nineteen eighty-four"] == "mille neuf cent quatre-vingt-quatre"
    assert pairs["two thousand and five"] == "deux mille cinq" and pairs["1984"] == "1984"


def test_a_slip_is_one_letter_of_one_lower_case_word():
    text = "Tom climbs the stairs."
    kinds = Counter()
    for draw in draws():
        slipped = slip(text, draw)
        kinds[len(slipped) - len(text)] += 1
        assert slipped.startswith("Tom ") and slipped.endswith(".") and slipped.count(" ") == 3
        assert sum(a != b for a, b in zip(slipped.split(), text.split())) <= 1
        assert abs(len(slipped) - len(text)) <= 1
    assert min(kinds[-1], kinds[0], kinds[1]) > 30
    assert slip("A! 12", random.Random(0)) == "A! 12"


def test_a_sign_stands_on_both_sides_in_one_order():
    for draw in draws():
        src, tgt = with_sign(PAIRS[0], draw)
        found = [[sign for sign in side if sign in module._SIGNS] for side in (src, tgt)]
        assert found[0] == found[1] and 1 <= len(found[0]) <= 3


def test_hasty_leaves_most_alone():
    same = sum(hasty(PAIRS[6], draw) == PAIRS[6] for draw in draws(1000))
    assert 680 < same < 800


def test_invented_names_are_words():
    for draw in draws():
        assert re.fullmatch(r"[A-Z][a-z]{2,}", invented(draw))


def test_names_are_lists_of_our_own_in_alphabet_and_once():
    for names in (MEN, WOMEN, FAMILIES, PLACES):
        assert len(names) > 150 and len(set(names)) == len(names)
    assert {*MEN, *WOMEN, *FAMILIES, *PLACES} == NAMES
    assert all(re.fullmatch(r"[A-Z][\wñ]+", name) for name in NAMES)
