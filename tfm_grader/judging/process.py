"""The judging process: it holds the tests, talks to a sandbox, and never executes a student's code.

It exchanges JSON lines with the command that started it: first the bundle, then one submission at a time.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfm_lib._refusal import Refusal

if TYPE_CHECKING:  # torch is imported only after this process has dropped root
    from tfm_grader.judging.typed_messages import Wire
    from tfm_grader.records import Begin, Done, Job, Result, Step
    from tfm_grader.sandbox.limits import Limits
    from tfm_grader.sandbox.process import RunningSandbox, Sandbox


def judge_until_closed() -> None:
    """Judge submissions until the input closes."""
    from tfm_grader.judging.typed_messages import Wire
    from tfm_grader.records import Begin, Job, Ready, Refused
    from tfm_grader.sandbox.inside.channel import Closed

    speak = os.dup(1)
    os.dup2(2, 1)  # what a test prints must not reach the wire
    wire = Wire(os.dup(0), speak)
    try:
        begin = wire.hear(Begin)
        from tfm_grader.sandbox.container import require_container
        from tfm_grader.sandbox.unprivileged import leave_root

        try:
            if begin.in_container:
                require_container(begin.manifest.limits.memory)
            else:
                leave_root()
            end_with_the_command()
            judge, tried = _ready(begin, wire)
        except Refusal as error:
            wire.say(Refused(why=str(error)))
            return
        wire.say(Ready(tried=tried))
        while True:
            wire.say(judge.submission(wire.hear(Job)))
    except Closed:
        return


def end_with_the_command() -> None:
    """Fork a watchdog that kills this process group when the other end of the input closes.

    It works whatever this process is doing: a loop in C would block signal handlers and threads.
    """
    if os.fork():
        return
    os.closerange(1, 1 << 10)  # an inherited copy of the output would hide the judge's death from the command
    gone = select.poll()
    gone.register(0, 0)  # hang-up events only
    gone.poll()
    os.killpg(0, signal.SIGKILL)


def _ready(begin: Begin, wire: Wire) -> tuple[Judge, list[str]]:
    from tfm_grader.judging.selftest import require_safe
    from tfm_grader.judging.submission import limit_own_memory
    from tfm_grader.sandbox.bubblewrap import NoSandbox
    from tfm_grader.sandbox.process import Sandbox, SandboxFailed

    limit_own_memory()
    sandbox = Sandbox(begin.in_container)
    try:  # before the bundle's tests are executed, which a leaky container may have let somebody change
        tried = require_safe(sandbox, [Path(path) for path in begin.private], begin.manifest.limits)
    except SandboxFailed as error:
        raise NoSandbox(f"The sandbox does not work here: {error}. Nothing was graded.") from None
    return Judge(begin, sandbox, wire.say), tried


class Judge:
    """Judges submissions by one bundle in one sandbox, reporting each step through `tell`."""

    def __init__(self, begin: Begin, sandbox: Sandbox, tell: Callable[[Step | Done], None]):
        from tfm_grader.assignment.bundle import Bundle

        self.bundle = Bundle(begin.manifest, begin.tests, begin.visible)
        self.sandbox, self.tell = sandbox, tell
        self.grace = begin.grace
        self._tasks: dict[tuple[str, str], list[Any]] = {}
        for stem in self.bundle.stems:
            self.tasks(stem, min(self.bundle.tests.get(stem, {}), default=""))

    def tasks(self, stem: str, student: str) -> list[Any]:
        """Return a chapter's tasks for a student, cached for all who share them. Raises BadBundle if none exist."""
        from tfm_grader.assignment.bundle import tasks

        whose = self.bundle.whose(stem, student)
        if (stem, whose) not in self._tasks:
            self._tasks[stem, whose] = tasks(self.bundle, stem, whose)
        return self._tasks[stem, whose]

    def submission(self, job: Job) -> Result:
        """Judge one notebook."""
        from tfm_grader.judging.notebook_loading import Program
        from tfm_grader.judging.submission import SubmissionRun, grade_exercise
        from tfm_grader.notebook import NotANotebook, read_notebook
        from tfm_grader.records import MAX_NOTES, MAX_TEXT, Bound, Done, Judged, NotJudged, Unreadable
        from tfm_grader.written_answers import Handed

        began, spent = time.process_time(), self.sandbox.spent
        try:
            tasks = [task for task in self.tasks(job.stem, job.student) if task.id in job.ids]
            names = {name for task in tasks for name in task.answers}
            handed = Handed.of(self.bundle.manifest.chapters[job.stem])
            notebook = read_notebook(job.data, names, handed)
        except Refusal as error:
            return NotJudged(infrastructure=str(error))
        except NotANotebook as error:
            return Unreadable(unreadable=str(error))
        limits, seed = self.bundle.limits, self.bundle.seed
        watched, done = Watched(self.sandbox, self.tell, self.grace + limits.load_seconds + limits.cpu), {}
        with SubmissionRun(Program(notebook.code), tasks, watched, limits, seed, notebook.carried, handed) as hand_in:
            for task in tasks:
                watched.id = task.id
                result = grade_exercise(task, hand_in)
                done[task.id] = result.but(bound=Bound(grader=self.bundle.grader(job.stem, task.id)))
                self.tell(Done(result=done[task.id]))
        cpu = time.process_time() - began + self.sandbox.spent - spent
        texts = {id: answer.text[:MAX_TEXT] for id, answer in notebook.texts.items()}
        unsure = [id for id, answer in notebook.texts.items() if not answer.sure]
        notes = [*self._handout(job, notebook.handout), *notebook.notes]
        return Judged(exercises=done, texts=texts, unsure=unsure, notes=notes[:MAX_NOTES], cpu=cpu)

    def _handout(self, job: Job, mark: str) -> list[str]:
        """Return a note if the notebook is marked as another hand-out, or another student's."""
        from tfm_grader.records import OTHER_HANDOUT

        marks = self.bundle.manifest.chapters[job.stem].handouts
        own = marks.get(job.student) or marks.get("", "")
        return [OTHER_HANDOUT] if mark and own and mark != own else []


class Watched:
    """Creates a submission's sandboxes and reports each step in them; `id` is the current exercise.

    While it waits for a test, this process may work for `seconds`.
    """

    def __init__(self, sandbox: Sandbox, tell: Callable[[Step | Done], None], seconds: float):
        self.sandbox, self.tell, self.seconds, self.id = sandbox, tell, seconds, ""
        self.standing: Callable[[], tuple[Any, int]] | None = None  # the exercise's result if it ends here: see Step

    def without_sandbox(self) -> None:
        """Report that the student's data is used in this process next."""
        from tfm_grader.records import Step

        self.tell(Step(self.id, True, self.seconds))

    @contextmanager
    def cell(self, limits: Limits) -> Iterator[RunningSandbox]:
        from tfm_grader.records import Step
        from tfm_grader.sandbox.process import PATIENCE

        self.tell(Step(id=self.id, of_student=False, seconds=PATIENCE))
        with self.sandbox.cell(limits) as cell:

            def tell(of_student: bool) -> None:
                standing = self.standing() if self.standing is not None else ()
                self.tell(Step(self.id, of_student, self.seconds, *standing))

            cell.tell = tell
            try:
                yield cell
            finally:
                self.tell(Step(id=self.id, of_student=False, seconds=PATIENCE))


if __name__ == "__main__":
    judge_until_closed()
