"""Augment English–French pairs to resemble typed text: other names, numbers, dates and times, and careless sources.

A corpus of well-edited sentences teaches nothing about *8:45*, *i dont know* or a name that it lacks. In each epoch,
`typed` changes some of its pairs into such ones; everything follows from the seed and the epoch. Names and numbers are
changed on both sides, only if they occur equally often on both, and French elisions are adjusted. Typing errors,
missing capitals and missing full stops affect only the source; the target stays correct.
"""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Sequence
from functools import lru_cache

from babel.dates import format_date
from num2words import num2words

from tfm_lib.corpora.frames import FRAMES
from tfm_lib.corpora.names import FAMILIES, MEN, NAMES, PLACES, WOMEN

__all__ = ["FRAMES", "NAMES", "typed"]

Sentences = list[tuple[str, str]]
Sides = tuple[str, str]  # English, French

# Probabilities per pair
EXCHANGED = 0.6  # of those with a name on both sides: another name
REDRAWN = 0.75  # of those with a number on both sides: another number
JOINED = 0.06  # join two or three sentences
SLIP, LOWER, SIGN = 0.09, 0.10, 0.03  # a typing error; no capitals; an unknown symbol
NO_STOP, NO_APOSTROPHE = 0.05, 0.02
GENERATED = 0.15  # filled frames, as a share of the corpus's own pairs

LONGEST_JOINED = 220  # characters

KNOWN_MEN = "Tom John Jack Bob Ken Jim Bill Mike Tony Ted Fred Nick Jackson Taro Takeshi".split()
KNOWN_WOMEN = "Mary Jane Susan Lucy Nancy Betty Linda Kate Judy Meg Carol Susie".split()
KNOWN_PLACES = "Boston Tokyo Kyoto Paris Chicago Rome Kobe Nagoya Berlin Madrid Sydney Seattle Hiroshima".split()
_KIND = dict.fromkeys(KNOWN_MEN, "man") | dict.fromkeys(KNOWN_WOMEN, "woman") | dict.fromkeys(KNOWN_PLACES, "place")
_KNOWN = re.compile(rf"\b(?:{'|'.join(_KIND)})\b")

_SMALL = {num2words(n): n for n in range(2, 20)} | {num2words(n): n for n in range(20, 91, 10)}
_COUNTED = re.compile(rf"(?<![\w-])(?:{'|'.join(_SMALL)})(?![\w-])", re.IGNORECASE)
_NO_COUNT = re.compile(
    r"\b(hundreds?|thousands?|millions?|dozens?|o'clock|half|quarter|past|twice|first|or)\b", re.IGNORECASE
)
_NUMBER = re.compile(r"(?<![\w.,:/$-])\d+(?:,\d{3})*(?![\w:/-]|[.,]\d)")
_NUMBER_FR = re.compile(r"(?<![\w.,:/-])\d+(?:[.  \u202f]\d{3})*(?![\w:/-]|[.,]\d| ?h\b)")
_CLOCK = re.compile(r"\b(\d{1,2})[:.](\d\d)(?: ?([ap])\.?m\b\.?)?|\b(\w+) o'clock\b")
_CLOCK_FR = re.compile(
    r"\b\d{1,2} ?(?:h(?:eures?)?|:) ?\d\d\b|\b[\w-]+ heures?\b(?! (?:du|de l|et|moins|\w+ minutes?))"
)
_MONTHS = re.compile(r"\b(January|February|March|April|May|June|July|August|September|October|November|December)\b")
_SLOT = re.compile(r"\{([a-z]+)(\d?)\}")

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS = {
    letter: [row[j] for j in (i - 1, i + 1) if 0 <= j < len(row)] for row in _ROWS for i, letter in enumerate(row)
}
_SIGNS = "😀😂🙂😉😍😢😡👍🙏🎉❤★→©№#@*&~^§¶♥♪あ中안ЖΩ"
_SYLLABLES = (
    [*"b c d f g j k l m n p r s t v w z br ch cl dr fr gl gr kr pl pr qu sch sh st th tr vl y h".split(), "", "", ""],
    "a e i o u a e i o ai au ea ee ei ia ie io oo ou".split(),
    "n r l s t m d k ll nn rd rt ck ng st x y".split() + [""] * 14,
)


