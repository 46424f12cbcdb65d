"""A seccomp filter: it allows the system calls that legitimate notebooks were observed to need, and no others.

It is a second layer behind the namespaces, and the first against covert signals between submissions: calls that
reveal the state of shared memory or files (`mincore`, `preadv2`, `posix_fadvise`, locks, shared memory) are not
allowed. A refused call fails with an error, so that libraries can fall back; the process is not killed.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable

from .linux_calls import PR_SET_SECCOMP, prctl

WIRE = 3  # the descriptor of the sandbox's channel
# Call numbers on x86_64 and aarch64, by name; None if the machine has no such call.
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    # files, all within the sandbox
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "lseek": (8, 62),
    "close": (3, 57),
    "close_range": (436, 436),
    "open": (2, None),
    "creat": (85, None),
    "openat": (257, 56),
    "stat": (4, None),
    "lstat": (6, None),
    "access": (21, None),
    "faccessat": (269, 48),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "umask": (95, 166),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "fallocate": (285, 47),
    "utimensat": (280, 88),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    # memory
    "munmap": (11, 215),
    "mprotect": (10, 226),
    "brk": (12, 214),
    "msync": (26, 227),
    # signals, timers and waiting
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "pause": (34, None),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "alarm": (37, None),
    "getitimer": (36, 102),
    "setitimer": (38, 103),
    "nanosleep": (35, 101),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "epoll_create": (213, None),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_wait": (232, None),
    "epoll_pwait": (281, 22),
    "eventfd2": (290, 19),
    # threads, and the process itself
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "set_tid_address": (218, 96),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "wait4": (61, 260),
    "waitid": (247, 95),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getrusage": (98, 165),
    "getrlimit": (97, 163),
    "setrlimit": (160, 164),
    "prlimit64": (302, 261),
    "gettid": (186, 178),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getpgrp": (111, None),
    "getpgid": (121, 155),
    "getsid": (124, 156),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "uname": (63, 160),
    "getrandom": (318, 278),
}
# Calls restricted by one argument: its index, its allowed values, and the error otherwise.
CHOSEN: dict[str, tuple[tuple[int | None, int | None], int, tuple[int, ...], int]] = {
    "ioctl": ((16, 29), 1, (0x5401, 0x5413, 0x5421, 0x5450, 0x5451), errno.ENOTTY),  # terminal queries; blocking mode
    "madvise": ((28, 233), 2, (4, 8, 14, 15), errno.EPERM),  # freeing own memory; huge pages
    "prctl": ((157, 167), 0, (15, 16), errno.EPERM),  # the thread's name
    "arch_prctl": ((158, None), 0, (0x1021, 0x1022, 0x1023), errno.EPERM),  # the processor's tile registers (AMX)
}
# Descriptor WIRE has a machine-wide inode number: it must not be inspected or copied.
NOT_THE_WIRE: dict[str, tuple[int | None, int | None]] = {
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
}
# Calls that libraries try first or can do without, and the error they get.
OTHERWISE: dict[str, tuple[tuple[int | None, int | None], int]] = {
    "statx": ((332, 291), errno.ENOSYS),
    "membarrier": ((324, 283), errno.ENOSYS),
    "mremap": ((25, 216), errno.ENOMEM),  # it could map parts of a library's file beyond those already mapped
    "getxattr": ((191, 8), errno.ENOTSUP),
    "lgetxattr": ((192, 9), errno.ENOTSUP),
    "fgetxattr": ((193, 10), errno.ENOTSUP),
    "listxattr": ((194, 11), errno.ENOTSUP),
    "llistxattr": ((195, 12), errno.ENOTSUP),
    "flistxattr": ((196, 13), errno.ENOTSUP),
}
FCNTL, CLONE, FUTEX, MMAP = (72, 25), (56, 220), (202, 98), (9, 222)
YOUNG = 424  # from this number on libraries have fallbacks: clone3, openat2, futex_waitv, cachestat
F_DUPFD, F_DUPFD_CLOEXEC, FLAGS = 0, 1030, (1, 2, 3, 4)
CLONE_THREAD, NEW_NAMESPACES = 0x10000, 0x7E020000 | 0x80  # any CLONE_NEW… flag
FUTEX_WAIT, FUTEX_WAKE, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET, FUTEX_PRIVATE, FUTEX_COMMAND = 0, 1, 9, 10, 128, 127
MAP_SHARED, MAP_ANONYMOUS, MAP_HUGETLB = 1, 0x20, 0x40000
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
Step = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def supported() -> bool:
    """Whether the filter supports this machine's architecture."""
    return platform.machine() in ARCHITECTURES


