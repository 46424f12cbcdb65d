"""Corpora: embedded ones, made by seeded code and always at hand, and real ones, fetched when they are asked for."""

import math
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from tfm_lib._errors import bad_input, require_texts, require_whole
from tfm_lib.corpora.corpus import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Corpus, Pair, Vocabulary
from tfm_lib.corpora.dates import dates
from tfm_lib.corpora.numbers import numbers
from tfm_lib.corpora.questions import memory_tensors, questions
from tfm_lib.corpora.real import REAL
from tfm_lib.corpora.text import TextCorpus
from tfm_lib.corpora.toys import copy_order, reverse_order, sort_order, toy

__all__ = [
    "BOS_ID",
    "EOS_ID",
    "PAD_ID",
    "UNK_ID",
    "Corpus",
    "Pair",
    "TextCorpus",
    "Vocabulary",
    "load_corpus",
    "memory_tensors",
]

_CORPORA: dict[str, Callable[..., Corpus | TextCorpus]] = {
    "copy": partial(toy, "copy", copy_order),
    "reverse": partial(toy, "reverse", reverse_order),
    "sort": partial(toy, "sort", sort_order),
    "dates": dates,
    "numbers": numbers,
    "questions": questions,
    **REAL,
}


def load_corpus(name: str, **options: Any) -> Corpus | TextCorpus:
    """The corpus called `name`; `options` go to its maker (such as `size`, `max_len`, `seed`).

    Raises ValueError, with the names that exist, for an unknown one.
    """
    if not isinstance(name, str) or name not in _CORPORA:
        raise ValueError(f"No corpus is called {name!r}; there are {', '.join(sorted(_CORPORA))}.")
    known = signature(_CORPORA[name]).parameters
    for option, value in options.items():
        if option not in known:
            raise bad_input("options", f"be among {', '.join(known) or 'none'} for {name}", repr(option), TypeError)
        if isinstance(known[option].default, int) or (option == "size" and value is not None):
            require_whole(option, value, 1 if option == "size" else -math.inf)
        if isinstance(known[option].default, tuple):
            require_texts(option, value)
    return _CORPORA[name](**options)
