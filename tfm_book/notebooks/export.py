"""Export a chapter as a plain notebook that any Jupyter can show, without anything specific to this book's build."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from tfm_exercises.mine.chapters import CHAPTERS
from tfm_lib._extras import absent

try:
    import nbformat
except ModuleNotFoundError as error:
    raise absent(error, "lab") from None

import tfm_lib
from tfm_book.notebooks import asks, references, scoreboard
from tfm_book.notebooks.myst import Block, Piece, blocks, convert, split_prediction
from tfm_book.notebooks.outline import Outline, outline, plotted
from tfm_book.notebooks.rasters import raster
from tfm_book.notebooks.reading_order import listed
from tfm_book.notebooks.shown_code import included_code
from tfm_book.notebooks.taught import Taught
from tfm_lib.drawing.macros import expand_macros
from tfm_lib.drawing.measured import QUOTE, quoted

Edition = Literal["practice", "student", "instructor"]

INSTALL = """\
**Before you run this notebook**, install the library of the book, once, from a terminal:

    pip install torch --index-url https://download.pytorch.org/whl/cpu
    pip install './{wheel}[notebook]'

The first line takes PyTorch's build for processors, which is enough here; on Linux the usual one brings several gigabytes \
for graphics cards. The file is offered by the page from which you have this notebook, in the same menu. In a hosted notebook service, \
{hosted}."""
UPLOAD = "upload it and run `%pip install './{wheel}[notebook]'` in a cell"
HOSTED = """\
# In a hosted notebook, this installs the book's library. Where it is installed, nothing happens.
from importlib.util import find_spec

if find_spec("tfm_lib") is None:
    %pip install -q "tfm-lib[notebook] @ {url}"
"""
TRY = """\
**Change something.** The code that teaches lies open. Change a number in it, then run that cell and those below it \
(Shift+Enter): each cell shows what it measured beside what the book says, and its figures and tables are drawn anew. \
Cells that only draw or keep numbers are folded; a click on the bar, or on the three dots, opens them."""

CHECK = "from tfm_exercises import check"  # stands in each cell that checks, so that a restart costs no search for it
MACHINE = "from tfm_exercises import mine\n\nmine.machine()"

BOXES = {
    "note": "Note",
    "tip": "Tip",
    "warning": "Warning",
    "important": "Important",
    "seealso": "See also",
    "margin": "",
    "sidebar": "",
}


def export_notebook(
    path: Path,
    root: Path,
    edition: Edition = "practice",
    values: dict[str, str] | None = None,
    beside: bool = False,
    wheel_url: str = "",
) -> nbformat.NotebookNode:
    """Return the chapter at `path` of the book at `root` as a notebook without outputs.

    `edition`: "practice" includes all solutions except those of assigned exercises, "student" none, "instructor" all.
    `values` are the glued numbers (as `repr`) that the prose quotes; by default those of the last build. `beside`: the
    other chapters' notebooks are in the same folder, so their titles become links. `wheel_url`: where the library's
    wheel is published; the first cell then installs it in a hosted notebook.
    """
    if values is None:
        values = glued(root / "_build" / "jupyter_execute" / "chapters" / f"{path.stem}.glue.json")
    return _Exporter(path, root, edition, values, beside, wheel_url).notebook()


def export_cells(path: Path, root: Path, some: Iterable[Block], edition: Edition) -> list[nbformat.NotebookNode]:
    """Return the cells for `some` blocks of the chapter at `path`, without the context of the rest of the chapter."""
    exporter = _Exporter(path, root, edition, {})
    exporter.read(some)
    return exporter.cells


def glued(path: Path) -> dict[str, str]:
    """Return the numbers glued by an execution, from the file that myst-nb writes; empty if there is no such file."""
    if not path.exists():
        return {}
    outputs = json.loads(path.read_text(encoding="utf-8"))
    return {name: output.get("data", {}).get("text/plain", "") for name, output in outputs.items()}


def built_wheel(root: Path) -> Path | None:
    """The wheel that `make wheel` left, if it did."""
    return max((root / "dist").glob("tfm_lib-*.whl"), key=lambda path: path.stat().st_mtime, default=None)


def wheel_name(root: Path) -> str:
    """Return the file name of the library's wheel: the one that was built, else the one that its version implies."""
    if built := built_wheel(root):
        return built.name
    return f"tfm_lib-{tfm_lib.__version__}-py3-none-any.whl"


