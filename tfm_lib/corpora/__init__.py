"""Corpora: embedded ones, made by seeded code and always at hand, and real ones, fetched when they are asked for."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tfm_lib.corpora.corpus import BOS_ID, EOS_ID, PAD_ID, UNK_ID, Corpus, Pair, Vocabulary
from tfm_lib.corpora.dates import dates
from tfm_lib.corpora.numbers import numbers
from tfm_lib.corpora.own import is_file_name, own_pairs
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
    """The corpus called `name`, or the sentence pairs in the file `name`, such as pairs.tsv.

    `options` go to a corpus's maker (such as `size`, `max_len`, `seed`).
    Raises ValueError, with the names that exist, for an unknown one.
    """
    if name not in _CORPORA and is_file_name(name):
        if options:
            raise ValueError(f"{name} is a file of your own pairs, which takes no options; got {', '.join(options)}.")
        return own_pairs(name)
    if name not in _CORPORA:
        raise ValueError(f"No corpus is called {name!r}; there are {', '.join(sorted(_CORPORA))}.")
    return _CORPORA[name](**options)
