"""A chapter's notebook is plain: any Jupyter reads it, it runs with the wheel alone, and it gives no assigned solution away."""

import ast
import base64
import dataclasses
import html
import io
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from PIL import Image
from project import CHAPTERS, ROOT
from tiers import params

from tfm_book.notebooks.export import CHECK, MACHINE, export_notebook
from tfm_book.notebooks.myst import blocks, convert, parser, pieces
from tfm_book.notebooks.outline import outline, title
from tfm_book.notebooks.shown_code import included_code
from tfm_book.site.excerpts import SHORT
from tfm_lib.drawing.macros import expand_macros

NOTEBOOKS = [path for path in sorted(CHAPTERS.glob("*.md")) if "{code-cell}" in path.read_text(encoding="utf-8")]
FIGURED = [path for path in NOTEBOOKS if "{figure}" in path.read_text(encoding="utf-8")]
TOKEN = re.compile(r"\{[a-z][\w:.-]*\}`|^ *:{3,}|^ *[`~]{3,} *\{|\]\{[.#][\w-]+\}|^\([\w:.-]+\)=$", re.MULTILINE)

CHAPTER = r"""---
file_format: mystnb
---
(top)=
# Toy

:::{kicker} Part I · 5 minutes
:::

:::{admonition} In this chapter
:class: goals
- **see** [query]{.q}, [마스크]{.ko} and {doc}`other`

```python
inner = "{doc}`not a role`"
```
:::

Prose with {term}`keys <key>`, {cite:t}`vaswani2017attention`, {cite:p}`vaswani2017attention,bahdanau2015neural` and
{cite:t}`vaswani2017attention{section 3}`; `code {ref}` stays, and so does \$5. See {eq}`eq:a`, {ref}`top`, {ref}`sec`,
{numref}`fig`, {ref}`toy.one`, {ref}`this one <toy.two>`, {eq}`eq:other`, $\Q\K^\top$, {glue:text}`half:.1f` and {glue:text}`unknown`.

% a comment
(sec)=
## The formula

$$
\softmax(\Q) \\ \V
$$ (eq:a)

$$x$$

:::{figure} figures/f.svg
:name: fig
:alt: A [line].

The caption, $\q$.
:::

```{literalinclude} ../lib.py
:pyobject: C.f
:language: python
```

```{excerpt} ../lib.py
:pyobject: g

pass
```

```{code-cell}
:tags: [hide-input]

text = "{doc}`x`"  # $ not \Q math $
```

:::{predict} one
What?

- [ ] this
- [x] that, $1$

Because of {term}`key`.
:::

::::{exercise} Easy *one*
:label: toy.one
*5 minutes · ★☆☆☆*

:::{note}
Nested.
:::
::::

```{code-cell}
:mystnb: {figure: {name: plot, caption: 'A plot, $\q$.'}}

def f(): ...
```

{numref}`plot` is drawn.

:::{dropdown} Hint 1: `a < b` and $\K$
:class: hint
Think.
:::

:::{solution} toy.one
:class: dropdown
SECRET-ONE

```python
def f(): return "{ref}`x`"
```
:::

:::{exercise} Hard
:label: toy.two
:class: assigned
:::

:::{solution} toy.two
SECRET-TWO
:::

## Summary

:::{big-picture} toy
:::
"""
OTHER = "# The other\n\n$$\ny\n$$ (eq:other)\n"
LIB = "class C:\n    @staticmethod\n    def f(x):\n        '''Doc.'''\n        return x\n\n\ndef g():\n    pass\n"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path stroke="var(--tfm-query, #0067a5)" fill="currentColor"/></svg>'


