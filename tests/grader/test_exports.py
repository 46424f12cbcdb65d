"""A class in which each case occurs once, as other programs read it: every cell of every export, by parsers of their own."""

import csv
import io
import json
import re
import warnings

import pytest
from project import ROOT

from grader.one_of_each import BAND, LATENCY, Course, course, tfm
from tfm_grader.names import digest
from tfm_lib._refusal import Refusal

TOTALS = {  # what each student has, None where nobody can say it yet
    "ann": 5.5, "dde": 5, "lea": 4.8, "nan": None, "nil": None, "ovi": 5, "sue": None, "tom": 2, "vic": None,
    "wil": None, "wim": 6,
}  # fmt: skip
ROWS = {  # by the exercise with hidden tests, and the one in words
    "ann": (4, 1.5), "dde": (4, 1), "lea": (4, 2), "nan": (None, None), "nil": (None, None), "ovi": (3, 2),
    "sue": (4, None), "tom": (2, 0), "vic": (None, None), "wil": (4, None), "wim": (4, 2),
}  # fmt: skip
NUMBERS = {
    "ann": "11", "lea": "12", "tom": "13", "nan": "14", "wil": "15", "vic": "16", "wim": "17", "ovi": "18",
    "nil": "20", "sue": "21", "dde": "22",
}  # fmt: skip
GRADEBOOK = """Student,ID,SIS User ID,SIS Login ID,Section,Masks (77),Other (78),Final Score
    Points Possible,,,,,10,3,(read only)
"Right, Ann",11,,ann@x.org,1,,2,50
"Late, Lea",12,,,1,3,,
"Twice, Tom",13,,,1,2.0,,
"Waiting, Wil",15,,,1,1,,
"Variant, Vic",16,,,1,,,
"Waived, Wim",17,,,1,EX,,
"Overridden, Ovi",18,,+49 1,1,,-1,
"Nothing, Nil",20,,,1,,,
"=cmd|' /C calc'!A0",22,,,1,,,
"Elsewhere, Ed",99,,,1,,1,
"Student, Test",,,,1,,,
"""
WORKSHEET = """Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade),Feedback comments
Participant 11,Ann Right,a@x.org,Submitted,,6.00,"Monday, 1 March 2027, 9:00 AM",
Participant 12,Lea Late,l@x.org,Submitted,3.00,6.00,-,Talk to me
Participant 13,Tom Twice,t@x.org,Submitted,1.00,6.00,-,
Participant 15,Wil Waiting,w@x.org,Submitted,,6.00,-,
Participant 99,Ed Elsewhere,e@x.org,No submission,,6.00,-,
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The course, and what its last report said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        made = course(tmp_path_factory.mktemp("course"), patch)
        made.write("gradebook.csv", GRADEBOOK)
        made.write("worksheet.csv", WORKSHEET)
        said = made.reported("--canvas", made.folder / "gradebook.csv")
        yield made, said


@pytest.fixture
def here(graded, monkeypatch) -> Course:
    monkeypatch.chdir(ROOT)
    return graded[0]


def read(path) -> list[list[str]]:
    """The cells of a CSV, by the standard's own reader, without the mark that spreadsheets need."""
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""), strict=True))


def by(rows: list[list[str]], key: str) -> dict[str, dict[str, str]]:
    found = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert len({row[key] for row in found}) == len(found)
    return {row[key]: row for row in found}


def text(points: float | None) -> str:
    return "" if points is None else f"{points:g}"


def test_grades(here):
    rows = by(read(here.report / "grades.csv"), "student")
    assert list(rows) == sorted(TOTALS), "who left is in no list, who handed in nothing is"
    for student, row in rows.items():
        assert (row[BAND], row[LATENCY]) == tuple(map(text, ROWS[student])), student
        assert row["points"] == text(TOTALS[student]) and row["of"] == "6"
        before = None if None in ROWS[student] else sum(ROWS[student])
        assert row["before lateness"] == text(before)
    assert (rows["lea"]["late days"], rows["lea"]["waived days"], rows["lea"]["before lateness"]) == ("1.5", "0", "6")
    assert (rows["wim"]["late days"], rows["wim"]["waived days"]) == ("2.5", "all")
    assert {student: row["waits"] for student, row in rows.items() if row["waits"]} == {
        "nan": f"{BAND}: another run; {LATENCY}: another run",
        "vic": f"{BAND}: another run; {LATENCY}: another run",
        "nil": "nothing handed in",
        "sue": f"{LATENCY}: a new mark, since other work was handed in",
        "wil": f"{LATENCY}: a mark",
    }
    assert rows["dde"]["name"] == "'=cmd|' /C calc'!A0"


