"""Which tests run when: `make test`, `make rest` (marked long), `make release` (marked release).

A test is long where a shorter one finds the same faults: what all widgets, pages or questions share is asked of one of
each kind in `make test`, of every fourth in `make rest`, and of the others before a release. So is whatever takes minutes
by its nature: a second build of the book, JupyterLab, Firefox, a training in processes of its own, a channel that must
sleep to be found.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any

import pytest

#: Widgets that together have every kind of control, a machine, a clock, and a place on two pages; with the kinds of each
#: (“grid!” is one whose cells can be changed). tests/browser/test_every_page.py holds them to the pages.
SPREAD = {
    "alignment/alignment": {"button", "checkbox", "grid", "radiogroup", "select"},
    "data/merge_steps": {"button", "checkbox", "input", "range"},
    "decoding/translator": {"button", "checkbox", "grid", "group", "input", "radiogroup", "range", "select"},
    "masking/mask_editor": {"button", "grid", "grid!", "input", "range", "select"},
    "positional/encoding": {"button", "range", "slider"},
    "training/training_replay": {"button", "grid", "range", "select"},
}
#: Chapters that together ask every kind of question, and have widgets, predictions, figures and folds.
CHAPTERS = ("attention", "masking")


def params(
    values: Iterable[Any],
    kept: Container[Any],
    name: Callable[[Any], str] = str,
    rest: Container[Any] | None = None,
) -> list[Any]:
    """Parameters of which `make test` keeps some, and `make rest` every fourth of the others, or `rest` of them."""
    values = list(values)
    if rest is None:
        rest = [value for value in values if value not in kept][::4]

    def marks(value: Any) -> list[pytest.MarkDecorator]:
        if value in kept:
            return []
        return [pytest.mark.long if value in rest else pytest.mark.release]

    return [pytest.param(value, id=name(value), marks=marks(value)) for value in values]


def every(nth: int, table: Iterable[Any]) -> set[Any]:
    """The first and every `nth` after it of many cases that one mechanism has to withstand."""
    return {*list(table)[::nth]}
