"""A run of the tests says whose tree it tests, and refuses an environment of another."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from own_tree import require_own_tree
from project import ROOT

ASKED = "import sys; sys.path.insert(0, 'tests'); from own_tree import require_own_tree; print(require_own_tree())"


def test_this_run_says_whose_tree_it_tests() -> None:
    assert require_own_tree() == f"The tree that is tested is {ROOT}; its environment is {sys.prefix}."


def test_an_environment_of_another_tree_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pytest.UsageError, match="belongs to another copy of the book|lies in another copy of the book"):
        require_own_tree(tmp_path)
    for name in ("tfm_lib/__init__.py", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    with pytest.raises(pytest.UsageError, match=f"lies in another copy of the book, {tmp_path}"):
        require_own_tree()


def test_a_library_from_another_tree_is_refused(tmp_path: Path) -> None:
    """With an environment outside any tree, whose PYTHONPATH names another copy."""
    venv.create(tmp_path / "environment", with_pip=False)
    (tmp_path / "tfm_lib").mkdir()
    (tmp_path / "tfm_lib" / "__init__.py").touch()
    pytest_s = str(Path(pytest.__file__).parents[1])
    for first, code in ((tmp_path, 1), (ROOT, 0)):
        run = subprocess.run(
            [tmp_path / "environment/bin/python", "-P", "-c", ASKED],
            cwd=ROOT,
            env={"PYTHONPATH": os.pathsep.join((str(first), pytest_s))},
            capture_output=True,
            text=True,
        )
        assert run.returncode == code, run.stderr
        assert (f"but tfm_lib is imported from {tmp_path / 'tfm_lib'}." in run.stderr) == bool(code)
