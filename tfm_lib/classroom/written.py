"""A folder of files that is made again and again: what an earlier run left, and this one does not make, goes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tfm_lib.classroom.names import digest

FILE = ".written"


def replace(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write `files` into `folder` by their names, and take away what was written here before and is not among them.

    Only what is as it was written goes: a file that somebody has worked in stays.
    """
    made = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
    for name, before in _before(folder).items():
        path = folder / name
        if name not in made and path.is_file() and digest(path.read_bytes()) == before:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
    for name, data in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    digests = {name: digest(data) for name, data in made.items()}
    (folder / FILE).write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")


def _before(folder: Path) -> dict[str, str]:
    """The files that the last run wrote, as far as their names lead into the folder, with their hashes."""
    try:
        made = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = folder.resolve()
    return {name: before for name, before in made.items() if (whole / name).resolve().is_relative_to(whole)}
