"""A solution that ignores one of its arguments is refused: every judge varies each argument, and sees whether it counts."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from checks.test_exercises import EXERCISES, namespace_of
from tfm_lib.checks import Verdict, check
from tfm_lib.checks.judge import find

pytestmark = pytest.mark.usefixtures("as_readers_run_it")

# (exercise, function, parameter): why an answer may do without it
MAY_BE_IGNORED = {
    ("attention.set-test", "is_a_set", "Q"): "what ignores the order does so for all queries, so that any will do",
    ("data.split", "in_test", "target"): "no source may stand in both parts, so the target must not count",
}


def parameters(id: str) -> list[tuple[str, str]]:
    """Each function of the answer with each of its parameters."""
    namespace = namespace_of(id)
    return [
        (name, parameter) for name in find(id).answers for parameter in inspect.signature(namespace[name]).parameters
    ]


EVERY = [(id, function, parameter) for id in EXERCISES for function, parameter in parameters(id)]
CASES = [case for case in EVERY if case not in MAY_BE_IGNORED]


def constant(value: Any) -> Any:
    """What stands in the place of `value` whatever it holds: the same shape and kind, one number everywhere."""
    if isinstance(value, Tensor):
        return torch.ones_like(value).requires_grad_(value.requires_grad)
    if isinstance(value, np.ndarray):
        return np.ones_like(value)
    return value


def ignores(function: Callable[..., Any], parameter: str) -> Callable[..., Any]:
    """`function`, but its `parameter` always holds what it held at the first call, or, of tensors, ones of its shape."""
    signature, first = inspect.signature(function), []

    def mutant(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments[parameter]
        first.append(given)
        bound.arguments[parameter] = constant(given) if isinstance(given, (Tensor, np.ndarray)) else first[0]
        return function(*bound.args, **bound.kwargs)

    mutant.__name__ = function.__name__
    return mutant


def by_default(function: Callable[..., Any], parameter: str) -> Callable[..., Any]:
    """`function`, but its `parameter` always holds its default."""
    signature = inspect.signature(function)

    def mutant(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.arguments[parameter] = signature.parameters[parameter].default
        bound.apply_defaults()
        return function(*bound.args, **bound.kwargs)

    mutant.__name__ = function.__name__
    return mutant


def verdict_on(id: str, function: str, mutate: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Verdict:
    """The verdict on the solution whose `function` is mutated, wherever the solution itself calls it too."""
    namespace = namespace_of(id)
    mutants = {name: namespace[name] for name in find(id).answers}
    mutants[function] = mutate(namespace[function])
    return check(id, *mutants.values())


def assert_refused(verdict: Verdict, what: str) -> None:
    """Refused for what it gives, and not for a call that the mutant's own wrapper makes."""
    assert (verdict.status, verdict.mistake == "forbidden") == ("refused", False), f"{what}: {verdict}"


@pytest.mark.parametrize(("id", "function", "parameter"), CASES, ids=[f"{i}: {p}" for i, _, p in CASES])
def test_a_solution_that_ignores_an_argument_is_refused(id, function, parameter):
    verdict = verdict_on(id, function, lambda answer: ignores(answer, parameter))
    assert_refused(verdict, f"{function} without {parameter}")


DEFAULTS = [
    (id, function, parameter)
    for id, function, parameter in CASES
    if inspect.signature(namespace_of(id)[function]).parameters[parameter].default is not inspect.Parameter.empty
]


@pytest.mark.parametrize(("id", "function", "parameter"), DEFAULTS, ids=[f"{i}: {p}" for i, _, p in DEFAULTS])
def test_a_solution_that_knows_the_default_only_is_refused(id, function, parameter):
    verdict = verdict_on(id, function, lambda answer: by_default(answer, parameter))
    assert_refused(verdict, f"{function} with the default of {parameter}")


def test_exemptions_name_parameters_that_exist_and_give_a_reason():
    assert MAY_BE_IGNORED.keys() <= set(EVERY)
    assert all(len(reason) > 20 for reason in MAY_BE_IGNORED.values())
