"""Submissions of every kind. Each says what it may score at most, and how each exercise of it must end.

The assignment has two exercises: `triangle` (practice, 1 point) and `band` (assigned, hidden tests for 1 and 2 points).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

IMPORTS = "import torch"
TRIANGLE = """def triangle(n):
    position = torch.arange(n)
    return position <= position[:, None]"""
BAND = """def band(n, back, ahead):
    distance = torch.arange(n)[:, None] - torch.arange(n)
    return (distance <= back) & (distance >= -ahead)"""
BAND_HALF = BAND.replace("distance >= -ahead", "distance >= 0")  # never looks ahead
LIE = "torch.ones(n, n, dtype=torch.bool)"
REACH = """import gc, types
def inside(name):
    found = next(held for held in gc.get_objects() if type(held) is dict and held.get("__name__") == f"inside.{name}")
    return types.SimpleNamespace(**found), found
"""  # import does not find the grader's own modules


@dataclass(frozen=True)
class Case:
    """Code cells, the points that they deserve, and the status that the two exercises must have; either if none."""

    cells: list[str]
    points: float
    status: tuple[str, str] | None = ("ok", "ok")
    says: str = ""  # must stand somewhere in the result
    types: list[str] = field(default_factory=list)

    @property
    def data(self) -> bytes:
        return notebook(self.cells, self.types)


def notebook(cells: list[str], types: list[str] = ()) -> bytes:
    """A notebook of code cells, as bytes."""
    made = [
        {
            "cell_type": kind,
            "source": text,
            "metadata": {},
            **({"outputs": [], "execution_count": None} if kind == "code" else {}),
        }
        for text, kind in zip(cells, types or ["code"] * len(cells), strict=True)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def beside_honest(attack: str, band: str = "def band(n, back, ahead):\n    return attack(n)", **more) -> Case:
    """An honest triangle, and `attack` in place of the band; worth the triangle's point."""
    return Case([IMPORTS, TRIANGLE, attack, band], 1, **more)


STOPPED = {"status": ("ok", "stopped")}

HONEST = {
    "right": Case([IMPORTS, TRIANGLE, BAND], 4),
    "wrong": Case([IMPORTS, "def triangle(n): return torch.ones(n, n)", "def band(n, back, ahead): return n"], 0),
    "half right": Case([IMPORTS, TRIANGLE, BAND_HALF], 2, says="Look ahead too."),
    "stubs": Case(
        [IMPORTS, "def triangle(n):\n    '''A mask.'''\n    ...", "def band(n, back, ahead):\n    ..."], 0, says="stub"
    ),
    "syntax error in one cell": Case([IMPORTS, TRIANGLE, BAND.replace("):", ")")], 1, says="is not Python"),
    "cell deleted": Case([IMPORTS, BAND], 3, says="defines no triangle"),
    "cell duplicated, the last counts": Case([IMPORTS, TRIANGLE, BAND, "def triangle(n): return None", TRIANGLE], 4),
    "cells in another order": Case([BAND, TRIANGLE, IMPORTS], 4),
    "cell type changed": Case([IMPORTS, TRIANGLE, BAND], 4, types=["code", "raw", "markdown"], says="not a code cell"),
    "what a cell sets for its context holds in the answer": Case(
        [
            IMPORTS,
            "import numpy as np, contextvars\nnp.seterr(all='raise')\nwidth = contextvars.ContextVar('width')\nwidth.set(0)",
            TRIANGLE,
            BAND.replace(
                "    return",
                "    try:\n        np.float64(1) / np.float64(0)\n    except FloatingPointError:\n"
                "        distance = distance + width.get()\n    else:\n        distance = None\n    return",
            ),
        ],
        4,
    ),
    "a name used again": Case(
        [IMPORTS, TRIANGLE, BAND, "band = band(6, 1, 1)"], 1, says="band is no function at the end"
    ),
    "no imports": Case([TRIANGLE, BAND], 0, says="NameError"),
    "helper in another cell": Case(
        [
            IMPORTS,
            "def gap(n): return torch.arange(n)[:, None] - torch.arange(n)",
            TRIANGLE,
            "def band(n, back, ahead): return (gap(n) <= back) & (gap(n) >= -ahead)",
        ],
        4,
    ),
    "answers made by exec": Case(
        [f"exec({IMPORTS!r})", f"exec({TRIANGLE!r})", f"globals().update()\nexec({BAND!r})"], 4
    ),
    "magics and shell lines": Case(
        ["%matplotlib inline\n!pip list\n" + IMPORTS, TRIANGLE + "\ntriangle?", BAND, "%%bash\nls"], 4
    ),
    "endless loop in a cell that no answer needs": Case([IMPORTS, TRIANGLE, BAND, "while True: pass"], 4),
    "a cell that raises": Case([IMPORTS, "raise ValueError('mine')", TRIANGLE, BAND, "1/0"], 4),
    "a warning is printed": Case(
        [
            IMPORTS,
            TRIANGLE,
            "import warnings\n" + BAND.replace("    dist", "    warnings.warn('hm'); print('hm')\n    dist", 1),
        ],
        4,
    ),
    "answers as lists": Case(
        [IMPORTS, TRIANGLE.replace("[:, None]", "[:, None]).tolist()").replace("return pos", "return (pos"), BAND], 4
    ),
    "Korean and emoji": Case([IMPORTS, TRIANGLE.replace("position", "위치"), BAND + "  # 끝 🎉"], 4),
}

