"""The process that judges: it holds the tests, talks to a sandbox, and never runs a line of a student's.

It speaks lines of JSON with the command that started it: first the bundle, then one submission after the other.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfm_lib._refusal import Refusal

if TYPE_CHECKING:  # torch is imported only when this process has left root behind
    from tfm_lib.classroom.records import Begin, Job, Result
    from tfm_lib.classroom.sandbox import Sandbox


def main() -> None:
    """Judge until the input ends."""
    from tfm_lib.classroom.inside.channel import Closed
    from tfm_lib.classroom.records import Begin, Job, Ready, Refused
    from tfm_lib.classroom.wire import Wire

    speak = os.dup(1)
    os.dup2(2, 1)  # what a test prints is no answer
    wire = Wire(os.dup(0), speak)
    try:
        begin = wire.hear(Begin)
        from tfm_lib.classroom.unprivileged import leave_root

        try:
            leave_root()
            judge, tried = _ready(begin)
        except Refusal as error:
            wire.say(Refused(why=str(error)))
            return
        wire.say(Ready(tried=tried))
        with judge.sandbox:
            while True:
                wire.say(judge.submission(wire.hear(Job)))
    except Closed:
        return


def _ready(begin: Begin) -> tuple[Judge, list[str]]:
    from tfm_lib.classroom.backends import NoSandbox, backend
    from tfm_lib.classroom.grading import limit_own_memory
    from tfm_lib.classroom.sandbox import Sandbox, SandboxFailed
    from tfm_lib.classroom.selftest import require_safe

    limit_own_memory()
    judge = Judge(begin, Sandbox(backend(begin.sandbox, begin.image)))
    try:
        tried = require_safe(judge.sandbox, [Path(path) for path in begin.private], judge.bundle.limits)
    except SandboxFailed as error:
        raise NoSandbox(f"The sandbox does not work here: {error}. Nothing was graded.") from None
    return judge, tried


class Judge:
    """Judges submissions by one bundle in one sandbox."""

    def __init__(self, begin: Begin, sandbox: Sandbox):
        from tfm_lib.classroom.bundle import Bundle

        self.bundle, self.sandbox = Bundle(begin.manifest, begin.tests), sandbox
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

    def submission(self, job: Job) -> Result:
        """The results of one notebook."""
        from tfm_lib.classroom.grading import grade_exercise
        from tfm_lib.classroom.loading import Program
        from tfm_lib.classroom.notebook import NotANotebook, read
        from tfm_lib.classroom.records import MAX_NOTES, MAX_TEXT, Bound, Judged, NotJudged, Unreadable
        from tfm_lib.classroom.words import Handed

        if not self.bundle.has_tests_for(job.stem, job.student):
            why = f"The bundle has numbers for each student of a roster, and {job.student} is not on it"
            return NotJudged(infrastructure=f"{why}. Collect with that roster, or make the assignment again for all.")
        began, spent = time.process_time(), self.sandbox.spent
        tasks = [task for task in self.tasks(job.stem, job.student) if task.id in job.ids]
        try:
            names = {name for task in tasks for name in task.answers}
            notebook = read(job.data, names, Handed.of(self.bundle.manifest.chapters[job.stem]))
        except NotANotebook as error:
            return Unreadable(unreadable=str(error))
        limits, seed = self.bundle.limits, self.bundle.seed
        program, done = Program(notebook.code), {}
        for task in tasks:
            result = grade_exercise(task, program, self.sandbox, limits, seed)
            done[task.id] = result.but(bound=Bound(grader=self.bundle.grader(job.stem, task.id)))
        cpu = time.process_time() - began + self.sandbox.spent - spent
        texts = {id: answer.text[:MAX_TEXT] for id, answer in notebook.texts.items()}
        unsure = [id for id, answer in notebook.texts.items() if not answer.sure]
        return Judged(exercises=done, texts=texts, unsure=unsure, notes=notebook.notes[:MAX_NOTES], cpu=cpu)


if __name__ == "__main__":
    sys.exit(main())
