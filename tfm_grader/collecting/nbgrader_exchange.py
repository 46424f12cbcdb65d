"""Read nbgrader's exchange. The student is the owner of a folder on disk, not the name that the folder claims.

The student's own process writes the folder's name, the notebooks and, in most exchanges, timestamp.txt. It cannot
forge the owner, and it can only move a file's ctime forward. So if the name and the ctime disagree, the later time
counts.
"""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tfm_grader.collecting.archives import CannotCollect, Folder, SourceFile
from tfm_grader.collecting.identity import Claim
from tfm_grader.names import plain

PATIENCE = 600  # seconds that `nbgrader submit` may take from reading the clock to closing the folder
LONGEST = 100  # maximum size of timestamp.txt in bytes


@dataclass(frozen=True)
class Exchange:
    """The submissions of one course."""

    inbound: Folder
    shown: str  # its path relative to the path the user gave
    owner: int  # the owner of inbound, who is not a student
    released: frozenset[str] | None = None  # the assignments that contain one of the notebooks; None if unknown
    outbound: tuple[str, ...] = ()  # released notebooks, relative to the path the user gave

    @classmethod
    def of(cls, path: Path, stems: list[str]) -> Exchange:
        """Find the exchange of one course at `path`, above it or at its inbound folder. Raises CannotCollect."""
        inside = sorted(each / "inbound" for each in path.iterdir())
        found = next(
            filter(
                None, ([each for each in some if _is_inbound(each)] for some in ([path], [path / "inbound"], inside))
            ),
            [],
        )
        if len(found) != 1:
            told = ", ".join(str(each.parent) for each in found) or "none"
            raise CannotCollect(f"{path} must hold one course of nbgrader's exchange; it holds: {told}. Name one.")
        inbound = Folder(found[0])
        shown = found[0].relative_to(path).as_posix() + "/" if found[0] != path else ""
        outbound = found[0].parent / "outbound"
        given = [each for each in Folder(outbound).entries() if _is_one_of(each, stems)] if outbound.is_dir() else []
        listed = tuple(f"{outbound.relative_to(path).as_posix()}/{each.path}" for each in given) if shown else ()
        released = frozenset(each.parts[0] for each in given if len(each.parts) > 1)
        return cls(inbound, shown, inbound.owner((), inbound.about(())), released or None, listed)

    def trouble(self, claim: Claim, top: str) -> str:
        """Explain why submission `top` is not from the student its name claims; "" if the owner matches."""
        try:
            about = self.inbound.about((top,))
        except OSError:
            return "it is a link, or may not be opened"
        owner = login_of(self.inbound.owner((top,), about))
        if owner == claim.key:
            return ""
        return (
            f"its name says {claim.key}, and it belongs to {plain(owner) if owner else 'nobody known'} on this machine. "
            "If everybody's files belong to one user here, run `nbgrader collect`, look at its warnings, and collect "
            "the folder submitted/ as --kind folder"
        )

    def dated(self, claim: Claim, entry: SourceFile) -> tuple[float | None, str, str]:
        """Return an entry's submission time (None if only the student states it), its source, and a warning."""
        above = [entry.parts[:depth] for depth in range(1, len(entry.parts))]
        if (said := self._timestamp(entry.parts[0])) is not None:
            return said, "timestamp.txt, which the exchange's owner wrote", ""
        try:
            changed = max(entry.changed, *(self.inbound.about(parts).st_ctime for parts in above))
        except OSError:
            return None, "", "when it was handed in is unknown; the disk does not say"
        if claim.claimed is not None and abs(changed - claim.claimed) <= PATIENCE:
            return changed, "the disk, which agrees with the exchange", ""
        told = f"its name says {_told(claim.claimed)}, and the disk last saw it change {_told(changed)}"
        later = max(changed, claim.claimed or changed)
        return later, "the later of the folder's name and the disk", f"{told}; the later counts, so look at it"

    def _timestamp(self, top: str) -> float | None:
        """Return the time in timestamp.txt if the exchange's owner wrote it and no student can have."""
        try:
            student = self.inbound.owner((top,), self.inbound.about((top,)))
            parts = (top, "timestamp.txt")
            with self.inbound.opened(parts) as number:
                about = os.fstat(number)
                owner = self.inbound.owner(parts, about)
                safe = stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and not about.st_mode & 0o022
                if not safe or owner == student or owner not in (0, self.owner) or about.st_size > LONGEST:
                    return None
                text = os.read(number, LONGEST).decode().strip().removesuffix(" UTC")
            when = datetime.fromisoformat(text)
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        except (OSError, ValueError, OverflowError):
            return None


def login_of(owner: int) -> str | None:
    """Return the login name of a user id on this machine."""
    try:
        return pwd.getpwuid(owner).pw_name
    except (KeyError, OverflowError):
        return None


def is_exchange(path: Path) -> bool:
    """Whether `path` is an inbound folder, a course with one, or a folder containing only one such course."""
    if _is_inbound(path) or _is_inbound(path / "inbound"):
        return True
    inside = [each for each in path.iterdir() if not each.name.startswith(".")]
    return len(inside) == 1 and _is_inbound(inside[0] / "inbound") and not inside[0].is_symlink()


def _is_inbound(path: Path) -> bool:
    return path.name == "inbound" and path.is_dir() and not path.is_symlink()


def _is_one_of(entry: SourceFile, stems: list[str]) -> bool:
    name = entry.parts[-1]
    return name.endswith(".ipynb") and name.removesuffix(".ipynb") in stems


def _told(when: float | None) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M UTC") if when else "nothing"
