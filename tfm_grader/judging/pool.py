"""A pool of judging processes. A process that dies is replaced, and its submission is judged once more."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Self, TypeVar

import msgspec

from tfm_grader.assignment.bundle import Bundle
from tfm_grader.judging.typed_messages import Wire
from tfm_grader.records import (
    Begin,
    Bound,
    Done,
    ExerciseResult,
    Job,
    Judged,
    NotJudged,
    Ready,
    Refused,
    Result,
    Step,
    TestRow,
    Unreadable,
)
from tfm_grader.sandbox.bubblewrap import NoSandbox
from tfm_grader.sandbox.inside.channel import ChannelError, TimeUp
from tfm_grader.sandbox.own_time import Starved
from tfm_grader.sandbox.process import PATIENCE

READING = 120  # seconds of processor time for reading a notebook
Answer = TypeVar("Answer")


class JudgeDied(Exception):
    """The judging process ended or hung: the grader's failure, not the submission's."""

    step: Step | None = None  # the step it was working on
    late: bool = False  # whether it timed out
    starved: bool = False  # whether it did because the machine was busy


class JudgeProcess:
    """A judging process, started when first needed. `begin` holds the bundle and the sandbox settings."""

    def __init__(self, begin: Begin):
        self.begin = begin
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: Wire | None = None
        self.tried: list[str] = []
        self.student = ""  # the student whose submission is being judged

    def start(self) -> None:
        """Start the process if it is not running. Raises NoSandbox if it refuses, JudgeDied if it cannot start."""
        if self._process is not None:
            return
        self._process = subprocess.Popen(
            # -P: the folder that the command is called in may hold a submission's files
            [sys.executable, "-P", "-W", "ignore", "-m", "tfm_grader.judging.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C goes to the command only, which ends its judges itself
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._wire = Wire(self._process.stdout.fileno(), self._process.stdin.fileno())
        ready = self._ask(self.begin, Ready | Refused, 3 * PATIENCE)
        if isinstance(ready, Refused):
            self.close()
            raise NoSandbox(ready.why)
        self._wire.watch(self._process.pid)
        self.tried = ready.tried

    def judge(self, job: Job) -> Result:
        """Judge one submission. Raises JudgeDied.

        An exercise whose answer crashes the process or exceeds its time is stopped; if the test itself times out, the
        exercise is not judged. The other exercises are judged as usual.
        """
        done: dict[str, ExerciseResult] = {}
        deaths: list[str] = []
        while True:
            try:
                result = self._watch(job.but(ids=[id for id in job.ids if id not in done]), done)
            except JudgeDied as died:
                step = died.step
                if step is None or not (step.of_student or (died.late and step.standing)):
                    raise
                deaths.append(step.id)
                if not died.late and deaths.count(step.id) < 2:  # retry once, because something else may have ended it
                    continue
                if not step.id and died.starved:
                    raise
                if not step.id:
                    return Unreadable(unreadable="reading it brought the grader down")
                done[step.id] = self._ended(job.stem, step, died)
            else:
                return result.but(exercises={**done, **result.exercises}) if isinstance(result, Judged) else result

    def _watch(self, job: Job, done: dict[str, ExerciseResult]) -> Result:
        """Judge `job`, adding finished exercises to `done`. Raises JudgeDied with the step it died at."""
        self.start()
        step = Step(id="", of_student=True, seconds=READING)
        message: Job | None = job
        while True:
            try:
                came = self._ask(message, Step | Done | Judged | Unreadable | NotJudged, step.seconds)
            except JudgeDied as died:
                died.step = step
                raise
            message = None
            if isinstance(came, Step):
                step = came
            elif isinstance(came, Done):
                done[came.result.id] = came.result
            else:
                return came

    def _ended(self, stem: str, step: Step, died: JudgeDied) -> ExerciseResult:
        """Make the result of an exercise that ended in `step`; tests that passed before keep their points.

        If the student's answer caused it, the exercise is stopped, and its page looks as after any other stop. If the
        test alone or a busy machine caused it, the exercise is not judged.
        """
        entry = next(entry for entry in self.begin.manifest.chapters[stem].exercises if entry.id == step.id)
        made = step.standing or ExerciseResult(id=step.id, status="stopped", of=entry.points)
        made = made.but(bound=Bound(grader=Bundle(self.begin.manifest, self.begin.tests).grader(stem, step.id)))
        tests, left = made.tests[: step.judged], made.tests[step.judged :]
        if died.starved or not step.of_student:
            alone = f"the test {left[0].name} ran for {step.seconds:g} seconds without a word from the answer"
            cause = f"{died}. Grade it again when the machine has less to do" if died.starved else alone
            rows = [TestRow(name=row.name, outcome="not judged", of=row.of) for row in left]
            return made.but(status="infrastructure", points=0, reason=cause, cause=cause, tests=[*tests, *rows])
        cause = f"What the answer gave back {'kept the grader busy beyond its time' if died.late else 'brought the grader down, twice'}."
        rows = [row.but(message=cause) if row.outcome == "stopped" else row.but(cause=cause) for row in left]
        told = not rows or any(row.outcome == "stopped" for row in rows)
        return made.but(reason=cause if told else "", cause=cause, tests=[*tests, *rows])

    def close(self) -> None:
        """Kill the process and its sandbox."""
        process, self._process, self._wire = self._process, None, None
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # it leads its process group
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    def _ask(self, record: msgspec.Struct | None, kind: type[Answer] | Any, seconds: float) -> Answer:
        """Send `record`, if given, and return the next message, for which the process may work for `seconds`.

        Raises JudgeDied.
        """
        assert self._wire is not None
        if self._wire.pid:
            self._wire.allow(seconds)
        else:
            self._wire.deadline = time.monotonic() + seconds
        try:
            if record is not None:
                self._wire.say(record)
            return self._wire.hear(kind)
        except (ChannelError, OSError) as error:
            self.close()
            died = JudgeDied(str(error))
            died.late, died.starved = isinstance(error, TimeUp), isinstance(error, Starved)
            raise died from None


def judged(judge: JudgeProcess, job: Job) -> Result:
    """Judge `job`, trying twice; a second failure is the grader's and costs no points."""
    for _ in range(2):
        try:
            return judge.judge(job)
        except JudgeDied as error:
            reason = f"the judging process failed: {error}"
    return NotJudged(infrastructure=reason)


