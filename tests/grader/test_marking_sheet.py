"""Answers in words: three hundred on one sheet and one page, marked in a spreadsheet, and read back."""

import csv
import io
import json
import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from browser.driving import reopen
from project import ROOT

from grader.test_classroom import Tags, refusal, tfm
from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.manifest import Chapter, Criterion, Entry, Manifest
from tfm_grader.names import digest
from tfm_grader.records import NOTHING, Bound, Graded, TestRow
from tfm_grader.reports.class_overview import class_page
from tfm_grader.reports.similarity import Pair
from tfm_grader.reports.student_feedback import student_page
from tfm_grader.scoring import manual_grades
from tfm_grader.scoring.manual_grades import BadMarks
from tfm_grader.scoring.marking_sheet import KEPT, Desk, holds_more, require_within
from tfm_grader.scoring.scores import HAND_IN, MARK, NEW_MARK, RUN, Row, Score
from tfm_grader.scoring.waivers import Waiver
from tfm_grader.tables import DIRECTION

RUBRIC = [Criterion("the mechanism", 1), Criterion("=a number", 0.5)]
WORDS = Entry(
    "m.words", "Why?", "text", 1.5, rubric=RUBRIC, question="### Exercise 1 · Why?\n\nSay *why*.", answer="So."
)
PLAIN = Entry("m.plain", "And then?", "text", 2)
BUNDLE = Bundle(Manifest("Masks", "s", {"m": Chapter([WORDS, PLAIN])}), {})
NASTY = [
    "</script><script>alert(1)</script>",
    "=cmd|'calc'!A0",
    'two\nlines; and "quotes", commas',
    "＝1+1",
    "é漢字🎉",
    "\u202eabc",
]


def waiting(entry: Entry, words: str, lacks: str = MARK, **more) -> Row:
    row = Row(entry.id, entry.title, "text", "ok", None, entry.points, "", [], [], words, waits=True, lacks=lacks)
    return Row(**{**row.__dict__, "subject": digest(words), **more})


def a_class(count: int) -> list[Score]:
    made = []
    for number in range(count):
        rows = [waiting(WORDS, f"{NASTY[number % len(NASTY)]} {number}"), waiting(PLAIN, f"Then {number}.")]
        made.append(Score(f"s{number:03}", f"{'=' if number == 7 else ''}Student {number}", "", rows))
    return made


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


