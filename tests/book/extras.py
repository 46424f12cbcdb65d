"""Each extra in an empty environment: installed from the wheel with pip, and its commands run there: `make extras`.

What `tests/book/test_extras.py` pretends by hiding packages is real here. It needs a network and some minutes an extra.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import nbformat
from project import ROOT

from book.distributions import EXTRAS
from book.test_extras import COMMANDS, copied_sources, needed
from tfm_book.notebooks.export import built_wheel, export_notebook

INSTALLING = ROOT / "tfm_book" / "installing.py"  # takes torch's CPU build where pip was told of no place

#: A chapter as a reader downloads it, cell after cell in one namespace of IPython's.
DOWNLOADED = """\
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
cells = json.load(open(sys.argv[1], encoding="utf-8"))["cells"]
for cell in cells:
    if cell["cell_type"] == "code":
        shell.run_cell("".join(cell["source"])).raise_error()
print(sum(cell["cell_type"] == "code" for cell in cells), "cells run")
"""
GRADE_BOOK = """\
import sys
from pathlib import Path
from tfm_grader.exports.nbgrader import nbgrader
from tfm_grader.scoring.scores import Row, Score
row = Row("masking.leak-test", "Leaks", "code", "partly right", 2, 3, "", [], [])
print(nbgrader([Score("ann", "Ann", "1", [row])], Path(sys.argv[1]), "masking"))
import jupyterhub, nbgitpuller
"""
CLUSTER = """\
from dask.distributed import Client, LocalCluster
from tfm_grader.judging.cluster import judge_here
if __name__ == "__main__":
    with LocalCluster(n_workers=1, dashboard_address=None) as cluster, Client(cluster) as client:
        print(client.submit(callable, judge_here).result())
"""
HOSTED = (
    "hosted"  # a notebook service: PyTorch and the like are there, the library comes from the notebook's first cell
)
THERE = ["torch", "numpy", "matplotlib", "ipykernel"]
TRAINED = ("train", "--corpus", "copy", "--steps", "3", "--to", "{place}/run")

#: what is tried with each extra: words of `tfm`, or options of Python; without one, the core alone
TRIED = {
    "": [("-c", "from tfm_lib.transformer import *; print(Transformer(TransformerConfig(9, 8, 2, 16, 1)))")],
    "command": [("--help",), ("serve", "--help")],
    "train": [TRAINED, ("translate", "--model", "{place}/run", "a b c")],
    "notebook": [("-c", DOWNLOADED, "{place}/masking.ipynb")],
    **COMMANDS,
    "book": [("build", "masking"), ("new", "exercise", "--help")],
    "dask": [*COMMANDS["classroom"], ("{place}/cluster.py",)],
    "hub": [*COMMANDS["classroom"], ("-c", GRADE_BOOK, "{place}/gradebook.db")],
    "wmt14": [TRAINED, ("-c", "from datasets import load_dataset")],
    "dev": [("-m", "pytest", "--version"), ("build", "masking")],
    HOSTED: [("-c", DOWNLOADED, "{place}/masking.ipynb")],
}


def tried(extra: str, here: Path) -> str:
    """What went wrong with `extra`; nothing where all went well."""
    venv.create(here / "environment", with_pip=True)
    python = here / "environment" / "bin" / "python"
    wheel = built_wheel(ROOT)
    wanted = THERE if extra == HOSTED else ["torch", f"{wheel}[{extra}]" if extra else wheel]
    steps = [["-P", INSTALLING, "-c", ROOT / "constraints.txt", *wanted]]
    needed(extra, here)
    for words in TRIED[extra]:
        filled = [
            word.replace("{place}", str(here)).replace("{private}", str(ROOT / "tests/grader/assignments"))
            for word in words
        ]
        steps.append(filled if filled[0].startswith(("-c", "-m", "/")) else ["-m", "tfm_lib.cli", *filled])
    root = copied_sources(here)
    (root / "frontend").mkdir()
    (root / "frontend" / "node_modules").symlink_to(ROOT / "frontend" / "node_modules")  # the pages' fonts
    url = wheel.as_uri() if extra == HOSTED else ""
    notebook = export_notebook(root / "chapters" / "masking.md", root, values={}, wheel_url=url)
    (here / "masking.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
    (here / "cluster.py").write_text(CLUSTER, encoding="utf-8")
    for step in steps:
        place = here if extra == HOSTED else root  # nobody's sources beside a hosted notebook
        done = subprocess.run([python, *step], cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{' '.join(map(str, step))}\n{done.stdout}{done.stderr}"
    return ""


if __name__ == "__main__":
    assert TRIED.keys() == {*EXTRAS, "", HOSTED} - {"paper"}, (
        "say in tests/book/extras.py what is tried with each extra"
    )
    wrong = {}
    for extra in sys.argv[1:] or TRIED:
        with tempfile.TemporaryDirectory() as folder:
            wrong[extra] = tried(extra, Path(folder))
        print(f"{extra or 'none'}: {wrong[extra] or 'its commands run'}", flush=True)
    sys.exit(any(wrong.values()))