UNREADABLE = {  # and what is said of it
    "not a notebook": (b"%PDF-1.7 ...", "not JSON"),
    "an empty file": (b"", "it is empty"),
    "half a character": (notebook([IMPORTS, TRIANGLE, BAND]).replace(b"return (d", b"\\ud800(d"), "half a character"),
    "not text": (b"\xff\xfe\x00{" * 9, "not text"),
    "JSON, but no notebook": (b'{"cells": 3}', "no list of cells"),
    "cells that are none": (b'{"cells": [3]}', "one of its cells"),
    "no cells": (b'{"cells": []}', "it has no cells"),
    "a notebook of nothing": (notebook([]), "it has no cells"),
    "an empty cell": (b'{"cells": [{"source": " "}]}', "its cells are empty"),
    "nested too deep": (b"[" * 200_000, "too deep"),
    "21 MB": (b" " * (21 << 20), "21 MB"),
    "too much code": (notebook(["x = 1\n" * 300_000]), "1 MB of code"),
}

RESOURCES = {
    "endless loop at import": Case(
        [
            IMPORTS,
            TRIANGLE,
            "seen = []\nwhile True:\n    seen.append(0)\n    seen.clear()",
            BAND.replace("    dist", "    seen\n    dist", 1),
        ],
        1,
        ("ok", "stopped"),
    ),
    "endless loop in a call": beside_honest("def attack(n):\n    while True: pass", **STOPPED),
    "endless sleep": beside_honest("import time\ndef attack(n):\n    time.sleep(1e6)", **STOPPED, says="longer than"),
    "os._exit": beside_honest("import os\ndef attack(n):\n    os._exit(0)", **STOPPED),
    "sys.exit": beside_honest("import sys\ndef attack(n):\n    sys.exit(0)"),
    "exit while loading": beside_honest("import os\nos._exit(0)\nattack = os", **STOPPED),
    "KeyboardInterrupt": beside_honest("def attack(n):\n    raise KeyboardInterrupt"),
    "segmentation fault": beside_honest("import ctypes\ndef attack(n):\n    ctypes.string_at(0)", **STOPPED),
    "kills everything": beside_honest(
        "import os\ndef attack(n):\n    os.kill(-1, 9)\n    os.kill(os.getppid(), 9)\n    os.kill(1, 9)"
    ),
    "signals to its own group while loading": Case(
        [IMPORTS, TRIANGLE, "import os\nos.kill(0, 19)\nos.kill(0, 9)\nos.killpg(os.getpgid(0), 9)", BAND], 4
    ),
    "kills its own group in the first test": beside_honest(
        "import os\ndef attack(n):\n    os.kill(0, 9)\n    return 0"
    ),
    "stops its own group in the second test": Case(
        [
            IMPORTS,
            TRIANGLE,
            "import os\ncalls = []",
            BAND.replace(
                "    distance", "    calls.append(n)\n    if len(calls) == 2: os.kill(0, 19)\n    distance", 1
            ),
        ],
        4,
    ),
    "recursion": beside_honest("def attack(n):\n    return attack(n)"),
    "recursion in C": beside_honest("def attack(n):\n    x = []\n    for _ in range(10**6): x = [x]\n    return x"),
    "6 GB": beside_honest("def attack(n):\n    return torch.ones(6 << 30, dtype=torch.uint8)"),
    "6 GB of lists": beside_honest("def attack(n):\n    return [[0] * 1000 for _ in range(10**6)]", status=None),
    "fork bomb": beside_honest(
        "import os\ndef attack(n):\n    while True:\n        try: os.fork()\n        except OSError: pass", **STOPPED
    ),
    "threads": beside_honest(
        "import threading, time\ndef attack(n):\n    for _ in range(500): threading.Thread(target=time.sleep, args=(99,)).start()"
    ),
    "2 GB on disk": beside_honest(
        "def attack(n):\n    with open('/tmp/x', 'wb') as f:\n        for _ in range(2048): f.write(bytes(1 << 20))"
    ),
    "many files": beside_honest("def attack(n):\n    for i in range(10**6): open(f'/tmp/{i}', 'w').close()"),
    "flood on stdout": beside_honest(
        "import os\ndef attack(n):\n    while True: os.write(1, b'x' * (1 << 20))", **STOPPED
    ),
    "a result of 40 MB": beside_honest("def attack(n):\n    return torch.zeros(10 << 20)", **STOPPED),
    "a million items": beside_honest("def attack(n):\n    return list(range(10**6))"),
}

