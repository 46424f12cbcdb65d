"""Makes a class: 200 submissions, 180 honest of every kind and 20 hostile, the same at every run.

`python tests/grader/make_class.py FOLDER` writes FOLDER/submissions and FOLDER/bundle, to be graded by `tfm grade`.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from grader.hostile.assignment import HIDDEN, MANIFEST
from grader.hostile.cases import ATTACKS, BAND, HONEST, IMPORTS, TRIANGLE, notebook

HOSTILE = 20


def make(folder: Path, honest: int = 180, hostile: int = HOSTILE) -> dict[str, float]:
    """Write a class into `folder`; the points that each student deserves."""
    draw = random.Random(0)
    (folder / "bundle" / "tests").mkdir(parents=True)
    (folder / "bundle" / "manifest.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    (folder / "bundle" / "tests" / "masking.py").write_text(HIDDEN, encoding="utf-8")
    deserved = {}
    kinds = list(HONEST.values())
    for number in range(honest):
        case = kinds[number % len(kinds)] if number % 3 else None  # a third are simply right
        data, points = (
            (case.data, case.points) if case else (notebook([IMPORTS, TRIANGLE, BAND, f"# {draw.random()}"]), 4)
        )
        deserved[_put(folder, f"h{number:03}", data)] = points
    for number, name in enumerate(draw.sample(sorted(ATTACKS), hostile)):
        deserved[_put(folder, f"x{number:03}", ATTACKS[name].data)] = ATTACKS[name].points
    return deserved


def _put(folder: Path, student: str, data: bytes) -> str:
    path = folder / "submissions" / student / "masking.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return student


if __name__ == "__main__":
    make(Path(sys.argv[1]))
