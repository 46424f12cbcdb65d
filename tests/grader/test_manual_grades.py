"""Marks by hand as a file: what can be read, what cannot be meant."""

import re

import pytest

from tfm_grader import tables
from tfm_grader.scoring import manual_grades, marking_sheet
from tfm_grader.scoring.manual_grades import BadMarks

MOST = {("kim", "a.words"): 3.0, ("@ann", "a.words"): 3.0, ("kim", "a.band"): 4.0}
HEAD = "student,exercise,points,reason\n"


def given(tmp_path, text: str) -> dict:
    path = tmp_path / "marks.csv"
    path.write_text(text, encoding="utf-8")
    return manual_grades.require_known(manual_grades.read_marks(path), MOST, path).given


def test_four_columns_are_enough(tmp_path):
    (mark,) = given(tmp_path, HEAD + "kim,a.words,1.5,The twelve is missing.\n").values()
    assert (mark.points, mark.reason, mark.author, mark.text) == (1.5, "The twelve is missing.", "", "")


def test_author_time_and_text_stand_beside_and_a_country_may_write_commas(tmp_path):
    text = "student;exercise;points;reason;author;time;text\nkim;a.words;1,5;Good;Lee;2027-03-01;ABCDEF0123\n"
    (mark,) = given(tmp_path, text).values()
    assert (mark.points, mark.author, mark.time, mark.text) == (1.5, "Lee", "2027-03-01", "abcdef0123")


def test_a_rubric_is_a_line_for_each_criterion(tmp_path):
    text = "student,exercise,points,reason,criterion\nkim,a.words,1,,mechanism\nkim,a.words,0.5,no unit,number\n"
    (mark,) = given(tmp_path, text).values()
    assert mark.points == 1.5 and mark.criteria == (("mechanism", 1.0), ("number", 0.5))
    assert mark.reason == "mechanism: 1; number: 0.5 (no unit)"


def test_a_rubric_in_part_is_no_mark_yet(tmp_path):
    path = tmp_path / "marks.csv"
    path.write_text("student,exercise,points,reason,criterion\nkim,a.words,1,,mechanism\nkim,a.words,,,number\n")
    found = manual_grades.read_marks(path)
    assert found.given == {} and found.unfinished == {("kim", "a.words")}


def test_a_line_without_points_is_no_mark_yet(tmp_path):
    assert given(tmp_path, HEAD + "kim,a.words,,\n") == {}


def test_a_name_that_the_sheet_had_to_guard_is_understood(tmp_path):
    assert list(given(tmp_path, HEAD + "'@ann,a.words,1,x\n")) == [("@ann", "a.words")]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("kim,a.words,9,x", "line 2: kim cannot have 9 points for a.words; there are 0 to 3."),
        ("kim,a.words,-1,x", "line 2: kim cannot have -1 points for a.words"),
        ("kim,a.words,1000000000,x", "the points must be a number"),
        ("kim,a.words,nan,x", "the points must be a number, as 1.5, and not 'nan'"),
        ("kim,a.words,1e3,x", "the points must be a number"),
        ("kim,a.words,٣,x", "the points must be a number"),
        ("kim,a.words,1,", "line 2: a mark needs a reason"),
        ("kin,a.words,1,x", "line 2: the marks name 'kin' and 'a.words', for whom and which there is no result"),
        ("kim,a.words,1,x\nkim,a.words,2,y", "line 3: kim has a mark for a.words in line 2 already"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(tmp_path, line, sentence):
    with pytest.raises(BadMarks, match=re.escape(sentence)):
        given(tmp_path, f"{HEAD}{line}\n")


def test_all_faulty_lines_are_told_at_once(tmp_path):
    with pytest.raises(BadMarks) as refused:
        given(tmp_path, f"{HEAD}kim,a.words,many,x\nkim,a.band,1,\nkim,a.words,1,x\nkim,a.words,2,y\n")
    places = [re.search(r"line (\d):", line)[1] for line in str(refused.value).splitlines()]
    assert places == ["2", "3", "5"]
    with pytest.raises(BadMarks, match="and 5 more"):
        given(tmp_path, HEAD + "".join(f"nobody{place},a.words,1,x\n" for place in range(25)))


def test_a_text_that_is_no_hash_is_refused(tmp_path):
    with pytest.raises(BadMarks, match="eight or more of its signs"):
        given(tmp_path, "student,exercise,points,reason,text\nkim,a.words,1,x,my words\n")


def test_faults_of_a_line_and_of_the_class_are_told_together(tmp_path):
    with pytest.raises(BadMarks) as refused:
        given(tmp_path, f"{HEAD}kin,a.words,1,x\nkim,a.band,many,x\nkim,a.words,9,x\n@ann,a.words,2,Broken, by hand.\n")
    told = [line.partition(", line ")[2] for line in str(refused.value).splitlines()]
    assert [line[:1] for line in told] == ["2", "3", "4", "5"]
    assert told[3] == "5: it has 5 cells, and line 1 has 4. Text with a comma needs quotation marks."


def test_a_misspelt_column_is_refused_and_those_of_our_sheet_are_known(tmp_path):
    with pytest.raises(tables.BadTable, match=r"there is no column 'critrion'; did you mean criterion\?"):
        given(tmp_path, "student,exercise,points,reason,critrion\nkim,a.words,1,x,mechanism\n")
    head = ",".join(marking_sheet.COLUMNS)
    assert given(tmp_path, f"{head},comment\nkim,Kim,a.words,,3,1,x,,,,My answer.,good\n")["kim", "a.words"].points == 1
