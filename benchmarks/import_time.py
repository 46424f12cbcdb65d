"""What importing the core adds to importing torch; the best of several fresh interpreters."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row

BAR, REPEATS = 0.3, 5  # seconds


def measure(root: Path) -> Iterator[Row]:
    modules = [
        f"tfm_lib.{path.stem}"
        for path in sorted((root / "tfm_lib").glob("*.py"))
        if path.stem not in ("__init__", "cli")
    ]
    code = f"import torch, time\nt = time.perf_counter()\nimport {', '.join(modules)}\nprint(time.perf_counter() - t)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
        for _ in range(REPEATS)
    ]
    yield Row("import of tfm_lib beyond torch", min(times), BAR, "s", digits=2)
