"""Library code on a page: the lines that matter, the whole in a fold, and a sentence where a line is not there."""

import re
from pathlib import Path

import pytest

from tfm_book.notebooks.shown_code import excerpt, included_code

WHOLE = '''\
def steps(
    n: int,
    k: int = 3,
) -> int:
    """How many layers a path takes.

    It is counted, not estimated.
    """
    layers, reach = 0, 1
    while reach < n:
        reach *= k
        layers += 1
    found = dict(
        layers=layers,
        reach=reach,
    )

    return found["layers"]'''


def test_an_excerpt_is_the_signature_and_the_lines_that_are_named() -> None:
    assert excerpt(WHOLE, ["while reach", "layers +="]) == (
        "def steps(\n    n: int,\n    k: int = 3,\n) -> int:\n    ...\n    while reach < n:\n        ...\n"
        "        layers += 1\n    ..."
    )


def test_a_statement_is_shown_whole_and_a_range_from_end_to_end() -> None:
    short = excerpt(WHOLE, ["layers, reach … found =", "return"])
    head, body = WHOLE.split('    """How', 1)[0], WHOLE.split('"""\n', 2)[-1]
    assert short == head + body  # a docstring leaves no mark


def test_naming_every_line_leaves_no_gap() -> None:
    assert excerpt(WHOLE, ['"""How … return']) == WHOLE


@pytest.mark.parametrize("named", [["until"], ["return", "while"], ["while … until"]])
def test_a_line_that_is_not_there_or_stands_above_is_refused(named: list[str]) -> None:
    with pytest.raises(ValueError, match=re.escape("of 'def steps('")):
        excerpt(WHOLE, named)


def test_included_code_is_the_object_alone(tmp_path: Path) -> None:
    lib = tmp_path / "lib.py"
    lib.write_text("import re\n\n\ndef g():\n    pass\n", encoding="utf-8")
    assert included_code(lib, "g") == "def g():\n    pass"
    with pytest.raises(ValueError, match="has no h"):
        included_code(lib, "h")


def test_methods_and_classes_can_be_cut() -> None:
    whole = "class A(B):\n    x = 1\n\n    def f(self):\n        y = 2\n        return y"
    assert excerpt(whole, ["x = 1"]) == "class A(B):\n    x = 1\n    ..."
    assert excerpt(whole, ["x = 1", "def f"]) == "class A(B):\n    x = 1\n\n    def f(self):\n        ..."
    assert (
        excerpt(whole, ["def f", "return"]) == "class A(B):\n    ...\n    def f(self):\n        ...\n        return y"
    )


def test_a_selected_line_brings_the_signature_of_its_method() -> None:
    whole = (
        'class A(B):\n    """A."""\n\n    def f(\n        self, x: int, *, y: str = "a"\n    ) -> int:\n        """F."""\n'
        "        z = 2\n        return z\n\n    def g(self) -> int:\n        return 1\n\n    def h(self) -> None:\n        pass"
    )
    shown = "class A(B):\n    def f(self, x, *, y='a'):\n        ...\n        return z\n\n    def g(self) -> int:\n        return 1\n    ..."
    assert excerpt(whole, ["return z", "return 1"]) == shown
    assert "self, x: int, *" in excerpt(whole, ["def f", "return z"])


@pytest.mark.long
def test_a_page_shows_the_excerpt_and_folds_the_whole(toy_book, capfd: pytest.CaptureFixture[str]) -> None:
    (toy_book.root / "toylib" / "steps.py").write_text(f'"""Steps."""\n\n\n{WHOLE}\n')
    toy_book.edit("_config.yml", "[tfm_book.site.cache]", "[tfm_book.site.cache, tfm_book.site.extension]")
    directive = "```{excerpt} ../toylib/steps.py\n:pyobject: steps\n\nreturn\n```\n"
    toy_book.edit("chapters/two.md", "Some prose", f"{directive}\nSome prose")
    assert toy_book.build() == 0
    shown, fold = re.search(
        r'(?s)(.*)<details class="tfm-fold tfm-whole">(.*?)</details>', toy_book.page("two")
    ).groups()
    assert "How many layers" not in shown and "return" in shown
    assert "All of" in fold and "18 lines" in fold and "How many layers" in fold

    toy_book.edit("chapters/two.md", directive, f":::{{dropdown}} Code\n{directive}:::\n")
    assert toy_book.build() == 0
    assert "tfm-whole" not in toy_book.page("two") and "How many layers" in toy_book.page("two"), "a fold in a fold"
    toy_book.edit("chapters/two.md", f":::{{dropdown}} Code\n{directive}:::\n", directive)

    toy_book.edit("toylib/steps.py", "counted, not", "measured, not")
    assert toy_book.build() == 0
    assert "measured, not" in toy_book.page("two")

    toy_book.edit("chapters/two.md", "\nreturn\n", "\nyield\n")
    assert toy_book.build() == 1
    assert "excerpt of steps from ../toylib/steps.py: no line below line 4 of 'def steps('" in capfd.readouterr().err
