"""Ways in which people hand a right answer to `check`, cell by cell, as they run them. Written down before any was tried.

Each begins in an empty namespace with what the chapter's first cell imports, and with the stub's cell, which the reader
has run. In the reader's folder lies `mine_file.py`, which defines `triangle` and `my_triangle`.
"""

SETUP = """import math
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tfm_exercises import check"""
STUB = 'def triangle(n):\n    """A boolean (n, n) tensor, True where query i may attend to key j."""\n    ...'
BODY = "    i = torch.arange(n)\n    return i <= i[:, None]"
RIGHT = f"def triangle(n):\n{BODY}"
WRONG = RIGHT.replace("<=", ">=")
MINE = RIGHT.replace("triangle", "my_triangle")
LAMBDA = "lambda n: torch.arange(n) <= torch.arange(n)[:, None]"
CHECK = 'check("masking.triangle", triangle)'
MY_CHECK = 'check("masking.triangle", my_triangle)'
FILE = f"import torch\n\n\n{RIGHT}\n\n\n{MINE}\n"

HABITS: dict[str, list[str]] = {
    # the cells
    "def and check in one cell": [f"{RIGHT}\n\n{CHECK}"],
    "def in one cell, check in the next": [RIGHT, CHECK],
    "checked before it was written": [CHECK, RIGHT, CHECK],
    "wrong first, then right, in one cell each time": [f"{WRONG}\n\n{CHECK}", f"{RIGHT}\n\n{CHECK}"],
    "two definitions in one cell, the later counts": [f"{WRONG}\n\n{RIGHT}\n\n{CHECK}"],
    "the answer's cell run twice": [RIGHT, RIGHT, CHECK],
    "an older right cell run again": [RIGHT, WRONG, RIGHT, CHECK],
    "a cell that stops behind the definition": [f"{RIGHT}\ntriangle(3)[7]", CHECK],
    "a later attempt that did not run, the answer before it was right": [RIGHT, f"1 / 0\n{WRONG}", CHECK],
    "a later attempt with a slip of the pen": [RIGHT, "def triangle(n)\n    return n", CHECK],
    "a note that is no Python": [RIGHT, "triangle = the lower half of the square", CHECK],
    "a note with the definition in a string": [RIGHT, 'text = """def triangle(n):\n    ..."""', CHECK],
    "other cells between": [RIGHT, "triangle(4).int()", "import random", CHECK],
    "help before the check": [RIGHT, "triangle?", CHECK],
    "deleted and written again": [RIGHT, "del triangle", RIGHT, CHECK],
    "timed": [f"%%time\n{RIGHT}", CHECK],
    "the check timed": [RIGHT, f"%time {CHECK}"],
    "what the cell prints is kept": [f"%%capture said\n{RIGHT}\nprint(triangle(3))", CHECK],
    "the verdict kept and printed": [RIGHT, f"verdict = {CHECK}\nprint(verdict)"],
    "asserted": [RIGHT, f'assert {CHECK}\nprint("✓")'],
    "under an if": [RIGHT, f'if {CHECK}:\n    print("✓")'],
    "in a cell of its own imports": [f"import torch\nfrom tfm_exercises import check\n\n{RIGHT}\n\n{CHECK}"],
    "the check with names": [RIGHT, 'id = "masking.triangle"\nanswer = triangle\ncheck(id, answer)'],
    "lines that end as on Windows": [RIGHT.replace("\n", "\r\n"), CHECK],
    "tabs": [RIGHT.replace("    ", "\t"), CHECK],
    # the name
    "renamed and handed over": [MINE, MY_CHECK],
    "renamed and handed over, in one cell": [f"{MINE}\n\n{MY_CHECK}"],
    "renamed, the stub run again": [MINE, STUB, MY_CHECK],
    "an old name for a new function": [f"{MINE}\ntriangle = my_triangle", CHECK],
    "a former version under another name": [RIGHT, "good = triangle", WRONG, 'check("masking.triangle", good)'],
    "a former version taken back": [RIGHT, "good = triangle", WRONG, "triangle = good", CHECK],
    "a lambda": [f"triangle = {LAMBDA}", CHECK],
    "a lambda without spaces": [f"triangle={LAMBDA}", CHECK],
    "a lambda with check in its cell": [f"triangle={LAMBDA}\n{CHECK}"],
    "a lambda in the call": [f'check("masking.triangle", {LAMBDA})'],
    "a lambda with a type": [f"triangle: object = {LAMBDA}", CHECK],
    "out of a dictionary": [f'answers = {{"triangle": {LAMBDA}}}', 'check("masking.triangle", answers["triangle"])'],
    "one of two assigned at once": [f"triangle, other = {LAMBDA}, None", CHECK],
    "in globals": [f'{MINE}\nglobals()["triangle"] = my_triangle', CHECK],
    # another file
    "imported from a file": ["from mine_file import triangle", CHECK],
    "imported under another name": ["from mine_file import my_triangle as triangle", CHECK],
    "imported and checked in one cell": [f"from mine_file import triangle\n{CHECK}"],
    "through the file's module": ["import mine_file", 'check("masking.triangle", mine_file.triangle)'],
    "a file that is run": ["%run mine_file.py", CHECK],
    "a file that is executed": ['exec(open("mine_file.py").read())', CHECK],
    "a file written by a cell": [f"%%writefile written.py\nimport torch\n{RIGHT}", "from written import triangle", CHECK],
    "a file that is loaded anew": ["%load_ext autoreload\n%autoreload 2\nimport mine_file\nfrom mine_file import *", CHECK],
    # what kind of thing it is
    "a partial": [
        "from functools import partial\ndef shaped(strict, n):\n    i = torch.arange(n)\n    return i <= i[:, None]",
        "triangle = partial(shaped, False)",
        CHECK,
    ],
    "a cached function": [f"from functools import cache\n@cache\n{RIGHT}", CHECK],
    "a decorator without wraps": [f"def loud(f):\n    def inner(n):\n        return f(n)\n    return inner\n@loud\n{RIGHT}", CHECK],
    "a decorator with wraps": [
        f"import functools\ndef loud(f):\n    @functools.wraps(f)\n    def inner(n):\n        return f(n)\n    return inner\n@loud\n{RIGHT}",
        CHECK,
    ],
    "without gradients": [f"@torch.no_grad()\n{RIGHT}", CHECK],
    "an object that can be called": [
        "class Triangle:\n    def __call__(self, n):\n        i = torch.arange(n)\n        return i <= i[:, None]",
        'check("masking.triangle", Triangle())',
    ],
    "a module": [
        "class Triangle(nn.Module):\n    def forward(self, n):\n        i = torch.arange(n)\n        return i <= i[:, None]",
        "triangle = Triangle()",
        CHECK,
    ],
    "a bound method": [
        "class Masks:\n    def triangle(self, n):\n        i = torch.arange(n)\n        return i <= i[:, None]",
        'check("masking.triangle", Masks().triangle)',
    ],
    "a static method": [
        f"class Masks:\n    @staticmethod\n{RIGHT}".replace("\ndef", "\n    def").replace("\n    i", "\n        i").replace("\n    return", "\n        return"),
        'check("masking.triangle", Masks.triangle)',
    ],
    "made by a function": ["def make():\n    def triangle(n):\n        i = torch.arange(n)\n        return i <= i[:, None]\n    return triangle", "triangle = make()", CHECK],
    "defined inside another and made global": [
        "def outer():\n    global triangle\n    def triangle(n):\n        i = torch.arange(n)\n        return i <= i[:, None]\nouter()",
        CHECK,
    ],
    "under an if of the cell": [f"if True:\n    {RIGHT}".replace("\n    i", "\n        i").replace("\n    return", "\n        return"), CHECK],
    "a helper in a later cell": [
        "def triangle(n):\n    return below(torch.arange(n))",
        "def below(i):\n    return i <= i[:, None]",
        CHECK,
    ],
    "a helper inside": ["def triangle(n):\n    def below(i):\n        return i <= i[:, None]\n    return below(torch.arange(n))", CHECK],
    "a constant of another cell": ["first = 0", RIGHT.replace("arange(n)", "arange(first, n)"), CHECK],
    # what it takes and returns
    "types": [RIGHT.replace("(n)", "(n: int) -> Tensor", 1), CHECK],
    "types that nobody imported": [f"from __future__ import annotations\n{RIGHT.replace('(n)', '(n: Count) -> Mask', 1)}", CHECK],
    "another name for the argument": ["def triangle(size):\n    i = torch.arange(size)\n    return i <= i[:, None]", CHECK],
    "one argument more, with a default": [RIGHT.replace("(n)", "(n, device=None)", 1), CHECK],
    "any number of arguments": ["def triangle(*args):\n    i = torch.arange(args[0])\n    return i <= i[:, None]", CHECK],
    "by position only": [RIGHT.replace("(n)", "(n, /)", 1), CHECK],
    "an array": ["def triangle(n):\n    return np.arange(n) <= np.arange(n)[:, None]", CHECK],
    "lists": [RIGHT.replace("i <= i[:, None]", "(i <= i[:, None]).tolist()"), CHECK],
    "a word for the answer that it does not use": [f"{RIGHT}\n# tril( and a loop: for each row", CHECK],
    "names that need another alphabet": ["def triangle(größe):\n    ι = torch.arange(größe)\n    return ι <= ι[:, None]", CHECK],
    # the notebook around it
    "everything of torch imported": ["from torch import *", RIGHT, CHECK],
    "torch under another name": ["import torch as t", RIGHT.replace("torch", "t"), CHECK],
    "builtins written over": ["sum = 0\nlist = [1, 2]\nmax = min = id = type = len = 3", RIGHT, CHECK],
    "names of the check written over": ["n = 3\nname = 5\nE = judge = seed = None", RIGHT, CHECK],
    "another default type": ["torch.set_default_dtype(torch.float64)", RIGHT, CHECK],
    "no gradients at all": ["torch.set_grad_enabled(False)", RIGHT, CHECK],
    "warnings are errors": ['import warnings\nwarnings.simplefilter("error")\nnp.seterr(all="raise")', RIGHT, CHECK],
    "other ways to print": ["torch.set_printoptions(precision=2, sci_mode=False)", RIGHT, CHECK],
    "its own seed": ["torch.manual_seed(3)", RIGHT, CHECK],
}  # fmt: skip

