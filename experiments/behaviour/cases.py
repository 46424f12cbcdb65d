"""The cases of each kind, drawn by a seed over all carriers: the English sentences of the corpus's test split.

The order of the corpus (it is sorted by length) has no say: carriers are sorted by their SHA-256 before any draw.
"""

import datetime
import hashlib
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from num2words import num2words

from experiments.behaviour import rules
from experiments.behaviour.lists import (
    COUNTED,
    DATES,
    DECIMALS,
    GREETINGS,
    LARGE,
    MEN,
    PERCENTS,
    PRICES,
    SURNAMES,
    TIMES,
    WOMEN,
    YEARS,
    Frame,
    listed,
)

SEED = "behaviour 1"
CASES = 200  # of each kind, or of each of its sub-kinds
FROZEN = Path(__file__).with_name("frozen.json")
LONG = 40  # words at least, in the long cases; of the corpus's own training sentences about one in 900 has 20

Carriers = dict[str, list[str]]  # an English sentence with its French translations

ENGLISH_MONTHS = listed("January February March April May June July August September October November December")
ENGLISH_DAYS = listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_COUNTS = listed(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty hundred thousand million half "
    "dozen first second third o'clock noon midnight"
)
_NUMBERED = re.compile(rf"\d|\b(?:{'|'.join([*_COUNTS, *ENGLISH_MONTHS, *ENGLISH_DAYS])})\b", re.IGNORECASE)

KEYS = {  # a key's neighbours on an English keyboard
    here: [row[i + step] for step in (-1, 1) if 0 <= i + step < len(row)]
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    for i, here in enumerate(row)
}


@dataclass(frozen=True)
class Value:
    """A case whose translation is judged by a rule.

    `form` finds the value (for names: `names`, ours and the carrier's; for questions neither); `alone` is the carrier,
    whose own translation the rest is measured by, beside `beside`; `references` is what the rest may look like.
    """

    source: str
    alone: str
    beside: tuple[str, ...]
    references: tuple[str, ...]
    example: str  # a translation that passes where the carrier's first reference is its translation
    form: str = ""
    names: dict[str, str] = field(default_factory=dict, hash=False)
    marked: bool | None = None  # of a question: whether its mark stands in the source


@dataclass(frozen=True)
class Changed:
    """A case that is measured by BLEU: its source, and the sentences that went into it."""

    source: str
    carriers: tuple[str, ...]


def words(sentence: str) -> int:
    return len(sentence.split())


def ordered(sentences: Sequence[str]) -> list[str]:
    return sorted(sentences, key=digest)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def drawing(kind: str) -> random.Random:
    return random.Random(f"{SEED} {kind}")


def drawn(pool: list[str], draw: random.Random, n: int = CASES) -> list[str]:
    """`n` of the pool: each once before any comes again."""
    chosen: list[str] = []
    while len(chosen) < n:
        chosen += draw.sample(pool, min(len(pool), n - len(chosen)))
    return chosen


# values in a frame of ours, beside a carrier


def quiet(carriers: Carriers) -> list[str]:
    """The carriers to put beside a value: statements of 3 to 9 words without number, hour, day or month."""
    return [
        sentence
        for sentence in ordered(list(carriers))
        if sentence.endswith(".")
        and 3 <= words(sentence) <= 9
        and not _NUMBERED.search(sentence)
        and not any(re.search(r"\d", french) for french in carriers[sentence])
    ]


Drawn = tuple[Sequence[Frame], str, str, str]  # the frames that fit, the value in English, in French, accepted forms


def framed(kind: str, carriers: Carriers, value: Callable[[random.Random], Drawn]) -> list[Value]:
    """Each case a frame of ours with a drawn value, and a carrier before or behind it (behind a colon always)."""
    draw, cases = drawing(kind), []
    for carrier in drawn(quiet(carriers), draw):
        frames, english, usual, form = value(draw)
        frame = draw.choice(frames)
        behind = frame.english.endswith(":") or draw.random() < 0.5
        ours = frame.english.format(english).replace("m..", "m.")  # "at 8 p.m." ends with one full stop
        french = [text.replace("{}", "") for text in frame.french]
        references = tuple(
            f"{text} {theirs}" if behind else f"{theirs} {text}" for text in french for theirs in carriers[carrier]
        )
        source = f"{ours} {carrier}" if behind else f"{carrier} {ours}"
        first, filled = carriers[carrier][0], frame.french[0].format(usual)
        example = f"{filled} {first}" if behind else f"{first} {filled}"
        cases.append(Value(source, carrier, tuple(carriers[carrier]), references, example, form))
    return cases