@pytest.fixture
def book(tmp_path: Path) -> Path:
    files = {"chapters/toy.md": CHAPTER, "chapters/other.md": OTHER, "chapters/figures/f.svg": SVG, "lib.py": LIB}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "references.bib").write_text((ROOT / "references.bib").read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def toy(book: Path, **options) -> nbformat.NotebookNode:
    return export_notebook(book / "chapters/toy.md", book, values={"half": "0.5"}, **options)


def markdown(notebook: nbformat.NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def outside_code(text: str) -> str:
    """Markdown without its code and its embedded pictures."""
    text = re.sub(r"^((?:> )?)(`{3,}).*?^\1\2`* *$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|base64,[\w+/=]+", "", text)


def test_the_whole_vocabulary_becomes_plain_markdown(book: Path) -> None:
    notebook = toy(book)
    nbformat.validate(notebook)
    text = markdown(notebook)
    assert not TOKEN.search(outside_code(text))
    for expected in [
        "pip install './tfm_lib-",
        "# Toy\n\n*Part I · 5 minutes*",
        "\n- **see** **query**, 마스크 and *The other*",
        '\n```python\ninner = "{doc}`not a role`"\n```',
        "Prose with keys, Vaswani et al. (2017), (Vaswani et al., 2017; Bahdanau et al., 2015) and\nVaswani et al. (2017, section 3)",
        "`code {ref}` stays, and so does \\$5",
        "See (1), Toy, The formula,\nFigure 1, Exercise 1, this one, (1) in *The other*",
        r"${\color{#0067a5}{Q}}{\color{#a85100}{K}}^\top$, 0.5 and *(a number that the cells of this chapter measure)*",
        "$$\n\\operatorname{softmax}({\\color{#0067a5}{Q}}) \\\\ {\\color{#00795a}{V}} \\tag{1}\n$$",
        "$$\nx\n$$",
        "![A  line .](data:image/png;base64,",
        "**Figure 1.** The caption, ${\\color{#0067a5}{q}}$.",
        "**Figure 2.** A plot, ${\\color{#0067a5}{q}}$.\n\nFigure 2 is drawn.",
        "From `lib.py`:\n\n```python\ndef g():\n    pass\n```",
        "From `lib.py`:\n\n```python\n@staticmethod\ndef f(x):\n    '''Doc.'''\n    return x\n```",
        "**Predict first.** What?\n\n- this\n- that, $1$\n\n<details>\n<summary>What happens</summary>\n\n**that, $1$**\n\nBecause of key.",
        "### Exercise 1 · Easy *one*\n\n*5 minutes · ★☆☆☆*\n\n> **Note**\n>\n> Nested.",
        "<summary>Hint 1: <code>a &lt; b</code> and ${\\color{#a85100}{K}}$</summary>\n\nThink.",
        'def f(): return "{ref}`x`"',
        "### Exercise 2 · Hard",
        "*In the big picture of the Transformer, this chapter is the block* **toy**.",
        "## References\n\n- Dzmitry Bahdanau",
    ]:
        assert expected in text, expected


def test_code_cells_are_what_the_chapter_has(book: Path) -> None:
    first, *cells = [cell for cell in toy(book).cells if cell.cell_type == "code"]
    assert "the_book_says(" in first.source and first.metadata.jupyter.source_hidden
    assert [cell.source for cell in cells] == ['text = "{doc}`x`"  # $ not \\Q math $', "def f(): ..."]
    assert "hide-input" in cells[0].metadata.tags and not any("jupyter" in cell.metadata for cell in cells)
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)


@pytest.mark.parametrize(
    ("edition", "secrets"), [("practice", {"ONE"}), ("student", set()), ("instructor", {"ONE", "TWO"})]
)
def test_an_edition_decides_which_solutions_there_are(book: Path, edition: str, secrets: set[str]) -> None:
    assert set(re.findall(r"SECRET-(\w+)", markdown(toy(book, edition=edition)))) == secrets


def test_a_figure_is_a_picture_in_its_light_colours(book: Path) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="4" height="8" fill="var(--q, #0067a5)"/></svg>'
    (book / "chapters/figures/f.svg").write_text(svg, encoding="utf-8")
    found = re.search(r"image/png;base64,([\w+/=]+)", markdown(toy(book)))
    with Image.open(io.BytesIO(base64.b64decode(found[1]))) as picture:
        assert picture.size == (10, 10)
        left, right = (picture.convert("RGB").getpixel((x, 5)) for x in (1, 8))
    assert (left, right) == ((0x00, 0x67, 0xA5), (0xFF, 0xFD, 0xF9)), "the query's blue, on paper"


@pytest.mark.parametrize("stem", sorted(path.stem for path in CHAPTERS.glob("*.md")))
def test_a_title_read_alone_is_that_of_the_outline(stem: str) -> None:
    path = ROOT / "chapters" / f"{stem}.md"
    assert title(path) == outline(path).title != ""


@pytest.mark.parametrize("stem", [path.stem for path in FIGURED])
def test_every_drawing_is_shown_where_pictures_must_be_bitmaps(stem: str) -> None:
    """VS Code, GitHub and others read Markdown by markdown-it, which takes an embedded SVG for text."""
    text = markdown(export_notebook(ROOT / "chapters" / f"{stem}.md", ROOT, values={}))
    tokens = [child for token in MarkdownIt().parse(text) for child in token.children or []]
    shown = [token for token in tokens if token.type == "image"]
    source = (ROOT / "chapters" / f"{stem}.md").read_text(encoding="utf-8")
    assert len(shown) == len(re.findall(r"^:::+\{(?:figure|image)\}", source, flags=re.MULTILINE)) > 0
    assert all(token.attrs["src"].startswith("data:image/png;base64,") and token.content for token in shown)
    assert not any("base64" in token.content for token in tokens if token.type == "text")


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("{unheard}`x`", "role 'unheard'"),
        ("```{unheard}\n```", "directive 'unheard'"),
        ("{ref}`nowhere`", "called 'nowhere'"),
        ("$$\nx", "no closing"),
    ],
)
def test_what_it_does_not_know_is_said(book: Path, source: str, complaint: str) -> None:
    (book / "chapters/toy.md").write_text(f"# T\n\n{source}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=complaint):
        toy(book)


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (21840, ":,", "21,840"),
        (0.5, ":.1f", "0.5"),
        (3, ":.1f", "3.0"),
        ("2\N{NO-BREAK SPACE}000", "", "2\N{NO-BREAK SPACE}000"),
        ("it's", "", "it's"),
        (0.25, ":.0%", "25%"),
        ("<unk> & co", "", "<unk> & co"),
    ],
)
def test_a_glued_value_is_shown_as_the_page_shows_it(book: Path, value: object, form: str, shown: str) -> None:
    from myst_nb.core.variables import format_plain_text

    (book / "chapters/toy.md").write_text(f"# T\n\nHere {{glue:text}}`x{form}`.\n", encoding="utf-8")
    text = markdown(export_notebook(book / "chapters/toy.md", book, values={"x": repr(value)}))
    assert f"Here {html.escape(shown, quote=False)}." in text  # Markdown holds tags, and a value is words
    assert format_plain_text(repr(value), form.removeprefix(":")) == shown


