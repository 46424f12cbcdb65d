"""Your own machine: the answers that passed their checks, kept, and plugged into the library.

from tfm_exercises import mine

mine.machine()                      # a picture of the machine, in which your parts are marked
mine.parts()                        # which parts of the machine are written
mine.causal_mask(4)                 # a part, as you wrote it
mine.translate("I saw a black cat.")
with mine.plugged_in():             # the library runs with your parts
    ...
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = [
    "answer", "export", "forget", "import_", "keep", "machine", "parts", "plugged_in", "source", "translate",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name.startswith("_") or find_spec(f"{__name__}.{name}"):  # a module here is imported by whoever asked for it
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tfm_exercises.mine import answers, picture, plugging, translating, travelling

    if name in __all__:
        homes = (answers, picture, plugging, translating, travelling)
        return next(getattr(home, name) for home in homes if hasattr(home, name))
    return answers.part(name)


def __dir__() -> list[str]:
    from tfm_exercises.mine import answers

    return sorted([*__all__, *answers.written()])
