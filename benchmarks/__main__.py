"""`python -m benchmarks [pages] [rhythm] [machine] [playground] [build] [import] [input] [motion] [speed] [longer] [grading]`: a table of measurements; exit code 1 if a bar is broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    build_times,
    grading,
    import_time,
    input_latency,
    longer,
    machine,
    motion,
    page_weight,
    playground,
    rhythm,
    speed,
)
from benchmarks.row import Row
from tfm_book.browser import MissingBrowser

ROOT = Path(__file__).parents[1]
PARTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "pages": page_weight.measure,
    "rhythm": rhythm.measure,
    "input": input_latency.measure,
    "motion": motion.measure,
    "machine": machine.measure,
    "playground": playground.measure,
    "import": import_time.measure,
    "speed": speed.measure,
    "longer": longer.measure,
    "grading": grading.measure,
    "build": build_times.measure,
}


def main(names: list[str]) -> int:
    console, errors = Console(), Console(stderr=True, soft_wrap=True, highlight=False)
    if unknown := set(names) - set(PARTS):
        errors.print(
            f"There is no measurement {', '.join(sorted(unknown))}. There are {', '.join(PARTS)}.", style="red"
        )
        return 1
    rows: list[Row] = []
    try:
        for name in names or PARTS:
            with console.status(f"Measuring: {name}"):
                rows += PARTS[name](ROOT)
    except MissingBrowser as missing:
        errors.print(str(missing), style="red")
        return 1
    table = Table("", "measured", "bar", "", title="Budgets of the book")
    for row in rows:
        mark = "[green]✓[/]" if row.kept else "[red]broken[/]"
        table.add_row(row.what, f"{row.value:.{row.digits}f} {row.unit}", f"≤ {row.bar:g} {row.unit}", mark)
    console.print(table)
    broken = [row.what for row in rows if not row.kept]
    if broken:
        errors.print(f"{len(broken)} of {len(rows)} bars are broken: {'; '.join(broken)}.", style="red")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
