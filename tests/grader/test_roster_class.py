"""A class with a roster: whoever hands in, and by whatever way, is found under one name; and what came before is kept."""

import json
import os
import shutil
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from project import ROOT
from tiers import every, params

from grader.one_of_each import tfm
from grader.test_collect import MANIFEST, archive, late_days
from grader.users import Users
from tfm_grader import lock
from tfm_grader.assignment import bundle as bundles
from tfm_grader.collecting import collect, collected_record, inbox, roster
from tfm_grader.collecting.archives import CannotCollect
from tfm_grader.collecting.inbox import CollectionReport
from tfm_grader.judging import grade
from tfm_grader.judging.pool import JudgeProcess, judged
from tfm_grader.records import Begin, Job, NotJudged
from tfm_lib._refusal import Refusal

STEMS = ["masking"]
NOW = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
CLASS = """\
student,name,folder,lms id,login
Anna Lee,Anna Lee,,301,alee
민준 김,Minjun Kim,,302,mkim
cho,Cho Ito,ito-cho,303,
dan,Dan Ek,,304,dek
eve,Eve Oz,,305,eoz
"""


@pytest.fixture(autouse=True)
def users(monkeypatch) -> Users:
    monkeypatch.chdir(ROOT)
    return Users(monkeypatch)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "manifest.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    (tmp_path / "class.csv").write_text(CLASS, encoding="utf-8")
    return tmp_path


def gather(here: Path, source: Path, *words: object, ends: int = 0) -> str:
    return tfm("collect", source, "--bundle", here / "bundle", "--to", here / "submissions", *words, ends=ends)


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


# ── one class by four ways ────────────────────────────────────────────────

WAYS = {
    "folder": {"Anna Lee": "Anna Lee/{}", "민준 김": "민준 김/{}", "cho": "ito-cho/{}", "dan": "dek/{}"},
    "moodle": {
        "Anna Lee": "Anna Lee_301_assignsubmission_file_/{}",
        "민준 김": "민준 김_302_assignsubmission_file_/{}",
        "cho": "Cho_303_assignsubmission_file/{}",
    },
    "moodle, flat": {
        "Anna Lee": "Anna Lee_301_assignsubmission_file_{}",
        "민준 김": "민준 김_302_assignsubmission_file_{}",
        "dan": "Dan_Ek_304_assignsubmission_file_{}",
    },
    "canvas": {"Anna Lee": "leeanna_301_501_{}", "민준 김": "kimminjun_LATE_302_502_{}", "cho": "itocho_303_503_{}"},
    "nbgrader": {
        "Anna Lee": f"alee+masks+{NOW}+x/{{}}",
        "민준 김": f"mkim+masks+{NOW}+x/{{}}",
        "cho": f"cho+masks+{NOW}/{{}}",
    },
}


def source_of(here: Path, way: str, notebooks: dict[str, bytes]) -> Path:
    """What the LMS, the exchange or the folder's owner gives, with the notebook of each student."""
    files = {WAYS[way][student].format("masking.ipynb"): data for student, data in notebooks.items()}
    if way in ("folder", "nbgrader"):
        top = here / {"folder": "handed-in", "nbgrader": "exchange/inbound"}[way]
        for name, data in files.items():
            write(top / name, data)
        return top
    return archive(here / f"{way}.zip", files)


@pytest.mark.parametrize("way", WAYS)
def test_each_way_leads_to_the_students_of_the_roster(here, way):
    handed_in = {student: student.encode() for student in WAYS[way]}
    said = gather(here, source_of(here, way, handed_in), "--roster", here / "class.csv")
    found = {path.parent.name: path.read_bytes() for path in (here / "submissions").glob("*/masking.ipynb")}
    assert found == handed_in
    everyone = {"Anna Lee", "민준 김", "cho", "dan", "eve"}
    assert {path.name for path in (here / "submissions").iterdir() if path.is_dir()} == everyone
    assert {line.split("(")[0].strip() for line in said.splitlines() if "nothing from" in line} == {
        f"nothing from {student}" for student in everyone - set(handed_in)
    }
    known = collected_record.roster(here / "submissions")
    assert set(known) == everyone
    assert (known["cho"].name, known["cho"].lms_id, known["eve"].login) == ("Cho Ito", "303", "eoz")
    assert not known["eve"].files and known["Anna Lee"].files


