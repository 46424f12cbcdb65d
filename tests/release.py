"""Run what proves rather than guards, and note the outcome with the commit: `make release` (two to three hours).

Every mutation of the core, tests that are many of a kind, the other Pythons of this machine, imitated processors.
The log of each step lies in `_build/release/`; what came of them is added to `tests/released.txt`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS, RECORD = ROOT / "_build" / "release", ROOT / "tests" / "released.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def python(version: str) -> str | None:
    """The path of a Python of that version that runs, beside this one or on the PATH; None where there is none."""
    beside = sorted(Path(sys.base_prefix).parent.glob(f"{version}*/bin/python3"))
    for path in (*map(str, beside[-1:]), shutil.which(f"python{version}")):  # a version manager may offer what it lacks
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    return None


def steps() -> dict[str, list[str]]:
    """The commands by their names; a Python that is not here is left out."""
    mutations = "tests/lib/test_mutations.py"
    found = {
        "mutations": [sys.executable, "-m", "pytest", "-n", "2", "-m", "release", mutations],
        "proofs": [sys.executable, "-m", "pytest", "-n", "4", "-m", "release", f"--ignore={mutations}"],
    }
    this = "{}.{}".format(*sys.version_info)
    for version in PYTHONS:
        if version != this and (path := python(version)):
            found[f"Python {version}"] = ["make", "new", f"NEW=.venv-{version}", f"PYTHON={path}"]
    return {**found, "processors": [sys.executable, "tests/processors.py"]}


def run(name: str, command: list[str]) -> str:
    """Run a step, and return its line: outcome, minutes, and what pytest counted."""
    print(f"{name}: {' '.join(command)}", flush=True)
    log, start = LOGS / f"{name.replace(' ', '-')}.log", time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, env={**os.environ, "CI": "true"}
        )
    counted = re.findall(
        r"^\d+ (?:passed|failed).*|^.*\bfailed\b.*\bpassed\b.*", log.read_text(encoding="utf-8"), re.MULTILINE
    )
    outcome = "ok" if done.returncode == 0 else f"failed with {done.returncode}"
    line = (
        f"  {name}: {outcome}, {(time.monotonic() - start) / 60:.0f} min; {counted[-1] if counted else 'see its log'}"
    )
    print(line, flush=True)
    return line


def main(*names: str) -> int:
    LOGS.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    chosen = {name: command for name, command in steps().items() if not names or name in names}
    if unknown := {*names} - {*chosen}:
        sys.exit(f"There is no step {', '.join(sorted(unknown))}; there are {', '.join(steps())}.")
    missing = [version for version in PYTHONS if python(version) is None]
    lines = [f"{time.strftime('%Y-%m-%d')} {commit}" + (f" (no Python {', '.join(missing)} here)" if missing else "")]
    lines += [run(name, command) for name, command in chosen.items()]
    with RECORD.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return int(any(": failed" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
