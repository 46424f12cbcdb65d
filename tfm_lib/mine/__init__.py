"""Your own machine: the answers that passed their checks, kept, and plugged into the library.

from tfm_lib import mine

mine.machine()                      # a picture of the machine, in which your parts are marked
mine.parts()                        # which parts of the machine are written
mine.causal_mask(4)                 # a part, as you wrote it
mine.translate("I saw a black cat.")
with mine.plugged_in():             # the library runs with your parts
    ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfm_lib.mine.answers import answer, forget, keep, parts, source
    from tfm_lib.mine.picture import machine
    from tfm_lib.mine.plugging import plugged_in
    from tfm_lib.mine.translating import translate
    from tfm_lib.mine.travelling import export, import_

__all__ = [
    "answer", "export", "forget", "import_", "keep", "machine", "parts", "plugged_in", "source", "translate",
]  # fmt: skip

_HOMES = {
    "export": "travelling",
    "import_": "travelling",
    "machine": "picture",
    "plugged_in": "plugging",
    "translate": "translating",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module
    from importlib.util import find_spec

    if name.startswith("_") or find_spec(f"{__name__}.{name}"):  # a module here is imported by whoever asked for it
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in __all__:
        return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'answers')}"), name)
    return import_module(f"{__name__}.answers").part(name)


def __dir__() -> list[str]:
    from tfm_lib.mine import answers

    return sorted([*__all__, *answers.written()])
