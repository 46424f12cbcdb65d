"""Check that nothing in a hand-out contains a piece of a solution or of a hidden test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tfm_lib._refusal import Refusal

WINDOW = 28  # characters, ignoring whitespace: shorter pieces of two programs may agree by chance


class Leak(Refusal):
    """A hand-out contains secret material; the message says what and where."""


def require_none(files: dict[str, str], secrets: dict[str, str], public: Iterable[str]) -> None:
    """Check that `files` contain no piece of `secrets` that is not also in `public`. Raises Leak."""
    known = _squeezed("\n".join(public))
    pieces = {
        name: [piece for piece in _pieces(_squeezed(text)) if piece not in known] for name, text in secrets.items()
    }
    for file, text in files.items():
        shown = _squeezed("\n".join(_strings(text)))
        for name, secret in pieces.items():
            for piece in secret:
                if piece in shown:
                    raise Leak(f"{file} holds a piece of {name}: “{piece}”. Nothing was written.")


def _strings(text: str) -> Iterator[str]:
    """Yield all text in a file; for a notebook (JSON), every string, including metadata and outputs."""
    try:
        waiting: list[Any] = [json.loads(text)]
    except ValueError:
        yield text
        return
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            if all(isinstance(line, str) for line in item):  # a cell's source may be a list of its lines
                yield "".join(item)
            else:
                waiting += item
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _pieces(text: str) -> list[str]:
    if len(text) <= WINDOW:
        return [text] if len(text) >= WINDOW // 2 else []
    return [text[start : start + WINDOW] for start in range(len(text) - WINDOW + 1)]
