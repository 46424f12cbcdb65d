"""What one cell leaves in the processor's caches is taken out of them before the next: how long a read takes would tell it.

Cells share the memory of the process that forks them until they write to it. Python cannot speak of caches, hence a
few instructions of the machine's own: for each line, "out of every cache, of every processor". What the kernel notes
about each page of a library lies in the caches as well, and shows when a cell meets the page for the first time. So a
cell meets all of them before it hears of a submission.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
from collections.abc import Callable

LINE = 64  # bytes; a processor with longer lines is told of each more than once
POPULATE_READ = 22  # madvise: meet every page of this piece, as by reading it (Linux 5.14)
CHUNK = 1 << 18  # bytes that fit into the cache of one processor
Piece = tuple[str, int, int]  # a piece of this process's memory: its file or kind, from, to
# from, to in the first two registers: a fence, then for each line flush, advance, compare; a fence, return
OUT_OF_CACHES = {
    "x86_64": "0faef0 660fae3f 4883c740 4839f7 72f3 0faef0 c3",  # mfence; clflushopt [rdi]; add; cmp; jb; mfence; ret
    "aarch64": "9f3f03d5 207e0bd5 00000191 1f0001eb a3ffff54 9f3f03d5 c0035fd6",  # dsb; dc civac, x0; add; cmp; b.lo
}


def shared_memory() -> list[Piece]:
    """What this process can read of its memory."""
    found = []
    with open("/proc/self/maps") as file:
        for line in file:
            bounds, rights, _, _, _, *path = line.rstrip("\n").split(None, 5)
            name = path[0] if path else ""
            if rights.startswith("r") and (not name.startswith("[") or name in ("[heap]", "[stack]")):
                first, _, last = bounds.partition("-")
                found.append((name, int(first, 16), int(last, 16)))
    return found


def meet(pieces: list[Piece]) -> None:
    """Every page of these pieces is known to this process, whoever met it before."""
    libc = ctypes.CDLL(None, use_errno=True)
    for _, first, last in pieces:
        if libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), POPULATE_READ):
            for place in range(first, last, mmap.PAGESIZE):
                ctypes.c_ubyte.from_address(place).value  # noqa: B018 (an older kernel: the reading is what it is for)


def cleaner() -> Callable[[list[Piece]], None]:
    """What takes pieces of memory out of the caches; what the machine had put aside of them is in memory after it."""
    code = OUT_OF_CACHES.get(platform.machine())
    if code is None or not _known():
        return _read
    rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    try:
        place = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, rights)
    except OSError:  # where memory that is written may not be run
        return _read
    place.write(bytes.fromhex(code))
    first_byte = ctypes.c_char.from_buffer(place)  # which keeps the place
    flush = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(ctypes.addressof(first_byte))

    def empty(pieces: list[Piece]) -> None:
        assert first_byte is not None
        for _, first, last in pieces:
            flush(first, last)

    return empty


def _known() -> bool:
    """Whether this processor has the instruction."""
    if platform.machine() != "x86_64":
        return True
    with open("/proc/cpuinfo") as file:
        return any(line.startswith("flags") and " clflushopt" in line for line in file)


def _read(pieces: list[Piece]) -> None:
    """For processors without such an instruction: have all of it alike, by reading it often enough to be kept."""
    copy, held = ctypes.CDLL(None).memcpy, ctypes.create_string_buffer(CHUNK)
    for _, first, last in pieces:
        for place in range(first, last, CHUNK):
            for _ in range(3):
                copy(held, ctypes.c_void_p(place), ctypes.c_size_t(min(CHUNK, last - place)))