def test_whoever_has_no_total_is_listed_by_name_with_the_reason(graded):
    said = graded[1]
    for line in (
        "left the class, and in no list: lef",
        f"{BAND} could not be judged (the judging process failed): nan",
        f"{LATENCY} could not be judged (vic is not on the roster that the numbers were made for): vic",
        "nothing handed in: nil",
        f"{LATENCY} waits for a new mark, since other work was handed in: sue",
        f"{LATENCY} waits for a mark: wil",
    ):
        assert f"  {line}\n" in said


def test_every_number_tells_what_it_was_made_from(here):
    rows = read(here.report / "audit.csv")
    lines = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert len(lines) == 2 * len(TOTALS)
    for line in lines:
        student, points = line["student"], ROWS[line["student"]][line["exercise"] == LATENCY]
        assert line["points"] == text(points)
        handed_in = here.folder / "submissions" / student / "masking.ipynb"
        if student != "nil":
            assert line["hand-in"] == digest(handed_in.read_bytes())
            assert re.fullmatch(r"[0-9a-f]{64}", line["bundle"])
            assert re.fullmatch(r"tfm-lib \S+, torch \S+, code [0-9a-f]{16}", line["grader"])
            assert line["judged at"].startswith("20")
    found = {(line["student"], line["exercise"]): line for line in lines}
    override = found["ovi", BAND]
    assert (override["by"], override["by the tests"], override["author"]) == ("hand", "0", "Dr. Lee")
    assert override["reason"] == "Right but for the name; we talked about it."
    assert override["marked text"] == override["hand-in"]
    words = found["ann", LATENCY]
    assert words["marked text"] == digest("It adds up.") and words["marked at"] == "2030-03-20"
    late = found["lea", BAND]
    assert (late["share left"], late["points"], late["counts"]) == ("0.8", "4", "3.2")
    assert found["dde", LATENCY]["reason"] == "'-half; '=cmd|' /C calc'!A0"
    grades = by(read(here.report / "grades.csv"), "student")
    own = io.StringIO()
    csv.writer(own, lineterminator="\n").writerows(row for row in rows if row[0] == "ann")
    assert grades["ann"]["audit"] == digest(own.getvalue())[:16]


def test_canvas(graded):
    here, said = graded
    before, after = list(csv.reader(io.StringIO(GRADEBOOK))), read(here.report / "canvas.csv")
    assert after[0] == before[0] and len(after) == len(before)
    grades = {row[1]: row[5] for row in after[1:]}
    assert grades == {
        "11": "5.5", "12": "3", "13": "2.0", "15": "1", "16": "", "17": "EX", "18": "5", "20": "", "22": "5", "99": "",
        "": "",
    }  # fmt: skip
    for old, new in zip(before[1:], after[1:], strict=True):
        assert [*new[:5], *new[6:]] == [*old[:5], *old[6:]], "all else is as it came"
    for line in (
        "Canvas gives 10 points for Masks, and the bundle 6.",
        "lea keeps 3 there; here it is 4.8.",
        "wil keeps 1 there; here it is not known yet.",
        "wim keeps EX there; here it is 6.",
        "In Canvas's grade book, without a result here: Elsewhere, Ed.",
        "Not in Canvas's grade book: nan, sue.",
    ):
        assert f"  {line}\n" in said
    assert "tom keeps" not in said


def test_canvas_is_overwritten_only_when_told(here):
    said = here.reported("--canvas", here.folder / "gradebook.csv", "--overwrite", "--to", here.folder / "over")
    grades = {row[1]: row[5] for row in read(here.folder / "over" / "canvas.csv")[1:]}
    assert (grades["12"], grades["13"], grades["15"], grades["17"]) == ("4.8", "2.0", "1", "EX")
    assert "lea keeps" not in said and "wil keeps 1 there" in said


def test_moodle(here):
    rows = by(read(here.report / "moodle.csv"), "Identifier")
    assert {f"Participant {number}" for number in NUMBERS.values()} == set(rows)
    for student, number in NUMBERS.items():
        row = rows[f"Participant {number}"]
        assert (row["Grade"], row["Maximum Grade"]) == (text(TOTALS[student]), "6")
        assert row["Last modified (grade)"] == "", "so that Moodle keeps what was graded since"
    assert rows["Participant 11"]["Feedback comments"] == "A band; wide: 4 of 4, Why not the whole future?: 1.5 of 2"
    assert rows["Participant 15"]["Feedback comments"].endswith("Why not the whole future?: still to come, of 2")
    assert "nothing handed in" in rows["Participant 20"]["Feedback comments"]


