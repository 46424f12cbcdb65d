"""Two ways of doing the same, timed turn by turn in one process, so that a busy machine disturbs both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def ratio(ours: Callable[[], object], theirs: Callable[[], object], repeats: int, warmup: int = 1) -> float:
    """Median over `repeats` turns of the time of `ours` divided by the time of `theirs`, in processor seconds."""
    for _ in range(warmup):
        ours(), theirs()
    ratios = []
    for turn in range(repeats):
        first, second = (ours, theirs) if turn % 2 else (theirs, ours)
        times = {first: _seconds(first), second: _seconds(second)}
        ratios.append(times[ours] / times[theirs])
    return statistics.median(ratios)


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
