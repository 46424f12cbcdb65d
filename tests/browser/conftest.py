"""The built book in a real browser. Whatever a test does, its pages ask nobody outside and print no error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

from browser.driving import DESKTOP, PATIENCE, until
from tfm_book.browser import MissingBrowser, find_browser


class Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium, the machine's own; without one the tests fail and say how to get it."""
    try:
        path, missing = find_browser(), ""
    except MissingBrowser as error:
        path, missing = None, str(error)
    if missing:
        pytest.fail(missing, pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(path))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def contexts(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """contexts("dark"): one browser profile for each colour scheme, one without scripts, and one for fingers."""
    made: dict[tuple, BrowserContext] = {}

    def context(scheme: str = "light", scripts: bool = True, touch: bool = False) -> BrowserContext:
        key = (scheme, scripts, touch)
        if key not in made:
            made[key] = browser.new_context(
                color_scheme=scheme,
                java_script_enabled=scripts,
                has_touch=touch,
                reduced_motion="reduce",
                viewport=DESKTOP,
                permissions=["clipboard-read", "clipboard-write"],
            )
            made[key].set_default_timeout(PATIENCE)
            made[key].new_page()  # an empty tab that stays: beside it others open in two thirds of the time
        return made[key]

    yield context
    for each in made.values():
        each.close()


@pytest.fixture(scope="package")
def serve() -> Iterator[Callable[[Path], str]]:
    """serve(folder): the address of a server on the loopback that shows the folder."""
    servers = []

    def start(folder: Path) -> str:
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="package")
def bases(built_book: Path, serve: Callable[[Path], str]) -> dict[str, str]:
    """Where the book is, on http and on file."""
    return {"http": serve(built_book), "file": built_book.as_uri() + "/"}


class Visitor:
    """Opens pages, and notes what goes wrong on them."""

    def __init__(self, contexts: Callable[..., BrowserContext], bases: dict[str, str]) -> None:
        self.contexts, self.bases = contexts, bases
        self.pages: list[Page] = []
        self.troubles: list[str] = []

    def blank(
        self,
        base: str,
        scheme: str = "light",
        viewport: dict = DESKTOP,
        scripts: bool = True,
        broken: bool = False,
        touch: bool = False,
    ) -> Page:
        """A new page that may ask `base` only; it may print errors where `broken` says that something is made to fail."""
        page = self.contexts(scheme, scripts, touch).new_page()
        page.set_viewport_size(viewport)
        self.pages.append(page)
        page.on("request", lambda request: self._asks(request.url, base))
        if not broken:
            page.on(
                "console", lambda message: message.type in ("error", "warning") and self.troubles.append(message.text)
            )
            page.on("pageerror", lambda error: self.troubles.append(str(error)))
            page.on("requestfailed", self._failed)
        return page

    def __call__(self, name: str, at: str = "http", hash: str = "", **options) -> Page:
        """The page `name` of the book ("chapters/masking"), its widgets live."""
        page = self.blank(self.bases[at], **options)
        page.goto(f"{self.bases[at]}{name}.html{hash}")
        if options.get("scripts", True):
            settled(page)
        return page

    def _failed(self, request: Request) -> None:
        if "ABORTED" not in request.failure:  # what the browser itself drops, since the page is left, is no trouble
            self.troubles.append(f"{request.url}: {request.failure}")

    def _asks(self, url: str, base: str) -> None:
        if not url.startswith((base, "data:", "blob:")):
            self.troubles.append(f"asks for {url}")


def settled(page: Page) -> None:
    """Wait until every widget of the page is live, or has failed."""
    until(page, "[...document.querySelectorAll('.tfm-widget')].every((box) => box.dataset.state)")
    page.evaluate(
        "document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))))"
    )


@pytest.fixture(scope="package")
def visitor(
    contexts: Callable[..., BrowserContext], bases: dict[str, str]
) -> Callable[[], AbstractContextManager[Visitor]]:
    """`with visitor() as visit:` opens pages until its end; nothing may go wrong on them."""

    @contextmanager
    def opened() -> Iterator[Visitor]:
        visitor = Visitor(contexts, bases)
        try:
            yield visitor
        finally:
            for page in visitor.pages:
                page.close()
        if visitor.troubles:
            pytest.fail("in the browser:\n" + "\n".join(dict.fromkeys(visitor.troubles)), pytrace=False)

    return opened


@pytest.fixture
def visit(visitor: Callable[[], AbstractContextManager[Visitor]]) -> Iterator[Visitor]:
    """visit("chapters/masking", at="file", scheme="dark") opens a page of the book; nothing may go wrong on it."""
    with visitor() as visit:
        yield visit