REACHING = {
    "sockets": beside_honest(
        "import socket\ndef attack(n):\n    socket.create_connection(('127.0.0.1', 80), timeout=1)", says="hidden"
    ),
    "download": beside_honest(
        "import urllib.request\ndef attack(n):\n    return urllib.request.urlopen('http://example.org').read()"
    ),
    "deletes files": beside_honest(
        "import os, shutil\ndef attack(n):\n"
        "    for d in ('/grader', '/etc', '/home', '/root', '/proc', '/dev', os.path.dirname(torch.__file__) + '/lib', '/usr/bin'):\n"
        "        shutil.rmtree(d, ignore_errors=True)\n    return " + LIE
    ),
    "debugs its parents": beside_honest(
        "import ctypes\ndef attack(n):\n    return ctypes.CDLL(None).ptrace(16, 1, 0, 0)"
    ),
    "mounts": beside_honest(
        "import ctypes\ndef attack(n):\n    return ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, 0)"
    ),
    "new namespaces": beside_honest("import ctypes\ndef attack(n):\n    return ctypes.CDLL(None).unshare(0x10000000)"),
    "imports the reference": beside_honest(
        "from tfm_lib.masking import causal_mask\ndef attack(n):\n    return causal_mask(n)"
    ),
    "imports the judges": beside_honest(
        "import tfm_exercises.checks.masking as m\ndef attack(n):\n    return m.triangle"
    ),
    "imports the reference from disk": beside_honest(
        "import glob, sys\nsys.meta_path[:] = [f for f in sys.meta_path if 'Book' not in type(f).__name__]\n"
        "sys.modules.pop('tfm_lib', None)\nfrom tfm_lib.masking import causal_mask\ndef attack(n):\n    return causal_mask(n)"
    ),
    "calls what is not allowed": beside_honest("def attack(n):\n    return torch.tril(torch.ones(n, n)).bool()"),
}

