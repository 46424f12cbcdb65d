"""How long a frame takes while something plays: the film, and the five slowest of all other widgets that have a Play."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row
from benchmarks.served import served_book
from tfm_book.notebooks.contents import pages

MEDIAN, SLOW = 20, 50  # ms: fifty frames a second, and what 99 frames of 100 keep
SECONDS = {"transformer/film": 12.0}
OTHERS, SHOWN = 4.0, 5
FRAMES = """async (play, seconds) => {
  play.scrollIntoView({ block: "center" });
  await new Promise((done) => setTimeout(done, 300));
  play.click();
  const times = [];
  for (let last = await new Promise(requestAnimationFrame), end = last + 1000 * seconds; last < end; ) {
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  return times.sort((a, b) => a - b);
}"""


def measure(root: Path) -> Iterator[Row]:
    found: dict[str, list[float]] = {}
    with served_book(root) as (browser, address):
        for name in pages(root):
            page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="no-preference")
            page.goto(f"{address}/{name}.html", wait_until="networkidle")
            for widget in page.locator('.tfm-widget:has([data-control$=" play"])').all():
                module = widget.get_attribute("data-module")
                if module not in found:
                    play = widget.locator('[data-control$=" play"]').first
                    found[module] = play.evaluate(FRAMES, SECONDS.get(module, OTHERS))
            page.close()
    slowest = sorted(found, key=lambda module: (module not in SECONDS, -_share(found[module], 0.99)))
    for module in slowest[: len(SECONDS) + SHOWN]:
        times = found[module]
        yield Row(f"{module}: a frame while it plays, median of {len(times)}", _share(times, 0.5), MEDIAN, "ms")
        yield Row(f"{module}: a frame while it plays, 99th of 100", _share(times, 0.99), SLOW, "ms")


def _share(times: list[float], share: float) -> float:
    return times[int(share * (len(times) - 1))]
