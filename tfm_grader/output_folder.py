"""Write a set of files into a folder, and remove files that an earlier run wrote and this one did not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from tfm_grader.names import digest
from tfm_lib._refusal import Refusal

FILE = ".written"


def free_name(folder: Path, name: str, may_be_replaced: Callable[[Path], bool]) -> str:
    """Return `name`, or it with a number, so that no file in `folder` is lost that may not be replaced."""
    wanted, number = Path(name), 1
    while (folder / name).exists() and not may_be_replaced(folder / name):
        number += 1
        name = f"{wanted.stem}-{number}{wanted.suffix}"
    return name


def replace_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write `files` into `folder`, and delete files from the last run that are not among them.

    All are first written beside their destinations, so that a full disk changes nothing; then it raises Refusal.
    Only unchanged files are deleted: a file that somebody has edited is kept.
    """
    made = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
    stale = {name: before for name, before in _before(folder).items() if name not in made}
    digests = {name: digest(data) for name, data in made.items()}
    made[FILE] = json.dumps(digests, indent=1).encode() + b"\n"
    beside = {name: (folder / name).with_name(f".{Path(name).name}.new") for name in made}
    try:
        for name, data in made.items():
            beside[name].parent.mkdir(parents=True, exist_ok=True)
            beside[name].write_bytes(data)
    except OSError as fault:
        for path in beside.values():
            path.unlink(missing_ok=True)
        raise Refusal(f"{folder} cannot be written: {fault.strerror}. What stood there before is as it was.") from None
    for name, path in beside.items():
        path.replace(folder / name)
    for name, before in stale.items():
        path = folder / name
        if path.is_file() and digest(path.read_bytes()) == before:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()


def _before(folder: Path) -> dict[str, str]:
    """Return the files of the last run with their hashes, ignoring paths that lead out of the folder."""
    try:
        made = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = folder.resolve()
    return {name: before for name, before in made.items() if (whole / name).resolve().is_relative_to(whole)}