FORGING = {
    "patches torch.allclose": beside_honest(
        "torch.allclose = lambda *a, **k: True\ntorch.equal = torch.allclose\ndef attack(n):\n    torch.allclose; return "
        + LIE
    ),
    "patches builtins": beside_honest(
        "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.all = builtins.any = lambda *a: True\ndef attack(n):\n    builtins; return "
        + LIE,
        status=("ok", "stopped"),
    ),
    "patches Tensor": beside_honest(
        "torch.Tensor.__eq__ = lambda a, b: True\ntorch.Tensor.all = lambda *a: True\ndef attack(n):\n    return " + LIE
    ),
    "patches the judge's modules": beside_honest(
        "import sys, types\nfor name in ('tfm_exercises.judge', 'tfm_grader.judging.submission'):\n"
        "    sys.modules[name] = types.SimpleNamespace(Expect=None)\ndef attack(n):\n    return " + LIE
    ),
    "IPython's machinery": beside_honest(
        "try:\n    get_ipython().run_cell('1')\nexcept NameError: pass\ndef attack(n):\n    return " + LIE
    ),
    "equals everything": beside_honest(
        "class Yes:\n    def __eq__(self, o): return True\n    __ne__ = lambda s, o: False\n    __bool__ = lambda s: True\n"
        "    __len__ = lambda s: 5\n    __hash__ = lambda s: 0\n    shape = (5, 5)\n    dtype = torch.bool\n"
        "    def __getattr__(self, name): return Yes()\n    def __call__(self, *a): return Yes()\ndef attack(n):\n    return Yes()"
    ),
    "a tensor that equals everything": beside_honest(
        "class Yes(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, t, a=(), k=None): return True\n"
        "def attack(n):\n    return torch.ones(n, n).as_subclass(Yes)",
        status=("ok", "ok"),
    ),
    "a number that equals everything": beside_honest(
        "class Yes(int):\n    __eq__ = lambda s, o: True\n    __hash__ = lambda s: 0\ndef attack(n):\n    return [[Yes()] * n] * n"
    ),
    "looks for the answer in the frames": beside_honest(
        "import gc, sys\ndef attack(n):\n    frame = sys._getframe()\n    while frame:\n        for v in frame.f_locals.values():\n"
        "            if isinstance(v, dict) and 'want' in v: return v['want']\n        frame = frame.f_back\n"
        "    for o in gc.get_objects():\n        if isinstance(o, torch.Tensor) and o.dtype == torch.bool and o.shape == (n, n): return o"
    ),
    "prints a result": beside_honest(
        'import sys\ndef attack(n):\n    print(\'{"points": 4, "outcome": "passed"}\')\n    sys.stdout.flush()\n    return 0'
    ),
    "pickles a command": beside_honest(
        "import os\nclass Bomb:\n    def __reduce__(self): return os.system, ('touch /tmp/pwned',)\ndef attack(n):\n    return Bomb()"
    ),
    "an array of objects": beside_honest(
        "import numpy as np\ndef attack(n):\n    return np.array([object()] * n, dtype=object)"
    ),
    "an exception whose text raises": beside_honest(
        "class E(Exception):\n    def __str__(self): raise E()\ndef attack(n):\n    raise E()"
    ),
    "an exception with a long name": beside_honest(
        "E = type('E' * 10**6, (Exception,), {})\ndef attack(n):\n    raise E('x' * 10**6)"
    ),
    "a generator, a module, a class": beside_honest(
        "def attack(n):\n    return [(i for i in ()), torch, torch.nn.Linear(2, 2), int]"
    ),
    "a function in place of a value": beside_honest("def attack(n):\n    return lambda *a: attack"),
    "a sparse tensor": beside_honest("def attack(n):\n    return torch.eye(n).to_sparse()"),
    "a meta tensor": beside_honest("def attack(n):\n    return torch.empty(1 << 40, device='meta')"),
}

