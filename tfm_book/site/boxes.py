"""Define the book's boxes and page structure: kicker, script-free folds, exercises, listings."""

from __future__ import annotations

import ast
import html
import re
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.directive import ExerciseDirective
from sphinx_exercise.nodes import is_exercise_node, is_solution_node

from tfm_book.site.lines import puzzle
from tfm_book.site.pictures import slim

IMPORT = "from tfm_exercises import check"  # of a cell that nobody needs to see in a page
MOST_NAMED = 4  # names to show from folded code


class Kicker(SphinxDirective):
    """`:::{kicker} Part II · The pieces · 25 minutes`: the line above a chapter's title."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self):
        return [nodes.paragraph(self.arguments[0], self.arguments[0], classes=["tfm-kicker"])]


class folded(nodes.General, nodes.Element):
    """A box that opens on a click, without a script: `<details>`."""


class Dropdown(SphinxDirective):
    """`:::{dropdown} Title`, with `:class: hint` for hints and `:open:`: a folded box."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {"class": directives.class_option, "open": directives.flag, "name": directives.unchanged}

    def run(self):
        title, messages = self.state.inline_text(self.arguments[0], self.lineno)
        node = fold(title, [], self.options.get("class", ["more"]), opened="open" in self.options)
        self.add_name(node)
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node, *messages]


class Tidy(SphinxPostTransform):
    """Adjusts a page's structure to the book's style sheet and to the rules of accessibility."""

    default_priority = 150
    formats = ("html",)

    def run(self, **kwargs):
        for section in self.document.findall(nodes.section):
            section["classes"] = [name for name in section["classes"] if not name.endswith("_ignore")]  # for MathJax
        for raw in self.document.findall(nodes.raw):
            if raw.get("format") == "html" and "tfm-figure" in raw.astext() and "<svg" in raw.astext():
                raw.children = [nodes.Text(slim(raw.astext()))]
        for node in list(self.document.findall(nodes.Admonition)):
            if "goals" in node["classes"]:
                _open_quietly(node)
            else:
                self._fold_or_mend(node)
        for table in list(self.document.findall(nodes.table)):
            box = nodes.container(classes=["tfm-scroll"])
            table.replace_self(box)
            box += table
        for code in list(self.document.findall(nodes.literal_block)):
            self._name_the_file(code)
        for span in list(self.document.findall(nodes.inline)):
            if "ko" in span["classes"]:
                text = f'<span class="ko" lang="ko">{html.escape(span.astext())}</span>'
                span.replace_self(nodes.raw(text, text, format="html"))
        for kicker in list(self.document.findall(nodes.paragraph)):
            if "tfm-kicker" in kicker["classes"] and isinstance(kicker.parent, nodes.section):
                section = kicker.parent
                section.remove(kicker)
                section.insert(0, kicker)  # above the title

    def _fold_or_mend(self, node: nodes.Element) -> None:
        """Turn solutions and folded admonitions into `<details>`; remove an id that sphinx-exercise repeats."""
        if is_exercise_node(node):
            _unwrap(node)
            title = node[0].children
            if len(title) > 2 and title[-1].astext() == ")":  # "Exercise 1 (The leak test)"
                node[0].children = [nodes.Text(" · "), *title[1:-1]]
        elif is_solution_node(node):
            _unwrap(node)
            title, exercise = [nodes.Text("Solution")], node.get("target_label")
            node.replace_self(fold(title, node[1:], ["solution"], node.get("ids"), exercise=exercise))
        elif "dropdown" in node.get("classes", ()):
            classes = [name for name in node["classes"] if name != "dropdown"]
            node.replace_self(fold(node[0].children, node[1:], classes, node.get("ids")))

    def _name_the_file(self, code: nodes.literal_block) -> None:
        """Put the name of the file above code that comes from the library."""
        shown = re.search(r"tfm_lib/[\w/]+\.py$", Path(code.get("source") or "").as_posix())
        if shown:
            file = nodes.paragraph(shown[0], shown[0], classes=["tfm-file"])
            code.parent.insert(code.parent.index(code), file)


