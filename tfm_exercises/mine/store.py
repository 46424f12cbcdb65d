"""The file in which the reader's answers are kept: one JSON file, written whole and under a lock."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from tfm_lib import __version__
from tfm_lib._refusal import Refusal

try:
    import fcntl
except ModuleNotFoundError:  # Windows has none; two kernels that write at the same moment are rare
    fcntl = None  # type: ignore[assignment]

VERSION = 1
_hidden: list[str] = []  # exercises whose kept answer is not seen, while a new one is tried by itself
WAIT = 2.0  # seconds for another kernel to finish its writing


class NotKept(Refusal):
    """Something that cannot be kept or read; the message is a sentence for the reader."""


class Damaged(NotKept):
    """The file of the answers is damaged."""


def folder() -> Path:
    """The folder of the answers: TFM_MINE_FOLDER if that is set, otherwise the user's usual place for data."""
    if named := os.environ.get("TFM_MINE_FOLDER"):
        return Path(named)
    if sys.platform == "win32":
        usual = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        usual = Path.home() / "Library" / "Application Support"
    else:
        usual = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(usual) / "tfm"


def path() -> Path:
    return folder() / "mine.json"


def is_on() -> bool:
    """Whether answers are kept: not with TFM_MINE=off, nor after `mine.keep(False)`."""
    if os.environ.get("TFM_MINE", "").lower() == "off":
        return False
    try:
        return read()["keep"] is not False
    except Damaged:
        return True


def read() -> dict[str, Any]:
    """What is stored: {"version", "keep", "answers"}. A file that cannot be read raises NotKept, and stays as it is."""
    try:
        text = path().read_text(encoding="utf-8")
    except FileNotFoundError:
        return {"version": VERSION, "keep": True, "answers": {}}
    except (OSError, UnicodeDecodeError) as error:
        raise NotKept(f"{path()} cannot be read: {getattr(error, 'strerror', '') or error}.") from None
    stored = parsed(text)
    if stored is not None and _hidden:
        stored["answers"] = {id: each for id, each in stored["answers"].items() if id not in _hidden}
    if stored is None:
        raise Damaged(
            f"{path()} is damaged, so your answers cannot be read. Mend or rename it; the next answer to be kept renames it."
        )
    return stored


def parsed(text: str) -> dict[str, Any] | None:
    """The store that `text` holds; None if it is damaged. One of a newer version raises NotKept."""
    try:
        stored = json.loads(text)
        json.dumps(stored, ensure_ascii=False).encode()  # half a surrogate pair cannot be written again
    except (ValueError, RecursionError):
        return None
    if not isinstance(stored, dict) or not isinstance(stored.get("version"), int):
        return None
    if stored["version"] > VERSION:
        raise NotKept("The file was written by a newer version of this library. Update the library to use it.")
    stored.setdefault("keep", True)
    answers = stored.get("answers")
    if not isinstance(answers, dict) or not all(map(_is_answer, answers.values())):
        return None
    return stored if all(id.isprintable() for id in answers) else None


def _is_answer(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("source"), str):
        return False
    names, day = entry.get("names"), entry.setdefault("date", "an unknown day")
    if not isinstance(day, str) or not day.isprintable():
        return False
    return isinstance(names, list) and bool(names) and all(isinstance(name, str) for name in names)


@contextmanager
def without(id: str) -> Iterator[None]:
    """The kept answer to exercise `id` is not seen while the block runs, so that a new one can't rest on it."""
    _hidden.append(id)
    try:
        yield
    finally:
        _hidden.remove(id)


def change(how: Callable[[dict[str, Any]], None]) -> str:
    """Apply `how` to what is stored, and write it; the sentence about a damaged file that was put aside, or "".

    Raises NotKept where nothing can be written.
    """
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with _locked() as alone:
            aside = _put_aside()
            assert not _hidden, "what is hidden would be lost"
            stored = read()
            how(stored)
            file = path().resolve()  # a link stays one
            # of one name, so that a killed writing leaves one file, which the next takes; but never of two at once
            beside = file.with_name(f"{file.name}.new" if alone else f"{file.name}.{os.getpid()}")
            beside.write_text(json.dumps(stored, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            os.replace(beside, file)
    except OSError as error:
        raise NotKept(f"{path()} cannot be written: {error.strerror or error}.") from None
    return aside


def entry(source: str, names: list[str]) -> dict[str, Any]:
    """What is stored of an answer: its source, and in it the names of what the exercise asks for."""
    return {"source": source, "names": names, "date": date.today().isoformat(), "tfm": __version__}


def _put_aside() -> str:
    """Rename a damaged file, so that it is not overwritten, and say so."""
    try:
        damaged = path().exists() and parsed(path().read_text(encoding="utf-8")) is None
    except UnicodeDecodeError:
        damaged = True
    if not damaged:
        return ""
    places = (folder() / f"mine.damaged-{number}.json" for number in range(1, 10**6))
    place = next(place for place in places if not place.exists())
    os.replace(path(), place)
    return f"The file of your answers was damaged. It is now {place}, and a new one was begun."


@contextmanager
def _locked() -> Iterator[bool]:
    """Wait until no other kernel writes; gives whether that is certain, since some systems have no locks."""
    alone = False
    with open(folder() / "mine.lock", "w", encoding="utf-8") as file:
        until = time.monotonic() + WAIT
        while fcntl:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                alone = True
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise NotKept(f"Another program has been writing to {path()} for {WAIT:.0f} seconds.") from None
                time.sleep(0.02)
            except OSError:  # a file system without locks, as some of a network's are
                break
        yield alone
