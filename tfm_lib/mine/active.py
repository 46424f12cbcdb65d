"""Whether the library runs with the reader's parts at this moment."""

_blocks: list[None] = []


def enter() -> None:
    _blocks.append(None)


def leave() -> None:
    _blocks.pop()


def is_active() -> bool:
    """Whether a block of `mine.plugged_in` is open."""
    return bool(_blocks)
