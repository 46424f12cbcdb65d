"""Use words that a reader typed into a widget in place of its example."""

from collections.abc import Sequence


def typed(sentence: str, example: Sequence[str], most: int) -> list[str]:
    """Return the first `most` words of `sentence`, or those of the example if nothing is typed."""
    return sentence.split()[:most] or list(example)