def program(machine: str) -> bytes:
    """Build the filter for `machine` as classic BPF. Raises KeyError for an unknown machine."""
    column, architecture = ARCHITECTURES[machine]
    steps: list[Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, 0x40000000),  # x32 call numbers, an alternative route to the same calls
        (_RETURN, 0, 0, _KILL),
    ]
    for numbers in ALLOWED.values():
        steps += _when(numbers[column], [_return(0)])
    for numbers in NOT_THE_WIRE.values():
        steps += _when(numbers[column], [_load(0), (_EQUAL, 0, 1, WIRE), _return(errno.EPERM), _return(0)])
    for numbers, argument, values, error in CHOSEN.values():
        steps += _when(numbers[column], [_load(argument), *_any_of(values), _return(error)])
    for numbers, error in OTHERWISE.values():
        steps += _when(numbers[column], [_return(error)])
    steps += _when(FCNTL[column], _copies_and_flags())
    steps += _when(CLONE[column], _only_threads())
    steps += _when(FUTEX[column], _own_futexes())
    steps += _when(MMAP[column], _own_memory())
    steps += [(_AT_LEAST, 0, 1, YOUNG), _return(errno.ENOSYS), _return(errno.EPERM)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _load(argument: int) -> Step:
    return _LOAD, 0, 0, 16 + 8 * argument


def _return(error: int) -> Step:
    return _RETURN, 0, 0, 0x00050000 | error if error else _ALLOW


def _when(number: int | None, steps: Iterable[Step]) -> list[Step]:
    """Apply `steps`, which must return, to the call `number`."""
    if number is None:
        return []
    made = list(steps)
    return [(_EQUAL, 0, len(made), number), *made]


def _any_of(values: Iterable[int]) -> list[Step]:
    return [step for value in values for step in ((_EQUAL, 0, 1, value), _return(0))]


def _copies_and_flags() -> list[Step]:
    """Allow fcntl to copy descriptors (not the wire) and get or set flags; no locks, leases or pipe sizes."""
    return [
        _load(1),
        *_any_of(FLAGS),
        (_EQUAL, 1, 0, F_DUPFD),
        (_EQUAL, 0, 3, F_DUPFD_CLOEXEC),
        _load(0),
        (_EQUAL, 1, 0, WIRE),
        _return(0),
        _return(errno.EPERM),
    ]


def _only_threads() -> list[Step]:
    return [
        _load(0),
        (_ANY_BIT, 0, 1, NEW_NAMESPACES),
        _return(errno.EPERM),
        (_ANY_BIT, 1, 0, CLONE_THREAD),
        _return(errno.EPERM),  # another process would have its own memory limit
        _return(0),
    ]


def _own_futexes() -> list[Step]:
    """Allow futexes private to this process; one in a mapped library file would be visible to other processes."""
    return [
        _load(1),
        (_ANY_BIT, 0, 1, FUTEX_PRIVATE),
        _return(0),
        (_AND, 0, 0, FUTEX_COMMAND),
        (_EQUAL, 1, 0, FUTEX_WAKE),
        (_EQUAL, 0, 1, FUTEX_WAKE_BITSET),
        _return(0),  # no waiters exist
        (_EQUAL, 1, 0, FUTEX_WAIT),
        (_EQUAL, 0, 1, FUTEX_WAIT_BITSET),
        _return(errno.EAGAIN),  # makes waiting for a thread's end poll repeatedly
        _return(errno.EPERM),
    ]


def _own_memory() -> list[Step]:
    """Refuse anonymous shared memory, whose inode numbers are machine-wide, and the pool of huge pages."""
    return [
        _load(3),
        (_ANY_BIT, 0, 1, MAP_HUGETLB),
        _return(errno.EPERM),
        (_AND, 0, 0, MAP_SHARED | MAP_ANONYMOUS),
        (_EQUAL, 0, 1, MAP_SHARED | MAP_ANONYMOUS),
        _return(errno.EPERM),
        _return(0),
    ]


def install() -> None:
    """Filter this process and all its children permanently. Raises OSError, and KeyError on an unknown machine."""
    code = program(platform.machine())
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]

    whole = Program(len(code) // 8, ctypes.addressof(buffer))
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(whole))
