"""Judge the exercises of one submission: tests and verdicts run here, answers run in a sandbox.

No student code or data is imported, executed or unpickled in this process.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from tfm_exercises.carried import BadWeights, Weights, unpacked
from tfm_exercises.judge import Exercise, Refused, Unsolved, Verdict, judge_student
from tfm_exercises.relations import unnamed
from tfm_exercises.watching import changed_input
from tfm_grader.assignment.tasks import Task, Test
from tfm_grader.judging.forbidden_names import used
from tfm_grader.judging.notebook_loading import BadLoad, Loaded, Program, for_all, load_notebook, sentences
from tfm_grader.judging.replies import MAX_MESSAGE, BrokenTest, JudgePeer, Stopped
from tfm_grader.records import ExerciseResult, Graded, Outcome, Status, TestRow, Took
from tfm_grader.sandbox.inside.channel import Closed, TimeUp
from tfm_grader.sandbox.inside.remote_calls import Raised
from tfm_grader.sandbox.inside.values import BadValue
from tfm_grader.sandbox.limits import Limits
from tfm_grader.sandbox.own_time import OutOfCpu, Starved
from tfm_grader.sandbox.process import RunningSandbox, SandboxFailed
from tfm_grader.written_answers import Handed, own

NO_RETURN = "no return"  # shown in the instructor's table; in a hidden test the student sees the hint instead


@dataclass
class Attempt:
    """The outcome of one attempt at an exercise."""

    graded: Graded
    status: Status = "ok"
    reason: str = ""
    rows: list[TestRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cpu: float = 0.0
    stops: int = 0

    @property
    def points(self) -> float:
        return sum(row.points for row in self.rows) if self.status != "infrastructure" else 0

    def stop(self, why: str, row: TestRow) -> None:
        """Record that the answer was stopped in the test of this `row`."""
        self.status, self.reason, self.stops = "stopped", why, self.stops + 1
        self.rows.append(row)

    def fails(self, why: str, tests: Sequence[Test]) -> None:
        """Record that `tests` could not be judged, which is not the student's fault."""
        self.status, self.reason = "infrastructure", one_line(why)
        self.rows += [_row(test, "not judged") for test in tests]


class Sandboxes(Protocol):
    """The interface that provides sandboxes."""

    standing: Callable[[], tuple[ExerciseResult, int]] | None  # the current exercise's result if it ends here

    def cell(self, limits: Limits) -> AbstractContextManager[RunningSandbox]:
        """Open a fresh sandbox, closed at the end of the block."""
        ...

    def without_sandbox(self) -> None:
        """Report that the student's data is used in this process next."""
        ...


class SubmissionRun:
    """One submission: its notebook, the sandbox in which it is loaded, and the time of its own that it has left.

    Exercises that may import the same modules share a sandbox. A fresh one is used after each stop, for an exercise
    that needs slices, and for each exercise if loading called something that only some of them forbid.
    """

    def __init__(
        self,
        program: Program,
        tasks: Sequence[Task],
        sandbox: Sandboxes,
        limits: Limits,
        seed: int,
        carried: Mapping[str, dict[str, Any]] = MappingProxyType({}),
        handed: Handed | None = None,
    ):
        self.carried = carried  # the weights in the notebook's outputs by name, unread
        self.handed = handed or Handed()  # what the student was given
        self.program, self.tasks, self.sandbox, self.limits, self.seed = program, tasks, sandbox, limits, seed
        self.seconds = limits.longest(len(tasks))
        self.own = 0.0  # seconds that its sandboxes so far worked or slept
        self.stops, self.spent = 0, 0.0  # number of stops, and CPU seconds used
        self._apart = False  # whether each exercise needs its own sandbox
        self._loaded: LoadedNotebook | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def late(self) -> str:
        return f"The notebook as a whole took longer than {self.seconds:g} seconds."

    @property
    def over(self) -> bool:
        """Whether its time is up."""
        return self.own >= self.seconds

    def end(self) -> LoadedNotebook | None:
        """Close the current sandbox, if any, and return it."""
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loaded.close()
            self.spent += loaded.cell.cpu
            self.own += loaded.cell.channel.own
        return loaded

    def notebook(self, task: Task, way: Graded) -> LoadedNotebook:
        """Return the notebook loaded for `task`.

        Raises Stopped if it cannot be loaded, or if its time or its number of sandboxes is used up.
        """
        if self._loaded is not None and self._loaded.serves(task, way):
            return self._loaded
        self.end()
        if self.over:
            raise Stopped(NotTried(self.late))
        if self.stops > len(self.tasks):
            raise Stopped(NotTried(f"{self.stops} answers of the notebook were stopped, and no more are tried."))
        alone = self._apart or way.what == "slices"
        tasks = [task] if alone else [each for each in self.tasks if each.sources == task.sources and not each.carried]
        self._loaded = LoadedNotebook(self, tasks, way)
        self._loaded.load()
        if self._loaded.found.forbidden and len({each.forbidden for each in tasks}) > 1:
            self._apart = True
            self.end()
            return self.notebook(task, way)
        return self._loaded


