"""Run pip for `make`: choose PyTorch's CPU build unless told otherwise, and explain failures in one sentence.

The environment's own Python runs this file before anything is installed, so it uses the standard library only.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
# settings that tell pip where to look; the environment variables have the same names with PIP_ in front
PLACES = ("index-url", "extra-index-url", "find-links", "no-index")
CAUSES = (
    (
        r"No space left on device",
        "The disk is full. The environment takes about 2 GB. Free some space, and run the command again.",
    ),
    (
        r"Read-only file system|Permission denied|EnvironmentError: \[Errno 13\]",
        "The environment cannot be written: {folder}. Copy the book to a folder of your own, or take back its ownership.",
    ),
    (
        (
            r"NewConnectionError|NameResolutionError|Failed to establish a new connection|Temporary failure in name resolution"
            r"|Network is unreachable|ConnectTimeoutError|ReadTimeoutError|ProxyError|Connection refused"
        ),
        (
            "No package index could be reached. The first set-up needs a network, once; after it the book builds without. "
            "Behind a proxy, set HTTPS_PROXY; with a mirror, `pip config set global.index-url …`."
        ),
    ),
)


def command_line(arguments: Sequence[str], platform: str, environment: Mapping[str, str], settings: str) -> list[str]:
    """Return the arguments for `pip install`. On Linux, torch comes from PyTorch's index of CPU builds, unless pip has
    already been told where to look, or TORCH=default asks for the default index.

    `settings` is what `pip config list` prints.
    """
    told = any(environment.get(f"PIP_{place.replace('-', '_').upper()}") for place in PLACES)
    told = told or any(re.search(rf"^[\w-]+\.{place}=", settings, flags=re.MULTILINE) for place in PLACES)
    takes_torch = any(re.fullmatch(r"torch\b[\w.=<>~!,]*", argument) for argument in arguments)
    cpu = takes_torch and platform == "linux" and not told and environment.get("TORCH") != "default"
    return [*arguments, "--extra-index-url", CPU_BUILDS] if cpu else [*arguments]


def cause(output: str, folder: str) -> str | None:
    """Explain pip's `output` in plain words; None if the cause is not known."""
    for pattern, sentence in CAUSES:
        if re.search(pattern, output):
            return sentence.format(folder=folder)
    return None


def main(arguments: Sequence[str]) -> int:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    settings = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False).stdout
    chosen = command_line(arguments, sys.platform, os.environ, settings)
    if CPU_BUILDS in chosen:
        print(
            "PyTorch: its CPU build, which is all that the book uses. For an accelerator's: make book TORCH=default",
            flush=True,
        )
    run = subprocess.Popen([*pip, "install", "--quiet", *chosen], stderr=subprocess.PIPE, text=True)
    said = list(run.stderr)
    if code := run.wait():
        sys.stderr.writelines(said)
        print(
            cause("".join(said), sys.prefix) or "pip could not install what is needed; its words stand above.",
            file=sys.stderr,
        )
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
