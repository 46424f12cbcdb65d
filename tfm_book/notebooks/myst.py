"""Parse the MyST source of chapters without Sphinx, with the same parser that reads it for the page.

Blocks and pieces keep the source text, so that a notebook can reproduce unchanged whatever needs no conversion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from tfm_lib._extras import absent

try:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from mdit_py_plugins.attrs import attrs_plugin
    from mdit_py_plugins.colon_fence import colon_fence_plugin
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.front_matter import front_matter_plugin
    from mdit_py_plugins.myst_blocks import myst_block_plugin
    from mdit_py_plugins.myst_role import myst_role_plugin
except ModuleNotFoundError as error:
    raise absent(error, "lab") from None

DIRECTIVE = re.compile(r"^\{([\w:-]+)\} *(.*)$")
OPTION = re.compile(r"^:([\w-]+):(?:\s+(.*))?$")
#: Directives whose body is not MyST.
VERBATIM = ("code-cell", "code-block", "code", "literalinclude", "excerpt", "math")

_KINDS = {
    "code_inline": "code",
    "image": "image",
    "link_open": "link",
    "math_inline": "math",
    "math_inline_double": "math",
    "myst_role": "role",
    "span_open": "span",
}
_COMMENTS = ("front_matter", "myst_block_break", "myst_line_comment")


class Piece(NamedTuple):
    """A piece of running text; `kind` is text, code, math, role, span, link or image."""

    kind: str
    text: str  # its content
    name: str = ""  # name of a role, classes of a span, address of a link
    raw: str = ""


@dataclass
class Block:
    """A block of a chapter; `kind` is text, heading, code (verbatim), math, target, comment or directive."""

    kind: str
    lines: list[str]
    name: str = ""  # name of a directive or target; label of a formula
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)
    level: int = 0  # for a heading
    indent: str = ""  # the prefix of each of its lines
    pieces: list[Piece] = field(default_factory=list)  # for text


@cache
def parser() -> MarkdownIt:
    """Return a parser with the MyST extensions of `_config.yml`; it records where each piece begins and ends."""
    made = MarkdownIt("commonmark").enable("table")
    made.use(front_matter_plugin).use(myst_block_plugin).use(myst_role_plugin)
    made.use(footnote_plugin).disable(["footnote_inline", "footnote_tail"])
    made.use(dollarmath_plugin, double_inline=True).use(colon_fence_plugin).use(deflist_plugin)
    made.use(attrs_plugin, spans=True, span_after="footnote_ref")
    rules = made.inline.ruler
    for name, rule in zip(rules.get_active_rules(), rules.getRules(""), strict=True):
        rules.at(name, _noting(rule))
    return made


def _noting(rule: Callable[[Any, bool], bool]) -> Callable[[Any, bool], bool]:
    def noted(state: Any, silent: bool) -> bool:
        start, count = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        fresh = [token for token in state.tokens[count:] if token.type in _KINDS and "at" not in token.meta]
        if fresh and not silent:
            fresh[0].meta |= {"at": (start, state.pos), "upto": state.pos}
        elif not silent:  # attributes, `{.class}`, belong to the piece that they touch
            for token in reversed(state.tokens):
                if token.meta.get("upto") == start and state.src[start] == "{":
                    token.meta["upto"] = state.pos
                    break
        return True

    return noted


def front_matter(text: str) -> dict[str, Any]:
    """Return the YAML block at the top of `text` as a dictionary; empty if there is none."""
    import yaml

    found = re.match(r"\A---\n(.*?)\n---\n", text, re.DOTALL)
    said = yaml.safe_load(found[1]) if found else None
    return said if isinstance(said, dict) else {}


def without_front_matter(text: str) -> str:
    """Return `text` without the YAML block at its top."""
    return re.sub(r"\A---\n.*?\n---\n", "", text, count=1, flags=re.DOTALL)


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of `text` in order. The body of a directive is not parsed here; use `within` for that.

    Results are cached, so callers must not change a block.
    """
    return iter(_blocks(text))


@lru_cache(maxsize=10_000)
def _blocks(text: str) -> tuple[Block, ...]:
    return tuple(_read_blocks(text))


def _read_blocks(text: str) -> Iterator[Block]:
    lines = text.split("\n")
    tokens = parser().parse(text)
    at = 0
    for number, token in enumerate(tokens):
        if token.map and token.map[0] >= at and (block := _special(tokens, number, lines)):
            yield from _text(lines, at, token.map[0], tokens)
            yield block
            at = token.map[1]
    yield from _text(lines, at, len(lines), tokens)


def within(block: Block) -> Iterator[Block]:
    """Yield the block and, at any depth, the blocks in the bodies of its directives."""
    yield block
    if block.kind == "directive" and block.name not in VERBATIM:
        for inner in blocks("\n".join(block.lines)):
            yield from within(inner)


