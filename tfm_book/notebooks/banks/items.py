"""Prepare the questions of a chapter for export: every text as HTML, without references into the book."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from tfm_lib._extras import absent

try:
    from markdown_it.renderer import RendererHTML
except ModuleNotFoundError as error:
    raise absent(error, "lab") from None

from tfm_book.notebooks import references
from tfm_book.notebooks.asks import Answer, Ask, asks
from tfm_book.notebooks.myst import blocks, parser, within
from tfm_book.notebooks.outline import outline, plotted, title
from tfm_lib.drawing.macros import MACROS

#: How far a number's accepted range reaches if it has one end only, because Moodle needs both.
FAR = 1e9

_TITLED = re.compile(r"^(.+?)\s*<([^<>]+)>$", re.DOTALL)
_FIGURE = re.compile(r"\{numref\}`([^`]+)`")


@dataclass(frozen=True)
class Choice:
    """A possible answer, or one spelling of it; `why` is its feedback as HTML."""

    said: str  # HTML; for a number or a shape what a student types
    why: str
    right: bool = False
    low: float = 0.0  # for a number: the accepted range
    high: float = 0.0
    spellings: tuple[str, ...] = ()  # for a shape
    pair: tuple[int, int] = (0, 0)  # for a wrong order: the step that came too early, and the later one


@dataclass(frozen=True)
class Item:
    """A question as HTML; `id` is unique in the book and stays the same as long as the question keeps its name."""

    id: str
    kind: str
    question: str
    choices: list[Choice]
    otherwise: str = ""
    unit: str = ""
    steps: list[str] = field(default_factory=list)  # HTML, in the right order
    shuffled: list[int] = field(default_factory=list)  # step numbers, from 1, in the order to show

    @property
    def right(self) -> Choice:
        return next(choice for choice in self.choices if choice.right)


@dataclass(frozen=True)
class Chapter:
    """The questions of one chapter."""

    stem: str
    title: str
    items: list[Item]


def chapter_items(path: Path, root: Path, address: str = "") -> Chapter:
    """Return the questions of the chapter at `path`; `address` is where the book is published, or empty."""
    html_of = _Html(path, root)
    made = [_item(ask, path, html_of, address) for ask in asks(path)]
    return Chapter(path.stem, title(path), made)


def _item(ask: Ask, path: Path, html_of: _Html, address: str) -> Item:
    question = html_of.blocks("\n".join(ask.question))
    if ask.code:
        listing = "\n".join(f"{number}  {line}" for number, line in enumerate(ask.code, start=1))
        question += f"<pre><code>{html.escape(listing)}</code></pre>\n"
    question += _where(ask, path, html_of, address)
    if ask.kind == "number" and ask.unit:
        question += f"<p>Give the number in {html_of.inline(ask.unit)}.</p>\n"
    if ask.kind == "shape":
        question += "<p>Write the sizes separated by commas, such as 2, 3.</p>\n"
    return Item(
        id=f"{path.stem}.{ask.name}",
        kind=ask.kind,
        question=question,
        choices=list(
            _lines(ask, html_of) if ask.kind == "line" else (_choice(ask, each, html_of) for each in ask.answers)
        ),
        otherwise=html_of.inline(ask.otherwise),
        unit=ask.unit,
        steps=[html_of.inline(step) for step in ask.steps],
        shuffled=ask.shuffled,
    )


def _choice(ask: Ask, answer: Answer, html_of: _Html) -> Choice:
    why = html_of.inline(answer.why)
    if ask.kind == "number":
        low, high = answer.range
        low, high = (high - FAR if low == -math.inf else low), (low + FAR if high == math.inf else high)
        return Choice(f"{(low + high) / 2:.12g}", why, answer.right, low, high)
    if ask.kind == "shape":
        spellings = tuple(_spellings(answer.sizes))
        return Choice(spellings[0], why, answer.right, spellings=spellings)
    if ask.kind == "order":
        return Choice("", why, answer.right, pair=(0, 0) if answer.right else answer.steps)
    return Choice(html_of.inline(answer.said), why, answer.right)


def _lines(ask: Ask, html_of: _Html) -> Iterator[Choice]:
    """Yield a choice for each line of the listing; those without a diagnosis get the sentence for all others."""
    known = {answer.line: answer for answer in ask.answers}
    for number, line in enumerate(ask.code, start=1):
        said = f"line {number}: <code>{html.escape(line.strip())}</code>"
        answer = known.get(number, Answer("", ask.otherwise))
        why = html_of.inline(answer.why)
        if answer.right:
            why = f"The line should be <code>{html.escape(answer.mended)}</code>. {why}"
        yield Choice(said, why, answer.right)


def _spellings(sizes: tuple[int, ...]) -> Iterator[str]:
    """Yield the usual ways to write a shape, the book's own first."""
    separators = (", ", ",", " ") if len(sizes) > 1 else ("",)
    for before, after in (("", ""), ("(", ")"), ("[", "]")):
        for separator in separators:
            yield before + separator.join(map(str, sizes)) + after
    if len(sizes) == 1:
        yield f"({sizes[0]},)"