class NotTried(TimeUp):
    """The rest of the submission is not tried; the text tells the student why."""


class LoadedNotebook:
    """The notebook of a submission in a sandbox, loaded for some of its exercises."""

    def __init__(self, hand_in: SubmissionRun, tasks: Sequence[Task], way: Graded):
        self.hand_in, self.tasks, self.way, self.limits = hand_in, tasks, way, hand_in.limits
        self._open = ExitStack()
        self.cell = self._open.enter_context(hand_in.sandbox.cell(for_all(self.limits, tasks)))
        self.peer = JudgePeer(self.cell.channel, lambda of_student: self.cell.tell(of_student))
        self.found: Loaded
        self.begun: set[str] = set()  # the exercises tried in it

    def load(self) -> None:
        """Run the notebook. Raises Stopped."""
        try:
            hand_in = self.hand_in
            self.found = load_notebook(self.peer, self.cell, self.tasks, hand_in.program, self.way, self.limits)
        except BadLoad:
            raise Stopped("the notebook could not be loaded") from None

    def begin(self, task: Task) -> None:
        """Prepare for calls to the answers of `task`. Raises Stopped."""
        self.cell.channel.allow(self.limits.cpu, self.limits.seconds)
        try:
            self.peer.call("begin", [list(task.forbidden)])
        except (Raised, BadValue):
            raise Stopped("the exercise could not be begun") from None
        self.begun.add(task.id)

    def begin_test(self) -> None:
        """Prepare for one test: the answers have their time for each. What the judge computes in between is not theirs."""
        self.cell.channel.allow(self.limits.cpu, self.limits.seconds)
        self.peer.begin_test()

    def serves(self, task: Task, way: Graded) -> bool:
        """Whether it can be used for `task` in this way."""
        return task in self.tasks and self.way.what == way.what

    def close(self) -> None:
        self._open.close()


def grade_exercise(task: Task, hand_in: SubmissionRun) -> ExerciseResult:
    """Grade `task` on a submission."""
    began = time.monotonic()
    made = _attempt_on_weights(task, hand_in) if task.carried else _attempt(task, hand_in)
    told = made.status != "stopped" or any(row.outcome == "stopped" for row in made.rows)
    names = " and ".join(used(task.forbidden, hand_in.program.cells, hand_in.handed, task.answers))
    full = made.points >= task.points
    if names and not full:
        made.notes = [*made.notes, f"Your answer uses {names}, which this exercise does not allow."]
    return ExerciseResult(
        id=task.id,
        status=made.status,
        reason=made.reason if told else "",
        cause=made.reason,
        points=made.points,
        of=task.points,
        tests=made.rows,
        notes=made.notes,
        remarks=[f"The answer uses {names}, which this exercise forbids, and earned full points."]
        * bool(names and full),
        graded=made.graded,
        took=Took(seconds=round(time.monotonic() - began, 3), cpu=round(made.cpu, 3)),
    )


def _attempt(task: Task, hand_in: SubmissionRun) -> Attempt:
    program, spent = hand_in.program, hand_in.spent
    made, waiting = Attempt(program.way()), list(task.tests)

    def standing() -> tuple[ExerciseResult, int]:
        loading, held = answers is None and not made.rows, answers.held if answers else []
        rest = [_stopped(test, "", loading, held if test is waiting[0] else []) for test in waiting]
        whole = ExerciseResult(task.id, "stopped", task.points, made.points, tests=[*made.rows, *rest])
        return whole.but(notes=made.notes, graded=made.graded), len(made.rows)

    hand_in.sandbox.standing = standing
    while waiting:
        notebook: LoadedNotebook | None = None
        answers: ExerciseAnswers | None = None
        try:
            notebook = hand_in.notebook(task, made.graded)
            if not made.rows and made.graded.what == "notebook" and task.id in notebook.found.lacks:
                made.graded = Graded(what="slices", because="deadline" if program.way().because else "lacks")
                continue
            notebook.begin(task)
            answers = ExerciseAnswers(task, notebook)
            if not made.rows:
                made.graded = program.way() if made.graded.what == "notebook" else made.graded
                made.notes = answers.notes
            while waiting:
                made.rows.append(answers.try_test(waiting[0], hand_in.seed))
                waiting.pop(0)
        except Stopped as stopped:
            ended = hand_in.end()
            cause = stopped.args[0] if stopped.args else ""
            if isinstance(cause, Starved):
                made.fails(f"{cause}. Grade it again when the machine has less to do", waiting)
                break
            if notebook is not None and answers is None and notebook.begun - {task.id} and not hand_in.over:
                hand_in.stops += 1  # an earlier exercise has broken the sandbox
                continue
            loading = answers is None and not made.rows
            if loading and ended is not None and made.graded.what == "notebook" and not hand_in.over:
                program.fails("deadline" if isinstance(cause, TimeUp) else "stopped")
                made.graded = program.way()
                continue
            why = _why(cause, hand_in.limits, answers is None)
            made.stop(why, _stopped(waiting.pop(0), why, loading, answers.held if answers else []))
            hand_in.stops += ended is not None
            if made.stops > 1 or len(made.rows) == 1:  # the remaining tests would stop too
                made.rows += [_stopped(test, made.reason, loading, []) for test in waiting]
                waiting = []
        except (SandboxFailed, BrokenTest, MemoryError) as error:
            hand_in.end()
            made.fails(str(error), waiting)
            break
    hand_in.sandbox.standing = None
    made.cpu = hand_in.spent - spent
    return made


