"""Read submissions from a folder or a zip archive, without unpacking it or following links.

Untrusted users may write to a folder while it is read. Each path component is therefore opened separately, without
following links, and what was opened is checked again with fstat before it is read.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any

from tfm_grader.notebook import MAX_BYTES
from tfm_lib._refusal import Refusal

MAX_DEPTH = 12  # levels of nested folders
MAX_FILES = 500  # per top-level entry; files nearest to the top come first
OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
NO_FILE = "it is a link, or no file"
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)  # LZMA may allocate 4 GB at once


About = os.stat_result | OSError


class CannotCollect(Refusal):
    """The source cannot be read as a collection of submissions; the message says why."""


@dataclass(frozen=True)
class SourceFile:
    """A file in a source: its path and the metadata the source gives. `trouble` says why it may not be read."""

    path: str
    size: int = 0
    when: float = 0.0  # the modification time according to the file or the archive
    trouble: str = ""
    owner: int | None = None  # the owner's user id on this machine
    changed: float = 0.0  # the ctime, which no user can set
    handle: Any = None
    within: SourceFile | None = None  # the student's own archive that contains this file

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return PurePosixPath(self.path).parts

    @property
    def outer(self) -> SourceFile:
        """The top-level file in the source: this file, or the student's archive that contains it."""
        return self.within or self


class Folder:
    """A folder on this machine."""

    archive = False

    def __init__(self, path: Path):
        self.path = path

    def tops(self) -> list[tuple[str, bool]]:
        """List the top-level entries, and whether each is a folder."""
        return [(name, _is_folder(about)) for name, about in self._items(())]

    def entries(self) -> Iterator[SourceFile]:
        """Yield all files, breadth-first per top-level entry; unreadable folders become entries with `trouble`."""
        for item in self._items(()):
            below = self._below(item)
            yield from islice(below, MAX_FILES)
            if next(below, None):
                yield SourceFile(item[0], trouble=f"it holds more than {MAX_FILES} files; the rest was not looked at")

    def _below(self, top: tuple[str, About]) -> Iterator[SourceFile]:
        waiting: list[tuple[tuple[str, ...], About]] = [((top[0],), top[1])]
        while waiting:
            parts, about = waiting.pop(0)
            if not _is_folder(about):
                yield self._entry(parts, about)
                continue
            try:
                found = self._items(parts)
            except OSError as fault:
                yield SourceFile("/".join(parts), trouble=f"this folder cannot be opened: {fault.strerror}")
                continue
            if len(parts) < MAX_DEPTH:
                waiting += [((*parts, name), below) for name, below in found]
            elif found:
                yield SourceFile("/".join(parts), trouble=f"what it holds lies more than {MAX_DEPTH} folders deep")

    def _items(self, parts: tuple[str, ...]) -> list[tuple[str, About]]:
        """List a folder's contents: notebooks, then other files, then folders. Raises OSError."""
        with self.opened(parts, os.O_DIRECTORY) as number:
            names = sorted(os.listdir(number), key=lambda name: (not name.lower().endswith(".ipynb"), name))
            found = [(name, _looked_at(number, name)) for name in (names[: MAX_FILES + 1] if parts else names)]
        return sorted(found, key=lambda item: _is_folder(item[1])) if parts else sorted(found, key=lambda item: item[0])

    def _entry(self, parts: tuple[str, ...], about: About) -> SourceFile:
        path = "/".join(parts)
        if isinstance(about, OSError):
            return SourceFile(path, trouble=f"it cannot be looked at: {about.strerror}")
        trouble = "" if stat.S_ISREG(about.st_mode) else NO_FILE
        return SourceFile(path, about.st_size, about.st_mtime, trouble, self.owner(parts, about), about.st_ctime)

    def owner(self, parts: tuple[str, ...], about: os.stat_result) -> int:
        """Return the user id that owns the file or folder at `parts`."""
        return about.st_uid

    @contextmanager
    def opened(self, parts: tuple[str, ...], flags: int = 0) -> Iterator[int]:
        """Open `parts` without following links, and yield its file descriptor."""
        number = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for place, part in enumerate(parts, start=1):
                more = flags if place == len(parts) else os.O_DIRECTORY
                inner = os.open(part, OPEN | more, dir_fd=number)
                os.close(number)
                number = inner
            yield number
        finally:
            os.close(number)

    def about(self, parts: tuple[str, ...]) -> os.stat_result:
        """Return the stat result of the file or folder at `parts`. Raises OSError, also for a link."""
        with self.opened(parts) as number:
            return os.fstat(number)

    def read(self, entry: SourceFile, most: int = MAX_BYTES + 1) -> bytes:
        """Read up to `most` bytes of a file. Raises OSError if it is not a regular file."""
        with self.opened(entry.parts) as number:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise OSError(0, NO_FILE)
            with os.fdopen(os.dup(number), "rb") as file:
                return file.read(most)


