"""What `tfm new` leaves to write bears ✎ and a sentence: each is told with its file and line."""

import subprocess

import pytest
from project import ROOT

WRITTEN = ("*.md", "*.py", "*.js", "*.mjs")
SAYS_THE_SIGN = {
    "CONTRIBUTING.md",
    "tests/test_unfinished.py",
    "tests/test_new.py",
    "tfm_book/new/__init__.py",
    "tfm_book/new/commands.py",
}


def unfinished() -> dict[str, str]:
    """Each place of a ✎ in the working tree, git's files and new ones, with its sentence."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *WRITTEN]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return {
        f"{name}:{number}": line.partition("✎")[2].strip(" *\"'`,(){}|#") or "Write this."
        for name in sorted({*names} - SAYS_THE_SIGN)
        if name and (ROOT / name).is_file()
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), start=1)
        if "✎" in line
    }


def test_nothing_is_left_to_write():
    places = unfinished()
    if places:
        pytest.fail("\n".join(f"{place} {sentence}" for place, sentence in places.items()), pytrace=False)
