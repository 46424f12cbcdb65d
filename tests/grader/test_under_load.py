"""A busy machine costs nobody a point: ten honest hand-ins of each mechanism, graded while others take the processors."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from project import ROOT

from grader.test_capstone import RIGHT, TRAINED
from grader.test_classroom import PRIVATE, tfm
from tfm_exercises.carried import output

#: Where the exercises of a chapter lie, and what they are.
MECHANISMS = {
    "masking": (PRIVATE, "a function and a written answer"),
    "training": (PRIVATE / "curves", "a value: the diagnosis of twelve curves"),
    "mine": (PRIVATE, "a program, and trained weights in an output"),
    "evaluation": (PRIVATE / "ablation", "a report whose trainings are repeated"),
}
CLASS = [f"student {number}" for number in range(10)]


@contextmanager
def busy(load: int):
    """As many processes that work without end."""
    others = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(load)]
    try:
        yield
    finally:
        for other in others:
            other.kill()


def solution(folder: Path, stem: str) -> bytes:
    """The solved notebook; where weights are asked for, with those of the capstone."""
    made = nbformat.read(folder / "solution" / f"{stem}.ipynb", 4)
    for cell in made.cells:
        if cell.metadata.get("tfm", {}).get("exercise") == TRAINED:
            cell.source, cell.outputs = (
                'parallel = hand_in(model, name="parallel")',
                [nbformat.v4.new_output("display_data", data=output(RIGHT))],
            )
    return nbformat.writes(made).encode()


@pytest.mark.release
@pytest.mark.parametrize("load", [6, 12])
@pytest.mark.parametrize("stem", MECHANISMS)
def test_honest_hand_ins_earn_all(tmp_path, monkeypatch, stem, load):
    monkeypatch.chdir(ROOT)
    private, _ = MECHANISMS[stem]
    with busy(load):
        tfm("assign", stem, "--private", private, "--seed", "spring", "--to", tmp_path)
        for student in CLASS:
            (tmp_path / "submissions" / student).mkdir(parents=True)
            (tmp_path / "submissions" / student / f"{stem}.ipynb").write_bytes(solution(tmp_path, stem))
        tfm("grade", tmp_path / "submissions", "--bundle", tmp_path / "bundle")
    for student in CLASS:
        result = json.loads((tmp_path / "results" / f"{student}.json").read_text(encoding="utf-8"))
        rows = result["chapters"][stem]["exercises"]
        tested = [row for row in rows if row["kind"] != "text"]
        assert tested and all((row["status"], row["points"]) == ("ok", row["of"]) for row in tested), rows
        assert all(row["text"].strip() for row in rows if row["kind"] == "text"), rows
