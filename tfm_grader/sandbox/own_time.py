"""A channel to another process that counts what the process spends while somebody waits for it.

A busy machine must cost nobody points. So no wall clock decides: processor time and sleep are the process's own, while
the time in which it was ready to run and got no processor is the machine's. Linux counts both for each thread, in `/proc`;
what is left of the time that was waited is sleep. The thread that was busiest decides: many that wake for a moment
together don't hide that they slept.
"""

from __future__ import annotations

import math
import os
import select
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from tfm_grader.sandbox.inside.channel import Channel, TimeUp

STEP = 0.1  # seconds between two looks at the process
TICK = os.sysconf("SC_CLK_TCK")
ASLEEP, DISK = b"StT", b"D"  # sleeping and stopped; waiting for the machine's memory or disk
AGAIN = 1.0  # seconds of its own time between two interrupts of a process that goes on


class OutOfCpu(TimeUp):
    """The process took more processor time than it may."""


class Slept(TimeUp):
    """The process slept or waited longer than it may."""


class Starved(TimeUp):
    """The machine was too busy: the process could have worked, and got no processor for most of the time."""


@dataclass
class Spent:
    """Seconds that a process spent while it was waited for."""

    cpu: float = 0.0
    asleep: float = 0.0
    waited: float = 0.0  # by the clock

    @property
    def own(self) -> float:
        return self.cpu + self.asleep


def most_waiting(cpu: float) -> float:
    """Return how long (s, by the clock) to wait for a process that may take `cpu` seconds of processor time."""
    return 10 * cpu + 60


class TimedChannel(Channel):
    """A channel whose other end is the process `pid`; what it may spend is set by `allow`."""

    def __init__(self, reader: int, writer: int, budget: int | None = None):
        super().__init__(reader, writer, budget)
        self.pid = 0  # of the process that is watched; 0 as long as only `deadline` counts
        self.spent = Spent()  # since `allow`
        self.own = 0.0  # seconds of its own since it is watched
        self._most = Spent(math.inf, math.inf, math.inf)
        self._interrupt_after = math.inf
        self._began = self._looked = 0.0  # its processor time at `allow`; when it was last looked at
        self._unseen = 0.0  # seconds waited for which it is not known yet whether it slept
        self._before: tuple[float, dict[str, float]] = 0.0, {}  # `spent.cpu` and the `busy` of its threads before these

    def watch(self, pid: int) -> None:
        """Watch the process `pid` from now on. Raises OSError if the machine hides it."""
        cpu_seconds(pid)
        self.pid = pid

    def allow(self, cpu: float, asleep: float = math.inf, interrupt_after: float = math.inf) -> None:
        """Allow the process this much, in seconds, from now on; beyond it, waiting raises OutOfCpu, Slept or Starved.

        After `interrupt_after` seconds of its own, it is sent SIGALRM, again and again.
        """
        self.deadline = None
        self.own += self.spent.own
        self.spent, self._most = Spent(), Spent(cpu, asleep, most_waiting(cpu))
        self._interrupt_after, self._unseen = interrupt_after, 0.0
        with suppress(OSError):
            self._began, self._before = cpu_seconds(self.pid), (0.0, busy(self.pid)[0])

    def line(self) -> bytes:
        if self.pid and time.monotonic() - self._looked > STEP:  # also if something always comes, so that nothing waits
            self._look()
        return super().line()

    def _wait(self, writing: bool) -> None:
        if not self.pid:
            super()._wait(writing)
            return
        waiting = select.poll()
        waiting.register(self.writer if writing else self.reader, select.POLLOUT if writing else select.POLLIN)
        began = time.monotonic()
        waiting.poll(1000 * STEP)
        waited = time.monotonic() - began
        self.spent.waited += waited
        self._unseen += waited
        if self._unseen >= STEP:
            self._look()

    def _look(self) -> None:
        """See what the process has spent. Raises OutOfCpu, Slept or Starved if that is too much."""
        self._looked = time.monotonic()
        with suppress(OSError):  # it has ended, which reading will tell
            self.spent.cpu = cpu_seconds(self.pid) - self._began
            self._see_sleep(*busy(self.pid))
        spent, most = self.spent, self._most
        if spent.cpu > most.cpu:
            raise OutOfCpu(f"{spent.cpu:.1f} seconds of processor time")
        if spent.asleep > most.asleep:
            raise Slept(f"{spent.asleep:.1f} seconds asleep")
        if spent.waited > most.waited:
            raise Starved(
                f"the machine was too busy: in {spent.waited:.0f} seconds, the program that was waited for got a processor "
                f"for {spent.cpu:.1f}"
            )
        if spent.own > self._interrupt_after:
            self._interrupt_after = spent.own + AGAIN
            with suppress(OSError):
                os.kill(self.pid, signal.SIGALRM)

    def _see_sleep(self, now: dict[str, float], states: Mapping[str, bytes]) -> None:
        """Add to what was slept what the threads were neither running nor ready to run, which they are `now`."""
        cpu, before = self._before
        ready = any(states[each] not in ASLEEP and now[each] == before.get(each) for each in now)
        kept_waiting = DISK in states.values() or (ready and not any(now.values()))  # where the system counts nothing
        if ready and not kept_waiting:
            return  # for how long a thread has been ready is counted when it runs
        if not kept_waiting:
            busiest = max((seconds - before.get(each, 0.0) for each, seconds in now.items()), default=0.0)
            slept = self._unseen - max(self.spent.cpu - cpu, busiest)  # below 0 where the last look was too early
            self.spent.asleep = max(0.0, self.spent.asleep + slept)
        self._before, self._unseen = (self.spent.cpu, now), 0.0


def cpu_seconds(pid: int) -> float:
    """Return the processor time that all threads of process `pid` have used. Raises OSError if it is not there."""
    parts = _after_name(f"/proc/{pid}/stat")
    return (int(parts[11]) + int(parts[12])) / TICK


def busy(pid: int) -> tuple[dict[str, float], dict[str, bytes]]:
    """Return for each thread of process `pid` the seconds in which it ran or was ready to, and its state: R, S, …

    The seconds are 0 where the system doesn't count them. Raises OSError if the process is not there.
    """
    seconds, states = {}, {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with suppress(FileNotFoundError, ProcessLookupError):
            states[thread] = _after_name(f"/proc/{pid}/task/{thread}/stat")[0]
            seconds[thread] = 0.0
            with open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file:
                seconds[thread] = sum(map(int, file.read().split()[:2])) / 1e9
    return seconds, states


def _after_name(path: str) -> list[bytes]:
    """Read a `stat` file from its third field on: the second is a name, which may hold anything."""
    with open(path, "rb") as file:
        return file.read().rpartition(b") ")[2].split()
