"""The built pages in a headless Chromium, over http as from a web server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from tfm_book.browser import find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served_book(root: Path) -> Iterator[tuple[Browser, str]]:
    """A browser, and the address where `_build/html` is served."""
    html = root / "_build" / "html"
    if not (html / "index.html").is_file():
        raise SystemExit("The book is not built yet. Build it first: tfm build")
    executable = find_browser()
    from playwright.sync_api import sync_playwright

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(html))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=str(executable), args=["--no-sandbox"])
            try:
                yield browser, f"http://127.0.0.1:{server.server_port}"
            finally:
                browser.close()
                server.shutdown()
