"""Turn the built page of a chapter into an outline of slides."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, NavigableString, PageElement, Tag

#: Sections that get no slides: they are for reading at home.
UNSHOWN = {"exercises", "further-reading"}
#: Sections of code, which get slides only for their figures, formulas, widgets and questions.
CODE = {"in-the-library", "they-agree"}
SHORT = 10  # letters of a first sentence, as "A norm.", that the next one has to complete
SENTENCE_END = re.compile(r"(?<!\bFig)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bal)(?<!\b[A-Z])[.!?][”’\"')\]]*(?=\s|$)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|/")  # addresses outside the book's folder, and data
UNNEEDED = ".headerlink, noscript, script, button, .tfm-told, .tfm-forget"


@dataclass
class Slide:
    """One slide: what it shows, and the notes of the speaker. All texts but `label` are HTML."""

    kind: str  # title, section, vote, formula, figure, widget, claim, summary
    heading: str
    body: str
    label: str  # plain text, for screen readers
    notes: list[str] = field(default_factory=list)


@dataclass
class Deck:
    title: str
    question: str
    slides: list[Slide]


def outline(page: BeautifulSoup) -> Deck:
    """Return the slides of a built page in the page's order; no slides if it has no heading."""
    chapter = page.select_one("article section:has(> h1)")
    if chapter is None:
        return Deck("", "", [])
    return _Outline(chapter).deck


