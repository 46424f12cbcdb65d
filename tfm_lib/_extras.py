"""Name the pip command that installs an optional extra, given that no package index has this library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlparse

from tfm_lib import __version__

EXTRA_OF = {  # first word after `tfm` → the extra with what the command needs
    "build": "book",
    "read": "lab",
    "serve": "command",
    "paper": "paper",
    "slides": "book",
    "lab": "lab",
    "bank": "lab",
    "train": "train",
    "translate": "train",
    "load": "load",
    "mine": "command",
    "assign": "classroom",
    "collect": "classroom",
    "grade": "classroom",
    "report": "classroom",
    "gradescope": "classroom",
    "bench": "dev",
}
APART = {"distributed": "dask", "nbgrader": "hub", "datasets": "wmt14"}  # packages for some options of a command


def command(extra: str) -> str:
    """Return the command that installs the library's `extra` from the place where the library itself was installed."""
    where = _origin()
    if where is not None and where.is_dir():
        return f"cd {_quoted(str(where))} && pip install -c constraints.txt -e '.[{extra}]'"
    if where is not None and where.is_file():
        return f"pip install {_quoted(f'{where}[{extra}]')}"
    return f"pip install './tfm_lib-{__version__}-py3-none-any.whl[{extra}]' (in the folder where that file lies)"


def overview() -> str:
    """Return the help of `tfm` where the library is installed without any extra: what to install for which command."""
    groups: dict[str, list[str]] = {}
    for name, extra in EXTRA_OF.items():
        groups.setdefault(extra, []).append(f"tfm {name}")
    lines = [f"  {', '.join(names)}:\n    {command(extra)}" for extra, names in groups.items()]
    return "\n".join(
        [
            f"tfm {__version__}. Here is the library alone: `import tfm_lib` works, and each command needs more packages.",
            *lines,
            "After that, `tfm --help` describes the commands.",
        ]
    )


def missing(package: str, words: Sequence[str]) -> str:
    """Return the message for `tfm` with `words` when `package` is missing; "" if no extra is known to bring it."""
    name = package.partition(".")[0]
    extra = APART.get(name) or EXTRA_OF.get(next(iter(words), ""), "command" if name in ("typer", "rich") else "")
    return _sentence(name, extra) if extra and not name.startswith("tfm_") else ""


def needs(extra: str, *packages: str) -> None:
    """Raise ModuleNotFoundError with an install command if one of the `packages` of `extra` is missing."""
    for name in packages:
        if find_spec(name) is None:
            raise ModuleNotFoundError(_sentence(name, extra), name=name)


def absent(error: ModuleNotFoundError, extra: str) -> ModuleNotFoundError:
    """Return the error of a failed import with the message about the `extra` that brings the package."""
    name = (error.name or "").partition(".")[0]
    return ModuleNotFoundError(_sentence(name, extra), name=name)


def _sentence(name: str, extra: str) -> str:
    return f"This needs {name}, which is not installed: {command(extra)}"


def _origin() -> Path | None:
    """Return the checkout, or the folder or wheel that pip recorded as the library's origin; None if unknown."""
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "pyproject.toml").is_file() and (checkout / "constraints.txt").is_file():
        return checkout
    try:
        noted = distribution("tfm-lib").read_text("direct_url.json")
        return Path(unquote(urlparse(json.loads(noted or "{}").get("url", "")).path)) if noted else None
    except (PackageNotFoundError, ValueError):
        return None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
