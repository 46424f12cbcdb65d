"""Define `{predict}`: a question that the reader answers before the page does."""

from __future__ import annotations

import html

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tfm_book.notebooks.myst import split_prediction


class predict(nodes.General, nodes.Element):
    """A question, its choices, and the explanation shown after choosing."""


class choice(nodes.General, nodes.Element):
    pass


class explanation(nodes.General, nodes.Element):
    pass


class Predict(SphinxDirective):
    """`:::{predict} id`: a question, a list of `- [ ]` and one `- [x]`, and an explanation."""

    required_arguments = 1
    has_content = True

    def run(self):
        question, choices, after = split_prediction(list(self.content))
        if sum(right for right, _ in choices) != 1 or len(choices) < 2:
            raise self.error(
                f"The prediction {self.arguments[0]!r} needs at least two choices, `- [ ]`, exactly one of them `- [x]`."
            )
        node = predict(name=f"{self.env.docname.rsplit('/', 1)[-1]}.{self.arguments[0]}")
        self._parse(question, node)
        for right, lines in choices:
            item = choice(right=right)
            self._parse(lines, item)
            node += item
        right = next(item for item in node.children if isinstance(item, choice) and item["right"])
        words = [child.deepcopy() for paragraph in right for child in paragraph]
        answer = explanation(
            "", nodes.paragraph("", "", nodes.strong("", "Answer:"), nodes.Text(" "), *words, classes=["tfm-outcome"])
        )
        self._parse(after, answer)
        node += answer
        self.set_source_info(node)
        return [node]

    def _parse(self, lines: list[str], into: nodes.Element) -> None:
        self.state.nested_parse(StringList(lines, source=self.get_source_info()[0]), self.content_offset, into)


def _visit_predict(self, node: predict) -> None:
    name = html.escape(node["name"])
    self.body.append(
        f'<div class="tfm-predict" data-predict="{name}" role="group" aria-label="Prediction">\n'
        '<p class="tfm-box-title">Predict first</p>\n'
    )
    node["count"] = 0


def _depart_predict(self, node: predict) -> None:
    self.body.append('<button type="button" class="tfm-forget" hidden>Forget my answer</button>\n</div>\n')


def _visit_choice(self, node: choice) -> None:
    form = node.parent
    name, index = html.escape(form["name"]), form["count"]
    form["count"] += 1
    if index == 0:
        self.body.append('<div class="tfm-choices" role="radiogroup" aria-label="Your prediction">\n')
    right = ' data-right=""' if node["right"] else ""
    self.body.append(f'<label class="tfm-choice"{right}><input type="radio" name="{name}" value="{index}"/><span>')
    if len(node) == 1 and isinstance(node[0], nodes.paragraph):  # a label may hold phrasing content, but no paragraphs
        node.children = node[0].children


def _depart_choice(self, node: choice) -> None:
    self.body.append("</span></label>\n")
    if not any(isinstance(sibling, choice) for sibling in node.parent[node.parent.index(node) + 1 :]):
        self.body.append("</div>\n")


def _visit_explanation(self, node: explanation) -> None:
    self.body.append('<details class="tfm-answer"><summary>What happens</summary>\n')


def _depart_explanation(self, node: explanation) -> None:
    self.body.append("</details>\n")


def setup(app: Sphinx) -> None:
    app.add_directive("predict", Predict)
    app.add_node(predict, html=(_visit_predict, _depart_predict))
    app.add_node(choice, html=(_visit_choice, _depart_choice))
    app.add_node(explanation, html=(_visit_explanation, _depart_explanation))
