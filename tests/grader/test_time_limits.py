"""Whose time it is: an answer's own work and sleep can cost points, a busy machine and the judge's own work never do."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tfm_grader import grade_commands
from tfm_grader.assignment import tasks
from tfm_grader.judging import pool, submission
from tfm_grader.judging.notebook_loading import Loaded, Program
from tfm_grader.records import Job, NotJudged
from tfm_grader.sandbox import own_time
from tfm_grader.sandbox.limits import Limits
from tfm_grader.sandbox.own_time import OutOfCpu, Slept, Starved, TimedChannel
from tfm_grader.sandbox.process import RunningSandbox

TASK = tasks.Task(
    "masking.band", ("band",), tuple(tasks.Test(name, 1, lambda student, expect: None, hidden=False) for name in "ab")
)
LIMITS = Limits(seconds=10, cpu=10, load_seconds=20)
READY = "import os, sys, time, threading, signal\nos.write(0, b'\\n')\n"


@contextmanager
def waiting_for(code: str):
    """A channel to a process that runs `code`."""
    ours, theirs = socket.socketpair()
    with ours, subprocess.Popen([sys.executable, "-S", "-c", READY + code], stdin=theirs) as process:
        theirs.close()
        channel = TimedChannel(ours.fileno(), ours.fileno())
        try:
            channel.line()
            channel.watch(process.pid)
            yield channel
        finally:
            process.kill()


def wait(channel, **allowed):
    channel.allow(**allowed)
    while channel.line():
        pass


SPIN = "while True: pass"
SLEEPS = {
    "one long sleep": "time.sleep(99)",
    "many short ones": "while True: time.sleep(0.01)",
    "a lock that nobody opens": "threading.Lock().acquire() and threading.Event().wait()",
    "stopped by itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "a byte now and then": "while True: os.write(0, b' '); time.sleep(0.03)",
    "a thread that waits beside one that waits": "threading.Thread(target=time.sleep, args=(99,)).start(); time.sleep(99)",
}
WORK = {
    "a loop": SPIN,
    "a loop in C": "sum(range(10**12))",
    "in threads, while the first one sleeps": f"exec('def f():\\n {SPIN}'); [threading.Thread(target=f).start() for _ in 'ab']; time.sleep(99)",
    "lines without end": "while True: os.write(0, b' ' * 80 + b'\\n')",
}


@pytest.mark.parametrize("code", SLEEPS.values(), ids=SLEEPS)
def test_sleep_is_the_answers_own_time(code):
    with waiting_for(code) as channel, pytest.raises(Slept):
        wait(channel, cpu=60, asleep=0.5)


@pytest.mark.parametrize("code", WORK.values(), ids=WORK)
def test_work_is_the_answers_own_time(code):
    with waiting_for(code) as channel, pytest.raises(OutOfCpu):
        wait(channel, cpu=0.5, asleep=60)


def test_a_processor_that_others_have_is_not(monkeypatch):
    """On this one processor, a program that works competes with eight others that work more urgently."""
    monkeypatch.setattr(own_time, "most_waiting", lambda cpu: 3)
    mine = sorted(os.sched_getaffinity(0))[:1]
    pinned = f"os.sched_setaffinity(0, {mine}); os.nice(19)\n{SPIN}"
    others = [subprocess.Popen([sys.executable, "-S", "-c", f"import os; os.sched_setaffinity(0, {mine})\n{SPIN}"]) for _ in "12345678"]  # fmt: skip
    try:
        with waiting_for(pinned) as channel, pytest.raises(Starved, match=r"too busy: in 3 seconds, .* for 0\.\d$"):
            wait(channel, cpu=2, asleep=0.5)
        assert channel.spent.asleep < 0.5 < channel.spent.waited
    finally:
        for each in others:
            each.kill()


def test_what_passes_between_two_looks_and_before_it_is_allowed_is_not_counted():
    with waiting_for(
        "time.sleep(0.7); os.write(0, b'1\\n'); os.read(0, 1); os.write(0, b'2\\n'); time.sleep(99)"
    ) as channel:
        channel.allow(cpu=1, asleep=5)
        assert channel.line() == b"1" and 0.4 < channel.spent.asleep < 1
        time.sleep(1)  # the judge computes, and the process waits for it
        channel.allow(cpu=1, asleep=0.5)
        channel.write(b"")
        assert channel.line() == b"2" and channel.spent.asleep < 0.4
        assert 0.4 < channel.own < 1


def test_a_cell_is_interrupted_after_its_own_time_and_again_if_it_goes_on():
    code = "signal.signal(signal.SIGALRM, lambda *_: os.write(0, b'again\\n'))\nos.write(0, b'\\n')\nwhile True: time.sleep(0.01)"
    with waiting_for(code) as channel:
        channel.line()
        channel.allow(cpu=9, asleep=9, interrupt_after=0.5)
        assert [channel.line(), channel.line()] == [b"again", b"again"]
        assert channel.spent.own > 0.5 + own_time.AGAIN


def test_a_process_that_is_gone_is_told_by_its_silence():
    with waiting_for("os.kill(os.getpid(), signal.SIGKILL)") as channel, pytest.raises(submission.Closed):
        wait(channel, cpu=1, asleep=9)


@pytest.mark.parametrize(
    ("looks", "slept"),
    [
        # of each look: processor time, then of each thread its state and how long it has run or been ready
        ([(0.01, "S0.01")] * 3, 0.29),
        ([(0.02, "R0.02"), (0.04, "R0.04"), (0.06, "R0.06")], 0.24),  # awake whenever one looks
        ([(0.02, "R0.02 R0.09 S0.09"), (0.04, "S0.04 R0.18 R0.18")], 0.02),  # others had the processor
        ([(0.0, "R0"), (0.0, "R0"), (0.02, "S0.28")], 0.02),  # how long it was ready is told when it has run
        ([(0.0, "R0"), (0.0, "R0")], 0.0),
        ([(0.0, "R-1"), (0.0, "S-1"), (0.0, "S-1")], 0.2),  # a system that doesn't count it
        ([(0.0, "D0"), (0.05, "S0.05")], 0.05),  # it waited for the disk
        ([(0.1, "R0.1 S0"), (0.2, "S0.1 R0.1")], 0.0),  # in turn
        ([(0.1, "R0.1 S0"), (0.3, "R0.2 R0.1"), (0.3, "S0.2 S0.1")], 0.1),
    ],
)
def test_what_is_neither_work_nor_waiting_for_the_machine_is_sleep(monkeypatch, looks, slept):
    start = "S-1" if "-1" in looks[0][1] else "S0 S0 S0"
    channel, seen = TimedChannel(0, 1), iter([(0.0, start), *looks])

    def busy(pid):
        threads = {str(number): each for number, each in enumerate(said[0].split())}
        seconds = {name: 1 + float(each[1:]) for name, each in threads.items()}
        return seconds, {name: each[:1].encode() for name, each in threads.items()}

    def cpu_seconds(pid):
        used, said[0] = next(seen)
        return used

    said = [""]
    monkeypatch.setattr(own_time, "busy", busy)
    monkeypatch.setattr(own_time, "cpu_seconds", cpu_seconds)
    channel.pid = 1
    channel.allow(cpu=9, asleep=9)
    for _ in looks:
        channel._unseen += 0.1
        channel._look()
    assert channel.spent.asleep == pytest.approx(slept)


class Machine:
    """Sandboxes in which each test of an answer raises what `ends` says, if anything."""

    def __init__(self, *ends: Exception | None):
        self.ends, self.made = list(ends), 0

    @contextmanager
    def cell(self, limits: Limits):
        self.made += 1
        cell = RunningSandbox(SimpleNamespace(own=50.0, allow=lambda *_: None))
        cell.ends = self.ends
        yield cell


class Answers:
    held, notes = (), ()

    def __init__(self, task, notebook):
        self.cell = notebook.cell

    def try_test(self, test, seed):
        if self.cell.ends and (end := self.cell.ends.pop(0)):
            raise submission.Stopped(end)
        return submission._row(test, "passed", points=test.points)


@pytest.fixture
def graded(monkeypatch):
    """Grades a notebook on a machine; that it loads, and begins an exercise, is taken for granted."""
    loaded = Loaded(callable=["band"], plain={}, stubs=[], lacks=[], forbidden=False, interrupted=None, notes=[])
    monkeypatch.setattr(submission, "ExerciseAnswers", Answers)
    monkeypatch.setattr(submission, "load_notebook", lambda *_: loaded)
    monkeypatch.setattr(submission.JudgePeer, "call", lambda *_: None)

    def grade(machine, times=1, limits=LIMITS):
        with submission.SubmissionRun(Program([]), [TASK], machine, limits, 0) as hand_in:
            return [submission.grade_exercise(TASK, hand_in) for _ in range(times)][-1]

    return grade


@pytest.mark.parametrize(
    ("ends", "status", "points", "outcomes", "reason"),
    [
        ([], "ok", 2, ["passed", "passed"], ""),
        ([None, OutOfCpu()], "stopped", 1, ["passed", "stopped"], "The answer took more than 10 seconds of processor time."),
        ([Slept(), None], "stopped", 0, ["stopped", "stopped"], "The answer slept or waited for longer than 10 seconds."),
        ([None, Starved("busy")], "infrastructure", 0, ["passed", "not judged"], "busy. Grade it again when the machine has less to do"),
    ],
    ids=["in time", "works too long", "sleeps", "a busy machine"],
)  # fmt: skip
def test_only_own_time_costs_points(graded, ends, status, points, outcomes, reason):
    made = graded(Machine(*ends))
    assert (made.status, made.points, made.reason) == (status, points, reason)
    assert [row.outcome for row in made.tests] == outcomes


@pytest.mark.parametrize(("end", "status"), [(OutOfCpu(), "stopped"), (Starved("busy"), "infrastructure")])
def test_a_notebook_that_does_not_load_is_told_the_time_that_it_had_if_that_was_its_own(
    graded, monkeypatch, end, status
):
    def deaf(*_):
        raise submission.Stopped(end)

    monkeypatch.setattr(submission, "load_notebook", deaf)
    made = graded(Machine())
    assert made.status == status
    assert made.reason.startswith("The notebook took longer than 20 seconds." if status == "stopped" else "busy")


def test_a_notebook_that_is_stopped_again_and_again_is_not_tried_for_ever(graded):
    machine = Machine(*[OutOfCpu() for _ in range(9)])
    made = graded(machine, times=4, limits=Limits(seconds=99, cpu=10))
    assert machine.made == 2, "a submission of one exercise is stopped twice, and no more"
    assert made.reason == "2 answers of the notebook were stopped, and no more are tried."


def test_a_submission_has_a_time_of_its_own_as_a_whole(graded):
    machine = Machine(*[Slept() for _ in range(9)])
    made = graded(machine, times=2, limits=Limits(seconds=5, load_seconds=5))
    assert (made.status, made.reason) == ("stopped", "The notebook as a whole took longer than 40 seconds.")
    assert machine.made == 1


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