def digits(carriers: Carriers) -> list[Value]:
    """Small numbers (a third), large ones with an English comma, years, decimals, per cents, prices."""

    def value(draw: random.Random) -> Drawn:
        kind = draw.choices(("counted", "large", "year", "decimal", "percent", "price"), (6, 4, 3, 2, 2, 3))[0]
        if kind == "counted":
            number = draw.randint(11, 999)
            return COUNTED, str(number), str(number), rules.whole_form(number)
        if kind == "large":
            number = draw.choice((draw.randint(1000, 9999), draw.randint(10_000, 999_999), 100 * draw.randint(11, 99)))
            return LARGE, f"{number:,}", f"{number:,}".replace(",", "\u202f"), rules.whole_form(number)
        if kind == "year":
            number = draw.randint(1500, 2024)
            return YEARS, str(number), str(number), rules.year_form(number)
        if kind == "decimal":
            text = f"{draw.randint(2, 60)}.{draw.randint(1, 9)}"
            return DECIMALS, text, text.replace(".", ","), rules.decimal_form(text)
        if kind == "percent":
            number = draw.randint(3, 99)
            return PERCENTS, f"{number}%", f"{number}\u00a0%", rules.percent_form(number)
        number, sign = draw.randint(11, 480), draw.choice("$€£")
        return PRICES, f"{sign}{number}", f"{number}\u00a0{sign}", rules.price_form(number, sign)

    return framed("digits", carriers, value)


def times(carriers: Carriers) -> list[Value]:
    """8:45 and 18:05 (half), 8:45 p.m. and 7 am (a quarter), half past six and ten to nine (a quarter)."""
    spoken = {5: "five past", 10: "ten past", 15: "a quarter past", 20: "twenty past", 25: "twenty-five past"}
    spoken |= {30: "half past", 35: "twenty-five to", 40: "twenty to", 45: "a quarter to", 50: "ten to", 55: "five to"}

    def usual(hour: int, minute: int) -> str:
        return f"{hour}\u00a0h" + (f"\u00a0{minute:02d}" if minute else "")

    def value(draw: random.Random) -> Drawn:
        kind = draw.choices(("clock", "half", "words"), (2, 1, 1))[0]
        if kind == "clock":
            hour, minute = draw.randint(1, 23), draw.choice((draw.randint(0, 59), 5 * draw.randint(0, 11)))
            return TIMES, f"{hour}:{minute:02d}", usual(hour, minute), rules.time_form(hour, minute)
        hour, half = draw.randint(1, 11), draw.choice(("am", "pm"))
        if kind == "half":
            minute = draw.choice((0, draw.randint(1, 59)))
            clock = f"{hour}:{minute:02d}" if minute or draw.random() < 0.5 else str(hour)
            mark = draw.choice((f" {half[0]}.m.", f" {half}", half))
            return TIMES, clock + mark, usual(hour + 12 * (half == "pm"), minute), rules.time_form(hour, minute, half)
        minute = draw.choice((0, *spoken))
        if minute == 0:
            return TIMES, f"{num2words(hour)} o'clock", usual(hour, 0), rules.time_form(hour, 0)
        near = hour if minute <= 30 else hour + 1
        return TIMES, f"{spoken[minute]} {num2words(near)}", usual(hour, minute), rules.time_form(hour, minute)

    return framed("times", carriers, value)


