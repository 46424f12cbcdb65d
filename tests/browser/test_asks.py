"""Questions in the page: answered by keyboard alone, told what they are, remembered, and forgotten on request."""

import pytest
from playwright.sync_api import Locator, Page
from project import CHAPTERS
from tiers import CHAPTERS as KEPT
from tiers import every, params

from browser.driving import BEFORE, PHONE
from tfm_book.notebooks.asks import Answer, Ask, asks

STEMS = sorted(path.stem for path in CHAPTERS.glob("*.md") if asks(path))
ALL = {stem: asks(CHAPTERS / f"{stem}.md") for stem in STEMS}
SOME = pytest.mark.parametrize("stem", params(STEMS, KEPT[1:], rest=every(6, STEMS)))
RIGHT, WRONG = "That holds.", "Not yet."


def box_of(page: Page, stem: str, ask: Ask) -> Locator:
    """The box in which the question has a verdict: of an opening one, that at the chapter's end."""
    part = '[data-part="again"]' if ask.opening else ":not([data-part])"
    return page.locator(f'.tfm-ask[data-ask="{stem}.{ask.name}"]{part}')


def enter(box: Locator) -> None:
    """By the Tab key to the first thing in the box that can be answered by, after what the question links to."""
    box.evaluate(BEFORE)
    for _ in range(1 + box.locator("a").count()):
        box.page.keyboard.press("Tab")
        if box.locator("form :focus").count():
            break
    assert box.locator("form :focus").count() == 1


def tab_to(box: Locator, what: str) -> None:
    for _ in range(30):
        if box.locator(f"{what}:focus").count():
            return
        box.page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key does not reach {what}")


def forget(box: Locator) -> None:
    enter(box)
    tab_to(box, ".tfm-forget:not(.tfm-forget-all)")
    box.page.keyboard.press("Enter")
    assert box.get_attribute("data-state") == "open" and box.locator(".tfm-key").is_hidden()
    assert box.locator("form :focus").count() == 1, "the focus is lost with the button"


def reply(box: Locator, ask: Ask, answer: Answer | None) -> None:
    """Give the answer by keyboard alone; None: one that no answer of the source is."""
    key = box.page.keyboard
    enter(box)
    if ask.kind in ("choose", "line"):
        place = ask.answers.index(answer) if ask.kind == "choose" else (answer.line if answer else other_line(ask)) - 1
        key.press("Space")
        radios = box.locator("input[type=radio]")
        for _ in range(radios.count()):  # the arrows go round, from the one that was chosen before
            if radios.nth(place).is_checked():
                break
            key.press("ArrowDown")
        key.press("Enter")
    elif ask.kind in ("number", "shape"):
        key.press("ControlOrMeta+a")
        key.insert_text(typed(ask, answer))
        key.press("Enter")
    else:
        arrange(box, wanted_order(ask, answer))
        tab_to(box, ".tfm-check")
        key.press("Enter")


def other_line(ask: Ask) -> int:
    return next((k for k in range(1, len(ask.code) + 1) if k not in {a.line for a in ask.answers}), 0)


def typed(ask: Ask, answer: Answer | None) -> str:
    if answer is None:
        return "-987654321" if ask.kind == "number" else "97, 89, 83"
    if ask.kind == "shape":
        return "(" + " × ".join(map(str, answer.sizes)) + ")"
    low, high = answer.range
    middle = high - 1 if low == -float("inf") else low + 1 if high == float("inf") else (low + high) / 2
    return f"{middle:.6g}".replace("-", "−")


def wanted_order(ask: Ask, answer: Answer) -> list[int]:
    order = list(range(1, len(ask.steps) + 1))
    if not answer.right:  # the step that must not come so early, right before the other, nothing else out of place
        early, late = answer.steps
        order.remove(early)
        order.insert(order.index(late), early)
    return order


def arrange(box: Locator, order: list[int]) -> None:
    key = box.page.keyboard
    for place, step in enumerate(order):
        now = box.locator("[data-step]").evaluate_all("(all) => all.map((step) => Number(step.dataset.step))")
        if now.index(step) == place:
            continue
        enter(box)
        tab_to(box, f'[data-step="{step}"] button')
        for _ in range(now.index(step) - place):
            key.press("Enter")
            assert box.locator(f'[data-step="{step}"] button:focus').count() == 1, "the focus stays behind"
        assert "Line" in box.locator(".tfm-said").inner_text()


def told(box: Locator) -> str:
    return " ".join(box.locator(".tfm-said").inner_text().split())


