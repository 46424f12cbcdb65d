"""Makes names from outside safe, as folder names on any disk and as text for any file or terminal."""

from __future__ import annotations

import hashlib
import unicodedata

WINDOWS = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))}
OURS = {"collected.json", "roster.json", "roster-to-check.csv"}  # what lies beside the students' folders
LONGEST = 200  # bytes; file systems take 255, and an ending is added


def fold(name: str) -> str:
    """What is left of `name` on a disk that tells neither cases nor Unicode's forms apart.

    By way of the capitals, since ı and i have the same one, and without the dot that İ leaves over its i.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).upper().casefold())
    return folded.replace("i\u0307", "i").rstrip(". ")


def folder_name(name: str) -> str:
    """A folder's name for a student: their own if it is harmless, else what is left of it, with a mark of its own."""
    plain, safe = _safe(name)
    return safe if safe == plain and not reserved(safe) else marked(name)


def marked(name: str) -> str:
    """A folder's name that no other `name` has: 64 bits of its hash stand in it."""
    return f"{_safe(name)[1]}-{digest(name)[:16]}"


def reserved(name: str) -> bool:
    """Whether a folder may not have this name: Windows keeps it, or this program does."""
    return fold(name).partition(".")[0] in WINDOWS or fold(name) in OURS


def names_a_folder(name: str) -> bool:
    """Whether `name` can stand for a student as it is, in folders, files and addresses."""
    inside = all(_letter(char) or char in " ._-@+" for char in name)
    ends = name[:1].isalnum() and not name.endswith((".", " "))
    return inside and ends and len(name) <= 100 and len(name.encode()) <= LONGEST and not reserved(name)


def plain(text: str) -> str:
    """`text` as it can be written into a file: bytes that are no UTF-8 are spelled out, and told apart by a mark."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"{text.encode('utf-8', 'backslashreplace').decode()}#{digest(text)[:16]}"
    return text


def digest(made: str | bytes) -> str:
    """The SHA-256 of a file or a text, also of a name that is no text."""
    return hashlib.sha256(made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")).hexdigest()


def _safe(name: str) -> tuple[str, str]:
    whole = unicodedata.normalize("NFC", name).strip()
    safe = "".join(char if _letter(char) or char in "._-@+" else "-" for char in whole).strip(".-") or "nobody"
    while len(safe.encode()) > 80:
        safe = safe[:-1]
    return whole, safe


def _letter(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")


def counted(number: float, name: str) -> str:
    """`number` with the thing that it counts, as “1 point” or “2.5 points”."""
    return f"{number:g} {name}{'' if number == 1 else 's'}"
