"""An answer that writes into what it is given is refused by the grader as it is in a notebook; a lie about that earns nothing."""

import json
from contextlib import closing

import msgspec
import pytest
from tiers import every, params

from grader.hostile.assignment import LIMITS
from grader.hostile.cases import REACH, notebook
from tfm_grader.assignment.manifest import manifest
from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.records import Begin, Job

pytestmark = pytest.mark.long  # a judge of its own each; test_submissions.py tries one of each mechanism

HIDDEN = """
@hidden("masking.halve", points=2, hint="A hidden test did not hold.")
def halves(student, expect):
    inputs = [(torch.rand(n, 3) + 1, [n, 2.5], {"by": torch.full((3,), 2.0)}) for n in (2, 4, 5)]
    expect.agrees(student.halve, lambda x, sizes, options: x / options["by"], inputs, holds="every number is halved")


@hidden("masking.halve", points=1, hint="A hidden test did not hold.")
def halves_what_has_a_gradient(student, expect):
    x = torch.rand(4, requires_grad=True)
    (slope,) = torch.autograd.grad(student.halve(x, [4], {"by": torch.tensor(4.0)}).sum(), x)
    expect.close(slope, torch.full((4,), 0.25), holds="the slope is right")


@hidden("masking.halve_here", points=1)
def halves_here(student, expect):
    expect.close(student.halve_here(torch.ones(3)), torch.full((3,), 0.5), holds="every number is halved")
"""
ENTRIES = [
    {"id": "masking.halve", "answers": ["halve"], "points": 3},
    {"id": "masking.halve_here", "answers": ["halve_here"], "points": 1, "may_change_input": True},
]
MANIFEST = {
    "format": 1,
    "name": "Halves",
    "seed": "class of this test",
    "limits": LIMITS,
    "chapters": {"masking": {"exercises": [{"title": "Halves", "kind": "assigned", **entry} for entry in ENTRIES]}},
}
RIGHT = "def halve(x, sizes, options):\n    return x / options['by']"
HERE = "def halve_here(x):\n    x /= 2\n    return x"
SEND = (
    f"{REACH}channel, _ = inside('channel')"
    """
send = channel.Channel.send
def halve(x, sizes, options):
    channel.Channel.send = lambda self, m: send(self, {**m, 'changed': CHANGED} if 're' in m else m)
    return x * 3 if WRONG else x / options['by']
"""
)


@pytest.fixture(scope="module")
def halves():
    """`halves(code)`: the rows of the two exercises for a notebook with that code."""

    def judge(code: str) -> dict:
        ids = [entry["id"] for entry in ENTRIES]
        job = Job(student="someone", stem="masking", ids=ids, data=notebook(["import torch", code, HERE]))
        return msgspec.to_builtins(process.judge(job))["exercises"]

    with closing(JudgeProcess(Begin(manifest=manifest(MANIFEST), tests={"masking": {"": HIDDEN}}))) as process:
        yield judge


def test_an_honest_answer_keeps_its_points_and_one_that_is_asked_to_may_write(halves):
    found = halves(RIGHT)
    assert [found[entry["id"]]["points"] for entry in ENTRIES] == [3, 1]


WRITES = {
    "x /= options['by']": "first",
    "x[0] = x[0] / options['by']": "first",
    "sizes.append(1)": "second",
    "sizes[0] += 1": "second",
    "options['by'] = options['by'] + 1": "third",
    "options.update(by=0)": "third",
    "options['more'] = 1": "third",
}


@pytest.mark.parametrize("written", params(WRITES, every(5, WRITES), rest=()))
def test_an_answer_that_changes_its_input_is_refused(halves, written):
    code = f"def halve(x, sizes, options):\n    right = x / options['by']\n    {written}\n    return right"
    rows = halves(code)["masking.halve"]["tests"]
    assert [row["mistake"] for row in rows] == ["changes its input"] * 2
    assert all(f"its {WRITES[written]} argument" in row["message"] for row in rows)
    assert sum(row["points"] for row in rows) == 0


def test_one_test_does_not_hold_what_another_saw_against_an_answer(halves):
    code = "def halve(x, sizes, options):\n    right = x / options['by']\n    if len(sizes) > 1: sizes.clear()\n    return right"
    assert [row["points"] for row in halves(code)["masking.halve"]["tests"]] == [0, 1]


@pytest.mark.parametrize("changed", ["None", "'x'", "-1", "True", "10**9", "[0]", "{}", "1.0"])
def test_nonsense_about_a_change_is_no_change(halves, changed):
    found = halves(SEND.replace("CHANGED", changed).replace("WRONG", "False"))["masking.halve"]
    assert (found["points"], found["status"]) == (3, "ok"), json.dumps(found)


@pytest.mark.parametrize("changed", ["None", "0", "2"])
def test_a_word_about_a_change_never_earns_a_point(halves, changed):
    assert halves(SEND.replace("CHANGED", changed).replace("WRONG", "True"))["masking.halve"]["points"] == 0
