"""Find written answers wherever students put them in a notebook.

The handed-out lines are known, so the rest of a notebook's text is the student's own. It answers the question under
whose heading it stands, or for which its cell was created. Text elsewhere may be an answer: it is shown to the
instructor, and nothing is decided.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from tfm_grader.assignment.manifest import Chapter
from tfm_grader.names import digest

ANSWER_HERE = "*Double-click here, and write your answer in words.*"  # the placeholder for a written answer
SENTENCE = 6  # words: in code, fewer are no answer
MAX_CODE = 1 << 14  # characters that are parsed
MAX_CELL, MAX_ALL = 100_000, 1_000_000  # characters; a written answer is shorter
HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?:[^\W\d]+[ \t]+(\d{1,4})[ \t]+·[ \t]+)?(\S.*)")
SHOWS = re.compile(r"\s*%%(markdown|html|latex|svg)[^\n]*\n")
PICTURE = re.compile(r"data:image/[\w.+-]{1,20};base64,[A-Za-z0-9+/=]+")


@dataclass(frozen=True)
class Answer:
    """A written answer to a question; if it is not `sure` to be one, a person must check."""

    text: str
    sure: bool = True


@dataclass(frozen=True)
class Handed:
    """What a chapter's students were given: exercise titles, questions with written answers, line digests."""

    titles: dict[str, str] = field(default_factory=dict)  # id by title, as normalised by `plain_line`
    questions: tuple[str, ...] = ()  # ids
    lines: frozenset[str] = frozenset()

    @classmethod
    def of(cls, chapter: Chapter) -> Handed:
        """Read it from the chapter's entry in a manifest."""
        titles = {plain_line(entry.title): entry.id for entry in chapter.exercises}
        for entry in chapter.exercises:
            for text in entry.own_questions.values():
                titles |= {plain_line(found[2]): entry.id for found in _headings(text)[:1]}
        questions = tuple(entry.id for entry in chapter.exercises if entry.kind == "text")
        return cls(titles, questions, frozenset(chapter.given.split()))


def digests(texts: Iterable[str]) -> str:
    """Digest the lines of `texts`, in the manifest's format."""
    return " ".join(sorted({_digest(line) for text in texts for line in text.splitlines() if line.strip()}))


def known_lines(texts: Iterable[str], given: frozenset[str]) -> tuple[set[str], bool]:
    """Return the digests of the handed-out lines in `texts`, and whether there are other lines."""
    all_lines = set(digests(texts).split())
    return all_lines & given, bool(all_lines - given)


def plain_line(line: str) -> str:
    """Normalise a line, ignoring changes an editor makes to spaces and emphasis."""
    return " ".join(re.sub(r"[*_\\]", "", line).split()).casefold()


def found(cells: Iterable[tuple[str, str, str]], handed: Handed) -> dict[str, Answer]:
    """Extract the answer to each question from cells: (type, text, the question the cell was created for)."""
    reader = _Reader(handed)
    left = MAX_ALL
    for kind, text, asked in cells:
        text = PICTURE.sub("picture", text)[: min(MAX_CELL, left)]
        left -= len(text)
        reader.read(kind, text, asked)
    return {id: reader.answer(id) for id in handed.questions}


