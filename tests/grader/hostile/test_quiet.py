"""A quiet sandbox: nothing of the machine or of a hidden test comes out, and what no exercise needs is refused."""

import json
from contextlib import closing

import msgspec
import pytest
from tiers import every, params

from grader.hostile.assignment import HIDDEN, MANIFEST
from grader.hostile.cases import IMPORTS, notebook
from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.manifest import Late, manifest
from tfm_grader.exports.grades import gradescope
from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.records import Begin, ChapterResult, ExerciseResult, Job, StudentResult
from tfm_grader.reports.student_feedback import student_page
from tfm_grader.scoring.scores import ClassMember, Rules, score

pytestmark = pytest.mark.long  # a judge of its own each; test_submissions.py tries one of each mechanism

PATIENT = {**MANIFEST, "limits": {**MANIFEST["limits"], "seconds": 60, "cpu": 8}}


@pytest.fixture(scope="module")
def process(monkeypatch_module):
    """A judging process, whose environment holds a secret."""
    monkeypatch_module.setenv("BOOK_TOKEN", "a token of the instructor's: 93fe")
    with closing(JudgeProcess(Begin(manifest=manifest(PATIENT), tests={"masking": {"": HIDDEN}}))) as made:
        yield made


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


def judge_band(process: JudgeProcess, body: str, *before: str) -> dict:
    """The row of the assigned exercise, with an honest half: it passes the first test for a point."""
    return judge(process, IMPORTS, *before, f"def band(n, back, ahead):\n{body}", ids=("masking.band",))["masking.band"]


ENDS = {  # eight ways to fail in a hidden test, by which a program could tell what it was given
    "it raises": "raise ValueError(n)",
    "it raises another thing": "raise SystemExit(n)",
    "it says that it is a stub": "raise NotImplementedError",
    "it gives back a stub": "return ...",
    "it gives back nothing": "return None",
    "it gives back nonsense": "return torch.ones(n, n, dtype=torch.bool)",
    "it ends its process": "__import__('os')._exit(3)",
    "it takes too much processor time": "\n    while True: pass",
    "it takes too much memory": "return [bytearray(1 << 30) for _ in range(99)]",
    "it crashes": "__import__('ctypes').string_at(0)",
    "it disturbs the wire": "__import__('os').write(3, b'no\\n')",
    "it hangs up": "__import__('os').close(3)",
    "it floods": "return torch.zeros(10 << 20)",
}


@pytest.fixture(scope="module")
def pages(process):
    """For each way to end, the row of the result."""
    return {name: judge_band(process, f"    {body}") for name, body in ENDS.items()}


def page(row: dict) -> str:
    """What the student reads: their page, and what Gradescope shows."""
    judged = msgspec.convert(row, ExerciseResult)
    result = StudentResult("someone", {"masking": ChapterResult(submitted=True, exercises=[judged])})
    bundle, person = Bundle(manifest(PATIENT), {}), ClassMember(handed_in=frozenset({"masking"}))
    made = score(bundle, "someone", person, result, Rules(Late()))
    return student_page(made, "Masks") + gradescope(made)


@pytest.mark.release
@pytest.mark.parametrize("name", ENDS)
def test_a_students_page_looks_the_same_however_a_program_ends_in_a_hidden_test(pages, name):
    assert "A hidden test did not hold: look back." in page(pages[name])
    assert page(pages[name]) == page(pages["it raises"])


@pytest.mark.release
def test_the_instructor_sees_why_it_was_stopped(pages):
    assert "took " in pages["it takes too much processor time"]["cause"]
    assert "disturbed" in pages["it disturbs the wire"]["cause"]
    assert pages["it raises"]["cause"] == ""
    assert "raised ValueError in line" in pages["it raises"]["tests"][0]["cause"]
    assert pages["it gives back nonsense"]["tests"][0]["cause"]
    assert pages["it ends its process"]["status"] == "stopped"


KERNEL = """
import ctypes, fcntl, mmap, os, sys
import torch
def kernel(name, *args):
    library = ctypes.CDLL(None, use_errno=True)
    found = getattr(library, name)(*(ctypes.c_void_p(arg) if type(arg) is int and arg > 1 << 31 else arg for arg in args))
    if found < 0:
        raise OSError(ctypes.get_errno(), name)
    return found
"""
REFUSED = {  # each is a try at something; the error that it must end with
    "another process by fork": "os.fork()",
    "another process by spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "a program in place of this one": "os.execv(sys.executable, [sys.executable])",
    "a copy of the wire": "os.dup(3)",
    "a copy of the wire by fcntl": "fcntl.fcntl(3, fcntl.F_DUPFD, 10)",
    "the number of the wire among the machine's open files": "os.fstat(3)",
    "a pipe, whose number counts the machine's": "os.pipe()",
    "a pair of sockets": "__import__('socket').socketpair()",
    "the choice of a processor": "os.sched_setaffinity(0, {0})",
    "a lower priority": "os.nice(5)",
    "where a processor's memory is": "kernel('get_mempolicy', None, None, 0, None, 0)",
    "a change of the times of a device": "os.utime('/dev/null')",
    "files that are not its own": "open(os.__file__, 'a')",
    "a mount": "kernel('mount', b'x', b'/tmp', b'tmpfs', 0, None)",
    "a way out by chroot": "os.chroot('/tmp')",
    "memory that nobody counts": "os.memfd_create('x')",
    "memory shared without a file": "mmap.mmap(-1, 4096)",
    "a larger piece of a library's file": "kernel('mremap', 4096, 4096, 8192, 1)",
    "a page that is marked for others": "kernel('madvise', 4096, 4096, 12)",
    "the rights of a debugger": "kernel('prctl', 0x59616D61, -1)",
    "a filter of its own": "kernel('prctl', 22, 2, None)",
    "a timer that the kernel counts for the user": "kernel('timer_create', 0, None, ctypes.byref(ctypes.c_long()))",
    "a queued signal": "kernel('syscall', 129, 1, 10, ctypes.create_string_buffer(128))",
    "the space left on the machine": "os.statvfs('/dev/null')",
    "the machine's load": "os.getloadavg()",
    "a process by its number": "os.pidfd_open(1)",
    "an attribute of a file": "os.setxattr('/tmp', 'user.x', b'1')",
    "an event of the processor": "kernel('syscall', 298, None, 0, -1, -1, 0)",
    "a key ring": "kernel('syscall', 250, 0, -3, 0)",
    "flushing everybody's files": "kernel('syncfs', 0)",
}