class _Outline:
    """Walks through a chapter; each paragraph goes to the notes of the slide that follows it in its section."""

    def __init__(self, chapter: Tag) -> None:
        self.slides: list[Slide] = []
        self.notes: list[str] = []
        self.lead = ""  # first sentence of the latest paragraph
        self.said = ""  # the lead that a slide has shown already
        heading = _one(chapter, "h1")
        goals = chapter.select_one(":scope > .goals")
        asked = goals.select_one(":scope > p:not(.admonition-title)") if goals else None
        question = _inner(asked) if asked and asked.find("strong") else ""
        self.heading = _inner(heading)
        self.answers = {str(box["data-ask"]): box for box in chapter.select('.tfm-ask[data-part="again"]')}
        kicker = chapter.select_one(":scope > .tfm-kicker")
        body = f'<p class="tfm-kicker">{_inner(kicker)}</p>' if kicker else ""
        body += f"<h1>{self.heading}</h1>" + (f'<p class="deck-lead">{question}</p>' if question else "")
        told = goals.select("ul, ol") if goals else []
        notes = ["<p>After this chapter you will be able to</p>", *map(_whole, told)] if told else []
        self.slides.append(Slide("title", "", body, _plain(heading), notes))
        self._walk(chapter)
        self._close()
        self.deck = Deck(_plain(heading), _plain(asked) if question and asked else "", self.slides)

    def _walk(self, parent: Tag) -> None:
        for node in parent.find_all(recursive=False):
            kinds = set(node.get_attribute_list("class"))
            if node.name == "section":
                self._section(node)
            elif node.name in ("p", "ul", "ol") and not kinds & {"tfm-kicker", "tfm-file", "tfm-film-link"}:
                self.notes.append(_whole(node))
                self.lead = _first_sentence(node) if node.name == "p" else self.lead
            elif "tfm-equation" in kinds:
                lead = f'<p class="deck-lead">{self.lead}</p>' if self.lead not in ("", self.said) else ""
                self._add("formula", lead + _ended(_whole(node)), "formula")
                self.said = self.lead
            elif node.name == "figure":
                self._add("figure", _whole(node), "figure")
            elif "tfm-widget" in kinds:
                self._add("widget", _widget(node), f"widget: {node.get('aria-label', '')}")
            elif "tfm-predict" in kinds or (node.name == "fieldset" and node.get("data-part")):
                self._vote(node)
            elif "misconception" in kinds:
                self._claim(node)
            elif "tfm-big-picture" in kinds:
                self._add("figure", _whole(node), "the Transformer, block by block")
            elif node.name == "details" and "more" in kinds:
                self._fold(node)
            elif kinds & {"cell", "cell_output"}:
                self._walk(node)

    def _section(self, section: Tag) -> None:
        if section.get("id") in UNSHOWN:
            return
        self._close()
        heading = section.find(["h2", "h3"], recursive=False)
        before, self.heading = self.heading, _inner(heading) if isinstance(heading, Tag) else self.heading
        paragraphs = section.find_all("p", recursive=False)
        if section.get("id") == "summary":
            points = [
                point
                for p in paragraphs
                if "tfm-film-link" not in p.get_attribute_list("class") and (point := _first_sentence(p))
            ]
            self._walk_summary(section, points)
        else:
            first = section.select_one(":scope > h2 + p:not(.tfm-file), :scope > h3 + p:not(.tfm-file)")
            if section.get("id") not in CODE and first and (core := _first_sentence(first)):
                shown = re.sub(r":((?:</\w+>)*)$", r".\1", core)  # what it announces is on another slide
                body = f'<h2>{self.heading}</h2><p class="deck-lead">{shown}</p>'
                self.slides.append(Slide("section", "", body, _text(self.heading), []))
                self.said = core
            self._walk(section)
        self._close()
        self.heading = before

    def _walk_summary(self, section: Tag, points: list[str]) -> None:
        """The question asked again, then the summary's sentences, then the picture."""
        rest = copy.copy(section)
        pictures = [picture.extract() for picture in rest.select(":scope > .tfm-big-picture")]
        self._walk(rest)
        if points:
            items = "".join(f"<li>{point}</li>" for point in points)
            self._add("summary", f'<ul class="deck-points">{items}</ul>', "in short")
        for picture in pictures:
            self._add("figure", _whole(picture), "the Transformer, block by block")

    def _fold(self, fold: Tag) -> None:
        """A fold's formulas, figures and widgets are slides below its own heading."""
        if not fold.select_one(".tfm-equation, figure, .tfm-widget"):
            return
        before, self.heading = self.heading, _inner(_one(fold, "summary"))
        notes, self.notes = self.notes, []
        self._walk(fold)
        self._close()
        self.heading, self.notes, self.lead = before, notes, ""

    def _claim(self, box: Tag) -> None:
        title, *said = box.select(":scope > p")
        claim, answer = re.sub(r"^Misconception:\s*", "", _inner(title)), _first_sentence(said[0]) if said else ""
        self.notes += map(_whole, said)
        body = f'<p class="deck-said">{claim}</p>{_step(f"<p>{answer}</p>")}'
        self._add("claim", body, f"misconception: {_text(claim)}")

    def _vote(self, box: Tag) -> None:
        """A question to vote on. The opening question keeps its answer for the end, where the page asks again."""
        title, choices = box.select_one(".tfm-box-title"), box.select(".tfm-choice")
        asked = box.select_one(".tfm-asked")
        words = asked.find_all(recursive=False) if asked else box.select(":scope > p:not(.tfm-box-title)")
        question = "".join(map(_whole, words))
        if "tfm-predict" in box.get_attribute_list("class"):
            right = [choice.has_attr("data-right") for choice in choices]
            told = [*box.select(".tfm-answer > :not(summary, .tfm-outcome)")]
        elif key := box.select_one(".tfm-key"):
            answer = key.select_one(".tfm-right")
            taken = str(answer.get("data-if", "")) if answer else ""
            right = [_value(choice) == taken for choice in choices]
            told = [answer] if answer else []
        else:
            right, told = [False] * len(choices), []
        items = "".join(
            f"<li{' data-right' if is_right else ''}><span>{_inner(_one(choice, 'span'))}</span></li>"
            for choice, is_right in zip(choices, right, strict=True)
        )
        body = f'{question}<ol class="deck-choices">{items}</ol>'
        if told:
            body += _step("".join(map(_whole, told)))
        notes, self.notes = self.notes, []
        self._add("vote", body, "vote", heading=_inner(title) if title else "")
        self.notes = notes  # what was said before belongs to the next slide; it must not give the answer away

    def _add(self, kind: str, body: str, what: str, heading: str | None = None) -> None:
        shown = self.heading if heading is None else heading
        self.slides.append(Slide(kind, shown, body, f"{_text(shown)}, {what}", self.notes))
        self.notes = []

    def _close(self) -> None:
        """Give the paragraphs after the last slide of a section to that slide."""
        self.slides[-1].notes = [*self.slides[-1].notes, *self.notes]
        self.notes, self.lead = [], ""


