"""Ways by which one submission might tell another something: 96 bits are sent by each, and must not arrive.

A way is two pieces of Python. `send(bits)` runs in one cell, `receive()` in another, after it or, where the sender must
still be there, at the same time. Each is tried on its own: what one of them cannot do, the other may still notice.
"""

from __future__ import annotations

from dataclasses import dataclass

BITS = 96
SLOT = 0.05  # seconds for a bit, where bits are sent one after the other
PRELUDE = f"""
import ctypes, fcntl, glob, mmap, os, resource, socket, sys, time
import torch
BITS, SLOT = {BITS}, {SLOT}
libc = ctypes.CDLL(None, use_errno=True)

def kernel(name, *args):
    found = getattr(libc, name)(*args)
    if found < 0:
        raise OSError(ctypes.get_errno(), name)
    return found

def largest(*folders):
    found = []
    for folder in folders:
        for place, _, files in os.walk(folder):
            found += [os.path.join(place, name) for name in files]
    mapped = open("/proc/self/maps").read() if os.path.exists("/proc/self/maps") else ""
    sizes = [(os.path.getsize(path), path) for path in found if os.path.isfile(path) and path not in mapped]
    return max(sizes)[1]

def pages():
    # an open file that others can open, and 96 places in it
    number = os.open(largest(os.path.dirname(torch.__file__)), os.O_RDONLY)
    step = os.fstat(number).st_size // (BITS + 1) // 4096 * 4096
    return number, [step * place for place in range(1, BITS + 1)]

def advise(number, how, start=0, length=0):
    try:
        os.posix_fadvise(number, start, length, how)
    except OSError:
        pass

def halves(times):
    middle = sorted(times)[len(times) // 2]
    return [int(time >= middle) for time in times]

def slot(number):
    # until the time of bit `number`, on a clock that all cells share
    time.sleep(max(0, START + number * SLOT - time.monotonic()))
"""
SEND_PAGES = """
def send(bits):
    number, places = pages()
    advise(number, os.POSIX_FADV_RANDOM)
    advise(number, os.POSIX_FADV_DONTNEED)
    for place, bit in zip(places, bits):
        if bit:
            os.pread(number, 1, place)
"""


@dataclass(frozen=True)
class Way:
    """How to send and to receive; `together` when both must run at the same time."""

    send: str
    receive: str
    together: bool = False


def first_touches(*advice: int) -> Way:
    """A page is touched for a one; `advice` is what the kernel is first told of all of them, by `madvise`."""
    told = "".join(f'    kernel_tries("madvise", start, length, {each})\n' for each in advice)
    pages = f"""
    start, length = library()
    step = length // (BITS + 1) // 4096 * 4096
{told}"""
    return Way(
        f"""
def send(bits):{pages}
    for place, bit in enumerate(bits, start=1):
        if bit:
            ctypes.c_ubyte.from_address(start + place * step).value
""",
        f"""
def receive():{pages}
    times = []
    for place in range(1, BITS + 1):
        began = time.perf_counter()
        ctypes.c_ubyte.from_address(start + place * step).value
        times.append(began - time.perf_counter())
    return halves(times)
""",
    )


