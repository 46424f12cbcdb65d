"""Submissions as an LMS gives them: whose each is, which of several counts, how late it is; and what is refused."""

import json
import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from project import ROOT

from grader.one_of_each import tfm
from grader.users import Users
from tfm_grader.assignment.manifest import Late
from tfm_grader.collecting import collect, collected_record, inbox
from tfm_grader.collecting.archives import CannotCollect
from tfm_grader.collecting.collected_record import HandIn, days_late
from tfm_grader.collecting.inbox import CollectionReport
from tfm_grader.scoring.scores import lateness

STEMS = ["masking", "self_attention"]
MANIFEST = {
    "format": 1,
    "name": "Masks",
    "seed": "class",
    "chapters": {"masking": {"exercises": [{"id": "masking.why", "title": "Why?", "kind": "text", "points": 2}]}},
}


def archive(path: Path, files: dict[str, bytes], day: int = 20) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, data in files.items():
            made.writestr(zipfile.ZipInfo(name, (2026, 11, day, 10, 0, 0)), data)
    return path


def late_days(to: Path, due: datetime | None) -> dict[str, float | None]:
    """The days after `due` of all that was collected, as `ben/masking`."""
    students = collected_record.roster(to).items()
    return {f"{name}/{stem}": days_late(file, due) for name, known in students for stem, file in known.files.items()}


def kept(report: CollectionReport) -> dict[tuple[str, str], bytes]:
    return {(one.student, one.stem): one.data for one in report.kept}


@pytest.fixture(autouse=True)
def users(monkeypatch) -> Users:
    return Users(monkeypatch)


def submit(course: Path, student: str, when: str, data: bytes) -> None:
    """As `nbgrader submit` leaves it in the exchange."""
    folder = course / "inbound" / f"{student}+masks+{when} UTC+c2Vj"
    folder.mkdir(parents=True)
    (folder / "masking.ipynb").write_bytes(data)
    (folder / "submission_secret.txt").write_text("c2VjcmV0", encoding="utf-8")
    (folder / "timestamp.txt").write_text(f"{when}.123456 UTC", encoding="utf-8")
    (folder / "timestamp.txt").chmod(0o644)


@pytest.fixture
def exchange(tmp_path: Path) -> Path:
    course = tmp_path / "exchange" / "transformer"
    (course / "outbound" / "masks").mkdir(parents=True)
    (course / "outbound" / "masks" / "masking.ipynb").write_bytes(b"handed out")
    submit(course, "ben", "2026-11-21 09:30:00", b"ben, second")
    submit(course, "ben", "2026-11-20 09:30:00", b"ben, first")
    submit(course, "이서연", "2026-11-20 08:00:00", b"seoyeon")
    return tmp_path / "exchange"


@pytest.mark.parametrize(("below", "kind"), [("", "auto"), ("", "nbgrader"), ("transformer", "auto")])
def test_an_exchange_gives_each_students_last_submission_and_nothing_that_was_handed_out(exchange, below, kind):
    report = collect.collect(exchange / below, STEMS, kind)
    assert kept(report) == {("ben", "masking"): b"ben, second", ("이서연", "masking"): b"seoyeon"}
    assert [Path(where).parts[-2].split("+")[2] for where in report.replaced] == ["2026-11-20 09:30:00 UTC"]
    assert [where.removeprefix("transformer/") for where, _ in report.refused] == ["outbound/masks/masking.ipynb"]


def test_the_inbound_folder_alone_will_do(exchange):
    report = collect.collect(exchange / "transformer" / "inbound", STEMS)
    assert [one.student for one in report.kept] == ["ben", "이서연"]
    (when,) = {one.handed_in for one in report.kept if one.student == "ben"}
    assert datetime.fromtimestamp(when, UTC) == datetime(2026, 11, 21, 9, 30, 0, 123456, tzinfo=UTC)


def test_moodle(tmp_path):
    files = {
        "Ada Park_301_assignsubmission_file_/masking.ipynb": b"ada, masking",
        "Ada Park_301_assignsubmission_file_/self_attention (1).ipynb": b"ada, self-attention",
        "Ben O'Neil_302_assignsubmission_file/masking.ipynb": b"ben",
        "Ben O'Neil_303_assignsubmission_file_/masking.ipynb": b"another ben",
        "Ada Park_301_assignsubmission_onlinetext_/onlinetext.html": b"<p>hello</p>",
    }
    report = collect.collect(archive(tmp_path / "moodle.zip", files), STEMS)
    found = {(one.claim.name, one.claim.lms_id, one.stem): one.data for one in report.kept}
    assert found == {
        ("Ada Park", "301", "masking"): b"ada, masking",
        ("Ada Park", "301", "self_attention"): b"ada, self-attention",
        ("Ben O'Neil", "302", "masking"): b"ben",
        ("Ben O'Neil", "303", "masking"): b"another ben",
    }
    assert len({one.student for one in report.kept}) == 3
    assert [why for _, why in report.refused] == ["it is not a notebook (.ipynb)"]


def test_canvas(tmp_path):
    files = {
        "parkada_11_501_masking.ipynb": b"first",
        "parkada_11_501_masking-10.ipynb": b"tenth",
        "parkada_11_501_masking-2.ipynb": b"second",
        "oneilben_LATE_12_502_self_attention.ipynb": b"ben",
        "oneilben_12_503_homework.ipynb": b"what is it?",
    }
    report = collect.collect(archive(tmp_path / "canvas.zip", files), STEMS)
    assert kept(report) == {("oneilben_12", "self_attention"): b"ben", ("parkada_11", "masking"): b"tenth"}
    assert [(one.claim.lms_id, one.claim.late) for one in report.kept] == [("12", True), ("11", False)]
    assert report.replaced == ["parkada_11_501_masking.ipynb", "parkada_11_501_masking-2.ipynb"]
    assert [where for where, _ in report.refused] == ["oneilben_12_503_homework.ipynb"]
    assert all(one.handed_in is None for one in report.kept), "an archive's dates are not the students'"


