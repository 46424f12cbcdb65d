"""Reads submissions from a folder or a zip archive, without unpacking it and without following links.

A folder may be written by strangers while it is read. So each step of a path is opened by itself, without following
a link, and what is opened is looked at again before a byte of it is read.
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

MAX_DEPTH = 12  # folders in folders
MAX_FILES = 500  # of one entry of the top level; the nearest to the top come first
OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
NO_FILE = "it is a link, or no file"
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)  # LZMA may ask for 4 GB at once


About = os.stat_result | OSError


class CannotCollect(Refusal):
    """The source cannot be read as any kind of collection; the message says why."""


@dataclass(frozen=True)
class SourceFile:
    """A file in a source: its path there, and what the source itself says of it. `trouble` says why it may not be read."""

    path: str
    size: int = 0
    when: float = 0.0  # the date that the file or the archive bears
    trouble: str = ""
    owner: int | None = None  # the user's number on this machine
    changed: float = 0.0  # when the disk last changed anything about it, which no user can set
    handle: Any = None
    within: SourceFile | None = None  # the archive of the student's own that it lies in

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return PurePosixPath(self.path).parts

    @property
    def outer(self) -> SourceFile:
        """What lies in the source itself: the file, or the student's archive that it lies in."""
        return self.within or self


class Folder:
    """A folder of this machine."""

    archive = False

    def __init__(self, path: Path):
        self.path = path

    def tops(self) -> list[tuple[str, bool]]:
        """The entries of the top level, and whether each is a folder."""
        return [(name, _is_folder(about)) for name, about in self._items(())]

    def entries(self) -> Iterator[SourceFile]:
        """All files, each top-level entry's nearest to the top first; what cannot be listed is an entry with trouble."""
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
        """What a folder holds: notebooks, then other files, then folders; raises OSError."""
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
        """The number of the user to whom the disk says that what lies at `parts` belongs."""
        return about.st_uid

    @contextmanager
    def opened(self, parts: tuple[str, ...], flags: int = 0) -> Iterator[int]:
        """The file descriptor of what lies at `parts`, reached without following a link."""
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
        """What the disk says of the folder or file at `parts`; raises OSError, also for a link."""
        with self.opened(parts) as number:
            return os.fstat(number)

    def read(self, entry: SourceFile, most: int = MAX_BYTES + 1) -> bytes:
        """The first `most` bytes of a file; raises OSError for what is none."""
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
        """The entries of the top level, and whether each is a folder."""
        found: dict[str, bool] = {}
        for entry in self.entries():
            if entry.parts and not leads_out(entry):
                found[entry.parts[0]] = found.get(entry.parts[0], False) or len(entry.parts) > 1
        return sorted(found.items())

    def entries(self) -> Iterator[SourceFile]:
        """All files, in the order of the archive."""
        for info in self._zip.infolist():
            if not info.filename.endswith("/"):
                yield SourceFile(
                    _name(info).replace("\\", "/"), info.file_size, _date(info), _trouble(info), handle=info
                )

    def read(self, entry: SourceFile, most: int = MAX_BYTES + 1) -> bytes:
        """The first `most` bytes of a file, whatever size the archive claims; may raise anything."""
        with self._zip.open(entry.handle) as file:
            return file.read(most)


class OwnArchive:
    """A zip archive that a student handed in, in memory."""

    def __init__(self, entry: SourceFile, data: bytes):
        """Raises CannotCollect for what is no archive."""
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except Exception as error:  # noqa: BLE001 (a broken archive raises whatever it likes)
            raise CannotCollect(f"it is not a zip archive that can be read ({error})") from None
        self.entry = entry

    def entries(self) -> Iterator[SourceFile]:
        """Its files, MAX_FILES of them and the notebooks first; archives in it are not opened."""
        infos = sorted(self._zip.infolist(), key=lambda info: not info.filename.lower().endswith(".ipynb"))
        for info in infos[:MAX_FILES]:
            if not info.filename.endswith("/"):
                name = _name(info).replace("\\", "/")
                trouble = "its name leads out of the archive" if leads_out(SourceFile(name)) else _trouble(info)
                path, when, outer = f"{self.entry.path}/{name}", _date(info), self.entry
                handle = (self._zip, info)
                yield SourceFile(path, info.file_size, when, trouble, outer.owner, outer.changed, handle, outer)
        if len(infos) > MAX_FILES:
            yield replace(self.entry, trouble=f"it holds more than {MAX_FILES} files; the rest was not looked at")


def read_within(entry: SourceFile, most: int = MAX_BYTES + 1) -> bytes:
    """The first `most` bytes of a file in a student's archive; may raise anything."""
    archive, info = entry.handle
    with archive.open(info) as file:
        return file.read(most)


class _Readable:
    """A file as zipfile reads it, with the names that claim to be UTF-8 and are not marked as bytes.

    zipfile gives up the whole archive at the first of them.
    """

    def __init__(self, file: IO[bytes]):
        self.file, self.whole = file, False  # whether the directory has been read

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
            made[at + 9] &= ~0x08  # bit 11 of the flags says UTF-8
        at += 46 + sum(lengths)
    return bytes(made)


def leads_out(entry: SourceFile) -> bool:
    """Whether an entry's path leads elsewhere than below its source."""
    path = entry.path
    return path.startswith("/") or path[1:2] == ":" or ".." in entry.parts or "\0" in path


def _name(info: zipfile.ZipInfo) -> str:
    """The entry's name: UTF-8 also where the archive forgets to say so."""
    if not info.flag_bits & 0x800:
        with suppress(UnicodeError):
            return info.orig_filename.encode("cp437").decode()
    return info.filename


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
