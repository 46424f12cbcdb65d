"""Attention for longer sentences: how a window grows, what tiles take, and how many calls a draft saves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.row import Row

LENGTHS, N = (2048, 4096, 8192, 16384), 8192
SENTENCES = (
    "We ran out of sugar again.", "The train to the coast leaves in an hour.", "My father taught me how to swim.",
    "I would rather stay at home and read a book.", "Could you tell me where I can find a bakery that is open on Sunday?",
    "My sister has lived in a small house near the harbour since she was a child.",
)  # fmt: skip


def measure(root: Path) -> Iterator[Row]:
    found = _alone(root, "scaling")
    yield Row("power of n with which window attention grows, 2 048 to 16 384 words", found["slope"], 1.15, "", digits=2)
    plain = found["memory"]["full"]
    for form, bar in (("tiled", 0.1), ("fused", 0.1)):
        for stage in ("forward", "backward"):
            share = found["memory"][form][stage] / plain[stage]
            what = f"memory of the {form} form at n = 8 192 against the plain form's {plain[stage]:.0f} MB, {stage}"
            yield Row(what, share, bar, "×", digits=3)
    yield Row(
        "calls of the translator for a token, a draft writing four ahead", _alone(root, "calls"), 0.8, "", digits=2
    )


def scaling() -> dict[str, Any]:
    from experiments.efficient_scaling import in_a_process, memory, slopes_over, times

    rounds = [in_a_process(times, "window", n) for n in LENGTHS]
    taken = {form: in_a_process(memory, form, N) for form in ("full", "tiled", "fused")}
    return {"slope": slopes_over(rounds, list(LENGTHS))["slope"], "memory": taken}


def calls() -> float:
    from experiments.efficient_speculative import counted, without_layer
    from tfm_lib.engine.translator import Translator

    translator = Translator.shipped()
    sources = [translator.ids(sentence) for sentence in SENTENCES]
    return counted(translator.model, without_layer(translator.model, 1), sources, ahead=4, alone=[])["calls_a_token"]


def _alone(root: Path, what: str) -> Any:
    """What a function of this module gives in a process of its own."""
    run = subprocess.run([sys.executable, "-m", "benchmarks.longer", what], cwd=root, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{what} could not be measured:\n{run.stderr[-3000:]}")
    return json.loads(run.stdout)


if __name__ == "__main__":
    print(json.dumps({"scaling": scaling, "calls": calls}[sys.argv[1]]()))