def in_fold(box: Locator, condition: str) -> str:
    return " ".join(box.locator(f'.tfm-key [data-if="{condition}"]').first.text_content().split())


@pytest.mark.parametrize(
    "stem_at",
    params(
        [*((stem, "http") for stem in STEMS), (STEMS[0], "file")],
        [("recurrence", "http")],
        "-".join,
        [(STEMS[0], "file"), ("training", "http"), ("attention", "http")],
    ),
)
def test_every_answer_is_given_by_keyboard_and_told_what_it_is(visit, stem_at: tuple[str, str]) -> None:
    stem, at = stem_at
    page = visit(f"chapters/{stem}", at)
    for ask in ALL[stem]:
        box = box_of(page, stem, ask)
        assert box.get_attribute("data-state") == "open" and box.locator(".tfm-key").is_hidden()
        assert box.locator(".tfm-said").get_attribute("role") == "status" and told(box) == ""
        before = box.inner_text()
        for answer in [*ask.wrong, *([None] if ask.otherwise and (ask.kind != "line" or other_line(ask)) else [])]:
            reply(box, ask, answer)
            condition = ask.condition(answer) if answer else "else"
            assert told(box).startswith(f"✗ {WRONG}"), ask.name
            assert box.get_attribute("data-state") == "other"
            if ask.kind == "order":
                assert any(why in told(box) for why in [in_fold(box, ask.condition(each)) for each in ask.wrong])
            else:
                assert same(box, condition), f"{ask.name}: {answer}: {told(box)}"
            assert box.locator(".tfm-key").is_visible() and not box.locator(".tfm-key ul").is_visible()
        reply(box, ask, ask.right)
        assert told(box).startswith(f"✓ {RIGHT}"), f"{ask.name}: {told(box)}"
        assert same(box, ask.condition(ask.right)) and box.get_attribute("data-state") == "right"
        forget(box)
        assert box.inner_text() == before


def same(box: Locator, condition: str) -> bool:
    """Whether the verdict ends in the words that the fold has for this answer."""
    return box.evaluate(
        """(box, condition) => {
          const plain = (node) => node.textContent.replace(/\\s+/g, " ").trim();
          const source = [...box.querySelectorAll(".tfm-key [data-if]")].find((each) => each.dataset.if === condition);
          return plain(box.querySelector(".tfm-said .tfm-verdict p:last-child")) === plain(source);
        }""",
        condition,
    )


@pytest.mark.parametrize("stem", params(STEMS, (), rest=every(9, STEMS)))
def test_answers_are_remembered_and_forgotten(visit, stem: str) -> None:
    page = visit(f"chapters/{stem}", viewport=PHONE)
    given = {}
    for number, ask in enumerate(ALL[stem]):
        box = box_of(page, stem, ask)
        reply(box, ask, ask.right if number % 2 else ask.wrong[0])
        given[ask.name] = told(box)
    page.reload()
    for ask in ALL[stem]:
        assert told(box_of(page, stem, ask)) == given[ask.name]
    last = page.locator(".tfm-forget-all")
    assert last.count() == 1
    tab_to_last = last.evaluate("(button) => button.previousElementSibling.focus()")
    assert tab_to_last is None
    page.keyboard.press("Tab")
    assert last.evaluate("(button) => button === document.activeElement")
    page.keyboard.press("Enter")
    for again in (False, True):
        if again:
            page.reload()
        for ask in ALL[stem]:
            box = box_of(page, stem, ask)
            assert box.get_attribute("data-state") == "open" and told(box) == ""
        assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('tfm-ask:'))") == []


@SOME
def test_what_was_said_at_the_beginning_stands_at_the_end(visit, stem: str) -> None:
    page = visit(f"chapters/{stem}")
    ask = next(ask for ask in ALL[stem] if ask.opening)
    first = page.locator(f'.tfm-ask[data-ask="{stem}.{ask.name}"][data-part="first"]')
    last, wrong = box_of(page, stem, ask), ask.answers.index(ask.wrong[0])
    assert last.locator(".tfm-before").is_hidden()
    enter(first)
    page.keyboard.press("Space")
    for _ in range(wrong):
        page.keyboard.press("ArrowDown")
    assert first.locator(".tfm-key, .tfm-verdict").count() == 0, "the beginning gives no verdict"
    page.reload()
    chosen = first.locator("label").nth(wrong).inner_text()
    assert first.locator("input").nth(wrong).is_checked()
    assert last.locator(".tfm-before").inner_text() == f"At the beginning you said: {chosen}"
    assert last.get_attribute("data-state") == "open"
    forget_first = first.locator(".tfm-forget")
    forget_first.focus()
    page.keyboard.press("Enter")
    assert last.locator(".tfm-before").is_hidden()


