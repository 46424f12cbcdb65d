"""Honest hand-ins under odd names, in archives, refused or unreadable: none is lost, and none counts as nothing."""

import io
import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from project import ROOT

from grader.one_of_each import BAND, Course, Verdicts
from tfm_grader.collecting import collect
from tfm_grader.collecting.inbox import CollectionReport
from tfm_grader.judging import grade, pool
from tfm_grader.judging.audit_log import AuditLog
from tfm_grader.written_answers import digests
from tfm_lib._refusal import Refusal

STEMS = ["masking", "self_attention"]
GIVEN = {
    "masking": ["# Masks", "Make a mask.", "def band(n):", "    ..."],
    "self_attention": ["# Self-attention", "Divide the scores.", "def attend(Q, K, V):", "    ..."],
}
WISHES = {"given": {stem: frozenset(digests(lines).split()) for stem, lines in GIVEN.items()}}


def notebook(stem: str, *own: str) -> bytes:
    """The notebook of a chapter as it was handed out, with lines of the student's own."""
    cells = [{"cell_type": "code", "source": line, "metadata": {}} for line in [*GIVEN[stem], *own]]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def handed_in(folder: Path, files: dict[str, bytes], stems: list[str] = STEMS, **wishes: object) -> CollectionReport:
    for name, data in files.items():
        path = folder / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return collect.collect(folder / "class", stems, wishes=collect.CollectOptions(**{**WISHES, **wishes}))


@pytest.mark.parametrize(
    "name", ["homework_final.ipynb", "Masking_홍길동.ipynb", "masking-Copy1.ipynb", "MASKING.ipynb"]
)
def test_the_only_notebook_of_a_student_is_taken_under_any_name(tmp_path, name):
    solved = notebook("masking", "    return n")
    report = handed_in(tmp_path, {f"ann/{name}": solved}, ["masking"])
    assert [(one.student, one.stem, one.data) for one in report.kept] == [("ann", "masking", solved)]
    assert report.refused == []


def test_the_only_notebook_of_a_student_is_not_taken_where_nothing_of_the_chapter_is_in_it(tmp_path):
    thesis = json.dumps({"cells": [{"cell_type": "code", "source": "print('my thesis')"}], "metadata": {}}).encode()
    files = {"ann/thesis.ipynb": thesis, "ben/own.ipynb": notebook("masking", "    return n"), "eve/cut.ipynb": b"{"}
    report = handed_in(tmp_path, files, ["masking"])
    assert [one.student for one in report.kept] == ["ben", "eve"]  # one that cannot be read is told when it is graded
    assert report.refused == [
        ("ann/thesis.ipynb", "its name fits no chapter, and no line of it was handed out in masking")
    ]


def test_of_several_chapters_a_notebook_is_known_by_its_contents_and_taken_when_that_is_confirmed(tmp_path):
    files = {"ann/homework.ipynb": notebook("masking", "x = 1"), "ann/self_attention.ipynb": notebook("self_attention")}
    report = handed_in(tmp_path, files)
    assert [one.stem for one in report.kept] == ["self_attention"]
    ((where, why),) = report.refused
    assert where == "ann/homework.ipynb" and "its contents are those of masking" in why and "--recognised" in why
    confirmed = handed_in(tmp_path, files, recognised=True)
    assert {one.stem for one in confirmed.kept} == {"masking", "self_attention"} and confirmed.refused == []


def test_contents_of_no_chapter_are_taken_for_none(tmp_path):
    files = {"ann/essay.ipynb": b'{"cells": []}', "ann/broken.ipynb": b"{", "ann/masking.ipynb": notebook("masking")}
    report = handed_in(tmp_path, files, recognised=True)
    assert [one.stem for one in report.kept] == ["masking"]
    assert [where for where, _ in report.refused] == ["ann/broken.ipynb", "ann/essay.ipynb"]
    assert all("--recognised" not in why for _, why in report.refused)


def test_a_students_own_archive_is_opened(tmp_path):
    inside = {"work/masking.ipynb": notebook("masking", "x = 1"), "notes.txt": b"", "../evil.ipynb": b"{}"}
    report = handed_in(tmp_path, {"ann/my homework.zip": zipped(inside)})
    assert [(one.student, one.stem) for one in report.kept] == [("ann", "masking")]
    assert [why for _, why in report.refused] == [
        "its name leads out of the archive",
        "it is not a notebook (.ipynb)",
    ]


def test_of_a_students_huge_archive_the_rest_is_told(tmp_path):
    inside = {f"{place}.txt": b"" for place in range(600)} | {"work/masking.ipynb": notebook("masking", "x = 1")}
    report = handed_in(tmp_path, {"ann/all.zip": zipped(inside)})
    assert [one.student for one in report.kept] == ["ann"]
    assert ("ann/all.zip", "it holds more than 500 files; the rest was not looked at") in report.refused


def test_in_an_archive_of_canvas_the_outer_name_says_whose_a_students_archive_is(tmp_path):
    made = zipped({"leeanna_301_501_masking.zip": zipped({"kim_302_502_masking.ipynb": notebook("masking", "x = 1")})})
    (tmp_path / "canvas.zip").write_bytes(made)
    report = collect.collect(tmp_path / "canvas.zip", ["masking"], "canvas", collect.CollectOptions(**WISHES))
    assert [one.student for one in report.kept] == ["leeanna_301"]


