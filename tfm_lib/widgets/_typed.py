"""Words that a reader typed into a widget, in place of its example."""

from collections.abc import Sequence


def typed(sentence: str, example: Sequence[str], most: int) -> list[str]:
    """The words of `sentence`, at most so many; those of the example where nothing is typed."""
    return sentence.split()[:most] or list(example)
