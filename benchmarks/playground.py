"""The playground in a browser, at its default: time of an update, time until it is exact, the page's thread, and memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser

from benchmarks.row import Row
from benchmarks.served import served_book
from tfm_lib.corpora.words import COUNT

UPDATE, SECONDS, EVENT, MEMORY = 25, 60, 8, 200  # ms: forty updates a second; s until 99 % are exact; ms; MB
UPDATES, LONGEST = 1500, 120  # of a run; seconds
# What each message of the worker costs the page's thread, with the drawing that follows at once.
SPENT = """(() => {
  window.spent = [];
  const own = Object.getOwnPropertyDescriptor(Worker.prototype, "onmessage");
  Object.defineProperty(Worker.prototype, "onmessage", { set(hear) {
    own.set.call(this, (event) => {
      const before = performance.now();
      hear(event);
      queueMicrotask(() => window.spent.push(performance.now() - before));
    });
  } });
})()"""


def memory(browser: Browser) -> float:
    """The memory of the browser's pages and their workers in MB, each shared page of it by its share; on Linux only."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    texts = [Path(f"/proc/{each['id']}/smaps_rollup").read_text() for each in found if each["type"] == "renderer"]
    return sum(int(text.partition("\nPss:")[2].split()[0]) for text in texts) / 1024


def measure(root: Path) -> Iterator[Row]:
    with served_book(root) as (browser, address):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(SPENT)
        page.goto(f"{address}/chapters/playground.html", wait_until="networkidle")
        before = memory(browser)
        readout = page.locator('[data-module="playground/playground"] .tfm-readout').first
        page.locator('[data-control="train"]').first.click()
        began = time.monotonic()
        seen = [(0.0, 0, 0)]  # seconds, updates, words that are exact
        while seen[-1][1] < UPDATES and seen[-1][0] < LONGEST:
            time.sleep(0.2)
            words = readout.inner_text().split()
            if int(words[1]) < UPDATES or len(seen) > 1:  # before, the recorded run is shown
                seen.append((time.monotonic() - began, int(words[1]), int(words[4])))
        taken = memory(browser) - before
        spent = sorted(page.evaluate("window.spent"))
    (start, first, _), (end, last, _) = seen[1], seen[-1]
    exact = next((seconds for seconds, _, right in seen if right >= 0.99 * COUNT), LONGEST)
    yield Row(
        f"playground: an update of 32 words, mean of {last - first}",
        1000 * (end - start) / (last - first),
        UPDATE,
        "ms",
    )
    yield Row("playground: memory that a run takes", taken, MEMORY, "MB")
    yield Row("playground: until 99 % of the unseen words are exact", exact, SECONDS, "s")
    yield Row(
        f"playground: an answer of the worker on the page's thread, 95th of 100 of {len(spent)}",
        spent[int(0.95 * len(spent))],
        EVENT,
        "ms",
    )
