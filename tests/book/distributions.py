"""Which distributions an extra of the library brings, and which of those installed it does not."""

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from project import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def brought(*extras: str) -> set[str]:
    """All that `pip install tfm-lib[extras]` brings here: what is declared, and what that requires in its turn."""
    found: set[str] = set()
    waiting = [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    while waiting:
        wanted = Requirement(waiting.pop())
        name = canonicalize_name(wanted.name)
        if name == "tfm-lib":  # an extra made of others
            waiting += [line for extra in wanted.extras for line in EXTRAS[extra]]
        for line in [] if name == "tfm-lib" else _lines(name, frozenset(wanted.extras)):
            if canonicalize_name(Requirement(line).name) not in found:
                waiting.append(line)
        found.add(name)
    return found


@cache
def _lines(name: str, extras: frozenset[str]) -> list[str]:
    """What the distribution requires on this machine, with these of its extras; nothing where it is not installed."""
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return []
    for_this = [{"extra": extra} for extra in ("", *extras)]
    return [line for line in lines if (mark := Requirement(line).marker) is None or any(map(mark.evaluate, for_this))]


def not_brought(*extras: str) -> list[str]:
    """The names that can be imported here, and could not be where these extras alone are installed."""
    kept = brought(*extras)
    return sorted(name for name, of in _providers().items() if not kept.intersection(of) and name != "tfm_lib")


def providers(names: Iterable[str]) -> set[str]:
    """The distributions that the imported `names` come from, as they call themselves."""
    of = packages_distributions()
    return {one for name in names for one in of.get(name, ())}


def foreign(names: Iterable[str], extras: tuple[str, ...]) -> set[str]:
    """Those of the imported `names` that come from a distribution which these extras do not bring."""
    return {name.partition(".")[0] for name in names} & set(not_brought(*extras))


@cache
def _providers() -> dict[str, list[str]]:
    return {name: [canonicalize_name(one) for one in of] for name, of in packages_distributions().items()}
