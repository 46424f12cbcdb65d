"""Each extra in an empty environment: installed from the wheel with pip, and its commands run there: `make extras`.

What `tests/test_extras.py` pretends by hiding packages is real here. It needs a network and some minutes an extra.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from project import ROOT
from test_extras import COMMANDS, copied_sources

from tfm_lib.book.notebooks.export import built_wheel

INSTALLING = ROOT / "tfm_lib" / "book" / "installing.py"  # takes torch's CPU build where pip was told of no place


def tried(extra: str, here: Path) -> str:
    """What went wrong with `extra`; nothing where all went well."""
    venv.create(here / "environment", with_pip=True)
    python = here / "environment" / "bin" / "python"
    wanted = f"{built_wheel(ROOT)}[{extra}]"
    steps = [["-P", INSTALLING, "-c", ROOT / "constraints.txt", "torch", wanted]]
    for words in COMMANDS[extra]:
        filled = [word.format(place=here, private=ROOT / "tests" / "assignments") for word in words]
        steps.append(["-m", "tfm_lib.cli", *filled])
    root = copied_sources(here)
    for step in steps:
        done = subprocess.run([python, *step], cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{' '.join(map(str, step))}\n{done.stdout}{done.stderr}"
    return ""


if __name__ == "__main__":
    wrong = {}
    for extra in sys.argv[1:] or COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            wrong[extra] = tried(extra, Path(folder))
        print(f"{extra}: {wrong[extra] or 'its commands run'}", flush=True)
    sys.exit(any(wrong.values()))
