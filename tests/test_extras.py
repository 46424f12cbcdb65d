"""With the library alone, without what builds the book: commands work, or say how to install what they miss."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from project import ROOT

from tfm_lib import _extras
from tfm_lib.book.export import built_wheel

BOOK_ONLY = ("docutils", "sphinx", "jupyter_book", "myst_nb", "sphinx_book_theme", "sphinxcontrib")
WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
sys.argv = {words!r}
from tfm_lib.cli import main
main()
"""


def tfm(*words: object, missing: tuple[str, ...], library: Path = ROOT, cwd: Path = ROOT):
    code = WITHOUT.format(missing=set(missing), words=["tfm", *map(str, words)])
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_assigning_and_the_working_copy_need_nothing_that_builds_the_book(tmp_path):
    done = tfm(
        "assign", "masking", "--exercise", "masking.triangle", "--no-verify", "--to", tmp_path, missing=BOOK_ONLY
    )
    assert done.returncode == 0, done.stderr
    done = tfm("lab", "--no-start", "--to", tmp_path / "work", missing=BOOK_ONLY)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "absent", "extra"),
    [
        (("assign", "masking", "--to", "x"), "yaml", "classroom"),
        (("assign", "masking", "--to", "x"), "nbformat", "classroom"),
        (("lab",), "jupyterlab", "lab"),
        (("build", "--force"), "sphinx", "book"),
    ],
)
def test_what_is_missing_is_named_with_a_command_that_installs_it(words, absent, extra):
    done = tfm(*words, missing=(absent, *BOOK_ONLY) if absent == "sphinx" else (absent,))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"pip install -c constraints.txt -e '.[{extra}]'" in " ".join(done.stderr.split())


def test_an_unpacked_wheel_names_the_wheel(tmp_path):
    """As pip would leave it: the library, and the note of where it came from."""
    with zipfile.ZipFile(built_wheel(ROOT)) as archive:
        archive.extractall(tmp_path / "site")
    (info,) = (tmp_path / "site").glob("*.dist-info")
    (tmp_path / "site" / "tfm_lib" / "_extras.py").write_bytes((ROOT / "tfm_lib" / "_extras.py").read_bytes())
    wheel = tmp_path / "it's here" / "tfm_lib-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    (info / "direct_url.json").write_text(json.dumps({"url": wheel.as_uri()}), encoding="utf-8")
    code = "from tfm_lib import _extras; print(_extras.command('lab'))"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "site")}
    words = [sys.executable, "-P", "-c", code]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    said = subprocess.run(
        ["sh", "-c", f"printf %s {done.stdout.strip().removeprefix('pip install ')}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == f"{wheel}[lab]"
    wheel.unlink()
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pip install './tfm_lib-0.1.0-py3-none-any.whl[lab]'")


def test_every_extra_that_is_named_exists_and_no_sentence_names_a_package_of_no_index():
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(_extras.NEEDED.values()) <= extras.keys()
    for path in [*(ROOT / "tfm_lib").rglob("*.py"), ROOT / "README.md", *(ROOT / "chapters").glob("*.md")]:
        assert "pip install 'tfm-lib" not in path.read_text(encoding="utf-8"), path
