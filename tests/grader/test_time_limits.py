"""A submission that runs out of time: when it is tried once more, when it is not, and how whoever waits learns of it."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tfm_grader import grade_commands
from tfm_grader.assignment import tasks
from tfm_grader.assignment.manifest import Limits
from tfm_grader.judging import pool, submission
from tfm_grader.judging.notebook_loading import Loaded, Program
from tfm_grader.records import Job, NotJudged
from tfm_grader.sandbox.inside.channel import TimeUp
from tfm_grader.sandbox.process import RunningSandbox

TASK = tasks.Task("masking.band", ("band",), (tasks.Test("a test", 2, lambda student, expect: None),))


class Machine:
    """Sandboxes in which an answer takes `needs` seconds on the clock and `cpu` of the processor."""

    def __init__(self, needs: float, cpu: float):
        self.needs, self.cpu = needs, cpu
        self.given: list[float] = []

    @contextmanager
    def cell(self, limits: Limits):
        cell = RunningSandbox(SimpleNamespace())
        self.given.append(limits.seconds)
        cell.in_time = self.needs <= limits.seconds
        try:
            yield cell
        finally:
            cell.cpu = self.cpu


class Answers:
    held, notes = (), ()

    def __init__(self, task, notebook):
        self.cell = notebook.cell

    def try_test(self, test, seed):
        if not self.cell.in_time:
            raise submission.Stopped(TimeUp("the time is up"))
        return submission._row(test, "passed", points=test.points)


@pytest.fixture
def graded(monkeypatch):
    """Grades a notebook on a machine; that it loads, and begins an exercise, is taken for granted."""
    loaded = Loaded(callable=["band"], plain={}, stubs=[], lacks=[], forbidden=False, interrupted=None, notes=[])
    monkeypatch.setattr(submission, "ExerciseAnswers", Answers)
    monkeypatch.setattr(submission, "load_notebook", lambda *_: loaded)
    monkeypatch.setattr(submission.JudgePeer, "call", lambda *_: 0.0)

    def grade(machine, limits):
        with submission.SubmissionRun(Program([]), [TASK], machine, limits, 0) as hand_in:
            return submission.grade_exercise(TASK, hand_in)

    return grade


@pytest.mark.parametrize(
    ("needs", "cpu", "given", "status", "points"),
    [
        (9, 0.1, [10], "ok", 2),
        (15, 0.1, [10, 20], "ok", 2),  # idle, and done in twice the time
        (99, 0.1, [10, 20], "stopped", 0),  # asleep: once more, and no more
        (15, 9.0, [10], "stopped", 0),  # it had the processor, and used it up
    ],
)
def test_out_of_time(graded, needs, cpu, given, status, points):
    machine = Machine(needs, cpu)
    made = graded(machine, Limits(seconds=10, cpu=10))
    assert (machine.given, made.status, made.points) == (given, status, points)


def test_a_notebook_that_does_not_load_in_time_is_told_the_time_that_it_had(graded, monkeypatch):
    def deaf(*_):
        raise submission.Stopped(TimeUp("the time is up"))

    monkeypatch.setattr(submission, "load_notebook", deaf)
    made = graded(Machine(99, 0.1), Limits(seconds=10, load_seconds=20))
    assert made.reason == "The notebook took longer than 40 seconds, at a second try after one with 20."


def test_a_notebook_that_is_stopped_again_and_again_is_not_tried_for_ever(graded):
    limits, machine = Limits(seconds=10, cpu=10), Machine(15, 9.0)
    with submission.SubmissionRun(Program([]), [TASK], machine, limits, 0) as hand_in:
        made = [submission.grade_exercise(TASK, hand_in) for _ in range(4)]
    assert len(machine.given) == 2, "a submission of one exercise is stopped twice, and no more"
    assert made[-1].reason == "2 answers of the notebook were stopped, and no more are tried."


def test_a_submission_has_a_time_as_a_whole(graded):
    machine = Machine(15, 9.0)
    with submission.SubmissionRun(Program([]), [TASK], machine, Limits(seconds=10, load_seconds=20), 0) as hand_in:
        hand_in.until = 0
        made = submission.grade_exercise(TASK, hand_in)
    assert (made.status, made.reason) == ("stopped", "The notebook as a whole took longer than 120 seconds.")
    assert machine.given == []


def test_who_is_being_judged_is_named(monkeypatch):
    seen = []

    def judge(self, job):
        seen.append(made.at_work())
        return NotJudged(infrastructure="")

    monkeypatch.setattr(pool.JudgeProcess, "judge", judge)
    made = pool.Pool(SimpleNamespace(), 1)
    jobs = [Job(student=name, stem="masking", ids=[], data=b"") for name in ("Kim", "Lee")]
    assert len([*made.results(jobs)]) == 2
    assert seen == [["Kim"], ["Lee"]] and made.at_work() == []
    assert grade_commands.AtWork(lambda: ["Kim", "Lee"]).render(None).plain == "Kim, Lee"