def _open_quietly(goals: nodes.Element) -> None:
    """Of *In this chapter*, leave the question and what one needs in sight; fold the goals and, beside them, the route."""
    _title, question, intro, *told, need = goals.children
    row = nodes.container("", need, fold(intro.children, told, ["more"]))
    row["classes"] = ["tfm-row"]
    after = goals.next_node(descend=False, siblings=True)
    if isinstance(after, nodes.Admonition) and "route" in after["classes"]:
        row += fold(after[0].children, after[1:], ["route"])
        after.parent.remove(after)
    opening = nodes.container("", question, row, classes=["goals"], ids=goals["ids"])
    goals.replace_self(opening)


def _unwrap(node: nodes.Element) -> None:
    for child in list(node.children):
        if (
            isinstance(child, nodes.section)
            and child["ids"]
            and child["ids"][0] in ("exercise-content", "solution-content")
        ):
            at = node.index(child)  # not replace_self, which would pass the id on
            node.remove(child)
            node[at:at] = child.children


def fold(title, body, classes, ids=(), opened=False, exercise=None) -> folded:
    """Put `body` into a box that opens on a click on its `title`."""
    node = folded("", *body, classes=["tfm-fold", *classes], ids=list(ids or ()), opened=opened)
    node.insert(0, _summary("", "", *title))
    if exercise:
        node["exercise"] = exercise
    return node


class _summary(nodes.General, nodes.TextElement):
    pass


def _visit_summary(self, node: _summary) -> None:
    self.body.append("<summary>")
    if "numbered" in node:
        self.add_fignumber(node["numbered"])


def _visit_folded(self, node: folded) -> None:
    attributes = {"open": "open"} if node.get("opened") else {}
    if node.get("exercise"):
        attributes["data-exercise"] = node["exercise"]
    self.body.append(self.starttag(node, "details", **attributes))


def _tags(open_tag: str, close_tag: str):
    return (lambda self, node: self.body.append(open_tag)), (lambda self, node: self.body.append(close_tag))


def what_it_shows(source: str) -> str:
    """Title folded code in a few words of HTML: what it defines, else what it imports, else that it checks."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a command for Jupyter
        return "Code"
    names = [part.name for part in tree.body if isinstance(part, ast.FunctionDef | ast.ClassDef)]
    if not names:
        ours = (part for part in tree.body if isinstance(part, ast.ImportFrom) and _of_core(part.module or ""))
        names = [name.name for part in ours for name in part.names]
    if names:
        shown = ", ".join(f"<code>{html.escape(name)}</code>" for name in names[:MOST_NAMED])
        return f"Code: {shown}{' …' if len(names) > MOST_NAMED else ''}"
    return "Code: the checks" if any(map(_is_check, ast.walk(tree))) else "Code"


def _of_core(module: str) -> bool:
    return re.fullmatch(r"tfm_lib\.[a-z]\w*", module) is not None


def _is_check(node: ast.AST) -> bool:
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return isinstance(node, ast.Assert) or "assert" in called


class GatherFoldedCode(SphinxPostTransform):
    """Moves the folded code of each section into one box at the section's end; outputs stay where they are."""

    default_priority = 200  # after MyST-NB has wrapped the cells
    formats = ("html",)

    def run(self, **kwargs):
        for section in list(self.document.findall(nodes.section)):
            if isinstance(section.parent, nodes.section) and not isinstance(section.parent.parent, nodes.section):
                _gather(section)


def _gather(section: nodes.section) -> None:
    folded_cells = [cell for cell in section.findall(HideCodeCellNode) if "below-input" not in cell["classes"]]
    if section["ids"][0] == "exercises":  # each belongs to the exercise above it
        for cell in folded_cells:
            cell["title"] = _title_of(section, [cell])
        return
    if not folded_cells:
        return
    gathered = HideCodeCellNode(classes=["above-input"], title=_title_of(section, folded_cells))
    gathered += _joined(folded_cells)
    for cell in folded_cells:
        around = cell.parent
        around.remove(cell)
        if not around.children:
            around.parent.remove(around)
    section += nodes.container("", gathered, classes=["cell"])


def _joined(cells: list[HideCodeCellNode]) -> nodes.Element:
    """Return the first cell's input with the code of all of them."""
    blocks = [block for cell in cells for block in cell.findall(nodes.literal_block)]
    code = "\n\n".join(block.astext().strip("\n") for block in blocks)
    joined = nodes.literal_block(code, code, **blocks[0].attributes)
    blocks[0].replace_self(joined)
    first = cells[0].children[0]
    cells[0].remove(first)
    return first


