"""Whatever a cell sends, and whatever file is handed in: the judge goes on, in time, and blames nobody else."""

import json
import time

import pytest
from tiers import every, params

from grader.hostile.assignment import LIMITS
from grader.hostile.replies import ALL, FILES

pytestmark = pytest.mark.long  # a judge of its own each; test_submissions.py tries one of each mechanism

KEPT = every(30, ALL)
KEPT |= {"loaded as lacking every answer, whenever it is asked"}  # which once held a class for ever


@pytest.mark.parametrize("name", params(ALL, KEPT, rest=()))
def test_an_odd_reply_earns_nothing_and_is_no_fault_of_the_grader(judge_of, name):
    case, judged = ALL[name], judge_of(name)
    before, process = judged.process._process, judged.process
    began = time.monotonic()
    result = judged(case.data)
    assert time.monotonic() - began < 4 * LIMITS["seconds"]
    triangle, band = (result["exercises"][f"masking.{name}"] for name in ("triangle", "band"))
    assert band["points"] == 0, band
    assert triangle["points"] == 1 or name.startswith("loaded as"), (
        triangle
    )  # who forges that loses all, by their own hand
    assert {triangle["status"], band["status"]} <= {"ok", "stopped"}, (triangle, band)
    assert case.says in json.dumps(result)
    assert process._process is before, "the judging process was lost"


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_slow_to_read_is_read_in_time(name):
    from tfm_grader.notebook import NotANotebook, read_notebook

    began = time.process_time()
    with pytest.raises(NotANotebook):
        read_notebook(FILES[name], {"band"})
    assert time.process_time() - began < 2
