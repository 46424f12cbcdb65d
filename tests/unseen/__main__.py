"""Measures the judges on answers that were written from the statements alone: python -m tests.unseen [--pairs FILE] [STEM]...

Nothing passes or fails here, and no judge is tuned on it. A label that proved wrong is corrected in `CORRECTED`, once,
with its reason; both figures are printed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import runpy
import sys
import warnings
from collections import Counter
from pathlib import Path

from tests.unseen import readings
from tests.unseen.corrections import CORRECTED
from tfm_lib.checks import Verdict, check
from tfm_lib.checks.judge import find

HERE = Path(__file__).parent
BEFORE = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
Row = tuple[str, str, str, Verdict | str]  # exercise, label ("right" or "wrong"), description, verdict


def imports(stem: str) -> str:
    """What a reader of the chapter has imported by its exercises, but for what only the page needs."""
    sys.path.insert(0, str(HERE.parent))
    from test_exercises import directives_of, imports_of

    return imports_of(directives_of(stem))


def verdicts(stem: str) -> list[Row]:
    """The verdict on every answer of `stem`'s bank; a sentence where there is none."""
    bank, known = runpy.run_path(str(HERE / f"{stem}.py")), imports(stem)
    rows: list[Row] = []
    for label in ("right", "wrong"):
        for exercise, answers in bank[label.upper()].items():
            for description, source in answers.items():
                rows.append((exercise, label, description, verdict(exercise, f"{BEFORE}{known}\n{source}")))
    return rows


def verdict(exercise: str, source: str) -> Verdict | str:
    namespace: dict = {"__name__": "answer"}
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(source, namespace)  # noqa: S102 (our own answers)
            return check(exercise, *(namespace[name] for name in find(exercise).answers))
    except Exception as error:  # noqa: BLE001 (that a check raises is what we want to hear of)
        return f"{type(error).__name__}: {error}"


def figures(rows: list[Row], corrected: dict) -> Counter:
    counted: Counter = Counter()
    for exercise, label, description, verdict in rows:
        label = corrected.get((exercise, description), (label,))[0]
        if label == "unclear":
            continue
        counted[label] += 1
        if isinstance(verdict, str):
            counted["raised"] += 1
        elif verdict.passed:
            counted[f"{label} accepted"] += 1
        elif label == "wrong":
            counted["named"] += verdict.mistake is not None
    counted["wrong refused"] = counted["wrong"] - counted["wrong accepted"]
    return counted


def line(name: str, counted: Counter) -> str:
    refused = counted["wrong refused"]
    return (
        f"{name:34} right {counted['right accepted']:4}/{counted['right']:<4} wrong refused {refused:4}/{counted['wrong']:<4}"
        f" named {counted['named']:4} ({counted['named'] / max(refused, 1):4.0%})"
        + (f" raised {counted['raised']}" if counted["raised"] else "")
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("stems", nargs="*", metavar="STEM")
    options.add_argument(
        "--pairs", type=Path, help="write each refused answer's label beside its diagnosis, for a reader"
    )
    options.add_argument("--list", action="store_true", help="list right answers refused and wrong ones accepted")
    chosen = options.parse_args()
    stems = chosen.stems or sorted(
        path.stem for path in HERE.glob("*.py") if path.stem not in ("__init__", "__main__", "corrections", "readings")
    )
    rows = [row for stem in stems for row in verdicts(stem)]
    for exercise in dict.fromkeys(row[0] for row in rows):
        print(line(exercise, figures([row for row in rows if row[0] == exercise], {})))
    print(line("as first labelled", figures(rows, {})))
    corrected = figures(rows, CORRECTED)
    print(line(f"{len(CORRECTED)} labels corrected", corrected))
    said = {
        (exercise, description): (verdict.mistake, verdict.message)
        for exercise, label, description, verdict in rows
        if CORRECTED.get((exercise, description), (label,))[0] == "wrong"
        and isinstance(verdict, Verdict)
        and verdict.mistake
    }
    print(readings.told(readings.tally(said, readings.load()), corrected["wrong"]))
    if chosen.list:
        for exercise, label, description, verdict in rows:
            if isinstance(verdict, str) or (label == "right") != verdict.passed:
                print(
                    f"{label}: {exercise}: {description} → {verdict if isinstance(verdict, str) else verdict.message or 'accepted'}"
                )
    if chosen.pairs:
        named = [
            {"exercise": exercise, "answer": description, "diagnosis": verdict.mistake, "message": verdict.message}
            for exercise, label, description, verdict in rows
            if label == "wrong" and isinstance(verdict, Verdict) and verdict.mistake
        ]
        chosen.pairs.write_text(json.dumps(named, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