def test_a_folder_gives_the_newest_copy_and_follows_no_link(tmp_path):
    source = tmp_path / "handed-in"
    (source / "anna").mkdir(parents=True)
    for name, age in (("masking.ipynb", 50), ("masking (1).ipynb", 10), ("masking (2).ipynb", 90)):
        (source / "anna" / name).write_text(name, encoding="utf-8")
        os.utime(source / "anna" / name, (1e9 - age, 1e9 - age))
    (source / "ben").symlink_to(source / "anna")
    report = collect.collect(source, STEMS)
    assert kept(report) == {("anna", "masking"): b"masking (1).ipynb"}
    assert len(report.replaced) == 2
    assert [where for where, _ in report.refused] == ["ben"]
    with pytest.raises(CannotCollect, match="There is no"):
        collect.collect(tmp_path / "nowhere", STEMS)
    (tmp_path / "no.zip").write_text("no")
    with pytest.raises(CannotCollect, match="not a zip archive"):
        collect.collect(tmp_path / "no.zip", STEMS)


def test_of_too_many_copies_the_oldest_are_dropped(tmp_path):
    count = collect.MAX_COPIES + 5
    files = {
        f"parkada_11_{500 + number}_masking-{number}.ipynb": str(number).encode() for number in range(1, count + 1)
    }
    report = collect.collect(archive(tmp_path / "canvas.zip", files), STEMS)
    assert kept(report) == {("parkada_11", "masking"): str(count).encode()}
    assert [one.data for one in report.earlier] == [str(number).encode() for number in range(6, count)]
    assert {where for where, _ in report.refused} == set(list(files)[:5])
    assert {why for _, why in report.refused} == {"of parkada_11 there are 20 newer copies of this notebook"}


@pytest.mark.parametrize(
    ("due", "free", "left"),
    [
        ("2026-11-21T09:31+00:00", 0, 1.0),
        ("2026-11-21T18:31+09:00", 0, 1.0),  # the same moment, told elsewhere
        ("2026-11-21T09:29+00:00", 0, 0.9),  # a day begun is a day
        ("2026-11-19T09:00+00:00", 0, 0.7),
        ("2026-11-19T09:00+00:00", 1, 0.8),
        ("2026-11-01T09:00+00:00", 1, 0.0),
    ],
)
def test_lateness_costs_what_the_rule_says(due, free, left):
    rule = Late(per_day=0.1, free_days=free, due=due)
    handed_in = HandIn("", handed_in=datetime(2026, 11, 21, 9, 30, tzinfo=UTC).timestamp())
    assert lateness(days_late(handed_in, rule.due_at), rule) == pytest.approx(left)


def test_days_that_are_waived_come_beside_the_free_ones():
    rule = Late(per_day=0.1, free_days=2)
    assert [lateness(3, rule, waived) for waived in (0, 1, 2)] == pytest.approx([0.9, 1, 1])
    assert lateness(3.5, rule, 1) == pytest.approx(0.9) and lateness(None, rule) == 1


def test_a_roster_gives_every_student_numbers_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = [f"s{number}" for number in range(8)] + ["김민지"]
    (tmp_path / "class.csv").write_text(
        "student,section\n" + "".join(f"{name},1\n" for name in names), encoding="utf-8"
    )
    words = ["--private", "tests/grader/assignments", "--no-verify", "--seed", "a", "--roster", tmp_path / "class.csv"]
    tfm("assign", "masking", *words, "--to", tmp_path / "out")
    texts = {}
    for name in names:
        texts[name] = (tmp_path / "out" / "student" / name / "masking.ipynb").read_text(encoding="utf-8")
        tests = (tmp_path / "out" / "bundle" / "tests" / "masking" / f"{name}.py").read_text(encoding="utf-8")
        (asked,) = {
            line for cell in json.loads(texts[name])["cells"] for line in cell["source"] if "positions before" in line
        }
        back, ahead = (int(word) for word in asked.split() if word.isdigit())
        assert f"def a_band(n, back={back}, ahead={ahead})" in tests
    assert len(set(texts.values())) > 2
    assert not (tmp_path / "out" / "student" / "masking.ipynb").exists()


def dated(folder: Path, data: bytes, when: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "masking.ipynb").write_bytes(data)
    os.utime(folder / "masking.ipynb", (when, when))


def test_the_same_notebook_again_keeps_its_earlier_date(tmp_path):
    """Copying a folder gives its files new dates, and another run may not ask for dates at all."""
    to, source = tmp_path / "to", tmp_path / "in"

    def times(**more) -> tuple[float | None, str]:
        report = collect.collect(source, STEMS, "folder", collect.CollectOptions(**more) if more else None)
        inbox.write_collected(report, to)
        return collected_record.roster(to)["ann"].files["masking"].handed_in, " ".join(report.notes)

    dated(source / "ann", b"ann", 1_000_000_000)
    assert times(dates="mtime") == (1_000_000_000, "")
    dated(source / "ann", b"ann", 1_500_000_000)
    later, note = times(dates="mtime")
    assert later == 1_000_000_000 and "1 notebook collected before came again unchanged" in note
    assert times()[0] == 1_000_000_000, "without dates, what was known stays"
    dated(source / "ann", b"ann", 900_000_000)
    assert times(dates="mtime") == (900_000_000, "")
    dated(source / "ann", b"ann, other", 1_600_000_000)
    assert times(dates="mtime")[0] == 1_600_000_000
