"""The build from nothing, with no change, and after an edit of one chapter's text; done on a copy of the book."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row

COLD, NO_CHANGE, EDITED = 150, 4, 6  # seconds


def measure(root: Path) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="tfm-bench-") as folder:
        copy = Path(folder) / "book"
        left_out = shutil.ignore_patterns("_build", "frontend", "node_modules", "work", "tests", "__pycache__", ".*")
        shutil.copytree(root, copy, ignore=left_out)
        (copy / "frontend").symlink_to(root / "frontend")
        yield Row("cold build of the whole book", _build(copy), COLD, "s")
        yield Row("build with no change", _build(copy), NO_CHANGE, "s")
        chapter = copy / "chapters" / "masking.md"
        text = chapter.read_text(encoding="utf-8")
        chapter.write_text(text.replace("## Intuition\n", "## Intuition\n\nOne sentence more.\n", 1), encoding="utf-8")
        yield Row("build after an edit of one chapter's text", _build(copy), EDITED, "s")


def _build(book: Path) -> float:
    began = time.perf_counter()
    run = subprocess.run([sys.executable, "-m", "tfm_lib.cli", "build"], cwd=book, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"The book does not build, so its build cannot be timed:\n{run.stderr[-3000:]}")
    return time.perf_counter() - began
