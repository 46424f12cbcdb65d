"""The list of chapters is the table of contents with each chapter's teaser: on the page, and in its notebook."""

import re

import pytest
from project import CHAPTERS, CORE, ROOT

from tfm_book.notebooks.export import export_notebook
from tfm_book.notebooks.reading_order import listed, teaser

NEXT = re.compile(r"next (?:chapter|one)(?:, | is |: )\{doc\}`(\w+)`")
LISTED = {*CORE, "before", "playground", "mine"}  # what leads to the ideas, or back to them, has no module of its own


def contents(*stems: str) -> str:
    return "format: jb-book\nroot: chapters/intro\nchapters:\n" + "".join(
        f"- file: chapters/{stem}\n" for stem in stems
    )


@pytest.mark.parametrize("stem", sorted(LISTED))
def test_a_chapter_says_what_it_is_about_in_the_list(stem):
    said = teaser(CHAPTERS / f"{stem}.md")
    assert said.endswith("."), (
        f"chapters/{stem}.md has no sentences after `teaser:` in its first lines, for the list in intro"
    )


def test_the_list_numbers_the_chapters_in_the_order_of_the_table_of_contents():
    lines = listed(ROOT).splitlines()
    assert [line.split(".")[0] for line in lines] == [str(number) for number in range(1, len(LISTED) + 1)]
    silent = [line for line in lines if not re.search(r"\*\d+ minutes\.\*$", line)]
    assert not silent, f"the kicker of each of these chapters must tell its minutes: {silent}"
    toc = re.findall(r"chapters/(\w+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    assert [re.search(r"/(\w+)`", line)[1] for line in lines] == [stem for stem in toc if stem in LISTED]


def test_each_chapter_of_the_list_has_a_picture():
    drawn = re.findall(r'<g id="(\w+)">', (CHAPTERS / "figures/chapters.svg").read_text(encoding="utf-8"))
    assert sorted(drawn) == sorted(LISTED)


def test_page_and_notebook_follow_the_table_of_contents(toy_book):
    toy_book.edit(
        "_config.yml",
        "[tfm_book.site.cache]",
        "[sphinx_exercise, tfm_book.site.cache, tfm_book.site.extension]",
    )
    toy_book.edit(
        "_config.yml", "repository:", "parse: {myst_enable_extensions: [colon_fence, dollarmath]}\nrepository:"
    )
    for stem in ("one", "two"):
        toy_book.write(
            f"chapters/{stem}.md",
            f"---\nteaser: about *{stem}*.\n---\n# Chapter {stem}\n\n:::{{kicker}} {len(stem)} minutes\n:::\n\nText.\n",
        )
    toy_book.write("chapters/back.md", "# Back matter\n\nText.\n")
    intro = toy_book.write("chapters/intro.md", "# Intro\n\nBefore.\n\n:::{reading-order}\n:::\n\nBehind.\n")

    def shown() -> list[str]:
        toy_book.write("_toc.yml", contents(*order))
        assert toy_book.build() == 0
        items = re.search(r"<ol.*?</ol>", toy_book.page("intro"), re.DOTALL)[0]
        return re.findall(r'href="(\w+)\.html".*?About <em>(\w+)</em>', items, re.DOTALL)

    def told() -> str:
        return "\n".join(cell.source for cell in export_notebook(intro, toy_book.root).cells)

    for order in (["one", "two", "back"], ["two", "one", "back"]):
        first, second = order[:2]
        assert shown() == [(first, first), (second, second)]
        assert f"Before.\n\n1. *Chapter {first}*: about *{first}*. *3 minutes.*\n2. *Chapter {second}*: about" in told()
    toy_book.edit("chapters/one.md", "about *one*", "about *uno*")
    assert shown() == [("two", "two"), ("one", "uno")], "a teaser has changed"


def test_the_next_chapter_is_the_next_of_the_table_of_contents():
    toc = re.findall(r"chapters/(\w+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    onward = [(stem, name) for stem in toc for name in NEXT.findall((CHAPTERS / f"{stem}.md").read_text("utf-8"))]
    wrong = [(stem, name) for stem, name in onward if toc[toc.index(stem) + 1] != name]
    assert len(onward) > 1 and not wrong, f"(chapter, what it calls the next one): {wrong}"
