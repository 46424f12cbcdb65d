"""A filter of system calls: what no exercise needs and an attack on the kernel would begin with is refused.

A second wall behind the namespaces. Refused calls fail with "Operation not permitted"; nothing is killed for them.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

from .kernel import PR_SET_SECCOMP, prctl

# By name, the numbers on x86_64 and on aarch64.
REFUSED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),  # memory that no limit counts
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "socket": (41, 198),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "personality": (135, 92),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "syslog": (103, 116),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
}
CLONE, CLONE3 = (56, 220), 435
NEW_NAMESPACES = 0x7E020000 | 0x80  # any CLONE_NEW… flag
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _REFUSE, _MISSING = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS


def supported() -> bool:
    """Whether this machine's system calls are known here."""
    return platform.machine() in ARCHITECTURES


def program(machine: str) -> bytes:
    """The filter for `machine` as classic BPF; raises KeyError for one that is not known."""
    column, architecture = ARCHITECTURES[machine]
    steps: list[tuple[int, int, int, int]] = [  # code, jump if true, jump if false, operand
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, 0x40000000),  # the x32 numbers, another way to the same calls
        (_RETURN, 0, 0, _KILL),
        (_EQUAL, 0, 1, CLONE3),  # its flags lie in memory, where no filter sees them: libc falls back on clone
        (_RETURN, 0, 0, _MISSING),
    ]
    for numbers in REFUSED.values():
        steps += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _REFUSE)]
    steps += [
        (_EQUAL, 0, 3, CLONE[column]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_ANY_BIT, 0, 1, NEW_NAMESPACES),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def install() -> None:
    """Filter this process and all its children, for ever; raises OSError, and KeyError on an unknown machine."""
    code = program(platform.machine())
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]

    whole = Program(len(code) // 8, ctypes.addressof(buffer))
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(whole))
