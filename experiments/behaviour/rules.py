"""Which translations pass: the accepted renderings of a value, found as a whole, and the rest beside the carrier alone.

Each `…_forms` gives a regular expression of everything that a French reader would accept, for plain text (see `plain`).
"""

import re
import unicodedata
from functools import cache

import sacrebleu
from num2words import num2words

from experiments.behaviour.lists import listed

TOLERANCE = 15.0  # chrF points that the rest may lose: a lost word of up to three letters costs 14 on average
ENOUGH = 60.0  # chrF that is always enough: two people's translations of a test sentence have 66 on average

MONTHS = listed("janvier février mars avril mai juin juillet août septembre octobre novembre décembre")
WEEKDAYS = listed("lundi mardi mercredi jeudi vendredi samedi dimanche")
NUMBER_WORDS = listed(
    "zéro un une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize vingt vingts trente "
    "quarante cinquante soixante septante octante huitante nonante cent cents mille mil million millions"
)
_NUMBER_WORD = rf"(?:{'|'.join(NUMBER_WORDS)})(?!\w)"
# What makes a found number a part of a longer one: signs or number words that go on before or behind it.
_NOT_BEHIND = (
    r"(?<![\w])(?<!\d[.,:/])(?<!\d )(?<!\d-)"
    + "".join(rf"(?<!\b{word}[ -])" for word in NUMBER_WORDS if word not in ("un", "une"))
    + r"(?<!\bet[ -])"
)
_NOT_BEFORE = (
    rf"(?!\w)(?![.,:/-]?\d)(?! \d)(?![ -]{_NUMBER_WORD})(?![ -]et[ -](?:une?|onze|demie?|quart)\b)(?! moins\b)"
)


def plain(text: str) -> str:
    """Lower case, one kind of apostrophe and of hyphen, single ordinary spaces."""
    text = unicodedata.normalize("NFC", text).lower().replace("’", "'").replace("‑", "-").replace("–", "-")
    return " ".join(text.split())  # split() knows the no-break spaces too


# numbers


def _spelling(words: str) -> str:
    """A regular expression for a French number in words: hyphens or spaces, "et" or none, plurals or none."""
    parts = []
    for word in re.split(r"[ -]", words):
        if word == "et":
            continue
        if word in ("un", "une"):
            parts.append(r"(?:et[ -])?une?" if parts else "une?")
        elif word == "onze":
            parts.append(r"(?:et[ -])?onze" if parts else "onze")
        elif word in ("vingt", "vingts", "cent", "cents"):
            parts.append(word.removesuffix("s") + "s?")
        elif word == "mille":
            parts.append("mil(?:le)?")
        else:
            parts.append(re.escape(word))
    return "[ -]".join(parts)


@cache
def words_form(number: int) -> str:
    """In words, of France, Belgium and Switzerland (septante, huitante or octante, nonante), and "dix-neuf cent …"."""
    spoken = [num2words(number, lang=language) for language in ("fr", "fr_BE", "fr_CH")]
    if 1100 <= number < 2000:
        head, tail = divmod(number, 100)
        spoken += [
            f"{num2words(head, lang='fr')} cent" + (f" {num2words(tail, lang=language)}" if tail else "")
            for language in ("fr", "fr_BE", "fr_CH")
        ]
    spoken += [words.replace("huitante", "octante") for words in spoken]
    return "(?:" + "|".join(sorted({_spelling(words) for words in spoken})) + ")"


def digits_form(number: int) -> str:
    """1250: 1250, 1 250, 1.250; 45000 also 45 mille. Not 1,250, which in French is one and a quarter."""
    written = [str(number)]
    if number >= 1000:
        grouped = f"{number:,}"
        written += [grouped.replace(",", " "), re.escape(grouped.replace(",", "."))]
    if number >= 2000 and number % 1000 == 0:
        written.append(f"{number // 1000} mille")
    return f"(?:{'|'.join(written)})"