class Pool:
    """`size` judging processes on this machine."""

    def __init__(self, begin: Begin, size: int):
        self._judges = [JudgeProcess(begin) for _ in range(size)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for judge in self._judges:
            judge.close()

    def start(self) -> list[str]:
        """Start the first judge, which tests the sandbox. Returns the checks made. Raises NoSandbox."""
        try:
            self._judges[0].start()
        except JudgeDied as error:
            raise NoSandbox(f"The judging process does not start ({error}). Nothing was graded.") from None
        return self._judges[0].tried

    def at_work(self) -> list[str]:
        """List the students whose submissions are being judged."""
        return [judge.student for judge in self._judges if judge.student]

    def results(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Result]]:
        """Yield each job with its result, as they complete."""
        waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[Job, Result] | Exception] = queue.SimpleQueue()
        count = 0
        for job in jobs:
            waiting.put(job)
            count += 1
        for judge in self._judges[: max(1, count)]:
            waiting.put(None)
            threading.Thread(target=_work, args=(judge, waiting, done), daemon=True).start()
        for _ in range(count):
            came = done.get()
            if isinstance(came, Exception):
                raise came
            yield came


def _work(judge: JudgeProcess, waiting: queue.SimpleQueue, done: queue.SimpleQueue) -> None:
    while (job := waiting.get()) is not None:
        judge.student = job.student
        try:
            done.put((job, judged(judge, job)))
        except Exception as error:  # noqa: BLE001 (a thread's error is told where its results are waited for)
            done.put(error)
            return
        finally:
            judge.student = ""
