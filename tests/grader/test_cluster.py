"""Grading on a Dask cluster: the same results as on one machine, and a worker killed in the middle loses nothing."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from project import ROOT
from typer.testing import CliRunner

from grader.hostile.assignment import HIDDEN, MANIFEST
from grader.hostile.cases import BAND, IMPORTS, TRIANGLE, notebook
from tfm_grader import commands
from tfm_grader.assignment.manifest import manifest
from tfm_grader.judging.cluster import Cluster, NoCluster
from tfm_grader.judging.cluster_keys import NoKeys, make_keys
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


def test_without_the_key_the_sentence_names_the_folder_that_is_missing():
    with pytest.raises(NoCluster, match="export DASK_CONFIG=FOLDER"):
        Cluster(BEGIN, "tls://127.0.0.1:9")


def settings(folder) -> dict:
    """What Dask reads in `folder`, by dotted names."""
    comm = __import__("dask").config.collect([str(folder)], env={})["distributed"]["comm"]
    tls = {f"distributed.comm.tls.{name}": value for name, value in comm["tls"].items()}
    return {**tls, "distributed.comm.require-encryption": comm["require-encryption"]}


def test_nobody_without_the_key_reads_what_a_cluster_tells_over_http(tmp_path):
    import asyncio
    import urllib.error
    import urllib.request

    dask, distributed = __import__("dask"), __import__("distributed")
    make_keys(tmp_path / "keys")

    def page(port: int, path: str) -> int:
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30).status
        except urllib.error.HTTPError as error:
            return error.code

    async def told() -> set[int]:
        here = {"host": "127.0.0.1", "port": 0, "dashboard_address": "127.0.0.1:0", "dashboard": False}
        async with distributed.Scheduler(protocol="tls", security=distributed.Security(), **here) as scheduler:
            paths = ("/info/main/workers.html", "/info/main/logs.html", "/json/identity.json", "/health")
            return {await asyncio.to_thread(page, scheduler.http_server.port, path) for path in paths}

    with dask.config.set(dask.config.merge(dask.config.config, dask.config.collect([str(tmp_path / "keys")], env={}))):
        assert asyncio.run(told()) == {404}


def start(folder, *words: str) -> subprocess.Popen:
    """A program of Dask's, with the key in `folder`."""
    program = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
    env = {**os.environ, "DASK_CONFIG": str(folder), "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    return subprocess.Popen(program, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.long
def test_a_cluster_with_a_key_grades_and_hears_nobody_without_it(tmp_path):
    """As the manual says: the key made by its command, scheduler and worker by Dask's own."""
    distributed, dask = __import__("distributed"), __import__("dask")
    keys, strangers = tmp_path / "keys", tmp_path / "others"
    made = subprocess.run(
        [sys.executable, "-m", "tfm_grader.judging.cluster_keys", str(keys)],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    assert f"export DASK_CONFIG={keys}" in made.stdout
    assert (keys / "key.pem").stat().st_mode & 0o077 == 0
    make_keys(strangers)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"tls://127.0.0.1:{port}"
    scheduler = start(
        keys, "scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"
    )
    worker = start(keys, "worker", address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path))
    try:
        with dask.config.set(settings(keys)), Cluster(BEGIN, address) as cluster:
            cluster.client.wait_for_workers(1, timeout=120)
            ((_, result),) = cluster.results(
                [Job(student="a", stem="masking", ids=IDS, data=notebook([IMPORTS, TRIANGLE, BAND]))]
            )
            assert sum(row.points for row in result.exercises.values()) == 4, result
        with dask.config.set(settings(strangers)), pytest.raises(OSError):
            distributed.Client(address, timeout=5, set_as_default=False)
        with pytest.raises(OSError):
            distributed.Client(address.replace("tls", "tcp"), timeout=5, set_as_default=False)
    finally:
        for process in (worker, scheduler):
            process.terminate()
            process.wait()


def test_a_key_is_not_written_over(tmp_path):
    with pytest.raises(NoKeys, match="there already"):
        make_keys(tmp_path)
