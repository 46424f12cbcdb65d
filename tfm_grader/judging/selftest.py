"""Test the sandbox before any submission is graded; grading is refused if a test fails."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tfm_grader.judging.replies import JudgePeer, Stopped
from tfm_grader.sandbox import container
from tfm_grader.sandbox.bubblewrap import (
    ENVIRONMENT,
    NoSandbox,
    book_folders,
    links_to_python,
    settings_files,
    visible_folders,
)
from tfm_grader.sandbox.inside.channel import TimeUp
from tfm_grader.sandbox.inside.remote_calls import Raised
from tfm_grader.sandbox.limits import Limits
from tfm_grader.sandbox.process import Sandbox

PROBE = Path(__file__).with_name("probe.py")
HARMLESS = {
    "LC_CTYPE",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "KMP_DUPLICATE_LIB_OK",
    "KMP_INIT_AT_FORK",
    "HOSTNAME",
    "TERM",
    "container",
}


def require_safe(sandbox: Sandbox, private: list[Path], limits: Limits) -> list[str]:
    """Test the sandbox. Returns the checks made, or raises NoSandbox listing what it lets through.

    `private` paths must be invisible in it.
    """
    home = pwd.getpwuid(0).pw_dir if sandbox.in_container else os.path.expanduser("~")
    hidden = [str(path) for path in [*private, PROBE]] + ([home] if home != "/" else [])
    if not sandbox.in_container:
        hidden += book_folders()  # these are there, but empty
    shown = [*visible_folders(), *settings_files(), *(link for link, _ in links_to_python())]
    roomy = replace(limits, seconds=60)  # a slow machine must not count as a leak
    look: tuple[Any, ...] = ("look", hidden, shown, [*ENVIRONMENT, *HARMLESS])
    if sandbox.in_container:
        look = ("look_in_container", [*hidden, *container.hidden()], [*ENVIRONMENT, *HARMLESS])
    push = ("push", limits.memory + 256, limits.disk + 8, limits.processes)
    with _probe(sandbox, roomy) as ask:
        _require_ipython(ask)
        open_doors: list[str] = ask(*look)
        if not sandbox.in_container:
            ask("leave_something")
    with _probe(sandbox, roomy) as ask:
        open_doors += ask(*look) + ask(*push)
        if not _ends(ask):
            open_doors.append("an endless loop is not ended")
    if open_doors:
        raise NoSandbox(
            f"The sandbox does not hold: {'; '.join(sorted(set(open_doors)))}. Nothing was graded. "
            + (
                "Run the commands named there, and then this one again."
                if sandbox.in_container
                else "Run on another machine, or report this with your system's name and the version of bubblewrap."
            )
        )
    if sandbox.in_container:
        return ["a user of its own", "no network", "hidden files closed", "no signals", "limits hold"]
    return [
        "no network",
        "no files but Python's",
        "no other process",
        "no signals",
        "nothing left behind",
        "limits hold",
    ]


Ask = Callable[..., Any]


@contextmanager
def _probe(sandbox: Sandbox, limits: Limits) -> Iterator[Ask]:
    """Open a fresh sandbox with the probe, and yield a function that calls the probe's functions in it."""
    with sandbox.cell(limits) as cell:
        peer = JudgePeer(cell.channel)

        def ask(function: str, *args: Any, seconds: float = limits.seconds) -> Any:
            cell.channel.allow(seconds, seconds)
            try:
                return peer.call(function if function == "translates" else f"answer {function}", args)
            except (Stopped, Raised) as error:
                raise NoSandbox(
                    f"The sandbox's self-test could not run ({function}: {error}). Nothing was graded."
                ) from error

        how = {"whole": True, "before": None}
        names = ["look", "look_in_container", "leave_something", "push", "hang"]
        try:
            peer.call("load", [[PROBE.read_text(encoding="utf-8")], {"probe": names}, {}, [], how])
        except (Stopped, Raised) as error:
            raise NoSandbox(f"The sandbox's self-test could not be loaded ({error}). Nothing was graded.") from error
        yield ask


def _require_ipython(ask: Ask) -> None:
    """Require IPython's translator, without which cells with `%%time` would be lost. Raises NoSandbox."""
    if ask("translates") is not True:
        raise NoSandbox(
            "IPython is missing where submissions run, so that notebooks with lines such as %time would be misread. "
            "Nothing was graded. Install it beside torch (pip install ipython), and run the command again."
        )


def _ends(ask: Ask) -> bool:
    """Whether an endless loop ends when its time is up."""
    began = time.monotonic()
    try:
        ask("hang", seconds=0.5)
    except NoSandbox as stopped:
        if not isinstance(stopped.__cause__, Stopped) or not isinstance(stopped.__cause__.args[0], TimeUp):
            raise
    return time.monotonic() - began < 60
