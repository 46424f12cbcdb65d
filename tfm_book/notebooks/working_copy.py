"""Update the reader's working copy of the notebooks without overwriting the reader's changes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nbformat import NotebookNode

STATE = ".written-by-tfm.json"  # notebook → `Written`
LAB = Path(__file__).parent / "jupyter"  # JupyterLab saves the widgets' state in the notebook, so that they reappear


@dataclass
class Report:
    """Notebooks that were written, left unchanged, or given a new version beside the reader's copy."""

    written: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    beside: list[tuple[str, str]] = field(default_factory=list)


class Written(NamedTuple):
    """The last state written: hashes of the cells and of the chapter's version without measured numbers."""

    cells: str
    version: str


def update(
    chapters: Iterable[Path],
    folder: Path,
    export: Callable[[Path], NotebookNode],
    without_numbers: Callable[[Path], NotebookNode],
) -> Report:
    """Write the notebook that `export` makes of each chapter into `folder`.

    A notebook whose cells differ from what was last written belongs to the reader: it stays, and a new version of
    the chapter, if there is one, is written beside it under another name. Running a notebook changes no cell. The
    version is what `without_numbers` makes, so another timing in the prose is not a new version.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = _read_state(folder / STATE)
    report = Report()
    for chapter in chapters:
        notebook, name = export(chapter), f"{chapter.stem}.ipynb"
        new = Written(cells_hash(notebook), cells_hash(without_numbers(chapter)))
        known = {written.version for file, written in state.items() if _stem(file) == chapter.stem}
        own, last = _cells(folder / name), state.get(name)
        if own is None or (last and own == last.cells):  # missing, or unchanged since we wrote it
            if own and last.version == new.version:
                report.kept.append(name)
                continue
            _write(folder / name, _text(notebook, chapter.stem))
            report.written.append(name)
            state[name] = new
        elif new.version in known or own == new.cells:  # the reader has already been given this version
            report.kept.append(name)
        else:
            beside = _free_name(folder, chapter.stem, state)
            _write(folder / beside, _text(notebook, chapter.stem))
            state[beside] = new
            report.beside.append((name, beside))
        _write(folder / STATE, json.dumps(state, indent=1))
    return report


def lab_settings() -> dict[str, str]:
    """Return additions to JupyterLab's environment; the reader's own settings take precedence."""
    paths = [path for path in os.environ.get("JUPYTER_CONFIG_PATH", "").split(os.pathsep) if path]
    return {"JUPYTER_CONFIG_PATH": os.pathsep.join([*paths, str(LAB)])}


def cells_hash(notebook: NotebookNode) -> str:
    """Hash the cells' kinds and sources, ignoring ids, outputs, execution counts and metadata."""
    said = [[cell.cell_type, cell.source] for cell in notebook.cells]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _read_state(path: Path) -> dict[str, Written]:
    """Return the records, except those in an unknown format, whose notebooks are treated as the reader's."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: Written(*record) for name, record in records.items() if isinstance(record, list) and len(record) == 2}


def _stem(name: str) -> str:
    return name.removesuffix(".ipynb").split("-new-version")[0]


def _free_name(folder: Path, stem: str, state: dict[str, Written]) -> str:
    """Return the first of `masking-new-version.ipynb`, `masking-new-version-2.ipynb`, … free of reader's changes."""
    number = 1
    while True:
        name = f"{stem}-new-version{'' if number == 1 else f'-{number}'}.ipynb"
        own = _cells(folder / name)
        if own is None or (name in state and own == state[name].cells):
            return name
        number += 1


def _text(notebook: NotebookNode, stem: str) -> str:
    """Return the notebook as text, with cell ids that are the same each time."""
    import nbformat

    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{stem}-{number}".replace("_", "-")[:64]
    return nbformat.writes(notebook)


def _write(path: Path, content: str) -> None:
    """Write the file completely or not at all: a full disk must not leave half a notebook."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(content, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _cells(path: Path) -> str | None:
    """Return the hash of the cells in the notebook at `path`; None if it is missing, "" if it is unreadable."""
    import nbformat

    if not path.exists():
        return None
    try:
        return cells_hash(nbformat.read(path, nbformat.NO_CONVERT))
    except Exception:  # noqa: BLE001 (whatever it is, it is the reader's)
        return ""
