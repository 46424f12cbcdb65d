"""Packs feedback into the archives that Canvas and Moodle upload to students.

Canvas reads a student's and a submission's number from the file's name, Moodle a participant's number from the
first folder's. Both are the names that the LMS's own archive had, as collecting recorded them.
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
    """The archives to upload, by their names: `pages` by student, put where (student, kind, place in the LMS's archive) say."""
    found: dict[str, dict[str, str]] = {}
    seen = set()
    for student, kind, where in handed_in:
        name = _name(kind, where)
        if name and student in pages and (student, kind) not in seen:  # one page, whatever the number of notebooks
            seen.add((student, kind))
            found.setdefault(kind, {})[name] = pages[student]
    return {f"feedback-{kind}.zip": _zip(files) for kind, files in sorted(found.items())}


def _name(kind: str, where: str) -> str:
    """What the page must be called beside the notebook that lay at `where`; nothing where the LMS could not tell whose it is."""
    path = PurePosixPath(where)
    if kind == "canvas" and CANVAS.fullmatch(path.stem):
        return f"{path.stem}.html"
    if kind == "moodle" and (match := MOODLE.fullmatch(where)):
        return f"{match[1]}_/{PAGE}" if "/" in where else f"{match[1]}_{PAGE}"
    return ""


def _zip(files: Mapping[str, str]) -> bytes:
    """The same bytes for the same files, whenever it is made."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
