"""Questions in the pages: every chapter has them, and their answers are what the library computes."""

import importlib
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import chain, combinations

import pytest
import torch
from nbformat import NotebookNode
from project import CHAPTERS, CORE, ROOT

from tfm_book.notebooks.asks import AGAIN, Ask, asked_again, asks, read_ask
from tfm_book.notebooks.export import export_notebook
from tfm_book.notebooks.myst import Block, blocks, split_prediction, within

STEMS = sorted(path.stem for path in CHAPTERS.glob("*.md") if asks(path))
ASKS = [(stem, ask) for stem in STEMS for ask in asks(CHAPTERS / f"{stem}.md")]
NAMES = [f"{stem}.{ask.name}" for stem, ask in ASKS]


def support(stem: str, kind: str) -> dict:
    """What `tests/checks/asks/<stem>.py` holds under the name of that kind."""
    written = (ROOT / "tests" / "checks" / "asks" / f"{stem}.py").exists()
    return getattr(importlib.import_module(f"checks.asks.{stem}"), kind, {}) if written else {}


def needed(stem: str, kind: str, ask: Ask) -> Callable:
    found = support(stem, kind)
    if ask.name not in found:
        pytest.fail(
            f"tests/checks/asks/{stem}.py: {kind} has nothing under {ask.name!r}; see tests/checks/asks/__init__.py.",
            pytrace=False,
        )
    return found[ask.name]


def of_kinds(*kinds: str) -> pytest.MarkDecorator:
    some = [pytest.param(stem, ask, id=f"{stem}.{ask.name}") for stem, ask in ASKS if ask.kind in kinds]
    return pytest.mark.parametrize(("stem", "ask"), some)


# laws


@pytest.mark.parametrize("stem", [*CORE, "before"])
def test_a_chapter_has_three_questions_and_one_that_its_end_asks_again(stem: str) -> None:
    path = CHAPTERS / f"{stem}.md"
    found = asks(path)
    assert len([ask for ask in found if not ask.opening]) >= 3, f"{path.name} has fewer than three `{{ask}}`."
    assert len({ask.name for ask in found}) == len(found), f"{path.name}: two questions have one name."
    assert [ask.name for ask in found if ask.opening] == asked_again(path), (
        f"{path.name}: `:opening:` and `{{ask-again}}`."
    )
    assert len(asked_again(path)) == 1, f"{path.name} begins with no question, `:opening:`, that its end asks again."
    kinds = {ask.kind for ask in found}
    assert len(kinds) >= 3, f"{path.name} asks in fewer than three ways: {kinds}."


def test_the_right_option_stands_in_every_place() -> None:
    """Or else the place tells it. Counted over all questions and predictions with options to choose from."""
    found = [(len(ask.answers), ask.answers.index(ask.right)) for _, ask in ASKS if ask.kind == "choose"]
    for path in CHAPTERS.glob("*.md"):
        for block in chain.from_iterable(map(within, blocks(path.read_text(encoding="utf-8")))):
            if block.name == "predict":
                choices = split_prediction(block.lines)[1]
                found.append((len(choices), next(place for place, (right, _) in enumerate(choices) if right)))
    places, of_three = Counter(place for _, place in found), Counter(place for many, place in found if many == 3)
    assert max(places.values()) <= 0.45 * places.total(), f"right options by place, from 0: {places}"
    assert min(of_three[place] for place in range(3)) >= 0.2 * of_three.total(), f"of three, from 0: {of_three}"
    lines = Counter(ask.right.said.partition(":")[0] for _, ask in ASKS if ask.kind == "line")
    assert max(lines.values()) <= 0.45 * lines.total(), f"wrong lines by place: {lines}"


@pytest.mark.parametrize("stem", STEMS)
def test_the_opening_question_stands_before_the_first_section_ends_and_again_in_the_summary(stem: str) -> None:
    text = (CHAPTERS / f"{stem}.md").read_text(encoding="utf-8")
    name = asked_again(CHAPTERS / f"{stem}.md")[0]
    sections = text.split("\n## ")
    assert f"{{ask}} {name}\n" in sections[0] + sections[1]
    again = [section for section in sections if f"{{ask-again}} {name}\n" in section]
    assert [section.partition("\n")[0] for section in again] == ["Summary"]


@pytest.mark.parametrize("stem", STEMS)
def test_what_supports_an_answer_belongs_to_a_question(stem: str) -> None:
    names = {ask.name for each, ask in ASKS if each == stem}
    for kind in ("VALUES", "TRIALS", "CLAIMS", "GIVEN"):
        assert support(stem, kind).keys() <= names


# answers


