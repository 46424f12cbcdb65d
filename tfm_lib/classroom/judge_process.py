"""The process that judges: it holds the tests, talks to a sandbox, and never runs a line of a student's.

It speaks lines of JSON with the command that started it: first the bundle, then one submission after the other.
"""

from __future__ import annotations

import base64
import os
import sys
import time
from pathlib import Path
from typing import Any

from tfm_lib._refusal import Refusal


def main() -> None:
    """Judge until the input ends."""
    from tfm_lib.classroom.inside.channel import Channel, Closed

    speak = os.dup(1)
    os.dup2(2, 1)  # what a test prints is no answer
    channel = Channel(os.dup(0), speak)
    try:
        begin = channel.receive()
        from tfm_lib.classroom.unprivileged import leave_root

        try:
            leave_root()
            judge, tried = _ready(begin)
        except Refusal as error:
            channel.send({"refused": str(error)})
            return
        channel.send({"ready": tried})
        with judge.sandbox:
            while True:
                channel.send({"result": judge.submission(channel.receive())})
    except Closed:
        return


def _ready(begin: dict[str, Any]) -> tuple[Judge, list[str]]:
    from tfm_lib.classroom.backends import NoSandbox, backend
    from tfm_lib.classroom.grading import limit_own_memory
    from tfm_lib.classroom.sandbox import Sandbox, SandboxFailed
    from tfm_lib.classroom.selftest import require_safe

    limit_own_memory()
    judge = Judge(begin, Sandbox(backend(begin["sandbox"], begin["image"])))
    try:
        tried = require_safe(judge.sandbox, [Path(path) for path in begin["private"]], judge.bundle.limits)
    except SandboxFailed as error:
        raise NoSandbox(f"The sandbox does not work here: {error}. Nothing was graded.") from None
    return judge, tried


class Judge:
    """Judges submissions by one bundle in one sandbox."""

    def __init__(self, begin: dict[str, Any], sandbox: Any):
        from tfm_lib.classroom.bundle import Bundle

        self.bundle, self.sandbox = Bundle(begin["manifest"], begin["tests"]), sandbox
        self._tasks: dict[tuple[str, str], list[Any]] = {}
        for stem in self.bundle.stems:
            self.tasks(stem, "")

    def tasks(self, stem: str, student: str) -> list[Any]:
        """The tasks of a chapter for a student; made once for all who have the same."""
        from tfm_lib.classroom.bundle import tasks

        own = student if student in self.bundle.tests.get(stem, {}) else ""
        if own == "" and stem in self.bundle.tests and "" not in self.bundle.tests[stem]:
            own = min(self.bundle.tests[stem])  # everyone has numbers of their own, and this student is not on the list
        if (stem, own) not in self._tasks:
            self._tasks[stem, own] = tasks(self.bundle, stem, own)
        return self._tasks[stem, own]

    def submission(self, job: dict[str, Any]) -> dict[str, Any]:
        """The results of one notebook, by exercise: `{"exercises": {id: result}}`, or `{"unreadable": reason}`."""
        from tfm_lib.classroom.grading import grade_exercise
        from tfm_lib.classroom.notebook import NotANotebook, read

        began, spent = time.process_time(), self.sandbox.spent
        tasks = [task for task in self.tasks(job["stem"], job["student"]) if task.id in job["ids"]]
        try:
            notebook = read(base64.b64decode(job["data"]), {name for task in tasks for name in task.answers})
        except NotANotebook as error:
            return {"unreadable": str(error)}
        limits, seed = self.bundle.limits, self.bundle.seed
        done = {task.id: grade_exercise(task, notebook.code, self.sandbox, limits, seed) for task in tasks}
        cpu = time.process_time() - began + self.sandbox.spent - spent
        return {"exercises": done, "texts": notebook.texts, "notes": notebook.notes, "cpu": cpu}


if __name__ == "__main__":
    sys.exit(main())
