"""The book as one PDF: its outline, links that lead to its own sheets, sheets counted through; and who cannot print it."""

import subprocess
import sys
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from lib.test_cli import tfm
from project import ROOT
from pypdf import PdfReader

from tfm_book.notebooks.contents import pages, parts

PARTS = [("", ["chapters/intro"]), ("The pieces", ["chapters/masking"]), ("To look up", ["chapters/glossary"])]
PRINT = """\
import sys
from pathlib import Path
from tfm_book.paper import print_book
tell = lambda name, sheets: print(name, sheets)
print(print_book(Path(sys.argv[1]), {parts!r}, Path(sys.argv[2]), "The book", tell))
"""


@pytest.fixture(scope="module")
def printed(built_book: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The PDF of three pages, and what was told of it. In a process of its own: a thread has one Playwright."""
    file = tmp_path_factory.mktemp("printed") / "book.pdf"
    words = [sys.executable, "-c", PRINT.format(parts=PARTS), str(built_book), str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    return file, done.stdout.splitlines()


def titles(outline: list) -> list:
    """The outline's titles, the deeper ones in lists."""
    return [titles(each) if isinstance(each, list) else each.title for each in outline]


@pytest.mark.long
def test_its_outline_has_parts_chapters_and_sections(printed) -> None:
    book = PdfReader(printed[0])
    first, inside, pieces, masking, look_up, glossary = titles(book.outline)
    assert (first, pieces, look_up) == ("The Transformer, taken apart", "The pieces", "To look up")
    assert inside[0] == "The machine"
    assert masking[0] == "Masking" and {"Intuition", "Exercises", "Summary"} <= set(masking[1])
    assert glossary == ["Glossary", ["From Korean to English"]]
    assert book.metadata.title == "The book" and book.page_mode == "/UseOutlines"


@pytest.mark.long
def test_its_sheets_are_counted_through_and_told(printed) -> None:
    file, told = printed
    book = pdfium.PdfDocument(file)
    sheets = [int(line.split()[1]) for line in told[:-1]]
    assert [line.split()[0] for line in told[:-1]] == [name for _, names in PARTS for name in names]
    assert sum(sheets) == len(book) == int(told[-1])
    numbers = [sheet.get_textpage().get_text_bounded(left=400, bottom=0, top=45).strip() for sheet in book]
    assert numbers == [str(i) for i in range(1, len(book) + 1)]


@pytest.mark.long
def test_a_link_leads_to_the_sheet_of_what_it_names(printed) -> None:
    file, told = printed
    book, seen = PdfReader(file), pdfium.PdfDocument(file)
    order = {sheet.indirect_reference.idnum: i for i, sheet in enumerate(book.pages)}
    glossary = len(book.pages) - int(told[2].split()[1])
    terms = 0
    for i, sheet in enumerate(book.pages):
        for link in (each.get_object() for each in sheet.get("/Annots", [])):
            assert not str(link.get("/A", {}).get("/URI", "https:")).startswith("file:")
            if "/Dest" not in link:
                continue
            to, top = order[link["/Dest"][0].idnum], float(link["/Dest"][3])
            assert to in range(len(book.pages)) and 0 <= top <= 843
            left, bottom, right, upper = map(float, link["/Rect"])
            name = seen[i].get_textpage().get_text_bounded(left, bottom + 2, right, upper - 2).strip().lower()
            there = seen[to].get_textpage().get_text_bounded(bottom=top - 60, top=top).lower()
            if i < glossary <= to and name.isalpha() and name.isascii():
                terms += name.rstrip("s") in there
    assert terms >= 5, "a term in a chapter leads to its place in the glossary"


def test_the_parts_of_the_book_are_its_pages() -> None:
    found = parts(ROOT)
    assert [name for _, names in found for name in names] == pages(ROOT)
    assert found[0] == ("", ["chapters/intro"])
    assert "The pieces" in dict(found)


# who cannot print


def test_a_book_that_is_not_built_is_not_printed(toy_book) -> None:
    run = tfm("paper", cwd=toy_book.root)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == "3 of 3 pages are not built yet. Build the book first: tfm build\n"


def test_without_a_browser_the_command_says_how_to_get_one(toy_book, tmp_path: Path) -> None:
    for name in pages(toy_book.root):
        page = toy_book.root / "_build" / "html" / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("<article></article>", encoding="utf-8")
    run = tfm("paper", "--to", str(tmp_path / "book.pdf"), cwd=toy_book.root, CHROMIUM="no-such-browser")
    assert run.returncode == 1 and "Traceback" not in run.stderr
    assert "CHROMIUM names no-such-browser, which is no program here" in run.stderr
    run = tfm("paper", "--to", str(tmp_path / "nowhere" / "book.pdf"), cwd=toy_book.root)
    assert run.returncode == 1 and "Make it, or name another: --to" in run.stderr
