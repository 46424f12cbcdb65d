"""Before any submission: does the sandbox hold? Grading is refused where it does not."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tfm_lib.classroom.backends import ENVIRONMENT, NoSandbox, links_to_python, visible_folders
from tfm_lib.classroom.inside.channel import TimeUp
from tfm_lib.classroom.inside.peer import Raised
from tfm_lib.classroom.manifest import Limits
from tfm_lib.classroom.replies import JudgePeer, Stopped
from tfm_lib.classroom.sandbox import Sandbox

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
    """What was tried, in words; raises NoSandbox with what the sandbox lets through. `private` must be invisible in it."""
    home = os.path.expanduser("~")
    hidden = [str(path) for path in [*private, PROBE]] + ([home] if home != "/" else [])
    shown = visible_folders() + [link for link, _ in links_to_python()]
    roomy = replace(limits, seconds=60)  # a busy machine is no hole
    _require_ipython(sandbox, roomy)
    open_doors: list[str] = _ask(sandbox, roomy, "look", hidden, shown, [*ENVIRONMENT, *HARMLESS])
    _ask(sandbox, roomy, "leave_something")
    open_doors += _ask(sandbox, roomy, "look", hidden, shown, [*ENVIRONMENT, *HARMLESS])
    if sandbox.backend.forks:
        open_doors += _ask(sandbox, roomy, "push", limits.memory + 256, limits.disk + 8, limits.processes)
    began = time.monotonic()
    try:
        _ask(sandbox, replace(limits, seconds=0.5 if sandbox.backend.forks else limits.seconds), "hang")
    except NoSandbox as stopped:
        if not isinstance(stopped.__cause__, Stopped) or not isinstance(stopped.__cause__.args[0], TimeUp):
            raise
    if time.monotonic() - began > 60 + limits.seconds:
        open_doors.append("an endless loop is not ended")
    if open_doors:
        raise NoSandbox(
            f"The sandbox does not hold: {'; '.join(sorted(set(open_doors)))}. Nothing was graded. "
            "Run on another machine, or report this with your system's name and the version of bubblewrap."
        )
    return [
        "no network",
        "no files but copies of Python's",
        "no other process",
        "no signals",
        "nothing left behind",
        "limits hold",
    ]


def _require_ipython(sandbox: Sandbox, limits: Limits) -> None:
    """Without IPython's translator a `%%time` would cost its cell, so that nothing is graded; raises NoSandbox."""
    with sandbox.cell(limits) as cell:
        if JudgePeer(cell.channel).call("translates") is not True:
            raise NoSandbox(
                "IPython is missing where submissions run, so that notebooks with lines such as %time would be misread. "
                "Nothing was graded. Install it beside torch (pip install ipython), and run the command again."
            )


def _ask(sandbox: Sandbox, limits: Limits, function: str, *args: Any) -> Any:
    """What the probe's `function` finds, in a fresh cell."""
    source = PROBE.read_text(encoding="utf-8")
    try:
        with sandbox.cell(limits) as cell:
            peer = JudgePeer(cell.channel)
            how = {"whole": True, "before": None, "seconds": 60.0, "cpu": limits.cpu}
            peer.call("load", [[source], [function], {}, [], how])
            return peer.call(f"answer {function}", args)
    except (Stopped, Raised) as error:
        raise NoSandbox(f"The sandbox's self-test could not run ({function}: {error}). Nothing was graded.") from error
