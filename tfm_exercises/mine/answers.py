"""Read the kept answers: as functions, as sources, and as a table of the machine's parts."""

from __future__ import annotations

import html
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tfm_exercises.mine import store
from tfm_exercises.mine.catalogue import PARTS, Part, find
from tfm_exercises.mine.keeping import compiled


def answer(id: str) -> Any:
    """The function that answers exercise `id`, such as "masking.triangle"; a tuple where the exercise asks for several.

    Raises KeyError with a sentence if no answer is kept.
    """
    kept = _kept(id)
    functions = compiled(id, kept["source"], kept["names"])
    return functions[0] if len(functions) == 1 else tuple(functions)


def part(name: str) -> Any:
    """The reader's part `name`, such as "causal_mask"; raises AttributeError that says which exercise writes it."""
    found = find(name)
    if found is None:
        known = ", ".join(part.name for part in PARTS)
        raise AttributeError(f"tfm_exercises.mine has nothing called {name!r}. The parts are {known}.")
    kept = store.read()["answers"].get(found.exercise)
    if kept is None:
        raise AttributeError(f"{name} is not written yet. {_remedy(found)}")
    function = compiled(found.exercise, kept["source"], kept["names"])[found.index]
    with suppress(AttributeError):  # a notebook may use the part under any name
        function.__tfm_part__ = name
    return function


def written() -> list[str]:
    """The names of the parts that the reader has written."""
    kept = store.read()["answers"]
    return [part.name for part in PARTS if part.exercise in kept]


def source(name: str) -> str:
    """The source of a part or of an exercise's answer, with all that it needs; raises KeyError if none is kept."""
    return _kept(_exercise(name))["source"]


def forget(name: str) -> str:
    """Remove the answer of a part or an exercise from the store; returns the id of the exercise.

    Raises KeyError if none is kept.
    """
    id = _exercise(name)
    _kept(id)
    store.change(lambda stored: stored["answers"].pop(id, None))
    return id


def keep(yes: bool = True) -> None:
    """Whether answers that pass are kept from now on, in this notebook and all others."""
    if aside := store.change(lambda stored: stored.update(keep=bool(yes))):
        print(aside)


def parts() -> Parts:
    """The parts of the machine: which are written, and where those that are missing are written."""
    kept = store.read()["answers"]
    return Parts(tuple((part, kept[part.exercise]["date"] if part.exercise in kept else "") for part in PARTS))


@dataclass(frozen=True)
class Parts:
    """A table of the parts, each with the date of the reader's answer, "" where there is none."""

    rows: tuple[tuple[Part, str], ...]

    def _said(self) -> str:
        count = sum(bool(date) for _, date in self.rows)
        return f"You have written {count} of the {len(self.rows)} parts of the machine."

    def __repr__(self) -> str:
        rows = (f"{'✓' if date else '·'} {part.name:<20} {part.does}; {_state(part, date)}" for part, date in self.rows)
        return "\n".join([self._said(), *rows])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><code>{part.name}</code></td><td>{html.escape(part.does)}</td>"
            f"<td>{html.escape(_state(part, date))}</td></tr>"
            for part, date in self.rows
        )
        head = "<tr><th>Part</th><th>What it does</th><th>Yours</th></tr>"
        return f'<table class="tfm-parts"><caption>{self._said()}</caption>{head}{rows}</table>'


def _state(part: Part, date: str) -> str:
    return f"written on {date}" if date else f"missing: exercise {part.exercise} in the chapter {part.chapter}"


def _remedy(part: Part) -> str:
    return f'The exercise {part.exercise} in the chapter {part.chapter} writes it: solve it and run check("{part.exercise}", …).'


def _exercise(name: str) -> str:
    found = find(name)
    return found.exercise if found else name


def _kept(id: str) -> dict[str, Any]:
    kept = store.read()["answers"]
    if id not in kept:
        known = ", ".join(sorted(kept)) or "none yet"
        raise KeyError(f"No answer to {id!r} is kept. Kept are: {known}.")
    return kept[id]