FORMULA = re.compile(r"\$\$.*?\$\$|(?<![\\$])\$[^$]+\$", re.DOTALL)
#: What only the page or only the notebook says.
OF_THE_PAGE = (
    ".cell, .math, .tfm-film-link, .tfm-to-notebook, .tfm-kicker, .tfm-file, .tfm-outcome > strong:first-child, .tfm-wheel, .headerlink, svg, script, button, "
    ":has(+ .tfm-whole), .tfm-whole > summary, "  # an excerpt, whose whole stands in the notebook
    ".hint > summary, .tfm-open-one"
)
OF_THE_NOTEBOOK = (
    r"From `tfm_lib/\w+\.py`:",
    r"\*The big picture of the Transformer stands on the first page of the book\.\*",
    r"\*In the big picture of the Transformer, this chapter is the block\* \*\*[\w-]+\*\*\.",
    r"Your machine so far:",
    r"<summary>Hint \d</summary>",
    r"(?<=\d) in \*[^*]+\*",  # Exercise 3 in *Masking*: there it is a link
)


def words_by_section(html: BeautifulSoup) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    section = ""
    for text in html.find_all(string=True):
        heading = text.find_parent(["h1", "h2"])
        section = heading.get_text() if heading else section
        found[section].update(re.findall(r"[^\W_]+", text))
    return found


def short_wholes(path: Path) -> list[str]:
    """The code of which the page shows an excerpt without a fold; the notebook has all of it."""
    found = re.findall(r"```\{excerpt\} (\S+)\n:pyobject: (\S+)\n\n\S", path.read_text(encoding="utf-8"))
    wholes = [included_code(path.parent / file, name) for file, name in found]
    return [whole for whole in wholes if whole.count("\n") < SHORT]


@pytest.mark.parametrize("path", params(NOTEBOOKS, NOTEBOOKS[:2], lambda path: path.stem))
def test_a_downloaded_notebook_says_what_the_page_says(path: Path, built_book: Path) -> None:
    """Section by section and word by word, each read from what is shown of it."""
    page = BeautifulSoup((built_book / f"chapters/{path.stem}.html").read_text(encoding="utf-8"), "html.parser")
    article = page.find("article")
    for caption in article.select(".cell figcaption"):  # of a plot, whose cell the notebook runs
        caption.find_parent(class_="cell").insert_after(caption.extract())
    for listing, whole in zip(article.select(".tfm-short"), short_wholes(path), strict=True):
        listing.string = whole
    for element in article.select(OF_THE_PAGE):
        element.decompose()
    notebook = nbformat.read(built_book / "_downloads" / f"{path.stem}.ipynb", as_version=4)
    text = "\n\n".join(cell.source for cell in notebook.cells[1:] if cell.cell_type == "markdown")
    text = re.sub(r"^# (.*)\n\n\*.*\*$", r"# \1", text, count=1, flags=re.MULTILINE)  # the kicker
    text = FORMULA.sub("", re.sub("|".join(OF_THE_NOTEBOOK), "", text))
    shown = BeautifulSoup(MarkdownIt("commonmark").enable("table").render(text), "html.parser")
    expected, found = words_by_section(article), words_by_section(shown)
    found.pop("References", None)
    for section, said in expected.items():
        section = section.removesuffix("#")
        said["Figure"] += said.pop("Fig", 0)
        assert +(said - found[section]) == +(found[section] - said) == Counter(), section


