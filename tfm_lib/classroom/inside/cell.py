"""A cell for one submission: namespaces, limits and rights of its own, taken before a line of the submission is read."""

from __future__ import annotations

import os
import resource
import signal
from typing import Any

from . import seccomp
from .kernel import (
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
    PR_SET_PDEATHSIG,
    drop_capabilities,
    mount,
    prctl,
    unshare,
)

Limits = dict[str, Any]  # cpu (seconds), memory (MB), processes, disk (MB), open_files


def leave_namespaces() -> None:
    """New user, process, mount, IPC and host name spaces for what this process forks next; raises OSError."""
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def furnish(limits: Limits) -> None:
    """As the first process of new namespaces: fresh /tmp, /dev/shm and /proc, and no more namespaces; raises OSError."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    quiet = MS_NOSUID | MS_NODEV
    held = {name: os.open(f"/tmp/{name}", os.O_PATH) for name in os.listdir("/tmp")}  # Python, where it lies there
    mount("tmpfs", "/tmp", "tmpfs", quiet, f"size={limits['disk']}m,nr_inodes=4096,mode=0700")
    for name, number in held.items():
        os.mkdir(f"/tmp/{name}")
        mount(f"/proc/self/fd/{number}", f"/tmp/{name}", None, MS_BIND | MS_REC)
        os.close(number)
    mount("tmpfs", "/dev/shm", "tmpfs", quiet | MS_NOEXEC, "size=1m,nr_inodes=64,mode=0700")
    mount("proc", "/proc", "proc", quiet | MS_NOEXEC)
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")
    mount("proc", "/proc", "proc", quiet | MS_NOEXEC | MS_REMOUNT | MS_RDONLY)


def close_all_but(talk: int, tell: int) -> int:
    """`talk` becomes descriptor 3 and `tell` 4, whose number comes back; every other file is closed."""
    silence = os.open("/dev/null", os.O_RDWR)
    spare = [os.dup(os.dup(os.dup(each))) for each in (talk, tell)]  # out of the way of 3 and 4
    for standard in (0, 1, 2):
        os.dup2(silence, standard)
    for number, each in enumerate(spare, start=3):
        os.dup2(each, number, inheritable=False)
    os.closerange(5, 1 << 16)
    return 4


def lock(limits: Limits) -> None:
    """Limits, then the loss of every right; raises OSError."""
    os.chdir("/tmp")
    os.umask(0o077)
    set_limits(limits)
    drop_capabilities()
    seccomp.install()


def set_limits(limits: Limits) -> None:
    """The kernel's limits for this process and its children."""
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
