"""Start kernels by forking a process that has already imported what nearly every chapter needs.

A kernel of its own takes two seconds to import IPython and torch, and its first cells three more for what they use. A
fork takes none, and each chapter still gets an interpreter in which no line of a chapter has run. Where a process that
uses torch can't be forked safely (macOS, Windows), kernels are started in the usual way.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from typing import Any, ClassVar, NoReturn, Self

NEEDED = (
    "ipykernel.ipkernel", "ipykernel.kernelapp", "torch", "torch.testing", "numpy", "matplotlib.pyplot", "anywidget",
    "jaxtyping", "sqlite3",
)  # fmt: skip


class Nursery:
    """The process that forks kernels; a context manager. `manager` is the class of kernel manager to give nbclient."""

    def __init__(self, environment: dict[str, str]) -> None:
        from jupyter_client import AsyncKernelManager

        self.manager: type[AsyncKernelManager] = AsyncKernelManager
        self.environment = environment

    def __enter__(self) -> Self:
        if sys.platform == "linux":
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__],  # as a file, so that nothing of ours is imported
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**self.environment, "MPLBACKEND": "module://matplotlib_inline.backend_inline"},  # as kernels set it
                start_new_session=True,  # Ctrl-C is for the build, which then ends the kernels
            )  # fmt: skip
            self.manager = forking_manager(self)
        return self

    def __exit__(self, *_: object) -> None:
        if sys.platform == "linux":
            self._process.communicate()  # closes its input, at which it ends

    def fork(self, arguments: list[str], environment: dict[str, str], folder: str, log: str) -> Forked:
        """Fork a kernel with the arguments of `ipykernel_launcher`; it writes what it prints to the file `log`."""
        request = {"arguments": arguments, "environment": environment, "folder": folder, "log": log}
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return Forked(int(self._process.stdout.readline()))
        except (OSError, ValueError) as error:
            raise RuntimeError("the process that starts kernels has ended (out of memory?)") from error


class Forked:
    """A kernel that is not our child, with the methods of `subprocess.Popen` that jupyter_client calls."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        import psutil

        self.pid = pid
        try:
            self._process = psutil.Process(pid)
        except psutil.NoSuchProcess:
            self._process = None

    def poll(self) -> int | None:
        """Return None while the kernel runs, then 0: its exit status is not known to us."""
        return None if self._process and self._process.is_running() else 0

    def wait(self) -> int:
        if self._process:
            self._process.wait()
        return 0

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def forking_manager(nursery: Nursery) -> type:
    """Return a kernel manager that gets its kernels from `nursery`."""
    from jupyter_client import AsyncKernelManager

    class ForkingManager(AsyncKernelManager):
        home: ClassVar[Nursery] = nursery

        async def _async_launch_kernel(self, kernel_cmd: list[str], **options: Any) -> None:
            arguments = kernel_cmd[kernel_cmd.index("ipykernel_launcher") + 1 :]
            provisioner = self.provisioner
            process = self.home.fork(arguments, options["env"], str(options["cwd"]), options["stderr"].name)
            provisioner.process, provisioner.cwd = process, options["cwd"]
            provisioner.pid = provisioner.pgid = process.pid  # each kernel leads a group of its own
            self._reconcile_connection_info(provisioner.connection_info)

        _launch_kernel = _async_launch_kernel

    return ForkingManager


def main() -> None:
    """Fork a kernel for each line of the input, and write its process id."""
    for name in NEEDED:
        importlib.import_module(name)
    use_torch_once()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended kernels leave nothing behind
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            become_kernel(**request)
        print(pid, flush=True)


def use_torch_once() -> None:
    """Call what nearly every chapter calls, since torch imports 700 modules only then, which takes more than a second."""
    import torch

    number = torch.zeros(1, requires_grad=True)
    torch.testing.assert_close(number, number)
    torch.optim.Adam([number])


def become_kernel(arguments: list[str], environment: dict[str, str], folder: str, log: str) -> NoReturn:
    """Turn this process into a kernel as `python -m ipykernel_launcher` would have made it."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing, printed = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND)
    for number, file in enumerate((nothing, printed, printed)):
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(environment, JPY_PARENT_PID=str(os.getppid()))  # the kernel ends when this process's parent does
    os.chdir(folder)
    sys.argv = ["ipykernel_launcher", *arguments]
    status = 1
    try:
        IPKernelApp.launch_instance(argv=arguments)
        status = 0
    finally:
        os._exit(status)  # the loop of `main`, from which this was forked, must not go on


if __name__ == "__main__":
    main()
