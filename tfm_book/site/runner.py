"""Execute notebooks in fresh kernels, a few at a time, and report which cell failed."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from tfm_book.site.nursery import Nursery

if TYPE_CHECKING:
    from nbformat import NotebookNode

CELL_TIMEOUT = 60  # seconds of processor time
PATIENCE = 5  # times as long by the wall clock, because other programs may use the processor too
PATIENT = "tfm_book.site.polling_client.PatientClient"
SLICE = 0.25  # seconds between two checks


@dataclass
class Job:
    """A notebook to execute: its `name` for the reader, the notebook (changed in place), and its working folder."""

    name: str
    notebook: NotebookNode
    folder: Path


@dataclass
class Failure:
    """The code cell that failed (counted from 1), its first line, and the end of its error message."""

    cell: int
    source: str
    message: str

    def __str__(self) -> str:
        where = f"code cell {self.cell} (`{self.source}`) failed" if self.cell else "its kernel did not start"
        return f"{where}:\n{self.message}"


@dataclass
class Run:
    """The outcome of a job."""

    job: Job
    seconds: float
    failure: Failure | None


class Watcher(Protocol):
    """Is notified when a notebook starts, when one of its code cells starts, and when the notebook ends."""

    def start(self, name: str, cells: int) -> None: ...

    def cell(self, name: str, number: int) -> None: ...

    def end(self, run: Run) -> None: ...


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_notebooks(
    jobs: Iterable[Job],
    watcher: Watcher,
    workers: int | None = None,
    timeout: float = CELL_TIMEOUT,
    done: Callable[[Run], None] = lambda run: None,
) -> list[Run]:
    """Execute every job, `workers` at a time, and call `done` as each one ends. A failed job does not stop the others.

    A cell may take `timeout` seconds of its kernel's processor time, and `PATIENCE` times as long by the wall clock.
    """
    jobs = list(jobs)
    if not jobs:
        return []
    workers = min(workers or cores(), len(jobs), 4)  # each kernel loads torch: memory runs out before cores do

    async def work(folder: Path, nursery: Nursery, stopping: threading.Event) -> list[Run]:
        turn = asyncio.Semaphore(workers)
        # nbclient would set handlers of its own, which end its kernels and nothing else, and take ours away.
        loop: Any = asyncio.get_running_loop()
        loop.add_signal_handler = loop.remove_signal_handler = lambda *_: False

        async def one(number: int, job: Job) -> Run:
            async with turn:
                run = await _execute(job, watcher, nursery, folder / str(number), timeout, stopping)
            done(run)
            return run

        runs = await asyncio.gather(*(one(number, job) for number, job in enumerate(jobs)), return_exceptions=True)
        if stopping.is_set():
            raise KeyboardInterrupt
        for run in runs:
            if isinstance(run, BaseException):
                raise run
        return [run for run in runs if isinstance(run, Run)]

    with (
        _noting_signals() as stopping,
        tempfile.TemporaryDirectory(prefix="tfm-") as folder,
        Nursery(kernel_environment(Path(folder))) as nursery,
    ):
        return asyncio.run(work(Path(folder), nursery, stopping))


def kernel_environment(profile: Path) -> dict[str, str]:
    """Return the environment of a chapter's kernel: one thread, reproducible hashes, an empty profile.

    A chapter's tensors are small. Two threads gain little on idle cores, and on busy ones they wait for each other.
    """
    return {
        **os.environ,
        "TFM_BOOK": "1",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",  # use this environment's kernel, whatever the user has registered
        "IPYTHONDIR": str(profile),  # skip the user's start-up files
        "TFM_MINE_FOLDER": str(profile),  # and the answers that the user has kept
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # silence a debugger warning that would appear in the page
    }


async def _execute(
    job: Job, watcher: Watcher, nursery: Nursery, socket: Path, timeout: float, stopping: threading.Event
) -> Run:
    from nbclient.exceptions import CellExecutionError, DeadKernelError
    from traitlets.config import Config

    code = [index for index, cell in enumerate(job.notebook.cells) if cell.cell_type == "code"]
    current, spent = 0, _Spent()

    def start(cell: NotebookNode, cell_index: int) -> None:
        nonlocal current, spent
        if cell_index in code:
            current, spent = code.index(cell_index) + 1, _Spent(client.km.provisioner.pid)
            watcher.cell(job.name, current)

    async def seed(notebook: NotebookNode) -> None:
        message = client.kc.execute(_seeds(notebook), silent=True, store_history=False)
        await client.async_wait_for_reply(message)

    client = _client_class()(
        job.notebook,
        # Sockets as files, because another program may take a port between its choice and its binding.
        config=Config({"KernelManager": {"transport": "ipc", "ip": str(socket), "client_class": PATIENT}}),
        kernel_manager_class=nursery.manager,
        timeout=None,  # checked below, by processor time
        shutdown_kernel="immediate",
        kernel_name="python3",
        record_timing=False,  # recorded times would differ from build to build
        resources={"metadata": {"path": str(job.folder)}},
        on_notebook_start=seed,
        on_cell_start=start,
    )
    if stopping.is_set():
        raise asyncio.CancelledError
    watcher.start(job.name, len(code))
    began, failure = time.monotonic(), None
    try:
        with socket.with_suffix(".log").open("wb") as log:  # keep a kernel's shutdown messages from the reader
            work = asyncio.ensure_future(client.async_execute(env=nursery.environment, stderr=log))
            try:
                while not (await asyncio.wait([work], timeout=SLICE))[0]:
                    if stopping.is_set():
                        raise asyncio.CancelledError
                    if current and (late := spent.too_much(timeout)):
                        raise TimeoutError(late)
                await work
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
                atexit.unregister(client._cleanup_kernel)  # left there if the kernel was still starting, as it is
                if client.km is not None and client.km.has_kernel:
                    await client._async_cleanup_kernel()
    except CellExecutionError as error:
        failure = _failure(job, code, current, _last_lines(error.traceback, f"{error.ename}: {error.evalue}"))
    except TimeoutError as error:
        failure = _failure(job, code, current, str(error))
    except DeadKernelError:
        last_words = socket.with_suffix(".log").read_text(errors="replace").strip()[-500:]
        failure = _failure(job, code, current, f"the kernel died (out of memory?) {last_words}".strip())
    except RuntimeError as error:
        if current:
            raise
        failure = _failure(job, code, current, str(error))
    run = Run(job, time.monotonic() - began, failure)
    watcher.end(run)
    return run


def _client_class() -> type:
    """Return nbclient's class, whose poll of a kernel goes on for a second after the notebook's work was cancelled."""
    from nbclient import NotebookClient
    from nbclient.exceptions import DeadKernelError

    class Client(NotebookClient):
        async def _async_check_alive(self) -> None:
            if self.kc is None:
                raise DeadKernelError("the kernel was ended")
            await super()._async_check_alive()

    return Client


@contextlib.contextmanager
def _noting_signals() -> Iterator[threading.Event]:
    """Within the block, Ctrl-C or SIGTERM only sets the event, so that the kernels are ended before the build is."""
    stopping = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    before = {number: signal.signal(number, lambda *_: stopping.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Spent:
    """Time used by a cell since it began: by the wall clock, and on its kernel's processor."""

    def __init__(self, pid: int | None = None) -> None:
        import psutil

        self._kernel = psutil.Process(pid) if pid else None
        self._began, self._before = time.monotonic(), self._processor()

    def _processor(self) -> float:
        import psutil

        try:
            return sum(self._kernel.cpu_times()[:4]) if self._kernel else 0.0  # includes children that have ended
        except psutil.Error:
            return 0.0

    def too_much(self, timeout: float) -> str:
        """Return why the cell must be stopped; empty while it may go on."""
        passed, used = time.monotonic() - self._began, self._processor() - self._before
        if used > timeout:
            return f"it had used {timeout:g} seconds of the processor, the most a cell may take"
        if passed > PATIENCE * timeout:
            return (
                f"it was still running after {PATIENCE * timeout:g} seconds, in which the processor gave it {used:.1f}. "
                "Either it waits for something, or the machine is busy: run the command again when it is quiet"
            )
        return ""