class _Exporter:
    def __init__(
        self,
        path: Path,
        root: Path,
        edition: Edition,
        values: dict[str, str],
        beside: bool = False,
        wheel_url: str = "",
    ):
        self.path, self.root, self.edition, self.values, self.beside = path, root, edition, values, beside
        self.wheel_url = wheel_url
        self.outline: Outline = outline(path)
        self.cited: list[str] = []
        self.cells: list[nbformat.NotebookNode] = []
        self.text: list[str] = []
        self.taught: Taught | None = None  # set only when exporting a whole chapter

    def notebook(self) -> nbformat.NotebookNode:
        wheel = wheel_name(self.root)
        hosted = "run the first cell" if self.wheel_url else UPLOAD.format(wheel=wheel)
        self.text.append(INSTALL.format(wheel=wheel, hosted=hosted))
        self._flush()
        text, self.taught = self.path.read_text(encoding="utf-8"), Taught()
        self.read(blocks(text))
        if any(cell.cell_type == "code" for cell in self.cells):
            self.cells.insert(1, self._set_up(text))
            self.cells[0].source += f"\n\n{TRY}"
            if self.wheel_url:
                self.cells.insert(1, _cell(HOSTED.format(url=self.wheel_url), [], folded=False))
        if self.cited:
            lines = [f"- {references.listed(self.root, key)}" for key in sorted(self.cited)]
            self.text.append("## References\n\n" + "\n".join(lines))
            self._flush()
        for serial, cell in enumerate(self.cells):
            cell["id"] = f"{self.path.stem.replace('_', '-')}-{serial}"
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        return nbformat.v4.new_notebook(
            cells=self.cells,
            metadata={"kernelspec": kernel, "language_info": {"name": "python", "file_extension": ".py"}},
        )

    def read(self, some: Iterable[Block]) -> None:
        """Append cells for `some` blocks of the chapter."""
        section = ""
        for block in some:
            if block.kind == "heading" and block.level <= 2:
                self._end(section)
                section = block.lines[0]
            if block.kind == "directive" and block.name == "code-cell":
                self._flush()
                self._code_cell(block)
            else:
                if block.kind == "heading" or (block.name == "exercise"):
                    self._flush()
                self.text.append(self._block(block))
        self._end(section)
        self._flush()

    def _end(self, section: str) -> None:
        """End a section; that of a chapter's summary with a picture of the reader's machine, if the chapter writes parts."""
        if section == "Summary" and self.taught and self.path.stem in CHAPTERS:
            self.text.append("Your machine so far:")
            self._flush()
            self.cells.append(_cell(MACHINE, [], folded=False))

    def _flush(self) -> None:
        text = re.sub(r"\n{3,}", "\n\n", "\n\n".join(part.strip("\n") for part in self.text if part.strip())).strip()
        if text:
            self.cells.append(nbformat.v4.new_markdown_cell(text))
        self.text = []

    def _code_cell(self, block: Block) -> None:
        tags = [tag.strip(" \"'") for tag in block.options.get("tags", "").strip("[]").split(",") if tag.strip()]
        if self.taught:
            for part in self.taught.parts(block):
                self.cells.append(_cell(part.code, tags, folded=part.does in ("draw", "serve")))
        else:
            self.cells.append(_cell("\n".join(block.lines).strip("\n"), tags, folded="hide-input" in tags))
        if plot := plotted(block):
            number = self.outline.figures[plot["name"]]
            self.text.append(f"**Figure {number}.** {self._inline(plot['caption'])}")

    def _set_up(self, text: str) -> nbformat.NotebookNode:
        """One folded cell with all that is imported, and with the numbers of the book for a comparison."""
        order = Order(blocks(text))
        numbers = {name: (self.values.get(name), form) for name, form in order.forms.items()}
        lines = [
            *dict.fromkeys([*self.taught.imports, "from tfm_lib.drawing import the_book_says"]),
            "",
            "the_book_says(",
        ]
        lines += ["    {", *(f"        {name!r}: {each!r}," for name, each in numbers.items()), "    },"]
        lines += [f"    later={order.later()!r},", "    tables=[", *self._tables(text), "    ],"]
        lines += [f"    chapter={self.path.stem.replace('_', '-')!r},", ")"]
        return _cell("\n".join(lines), ["hide-input"], folded=True)

    def _tables(self, text: str) -> list[str]:
        """Return the tables that quote numbers, each as a literal, converting everything but the quotations."""
        found = re.findall(r"(?:^\|.*\|[ \t]*\n?)+", text, flags=re.MULTILINE)
        tables = [table.rstrip() for table in found if QUOTE.search(table)]
        kept = [
            convert(table, lambda piece: piece.raw if piece.name == "glue:text" else self._piece(piece))
            for table in tables
        ]
        return [f"        {table!r}," for table in kept]

    # ── blocks ────────────────────────────────────────────────────────────
    def _body(self, lines: list[str]) -> str:
        parts = [self._block(block) for block in blocks("\n".join(lines))]
        return "\n\n".join(part.strip("\n") for part in parts if part.strip())

    def _block(self, block: Block) -> str:
        if block.kind == "text":
            return "".join(map(self._piece, block.pieces))
        if block.kind == "heading":
            return f"{'#' * block.level} {self._inline(block.lines[0])}"
        if block.kind == "code":
            return "\n".join(block.lines)
        if block.kind in ("target", "comment"):
            return ""
        math = block.kind == "math"
        made = self._formula("\n".join(block.lines), block.name) if math else self._directive(block)
        return "\n".join(block.indent + line if line else line for line in made.splitlines())

    def _formula(self, tex: str, label: str) -> str:
        tag = rf" \tag{{{self.outline.equations[label]}}}" if label in self.outline.equations else ""
        return f"$$\n{expand_macros(tex.strip())}{tag}\n$$"

    def _directive(self, block: Block) -> str:
        make = getattr(self, f"_make_{block.name.replace('-', '_')}", None)
        if make is not None:
            return make(block)
        if block.name in BOXES:
            return self._quoted(BOXES[block.name], block)
        raise ValueError(
            f"{self.path.name}: the notebook cannot show the directive {block.name!r}; teach tfm_book/notebooks/export.py to."
        )

    def _quoted(self, title: str, block: Block) -> str:
        body = self._body(block.lines)
        text = f"**{title}**\n\n{body}" if title else body
        return "\n".join(f"> {line}".rstrip() for line in text.splitlines())

    def _folded(self, title: str, body: str) -> str:
        return f"<details>\n<summary>{self._as_html(title)}</summary>\n\n{body}\n\n</details>"

    def _as_html(self, text: str) -> str:
        """Convert a title for `<summary>`, where Markdown is not parsed: words, code, formulas."""

        def change(piece: Piece) -> str:
            if piece.kind == "code":
                return f"<code>{html.escape(piece.text)}</code>"
            if piece.kind == "math":
                return f"${html.escape(expand_macros(piece.text))}$"
            words = piece.text if piece.kind == "text" else self._piece(piece)
            return html.escape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", re.sub(r"\*+", "", words)), quote=False)

        return convert(text, change)

    def _make_kicker(self, block: Block) -> str:
        return f"*{self._inline(block.argument)}*"

    def _make_div(self, block: Block) -> str:
        return self._body(block.lines)

    def _make_admonition(self, block: Block) -> str:
        kinds = block.options.get("class", "").split()
        if "goals" in kinds:
            return self._body(block.lines)
        if "dropdown" in kinds:
            return self._folded(block.argument, self._body(block.lines))
        return self._quoted(self._inline(block.argument), block)

    def _make_dropdown(self, block: Block) -> str:
        return self._folded(block.argument, self._body(block.lines))

    def _make_predict(self, block: Block) -> str:
        question, choices, after = split_prediction(block.lines)
        listed = "\n".join(f"- {self._inline(' '.join(lines))}" for _, lines in choices)
        right = next(" ".join(lines) for is_right, lines in choices if is_right)
        answer = self._folded("What happens", f"**{self._inline(right)}**\n\n{self._body(after)}")
        return f"**Predict first.** {self._body(question)}\n\n{listed}\n\n{answer}"

    def _make_ask(self, block: Block) -> str:
        ask = asks.read_ask(block)
        if ask.opening:
            return self._asked(ask, ask.title)
        return f"{self._asked(ask, ask.title)}\n\n{self._key(ask)}"

    def _make_ask_again(self, block: Block) -> str:
        ask = asks.opening(self.path, block.argument)
        return f"{self._asked(ask, asks.AGAIN)}\n\n{self._key(ask)}"

    def _asked(self, ask: asks.Ask, title: str) -> str:
        given = {
            "choose": [f"- {self._inline(answer.said)}" for answer in ask.answers],
            "order": [f"- {self._inline(ask.steps[number - 1])}" for number in ask.shuffled],
            "line": ["```python", *ask.code, "```"],
        }.get(ask.kind, [f"({self._inline(ask.unit)})"] if ask.unit else [])
        return f"**{title}.** {self._body(ask.question)}\n\n" + "\n".join(given)

    def _key(self, ask: asks.Ask) -> str:
        """Return the fold with the answer and the explanation of each mistake."""
        steps = "".join(f"{number}. {self._inline(step)}\n" for number, step in enumerate(ask.steps, start=1))
        said = f"**{self._inline(ask.words(ask.right))}**: " if ask.kind != "order" else ""
        others = [f"- **{self._inline(ask.words(answer))}**: {self._inline(answer.why)}" for answer in ask.wrong]
        others += [f"- **{asks.ELSE}**: {self._inline(ask.otherwise)}"] if ask.otherwise else []
        right = f"{steps}\n{said}{self._inline(ask.right.why)}".strip()
        return self._folded(asks.FOLD, "\n\n".join([right, f"{asks.OTHERS}:", "\n".join(others)]))

    def _make_big_picture(self, block: Block) -> str:
        if not block.argument:
            return "*The big picture of the Transformer stands on the first page of the book.*"
        return f"*In the big picture of the Transformer, this chapter is the block* **{block.argument.replace('_', '-')}**."

    def _make_scoreboard(self, block: Block) -> str:
        return f"{scoreboard.listed(block.argument)}\n\n{self._body(block.lines)}"

    def _make_reading_order(self, block: Block) -> str:
        return self._body(listed(self.root).splitlines())

    def _make_figure(self, block: Block) -> str:
        picture = self._make_image(block)
        caption = self._body(block.lines)
        number = self.outline.figure_number(block)
        return f"{picture}\n\n**Figure {number}.** {caption}" if caption else picture

    def _make_image(self, block: Block) -> str:
        alt = re.sub(r"[\[\]\n]", " ", block.options.get("alt", ""))
        return f"![{alt}]({_data_uri(self.path.parent / block.argument)})"

    def _make_literalinclude(self, block: Block) -> str:
        source = (self.path.parent / block.argument).resolve()
        code = included_code(source, block.options.get("pyobject"))
        shown = source.relative_to(self.root.resolve()) if source.is_relative_to(self.root.resolve()) else source.name
        return f"From `{Path(shown).as_posix()}`:\n\n```{block.options.get('language', 'python')}\n{code}\n```"

    def _make_excerpt(self, block: Block) -> str:
        """Show the whole listing: a notebook cannot fold part of one."""
        return self._make_literalinclude(block)

    def _make_code_block(self, block: Block) -> str:
        return "\n".join([f"```{block.argument}", *block.lines, "```"])

    def _make_math(self, block: Block) -> str:
        return self._formula("\n".join(block.lines), block.options.get("label", ""))

    def _make_exercise(self, block: Block) -> str:
        label = block.options.get("label", "")
        number = self.outline.exercises.get(label)
        title = f" · {self._inline(block.argument)}" if block.argument else ""
        return f"### Exercise{f' {number}' if number else ''}{title}\n\n{self._body(block.lines)}"

    def _make_solution(self, block: Block) -> str:
        assigned = block.argument in self.outline.assigned
        if self.edition == "student" or (assigned and self.edition != "instructor"):
            return ""
        return self._folded("Solution", self._body(block.lines))

    def _make_glossary(self, block: Block) -> str:
        return self._body(block.lines)

    def _make_bibliography(self, block: Block) -> str:
        return ""

    def _make_include(self, block: Block) -> str:
        return ""  # the list of changes; its page has no notebook

    def _make_korean_terms(self, block: Block) -> str:
        return ""  # the glossary above says each of them

    # ── running text ──────────────────────────────────────────────────────
    def _inline(self, text: str) -> str:
        return convert(text, self._piece)

    def _piece(self, piece: Piece) -> str:
        if piece.kind == "math":
            mark = "$$" if piece.raw.startswith("$$") else "$"
            return f"{mark}{expand_macros(piece.text)}{mark}"
        if piece.kind == "span":
            inside = self._inline(piece.text)
            return f"**{inside}**" if set(piece.name.split()) & {".q", ".k", ".v", ".bad"} else inside
        if piece.kind == "link":
            inside = self._inline(piece.text)
            return (
                f"[{inside}]({piece.name})"
                if re.match(r"(?:https?|mailto|attachment):", piece.name)
                else inside or piece.name
            )
        if piece.kind == "role":
            return self._role(piece.name, piece.text)
        if piece.kind == "image":
            return f"![{piece.text}]({_data_uri(self.path.parent / piece.name)})"
        return piece.raw

    def _role(self, name: str, text: str) -> str:
        shown, target = _titled(text)
        if name in ("cite:t", "cite:p", "cite"):
            return self._citation(name, text)
        if name == "glue:text":
            return self._value(text)
        if name == "eq":
            return self.outline.refer("eq", target)
        if name == "term":
            return shown or target
        if name == "doc" and self.beside and self._has_notebook(target):
            return f"[{shown or self.outline.refer(name, target)}]({Path(target).name}.ipynb)"
        if name in ("doc", "ref", "numref"):
            return shown if shown and "%s" not in shown else self.outline.refer(name, target)
        if name in ("sub", "sup", "kbd"):
            return f"<{name}>{html.escape(text, quote=False)}</{name}>"
        if name == "math":
            return f"${expand_macros(text)}$"
        raise ValueError(
            f"{self.path.name}: the notebook cannot show the role {name!r}; teach tfm_book/notebooks/export.py to."
        )

    def _has_notebook(self, target: str) -> bool:
        source = self.path.parent / f"{Path(target).name}.md"
        return source.is_file() and "{code-cell}" in source.read_text(encoding="utf-8")

    def _citation(self, name: str, text: str) -> str:
        """Convert comma-separated keys, each with optional words around it in braces: `{see}key{section 2}`."""
        parts = []
        for before, key, behind in re.findall(r"(?:\{([^{}]*)\})?([^\s,{}]+)(?:\{([^{}]*)\})?", text):
            self.cited += [] if key in self.cited else [key]
            people, year = references.names(self.root, key), references.year(self.root, key)
            if name == "cite:t":
                parts.append(f"{before + ' ' if before else ''}{people} ({year}{', ' + behind if behind else ''})")
            else:
                parts.append(f"{before + ' ' if before else ''}{people}, {year}{', ' + behind if behind else ''}")
        return ", ".join(parts) if name == "cite:t" else f"({'; '.join(parts)})"

    def _value(self, text: str) -> str:
        """Return a glued value in the format that the prose asks for, as myst-nb shows it."""
        name, _, form = text.partition(":")
        if name not in self.values:
            return "*(a number that the cells of this chapter measure)*"
        return html.escape(quoted(self.values[name], form), quote=False)  # words, in which <unk> is no tag


