"""A server of `tfm read` for tests: its pages, its working copy and all that Jupyter keeps are in folders of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

STARTS_WITHIN = 120  # seconds
CODE = "import sys; from pathlib import Path; from tfm_book.reading import serve; serve(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), False, lambda url: print(url, flush=True))"


@dataclass(frozen=True)
class Server:
    url: str  # with the token
    work: Path
    mine: Path

    @property
    def base(self) -> str:
        return "{0.scheme}://{0.netloc}/".format(urlsplit(self.url))

    @property
    def token(self) -> str:
        return self.url.partition("token=")[2]

    def page(self, name: str) -> str:
        return f"{self.base}tfm-read/{name}.html?token={self.token}"


@contextlib.contextmanager
def reading(pages: Path, home: Path) -> Iterator[Server]:
    """Serve `pages` from `home`, whose folder `work` is the working copy."""
    (home / "work").mkdir(exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {name: str(home / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    with (home / "log").open("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", CODE, str(pages), str(home / "work"), str(port)],
            env={**os.environ, **own, "TFM_MINE_FOLDER": str(home / "mine"), "PYTEST_CURRENT_TEST": ""},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            until, url = time.monotonic() + STARTS_WITHIN, ""
            while not url and process.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
                url = next((line for line in (home / "log").read_text().splitlines() if line.startswith("http")), "")
            if not url:
                pytest.fail(f"The server did not start:\n{(home / 'log').read_text()[-3000:]}", pytrace=False)
            yield Server(url, home / "work", home / "mine")
        finally:
            end(process)


def end(process: subprocess.Popen) -> None:
    """End a server that was started in a session of its own, and its kernels."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