def test_moodles_own_worksheet_is_filled_in(here):
    said = here.reported("--moodle", here.folder / "worksheet.csv", "--to", here.folder / "worksheet")
    rows = by(read(here.folder / "worksheet" / "moodle.csv"), "Identifier")
    assert [row["Grade"] for row in rows.values()] == ["5.5", "3.00", "1.00", "", ""]
    assert rows["Participant 11"]["Last modified (grade)"] == "Monday, 1 March 2027, 9:00 AM"
    assert rows["Participant 12"]["Feedback comments"] == "Talk to me"
    assert rows["Participant 13"]["Feedback comments"] == "", "no word about points that are not taken"
    assert "lea keeps 3.00 there; here it is 4.8." in said
    assert "In the worksheet, without a result here: Ed Elsewhere." in said


def test_cells_that_are_the_instructors_own_go_back_as_they_came(here):
    heads = "Student,ID,SIS User ID,Notes,Masks (77)", "Identifier,Full name,Status,Grade,Feedback comments"
    rows = ['"Right, Ann",11,-7a,"=A1\r\n-b\tc; +d\re\nf",', '-,11,-,"@x\r\n−y",']
    for kind, head, row in zip(("canvas", "moodle"), heads, rows, strict=True):
        text = f"{head}\r\n{row}\r\n"
        (here.folder / "own.csv").write_bytes(text.encode())
        here.reported(f"--{kind}", here.folder / "own.csv", "--to", here.folder / "own")
        written = (here.folder / "own" / f"{kind}.csv").read_bytes().decode("utf-8-sig")
        before, after = ([*csv.reader(io.StringIO(each, newline=""))] for each in (text, written))
        at = before[0].index("Masks (77)" if kind == "canvas" else "Grade")
        assert after[1][at] == ("5.5" if kind == "canvas" else before[1][at])
        assert [line[:at] for line in after] == [line[:at] for line in before]


def test_grade_books_between_semicolons_are_filled_in_as_they_came(here):
    """As Canvas exports them where the comma is the decimal sign, with a title that holds more commas than heads do."""
    canvas = (
        'Student;ID;Section;"Masks, one, two, three, four, five (5)";Masks (77)\r\n'
        '    Points Possible;;;"1,00";"6,00"\r\n"Right, Ann";11;A;"0,50";\r\n"Lea; late";12;B;;"4,80"\r\n'
    )
    moodle = "Identifier;Grade;Feedback comments\r\nParticipant 11;;\r\nParticipant 12;4,8;\r\n"
    for kind, text in (("canvas", canvas), ("moodle", moodle)):
        (here.folder / "own.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
        said = here.reported(f"--{kind}", here.folder / "own.csv", "--to", here.folder / "own")
        written = (here.folder / "own" / f"{kind}.csv").read_bytes().decode("utf-8-sig")
        before, after = ([*csv.reader(io.StringIO(each, newline=""), delimiter=";")] for each in (text, written))
        grade = before[0].index("Masks (77)" if kind == "canvas" else "Grade")
        assert [row[grade] for row in after[1:] if "11" in "".join(row[:2])] == ["5,5"]
        assert [row[:grade] for row in after] == [row[:grade] for row in before]
        assert "lea keeps" not in said and "Canvas gives" not in said


def test_gradescope(here):
    for student, total in TOTALS.items():
        made = json.loads((here.report / "gradescope" / student / "results.json").read_text(encoding="utf-8"))
        assert [test["name"] for test in made["tests"]] == ["A band; wide", "Why not the whole future?"]
        if total is None:
            assert "score" not in made and not any("score" in test or "max_score" in test for test in made["tests"])
            assert made["output"].startswith("Not finished.")
        else:
            assert made["score"] == total
            assert [(test["score"], test["max_score"]) for test in made["tests"]] == list(
                zip(ROWS[student], (4, 2), strict=True)
            )
    nothing = json.loads((here.report / "gradescope" / "nil" / "results.json").read_text(encoding="utf-8"))
    assert nothing["output"] == "Not finished. nothing handed in"


@pytest.mark.long
def test_nbgrader(here, tmp_path):
    from nbgrader.api import Gradebook

    database = tmp_path / "gradebook.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here.reported("--nbgrader", database, "--to", tmp_path / "report")
        with Gradebook(f"sqlite:///{database}") as book:
            assert {student.id for student in book.students} == set(TOTALS)
            cells = {
                (cell.name, cell.cell_type, cell.max_score)
                for cell in book.find_notebook("masking", "Masks").grade_cells
            }
            assert cells == {(BAND, "code", 4), (LATENCY, "markdown", 2)}
            submitted = {each.student.id: each for each in book.assignment_submissions("Masks")}
            assert set(submitted) == set(TOTALS) - {"nil"}
            for student in submitted:
                share = 0.8 if student == "lea" else 1
                for id, points in zip((BAND, LATENCY), ROWS[student], strict=True):
                    grade = book.find_grade(id, "masking", "Masks", student)
                    assert grade.needs_manual_grade == (points is None), (student, id)
                    assert grade.auto_score == (None if points is None else pytest.approx(points * share))
            book.find_grade(LATENCY, "masking", "Masks", "wil").manual_score = 1.25
            book.db.commit()
        said = here.reported("--nbgrader", database, "--to", tmp_path / "report")
        assert f"scores given there by hand count before these: wil ({LATENCY}: 1.25)" in said
        with Gradebook(f"sqlite:///{database}") as book:
            grade = book.find_grade(LATENCY, "masking", "Masks", "wil")
            assert (grade.manual_score, grade.score, grade.needs_manual_grade) == (1.25, 1.25, False)
            book.update_or_create_submission("Masks", "nil")
            book.find_grade(BAND, "masking", "Masks", "nil").auto_score = 3
            book.add_student("lef")
            book.update_or_create_submission("Masks", "lef")
            book.db.commit()
        said = here.reported("--nbgrader", database, "--to", tmp_path / "report")
        assert "In nbgrader, and without a result here: lef." in said
        with Gradebook(f"sqlite:///{database}") as book:
            assert book.find_grade(BAND, "masking", "Masks", "nil").auto_score is None


def test_pages_open_for_all_and_say_what_is_not_known(here):
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (here.report / "feedback").glob("*.html")}
    assert set(pages) == set(TOTALS)
    assert not [name for name, page in pages.items() if "process failed" in page or "roster" in page]
    assert "– of 6 points" in pages["wil"] and "4.8 of 6 points" in pages["lea"]
    assert "<b>Unread" not in pages["wil"]


