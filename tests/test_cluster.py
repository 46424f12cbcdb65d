"""Grading on a Dask cluster: the same results as on one machine, and a worker killed in the middle loses nothing."""

import json
import os
import signal
import time

import pytest
from hostile.assignment import HIDDEN, MANIFEST
from hostile.cases import BAND, IMPORTS, TRIANGLE, notebook
from typer.testing import CliRunner

from tfm_lib.classroom import commands
from tfm_lib.classroom.cluster import Cluster
from tfm_lib.classroom.manifest import manifest
from tfm_lib.classroom.records import Begin, Job
from tfm_lib.cli import app

BEGIN = Begin(manifest=manifest(MANIFEST), tests={"masking": {"": HIDDEN}})
IDS = ["masking.triangle", "masking.band"]


def test_killed_worker_loses_nothing():
    distributed = __import__("distributed")
    slow = "import time\n" + BAND.replace("    dist", "    time.sleep(0.5)\n    dist", 1)
    data = notebook([IMPORTS, TRIANGLE, slow])
    jobs = [Job(student=f"s{n}", stem="masking", ids=IDS, data=data) for n in range(6)]
    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**workers) as local, Cluster(BEGIN, local.scheduler_address) as cluster:
        came = {}
        results = cluster.results(jobs)
        job, result = next(results)
        came[job.student] = result
        victim = next(iter(cluster.client.run(os.getpid).values()))
        os.kill(victim, signal.SIGKILL)
        came |= {job.student: result for job, result in results}
    assert sorted(came) == [f"s{n}" for n in range(6)]
    for result in came.values():
        assert sum(row.points for row in result.exercises.values()) == 4, result


def test_command_without_a_scheduler_is_a_sentence(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "masking.py").write_text(HIDDEN, encoding="utf-8")
    (tmp_path / "submissions" / "anna").mkdir(parents=True)
    (tmp_path / "submissions" / "anna" / "masking.ipynb").write_bytes(notebook([IMPORTS, TRIANGLE]))
    words = ["grade", str(tmp_path / "submissions"), "--bundle", str(tmp_path), "--engine", "dask"]
    with pytest.raises(commands.Refusal, match="together with --scheduler"):
        CliRunner().invoke(app, words, catch_exceptions=False)
    began = time.monotonic()
    with pytest.raises(commands.Refusal, match="No scheduler answers"):
        CliRunner().invoke(app, [*words, "--scheduler", "tcp://127.0.0.1:9"], catch_exceptions=False)
    assert time.monotonic() - began < 120