def typed(pairs: Sequence[tuple[str, str]], seed: int, epoch: int) -> Sentences:
    """Return `pairs` for one epoch, some of them changed to resemble typed text, followed by filled frames."""
    draw = random.Random(f"typed {seed}, {epoch}")
    exchanged = [_exchanged(pair, draw) for pair in pairs]
    made = [_joined(pair, exchanged, draw) for pair in exchanged]
    made += [filled(draw.choice(FRAMES), draw) for _ in range(round(GENERATED * len(pairs)))]
    return [hasty(pair, draw) for pair in made]


# changes to both sides


def _exchanged(pair: tuple[str, str], draw: random.Random) -> tuple[str, str]:
    """Return the pair with other names and numbers if they can be exchanged safely."""
    if _KNOWN.search(pair[0]) and draw.random() < EXCHANGED:
        pair = other_names(pair, draw)
    if draw.random() < REDRAWN:
        for change in (other_clock, other_numbers, other_count):
            changed = change(pair, draw)
            if changed != pair:
                return changed
    return pair


def other_names(pair: tuple[str, str], draw: random.Random) -> tuple[str, str]:
    """Replace each well-known name that occurs equally often on both sides by another one."""
    src, tgt = pair
    for name in sorted(set(_KNOWN.findall(src))):
        word = re.compile(rf"\b{name}\b")
        if len(word.findall(src)) == len(word.findall(tgt)) and not re.search(rf"['’-]{name}\b|\b{name}-", src + tgt):
            new = _name(_KIND[name], draw)
            src, tgt = word.sub(new, src), with_elision(tgt, name, new)
    return src, tgt


def with_elision(text: str, name: str, new: str) -> str:
    """Replace `name` in `text` by `new`, and shorten *de* and *que* before a vowel."""
    if _vowel(new):
        text = re.sub(rf"\b([Dd]|\w*[Qq]u)e {name}\b", rf"\1'{name}", text)
    return re.sub(rf"\b{name}\b", new, text)


def _vowel(name: str) -> bool:
    return name[0] in "AEIOUÀÂÉÈÊÎÔ" or (name[0] == "Y" and name[1:2] not in tuple("aeiou"))


def _name(kind: str, draw: random.Random) -> str:
    """Return a name from our lists or, in one case of three, an invented one, so that no list is memorised."""
    if kind == "full":
        return f"{_name(draw.choice(('man', 'woman')), draw)} {_name('family', draw)}"
    if draw.random() < 1 / 3:
        return invented(draw)
    names = {"man": MEN, "woman": WOMEN, "family": FAMILIES, "place": PLACES}[kind]
    name = draw.choice(names)
    return f"{name} {_name('family', draw)}" if kind in ("man", "woman") and draw.random() < 0.1 else name


def invented(draw: random.Random) -> str:
    """Return a word of one to three syllables that could be a name."""
    onset, nucleus, coda = _SYLLABLES
    count = draw.choice((1, 2, 2, 2, 3))
    word = "".join(draw.choice(onset) + draw.choice(nucleus) + draw.choice(coda) for _ in range(count))
    return (word if len(word) > 2 else f"{word}nel").capitalize()


def other_clock(pair: tuple[str, str], draw: random.Random) -> tuple[str, str]:
    """Replace the clock time by another one in another format if each side has exactly one."""
    here, there = (list(pattern.finditer(side)) for pattern, side in zip((_CLOCK, _CLOCK_FR), pair))
    if (
        len(here) != 1
        or len(there) != 1
        or not re.search(r"(?:\bat|[Ii]t is|It's|until|after|before) $", pair[0][: here[0].start()])
    ):
        return pair
    en, fr = clock(draw)
    return _cut(pair[0], here[0], en), _cut(pair[1], there[0], fr)


