"""What the self-test runs in the sandbox: it tries what a hostile submission would, and tells how far it came.

Its text is sent into a cell as if a student had written it; it is never imported.
"""

import ctypes
import os
import socket


def refused(attempt):
    """The reason for which `attempt` failed, or "" if it did not."""
    try:
        attempt()
    except (OSError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""


def look(paths, shown, environment):
    """Names of what is open that should be closed.

    Of `paths` nothing may be seen but the way to the folders that are `shown`; `environment` is all that may be set.
    """
    found = [f"{path} is visible" for path in paths if visible(path, shown)]
    if not refused(lambda: socket.create_connection(("127.0.0.1", 9), timeout=0.2)) or not refused(socket.socket):
        found.append("sockets can be made")
    if extra := sorted(set(os.environ) - set(environment)):
        found.append(f"the environment holds {', '.join(extra)}")
    if [name for name in os.listdir("/proc") if name.isdigit()] != ["1"]:
        found.append("other processes are visible")
    for folder in ("/", "/usr", "/dev", "/grader", "/grader/inside", "/var", "/etc"):
        if os.path.isdir(folder) and not refused(
            lambda path=f"{folder}/x": os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        ):
            found.append(f"{folder} can be written to")
    if ctypes.CDLL(None).unshare(0x10000000) == 0:
        found.append("namespaces can be made")
    with open("/proc/self/status") as file:
        status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    if (
        int(status["CapEff"], 16)
        or int(status["CapBnd"], 16)
        or status["NoNewPrivs"] != "1"
        or status["Seccomp"] != "2"
    ):
        found.append("not every right was given up")
    if visible("/tmp", shown) or os.listdir("/dev/shm"):
        found.append("files of another submission are there")
    return found


def visible(path, shown):
    """Whether there is more at `path` than the way to one of `shown`."""
    if not os.path.isdir(path):
        return os.path.exists(path)
    entries = [os.path.join(path, name) for name in os.listdir(path)]
    return any(not any(f"{folder}/".startswith(f"{entry}/") for folder in shown) for entry in entries)


def leave_something():
    """Leave files where another submission must not find them."""
    for path in ("/tmp/left", "/dev/shm/left"):
        with open(path, "w") as file:
            file.write("from another submission")


def push(memory, disk, processes):
    """Names of the limits that do not hold."""
    found = []
    if not refused(lambda: bytearray(memory << 20)):
        found.append("memory is not limited")
    if not refused(lambda: fill("/tmp/big", disk)):
        found.append("writing is not limited")
    children = []
    while len(children) <= processes and not refused(lambda: children.append(fork())):
        pass
    if len(children) > processes:
        found.append("processes are not limited")
    return found


def fill(path, megabytes):
    with open(path, "wb", buffering=0) as file:
        file.writelines(bytes(1 << 20) for _ in range(megabytes))


def fork():
    child = os.fork()
    if child == 0:
        import time

        time.sleep(60)
        os._exit(0)
    return child


def hang():
    while True:
        pass
