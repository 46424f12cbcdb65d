"""A learner who solves the parts of the machine in the order of the chapters, each chapter in a kernel of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import CHAPTERS as FOLDER
from project import ROOT

from tfm_exercises.mine.catalogue import PARTS
from tfm_exercises.mine.chapters import CHAPTERS
from tfm_grader.assignment.exercise_source import setup_of, written_in

KERNEL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(history_load_length=0)
shell.history_manager.enabled = False
for cell in json.load(sys.stdin):
    done = shell.run_cell(cell, silent=False)
    done.raise_error()
"""
END = """
from tfm_exercises import mine
compared, greedy = mine.translate("I saw a black cat."), mine.translate("I saw a black cat.", beam=1)
broken = mine.translate("I saw a black cat.", instead={"layer_norm": lambda X, gain, bias, eps: X * gain + bias})
print(json.dumps([compared.library, compared.yours, bool(compared and greedy), {name: count + greedy.calls[name] for name, count in compared.calls.items()}, repr(mine.machine(None)), str(broken)]))
"""


def kernel(cells: list[str], home: Path) -> str:
    """What a new process prints that runs these cells as a notebook does."""
    ran = subprocess.run(
        [sys.executable, "-c", KERNEL],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in ("TFM_BOOK", "PYTEST_CURRENT_TEST")}
        | {"TFM_MINE_FOLDER": str(home), "OMP_NUM_THREADS": "1"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.long
def test_a_learner_of_the_whole_thread_ends_with_a_translator_of_their_own(tmp_path):
    written = 0
    for chapter in CHAPTERS:
        exercises = written_in(FOLDER / f"{chapter}.md")
        parts = [each for each in exercises if any(part.exercise == each.id for part in PARTS)]
        setup = setup_of(FOLDER / f"{chapter}.md", exercises)
        checks = [f'print(check("{each.id}", {", ".join(each.answers)}))' for each in parts]
        cells = [setup, "from tfm_exercises import check", *(each.solution_code for each in parts), *checks]
        said = kernel(cells, tmp_path)
        written += sum(part.chapter == chapter for part in PARTS)
        assert f"{written} of {len(PARTS)} parts of your machine are yours" in said, said
    library, yours, equal, calls, picture, broken = json.loads(
        kernel([f"import json\n{END}"], tmp_path).splitlines()[-1]
    )
    assert library == yours and equal
    assert all(calls[part.name] for part in PARTS if part.beam), "a part that translating needs is not the learner's"
    assert picture.startswith(f"{len(PARTS)} of the {len(PARTS)} parts of the machine are yours.")
    assert "layer_norm" in broken
