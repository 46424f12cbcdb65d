"""How to install what only some commands need: by a command that works, since no index has this library."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from urllib.parse import unquote, urlparse

NEEDED = {  # by the package that is missing, the extra that brings it
    "jupyterlab": "lab",
    "jupytext": "lab",
    "msgspec": "classroom",
    "nbformat": "classroom",
    "resvg_py": "classroom",
    "yaml": "classroom",
    "distributed": "dask",
    "nbgrader": "hub",
    "jupyterhub": "hub",
    "datasets": "wmt14",
    "docutils": "book",
    "sphinx": "book",
    "jupyter_book": "book",
    "myst_nb": "book",
}


def command(extra: str) -> str:
    """The command that installs the library's `extra`, from where the library itself came."""
    where = _origin()
    if where is not None and where.is_dir():
        return f"cd {_quoted(str(where))} && pip install -c constraints.txt -e '.[{extra}]'"
    if where is not None and where.is_file():
        return f"pip install {_quoted(f'{where}[{extra}]')}"
    return f"pip install './{_wheel()}[{extra}]' (in the folder where that file lies)"


def missing(package: str) -> str:
    """The sentence about a missing `package`; nothing for one that no extra brings."""
    extra = NEEDED.get(package.partition(".")[0])
    return f"This needs {package.partition('.')[0]}, which is not installed: {command(extra)}" if extra else ""


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


def _wheel() -> str:
    try:
        return f"tfm_lib-{version('tfm-lib')}-py3-none-any.whl"
    except PackageNotFoundError:
        return "tfm_lib-*.whl"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
