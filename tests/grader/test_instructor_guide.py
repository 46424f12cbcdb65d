"""The instructor guide, followed as a new user would: every command in it, in order, word for word."""

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from project import CHAPTERS, ROOT

GUIDE = (CHAPTERS / "instructors.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL) for line in block.splitlines()
]


def grades(course: Path) -> dict[str, tuple[str, str]]:
    """Points, and of how many, by student."""
    rows = csv.DictReader((course / "report" / "grades.csv").read_text(encoding="utf-8-sig").splitlines())
    return {row["student"]: (row["points"], row["of"]) for row in rows}


@pytest.mark.release
def test_every_command_of_the_guide_works(tmp_path):
    tfm = f"{shutil.which('env')} PYTHONPATH={ROOT} {sys.executable} -m tfm_lib.cli"
    for command in COMMANDS:
        made = re.sub(r"^tfm ", f"{tfm} ", command).replace("../", f"{tmp_path}/")
        done = subprocess.run(made, shell=True, cwd=ROOT, capture_output=True, text=True)  # noqa: S602 (as the manual has it)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert grades(tmp_path / "course") == {"anna": ("4", "4"), "ben": ("0", "4")}
    assert "Anna has 4 points of 4, Ben none." in GUIDE
    assert grades(tmp_path / "course-2") == {"anna": ("5.5", "6")}
    assert "Of 6 points, the tests gave Anna 4 and you gave 1.5." in GUIDE
    assert (tmp_path / "course" / "report" / "class.html").is_file()
    assert "The twelve is missing." in (tmp_path / "course-2" / "report" / "feedback" / "anna.html").read_text("utf-8")


def test_what_the_guide_names_exists():
    from tfm_exercises.judge import find

    for id in re.findall(r"`((?:attention|masking|layers)\.[a-z-]+)`", GUIDE):
        if id != "masking.latency":
            find(id)
    for path in re.findall(r"`((?:tests|classroom)/[\w/.]+)`", GUIDE):
        assert Path(ROOT, path).exists(), path
