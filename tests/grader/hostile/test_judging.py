"""What a student's data make of a test (an endless loop, a full memory, the death of the judge) is the student's, and nobody else's.

The tests of this assignment do what tests do with numbers that they are given: count to them, make lists of them.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest
from project import ROOT
from tiers import every, params

from grader.hostile.assignment import LIMITS
from grader.hostile.cases import notebook
from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.manifest import BadBundle, Late, manifest
from tfm_grader.exports.grades import items
from tfm_grader.judging.pool import JudgeProcess, Pool
from tfm_grader.records import Begin, ChapterResult, Job, Judged, StudentResult
from tfm_grader.reports.student_feedback import student_page
from tfm_grader.scoring.scores import ClassMember, Rules, score

HIDDEN = """
import os


@hidden("masking.first", points=1)
def works_with_what_is_given(student, expect):
    given = student.first()
    if given == "count":
        sum(range(10**12))
    elif given == "die":
        os.kill(os.getpid(), 9)
    elif given == "fill":
        [0] * (1 << 33)
    elif given == "rows":
        student.rows().tolist()
    elif given == "number":
        range(student.rows())[0]
    elif given == "no rows":
        for row in student.rows():
            last = row
        given = last
    expect.true(given == 7, holds="it is seven", otherwise="It is not.")


@hidden("masking.second", points=1)
def is_seven(student, expect):
    expect.true(student.second() == 7, holds="it is seven", otherwise="It is not.")


@hidden("masking.endless", points=1)
def has_no_end(student, expect):
    sum(range(10**12))


@hidden("masking.misspelt", points=1)
def is_misspelt(student, expect):
    torch.arrange(3)
    student.second()


@hidden("masking.missing", points=1)
def names_nothing(student, expect):
    student.second()
    nothing_of_that_name


@hidden("masking.fills", points=1)
def fills_the_memory(student, expect):
    [0] * (1 << 33)


@hidden("masking.hands", points=1)
def hands_over_too_much(student, expect):
    student.second(torch.zeros(40 << 18))
"""
FAULTY = ["misspelt", "missing", "fills", "hands", "endless"]
ENTRIES = [
    *(
        {"id": f"masking.{name}", "title": name, "kind": "assigned", "points": 1, "answers": answers}
        for name, answers in (
            ("first", ["first", "rows"]),
            ("second", ["second"]),
            *((name, ["second"]) for name in FAULTY),
        )
    ),
    {"id": "masking.why", "title": "Why?", "kind": "text", "points": 2},
]
MANIFEST = {
    "format": 1,
    "name": "Numbers",
    "seed": "s",
    "limits": {**LIMITS, "seconds": 5, "load_seconds": 5},
    "chapters": {"masking": {"exercises": ENTRIES}},
}
BEGIN = Begin(manifest=manifest(MANIFEST), tests={"masking": {"": HIDDEN}}, grace=2)
TWO, RULES = ["masking.first", "masking.second"], Rules(Late())


def job(first: str, ids: list[str], rows: str = "torch.zeros(1)", student: str = "someone") -> Job:
    code = f"import torch\ndef first(): return {first}\ndef second(x=0): return 7\ndef rows(): return {rows}"
    return Job(student=student, stem="masking", ids=ids, data=notebook([code]))


@pytest.fixture(scope="module")
def judge():
    with closing(JudgeProcess(BEGIN)) as process:
        yield process


def told(result: Judged) -> list[tuple[str, float]]:
    return [(result.exercises[id].status, result.exercises[id].points) for id in TWO]


@pytest.mark.long
def test_an_honest_answer_keeps_its_points(judge):
    assert told(judge.judge(job("7", TWO))) == [("ok", 1), ("ok", 1)]


@pytest.mark.long
def test_a_test_that_an_answer_keeps_busy_ends_in_time_and_costs_that_exercise_alone(judge):
    began = time.monotonic()
    result = judge.judge(job("'count'", TWO))
    assert told(result) == [("stopped", 0), ("ok", 1)]
    assert "beyond its time" in result.exercises["masking.first"].cause
    assert time.monotonic() - began < 120  # a new judge is among that


@pytest.mark.release
def test_a_test_without_end_is_named_after_one_try_and_costs_no_other_exercise(judge):
    result = judge.judge(job("7", ["masking.endless", "masking.second"]))
    rows = [result.exercises[id] for id in ("masking.endless", "masking.second")]
    assert [(row.status, row.points, row.of) for row in rows] == [("infrastructure", 0, 1), ("ok", 1, 1)]
    assert rows[0].reason.startswith("the test has_no_end ran for 9 seconds without a word from the answer")


@pytest.mark.release
def test_whom_the_command_stops_is_among_the_items_and_learns_no_more_than_others(judge):
    rows = [judge.judge(job(first, ["masking.first"])).exercises["masking.first"] for first in ("'count'", "8")]
    made = [
        score(
            Bundle(BEGIN.manifest, {}),
            "someone",
            ClassMember(handed_in=frozenset({"masking"})),
            StudentResult("someone", each),
            RULES,
        )
        for each in ({"masking": ChapterResult(submitted=True, exercises=[row])} for row in rows)
    ]
    assert items(made).splitlines()[1] == "masking.first,works_with_what_is_given,2,0,0.0,"
    assert student_page(made[0], "Numbers") == student_page(made[1], "Numbers")


SLEEPS = """
class Sleeps(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_, **__):
        import time
        time.sleep(999)

