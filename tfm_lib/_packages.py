"""Install programs that pip cannot install, where that needs no confirmation."""

from __future__ import annotations

import os
import shutil
import subprocess


def apt_install(name: str) -> bool:
    """Install the Debian package `name` if running as root with apt-get; return whether that succeeded."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    quietly(["apt-get", "update", "-q"])
    return quietly(["apt-get", "install", "-y", "-q", "--no-install-recommends", name])


def quietly(command: list[str]) -> bool:
    """Run `command` without output and questions; return whether it succeeded."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, check=False, capture_output=True, env=environment).returncode == 0