def other_numbers(pair: tuple[str, str], draw: random.Random) -> tuple[str, str]:
    """Replace numbers in digits that are on both sides: years stay years, days stay days."""
    src, tgt = pair
    here = {m.group(): int(m.group().replace(",", "")) for m in _NUMBER.finditer(src)}
    there = {m.group(): int(re.sub(r"\D", "", m.group())) for m in _NUMBER_FR.finditer(tgt)}
    digits = len(re.findall(r"\d+", src)), len(re.findall(r"\d+", tgt))
    if not here or sorted(here.values()) != sorted(there.values()) or min(here.values()) < 2:
        return pair
    if max(digits) > sum(text.count(",") + 1 for text in here) + 1:
        return pair
    new = {}
    for text, number in here.items():
        if 1000 <= number <= 2100 and "," not in text:
            new[number] = (str(draw.randint(1000, 2100)),) * 2
        elif number <= 31 and _MONTHS.search(src):
            new[number] = (str(draw.randint(2, 28)),) * 2
        else:
            new[number] = in_digits(_size(draw), draw)
    src = _NUMBER.sub(lambda m: new[here[m.group()]][0], src)
    return src, _NUMBER_FR.sub(lambda m: new[there[m.group()]][1], tgt)


def other_count(pair: tuple[str, str], draw: random.Random) -> tuple[str, str]:
    """Replace a small number in words that occurs once on each side, by words or digits."""
    here = list(_COUNTED.finditer(pair[0]))
    if len(here) != 1 or _NO_COUNT.search(pair[0]):
        return pair
    number = _SMALL[here[0].group().lower()]
    there = list(re.finditer(rf"(?<![\w-]){in_french(number)}(?![\w-])", pair[1], re.IGNORECASE))
    if len(there) != 1 or re.match(r" heures?\b| et | cents?\b| mille\b| millions?\b", pair[1][there[0].end() :]):
        return pair
    other = _size(draw)
    while other % 10 == 1 or other < 2:  # "vingt et un" and "vingt et une" differ
        other = _size(draw)
    en, fr = in_words(other, draw) if draw.random() < (0.6 if other < 10_000 else 0.2) else in_digits(other, draw)
    return _cut(pair[0], here[0], en), _cut(pair[1], there[0], fr)


def _cut(text: str, match: re.Match, new: str) -> str:
    """Return `text` with the match replaced by `new`, keeping a capital."""
    capital = match.group()[0].isupper()
    return text[: match.start()] + (new[0].upper() + new[1:] if capital else new) + text[match.end() :]


def _joined(pair: tuple[str, str], pairs: Sentences, draw: random.Random) -> tuple[str, str]:
    """Occasionally append one or two other pairs to the pair."""
    if draw.random() >= JOINED:
        return pair
    for _ in range(draw.choice((1, 1, 1, 2))):
        more = draw.choice(pairs)
        longer = (f"{pair[0]} {more[0]}", f"{pair[1]} {more[1]}")
        if max(map(len, longer)) <= LONGEST_JOINED:
            pair = longer
    return pair


# frames


def filled(frame: tuple[str, str], draw: random.Random) -> tuple[str, str]:
    """Fill the frame's slots consistently on both sides; a sentence begins with a capital."""
    slots = sorted(set(_SLOT.findall("".join(frame))))
    sides = {f"{kind}{index}": _filling(kind, draw) for kind, index in slots}
    texts = []
    for language, text in enumerate(frame):
        for slot, words in sides.items():
            text = with_elision(text.replace(f"{{{slot}}}", "SLOT"), "SLOT", words[language])
        texts.append(text[0].upper() + text[1:])
    return texts[0].replace("m..", "m."), texts[1]  # a sentence that ends in "7 p.m." has only one full stop


