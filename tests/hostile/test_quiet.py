"""A quiet cell: nothing passes from one submission to another, and nothing of the machine or of a hidden test comes out."""

import json
import random
import threading
import time

import msgspec
import pytest

from hostile.assignment import HIDDEN, MANIFEST
from hostile.cases import BAND, IMPORTS, LIE, TRIANGLE, notebook
from hostile.ways import BITS, WAYS, receiver, sender
from tfm_lib.classroom.manifest import manifest
from tfm_lib.classroom.pool import JudgeProcess
from tfm_lib.classroom.records import Begin, Job

PATIENT = {**MANIFEST, "limits": {**MANIFEST["limits"], "seconds": 60, "cpu": 20}}
CHANCE = range(28, 69)  # right bits of 96 that guessing gives, but for one time in twenty thousand


@pytest.fixture(scope="module")
def judges(monkeypatch_module):
    """Two judging processes, as a class has them side by side; their environment holds a secret."""
    monkeypatch_module.setenv("BOOK_TOKEN", "a token of the instructor's: 93fe")
    begin = Begin(manifest=manifest(PATIENT), tests={"masking": {"": HIDDEN}})
    made = [JudgeProcess(begin) for _ in range(2)]
    starting = [threading.Thread(target=judge.start) for judge in made]
    for thread in starting:
        thread.start()
    for thread in starting:
        thread.join()
    yield made
    for judge in made:
        judge.close()


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def judge(process: JudgeProcess, *cells: str, ids: tuple[str, ...] = ("masking.triangle",)) -> dict:
    job = Job(student="someone", stem="masking", ids=list(ids), data=notebook(list(cells)))
    return msgspec.to_builtins(process.judge(job))["exercises"]


def said(process: JudgeProcess, *cells: str) -> str:
    """The text of the error that the answer raises."""
    row = judge(process, *cells)["masking.triangle"]
    assert row["tests"], row
    return row["tests"][0]["message"].partition("of its cell: ")[2] or json.dumps(row)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", WAYS)
def test_bits_that_one_submission_sends_do_not_reach_another(judges, name, seed):
    way, draw = WAYS[name], random.Random(f"{name} {seed}")
    bits = [draw.randrange(2) for _ in range(BITS)]
    start = time.monotonic() + 3
    sending, receiving = sender(way, bits, start), receiver(way, start)
    heard: list[str] = []
    if way.together:
        other = threading.Thread(target=lambda: heard.append(said(judges[0], sending)))
        other.start()
        got = said(judges[1], receiving)
        other.join()
    else:
        heard.append(said(judges[0], sending))
        got = said(judges[0], receiving)
    assert heard[0].startswith("sent"), heard
    assert len(got) == BITS and set(got) <= {"0", "1"}, got
    right = sum(int(a) == b for a, b in zip(got, bits, strict=True))
    assert right in CHANCE, f"{right} of {BITS} bits arrived: {heard[0]}"