def _looked_at(folder: int, name: str) -> About:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (OSError, ValueError) as fault:
        return fault if isinstance(fault, OSError) else OSError(0, str(fault))


def _is_folder(about: About) -> bool:
    return isinstance(about, os.stat_result) and stat.S_ISDIR(about.st_mode)


class Zip:
    """A zip archive, read in place; nothing is unpacked."""

    archive = True

    def __init__(self, path: Path):
        try:
            file = _Readable(path.open("rb"))
            self._zip = zipfile.ZipFile(file)
            file.whole = True
        except Exception as error:  # noqa: BLE001 (a broken archive raises whatever it likes)
            raise CannotCollect(f"{path} is not a zip archive that can be read ({error}). Download it again.") from None

    def tops(self) -> list[tuple[str, bool]]:
        """List the top-level entries, and whether each is a folder."""
        found: dict[str, bool] = {}
        for entry in self.entries():
            if entry.parts and not leads_out(entry):
                found[entry.parts[0]] = found.get(entry.parts[0], False) or len(entry.parts) > 1
        return sorted(found.items())

    def entries(self) -> Iterator[SourceFile]:
        """Yield all files, in archive order."""
        for info in self._zip.infolist():
            if not info.filename.endswith("/"):
                yield SourceFile(_name(info), info.file_size, _date(info), _trouble(info), handle=(self._zip, info))


class OwnArchive:
    """A zip archive that a student submitted, held in memory."""

    def __init__(self, entry: SourceFile, data: bytes):
        """Raises CannotCollect if the data is not a zip archive."""
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except Exception as error:  # noqa: BLE001 (a broken archive raises whatever it likes)
            raise CannotCollect(f"it is not a zip archive that can be read ({error})") from None
        self.entry = entry

    def entries(self) -> Iterator[SourceFile]:
        """Yield up to MAX_FILES files, notebooks first; nested archives are not opened."""
        infos = sorted(self._zip.infolist(), key=lambda info: not info.filename.lower().endswith(".ipynb"))
        for info in infos[:MAX_FILES]:
            if not info.filename.endswith("/"):
                name = _name(info)
                trouble = "its name leads out of the archive" if leads_out(SourceFile(name)) else _trouble(info)
                path, when, outer = f"{self.entry.path}/{name}", _date(info), self.entry
                handle = (self._zip, info)
                yield SourceFile(path, info.file_size, when, trouble, outer.owner, outer.changed, handle, outer)
        if len(infos) > MAX_FILES:
            yield replace(self.entry, trouble=f"it holds more than {MAX_FILES} files; the rest was not looked at")


def read_zipped(entry: SourceFile, most: int = MAX_BYTES + 1) -> bytes:
    """Read up to `most` bytes of a file in an archive, whatever size that claims. May raise any exception."""
    archive, info = entry.handle
    with archive.open(info) as file:
        return file.read(most)


class _Readable:
    """A file wrapper for zipfile that clears the UTF-8 flag of names that are not valid UTF-8.

    zipfile rejects the whole archive at the first such name.
    """

    def __init__(self, file: IO[bytes]):
        self.file, self.whole = file, False  # `whole`: the central directory has been read

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        return data if self.whole or data[:4] != b"PK\1\2" else _repaired(data)


def _repaired(directory: bytes) -> bytes:
    made, at = bytearray(directory), 0
    while made[at : at + 4] == b"PK\1\2" and at + 46 <= len(made):
        lengths = [int.from_bytes(made[at + place : at + place + 2], "little") for place in (28, 30, 32)]
        try:
            made[at + 46 : at + 46 + lengths[0]].decode()
        except UnicodeDecodeError:
            made[at + 9] &= ~0x08  # flag bit 11 declares the name as UTF-8
        at += 46 + sum(lengths)
    return bytes(made)


def leads_out(entry: SourceFile) -> bool:
    """Whether an entry's path points outside its source."""
    path = entry.path
    return path.startswith("/") or path[1:2] == ":" or ".." in entry.parts or "\0" in path


def _name(info: zipfile.ZipInfo) -> str:
    """Return the entry's path, decoded as UTF-8 even if the archive does not set the UTF-8 flag."""
    name = info.filename
    if not info.flag_bits & 0x800:
        with suppress(UnicodeError):
            name = info.orig_filename.encode("cp437").decode()
    return name.replace("\\", "/")


def _date(info: zipfile.ZipInfo) -> float:
    try:
        return datetime(*info.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _trouble(info: zipfile.ZipInfo) -> str:
    if (kind := stat.S_IFMT(info.external_attr >> 16)) not in (0, stat.S_IFREG):
        return "it is a link" if kind == stat.S_IFLNK else NO_FILE
    if info.flag_bits & 1:
        return "it is encrypted"
    return "" if info.compress_type in PACKED else "it is packed in a way that is not read here; zip it again"