def test_what_was_not_handed_in_is_zero_by_the_instructors_word(here, tmp_path):
    here.reported("--missing", "zero", "--to", tmp_path / "option")
    manifest = json.loads((here.folder / "bundle" / "manifest.json").read_text(encoding="utf-8"))
    (tmp_path / "bundle" / "tests").mkdir(parents=True)
    (tmp_path / "bundle" / "manifest.json").write_text(json.dumps({**manifest, "missing": "zero"}), encoding="utf-8")
    (tmp_path / "bundle" / "tests" / "masking.py").write_text("# the hidden tests", encoding="utf-8")
    words = ["--bundle", tmp_path / "bundle", "--to", tmp_path / "manifest", "--waivers", here.folder / "waivers.csv"]
    tfm("report", here.results, *words, "--marks", here.folder / "marks.csv")
    for folder in ("option", "manifest"):
        rows = by(read(tmp_path / folder / "grades.csv"), "student")
        assert (rows["nil"]["points"], rows["nil"]["waits"]) == ("0", "nothing handed in")
        assert rows["wil"]["points"] == "", "what waits is no zero"
    with pytest.raises(Refusal, match="--missing is blank or zero, and not 'nought'"):
        here.reported("--missing", "nought")


def test_pseudonyms_name_nobody(here, tmp_path):
    out, key = tmp_path / "codes", tmp_path / "key.json"
    for folder in (out, tmp_path / "again"):  # the same codes again
        here.reported("--pseudonyms", key, "--to", folder)
    assert (out / "grades.csv").read_bytes() == (tmp_path / "again" / "grades.csv").read_bytes()
    files = [path for path in out.rglob("*") if path.is_file()]
    everything = "\n".join([str(path.relative_to(out)) + path.read_text(encoding="utf-8") for path in files])
    named = [
        name for row in here.folder.joinpath("roster.csv").read_text().splitlines()[1:] for name in row.split(",")[1:2]
    ]
    for secret in [
        *named,
        *("Lee", "talked", "twelve", "adds up", "Participant", "2030", "calc", "audit", "wim", "nan,"),
    ]:
        assert secret not in everything, secret
    assert not list(out.rglob("audit.csv")) and not list(out.rglob("moodle.csv"))
    rows = read(out / "grades.csv")
    assert all(re.fullmatch(r"P-[0-9a-f]{16}", row[0]) and row[0] == row[1] for row in rows[1:])
    assert sorted(row[rows[0].index("points")] for row in rows[1:]) == sorted(text(total) for total in TOTALS.values())
    late = {row[rows[0].index("late days")] for row in rows[1:]}
    assert late == {"0", "2", "3"}, "whole days, by which nobody is known"
    for where, sentence in ((out, "is not empty"), (here.report, "is not empty"), (tmp_path, "tells who is who")):
        with pytest.raises(Refusal, match=sentence):
            here.reported("--pseudonyms", key, "--to", where)
    with pytest.raises(Refusal, match="A grade book names its students"):
        here.reported("--pseudonyms", key, "--to", tmp_path / "new", "--canvas", here.folder / "gradebook.csv")
