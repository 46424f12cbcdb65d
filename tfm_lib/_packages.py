"""Programs that pip cannot bring: installed where that can be done without a question."""

from __future__ import annotations

import os
import shutil
import subprocess


def apt_install(name: str) -> bool:
    """Install the Debian package `name`, if this is root and there is apt-get; whether that was done."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    quietly(["apt-get", "update", "-q"])
    return quietly(["apt-get", "install", "-y", "-q", "--no-install-recommends", name])


def quietly(command: list[str]) -> bool:
    """Run `command` without its words and questions; whether it ended well."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, check=False, capture_output=True, env=environment).returncode == 0
