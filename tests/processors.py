"""Run the tests that compare numbers, and build the book, as other processors round: `python tests/processors.py [NAME …]`.

A row for each imitation: the tests, the forced build, and how many numbers of the pages are not those of the ordinary
build in `_build`, which is brought up to date first. Where one differs, `-v` shows it between its neighbours.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup
from project import ROOT

#: MKL_CBWR, because processors that are not Intel's ignore the other two. The last gives a chapter's kernel one thread.
IMITATIONS = {
    "default": {"ATEN_CPU_CAPABILITY": "default"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "sse": {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"},
    "threads": {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "PASSIVE"},
}
TESTS = [
    *("tests/lib", "tests/checks", "tests/widgets"),
    *(f"tests/grader/test_{name}.py" for name in ("read_the_curve", "honest_ablation", "broken_transformer")),
    *(f"--ignore=tests/lib/test_{name}.py" for name in ("bad_input", "cli", "corpora", "mutations", "typed")),
]
BUILD = ("-m", "tfm_lib.cli", "build")


def ran(*command: str, **changes: str) -> tuple[subprocess.CompletedProcess[str], float]:
    began, environment = time.monotonic(), {**os.environ, "OMP_NUM_THREADS": "1", **changes}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True)
    return done, time.monotonic() - began


def words(page: Path) -> list[str]:
    article = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").find("article")
    return article.get_text(" ").split() if article else []


def differing(ordinary: Path, other: Path) -> Iterator[str]:
    """Each place of the pages with another number, and eight words before and after it."""
    for page in sorted(ordinary.rglob("chapters/*.html")):
        one, two = words(page), words(other / page.relative_to(ordinary))
        for kind, a, b, c, d in difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
            if kind != "equal" and re.search(r"\d", " ".join(one[a:b] + two[c:d])):
                around = f"{' '.join(one[max(a - 8, 0) : a])} [{' '.join(one[a:b])} | {' '.join(two[c:d])}]"
                yield f"{page.stem}: {around} {' '.join(one[b : b + 8])}"


def row(name: str, told: bool) -> bool:
    tests, took = ran("-m", "pytest", *TESTS, **IMITATIONS[name])
    said = re.search(r"(\d+ (?:passed|failed|error).*?) in ", tests.stdout)
    print(f"{name:8} tests: {said[1] if said else 'none'} ({took:.0f} s)", end="; ", flush=True)
    with tempfile.TemporaryDirectory() as out:
        book, took = ran(*BUILD, "--force", "--out", out, **IMITATIONS[name])
        found = list(differing(ROOT / "_build" / "html", Path(out, "html"))) if book.returncode == 0 else []
    print(f"book: {'failed' if book.returncode else 'ok'} ({took:.0f} s); {len(found)} numbers differ", flush=True)
    failed = [line for line in tests.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    print(*failed, *([book.stderr[-3000:]] if book.returncode else []), *(found if told else []), sep="\n")
    return not tests.returncode and not book.returncode


if __name__ == "__main__":
    asked = [name for name in sys.argv[1:] if name != "-v"] or list(IMITATIONS)
    if unknown := set(asked) - IMITATIONS.keys():
        sys.exit(f"There is no {', '.join(sorted(unknown))}; the imitations are {', '.join(IMITATIONS)}.")
    if ran(*BUILD)[0].returncode:
        sys.exit("The ordinary book does not build.")
    rows = [row(name, "-v" in sys.argv) for name in asked]  # all of them, whatever the first says
    sys.exit(not all(rows))