def test_macros_are_expanded_where_they_stand_for_themselves() -> None:
    assert expand_macros(r"\vec{x} \\Q \V_j \Kappa \R^n") == r"\vec{x} \\Q {\color{#00795a}{V}}_j \Kappa \mathbb{R}^n"


def test_fences_are_respected() -> None:
    kinds = [
        (block.kind, block.name) for block in blocks("````\n```{ref}\n````\n:::{note}\n```\n# x\n```\n:::\n```a``` b")
    ]
    assert kinds == [("code", ""), ("directive", "note"), ("text", "")]


def test_pieces_give_the_text_back() -> None:
    text = r"a \` `b ``c`` ` {x}`y` $z\$$ [p [q]]{.q} [l](u) { ] [ $ \\"
    assert "".join(piece.raw for piece in pieces(text)) == text
    assert convert(text, lambda piece: piece.raw) == text
    for chapter in CHAPTERS.glob("*.md"):
        for block in blocks(chapter.read_text(encoding="utf-8")):
            if block.kind == "text":
                assert "".join(piece.raw for piece in block.pieces) == "\n".join(block.lines)


def pages_parser() -> MarkdownIt:
    """The parser that reads the chapters for the page, with the settings of the book."""
    from myst_parser.config.main import MdParserConfig
    from myst_parser.parsers.mdit import create_md_parser

    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    names = settings["parse"]["myst_enable_extensions"]
    options = {name.removeprefix("myst_"): value for name, value in settings["sphinx"]["config"].items()}
    known = {field.name for field in dataclasses.fields(MdParserConfig)}
    config = MdParserConfig(
        enable_extensions=names, **{name: value for name, value in options.items() if name in known}
    )
    return create_md_parser(config, RendererHTML)


TRICKY = [
    "- costs $5, {eq}`a`\n- costs $6\n",
    "| a | $x \\| y$ |\n|---|---|\n| {eq}`b` | `c\\|d` |\n",
    "> quoted {term}`key\n> words` and [a [b]]{.q}`c`{.x}\n>\n> ```\n> {ref}`x`\n> ```\n",
    "Text\n$$\nx\n$$ (label)\n\n1. one\n\n   $$\n   y\n   $$\n\n   more {ref}`z`[^1]\n\n[^1]: A note.\n",
]


@pytest.mark.parametrize("text", [*NOTEBOOKS, *TRICKY], ids=lambda text: getattr(text, "stem", None))
def test_the_reader_reads_what_the_page_reads(text: Path | str) -> None:
    text = text if isinstance(text, str) else text.read_text(encoding="utf-8")

    def read(by: MarkdownIt) -> list[tuple]:
        outer = by.parse(text)
        every = [part for token in outer for part in (token, *(token.children or []))]
        return [(part.type, part.tag, part.content, part.info, part.attrs, part.map) for part in every]

    assert read(parser()) == read(pages_parser())


@pytest.mark.parametrize("box", ["important", "seealso", "sidebar", "admonition", "dropdown", "note"])
def test_what_stands_in_a_box_is_numbered_and_can_be_referred_to(book: Path, box: str) -> None:
    argument = " Title" if box in ("sidebar", "admonition", "dropdown") else ""
    inside = f":::{{{box}}}{argument}\n$$\nx\n$$ (eq:box)\n:::\n"
    (book / "chapters/toy.md").write_text(f"# T\n\n{inside}\nAs {{eq}}`eq:box` says.\n", encoding="utf-8")
    text = markdown(toy(book))
    assert "As (1) says." in text
    assert "\\tag{1}" in text


def test_dollars_of_two_items_are_no_formula(book: Path) -> None:
    (book / "chapters/toy.md").write_text("# T\n\n- costs $5, {doc}`other`\n- costs $6, `x`\n", encoding="utf-8")
    assert "- costs $5, *The other*\n- costs $6, `x`" in markdown(toy(book))