def _filling(kind: str, draw: random.Random) -> Sides:
    if kind in ("man", "woman", "full", "family", "place"):
        return (_name(kind, draw),) * 2
    if kind in ("n", "nf"):
        number = _size(draw)
        if draw.random() < (0.6 if number < 10_000 else 0.3):
            return in_words(number, draw, feminine=kind == "nf")
        return in_digits(number, draw)
    return {
        "money": lambda: decimal(draw, 2) if draw.random() < 0.5 else in_digits(_size(draw), draw),
        "decimal": lambda: decimal(draw, draw.randint(1, 2)),
        "percent": lambda: _percent(draw),
        "label": lambda: (str(draw.randint(2, 10 ** draw.randint(1, 5))),) * 2,
        "phone": lambda: ("-".join(_digits(draw, draw.randint(2, 4)) for _ in range(draw.randint(2, 4))),) * 2,
        "time": lambda: clock(draw),
        "date": lambda: date(draw),
        "year": lambda: year(draw.randint(1000, 2099) if draw.random() < 0.3 else draw.randint(1850, 2060), draw),
        "month": lambda: _named(_day(draw), "MMMM"),
        "weekday": lambda: _named(_day(draw), "EEEE"),
    }[kind]()


def _size(draw: random.Random) -> int:
    """Draw a number from 2 to 999 999 with one to six digits, two and three the most likely."""
    length = draw.choice((1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6))
    number = draw.randrange(10 ** (length - 1), 10**length)
    if draw.random() < 0.2:
        number = int(f"{number:.1g}".replace("e+", "e").split("e")[0]) * 10 ** (length - 1) if length > 1 else number
    return max(2, number)


def _digits(draw: random.Random, count: int) -> str:
    return "".join(draw.choice("0123456789") for _ in range(count))


def in_digits(number: int, draw: random.Random) -> Sides:
    """Return a number in digits; from 1000 on, half of them have separated thousands: 12,345 and 12 345."""
    if number >= 1000 and draw.random() < 0.5:
        return f"{number:,}", f"{number:,}".replace(",", " ")
    return str(number), str(number)


def decimal(draw: random.Random, places: int) -> Sides:
    """Draw a decimal: 3.75 and 3,75."""
    text = f"{draw.randint(0, 10 ** draw.randint(1, 3))}.{_digits(draw, places)}"
    return text, text.replace(".", ",")


def _percent(draw: random.Random) -> Sides:
    text = str(draw.randint(2, 100)) if draw.random() < 0.7 else f"{draw.randint(0, 40)}.{draw.randint(1, 9)}"
    return f"{text}{draw.choice(('%', '%', ' percent'))}", f"{text.replace('.', ',')} %"


@lru_cache(maxsize=100_000)
def in_french(number: int, feminine: bool = False) -> str:
    """Return a number in French words; before a feminine noun *vingt et une*, *trente et une*."""
    words = num2words(number, lang="fr")
    return re.sub(r"\bun$", "une", words) if feminine else words


@lru_cache(maxsize=100_000)
def _in_english(number: int, to: str = "cardinal") -> str:
    return num2words(number, to=to)


def in_words(number: int, draw: random.Random, feminine: bool = False) -> Sides:
    """Return a number in words; the English varies in *and*, commas and hyphens."""
    en = _in_english(number)
    if draw.random() < 0.8:
        en = en.replace(",", "")
    if draw.random() < 0.4:
        en = en.replace(" and ", " ")
    if draw.random() < 0.15:
        en = en.replace("-", " ")
    if draw.random() < 0.3:
        en = re.sub(r"^one (hundred|thousand)", r"a \1", en)
    return en, in_french(number, feminine)


def year(number: int, draw: random.Random) -> Sides:
    """Return a year, mostly in digits."""
    if draw.random() < 0.75:
        return str(number), str(number)
    en = _in_english(number, "year")
    return (en.replace("-", " ") if draw.random() < 0.15 else en), in_french(number)


