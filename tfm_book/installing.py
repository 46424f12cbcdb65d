"""Run pip for `make`: choose PyTorch's CPU build unless told otherwise, show progress, and explain failures in one sentence.

The environment's own Python runs this file before anything is installed, so it uses the standard library only.
`--check` installs nothing: it says whether this environment may be installed into, and is of the Python that was named.
"""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlparse

ROOT = Path(__file__).resolve().parents[1]
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
# settings that tell pip where to look; the environment variables have the same names with PIP_ in front
INSTEAD = ("index-url", "no-index")  # pip asks nobody else
BESIDE = ("extra-index-url", "find-links")  # pip asks these too
OFF = ("", "0", "f", "false", "n", "no", "off")
SIZES = {  # by build, measured on Linux: what is downloaded, and what the environment takes on the disk
    "cpu": "About 0.3 GB is downloaded, and {folder} will take 1.4 GB of the disk (2.2 GB with the tests' packages).",
    "default": "On Linux it brings CUDA: about 2.7 GB is downloaded, and {folder} will take 5.1 GB of the disk.",
    "": "{folder} will take 1.4 GB of the disk with the CPU build, and 5.1 GB with CUDA.",
}
EVERY = 10  # seconds between two lines about the progress, where there is no terminal
CAUSES = (
    (
        r"No space left on device",
        (
            "The disk is full. The environment takes 1.4 GB, and 5.1 GB with PyTorch's build for CUDA. "
            "Free some space, and run the command again."
        ),
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

# --- where PyTorch comes from --------------------------------------------------------------------------------------


def reachable(address: str = f"{CPU_BUILDS}/torch/") -> bool:
    """Return whether a server answers at `address`, whatever it answers."""
    try:
        with urllib.request.urlopen(address, timeout=10):
            return True
    except urllib.error.HTTPError:
        return True
    except urllib.error.URLError as error:
        return isinstance(error.reason, ssl.SSLError)  # pip may know its certificate
    except OSError:
        return False


def command_line(
    arguments: Sequence[str],
    platform: str,
    environment: Mapping[str, str],
    settings: str,
    reachable: Callable[[], bool] = reachable,
) -> tuple[list[str], str]:
    """Return the arguments for `pip install`, and what to say about PyTorch; "" if the arguments do not install it.

    On Linux, torch comes from PyTorch's index of CPU builds, beside any places that pip has been told of; not if pip
    has an index of somebody's own in place of the public one, and not if TORCH=default asks for the default build.
    `settings` is what `pip config list` prints.
    """
    if not any(re.fullmatch(r"torch\b[\w.=<>~!,]*", argument) for argument in arguments):
        return [*arguments], ""
    if environment.get("TORCH") == "default":
        return [*arguments], "PyTorch: the default build, because of TORCH=default."
    if platform != "linux":
        return [*arguments], "PyTorch: the default build."
    if own := [place for place in INSTEAD if _told(place, environment, settings)]:
        return (
            [*arguments],
            f"PyTorch: from your own index alone, because pip's {own[0]} is set.",
        )
    if (beside := [place for place in BESIDE if _told(place, environment, settings)]) and not reachable():
        return (
            [*arguments],
            (
                f"PyTorch: from the places that pip is set to ({' and '.join(beside)}), because PyTorch's own index of CPU "
                "builds cannot be reached."
            ),
        )
    return (
        [*arguments, "--extra-index-url", CPU_BUILDS],
        (
            "PyTorch: its CPU build, which is all that the book uses, from PyTorch's own index. "
            "For an accelerator's: make book TORCH=default"
        ),
    )


def _told(place: str, environment: Mapping[str, str], settings: str) -> bool:
    """Return whether pip has the setting `place`, by its environment variable or its files."""
    found = re.findall(rf"^[\w:-]+\.{place}=(.*)$", settings, flags=re.MULTILINE)
    values = [environment.get(f"PIP_{place.replace('-', '_').upper()}", ""), *(each.strip("'\"") for each in found)]
    return any(value.lower() not in OFF for value in values)


def build_of_torch(version: str, packages: Sequence[str]) -> str:
    """Say which build of PyTorch is installed, by its `version` and the names of the other `packages`."""
    if version.endswith("+cpu"):
        return f"PyTorch {version} is installed: the CPU build."
    if any(name.startswith("nvidia") for name in packages):
        return f"PyTorch {version} is installed: the build with CUDA."
    return f"PyTorch {version} is installed: the default build."


# --- whose environment ---------------------------------------------------------------------------------------------


def checkout_of(place: Path) -> Path | None:
    """Return the innermost checkout of the book that `place` lies in, with links followed; None if in none."""
    place = place.resolve()
    return next(
        (
            each
            for each in (place, *place.parents)
            if (each / "tfm_lib").is_dir() and (each / "pyproject.toml").is_file()
        ),
        None,
    )


def library_of(environment: Sequence[str]) -> Path | None:
    """Return the checkout that the environment with this `sys.path` imports `tfm_lib` from; None for a wheel, or without."""
    for found in metadata.distributions(name="tfm-lib", path=list(environment)):
        noted = json.loads(found.read_text("direct_url.json") or "{}")
        if noted.get("dir_info", {}).get("editable"):
            return checkout_of(Path(unquote(urlparse(noted["url"]).path)))
    return None


def not_ours(root: Path, prefix: Path, library: Path | None) -> str:
    """Return why the environment at `prefix` is another checkout's than `root`; "" if it may be used."""
    home = checkout_of(prefix)
    if home not in (None, root):
        return (
            f"The environment {prefix} lies in another copy of the book, {home}, whose packages this would change. "
            f"Remove the link, or name another environment: make VENV=.venv-own"
        )
    if library not in (None, root):
        return (
            f"The environment {prefix} belongs to another copy of the book: its tfm_lib is that of {library}. "
            "Remove the environment, or name another one: make VENV=.venv-own"
        )
    return ""


def other_python(named: str, own: str, prefix: str) -> str:
    """Return why the Python that was `named` is not that of the environment, whose version is `own`; "" if it is."""
    asked = [named, "-c", "import sys; print(sys.version.split()[0])"]
    version = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    if version == own:
        return ""
    return (
        f"PYTHON names {named}, which is Python {version}, but the environment {prefix} was made with Python {own}. "
        f"Remove that environment, or make another one: make VENV=.venv-{version} PYTHON={named}"
    )


def check() -> int:
    """Refuse an environment of another checkout, or of another Python than the one that was named."""
    refused = not_ours(ROOT, Path(sys.prefix), library_of(sys.path))
    if not refused and (named := os.environ.get("PYTHON")):
        refused = other_python(named, sys.version.split()[0], sys.prefix)
    if refused:
        print(refused, file=sys.stderr)
    return 2 if refused else 0


# --- pip -----------------------------------------------------------------------------------------------------------


def cause(output: str, folder: str) -> str | None:
    """Explain pip's `output` in plain words; None if the cause is not known."""
    for pattern, sentence in CAUSES:
        if re.search(pattern, output):
            return sentence.format(folder=folder)
    return None


def doing(line: str) -> str | None:
    """Return what pip is doing by a `line` of its output; None if the line does not say."""
    if found := re.match(r"\s*(?:Downloading|Using cached) (\S+)(?:.* (\([\d.]+ [kMG]?B\)))?", line):
        name = unquote(found[1].rpartition("/")[2]).removesuffix(".metadata").split("-")[0]
        return f"downloading {name} {found[2] or ''}".strip()
    if found := re.match(r"\s*(?:Collecting|Processing) (\S+)", line):
        return f"collecting {re.split('[<>=!~;[]', found[1].rpartition('/')[2])[0]}"
    if line.startswith("Installing collected packages:"):
        return f"unpacking {line.count(',') + 1} packages"
    return None


class Progress:
    """Tells what pip is doing: in one live line of a terminal, else in a line every ten seconds."""

    def __init__(self) -> None:
        self.now, self._began, self._over = "starting", time.monotonic(), threading.Event()
        self._live = sys.stdout.isatty()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def _tell(self) -> None:
        while not self._over.wait(0.5 if self._live else EVERY):
            minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
            text = f"  {minutes}:{seconds:02} {self.now}"
            print(f"\r\033[K{text[:78]}" if self._live else text, end="" if self._live else "\n", flush=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._live:
            print("\r\033[K", end="", flush=True)


def install(command: Sequence[str]) -> tuple[int, str]:
    """Run pip, and return its exit code and what it complained about. Told to end, it ends pip first."""
    with tempfile.TemporaryFile("w+") as complaints, Progress() as progress:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True)
        try:
            for line in run.stdout:
                progress.now = doing(line) or progress.now
            code = run.wait()
        except KeyboardInterrupt:
            run.terminate()
            run.wait()
            raise
        complaints.seek(0)
        return code, complaints.read()


def main(arguments: Sequence[str]) -> int:
    if arguments == ["--check"]:
        return check()
    if refused := not_ours(ROOT, Path(sys.prefix), library_of(sys.path)):
        print(refused, file=sys.stderr)
        return 2
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    settings = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False).stdout
    chosen, about_torch = command_line(arguments, sys.platform, os.environ, settings)
    before = _packages()
    if about_torch and "torch" not in before:
        build = (
            "cpu" if sys.platform != "linux" or CPU_BUILDS in chosen else "default" if "TORCH=" in about_torch else ""
        )
        print(about_torch, SIZES[build].format(folder=Path(sys.prefix).name), sep="\n", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code, complaints = install([*pip, "install", "--progress-bar", "off", *chosen])
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130
    if code:
        explained = cause(complaints, sys.prefix) or "pip could not install what is needed; its words stand above."
        print(complaints, explained, sep="", file=sys.stderr)
    elif about_torch and (now := _packages()).get("torch") != before.get("torch"):
        print(build_of_torch(now["torch"], [*now]), flush=True)
    return code


def _packages() -> dict[str, str]:
    """Return the installed packages with their versions."""
    return {found.name: found.version for found in metadata.distributions() if found.name}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
