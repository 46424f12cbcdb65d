"""Write questions as a QTI 2.1 content package: an item for each question, and a test for each chapter.

Each item chooses its feedback in its response processing, by the same rules as the page. The files contain no dates, so
the same questions always give the same package.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from itertools import combinations
from xml.etree import ElementTree as ET

from tfm_book.notebooks.banks.items import Chapter, Choice, Item

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
_SCHEMA = {
    QTI: f"{QTI} http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd",
    PACKAGE: f"{PACKAGE} http://www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd",
}
_BASE = {"number": "float", "shape": "string"}
ELSE = "ELSE"


def qti_package(chapters: Iterable[Chapter], book: str) -> bytes:
    """Return the questions of `chapters` as a zip archive."""
    files: dict[str, bytes] = {}
    manifest = _root("manifest", PACKAGE, identifier="MANIFEST")
    metadata = ET.SubElement(manifest, "metadata")
    ET.SubElement(metadata, "schema").text = "QTIv2.1 Package"
    ET.SubElement(metadata, "schemaversion").text = "1.0.0"
    ET.SubElement(manifest, "organizations")
    resources = ET.SubElement(manifest, "resources")
    for chapter in chapters:
        href = f"{chapter.stem}.xml"
        files[href] = _bytes(_test(chapter, book))
        test = _resource(resources, f"test.{chapter.stem}", "imsqti_test_xmlv2p1", href)
        for item in chapter.items:
            ET.SubElement(test, "dependency", identifierref=item.id)
            files[_file(item)] = _bytes(_item(item))
            _resource(resources, item.id, "imsqti_item_xmlv2p1", _file(item))
    files = {"imsmanifest.xml": _bytes(manifest), **files}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _resource(resources: ET.Element, identifier: str, kind: str, href: str) -> ET.Element:
    made = ET.SubElement(resources, "resource", identifier=identifier, type=kind, href=href)
    ET.SubElement(made, "file", href=href)
    return made


def _file(item: Item) -> str:
    return f"{item.id.replace('.', '/', 1)}.xml"


def _test(chapter: Chapter, book: str) -> ET.Element:
    test = _root("assessmentTest", QTI, identifier=f"test.{chapter.stem}", title=f"{book}: {chapter.title}")
    part = ET.SubElement(test, "testPart", identifier="part", navigationMode="nonlinear", submissionMode="individual")
    section = ET.SubElement(part, "assessmentSection", identifier="section", title=chapter.title, visible="true")
    for item in chapter.items:
        ET.SubElement(section, "assessmentItemRef", identifier=item.id, href=_file(item))
    return test


def _item(item: Item) -> ET.Element:
    made = _root("assessmentItem", QTI, identifier=item.id, title=item.id, adaptive="false", timeDependent="false")
    _declare(made, item)
    score = ET.SubElement(made, "outcomeDeclaration", identifier="SCORE", cardinality="single", baseType="float")
    ET.SubElement(ET.SubElement(score, "defaultValue"), "value").text = "0"
    ET.SubElement(made, "outcomeDeclaration", identifier="FEEDBACK", cardinality="single", baseType="identifier")
    body = ET.SubElement(made, "itemBody")
    _fill(ET.SubElement(body, "div"), item.question)
    _interaction(body, item)
    _process(ET.SubElement(made, "responseProcessing"), item)
    for number, choice in enumerate(item.choices, start=1):
        _feedback(made, f"F{number}", choice.why)
    if item.otherwise and item.kind in ("number", "shape"):
        _feedback(made, ELSE, item.otherwise)
    return made


def _declare(made: ET.Element, item: Item) -> None:
    ordered = "ordered" if item.kind == "order" else "single"
    base = _BASE.get(item.kind, "identifier")
    response = ET.SubElement(made, "responseDeclaration", identifier="RESPONSE", cardinality=ordered, baseType=base)
    correct = ET.SubElement(response, "correctResponse")
    if item.kind == "order":
        right = [f"C{number}" for number in range(1, len(item.steps) + 1)]
    elif base == "identifier":
        right = [f"C{item.choices.index(item.right) + 1}"]
    else:
        right = [item.right.said]
    for value in right:
        ET.SubElement(correct, "value").text = value
    if base != "float" and item.kind != "order":  # importers that do not process responses read this
        mapping = ET.SubElement(response, "mapping", defaultValue="0")
        for key in item.right.spellings or right:
            ET.SubElement(mapping, "mapEntry", mapKey=key, mappedValue="1")


def _interaction(body: ET.Element, item: Item) -> None:
    if item.kind in _BASE:
        ET.SubElement(
            ET.SubElement(body, "p"), "textEntryInteraction", responseIdentifier="RESPONSE", expectedLength="20"
        )
        return
    if item.kind == "order":
        into = ET.SubElement(body, "orderInteraction", responseIdentifier="RESPONSE", shuffle="false")
        for number in item.shuffled:
            _fill(ET.SubElement(into, "simpleChoice", identifier=f"C{number}"), item.steps[number - 1])
        return
    shuffle = "true" if item.kind == "choose" else "false"
    into = ET.SubElement(body, "choiceInteraction", responseIdentifier="RESPONSE", shuffle=shuffle, maxChoices="1")
    for number, choice in enumerate(item.choices, start=1):
        _fill(ET.SubElement(into, "simpleChoice", identifier=f"C{number}"), choice.said)


def _process(processing: ET.Element, item: Item) -> None:
    condition = ET.SubElement(processing, "responseCondition")
    for number, choice in enumerate(item.choices, start=1):
        branch = ET.SubElement(condition, "responseIf" if number == 1 else "responseElseIf")
        _when(branch, item, number, choice)
        if choice.right:
            _set(branch, "SCORE", "float", "1")
        _set(branch, "FEEDBACK", "identifier", f"F{number}")
    if item.otherwise and item.kind in ("number", "shape"):
        _set(ET.SubElement(condition, "responseElse"), "FEEDBACK", "identifier", ELSE)


def _when(branch: ET.Element, item: Item, number: int, choice: Choice) -> None:
    """Add the expression that is true if the student gave this answer."""
    if item.kind == "number":
        both = ET.SubElement(branch, "and")
        for operator, bound in (("gte", choice.low), ("lte", choice.high)):
            compared = ET.SubElement(both, operator)
            ET.SubElement(compared, "variable", identifier="RESPONSE")
            ET.SubElement(compared, "baseValue", baseType="float").text = f"{bound:.12g}"
    elif item.kind == "shape":
        either = ET.SubElement(branch, "or")
        for spelling in choice.spellings:
            _match(either, "string", spelling)
    elif item.kind == "order" and choice.right:
        match = ET.SubElement(branch, "match")
        ET.SubElement(match, "variable", identifier="RESPONSE")
        ET.SubElement(match, "correct", identifier="RESPONSE")
    elif item.kind == "order":
        either = ET.SubElement(branch, "or")  # one step at any place, the other at any later one
        for places in combinations(range(1, len(item.steps) + 1), 2):
            both = ET.SubElement(either, "and")
            for place, step in zip(places, choice.pair, strict=True):
                _match(both, "identifier", f"C{step}", place)
    else:
        _match(branch, "identifier", f"C{number}")


def _match(parent: ET.Element, base: str, value: str, place: int = 0) -> None:
    """Compare the response, or its entry at `place`, with `value`."""
    match = ET.SubElement(parent, "match")
    compared = ET.SubElement(match, "index", n=str(place)) if place else match
    ET.SubElement(compared, "variable", identifier="RESPONSE")
    ET.SubElement(match, "baseValue", baseType=base).text = value


def _set(branch: ET.Element, outcome: str, base: str, value: str) -> None:
    ET.SubElement(ET.SubElement(branch, "setOutcomeValue", identifier=outcome), "baseValue", baseType=base).text = value


def _feedback(made: ET.Element, identifier: str, text: str) -> None:
    feedback = ET.SubElement(
        made, "modalFeedback", outcomeIdentifier="FEEDBACK", identifier=identifier, showHide="show"
    )
    _fill(ET.SubElement(feedback, "p"), text)


def _fill(into: ET.Element, html: str) -> None:
    """Put the HTML into the element `into`."""
    read = ET.fromstring(f"<div>{html}</div>")
    into.text = read.text
    into.extend(read)


def _root(name: str, namespace: str, **attributes: str) -> ET.Element:
    ET.register_namespace("xsi", XSI)
    location = {f"{{{XSI}}}schemaLocation": _SCHEMA[namespace]}
    return ET.Element(name, {"xmlns": namespace, **location, **attributes})


def _bytes(root: ET.Element) -> bytes:
    return ET.tostring(root, encoding="utf-8", xml_declaration=True)
