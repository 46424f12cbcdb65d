"""Reads nbgrader's exchange. The student is the owner of a folder on disk, not the name that the folder claims.

A student's own program writes the folder's name, the notebooks and, in most exchanges, timestamp.txt. What it cannot
write is the owner, and when the disk last changed a file, which it can only make later. So where the name and the disk
tell two times, the later counts.
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
LONGEST = 100  # bytes of a timestamp.txt


@dataclass(frozen=True)
class Exchange:
    """The hand-ins of one course."""

    inbound: Folder
    shown: str  # where it lies below what was named
    owner: int  # of inbound, who is no student
    released: frozenset[str] | None = None  # the assignments that have one of the notebooks; None where that is unknown
    outbound: tuple[str, ...] = ()  # notebooks that were handed out, as paths below what was named

    @classmethod
    def of(cls, path: Path, stems: list[str]) -> Exchange:
        """The exchange of a course at `path`, above it or at its inbound folder; raises CannotCollect."""
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
        """Why the hand-in `top` is not that of whom its name claims; "" where the disk agrees."""
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
        """When an entry was handed in, what says so, and what to look at there; None where nobody but the student says it."""
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
        """The time in timestamp.txt, if the exchange's owner wrote it and no student can have."""
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
    """The name of a user of this machine."""
    try:
        return pwd.getpwuid(owner).pw_name
    except (KeyError, OverflowError):
        return None


def is_exchange(path: Path) -> bool:
    """Whether `path` is an inbound folder, a course with one, or a folder with nothing but one such course."""
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