@pytest.fixture(scope="module")
def assignment(tmp_path_factory) -> Path:
    """An assignment with numbers of its own for each student of a roster."""
    to = tmp_path_factory.mktemp("course")
    (to / "class.csv").write_text(CLASS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        words = ["--exercise", "masking.band", "--no-verify", "--seed", "class", "--roster", to / "class.csv"]
        tfm("assign", "masking", "--private", "tests/grader/assignments", *words, "--to", to)
    return to


@pytest.fixture(scope="module")
def judge(assignment):
    loaded = bundles.read_bundle(assignment / "bundle")
    with closing(JudgeProcess(Begin(manifest=loaded.manifest, tests=loaded.tests))) as made:
        yield made


@pytest.mark.long
@pytest.mark.parametrize("way", params(WAYS, ("folder",), rest=every(3, WAYS)))
def test_right_answers_earn_full_points_whatever_way_they_come(assignment, judge, tmp_path, way):
    """Each student's own solution, judged by the tests that were made for the student whose folder it lies in."""
    solutions = {name: (assignment / "solution" / name / "masking.ipynb").read_bytes() for name in WAYS[way]}
    assert len(set(solutions.values())) > 1, "one solution for all would prove nothing"
    tfm("collect", source_of(tmp_path, way, solutions), "--bundle", assignment / "bundle", "--to", tmp_path / "in")
    loaded = bundles.read_bundle(assignment / "bundle")
    found = {each.student: each for each in grade.submissions_in(tmp_path / "in", loaded) if each.data}
    assert {student: each.data for student, each in found.items()} == solutions
    for student, each in found.items():
        made = judged(judge, Job(student=student, stem="masking", ids=["masking.band"], data=each.data))
        assert (made.exercises["masking.band"].points, made.exercises["masking.band"].of) == (4, 4), student


def test_a_folder_made_by_hand_for_somebody_without_numbers_is_not_judged(assignment, judge):
    data = (assignment / "solution" / "dan" / "masking.ipynb").read_bytes()
    found = judged(judge, Job(student="zoe", stem="masking", ids=["masking.band"], data=data))
    assert isinstance(found, NotJudged) and "zoe is not on it" in found.infrastructure


def test_whoever_has_no_numbers_of_their_own_is_not_judged_by_another_students(assignment, tmp_path):
    (tmp_path / "other.csv").write_text("student,lms id\nzoe,999\nAnna Lee,301\n", encoding="utf-8")
    source = archive(tmp_path / "c.zip", {"zoe_999_1_masking.ipynb": b"{}", "leeanna_301_1_masking.ipynb": b"{}"})
    words = ["collect", source, "--bundle", assignment / "bundle", "--to", tmp_path / "in"]
    said = tfm(*words, "--roster", tmp_path / "other.csv")
    assert "refused zoe_999_1_masking.ipynb: the bundle has no numbers of zoe's own" in said
    assert [path.parent.name for path in (tmp_path / "in").glob("*/*.ipynb")] == ["Anna Lee"]
    said = tfm("collect", source, "--bundle", assignment / "bundle", "--to", tmp_path / "in-2")
    assert "the roster knows nobody by the number 999 (zoe)" in said  # the bundle brings its own


# ── what the roster refuses ───────────────────────────────────────────────


def test_second_claims_unknown_and_missing_have_a_line_each_and_cost_nobody_else_anything(here):
    for folder in ("Anna Lee", "alee", "cho", "ghost", "305", "민준 김", "MKIM"):
        write(here / "in" / folder / "masking.ipynb", folder.encode())
        write(here / "in" / folder / "notes" / "masking (1).ipynb", b"older")
    said = gather(here, here / "in", "--roster", here / "class.csv").splitlines()
    assert [line.strip() for line in said if "refused" in line and "notebooks of" not in line] == [
        "refused ghost: the roster knows nobody by the folder ghost; write that into the column folder of whose it is",
        "refused MKIM: a second claim to be 민준 김, beside 민준 김; rename one",
        "refused alee: a second claim to be Anna Lee, beside Anna Lee; rename one",
    ]
    assert [line.strip() for line in said if "nothing from" in line] == ["nothing from dan (Dan Ek)"]
    found = {path.parent.name: path.read_bytes() for path in (here / "submissions").glob("*/masking.ipynb")}
    assert found == {"Anna Lee": b"Anna Lee", "cho": b"cho", "eve": b"305", "민준 김": "민준 김".encode()}


def test_two_folders_that_both_may_be_one_student_are_both_refused(here):
    for folder in ("alee", "301", "cho"):
        write(here / "in" / folder / "masking.ipynb", folder.encode())
    said = gather(here, here / "in", "--roster", here / "class.csv")
    assert said.count("a second claim to be Anna Lee") == 2
    assert [path.parent.name for path in (here / "submissions").glob("*/masking.ipynb")] == ["cho"]


def test_a_roster_that_cannot_be_used_collects_nothing(here):
    (here / "class.csv").write_text("student,login\nanna,a\nben,a\n", encoding="utf-8")
    write(here / "in" / "anna" / "masking.ipynb", b"{}")
    with pytest.raises(roster.BadRoster, match="line 3: the login 'a' is that of line 2"):
        gather(here, here / "in", "--roster", here / "class.csv")
    assert not (here / "submissions").exists()


def test_the_roster_stays_beside_the_submissions_for_the_next_time(here):
    write(here / "in" / "alee" / "masking.ipynb", b"{}")
    gather(here, here / "in", "--roster", here / "class.csv")
    assert roster.kept(here / "submissions") == roster.read_roster(here / "class.csv")
    shutil.rmtree(here / "in" / "alee")
    write(here / "in" / "dek" / "masking.ipynb", b"{}")
    gather(here, here / "in")
    assert {path.parent.name for path in (here / "submissions").glob("*/masking.ipynb")} == {"Anna Lee", "dan"}


def test_who_was_collected_before_the_roster_came_is_said(here):
    source = archive(here / "c.zip", {"leeanna_301_1_masking.ipynb": b"1"})
    gather(here, source)
    said = gather(here, source, "--roster", here / "class.csv")
    assert "leeanna_301 has a folder from before and is not on the roster" in said


@pytest.mark.parametrize(
    "files",
    [
        {
            "Anna Lee_301_assignsubmission_file_/masking.ipynb": b"a",
            "민준 김_302_assignsubmission_file_/masking.ipynb": b"m",
        },
        {"leeanna_301_501_masking.ipynb": b"a", "김민준_302_502_masking.ipynb": b"m"},
    ],
)
def test_a_roster_without_numbers_is_completed_by_names_and_a_person_looks_at_it(here, files):
    (here / "class.csv").write_text("student\nAnna Lee\n민준 김\nKim\n", encoding="utf-8")
    source = archive(here / "lms.zip", files)
    said = gather(here, source, "--roster", here / "class.csv", ends=1)
    assert "the roster knows nobody by the number 301" in said and "has 2 of them filled in by the names" in said
    assert not list((here / "submissions").glob("*/masking.ipynb")), "a name is no identity"
    gather(here, source, "--roster", here / "submissions" / "roster-to-check.csv")
    found = {path.parent.name: path.read_bytes() for path in (here / "submissions").glob("*/masking.ipynb")}
    assert found == {"Anna Lee": b"a", "민준 김": b"m"}


def test_a_name_that_two_people_write_is_proposed_for_nobody(here):
    (here / "class.csv").write_text("student,name,lms id\nanna,Anna Lee,\nkim,Kim Oh,7\n", encoding="utf-8")
    files = {f"{name}_assignsubmission_file_/masking.ipynb": b"" for name in ("Anna Lee_1", "anna lee_2", "Kim Oh_3")}
    said = gather(here, archive(here / "m.zip", files), "--roster", here / "class.csv", ends=1)
    assert "filled in by the names" not in said and not (here / "submissions" / "roster-to-check.csv").exists()


def test_an_assignment_made_again_keeps_its_roster_and_says_what_else_changed(tmp_path):
    (tmp_path / "class.csv").write_text("student\nanna\nben\n", encoding="utf-8")
    words = ["assign", "masking", "--exercise", "masking.triangle", "--no-verify", "--to", tmp_path]
    tfm(*words, "--roster", tmp_path / "class.csv")
    assert roster.kept(tmp_path / "bundle").students == ("anna", "ben")
    said = tfm("assign", "masking", "--no-verify", "--to", tmp_path)
    assert "The roster is that of the last run." in said and "Not in it before: masking." in said
    assert roster.kept(tmp_path / "bundle").students == ("anna", "ben")
    assert "No longer in it: masking." in tfm(*words)
    assert "roster" not in tfm(*words, "--fresh") and roster.kept(tmp_path / "bundle") is None


def test_a_folder_of_submissions_that_is_a_link_is_not_followed(here):
    (here / "elsewhere").mkdir()
    (here / "submissions").mkdir()
    (here / "submissions" / "anna").symlink_to(here / "elsewhere")
    for name in ("anna", "ben"):
        write(here / "in" / name / "masking.ipynb", b"{}")
    assert "refused anna/masking.ipynb: it cannot be written: anna is a link" in gather(here, here / "in")
    assert not list((here / "elsewhere").iterdir())
    assert (here / "submissions" / "ben" / "masking.ipynb").is_file()


CHO = "Cho_301_303_503_masking.ipynb"  # of Cho_301, who is 303; or of Cho, 301, who names the file after 303


@pytest.mark.parametrize(
    ("numbers", "student", "why"),
    [
        ({"anna": "301", "cho": "303"}, "", "that of the number 301 or 303"),
        ({"cho": "303", "dan": "304"}, "", "that of the number 301 or 303"),
        ({"anna": "301", "dan": "304"}, "anna", ""),
        ({"anna": "301", "cho": ""}, "", "or collect with a roster that has everybody's lms id"),
        ({"dan": "304"}, "", "take the number that is not the student's out of it"),
        ({}, "", "or collect with a roster that has everybody's lms id"),
    ],
)
def test_a_name_in_canvas_that_ends_in_a_number_is_nobody_elses(here, numbers, student, why):
    source = archive(here / "c.zip", {CHO: b"{}"})
    people = roster.Roster(tuple(roster.Person(name, lms_id=number) for name, number in numbers.items()))
    report = collect.collect(source, STEMS[:1], wishes=collect.CollectOptions(people if numbers else None))
    assert [one.student for one in report.kept] == ([student] if student else [])
    assert [CHO] * bool(why) == [where for where, told in report.refused if why in told]


def test_whoever_is_in_no_roster_is_nobody_in_it(here):
    numbers = roster.Roster((roster.Person("gus", lms_id="307"), roster.Person("hal", lms_id="308")))
    files = {"orrgus_307_501_masking.ipynb": b"{}", "mallory_999_502_308_1_masking.ipynb": b"{}"}
    source = archive(here / "c.zip", {**files, "mallory_999_503_307_1_masking.ipynb": b"{}"})
    report = collect.collect(source, STEMS[:1], wishes=collect.CollectOptions(numbers))
    assert [one.student for one in report.kept] == ["gus"] and len(report.refused) == 2


# ── kinds ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (["leeanna_301_501_masking.ipynb", "Anna_301_assignsubmission_file_/masking.ipynb"], "Canvas's archive, by"),
        (
            ["anna/masking.ipynb", "leeanna_301_501_masking.ipynb"],
            "Canvas's archive, by 'leeanna_301_501_masking.ipynb'",
        ),
        (
            ["anna/masking.ipynb", "Anna_301_assignsubmission_file_/masking.ipynb"],
            "a folder for each student, by 'anna'",
        ),
        (["anna/masking.ipynb", "ben+masks+2026-11-20 10:00:00 UTC+x/masking.ipynb"], "nbgrader's exchange, by 'ben+"),
    ],
)
def test_a_source_that_can_be_taken_in_two_ways_is_refused(here, files, told):
    source = archive(here / "mixed.zip", dict.fromkeys(files, b"{}"))
    with pytest.raises(CannotCollect, match="Say which it is: --kind folder, canvas, moodle or nbgrader") as caught:
        collect.collect(source, STEMS)
    assert told in str(caught.value) and "Nothing was collected" in str(caught.value)
    assert collect.collect(source, STEMS, "folder").kind == "folder"


