"""Generate numbers in words and in digits, in languages that separate the words of a number by spaces."""

import random
from functools import lru_cache

from tfm_lib._extras import absent

try:
    from num2words import num2words
except ModuleNotFoundError as error:
    raise absent(error, "train") from None

from tfm_lib.corpora.corpus import Corpus, Pair

LANGUAGES = {  # with the words that only join others
    "en": {"and"},  # English
    "es": {"y"},  # Spanish
    "id": set(),  # Indonesian, whose teens name the unit first: tujuh belas, 17
    "pl": set(),  # Polish
    "pt": {"e"},  # Portuguese
    "ru": set(),  # Russian
}
LARGEST = 999_999

Named = list[tuple[set[int], bool]]  # for each word: the powers of ten that it names, and whether the link is sure


def numbers(
    size: int = 5000, language: str = "en", to: str = "digits", min_digits: int = 1, max_digits: int = 6, seed: int = 0
) -> Corpus:
    """Generate `size` distinct numbers of `min_digits` to `max_digits` digits, words to digits or (`to="words"`) back.

    A word is linked with the digits that it names: *forty* with the tens, *seventeen* with tens and units.
    The links of *hundred* and *thousand* with the digits before them are `possible` ones, as in "three hundred",
    but sure if no other word names the digit, as in "mil" for 1000. A 0 and an "and" have no link.
    """
    if language not in LANGUAGES:
        raise ValueError(f"language must be one of {', '.join(LANGUAGES)}; got {language!r}.")
    if to not in ("digits", "words"):
        raise ValueError(f'to must be "digits" or "words"; got {to!r}.')
    if not 1 <= min_digits <= max_digits <= len(str(LARGEST)):
        raise ValueError(f"Need 1 ≤ min_digits ≤ max_digits ≤ 6; got {min_digits} and {max_digits}.")
    draw, chosen = random.Random(f"numbers {seed}"), {}
    for _ in range(20 * size):
        length = draw.randint(min_digits, max_digits)
        chosen[draw.randrange(10 ** (length - 1), 10**length)] = None
        if len(chosen) == size:
            break
    return Corpus("numbers", tuple(number_pair(number, language, to) for number in chosen))


def number_pair(number: int, language: str = "en", to: str = "digits") -> Pair:
    """Return one number, 1 to 999 999, as a pair of words and digits with its links."""
    words, digits = words_of(number, language), tuple(str(number))
    sure, possible = set(), set()
    for w, (powers, certain) in enumerate(_named(number, language)):
        places = {len(digits) - 1 - power for power in powers}
        (sure if certain else possible).update((w, place) for place in places)
    if to == "words":
        return Pair(digits, words, frozenset(sure), frozenset(possible))
    return Pair(words, digits, _turned(sure), _turned(possible))


def words_of(number: int, language: str) -> tuple[str, ...]:
    """Return the words of a number, without hyphens and commas."""
    return tuple(num2words(number, lang=language).replace("-", " ").replace(",", "").split())


def _turned(pairs: set[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    return frozenset((j, i) for i, j in pairs)


def _named(number: int, language: str) -> Named:
    """Return what each word of `number` names; the set is empty for words that only join others."""
    naming = iter(_thousands(number, language))
    named = [(set(), True) if word in LANGUAGES[language] else next(naming) for word in words_of(number, language)]
    assert next(naming, None) is None, f"{number} in {language!r} has fewer words than its parts have"
    return named


def _thousands(number: int, language: str) -> Named:
    group, rest = divmod(number, 1000)
    if not group:
        return _hundreds(rest, language)
    powers = {power + 3 for power in _powers(group)}
    if _count(group * 1000, language) == 1:  # "mil" alone is 1000
        named = [(powers, True)]
    else:
        named = [({power + 3 for power in powers_}, sure) for powers_, sure in _hundreds(group, language)]
        named.append((powers, False))
    return named + _hundreds(rest, language)


def _hundreds(number: int, language: str) -> Named:
    hundreds, rest = divmod(number, 100)
    words = _count(100 * hundreds, language) if hundreds else 0  # "three hundred" or "trescientos"
    return [({2}, True), ({2}, False)][:words] + ([] if rest == 0 else _tens(rest, language))


def _tens(number: int, language: str) -> Named:
    words = _count(number, language)
    if words == 1:  # seven, forty, seventeen, veintiuno
        return [(_powers(number), True)]
    if number < 20:  # tujuh belas: seven-teen
        return [({0}, True), ({1}, True)]
    tens = [({1}, True), ({1}, False)][: words - (number % 10 > 0)]  # empat puluh: four tens
    return tens + [({0}, True)] * (number % 10 > 0)


def _powers(number: int) -> set[int]:
    """Return the powers of ten whose digit is not 0."""
    return {power for power, digit in enumerate(reversed(str(number))) if digit != "0"}


@lru_cache(maxsize=10_000)
def _count(number: int, language: str) -> int:
    return sum(word not in LANGUAGES[language] for word in words_of(number, language))
