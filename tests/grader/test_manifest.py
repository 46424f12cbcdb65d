"""Records keep their shape from a manifest to a student's result, and whatever does not have it is told in a sentence."""

import json
from pathlib import Path

import msgspec
import pytest

from grader.hostile.assignment import HIDDEN, MANIFEST
from tfm_grader.assignment import bundle
from tfm_grader.assignment.manifest import BadBundle, manifest
from tfm_grader.judging import results
from tfm_grader.records import Bound, ChapterResult, ExerciseResult, StudentResult, TestRow, Took
from tfm_grader.sandbox.limits import Limits

ENTRY = {"id": "masking.band", "title": "A band", "kind": "assigned", "answers": ["band"], "points": 3}


def written(folder: Path, text: str) -> Path:
    (folder / "tests").mkdir()
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    (folder / "tests" / "masking.py").write_text(HIDDEN, encoding="utf-8")
    return folder


def with_late(**late: object) -> dict:
    return {**MANIFEST, "late": late}


def with_limits(**limits: object) -> dict:
    return {**MANIFEST, "limits": limits}


def with_entry(**entry: object) -> dict:
    return {**MANIFEST, "chapters": {"masking": {"exercises": [{**ENTRY, **entry}]}}}


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (with_late(per_day=10), "late.per_day must be the share of the points .* from 0 to 1.*, not 10"),
        (with_late(per_day="10%"), "late.per_day must be .*, not '10%'"),
        (with_late(per_day=-0.1), "late.per_day must be .*, not -0.1"),
        (with_late(per_day=True), "late.per_day must be .*, not True"),
        (with_late(per_day=float("nan")), "is not JSON"),
        (with_late(free_days=-1), "late.free_days must be a number of days"),
        (with_late(free_days=10**30), "late.free_days must be a number of days"),
        (with_late(due="tomorrow"), "late.due must be a date with a time, as 2026-11-20T23:59.*, not 'tomorrow'"),
        (with_late(due=20261120), "late.due must be a date"),
        (with_late(perday=0.1), "late has an entry 'perday', .* misspelt"),
        ({**MANIFEST, "late": [0.1]}, "late must be a group"),
        (with_limits(seconds=0), "limits.seconds must be a number of seconds from 0.1 to 3600, not 0"),
        (with_limits(seconds="30 s"), "limits.seconds must be"),
        (with_limits(cpu=2.5), "limits.cpu must be a whole number"),
        (with_limits(memory=-1), "limits.memory must be a whole number of megabytes"),
        (with_limits(memry=600), "limits has an entry 'memry'"),
        (with_limits(processes=0), "limits.processes must be"),
        (with_limits(disk=10**9), "limits.disk must be"),
        (with_limits(open_files=None), "limits.open_files must be"),
        (with_entry(points=-1), "the points of masking.band must be a number from 0 to 1000, not -1"),
        (with_entry(points=10**9), "the points of masking.band must be"),
        (with_entry(points="3"), "the points of masking.band must be .*, not '3'"),
        (with_entry(points=None), "the points of masking.band must be"),
        (with_entry(kind="quiz"), "the kind of masking.band must be practice, assigned or text, not 'quiz'"),
        (with_entry(answers="band"), "the answers of masking.band must be a list of names"),
        (with_entry(point=3), "masking.band has an entry 'point'"),
        ({**MANIFEST, "chapters": {"masking": {"exercises": [ENTRY, ENTRY]}}}, "masking.band stands in it twice"),
        ({**MANIFEST, "chapters": {"masking": {"exercises": [{"id": "x"}]}}}, "x has no 'title'"),
        ({**MANIFEST, "chapters": {"masking": {"exercises": [7]}}}, "exercise 1 of masking must be a group"),
        ({**MANIFEST, "chapters": {"../masking": {"exercises": []}}}, "no name for a file"),
        ({**MANIFEST, "chapters": {}}, "describes no chapters"),
        ({**MANIFEST, "seed": None}, "seed must be the name of the class"),
        ({**MANIFEST, "note": "of mine"}, "has an entry 'note'"),
        ({**MANIFEST, "format": 0}, "another version"),
        ([MANIFEST], "another version"),
    ],
)
def test_a_wrong_value_in_a_manifest_is_a_sentence(tmp_path, made, sentence):
    with pytest.raises(BadBundle, match=sentence):
        bundle.read_bundle(written(tmp_path, json.dumps(made)))


def test_a_manifest_that_leaves_out_what_has_a_default_is_read(tmp_path):
    plain = {name: value for name, value in MANIFEST.items() if name != "limits"}
    made = bundle.read_bundle(written(tmp_path, json.dumps(plain)))
    assert made.limits == Limits()
    assert made.manifest.late.due_at is None
    assert [entry.points for entry in made.exercises("masking")] == [1, 3]


def test_a_date_without_a_zone_is_utc():
    plain = manifest(with_late(due="2026-11-20T23:59")).late.due_at
    assert plain == manifest(with_late(due="2026-11-21T00:59+01:00")).late.due_at


@pytest.mark.parametrize("points", ["-1", "math.nan", "math.inf", "'1'", "True", "None"])
def test_a_hidden_test_gives_a_number_of_points(points):
    source = f'@hidden("masking.band", points={points})\ndef a(student, expect): ...'
    with pytest.raises(BadBundle, match="points"):
        bundle.hidden_tests(source, "masking")


ROW = TestRow(name="looks back", outcome="refused", of=1, held=["it is square"], message="Look back.", mistake="ahead")
EXERCISE = ExerciseResult(
    id="masking.band",
    status="stopped",
    of=3,
    points=1,
    reason="Slow.",
    tests=[ROW],
    took=Took(seconds=2, cpu=1),
    bound=Bound(handed_in="a", bundle="b", grader="c"),
)
KNOWN = StudentResult(student="김민지", chapters={"masking": ChapterResult(submitted=True, exercises=[EXERCISE])}, of=3)


def test_a_result_is_read_as_it_was_written(tmp_path):
    results.write_result(tmp_path / "a.json", KNOWN)
    assert results.read_result(tmp_path / "a.json") == KNOWN
    assert results.all_in(tmp_path) == [KNOWN]
    (shown,) = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["chapters"]["masking"]["exercises"]
    assert (shown["took"], shown["tests"][0]["outcome"]) == ({"seconds": 2, "cpu": 1}, "refused")


@pytest.mark.parametrize(
    "broken",
    [
        lambda made: made | {"format": 0},
        lambda made: made | {"points": "3"},
        lambda made: made | {"status": "fine"},
        lambda made: made | {"chapters": {"masking": {"submitted": "yes"}}},
        lambda made: made | {"chapters": [1]},
        lambda made: {"format": 1},
        lambda made: [made],
    ],
)
def test_what_is_no_result_is_judged_again_and_not_believed(tmp_path, broken):
    made = broken(msgspec.to_builtins(KNOWN))
    (tmp_path / "a.json").write_text(json.dumps(made), encoding="utf-8")
    assert results.read_result(tmp_path / "a.json") is None
