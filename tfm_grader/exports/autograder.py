"""Build the archive that grades an assignment on Gradescope, in the layout of their documentation.

Gradescope builds an image from it once, with `setup.sh`, and starts a fresh container for each submission, in which
`run_autograder` writes results.json. https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

import io
import math
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tfm_book.notebooks.export import built_wheel, wheel_name
from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.handout import CPU, older_than_library
from tfm_grader.collecting import roster as rosters
from tfm_grader.sandbox.container import TWO_WITH_TORCH
from tfm_lib._refusal import Refusal

SETUP = """\
#!/usr/bin/env bash
# Runs once, as root and with a network, when Gradescope builds the image.
set -euo pipefail
home="${{TFM_AUTOGRADER:-/autograder}}"

# Submissions are run by a user of their own, so another user than root must be able to start this Python.
usable() {{
  setpriv --reuid=65534 --regid=65534 --clear-groups "$1" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null
}}

python=""
for name in python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
  if usable "$name"; then python="$name"; break; fi
done
if [ -z "$python" ]; then
  apt-get update
  for name in python3.13 python3.12 python3.11; do
    if apt-get install -y --no-install-recommends "$name" "$name-venv"; then python="$name"; break; fi
  done
fi
if [ -z "$python" ]; then
  echo "There is no Python 3.11 or newer here. Choose a newer Ubuntu as the base image." >&2
  exit 1
fi

"$python" -m venv "$home/environment"
"$home/environment/bin/"{cpu} -c "$home/source/constraints.txt"
"$home/environment/bin/pip" install -c "$home/source/constraints.txt" "$home/source/{wheel}[classroom]"
# What students' programs must not read: the tests, and the book's library, which has the answers.
chmod -R go-rwx "$home/source" "$home"/environment/lib/python3*/site-packages/tfm_*
"""
RUN = """\
#!/usr/bin/env bash
# Runs in a fresh container for each submission.
cd /
exec "${{TFM_AUTOGRADER:-/autograder}}/environment/bin/python" -P -m tfm_grader.on_gradescope{visible}
"""
PRIVATE = (".made.json",)  # files of a bundle that grading doesn't need


def autograder(root: Path, bundle: Path, visible: bool) -> bytes:
    """Build the archive for `bundle`; if `visible`, it has no hidden test and only runs the checks that students see.

    Raises Refusal if the library's file isn't built.
    """
    wheel = built_wheel(root)
    if wheel is None:
        raise Refusal(f"The library's file {wheel_name(root)} is not built: make wheel, then this again.")
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "setup.sh", SETUP.format(cpu=CPU, wheel=wheel.name).encode(), 0o755)
        _add(archive, "run_autograder", RUN.format(visible=" --visible" if visible else "").encode(), 0o755)
        _add(archive, "constraints.txt", (root / "constraints.txt").read_bytes())
        _add(archive, wheel.name, wheel.read_bytes())
        for path in _needed(bundle, visible):
            _add(archive, f"bundle/{path.relative_to(bundle).as_posix()}", path.read_bytes())
    return data.getvalue()


def settings(root: Path, loaded: Bundle, folder: Path) -> Iterator[str]:
    """Yield what to set on Gradescope for the bundle `loaded` from `folder`, and what could go wrong there."""
    entries = [entry for stem in loaded.stems for entry in loaded.exercises(stem)]
    points = sum(entry.points for entry in entries if entry.kind != "text")
    yield "Autograder Points: " + ("0, since it gives none" if loaded.visible else f"{points:g}")
    yield f"Container: {math.ceil((loaded.limits.memory + TWO_WITH_TORCH) / 1024)} GB of memory or more"
    runs = 1 if loaded.visible else 2  # the visible checks, and then the tests; and a minute for self-tests
    seconds = 60 + runs * sum(loaded.limits.longest(len(loaded.exercises(stem))) for stem in loaded.stems)
    yield f"Time limit: more than {math.ceil(seconds / 60)} minutes, the longest that any submission can take"
    if not loaded.visible and {"practice", "assigned"} <= {entry.kind for entry in entries}:
        yield "Practice and assigned exercises are mixed: within a submission, a practice answer may see hidden tests."
    own = {student for texts in loaded.tests.values() for student in texts if student}
    people = (rosters.kept(folder) or rosters.Roster(())).people
    if nameless := [each.student for each in people if each.student in own and not (each.email or "@" in each.student)]:
        yield f"Without an email in the roster, these students can't be graded there: {', '.join(nameless)}"
    if (wheel := built_wheel(root)) is not None and (old := older_than_library(root, wheel)):
        yield old


def _needed(bundle: Path, visible: bool) -> Iterator[Path]:
    for path in sorted(bundle.rglob("*")):
        parts = path.relative_to(bundle).parts
        if path.is_file() and path.name not in PRIVATE and not (visible and parts[0] == "tests"):
            yield path


def _add(archive: zipfile.ZipFile, name: str, data: bytes, mode: int = 0o644) -> None:
    entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same archive each time
    entry.external_attr = (stat.S_IFREG | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)
