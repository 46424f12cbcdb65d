"""The long tests of the rooms that a change touches: what `.ci/run` tries after `make test` (`make touched`).

A change is what differs from the newest commit that is more than a day old, so that what several small commits of one
day touch is tried together. After six minutes no further test begins. What is left out is said, and run by
`make test-all`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from project import ROOT
from quick import changed
from rooms import ROOMS, rooms

SECONDS = 360  # after which no further test begins
EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's name of a tree without files: there all is new


def base() -> str:
    """The newest commit that is more than a day old; where there is none, the tree without files."""
    words = ["git", "rev-list", "-1", "--before=24 hours ago", "HEAD"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip() or EMPTY


def main(since: str = "") -> int:
    since, paths = changed(since or base())
    touched = {name for path in paths for name in rooms(path)}
    print(f"{len(paths)} files differ from {since[:12]}, the newest commit that is more than a day old.", flush=True)
    if not touched:
        print("They lie in no room that has long tests.")
        return 0
    print(f"Long tests are tried of: {', '.join(name for name in ROOMS if name in touched)}.")
    if left := [name for name in ROOMS if name not in touched]:
        print(f"Left to make test-all are those of: {', '.join(left)}.", flush=True)
    environment = {
        **os.environ,
        "TFM_QUICK": json.dumps({"paths": paths, "until": time.time() + SECONDS, "long": True}),
    }
    options = ["-p", "tests.plugins.quick", "-m", "long and not hub", "--no-loadscope-reorder"]
    command = [sys.executable, "-m", "pytest", *options, "--numprocesses=auto", "--maxprocesses=4"]
    code = subprocess.call(command, cwd=ROOT, env=environment)
    return 0 if code == 5 else code  # 5: the rooms have no long test


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
