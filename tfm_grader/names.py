"""Make external names safe as folder names on any disk, and as text for any file or terminal."""

from __future__ import annotations

import hashlib
import unicodedata

WINDOWS = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))}
OURS = {"collected.json", "roster.json", "roster-to-check.csv"}  # files beside the students' folders
LONGEST = 200  # bytes; file systems allow 255, and a suffix is added


def fold(name: str) -> str:
    """Normalise `name` as a case-insensitive, Unicode-normalising disk would.

    It converts to upper case first, because ı and i share a capital, and removes the combining dot that İ leaves.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).upper().casefold())
    return folded.replace("i\u0307", "i").rstrip(". ")


def folder_name(name: str) -> str:
    """Return a folder name for a student: the name itself if it is safe, else a cleaned one with 64 bits of a hash."""
    whole = unicodedata.normalize("NFC", name).strip()
    safe = "".join(char if _letter(char) or char in "._-@+" else "-" for char in whole).strip(".-") or "nobody"
    while len(safe.encode()) > 80:
        safe = safe[:-1]
    return safe if safe == whole and not reserved(safe) else f"{safe}-{digest(name)[:16]}"


def reserved(name: str) -> bool:
    """Whether a folder must not have this name, because Windows or this program reserves it."""
    return fold(name).partition(".")[0] in WINDOWS or fold(name) in OURS


def names_a_folder(name: str) -> bool:
    """Whether `name` can identify a student unchanged, in folders, files and URLs."""
    inside = all(_letter(char) or char in " ._-@+" for char in name)
    ends = name[:1].isalnum() and not name.endswith((".", " "))
    return inside and ends and len(name) <= 100 and len(name.encode()) <= LONGEST and not reserved(name)


def plain(text: str) -> str:
    """Return `text` encodable as UTF-8: undecodable bytes are escaped, and a hash keeps such names distinct."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"{text.encode('utf-8', 'backslashreplace').decode()}#{digest(text)[:16]}"
    return text


def digest(made: str | bytes) -> str:
    """Return the SHA-256 of a file or a text, also of a name that is not valid UTF-8."""
    return hashlib.sha256(made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")).hexdigest()


def _letter(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char).startswith("M")


def counted(number: float, name: str) -> str:
    """Format `number` with its unit, as “1 point” or “2.5 points”."""
    return f"{number:g} {name}{'' if number == 1 else 's'}"
