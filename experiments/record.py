"""How a run is recorded: the numbers, and what somebody needs to judge or repeat them."""

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import torch

RESULTS = Path(__file__).parent / "results"


@contextmanager
def record(name: str, what: str, seeds: list[int]) -> Iterator[dict[str, Any]]:
    """Write `results/<name>.json` with what the block puts into the dict, once the block ends well."""
    numbers: dict[str, Any] = {}
    wall, cpu = time.time(), time.process_time()
    yield numbers
    about = {
        "what": what,
        "command": f"python -m experiments.{name}",
        "seeds": seeds,
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "threads": torch.get_num_threads(),
        "seconds": round(time.time() - wall, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({**about, **numbers}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