BOTH = "Kim_12_345_assignsubmission_file_masking.ipynb"  # Kim, 12, of Canvas; or Kim_12, 345, of Moodle


@pytest.mark.parametrize(
    ("rest", "kind", "kept"),
    [
        ("ben_13_346_masking.ipynb", "canvas", ["Kim_12", "ben_13"]),  # of which Kim's has a name of its own
        ("Ben_13_assignsubmission_file_/masking.ipynb", "moodle", ["Ben_13", "Kim_12_345"]),
    ],
)
def test_a_name_that_fits_two_kinds_is_read_as_the_others_are(here, rest, kind, kept):
    report = collect.collect(archive(here / "c.zip", {BOTH: b"{}", rest: b"{}"}), STEMS)
    assert (report.kind, [one.student for one in report.kept]) == (kind, kept)
    assert len(report.kept) + len(report.refused) == 2


def test_where_every_name_fits_two_kinds_the_class_decides(here):
    source = archive(here / "c.zip", {BOTH: b"{}"})

    def collected_for(*numbers: str) -> CollectionReport:
        people = tuple(roster.Person(f"student{number}", lms_id=number) for number in numbers)
        return collect.collect(source, STEMS, wishes=collect.CollectOptions(roster.Roster(people)))

    assert [one.student for one in collected_for("345").kept] == ["student345"]
    by_canvas = collected_for("12")
    assert [one.student for one in by_canvas.kept] == ["student12"]
    assert by_canvas.notes == [f"{BOTH} is taken as masking: it is the only notebook of its student."]
    for numbers in ((), ("12", "345"), ("7",)):
        with pytest.raises(CannotCollect, match="Say which it is"):
            collected_for(*numbers)


