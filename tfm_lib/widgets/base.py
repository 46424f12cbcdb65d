"""Base class of the book's widgets (state, static figure, text alternative), and the checks of their arguments.

In Jupyter a widget is an anywidget with traits synchronised in both directions; in the rendered page
the same module runs without a kernel; in print it is the picture that `figure()` draws.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import anywidget
import numpy as np
import traitlets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
UNBUILT = (
    "This widget is not built yet: run “make book” (or “npm ci” and “node build.mjs” in the folder frontend), "
    "then this cell again."
)


class Words(SimpleNamespace):
    """All texts of a widget and its static figure, defined at the head of its file so that they can be translated.

    `title` and `question` appear on its card. `shared` is also sent to the browser, for texts used there too. The
    others are templates for `str.format`.
    """

    shared: Mapping[str, Any] = MappingProxyType({})


def as_read(token: str, tokens: Iterable[str]) -> str:
    """Format a token for reading: where ▁ begins a word in `tokens`, a token that continues a word gets a hyphen."""
    if token.startswith("▁"):
        return token[1:] or "␣"
    return f"-{token}" if token[:1].isalpha() and any(len(other) > 1 and other[0] == "▁" for other in tokens) else token


class Widget(anywidget.AnyWidget):
    """Base class of all widgets.

    A subclass sets `_module` (its file below `frontend/src`, without `.js`) and `words`, declares
    its state as traits with `sync=True`, names the trait that answers the question `value`, and
    defines `figure()` and `alt`.
    """

    words: Words
    _module = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)
    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    shared = traitlets.Dict().tag(sync=True)

    @traitlets.default("title")
    def _own_title(self) -> str:
        return self.words.title

    @traitlets.default("question")
    def _own_question(self) -> str:
        return self.words.question

    @traitlets.default("shared")
    def _shared_words(self) -> dict:
        return dict(self.words.shared)

    @traitlets.default("_esm")
    def _built_module(self) -> str:
        return built(f"{self._module}.js") or _sentence(UNBUILT)

    @traitlets.default("_css")
    def _built_style(self) -> str:
        return built("widgets.css") or ""

    @property
    def alt(self) -> str:
        """The current state in a sentence with numbers: the text alternative."""
        raise NotImplementedError

    @property
    def in_sentences(self) -> list[str]:
        """The process that the widget plays, as sentences below the static figure; most widgets have none."""
        return []

    def figure(self) -> Figure:
        """Draw the current state as a matplotlib figure: for print, and for readers without scripts."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self.title}: {self.alt}"

    def _repr_mimebundle_(self, **kwargs: Any):
        """Return the widget view; while the book builds (TFM_BOOK=1), with its static figure and text alternative."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None or os.environ.get("TFM_BOOK") != "1":
            return bundle
        from tfm_lib.drawing.display import svg_text

        data, metadata = bundle
        still = {"alt": self.alt, "still": svg_text(self.figure()), "sentences": self.in_sentences}
        return {**data, WIDGET_VIEW: {**data[WIDGET_VIEW], "tfm": still}}, metadata


class Numbers(traitlets.List):
    """A trait of nested lists that also accepts a tensor or an array; check its shape in a `validate` method."""

    def validate(self, obj: Any, value: Any) -> list | None:
        return super().validate(obj, value.tolist() if hasattr(value, "tolist") else value)


def to_numpy(name: str, array: Any, shape: Sequence[int | str | None], finite: bool = True) -> np.ndarray:
    """Return `array` (torch, numpy, nested lists) as a float64 array whose shape fits `shape`.

    In `shape` a number is an exact size, a word an axis of any size that the message names.
    Raises TypeError or ValueError that names the argument, what was expected and what was given.
    """
    wanted = f"({', '.join(str(axis) for axis in shape)})"
    if hasattr(array, "detach"):  # a torch tensor, perhaps on a graph or another device
        array = array.detach().cpu()
        array = array.float() if array.is_floating_point() else array
    try:
        result = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be numbers of shape {wanted}, as a tensor, an array or nested lists of equal length; {error}"
        ) from None
    fits = result.ndim == len(shape) and all(not isinstance(w, int) or w == got for w, got in zip(shape, result.shape))
    if not fits or 0 in result.shape:
        raise ValueError(f"{name} must have shape {wanted}; it has shape {result.shape}")
    if finite and not np.isfinite(result).all():
        raise ValueError(
            f"{name} must be finite; it holds {np.sum(~np.isfinite(result))} values that are NaN or infinite"
        )
    return result


def to_list(name: str, array: Any, shape: Sequence[int | str | None], digits: int = 5, finite: bool = True) -> list:
    """Apply `to_numpy`, then round to nested lists with `digits` decimals, as a trait and a page hold them."""
    return np.round(to_numpy(name, array, shape, finite), digits).tolist()


def to_words(name: str, words: Any, count: int | None = None) -> list[str]:
    """Return `words` as a list of strings (a sentence is split at its spaces), `count` of them if that is given."""
    if not isinstance(words, Iterable):
        raise TypeError(f"{name} must be a sentence or a list of words; it is {words!r}")
    result = words.split() if isinstance(words, str) else [str(word) for word in words]
    if not result:
        raise ValueError(f"{name} must hold at least one word; it is empty")
    if count is not None and len(result) != count:
        raise ValueError(f"{name} must hold {count} words, one for each row or column; it holds {len(result)}")
    return result


def one_of(name: str, value: Any, known: Iterable[Any], more: str = "") -> Any:
    """Return `value` if it is one of `known`; else raise a ValueError that names them, and `more` that is allowed."""
    known = tuple(known)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(str, known))}{more}; it is {value!r}")
    return value


def within(name: str, value: Any, low: float, high: float, what: str = "") -> Any:
    """Return `value` if it is from `low` to `high`; else raise a ValueError that says so, and `what` it is."""
    if not low <= value <= high:
        raise ValueError(f"{name} must be {what}from {low:g} to {high:g}; it is {value}")
    return value


def built(name: str) -> str | None:
    path = files("tfm_lib.widgets") / "static" / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _sentence(text: str) -> str:
    return f"export default {{ render({{ el }}) {{ el.textContent = {json.dumps(text, ensure_ascii=False)}; }} }};"
