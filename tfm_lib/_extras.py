"""How to install what only some commands need: by a command that works, since no index has this library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlparse

from tfm_lib import __version__

EXTRA_OF = {  # by the first word after `tfm`, the extra that brings what the command needs
    "build": "book",
    "serve": "command",
    "paper": "paper",
    "lab": "lab",
    "train": "train",
    "translate": "train",
    "load": "load",
    "assign": "classroom",
    "collect": "classroom",
    "grade": "classroom",
    "report": "classroom",
    "bench": "dev",
}
APART = {"distributed": "dask", "nbgrader": "hub", "datasets": "wmt14"}  # what a command needs for some of its options


def command(extra: str) -> str:
    """The command that installs the library's `extra`, from where the library itself came."""
    where = _origin()
    if where is not None and where.is_dir():
        return f"cd {_quoted(str(where))} && pip install -c constraints.txt -e '.[{extra}]'"
    if where is not None and where.is_file():
        return f"pip install {_quoted(f'{where}[{extra}]')}"
    return f"pip install './tfm_lib-{__version__}-py3-none-any.whl[{extra}]' (in the folder where that file lies)"


def missing(package: str, words: Sequence[str]) -> str:
    """The sentence about a `package` that `tfm` with these `words` misses; nothing where no extra is known to bring it."""
    name = package.partition(".")[0]
    extra = APART.get(name) or EXTRA_OF.get(next(iter(words), ""), "command" if name in ("typer", "rich") else "")
    return _sentence(name, extra) if extra and not name.startswith("tfm_") else ""


def needs(extra: str, *packages: str) -> None:
    """Called where a room is entered: refuses, with a sentence, whoever lacks one of the `packages` of its `extra`."""
    for name in packages:
        if find_spec(name) is None:
            raise ModuleNotFoundError(_sentence(name, extra), name=name)


def absent(error: ModuleNotFoundError, extra: str) -> ModuleNotFoundError:
    """The error of an import that failed, with the sentence about the `extra` that brings the package."""
    name = (error.name or "").partition(".")[0]
    return ModuleNotFoundError(_sentence(name, extra), name=name)


def _sentence(name: str, extra: str) -> str:
    return f"This needs {name}, which is not installed: {command(extra)}"


def _origin() -> Path | None:
    """The folder or wheel from which pip installed the library, as it noted it; the checkout where it did not."""
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
