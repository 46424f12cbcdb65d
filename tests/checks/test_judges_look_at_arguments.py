"""A solution that ignores one of its arguments is refused: every judge varies each argument, and sees whether it counts."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from checks.test_exercises import namespace_of, some_exercises
from tfm_exercises import Verdict, check
from tfm_exercises.judge import find

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


def refused(verdict: Verdict) -> bool:
    """Refused for what it gives, and not for a call that the mutant's own wrapper makes."""
    return verdict.status == "refused" and verdict.mistake != "forbidden"


@some_exercises
def test_a_solution_that_ignores_an_argument_is_refused(id):
    """Also one that knows only the argument's default."""
    accepted = []
    for function, parameter in parameters(id):
        if (id, function, parameter) in MAY_BE_IGNORED:
            continue
        verdict = verdict_on(id, function, lambda answer, parameter=parameter: ignores(answer, parameter))
        accepted += [] if refused(verdict) else [f"{function} without {parameter}: {verdict}"]
        default = inspect.signature(namespace_of(id)[function]).parameters[parameter].default
        if default is not inspect.Parameter.empty:
            verdict = verdict_on(id, function, lambda answer, parameter=parameter: by_default(answer, parameter))
            accepted += [] if refused(verdict) else [f"{function} with the default of {parameter}: {verdict}"]
    assert not accepted, "\n".join(accepted)


def test_exemptions_name_parameters_that_exist_and_give_a_reason():
    assert all((function, parameter) in parameters(id) for id, function, parameter in MAY_BE_IGNORED)
    assert all(len(reason) > 20 for reason in MAY_BE_IGNORED.values())
