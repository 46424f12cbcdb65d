"""A wrong result in a simple relation to the right one has a sentence; whatever has another cause has none."""

import math

import pytest
import torch

from tfm_exercises.judge import Exercise, judged
from tfm_exercises.relations import RELATED, Pair, relation, relation_of_counts, relation_of_parts, sizes

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
        "sizes as a factor": lambda want, other: want / len(want) ** 0.5,
        "no finite number": lambda want, other: want / 0,
        "another shape": lambda want, other: want.flatten(),
        "in other places": lambda want, other: want.roll(2, 0),
        "only a piece": lambda want, other: want[:, :2],
        None: lambda want, other: want + other,
        "": lambda want, other: want * other.sign(),
    }.items(),
)
def test_a_relation_is_named(name, function):
    found = relation(pairs(function))
    assert (found[0] if found else None) == (name or None)


@pytest.mark.parametrize(
    ("name", "function"),
    {
        "axes exchanged": lambda want: want.permute(0, 2, 1),
        "do not add up to 1": lambda want: want.softmax(1),
        "in other places": lambda want: want.roll(1, 2),
        None: lambda want: (want + want.flip(0)) / 2,
    }.items(),
)
def test_weights_of_three_axes(name, function):
    wants = [torch.rand(2, n, d).softmax(2) for n, d in SHAPES]
    found = relation([Pair(function(want), want) for want in wants])
    assert (found[0] if found else None) == name


@pytest.mark.parametrize(
    ("name", "function"),
    {
        "wrong on the diagonal": lambda want: want + torch.eye(*want.shape),
        "wrong above the diagonal": lambda want: want + torch.ones_like(want).triu(1),
        "wrong below the diagonal": lambda want: want * 3 - 2 * want.triu(),
        "wrong at the beginning": lambda want: torch.cat([want[:2] + 1, want[2:]]),
        "wrong at the end": lambda want: torch.cat([want[:, :-1], want[:, -1:] ** 2], 1),
        "0 in its place": lambda want: want * (want > 0),
        None: lambda want: want + (want > 0),
    }.items(),
)
def test_where_it_is_wrong(name, function):
    torch.manual_seed(0)
    found = relation([Pair(function(want), want) for want in (torch.randn(n, n) for n in (4, 5, 7))])
    assert (found[0] if found else None) == name


def test_what_should_be_0_is_told():
    found = relation([Pair(want.exp(), want.exp().tril()) for want in (torch.randn(n, n + 2) for n in (4, 5, 7))])
    assert found[0] == "not 0"


def test_truths_too_few_or_too_many():
    torch.manual_seed(0)
    wants = [torch.rand(n, 6) > 0.5 for n, _ in SHAPES]
    assert relation([Pair(want.tril(), want) for want in wants])[0] == "too few are True"
    assert relation([Pair(want | torch.eye(*want.shape).bool(), want) for want in wants])[0] == "too many are True"


WORDS = [["we", "saw", "a", "sail"], ["the", "sea", "and", "the", "shore"], ["home", "again"]]


@pytest.mark.parametrize(
    ("name", "function"),
    {
        "in reverse": lambda want: want[::-1],
        "in another order": sorted,
        "cut elsewhere": lambda want: [" ".join(want)],
        "something is missing": lambda want: want[:-1],
        "something too many": lambda want: [*want, "<1>"],
        "another number of times": lambda want: [*want, want[0]],
        "nested": lambda want: [want[:1], want[1:]],
        None: lambda want: [*want[1:], "<1>"],
    }.items(),
)
def test_a_relation_of_parts(name, function):
    found = relation_of_parts([(function(want), want) for want in WORDS])
    assert (found[0] if found else None) == name


def test_a_relation_of_pairs_and_of_sets():
    right = {(4, 6), (3, 5), (3, 6)}
    assert relation_of_parts([({(j, i) for i, j in right}, right)])[0] == "each the wrong way round"
    assert relation_of_parts([({(4, 6)}, right)])[1].startswith("All that is there should be; this is missing: (3, ")


def test_a_relation_of_whole_numbers():
    assert relation_of_counts([(3, 2), (5, 4), (8, 7)])[0] == "1 too large"
    found = relation_of_counts([(3, 3), (5, 6), (8, 8), (1, 2)])
    assert found[0] == "1 too small at times" and "right for 2 of 4 inputs" in found[1]
    assert relation_of_counts([(3, 3), (5, 6), (8, 7)]) is relation_of_counts([(3, 2)]) is None


def test_the_factor_between_logarithms_and_the_size_are_told():
    assert "base 2" in relation(pairs(lambda want, _: want / math.log(2)))[1]
    told = relation(pairs(lambda want, _: want * want.shape[1]))[1]
    assert told == "Every number is multiplied by the length of axis 1 of the first argument, and should not be."


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