def number_words(carriers: Carriers) -> list[Value]:
    """Two to twenty, to a hundred, to a thousand (a quarter each), and to a million: with "and" or without."""

    def value(draw: random.Random) -> Drawn:
        low, high = draw.choice(((2, 20), (21, 99), (100, 999), (1000, 999_999)))
        number = draw.randint(low, high)
        if high > 999 and draw.random() < 0.5:
            number = draw.choice((100, 1000)) * draw.randint(11, 99)
        english = num2words(number).replace(",", "")
        if draw.random() < 0.5:
            english = english.replace(" and ", " ")
        return (LARGE if number >= 1000 else COUNTED), english, num2words(number, lang="fr"), rules.whole_form(number)

    return framed("number words", carriers, value)


def dates(carriers: Carriers) -> list[Value]:
    """March 5, 1987, 5 March 1987, March 5, March 5th, the 5th of March, Monday, March 5."""

    def value(draw: random.Random) -> Drawn:
        date = datetime.date(draw.randint(1900, 2049), 1, 1) + datetime.timedelta(days=draw.randrange(365))
        month, day, year = ENGLISH_MONTHS[date.month - 1], date.day, date.year
        weekday = ENGLISH_DAYS[date.weekday()]
        ordinal = num2words(day, to="ordinal_num")
        style = draw.randrange(6)
        english = (
            f"{month} {day}, {year}",
            f"{day} {month} {year}",
            f"{month} {day}",
            f"{month} {ordinal}",
            f"the {ordinal} of {month}",
            f"{weekday}, {month} {day}",
        )[style]
        form = rules.date_form(day, date.month, year if style < 2 else None, date.weekday() if style == 5 else None)
        usual = f"{'1er' if day == 1 else day} {rules.MONTHS[date.month - 1]}"
        usual = (f"{rules.WEEKDAYS[date.weekday()]} " if style == 5 else "") + usual + (f" {year}" if style < 2 else "")
        return DATES, english, usual, form

    return framed("dates", carriers, value)


# names


def names(carriers: Carriers) -> list[Value]:
    """Tom and Mary of the carriers become men and women of our own: a first name (three in five) or a full name."""
    usual = {"Tom": MEN, "Mary": WOMEN}
    pool = [
        sentence
        for sentence in ordered(list(carriers))
        if any(
            re.search(rf"\b{name}\b", sentence) and any(name in rules.french_names(text) for text in carriers[sentence])
            for name in usual
        )
    ]
    draw, cases = drawing("names"), []
    for carrier in drawn(pool, draw):
        source, renamed = carrier, {}
        for name, ours in usual.items():
            if re.search(rf"\b{name}\b", carrier):
                new = draw.choice(ours) + (f" {draw.choice(SURNAMES)}" if draw.random() < 0.4 else "")
                source, renamed[new] = re.sub(rf"\b{name}\b", new, source), name
        references = tuple(map(rules.french_names, carriers[carrier]))
        example = references[0]
        for new, name in renamed.items():
            example = re.sub(rf"\b{name}\b", new, example)
        cases.append(Value(source, carrier, references, references, example, names=renamed))
    return cases


# questions