def _where(ask: Ask, path: Path, html_of: _Html, address: str) -> str:
    """Say where to find the figures that the question is about."""
    said = "\n".join([*ask.question, *(answer.said for answer in ask.answers)])
    made = ""
    for target in dict.fromkeys(_FIGURE.findall(said)):
        figure = outline(path).refer("numref", target)
        chapter = f"the chapter <em>{html.escape(title(path))}</em>"
        if address:
            link = html.escape(f"{address.rstrip('/')}/chapters/{path.stem}.html#{target}")
            made += f'<p>{figure} is in {chapter}: <a href="{link}">{link}</a></p>\n'
        else:
            caption = html_of.inline(_caption(path, target))
            made += f"<p>{figure} is in {chapter}{': ' + caption if caption else '.'}</p>\n"
    return made


def _caption(path: Path, target: str) -> str:
    """Return the first sentence of the caption of the figure `target`; empty if the chapter has no such figure."""
    for block in chain.from_iterable(map(within, blocks(path.read_text(encoding="utf-8")))):
        plot = plotted(block)
        if plot.get("name") == target:
            return _first_sentence(plot["caption"])
        if block.name == "figure" and block.options.get("name") == target:
            return _first_sentence(" ".join(block.lines))
    return ""


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?!]) (?=[A-Z*`$])", " ".join(text.split()), maxsplit=1)[0]


class _Html(RendererHTML):
    """Render MyST as plain HTML; formulas stay TeX between \\( and \\), references become words."""

    def __init__(self, path: Path, root: Path):
        self.path, self.root = path, root
        self._inside: list[bool] = []  # for each open link: whether it is shown as a link
        super().__init__()

    def blocks(self, text: str) -> str:
        return self.render(parser().parse(text), parser().options, {}) if text.strip() else ""

    def inline(self, text: str) -> str:
        return self.render(parser().parseInline(text), parser().options, {}) if text.strip() else ""

    # the names of these methods are those of the parser's tokens
    def math_inline(self, tokens, idx, options, env) -> str:
        return rf"\({html.escape(_plain_tex(tokens[idx].content), quote=False)}\)"

    def math_inline_double(self, tokens, idx, options, env) -> str:
        return rf"\[{html.escape(_plain_tex(tokens[idx].content), quote=False)}\]"

    def math_block(self, tokens, idx, options, env) -> str:
        return f"<p>{self.math_inline_double(tokens, idx, options, env)}</p>\n"

    math_block_label = math_block

    def link_open(self, tokens, idx, options, env) -> str:
        self._inside.append(bool(re.match(r"https?:|mailto:", str(tokens[idx].attrGet("href") or ""))))
        return self.renderToken(tokens, idx, options, env) if self._inside[-1] else ""

    def link_close(self, tokens, idx, options, env) -> str:
        return "</a>" if self._inside.pop() else ""

    def myst_role(self, tokens, idx, options, env) -> str:
        name, text = tokens[idx].meta["name"], tokens[idx].content
        if name in ("sub", "sup", "kbd"):
            return f"<{name}>{html.escape(text, quote=False)}</{name}>"
        if name == "math":
            return self.math_inline(tokens, idx, options, env)
        return self.inline(self._words(name, text))

    def _words(self, name: str, text: str) -> str:
        """Return the words that stand for a reference, as Markdown."""
        found = _TITLED.match(text)
        shown, target = (found[1], found[2]) if found else ("", text.strip())
        if name == "term":
            return shown or target
        if name == "eq":
            return f"equation {outline(self.path).refer(name, target)}"
        if name in ("doc", "ref", "numref"):
            return shown if shown and "%s" not in shown else outline(self.path).refer(name, target)
        if name.startswith("cite"):
            keys = [key.strip() for key in text.split(",")]
            return ", ".join(f"{references.names(self.root, key)} ({references.year(self.root, key)})" for key in keys)
        raise ValueError(
            f"{self.path.name}: a question bank cannot show the role {name!r}; teach tfm_book/notebooks/banks/items.py to."
        )


def _plain_tex(tex: str) -> str:
    """Return `tex` without the book's macros and colours."""
    return re.sub(r"\\(?:[A-Za-z]+|.)", lambda found: MACROS.get(found[0], ("", found[0]))[1], tex, flags=re.DOTALL)
