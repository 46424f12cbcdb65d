"""How many lines and bytes each room of the tree holds, now and at an older commit: python tests/lines.py [COMMIT].

Code, data and prose are counted apart, so that joining two lines of code cannot be mistaken for a saving.
"""

import re
import subprocess
import sys
from collections import defaultdict

from project import ROOT

#: The first pattern that a path matches names its room.
ROOMS = {
    "models": r"models/",
    "recorded results": r"experiments/results/",
    "experiments": r"experiments/",
    "banks of answers": r"tests/(banks|unseen|habits)/",
    "tests": r"tests/|frontend/tests/",
    "judges": r"tfm_lib/checks/",
    "widgets, Python": r"tfm_lib/widgets/",
    "widgets, JavaScript": r"frontend/(src|host)/",
    "classroom": r"(tfm_lib/classroom|tfm_grader|classroom)/",
    "builder": r"(tfm_lib/book|tfm_book|tfm_lib/drawing)/",
    "engine, corpora, families": r"tfm_lib/(engine|corpora|families)/",
    "core and command": r"tfm_lib/",
    "chapters and drawings": r"chapters/",
    "else": r"",
}
KINDS = {
    "code": r"\.(py|js|mjs|css|wat|sh|toml|yml|cfg)$|Makefile|\.ci/",
    "prose": r"\.(md|bib|svg|txt)$|LICENSE",
    "data": r"",
}


def git(*words: str, text: str = "") -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, input=text.encode(), capture_output=True, check=True).stdout


def contents(commit: str) -> dict[str, bytes]:
    """Every file of a commit by its path, but for links."""
    listed = [line.split(maxsplit=3) for line in git("ls-tree", "-r", commit).decode().splitlines()]
    names = {path: blob for mode, _, blob, path in listed if mode != "120000"}
    found, at = git("cat-file", "--batch", text="\n".join(names.values()) + "\n"), 0
    files = {}
    for path in names:
        head = found.index(b"\n", at)
        size = int(found[at:head].split()[2])
        files[path] = found[head + 1 : head + 1 + size]
        at = head + 2 + size
    return files


def first(patterns: dict[str, str], path: str) -> str:
    return next(name for name, pattern in patterns.items() if re.search(pattern, path))


def counted(commit: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Lines and bytes by room and kind."""
    rooms: dict[tuple[str, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for path, content in contents(commit).items():
        place = next(name for name, pattern in ROOMS.items() if re.match(pattern, path)), first(KINDS, path)
        lines = content.count(b"\n") if b"\0" not in content else 0
        rooms[place] = rooms[place][0] + lines, rooms[place][1] + len(content)
    return rooms


def main() -> None:
    commits = [*sys.argv[1:2], "HEAD"]
    found = [counted(commit) for commit in commits]
    print("lines and kilobytes at " + " and ".join(commits))
    for room in ROOMS:
        for kind in KINDS:
            sizes = [each.get((room, kind), (0, 0)) for each in found]
            if any(size for _, size in sizes):
                print(f"{room:26} {kind:6}" + "".join(f"{lines:9,} {size // 1024:8,} KB" for lines, size in sizes))
    apart = [[each[place] for place in each if place[0] != "models"] for each in found]
    whole = [(sum(lines for lines, _ in each), sum(size for _, size in each)) for each in apart]
    print(f"{'whole, without models':33}" + "".join(f"{lines:9,} {size // 1024:8,} KB" for lines, size in whole))


if __name__ == "__main__":
    main()
