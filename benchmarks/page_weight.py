"""What a page transfers before a click, gzipped: all but fonts, and of it the widgets' code and data."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row
from benchmarks.served import served_book
from tfm_book.notebooks.contents import pages

PAGE, WIDGETS = 200, 60  # KB
FILM, SHOWING = 130, ("chapters/intro",)  # widget code and data of the pages that show the film
FONTS = (".woff2", ".woff", ".ttf", ".otf")
STATE = re.compile(r'<script type="application/vnd\.jupyter\.widget-state\+json">(.*?)</script>', re.DOTALL)


def measure(root: Path) -> Iterator[Row]:
    with served_book(root) as (browser, address):
        for name in pages(root):
            total, widgets = _weigh(browser, address, name)
            yield Row(f"{name}: page before a click", total, PAGE, "KB")
            yield Row(f"{name}: of it widget code and data", widgets, FILM if name in SHOWING else WIDGETS, "KB")


def _weigh(browser, address: str, name: str) -> tuple[float, float]:
    loaded: dict[str, bytes] = {}
    page = browser.new_page()
    page.on("response", lambda response: loaded.setdefault(response.url, response.body()) if response.ok else None)
    page.goto(f"{address}/{name}.html", wait_until="networkidle")
    page.close()
    sizes = {url: len(gzip.compress(body)) for url, body in loaded.items() if not url.endswith(FONTS)}
    state = "".join(STATE.findall(loaded[f"{address}/{name}.html"].decode()))
    widgets = sum(size for url, size in sizes.items() if "/_widgets/" in url) + len(
        gzip.compress(state.encode())
    ) * bool(state)
    return sum(sizes.values()) / 1000, widgets / 1000
