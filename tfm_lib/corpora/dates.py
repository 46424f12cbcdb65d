"""Generate dates in the formats of several locales, paired with the same date in one fixed form."""

import datetime
import random
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from tfm_lib._extras import absent

try:
    from babel.core import UnknownLocaleError
    from babel.dates import format_date, get_date_format
except ModuleNotFoundError as error:
    raise absent(error, "train") from None

from tfm_lib.corpora.corpus import Corpus, Pair
from tfm_lib.data import Tokenizer

LOCALES = ("en_US", "en_GB", "de", "es", "fr", "hu", "ko", "lt")
_FIELDS = {"y": "year", "M": "month", "L": "month", "d": "day", "E": "weekday", "c": "weekday"}
_PIECE = re.compile(r"'([^']*)'|(([A-Za-z])\3*)|([^A-Za-z']+)")  # 'quoted', a field such as MMMM, or other characters
_TOKEN = re.compile(r"\w+|[^\w\s]")

Written = list[tuple[str, str | None]]  # tokens, each with its field or None


def dates(
    size: int = 5000,
    locales: Sequence[str] = LOCALES,
    target: str = "iso",
    pattern: str = "long",
    first_year: int = 1950,
    last_year: int = 2049,
    seed: int = 0,
) -> Corpus:
    """Generate `size` dates, each in the `pattern` ("full", "long", "medium") of one of the `locales`.

    The target is the same date as YYYY - MM - DD, or in the format of the locale `target`. Day, month and year are
    linked with themselves; the weekday and the punctuation have no counterpart in an ISO date, and no link.
    """
    if first_year > last_year or not 1 <= first_year <= 9999:
        raise ValueError(f"Need 1 ≤ first_year ≤ last_year; got {first_year} and {last_year}.")
    draw, pairs = random.Random(f"dates {seed}"), {}
    first, last = datetime.date(first_year, 1, 1).toordinal(), datetime.date(last_year, 12, 31).toordinal()
    for _ in range(20 * size):
        date = datetime.date.fromordinal(draw.randint(first, last))
        src = written(date, draw.choice(locales), pattern)
        tgt = iso(date) if target == "iso" else written(date, target, pattern)
        pair = Pair(tuple(token for token, _ in src), tuple(token for token, _ in tgt), links(tgt, src))
        pairs.setdefault(pair.src, pair)
        if len(pairs) == size:
            break
    return Corpus("dates", tuple(pairs.values()))


def written(date: datetime.date, locale: str, pattern: str = "long") -> Written:
    """Return the tokens of `date` in the pattern of `locale`, each with its field or None."""
    tokens: Written = []
    for quoted, letters, letter, other in _PIECE.findall(_pattern(locale, pattern)):
        text = format_date(date, letters, locale) if letters else quoted or other
        tokens += [(token, _FIELDS[letter] if letters else None) for token in _TOKEN.findall(text)]
    return tokens


def iso(date: datetime.date) -> Written:
    """Return the tokens of `date` as YYYY - MM - DD."""
    return [(f"{date.year:04}", "year"), ("-", None), (f"{date:%m}", "month"), ("-", None), (f"{date:%d}", "day")]


def links(tgt: Written, src: Written) -> frozenset[tuple[int, int]]:
    """Return (target position, source position) wherever the two tokens belong to the same field."""
    return frozenset(
        (i, j)
        for i, (_, field) in enumerate(tgt)
        for j, (_, other) in enumerate(src)
        if field is not None and field == other
    )


def date_tokenizer(sentences: Iterable[str], vocab_size: int) -> Tokenizer:
    """Train a tokenizer like `Tokenizer.train`'s that can join digits: a year is one piece, and a date half as long.

    Dates are few and each is written in one way, so a joined year occurs often. In ordinary sentences it does not.
    """
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

    backend = Backend(models.BPE(unk_token="<unk>"))
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    backend.decoder = decoders.Metaspace()
    special = ["<pad>", "<bos>", "<eos>", "<unk>"]
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, limit_alphabet=vocab_size - 4, special_tokens=special, show_progress=False
    )
    backend.train_from_iterator(sentences, trainer)
    return Tokenizer(backend)


def _pattern(locale: str, pattern: str) -> str:
    known: dict[str, Literal["full", "long", "medium"]] = {"full": "full", "long": "long", "medium": "medium"}
    if pattern not in known:
        raise ValueError(f"pattern must be full, long or medium; got {pattern!r}.")
    try:
        return get_date_format(known[pattern], locale).pattern
    except (UnknownLocaleError, ValueError):
        raise ValueError(f"Babel knows no locale {locale!r}; {', '.join(LOCALES)} are some that it knows.") from None
