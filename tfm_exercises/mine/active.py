"""Whether the library runs with the reader's parts at this moment."""

from collections.abc import Iterator
from contextlib import contextmanager

_blocks: list[None] = []


@contextmanager
def block() -> Iterator[None]:
    """While this runs, the library's parts are the reader's."""
    _blocks.append(None)
    try:
        yield
    finally:
        _blocks.pop()


def is_active() -> bool:
    """Whether a block of `mine.plugged_in` is open."""
    return bool(_blocks)
