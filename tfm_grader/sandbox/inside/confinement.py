"""Confine the submission's process before it reads any of it: namespaces, limits, capabilities, system calls."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import stat
from collections.abc import Container
from typing import Any

from . import seccomp
from .linux_calls import (
    CLONE_NEWIPC,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    PR_SET_DUMPABLE,
    PR_SET_PDEATHSIG,
    drop_capabilities,
    mount,
    mounts,
    prctl,
    restrict_mounts,
    unshare,
)

DEVICES = ("null", "zero", "urandom")
COVERED = {"/tmp": (), "/dev/shm": (), "/grader": ("inside",), "/etc": ("ld.so.cache",)}  # with what disappears there
RESTRICTIONS = {"nosuid": MS_NOSUID, "nodev": MS_NODEV, "noexec": MS_NOEXEC}  # by their names in mountinfo
Limits = dict[str, Any]  # cpu (seconds), memory (MB), processes, disk (MB), open_files


def leave_namespaces() -> None:
    """Create new user, PID, mount, IPC and UTS namespaces for the next fork. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def hide_from_own_user() -> None:
    """Keep other processes of this user, such as the submission's, out of this one's memory and files. Raises OSError."""
    prctl(PR_SET_DUMPABLE, 0)


def settle_in_container() -> int:
    """As the submission's process in a container, end with the parent. Returns its status file, as `furnish` does."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.open("/proc/self/status", os.O_RDONLY)


def ways_to_python() -> dict[str, list[str]]:
    """List what lies in each of the folders that `furnish` covers and leads to Python.

    To be called before anything is written there.
    """
    folders = [folder for folder in COVERED if os.path.isdir(folder)]
    return {folder: sorted({*os.listdir(folder)} - {*COVERED[folder]}) for folder in folders}


def furnish(limits: Limits, ways: dict[str, list[str]]) -> int:
    """As the first process of the new namespaces, forbid further namespaces and hide files. Raises OSError.

    What bubblewrap shows stays visible read-only: Python and its packages. /tmp and /dev/shm are new and small, three
    devices remain, and /proc, /etc and this program's folder are empty, except for `ways` that lead to Python. Returns
    an open descriptor of this process's status file, which lists its privileges.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    quiet = MS_NOSUID | MS_NODEV
    mount("proc", "/proc", "proc", quiet | MS_NOEXEC)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")
    status = os.open("/proc/self/status", os.O_RDONLY)
    held = {folder: [(name, _held(f"{folder}/{name}")) for name in names] for folder, names in ways.items()}
    devices = [(name, _held(f"/dev/{name}")) for name in DEVICES]
    mount("tmpfs", "/tmp", "tmpfs", quiet, f"size={limits['disk']}m,nr_inodes=4096,mode=0700")
    _lead("/tmp", held, quiet)
    mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,nr_inodes=16,mode=0755")
    for name, number in devices:
        _show(number, f"/dev/{name}", MS_NOSUID | MS_NOEXEC)
    os.mkdir("/dev/shm")
    mount("tmpfs", "/dev/shm", "tmpfs", quiet | MS_NOEXEC, "size=1m,nr_inodes=64,mode=0700")
    _lead("/dev/shm", held, quiet)
    mount("tmpfs", "/dev", None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NOEXEC)
    for covered in filter(os.path.isdir, ("/grader", "/etc")):
        mount("tmpfs", covered, "tmpfs", quiet | MS_NOEXEC, "size=4k,nr_inodes=64,mode=0755")
        _lead(covered, held, quiet)
        mount("tmpfs", covered, None, MS_BIND | MS_REMOUNT | MS_RDONLY | quiet | MS_NOEXEC)
    mount("tmpfs", "/proc", "tmpfs", quiet | MS_NOEXEC | MS_RDONLY, "size=4k,nr_inodes=2,mode=0755")
    return status


def _held(path: str) -> int:
    return os.open(path, os.O_PATH | os.O_NOFOLLOW)


def _lead(folder: str, held: dict[str, list[tuple[str, int]]], flags: int) -> None:
    """Show in the new `folder` what was held open of the old one."""
    for name, number in held.get(folder, []):
        _show(number, f"{folder}/{name}", flags)


def _show(number: int, target: str, flags: int) -> None:
    """Show the open file `number` at `target`, read-only, so that its content and times cannot be changed.

    Mounts below it come along, because what they cover must stay covered. A link is made again.
    """
    kind = os.fstat(number).st_mode
    if stat.S_ISLNK(kind):
        os.symlink(os.readlink("", dir_fd=number), target)
    else:
        if stat.S_ISDIR(kind):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
        older = mounts().keys()
        mount(f"/proc/self/fd/{number}", target, None, MS_BIND | MS_REC)
        _make_read_only(target, MS_RDONLY | flags, older)
    os.close(number)


def _make_read_only(target: str, flags: int, older: Container[int]) -> None:
    """Give `flags`, of which MS_RDONLY is one, to the mount at `target` and to those below it. Raises OSError.

    These are all mounts except the `older` ones, which remain listed where `target` covers them.
    """
    try:
        restrict_mounts(target, flags)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):  # Linux before 5.12, or a container that knows no such call
            raise
        for point, options in [found for number, found in mounts().items() if number not in older]:
            kept = sum(flag for name, flag in RESTRICTIONS.items() if name in options)  # none may be taken away here
            mount("none", point, None, MS_BIND | MS_REMOUNT | flags | kept)
    for number, (point, options) in mounts().items():
        if number not in older and "ro" not in options:
            raise PermissionError(errno.EROFS, f"{point} can be written to")


def close_all_but(*kept: int) -> list[int]:
    """Move the descriptors `kept` to 3, 4, …, return these, and close all others."""
    silence = os.open("/dev/null", os.O_RDWR)
    spare = [fcntl.fcntl(each, fcntl.F_DUPFD, 3 + len(kept)) for each in kept]  # move them out of the way first
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    for number, each in enumerate(spare, start=3):
        os.dup2(each, number, inheritable=False)
    os.closerange(3 + len(kept), 1 << 16)
    return list(range(3, 3 + len(kept)))


def lock(status: int, bounded: bool = True) -> None:
    """Drop all privileges. Raises OSError, also if `status` shows that one is left.

    Unless `bounded`, programs may have privileges that this process lacks: it can start none.
    """
    if bounded:
        os.chdir("/tmp")
    os.umask(0o077)
    drop_capabilities()
    prctl(PR_SET_DUMPABLE, 0)  # also prevents core dumps
    seccomp.install()
    with os.fdopen(status) as file:
        told = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    kinds = ("CapEff", "CapPrm", "CapInh", "CapAmb", *(["CapBnd"] if bounded else []))
    rights = any(int(told[kind], 16) for kind in kinds)
    if rights or told["NoNewPrivs"] != "1" or told["Seccomp"] != "2":
        raise PermissionError("not every right was given up")


def set_limits(limits: Limits) -> None:
    """Set the resource limits of this process and its children."""
    with open("/proc/self/statm") as file:
        in_use = int(file.read().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, in_use + (limits["memory"] << 20)),
        (resource.RLIMIT_CPU, limits["cpu"]),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_FSIZE, limits["disk"] << 20),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(what, (most, most))
