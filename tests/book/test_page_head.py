"""What pages say of themselves: one title, a description, a picture to share, a citation, where mistakes are reported."""

from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup
from project import ROOT

from tfm_book.notebooks.contents import pages
from tfm_book.site.about import citation, description
from tfm_book.site.search import words_of_formula

PAGES = pages(ROOT)
BOOK = "The Transformer, taken apart"


def head(built_book: Path, page: str) -> BeautifulSoup:
    text = (built_book / f"{page}.html").read_text(encoding="utf-8")
    return BeautifulSoup(text[: text.index("</head>")], "html.parser").head


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_it_is(built_book: Path, page: str) -> None:
    said = head(built_book, page)
    title, (words,) = said.title.get_text(), [meta["content"] for meta in said.select('meta[name="description"]')]
    assert title.count(BOOK) == 1 and (title == BOOK or title.endswith(f" · {BOOK}"))
    assert 40 <= len(words) <= 200 and not set(words) & set("\\${}`*")
    assert words[0] == words[0].upper() and words[-1] in ".?!…"
    shared = {meta["property"]: meta["content"] for meta in said.select("meta[property]")}
    assert shared["og:title"] == title.removesuffix(f" · {BOOK}") and shared["og:description"] == words
    picture = (built_book / page).parent / shared["og:image"]
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size < 300_000


def test_descriptions_differ(built_book: Path) -> None:
    said = [head(built_book, page).select_one('meta[name="description"]')["content"] for page in PAGES]
    assert len(set(said)) == len(said)


def test_a_description_is_of_whole_sentences() -> None:
    assert description("one {term}`head <heads>` looks. " + "And more " * 30) == "One head looks."
    assert description("word " * 90).endswith("word …")


def test_the_citation_is_that_of_the_file() -> None:
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    said = citation(cff, "2026")
    assert said["text"] == f"The authors of {BOOK} (2026). {BOOK}. Version {cff['version']}."
    assert f"title = {{{{{BOOK}}}}}" in said["bibtex"] and "year = {2026}" in said["bibtex"]
    person = {"family-names": "Noether", "given-names": "Emmy"}
    signed = citation({**cff, "authors": [person, person], "date-released": "2027-01-02", "url": "https://a.org"}, "")
    assert (
        "author = {Noether, Emmy and Noether, Emmy}" in signed["bibtex"] and "url = {https://a.org}" in signed["bibtex"]
    )
    assert signed["text"].endswith("(2027). " + f"{BOOK}. Version {cff['version']}. https://a.org")


@pytest.mark.parametrize(
    ("tex", "words"),
    [
        (r"d_k", "d_k"),
        (r"\frac{1}{\sqrt{d_k}}", "1/√d_k"),
        (r"\Q\K^\top", "QKᵀ"),
        (r"-\infty", "-∞"),
        (r"v^\top\tanh(W_1 q)", "vᵀtanh(W_1 q)"),
        (r"\sum_{i=1}^{n} \alpha_i h_i = \sum_{i=1}^{n} \beta_i h_i + \gamma_i g_i + \delta_i d_i", ""),
    ],
)
def test_a_formula_is_searched_as_it_would_be_typed(tex: str, words: str) -> None:
    assert words_of_formula(tex) == words
