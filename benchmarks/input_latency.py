"""How long the widgets' scripts work for one input event: the 95th percentile over real keys, clicks and drags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.row import Row
from benchmarks.served import served_book
from tfm_book.notebooks.contents import pages

if TYPE_CHECKING:
    from playwright.sync_api import Page

BAR = 8  # ms
KEYS = ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"] * 3
SWEEP = 30  # pointer positions across a stage
AFTER_THE_FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def measure(root: Path) -> Iterator[Row]:
    with served_book(root) as (browser, address):
        for name in pages(root):
            page = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
            page.goto(f"{address}/{name}.html", wait_until="networkidle")
            if page.locator(".tfm-widget").count():
                page.wait_for_function(
                    "() => [...document.querySelectorAll('.tfm-widget')].every(w => w.dataset.state === 'live')"
                )
                times = sorted(_events(page))
                yield Row(
                    f"{name}: scripting per input event, 95th of {len(times)}",
                    times[int(0.95 * (len(times) - 1))],
                    BAR,
                    "ms",
                )
            page.close()


def _events(page: Page) -> Iterator[float]:
    """Milliseconds of scripting for each event on each control, and for a drag across each stage."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def scripting() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "ScriptDuration") * 1000

    def cost(act) -> float:
        before = scripting()
        act()
        page.evaluate(AFTER_THE_FRAME)
        return scripting() - before

    for control in page.locator(".tfm-widget [data-control]").all():
        if not control.is_visible() or not control.is_enabled():
            continue
        control.focus()
        for key in KEYS:
            yield cost(lambda key=key: page.keyboard.press(key))
    for stage in page.locator(".tfm-widget [data-stage]").all():
        stage.scroll_into_view_if_needed()
        box = stage.bounding_box()
        if box is None:
            continue
        places = [
            (box["x"] + box["width"] * (i + 1) / (SWEEP + 2), box["y"] + box["height"] * (0.3 + 0.4 * i / SWEEP))
            for i in range(SWEEP)
        ]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places:
            yield cost(lambda place=place: page.mouse.move(*place))
        page.mouse.up()
