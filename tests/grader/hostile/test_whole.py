"""What a run of the whole notebook could newly let through does not pass; what stops or never ends is graded by slices."""

import os
import shutil
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from project import ROOT
from tiers import every, params

from grader.hostile.assignment import HIDDEN, MANIFEST
from grader.hostile.cases import BAND, IMPORTS, LIE, REACH, TRIANGLE, notebook
from tfm_grader.assignment.manifest import manifest
from tfm_grader.judging import selftest
from tfm_grader.judging.notebook_loading import PYTHON
from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.records import Begin, ExerciseResult, Graded, Job
from tfm_grader.sandbox.bubblewrap import NoSandbox
from tfm_grader.sandbox.inside import notebook_code

LIAR = f"def band(n, back, ahead): return {LIE}"
ATTACKS = {
    "a thread that waits for the hidden test": f"""
import sys, threading, time
seen = []
def wait():
    while True:
        for frame in list(sys._current_frames().values()):
            while frame:
                seen.extend(v for v in frame.f_locals.values() if isinstance(v, torch.Tensor) and v.dtype == torch.bool)
                frame = frame.f_back
        time.sleep(0.001)
threading.Thread(target=wait, daemon=True).start()
def band(n, back, ahead):
    time.sleep(0.05)
    return next((v for v in seen if v.shape == (n, n)), {LIE})""",
    "a trace of every call": f"""
import sys
def trace(frame, event, arg):
    for name, value in list(frame.f_locals.items()):
        if name in ("want", "expected", "verdict", "reply"):
            frame.f_locals[name] = True
    return trace
sys.settrace(trace)
{LIAR}""",
    "a profiler that answers": f"""
import sys
sys.setprofile(lambda frame, event, arg: frame.f_globals.update(_equal=lambda *a: True))
{LIAR}""",
    "at exit": f"""
import atexit, os
atexit.register(lambda: os.write(3, b'{{"re": "0", "ok": true}}\\n'))
{LIAR}""",
    "an alarm that never rings": f"""
import signal
signal.signal(signal.SIGALRM, signal.SIG_IGN)
signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal = lambda *a: None
{LIAR}""",
    "overrides what encodes the answer": f"""{REACH}
_, values = inside("values")
values["encode_tensor"] = lambda tensor, gradient=None: {{"$": "handle", "i": 0, "k": "Tensor"}}
{LIAR}""",
    "overrides the loader's words": f"""{REACH}
answers, words = inside("answers")
answers.Notebook.is_stub = lambda self, name: False
answers.Notebook.lacks = lambda self, before: False
words["_builtin_name"] = lambda error: "4 of 4 points"
{LIAR}
1 / 0""",
    "says each time that slices would do better": f"""{REACH}
inside("answers")[0].Notebook.lacks = lambda self, before: True
{LIAR}""",
    "a seed that it knows": """
torch.manual_seed(0)
before = torch.get_rng_state()
def band(n, back, ahead):
    torch.set_rng_state(before)
    return torch.rand(n, n) > 0.5""",
    "builtins that agree": f"""
import builtins, operator
builtins.all = builtins.any = lambda *a: True
operator.eq = lambda *a: True
torch.equal = torch.allclose = torch.isclose = lambda *a, **k: True
{LIAR}""",
    "a check that it forges": f"""
import sys
from tfm_lib import checks
checks.check = lambda *a: True
sys.modules["tfm_exercises.judge"] = checks
assert checks.check("masking.band", None)
{LIAR}""",
    "a magic of its own": f"""
get_ipython().register_magic_function(lambda line, cell: None, "cell", "time")
get_ipython().user_ns["__name__"] = "tfm_grader"
{REACH}
get_ipython().ex("inside('remote_calls')[0].Peer.changed = None")
{LIAR}""",
    "a task that never ends": f"""
import asyncio
async def forever():
    while True:
        await asyncio.sleep(0)
        globals()["band"] = lambda n, back, ahead: {LIE}
task = asyncio.create_task(forever())
{LIAR}""",
}
WAYS_ROUND = {
    "a method": "torch.ones(n, n).tril().bool()",
    "in place": "torch.ones(n, n).tril_().bool()",
    "with out=": "torch.tril(torch.ones(n, n), out=torch.empty(n, n)).bool()",
    "the operator": "torch.ops.aten.tril(torch.ones(n, n)).bool()",
    "the operator's overload": "torch.ops.aten.tril.default(torch.ones(n, n)).bool()",
    "the C function": "torch._C._VariableFunctions.tril(torch.ones(n, n)).bool()",
    "the class's method, kept": "KEPT(torch.ones(n, n)).bool()",
    "made while loading": "TABLE[:n, :n]",
    "vmap": "torch.vmap(torch.ops.aten.tril)(torch.ones(1, n, n))[0].bool()",
    "indices": "torch.zeros(n, n).index_put(tuple(torch.tril_indices(n, n)), torch.tensor(1.0)).bool()",
    "numpy": "torch.from_numpy(numpy.tril(numpy.ones((n, n)))).bool()",
    "numpy's tri": "torch.from_numpy(numpy.tri(n)).bool()",
    "numpy's indices": "torch.zeros(n, n).index_put(tuple(map(torch.from_numpy, numpy.tril_indices(n))), torch.tensor(1.0)).bool()",
    "numpy's own module": "torch.from_numpy(deep_tril(numpy.ones((n, n)))).bool()",
    "torch's reference": "torch._refs.tril(torch.ones(n, n)).bool()",
    "torch's table of references": "torch._decomp.decomposition_table[torch.ops.aten.tril.default](torch.ones(n, n)).bool()",
    "the grader's own module": "undone(lambda: torch.ones(n, n).tril()).bool()",
    "scripted": "scripted(n).bool()",
    "in a thread": "in_a_thread(lambda: torch.ones(n, n).tril()).bool()",
}
ROUND = """
import numpy, sys
from numpy.lib._twodim_base_impl import tril as deep_tril
import torch._decomp, torch._refs
def undone(work):
    if "inside.forbidden_calls" in sys.modules:
        sys.modules["inside.forbidden_calls"].activate([])
    return work()
KEPT = torch.Tensor.tril
try:
    TABLE = torch.ones(64, 64).tril().bool()
except RuntimeError:
    TABLE = torch.zeros(64, 64)
@torch.jit.script
def scripted(n: int):
    return torch.ones(n, n).tril()
def in_a_thread(work):
    import threading
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start(); thread.join()
    return found[0]
"""


