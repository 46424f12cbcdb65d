"""Which forbidden names a notebook's text uses: an accusation comes from the student's own code, and from nothing else."""

import pytest
import torch

from tfm_grader.judging.forbidden_names import used
from tfm_grader.sandbox.inside.forbidden_calls import activate
from tfm_grader.written_answers import Handed, digests

CHECK = """from tfm_lib.transformer import Transformer

check("mine.parallel", Transformer(2).tril(3))"""
HANDED = Handed(lines=frozenset(digests([CHECK, "import torch", "def band(n):"]).split()))
FORBIDDEN = ("torch.tril", "torch.nn.functional.layer_norm", "tfm_lib.transformer.Transformer")


@pytest.mark.parametrize(
    ("cell", "names"),
    {
        "a method": ("def band(n):\n    return torch.ones(n, n).tril(1)", ["tril"]),
        "its form in place": ("def band(n):\n    return torch.ones(n, n).tril_(1)", ["tril"]),
        "a function, by another name": ("from numpy.lib import tril as t\nband = t", ["tril"]),
        "not called, but handed on": ("band = torch.tril", ["tril"]),
        "after a line of IPython": ("%matplotlib inline\n!ls\nband = torch.tril", ["tril"]),
        "two": ("band = torch.nn.functional.layer_norm(torch.tril(x), 4)", ["layer_norm", "tril"]),
        "a comment": ("def band(n):\n    # torch.tril(x) would do it\n    return n", []),
        "a string": ("def band(n):\n    'like torch.tril(x)'\n    return n", []),
        "a longer name": ("band = torch.tril_indices(3, 3)", []),
        "a function of one's own": ("def tril(x):\n    return x\nband = tril(3)", []),
        "a part of one's own": ("class A:\n    def __init__(self):\n        self.layer_norm = 3\n        self.layer_norm(3)", []),
        "a method of one's own": ("class Rule:\n    def tril(self, d):\n        return d\nband = Rule().tril(3)", []),
        "a field of one's own": ("from types import SimpleNamespace\nmine = SimpleNamespace(tril=3)\nband = mine.tril", []),
        "a field that hides nothing": ("from types import SimpleNamespace\nSimpleNamespace(tril=3)\nband = torch.tril", ["tril"]),
        "behind another end of a line": ("# my answer\x85 (the band\nband = torch.tril", ["tril"]),
        "by a name that it was given": ("tril = lambda x: x\nband = lambda n: tril(n)", []),
        "an argument": ("def of(tril, n):\n    return tril(n)\nband = lambda n: of(abs, n)", []),
        "a field of a class": ("class Rules(NamedTuple):\n    tril: int = 3\nR = Rules()\nband = lambda n: R.tril(n)", []),
        "any field": ("class D(dict):\n    __getattr__ = dict.get\nr = D(a=1)\nband = lambda n: r.tril(n)", []),
        "out of a file of one's own": ("from masks import tril\nband = lambda n: tril(n)", []),
        "out of a file that has it": ("import masks\nfrom torch import tril\nband = lambda n: tril(n)", ["tril"]),
        "of torch, where a class has such a field": ("class A:\n    tril = 1\nband = lambda x: torch.tril(x)", ["tril"]),
        "what the answer isn't made of": ("def trial():\n    return torch.tril(3)\ndef band(n):\n    return n", []),
        "a trial over a name that is the answer's own": (
            "def band(n):\n    return [i for i in range(n)]\nfor n in (3, 4):\n    i = torch.tril(n)\n    assert band(n) == i", []
        ),
        "what the answer is made of": ("def half(n):\n    return torch.tril(n)\ndef band(n):\n    return half(n)", ["tril"]),
        "a table filled beforehand": ("T = {}\nfor n in range(3):\n    T[n] = torch.tril(n)\nband = T.get", ["tril"]),
        "a training as the chapter has it": (CHECK + "\nother = Transformer(4)\ndef band(n):\n    return n", []),
        "a variable": ("tril = 3\nband = tril", []),
        "the cells that were handed out": (CHECK, []),
        "one's own line in such a cell": (CHECK + "\nmodel = Transformer(4)", ["Transformer"]),
        "not Python": ("def band(n)\n    return torch.tril(n)", []),
    }.values(),
)  # fmt: skip
def test_own_code_alone_is_told(cell, names):
    assert used(FORBIDDEN, ["import torch", cell], HANDED, ["band", "model"]) == names


@pytest.mark.parametrize(
    "way",
    [
        lambda x: torch.ops.aten._masked_softmax(x, torch.zeros_like(x, dtype=torch.bool), 1),
        lambda x: torch.sparse.softmax(x.to_sparse(), 1).to_dense(),
        lambda x: torch.sparse.log_softmax(x.to_sparse(), 1).to_dense().exp(),
    ],
    ids=["masked", "sparse", "its logarithm"],
)
def test_a_forbidden_softmax_is_held_under_its_other_names(way):
    x = torch.ones(2, 2)
    torch.testing.assert_close(way(x), x / 2)
    activate(["torch.softmax", "torch.log_softmax"])
    try:
        with pytest.raises(RuntimeError, match="softmax is not allowed"):
            way(x)
    finally:
        activate([])


def test_whoever_compares_an_answer_with_what_it_replaces_is_not_accused():
    answer = "def triangle(n):\n    return torch.ones(n, n).cumsum(0) > 0\n"
    trials = "assert triangle(3).equal(torch.ones(3, 3).tril())\nprint(torch.tril(torch.ones(2, 2)))\n"
    assert used(["torch.tril"], [answer, trials], HANDED, ["triangle"]) == []
    assert used(["torch.tril"], [answer.replace("cumsum(0) > 0", "tril()"), trials], HANDED, ["triangle"]) == ["tril"]