def first(): return torch.ones(1).as_subclass(Sleeps)
"""


def test_who_sleeps_is_stopped_after_the_seconds_for_sleep_and_told_so(judge):
    asked = job("7", ["masking.first"])
    row = judge.judge(asked.but(data=notebook(["import torch", SLEEPS, "def rows(): return 0"]))).exercises[
        "masking.first"
    ]
    assert (row.status, row.cause) == ("stopped", "The answer slept or waited for longer than 5 seconds.")


@pytest.mark.release
def test_an_answer_that_brings_the_judge_down_costs_that_exercise_alone(judge):
    result = judge.judge(job("'die'", TWO))
    assert told(result) == [("stopped", 0), ("ok", 1)]
    assert "twice" in result.exercises["masking.first"].cause
    assert told(judge.judge(job("7", TWO))) == [("ok", 1), ("ok", 1)]


@pytest.mark.parametrize(
    "made",
    params(
        [
            ("'fill'", "0"),
            ("'rows'", "torch.empty(2**31 - 1, 0)"),
            ("'rows'", "torch.empty(2**22 + 1, 1, 0)"),
            ("'number'", "10**1200"),
            ("'number'", "float('nan')"),
            ("'number'", "torch.tensor(2**62)"),
            ("'no rows'", "[]"),  # so that a name of the test's is unbound
        ],
        [("'number'", "float('nan')")],
        ": ".join,
    ),
)
def test_what_an_answer_makes_of_the_memory_is_no_fault_of_the_grader(judge, made):
    first, rows = made
    (lost, kept) = told(judge.judge(job(first, TWO, rows)))
    assert (lost[0] in ("ok", "stopped"), lost[1], kept) == (True, 0, ("ok", 1))


@pytest.mark.parametrize("name", params(FAULTY, (), rest=every(3, FAULTY)))
def test_a_fault_of_the_test_is_no_fault_of_the_answer(judge, name):
    row = judge.judge(job("7", [f"masking.{name}"])).exercises[f"masking.{name}"]
    assert row.status == "infrastructure", row
    assert {test.outcome for test in row.tests} == {"not judged"}


@pytest.mark.long
def test_16_mb_of_a_letter_with_an_accent_pass_through_the_judge(judge):
    asked = {"cell_type": "markdown", "source": "é" * (8 << 20), "metadata": {"tfm": {"text": "masking.why"}}}
    made = json.loads(job("7", TWO).data)
    letters = json.dumps({**made, "cells": [asked, *made["cells"]]}, ensure_ascii=False).encode()
    assert len(letters) > 16 << 20
    result = judge.judge(job("7", [*TWO, "masking.why"]).but(data=letters))
    assert told(result) == [("ok", 1), ("ok", 1)]
    assert len(result.texts["masking.why"]) == 20_000


@pytest.mark.long
def test_a_busy_judge_keeps_no_other_student_waiting():
    jobs = [job("'count'", TWO, student="a"), *(job("7", TWO, student=f"b{n}") for n in range(4))]
    with Pool(BEGIN, 2) as pool:
        pool.start()
        came = [(one.student, told(result)) for one, result in pool.results(jobs)]
    assert came[-1] == ("a", [("stopped", 0), ("ok", 1)]), "somebody waited for the one who was stopped"
    assert all(result == [("ok", 1), ("ok", 1)] for _, result in came[:-1])


def test_tests_for_all_are_not_for_who_is_missing_among_those_with_numbers_of_their_own():
    made = Bundle(BEGIN.manifest, {"masking": {"": "a", "anna": "b"}})
    assert (made.whose("masking", "anna"), made.whose("masking", "")) == ("anna", "")
    with pytest.raises(BadBundle, match="ben is not on it"):
        made.whose("masking", "ben")
    assert Bundle(BEGIN.manifest, {"masking": {"": "a"}}).whose("masking", "ben") == ""


COMMAND = """
import sys
sys.path[:0] = ["tests"]
from grader.hostile.test_judging import BEGIN, TWO, job
from tfm_grader.judging.pool import JudgeProcess
judge = JudgeProcess(BEGIN.but(grace=600))
judge.start()
print(judge._process.pid, flush=True)
judge.judge(job("'count'", TWO))
"""


def in_group(group: int) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state, _, of = file.read().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of) == group and state != "Z":
            found.append(int(name))
    return found


@pytest.mark.long
def test_no_judge_goes_on_when_its_command_is_killed():
    command = subprocess.Popen([sys.executable, "-c", COMMAND], cwd=ROOT, stdout=subprocess.PIPE)
    group = int(command.stdout.readline())
    time.sleep(5)  # until it counts, in a loop that no signal's handler interrupts
    assert len(in_group(group)) >= 2
    command.send_signal(signal.SIGKILL)
    command.wait()
    until = time.monotonic() + 20
    while in_group(group) and time.monotonic() < until:
        time.sleep(0.1)
    assert in_group(group) == []
