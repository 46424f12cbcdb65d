"""`make quick` tries what a change concerns, the nearest first, and says what it leaves."""

import json
import os
import subprocess
import sys
import time
from functools import cache

import pytest
import quick
from project import ROOT

MASKING, SCRIPT, PAGE = "tfm_lib/masking.py", "frontend/src/masking/mask_editor.js", "chapters/masking.md"
BANK, MAKEFILE, NAMES = "tests/banks/masking.py", "Makefile", "tfm_grader/names.py"


@cache
def concerned(path: str) -> quick.Concerned:
    return quick.concerned([path])


def tried(path: str, nodeid: str) -> bool:
    return concerned(path).keeps(nodeid, set())


def test_a_module_concerns_its_tests_checks_widgets_mutations_and_the_chapters_that_show_it():
    assert concerned(MASKING).stems == {"masking"} and concerned(MASKING).chapters == {"masking"}
    for nodeid in (
        "tests/test_masking.py::test_combine_skips_none",
        "tests/test_transformer.py::test_anything",
        "tests/test_widgets_masking.py::test_presets_come_from_the_library",
        "tests/test_exercises.py::test_solution_passes[masking.triangle]",
        "tests/test_judges_look_at_arguments.py::test_a_solution_that_ignores_an_argument_is_refused[masking.triangle: n]",
        "tests/test_mutations.py::test_named_test_turns_red[masking: leak transposed]",
        "tests/test_frontend.py::test_a_widget_is_small[masking/mask_editor]",
        "tests/test_frontend.py::test_numbers_in_the_browser_are_those_of_the_library",
        "tests/test_export.py::test_anything[masking]",
        "tests/test_layout.py::test_imports_make_no_circle",
    ):
        assert tried(MASKING, nodeid), nodeid
    for nodeid in (
        "tests/test_recurrence.py::test_anything",
        "tests/test_exercises.py::test_solution_passes[attention.ledger]",
        "tests/test_mutations.py::test_named_test_turns_red[multihead: heads not merged]",
        "tests/test_collect.py::test_anything",
    ):
        assert not tried(MASKING, nodeid), nodeid


def test_near_things_come_first():
    far = concerned(MASKING).files
    assert (
        far["test_layout.py"] < far["test_masking.py"] < far["test_decoding.py"]
        or far["test_decoding.py"] == far["test_masking.py"]
    )
    assert far["test_masking.py"] == 2 and far["test_engine.py"] > 2


def test_what_needs_the_built_book_is_left():
    assert not concerned(MASKING).keeps("tests/test_export.py::test_anything[masking]", {"built_book", "tmp_path"})
    assert not concerned(MASKING).keeps("tests/browser/test_jupyterlab.py::test_anything", {"lab"})


def test_javascript_pages_and_banks_concern_their_stem_and_no_module():
    for found in map(concerned, (SCRIPT, PAGE, BANK)):
        assert found.stems == {"masking"}
        assert "test_frontend.py" in found.files and "test_transformer.py" not in found.files
    assert concerned(PAGE).chapters == {"masking"} and not concerned(SCRIPT).chapters | concerned(BANK).chapters


def test_what_has_no_stem_concerns_what_imports_it_and_the_repository():
    assert concerned(MAKEFILE).files.keys() == {f"test_{name}.py" for name in quick.ALWAYS}
    assert (
        "test_roster.py" in concerned(NAMES).files
        and "test_masking.py" not in concerned(NAMES).files
        and not concerned(NAMES).stems
    )


def test_every_named_file_is_there():
    assert all((ROOT / "tests" / f"test_{name}.py").is_file() for name in (*quick.ALWAYS, *quick.BY_STEM))


@pytest.mark.parametrize(
    "seconds", [pytest.param(600, marks=pytest.mark.long), pytest.param(-1, marks=pytest.mark.long)]
)
def test_pytest_keeps_what_is_concerned_and_stops_when_time_is_up(seconds):
    asked = {"paths": ["chapters/masking.md"], "until": time.time() + seconds, "long": False}
    files = ["tests/test_notation.py", "tests/test_masking.py"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.plugins.quick", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env={**os.environ, "TFM_QUICK": json.dumps(asked)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr  # whatever the tests themselves say
    assert "deselected" in run.stdout
    assert ("passed" in run.stdout) == (seconds > 0)
    assert ("make test runs them" in run.stdout) == (seconds < 0)


def test_nothing_changed_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(quick, "changed", lambda since="": ("0123456789abcdef", []))
    assert quick.main() == 0
    assert capsys.readouterr().out.startswith("Nothing has changed since 0123456789ab: there is nothing to try.")


def test_new_files_and_edits_are_changes():
    base, paths = quick.changed("HEAD")
    listed = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert base == "HEAD" and len(paths) == len(listed.stdout.splitlines())
