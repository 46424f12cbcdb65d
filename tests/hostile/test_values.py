"""What an answer gives back arrives as what it is, or as something that bears its name."""

from collections import deque

import pytest

from tfm_grader.sandbox.inside.remote_calls import Foreign
from tfm_grader.sandbox.inside.values import MAX_ITEMS, BadValue, Decoder, encode

PAIRS = {(0, 2): 1, (1, 3): 1}


def sent(value: object) -> object:
    """`value` on the other side."""
    kept: list[object] = []

    def keep(thing: object) -> dict:
        kept.append(thing)
        return {"$": "handle", "i": 0, "k": type(thing).__name__}

    return Decoder(lambda made: Foreign.of(made["k"], None)).decode(encode(value, keep))


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
