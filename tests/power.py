"""How many planted faults the tests find: `make power`.

Each file in `tests/faults/` breaks the product by a few lines: half of them take back the mend of a fault that was
found in use, and all were written before any test was changed, by people who had not read the tests. Each is applied to a clone of
the repository in `_build/power`, built, and tried there with the tests of its room for 90 seconds: with those of
`make test`, and where they find nothing, with all. What was tried stands in `tests/faults/results.json` at once; a run
that was stopped goes on where it was, and a fault whose diff is unchanged is not tried again (`--again` tries all).

    python tests/power.py                     # tries what has not been tried, and prints the table
    python tests/power.py core-dropout-all-zero --again
    python tests/power.py --at b17be14        # as the tests were at that commit; its results stand in a file beside
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import psutil
from project import ROOT
from rooms import ROOMS, selection

FAULTS = ROOT / "tests" / "faults"
SECONDS = 90  # a run
TIERS = {"test": "not hub and not long", "all": "not hub"}  # the marks of `make test` and of `make test-all`


class Fault(NamedTuple):
    """A diff with its head: the room, where the fault comes from, what a user sees."""

    name: str
    room: str
    origin: str
    user: str
    paths: list[str]
    file: Path

    @property
    def digest(self) -> str:
        """Of what is told about it, and of the lines that it takes out and puts in; those around them may change."""
        head, diff = self.file.read_text(encoding="utf-8").split("diff --git", 1)
        changed = [line for line in diff.splitlines() if line.startswith(("+", "-"))]
        return sha256("\n".join([head.strip(), *changed]).encode()).hexdigest()[:12]


def faults() -> list[Fault]:
    """All planted faults, by name."""
    found = []
    for file in sorted(FAULTS.glob("*.diff")):
        head, _, diff = file.read_text(encoding="utf-8").partition("\n\n")
        said = dict(line.split(": ", 1) for line in head.splitlines())
        paths = re.findall(r"^\+\+\+ b/(\S+)$", diff, re.MULTILINE)
        found.append(Fault(file.stem, said["Room"], said["From"], said["User"], paths, file))
    return found


class Clone:
    """A clone of the repository with an environment of its own, in which faults are planted."""

    def __init__(self, commit: str) -> None:
        self.commit = _git(ROOT, "rev-parse", "--short", commit or "HEAD").strip()
        self.root = ROOT / "_build" / "power" / self.commit
        if not self.root.exists():
            self.root.parent.mkdir(parents=True, exist_ok=True)
            _git(ROOT, "clone", "--quiet", "--shared", str(ROOT), str(self.root))
            _git(self.root, "checkout", "--quiet", self.commit)
        beside, shared = ROOT.parent / "shared", self.root.parent / "shared"
        if beside.is_dir() and not shared.exists():  # some tests read what lies beside the project
            shared.symlink_to(beside)
        self.restore()

    def restore(self) -> None:
        _git(self.root, "checkout", "--quiet", "--", ".")
        _git(self.root, "clean", "--quiet", "-fd")

    def make(self, *targets: str) -> str:
        """Run make in the clone; the end of what it said if it failed, or nothing."""
        run = subprocess.run(["make", *targets], cwd=self.root, capture_output=True, text=True, env=_environment())
        return "" if run.returncode == 0 else (run.stdout + run.stderr)[-1500:]

    def listing(self, marks: str) -> dict[str, list[str]]:
        """Every test that bears these marks, with its fixtures."""
        file = self.root.parent / f"{self.commit}-{sha256(marks.encode()).hexdigest()[:6]}.json"
        if not file.exists():
            command = [*self.pytest(), "-p", "listing", "-m", marks, "--collect-only", "--quiet"]
            environment = _environment(PYTHONPATH=str(ROOT / "tests" / "plugins"), TFM_LISTING=str(file))
            subprocess.run(command, cwd=self.root, env=environment, check=True, stdout=subprocess.DEVNULL)
        return json.loads(file.read_text(encoding="utf-8"))

    def pytest(self) -> list[str]:
        return [str(self.root / ".venv/bin/python"), "-m", "pytest"]

    def run(self, tests: list[str], marks: str) -> tuple[str, list[str]]:
        """Whether these tests find a fault within the time: "found", "passed" or "time up"; and the first that does."""
        asked, found = self.root.parent / "asked.txt", self.root.parent / "found.txt"
        asked.write_text("\n".join(tests), encoding="utf-8")
        found.write_text("", encoding="utf-8")
        options = ["-m", marks, "--numprocesses=auto", "--maxprocesses=4", "-p", "listed", "--tb=line"]
        environment = _environment(PYTHONPATH=str(ROOT / "tests" / "plugins"), TFM_FOUND=str(found))
        with (self.root.parent / "log.txt").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [*self.pytest(), *options, f"@{asked}"],
                cwd=self.root,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            until = time.monotonic() + SECONDS
            while process.poll() is None and time.monotonic() < until and not found.stat().st_size:
                time.sleep(0.2)
            ended = process.poll()
            if ended is None:
                os.killpg(process.pid, 9)
                process.wait()
                self.end_servers()
        if red := found.read_text(encoding="utf-8").splitlines():
            return "found", [line.replace(f"{self.root}/", "") for line in red[:1]]
        if ended not in (None, 0):
            raise RuntimeError((self.root.parent / "log.txt").read_text(encoding="utf-8")[-2000:])
        return ("time up" if ended is None else "passed"), []

    def end_servers(self) -> None:
        """What tests started in sessions of their own, and cannot end any more."""
        for process in psutil.process_iter(["cmdline"]):
            if str(self.root) in " ".join(process.info["cmdline"] or []):
                process.kill()


def tried(clone: Clone, fault: Fault) -> dict:
    """Plant one fault and try it with each tier until one finds it."""
    began = time.monotonic()
    result = {"digest": fault.digest, "room": fault.room, "from": fault.origin, "user": fault.user}
    clone.restore()
    _git(clone.root, "apply", str(fault.file))
    try:
        built = ROOMS[fault.room].built
        said = clone.make("book") if built else clone.make("tfm_lib/widgets/static/page/kit.js", "dist/.built")
        result["build_seconds"] = round(time.monotonic() - began)
        if said:
            return result | {"test": "found", "all": "found", "by": ["the build"], "said": said[-300:]}
        wanted = selection(fault.paths, fault.room)
        before: list[str] = []
        for tier, marks in TIERS.items():
            ranked = [
                (rank, name)
                for name, fixtures in clone.listing(marks).items()
                if (rank := wanted.rank(name)) is not None and (built or "built_book" not in fixtures)
            ]
            tests = [name for _, name in sorted(ranked, key=lambda each: each[0]) if name not in {*before}]
            if not tests:
                result[tier] = "passed"
                continue
            began = time.monotonic()
            result[tier], result["by"] = clone.run(tests, marks)
            result[f"{tier}_seconds"] = round(time.monotonic() - began)
            if result[tier] == "found":
                return result | dict.fromkeys(list(TIERS)[list(TIERS).index(tier) :], "found")
            before = tests
        return result
    finally:
        clone.restore()


def table(results: dict[str, dict]) -> str:
    """How many of each room are found, and what is not."""
    lines = ["room      planted  make test  make test-all"]
    for room in ROOMS:
        of_room = [each for each in results.values() if each["room"] == room]
        if of_room:
            found = [sum(each[tier] == "found" for each in of_room) for tier in TIERS]
            lines.append(f"{room:<9} {len(of_room):>7} {found[0]:>10} {found[1]:>14}")
    found = [sum(each[tier] == "found" for each in results.values()) for tier in TIERS]
    lines.append(f"{'all':<9} {len(results):>7} {found[0]:>10} {found[1]:>14}")
    for name, each in sorted(results.items()):
        if each["test"] != "found":
            by = "by the long tests only: " + ", ".join(each["by"]) if each["all"] == "found" else "by none"
            lines.append(f"  {name}: found {by} ({each['test']}, {each['all']})")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="the faults to try; all of them where none is named")
    parser.add_argument("--at", default="", help="a commit whose tests are measured; HEAD where none is named")
    parser.add_argument("--again", action="store_true", help="try also what has been tried")
    parser.add_argument("--table", action="store_true", help="print what is known, and try nothing")
    asked = parser.parse_args()
    file = FAULTS / (f"results-{asked.at}.json" if asked.at else "results.json")
    results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    todo = [
        fault
        for fault in faults()
        if (not asked.names or fault.name in asked.names)
        and (asked.again or results.get(fault.name, {}).get("digest") != fault.digest)
    ]
    if todo and not asked.table:
        clone = Clone(asked.at)
        if said := clone.make(".venv/.done/dev", ".venv/.done/lab", "browser", "firefox", "sandbox", "book"):
            print(said, file=sys.stderr)
            return 1
        for number, fault in enumerate(todo, start=1):
            results[fault.name] = found = tried(clone, fault)
            file.write_text(json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")
            print(
                f"{number}/{len(todo)} {fault.name}: {found['test']}, {found['all']}", *found.get("by", []), flush=True
            )
    print(table(results))
    return 0


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTEST_ADDOPTS": "", **more}


def _git(at: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=at, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