def _one(parent: Tag, selector: str) -> Tag:
    found = parent.select_one(selector)
    if found is None:
        raise ValueError(f"The page is not as the book builds it: there is no {selector} in {str(parent)[:80]}.")
    return found


def _value(choice: Tag) -> str:
    return str(_one(choice, "input").get("value", ""))


def _step(answer: str) -> str:
    return f'<div class="deck-answer">{answer}</div>'


def _widget(box: Tag) -> str:
    """The place of a widget; its model waits until the slide is shown."""
    clean = _clean(box)
    clean["data-waiting"] = clean.attrs.pop("data-model", "")
    return str(clean)


def _clean(node: Tag) -> Tag:
    """Return a copy that refers to nothing outside the slide."""
    node = copy.copy(node)
    for unneeded in node.select(UNNEEDED):
        unneeded.decompose()
    for image in node.select("img"):
        if ELSEWHERE.match(source := str(image.get("src", ""))) and not source.startswith("data:"):
            image.decompose()
    for tag in [node, *node.find_all(True)]:
        if tag.name == "a":
            in_drawing = tag.find_parent("svg") is not None
            tag.name = "g" if in_drawing else "span"
            for name in ("href", "xlink:href", "title", "target"):
                tag.attrs.pop(name, None)
        if tag.name != "svg" and not tag.find_parent("svg"):
            for name in ("id", "name", "aria-describedby"):
                tag.attrs.pop(name, None)
    return node


def _whole(node: Tag) -> str:
    return str(_clean(node))


def _inner(node: Tag) -> str:
    return _clean(node).decode_contents().strip()


def _plain(node: Tag) -> str:
    return _text(_inner(node))


def _text(markup: str) -> str:
    soup = BeautifulSoup(markup, "html.parser")
    for formula in soup.select(".katex-mathml, annotation"):
        formula.decompose()
    return " ".join(soup.get_text().split())


def _ended(formula: str) -> str:
    """Return the HTML of a displayed formula without the comma at its end, after which the page's sentence goes on."""
    soup = BeautifulSoup(formula, "html.parser")
    for mark in soup.select(".katex-html > :last-child > .mpunct:last-child")[-1:]:
        if mark.get_text().strip() in (",", ";"):
            mark.decompose()
    return str(soup)


def _leaves(node: Tag) -> Iterator[PageElement]:
    """Texts and formulas of a paragraph in order; a formula is one leaf."""
    for child in node.children:
        if isinstance(child, Tag) and "katex" not in child.get_attribute_list("class"):
            yield from _leaves(child)
        else:
            yield child


def _first_sentence(paragraph: Tag) -> str:
    """Return the HTML of a paragraph's first sentence."""
    clean = _clean(paragraph)
    leaves = list(_leaves(clean))
    texts = [str(leaf) if isinstance(leaf, NavigableString) else "x" for leaf in leaves]
    whole = "".join(texts)
    end = next((found.end() for found in SENTENCE_END.finditer(whole) if found.end() > SHORT), len(whole))
    for leaf, text in zip(leaves, texts, strict=True):
        if end <= 0:
            parent = leaf.parent
            leaf.extract()
            while parent is not None and parent is not clean and not parent.contents:
                emptied, parent = parent, parent.parent
                emptied.extract()
        elif end < len(text) and isinstance(leaf, NavigableString):
            leaf.replace_with(NavigableString(text[:end]))
        end -= len(text)
    return clean.decode_contents().strip()
