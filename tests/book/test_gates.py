"""What every change goes through: the linter, the formatter, the checker of types, and the width of a page."""

import importlib
import inspect
import subprocess
import sys

import pytest
import yaml
from project import CORE, ROOT

SHOWN = 100  # columns of a page's code, beyond which it scrolls


HOOKS = [
    hook
    for each in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    for hook in each["hooks"]
]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hook_has_nothing_to_say(hook):
    """The lines of `.pre-commit-config.yaml`, by the tools of this environment."""
    tool, *rest = hook["entry"].split()
    done = subprocess.run([sys.executable, "-m", tool, *rest], cwd=ROOT, capture_output=True, text=True)
    remedy = " (`ruff check --fix .` and `ruff format .` mend most of it)" if tool == "ruff" else ""
    assert done.returncode == 0, f"`{hook['entry']}` has found this{remedy}:\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    ("text", "hook"),
    [("import os\n", "lint"), ("x = [1,2]\n", "form"), ("def f(x: int) -> str:\n    return x\n", "types")],
)
def test_hook_notices(text, hook, tmp_path):
    (tmp_path / "one.py").write_text(text, encoding="utf-8")
    (tool,) = (each["entry"].split() for each in HOOKS if each["id"] == hook)
    words = [*(word for word in tool[1:] if word != "."), str(tmp_path / "one.py")]
    settings = ["--config-file", str(ROOT / "pyproject.toml")] if tool[0] == "mypy" else []
    done = subprocess.run(
        [sys.executable, "-m", tool[0], *words, *settings], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "one.py" in done.stdout


@pytest.mark.parametrize("module", CORE)
def test_shown_code_fits_the_page(module):
    """A comma at the end of a list makes the formatter give each of its parts a line."""
    found = importlib.import_module(f"tfm_lib.{module}")
    shown = [getattr(found, name) for name in found.__all__]
    lines = [line for each in shown if callable(each) for line in inspect.getsource(each).splitlines()]
    assert lines
    wide = [f"{len(line)} columns: {line}" for line in lines if len(line) > SHOWN]
    assert wide == [], f"code shown in a page has at most {SHOWN} columns"
