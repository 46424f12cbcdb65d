"""Grading on a Dask cluster: the same results as on one machine, and a worker killed in the middle loses nothing."""

import json
import os
import signal
import subprocess
import time

import pytest
from typer.testing import CliRunner

from grader.hostile.assignment import HIDDEN, MANIFEST
from grader.hostile.cases import BAND, IMPORTS, TRIANGLE, notebook
from tfm_grader import commands
from tfm_grader.assignment.manifest import manifest
from tfm_grader.judging.cluster import Cluster, NoCluster
from tfm_grader.records import Begin, Job
from tfm_lib.cli import app

BEGIN = Begin(manifest=manifest(MANIFEST), tests={"masking": {"": HIDDEN}})
IDS = ["masking.triangle", "masking.band"]


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.7:8786", "10.0.0.7:8786", "tcp://grader.example:8786", "ucx://10.0.0.7:1"]
)
def test_nothing_goes_to_another_machine_in_the_clear(address):
    with pytest.raises(NoCluster, match="in the clear"):
        Cluster(BEGIN, address)


def test_without_a_certificate_the_sentence_says_where_to_read_about_one():
    with pytest.raises(NoCluster, match="asks for a certificate.*tls.html"):
        Cluster(BEGIN, "tls://127.0.0.1:9")


def certificate(folder) -> dict:
    """Dask's settings of its own TLS, with a certificate made in `folder` as its manual says."""
    folder.mkdir()
    key, crt = folder / "key.pem", folder / "cert.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=grading -keyout".split()
    subprocess.run([*words, str(key), "-out", str(crt)], check=True, capture_output=True)
    parts = {
        f"{part}.{name}": str(path)
        for part in ("client", "scheduler", "worker")
        for name, path in (("cert", crt), ("key", key))
    }
    tls = {f"distributed.comm.tls.{name}": value for name, value in {"ca-file": str(crt), **parts}.items()}
    return {**tls, "distributed.comm.require-encryption": True}


@pytest.mark.long
def test_a_cluster_with_a_certificate_grades_and_hears_nobody_without_it(tmp_path):
    distributed, dask = __import__("distributed"), __import__("dask")
    ours, strangers = certificate(tmp_path / "ours"), certificate(tmp_path / "others")
    here = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "protocol": "tls"}
    with dask.config.set(ours), distributed.LocalCluster(security=distributed.Security(), **here) as local:
        address = local.scheduler_address
        with Cluster(BEGIN, address) as cluster:
            job = Job(student="a", stem="masking", ids=IDS, data=notebook([IMPORTS, TRIANGLE, BAND]))
            ((_, result),) = cluster.results([job])
        assert sum(row.points for row in result.exercises.values()) == 4, result
        with dask.config.set(strangers), pytest.raises(OSError):
            distributed.Client(address, timeout=5, set_as_default=False)
        with dask.config.set({"distributed.comm.require-encryption": False}), pytest.raises(OSError):
            distributed.Client(address.replace("tls", "tcp"), timeout=5, set_as_default=False)