class Order:
    """Records where a chapter measures numbers, asks for them, and quotes them."""

    def __init__(self, some: Iterable[Block]) -> None:
        self.forms: dict[str, str] = {}  # quoted name → format of its first quotation
        self._quoted: dict[str, int] = {}  # quoted name → position of its first quotation
        self._asked: list[int] = []
        self._answered: list[int] = []  # positions of folds with an answer
        self._glued: list[tuple[int, str]] = []
        for place, block in enumerate(some):
            text = "\n".join(block.lines)
            if block.name == "code-cell":
                self._glued += [(place, name) for name in re.findall(r'glue\(\s*f?"([^"]+)"', text)]
                text = str(plotted(block))
            elif block.name in ("predict", "ask"):
                self._asked.append(place)
            if block.name in ("predict", "ask") or block.argument == "Answer":
                self._answered.append(place)
            for name, form in QUOTE.findall(text):
                self.forms.setdefault(name, form)
                self._quoted.setdefault(name, place)

    def later(self) -> list[str]:
        """Return the names first quoted in an answer, or after a question that follows their cell."""

        def waits(name: str, quoted: int) -> bool:
            cell = self._cell_of(name)
            return quoted in self._answered or any(cell < at <= quoted for at in self._asked)

        return [name for name, quoted in self._quoted.items() if waits(name, quoted)]

    def _cell_of(self, name: str) -> int:
        """Return the position of the cell that glues `name`, whose pattern may be an f-string: f"live-{length}"."""
        made = (
            place for place, given in self._glued if re.fullmatch(re.sub(r"\\{.*?\\}", ".+", re.escape(given)), name)
        )
        return next(made, 0)


def _cell(code: str, tags: list[str], folded: bool) -> nbformat.NotebookNode:
    metadata: dict[str, Any] = {"tags": tags} if tags else {}
    if code.startswith("check("):
        code = f"{CHECK}\n\n{code}"
    if folded:
        metadata["jupyter"] = {"source_hidden": True}
    return nbformat.v4.new_code_cell(code, metadata=metadata)


def _titled(text: str) -> tuple[str, str]:
    """Split `title <target>` into its two parts; the title is empty if there is none."""
    found = re.match(r"^(.+?)\s*<([^<>]+)>$", text, flags=re.DOTALL)
    return (found[1], found[2]) if found else ("", text.strip())


def _data_uri(path: Path) -> str:
    """Return the picture at `path` as a data URI; an SVG becomes a PNG, which every Markdown reader shows."""
    kind = {".jpg": "jpeg", ".jpeg": "jpeg", ".svg": "png"}.get(path.suffix, path.suffix[1:])
    picture = raster(path.read_text(encoding="utf-8")) if path.suffix == ".svg" else path.read_bytes()
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"
