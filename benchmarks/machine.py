"""The translator in the page, warm: start from cached scripts, a ten-word sentence greedily and by a beam of 4, and what it transfers."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row
from benchmarks.served import served_book

PAGE = "chapters/decoding.html"
SENTENCE = "The old man reads a book in the garden today."
START, GREEDY, BEAM, SIZE, CODE = 500, 150, 400, 8000, 25  # ms, ms, ms, KB, KB
TIMES = 9
# Every weight and the rivals of every word are part of what comes back.
MEASURE = """async ({ sentence, times }) => {
  const { lazy } = globalThis.tfmKit;
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  const timed = async (act) => {
    const before = performance.now();
    const made = await act();
    return [performance.now() - before, made];
  };
  await lazy("twin.js");
  const { shipped, start, broken } = globalThis.tfmTwin;
  const fresh = () => (delete globalThis.tfmModels["en-fr"], shipped(async (path, done) => (await import_(path), done()), String, () => {}));
  const import_ = (path) => new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: new URL(`../_widgets/${path}`, location.href).href, onload: resolve, onerror: reject });
    document.head.append(script);
  });
  await fresh(); // the browser keeps what it has fetched
  const starts = [];
  let machine;
  for (let i = 0; i < 5; i++) {
    const [took, made] = await timed(async () => start(await fresh()));
    starts.push(took);
    machine = made;
  }
  const found = { start: median(starts) };
  for (const by of ["greedy", "beam"]) {
    const took = [];
    for (let i = 0; i < times + 2; i++) took.push((await timed(() => machine.ask({ sentence, how: { by, beam: 4, alpha: 0.6 }, broken: broken([]) })))[0]);
    found[by] = median(took.slice(2));
  }
  return found;
}"""


def measure(root: Path) -> Iterator[Row]:
    with served_book(root) as (browser, address):
        page = browser.new_page()
        page.goto(f"{address}/{PAGE}", wait_until="networkidle")
        found = page.evaluate(MEASURE, {"sentence": SENTENCE, "times": TIMES})
    yield Row("translator: start from cached scripts, median of 5", found["start"], START, "ms", 0)
    yield Row(f"translator: ten words greedily, median of {TIMES}", found["greedy"], GREEDY, "ms", 0)
    yield Row(f"translator: ten words by a beam of 4, median of {TIMES}", found["beam"], BEAM, "ms", 0)
    scripts = root / "_build" / "html" / "_widgets"
    sizes = {
        path: len(gzip.compress(path.read_bytes())) / 1000
        for path in [*scripts.glob("en-fr/*.js"), scripts / "twin.js"]
    }
    yield Row("translator: transferred on a wish, gzipped", sum(sizes.values()), SIZE, "KB", 0)
    yield Row("translator: of it code", sizes[scripts / "twin.js"], CODE, "KB")