def saved(path: Path, rows: list[dict[str, str]], separator: str = ",", comma: bool = False) -> Path:
    """The sheet as a spreadsheet saves it: every line, other separators, commas in numbers, Windows' line ends."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter=separator, lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(
            [{**row, "points": row["points"].replace(".", ",") if comma else row["points"]} for row in rows]
        )
    return path


@pytest.mark.parametrize(("separator", "comma"), [(",", False), (";", True)])
def test_three_hundred_answers_are_marked_in_a_spreadsheet_and_come_back(tmp_path, separator, comma):
    scores = a_class(300)
    rows = lines(Desk.of(BUNDLE, scores, []).sheet())
    assert len(rows) == 300 * 3
    for number, row in enumerate(rows):
        row["points"] = str((number % 3) * float(row["of"]) / 2)
        row["reason"] = "Good; really" if number % 5 == 0 else ""
    path = saved(tmp_path / "marking.csv", rows, separator, comma)
    most = {(score.student, row.id): row.of for score in scores for row in score.rows}
    require_within(manual_grades.lines(path), BUNDLE)
    given = manual_grades.require_known(manual_grades.read_marks(path), most, path).given
    assert len(given) == 600
    by_answer: dict[tuple[str, str], float] = {}
    for row in rows:
        key = row["student"], row["exercise"]
        by_answer[key] = by_answer.get(key, 0) + float(row["points"])
    for (student, exercise), mark in given.items():
        (row,) = [row for row in scores[int(student[1:])].rows if row.id == exercise]
        assert mark.points == pytest.approx(by_answer[student, exercise])
        assert mark.text == digest(row.text), "bound to the words that were marked"


def test_a_sheet_keeps_what_was_marked_before_and_asks_for_the_rest():
    scores = a_class(3)
    first = lines(Desk.of(BUNDLE, scores, []).sheet())
    first[0]["points"], first[1]["points"], first[2]["points"] = "1", "0.5", ""
    scores[0].rows[0] = waiting(WORDS, scores[0].rows[0].text, waits=False, lacks="", points=1.5, by_hand="x")
    scores[1].rows[0] = waiting(WORDS, "Another answer by now.", NEW_MARK)
    desk = Desk.of(BUNDLE, scores, first)
    again = {(row["student"], row["exercise"], row["criterion"]): row for row in lines(desk.sheet())}
    assert again["s000", "m.words", "the mechanism"]["points"] == "1"
    assert again["s000", "m.words", "'=a number"]["points"] == "0.5"
    told = [again["s000", "m.words", name] for name in ("the mechanism", "'=a number")]
    assert [row["of"] for row in told] == ["1", "0.5"], "what a mark can be is said where it is to be changed"
    assert [row["answer"] for row in told] == [first[0]["answer"], ""]
    assert again["s001", "m.words", "the mechanism"]["text"] == digest("Another answer by now.")
    assert again["s001", "m.words", "the mechanism"]["answer"] == "Another answer by now."
    assert desk.waiting == 5 and len(again) == 9
    assert not holds_more(first, desk)
    assert holds_more([{**first[4], "points": "1"}], desk), "a mark that was not read must not be written over"


def test_no_criterion_earns_more_than_the_manifest_gives_it():
    (row, *_) = lines(Desk.of(BUNDLE, a_class(1), []).sheet())
    require_within([{**row, "points": "1"}], BUNDLE)
    with pytest.raises(BadMarks, match="gives 1 point at most, not 1,5"):
        require_within([{**row, "points": "1,5"}], BUNDLE)
    with pytest.raises(BadMarks, match="has no criterion 'charm'"):
        require_within([{**row, "criterion": "charm"}], BUNDLE)


def test_the_page_asks_once_shows_every_answer_as_text_and_runs_one_script_of_ours():
    page = Desk.of(BUNDLE, a_class(12), []).page()
    assert page.count("Say *why*.") == 1
    for number in range(12):
        assert f"Then {number}." in page
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in page and "<script>alert" not in page
    tags = Tags()
    tags.feed(page)
    assert not tags.seen & {"iframe", "link", "img", "form", "object"} and not any(tags.addresses)
    assert page.count("<script") == 2, "the block of data, and the script whose hash the policy names"
    assert re.search(r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[\w+/=]{44}'", page)


def test_no_word_turns_round_what_follows_it_on_a_page_or_controls_a_terminal():
    turned = "\u202eann\u2066\x1b[31m\0"
    made = Score("s", turned, "", [waiting(PLAIN, f"So {turned}.")])
    for page in (Desk.of(BUNDLE, [made], []).page(), student_page(made, "Masks"), class_page([made], "Masks")):
        assert "ann" in page and not (DIRECTION | {"\x1b", "\0"}) & set(page)


def test_a_title_with_dollars_is_no_formula():
    row = Row("m.band", r"Why $\foo$, not $5?", "assigned", "ok", 1, 2, "", [], [])
    assert r"Why $\foo$, not $5?" in class_page([Score("s", "Ann", "", [row])], "Masks")


def test_the_page_in_a_browser_saves_the_sheet_that_is_read(tmp_path):
    from playwright.sync_api import sync_playwright

    from tfm_book.browser import find_browser

    scores = a_class(4)
    path = tmp_path / "marking.html"
    path.write_text(Desk.of(BUNDLE, scores, []).page(), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        page = browser.new_page(accept_downloads=True)
        troubles = []
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.goto(path.as_uri())
        fields = page.locator("input[data-column=points]")
        assert fields.count() == 12
        for number in range(11):
            fields.nth(number).fill("0.5")
        page.locator("textarea").first.fill('Good; "really", =1')
        assert page.locator("#count").inner_text() == "11 of 12"
        reopen(page, lambda: page.locator("#count").inner_text() == "11 of 12")
        assert page.locator("#count").inner_text() == "11 of 12", "what was typed is kept"
        with page.expect_download() as caught:
            page.locator("#save").click()
        caught.value.save_as(tmp_path / "marking.csv")
        partly = {**dict.fromkeys(KEPT, ""), "student": "s000", "exercise": "m.words", "criterion": "the mechanism"}
        path.write_text(Desk.of(BUNDLE, scores, [{**partly, "points": "0.25"}]).page(), encoding="utf-8")
        reopen(page, lambda: bool(fields.nth(1).input_value()))
        assert [fields.nth(place).input_value() for place in (0, 1)] == ["0.25", "0.5"], (
            "what the file says later counts"
        )
        browser.close()
    assert troubles == []
    most = {(score.student, row.id): row.of for score in scores for row in score.rows}
    given = manual_grades.require_known(
        manual_grades.read_marks(tmp_path / "marking.csv"), most, tmp_path / "marking.csv"
    ).given
    assert len(given) == 7
    assert {(mark.exercise, mark.points) for mark in given.values()} == {("m.words", 1.0), ("m.plain", 0.5)}
    assert given["s000", "m.words"].text == digest(scores[0].rows[0].text)
    assert 'Good; "really", =1' in given["s000", "m.words"].reason


@pytest.mark.long  # it grades a class
def test_a_report_leaves_a_sheet_that_comes_back_and_never_writes_over_marks(tmp_path, monkeypatch):
    """The whole way for three students: one answers below the question, one far from it, one not at all."""
    monkeypatch.chdir(ROOT)
    course = tmp_path / "course"
    tfm("assign", "masking", "--private", "tests/grader/assignments", "--no-verify", "--name", "Masks", "--to", course)
    empty = json.loads((course / "student" / "masking.ipynb").read_text(encoding="utf-8"))
    below = {**empty, "cells": [*empty["cells"], {"cell_type": "markdown", "metadata": {}, "source": "It lags."}]}
    far = {**empty, "cells": [{"cell_type": "raw", "metadata": {}, "source": "It lags far."}, *empty["cells"]]}
    for student, notebook in (("anna", below), ("ben", far), ("cho", empty)):
        (course / "in" / student).mkdir(parents=True)
        (course / "in" / student / "masking.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    words = [course / "results", "--bundle", course / "bundle"]
    tfm("collect", course / "in", "--bundle", course / "bundle", "--to", course / "submissions")
    tfm("grade", course / "submissions", "--bundle", course / "bundle")
    assert "2 answers in words wait for a mark" in tfm("report", *words)
    sheet = course / "report" / "marking.csv"
    rows = lines(sheet.read_text(encoding="utf-8"))
    assert [row["student"] for row in rows] == ["anna", "anna", "ben", "ben"]
    assert rows[2]["answer"].startswith("(It was not found under its question for sure.")
    page = (course / "report" / "feedback" / "ben.html").read_text(encoding="utf-8")
    assert "your instructor looks whether this is your answer" in page and "It lags far." in page
    assert "Not final: 0 points so far, and 2 are still to be decided." in page
    for row in rows:
        row["points"] = "1"
    saved(sheet, rows)
    assert "marking-2.csv" in tfm("report", *words), "the filled sheet was not read, so it stays"
    assert lines(sheet.read_text(encoding="utf-8"))[0]["points"] == "1"
    tfm("report", *words, "--marks", sheet)
    grades = {row["student"]: row for row in lines((course / "report" / "grades.csv").read_text(encoding="utf-8"))}
    assert {name: row["points"] for name, row in grades.items()} == {"anna": "2", "ben": "2", "cho": "0"}
    saved(elsewhere := tmp_path / "mine.csv", rows)
    sheet.unlink()
    said = tfm("report", *words, "--marks", elsewhere)
    assert "wait for a mark" not in said and not (course / "report" / "marking.html").exists()
    kept = lines(sheet.read_text(encoding="utf-8"))
    assert [row["points"] for row in kept] == [row["of"] for row in kept] == ["1"] * 4, "a mark can be changed here"
    assert [row["answer"] for row in kept] == ["It lags.", "", "It lags far.", ""]
    rows[0]["points"], rows[1]["points"] = "1.5", "0.5"
    assert "gives 1 point at most" in refusal("report", *words, "--marks", saved(sheet, rows))


# what a student reads

TESTS = [
    TestRow(
        "any_length", "refused", 3, held=["the band"], message="Your mask never looks ahead.", mistake="nothing ahead"
    ),
    TestRow("short_sentences", "passed", 1, points=1, held=["short sentences"]),
]


def one(row: dict, **score) -> str:
    known = {"id": "m.band", "title": "A band", "kind": "assigned", "status": "ok", "points": 1, "of": 4, "reason": ""}
    return student_page(
        Score("kim", "Kim", "", [Row(**{**known, "tests": TESTS, "notes": [], **row})], **score), "Masks", CODE
    )


CODE = {"m.band": ["def band(n):\n    # </pre><script>alert(1)</script>\n    return 'x' < n"]}


def test_a_student_sees_the_code_that_was_graded_and_how_it_was_run():
    page = one({"graded": Graded("notebook").sentence})
    assert '<span class="k">def</span> band(n):' in page
    assert "# &lt;/pre&gt;&lt;script&gt;alert(1)" in page and "<script" not in page
    assert "Your whole notebook was run" in page
    for because in ("stopped", "deadline", "lacks"):
        told = Graded("slices", because).sentence
        assert "only those lines were run" in told and told in one({"graded": told})


def test_points_before_and_after_lateness_and_the_waiver_are_told():
    page = one({}, late_days={"m": 3.0}, factors={"m": 0.5}, waived={"m": Waiver(1, "ill <b>")}, handed_in=0.0)
    assert "3 days late, of which 1 is waived (ill &lt;b&gt;): × 0.5." in page
    assert "1 of 4 points before lateness, 0.5 after" in page
    assert "Handed in on 1 January 1970 at 00:00 UTC." in page
    assert "all of which are waived" in one({}, late_days={"m": 2.0}, factors={"m": 1.0}, waived={"m": Waiver(9, "")})


def test_with_two_chapters_lateness_names_the_chapter_and_what_is_open_counts_with_it():
    due = datetime(2030, 3, 15, 12, tzinfo=timezone(timedelta(hours=1)))
    late = {"late_days": {"m": 3.0, "n": 0.0}, "factors": {"m": 0.5, "n": 1.0}, "due": {"m": due, "n": due}}
    page = one({}, handed_in=due.timestamp(), **late)
    assert "m: 3 days late: × 0.5." in page and "<p class='soft'>n: " not in page
    assert "Last handed in on 15 March 2030 at 12:00 UTC+01:00." in page
    rows = [
        Row("m.a", "A", "assigned", "ok", 2, 2, "", [], []),
        Row("n.w", "W", "text", "ok", None, 1, "", [], [], "So.", waits=True, lacks=MARK),
    ]
    page = student_page(Score("kim", "Kim", "", rows, **late), "Masks")
    assert "Not final: 1 point so far after lateness (2 before), and 1 is still to be decided." in page
    assert "– of 3 points" in page and "1 of 1 point<" in student_page(Score("kim", "Kim", "", [done(1)]), "Masks")


def test_the_page_about_a_class_lists_who_handed_in_nothing():
    blank = Row("m.a", "A", "assigned", "ok", None, 2, NOTHING, [], [], lacks=HAND_IN)
    page = class_page([Score("hal", "Hal", "", [blank])], "Masks")
    assert "0 of 1 handed in; no total is known yet." in page and "<td>Hal</td><td>a hand-in</td>" in page
    half = Score("ida", "Ida", "", [done(2), blank], {"m": 0.0, "n": 0.0})
    assert "<td>Ida</td><td>a hand-in for m</td>" in class_page([half], "Masks"), "several chapters are told apart"


def done(points: float) -> Row:
    return Row("n.a", "A", "assigned", "ok", points, points, "", [], [])


def test_the_page_about_a_class_counts_one_as_one():
    waits = Score("hal", "Hal", "", [waiting(PLAIN, "So.")])
    page = class_page([Score("kim", "Kim", "", [done(1)])], "Masks")
    assert "1 of 1 handed in; the mean is 1 of 1 point." in page and "the points of 1 student;" in page
    page = class_page([Score("kim", "Kim", "", [done(2)]), waits], "Masks")
    assert "2 of 2 handed in; the mean of the one that is finished is 2 of 2 points." in page
    page = class_page([*(Score(name, name, "", [done(2)]) for name in ("kim", "lou")), waits], "Masks")
    assert "3 of 3 handed in; the mean of the 2 that are finished is 2 of 2 points." in page


def test_the_mean_counts_a_missing_hand_in_as_the_grades_do():
    zero = Row("n.a", "A", "assigned", "ok", 0, 2, NOTHING, [], [])
    scores = [Score("kim", "Kim", "", [done(2)]), Score("hal", "Hal", "", [zero])]
    page = class_page(scores, "Masks")
    assert "1 of 2 handed in; the mean is 1 of 2 points." in page and "A 50 %" in page
    page = class_page([scores[0], Score("hal", "Hal", "", [replace(zero, points=None, lacks=HAND_IN)])], "Masks")
    assert "the mean of the one that is finished is 2 of 2 points." in page and "A 100 %" in page


def test_what_a_forbidden_call_earned_is_told_to_the_instructor_alone():
    remark = "The answer uses tril, which this exercise forbids, and earned full points."
    made = Score("kim", "Kim", "", [replace(done(2), remarks=[remark])])
    assert f"<td>A</td><td>Kim</td><td>{remark}</td>" in class_page([made], "Masks")
    assert "tril" not in student_page(made, "Masks")


def test_programs_that_are_alike_stand_in_groups_with_names():
    scores = [Score(name, name.title(), "", [done(2)]) for name in ("kim", "lou", "mia", "ned", "ola")]
    alike = [
        ("m", Pair("kim", "lou", 0.9)),
        ("n", Pair("kim", "lou", 1)),
        ("m", Pair("ned", "ola", 1)),
        ("m", Pair("lou", "mia", 1)),
    ]
    page = class_page(scores, "Masks", [*alike, ("m", Pair("kim", "mia", 0.95))])
    for row in (
        "<td>m</td><td>Kim, Lou, Mia</td><td>90 to 100 %",
        "<td>n</td><td>Kim, Lou</td><td>100 %",
        "<td>m</td><td>Ned, Ola",
    ):
        assert page.count(row) == 1, row
    page = class_page(scores, "Masks", alike)  # Lou took from both, who share nothing
    assert "<td>m</td><td>Kim, Lou</td><td>90 %" in page and "<td>m</td><td>Lou, Mia</td><td>100 %" in page
    assert "Kim, Lou, Mia" not in page


def test_values_that_differ_are_said_beside_the_question_of_the_class():
    own = msgspec.structs.replace(WORDS, own_questions={"s000": "### Why?\n\n*5 minutes · ★☆☆☆*\n\nSay *why* 7."})
    bundle = Bundle(Manifest("Masks", "s", {"m": Chapter([own, PLAIN])}), {})
    page = Desk.of(bundle, a_class(2), []).page()
    assert page.count("Numbers differ between students") == 1 and "minutes" not in page and "Say *why* 7." in page
    assert page.count("<summary>A model answer to the general version</summary>") == 1
    page = Desk.of(BUNDLE, a_class(2), []).page()
    assert "Numbers differ" not in page and "<summary>A model answer</summary>" in page


@pytest.mark.parametrize("lacks", [RUN, HAND_IN, MARK])
def test_what_nobody_knows_is_no_number_and_names_nothing_hidden(lacks):
    secret = "the test any_length has a fault: IndexError"
    page = one(
        {
            "points": None,
            "waits": lacks != HAND_IN,
            "lacks": lacks,
            "reason": secret if lacks == RUN else "",
            "notes": [secret],
        }
    )
    assert "– / 4" in page and "– of 4 points" in page
    if lacks == RUN:
        assert "any_length" not in page and "IndexError" not in page
        assert "nothing was taken from you" in page


def test_no_hidden_test_is_named():
    page = one({})
    assert "Your mask never looks ahead." in page and "short sentences" in page
    assert "any_length" not in page and "short_sentences" not in page


def test_a_page_says_how_to_ask_for_another_look_and_at_which_notebook():
    assert "<code>0123456789ab</code>" in one({"bound": Bound(handed_in="0123456789abcdef")})
    assert "Does a number seem wrong" not in one({})