def test_stray_files_make_nothing_ambiguous(here):
    files = {"leeanna_301_501_masking.ipynb": b"{}", "readme.txt": b"", ".DS_Store": b"", "__MACOSX/x": b""}
    report = collect.collect(archive(here / "c.zip", files), STEMS)
    assert report.kind == "canvas" and [where for where, _ in report.refused] == ["readme.txt"]


def test_a_class_in_one_folder_is_no_student(here):
    files = {"handed-in/anna/masking.ipynb": b"a", "handed-in/ben/masking.ipynb": b"b"}
    with pytest.raises(CannotCollect, match="one folder, handed-in, with 2 folders in it"):
        collect.collect(archive(here / "c.zip", files), STEMS)


def test_an_archive_is_no_exchange_and_has_no_dates(here):
    source = archive(here / "c.zip", {"anna/masking.ipynb": b"a"})
    with pytest.raises(CannotCollect, match="is an archive"):
        collect.collect(source, STEMS, "nbgrader")
    with pytest.raises(CannotCollect, match="--dates mtime is for the files of a folder"):
        collect.collect(source, STEMS, "auto", collect.CollectOptions(dates="mtime"))


def test_one_of_several_assignments_of_a_course(here):
    for name in ("masks", "exam"):
        write(here / "course" / "outbound" / name / "masking.ipynb", b"{}")
        write(here / "course" / "inbound" / f"ben+{name}+{NOW}+x" / "masking.ipynb", name.encode())
    with pytest.raises(CannotCollect, match="several assignments with such a notebook: exam, masks"):
        collect.collect(here / "course", STEMS)
    (one,) = collect.collect(here / "course", STEMS, "auto", collect.CollectOptions(assignment="exam")).kept
    assert one.data == b"exam"


