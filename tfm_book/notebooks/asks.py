"""Parse the questions that readers answer in the page: the question, the right answer, and feedback for each mistake.

A question is written once, in its chapter; the page, the notebook and the tests read it with this module. In its list
of answers, `- [x]` marks the right one and `- [ ]` each mistake; the text after `→` is shown to whoever chose it.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path

from tfm_book.notebooks.myst import Block, blocks, within

#: kind → title of the question's box
KINDS = {
    "choose": "Choose",
    "order": "Put the lines in order",
    "line": "Find the wrong line",
    "number": "Give a number",
    "shape": "Give the shape",
}
OPENING, AGAIN = "Before you read. The end of this chapter asks again", "Asked again"
FOLD, OTHERS, ELSE = "Answer", "Other answers", "Anything else"

_ITEM = re.compile(r"^- (?:\[([ xX])\] |(else)\b ?|(?=\d+ before \d+\b))(.*)$")
_STEP = re.compile(r"^\d+\. (.+)$")
_FENCE = re.compile(r"^`{3,}python$")


@dataclass(frozen=True)
class Answer:
    """An answer as written in the source; `why` says why it is right, or what mistake probably led to it."""

    said: str
    why: str
    right: bool = False

    @property
    def range(self) -> tuple[float, float]:
        """For a number: the accepted range; without an explicit tolerance, half a percent on either side."""
        if found := re.fullmatch(r"([<>]) (\S+)", self.said):
            bound = float(found[2])
            return (-math.inf, bound) if found[1] == "<" else (bound, math.inf)
        value, _, slack = self.said.partition(" ± ")
        width = float(slack) if slack else 0.005 * abs(float(value))
        return float(value) - width, float(value) + width

    @property
    def sizes(self) -> tuple[int, ...]:
        """For a shape: its sizes."""
        return tuple(int(size) for size in self.said.split(","))

    @property
    def line(self) -> int:
        """For a wrong line: its number, counted from 1."""
        return int(self.said.partition(":")[0])

    @property
    def mended(self) -> str:
        """For the line to be found: what it should be."""
        return self.said.partition(": ")[2].strip("`")

    @property
    def steps(self) -> tuple[int, int]:
        """For a wrong order: the step that came too early, and the step that it was put before."""
        early, late = self.said.split(" before ")
        return int(early), int(late)


@dataclass(frozen=True)
class Ask:
    """A question of one of the kinds in KINDS."""

    name: str
    kind: str
    question: list[str]
    answers: list[Answer]
    otherwise: str = ""
    steps: list[str] = field(default_factory=list)  # for an order: the steps in the right order
    code: list[str] = field(default_factory=list)  # for a wrong line: the listing
    unit: str = ""
    opening: bool = False

    @property
    def right(self) -> Answer:
        return next(answer for answer in self.answers if answer.right)

    @property
    def wrong(self) -> list[Answer]:
        return [answer for answer in self.answers if not answer.right]

    @property
    def title(self) -> str:
        return OPENING if self.opening else KINDS[self.kind]

    @property
    def shuffled(self) -> list[int]:
        """The step numbers, from 1, in the order that the reader first sees; never the right order."""
        order, chance = list(range(1, len(self.steps) + 1)), random.Random(self.name)
        chance.shuffle(order)
        return order if order != sorted(order) else order[::-1]

    def condition(self, answer: Answer) -> str:
        """Return the condition that the page's script compares with the reader's input."""
        if self.kind == "choose":
            return str(self.answers.index(answer))
        if self.kind == "number":
            low, high = answer.range
            return f"{'' if low == -math.inf else f'{low:.12g}'}:{'' if high == math.inf else f'{high:.12g}'}"
        if self.kind == "shape":
            return ",".join(map(str, answer.sizes))
        if self.kind == "line":
            return str(answer.line)
        return "" if answer.right else "<".join(map(str, answer.steps))

    def words(self, answer: Answer) -> str:
        """Return the answer as MyST."""
        if self.kind == "number":
            said = answer.said.partition(" ± ")[0]
            return said.replace("> ", "more than ").replace("< ", "less than ") + (f" {self.unit}" if self.unit else "")
        if self.kind == "shape":
            return f"`({answer.said})`"
        if self.kind == "line":
            return f"line {answer.line}" + (f", which should be `{answer.mended}`" if answer.right else "")
        return answer.said


def asks(path: Path) -> list[Ask]:
    """Return the questions of the chapter at `path`, in order; the one that is asked again at the end appears once."""
    return list(_asks(path.read_text(encoding="utf-8")))


@lru_cache(64)
def _asks(text: str) -> tuple[Ask, ...]:
    return tuple(read_ask(block) for block in _directives(text, "ask"))


def asked_again(path: Path) -> list[str]:
    """Return the names of the questions that the chapter at `path` asks a second time."""
    return [block.argument for block in _directives(path.read_text(encoding="utf-8"), "ask-again")]


def opening(path: Path, name: str) -> Ask:
    """Return the question `name` that opens the chapter at `path`; raises ValueError if there is none."""
    for ask in asks(path):
        if ask.name == name and ask.opening:
            return ask
    raise ValueError(f"{path.name} asks {name!r} again, and has no `:opening:` question of that name.")


def _directives(text: str, name: str) -> Iterator[Block]:
    every = chain.from_iterable(map(within, blocks(text)))
    return (block for block in every if block.kind == "directive" and block.name == name)


def read_ask(block: Block) -> Ask:
    """Parse the directive `block` into a question. Raises ValueError with a sentence if the question is incomplete."""
    ask = _read(block.argument, block.options, block.lines)
    if wrong := next(_faults(ask), ""):
        raise ValueError(f"The question {ask.name!r} {wrong}")
    return ask


def _read(name: str, options: dict[str, str], lines: list[str]) -> Ask:
    question: list[str] = []
    steps: list[str] = []
    code: list[str] = []
    answers: list[Answer] = []
    otherwise = ""
    lines, kind = list(lines), options.get("kind", "choose")
    while lines and not _ITEM.match(lines[0]):
        line = lines.pop(0)
        if kind == "line" and _FENCE.match(line):
            end = lines.index("```") if "```" in lines else len(lines)
            code, lines = lines[:end], lines[end + 1 :]
        elif kind == "order" and (step := _STEP.match(line)):
            steps.append(step[1])
        else:
            question.append(line)
    for item in _items(lines):
        mark, other, rest = _ITEM.match(item).groups()
        said, _, why = rest.partition("→")
        if other:
            otherwise = why.strip()
        else:
            answers.append(Answer(said.strip(), why.strip(), right=mark in ("x", "X")))
    return Ask(
        name, kind, question, answers, otherwise, steps, code, options.get("unit", ""), opening="opening" in options
    )


def _items(lines: list[str]) -> Iterator[str]:
    """Yield the items of the list of answers, each on one line."""
    item = ""
    for line in lines:
        if _ITEM.match(line):
            if item:
                yield item
            item = line
        else:
            item += f" {line.strip()}" if line.strip() else ""
    if item:
        yield item


def _faults(ask: Ask) -> Iterator[str]:
    if ask.kind not in KINDS:
        yield f"is of the kind {ask.kind!r}; there are {', '.join(KINDS)}."
    if sum(answer.right for answer in ask.answers) != 1:
        yield "needs exactly one right answer, `- [x]`."
    if len(ask.answers) < 2:
        yield "needs at least one mistake, `- [ ]`."
    if silent := [answer.said for answer in ask.answers if not answer.why]:
        yield f"says nothing to {silent[0]!r}: write `→` and a sentence."
    if ask.opening and ask.kind != "choose":
        yield "begins a chapter, so it is of the kind choose."
    if ask.kind in ("number", "shape", "line") and not ask.otherwise:
        yield "needs a sentence for all other answers, `- else → …`."
    if ask.kind == "line" and not all(1 <= answer.line <= len(ask.code) for answer in ask.answers):
        yield "names a line that its listing does not have."
    if ask.kind == "order":
        pairs = {answer.steps for answer in ask.wrong}
        missing = [(k + 1, k) for k in range(1, len(ask.steps)) if (k + 1, k) not in pairs]
        if missing or len(ask.steps) < 3:  # any wrong order puts some step k + 1 before step k
            yield f"needs three steps, and a sentence for each pair of neighbours turned round; missing: {missing}."