_NO_UNIT = r"(?! ?h(?:eures?)?\b)(?! ans?\b)"  # no frame has hours or years of age: "à sept heures" is no page


def whole_form(number: int) -> str:
    """A whole number: in digits or in words, whatever the English had; but not of hours or of years of age."""
    return f"(?:{digits_form(number)}|{words_form(number)}){_NO_UNIT}"


def year_form(year: int) -> str:
    """1987, without a space or a point, or in words."""
    return f"(?:{year}|{words_form(year)}){_NO_UNIT}"


def decimal_form(text: str) -> str:
    """3.5: 3,5 or 3.5, or "trois virgule cinq", or "trois et demi"."""
    whole, part = text.split(".")
    forms = [rf"{whole}[.,]{part}", f"{words_form(int(whole))} virgule {words_form(int(part))}"]
    if part == "5":
        forms.append(f"(?:{whole}|{words_form(int(whole))}) et demie?")
    return f"(?:{'|'.join(forms)})"


def percent_form(number: int) -> str:
    """12%: 12 %, 12%, 12 pour cent, douze pour cent."""
    return f"(?:{number} ?%|{whole_form(number)} pour[ -]?cents?)"


def price_form(number: int, sign: str) -> str:
    """$45: 45 $, 45$, $45, 45 dollars; the same with € and euros, £ and livres (sterling)."""
    name = {"$": "dollars?", "€": "euros?", "£": "livres?(?: sterlings?)?"}[sign]
    sign = re.escape(sign)
    return f"(?:{digits_form(number)} ?{sign}|{sign} ?{digits_form(number)}|{whole_form(number)} {name})"


# clock times

_MORNING, _LATER = r" (?:du matin|de la nuit)", r" (?:du soir|de l'après-midi)"


def _hour(hour: int) -> str:
    """8: 8 h, 8h, 8 heures, huit heures; midi for 12, minuit for 0."""
    spoken = f"(?:0?{hour} ?h(?:eures?)?|{words_form(hour)} ?h(?:eures?)?)"
    return {12: f"(?:{spoken}|midi)", 0: f"(?:{spoken}|24 ?h(?:eures)?|minuit)"}.get(hour, spoken)


def _clock(hour: int, minute: int) -> str:
    """One reading of a clock: 8:45, 8 h 45, 8h45, 8 heures 45, neuf heures moins le quart …"""
    forms = [rf"0?{hour} ?: ?{minute:02d}"]
    if minute == 0:
        forms.append(rf"{_hour(hour)}(?: ?00)?")
    else:
        behind = [f"{minute:02d}", str(minute), words_form(minute)]
        behind += {
            15: ["et quart", "un quart", "et un quart"],
            30: ["et demie?"],
            45: ["trois quarts", "et trois quarts"],
        }.get(minute, [])
        forms.append(rf"{_hour(hour)} ?(?:{'|'.join(behind)})(?: minutes?)?")
    if minute > 30:
        left = 60 - minute
        before = [str(left), words_form(left), *(["le quart", "quart", "un quart"] if left == 15 else [])]
        later = {(hour + 1) % 24, hour % 12 + 1 if hour in (12, 0) else (hour + 1) % 24}
        forms += [rf"{_hour(following)} moins (?:{'|'.join(before)})(?: minutes?)?" for following in later]
    return f"(?:{'|'.join(forms)})"


def time_form(hour: int, minute: int, half: str = "") -> str:
    """A time of day; `half` is "", "am" or "pm".

    Without a half the hour stays as it is, and no part of the day may be made up for hours up to 12. In the morning
    "du matin" may be said or not. In the afternoon the hour is 13 to 23, or "du soir" or "de l'après-midi" is said;
    English a.m. and p.m. are not French.
    """
    if half == "pm":
        late = hour % 12 + 12
        return f"(?:{_clock(late, minute)}(?:{_LATER})?|{_clock(hour % 12 or 12, minute)}{_LATER})"
    if half == "am":
        early = hour % 12
        other = f"|{_clock(12, minute)}{_MORNING}" if early == 0 else ""
        return f"(?:{_clock(early, minute)}(?:{_MORNING})?(?!{_LATER}){other})"
    if hour > 12:
        return f"(?:{_clock(hour, minute)}(?:{_LATER})?|{_clock(hour - 12, minute)}{_LATER})"
    return f"{_clock(hour, minute)}(?!{_MORNING}|{_LATER})"


