"""What an answer gives back arrives as what it is, or as something that bears its name."""

import json
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import StrEnum
from queue import Empty, Queue
from threading import Thread

import numpy as np
import pytest
import torch
from torch import Tensor, func
from torch.autograd import functional

from tfm_grader.sandbox.inside.remote_calls import Foreign, Peer
from tfm_grader.sandbox.inside.values import MAX_ITEMS, BadValue, Decoder, encode

PAIRS = {(0, 2): 1, (1, 3): 1}


def sent(value: object) -> object:
    """`value` on the other side."""
    kept: list[object] = []

    def keep(thing: object) -> dict:
        kept.append(thing)
        return {"$": "handle", "i": 0, "k": type(thing).__name__}

    return Decoder(lambda made: Foreign.of(made["k"], None)).decode(encode(value, keep))


@pytest.mark.parametrize("value", [np.array(["scale"])[0], StrEnum("Kind", {"a": "scale"}).a, {"A": np.str_("scale")}])
def test_words_of_other_kinds_arrive_as_words(value):
    came = sent(value)
    word = came["A"] if isinstance(value, dict) else came
    assert type(word) is str and word == "scale"


@pytest.mark.parametrize(
    "value",
    [
        *((pair for pair in PAIRS), PAIRS.keys(), PAIRS.values(), PAIRS.items(), deque(PAIRS)),
        *(map(tuple, PAIRS), zip([0, 1], [2, 3]), filter(None, PAIRS), enumerate("ab"), reversed([1, 2])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_gives_one_value_after_the_other_arrives_as_a_list(value):
    kept = list(value) if not hasattr(value, "__next__") else None
    got = sent(value)
    assert type(got) is list and len(got) == 2
    assert kept is None or got == kept


def test_a_generator_without_end_is_read_to_a_limit_and_refused():
    with pytest.raises(BadValue, match="too many"):
        sent(number for number in range(10 * MAX_ITEMS))


def test_a_thing_that_cannot_be_sent_bears_its_name_and_is_called_only_if_it_can_be():
    class Triangle:
        pass

    got = sent(Triangle())
    assert type(got).__name__ == "Triangle" and repr(got) == "<a Triangle>" and not callable(got)
    with pytest.raises(TypeError, match="a Triangle was given back"):
        len(got)
    assert Foreign.of("function", lambda x: x + 1)(2) == 3
    assert type(Foreign.of("no name\0", None)).__name__ == "object"


def test_what_a_generator_writes_into_its_input_while_it_is_read_is_told():
    def halves(values):
        for place in range(len(values)):
            values[place] /= 2
            yield values[place]

    peer = Peer(None, repr)
    peer.named["halves"] = halves
    reply = peer._called({"of": "halves", "args": [[2.0, 4.0]], "kwargs": {}})
    assert reply == {"ok": [1.0, 2.0], "changed": 0}


class Wire:
    """A channel within one process."""

    def __init__(self, away: Queue, back: Queue):
        self.away, self.back = away, back

    def send(self, message: dict) -> None:
        self.away.put(json.dumps(message))

    def receive(self) -> dict:
        return json.loads(self.back.get(timeout=60))


def far(compute: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """`compute`, done by the other side of a wire."""
    there, back = Queue(), Queue()

    def told(error: BaseException) -> dict[str, str]:
        return {"name": type(error).__name__, "text": str(error)}

    asks, answers = Peer(Wire(there, back), told), Peer(Wire(back, there), told)
    answers.named["compute"] = compute

    def serve() -> None:
        with suppress(Empty):  # nobody asks any more
            while True:
                answers.answer(answers.receive())

    Thread(target=serve, daemon=True).start()
    return lambda X: asks.call("compute", [X])


def test_threads_of_an_answer_take_turns():
    square = far(lambda X: X.square())
    numbers = torch.arange(40.0)
    with ThreadPoolExecutor(8) as pool:
        assert torch.stack(list(pool.map(square, numbers))).equal(numbers.square())


@pytest.mark.parametrize("derive", [
    lambda f, X: functional.jacobian(f, X),
    lambda f, X: func.jacrev(f)(X),
    lambda f, X: func.jacrev(f, chunk_size=5)(X),
    lambda f, X: torch.stack([func.vjp(f, X)[1](each.view(4, 3))[0] for each in torch.eye(12)]).view(4, 3, 4, 3),
    lambda f, X: func.jacfwd(f)(X),
    lambda f, X: functional.jacobian(f, X, vectorize=True),
    lambda f, X: functional.jacobian(f, X, vectorize=True, strategy="forward-mode"),
    lambda f, X: func.jacfwd(lambda X: f(X.sin()).exp())(X.asin()) / f(X).exp()[..., None, None] / (1 - X**2) ** 0.5,
], ids=["jacobian", "jacrev", "jacrev by chunks", "vjp", "jacfwd", "at once", "forward", "a chain"])  # fmt: skip
def test_derivatives_of_a_function_of_the_other_side(derive):
    W, X = torch.randn(3, 3), torch.rand(4, 3) - 0.5

    def compute(X: Tensor) -> Tensor:
        return torch.cumsum(X @ W, dim=0).sin()

    torch.testing.assert_close(derive(far(compute), X), functional.jacobian(compute, X))


def test_many_calls_at_once_of_a_function_of_the_other_side():
    W, X = torch.randn(3, 3), torch.randn(5, 4, 3)

    def compute(X: Tensor) -> Tensor:
        return torch.cumsum(X @ W, dim=0).sin()

    torch.testing.assert_close(torch.vmap(far(compute))(X), torch.vmap(compute)(X))
    torch.testing.assert_close(torch.vmap(far(compute), 2, 1)(X.movedim(0, 2)), torch.vmap(compute)(X).movedim(0, 1))
    nested = X[None].repeat(2, 1, 1, 1)
    torch.testing.assert_close(torch.vmap(torch.vmap(far(compute)))(nested), torch.vmap(torch.vmap(compute))(nested))
    slopes = torch.vmap(func.jacrev(far(compute)))(X)
    torch.testing.assert_close(slopes, torch.vmap(func.jacrev(compute))(X))


def test_a_second_derivative_of_a_function_of_the_other_side_is_refused_and_never_0():
    with pytest.raises(RuntimeError, match="no second derivative here"):
        functional.hessian(far(lambda X: X.square().sum()), torch.randn(3))
