"""A number that can be defended: what it was made from is known, what changed since is noticed, nothing is forgotten."""

import json

import pytest
from project import ROOT

from grader import one_of_each
from grader.one_of_each import BAND, LATENCY, Course, Verdicts
from tfm_grader import version
from tfm_grader.judging import pool
from tfm_grader.judging.audit_log import AuditLog, Judgement, Marked, Withdrawn
from tfm_grader.names import digest
from tfm_lib._refusal import Refusal

MARKS = "student,exercise,points,reason\nann,masking.latency,1.5,The twelve is missing.\n"


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    """Two students, graded."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(pool, "Pool", Verdicts)
    made = Course(tmp_path)
    made.write("roster.csv", "student,name,lms id\nann,Ann,11\nben,Ben,12\n")
    made.write("waivers.csv", "student,chapter,days,reason\n")
    made.write("marks.csv", MARKS)
    for student in ("ann", "ben"):
        made.hand_in(student, 2, f"Words of {student}.", -1)
    made.collect()
    made.grade()
    return made


def points(course: Course) -> dict[str, tuple[str, str]]:
    return {row["student"]: (row[BAND], row[LATENCY]) for row in course.table("grades.csv")}


def refusal(course: Course, *words: object) -> str:
    with pytest.raises(Refusal) as caught:
        course.reported(*words)
    return str(caught.value)


def events(course: Course, kind: type) -> list:
    return [line.event for line in AuditLog(course.results).lines if isinstance(line.event, kind)]


# what changed since


def test_a_bundle_that_changed_is_noticed_and_nothing_is_written(course):
    course.write("bundle/tests/masking.py", "# other tests")
    said = refusal(course)
    assert f"the bundle has changed since {BAND} was judged; `tfm grade` judges by the new one: ann, ben" in said
    assert "Nothing was written." in said and said.endswith("tfm report --as-judged")
    assert LATENCY not in said, "what a test has no part in is not stale"
    assert not course.report.exists() or not list(course.report.glob("*.csv"))
    assert "As they were judged" in course.reported("--as-judged")
    assert points(course) == {"ann": ("2", "1.5"), "ben": ("2", "")}
    course.grade()
    assert "the bundle has changed" not in course.reported()


def test_a_title_and_a_date_change_no_verdict(course):
    course.change("bundle/manifest.json", "A band; wide", "A wide band")
    course.change("bundle/manifest.json", "2030-03-17", "2030-03-15")
    course.reported()
    assert points(course)["ann"] == ("2", "1.5")


def test_another_notebook_is_noticed(course):
    course.hand_in("ben", 4, "Other words.", 0)
    course.collect()
    assert "another notebook for masking lies there than was judged; `tfm grade` judges it: ben" in refusal(course)
    (course.folder / "submissions" / "ben" / "masking.ipynb").unlink()
    assert "the notebook for masking that was judged is gone" in refusal(course)


def test_without_the_submissions_nobody_is_late_and_so_nothing_is_written(course):
    submissions = course.folder / "submissions"
    submissions.rename(course.folder / "elsewhere")
    assert f"There is no folder {submissions}, which says who is in the class" in refusal(course)
    with pytest.raises(Refusal, match="no such folder, and so no names, no dates"):
        course.reported(marks=False)  # without waivers too
    assert points_of(course, "ann")[BAND] == 2
    course.reported("--submissions", course.folder / "elsewhere")
    assert points(course)["ann"] == ("2", "1.5")


def test_who_joined_and_who_left_is_said_and_nobody_has_points_by_chance(course):
    course.write("roster.csv", "student,name,lms id\nann,Ann,11\ncho,Cho,13\n")
    (course.folder / "handed-in" / "ben" / "masking.ipynb").unlink()
    course.hand_in("cho", 4, "Words.", -1)
    course.collect()
    said = course.reported()
    assert "left the class, and in no list: ben" in said
    assert "joined, or handed in masking after the last grading; `tfm grade` judges it: cho" in said
    assert f"{BAND} waits for its first judging: cho" in said
    assert points(course) == {"ann": ("2", "1.5"), "cho": ("", "")}


def test_what_another_grader_judged_is_noticed_and_not_judged_again_in_silence(course, monkeypatch):
    monkeypatch.setattr(version, "_version", lambda package: "9.9")
    version.grader.cache_clear()
    try:
        assert "4 of them by another grader" in course.grade()
        said = refusal(course)
        assert f"another grader judged {BAND} (tfm-lib 0" in said and "this is tfm-lib 9.9, torch 9.9" in said
        assert "`tfm grade --again` shows what would change: ann, ben" in said
        assert "0 numbers of 0 students would change, 4 stay." in course.grade("--again", "--write")
        course.reported()
    finally:
        monkeypatch.undo()
        version.grader.cache_clear()


@pytest.mark.long
def test_the_grader_is_another_one_as_soon_as_code_that_judges_is(tmp_path, monkeypatch):
    import shutil

    for name in version.PACKAGES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "static", "theme"))
    monkeypatch.setattr(version, "HOME", tmp_path)

    def now(*modules: str) -> str:
        version.grader.cache_clear()
        return version.grader(modules)

    try:
        hidden = version.library_modules("from tfm_exercises.checks import masking\nimport tfm_lib.masking, math\n")
        assert {"tfm_exercises.checks", "tfm_exercises.checks.masking", "tfm_lib.masking"} == set(hidden)
        plain, masks = now(), now(*hidden)
        assert plain != masks and plain == now()
        for path, changes in {
            "tfm_grader/judging/submission.py": (True, True), "tfm_grader/sandbox/inside/values.py": (True, True),
            "tfm_exercises/judge.py": (True, True), "tfm_exercises/checks/masking.py": (False, True),
            "tfm_lib/masking.py": (False, True),
            "tfm_grader/reports/student_feedback.py": (False, False), "tfm_exercises/checks/layers.py": (False, False),
        }.items():  # fmt: skip
            kept = (tmp_path / path).read_bytes()
            (tmp_path / path).write_bytes(kept + b"# another\n")
            assert (now() != plain, now(*hidden) != masks) == changes, path
            (tmp_path / path).write_bytes(kept)
    finally:
        monkeypatch.undo()
        version.grader.cache_clear()


# judging anew


def test_judging_anew_shows_first_and_writes_what_it_showed(course, monkeypatch):
    before = {path.name: path.read_bytes() for path in course.results.glob("*.json")}
    monkeypatch.setattr(Verdicts, "more", 1.0)
    said = course.grade("--again")
    assert f"  ann, {BAND}: 2 → 3 of 4\n  ben, {BAND}: 2 → 3 of 4\n" in said
    assert "2 numbers of 2 students would change, 2 stay." in said and "Nothing was written." in said
    assert {path.name: path.read_bytes() for path in course.results.glob("*.json")} == before
    monkeypatch.setattr(Verdicts, "more", 2.0)  # what is written is what was shown
    assert "The numbers of 2 students were written" in course.grade("--write")
    course.reported()
    assert points(course) == {"ann": ("3", "1.5"), "ben": ("3", "")}
    history = [(event.student, event.points) for event in events(course, Judgement) if event.exercise == BAND]
    assert history == [("ann", 2), ("ben", 2), ("ann", 3), ("ben", 3)], "the old number stays in the history"
    with pytest.raises(Refusal, match="Nothing was judged anew"):
        course.grade("--write")


@pytest.mark.long
def test_what_was_judged_anew_in_part_is_not_written(course, monkeypatch):
    judged = Verdicts.results

    def killed(self, jobs):
        yield next(iter(judged(self, jobs)))
        raise Refusal("the machine was switched off")

    monkeypatch.setattr(Verdicts, "more", 1.0)
    monkeypatch.setattr(Verdicts, "results", killed)
    with pytest.raises(Refusal, match="switched off"):
        course.grade("--again")
    assert [path.name for path in (course.results / "again").glob("*.json")] == ["ann.json"]
    with pytest.raises(Refusal, match="It was ended before it had judged all anew"):
        course.grade("--write")
    assert points_of(course, "ann")[BAND] == 2
    monkeypatch.setattr(Verdicts, "results", judged)
    course.grade("--again")
    assert "The numbers of 2 students were written" in course.grade("--write")


def test_what_jupyter_and_a_mac_leave_among_the_submissions_is_nobody(course):
    for name in (".ipynb_checkpoints", "__MACOSX"):
        (course.folder / "submissions" / name).mkdir()
    assert "2 students" in course.grade()
    course.reported()
    assert set(points(course)) == {"ann", "ben"}


def test_nothing_is_written_among_the_students_folders(course):
    inside = course.folder / "submissions" / "results"
    for command in (course.grade, course.reported):
        with pytest.raises(Refusal, match="where every folder is a student's"):
            command("--to", inside)
    assert not inside.exists()


@pytest.mark.long
def test_other_points_of_a_test_are_no_other_number(course, monkeypatch):
    judged = Verdicts._judged

    def split(self, job):
        made = judged(self, job)
        row = made.exercises[BAND]
        halves = [row.tests[0].but(points=row.points / 2, name=name) for name in ("near", "far")]
        return made.but(exercises={BAND: row.but(tests=halves)})

    monkeypatch.setattr(Verdicts, "_judged", split)
    assert "0 numbers of 0 students would change, 4 stay." in course.grade("--again", "--write")
    assert "near" in (course.results / "ann.json").read_text(encoding="utf-8"), "what the tests say comes with it"


@pytest.mark.long
def test_one_exercise_is_judged_anew_alone(course, monkeypatch):
    course.write("bundle/manifest.json", json.dumps({**one_of_each.MANIFEST, "seed": "autumn"}))
    monkeypatch.setattr(Verdicts, "more", 1.0)
    course.grade("--again", "--only", BAND, "--write")
    assert points_of(course, "ann") == {BAND: 3, LATENCY: 0}
    course.reported()  # words are read with whatever is judged, so that none of this is of the old bundle


def points_of(course: Course, student: str) -> dict[str, float]:
    made = json.loads((course.results / f"{student}.json").read_text(encoding="utf-8"))
    return {row["id"]: row["points"] for chapter in made["chapters"].values() for row in chapter["exercises"]}


@pytest.mark.long
def test_what_cannot_be_judged_anew_keeps_its_number(course, monkeypatch):
    judged = Verdicts._judged

    def failing(self, job):
        return one_of_each.NotJudged(infrastructure="down") if job.student == "ben" else judged(self, job)

    monkeypatch.setattr(Verdicts, "_judged", failing)
    said = course.grade("--again", "--write")
    assert f"could not be judged anew, and stay as they are: ben ({BAND}), ben ({LATENCY})" in said
    assert points_of(course, "ben")[BAND] == 2


@pytest.mark.long
def test_what_was_judged_anew_from_another_notebook_is_not_written(course):
    course.grade("--again")
    course.hand_in("ben", 4, "Other words.", 0)
    course.collect()
    with pytest.raises(Refusal, match="the notebook of ben, has changed since it was judged anew"):
        course.grade("--write")
    assert points_of(course, "ben")[BAND] == 2


# marks


def test_a_mark_is_for_the_words_that_it_was_given_for(course):
    course.reported()
    assert points(course)["ann"] == ("2", "1.5")
    course.hand_in("ann", 3, "Words of ann.", 0)  # another program, the same words
    course.collect(), course.grade(), course.reported()
    assert points(course)["ann"] == ("3", "1.5")
    course.hand_in("ann", 3, "I have read hers.", 0.5)
    course.collect(), course.grade()
    assert f"{LATENCY} waits for a new mark, since other work was handed in: ann" in course.reported()
    assert points(course)["ann"] == ("3", "")
    course.reported(marks=False), course.reported()  # forgotten once, and given again: still for the old words
    assert points(course)["ann"] == ("3", "")
    course.change("marks.csv", "1.5,The twelve", "0.5,Not yours. The twelve")
    assert "the mark of ann for masking.latency was 1.5 and is 0.5" in course.reported()
    assert points(course)["ann"] == ("3", "0.5")
    course.change("marks.csv", "Not yours.", "Whose is it?")
    assert "the mark of ann for masking.latency has other words than at the last report" in course.reported()


def test_the_hash_of_the_words_binds_a_mark_before_it_is_seen(course):
    text = digest("Words of ann.")[:12]
    course.write("marks.csv", f"student,exercise,points,reason,text\nann,{LATENCY},2,Good.,{text}\n")
    course.reported()
    assert points(course)["ann"] == ("2", "2")
    course.hand_in("ann", 2, "Other words.", 0)
    course.collect(), course.grade()
    assert "waits for a new mark, since other work was handed in: ann" in course.reported()


def test_an_override_is_for_the_notebook_that_it_was_given_for(course):
    course.write("marks.csv", f"student,exercise,points,reason\nben,{BAND},4,Right but for the name.\n")
    course.reported()
    assert points(course)["ben"] == ("4", "")
    course.hand_in("ben", 1, "Words of ben.", 0)
    course.collect(), course.grade()
    assert f"{BAND} waits for a new mark, since other work was handed in: ben" in course.reported()
    assert points(course)["ben"] == ("", "")


def test_a_mark_is_out_of_the_points_that_there_were(course):
    course.reported()
    (mark,) = events(course, Marked)
    assert mark.of == 2
    course.change("bundle/manifest.json", '"kind": "text", "points": 2', '"kind": "text", "points": 10')
    course.grade()
    assert f"{LATENCY} waits for a new mark, since the old one is of other points" in course.reported()
    assert points(course)["ann"] == ("2", "")
    course.change("marks.csv", "1.5,The", "7.5,The")
    course.reported()
    assert points(course)["ann"] == ("2", "7.5") and events(course, Marked)[-1].of == 10


@pytest.mark.long
def test_marks_that_are_not_given_any_more_are_said_and_noted(course):
    course.reported()
    assert f"marks by hand that counted at the last report are not given this time: ann ({LATENCY})" in course.reported(
        marks=False
    )
    assert [event.exercise for event in events(course, Withdrawn)] == [LATENCY]
    assert "not given this time" not in course.reported(marks=False)


def test_a_rubric_in_part_waits(course):
    rubric = [{"name": "why", "points": 1}, {"name": "number", "points": 1}]
    manifest = json.loads(json.dumps(one_of_each.MANIFEST))
    manifest["chapters"]["masking"]["exercises"][1]["rubric"] = rubric
    course.write("bundle/manifest.json", json.dumps(manifest))
    course.grade()
    course.write(
        "marks.csv", f"student,exercise,points,reason,criterion\nann,{LATENCY},1,,why\nann,{LATENCY},,,number\n"
    )
    assert f"{LATENCY} waits for the rest of its rubric: ann" in course.reported()
    assert points(course)["ann"] == ("2", "")


# waivers


def test_a_waiver_of_who_left_is_passed_over_with_a_line(course):
    course.write("waivers.csv", "student,chapter,days,reason\nben,all,1,ill\nann,masking,1,ill\n")
    course.write("roster.csv", "student,name,lms id\nann,Ann,11\n")
    (course.folder / "handed-in" / "ben" / "masking.ipynb").unlink()
    course.collect()
    assert "waivers passed over, since the student left the class: ben" in course.reported()
    assert points(course) == {"ann": ("2", "1.5")}


def test_nobody_knows_how_late_a_notebook_is_that_was_laid_there_by_hand(course):
    course.write("roster.csv", "student,name,lms id\nann,Ann,11\nben,Ben,12\ncho,Cho,13\ndan,Dan,14\n")
    course.collect()
    course.write("submissions/cho/masking.ipynb", one_of_each.notebook(4, "Words.").decode())
    course.grade(), course.reported()
    late = {row["student"]: row["late days"] for row in course.table("grades.csv")}
    assert late == {"ann": "0", "ben": "0", "cho": "unknown", "dan": "0"}, "dan handed in nothing"


# history


def test_the_history_holds_numbers_marks_and_exports(course):
    course.reported()
    lines = AuditLog(course.results).lines
    assert [type(line.event).__name__ for line in lines] == [*["Judgement"] * 4, "Marked", "Exported"]
    assert all(line.by and line.at.startswith("20") for line in lines)
    grades = digest((course.report / "grades.csv").read_bytes())
    assert lines[-1].event.files["grades.csv"] == grades
    (mark,) = events(course, Marked)
    assert (mark.points, mark.subject) == (1.5, digest("Words of ann."))
    course.grade(), course.reported()
    assert len(events(course, Judgement)) == 4 and len(events(course, Marked)) == 1, "only what is new is noted"


def test_a_line_that_was_changed_or_taken_out_shows(course):
    course.reported()
    path = course.results / "audit_log.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], lines[1].replace(b'"points":', b'"points": '), *lines[2:]]))
    assert "line 3: what stood before it was changed or taken out" in course.reported()
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    assert "line 2: what stood before it was changed or taken out" in course.reported()


@pytest.mark.long
def test_a_run_that_was_ended_while_it_wrote_loses_nothing_else(course):
    path = course.results / "audit_log.jsonl"
    whole = len(AuditLog(course.results).lines)
    path.write_bytes(path.read_bytes()[:-20])
    said = course.reported()
    assert f"line {whole}, cannot be read: a run was ended while it wrote" in said
    assert len(AuditLog(course.results).lines) == whole - 1 + 2
    assert len(AuditLog(course.results).faults) == 1


# what a report leaves


@pytest.mark.long
def test_what_an_earlier_report_wrote_and_this_one_does_not_is_gone(course):
    course.reported()
    mine = course.report / "feedback" / "mine.txt"
    mine.write_text("my own")
    worked_in = course.report / "gradescope" / "ben" / "results.json"
    worked_in.write_text("changed by hand")
    (course.folder / "handed-in" / "ben" / "masking.ipynb").unlink()
    course.write("roster.csv", "student,name,lms id\nann,Ann,11\n")
    course.collect()
    course.reported()
    assert {path.name for path in (course.report / "feedback").iterdir()} == {"ann.html", "mine.txt"}
    assert worked_in.read_text() == "changed by hand"