@pytest.fixture(scope="module")
def graded():
    """`graded(*cells)`: the result of the band in a notebook of these cells, `triangle` after the imports before them."""
    limits = {**MANIFEST["limits"], "load_seconds": 3}
    begin = Begin(manifest=manifest({**MANIFEST, "limits": limits}), tests={"masking": {"": HIDDEN}})

    def judge(*cells: str, triangle: float | None = None) -> ExerciseResult:
        data = notebook([IMPORTS, TRIANGLE, *cells])
        found = process.judge(
            Job(student="someone", stem="masking", ids=["masking.triangle", "masking.band"], data=data)
        )
        assert triangle in (None, found.exercises["masking.triangle"].points), found
        return found.exercises["masking.band"]

    with closing(JudgeProcess(begin)) as process:
        yield judge


@pytest.mark.parametrize("name", params(ATTACKS, every(10, ATTACKS), rest=every(5, ATTACKS)))
def test_an_attack_by_the_whole_run_earns_nothing(graded, name):
    result = graded(ATTACKS[name])
    assert (result.points, "4 of 4 points" in str(result)) == (0, False), result
    assert result.status != "infrastructure", result


@pytest.mark.parametrize("way", params(WAYS_ROUND, ("a method",), rest=every(4, WAYS_ROUND)))
def test_a_forbidden_call_is_held_by_what_is_called(graded, way):
    """The triangle, an exercise that forbids nothing, is right by the same way."""
    body = f"""
def band(n, back, ahead):
    i = torch.arange(n)
    lower = {WAYS_ROUND[way]}
    return (lower | (i[:, None] < i)) & (i[:, None] - i <= back) & (i - i[:, None] <= ahead)"""
    allowed = f"def triangle(n):\n    return {WAYS_ROUND[way]}"
    assert graded(ROUND, body, allowed, triangle=1).points == 0


@pytest.mark.long
def test_the_same_without_the_forbidden_call_is_right(graded):
    body = """
def band(n, back, ahead):
    i = torch.arange(n)
    lower = i[:, None] >= i
    return (lower | (i[:, None] < i)) & (i[:, None] - i <= back) & (i - i[:, None] <= ahead)"""
    assert graded(ROUND, body).points == 3


@pytest.mark.parametrize("named", ["honest", "as numpy"])
def test_where_a_name_is_forbidden_twice_numpy_may_use_it_and_nobody_who_says_he_is_numpy(named):
    """`numpy.linalg.qr` calls triu: it is the student's way to a number, not a way to the triangle."""
    twice = {**MANIFEST["chapters"]["masking"]["exercises"][1], "forbidden": ["torch.triu", "torch.Tensor.triu"]}
    bundle = manifest({**MANIFEST, "chapters": {"masking": {"exercises": [twice]}}})
    honest = BAND.replace("    distance", "    numpy.linalg.qr(numpy.eye(3))\n    distance", 1)
    lying = BAND.replace("    distance", "    getattr(numpy, 'tr' + 'iu')(numpy.eye(3))\n    distance", 1)
    cells = ["import numpy", honest] if named == "honest" else ["import numpy\n__name__ = 'numpy'", lying]
    job = Job(student="someone", stem="masking", ids=["masking.band"], data=notebook([IMPORTS, *cells]))
    with closing(JudgeProcess(Begin(manifest=bundle, tests={"masking": {"": HIDDEN}}))) as process:
        assert process.judge(job).exercises["masking.band"].points == (3 if named == "honest" else 0)


