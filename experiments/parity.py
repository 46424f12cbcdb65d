"""Compare our layers and models with other libraries' on copied weights: `make parity` installs those and runs this.

Prints a table and saves it for the book.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from experiments.record import record
from tests.lib.parity.comparisons import COMPARISONS, double_precision

LIBRARIES = ("transformers", "labml_nn", "subword_nmt")
BAR = 1e-10  # the largest difference allowed in double precision; 1e-5 if the other library computes in single


def measured() -> list[dict]:
    rows = []
    for comparison in COMPARISONS:
        with double_precision(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pairs = list(comparison.run())
        gap, single, numbers = 0.0, False, 0
        for ours, theirs in pairs:
            assert ours.shape == theirs.shape, f"{comparison.theirs}: {tuple(ours.shape)} and {tuple(theirs.shape)}"
            gap, numbers = max(gap, (ours - theirs).abs().max().item()), numbers + ours.numel()
            single = single or ours.dtype != theirs.dtype or str(ours.dtype) == "torch.float32"
        rows.append(
            {
                "library": comparison.library,
                "version": _version(comparison.library),
                "theirs": comparison.theirs,
                "ours": comparison.ours,
                "note": comparison.note,
                "numbers": numbers,
                "difference": gap,
                "bar": 1e-5 if single else BAR,
            }
        )
        print(f"{comparison.library:14} {comparison.theirs:42} {gap:8.1e}  {numbers:6} numbers", flush=True)
    return rows


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def main() -> int:
    if missing := sorted({row for row in LIBRARIES if find_spec(row) is None}):
        print(f"{missing[0]} is not installed: make parity brings it.", file=sys.stderr)
        return 2
    rows = measured()
    apart = [row for row in rows if not row["difference"] <= row["bar"]]
    for row in apart:
        print(f"DIFFERENT: {row['library']} {row['theirs']}: {row['difference']:.3g}", file=sys.stderr)
    print(f"{len(rows) - len(apart)} of {len(rows)} comparisons agree to rounding.")
    if not apart:
        with record(
            "parity", "our layers and models beside other libraries' on copied weights: largest differences"
        ) as kept:
            kept.ran("parity", seed=0, updates=0, epochs=None, cpu_seconds=round(time.process_time(), 1))
            kept["rows"] = rows
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
