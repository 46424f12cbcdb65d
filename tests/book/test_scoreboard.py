"""The scoreboard: a row more in each chapter of Parts I and II, and its numbers are those of the record."""

import re

import pytest
from bs4 import BeautifulSoup
from project import CHAPTERS, ROOT
from tiers import params

from tfm_book.notebooks.contents import pages
from tfm_book.notebooks.scoreboard import PIECES, listed, longer, rows
from tfm_lib.drawing.recorded import recorded

STEMS = list(PIECES)


def test_rows_stand_in_the_order_of_the_book():
    order = [page.split("/")[-1] for page in pages(ROOT)]
    assert [stem for stem in order if stem in PIECES] == STEMS


@pytest.mark.parametrize("stem", [path.stem for path in sorted(CHAPTERS.glob("*.md"))])
def test_each_chapter_that_builds_a_piece_adds_its_row(stem):
    text = (CHAPTERS / f"{stem}.md").read_text(encoding="utf-8")
    assert re.findall(r"^:::\{scoreboard\} (\w+)$", text, flags=re.MULTILINE) == ([stem] if stem in PIECES else [])


@pytest.mark.parametrize("stem", params(STEMS, ["self_attention"]))
def test_the_page_and_the_notebook_tell_what_was_recorded(built_book, stem):
    soup = BeautifulSoup((built_book / "chapters" / f"{stem}.html").read_text(encoding="utf-8"), "html.parser")
    table = soup.select_one(".tfm-scoreboard tbody")
    chapters = recorded("scoreboard")["chapters"]
    until = STEMS[: STEMS.index(stem) + 1]
    scores = [[run["test"]["bleu"] for run in chapters[name]["runs"]] for name in until]
    if stem == STEMS[-1]:
        scores += [[run["test"]["bleu"] for run in runs] for runs in recorded("scoreboard_long")["chapters"].values()]
    told = [f"{sum(each) / len(each):.1f} ({', '.join(f'{score:.1f}' for score in each)})" for each in scores]
    assert [
        row.select("td")[-1].get_text() for row in table.select("tr")
    ] == told  # the seeds' dots are heard as numbers
    assert [row.select_one("a")["href"] for row in table.select("[aria-current]")] == [f"{stem}.html"]
    assert [line.split(" | ")[-1].rstrip(" |") for line in listed(stem).splitlines()[4:]] == told


def test_a_chapter_without_a_row_is_refused():
    with pytest.raises(ValueError, match="no row for cost"):
        rows("cost")


def test_the_sentences_below_the_board_say_what_the_rows_show():
    least = {row.stem: min(row.scores) for row in rows("transformer")}
    most = {row.stem: max(row.scores) for row in rows("transformer")}
    assert least["attention"] > 2 * most["recurrence"]
    assert least["alignment"] > most["attention"]
    assert most["self_attention"] < 0.1
    assert most["recurrence"] < least["masking"] <= most["masking"] < least["attention"]
    assert (
        most["masking"]
        < least["multihead"]
        <= most["multihead"]
        < least["positional"]
        <= most["positional"]
        < least["attention"]
    )
    assert most["layers"] < least["positional"]
    assert most["transformer"] < least["layers"]
    gru, whole = longer("transformer")
    assert (gru.stem, whole.stem) == ("alignment", "transformer") and min(whole.scores) > max(gru.scores)
