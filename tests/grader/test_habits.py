"""Right notebooks earn full points, whatever habits wrote them: what ran in Jupyter is what is graded."""

import json
import os
import subprocess
import sys
from contextlib import closing

import pytest
from project import ROOT
from tiers import every, params

from grader.habits import assignment, habits
from grader.hostile.cases import notebook
from tfm_grader.assignment.manifest import manifest as decoded_manifest
from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.records import Begin, Graded, Job

ALL = habits()


@pytest.fixture(scope="module")
def made():
    return assignment()


@pytest.fixture(scope="module")
def in_ipython(made) -> dict[str, dict[str, str]]:
    asked = {name: {"cells": habit.cells, "ids": habit.ids} for name, habit in ALL.items()}
    hidden = made.bundle["bundle/tests/masking.py"]
    run = subprocess.run(
        [sys.executable, "-m", "grader.habits.in_ipython"],
        cwd=ROOT / "tests",
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", "MPLBACKEND": "Agg"},
        input=json.dumps({"notebooks": asked, "hidden": hidden}),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_there_are_at_least_sixty():
    assert len(ALL) >= 60
    assert len({habit.stem for habit in ALL.values()}) >= 6


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_the_notebook_is_right_in_ipython(in_ipython, name):
    assert in_ipython[name] == dict.fromkeys(ALL[name].ids, "")


@pytest.fixture(scope="module")
def judge(made):
    manifest = decoded_manifest(json.loads(made.bundle["bundle/manifest.json"]))
    tests = {"masking": {"": made.bundle["bundle/tests/masking.py"]}}
    with closing(JudgeProcess(Begin(manifest=manifest, tests=tests))) as process:
        yield process


@pytest.mark.long
def test_a_table_of_the_short_masks_is_not_the_rule(judge):
    (habit, *_) = (habit for habit in ALL.values() if habit.ids == ("masking.band",))
    table = "rule = band\ndef band(n):\n    return rule(n) if n < 100 else torch.zeros(n, n, dtype=torch.bool)"
    job = Job(student="someone", stem="masking", ids=[*habit.ids], data=notebook([*habit.cells, table]))
    assert judge.judge(job).exercises["masking.band"].points == 1


@pytest.mark.long
@pytest.mark.parametrize("name", params(ALL, every(100, ALL), rest=every(6, ALL)))
def test_the_notebook_earns_full_points(judge, name):
    habit = ALL[name]
    job = Job(student="someone", stem=habit.stem, ids=list(habit.ids), data=notebook(list(habit.cells)))
    for id, row in judge.judge(job).exercises.items():
        assert (row.points, row.status) == (row.of, "ok"), f"{id}: {row}"
        assert row.graded == Graded(what="notebook"), row.graded
