"""Keeps an instructor's edits when an assignment is generated again; where they conflict, nothing is written.

Beside the manifest lies `.made.json`: what the last run made, before any hand touched it. Three versions of each
value tell whose change is whose.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfm_grader.assignment.manifest import manifest as checked
from tfm_grader.names import digest
from tfm_lib._refusal import Refusal

PARTS = ("student", "solution", "bundle")
MADE, MANIFEST = "bundle/.made.json", "bundle/manifest.json"
NONE: Any = object()  # where a version has no such value
UNKNOWN: Any = object()  # where nobody wrote down what was made


class ChangedByHand(Refusal):
    """Your changes and this run's meet in one place; the message lists where."""


@dataclass
class Before:
    """An assignment's folder as it is, and as the last run left it."""

    folder: Path
    manifest: dict[str, Any] | None = None  # with the changes made by hand
    made: dict[str, Any] | None = None  # without
    digests: dict[str, str] = field(default_factory=dict)  # of the files that were made

    @classmethod
    def of(cls, folder: Path) -> Before:
        """What lies in `folder`; raises ChangedByHand, BadBundle where it cannot be read."""
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            made = folder / MADE
            checked(manifest)
            known = json.loads(made.read_text(encoding="utf-8")) if made.is_file() else {"manifest": None, "files": {}}
        except FileNotFoundError:
            return cls(folder)
        except ValueError as error:
            raise ChangedByHand(
                f"{folder / MANIFEST} is not JSON: {error}. Mend it, or begin anew beside it with --fresh."
            ) from None
        return cls(folder, manifest, known["manifest"], known["files"])

    @property
    def seed(self) -> str:
        """That of the last run, so that another one changes no student's numbers; nothing if there was none."""
        return str((self.made or self.manifest or {}).get("seed", ""))

    def revised(self, new: dict[str, Any]) -> dict[str, Any]:
        """The manifest `new` with what was changed by hand; raises ChangedByHand."""
        if self.manifest is None:
            return new
        clashes: list[str] = []
        merged = _merged(
            UNKNOWN if self.made is None else _keyed(self.made), _keyed(self.manifest), _keyed(new), (), clashes
        )
        self._refuse([f"{MANIFEST}, {clash}" for clash in clashes])
        return _listed(merged)

    def given(self, stem: str) -> str:
        """The digests of what students were given of chapter `stem`, of which some may still be at work with it."""
        chapters = (self.manifest or {}).get("chapters", {})
        return chapters.get(stem, {}).get("given", "")

    def tests(self, new: dict[str, str]) -> dict[str, str]:
        """The files of tests `new` with those that were changed by hand; raises ChangedByHand."""
        kept, clashes = dict(new), []
        for name, text in self._touched().items():
            if not name.startswith("bundle/tests/"):
                continue
            if name in new and digest(new[name]) == self.digests.get(name):
                kept[name] = text
            elif new.get(name) != text:
                clashes.append(f"{name}: you have changed it, and this run makes another one")
        self._refuse(clashes)
        return kept

    def require_untouched(self, new: dict[str, str]) -> None:
        """No notebook that was changed by hand may be written over; raises ChangedByHand."""
        self._refuse(
            [
                f"{name}: you have changed it"
                for name, text in self._touched().items()
                if name.endswith(".ipynb") and new.get(name) != text
            ]
        )

    def remove_stale(self, new: set[str]) -> None:
        """Take away what the last run made and this one does not."""
        for name in self.digests.keys() - new:
            (self.folder / name).unlink(missing_ok=True)

    def _touched(self) -> dict[str, str]:
        """The texts of the files that are not what was made."""
        if self.manifest is None:
            return {}
        found = {}
        for part in PARTS:
            for path in sorted((self.folder / part).rglob("*")):
                name = path.relative_to(self.folder).as_posix()
                if path.suffix not in (".ipynb", ".py") or not path.is_file() or ".ipynb_checkpoints" in path.parts:
                    continue
                text = path.read_text(encoding="utf-8", errors="replace")
                if digest(text) != self.digests.get(name) and (name in self.digests or not self.digests):
                    found[name] = text
        return found

    def _refuse(self, clashes: list[str]) -> None:
        if clashes:
            listed = "\n".join(f"  {clash}" for clash in clashes)
            raise ChangedByHand(
                f"In {self.folder}, your changes and this run's meet. Nothing was written:\n{listed}\n"
                "Undo yours there, or begin anew with --fresh, which first moves the old aside."
            )


def record(manifest: dict[str, Any], files: dict[str, str]) -> str:
    """The text of MADE for a run that made `manifest` and `files`."""
    made = {"manifest": manifest, "files": {name: digest(text) for name, text in files.items()}}
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


def move_aside(folder: Path) -> Path | None:
    """Move the parts of the assignment in `folder` into a folder of their own within it; which, if there were any."""
    parts = [folder / part for part in PARTS if (folder / part).exists()]
    if not parts:
        return None
    number = 1
    while (folder / f"earlier-{number}").exists():
        number += 1
    aside = folder / f"earlier-{number}"
    aside.mkdir()
    for part in parts:
        part.rename(aside / part.name)
    return aside


def _merged(base: Any, yours: Any, new: Any, where: tuple[str, ...], clashes: list[str]) -> Any:
    if yours in (base, new):
        return new
    if new == base:
        return yours
    gone = new is NONE and isinstance(base, dict)
    new = {} if gone and isinstance(yours, dict) else new
    if not (isinstance(yours, dict) and isinstance(new, dict)):
        clashes.append(f"{', '.join(where)}: you have {_told(yours)}, this run makes {_told(new)}")
        return yours
    found = {}
    for name in [*new, *(name for name in yours if name not in new)]:
        old = base.get(name, NONE) if isinstance(base, dict) else base
        value = _merged(old, yours.get(name, NONE), new.get(name, NONE), (*where, name), clashes)
        if value is not NONE:
            found[name] = value
    return NONE if gone else found


def _told(value: Any) -> str:
    if value is NONE:
        return "none"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _keyed(manifest: dict[str, Any]) -> dict[str, Any]:
    """`manifest` with the exercises of each chapter by their id, and without what follows from all the rest."""
    chapters = {
        stem: {"exercises": {each["id"]: each for each in chapter["exercises"]}}
        for stem, chapter in manifest.get("chapters", {}).items()
    }
    return {**manifest, "chapters": chapters}


def _listed(manifest: dict[str, Any]) -> dict[str, Any]:
    chapters = {
        stem: {**chapter, "exercises": list(chapter["exercises"].values())}
        for stem, chapter in manifest["chapters"].items()
    }
    return {**manifest, "chapters": chapters}
