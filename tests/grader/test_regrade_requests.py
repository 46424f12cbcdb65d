"""Requests for a regrade: a file that the next report answers, for a class in which each case occurs."""

import re

import pytest
from typer.testing import CliRunner

from grader.one_of_each import BAND, LATENCY, Course, Verdicts, course
from tfm_grader import tables
from tfm_grader.judging.audit_log import Answered, AuditLog, Requested
from tfm_grader.scoring.regrade_requests import LONGEST, SHEET, BadRequests, read_requests, settle
from tfm_lib.cli import app

HEAD = "student,exercise,request,answer\n"
ASKED = (
    HEAD
    + f'ann,{LATENCY},"The ""twelve"" is there, <b>in line 3</b>.",\n'  # answered with a mark
    + f"tom,{BAND},My band is right.,Row 2 looks ahead; see the hint.\n"  # answered, and nothing changes
    + f"lea,{BAND},Look again.,\n"  # nobody has answered
    + f"lef,{BAND},I have left.,\n"
    + f"dde,{BAND},=1+1,\n"
)


@pytest.fixture
def made(tmp_path, monkeypatch) -> Course:
    return course(tmp_path, monkeypatch)


def page(made: Course, student: str) -> str:
    return re.sub(r"<[^>]+>", " ", (made.report / "feedback" / f"{student}.html").read_text("utf-8"))


def sheet(made: Course, name: str = "requests.csv") -> dict[str, dict]:
    return {row["student"]: row for row in made.table(name)}


def test_the_next_report_answers_each_request(made):
    asked = made.write("asked.csv", ASKED)
    made.change("marks.csv", "ann,masking.latency,1.5,The twelve is missing.", "ann,masking.latency,2,It is there.")
    said = made.reported("--requests", asked)
    assert f"wait for an answer: lea ({BAND}), dde ({BAND})" in " ".join(said.split())
    assert "requests passed over, since the student left the class: lef" in said
    assert "The points were 1.5 and are now 2, of 2." in page(made, "ann") and "It is there." in page(made, "ann")
    assert "&lt;b&gt;in line 3&lt;/b&gt;" in (made.report / "feedback" / "ann.html").read_text("utf-8")
    assert "Row 2 looks ahead; see the hint. The points stay as they were: 2 of 4." in page(made, "tom")
    assert "Your request is being looked at." in page(made, "lea")
    assert "You asked" not in page(made, "wim")
    assert list(sheet(made)) == ["lea", "dde", "ann", "tom"], "the open ones first"
    assert sheet(made)["ann"] | {"was": "1.5", "points": "2", "of": "2"} == sheet(made)["ann"]
    assert sheet(made)["dde"]["request"] == "'=1+1", "no formula in a spreadsheet"


@pytest.mark.long
def test_a_later_report_knows_what_the_points_were(made, monkeypatch):
    """A test was wrong: the class is judged again, and the request is answered by the new points."""
    asked = made.write("asked.csv", HEAD + f"tom,{BAND},My band is right.,\n")
    made.reported("--requests", asked)
    monkeypatch.setattr(Verdicts, "more", 1.0)
    made.grade("--force")
    made.reported("--requests", asked)
    assert "The points were 2 and are now 3, of 4." in page(made, "tom")
    made.reported("--requests", asked)
    assert "The points were 2 and are now 3, of 4." in page(made, "tom"), "still so in the report after that"


@pytest.mark.long
def test_a_regrade_before_the_first_report_with_the_request_is_seen_too(made, monkeypatch):
    made.reported()
    monkeypatch.setattr(Verdicts, "more", 1.0)
    made.grade("--force")
    made.reported("--requests", made.write("asked.csv", HEAD + f"tom,{BAND},My band is right.,\n"))
    assert "The points were 2 and are now 3, of 4." in page(made, "tom")


