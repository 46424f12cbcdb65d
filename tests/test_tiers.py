"""What `make test` leaves to the long tier, what a change brings back of it, and the faults that measure both."""

import json
import re
import subprocess

import pytest
import rooms
import tiers
import touched
from power import FAULTS, faults, table
from project import ROOT
from samples import MODULES

FILES = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def test_every_file_of_the_product_lies_in_a_room_and_every_test_that_a_room_names_is_there():
    product = [path for path in FILES if path.startswith(("tfm_lib/", "frontend/src/", "chapters/"))]
    assert [path for path in product if not rooms.rooms(path)] == []
    named = {test for room in rooms.ROOMS.values() for test in room.tests}
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []


def test_every_file_that_has_a_long_test_belongs_to_a_room():
    """Otherwise no change would bring it back."""
    long = {
        path.removeprefix("tests/")
        for path in FILES
        if path.startswith("tests/")
        and "/test_" in path
        and re.search("mark.long|import .*params", (ROOT / path).read_text(encoding="utf-8"))
    }
    reached = {test for room in rooms.ROOMS.values() for test in room.tests}
    imported = {"test_quick.py", "test_tiers.py"}  # what they test, they import, and so a change of it brings them back
    assert long - reached - imported == set()


def test_a_change_brings_back_the_long_tests_of_its_room_and_of_its_chapter():
    widget = rooms.selection(["frontend/src/masking/mask_editor.js"])
    jump = "tests/browser/test_jumps.py::test_no_control_moves_while_it_is_moved[{}-desktop]"
    assert widget.rank(jump.format("masking/mask_editor")) == -1
    assert widget.rank(jump.format("cost/cost_explorer")) is None
    assert widget.rank("tests/hostile/test_quiet.py::test_anything") is None
    assert rooms.selection(["frontend/src/kit/card.js"]).rank(jump.format("cost/cost_explorer")) is not None
    grader = rooms.selection(["tfm_grader/scoring/scores.py"])
    assert grader.rank("tests/hostile/test_quiet.py::test_anything") is not None
    assert grader.rank(jump.format("masking/mask_editor")) is None


def test_what_is_tried_and_what_is_left_is_said(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(touched.subprocess, "call", lambda command, **options: asked.append((command, options)) or 0)
    monkeypatch.setattr(touched, "changed", lambda since: (since, ["tfm_grader/scoring/scores.py"]))
    assert touched.main("0123456789abcdef") == 0
    said = capsys.readouterr().out
    assert "Long tests are tried of: grader." in said and "Left to make test-all are those of: core" in said
    ((command, options),) = asked
    assert "long and not hub" in command
    assert json.loads(options["env"]["TFM_QUICK"])["paths"] == ["tfm_grader/scoring/scores.py"]
    monkeypatch.setattr(touched, "changed", lambda since: (since, ["CHANGELOG.md"]))
    assert touched.main("0123456789abcdef") == 0
    assert "in no room that has long tests" in capsys.readouterr().out and len(asked) == 1


@pytest.mark.parametrize("name", ["CHAPTERS", "SPREAD"])
def test_what_make_test_keeps_is_there(name):
    known = {"CHAPTERS": {path.stem for path in (ROOT / "chapters").glob("*.md")}, "SPREAD": {*MODULES}}
    assert {*getattr(tiers, name)} <= known[name]


# --- planted faults ------------------------------------------------------------------------------------------------


def test_planted_faults_are_forty_eight_in_nine_rooms_and_half_of_them_are_reverts():
    found = faults()
    assert len(found) >= 48 and {fault.room for fault in found} == {*rooms.ROOMS} - {"chapters"}
    assert sum(fault.origin.startswith("revert of ") for fault in found) * 2 >= len(found)
    for fault in found:
        assert fault.name.startswith(f"{fault.room}-") and len(fault.user) > 40, fault.name
        assert fault.room in {room for path in fault.paths for room in rooms.rooms(path)}, fault.name


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_a_planted_fault_still_fits_the_code(fault):
    """Who changes what a fault breaks writes the fault anew: it would measure nothing."""
    run = subprocess.run(["git", "apply", "--check", str(fault.file)], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_table_counts_what_was_found_and_names_what_was_not():
    results = {
        "core-a": {"room": "core", "test": "found", "all": "found", "by": ["x"]},
        "core-b": {"room": "core", "test": "passed", "all": "found", "by": ["tests/test_x.py::test_y"]},
        "twin-c": {"room": "twin", "test": "passed", "all": "time up", "by": []},
    }
    said = table(results).splitlines()
    assert said[1].split() == ["core", "2", "1", "2"] and said[3].split() == ["all", "3", "1", "2"]
    assert said[4] == "  core-b: found by the long tests only: tests/test_x.py::test_y (passed, found)"
    assert said[5].endswith("twin-c: found by none (passed, time up)")


def test_results_are_of_the_faults_as_they_stand():
    file = FAULTS / "results.json"
    if file.exists():
        known = json.loads(file.read_text(encoding="utf-8"))
        told = {name: each["digest"] for name, each in known.items()}
        assert told.items() <= {fault.name: fault.digest for fault in faults()}.items(), "try the others: make power"