TRAINING = """
w = torch.zeros(1, requires_grad=True)
while True:
    loss = (w - 1).pow(2).sum()
    loss.backward()
    w.data -= 0.1 * w.grad
    w.grad = None
"""
SETUP = "state = {}\ndef setup():\n    state['range'] = torch.arange\nsetup()"
STATEFUL = BAND.replace("torch.arange", "state['range']")


long = partial(pytest.param, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("texts", "ways"),
    [
        ([SETUP, STATEFUL], [Graded(what="notebook")]),
        long([SETUP, STATEFUL, TRAINING], [Graded(what="notebook", because="deadline", before=5)]),
        long([TRAINING, BAND], [Graded(what="slices", because="deadline")]),
        (["import os\nos._exit(3)", BAND], [Graded(what="slices", because="stopped")]),
        long(["import ctypes\nctypes.string_at(0)", BAND], [Graded(what="slices", because="stopped")]),
        long(["raise ValueError\n" + BAND], [Graded(what="slices", because="lacks")]),
        long(["text = open('corpus.txt').read()\ndef gap(n): return torch.arange(n)[:, None] - torch.arange(n)",
          BAND.replace("torch.arange(n)[:, None] - torch.arange(n)", "gap(n)")], [Graded(what="slices", because="lacks")]),
        long(["while True:\n    try:\n        while True: sum(range(99))\n    except BaseException: pass", BAND],
         [Graded(what="slices", because="deadline"), Graded(what="slices", because="stopped")]),  # whichever limit is first
        long(["import asyncio\nawait asyncio.sleep(1e6)", BAND], [Graded(what="slices", because="deadline")]),
        long([BAND, "raise ValueError\ndef band(n): return None"], [Graded(what="notebook")]),
    ],
)  # fmt: skip
def test_which_of_the_two_is_graded(graded, texts, ways):
    result = graded(*texts)
    assert (result.points, result.status) == (3, "ok") and result.graded in ways, result


@pytest.mark.long
def test_a_cell_that_raises_is_noted_without_its_text(graded):
    result = graded("raise KeyError('the hidden inputs')", LIAR, "def broken(:", "!ls\n%nonsense 3")
    assert result.notes == [
        "Code cell 3, line 1: KeyError.",
        f"Code cell 5, line 1 is not {PYTHON}, which grades here.",
        "Code cell 6: a line that begins with ! starts no program here. It gives an empty list.",
        "Code cell 6: %nonsense does nothing here.",
    ]
    own = graded("class Points4of4(Exception): pass\nraise Points4of4('x')", LIAR)
    assert own.notes == ["Code cell 3, line 2: Exception."]


def test_a_stub_that_a_later_cell_fills_by_exec_is_no_stub(graded):
    assert graded("def band(n, back, ahead):\n    ...", f"exec({BAND!r})").points == 3


@pytest.mark.long
def test_annotations_are_evaluated_as_python_does(graded):
    body = f"seen = []\ndef note(x):\n    seen.append(x)\n{BAND.replace('(n, back', '(n: note(1), back')}\nassert seen == [1]\n"
    assert graded(body, "assert band.__annotations__ == {'n': None}\nfine = True", "fine").notes == []


@pytest.mark.long
def test_draws_of_the_notebook_leave_nothing_behind(graded):
    same = f"{BAND}\nfirst = band\ndef band(n, back, ahead):\n    return first(n, back, ahead) & bool(torch.rand(()) < 0.5)"
    assert graded(same).points == graded("torch.rand(1000)\ntorch.manual_seed(99)", same).points


@pytest.mark.long
def test_a_second_copy_of_the_library_cannot_be_imported(graded):
    """Beside Python's own packages, where a submission once could read it."""
    folder = Path(sys.prefix) / "share" / f"second-copy-{os.getpid()}"
    shutil.copytree(ROOT / "tfm_lib", folder / "tfm_lib", ignore=shutil.ignore_patterns("static", "__pycache__"))
    try:
        body = f"""
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Book" not in type(finder).__name__]
for name in [name for name in sys.modules if name.startswith("tfm_lib")]:
    del sys.modules[name]
sys.path.insert(0, {str(folder)!r})
import tfm_lib.masking"""
        assert graded(BAND, body).notes == ["Code cell 4, line 7: ModuleNotFoundError."]
        assert os.path.exists(folder / "tfm_lib" / "masking.py")
    finally:
        shutil.rmtree(folder)


def test_where_ipython_is_missing_nothing_is_graded(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.core.inputtransformer2", None)
    with pytest.raises(NoSandbox, match="pip install ipython"):
        selftest._require_ipython(lambda name: notebook_code.translates())
    assert [type(node).__name__ for node in notebook_code.parsed("%time x\n!ls\ny = 1")] == ["Pass", "Pass", "Assign"]