def test_the_sheet_is_read_back_and_what_is_in_it_is_kept(made):
    asked = made.write("asked.csv", ASKED)
    made.reported("--requests", asked)
    path = made.report / "requests.csv"
    lines = path.read_text("utf-8-sig").replace("Look again.,4,4,4,", "Look again.,4,4,4,It is right as it is.")
    path.write_text(lines, encoding="utf-8")
    made.reported("--requests", path)
    assert "It is right as it is. The points stay as they were: 4 of 4." in page(made, "lea")
    events = [line.event for line in AuditLog(made.results).lines]
    assert sum(isinstance(each, Requested) for each in events) == 4, "each request once, read back or not"
    assert [each.student for each in events if isinstance(each, Answered)] == ["tom", "lea"]
    made.reported("--requests", asked)  # the old file, which lacks Lea's answer
    assert "It is right as it is." in path.read_text("utf-8"), "a list with more in it is not overwritten"
    assert set(sheet(made, "requests-2.csv")) == {"lea", "dde", "ann", "tom"}


@pytest.mark.long
def test_codes_tell_of_no_request(made, tmp_path):
    asked = made.write("asked.csv", ASKED)
    made.reported("--requests", asked, "--pseudonyms", tmp_path / "key.json", "--to", tmp_path / "codes")
    written = [path for path in (tmp_path / "codes").rglob("*") if path.is_file()]
    assert written and not any("Look again" in path.read_text("utf-8", errors="replace") for path in written)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEAD + f"ann,{BAND},,\n", "line 2: the request is empty"),
        (HEAD + f"ann,{BAND},x,\nann,{BAND},x,\n", "line 3: this request stands in line 2 already"),
        (HEAD + f"ann,{BAND},,\nann,{BAND},x,\nann,{BAND},x,\n", "line 4: this request stands in line 3 already"),
        (HEAD + f"ann,{BAND},{'x' * (LONGEST + 1)},\n", f"at most {LONGEST} characters"),
        (HEAD + f"ann,{BAND},I said it waits, and that is all.,\n", "line 2: it has 5 cells, and line 1 has 4"),
        ("student,exercise\nann,x\n", "has no column request"),
        ("student,exercise,request,answr\n", "line 1: there is no column 'answr'; did you mean answer?"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path, text, sentence):
    path = tmp_path / "asked.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadRequests if "column" not in sentence else tables.BadTable, match=re.escape(sentence)):
        settle(read_requests(path), [], AuditLog(tmp_path), path, left={"ann"})


def test_all_faulty_requests_are_told_at_once(tmp_path):
    path = tmp_path / "asked.csv"
    path.write_text(f"{HEAD}ana,{BAND},x,\nann,{BAND},,\nben,{BAND},y,\nann,{BAND},Yes, please.,\n", encoding="utf-8")
    with pytest.raises(BadRequests) as refused:
        settle(read_requests(path), [], AuditLog(tmp_path), path)
    assert [re.search(r"line (\d):", line)[1] for line in str(refused.value).splitlines()] == ["2", "3", "4", "5"]


def test_the_columns_of_our_sheet_are_known_and_notes_are_ignored(tmp_path):
    path = tmp_path / "requests.csv"
    path.write_text(f"{','.join(SHEET)},note\nann,Ann,{BAND},x,1,2,4,Right.,mine\n", encoding="utf-8")
    (request,) = read_requests(path).requests
    assert (request.request, request.answer) == ("x", "Right.")


def test_a_request_about_nobody_is_refused_and_nothing_is_written(made):
    asked = made.write("asked.csv", HEAD + f"ana,{BAND},x,\n")
    before = (made.report / "grades.csv").read_bytes()
    words = ["report", made.results, "--bundle", made.folder / "bundle", "--requests", asked]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code and "there is no student 'ana' with an exercise" in f"{result.output} {result.exception}"
    assert (made.report / "grades.csv").read_bytes() == before


@pytest.mark.long
def test_what_the_last_report_knew_and_this_one_does_not_is_said(made):
    asked = made.write("asked.csv", ASKED)
    made.reported("--requests", asked)
    said = " ".join(made.reported(marks=False).split())
    assert "late days or due dates that the last report knew are not given this time (--waivers): wim/masking" in said
    assert (
        f"requests for a regrade that the last report knew are not given this time (--requests): ann/{LATENCY}" in said
    )
    assert "not given this time (--" not in made.reported(marks=False), "once"
