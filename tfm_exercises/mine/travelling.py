"""Write the kept answers to a file, and take in those of a file after checking them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tfm_exercises.judge import find
from tfm_exercises.mine import store
from tfm_exercises.mine.keeping import judge_again
from tfm_exercises.mine.store import NotKept
from tfm_lib._errors import require_path
from tfm_lib._refusal import Refusal


def export(file: Path | str) -> None:
    """Write all answers to `file`, for another computer; raises Refusal if there are none or the file exists."""
    require_path("file", file)
    stored, path = store.read(), Path(file)
    if not stored["answers"]:
        raise Refusal("No answer is kept yet. Solve an exercise in a notebook: what passes its check is kept.")
    if path.exists():
        raise Refusal(f"{path} is there already. Name another file, or remove this one.")
    text = json.dumps({"version": stored["version"], "answers": stored["answers"]}, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{path} holds your answers to {', '.join(sorted(stored['answers']))}.")


def import_(file: Path | str, yes: bool = False) -> None:
    """Take in the answers of a `file` that `export` wrote. Each is checked again, which runs its code.

    Raises Refusal if the file does not hold answers, or if there are new ones and `yes` does not allow running them.
    """
    require_path("file", file)
    path = Path(file)
    try:
        taken = store.parsed(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        taken = None
    if taken is None:
        raise Refusal(f"{path} does not hold answers. Write such a file with: tfm mine export FILE")
    here = store.read()["answers"]
    new = {id: entry for id, entry in taken["answers"].items() if here.get(id, {}).get("source") != entry["source"]}
    if not new:
        print("The file holds nothing that you do not have.")
        return
    for id in sorted(new):
        print(f"{id}: {'replaces your answer' if id in here else 'is new'}")
    if not yes:
        raise Refusal(
            "Nothing is taken in yet. The check of an answer runs its code, which may do anything that you may do on "
            f"this computer. If you trust whoever wrote the file: tfm mine import {path} --yes, or in a notebook "
            f'mine.import_("{path}", yes=True)'
        )
    passed = {id: entry for id, entry in new.items() if _passes(id, entry)}
    if aside := store.change(lambda stored: stored["answers"].update(passed)):
        print(aside)
    print(f"{len(passed)} of {len(new)} answers are taken in.")


def _passes(id: str, entry: dict[str, Any]) -> bool:
    """Whether an answer passes its check; if not, it is told why."""
    try:
        judge_again(find(id), entry["source"], entry["names"])
    except KeyError:
        print(f"{id} is left out: this library has no such exercise.")
    except NotKept as reason:
        print(f"{id} is left out: {reason}")
    else:
        return True
    return False
