"""An exercise is answered in the page: by a real browser, a real server and a real kernel."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import nbformat
import pytest
from checks.test_exercises import EXERCISES, POSED, answers_to
from nbformat.reader import NotJSONError
from playwright.sync_api import Browser, Locator, Page
from project import CHAPTERS, ROOT
from reading import Server, reading

from browser.driving import DESKTOP, unfold
from tfm_book.notebooks.export import export_notebook

KERNEL_ANSWERS = 240_000  # milliseconds: it imports torch
END_KERNELS = """async () => {
  const headers = { "X-XSRFToken": /_xsrf=([^;]*)/.exec(document.cookie)[1] };
  for (const { id } of await (await fetch("/api/sessions")).json()) await fetch(`/api/sessions/${id}`, { method: "DELETE", headers });
}"""  # as a third chapter does to the first one's
TRIANGLE = "def triangle(n):\n    position = torch.arange(n)\n    return position {} position[:, None]\n"


@pytest.fixture(scope="module")
def server(built_book, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with reading(built_book, tmp_path_factory.mktemp("reading")) as server:
        yield server


@pytest.fixture(scope="module")
def visit(server: Server, browser: Browser):
    context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
    context.set_default_timeout(KERNEL_ANSWERS)
    troubles: list[str] = []

    def open_page(stem: str) -> Page:
        if not (notebook := server.work / f"{stem}.ipynb").exists():
            nbformat.write(export_notebook(CHAPTERS / f"{stem}.md", ROOT, values={}), notebook)
        page = context.new_page()
        page.on(
            "request",
            lambda request: (
                request.url.startswith((server.base, server.base.replace("http", "ws"), "data:", "blob:"))
                or troubles.append(request.url)
            ),
        )
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(server.page(f"chapters/{stem}"))
        return page

    yield open_page
    context.close()
    assert not troubles


class Card:
    """The card of an exercise, its editor open."""

    def __init__(self, page: Page, id: str) -> None:
        self.page = page
        self.box = page.locator(".tfm-exercise", has=page.locator(f"[id='{id}']"))
        unfold(self.box)
        self.box.get_by_role("button", name="Write your answer").click()
        self.editor.wait_for()

    @property
    def editor(self) -> Locator:
        return self.box.get_by_role("textbox")

    def write(self, text: str) -> None:
        self.editor.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)

    def check(self, text: str) -> str:
        """The verdict on `text`, as it stands below the editor."""
        self.write(text)
        self.page.keyboard.press("ControlOrMeta+Enter")
        self.box.locator(".tfm-state:empty").wait_for(state="attached")
        return " ".join(self.box.locator(".tfm-out, .tfm-printed").all_inner_texts())


def in_notebook(server: Server, id: str) -> str:
    """The source of the answer's cell; Jupyter writes a notebook in its place, so half of one may be met."""
    path = server.work / f"{id.partition('.')[0]}.ipynb"
    for _ in range(50):
        with suppress(NotJSONError):
            cells = nbformat.read(path, nbformat.NO_CONVERT).cells
            break
        time.sleep(0.1)
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    return code[next(i for i, source in enumerate(code) if f'check("{id}"' in source) - 1]