def _special(tokens: list[Token], number: int, lines: list[str]) -> Block | None:
    """Return the block for a token; None if the token is ordinary text."""
    token = tokens[number]
    first, end = token.map or (0, 0)
    indent = re.match(r"[ >]*", lines[first])[0]
    if token.type in ("fence", "colon_fence"):
        return _fenced(token, lines[first:end], indent)
    if token.type in ("math_block", "math_block_label"):
        return Block("math", token.content.split("\n"), name=token.info, indent=indent)
    if token.type == "myst_target":
        return Block("target", [], name=token.content)
    if token.type == "heading_open" and token.level == 0:
        return Block("heading", [tokens[number + 1].content], level=int(token.tag[1]))
    if token.type in _COMMENTS:
        return Block("comment", lines[first:end])
    return None


def _fenced(token: Token, lines: list[str], indent: str) -> Block:
    body = token.content.removesuffix("\n").split("\n") if token.content else []
    directive = DIRECTIVE.match(token.info.strip())
    if directive:
        options, body = _options(body)
        return Block("directive", body, directive[1], directive[2].strip(), options, indent=indent)
    if token.type == "colon_fence":
        return Block("directive", body, "div", token.info.strip(), indent=indent)
    return Block("code", lines)


def _options(body: list[str]) -> tuple[dict[str, str], list[str]]:
    options: dict[str, str] = {}
    while body and (option := OPTION.match(body[0])):
        options[option[1]] = (option[2] or "").strip()
        body = body[1:]
    while body and not body[0].strip():
        body = body[1:]
    return options, body


def _text(lines: list[str], first: int, end: int, tokens: Iterable[Token]) -> Iterator[Block]:
    """Yield the lines from `first` to before `end` as one block, with the pieces that the parser found in them."""
    if not any(line.strip() for line in lines[first:end]):
        return
    text = "\n".join(lines[first:end])
    begins = [0, *accumulate(len(line) + 1 for line in lines[first:end])]
    found: list[tuple[int, int, Piece]] = []
    cursor = 0
    for token in tokens:
        if token.type != "inline" or not token.map or not first <= token.map[0] < end:
            continue
        if token.content.startswith("$$") and token.children[0].type == "text":
            raise ValueError(f"The formula that begins with {token.content.partition(chr(10))[0]!r} has no closing $$.")
        places, cursor = _places(token.content, text, max(cursor, begins[token.map[0] - first]))
        found += [(places[a], places[b - 1] + 1, piece) for a, b, piece in _pieces(token, text, places)]
    yield Block("text", lines[first:end], pieces=_with_text(text, found))


def _places(content: str, text: str, cursor: int) -> tuple[list[int], int]:
    """Return where each character of `content` is in `text`; `content` lacks the line prefixes of lists and quotes."""
    places: list[int] = []
    for line in content.split("\n"):
        start = text.find(line, cursor)
        if start < 0:  # a table cell, in which the parser reads `\\|` as `|`
            start = cursor
        places += range(start, start + len(line) + 1)
        cursor = start + len(line)
    return places, cursor


def _pieces(token: Token, text: str, places: list[int] | None = None) -> Iterator[tuple[int, int, Piece]]:
    """Yield the outermost pieces of an inline token, each with its start and end in the token's content."""
    after = 0
    for child in token.children or []:
        start, end = child.meta.get("at", (0, 0))
        if start < end and start >= after:
            raw = text[places[start] : places[end - 1] + 1] if places else text[start:end]
            if piece := _piece(child, raw):
                after = child.meta["upto"]
                yield start, after, piece


def _piece(token: Token, raw: str) -> Piece | None:
    kind = _KINDS[token.type]
    if kind == "role":
        return Piece(kind, token.content, token.meta["name"], raw)
    if kind in ("code", "math"):
        return Piece(kind, token.content, raw=raw)
    inside, mark, rest = raw.rpartition("]{" if kind == "span" else "](")
    return Piece(kind, inside.removeprefix("!")[1:], rest[:-1], raw) if mark else None


def _with_text(text: str, found: list[tuple[int, int, Piece]]) -> list[Piece]:
    made, at = [], 0
    for start, end, piece in found:
        made += [Piece("text", text[at:start], raw=text[at:start])] if at < start else []
        made.append(piece)
        at = end
    return made + ([Piece("text", text[at:], raw=text[at:])] if at < len(text) else [])


@lru_cache(maxsize=100_000)
def pieces(text: str) -> tuple[Piece, ...]:
    """Return the pieces of a line of `text`, in order; code and formulas are not parsed further."""
    return tuple(_with_text(text, [found for token in parser().parseInline(text) for found in _pieces(token, text)]))


def convert(text: str, change: Callable[[Piece], str]) -> str:
    """Return a line of `text` with each piece replaced by the result of `change`."""
    return "".join(map(change, pieces(text)))


def split_prediction(lines: list[str]) -> tuple[list[str], list[tuple[bool, list[str]]], list[str]]:
    """Split the lines of a prediction into question, [(right?, lines of the choice)], explanation."""
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