# ── dates ─────────────────────────────────────────────────────────────────

DUE = datetime(2026, 11, 1, tzinfo=UTC)


def test_a_folders_dates_are_believed_only_when_asked_for(here):
    path = write(here / "in" / "anna" / "masking.ipynb", b"{}")
    os.utime(path, (DUE.timestamp() + 86_400, DUE.timestamp() + 86_400))
    gather(here, here / "in")
    assert late_days(here / "submissions", DUE) == {"anna/masking": None}
    assert late_days(here / "submissions", None) == {"anna/masking": 0.0}
    gather(here, here / "in", "--dates", "mtime")
    assert late_days(here / "submissions", DUE) == {"anna/masking": pytest.approx(1.0)}
    known = collected_record.roster(here / "submissions")["anna"].files["masking"]
    assert known.dated_by == "the file's own date, as the instructor asked"


def test_the_mark_late_of_canvas_follows_the_newer_archive(here):
    gather(here, archive(here / "c.zip", {"a_LATE_1_501_masking.ipynb": b"{}"}, day=20))
    assert late_days(here / "submissions", DUE) == {"a_1/masking": 1.0}
    gather(here, archive(here / "c.zip", {"a_1_501_masking.ipynb": b"{}"}, day=21))  # another due date in Canvas
    assert late_days(here / "submissions", DUE) == {"a_1/masking": 0.0}
    gather(here, archive(here / "c.zip", {"a_LATE_1_501_masking.ipynb": b"{}"}, day=20))
    assert late_days(here / "submissions", DUE) == {"a_1/masking": 0.0}