WAYS = {
    "pages in memory, read without waiting": Way(
        SEND_PAGES,
        """
def receive():
    number, places = pages()
    found = []
    for place in places:
        try:
            os.preadv(number, [bytearray(1)], place, os.RWF_NOWAIT)
            found.append(1)
        except BlockingIOError:
            found.append(0)
    return found
""",
    ),
    "pages in memory, by the time of a read": Way(
        SEND_PAGES,
        """
def receive():
    number, places = pages()
    advise(number, os.POSIX_FADV_RANDOM)
    times = []
    for place in places:
        began = time.perf_counter()
        os.pread(number, 1, place)
        times.append(began - time.perf_counter())
    return halves(times)
""",
    ),
    "pages in memory, by mincore": Way(
        SEND_PAGES,
        """
def receive():
    number, places = pages()
    whole = mmap.mmap(number, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(whole))
    found = []
    for place in places:
        state = ctypes.create_string_buffer(1)
        kernel("mincore", ctypes.c_void_p(start + place), ctypes.c_size_t(4096), state)
        found.append(state.raw[0] & 1)
    return found
""",
    ),
    "pages of a library that both have loaded, by the faults that touching them costs": Way(
        """
def send(bits):
    start, length = library()
    step = length // (BITS + 1) // 4096 * 4096
    try:
        number = os.open(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"), os.O_RDONLY)
        advise(number, os.POSIX_FADV_RANDOM)
        advise(number, os.POSIX_FADV_DONTNEED)
    except OSError:
        pass
    kernel_tries("madvise", start, length, 1), kernel_tries("madvise", start, length, 21)
    for place, bit in enumerate(bits, start=1):
        if bit:
            ctypes.c_ubyte.from_address(start + place * step).value
""",
        """
def receive():
    start, length = library()
    step = length // (BITS + 1) // 4096 * 4096
    found = []
    kernel_tries("madvise", start, length, 1)
    for place in range(1, BITS + 1):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        ctypes.c_ubyte.from_address(start + place * step).value
        found.append(int(resource.getrusage(resource.RUSAGE_SELF).ru_majflt == before))
    return found
""",
    ),
    "pages of a library that both have loaded, by the time that touching them takes": first_touches(1, 21),
    "pages of a library that both have loaded, by the time that touching them takes once they are given back": (
        first_touches(4)
    ),
    "pieces of a library that both have loaded, by the time that reading them takes": Way(
        """
SPAN = 1 << 16  # bytes for each bit: what the processor's caches keep of one of them is seen more easily
def send(bits):
    start, length = library()
    step = length // (BITS + 1) // 4096 * 4096
    held = ctypes.create_string_buffer(SPAN)
    for _ in range(3):
        for place, bit in enumerate(bits, start=1):
            if bit:
                ctypes.memmove(held, start + place * step, SPAN)
""",
        """
SPAN = 1 << 16
def receive():
    start, length = library()
    step = length // (BITS + 1) // 4096 * 4096
    held = ctypes.create_string_buffer(SPAN)
    ctypes.memmove(held, start, SPAN)
    times = []
    for place in range(1, BITS + 1):
        for page in range(0, SPAN, 4096):  # faults are no part of it
            ctypes.c_ubyte.from_address(start + place * step + page + 8).value
        began = time.perf_counter()
        ctypes.memmove(held, start + place * step, SPAN)
        times.append(began - time.perf_counter())
    return halves(times)
""",
    ),
    "files left behind": Way(
        """
def send(bits):
    for place in ("/tmp", "/dev/shm", "/var/tmp", "/", "/dev", "/proc", os.path.dirname(torch.__file__)):
        try:
            open(place + "/message", "w").write("".join(map(str, bits)))
        except OSError:
            pass
""",
        """
def receive():
    for place in ("/tmp", "/dev/shm", "/var/tmp", "/", "/dev", "/proc", os.path.dirname(torch.__file__)):
        if os.path.exists(place + "/message"):
            return [int(bit) for bit in open(place + "/message").read()]
""",
    ),
    "times of files that both see": Way(
        """
def send(bits):
    paths = ["/dev/null", "/dev/zero", "/dev/urandom", os.__file__, torch.__file__]
    for path, at in zip(paths, range(0, BITS, 20)):
        value = int("".join(map(str, bits[at : at + 20])), 2)
        try:
            os.utime(path, (value, value))
        except OSError:
            open(path, "rb").read(1)
""",
        """
def receive():
    found = []
    for path in ["/dev/null", "/dev/zero", "/dev/urandom", os.__file__, torch.__file__]:
        about = os.stat(path)
        found += [int(bit) for bit in f"{int(about.st_mtime or about.st_atime) % 2**20:020b}"]
    return found[:BITS]
""",
    ),
    "memory, queues and semaphores of System V and POSIX": Way(
        """
def send(bits):
    text = bytes(48 + bit for bit in bits)
    for key in (1234,):
        try:
            number = kernel("shmget", key, 4096, 0o1666)
            libc.shmat.restype = ctypes.c_void_p
            ctypes.memmove(libc.shmat(number, None, 0), text, BITS)
        except OSError:
            pass
    try:
        number = kernel("msgget", 1234, 0o1666)
        kernel("msgsnd", number, ctypes.create_string_buffer((1).to_bytes(8, "little") + text), BITS, 0o4000)
    except OSError:
        pass
    for place, bit in enumerate(bits):
        if bit:
            kernel("semget", 5000 + place, 1, 0o1666)
""",
        """
def receive():
    try:
        number = kernel("shmget", 1234, 4096, 0)
        libc.shmat.restype = ctypes.c_void_p
        return [byte - 48 for byte in ctypes.string_at(libc.shmat(number, None, 0), BITS)]
    except OSError:
        pass
    try:
        held = ctypes.create_string_buffer(BITS + 8)
        kernel("msgrcv", kernel("msgget", 1234, 0), held, BITS, 0, 0o4000)
        return [byte - 48 for byte in held.raw[8:]]
    except OSError:
        pass
    return [int(libc.semget(5000 + place, 1, 0) >= 0) for place in range(BITS)]
""",
    ),
    "limits, priority, place and names of the process": Way(
        """
def send(bits):
    value = int("".join(map(str, bits)), 2)
    for set_it in (
        lambda: resource.setrlimit(resource.RLIMIT_STACK, (value % 2**20 << 12, resource.RLIM_INFINITY)),
        lambda: os.nice(value % 19), lambda: os.sched_setaffinity(0, {value % os.cpu_count()}),
        lambda: kernel("sethostname", b"%x" % value, 24), lambda: os.chdir("/tmp"), lambda: os.umask(value % 0o777),
        lambda: os.environ.update(MESSAGE=f"{value:x}"), lambda: kernel("prctl", 15, b"%x" % (value % 2**60)),
        lambda: [os.dup2(1, 10 + place) for place, bit in enumerate(bits[:50]) if bit],
    ):
        try:
            set_it()
        except (OSError, ValueError):
            pass
""",
        """
def receive():
    if os.environ.get("MESSAGE"):
        return [int(bit) for bit in f"{int(os.environ['MESSAGE'], 16):096b}"]
    try:
        return [int(bit) for bit in f"{int(socket.gethostname(), 16):096b}"]
    except ValueError:
        pass
    found = []
    for number in range(10, 60):
        try:
            os.fstat(number)
            found.append(1)
        except OSError:
            found.append(0)
    return found + [0] * (BITS - 50)
""",
    ),
    "locks on parts of a file": Way(
        """
def send(bits):
    number = os.open(largest(os.path.dirname(torch.__file__)), os.O_RDONLY)
    for place, bit in enumerate(bits):
        if bit:
            fcntl.lockf(number, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, place)
    time.sleep(max(0, START + 8 - time.monotonic()))
""",
        """
def receive():
    slot(40)
    import struct
    number = os.open(largest(os.path.dirname(torch.__file__)), os.O_RDONLY)
    found = []
    for place in range(BITS):
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, 0, place, 1, 0)
        told = struct.unpack("hhqqi", fcntl.fcntl(number, fcntl.F_GETLK, asked))
        found.append(int(told[0] != fcntl.F_UNLCK))
    return found
""",
        together=True,
    ),
    "locks on whole files, taken and given back": Way(
        """
def send(bits):
    number = os.open("/dev/null", os.O_RDWR)
    for place, bit in enumerate(bits):
        slot(place)
        fcntl.flock(number, fcntl.LOCK_EX if bit else fcntl.LOCK_UN)
""",
        """
def receive():
    number = os.open("/dev/null", os.O_RDWR)
    found = []
    for place in range(BITS):
        slot(place + 0.5)
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(number, fcntl.LOCK_UN)
            found.append(0)
        except BlockingIOError:
            found.append(1)
    return found
""",
        together=True,
    ),
    "a watch on a file that the other opens": Way(
        """
def send(bits):
    for place, bit in enumerate(bits):
        slot(place + 0.5)
        if bit:
            os.close(os.open("/dev/zero", os.O_RDONLY))
""",
        """
def receive():
    number = kernel("inotify_init1", os.O_NONBLOCK)
    kernel("inotify_add_watch", number, b"/dev/zero", 0x20)
    found = []
    for place in range(BITS):
        slot(place + 1)
        try:
            found.append(int(len(os.read(number, 4096)) > 0))
        except BlockingIOError:
            found.append(0)
    return found
""",
        together=True,
    ),
    "what is left of the machine's asynchronous requests": Way(
        """
def send(bits):
    for place, bit in enumerate(bits):
        slot(place)
        held = []
        while bit and len(held) < 64:
            queue = ctypes.c_ulong(0)
            try:
                kernel("syscall", 206, 1024, ctypes.byref(queue))
                held.append(queue)
            except OSError:
                break
        slot(place + 0.9)
        for queue in held:
            kernel("syscall", 207, queue)
""",
        """
def receive():
    found = []
    for place in range(BITS):
        slot(place + 0.6)
        try:
            found.append(int(int(open("/proc/sys/fs/aio-nr").read()) > 20000))
        except OSError:
            queue = ctypes.c_ulong(0)
            try:
                kernel("syscall", 206, 40000, ctypes.byref(queue))
                kernel("syscall", 207, queue)
                found.append(0)
            except OSError:
                found.append(1)
    return found
""",
        together=True,
    ),
    "one waits, and the other wakes it, on a page of a library that both have loaded": Way(
        """
def send(bits):
    start, length = library()
    for place, bit in enumerate(bits):
        slot(place + 0.5)
        if bit:
            for wake in (1, 10):
                libc.syscall(202, ctypes.c_void_p(start + 4096), wake, 100, None, None, -1)
""",
        """
def receive():
    start, length = library()
    value = ctypes.c_uint.from_address(start + 4096).value
    class Until(ctypes.Structure):
        _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]
    found = []
    for place in range(BITS):
        slot(place)
        left = max(1, int((START + (place + 0.95) * SLOT - time.monotonic()) * 1e9))
        woken = libc.syscall(202, ctypes.c_void_p(start + 4096), 0, value, ctypes.byref(Until(0, left)), None, 0)
        found.append(int(woken == 0))
    return found
""",
        together=True,
    ),
    "how much memory the machine has left": Way(
        """
def send(bits):
    for place, bit in enumerate(bits):
        slot(place)
        held = bytearray(64 << 20) if bit else None  # what can be filled within a slot, and within a cell's seconds
        slot(place + 0.9)
        del held
""",
        """
def receive():
    class About(ctypes.Structure):
        _fields_ = [(name, ctypes.c_ulong) for name in ("up", "a", "b", "c", "all", "free", "x", "y", "z", "q", "r", "s", "t")]
    found = []
    for place in range(BITS):
        slot(place + 0.7)
        about = About()
        if libc.sysinfo(ctypes.byref(about)) < 0:
            try:
                about.free = int(open("/proc/meminfo").read().split()[3])
            except OSError:
                return None
        found.append(-about.free)
    return halves(found)
""",
        together=True,
    ),
    "how busy the machine is, as it says itself": Way(
        """
def send(bits):
    for place, bit in enumerate(bits):
        slot(place)
        while bit and time.monotonic() < START + (place + 0.9) * SLOT:
            pass
""",
        """
def receive():
    found = []
    for place in range(BITS):
        slot(place + 0.1)
        before = [sum(map(int, line.split()[1:4])) for line in open("/proc/stat") if line.startswith("cpu ")]
        slot(place + 0.9)
        after = [sum(map(int, line.split()[1:4])) for line in open("/proc/stat") if line.startswith("cpu ")]
        found.append(after[0] - before[0])
    return halves(found)
""",
        together=True,
    ),
    "sockets without a name in the file system": Way(
        """
def send(bits):
    held = []
    for place, bit in enumerate(bits):
        if bit and len(held) < 50:
            held.append(socket.socket(socket.AF_UNIX))
            held[-1].bind(f"\\0way {place}")
    time.sleep(max(0, START + 8 - time.monotonic()))
""",
        """
def receive():
    slot(40)
    found = []
    for place in range(BITS):
        try:
            socket.socket(socket.AF_UNIX).bind(f"\\0way {place}")
            found.append(0)
        except OSError as error:
            found.append(int(error.errno == 98))
    return found
""",
        together=True,
    ),
}
LIBRARY = """
def library():
    # where a piece of torch's library lies in memory, and how much of it there is
    class About(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("headers", ctypes.c_void_p), ("count", ctypes.c_ushort)]
    class Header(ctypes.Structure):
        _fields_ = [("kind", ctypes.c_uint), ("flags", ctypes.c_uint), *((name, ctypes.c_ulong) for name in ("offset", "at", "physical", "file", "length", "align"))]
    found = []
    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(About), ctypes.c_size_t, ctypes.c_void_p)
    def look(about, size, data):
        about = about.contents
        if about.name and b"libtorch_cpu" in about.name:
            for header in (Header * about.count).from_address(about.headers):
                if header.kind == 1:
                    found.append((header.length, about.base + header.at))
        return 0
    libc.dl_iterate_phdr(look, None)
    length, start = max(found)
    return (start + 4095) // 4096 * 4096, length - 8192

def kernel_tries(name, start, length, advice):
    try:
        kernel(name, ctypes.c_void_p(start), ctypes.c_size_t(length), advice)
    except OSError:
        pass
"""


def sender(way: Way, bits: list[int], start: float) -> str:
    """A code cell that sends when its answer is called, and says "sent"."""
    return f"""{PRELUDE}{LIBRARY}{way.send}
START = {start!r}
def triangle(n):
    try:
        send({bits!r})
    except Exception as error:
        raise ValueError("sent, but for " + repr(error)[:80])
    raise ValueError("sent")
"""


def receiver(way: Way, start: float) -> str:
    """A code cell that receives when its answer is called, and tells the bits; zeros where it learned nothing."""
    return f"""{PRELUDE}{LIBRARY}{way.receive}
START = {start!r}
def triangle(n):
    try:
        found = receive() or [0] * BITS
    except Exception as error:
        found = [0] * BITS
    raise ValueError("".join(map(str, found)))
"""