#: Cells after which `check` has something to say, and what.
TOLD: dict[str, tuple[list[str], str]] = {
    "renamed, and the check untouched": ([MINE, CHECK], "my_triangle"),
    "renamed, and both untouched in one cell": ([f"{MINE}\n\n{CHECK}"], "my_triangle"),
    "an attempt that stopped before it": ([WRONG, f"1 / 0\n{RIGHT}", CHECK], "an older cell"),
    "an attempt with a slip of the pen": ([WRONG, "def triangle(n)\n    return n", CHECK], "SyntaxError in line 1"),
    "a lambda with a slip of the pen": ([WRONG, "triangle=lambda n", CHECK], "SyntaxError in line 1"),
    "a module that was not imported": (["del math", "def triangle(n):\n    return math.inf", CHECK], "first cell imports it"),
    "one argument too few, the other has a default": (["def triangle(*, n=3):\n    return n", CHECK], "written for (*, n=3)"),
    "the stub, run last": ([RIGHT, STUB, CHECK], "the stub"),
    "one argument too few": (["def triangle():\n    return torch.ones(3, 3).bool()", CHECK], "written for ()"),
    "one argument too many": ([RIGHT.replace("(n)", "(n, m)", 1), CHECK], "written for (n, m)"),
    "softmax by itself": (["def triangle(n):\n    return softmax(torch.ones(n, n))", CHECK], "torch.softmax"),
    "another exercise's function": (["def shift(ids, pad_id):\n    return ids[:, :-1], ids[:, 1:]", 'check("masking.triangle", shift)'], "masking.shifted-targets"),
    "the call in place of the function": ([RIGHT, 'check("masking.triangle", triangle(4))'], "without brackets"),
    "a loop without end": (["def triangle(n):\n    while True:\n        pass", CHECK], "seconds"),
    "a sleep without end": (["import time\ndef triangle(n):\n    while True:\n        time.sleep(0.1)", CHECK], "seconds"),
}  # fmt: skip