# ── what came before ──────────────────────────────────────────────────────


def history(here: Path) -> list[tuple[str, str]]:
    made = json.loads((here / "submissions" / "collected.json").read_text(encoding="utf-8"))
    return [(each["source"], each["became"]) for each in made["history"]]


def earlier(here: Path, student: str) -> set[bytes]:
    return {path.read_bytes() for path in (here / "submissions" / student / "earlier").glob("masking-*.ipynb")}


@pytest.mark.parametrize("name", ["a_1_{}_masking.ipynb", "A_1_assignsubmission_file_/masking.ipynb"])
def test_an_older_archive_replaces_nothing_in_silence(here, name):
    old = archive(here / "old.zip", {name.format(501): b"first"}, day=19)
    new = archive(here / "new.zip", {name.format(502): b"second"}, day=20)
    student = "A_1" if "{" not in name else "a_1"
    gather(here, new)
    said = gather(here, old)
    assert "is older than" in said and f"is kept in {student}/earlier" in said
    assert (here / "submissions" / student / "masking.ipynb").read_bytes() == b"second"
    assert earlier(here, student) == {b"first"}
    assert history(here) == [("new.zip", "counts"), ("old.zip", "earlier")]
    gather(here, new)
    gather(here, old)
    assert history(here) == [("new.zip", "counts"), ("old.zip", "earlier")], "nothing is told twice"


def test_a_newer_archive_takes_the_place_and_keeps_what_was_there(here):
    gather(here, archive(here / "old.zip", {"a_1_501_masking.ipynb": b"first"}, day=19))
    said = gather(here, archive(here / "new.zip", {"a_1_502_masking-1.ipynb": b"second"}, day=20))
    assert "takes the place of what was collected before from a_1_501_masking.ipynb" in said
    assert (here / "submissions" / "a_1" / "masking.ipynb").read_bytes() == b"second"
    assert earlier(here, "a_1") == {b"first"}


def test_what_somebody_changed_in_the_folder_is_kept_too(here):
    write(here / "in" / "anna" / "masking.ipynb", b"first")
    gather(here, here / "in")
    write(here / "submissions" / "anna" / "masking.ipynb", b"mended by hand")
    write(here / "in" / "anna" / "masking.ipynb", b"second")
    gather(here, here / "in")
    assert (here / "submissions" / "anna" / "masking.ipynb").read_bytes() == b"second"
    assert earlier(here, "anna") == {b"mended by hand"}


def test_all_copies_of_one_archive_are_kept(here):
    files = {f"a_1_{number}_masking-{number}.ipynb": str(number).encode() for number in range(1, 5)}
    gather(here, archive(here / "c.zip", files))
    assert (here / "submissions" / "a_1" / "masking.ipynb").read_bytes() == b"4"
    assert earlier(here, "a_1") == {b"1", b"2", b"3"}


def test_the_number_is_the_student_whatever_their_name(here):
    gather(here, archive(here / "c.zip", {"leeanna_301_501_masking.ipynb": b"1"}, day=19))
    gather(here, archive(here / "c.zip", {"parkanna_301_502_masking.ipynb": b"2"}, day=20))
    assert [path.parent.name for path in (here / "submissions").glob("*/masking.ipynb")] == ["leeanna_301"]
    assert collected_record.roster(here / "submissions")["leeanna_301"].name == "parkanna"


