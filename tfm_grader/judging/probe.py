"""The self-test code that runs in the sandbox: it tries what a hostile submission would, and reports what succeeds.

Its source is sent into a sandbox like a student's notebook; it is never imported.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import socket
import threading
import time

OWN = {"/tmp", "/dev/shm"}  # the folders where a submission may write


def refusal_of(attempt):
    """Return the reason why `attempt` failed, or "" if it succeeded."""
    try:
        attempt()
    except (OSError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""


def look(paths, shown, environment):
    """List what is accessible but should not be.

    Of `paths`, only the way to the folders in `shown` may be visible; only variables in `environment` may be set.
    """
    found = [f"{path} is visible" for path in paths if visible(path, shown)]
    if os.path.isdir("/proc") and os.listdir("/proc"):
        found.append("processes and the machine's state are visible")
    places = {"/usr", "/dev", "/grader", "/grader/inside", "/var", "/etc", *shown, *ways_to(shown)} - OWN
    found += [f"{place} can be written to" for place in sorted(places) if os.path.exists(place) and writable(place)]
    if any(visible(folder, shown) for folder in OWN):
        found.append("files of another submission are there")
    return found + possible(signals(), environment)


def look_in_container(paths, environment):
    """List what is accessible to a submission in a container but should not be: `paths`, privileges, sockets."""
    found = [f"{path} can be read (chmod -R go-rwx {path})" for path in paths if reachable(path)]
    if 0 in (os.getuid(), os.geteuid(), os.getgid(), os.getegid()) or os.getgroups():
        found.append("the submission is root, or in a group")
    folders = ("/", "/usr", "/dev", "/var", "/etc", "/proc/1")
    found += [f"{folder} can be written to" for folder in folders if opens(f"{folder}/x", os.O_CREAT | os.O_WRONLY)]
    others = (f"/proc/{os.getppid()}/mem", f"/proc/{os.getppid()}/environ", "/proc/1/environ")
    found += [f"{path} can be read" for path in others if opens(path, os.O_RDONLY)]
    attempts = {name: attempt for name, attempt in signals().items() if name != "a change of a device's times"}
    return found + possible(attempts, environment)


def possible(attempts, environment):
    """List which of `attempts` succeed, and what no submission may have: sockets, variables, namespaces."""
    found = []
    if not refusal_of(lambda: socket.create_connection(("127.0.0.1", 9), timeout=0.2)) or not refusal_of(socket.socket):
        found.append("sockets can be made")
    if extra := sorted(set(os.environ) - set(environment)):
        found.append(f"the environment holds {', '.join(extra)}")
    if ctypes.CDLL(None).unshare(0x10000000) == 0:
        found.append("namespaces can be made")
    return found + [f"{name} is possible" for name, attempt in attempts.items() if not refusal_of(attempt)]


def reachable(path):
    """Whether anything at `path` can be read, or a folder there be entered."""
    return os.access(path, os.R_OK) or (os.path.isdir(path) and os.access(path, os.X_OK))


def opens(path, flags):
    """Whether the file at `path` can be opened with `flags`."""
    return not refusal_of(lambda: os.close(os.open(path, flags)))


def signals():
    """Return attempts by which one submission could signal to another, or learn something about it."""
    number = os.open("/dev/null", os.O_RDWR)
    page = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    place = ctypes.addressof(ctypes.c_char.from_buffer(page))
    state = ctypes.create_string_buffer(4096)
    return {
        "a look at which pages are in memory": lambda: kernel("mincore", place, mmap.PAGESIZE, state),
        "advice on pages": lambda: page.madvise(mmap.MADV_WILLNEED),
        "advice on files": lambda: os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED),
        "reading without waiting": lambda: os.preadv(number, [bytearray(1)], 0, os.RWF_NOWAIT),
        "a lock on a file": lambda: fcntl.flock(number, fcntl.LOCK_SH),
        "a lock on a part of a file": lambda: fcntl.lockf(number, fcntl.LOCK_SH),
        "a lease": lambda: fcntl.fcntl(number, fcntl.F_SETLEASE, fcntl.F_RDLCK),
        "a pipe": os.pipe,
        "a pair of sockets": socket.socketpair,
        "memory that is shared": lambda: mmap.mmap(-1, mmap.PAGESIZE),
        "shared memory of System V": lambda: kernel("shmget", 7, 4096, 0o1600),
        "a watch on files": lambda: kernel("inotify_init"),
        "the choice of a processor": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
        "a look at the machine's load": lambda: kernel("sysinfo", state),
        "a change of a device's times": lambda: os.utime("/dev/null"),
        "another process": lambda: os._exit(0) if os.fork() == 0 else None,
    }


def kernel(name, *args):
    """Call the C library's function `name`. Raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)


def visible(path, shown):
    """Whether there is more at `path` than the way to one of `shown`; `path` may lead there through links."""
    path = os.path.realpath(path)
    if path in shown or not os.path.isdir(path):
        return os.path.lexists(path)
    entries = [os.path.join(path, name) for name in os.listdir(path)]
    ways = ways_to(shown)
    return any(entry not in shown and (entry not in ways or visible(entry, shown)) for entry in entries)


def ways_to(paths):
    """Return the folders that lead to `paths`."""
    return {path[:place] or "/" for path in paths for place, sign in enumerate(path) if sign == "/"}


def writable(path):
    """Whether what lies at `path` can be changed, or could be if it belonged to this user."""
    try:
        os.chmod(path, os.stat(path).st_mode & 0o7777)
    except OSError as error:
        return error.errno != errno.EROFS
    return True


def leave_something():
    """Leave files where another submission must not find them."""
    for path in ("/tmp/left", "/dev/shm/left"):
        with open(path, "w") as file:
            file.write("from another submission")


def push(memory, disk, processes):
    """List the limits that are not enforced."""
    found = []
    if not refusal_of(lambda: bytearray(memory << 20)):
        found.append("memory is not limited")
    if not refusal_of(lambda: fill(os.path.join(os.environ["TMPDIR"], "big"), disk)):
        found.append("writing is not limited")
    threads = [threading.Thread(target=time.sleep, args=(5,), daemon=True) for _ in range(processes)]
    if all(not refused_thread(thread) for thread in threads):
        found.append("threads are not limited")
    return found


def refused_thread(thread):
    try:
        thread.start()
    except RuntimeError:
        return True
    return False


def fill(path, megabytes):
    with open(path, "wb", buffering=0) as file:
        file.writelines(bytes(1 << 20) for _ in range(megabytes))


def hang():
    while True:
        pass
