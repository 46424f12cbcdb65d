"""Keep an instructor's manual edits when an assignment is regenerated; on a conflict, write nothing.

`.made.json`, beside the manifest, records what the last run generated, before manual edits. A three-way merge of
this record, the current files and the new output shows which side changed each value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfm_grader.assignment.manifest import manifest as checked
from tfm_grader.names import digest
from tfm_lib._refusal import Refusal

PARTS = ("student", "solution", "bundle")
MADE, MANIFEST = "bundle/.made.json", "bundle/manifest.json"
NONE: Any = object()  # marks a value that a version does not have
UNKNOWN: Any = object()  # marks a base version that was not recorded


class ChangedByHand(Refusal):
    """Manual edits conflict with this run's output; the message lists where."""


@dataclass
class Before:
    """The current state of an assignment's folder, and the record of the last run."""

    folder: Path
    manifest: dict[str, Any] | None = None  # with manual edits
    made: dict[str, Any] | None = None  # without manual edits
    digests: dict[str, str] = field(default_factory=dict)  # of the generated files

    @classmethod
    def of(cls, folder: Path) -> Before:
        """Read the state of `folder`. Raises ChangedByHand or BadBundle if it cannot be read."""
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
        """The seed of the last run, or "". Reusing it keeps the students' personal values unchanged."""
        return str((self.made or self.manifest or {}).get("seed", ""))

    @property
    def due(self) -> str:
        """The due date of the last run, or ""; it holds until another one is given."""
        return str((self.made or {}).get("late", {}).get("due", ""))

    def changed_exercises(self, bundle: Mapping[str, str]) -> list[str]:
        """Say which exercises the last run had and the new `bundle` hasn't, or the reverse."""
        if self.manifest is None:
            return []
        old, new = _exercise_ids(self.manifest), _exercise_ids(json.loads(bundle[MANIFEST]))
        lines = (
            ("Not in it before: ", [each for each in new if each not in old]),
            ("No longer in it: ", [each for each in old if each not in new]),
        )
        return [f"{what}{', '.join(ids)}" for what, ids in lines if ids]

    def revised(self, new: dict[str, Any]) -> dict[str, Any]:
        """Merge manual edits into the manifest `new`. Raises ChangedByHand on a conflict."""
        if self.manifest is None:
            return new
        clashes: list[str] = []
        merged = _merged(
            UNKNOWN if self.made is None else _keyed(self.made), _keyed(self.manifest), _keyed(new), (), clashes
        )
        self._refuse([f"{MANIFEST}, {clash}" for clash in clashes])
        return _listed(merged)

    def given(self, stem: str) -> str:
        """Return the recorded digests of lines handed out for `stem`; some students may still use that version."""
        chapters = (self.manifest or {}).get("chapters", {})
        return chapters.get(stem, {}).get("given", "")

    def tests(self, new: dict[str, str]) -> dict[str, str]:
        """Merge manually edited test files into `new`. Raises ChangedByHand on a conflict."""
        kept, clashes = dict(new), []
        for name, text in self._touched().items():
            if not name.startswith(("bundle/tests/", "bundle/visible/")):
                continue
            if name in new and digest(new[name]) == self.digests.get(name):
                kept[name] = text
            elif new.get(name) != text:
                clashes.append(f"{name}: you have changed it, and this run makes another one")
        self._refuse(clashes)
        return kept

    def require_untouched(self, new: dict[str, str]) -> None:
        """Check that no manually edited notebook would be overwritten. Raises ChangedByHand."""
        self._refuse(
            [
                f"{name}: you have changed it"
                for name, text in self._touched().items()
                if name.endswith(".ipynb") and new.get(name) != text
            ]
        )

    def remove_stale(self, new: set[str]) -> None:
        """Delete files that the last run generated and this run does not."""
        for name in self.digests.keys() - new:
            (self.folder / name).unlink(missing_ok=True)

    def _touched(self) -> dict[str, str]:
        """Return the contents of files that differ from what was generated."""
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
    """Serialise the content of MADE for a run that generated `manifest` and `files`."""
    made = {"manifest": manifest, "files": {name: digest(text) for name, text in files.items()}}
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


def move_aside(folder: Path) -> Path | None:
    """Move the assignment's parts into a new subfolder of `folder`. Returns it, or None if there were none."""
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
    """Return `manifest` with each chapter's exercises keyed by id and without derived fields."""
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


def _exercise_ids(manifest: dict[str, Any]) -> list[str]:
    return [each["id"] for chapter in manifest["chapters"].values() for each in chapter["exercises"]]
