"""Pack feedback into the archives that Canvas and Moodle distribute to students.

Canvas reads the student and submission numbers from the file name; Moodle reads the participant number from the
top-level folder. Both names come from the LMS's own archive, as recorded by `tfm collect`.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from tfm_grader.collecting.identity import CANVAS

MOODLE = re.compile(r"([^/_]+_\d+_assignsubmission_(?:file|onlinetext))(_?)(?:/.*|(?<=_)[^/]*|)")
PAGE = "feedback.html"


def archives(pages: Mapping[str, str], handed_in: Iterable[tuple[str, str, str]]) -> dict[str, bytes]:
    """Build the archives to upload, by file name. `pages` maps students to pages.

    `handed_in` lists (student, kind of LMS, path in the LMS's archive).
    """
    found: dict[str, dict[str, str]] = {}
    seen = set()
    for student, kind, where in handed_in:
        name = _name(kind, where)
        if name and student in pages and (student, kind) not in seen:  # one page per student, however many notebooks
            seen.add((student, kind))
            found.setdefault(kind, {})[name] = pages[student]
    return {f"feedback-{kind}.zip": _zip(files) for kind, files in sorted(found.items())}


def _name(kind: str, where: str) -> str:
    """Name the page to match the notebook submitted at `where`; "" if the LMS could not identify its student."""
    path = PurePosixPath(where)
    if kind == "canvas" and CANVAS.fullmatch(path.stem):
        return f"{path.stem}.html"
    if kind == "moodle" and (match := MOODLE.fullmatch(where)):
        return f"{match[1]}_/{PAGE}" if "/" in where else f"{match[1]}_{PAGE}"
    return ""


def _zip(files: Mapping[str, str]) -> bytes:
    """Zip `files` deterministically: the same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
