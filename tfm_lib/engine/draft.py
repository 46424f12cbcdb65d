"""The shipped translator's draft: a small model over the same tokens, which writes ahead of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from tfm_lib.engine.trained import CONFIG, WEIGHTS, read, stored
from tfm_lib.engine.translator import shipped_folder
from tfm_lib.transformer import Transformer, TransformerConfig


def draft_folder() -> Path:
    """Where the draft lies: beside the translator."""
    folder = shipped_folder()
    return folder.with_name(f"{folder.name}-draft")


def save_draft(draft: Transformer, about: dict[str, Any]) -> None:
    """Write `draft` in 8 bits a number; `about` joins its sizes in config.json."""
    folder = draft_folder()
    folder.mkdir(parents=True, exist_ok=True)
    save_file(stored(draft.state_dict(), 8), folder / WEIGHTS)
    (folder / CONFIG).write_text(json.dumps({"model": asdict(draft.config), **about}, indent=1) + "\n")


def shipped_draft() -> Transformer:
    """The draft of the shipped translator, ready to use; its tokens are the translator's."""
    folder = draft_folder()
    about = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    draft = Transformer(TransformerConfig(**about["model"]))
    draft.load_state_dict(read(load_file(folder / WEIGHTS)))
    return draft.eval()