def test_one_folder_for_two_numbers_is_refused(here):
    gather(here, archive(here / "c.zip", {"lee_301_501_masking.ipynb": b"canvas"}))
    source = archive(here / "m.zip", {"lee_301_assignsubmission_file_/masking.ipynb": b"moodle"})
    said = gather(here, source)
    assert "claims the folder lee_301, which is another's" in said
    assert (here / "submissions" / "lee_301" / "masking.ipynb").read_bytes() == b"canvas"


def test_what_comes_by_mail_is_put_beside_what_came_through_canvas(here):
    gather(here, archive(here / "c.zip", {"lee_301_501_masking.ipynb": b"canvas"}))
    write(here / "by-mail" / "lee_301" / "masking.ipynb", b"by mail")
    gather(here, here / "by-mail")
    assert (here / "submissions" / "lee_301" / "masking.ipynb").read_bytes() == b"by mail"
    assert collected_record.roster(here / "submissions")["lee_301"].lms_id == "301"


# ── the record ────────────────────────────────────────────────────────────


def test_two_collections_at_once_are_refused(here):
    write(here / "in" / "anna" / "masking.ipynb", b"{}")
    gather(here, here / "in")
    before = (here / "submissions" / "collected.json").read_bytes()
    with (
        lock.only_one(here / "submissions", "tfm collect"),
        pytest.raises(lock.Busy, match="tfm collect .* is at work in"),
    ):
        inbox.write_collected(collect.collect(here / "in", STEMS), here / "submissions")
    assert (here / "submissions" / "collected.json").read_bytes() == before
    gather(here, here / "in")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"students": []}',
        '{"students": {"a": 1}}',
        '{"students": {"a": {"files": {"masking": {"late": "no"}}}}}',
    ],
)
def test_a_record_that_was_spoilt_is_a_sentence_and_is_not_written_over(here, text):
    write(here / "submissions" / "collected.json", text.encode())
    write(here / "in" / "anna" / "masking.ipynb", b"{}")
    with pytest.raises(collected_record.BadRecord, match="cannot be read"):
        inbox.write_collected(collect.collect(here / "in", STEMS), here / "submissions")
    with pytest.raises(collected_record.BadRecord, match="cannot be read"):
        collected_record.roster(here / "submissions")
    assert (here / "submissions" / "collected.json").read_text(encoding="utf-8") == text


def test_a_record_is_written_whole_or_not_at_all(here, monkeypatch):
    write(here / "in" / "anna" / "masking.ipynb", b"first")
    gather(here, here / "in")
    before = (here / "submissions" / "collected.json").read_bytes()
    write(here / "in" / "anna" / "masking.ipynb", b"second")

    def full(path: Path, data: bytes) -> None:
        if path.name == "collected.json":
            raise OSError(28, "No space left on device")
        replace(path, data)

    replace = inbox.replace_file
    monkeypatch.setattr(inbox, "replace_file", full)
    with pytest.raises(collected_record.BadRecord, match="No space left on device"):
        inbox.write_collected(collect.collect(here / "in", STEMS), here / "submissions")
    monkeypatch.undo()
    assert (here / "submissions" / "collected.json").read_bytes() == before
    assert earlier(here, "anna") == {b"first"}, "nothing is lost"


def test_a_refused_file_is_remembered_until_something_is_handed_in_for_it(here):
    def refused() -> list[str]:
        return [each.file for each in collected_record.roster(here / "submissions")["cho"].refused]

    write(here / "in" / "cho" / "masking.pdf", b"%PDF")
    write(here / "in" / "eve" / "masking.ipynb", b"eve")
    gather(here, here / "in", "--roster", here / "class.csv")
    write(here / "later" / "dan" / "masking.ipynb", b"dan")
    said = gather(here, here / "later", "--roster", here / "class.csv")
    assert refused() == ["cho/masking.pdf"], "another collection was of somebody else"
    assert "only refused files from cho" in said and "nothing from eve" not in said
    write(here / "last" / "cho" / "masking.ipynb", b"cho")
    gather(here, here / "last", "--roster", here / "class.csv")
    assert refused() == []


def test_a_folder_within_a_folder_is_refused(here):
    write(here / "in" / "anna" / "masking.ipynb", b"{}")
    for to in (here / "in" / "submissions", here):
        with pytest.raises(Refusal, match="lie in each other"):
            tfm("collect", here / "in", "--bundle", here / "bundle", "--to", to)
