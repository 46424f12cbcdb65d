"""The files that cells see: a copy in memory of Python's library and of the packages that submissions import.

The files of the machine are never a cell's: whether one of them is in memory is a bit that one submission can set and
another read. All of this copy is in memory always, nobody can write to it, and it ends with the sandbox. Left out is
what is loaded already, and whatever else is installed, among it perhaps the book's own answers.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator

from .caches import shared_memory

ROOT = "/image/root"
DEVICES = ("null", "zero", "urandom")
PACKAGES = ("einops", "pandas", "scipy", "seaborn", "tqdm")  # where installed, beside those that are loaded
NOT_COPIED = {
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "include", "share", "benchmarks"),
    *("site-packages", "dist-packages", "bin", "pip", "setuptools", "tfm_lib", "inside"),
}
NOT_READ = (".h", ".hpp", ".cuh", ".cu", ".c", ".cpp", ".a", ".lib", ".cmake", ".pyi", ".pyx", ".pxd", ".exe", ".o")


def build() -> None:
    """Copy below ROOT what a cell may read, each file at its own path; raises OSError."""
    loaded = {path for path, _, _ in shared_memory()}
    for folder in dict.fromkeys((sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))):
        _copy_folder(folder, loaded)
    for path in _packages():
        if os.path.isdir(path):
            _copy_folder(path, loaded)
        elif os.path.isfile(path) and path not in loaded:
            os.makedirs(os.path.dirname(ROOT + path), exist_ok=True)
            _copy_file(path)
    for folder in ("tmp", "dev/shm", "proc"):
        os.makedirs(f"{ROOT}/{folder}", exist_ok=True)
    for name in DEVICES:
        os.close(os.open(f"{ROOT}/dev/{name}", os.O_CREAT | os.O_WRONLY))  # each is laid over one of these


def _packages() -> Iterator[str]:
    """Where the packages lie that are loaded or that may be wished for, whole."""
    names = {name.partition(".")[0] for name in sys.modules} | set(PACKAGES)
    names -= sys.stdlib_module_names | NOT_COPIED
    library = sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")
    for folder in dict.fromkeys(path for path in sys.path if os.path.isdir(path)):
        if folder in library or os.path.basename(folder) == "lib-dynload":
            continue
        for entry in os.listdir(folder):
            if entry.partition(".")[0] in names and not entry.endswith("-info"):
                yield os.path.join(folder, entry)


def _copy_folder(folder: str, loaded: set[str]) -> None:
    for place, inner, files in os.walk(folder):
        inner[:] = [name for name in inner if name not in NOT_COPIED]
        os.makedirs(ROOT + place, exist_ok=True)
        for name in files:
            path = f"{place}/{name}"
            if not name.endswith(NOT_READ) and not (".so" in name and os.path.realpath(path) in loaded):
                _copy_file(path)


def _copy_file(path: str) -> None:
    try:
        source = os.open(path, os.O_RDONLY)
    except OSError:  # what its owner keeps to himself, and links that lead nowhere
        return
    target = os.open(ROOT + path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o444)
    try:
        about = os.fstat(source)
        while os.sendfile(target, source, None, 1 << 30):
            pass
        os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))  # by which Python knows that its .pyc fits
    finally:
        os.close(source)
        os.close(target)
