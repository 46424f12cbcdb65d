"""The notebook teaches: what a learner sees of its code, and that a change of it is seen."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from project import CHAPTERS, ROOT
from tiers import params

from tfm_book.notebooks.export import Order, export_notebook
from tfm_book.notebooks.myst import Block, blocks
from tfm_book.notebooks.taught import Part, Taught, statements
from tfm_lib.drawing.measured import LATER, Measured

NOTEBOOKS = [path for path in sorted(CHAPTERS.glob("*.md")) if "{code-cell}" in path.read_text(encoding="utf-8")]
TEACHING = [
    path for path in NOTEBOOKS if path.stem not in ("intro", "playground")
]  # which show, and have no code to read


# --- how a cell is parted -----------------------------------------------------------------------------------------


def cell(code: str, tags: str = "") -> Block:
    return Block("directive", code.split("\n"), "code-cell", "ipython3", {"tags": f"[{tags}]"})


TRAINING = """\
import math
from tfm_lib.drawing import colours, figure, glue, show
from tfm_lib.widgets.masking import MaskEditor

def loss(w):
    return (w - 3) ** 2

# the way down
w = 0.0
for _ in range(9):
    w -= 0.1 * 2 * (w - 3)
assert math.isclose(w, 2.6, abs_tol=0.1)
fig, ax = figure()
ax.plot([loss(w)])
show(fig, alt="A point.")
glue("toy-end", w)"""
TAUGHT = TRAINING[TRAINING.index("def loss") : TRAINING.index("\nassert")]
DRAWN = TRAINING[TRAINING.index("fig, ax") :]


def test_of_a_cell_that_the_page_folds_what_teaches_is_open() -> None:
    taught = Taught()
    assert taught.parts(cell(TRAINING, "hide-input")) == [Part(TAUGHT, "teach"), Part(DRAWN, "draw")]
    assert taught.imports == TRAINING.split("\n")[:3]


def test_a_cell_that_the_page_shows_loses_only_claims_of_numbers() -> None:
    assert Taught().parts(cell(f"{TRAINING}\nassert w > 0.5")) == [Part(TRAINING, "teach")]
    agreed = "assert learn(x, 3) == by_hand\nassert_close(x[0], y)"
    assert Taught().parts(cell(agreed)) == [Part(agreed, "teach")]
    assert Taught().parts(cell("assert reach(x) == [1, 2]")) == [Part("assert reach(x) == [1, 2]", "teach")], (
        "nothing else"
    )


def test_a_comment_goes_with_its_claim() -> None:
    code = "x = f()\n# it is small,\n# as promised\nassert x < 3\n# and now\ny = x"
    assert Taught().parts(cell(code, "hide-input")) == [Part("x = f()\n# and now\ny = x", "teach")]


def test_a_claim_in_a_loop_is_left_out_too() -> None:
    loop = "for x in y:\n    z = f(x)\n    assert z < 3\nprint(z)"
    assert Taught().parts(cell(loop, "hide-input")) == [Part("for x in y:\n    z = f(x)\nprint(z)", "teach")]


def test_of_a_cell_that_the_page_hides_only_its_widget_is_open() -> None:
    taught = Taught()
    assert taught.parts(cell(f"{TRAINING}\nMaskEditor(size=3)", "remove-input"))[1] == Part(
        "MaskEditor(size=3)", "widget"
    )
    (claims,) = (taught.parts(cell("for x in (1, 2):\n    assert x\nassert_close(x, x)", "remove-input")),)
    assert claims == []


@pytest.mark.parametrize(
    ("code", "does"),
    [
        ("words = [c for c in 'abc']", "teach"),  # a name of its own, not the colours
        ("c = 3", "teach"),
        ("def draw(a):\n    a.fill(color=c['query'])", "draw"),
        ("for x in y:\n    glue(f'a-{x}', x)", "glue"),
        ("for x in y:\n    z = f(x)\n    glue(f'a-{x}', z)", "teach"),
    ],
)
def test_what_a_statement_does(code: str, does: str) -> None:
    taught = Taught()
    taught.parts(cell("from tfm_lib.drawing import colours\nc, run = colours(), read()", "hide-input"))
    assert [taught.does(node) for node, _ in statements(code)] == [does]


# --- the notebooks ------------------------------------------------------------------------------------------------


def open_lines(notebook: nbformat.NotebookNode) -> Counter[str]:
    """How many lines of the code that is open to the eye do what; a loop that measures counts as what it keeps and the rest."""
    taught, found = Taught(), Counter()
    for each in notebook.cells:
        if each.cell_type != "code":
            continue
        for node, text in statements(each.source):
            does, lines = taught.does(node), [line for line in text.split("\n") if line.strip()]
            kept = sum(line.strip().startswith("glue(") for line in lines) if does == "teach" else 0
            if "jupyter" not in each.metadata:
                found.update({does: len(lines) - kept, "glue": kept})
    return found


@pytest.mark.long
def test_four_of_five_open_lines_teach() -> None:
    found = {path.stem: open_lines(export_notebook(path, ROOT, values={})) for path in TEACHING}
    shares = {stem: lines["teach"] / lines.total() for stem, lines in found.items()}
    assert {stem: share for stem, share in shares.items() if share < 0.7} == {}
    whole = sum(found.values(), Counter())
    assert whole["teach"] >= 0.8 * whole.total()
    assert whole["teach"] > 2000, "before the notebooks were arranged 1,160 lines that teach lay open"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_set_up_is_one_folded_cell_and_no_claim_of_a_hidden_cell_is_left(path: Path) -> None:
    first, *cells = [each for each in export_notebook(path, ROOT, values={}).cells if each.cell_type == "code"]
    assert first.metadata.jupyter.source_hidden and "the_book_says(" in first.source
    for each in cells:
        hidden = {"hide-input", "remove-input"} & {*each.metadata.get("tags", [])}
        top = ast.parse(re.sub(r"^%.*$", "", each.source, flags=re.MULTILINE)).body
        assert not hidden or not any(isinstance(node, ast.Assert | ast.Import | ast.ImportFrom) for node in top)


# --- what a run measures ------------------------------------------------------------------------------------------


BOOK = {"toy-a": ("0.5", ".0%"), "toy-b": ("'it_s'", ""), "toy-c": (None, ""), "toy-d": ("3", "")}
TABLE = "| what | how many |\n|---|---|\n| one | {glue:text}`toy-a:.0%` |\n| two | {glue:text}`toy-b` |"


def test_what_was_measured_stands_beside_what_the_book_says() -> None:
    here = Measured(BOOK, later=["toy-d"], chapter="toy")
    here.note("toy-a", 0.25)
    here.note("toy-b", "it_s")
    here.note("toy-c", 7)
    here.note("no number of the text", 1)
    here.note("toy-d", 4)
    assert here.told().split("\n\n") == [
        "- a: **25%** (the book: 50%)\n- b: it\\_s (the book: it\\_s)\n- c: 7",
        f"<details><summary>{LATER}</summary>",
        "- d: **4** (the book: 3)",
        "</details>",
    ]
    assert here.told() == "", "a cell that measures nothing says nothing"


def test_a_table_is_drawn_anew_when_all_its_numbers_are_there() -> None:
    here = Measured(BOOK, tables=[TABLE], chapter="toy")
    here.note("toy-a", 0.25)
    assert here.told() == "- a: **25%** (the book: 50%)"
    here.note("toy-b", "it_s")
    assert here.told().endswith("| one | **25%** |\n| two | it\\_s |")


def test_a_table_that_holds_an_answer_stays_folded_whole() -> None:
    here = Measured(BOOK, later=["toy-b"], tables=[TABLE], chapter="toy")
    here.note("toy-a", 0.25)
    here.note("toy-b", "it_s")
    told = here.told()
    assert told.startswith(f"<details><summary>{LATER}</summary>") and "| one | **25%** |" in told


def test_no_answer_stands_before_its_question() -> None:
    text = """\