def _day(draw: random.Random) -> datetime.date:
    return datetime.date(1900, 1, 1) + datetime.timedelta(draw.randrange(365 * 150))


def _named(day: datetime.date, field: str) -> Sides:
    return format_date(day, field, "en"), format_date(day, field, "fr")


def date(draw: random.Random) -> Sides:
    """Draw a date in one of several British and American formats; in French the part after *le*."""
    day = _day(draw)
    (month, mois), (weekday, jour) = _named(day, "MMMM"), _named(day, "EEEE")
    ordinal = num2words(day.day, to="ordinal_num")
    le = f"{'1er' if day.day == 1 else day.day} {mois}"
    if draw.random() < 0.2:  # in words
        the = num2words(day.day, to="ordinal")
        en = draw.choice((f"the {the} of {month}", f"{month} {the}", f"{month} the {the}"))
        le = f"{'premier' if day.day == 1 else in_french(day.day)} {mois}"
        if draw.random() < 0.3:
            year_en, year_fr = year(day.year, draw)
            return f"{en}{draw.choice((', ', ' '))}{year_en}", f"{le} {year_fr}"
        return en, le
    if draw.random() < 0.1:
        numbers = draw.choice((f"{day:%d.%m.%Y}", f"{day:%Y-%m-%d}", f"{day:%d-%m-%Y}"))
        return numbers, numbers
    if draw.random() < 0.5:  # with the year, in Babel's patterns
        locale, pattern = draw.choice(("en_US", "en_US", "en_GB")), draw.choice(("long", "long", "full"))
        return format_date(day, pattern, locale), f"{jour + ' ' if pattern == 'full' else ''}{le} {day.year}"
    forms = (
        f"{month} {day.day}",
        f"{month} {day.day}",
        f"{day.day} {month}",
        f"{month} {ordinal}",
        f"the {ordinal} of {month}",
    )
    en = draw.choice(forms)
    if not en.startswith("the") and draw.random() < 0.25:
        return f"{weekday}, {en}", f"{jour} {le}"
    return en, le


_PAST = {5: "five", 10: "ten", 20: "twenty", 25: "twenty-five"}


def clock(draw: random.Random) -> Sides:
    """Draw a time of day, in digits or in words; in French the part after *à* or *il est*."""
    hour, minute = (
        draw.randint(1, 11),
        draw.choice((*range(60), *range(0, 60, 5), *range(0, 60, 15), 0, 15, 30, 30, 45, 45)),
    )
    form = draw.random()
    if form < 0.45:
        return _clock_in_digits(draw.randint(0, 23) if draw.random() < 0.4 else hour, minute, draw)
    if form < 0.48:
        return draw.choice((("noon", "midi"), ("midnight", "minuit")))
    if form < 0.60:
        en, fr = draw.choice(((str(hour), str(hour)), (num2words(hour), in_french(hour, feminine=True))))
        hours = "heure" if hour == 1 else "heures"
        when = draw.choice(
            (
                (" o'clock", ""),
                (" o'clock", ""),
                (" in the morning", " du matin"),
                (" in the afternoon", " de l'après-midi"),
                (" in the evening", " du soir"),
            )
        )
        return en + when[0], f"{fr} {hours}{when[1]}"
    english, french = num2words(hour), _hours(hour)
    next_english, next_french = num2words(hour % 11 + 1), _hours(hour % 11 + 1)
    if form < 0.85:
        kind = draw.randrange(5)
        if kind == 0:
            return f"{draw.choice(('', 'a '))}quarter to {next_english}", f"{next_french} moins le quart"
        if kind == 1:
            return f"{draw.choice(('', 'a '))}quarter past {english}", f"{french} et quart"
        if kind == 2:
            return f"half past {english}", f"{french} et demie"
        minutes = draw.choice(tuple(_PAST))
        if kind == 3:
            return f"{_PAST[minutes]} past {english}", f"{french} {in_french(minutes)}"
        return f"{_PAST[minutes]} to {next_english}", f"{next_french} moins {in_french(minutes)}"
    minute = max(minute, 10)
    return f"{english} {num2words(minute)}", f"{french} {in_french(minute, feminine=True)}"


