"""Whose tree a test run tests: it refuses an environment that reads or belongs to another copy of the book."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def require_own_tree(root: Path = ROOT) -> str:
    """Return the sentence that says whose tree is tested; raise `pytest.UsageError` if the environment is another's."""
    # This tree's own file: what `import` finds may be the other tree's.
    installing = runpy.run_path(str(ROOT / "tfm_book" / "installing.py"))
    refused = installing["not_ours"](root, Path(sys.prefix), installing["library_of"](sys.path))
    spec = importlib.util.find_spec("tfm_lib")
    if not refused and (spec is None or spec.origin is None):
        refused = f"The environment {sys.prefix} has no tfm_lib. Set it up first: make ready"
    elif not refused and not (imported := Path(spec.origin).resolve()).is_relative_to(root):
        refused = f"These tests are those of {root}, but tfm_lib is imported from {imported.parent}. Take that off PYTHONPATH."
    if refused:
        raise pytest.UsageError(refused)
    return f"The tree that is tested is {root}; its environment is {sys.prefix}."