def _attempt_on_weights(task: Task, hand_in: SubmissionRun) -> Attempt:
    """Try the weights that the notebook carries. They are only numbers, so no sandbox is needed and no code is run."""
    made, name = Attempt(Graded(what="weights")), task.carried
    if name not in hand_in.carried:
        message = (
            f"The notebook carries no weights “{name}”. Run the cell with hand_in, save the notebook, hand it in again."
        )
        made.rows = [_row(test, "unsolved", message=message) for test in task.tests]
        return made
    hand_in.sandbox.without_sandbox()
    began = time.process_time()
    try:
        answers = WeightsAnswer(task, unpacked(hand_in.carried[name]))
        made.rows = [answers.try_test(test, hand_in.seed) for test in task.tests]
    except BadWeights as bad:
        message = one_line(bad.message)
        made.rows = [_row(test, "refused", message=message, mistake=bad.mistake) for test in task.tests]
    except (BrokenTest, Stopped, MemoryError) as error:
        made.rows = []
        made.fails(str(error), task.tests)
    made.cpu = time.process_time() - began
    return made


def _row(test: Test, outcome: Outcome, **more: Any) -> TestRow:
    return TestRow(name=test.name, outcome=outcome, of=test.points, **more)


def _stopped(test: Test, cause: str, loading: bool, held: list[str]) -> TestRow:
    """Make the row of a test whose answer was stopped. The cause is shown for a visible test or a failed load.

    A stop in a hidden test looks like a failure: how a program ends could otherwise reveal its inputs.
    """
    if loading or not test.hidden:
        return _row(test, "stopped", message=cause)
    return _row(test, "refused", held=[one_line(text) for text in held], message=_hint(test), cause=cause)


def _hint(test: Test) -> str:
    return test.hint or "A hidden test did not hold."


