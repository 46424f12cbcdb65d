"""Linux system calls that Python 3.11 does not offer: namespaces, mounts, capabilities."""

from __future__ import annotations

import ctypes
import os
import re

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 1 << 26, 1 << 27, 1 << 28, 1 << 29
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = (
    1,
    4,
    22,
    24,
    38,
    47,
)
PR_CAP_AMBIENT_CLEAR_ALL = 4
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000  # the call has this number on every machine

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Leave the namespaces given by `flags`. Raises OSError."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    """Call mount(2). Raises OSError."""
    code = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind and kind.encode(),
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    _checked(code, f"mount {target}")


def restrict_mounts(target: str, flags: int) -> None:
    """Add `flags` to the mount at `target` and to each mount below it, by mount_setattr(2). Raises OSError.

    Of `flags`, this call has MS_RDONLY, MS_NOSUID, MS_NODEV and MS_NOEXEC by the same numbers as mount(2).
    """
    attributes = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)  # set, clear, propagation, user namespace
    code = _libc.syscall(
        ctypes.c_long(MOUNT_SETATTR),
        ctypes.c_int(AT_FDCWD),
        os.fsencode(target),
        ctypes.c_uint(AT_RECURSIVE),
        attributes,
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _checked(code, f"mount_setattr {target}")


def mounts() -> dict[int, tuple[str, set[str]]]:
    """Return this namespace's mounts by number: where each is, and its options, such as "ro". Needs /proc."""
    found = {}
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            number, _, _, _, escaped, options, *_ = line.split(b" ")
            point = re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8)]), escaped)
            found[int(number)] = os.fsdecode(point), set(options.decode().split(","))
    return found


def prctl(option: int, second: int = 0, third: int = 0) -> None:
    """Call prctl(2). Raises OSError."""
    code = _libc.prctl(
        ctypes.c_int(option), ctypes.c_ulong(second), ctypes.c_ulong(third), ctypes.c_ulong(0), ctypes.c_ulong(0)
    )
    _checked(code, f"prctl {option}")


def drop_capabilities() -> None:
    """Drop every capability, including those a program started later could gain. Raises OSError."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # beyond the last capability that this kernel knows
            break
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_libc.capset(header, nothing), "capset")
