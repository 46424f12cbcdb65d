"""What the Tab key offers after a `tfm` command. Nothing here imports PyTorch: an answer must come at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

CORPORA = (
    "numbers", "dates", "copy", "reverse", "sort", "stories", "multi30k", "tatoeba-en-fr", "tatoeba-en-ko", "wmt14-en-de",
)  # fmt: skip
PRESETS = ("tiny", "small", "base", "big")
STAGES = ("base", "follow", "prefer", "think")
MEASURED = (
    "pages", "rhythm", "input", "motion", "machine", "playground", "import", "speed", "longer", "grading", "build",
)  # fmt: skip


@cache
def _ids() -> tuple[str, ...]:
    """The ids of the exercises that have a check, as their modules name them."""
    modules = sorted((Path(__file__).parents[1] / "tfm_exercises" / "checks").glob("*.py"))
    found = (
        re.findall(r'^@exercise\(\s*"([a-z_]+\.[a-z-]+)"', file.read_text(encoding="utf-8"), re.MULTILINE)
        for file in modules
    )
    return tuple(id for ids in found for id in ids)


def exercises(incomplete: str) -> list[str]:
    """The ids that begin with `incomplete`."""
    return [id for id in _ids() if id.startswith(incomplete)]


def chapters(incomplete: str) -> list[str]:
    """The chapters with exercises that begin with `incomplete`."""
    return [name for name in dict.fromkeys(id.partition(".")[0] for id in _ids()) if name.startswith(incomplete)]


def one_of(names: tuple[str, ...]) -> Callable[[str], list[str]]:
    """What completes to one of `names`."""

    def offered(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return offered
