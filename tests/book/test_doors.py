"""One setting, the repository's address, opens every door of a page; without it none is shown."""

import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tfm_book.site.doors import Repository, sitemap

GITHUB = Repository("https://github.com/Ann/The-Book")


def test_the_services_get_the_notebook_that_is_published():
    colab, binder, codespaces = GITHUB.notebook("masking")
    assert colab["href"] == (
        "https://colab.research.google.com/github/Ann/The-Book/blob/gh-pages/_downloads/masking.ipynb"
    )
    address = urlsplit(binder["href"])
    assert (address.netloc, address.path) == ("mybinder.org", "/v2/gh/Ann/The-Book/main")
    assert parse_qs(address.query) == {"urlpath": ["lab/tree/work/masking.ipynb"]}
    assert codespaces["href"] == "https://codespaces.new/Ann/The-Book?ref=main"
    assert GITHUB.wheel("tfm.whl") == "https://github.com/Ann/The-Book/raw/gh-pages/_downloads/tfm.whl"


@pytest.mark.parametrize(
    ("url", "pages"),
    [
        ("https://github.com/Ann/The-Book", "https://ann.github.io/The-Book"),
        ("https://github.com/ann/ann.github.io", "https://ann.github.io"),
        ("https://github.com/ann/book.git", "https://ann.github.io/book"),
        ("https://gitlab.com/ann/book", "https://ann.gitlab.io/book"),
        ("https://forge.example.org/ann/book", ""),
        ("", ""),
    ],
)
def test_the_usual_address_of_the_published_book(url, pages):
    assert Repository(url).pages == pages


def test_an_edit_and_a_report_know_their_page():
    assert GITHUB.edit("chapters/masking.md") == "https://github.com/Ann/The-Book/edit/main/chapters/masking.md"
    report = urlsplit(GITHUB.report("chapters/masking", "Masking"))
    assert report.path == "/Ann/The-Book/issues/new"
    assert parse_qs(report.query)["title"] == ["Mistake in “Masking”"]
    other = Repository("https://gitlab.com/a/b", "next")
    assert other.edit("chapters/one.md") == "https://gitlab.com/a/b/-/edit/next/chapters/one.md"
    assert "/-/issues/new?issue[title]=" in other.report("p", "t") and other.notebook("one") == []


def test_without_a_repository_there_is_no_door():
    none = Repository("")
    assert [none.notebook("one"), none.edit("a.md"), none.report("p", "t"), none.wheel("w")] == [[], "", "", ""]


def test_a_sitemap_names_every_page():
    found = ET.fromstring(sitemap("https://a.org/b/", ["chapters/two", "chapters/one"]))
    assert [place.text for place in found.findall(".//{*}loc")] == [
        "https://a.org/b/chapters/one.html",
        "https://a.org/b/chapters/two.html",
    ]


@pytest.mark.long
def test_a_page_shows_the_doors_where_the_book_has_a_repository(built_book: Path, toy_book) -> None:
    shipped = (built_book / "chapters/masking.html").read_text(encoding="utf-8")
    assert not any(word in shipped for word in ("Report a mistake", "Suggest an edit", "Colab", 'rel="canonical"'))
    assert not (built_book / "sitemap.xml").exists()
    toy_book.edit("_config.yml", "[tfm_book.site.cache]", "[tfm_book.site.cache, tfm_book.site.extension]")
    toy_book.edit("_config.yml", '{url: ""}', '{url: "https://github.com/a/b", branch: main}')
    assert toy_book.build() == 0
    page = toy_book.page("one")
    assert 'href="https://github.com/a/b/issues/new?title=Mistake' in page
    assert 'href="https://github.com/a/b/edit/main/chapters/one.md"' in page
    assert 'href="https://colab.research.google.com/github/a/b/blob/gh-pages/_downloads/one.ipynb"' in page
    assert '<link rel="canonical" href="https://a.github.io/b/chapters/one.html"' in page
    assert "https://a.github.io/b/chapters/one.html" in (toy_book.root / "_build/html/sitemap.xml").read_text(
        encoding="utf-8"
    )
    assert "Cite this book" not in page, "it has no CITATION.cff"