def test_what_stands_in_a_list_a_quotation_or_a_table_is_read_too(book: Path) -> None:
    source = (
        "# T\n\n10. one\n\n    then {doc}`other`\n\n    $$\n    \\R\n    $$\n\n> said {doc}`other`\n\n| a | b |\n|---|---|\n"
        "| $\\R \\| x$ | {doc}`other` |\n"
    )
    (book / "chapters/toy.md").write_text(source, encoding="utf-8")
    text = markdown(toy(book))
    assert "    then *The other*\n" in text
    assert "    $$\n    \\mathbb{R}\n    $$" in text
    assert "> said *The other*" in text
    assert "| *The other* |" in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_token_is_left_of_any_chapter(path: Path) -> None:
    notebook = export_notebook(path, ROOT)
    nbformat.validate(notebook)
    text = outside_code(markdown(notebook))
    assert TOKEN.findall(text) == []
    assert not re.search(r"\\(?:Q|K|V|q|k|v|softmax|R)(?![A-Za-z])", text)
    expected = jupytext.reads(path.read_text(encoding="utf-8"), fmt="md:myst")
    ours, theirs = (Counter(code_lines(each)) for each in (notebook, expected))
    assert set(ours - theirs) <= {CHECK}, "nothing is added but this"
    assert theirs - ours <= Counter(may_go(expected)), "only imports, which the first cell has, and claims are left out"


def may_go(notebook: nbformat.NotebookNode) -> Iterator[str]:
    """The lines of its imports and claims, with comments right above, and of loops and branches that hold nothing else."""

    def goes(node: ast.stmt) -> bool:
        if isinstance(node, ast.For | ast.If):
            return all(map(goes, node.body))
        called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
        claimed = isinstance(called, ast.Name) and called.id.startswith("assert_")
        return claimed or isinstance(node, ast.Assert | ast.Import | ast.ImportFrom)

    for cell in notebook.cells:
        if cell.cell_type == "code":
            lines = cell.source.split("\n")
            gone = {
                number
                for node in ast.walk(ast.parse(cell.source))
                if isinstance(node, ast.stmt) and goes(node)
                for number in range(node.lineno, node.end_lineno + 1)
            }
            for number in range(len(lines), 0, -1):
                if number in gone or (number + 1 in gone and lines[number - 1].strip().startswith("#")):
                    gone.add(number)
                    yield lines[number - 1].strip()


def code_lines(notebook: nbformat.NotebookNode) -> list[str]:
    """The lines of its code, but for those that keep the book's numbers for a comparison and draw the reader's machine."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code" and cell.source != MACHINE)
    code = re.sub(
        r"from tfm_lib\.drawing import the_book_says\n\nthe_book_says\(.*?^\)$",
        "",
        code,
        flags=re.MULTILINE | re.DOTALL,
    )
    return [line for line in map(str.strip, code.split("\n")) if line]


@pytest.mark.long
def test_what_downloaded_notebooks_import_is_in_the_wheel(
    built_book: Path, unpacked_wheel: Path, tmp_path: Path
) -> None:
    imports = {}
    for path in NOTEBOOKS:
        notebook = nbformat.read(built_book / "_downloads" / f"{path.stem}.ipynb", as_version=4)
        for node in ast.walk(ast.parse("\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imports[ast.unparse(node)] = path.stem
    assert len(imports) > 100
    code = "\n".join([*imports, "import tfm_lib; print(tfm_lib.__file__)"])
    environment = {**os.environ, "PYTHONPATH": str(unpacked_wheel)}
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout.startswith(str(unpacked_wheel)), run.stderr


RUN = ("before",)  # by `make test`; every chapter has run as it is when the book was built


@pytest.mark.parametrize(
    "path",
    params(NOTEBOOKS, [path for path in NOTEBOOKS if path.stem in RUN], lambda path: path.stem, NOTEBOOKS[-1:]),
)
def test_a_downloaded_notebook_runs_with_the_wheel_alone(
    path: Path, built_book: Path, unpacked_wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tfm_book.site.runner import Job, run_notebooks, watcher

    notebook = nbformat.read(built_book / "_downloads" / f"{path.stem}.ipynb", as_version=4)
    assert "a number that the cells" not in markdown(notebook), "a glued number is missing from the download"
    where = nbformat.v4.new_code_cell("import tfm_lib; print(tfm_lib.__file__)")
    notebook.cells.insert(0, where)
    monkeypatch.setenv("PYTHONPATH", str(unpacked_wheel))
    monkeypatch.delenv("TFM_BOOK", raising=False)
    with watcher(1) as watching:
        [run] = run_notebooks([Job(path.stem, notebook, tmp_path)], watching, workers=2, timeout=300)
    assert run.failure is None
    assert str(unpacked_wheel) in run.job.notebook.cells[0].outputs[0].text
