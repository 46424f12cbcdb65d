"""Judge on a cluster with `dask.distributed`. Only the client writes results, so a killed worker loses nothing.

A job is plain data: a notebook, the bundle and exercise ids. Each worker runs its own sandboxed judging process; it
needs this library and bubblewrap, but none of the course's files.
"""

from __future__ import annotations

import hashlib
import ipaddress
import threading
from collections.abc import Iterable, Iterator
from typing import Self
from urllib.parse import urlsplit

import msgspec

from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.records import Begin, Job, NotJudged, Result
from tfm_grader.sandbox.bubblewrap import NoSandbox
from tfm_lib import _extras
from tfm_lib._refusal import Refusal

RETRIES = 5  # of a job whose worker was lost
SECURITY = "https://distributed.dask.org/en/stable/tls.html"

_judges: dict[tuple[str, int], JudgeProcess] = {}
_lock = threading.Lock()


class NoCluster(Refusal):
    """The cluster cannot be reached or used; the message says why."""


def judge_here(begin: Begin, job: Job) -> Result:
    """Judge `job` on a worker, with this thread's judging process. Raises JudgeDied so that Dask retries it."""
    mark = hashlib.sha256(msgspec.json.encode(begin, order="sorted")).hexdigest()
    with _lock:
        judge = _judges.setdefault((mark, threading.get_ident()), JudgeProcess(begin))
    try:
        return judge.judge(job)
    except NoSandbox as error:  # the worker's fault, not the submission's
        return NotJudged(infrastructure=str(error))


def _on_this_machine(address: str) -> bool:
    host = urlsplit(address if "://" in address else f"tcp://{address}").hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Cluster:
    """The workers behind the scheduler at `address`, such as `tls://host:8786`. Unencrypted only on localhost."""

    def __init__(self, begin: Begin, address: str):
        try:
            from dask.distributed import Client
        except ImportError:
            raise NoCluster(f"dask.distributed is not installed: {_extras.command('dask')}") from None
        self.begin = begin
        if not address.startswith("tls://") and not _on_this_machine(address):
            raise NoCluster(
                f"To {address} the hidden tests would go in the clear, and whoever answers there could run programs here. "
                f"Give Dask a certificate ({SECURITY}), and name the scheduler by tls:// in place of tcp://."
            )
        try:
            self.client = Client(address, timeout=20, set_as_default=False)
        except TypeError:
            raise NoCluster(
                f"{address} asks for a certificate, and Dask's settings name none here ({SECURITY})."
            ) from None
        except (OSError, ValueError) as error:
            raise NoCluster(
                f"No scheduler answers at {address} ({error}). Start one with `dask scheduler`, and workers with "
                f"`dask worker {address}` where bubblewrap and this library are installed."
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def start(self) -> list[str]:
        """Report the workers. Starts nothing: each worker tests its own sandbox before its first submission."""
        return [f"{len(self.client.scheduler_info()['workers'])} workers, each of which tests its own"]

    def at_work(self) -> list[str]:
        """Return no names, because the scheduler decides which job runs next."""
        return []

    def results(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
        """Yield each job with its result, as they complete."""
        from dask.distributed import as_completed

        begin = self.client.scatter(self.begin, broadcast=True)
        futures = {self.client.submit(judge_here, begin, job, pure=False, retries=RETRIES): job for job in jobs}
        for future in as_completed(futures, loop=self.client.loop):
            job = futures[future]
            try:
                yield job, future.result()
            except Exception as error:  # noqa: BLE001 (a lost worker, a lost result: ours, not the student's)
                yield job, NotJudged(infrastructure=f"the cluster lost it: {type(error).__name__}: {error}"[:300])
            future.release()
