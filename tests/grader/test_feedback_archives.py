"""Feedback as an LMS takes it: archives read back by the rules by which Canvas and Moodle find the student."""

import io
import zipfile

from tfm_grader.exports.feedback_archives import archives


def names(data: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def canvas_reads(name: str) -> tuple[str, str]:
    """A student's and a submission's number, as Canvas takes them: the first two parts of the name that are numbers."""
    parts = [part for part in name.rsplit("/", 1)[-1].split("_") if part != "LATE"]
    first, second = [part for part in parts if part.isdigit()][:2]
    return first, second


def moodle_reads(name: str) -> tuple[str, str, str]:
    """A participant's number, the kind of the folder, and the name that the file gets, as Moodle takes them."""
    top, _, rest = name.partition("/")
    _, number, kind, plugin, left = (*top.split("_", 4), "")[:5]
    assert number.isdigit()
    return number, f"{kind}_{plugin}", "/".join(filter(None, [left, rest]))


def test_canvas_finds_every_student_by_the_name_of_the_notebook_that_was_handed_in():
    pages = {"kim": "<p>Kim</p>", "lee": "<p>이서연</p>", "ann": "<p>Ann</p>"}
    handed = [
        ("kim", "canvas", "kimminji_11_501_20241234_masking.ipynb"),
        ("kim", "canvas", "kimminji_11_502_layers.ipynb"),
        ("lee", "canvas", "이서연_LATE_13_503_masking (2).ipynb"),
        ("ann", "canvas", "oneilann_12_504_masking-1.ipynb"),
        ("gone", "canvas", "gone_14_505_masking.ipynb"),
    ]
    made = archives(pages, handed)
    assert list(made) == ["feedback-canvas.zip"]
    read = names(made["feedback-canvas.zip"])
    assert {canvas_reads(name): text for name, text in read.items()} == {
        ("11", "501"): pages["kim"],
        ("13", "503"): pages["lee"],
        ("12", "504"): pages["ann"],
    }
    assert set(read) == {
        "kimminji_11_501_20241234_masking.html",
        "이서연_LATE_13_503_masking (2).html",
        "oneilann_12_504_masking-1.html",
    }


def test_moodle_finds_every_student_by_the_folder_or_by_the_flat_name():
    pages = {"ann": "<p>Ann</p>", "ben": "<p>Ben</p>", "cho": "<p>Cho</p>"}
    handed = [
        ("ann", "moodle", "Ann O'Neil_901_assignsubmission_file_/masking.ipynb"),
        ("ben", "moodle", "Ben Hur_902_assignsubmission_file_masking.ipynb"),
        ("cho", "moodle", "조 은_903_assignsubmission_file/masking.ipynb"),
    ]
    read = names(archives(pages, handed)["feedback-moodle.zip"])
    assert {moodle_reads(name): text for name, text in read.items()} == {
        ("901", "assignsubmission_file", "feedback.html"): pages["ann"],
        ("902", "assignsubmission_file", "feedback.html"): pages["ben"],
        ("903", "assignsubmission_file", "feedback.html"): pages["cho"],
    }


def test_who_came_by_no_lms_is_in_no_archive_and_no_name_leads_out_of_it():
    pages = {"a": "A", "b": "B", "c": "C"}
    handed = [
        ("a", "folder", "a/masking.ipynb"),
        ("b", "canvas", "masking.ipynb"),
        ("c", "moodle", "../c_1_assignsubmission_file_/m.ipynb"),
    ]
    assert archives(pages, handed) == {}


def test_the_same_feedback_makes_the_same_archive():
    handed = [("kim", "canvas", "kim_1_2_m.ipynb"), ("ann", "canvas", "ann_3_4_m.ipynb")]
    assert archives({"kim": "K", "ann": "A"}, handed) == archives({"ann": "A", "kim": "K"}, handed[::-1])
