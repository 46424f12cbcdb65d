"""Without Python, a solution's lines are put in order: by keyboard and by finger, and what is wrong is told by name."""

import pytest
from checks.test_exercises import EXERCISES
from playwright.sync_api import Locator, Page
from tiers import params

from browser.driving import unfold
from tfm_book.site.lines import taken_apart, wrong_lines

MASK = "masking.decoder-mask"


class Puzzle:
    """The card of an exercise, its lines in sight."""

    def __init__(self, page: Page, id: str):
        self.page, self.card = page, page.locator(f'.tfm-exercise:has([id="{id}"])')
        unfold(self.card)
        self.card.get_by_role("button", name="Put its lines in order").click()
        self.pool, self.answer = self.card.locator(".tfm-pool"), self.card.locator("ol.tfm-puzzle")
        self.pool.wait_for()

    def take(self, *texts: str) -> None:
        for text in texts:
            self.pool.get_by_role("button", name=f"{text}: put it at the end of your answer", exact=True).click()

    def line(self, text: str) -> Locator:
        return self.answer.locator("li").filter(has=self.page.get_by_text(text, exact=True))

    def press(self, text: str, *keys: str) -> None:
        self.line(text).focus()
        for key in keys:
            self.page.keyboard.press(key)

    def told(self) -> str:
        self.card.get_by_role("button", name="Check the order").click()
        return self.card.locator(".tfm-out").inner_text()

    @property
    def solved(self) -> bool:
        return "tfm-solved" in self.card.get_attribute("class")


@pytest.mark.parametrize("id", params(wrong_lines(), (), rest=[*wrong_lines()][::8]))
def test_every_solution_is_right_and_each_wrong_line_is_told(visit, id):
    puzzle = Puzzle(visit(f"chapters/{id.partition('.')[0]}"), id)
    lines = taken_apart(EXERCISES[id].solution)
    for wrong, sentence in wrong_lines()[id]:
        puzzle.take(wrong)
        assert sentence.replace("`", "") in puzzle.told()
        puzzle.press(wrong, "Delete")
    for i, (text, depth, *_) in enumerate(lines[1:], 1):
        puzzle.take(text)
        puzzle.press(text, *["ArrowLeft"] * 5, *["ArrowRight"] * (depth - 1))
        assert ("still missing" in puzzle.told()) == (i < len(lines) - 1)
    assert puzzle.solved


@pytest.mark.parametrize("at", ["http", "file"])
def test_lines_are_ordered_indented_told_and_remembered(visit, at):
    page = visit("chapters/masking", at)
    puzzle = Puzzle(page, MASK)
    (_, size, causal, answer), ((_, _), (strict, sentence)) = [line[0] for line in taken_apart(EXERCISES[MASK].solution)], wrong_lines()[MASK]  # fmt: skip
    puzzle.take(size, strict, answer)
    assert sentence in puzzle.told() and puzzle.line(strict).get_attribute("class") == "tfm-fault"
    puzzle.press(strict, "Delete")
    assert "One line is still missing." in puzzle.told()
    puzzle.take(causal)
    assert f"{answer} stands too high: {causal} has to come before it." in puzzle.told()
    puzzle.press(causal, "ArrowUp")
    puzzle.press(causal, "ArrowRight")
    assert f"{causal} is indented too far." in puzzle.told() and not puzzle.solved
    assert page.evaluate("document.activeElement.textContent") == "Check"
    puzzle.line(causal).get_by_role("button", name="indent less").click()
    assert "✓ Right." in puzzle.told() and puzzle.solved
    if at == "http":
        page.reload()
        assert page.locator(f'.tfm-exercise.tfm-solved:has([id="{MASK}"])').count() == 1