@of_kinds("number")
def test_a_number_is_what_it_is_computed_to_be_and_so_is_each_mistake(stem: str, ask: Ask) -> None:
    computed = [None if value is None else float(value) for value in needed(stem, "VALUES", ask)()]
    stated = [ask.right, *ask.wrong]
    assert len(computed) == len(stated) and computed[0] is not None
    for value, answer in zip(computed, stated, strict=True):
        low, high = answer.range
        assert value is None or low <= value <= high, f"{answer.said}: {value}"
    for one, other in combinations(stated, 2):
        assert one.range[1] < other.range[0] or other.range[1] < one.range[0], f"{one.said} and {other.said} overlap"


@of_kinds("shape")
def test_a_shape_is_what_it_is_computed_to_be_and_so_is_each_mistake(stem: str, ask: Ask) -> None:
    computed = [None if shape is None else tuple(shape) for shape in needed(stem, "VALUES", ask)()]
    stated = [answer.sizes for answer in (ask.right, *ask.wrong)]
    assert computed[0] is not None
    assert [a for a, b in zip(computed, stated, strict=True) if a is not None and a != b] == []
    assert len(set(stated)) == len(stated)


def holds(stem: str, ask: Ask, code: list[str]) -> bool:
    """Whether what the question is about holds of the names that the code leaves."""
    trial = needed(stem, "TRIALS", ask)
    names = {"torch": torch, **support(stem, "GIVEN").get(ask.name, dict)()}
    try:
        exec("\n".join(code), names)  # noqa: S102 (the chapter's own lines)
        trial(names)
    except (AssertionError, ArithmeticError, LookupError, NameError, RuntimeError, TypeError, ValueError):
        return False
    return True


@of_kinds("line")
def test_the_wrong_line_is_wrong_and_mended_it_is_right(stem: str, ask: Ask) -> None:
    number = ask.right.line
    line = ask.code[number - 1]
    indent = line[: len(line) - len(line.lstrip())]
    mended = [*ask.code[: number - 1], indent + ask.right.mended, *ask.code[number:]]
    assert not holds(stem, ask, ask.code)
    assert holds(stem, ask, mended)
    assert ask.code[number - 1].strip() != ask.right.mended


@of_kinds("order")
def test_the_lines_hold_in_their_order_and_with_no_two_neighbours_turned_round(stem: str, ask: Ask) -> None:
    steps = [step.strip("`") for step in ask.steps]
    assert holds(stem, ask, steps)
    for k in range(len(steps) - 1):
        turned = [*steps[:k], steps[k + 1], steps[k], *steps[k + 2 :]]
        assert not holds(stem, ask, turned), f"nothing is lost when {steps[k]} comes after {steps[k + 1]}"


@pytest.mark.parametrize(
    ("stem", "name"), [(stem, name) for stem in STEMS for name in support(stem, "CLAIMS")], ids="{}".format
)
def test_what_is_claimed_of_a_choice_holds(stem: str, name: str) -> None:
    support(stem, "CLAIMS")[name]()


# the notebook


@cache
def exported(stem: str) -> list[NotebookNode]:
    return export_notebook(CHAPTERS / f"{stem}.md", ROOT, values={}).cells


@pytest.mark.parametrize(("stem", "ask"), ASKS, ids=NAMES)
def test_a_question_stands_in_the_notebook_with_all_that_it_tells(stem: str, ask: Ask) -> None:
    cells = exported(stem)
    texts = [cell.source for cell in cells if cell.cell_type == "markdown" and f"**{ask.title}.** " in cell.source]
    assert texts, f"{stem}.ipynb has no {ask.title!r}"
    whole = "\n".join(texts if not ask.opening else [c.source for c in cells if f"**{AGAIN}.** " in c.source])
    first = ask.question[0].split("$")[0].split("{")[0].split("[")[0].strip()
    assert first in whole
    assert whole.count("<summary>Answer</summary>") >= 1
    for line in ask.code:
        assert line in whole


@pytest.mark.parametrize(
    ("lines", "kind", "complaint"),
    [
        (["- [x] a → b"], "choose", "at least one mistake"),
        (["- [ ] a → b", "- [ ] c → d"], "choose", "exactly one right"),
        (["- [x] a → b", "- [ ] c"], "choose", "says nothing to 'c'"),
        (["- [x] 1 → b", "- [ ] 2 → d"], "number", "all other answers"),
        (["- [x] 1 → b", "- [ ] 2 → d", "- else → e"], "guess", "of the kind 'guess'"),
        (["```python", "x", "```", "- [x] 1: `y` → b", "- [ ] 2 → d", "- else → e"], "line", "does not have"),
        (["1. a", "2. b", "3. c", "", "- [x] → b", "- 2 before 1 → c"], "order", "neighbours"),
    ],
)
def test_a_question_that_is_not_whole_says_what_it_lacks(lines: list[str], kind: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_ask(Block("directive", ["What?", "", *lines], "ask", "x", {"kind": kind}))