def test_an_answer_is_written_checked_marked_and_kept_in_the_page(server: Server, visit):
    page = visit("masking")
    page.locator(".tfm-count", has_text="0 of 5 solved").wait_for()
    card = Card(page, "masking.triangle")
    stub = card.editor.inner_text()
    page.keyboard.insert_text("return n")
    assert card.editor.inner_text() == stub.replace("...", "return n"), "one begins to write at the dots"
    card.box.get_by_role("button", name="Start over").click()
    assert card.editor.inner_text() == stub
    assert "The stub still stands here" in card.check("def triangle(n):\n    ...\n")
    assert "Not yet" in (said := card.check(TRIANGLE.format("<"))) and "the first position sees nothing" in said
    assert "does not define triangle" in card.check("def triangel(n):\n    ...\n"), "the earlier one is not judged"
    assert "AttributeError in line 2" in card.check(TRIANGLE.format("<=").replace("arange", "arnge"))
    assert card.box.locator(".tfm-fault").inner_text() == "    position = torch.arnge(n)"
    assert "SyntaxError in line 1" in card.check("def triangle(n:\n    pass\n")
    card.box.get_by_role("button", name="Show a hint").click()
    assert card.box.locator("details.hint").get_attribute("open") is not None
    answer = "print('<b>bold</b>')\n" + TRIANGLE.format("<=")
    said = card.check(answer)
    assert (
        "That holds" in said
        and "Kept as mine.causal_mask" in said
        and "“Your own machine” draws it" in said
        and "<b>bold</b>" in said
    )
    for _ in range(100):
        if in_notebook(server, "masking.triangle") == answer.rstrip():
            break
        page.wait_for_timeout(100)
    assert in_notebook(server, "masking.triangle") == answer.rstrip(), "a moment after the last key"
    assert "masking.triangle" in json.loads((server.mine / "mine.json").read_text())["answers"]
    assert page.locator(".tfm-count").inner_text() == "1 of 5 solved. Next exercise"
    card.box.locator("details.solution summary").click()
    assert card.box.locator(".tfm-compared del").all_inner_texts() == ["− print('<b>bold</b>')\n"], (
        "beside the solution"
    )
    with page.expect_download() as saved:
        card.box.get_by_role("button", name="Save my attempts").click()
    attempts = Path(saved.value.path()).read_text(encoding="utf-8")
    assert attempts.count("# masking.triangle · ") == 6 and attempts.rstrip().endswith(answer.rstrip())
    assert "the first position sees nothing" in attempts, "with what was said to each"
    card.editor.click()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Check", "the keyboard leaves the editor"
    page.reload()
    page.locator(".tfm-solved", has_text="Exercise 2").wait_for()
    assert "<= position[:, None]" in Card(page, "masking.triangle").editor.inner_text(), (
        "what was written is there again"
    )
    page.close()


@pytest.mark.long
def test_a_notebook_changed_meanwhile_is_never_written_over(server: Server, visit):
    page = visit("masking")
    id = next(each for each in EXERCISES if each.startswith("masking.") and each != "masking.triangle")
    card, path = Card(page, id), server.work / "masking.ipynb"
    stub = in_notebook(server, id)
    theirs = stub.replace("...", "return 'from the notebook'")
    book = nbformat.read(path, nbformat.NO_CONVERT)
    next(cell for cell in book.cells if cell.source == stub).source = theirs
    nbformat.write(book, path)
    card.write(stub.replace("...", "return 'from the page'"))
    note = card.box.locator(".tfm-note")
    note.get_by_role("button", name="Take the notebook's").wait_for()
    assert in_notebook(server, id) == theirs and "from the page" in card.editor.inner_text(), "both are there"
    note.get_by_role("button", name="Take the notebook's").click()
    assert "from the notebook" in card.editor.inner_text() and not note.inner_text()
    page.close()


@pytest.mark.long
def test_what_does_not_end_is_stopped_and_the_next_answer_is_checked(visit):
    page = visit("masking")
    card = Card(page, "masking.triangle")
    card.box.locator(".tfm-state:empty").wait_for(state="attached")
    card.write("while True:\n    pass\n")
    page.keyboard.press("ControlOrMeta+Enter")
    card.box.get_by_role("button", name="Stop").press("Enter")
    card.box.locator(".tfm-verdict", has_text="You stopped it").wait_for()
    card.box.locator(".tfm-state:empty").wait_for(state="attached")
    assert page.evaluate("document.activeElement.textContent") == "Check", "the keyboard is still at the buttons"
    assert "StdinNotImplementedError in line 2" in card.check("def triangle(n):\n    return input()\n")
    said = card.check("def triangle(n):\n")
    assert "IndentationError" in said and card.box.locator(".tfm-fault").inner_text() == "def triangle(n):"
    said = card.check("\n \n" + TRIANGLE.format("<=").replace("torch.arange", "torch.arnge"))
    assert "AttributeError in line 4" in said and "torch.arnge" in card.box.locator(".tfm-fault").inner_text()
    card.write("while True:\n    pass\n")
    page.keyboard.press("ControlOrMeta+Enter")
    page.wait_for_timeout(1000)  # it runs
    page.reload()
    card = Card(page, "masking.triangle")  # what was left running does not keep it from an answer
    card.box.locator(".tfm-state:empty").wait_for(state="attached")
    assert "That holds" in card.check(TRIANGLE.format("<="))
    assert "Python has ended" in card.check("import os\nos._exit(1)\n")
    page.evaluate(END_KERNELS)
    said = card.check("for i in range(100_000):\n    print(i)\n" + TRIANGLE.format("<="))
    assert "That holds" in said and "the rest is not shown" in said and len(said) < 40_000
    page.close()