def _hours(hour: int) -> str:
    return f"{in_french(hour, feminine=True)} heure{'s' * (hour > 1)}"


def _clock_in_digits(hour: int, minute: int, draw: random.Random) -> Sides:
    """Format a time in digits: 8:45, 8.45 am and 8:45 p.m. as 8 h 45, 8 h 45 and 20 h 45; 7 pm as 19 heures."""
    if hour and hour < 12 and draw.random() < 0.45:
        half = draw.choice("ap")
        mark = draw.choice((f" {half}.m.", f" {half}m", f"{half}m", f" {half.upper()}M"))
        later = hour + 12 * (half == "p")
        if minute == 0 or draw.random() < 0.15:
            return f"{hour}{mark}", _french_clock(later, 0)
        return f"{hour}{draw.choice('::.')}{minute:02}{mark}", _french_clock(later, minute)
    return f"{hour}:{minute:02}", _french_clock(hour, minute)


def _french_clock(hour: int, minute: int) -> str:
    if minute == 0:
        return f"{hour} heure{'s' * (hour > 1)}"
    return f"{hour} h {minute:02}"


# changes to the source only


def hasty(pair: tuple[str, str], draw: random.Random) -> tuple[str, str]:
    """Occasionally make the source look hastily typed; an added symbol appears on both sides."""
    src, tgt = pair
    if draw.random() < SIGN:
        src, tgt = with_sign((src, tgt), draw)
    if draw.random() < NO_APOSTROPHE:
        src = src.replace("'", "")
    if draw.random() < SLIP:
        src = slip(src, draw)
        if draw.random() < 0.15:
            src = slip(src, draw)
    lower = draw.random() < LOWER
    if draw.random() < (0.3 if lower else NO_STOP):
        src = re.sub(r" *[.!?]$", "", src) or src
    if lower:
        src = src.lower() if draw.random() < 0.85 else src[0].lower() + src[1:]
    return src, tgt


def slip(text: str, draw: random.Random) -> str:
    """Change one letter of a lower-case word: swap, double or omit it, or take a neighbour on the keyboard."""
    words = [m for m in re.finditer(r"[A-Za-z]+", text) if len(m.group()) > 2 and m.group().islower()]
    if not words:
        return text
    word = draw.choice(words)
    at = draw.randrange(word.start(), word.end())
    kind = draw.randrange(4)
    if kind == 0:
        at = min(at, word.end() - 2)
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    letter = text[at]
    return text[:at] + (letter * 2, "", draw.choice(_NEIGHBOURS[letter]))[kind - 1] + text[at + 1 :]


def with_sign(pair: tuple[str, str], draw: random.Random) -> tuple[str, str]:
    """Insert one to three symbols that no tokenizer of two languages knows, the same on both sides."""
    sign = "".join(draw.choices(_SIGNS, k=draw.choice((1, 1, 1, 2, 3))))
    shared = [name for name in _KNOWN.findall(pair[0]) if pair[0].count(name) == pair[1].count(name) == 1]
    place = draw.random()
    if shared and place < 0.5:
        name = draw.choice(shared)
        return pair[0].replace(name, sign), pair[1].replace(name, sign)
    if place < 0.65:
        return f"{pair[0]} {sign}", f"{pair[1]} {sign}"
    if place < 0.8:
        return f"{pair[0]}{sign}", f"{pair[1]}{sign}"
    if place < 0.9:
        return f"{sign} {pair[0]}", f"{sign} {pair[1]}"
    source, target = (re.sub(r"( ?)([.!?]?)$", rf" {sign}\1\2", side, count=1) for side in pair)
    return source, target