@pytest.mark.parametrize("data", [b"PK", b"", zipped({"a.zip": zipped({"masking.ipynb": notebook("masking")})})])
def test_a_students_archive_that_holds_no_notebook_is_refused_and_costs_nobody_else(tmp_path, data):
    report = handed_in(tmp_path, {"ann/masking.zip": data, "ben/masking.ipynb": notebook("masking")})
    assert [one.student for one in report.kept] == ["ben"]
    assert [where.split("/")[0] for where, _ in report.refused] == ["ann"]


@pytest.mark.parametrize(
    "names", [("masking.ipynb", "masking-Copy1.ipynb"), ("masking (1).ipynb", "masking (2).ipynb")]
)
@pytest.mark.parametrize("turned", [False, True])
def test_an_untouched_copy_never_counts_in_place_of_a_solved_one(tmp_path, names, turned):
    solved, untouched = notebook("masking", "    return n"), notebook("masking")
    copies = dict(zip((f"ann/{name}" for name in names), (untouched, solved)[:: -1 if turned else 1], strict=True))
    report = handed_in(tmp_path, copies)
    assert [one.data for one in report.kept] == [solved]
    assert [one.data for one in report.earlier] == [untouched]
    said = " ".join([*report.notes, *(f"{where} came later" for where in report.replaced)])
    assert ("is as it was handed out" in said) != ("came later" in said), "one of the two is said"


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(pool, "Pool", Verdicts)
    made = Course(tmp_path)
    made.write("roster.csv", "student,name,lms id\nann,Ann,11\nben,Ben,12\nnil,Nil,13\n")
    made.hand_in("ann", 4, "It adds up.", -1)
    made.write("handed-in/ben/masking.pdf", "%PDF")
    made.collect()
    return made


def test_what_was_refused_is_blank_and_listed_and_never_nothing(course):
    course.grade()
    said = course.reported("--missing", "zero", marks=False)
    assert "blank until it is handed in again (ben/masking.pdf: it is not a notebook (.ipynb)): ben" in said
    rows = {line.split(",")[0]: line for line in (course.report / "grades.csv").read_text("utf-8-sig").splitlines()}
    assert ",,," in rows["ben"] and ",0,0," in rows["nil"]
    page = (course.report / "feedback" / "ben.html").read_text(encoding="utf-8")
    assert "What you handed in was not accepted" in page and "Nothing was handed in" not in page


def test_who_hands_in_again_is_judged_by_that(course):
    course.hand_in("ben", 4, "Here it is.", -1)
    course.collect()
    course.grade()
    assert "handed in again" not in course.reported("--missing", "zero", marks=False)


def test_a_notebook_that_cannot_be_read_has_a_status_of_its_own(course, monkeypatch):
    from tfm_grader.records import Unreadable

    monkeypatch.setattr(
        Verdicts, "_judged", lambda self, job: Unreadable(unreadable="it is not JSON, as a notebook is")
    )
    assert "unreadable (no notebook that can be read; blank until it is handed in again): ann" in course.grade()
    said = course.reported("--missing", "zero", marks=False)
    assert "blank until it is handed in again (The submission cannot be read as a notebook: it is not JSON" in said
    row = next(row for row in (course.report / "grades.csv").read_text("utf-8-sig").splitlines() if row[:3] == "ann")
    assert ",,," in row


def test_a_result_that_the_audit_log_tells_otherwise_is_named_before_anything_is_written(course):
    course.grade()
    path = course.results / "ann.json"
    made = json.loads(path.read_text(encoding="utf-8"))
    made["chapters"]["masking"]["exercises"][0]["points"] = 0
    path.write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(Refusal, match=f"{BAND}: results/ says 0 of 4 .*the audit log 4 of 4 .*--force.*: ann"):
        course.reported(marks=False)
    assert not (course.report / "grades.csv").exists()
    made["chapters"]["masking"]["exercises"][0] |= {"points": 4, "reason": "written by hand"}
    path.write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(
        Refusal, match=f"{BAND}: results/ tells of its tests what the audit log does not.*--force.*: ann"
    ):
        course.reported(marks=False)
    course.grade("--force")
    course.reported(marks=False)
    assert AuditLog(course.results).judged["ann", BAND].event.points == 4


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a" * 251])
def test_a_folder_whose_name_no_result_can_bear_is_a_sentence(course, name):
    import os

    os.mkdir(os.fsencode(course.folder / "submissions") + b"/" + name)
    with pytest.raises(Refusal, match="folders whose names cannot be kept"):
        course.grade()


def test_a_notebook_of_another_hand_out_is_said(tmp_path):
    from tfm_grader.assignment.bundle import Bundle
    from tfm_grader.assignment.manifest import Chapter, Manifest
    from tfm_grader.judging.process import Judge
    from tfm_grader.records import OTHER_HANDOUT, Job

    judge = Judge.__new__(Judge)
    judge.bundle = Bundle(Manifest("a", "s", {"masking": Chapter([], handouts={"ann": "a1", "ben": "b1"})}), {})
    job = Job(student="ann", stem="masking", ids=[], data=b"")
    assert [judge._handout(job, mark) for mark in ("a1", "b1", "")] == [[], [OTHER_HANDOUT], []]


def test_a_folder_under_the_name_of_a_notebook_is_told_and_stops_nobody(tmp_path):
    (tmp_path / "ann" / "masking.ipynb").mkdir(parents=True)
    (tmp_path / "ben").mkdir()
    (tmp_path / "ben" / "masking.ipynb").write_bytes(notebook("masking"))
    ann, ben = grade.submissions_in(tmp_path, SimpleNamespace(stems=["masking"]))
    assert (ann.data, ann.trouble) == (b"", "it is not a file") and ben.data and not ben.trouble
