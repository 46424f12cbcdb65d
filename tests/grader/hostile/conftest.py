"""A judging process for all hostile submissions, as `tfm grade` starts it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest

from grader.hostile.assignment import HIDDEN, MANIFEST
from tfm_grader.assignment.manifest import manifest
from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.records import Begin, Job

CANARY = "a file of the instructor's: 41c9"


class Judged:
    """Judges submissions, and knows what none of them may see or touch."""

    def __init__(self, process: JudgeProcess, canary: Path):
        self.process, self.canary = process, canary

    def __call__(self, data: bytes, student: str = "someone") -> dict:
        ids = [entry["id"] for entry in MANIFEST["chapters"]["masking"]["exercises"]]
        job = Job(student=student, stem="masking", ids=ids, data=data)
        return msgspec.to_builtins(self.process.judge(job))


@contextmanager
def judging(folder: Path, **limits: float) -> Iterator[Judged]:
    canary = folder / "grades.csv"
    canary.write_text(CANARY, encoding="utf-8")
    private = [str(canary), str(Path(__file__).parents[3] / "tests")]
    made, tests = {**MANIFEST, "limits": {**MANIFEST["limits"], **limits}}, {"masking": {"": HIDDEN}}
    process = JudgeProcess(Begin(manifest=manifest(made), tests=tests, private=private))
    process.start()
    yield Judged(process, canary)
    process.close()


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    with judging(tmp_path_factory.mktemp("instructor")) as patient:
        yield patient


@pytest.fixture
def judge_of(judged: Judged, tmp_path: Path) -> Iterator[Callable[[str], Judged]]:
    """The judge of a case; of one that does nothing until its time is up, a judge that waits for a quarter as long."""
    with ExitStack() as impatient:
        idle = ("endless sleep", "a reply with one byte a second")
        yield lambda name: impatient.enter_context(judging(tmp_path, seconds=5)) if name in idle else judged


class Listener:
    """Something on this machine that a submission would like to talk to, and what reached it."""

    def __init__(self) -> None:
        self.came: list[object] = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        while True:
            try:
                self.came.append(self.server.accept()[1])
            except OSError:
                return


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    with made.server:
        yield made
