"""How a chapter reads: what is first to be moved, what stands on its main path, which is all that shows before the exercises,
and how much there is of everything.

Main path: the page from its title to the heading of its exercises, with every fold closed and no answer given. Its
minutes count 170 words and ten lines of code a minute; words within widgets, plots and formulas are not counted, since
they are looked at. Practice: what the exercises say of themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.row import Row
from benchmarks.served import served_book
from tfm_book.notebooks.contents import pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

WIDE: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 740}
FIRST_WIDE, FIRST_PHONE, MINUTES = 1.5, 2.0, 20.0
#: At most so many of each in a chapter, and in the book: words before the exercises with all folds closed, screens of the
#: whole page, folds in sight, blocks of code (open or folded), exercises with a check.
MOST = {"words": 2_500, "screens": 20, "folds": 25, "blocks": 35, "exercises": 5}
ALL = {"words": 40_000, "widgets": 34}
SEVEN = ("chapters/layers", "chapters/training")  # their exercises write four parts of the reader's own machine
WORDS, LINES = 170, 10  # a minute
UNMOVED = ("chapters/mine",)  # pages without a widget: there learners move their own machine, in a notebook

MEASURE = """() => {
  const article = document.querySelector('article');
  const shown = (one) => one.checkVisibility() && !one.closest('details:not([open]) > :not(summary)');
  const top = (one) => one.getBoundingClientRect().top + scrollY;
  const height = (one) => one.getBoundingClientRect().height;
  const end = article.querySelector('#exercises');
  const practice = end ? top(end) : Infinity;
  const own = (selector) => [...article.querySelectorAll(selector)].filter(shown);
  const before = (selector) => own(selector).filter((one) => top(one) < practice);
  const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
  const pieces = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const skipped = '.tfm-widget, .tfm-still, pre, svg, .katex, .math, script, style, button, table, .tfm-kicker';
  let words = 0;
  while (pieces.nextNode()) {
    const parent = pieces.currentNode.parentElement;
    if (parent.closest(skipped) || !shown(parent) || top(parent) >= practice) continue;
    words += (pieces.currentNode.data.match(/[\\p{L}\\p{N}][\\p{L}\\p{N}’'.,-]*/gu) || []).length;
  }
  const code = before('div.cell_input pre, div[class*=highlight] pre').filter((one) => !one.closest('.cell_output'));
  const widgets = own('.tfm-widget');
  return {
    height: height(article), words,
    lines: sum(code.map((one) => one.innerText.trim().split('\\n').length)),
    code: sum(own('div.cell_input pre, div[class*=highlight] pre').filter((one) => !one.closest('.cell_output')).map(height)),
    widgets: sum(widgets.map(height)), n_widgets: widgets.length,
    first: widgets.length ? top(widgets[0]) : null,
    figures: own('figure, .tfm-figure').filter((one) => !one.parentElement.closest('figure, .tfm-figure')).length,
    bare: own('.cell_output img, .cell_output svg').filter((one) => !one.closest('figure, .tfm-widget, .tfm-still')).length,
    in_page: own('.tfm-predict, [data-exercise-kind]').length,
    folds: [...article.querySelectorAll('details')].filter((one) => one.checkVisibility() && !one.parentElement.closest('details, .tfm-card')).length,
    blocks: [...article.querySelectorAll('div.cell_input pre, div[class*=highlight] pre')].filter((one) => !one.closest('.cell_output')).length,
    exercises: article.querySelectorAll('.admonition.exercise:not(.text)').length,
  };
}"""


@dataclass(frozen=True)
class Rhythm:
    """One chapter. Heights in windows of 1280 × 900 (`phone`: of 360 × 740), shares of the page's height."""

    screens: float
    first: float
    first_phone: float
    widgets: float
    code: float
    words: int
    lines: int
    minutes: float
    figures: int
    bare: int
    in_page: int
    n_widgets: int
    folds: int
    blocks: int
    exercises: int


def chapters(root: Path) -> list[str]:
    """The pages that end in exercises."""
    return [name for name in pages(root) if "\n## Exercises\n" in (root / f"{name}.md").read_text(encoding="utf-8")]


def rhythm(browser: Browser, address: str, name: str) -> Rhythm:
    wide, phone = (_measured(browser, f"{address}/{name}.html", size) for size in (WIDE, PHONE))
    none = float("inf")
    return Rhythm(
        screens=wide["height"] / WIDE["height"],
        first=wide["first"] / WIDE["height"] if wide["first"] else none,
        first_phone=phone["first"] / PHONE["height"] if phone["first"] else none,
        widgets=wide["widgets"] / wide["height"],
        code=wide["code"] / wide["height"],
        words=wide["words"],
        lines=wide["lines"],
        minutes=wide["words"] / WORDS + wide["lines"] / LINES,
        figures=wide["figures"],
        bare=wide["bare"],
        **{name: wide[name] for name in ("in_page", "n_widgets", "folds", "blocks", "exercises")},
    )


def _measured(browser: Browser, url: str, size: ViewportSize) -> dict[str, Any]:
    page = browser.new_page(viewport=size, bypass_csp=True)
    page.goto(url, wait_until="networkidle")
    page.wait_for_function("() => [...document.querySelectorAll('.tfm-widget')].every(w => w.dataset.state === 'live')")
    found = page.evaluate(MEASURE)
    page.close()
    return found


def measure(root: Path) -> Iterator[Row]:
    with served_book(root) as (browser, address):
        every = []
        for name in chapters(root):
            every.append(found := rhythm(browser, address, name))
            if name not in UNMOVED:
                yield Row(f"{name}: first widget, screens", found.first, FIRST_WIDE, "", 2)
                yield Row(f"{name}: first widget, screens of a phone", found.first_phone, FIRST_PHONE, "", 2)
            yield Row(f"{name}: main path", found.minutes, MINUTES, "min")
            for what, most in MOST.items():
                bar = 7 if what == "exercises" and name in SEVEN else most
                yield Row(f"{name}: {what}", getattr(found, what), bar, "")
        yield Row("all chapters: words", sum(each.words for each in every), ALL["words"], "")
        yield Row("all chapters: widgets", sum(each.n_widgets for each in every), ALL["widgets"], "")


def table(root: Path) -> Iterator[dict[str, Any]]:
    """All numbers of all chapters, a dictionary each."""
    with served_book(root) as (browser, address):
        for name in chapters(root):
            yield {"chapter": name, **asdict(rhythm(browser, address, name))}


if __name__ == "__main__":
    for row in table(Path(__file__).parents[1]):
        print(*(f"{value:.2f}" if isinstance(value, float) else value for value in row.values()), sep="\t", flush=True)