@pytest.mark.parametrize("name", params(REFUSED, every(16, REFUSED), rest=()))
def test_what_no_exercise_needs_is_refused(process, name):
    code = f"{KERNEL}\ndef triangle(n):\n    try:\n        {REFUSED[name]}\n    except (OSError, AttributeError) as error:\n        raise ValueError('refused: ' + repr(error))"
    assert said(process, code).startswith("refused: ")


PLACES = [
    "/proc/cmdline",
    "/proc/sys/kernel/random/boot_id",
    "/proc/self/mountinfo",
    "/proc/1/environ",
    "/sys",
    "/etc",
    "/grader",
]


@pytest.mark.parametrize("place", PLACES)
def test_places_that_tell_of_the_machine_hold_nothing(process, place):
    look = f"import os\ndef triangle(n):\n    raise ValueError(os.path.isfile({place!r}) or bool(os.path.isdir({place!r}) and os.listdir({place!r})))"
    assert said(process, look) == "False"


def test_no_secret_of_the_judges_environment_is_in_a_cells_memory(process):
    look = f"""{KERNEL}
def triangle(n):
    word = b"93" + b"fe"
    held = b"\\0".join(key + b"=" + value for key, value in os.environb.items())
    libc = ctypes.CDLL(None)
    place = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
    first = ctypes.cast(place[0], ctypes.c_void_p).value if place and place[0] else None
    if first:
        held += ctypes.string_at(first, 2000)
    raise ValueError(f"{{word in held}} {{'BOOK_TOKEN' in os.environ}}")
"""
    assert said(process, look) == "False False"


def test_a_second_copy_of_the_book_is_not_there(process):
    look = """
import os, sys
def triangle(n):
    places = [*sys.path, "/usr/lib/python3/dist-packages", "/usr/local/lib"]
    found = [place for place in places if os.path.exists(os.path.join(place, "tfm_lib"))]
    raise ValueError(found or "none")
"""
    assert said(process, look) == "none"


def test_memory_is_bounded_for_the_whole_cell(process):
    """As much as one process may have, and no second process to have as much again."""
    look = f"""{KERNEL}
import threading
def triangle(n):
    held, children = [], 0
    for _ in range(8):
        try: children += bool(os.fork())
        except OSError: pass
    def take():
        while True:
            try: held.append(bytearray(16 << 20))
            except MemoryError: return
    threads = [threading.Thread(target=take) for _ in range(3)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    total = len(held) * 16
    held.clear()
    raise ValueError(f"{{children}} children, {{total}} MB")
"""
    children, _, total = said(process, look).removesuffix(" MB").partition(" children, ")
    assert int(children) == 0
    assert 100 < int(total) <= PATIENT["limits"]["memory"]


def test_a_cell_has_no_seed_of_the_tests(process):
    """Its random numbers are the same in every class, and its frames hold none either."""
    look = f"""{KERNEL}
def triangle(n):
    frame, found = sys._getframe(), []
    while frame:
        found += [value for value in frame.f_locals.values() if type(value) is int and value > 1 << 20]
        frame = frame.f_back
    raise ValueError(f"{{torch.initial_seed()}} {{found}}")
"""
    assert said(process, look) == "0 []"


def test_text_raised_while_loading_reaches_no_page(process):
    """What a hidden test gave could be planted there by the cell before, where a test had stopped it."""
    planted = ["a = open('planted: 5 3 2')", "b = {}['planted: 5 3 2']", "assert len(triangle) == 0, 'planted: 5 3 2'"]
    row = judge_band(process, "    return a + b + triangle", "triangle = [1]", *planted)
    assert "planted" not in json.dumps(row)
    assert "planted" not in page(row)


def test_what_a_library_asks_of_threads_and_loops_is_there(process):
    look = """
import asyncio, os, tempfile, threading, io, torch
from concurrent.futures import ThreadPoolExecutor
import matplotlib.pyplot as plt
def triangle(n):
    async def wait():
        await asyncio.sleep(0.01)
        return await asyncio.to_thread(lambda: 3)
    found = [asyncio.run(wait())]
    with ThreadPoolExecutor(2) as pool: found += pool.map(abs, [-1, -2])
    figure, axes = plt.subplots(); axes.plot([1, 2]); axes.set_title("$x^2$"); figure.savefig(io.BytesIO())
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere, open(folder + "/x", "w") as file:
        print("x", file=nowhere); file.write("x")
    torch.save({"x": torch.ones(3)}, "/tmp/x.pt"); found.append(int(torch.load("/tmp/x.pt")["x"].sum()))
    weights = torch.nn.Linear(2, 2); optimizer = torch.optim.Adam(weights.parameters())
    weights(torch.ones(2)).sum().backward(); optimizer.step()
    torch.set_num_threads(2); found.append(int((torch.ones(600, 600) @ torch.ones(600, 600))[0, 0]))
    raise ValueError(found)
"""
    assert said(process, look) == "[3, 1, 2, 3, 600]"