class Cards(SphinxPostTransform):
    """Make one card of each exercise, the first one open: statement, cells, and a row with hints and solution."""

    default_priority = GatherFoldedCode.default_priority + 1
    formats = ("html",)

    def run(self, **kwargs):
        for section in self.document.findall(nodes.section):
            if section["ids"][:1] == ["exercises"]:
                for cell in [child for child in section if child.astext().strip() == IMPORT]:
                    section.remove(cell)  # which only a notebook needs
                for i, exercise in enumerate([child for child in section if is_exercise_node(child)]):
                    _make_card(section, exercise, opened=i == 0)


def _make_card(section: nodes.section, exercise: nodes.Element, opened: bool) -> None:
    at = section.index(exercise)
    behind = takewhile(lambda node: isinstance(node, folded) or "cell" in node.get("classes", ()), section[at + 1 :])
    parts = [exercise, *behind]
    folds = [part for part in parts if isinstance(part, folded)]
    hints = [part for part in folds if "hint" in part["classes"]]
    others = [part for part in folds if part not in hints]
    card = folded("", _head(exercise), classes=["tfm-exercise"], opened=opened)
    section[at : at + len(parts)] = [card]
    card += [part for part in parts if part not in folds]
    card += _lines(others)
    card += nodes.container("", *_one_fold(hints), *others, classes=["tfm-row"])


def _head(exercise: nodes.Element) -> _summary:
    """Take title, minutes and stars out of `exercise`: what is seen of it while it is closed."""
    title, paragraph = exercise[:2]
    exercise.remove(title)
    exercise["heading"] = title  # for the search
    head = _summary("", "", *(child.deepcopy() for child in title.children), numbered=exercise)
    if [type(child) for child in paragraph] == [nodes.emphasis]:
        exercise.remove(paragraph)
        head += [nodes.Text("\N{EN SPACE}"), *paragraph.children]
    return head


def _lines(folds: list[folded]) -> list[nodes.raw]:
    """The lines of the solution among `folds`, for a script that has them put in order."""
    solutions = [
        (fold["exercise"], code) for fold in folds if fold.get("exercise") for code in fold.findall(nodes.literal_block)
    ]
    if not solutions or not (data := puzzle(solutions[0][0], solutions[0][1].astext())):
        return []
    data = data.replace("<", r"\u003c")
    return [nodes.raw("", f'<script type="application/json" class="tfm-solution-lines">{data}</script>', format="html")]


def _one_fold(hints: list[folded]) -> list[folded]:
    """Put the hints of an exercise into one fold; a script shows them one after the other."""
    if len(hints) < 2:
        return hints
    each = [nodes.container("", *hint[1:], classes=["tfm-hint"]) for hint in hints]
    return [fold([nodes.Text("Hints")], each, ["hint"])]


def _title_of(section: nodes.section, cells: list[HideCodeCellNode]) -> str:
    if section["ids"][0] == "misconceptions":
        return "Code: each of these claims, checked"
    return what_it_shows("\n".join(block.astext() for cell in cells for block in cell.findall(nodes.literal_block)))


def _visit_hidden_cell(self, node: HideCodeCellNode) -> None:
    self.body.append(f'<details class="tfm-fold tfm-hidden-cell"><summary>{node.get("title", "Output")}</summary>\n')


class Exercise(ExerciseDirective):
    """An exercise that may carry the points of a written answer, which only graders read."""

    option_spec: ClassVar[Any] = {**ExerciseDirective.option_spec, "rubric": directives.unchanged}


def setup(app: Sphinx) -> None:
    app.add_directive("exercise", Exercise, override=True)
    app.add_directive("kicker", Kicker)
    app.add_directive("dropdown", Dropdown, override=True)
    app.add_node(folded, html=(_visit_folded, _tags("", "</details>\n")[1]))
    app.add_node(_summary, html=(_visit_summary, _tags("", "</summary>\n")[1]))
    app.add_node(HideCodeCellNode, override=True, html=(_visit_hidden_cell, _tags("", "</details>\n")[1]))
    app.add_post_transform(Tidy)
    app.add_post_transform(GatherFoldedCode)
    app.add_post_transform(Cards)