```{code-cell}
glue(f"live-{n}", 1)
glue("said", 2)
```

It is {glue:text}`said`.

:::{dropdown} Answer
{glue:text}`after`
:::

:::{predict} one
What?

- [x] {glue:text}`live-3:.1f`
:::

```{code-cell}
glue("after", 3)
```

So {glue:text}`live-4`, and {glue:text}`after`.
"""
    order = Order(blocks(text))
    assert order.forms == {"said": "", "after": "", "live-3": ".1f", "live-4": ""}
    assert order.later() == ["after", "live-3", "live-4"]


#: Of six chapters a place in the open code, what a learner makes of it, and how the line begins that must be another.
CHANGES = {
    "before": ("for step in range(200):", "for step in range(20):", "- last: **"),
    "attention": ("tensor([2., 2., 0., 0.])", "tensor([0., 0., 0., 2.])", "- hand-price: **"),
    "masking": ("masked_fill(~visible, 0.0)", "masked_fill(~visible, 1.0)", "- future: **"),
    "self_attention": ("pairs=4000", "pairs=40", "- variance: **"),
    "positional": ("manual_seed(0)\nlayer, words", "manual_seed(1)\nlayer, words", "| two layers | 0.0000 | **"),
    "recurrence": ("for _ in range(400):", "for _ in range(40):", "| 3 | **"),
}


@pytest.mark.parametrize("stem", params(CHANGES, ()))
def test_a_changed_number_is_seen(built_book: Path, stem: str) -> None:
    """Run whole, as it was downloaded, with one constant changed: beside what the book says stands another number."""
    old, new, line = CHANGES[stem]
    notebook = export_notebook(CHAPTERS / f"{stem}.md", ROOT)
    (place,) = (each for each in notebook.cells if each.cell_type == "code" and old in each.source)
    assert "jupyter" not in place.metadata, "the code is folded"
    place.source = place.source.replace(old, new)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    outputs = [output for each in notebook.cells if each.cell_type == "code" for output in each.outputs]
    told = "\n".join(output.data.get("text/markdown", "") for output in outputs if "data" in output)
    assert f"\n{line}" in f"\n{told}"
