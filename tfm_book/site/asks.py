"""Define the questions that a reader answers in the page without a kernel: `{ask}`, and `{ask-again}` at the end.

The HTML is complete without a script: the question with its choices, lines or steps, and a fold with the right answer
and the feedback for each mistake. The script, `theme/asks.js`, takes the text of its verdict from that fold.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tfm_book.notebooks.asks import AGAIN, ELSE, FOLD, OTHERS, Answer, Ask, opening, read_ask
from tfm_book.notebooks.myst import Block

#: What a check says about a stub. The page leaves it out, because no code can run there, and offers the notebook once.
STUB = re.compile(
    r'<div class="cell_output docutils container">\s*<div class="output text_html"><div class="tfm-verdict tfm-unsolved"'
    r"(?:(?!<div).)*?</div>\s*</div>\s*</div>",
    re.DOTALL,
)
HEAD = re.compile(r'(<section id="exercises">\s*<h2>.*?</h2>)', re.DOTALL)
FOR_THE_NOTEBOOK = (
    '<p class="tfm-to-notebook"><span class="tfm-how">To write your answers in this page and have them checked at once, run '
    "<code>make read</code> in the book’s folder; or write them in the notebook.</span> "
    '<a class="tfm-button" href="{href}" download>Download {name}</a></p>'
)


class tag(nodes.General, nodes.Element):
    """An HTML element: its `tag` and its `attributes`."""


class phrasing(nodes.General, nodes.TextElement):
    """An HTML element for phrasing content; references are allowed only in such elements."""


PHRASING = ("button", "legend", "li", "p", "span", "strong", "summary")


def element(name: str, /, *children: nodes.Node, **attributes: str) -> tag | phrasing:
    kind, before = (phrasing, ("", "")) if name in PHRASING else (tag, ("",))
    made = kind(
        *before, *children, attributes={key.rstrip("_").replace("_", "-"): text for key, text in attributes.items()}
    )
    made["tag"] = name
    return made


class _Asking(SphinxDirective):
    """Base class of both directives: builds the box of a question."""

    final_argument_whitespace = False
    required_arguments = 1

    def box(self, ask: Ask, again: bool = False) -> nodes.Node:
        stem = self.env.docname.rsplit("/", 1)[-1]
        self.asked = f"{stem}.{ask.name}"
        self.id = f"ask-{stem}-{ask.name}{'-again' if again else ''}".replace("_", "-")
        first = ask.opening and not again
        box = element(
            "fieldset",
            element("legend", nodes.Text(AGAIN if again else ask.title), class_="tfm-box-title"),
            element("div", *self.myst(ask.question), class_="tfm-asked", id=f"{self.id}-asked"),
            id=self.id,
            class_="tfm-ask",
            data_ask=self.asked,
            **({} if first else {"data_exercise_kind": ask.kind}),
            aria_describedby=f"{self.id}-asked",
            **({"data_part": "first" if first else "again"} if ask.opening else {}),
        )
        form = element("form", class_="tfm-ask-form", novalidate="novalidate")
        form += getattr(self, f"_{ask.kind}")(ask)
        box += form
        if not first:
            form += element("button", nodes.Text("Check"), type="submit", class_="tfm-check tfm-js")
        box += element("div", class_="tfm-said", role="status")
        if not first:
            box += self.key(ask)
        box += element("button", nodes.Text("Forget my answer"), type="button", class_="tfm-forget", hidden="hidden")
        self.set_source_info(box)
        return box

    def myst(self, lines: list[str]) -> list[nodes.Node]:
        into = nodes.Element()
        self.state.nested_parse(StringList(lines, source=self.get_source_info()[0]), self.content_offset, into)
        return into.children

    def phrase(self, text: str) -> list[nodes.Node]:
        """Parse a one-paragraph text as MyST and return its inline nodes."""
        made = self.myst([text])
        return made[0].children if len(made) == 1 and isinstance(made[0], nodes.paragraph) else made

    # ── input for each kind of question ───────────────────────────────────
    def _choose(self, ask: Ask) -> nodes.Node:
        choices = element("div", class_="tfm-choices", role="radiogroup", aria_label="Your answer")
        for index, answer in enumerate(ask.answers):
            radio = element("input", type="radio", name=self.id, value=str(index))
            choices += element("label", radio, element("span", *self.phrase(answer.said)), class_="tfm-choice")
        return choices

    def _line(self, ask: Ask) -> nodes.Node:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer

        coloured = highlight("\n".join(ask.code), PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
        lines = element("div", class_="tfm-lines highlight", role="radiogroup", aria_label="The line that is wrong")
        for number, line in enumerate(coloured.rstrip("\n").split("\n"), start=1):
            radio = element("input", type="radio", name=self.id, value=str(number))
            lines += element("label", radio, nodes.raw("", f"<code>{line}\n</code>", format="html"), class_="tfm-line")
        return lines

    def _order(self, ask: Ask) -> nodes.Node:
        steps = element("ol", class_="tfm-steps")
        for number in ask.shuffled:
            words = element("span", *self.phrase(ask.steps[number - 1]))
            steps += element("li", words, data_step=str(number))
        return steps

    def _number(self, ask: Ask) -> nodes.Node:
        return self._field("Your number", "decimal", ask.unit)

    def _shape(self, ask: Ask) -> nodes.Node:
        return self._field("Your shape, the sizes separated by commas", "text")

    def _field(self, label: str, mode: str, unit: str = "") -> nodes.Node:
        attributes = {
            "type": "text",
            "inputmode": mode,
            "autocomplete": "off",
            "spellcheck": "false",
            "aria_label": label,
        }
        unit_shown = [element("span", *self.phrase(unit), class_="tfm-unit")] if unit else []
        return element("span", element("input", **attributes), *unit_shown, class_="tfm-field tfm-js")

    # ── the fold with the answer ──────────────────────────────────────────
    def key(self, ask: Ask) -> nodes.Node:
        right = ask.right
        said = [] if ask.kind == "order" else [element("strong", *self.phrase(ask.words(right)))]
        why = element("span", *self.phrase(right.why), data_if=ask.condition(right), class_="tfm-right")
        fold = element("details", element("summary", nodes.Text(FOLD)), class_="tfm-key")
        if ask.kind == "order":
            fold += element("ol", *(element("li", *self.phrase(step)) for step in ask.steps))
        fold += element("p", *said, *([nodes.Text(": ")] if said else []), why)
        fold += element("p", nodes.Text(f"{OTHERS}:"), class_="tfm-others")
        rest = element("ul")
        for answer in ask.wrong:
            rest += self._mistake(self.phrase(ask.words(answer)), answer, ask.condition(answer))
        if ask.otherwise:
            rest += self._mistake([nodes.Text(ELSE)], Answer("", ask.otherwise), "else")
        fold += rest
        return fold

    def _mistake(self, said: list[nodes.Node], answer: Answer, condition: str) -> nodes.Node:
        why = element("span", *self.phrase(answer.why), data_if=condition)
        return element("li", element("strong", *said), nodes.Text(": "), why)


class AskDirective(_Asking):
    """`:::{ask} id` with `:kind:`: a question, its answers `- [x]` and `- [ ]`, each with `→` and a sentence."""

    has_content = True
    option_spec: ClassVar = {
        "kind": directives.unchanged,
        "unit": directives.unchanged,
        "opening": directives.flag,
    }

    def run(self):
        options = {key: value or "" for key, value in self.options.items()}
        try:
            ask = read_ask(Block("directive", list(self.content), "ask", self.arguments[0], options))
        except ValueError as wrong:
            raise self.error(str(wrong)) from wrong
        return [self.box(ask)]


class AskAgain(_Asking):
    """`:::{ask-again} id`: repeats the question with which the chapter began, now with its answer."""

    has_content = True

    def run(self):
        try:
            ask = opening(Path(self.env.doc2path(self.env.docname)), self.arguments[0])
        except ValueError as wrong:
            raise self.error(str(wrong)) from wrong
        return [self.box(ask, again=True)]


def _visit_tag(self, node: tag | phrasing) -> None:
    attributes = {key: text for key, text in node["attributes"].items() if text is not None}
    self.body.append(f"<{node['tag']}" + "".join(f' {key}="{self.attval(text)}"' for key, text in attributes.items()))
    self.body.append("/>" if node["tag"] == "input" else ">")


def _depart_tag(self, node: tag | phrasing) -> None:
    if node["tag"] != "input":
        self.body.append(
            f"</{node['tag']}>" + ("\n" if node["tag"] in ("fieldset", "form", "li", "p", "label") else "")
        )


def send_to_the_notebook(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Where answers are still stubs, offer the notebook for download, because the reader can solve them there."""
    body, stubs = STUB.subn("", context.get("body", ""))
    if stubs:
        name = f"{pagename.rsplit('/', 1)[-1]}.ipynb"
        offer = FOR_THE_NOTEBOOK.format(href=context["pathto"](f"_downloads/{name}", 1), name=name)
        context["body"] = HEAD.sub(lambda found: found[1] + offer, body, count=1)


def setup(app: Sphinx) -> None:
    app.add_directive("ask", AskDirective)
    app.add_directive("ask-again", AskAgain)
    for kind in (tag, phrasing):
        app.add_node(kind, html=(_visit_tag, _depart_tag))
    app.connect("html-page-context", send_to_the_notebook, priority=930)