def questions(carriers: Carriers) -> list[Value]:
    """Every question of the split, in three ways: its mark left out, in lower case, behind a sentence of ours."""
    pool = [sentence for sentence in ordered(list(carriers)) if sentence.endswith("?")]
    draw, made = drawing("questions"), []
    for way, changes in enumerate(("bare", "lower", "greeted")):
        for question in drawn(pool, draw, CASES // 3 + (way < CASES % 3)):
            references = tuple(carriers[question])
            if changes == "bare":
                bare = tuple(text.rstrip(" ?\u00a0\u202f") for text in references)
                made.append(
                    Value(
                        question.rstrip("? "), question, references, (*references, *bare), references[0], marked=False
                    )
                )
            elif changes == "lower":
                made.append(Value(question.lower(), question, references, references, references[0], marked=True))
            else:
                greeting = draw.choice(GREETINGS)
                both = tuple(f"{hello} {text}" for hello in greeting.french for text in references)
                made.append(Value(f"{greeting.english} {question}", question, references, both, both[0], marked=True))
    return made


# changes that are measured by BLEU


def chosen(kind: str, carriers: Carriers, fit: Callable[[str], bool] = bool) -> list[str]:
    return drawn([sentence for sentence in ordered(list(carriers)) if fit(sentence)], drawing(kind))


def lower(carriers: Carriers) -> list[Changed]:
    return [Changed(sentence.lower(), (sentence,)) for sentence in chosen("lower", carriers)]


def upper(carriers: Carriers) -> list[Changed]:
    return [Changed(sentence.upper(), (sentence,)) for sentence in chosen("upper", carriers)]


def slips(carriers: Carriers) -> list[Changed]:
    """One slip of the finger in a word of four letters or more: a neighbouring key, two swapped, one lost, one twice."""
    draw = drawing("slips, where")
    return [
        Changed(slipped(sentence, draw), (sentence,))
        for sentence in chosen("slips", carriers, lambda sentence: bool(re.search(r"[A-Za-z][a-z]{3}", sentence)))
    ]


def slipped(sentence: str, draw: random.Random) -> str:
    """`sentence` with one slip, at a small letter."""
    places = [i for word in re.finditer(r"[A-Za-z][a-z]{3,}", sentence) for i in range(*word.span())]
    while True:
        i, how = draw.choice(places), draw.choice(("near", "swap", "lose", "twice"))
        here, following = sentence[i], sentence[i + 1 : i + 2]
        if not here.islower() or (how == "swap" and (i + 1 not in places or following == here)):
            continue
        new = {
            "near": sentence[:i] + draw.choice(KEYS[here]) + sentence[i + 1 :],
            "swap": sentence[:i] + following + here + sentence[i + 2 :],
            "lose": sentence[:i] + sentence[i + 1 :],
            "twice": sentence[:i] + here + sentence[i:],
        }[how]
        if new != sentence:
            return new


def joined(carriers: Carriers) -> list[Changed]:
    """Two sentences, one behind the other."""
    draw = drawing("joined")
    pool = ordered(list(carriers))
    firsts, seconds = drawn(pool, draw), drawn(pool, draw)
    return [Changed(f"{one} {other}", (one, other)) for one, other in zip(firsts, seconds)]


def long(carriers: Carriers) -> list[Changed]:
    """As many sentences as it takes to `LONG` words or more."""
    draw, cases = drawing("long"), []
    pool = ordered(list(carriers))
    for _ in range(CASES):
        parts: list[str] = []
        while sum(map(words, parts)) < LONG:
            parts.append(draw.choice(pool))
        cases.append(Changed(" ".join(parts), tuple(parts)))
    return cases


BY_RULE: dict[str, Callable[[Carriers], list[Value]]] = {
    "digits": digits,
    "times": times,
    "number words": number_words,
    "dates": dates,
    "names": names,
    "questions": questions,
}
BY_BLEU: dict[str, Callable[[Carriers], list[Changed]]] = {
    "lower case": lower,
    "upper case": upper,
    "slips": slips,
    "two joined": joined,
    "long": long,
}


# what is frozen


def fingerprint(carriers: Carriers) -> dict:
    """The SHA-256 of every carrier and, for each kind, of its cases: sources, references and accepted forms."""
    kinds = {}
    for name, make in (BY_RULE | BY_BLEU).items():
        lines = [repr(sorted(vars(case).items())) for case in make(carriers)]
        kinds[name] = digest("\n".join(lines))
    return {"seed": SEED, "cases": CASES, "kinds": kinds, "carriers": sorted(map(digest, carriers))}


def assert_frozen(carriers: Carriers) -> None:
    """Refuse to judge other cases than the frozen ones, of another release of the corpus, say."""
    frozen, found = json.loads(FROZEN.read_text(encoding="utf-8")), fingerprint(carriers)
    if found["carriers"] != frozen["carriers"]:
        raise ValueError("The test split is not the one that this test was frozen on.")
    other = [name for name, value in frozen["kinds"].items() if found["kinds"].get(name) != value]
    if other or found["kinds"].keys() != frozen["kinds"].keys():
        raise ValueError(f"These cases are not the frozen ones: {', '.join(other) or 'another kind'}.")
