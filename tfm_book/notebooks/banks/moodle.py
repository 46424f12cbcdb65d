"""Write questions as Moodle XML, one category for each chapter.

A number or a shape ends with the answer `*`, which catches everything else and carries the page's sentence for it. An
order becomes a matching question, because the type *ordering* is not part of every Moodle; its feedback stands in the
combined feedback, because a matching question has none for single answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from tfm_book.notebooks.banks.items import Chapter, Choice, Item

_TYPES = {
    "choose": "multichoice",
    "line": "multichoice",
    "number": "numerical",
    "shape": "shortanswer",
    "order": "matching",
}


def moodle_xml(chapters: Iterable[Chapter], book: str) -> bytes:
    """Return the questions of `chapters` as one Moodle XML file."""
    quiz = ET.Element("quiz")
    for chapter in chapters:
        category = ET.SubElement(quiz, "question", type="category")
        names = "/".join(name.replace("/", "//") for name in (book, chapter.title))
        _text(category, "category", f"$course$/top/{names}")
        for item in chapter.items:
            quiz.append(_question(item))
    ET.indent(quiz)
    return ET.tostring(quiz, encoding="utf-8", xml_declaration=True)


def _question(item: Item) -> ET.Element:
    made = ET.Element("question", type=_TYPES[item.kind])
    _text(made, "name", item.id)
    _html(made, "questiontext", item.question)
    _html(made, "generalfeedback", "")
    for name, value in (("defaultgrade", "1"), ("penalty", "0.3333333"), ("hidden", "0"), ("idnumber", item.id)):
        ET.SubElement(made, name).text = value
    {"multichoice": _multichoice, "numerical": _numerical, "shortanswer": _shortanswer, "matching": _matching}[
        _TYPES[item.kind]
    ](made, item)
    return made


def _multichoice(made: ET.Element, item: Item) -> None:
    shuffle = "true" if item.kind == "choose" else "false"
    for name, value in (("single", "true"), ("shuffleanswers", shuffle), ("answernumbering", "none")):
        ET.SubElement(made, name).text = value
    for choice in item.choices:
        _answer(made, choice, choice.said, "html")


def _numerical(made: ET.Element, item: Item) -> None:
    for choice in item.choices:
        answer = _answer(made, choice, choice.said, "moodle_auto_format")
        ET.SubElement(answer, "tolerance").text = f"{(choice.high - choice.low) / 2:.12g}"
    ET.SubElement(_answer(made, Choice("*", item.otherwise), "*", "moodle_auto_format"), "tolerance").text = "0"
    if item.unit:  # a student may type it, and need not
        unit = ET.SubElement(ET.SubElement(made, "units"), "unit")
        ET.SubElement(unit, "multiplier").text = "1"
        ET.SubElement(unit, "unit_name").text = item.unit
    settings = {"unitgradingtype": "0", "unitpenalty": "0", "showunits": "0" if item.unit else "3", "unitsleft": "0"}
    for name, value in settings.items():
        ET.SubElement(made, name).text = value


def _shortanswer(made: ET.Element, item: Item) -> None:
    ET.SubElement(made, "usecase").text = "0"
    for choice in item.choices:
        for spelling in choice.spellings:
            _answer(made, choice, spelling, "moodle_auto_format")
    _answer(made, Choice("*", item.otherwise), "*", "moodle_auto_format")


def _matching(made: ET.Element, item: Item) -> None:
    ET.SubElement(made, "shuffleanswers").text = "true"
    mistakes = "".join(
        f"<li>{item.steps[choice.pair[0] - 1]} before {item.steps[choice.pair[1] - 1]}: {choice.why}</li>"
        for choice in item.choices
        if not choice.right
    )
    listed = f"<p>What is lost if one step comes before another:</p><ul>{mistakes}</ul>"
    _html(made, "correctfeedback", item.right.why)
    _html(made, "partiallycorrectfeedback", listed)
    _html(made, "incorrectfeedback", listed)
    for number in item.shuffled:
        pair = ET.SubElement(made, "subquestion", format="html")
        ET.SubElement(pair, "text").text = item.steps[number - 1]
        _text(pair, "answer", str(number))


def _answer(made: ET.Element, choice: Choice, said: str, form: str) -> ET.Element:
    answer = ET.SubElement(made, "answer", fraction="100" if choice.right else "0", format=form)
    ET.SubElement(answer, "text").text = said
    _html(answer, "feedback", choice.why)
    return answer


def _html(parent: ET.Element, name: str, text: str) -> None:
    _text(parent, name, text).set("format", "html")


def _text(parent: ET.Element, name: str, text: str) -> ET.Element:
    made = ET.SubElement(parent, name)
    ET.SubElement(made, "text").text = text
    return made
