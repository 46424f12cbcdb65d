"""The instructor guide, followed as a new user would: every command in it, in order, word for word."""

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

from project import CHAPTERS, ROOT

GUIDE = (CHAPTERS / "instructors.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL) for line in block.splitlines()
]


def test_every_command_of_the_guide_works(tmp_path):
    tfm = f"{shutil.which('env')} PYTHONPATH={ROOT} {sys.executable} -m tfm_lib.cli"
    for command in COMMANDS:
        made = re.sub(r"^tfm ", f"{tfm} ", command).replace("../", f"{tmp_path}/")
        done = subprocess.run(made, check=False, shell=True, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    rows = csv.DictReader((tmp_path / "course" / "report" / "grades.csv").read_text(encoding="utf-8-sig").splitlines())
    assert {row["student"]: (row["points"], row["of"]) for row in rows} == {"anna": ("4", "4"), "ben": ("0", "4")}
    assert (tmp_path / "course" / "report" / "class.html").is_file()
    assert (tmp_path / "course-2" / "bundle" / "tests" / "masking.py").is_file()


def test_what_the_guide_names_exists():
    from tfm_lib.checks.judge import find

    for id in re.findall(r"`((?:attention|masking|layers)\.[a-z-]+)`", GUIDE):
        if id != "masking.latency":
            find(id)
    for path in re.findall(r"`((?:tests|classroom)/[\w/.]+)`", GUIDE):
        assert Path(ROOT, path).exists(), path
