"""A lock on a folder, so that two graders or two reports cannot overwrite each other's work."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from tfm_lib._refusal import Refusal

try:
    import fcntl
except ImportError:  # Windows, where folders are not locked
    fcntl = None  # type: ignore[assignment]

FILE = ".held"


class Busy(Refusal):
    """Another process is using the folder; the message says which, and since when."""


@contextmanager
def only_one(folder: Path, doing: str) -> Iterator[None]:
    """Hold the lock on `folder`, creating the folder if needed. Raises Busy.

    The operating system releases the lock when its holder ends, however it ends.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / FILE).open("a+", encoding="utf-8")
    except OSError as error:
        raise Refusal(f"{folder} cannot be written ({error.strerror}).") from None
    with file:
        if fcntl is None:
            yield
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if not isinstance(error, BlockingIOError):
                raise Refusal(
                    f"{folder} cannot be held for one process ({error.strerror}): name one on a disk of this machine."
                ) from None
            file.seek(0)
            holder = file.read().strip() or "a process that begins or ends"
            raise Busy(f"{holder} is at work in {folder}. Wait until it has ended, or name another folder.") from None
        file.truncate(0)
        file.write(f"{doing} (process {os.getpid()} on {platform.node()}, since {datetime.now():%Y-%m-%d %H:%M})")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