class ExerciseAnswers:
    """The answers to one exercise in a loaded notebook."""

    def __init__(self, task: Task, notebook: LoadedNotebook):
        self.task, self.peer, self.loaded, self.begin_test = task, notebook.peer, notebook.found, notebook.begin_test
        self.held: list[str] = []
        self.raised = ""  # the exception an answer raised in the running test
        cells, handed = notebook.hand_in.program.cells, notebook.hand_in.handed
        theirs = {number for number, cell in enumerate(cells, start=1) if own(cell, handed).strip()}
        self.notes = sentences([note for note in self.loaded.notes if note.cell in theirs], cells)
        self.notes += [
            f"{name} is no function at the end of your notebook: a later line gives its name to something else."
            for name in task.answers
            if name in self.loaded.plain and any(map(re.compile(rf"(?m)^def {name}\(").search, cells))
        ]
        known = {*self.loaded.callable, *self.loaded.plain}
        self.missing = [name for name in task.answers if name not in known]
        self.stubs = bool(set(self.loaded.stubs) & set(task.answers))
        self.student = SimpleNamespace(**{name: self._answer(name) for name in task.answers if name in known})

    def try_test(self, test: Test, seed: int) -> TestRow:
        """Run `test` and return its result row."""
        if self.stubs:
            return _row(test, "unsolved", message="The answer is still the stub.")
        if self.missing:
            return _row(test, "missing", message=f"The notebook defines no {' and no '.join(self.missing)}.")
        self.held, self.raised = [], ""
        self.begin_test()

        def judge(student: Any, expect: Any) -> None:
            self.held = expect.held  # kept in case the answer is stopped
            try:
                test.judge(student, expect)
            except (Refused, Unsolved):
                raise
            except Exception as error:
                fault = f"the test {test.name} has a fault: {type(error).__name__}: {error}"
                if not self.peer.heard or type(error) is NameError or isinstance(error, ImportError):
                    raise BrokenTest(fault) from None  # no student's answer can cause this
                if isinstance(error, MemoryError):
                    raise Stopped("what the answer gave back takes more memory than there is") from None
                raise

        exercise = Exercise(self.task.id, self.task.answers, judge, may_change_input=self.task.may_change_input)
        verdict = judge_student(exercise, self.student, _mixed(seed, self.task.id, test.name))
        told, why = one_line(self._told(test, verdict)), self.raised or one_line(verdict.message)
        return _row(
            test,
            "refused" if test.hidden and not verdict.passed else verdict.status,
            points=test.points if verdict.passed else 0,
            held=[one_line(text) for text in verdict.held],
            message=told,
            mistake=verdict.mistake,
            cause=why if test.hidden and not verdict.passed and why != told else "",
        )

    def _told(self, test: Test, verdict: Verdict) -> str:
        if verdict.passed:
            return ""
        if test.hidden and (unnamed(verdict.mistake) or verdict.mistake == NO_RETURN):
            return _hint(test)
        return "The answer is still the stub." if verdict.status == "unsolved" else verdict.message

    def _answer(self, name: str) -> Any:
        if name not in self.loaded.callable:
            return self.loaded.plain[name]

        return RemoteAnswer(self, name)

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, str]:
        """Call the student's function. Returns its result, and a message if it changed an input, or ""."""
        try:
            result = self.peer.call(f"answer {name}", args, kwargs)
        except Raised as raised:
            if raised.name == "NotImplementedError" and raised.bare:
                raise Unsolved from None
            self.raised = one_line(
                f"{name} raised {raised.name}{_place(raised)}."
            )  # omits the exception's text and the arguments
            raise Refused(_sentence(name, args, raised)) from None
        except BadValue as bad:
            message = f"What {name} gives back cannot be read: {bad}. Does it give back what the text asks for?"
            raise Refused(message) from None
        if result is ...:
            raise Unsolved
        if result is None:
            raise Refused(f"{name} returns nothing. Does it end with `return`?", NO_RETURN)
        place = self.peer.changed  # reported by the sandbox: it can only cost points
        known = type(place) is int and 0 <= place < len(args) + len(kwargs)
        return result, changed_input(name, place) if known else ""


class WeightsAnswer(ExerciseAnswers):
    """The weights handed in for one exercise; tests get them under their name."""

    def __init__(self, task: Task, weights: Weights):
        self.task, self.held, self.raised, self.missing, self.stubs = task, [], "", [], False
        self.peer = SimpleNamespace(heard=True)  # type: ignore[assignment]  # nobody to call
        self.begin_test = lambda: None
        self.student = SimpleNamespace(**{task.carried: weights})


class RemoteAnswer:
    """A student's function in the sandbox, callable like a local one.

    `changed` is a message if the last call changed an input.
    """

    def __init__(self, answers: ExerciseAnswers, name: str):
        self.answers, self.__name__, self.changed = answers, name, ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result, self.changed = self.answers.call(self.__name__, args, kwargs)
        return result


def _why(cause: Any, limits: Limits, loading: bool) -> str:
    if isinstance(cause, NotTried):
        return str(cause)
    if isinstance(cause, TimeUp) and loading:
        return f"The notebook took longer than {limits.load_seconds:g} seconds."
    if isinstance(cause, OutOfCpu):
        return f"The answer took more than {limits.cpu} seconds of processor time."
    if isinstance(cause, TimeUp):
        return f"The answer slept or waited for longer than {limits.seconds:g} seconds."
    if isinstance(cause, Closed):
        return "The answer ended the program that ran it, or was ended for a limit."
    return f"The answer disturbed the grading: {one_line(str(cause))}."


def _sentence(name: str, args: tuple, raised: Raised) -> str:
    inputs = ", ".join(
        f"a tensor of shape {tuple(arg.shape)}" if isinstance(arg, Tensor) else one_line(repr(arg))[:40] for arg in args
    )
    return f"{name}({inputs}) raised {raised.name}{_place(raised)}: {one_line(raised.text)[:160]}"


def _place(raised: Raised) -> str:
    return f" in line {raised.line} of its cell" if raised.line else ""


def _mixed(seed: int, *parts: str) -> int:
    """Derive a seed for each test, the same for every student."""
    return int.from_bytes(hashlib.sha256("\0".join((str(seed), *parts)).encode()).digest()[:7])


def one_line(text: str) -> str:
    """Return `text` as one line without control characters, truncated to MAX_MESSAGE."""
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"


def limit_own_memory(megabytes: int = 8192) -> None:
    """Limit this process's memory, so that a test computing with a student's values cannot exhaust it."""
    import resource

    with open("/proc/self/statm") as file:
        in_use = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (megabytes << 20), resource.RLIM_INFINITY))
    torch.set_num_threads(1)