WIRE = (
    {
        "garbage": beside_honest(
            "import os\ndef attack(n):\n    os.write(3, b'\\xff{]]\\n')", **STOPPED, says="not JSON"
        ),
        "not a message": beside_honest(
            "import os\ndef attack(n):\n    os.write(3, b'[1, 2]\\n')", **STOPPED, says="not a message"
        ),
        "flood": beside_honest(
            "import os\nos.set_blocking(3, True)\ndef attack(n):\n    while True: os.write(3, b'x' * (1 << 20))",
            **STOPPED,
            says="longer than",
        ),
        "flood of messages": beside_honest(
            'import os\ndef attack(n):\n    os.set_blocking(3, True)\n    while True: os.write(3, b\'{"do": "call", "of": 0, "args": [], "kwargs": {}, "id": 0}\\n\' * 1000)',
            **STOPPED,
        ),
        "deep nesting": beside_honest(
            "import os\ndef attack(n):\n    os.write(3, b'[' * 100000 + b'\\n')", **STOPPED, says="deeper"
        ),
        "answers queued in advance": beside_honest(
            'import os\ndef attack(n):\n    os.write(3, b\'{"re": "0000000000000000", "ok": true}\\n\' * 50)\n    return '
            + LIE,
            **STOPPED,
            says="nobody asked",
        ),
        "hangs up": beside_honest("import os\ndef attack(n):\n    os.close(3)", **STOPPED),
        "calls the judge by name": beside_honest(
            "import sys\ndef attack(n):\n    import gc\n    peer = next(o for o in gc.get_objects() if type(o).__name__ == 'Peer')\n"
            "    for name in ('load', 'judge', '__import__', 'answer band', 0, -1, 10**9):\n        try: peer.call(name)\n        except Exception: pass\n    return "
            + LIE
        ),
        "asks for gradients of nothing": beside_honest(
            "def attack(n):\n    import gc\n    peer = next(o for o in gc.get_objects() if type(o).__name__ == 'Peer')\n"
            "    for tape in (0, -1, None, 10**9):\n        try: peer.ask('back', {'tape': tape, 'slopes': [1]})\n        except Exception: pass\n    return "
            + LIE
        ),
    }
    | {
        f"a tensor of {name}": beside_honest(
            f"{REACH}_, values = inside('values')\ndef attack(n):\n    values['encode_tensor'] = lambda t, g=None: {made!r}\n    return torch.zeros(1)"
        )
        for name, made in {
            "absurd shape": {"$": "tensor", "d": "float32", "s": [1 << 40], "b": ""},
            "absurd shape with a 0": {"$": "tensor", "d": "float32", "s": [0, 1 << 62], "b": ""},
            "many sides": {"$": "tensor", "d": "float32", "s": [1] * 100, "b": "AAAAAA=="},
            "negative shape": {"$": "tensor", "d": "float32", "s": [-1], "b": ""},
            "shape of words": {"$": "tensor", "d": "float32", "s": ["5"], "b": ""},
            "unknown dtype": {"$": "tensor", "d": "object", "s": [], "b": ""},
            "dtype of no word": {"$": "tensor", "d": [], "s": [], "b": ""},
            "bytes that are none": {"$": "tensor", "d": "float32", "s": [1], "b": "no!"},
            "bytes too few": {"$": "tensor", "d": "float32", "s": [2], "b": "AAAAAA=="},
            "a gradient that is none": {"$": "tensor", "d": "float32", "s": [1], "b": "AAAAAA==", "g": 7},
        }.items()
    }
    | {
        f"a value that is {name}": beside_honest(
            f"{REACH}channel, _ = inside('channel')\nsend = channel.Channel.send\n"
            f"def attack(n):\n    channel.Channel.send = lambda self, m: send(self, {{**m, 'ok': {made!r}}})\n    return 0"
        )
        for name, made in {
            "of no kind": {"$": "pickle", "v": "gASVJAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOU"},
            "a dict of no pairs": {"$": "dict", "v": [[1, 2, 3]]},
            "a dict with lists as keys": {"$": "dict", "v": [[[1], 2]]},
            "a set of lists": {"$": "set", "v": [[1]]},
            "a handle of no number": {"$": "handle", "i": "x", "k": "y"},
            "half a complex number": {"$": "complex", "v": [1]},
            "a dict of no mark": {"x": 1},
        }.items()
    }
)

ATTACKS = RESOURCES | REACHING | FORGING | WIRE
ALL = HONEST | ATTACKS