def test_an_empty_answer_is_asked_for(visit) -> None:
    page = visit("chapters/self_attention")
    for kind, words in (("shape", "separated by commas"), ("number", "Write a number"), ("line", "Choose a line")):
        box = page.locator(f'.tfm-ask[data-exercise-kind="{kind}"]').first
        box.locator(".tfm-check").focus()
        page.keyboard.press("Enter")
        assert words in told(box) and box.get_attribute("data-state") == "open"


@pytest.mark.long
def test_a_number_may_be_written_in_several_ways(visit) -> None:
    page = visit("chapters/self_attention")
    box = page.locator('.tfm-ask[data-ask="self_attention.too-much-scale"]')
    for text, verdict in {
        "0.05": RIGHT,
        "20": WRONG,
        "0,05": RIGHT,
        "1 000": WRONG,
        " 1/20 ": RIGHT,
        "1/0": "",
        "5e-2": RIGHT,
        "0,050": RIGHT,
        "5%": RIGHT,
        "5 %": RIGHT,
        "½": WRONG,
        "1 1/20": WRONG,
        "0.05 times": RIGHT,
        "1,2,3": "",
        "x": "",
    }.items():
        assert_told(box, text, verdict)


def assert_told(box: Locator, text: str, verdict: str) -> None:
    box.locator("input").fill(text)
    box.locator(".tfm-check").click()
    assert verdict in told(box) and bool(verdict) == box.locator(".tfm-verdict").is_visible(), text


@pytest.mark.long
def test_a_unit_may_be_written_and_must_be_the_one_that_is_asked_for(visit) -> None:
    page, ask = visit("chapters/multihead"), next(ask for ask in ALL["multihead"] if ask.unit == "MB")
    box, right = box_of(page, "multihead", ask), typed(ask, ask.right)
    for text, verdict in {f"{right} MB": RIGHT, f"{right}MB": RIGHT, f"{right} GB": ""}.items():
        assert_told(box, text, verdict)
    assert "The unit is MB." in told(box)


@pytest.mark.long
def test_a_shape_is_of_whole_numbers_however_they_are_written(visit) -> None:
    page, ask = visit("chapters/self_attention"), next(ask for ask in ALL["self_attention"] if ask.kind == "shape")
    box, sizes = box_of(page, "self_attention", ask), [*map(str, ask.right.sizes)]
    for text, verdict in {
        ", ".join(sizes): RIGHT,
        f"({' × '.join(sizes)})": RIGHT,
        ", ".join(f"{size}.0" for size in sizes): RIGHT,
        ", ".join(f"-{size}" for size in sizes): WRONG,
    }.items():
        assert_told(box, text, verdict)


@SOME
def test_without_scripts_a_question_can_be_read_and_its_answer_unfolded(visit, stem: str) -> None:
    page = visit(f"chapters/{stem}", scripts=False)
    for ask in ALL[stem]:
        box = box_of(page, stem, ask)
        fold = box.locator(".tfm-key")
        assert fold.is_visible() and not fold.locator("ul").is_visible()
        assert box.locator(".tfm-check, .tfm-field, .tfm-forget").evaluate_all(
            "(all) => all.every((each) => !each.checkVisibility())"
        )
        shown = box.locator("label, li[data-step]").evaluate_all(
            "(all) => all.filter((each) => each.checkVisibility()).length"
        )
        assert shown == {"choose": len(ask.answers), "line": len(ask.code), "order": len(ask.steps)}.get(ask.kind, 0)
        fold.locator("summary").click()
        assert fold.locator("ul").is_visible() and fold.locator("li").count() >= len(ask.wrong)


@pytest.mark.long
def test_on_paper_the_answers_stand_at_the_end(visit) -> None:
    page = visit("chapters/self_attention")
    box = page.locator('.tfm-ask[data-exercise-kind="line"]')
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    answers = page.locator("article > .tfm-answers > ol > li")
    assert answers.count() == len(ALL["self_attention"])
    assert "math.sqrt(Q.shape[-1])" in " ".join(answers.all_inner_texts())
    assert box.is_visible() and not box.locator(".tfm-key").is_visible() and not box.locator(".tfm-check").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert answers.count() == 0
    page.emulate_media(media="screen")
