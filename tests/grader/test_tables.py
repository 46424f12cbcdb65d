"""CSV cells: no spreadsheet of any country finds a formula in them, and numbers stay numbers."""

import csv
import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfm_grader import tables
from tfm_lib._refusal import Refusal

ATTACKS = [
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", "|x", "%x", "=cmd|'/C calc'!A0", "-2+3+cmd|' /C calc'!A0",
    "＝1+1", "＋1", "－1+1", "＠SUM(A1)", "﹦1", "﹢1", "﹣1+1", "﹫x", "⁼1", "⁺1", "−1+1",
    "\t=1+1", "\r=1+1", "\n=1+1", " =1+1", "\u00a0=1+1", "\u3000=1+1", "\u200b=1+1", "\ufeff=1+1", "\0=1+1", "\x0b=1",
    "\u202e=1+1", "\u2068=1", "\x85=1", "\u2028=1", '"=1+1', '""=1', '" =1', "\u0301=1",
    "x;=1+1", "x;@SUM(A1)", "x,=1+1", "x\t=1+1", "x|=1+1", "x\n=1+1", "x\r\n=1+1", "x; =1+1", 'x;"=1+1', "x;\t=1",
    "x;＝1+1", "x;-1+1", "x;\u200b+1", ";=1", ";;=1", "x;y;=1", 'x";=1', 'a","=1+1', "x\u2029=1",
]  # fmt: skip
SAFE = [
    "Kim, Minji",
    "O'Neil",
    "이서연",
    "5",
    "-5",
    "-0.5",
    "-0,5",
    "P-3f",
    "a-b@c.org",
    "1 + 1 = 2",
    "Each; layer",
    "",
]
BEGINS = "=+-@|%−"


def cells_anywhere(text: str) -> list[str]:
    """Every cell that a spreadsheet of any country may find in the CSV `text`, however it splits lines and quotes."""
    text = text.removeprefix("\ufeff")
    found = [
        cell
        for separator in ",;\t|"
        for row in csv.reader(io.StringIO(text, newline=None), delimiter=separator)
        for cell in row
    ]
    found += re.split(r"[,;|\t\n\r\v\f\x85\u2028\u2029]", text)  # by one that knows no quotes
    return found


def would_run(cell: str) -> bool:
    """Whether `cell` may be taken for a formula by a spreadsheet that passes over blanks, quotes, and what is not seen."""
    if re.fullmatch(r"-?\d+([.,]\d+)?", cell):
        return False
    seen = [
        char for char in cell if not char.isspace() and char not in '"\0' and unicodedata.category(char)[0] not in "CM"
    ]
    return bool(seen) and unicodedata.normalize("NFKC", seen[0])[0] in BEGINS


@pytest.mark.parametrize("text", ATTACKS)
def test_no_formula_begins_anywhere(text):
    assert any(map(would_run, cells_anywhere(f"a,{text},b"))), "this attack would not have run anyway"
    made = tables.table([["student", "name"], ["kim", text], [text, "kim"]])
    assert [cell for cell in cells_anywhere(made) if would_run(cell)] == []


@given(
    st.lists(
        st.text(alphabet=st.sampled_from([*"=+-@|%;,\t\n\r \"'\0ab1.＝－﹣\u200b\u202e\u0301"]), max_size=8), min_size=1
    )
)
def test_no_mixture_of_them_begins_one(row):
    assert [cell for cell in cells_anywhere(tables.table([row])) if would_run(cell)] == []


@pytest.mark.parametrize("text", SAFE)
def test_what_is_harmless_comes_back_as_it_was(text):
    (row,) = csv.reader(io.StringIO(tables.table([[text, "end"]]).removeprefix("\ufeff")))
    assert row == [text, "end"]


def test_numbers_stay_numbers():
    assert tables.table([[-1.5, -2, 3, "-4.25"]]) == "\ufeff-1.5,-2,3,-4.25\n"


@given(st.text(max_size=30))
def test_a_guarded_cell_needs_no_second_guard(text):
    assert tables.cell(tables.cell(text)) == tables.cell(text)


# tables that people made


def rows(tmp_path, text: str, more=("author",)):
    path = tmp_path / "marks.csv"
    path.write_bytes(text.encode("utf-8-sig"))
    return tables.read_rows(path, ("student", "points"), more)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_of_any_country_is_understood(tmp_path, separator):
    text = "Student,Points \nkim, 1\n,,\n\nann,2,\n".replace(",", separator)
    expected = [
        (2, {"student": "kim", "points": "1", "author": ""}),
        (5, {"student": "ann", "points": "2", "author": ""}),
    ]
    assert rows(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no column student, points. Its first line must be: student,points"),
        ("student,author\n", "has no column points. Its first line must be: student,points,author"),
        ("student,points,points\n", "has the column points twice"),
        ("student,points\nkim," + "1" * 200_000, "line 2: field larger"),
        ("student,points,autor\n", "line 1: there is no column 'autor'; did you mean author?"),
        ("student,points,shoe size\n", "line 1: there is no column 'shoe size'. There are student, points, author,"),
        ("student,points,autor,nots\n", "did you mean notes?"),
        ("student,points\nkim,1,x\n", "line 2: it has 3 cells, and line 1 has 2. Text with a comma needs quotation"),
        ("student;points\nkim;1;x\n", "line 2: it has 3 cells, and line 1 has 2. Text with a semicolon needs"),
        ("student,points,\nkim,1,x\n", "line 2: it has 3 cells, and line 1 has 2"),
        ("student,points,author\nkim,1,Lee, Anna,\n", "line 2: it has 5 cells, and line 1 has 3"),
        ("student,points,author\nkim,1,Lee,\n", "line 2: it has 4 cells, and line 1 has 3"),
        ("student,points\nkim,1,x\n\nann,2,\nben,3,,y\n", "line 5: it has 4 cells"),
    ],
)
def test_a_table_that_cannot_be_used_is_a_sentence(tmp_path, text, sentence):
    with pytest.raises(Refusal, match=re.escape(sentence)):
        rows(tmp_path, text)


def test_empty_cells_at_the_end_of_a_line_and_notes_do_no_harm(tmp_path):
    text = "student,points,author,,\nkim,1,Lee,,\nann,2,,,,,\n"
    assert [row["author"] for _, row in rows(tmp_path, text)] == ["Lee", ""]
    assert rows(tmp_path, "student,Name,points,Notes\nkim,Kim,1,ask her\n") == [
        (2, {"student": "kim", "points": "1", "author": ""})
    ]


def test_a_table_that_a_spreadsheet_saved_in_windows_signs_is_read(tmp_path):
    (tmp_path / "marks.csv").write_bytes("student;points\nZoë;1\n".encode("cp1252"))
    assert tables.read_rows(tmp_path / "marks.csv", ("student", "points"))[0][1]["student"] == "Zoë"


def test_faults_are_told_in_the_order_of_the_lines():
    faults = tables.Faults(told=[(9, "nine")])
    for number in (7, 3):
        with faults.line(number):
            raise tables.BadTable(f"of {number}")
    with pytest.raises(tables.BadTable, match="^of 3\nof 7\nnine$"):
        faults.refuse()
