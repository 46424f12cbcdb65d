"""Find a Chromium for the tests and the measurements, or install one."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tfm_lib._packages import apt_install, quietly
from tfm_lib._refusal import Refusal

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
PLAYWRIGHT_CACHES = ("~/.cache/ms-playwright", "~/Library/Caches/ms-playwright")


class MissingBrowser(Refusal):
    """No Chromium was found; the message says where we looked and how to fix it."""


def find_browser() -> Path:
    """Return the first Chromium found in `$CHROMIUM`, the PATH, the applications or Playwright's folder."""
    if named := os.environ.get("CHROMIUM"):
        if path := shutil.which(named):
            return Path(path)
        raise MissingBrowser(f"CHROMIUM names {named}, which is no program here. Point it at a Chromium, or unset it.")
    for name in NAMES:
        if path := shutil.which(name):
            return Path(path)
    for application in APPLICATIONS:
        if os.access(application, os.X_OK):
            return Path(application)
    for cache in filter(None, (os.environ.get("PLAYWRIGHT_BROWSERS_PATH"), *PLAYWRIGHT_CACHES)):
        found = sorted(Path(cache).expanduser().glob("chromium-*/chrome-*/**/[Cc]hrom*"))
        for program in reversed(found):
            if program.name in ("chrome", "Chromium", "Google Chrome for Testing") and os.access(program, os.X_OK):
                return program
    raise MissingBrowser(
        "No Chromium was found (looked for " + ", ".join(NAMES) + ", and for Playwright's). "
        "Install one (Debian, Ubuntu: apt install chromium; macOS: brew install --cask chromium; anywhere: "
        "playwright install chromium), or say where yours is: CHROMIUM=/path/to/chromium."
    )


def install_browser() -> Path:
    """Return `find_browser()`; if there is no browser, try to install one first."""
    try:
        return find_browser()
    except MissingBrowser:
        if os.environ.get("CHROMIUM"):
            raise
    print("Browser: none found, installing one.", flush=True)
    if apt_install("chromium"):
        return find_browser()
    quietly([sys.executable, "-m", "playwright", "install", "chromium"])
    return find_browser()


if __name__ == "__main__":
    try:
        install_browser()
    except MissingBrowser as missing:
        sys.exit(str(missing))
