"""The reader's working copy: notebooks that are theirs to change, brought up to date without taking anything."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbformat import NotebookNode

STATE = ".written-by-tfm.json"  # notebook → the hash of what was last written there


@dataclass
class Report:
    """The notebooks written, those left as they were, and those whose new version stands beside the reader's."""

    written: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    beside: list[tuple[str, str]] = field(default_factory=list)


def update(chapters: Iterable[Path], folder: Path, export: Callable[[Path], NotebookNode]) -> Report:
    """Writes each chapter's notebook into `folder`.

    A notebook that differs from what was last written is the reader's: it stays, and the chapter's new
    version, if there is one, is written beside it under a name of its own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state_file = folder / STATE
    state: dict[str, str] = json.loads(state_file.read_text(encoding="utf-8")) if state_file.exists() else {}
    report = Report()
    for chapter in chapters:
        content = _text(export(chapter), chapter.stem)
        name = f"{chapter.stem}.ipynb"
        own = _hash(folder / name)
        if own in (None, state.get(name)):  # not there, or as we wrote it
            if own == _hash_of(content):
                report.kept.append(name)
            else:
                _write(folder / name, content)
                report.written.append(name)
            state[name] = _hash_of(content)
        elif _hash_of(content) in state.values() or own == _hash_of(content):  # the reader has seen this version
            report.kept.append(name)
        else:
            new = _free_name(folder, chapter.stem, state)
            _write(folder / new, content)
            state[new] = _hash_of(content)
            report.beside.append((name, new))
        _write(state_file, json.dumps(state, indent=1))
    return report


def _free_name(folder: Path, stem: str, state: dict[str, str]) -> str:
    """The first of `masking-new-version.ipynb`, `masking-new-version-2.ipynb`, … that holds nothing of the reader's."""
    number = 1
    while True:
        name = f"{stem}-new-version{'' if number == 1 else f'-{number}'}.ipynb"
        if _hash(folder / name) in (None, state.get(name)):
            return name
        number += 1


def _text(notebook: NotebookNode, stem: str) -> str:
    """The notebook as text, with cell ids that are the same each time."""
    import nbformat

    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{stem}-{number}".replace("_", "-")[:64]
    return nbformat.writes(notebook)


def _write(path: Path, content: str) -> None:
    """All or nothing: a full disk must not leave half a notebook."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(content, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _hash(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def _hash_of(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