@pytest.mark.long
def test_tab_completes_what_the_kernel_knows_and_the_methods_of_tensors(visit):
    page = visit("masking")
    card = Card(page, "masking.triangle")
    card.box.locator(".tfm-state:empty").wait_for(state="attached")
    card.write("x = ")
    for begun in ("torch.aran", ".unsq"):
        page.keyboard.insert_text(begun)
        page.keyboard.press("Tab")
        page.locator(".cm-tooltip-autocomplete li").first.wait_for()
        page.wait_for_timeout(200)  # in the first moments a list takes no key
        page.keyboard.press("Tab")
    assert card.editor.inner_text() == "x = torch.arange.unsqueeze"
    page.close()


@pytest.mark.long
def test_what_is_written_is_kept_where_the_browser_or_the_disk_refuses(server: Server, visit):
    id = next(each for each in EXERCISES if each.startswith("attention."))
    page = visit("attention")
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('private') } })")
    page.reload()
    card = Card(page, id)
    stub = in_notebook(server, id)
    card.write(theirs := stub.replace("...", "return 'kept'"))
    for _ in range(100):
        if in_notebook(server, id) == theirs:
            break
        page.wait_for_timeout(100)
    assert in_notebook(server, id) == theirs, "a private window: the notebook remembers"
    page.route(
        "**/api/contents/**", lambda route: route.fulfill(status=500, body='{"message": "No space left on device"}')
    )
    card.write(stub.replace("...", "return 'not on the disk'"))
    card.box.locator(".tfm-note", has_text="kept nowhere but on this page").wait_for()
    assert "No space left" in card.box.locator(".tfm-note").inner_text()
    assert in_notebook(server, id) == theirs
    page.unroute("**/api/contents/**")
    card.write(last := stub.replace("...", "return 'there is room again'"))
    for _ in range(100):
        if in_notebook(server, id) == last:
            break
        page.wait_for_timeout(100)
    assert in_notebook(server, id) == last and not card.box.locator(".tfm-note").inner_text()
    page.close()


@pytest.mark.long
def test_the_machine_is_coloured_in_and_translates_where_it_is_read(visit):
    page = visit("masking")
    assert "That holds" in Card(page, "masking.triangle").check(TRIANGLE.format("<="))
    page.close()
    page = visit("mine")
    block = page.locator('.tfm-mine-wide [data-part="causal_mask"]')
    block.locator(".mine-tick").wait_for()  # drawn where it is the reader's
    assert "mine-yours" in block.get_attribute("class")
    assert not page.locator('.tfm-mine-wide [data-part="attention"] > .mine-tick').is_visible()
    assert page.locator(".tfm-mine-wide .mine-count").text_content() == "1 of 24"
    said = page.locator(".tfm-mine-said")
    assert said.locator("a").get_attribute("href").startswith("attention.html#")
    said.get_by_role("textbox").fill("The dog sleeps.")
    said.get_by_role("button").click()
    said.locator("p", has_text="It turns “The dog sleeps.” into").wait_for()
    page.close()


@pytest.mark.release
@pytest.mark.parametrize("stem", POSED)
def test_every_exercise_of_a_chapter_is_solved_and_failed_in_the_page(visit, stem: str):
    page = visit(stem)
    for posed in POSED[stem]:
        card = Card(page, posed.id)
        right, wrong = (next(iter(answers_to(posed.id, kind).values())) for kind in ("RIGHT", "WRONG"))
        assert "That holds" in (said := card.check(right)), f"{posed.id}: {said}"
        assert "Not yet" in (said := card.check(wrong)) and re.search("→ .", said), f"{posed.id}: {said}"
    page.close()