def _seeds(notebook: NotebookNode) -> str:
    """Return code that seeds the generators in use. It binds no names: a chapter that forgets an import must fail."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    seeds = ["__import__('random').seed(0)"]
    if re.search(r"\b(numpy|torch|tfm_lib)\b", code):
        seeds += ["__import__('numpy').random.seed(0)", "__import__('torch').manual_seed(0)"]
    return "; ".join(seeds)


def _failure(job: Job, code: list[int], current: int, message: str) -> Failure:
    source = job.notebook.cells[code[current - 1]].source.strip() if current else ""
    return Failure(current, source.partition("\n")[0], message)


def _last_lines(traceback: str, error: str, count: int = 6) -> str:
    """Return the end of a traceback without colours: the line that raised, and the error."""
    lines = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", traceback).splitlines() if line.strip()]
    arrow = max(
        (number for number, line in enumerate(lines) if line.startswith(("---->", "-->", "---> "))), default=None
    )
    where = [] if arrow is None else [lines[arrow].strip()]
    return "\n".join([*where, *error.strip().splitlines()[-count:]])


class Lines:
    """A watcher for logs: prints one line when a notebook ends."""

    def __init__(self, total: int) -> None:
        self.total, self.ended = total, 0

    def start(self, name: str, cells: int) -> None:
        pass

    def cell(self, name: str, number: int) -> None:
        pass

    def end(self, run: Run) -> None:
        self.ended += 1
        word = "failed" if run.failure else "executed"
        print(
            f"  {word} {run.job.name} in {run.seconds:.1f} s ({self.ended}/{self.total})", file=sys.stderr, flush=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Bars(Lines):
    """A watcher for terminals: shows a line per running notebook, with its current cell and elapsed seconds."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TaskID,
            TextColumn,
            TimeElapsedColumn,
        )

        super().__init__(total)
        self.tasks: dict[str, TaskID] = {}
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("cell"),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )

    def start(self, name: str, cells: int) -> None:
        self.tasks[name] = self.progress.add_task(name, total=cells)

    def cell(self, name: str, number: int) -> None:
        self.progress.update(self.tasks[name], completed=number - 1)

    def end(self, run: Run) -> None:
        self.progress.remove_task(self.tasks[run.job.name])
        self.ended += 1
        mark = "[red]failed[/]" if run.failure else "[green]executed[/]"
        self.progress.console.print(
            f"  {mark} {run.job.name} in {run.seconds:.1f} s ({self.ended}/{self.total})", highlight=False
        )

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()


def watcher(total: int) -> Lines:
    """Return a progress bar for a terminal, else plain lines."""
    return Bars(total) if sys.stderr.isatty() else Lines(total)
