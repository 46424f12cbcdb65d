"""A wrong result in a simple relation to the right one has a sentence; whatever has another cause has none."""

import math

import pytest
import torch

from tfm_lib.checks.judge import Exercise, judged
from tfm_lib.checks.relations import RELATED, Pair, relation, sizes

SHAPES = [(3, 4), (5, 2), (4, 4)]


def pairs(function):
    torch.manual_seed(0)
    made = [(torch.randn(n, d), torch.randn(n, d)) for n, d in SHAPES]
    return [Pair(function(want, other), want, sizes((want, 7))) for want, other in made]


@pytest.mark.parametrize(
    ("name", "function"),
    {
        "rows and columns exchanged": lambda want, other: want.T,
        "in reverse": lambda want, other: want.flip(1),
        "one place too late": lambda want, other: torch.cat([other[:1], want[:-1]]),
        "one place too early": lambda want, other: torch.cat([want[1:], other[:1]]),
        "the wrong sign": lambda want, other: -want,
        "1 minus it": lambda want, other: 1 - want,
        "its reciprocal": lambda want, other: 1 / want,
        "its square": lambda want, other: want**2,
        "its exponential": lambda want, other: want.exp(),
        "rounded down": lambda want, other: want.floor(),
        "2 too large everywhere": lambda want, other: want + 2,
        "a constant factor": lambda want, other: want / math.log(2),
        "a size as a factor": lambda want, other: want / len(want) ** 0.5,
        None: lambda want, other: want + other,
        "": lambda want, other: want * other.sign(),
    }.items(),
)
def test_a_relation_is_named(name, function):
    found = relation(pairs(function))
    assert (found[0] if found else None) == (name or None)


def test_the_factor_between_logarithms_and_the_size_are_told():
    assert "base 2" in relation(pairs(lambda want, _: want / math.log(2)))[1]
    told = relation(pairs(lambda want, _: want * want.shape[1]))[1]
    assert told == "Every number is s times what it should be, where s is the length of axis 1 of the first argument."


def test_truths_that_are_exchanged_and_too_few_numbers():
    right = torch.tensor([True, False, False])
    assert relation([Pair(~right, right)])[0] == "True and False exchanged"
    assert relation([Pair(torch.tensor(3.0), torch.tensor(2.0))]) is None, "one number is related to any other"
    assert relation([Pair(right, right)]) is None, "nothing is wrong"


def test_a_check_names_it_and_a_hidden_test_keeps_it():
    inputs = [(torch.randn(n, 3),) for n in (2, 3, 4)]

    def judge(student, expect):
        expect.agrees(student.twice, lambda x: 2 * x, inputs, "twice")

    verdict = judged(Exercise("masking.twice", ("twice",), judge), [lambda x: 2 * x + 1])
    assert verdict.mistake == f"{RELATED}1 too large everywhere"
    assert "differ). Every number is 1 too large. The call was" in verdict.message
