"""What tests make of each widget: a file for each stem, `SAMPLES` in it by the name of the widget's file.

An entry of `tests/widgets/samples/masking.py` under "mask_editor" belongs to `frontend/src/masking/mask_editor.js`.
Tests of all widgets go through these files, so that a widget without a sample fails alone, with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import torch

HERE = Path(__file__).parent
SOURCES = HERE.parents[2] / "frontend" / "src"
SHARED = ("kit", "twin", "write")  # folders of what is no widget
#: Every widget there is, as <stem>/<name>.
MODULES = sorted(f"{path.parent.name}/{path.stem}" for path in SOURCES.glob("*/*.js") if path.parent.name not in SHARED)


class Sample(NamedTuple):
    """A widget as tests use it.

    `code` makes one, in a cell that knows its class and torch. `change` is what a cell sets of it then, and `says`
    words of the readout that follow from that. `refused` holds the sentences that bad input gets, each with what
    asks for it, and a ValueError; `mistyped` those that come with a TypeError. … in a sentence stands for anything.
    `states` are others to look at, as traits to set. `still(axes, widget)` goes through the numbers of the still
    picture's axes, each time with those that the browser's `widget` (browser.driving.Widget) shows in the same state.
    """

    code: str
    change: str
    says: str
    refused: Mapping[str, Callable[[], Any]] = {}
    mistyped: Mapping[str, Callable[[], Any]] = {}
    states: Sequence[dict[str, Any]] = ()
    still: Callable[[Any, Any], Iterator[tuple[Any, Any]]] | None = None


def sample(module: str) -> Sample:
    """The sample of a widget, "masking/mask_editor"; without one the test fails with what to write."""
    stem, name = module.split("/")
    found = samples(stem).get(name)
    assert found, f"tests/widgets/samples/{stem}.py must hold SAMPLES with a Sample for {name}"
    return found


def samples(stem: str) -> dict[str, Sample]:
    """The samples of a stem by the widget's file; none where there is no file."""
    return import_module(f"widgets.samples.{stem}").SAMPLES if (HERE / f"{stem}.py").exists() else {}


def sampled() -> list[str]:
    """The widgets that have a sample: what is made together must not break because one has none."""
    return [module for module in MODULES if module.split("/")[1] in samples(module.split("/")[0])]


def importing(module: str) -> str:
    """The line that a cell needs before `code`."""
    return f"from tfm_lib.widgets.{module.split('/', maxsplit=1)[0]} import {sample(module).code.partition('(')[0]}"


def made(module: str, **state: Any) -> Any:
    """The widget of the sample, set to `state`."""
    known = {"torch": torch, kind(module).__name__: kind(module)}
    return changed(eval(sample(module).code, known), **state)  # noqa: S307 (our own table)


def kind(module: str) -> Any:
    """The class of the widget; an instance is of a class of its own."""
    return getattr(
        import_module(f"tfm_lib.widgets.{module.split('/', maxsplit=1)[0]}"), sample(module).code.partition("(")[0]
    )


def changed(widget: Any, **state: Any) -> Any:
    """The widget after these of its traits were set, in their order."""
    for name, value in state.items():
        setattr(widget, name, value)
    return widget


def fits(sentence: str, said: str) -> bool:
    """Whether `said` is the sentence; … stands for anything."""
    return bool(re.fullmatch(".*".join(map(re.escape, sentence.split("…"))), said, re.DOTALL))
