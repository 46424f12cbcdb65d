"""The book as the tests see it: built once a session, and a browser to look at it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def built_book() -> Path:
    """The folder of the built pages, `_build/html`; a book that does not build fails every test that needs it."""
    from filelock import FileLock

    (ROOT / "_build").mkdir(exist_ok=True)
    with FileLock(ROOT / "_build" / ".tests.lock"):  # the workers of one session share one build
        run = subprocess.run(
            [sys.executable, "-m", "tfm_lib.cli", "build"], cwd=ROOT, capture_output=True, text=True
        )
    if run.returncode != 0:
        pytest.fail(f"the book does not build:\n{run.stdout[-2000:]}\n{run.stderr[-4000:]}", pytrace=False)
    return ROOT / "_build" / "html"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A headless Chromium, the machine's own; without one the tests that need it fail and say how to get it."""
    from playwright.sync_api import sync_playwright

    from tfm_lib.book.browser import find_browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(find_browser()), args=["--no-sandbox"])
        yield browser
        browser.close()
