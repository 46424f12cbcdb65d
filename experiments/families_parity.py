"""Compare whole models of other families with Hugging Face's, on the state that it writes: the parity table.

Each model is initialised three times; the largest of the three differences counts. `tests/lib/test_families.py` prints and
checks the table of the first initialisation.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from experiments.record import cpu_seconds, record
from tests.lib.parity.families import BAR, CASES, SEEDS, Row, printed, row


def main() -> int:
    what = "whole models of other families beside Hugging Face's on the state that it writes: largest differences"
    with record("families_parity", what) as kept:
        found: dict[str, list[Row]] = {case: [] for case in CASES}
        for seed in SEEDS:
            began = cpu_seconds()
            for case, rows in found.items():
                with tempfile.TemporaryDirectory() as folder:
                    rows.append(row(case, Path(folder), seed))
            kept.ran("families", seed, updates=0, cpu_seconds=cpu_seconds() - began)
        kept["largest"] = [max(rows[i].largest for rows in found.values()) for i in range(len(SEEDS))]
        kept.rows("families", "largest")
        kept["transformers"], kept["bar"] = version("transformers"), BAR
        worst = [_worst(rows) for rows in found.values()]
        kept["rows"] = [{**asdict(each), "largest": each.largest} for each in worst]
    print(printed(worst))
    apart = [each.family for each in worst if not each.largest <= BAR]
    print(f"{len(worst) - len(apart)} of {len(worst)} models agree to {BAR:.0e}.")
    return 1 if apart else 0


def _worst(rows: list[Row]) -> Row:
    """Return the largest difference of each kind over several initialisations of one model."""
    kinds = ("whole", "right", "left", "weights", "cache")
    most = {
        kind: max((getattr(each, kind) for each in rows if getattr(each, kind) is not None), default=None)
        for kind in kinds
    }
    return Row(rows[0].family, rows[0].parameters, **most, prediction=min(each.prediction for each in rows))


if __name__ == "__main__":
    sys.exit(main())