class _Reader:
    """Reads a notebook from top to bottom, tracking the exercise heading it is under."""

    def __init__(self, handed: Handed):
        self.handed, self.under, self.numbers = handed, "", {}
        self.sure: dict[str, list[str]] = {id: [] for id in handed.questions}
        self.perhaps: dict[str, list[str]] = {id: [] for id in handed.questions}
        self.elsewhere: list[str] = []

    def read(self, kind: str, text: str, asked: str) -> None:
        if asked in self.sure:
            self._add(
                self.sure[asked], _uncommented(own(text, self.handed)) if kind == "code" else own(text, self.handed)
            )
        elif kind == "code":
            self._read_code(text)
        else:
            for part in self._parts(text):
                self._add(self.sure.get(self.under, self.elsewhere), own(part, self.handed))

    def answer(self, id: str) -> Answer:
        if self.sure[id]:
            return Answer("\n\n".join([*self.sure[id], *self.perhaps[id]]))
        perhaps = [*self.perhaps[id], *self.elsewhere]
        for other, parts in self.sure.items():
            if other != id and (len(parts) > 1 or any(self._names(part, id) for part in parts)):
                perhaps += parts  # both questions answered in one place
        return Answer("\n\n".join(perhaps), sure=not perhaps)

    def _parts(self, text: str) -> Iterable[str]:
        """Yield the text between exercise headings, updating the current exercise at each."""
        part: list[str] = []
        for line in text.splitlines():
            heading = HEADING.fullmatch(line)
            if heading and (id := self.handed.titles.get(plain_line(heading[2]))):
                yield "\n".join(part)
                part, self.under = [], id
                self.numbers[id] = heading[1] or ""
            else:
                part.append(line)
        yield "\n".join(part)

    def _read_code(self, text: str) -> None:
        written = own(text, self.handed)
        prose = _uncommented(written)
        if prose != written or (self.under in self.sure and not is_python(text)):
            self._add(self.sure.get(self.under, self.elsewhere), prose)
        elif self.under in self.sure:
            self._add(self.perhaps[self.under], written)
        else:
            self._add(self.elsewhere, "\n".join(_sentences(text, written)))

    def _names(self, text: str, id: str) -> bool:
        """Whether `text` refers to exercise `id` by its number."""
        number = self.numbers.get(id)
        return bool(number) and any(
            re.match(rf"\W*(?:[^\W\d]+[ \t]*)?{number}(?!\w)", line[:200]) for line in text.splitlines()
        )

    @staticmethod
    def _add(to: list[str], text: str) -> None:
        if text.strip():
            to.append(text)


def _uncommented(text: str) -> str:
    """Return the text of a code cell that contains only comments; any other unchanged."""
    lines = [line.lstrip() for line in text.splitlines()]
    return (
        "\n".join(line.lstrip("#").strip() for line in lines) if all(line[:1] in ("", "#") for line in lines) else text
    )


def _sentences(text: str, written: str) -> Iterator[str]:
    """Yield the strings and comments of a cell that may be an answer: long enough, and `written` by the student.

    A cell that only shows words, as `%%markdown` does, or that is no Python is one such string.
    """
    shows = SHOWS.match(text)
    code = re.sub(r"(?m)^[ \t]*[%!?].*", "", text)
    if shows or (len(text) <= MAX_CODE and not is_python(code)):
        found = [written[shows.end() :] if shows else written]
    elif len(text) > MAX_CODE:
        found = []
    else:
        found = [
            node.value
            for node in ast.walk(ast.parse(code))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        with suppress(tokenize.TokenError, SyntaxError):  # it reads less than the parser does
            tokens = tokenize.generate_tokens(io.StringIO(code).readline)
            found += [token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT]
    for each in found:
        first = next((line.strip() for line in each.splitlines() if line.strip()), "")
        if len(each.split()) >= SENTENCE and first in written:
            yield each.strip().encode(errors="replace").decode()  # an escape in a string can make half a character


def own(text: str, handed: Handed) -> str:
    """Return the lines of `text` that were not handed out."""
    here = plain_line(ANSWER_HERE)
    lines = [
        line
        for line in text.splitlines()
        if not line.strip() or (plain_line(line) != here and _digest(line) not in handed.lines)
    ]
    return "\n".join(lines).strip("\n")


def is_python(text: str) -> bool:
    """Whether `text` is valid Python. It is parsed, never run."""
    if len(text) > MAX_CODE:
        return False
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _headings(text: str) -> list[re.Match[str]]:
    return [match for match in map(HEADING.fullmatch, text.splitlines()) if match]


def _digest(line: str) -> str:
    return digest(" ".join(line.split()))[:10]