# dates


def date_form(day: int, month: int, year: int | None = None, weekday: int | None = None) -> str:
    """5 mars 1987, cinq mars 1987, 1er or premier janvier, 5/3/1987 and 05.03.1987; with its weekday where there is one."""
    days = ["1 ?er", "1", "premier"] if day == 1 else [f"0?{day}", words_form(day)]
    numbers = [rf"0?{day}[/.-]0?{month}"]
    written = rf"(?:{'|'.join(days)}) {MONTHS[month - 1]}"
    if year is not None:
        written += rf",? (?:de )?(?:l'an )?{year_form(year)}"
        numbers = [rf"{number}[/.-]{year}" for number in numbers]
    form = f"(?:{written}|{'|'.join(numbers)})"
    return rf"{WEEKDAYS[weekday]},? (?:le )?{form}" if weekday is not None else form


# a value in a translation


def without(text: str, form: str) -> str | None:
    """`plain` text with the value taken away; None where it does not stand there as a whole, or another digit does."""
    found = re.search(_NOT_BEHIND + form + _NOT_BEFORE, text)
    if not found:
        return None
    rest = text[: found.start()] + text[found.end() :]
    return None if re.search(r"\d", rest) else " ".join(rest.split())


def without_name(text: str, names: dict[str, str]) -> str | None:
    """`text` with each of our names made the carrier's again (Tom or Mary); None where one is lost or misspelt.

    A name must stand there letter for letter, capitals and accents too; d' and qu' before it become de and que.
    """
    text = " ".join(unicodedata.normalize("NFC", text).replace("’", "'").split())
    for name, usual in names.items():
        whole = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        if not re.search(whole, text):
            return None
        text = re.sub(rf"\b([Dd]|[Qq]u|[Jj]usqu|[Ll]orsqu|[Pp]uisqu)'{whole}", rf"\1e {usual}", text)
        text = re.sub(whole, usual, text)
    return french_names(text)


def french_names(text: str) -> str:
    """Marie, which translators write for Mary, and Mary are one."""
    return re.sub(r"\bMarie\b", "Mary", text)


# the rest


_CHRF = sacrebleu.CHRF()


def likeness(text: str, references: list[str]) -> float:
    """chrF beside the nearest of the references, all of them in plain text."""
    return max(_CHRF.sentence_score(plain(text), [plain(reference)]).score for reference in references)


def not_worse(text: str, references: list[str], alone: float) -> bool:
    """Whether the rest of a translation is as near to a reference as the carrier's was `alone`, but for the tolerance."""
    return likeness(text, references) >= min(alone - TOLERANCE, ENOUGH)


_ASKED = re.compile(
    r"^(?:à |de |d'|en |avec |pour |pourquoi|où|quand|comment|combien|qui|que|qu'|quel|est-ce|lequel|laquelle)|est-ce qu"
    r"|-(?:je|tu|il|elle|on|nous|vous|ils|elles|ce)\b"
)


def is_question(text: str, marked: bool) -> bool:
    """A question mark at the end. Where the English left it out, the French may too, but must ask all the same.

    Without a mark it has a question's form, a question word first or the subject behind the verb, and neither a
    full stop nor an exclamation mark, which would make a statement of it.
    """
    text = plain(text).rstrip(" »\"'")
    return text.endswith("?") or (not marked and not text.endswith((".", "!", "…")) and bool(_ASKED.search(text)))
