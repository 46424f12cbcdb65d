"""Every hostile submission: no more points than its honest part deserves, and nothing outside the sandbox changes."""

import ast
import json
import os
import socket
import sys
import time
from pathlib import Path

import pytest
from tiers import every, params

from grader.hostile.assignment import LIMITS, MANIFEST
from grader.hostile.cases import ALL, ATTACKS, BAND, HONEST, IMPORTS, TRIANGLE, UNREADABLE, Case, notebook
from grader.hostile.conftest import CANARY

LONGEST = (
    2 * len(MANIFEST["chapters"]["masking"]["exercises"]) * 2 * (LIMITS["seconds"] + 5)
)  # seconds, on a busy machine


KEPT = every(16, HONEST) | every(48, ATTACKS) - {"endless sleep", "endless loop at import"}  # which wait
KEPT |= {name for name in ATTACKS if "its own group" in name}  # which once reached the grader


@pytest.mark.parametrize("name", params(ALL, KEPT, rest=every(6, ALL)))
def test_submission(judge_of, name):
    case: Case = ALL[name]
    judged = judge_of(name)
    began = time.monotonic()
    result = judged(case.data)
    assert time.monotonic() - began < LONGEST
    text = json.dumps(result, ensure_ascii=False)
    triangle, band = result["exercises"]["masking.triangle"], result["exercises"]["masking.band"]
    assert triangle["points"] + band["points"] == case.points, text
    assert case.status in (None, (triangle["status"], band["status"])), text
    assert case.says in text
    assert "7e21" not in text, "the hidden tests' text came out"
    assert len(text) < 40_000
    assert judged.canary.read_text(encoding="utf-8") == CANARY


@pytest.mark.parametrize(("data", "says"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_is_no_notebook_is_told(judged, data, says):
    assert says in judged(data)["unreadable"]


@pytest.mark.release
def test_after_all_attacks_an_honest_submission_is_judged_as_before(judged):
    for name in ("os._exit", "garbage", "fork bomb", "patches builtins"):
        judged(ATTACKS[name].data)
    result = judged(notebook([IMPORTS, TRIANGLE, BAND]))
    assert sum(row["points"] for row in result["exercises"].values()) == 4


def test_forging_fails_for_a_reason_of_its_own(judged):
    """The lie that many attacks return is refused without them too, and the truth beside them is not."""
    lie = notebook([IMPORTS, TRIANGLE, "def band(n, back, ahead): return torch.ones(n, n, dtype=torch.bool)"])
    assert judged(lie)["exercises"]["masking.band"]["points"] == 0
    truth = notebook([IMPORTS, TRIANGLE, "torch.allclose = lambda *a, **k: False", BAND + " and torch.allclose" * 0])
    assert judged(truth)["exercises"]["masking.band"]["points"] == 3


def seen_from_inside(judged, look: str) -> str:
    """What `look`, an expression, is in the sandbox, told through the one way out that there is: an error's text."""
    code = f"import os, glob, sys, socket\ndef triangle(n):\n    raise ValueError(repr({look}))"
    row = judged(notebook([code]))["exercises"]["masking.triangle"]["tests"][0]
    return row["message"].partition("ValueError in line 3 of its cell: ")[2]


def test_the_way_out_works(judged):
    assert seen_from_inside(judged, "6 * 7") == "42"


def test_files_of_the_instructor_do_not_exist(judged):
    places = [
        str(judged.canary),
        str(judged.canary.parent),
        os.path.expanduser("~/.bashrc"),
        *(
            os.path.join(os.getcwd(), name) for name in ("README.md", "tests", "tfm_lib")
        ),  # .venv beside them is Python's
        "/etc/passwd",
    ]
    assert seen_from_inside(judged, f"[p for p in {places!r} if os.path.exists(p)]") == "[]"
    homes = seen_from_inside(judged, "sorted(os.listdir('/home')) if os.path.isdir('/home') else []")
    ways = [Path(prefix).resolve().parts for prefix in (sys.prefix, sys.base_prefix)]  # where Python lies in a home
    assert {*ast.literal_eval(homes)} <= {parts[2] for parts in ways if parts[1] == "home"}
    packages = "[os.path.join(p, 'tfm_lib') for p in sys.path]"
    assert seen_from_inside(judged, f"[f for p in {packages} if os.path.isdir(p) for f in os.listdir(p)]") == "[]"


def test_no_process(judged):
    assert seen_from_inside(judged, "os.listdir('/proc')") == "[]"  # nor is its own


def test_environment_holds_no_secret(judged, monkeypatch):
    assert "SECRET" not in seen_from_inside(judged, "dict(os.environ)")
    assert "BOOK_TOKEN" not in seen_from_inside(judged, "sorted(os.environ)")


def test_nothing_reaches_a_listener_on_this_machine(judged, listener):
    with socket.create_connection(("127.0.0.1", listener.port)):
        pass  # so that a listener that hears nothing is not just deaf
    code = f"import socket\ndef triangle(n):\n    socket.create_connection(('127.0.0.1', {listener.port}), timeout=2)"
    row = judged(notebook([code]))["exercises"]["masking.triangle"]["tests"][0]
    assert "PermissionError" in row["message"]
    time.sleep(0.2)
    assert len(listener.came) == 1


def test_hidden_tests_tell_neither_inputs_nor_exceptions(judged):
    spy = "def band(n, back, ahead):\n    raise ValueError(f'inputs: {n} {back} {ahead}')"
    row = judged(notebook([IMPORTS, spy]))["exercises"]["masking.band"]
    assert "inputs" not in json.dumps(row)
    assert row["tests"][0]["message"] == "A hidden test did not hold: look back."


LEAVE = """
import atexit, builtins, gc, mmap, os, random, signal, subprocess, sys, tempfile
import torch
def triangle(n):
    for place in ('/tmp', '/dev/shm', '/var/tmp', '/', '/grader', '/dev', '/proc/self'):
        try: open(place + '/left-behind', 'w').write('A')
        except OSError: pass
    os.environ['LEFT'] = 'A'
    sys.modules['left_behind'] = sys
    builtins.left_behind = torch.left_behind = 'A'
    torch.manual_seed(1234); torch.set_default_dtype(torch.double); torch.set_num_threads(3)
    try: child = os.fork()
    except OSError: child = None
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True: signal.pause()
    return torch.arange(n) <= torch.arange(n)[:, None]
"""
FIND = """
import builtins, os, sys
import torch
def triangle(n):
    places = ('/tmp', '/dev/shm', '/var/tmp', '/', '/grader', '/dev', '/proc/self')
    found = [p for p in places if os.path.exists(p + '/left-behind')] + [k for k in os.environ if k == 'LEFT']
    found += [str(m) for m in (builtins, torch) if hasattr(m, 'left_behind')]
    found += [m for m in sys.modules if m == 'left_behind'] + [p for p in os.listdir('/proc') if p.isdigit() and p != '1']
    found += [str(torch.get_default_dtype()), str(torch.get_num_threads())]
    raise ValueError(repr(found))
"""


def test_submission_a_leaves_nothing_for_b(judged):
    a = judged(notebook([LEAVE]), "A")["exercises"]["masking.triangle"]
    assert a["points"] == 1, a  # so it did run to its end
    b = judged(notebook([FIND]), "B")["exercises"]["masking.triangle"]["tests"][0]
    assert b["message"].endswith("ValueError in line 10 of its cell: ['torch.float32', '1']")
