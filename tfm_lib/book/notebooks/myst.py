"""Reads the MyST that chapters are written in: blocks, fences respected, and the pieces of a line.

Small on purpose: it knows the vocabulary of the chapters, and hands on as text what it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

FENCE = re.compile(r"^( *)(`{3,}|~{3,}|:{3,})(.*)$")
TARGET = re.compile(r"^\(([^()\s][^()]*)\)=\s*$")
OPTION = re.compile(r"^:([\w-]+):(?:\s+(.*))?$")
HEADING = re.compile(r"^(#{1,6}) +(.*?)(?: +\{[^{}]*\})?\s*$")


@dataclass
class Block:
    """A piece of a chapter: `kind` is text, heading, code (verbatim), math, target or directive."""

    kind: str
    lines: list[str]
    name: str = ""  # of a directive; of a target; the label of a formula
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)
    level: int = 0  # of a heading
    indent: str = ""


def without_front_matter(text: str) -> str:
    """`text` without the YAML block at its top."""
    return re.sub(r"\A---\n.*?\n---\n", "", text, count=1, flags=re.DOTALL)


def blocks(lines: list[str]) -> Iterator[Block]:
    """The blocks of `lines` in order. The body of a directive is left to be read in its turn."""
    at, text = 0, []

    def flush() -> Iterator[Block]:
        if any(line.strip() for line in text):
            yield Block("text", text[:])
        text.clear()

    while at < len(lines):
        block, after = _special(lines, at)
        if block is None:
            text.append(lines[at])
        else:
            yield from flush()
            yield block
        at = after
    yield from flush()


def _special(lines: list[str], at: int) -> tuple[Block | None, int]:
    """The block other than text that begins in line `at`, and the line after it."""
    line = lines[at]
    if fence := FENCE.match(line):
        return _fenced(lines, at, fence)
    if line.strip().startswith("$$"):
        return _formula(lines, at)
    if target := TARGET.match(line):
        return Block("target", [], name=target[1]), at + 1
    if heading := HEADING.match(line):
        return Block("heading", [heading[2]], level=len(heading[1])), at + 1
    if line.startswith(("% ", "+++")) or line.strip() == "%":
        return Block("comment", [line]), at + 1
    return None, at + 1


def _fenced(lines: list[str], at: int, fence: re.Match[str]) -> tuple[Block | None, int]:
    indent, mark, info = fence.groups()
    if mark[0] == "`" and "`" in info:  # ```code``` in one line is a code span
        return None, at + 1
    closing = re.compile(rf"^ {{0,{len(indent) + 3}}}{re.escape(mark[0])}{{{len(mark)},}} *$")
    end = next((i for i in range(at + 1, len(lines)) if closing.match(lines[i])), len(lines))
    body = [line.removeprefix(indent) for line in lines[at + 1 : end]]
    directive = re.match(r"^\{([\w:-]+)\} *(.*)$", info.strip())
    if directive:
        options, body = _options(body)
        return Block("directive", body, directive[1], directive[2].strip(), options, indent=indent), end + 1
    if mark[0] == ":":
        return Block("directive", body, "div", info.strip(), indent=indent), end + 1
    return Block("code", lines[at : end + 1]), end + 1


def _options(body: list[str]) -> tuple[dict[str, str], list[str]]:
    options: dict[str, str] = {}
    while body and (option := OPTION.match(body[0])):
        options[option[1]] = (option[2] or "").strip()
        body = body[1:]
    while body and not body[0].strip():
        body = body[1:]
    return options, body


def _formula(lines: list[str], at: int) -> tuple[Block | None, int]:
    """A formula between `$$`, in one line or several, with its label behind it."""
    closing = re.compile(r"^(.*)\$\$ *(?:\(([^()]+)\))? *$")
    first = lines[at].strip()[2:]
    if found := closing.match(first):
        return Block("math", [found[1]], name=found[2] or ""), at + 1
    if "$$" in first:  # a formula in display style inside a line of text
        return None, at + 1
    for end in range(at + 1, len(lines)):
        if found := closing.match(lines[end]):
            return Block("math", [first, *lines[at + 1 : end], found[1]], name=found[2] or ""), end + 1
    raise ValueError(f"The formula that begins with {lines[at]!r} has no closing $$.")


@dataclass(frozen=True)
class Piece:
    """A piece of running text: `kind` is text, code, math, role, span or link."""

    kind: str
    text: str  # what stands in it
    name: str = ""  # of a role, the classes of a span, the address of a link
    raw: str = ""


_ROLE = re.compile(r"\{([a-zA-Z][\w:.-]*)\}(`+)")
_AFTER_BRACKET = re.compile(r"\{([^{}]*)\}|\(([^()\s]*(?:\([^()]*\)[^()\s]*)*)\)")


def pieces(text: str) -> Iterator[Piece]:
    """The pieces of a paragraph, in order; code and formulas are never looked into."""
    at, plain = 0, 0
    while at < len(text):
        piece, after = _piece(text, at)
        if piece is not None:
            if plain < at:
                yield Piece("text", text[plain:at], raw=text[plain:at])
            yield piece
            plain = after
        at = after
    if plain < len(text):
        yield Piece("text", text[plain:], raw=text[plain:])


def _piece(text: str, at: int) -> tuple[Piece | None, int]:
    char = text[at]
    if char == "\\":
        return None, at + 2
    if char == "{" and (role := _ROLE.match(text, at)):
        inside, end = _code_span(text, role.start(2))
        return (Piece("role", inside, role[1], text[at:end]), end) if end else (None, role.end())
    if char == "`":
        inside, end = _code_span(text, at)
        return (Piece("code", inside, raw=text[at:end]), end) if end else (None, at + 1)
    if char == "$":
        return _inline_formula(text, at)
    if char == "[":
        return _bracket(text, at)
    return None, at + 1


def _code_span(text: str, at: int) -> tuple[str, int]:
    mark = re.compile(r"`+").match(text, at)[0]
    end = re.compile(rf"(?<!`){mark}(?!`)").search(text, at + len(mark))
    return (text[at + len(mark) : end.start()], end.end()) if end else ("", 0)


def _inline_formula(text: str, at: int) -> tuple[Piece | None, int]:
    mark = "$$" if text.startswith("$$", at) else "$"
    end = re.compile(rf"(?<!\\){re.escape(mark)}").search(text, at + len(mark))
    if end is None:
        return None, at + 1
    return Piece("math", text[at + len(mark) : end.start()], raw=text[at : end.end()]), end.end()


def _bracket(text: str, at: int) -> tuple[Piece | None, int]:
    depth = 0
    for end in range(at, len(text)):
        if text[end] in "[]" and text[end - 1 : end] != "\\":
            depth += 1 if text[end] == "[" else -1
            if depth == 0:
                break
    else:
        return None, at + 1
    after = _AFTER_BRACKET.match(text, end + 1)
    if after is None:
        return None, at + 1
    inside, raw = text[at + 1 : end], text[at : after.end()]
    if after[1] is not None:
        return Piece("span", inside, after[1], raw), after.end()
    return Piece("link", inside, after[2], raw), after.end()


def convert(text: str, change: Callable[[Piece], str]) -> str:
    """`text` with each of its pieces, paragraph by paragraph, replaced by what `change` makes of it."""
    paragraphs = re.split(r"(\n[ \t]*\n)", text)
    return "".join(part if i % 2 else "".join(map(change, pieces(part))) for i, part in enumerate(paragraphs))


def split_prediction(lines: list[str]) -> tuple[list[str], list[tuple[bool, list[str]]], list[str]]:
    """The lines of a prediction as question, [(right?, lines of the choice)], explanation."""
    mark = re.compile(r"^[-*] \[([ xX])\] ?(.*)$")
    starts = [i for i, line in enumerate(lines) if mark.match(line)]
    if not starts:
        return lines, [], []
    choices: list[tuple[bool, list[str]]] = []
    end = starts[0]
    while end < len(lines):
        found = mark.match(lines[end])
        if found:
            choices.append((found[1] in "xX", [found[2]]))
        elif lines[end].startswith("  ") or (not lines[end].strip() and any(i > end for i in starts)):
            choices[-1][1].append(lines[end].strip())
        else:
            break
        end += 1
    return lines[: starts[0]], choices, lines[end:]
